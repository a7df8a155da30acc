"""`convert`: from one dialect to another, without any server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .call import HISTORIES, Call, command
from .histories import (
    From,
    Incomplete,
    Model,
    OutFile,
    Profile,
    Reasoning,
    To,
    Turns,
    checked_choices,
    read_history,
    write_export,
)
from .losses import ReportFile, Strict, tell_losses


@command("convert", panel=HISTORIES, server="no")
def convert(
    call: Call,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A history of any dialect; - for stdin.")],
    to: To,
    from_: From = "auto",
    output: OutFile = None,
    model: Model = None,
    profile: Profile = None,
    turns: Turns = None,
    incomplete: Incomplete = "drop",
    reasoning: Reasoning = "same-origin",
    strict: Strict = False,
    report: ReportFile = None,
) -> None:
    """Convert a history from one dialect to another, and report what was lost."""
    from ..dialects.export import export_messages

    options = checked_choices(incomplete=incomplete, reasoning=reasoning)
    imported = read_history(file, dialect=from_)
    export = export_messages(imported.envelopes, to, turns=turns, model=model, profile=profile, **options)
    tell_losses((*imported.report, *export.report), call.output, report=report, strict=strict)
    write_export(export, output, call.output)
