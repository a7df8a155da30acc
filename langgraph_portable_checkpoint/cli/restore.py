"""`restore`: the threads of a backup."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from . import exits
from .call import MOVING, Call, command
from .files import STANDARD
from .moving import ExistingOption, checked_policy, counting, tell_lost_media
from .output import safe_line
from .settings import UsageError


@command("restore", panel=MOVING)
def restore(
    call: Call,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup to read.")],
    on_existing: ExistingOption = "refuse",
) -> int:
    """Write the threads of a backup. All of the file is checked before anything is written.

    May be stopped at any moment and run again: threads that are there and stay only get media back that they cannot
    read any more. Exit code 1 when a medium cannot be read here.
    """
    from ..transfer.restoring import restore as read

    policy = checked_policy(on_existing)
    if file == STANDARD:
        raise UsageError("a restore reads its file twice, so it cannot come through a pipe. Write it to a file first.")
    with call.output.progress("threads") as progress:
        report = read(call.saver(makes=True), file, on_existing=policy, progress=counting(progress))
    counts = f"{report.restored} threads with {report.checkpoints} checkpoints"
    call.output.say(f"restored {counts}; {report.unchanged} were there already, {report.skipped} skipped")
    if report.media_mended:
        call.output.say(f"put back {report.media_mended} media that threads here could not read")
    if report.blobs_left_out:
        call.output.say(f"the backup only names {report.blobs_left_out} media blobs")
    tell_lost_media(report.lost, call.output)
    for source, target in report.renamed.items():
        call.output.say(f"{safe_line(source)} became {safe_line(target)}")
    if call.output.json:
        call.output.write_json(asdict(report))
    return exits.FINDINGS if report.lost else exits.DONE
