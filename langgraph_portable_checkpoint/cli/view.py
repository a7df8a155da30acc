"""`view`: a thread as one HTML page that needs nothing else."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ..errors import ThreadNotFoundError
from .call import THREADS, Call, ThreadId, command
from .files import write_text
from .histories import OutFile
from .output import dump_json
from .show import text_of_message, turns_of
from .threads import row_of

if TYPE_CHECKING:
    from ..conversation import Turn
    from ..envelope.model import MessageEnvelope

_SHOWN_IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Formats that cannot carry a script."""


@command("view", panel=THREADS)
def view(
    call: Call,
    thread_id: ThreadId,
    output: OutFile = None,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="ID", help="The conversation at another checkpoint than the head.")
    ] = None,
    images: Annotated[bool, typer.Option("--images/--no-images", help="Put images into the page.")] = True,
) -> None:
    """Write a thread as one HTML page: no script, no network, images inside."""
    saver = call.saver()
    info = saver.thread_info(thread_id)
    if info is None:
        raise ThreadNotFoundError(f"there is no thread {thread_id!r} here. Check the id, the prefix and the server.")
    turns = turns_of(saver, thread_id, checkpoint=checkpoint, media=images)
    write_text(output, page(row_of(info), map(_turn, turns)), call.output)
    if output is not None:
        call.output.say(f"wrote {output}")


def page(thread: dict[str, Any], turns: Iterator[dict[str, Any]]) -> str:
    """Render the page; every value is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(Path(__file__).parent / "templates")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.get_template("thread.html.jinja").render(thread=thread, turns=turns)


def _turn(turn: Turn) -> dict[str, Any]:
    tokens = turn.record["usage"].get("total_tokens")
    return {"record": turn.record, "tokens": tokens, "messages": [_message(message) for message in turn.messages]}


def _message(message: MessageEnvelope) -> dict[str, Any]:
    calls = [
        {"name": block.get("name"), "id": block.get("id"), "args": _args(block.get("args"))}
        for block in message["content"]
        if block["type"] in ("tool_call", "invalid_tool_call", "server_tool_call")
    ]
    reasoning = [str(block["reasoning"]) for block in message["content"] if block.get("reasoning")]
    origin = message.get("origin") or {}
    return {
        "role": message["role"],
        "name": message.get("name"),
        "failed": message.get("status") == "error",
        "model": origin.get("model") or "",
        "text": text_of_message(message),
        "reasoning": reasoning,
        "calls": calls,
        "images": [image for block in message["content"] if (image := _image(block))],
    }


def _args(args: Any) -> str:
    return args if isinstance(args, str) else dump_json(args, indent=2)


def _image(block: Any) -> str | None:
    """Return an image as a data URL, where its format cannot carry a script."""
    if block["type"] != "image" or block.get("mime_type") not in _SHOWN_IMAGES:
        return None
    data = block.get("base64") or (b64encode(block["data"]).decode() if block.get("data") else None)
    return f"data:{block['mime_type']};base64,{data}" if data else None
