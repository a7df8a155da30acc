"""Histories that commands take: a file of any dialect, or a thread."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .call import Call
from .files import STANDARD, read_bytes, write_text
from .output import Output, dump_json
from .settings import UsageError

if TYPE_CHECKING:
    from ..dialects.report import Export, Imported
    from ..envelope.model import MessageEnvelope

From = Annotated[str, typer.Option("--from", metavar="DIALECT", help="Dialect of the file; recognised by default.")]
To = Annotated[str, typer.Option("--to", metavar="DIALECT", help="Dialect to write.", show_default=False)]
Model = Annotated[
    str | None, typer.Option("--model", metavar="NAME", help="Target model; decides about roles and reasoning.")
]
Profile = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="Host or platform within the dialect (groq, vertex).")
]
Turns = Annotated[int | None, typer.Option("--turns", min=1, help="Only the last so many turns.")]
Incomplete = Annotated[
    str,
    typer.Option("--incomplete", metavar="HOW", help="Calls without result: drop, trim, synthesize or raise."),
]
Reasoning = Annotated[
    str, typer.Option("--reasoning", metavar="HOW", help="Reasoning: same-origin (replay where valid), drop or text.")
]
OutFile = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write here instead of stdout.")]
AsThread = Annotated[bool, typer.Option("--thread", help="Take names for thread ids, whatever files there are.")]

CHOICES = {
    "incomplete": ("drop", "trim", "synthesize", "raise"),
    "reasoning": ("same-origin", "drop", "text"),
}


def read_history(path: Path, *, dialect: str = "auto", profile: str | None = None) -> Imported:
    """Read a file of any dialect.

    Raises:
        UsageError: the file is empty. DialectError, OSError.
    """
    from ..dialects.export import import_messages

    payload = read_bytes(path)
    if not payload.strip():
        raise UsageError(f"{'stdin' if path == STANDARD else path} is empty; a history was expected.")
    return import_messages(payload, from_=dialect, profile=profile)


def history_of(call: Call, name: str, *, as_thread: bool) -> list[MessageEnvelope]:
    """Return the messages of a file, or of a thread where no such file is there.

    Raises:
        UsageError: it is no file, and no server is named on which it could be a thread.
    """
    if not as_thread and (Path(name) == STANDARD or Path(name).exists()):
        return list(read_history(Path(name)).envelopes)
    if not as_thread and not call.names_server():
        raise UsageError(
            f"there is no file {name}. To take it for a thread, name its server with --redis-url or --data."
        )
    return thread_envelopes(call, name)


def thread_envelopes(call: Call, thread_id: str) -> list[MessageEnvelope]:
    """Return the conversation at a thread's head; media that cannot be had are named, not told of in words.

    Raises:
        ThreadNotFoundError: there is no such thread.
    """
    from ..envelope.read import read_message
    from ..transfer.conversations import config_of, read_conversation

    found = read_conversation(call.saver(), config_of(thread_id, "", None), None, full=False, read_media=True)
    return [message if isinstance(message, dict) else read_message(message) for message in found.messages]


def checked_choices(**chosen: str) -> dict[str, Any]:
    """Return options of an export.

    Raises:
        UsageError: a word is none of those that the option takes.
    """
    for name, word in chosen.items():
        if word not in CHOICES[name]:
            raise UsageError(f"--{name} takes {', '.join(CHOICES[name])}, not {word!r}.")
    return chosen


def text_of(export: Export, *, ascii_only: bool = False) -> str:
    """Spell an export as the text of a file: JSON Lines for dialects of lines, else one JSON document."""
    documents = export.payload["lines"] if set(export.payload) == {"lines"} else [export.payload]
    return "".join(f"{dump_json(document, ascii_only=ascii_only)}\n" for document in documents)


def write_export(export: Export, path: Path | None, output: Output) -> None:
    """Write an export to a file in UTF-8, or to stdout in characters that it takes."""
    to_stdout = path is None or path == STANDARD
    write_text(path, text_of(export, ascii_only=to_stdout and not output.is_unicode), output)
