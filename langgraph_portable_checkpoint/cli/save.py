"""`save`: a transcript as an agent-checkpoint file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from .call import FILES, Call, command
from .histories import From, read_history, write_export
from .losses import ReportFile, Strict, tell_losses


@command("save", panel=FILES, server="no")
def save(
    call: Call,
    transcript: Annotated[Path, typer.Argument(metavar="TRANSCRIPT", help="A history of any dialect; - for stdin.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The checkpoint to write.", show_default=False)
    ],
    from_: From = "auto",
    strict: Strict = False,
    report: ReportFile = None,
) -> None:
    """Save a transcript as an agent-checkpoint file, up to its last complete turn.

    A call that no result answers is never written, so that resuming starts from a known-good place.
    """
    from ..dialects.export import export_messages

    imported = read_history(transcript, dialect=from_)
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    export = export_messages(imported.envelopes, "agent-checkpoint", extra={"saved_at": now})
    tell_losses((*imported.report, *export.report), call.output, report=report, strict=strict)
    write_export(export, output, call.output)
    lines = export.payload["lines"]
    call.output.say(f"Saved {len(lines)} messages of {imported.dialect} to {output}")
    if call.output.json:
        found = {"output": str(output), "messages": len(lines), "dialect": imported.dialect}
        call.output.write_json({**found, "losses": len(imported.report) + len(export.report)})
