"""`backup`: threads as they are stored, in one file."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from . import exits
from .call import MOVING, Call, command
from .files import STANDARD
from .moving import counting, tell_lost_media
from .output import shown_bytes


@command("backup", panel=MOVING)
def backup(
    call: Call,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup to write; - for stdout.")],
    thread: Annotated[
        list[str] | None, typer.Option("--thread", metavar="THREAD", help="Only this thread; may be repeated.")
    ] = None,
    media_by_reference: Annotated[
        bool, typer.Option("--media-by-reference", help="Leave media bytes out, and only name them.")
    ] = False,
    stores_by_reference: Annotated[
        bool, typer.Option("--stores-by-reference", help="Leave out the bytes of the media store, and only name them.")
    ] = False,
) -> int:
    """Write threads, or all of the prefix, to one file with checksums. What is encrypted stays encrypted.

    Media are in the file, also those that the media store has. Exit code 1 when a medium cannot be read.
    """
    from ..transfer.backup import backup as write

    saver = call.saver()
    with call.output.progress("threads") as progress:
        report = write(
            saver,
            cast(Any, sys.stdout.buffer if file == STANDARD else file),
            thread or None,
            media="reference" if media_by_reference else "own" if stores_by_reference else "include",
            progress=counting(progress),
        )
    call.output.say(
        f"wrote {report.threads} threads, {report.checkpoints} checkpoints, {shown_bytes(report.size_bytes)}"
    )
    tell_lost_media(report.lost, call.output, rows=file != STANDARD)
    if call.output.json and file != STANDARD:
        call.output.write_json({"file": str(file), **asdict(report)})
    return exits.FINDINGS if report.lost else exits.DONE
