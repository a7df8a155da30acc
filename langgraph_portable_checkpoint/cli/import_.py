"""`import`: a provider's history as a thread."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .call import HISTORIES, Call, command
from .files import read_bytes
from .histories import From, Profile
from .losses import ReportFile, Strict, tell_losses
from .output import safe_line
from .settings import UsageError


@command("import", panel=HISTORIES)
def import_(
    call: Call,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A history of any dialect; - for stdin.")],
    thread_id: Annotated[str, typer.Option("--thread", metavar="THREAD", help="Id of the thread.", show_default=False)],
    from_: From = "auto",
    profile: Profile = None,
    on_existing: Annotated[
        str, typer.Option("--on-existing", metavar="HOW", help="A thread that is there: refuse or overwrite.")
    ] = "refuse",
    strict: Strict = False,
    report: ReportFile = None,
) -> None:
    """Make a thread of a history; a graph with a messages channel goes on from it."""
    from ..dialects.export import import_messages
    from ..transfer.histories import import_thread

    if on_existing not in ("refuse", "overwrite"):
        raise UsageError(f"--on-existing takes refuse or overwrite, not {on_existing!r}.")
    payload = read_bytes(file)
    imported = import_messages(payload, from_, profile=profile)
    tell_losses(imported.report, call.output, report=report, strict=strict)
    import_thread(
        call.saver(makes=True),
        thread_id,
        payload,
        imported.dialect,
        on_existing="overwrite" if on_existing == "overwrite" else "refuse",
        profile=profile,
    )
    count = len(imported.envelopes)
    call.output.say(f"imported {count} messages of {imported.dialect} as thread {safe_line(thread_id)}")
    if call.output.json:
        call.output.write_json({"thread_id": thread_id, "dialect": imported.dialect, "messages": count})
