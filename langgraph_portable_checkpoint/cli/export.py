"""`export`: a thread as a provider's history."""

from __future__ import annotations

from typing import Annotated

import typer

from .call import HISTORIES, Call, ThreadId, command
from .histories import (
    Incomplete,
    Model,
    OutFile,
    Profile,
    Reasoning,
    To,
    Turns,
    checked_choices,
    write_export,
)
from .losses import ReportFile, Strict, tell_losses


@command("export", panel=HISTORIES)
def export(
    call: Call,
    thread_id: ThreadId,
    to: To,
    output: OutFile = None,
    model: Model = None,
    profile: Profile = None,
    turns: Turns = None,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="ID", help="Another checkpoint than the head; its branch is exported.")
    ] = None,
    ns: Annotated[str, typer.Option(metavar="NAME", help="Another checkpoint namespace than the root.")] = "",
    full: Annotated[
        bool, typer.Option("--full", help="Also what was since summarised or trimmed away, from older checkpoints.")
    ] = False,
    incomplete: Incomplete = "drop",
    reasoning: Reasoning = "same-origin",
    strict: Strict = False,
    report: ReportFile = None,
) -> None:
    """Write a thread as a history that a provider accepts on the first request, and report what was lost."""
    from ..transfer.histories import export_thread

    chosen = checked_choices(incomplete=incomplete, reasoning=reasoning)
    found = export_thread(
        call.saver(),
        thread_id,
        to,
        checkpoint_id=checkpoint,
        checkpoint_ns=ns,
        full=full,
        turns=turns,
        model=model,
        profile=profile,
        **chosen,
    )
    tell_losses(found.report, call.output, report=report, strict=strict)
    write_export(found, output, call.output)
    for call_id in found.pending:
        call.output.say(f"call {call_id!r} waits for a human; its turn was left out")
