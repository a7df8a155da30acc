"""`show`: a thread, turn by turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ..errors import ThreadNotFoundError
from .call import THREADS, Call, ThreadId, command
from .output import Output, dump_json, safe_line, shortened
from .threads import row_of

if TYPE_CHECKING:
    from ..conversation import Turn
    from ..envelope.model import MessageEnvelope
    from ..saver import PortableRedisSaver

_MEDIA: Final = ("image", "audio", "video", "file")


@command("show", panel=THREADS)
def show(
    call: Call,
    thread_id: ThreadId,
    turn: Annotated[int | None, typer.Option(help="Only this turn, in full; negative counts from the end.")] = None,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="ID", help="The conversation at another checkpoint than the head.")
    ] = None,
    ns: Annotated[str, typer.Option(metavar="NAME", help="Another checkpoint namespace than the root.")] = "",
    last: Annotated[int | None, typer.Option(min=1, help="Only the last so many turns.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="The stored envelopes as JSON, one turn per line.")] = False,
) -> None:
    """Show a thread: its turns with tool calls, status, models, tokens and media, and its branches."""
    saver = call.saver()
    info = saver.thread_info(thread_id)
    if info is None:
        raise ThreadNotFoundError(f"there is no thread {thread_id!r} here. Check the id, the prefix and the server.")
    turns = turns_of(saver, thread_id, turn=turn, last=last, checkpoint=checkpoint, ns=ns)
    if raw or call.output.json:
        for one in turns:
            call.output.write_json(as_json(one) if raw else _summary(one))
        return
    if turn is None:
        _head(call.output, row_of(info), branches_of(saver, thread_id))
    for one in turns:
        _write_turn(call.output, one, full=turn is not None)


def turns_of(
    saver: PortableRedisSaver,
    thread_id: str,
    *,
    turn: int | None = None,
    last: int | None = None,
    checkpoint: str | None = None,
    ns: str = "",
    media: bool = False,
) -> Iterator[Turn]:
    """Return turns of a thread.

    Raises:
        ThreadNotFoundError: it has no such turn, checkpoint or namespace.
    """
    start, stop = (0, None) if last is None else (-last, None)
    if turn is not None:
        start, stop = turn, turn + 1 if turn != -1 else None
    found = saver.turns(thread_id, start=start, stop=stop, media=media, checkpoint_id=checkpoint, checkpoint_ns=ns)
    first = next(found, None)
    wanted = (f"turn {turn}", turn), (f"checkpoint {checkpoint!r}", checkpoint), (f"namespace {ns!r}", ns or None)
    missing = next((words for words, asked in wanted if asked is not None), None)
    if first is None and missing is not None:
        raise ThreadNotFoundError(f"thread {thread_id!r} has no {missing}.")
    return found if first is None else chain([first], found)


def branches_of(saver: PortableRedisSaver, thread_id: str) -> int:
    """Count the ends of the root namespace's tree: 1 without forks."""
    from .checkpoints import records_of

    found = [row for row in records_of(saver, thread_id) if row["ns"] == ""]
    return len({row["checkpoint_id"] for row in found} - {row["parent_id"] for row in found})


def as_json(turn: Turn) -> dict[str, Any]:
    """Return a turn's record and envelopes as JSON values, refs in hex."""
    from ..envelope.turn_wire import turn_to_json

    return {**turn_to_json(turn.record), "envelopes": list(turn.messages)}


def _summary(turn: Turn) -> dict[str, Any]:
    record = turn.record
    names = (
        "turn",
        "status",
        "started_at",
        "updated_at",
        "models",
        "usage",
        "media",
        "error",
        "interrupts",
        "checkpoint",
    )
    said = [{"role": message["role"], **_said(message)} for message in turn.messages]
    return {**{name: record.get(name) for name in names}, "messages": said}


def _said(message: MessageEnvelope) -> dict[str, Any]:
    calls = [
        {"id": block.get("id"), "name": block.get("name"), "args": block.get("args")}
        for block in message["content"]
        if block["type"] in ("tool_call", "invalid_tool_call")
    ]
    found: dict[str, Any] = {"text": text_of_message(message)}
    if calls:
        found["tool_calls"] = calls
    for name in ("tool_call_id", "name", "status"):
        if message.get(name) is not None:
            found[name] = message[name]
    return found


def text_of_message(message: MessageEnvelope) -> str:
    """Return what a message says, media and other blocks in brackets, without tool calls and reasoning."""
    return "\n".join(part for part in map(_text_of_block, message["content"]) if part)


def _text_of_block(block: Mapping[str, Any]) -> str:
    kind = block["type"]
    if kind in ("text", "text-plain", "refusal"):
        return str(block.get("text") or block.get("refusal") or "")
    if kind in ("tool_call", "invalid_tool_call", "reasoning"):
        return ""
    known = block.get("media") or {}
    about = [kind, block.get("mime_type") or known.get("mime_type"), block.get("filename") or block.get("name")]
    return f"[{' '.join(str(word) for word in about if word)}]"


def _head(output: Output, row: dict[str, Any], branches: int) -> None:
    totals = row.get("totals") or {}
    usage = totals.get("usage") or {}
    facts = [
        f"{row['turns']} turns",
        f"last {row['status'] or 'without conversation'}",
        f"{row['checkpoints']} checkpoints",
        f"{branches} branches" if branches > 1 else "",
        f"{usage['total_tokens']:,} tokens" if usage.get("total_tokens") else "",
        f"{totals['media_count']} media" if totals.get("media_count") else "",
        f"changed {row['updated_at']}" if row["updated_at"] else "",
        f"expires in {row['ttl_seconds']:.0f} s" if row["ttl_seconds"] is not None else "",
    ]
    output.write(f"thread {safe_line(row['thread_id'])}")
    output.write("  " + ", ".join(fact for fact in facts if fact))


def _write_turn(output: Output, turn: Turn, *, full: bool) -> None:
    record = turn.record
    models = ", ".join(str(use["model"] or use["provider"] or "?") for use in record["models"])
    tokens = record["usage"].get("total_tokens")
    facts = [record["status"], record["started_at"][:19], models, f"{tokens:,} tokens" if tokens else ""]
    output.write(f"\nturn {record['turn']}  " + "  ".join(safe_line(fact) for fact in facts if fact))
    for message in turn.messages:
        _write_message(output, message, full=full)
    if record["error"] is not None:
        output.write(f"  failed     {safe_line(record['error']['type'])}: {safe_line(record['error']['message'])}")
    for waiting in record["interrupts"]:
        output.write(f"  waits      {safe_line(dump_json(waiting.get('value')))}")


def _write_message(output: Output, message: MessageEnvelope, *, full: bool) -> None:
    role = message["role"]
    for block in message["content"]:
        if block["type"] == "reasoning" and full and block.get("reasoning"):
            _write_part(output, "reasoning", str(block["reasoning"]), full=full)
    text = text_of_message(message)
    if role == "tool":
        text = f"{message.get('name') or ''}: {text}" if message.get("name") else text
    if text or role != "assistant":
        failed = " (error)" if message.get("status") == "error" else ""
        _write_part(output, role, text + failed, full=full)
    for block in message["content"]:
        if block["type"] in ("tool_call", "invalid_tool_call", "server_tool_call"):
            args = block.get("args")
            spelled = args if isinstance(args, str) else dump_json(args)
            _write_part(output, "call", f"{block.get('name')}({spelled}) {block.get('id') or ''}", full=full)


def _write_part(output: Output, label: str, text: str, *, full: bool) -> None:
    head = f"  {label:<10} "
    if full:
        first, *rest = text.split("\n")
        output.write(head + first)
        for line in rest:
            output.write(" " * len(head) + line)
    elif output.on_terminal:
        output.write(head + shortened(safe_line(text), max(20, output.width - len(head))))
    else:
        output.write(head + safe_line(text))
