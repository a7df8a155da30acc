"""`backup` and `restore`: threads as they are stored, in one file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from .call import MOVING, Call, command
from .files import STANDARD
from .output import Progress, safe_line, shown_bytes
from .settings import UsageError

if TYPE_CHECKING:
    from ..transfer.copying import Progress as Done

OnExisting = Literal["refuse", "skip", "overwrite", "as-new"]
POLICIES = ("refuse", "skip", "overwrite", "as-new")
ExistingOption = Annotated[
    str, typer.Option("--on-existing", metavar="HOW", help=f"Threads that are there: {', '.join(POLICIES)}.")
]


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
) -> None:
    """Write threads, or all of the prefix, to one file with checksums. What is encrypted stays encrypted."""
    from ..transfer.backup import backup as write

    saver = call.saver()
    with call.output.progress("threads") as progress:
        report = write(
            saver,
            cast(Any, sys.stdout.buffer if file == STANDARD else file),
            thread or None,
            media="reference" if media_by_reference else "include",
            progress=counting(progress),
        )
    call.output.say(
        f"wrote {report.threads} threads, {report.checkpoints} checkpoints, {shown_bytes(report.size_bytes)}"
    )
    if call.output.json and file != STANDARD:
        call.output.write_json({"file": str(file), **asdict(report)})


@command("restore", panel=MOVING)
def restore(
    call: Call,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup to read.")],
    on_existing: ExistingOption = "refuse",
) -> None:
    """Write the threads of a backup. All of the file is checked before anything is written.

    May be stopped at any moment and run again.
    """
    from ..transfer.backup import restore as read

    policy = checked_policy(on_existing)
    with call.output.progress("threads") as progress:
        report = read(call.saver(), file, on_existing=policy, progress=counting(progress))
    counts = f"{report.restored} threads with {report.checkpoints} checkpoints"
    call.output.say(f"restored {counts}; {report.unchanged} were there already, {report.skipped} skipped")
    if report.blobs_left_out:
        call.output.insist(f"warning: the backup only names {report.blobs_left_out} media blobs; they are not here")
    for source, target in report.renamed.items():
        call.output.say(f"{safe_line(source)} became {safe_line(target)}")
    if call.output.json:
        call.output.write_json(asdict(report))


def checked_policy(on_existing: str) -> OnExisting:
    """Return what to do about threads that are there.

    Raises:
        UsageError: the word is none of those known.
    """
    if on_existing not in POLICIES:
        raise UsageError(f"--on-existing takes {', '.join(POLICIES)}, not {on_existing!r}.")
    return cast(OnExisting, on_existing)


def counting(progress: Progress) -> Callable[[Done], None]:
    """Return a callback that shows how far it is."""
    return lambda done: progress.at(done.done, done.total)
