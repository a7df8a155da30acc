"""`migrate`: threads from one saver to another."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import exits
from .call import MOVING, Call, command
from .moving import ExistingOption, checked_policy, counting, settle_memory
from .output import safe_line
from .settings import hide_secrets

if TYPE_CHECKING:
    from ..transfer.copying import CopyReport

_FORMS = (
    "redis://, rediss://, unix://, embedded:///FOLDER, sqlite:///FILE, postgresql://, redisjson+redis://, valkey-aws://"
)


@command("migrate", panel=MOVING)
def migrate(
    call: Call,
    source: Annotated[
        str, typer.Option("--from", metavar="URL", help=f"{_FORMS}, or MODULE:FACTORY.", show_default=False)
    ],
    target: Annotated[
        str | None, typer.Option("--to", metavar="URL", help="Like --from; by default the server of the other options.")
    ] = None,
    from_prefix: Annotated[
        str | None,
        typer.Option("--from-prefix", metavar="TEXT", help="Prefix of the keys of --from; --prefix is that of --to."),
    ] = None,
    from_media: Annotated[
        str | None,
        typer.Option("--from-media", metavar="FOLDER", help="Media store of --from; --media is that of --to."),
    ] = None,
    thread: Annotated[
        list[str] | None, typer.Option("--thread", metavar="THREAD", help="Only this thread; may be repeated.")
    ] = None,
    on_existing: ExistingOption = "refuse",
    verify: Annotated[bool, typer.Option("--verify/--no-verify", help="Compare every checkpoint copied.")] = True,
) -> int:
    """Copy threads from any saver to any other: every checkpoint, namespace, pending write and metadata.

    May be stopped at any moment and run again: it goes on where it was. Media go along, from and to folders and other
    stores. Exit code 1 when something does not compare equal, or a medium cannot be read.
    """
    from ..transfer.copying import copy_threads
    from ..transfer.sources import open_saver

    hide_secrets(call.output, source, target)
    policy = checked_policy(on_existing)
    named = {"prefix": from_prefix, "media_store": None if from_media is None else Path(from_media).expanduser()}
    options = {name: value for name, value in named.items() if value is not None}
    opened = call.until_end(open_saver(source, create=False, **options))
    to = call.saver(makes=True) if target is None else call.until_end(open_saver(target, **call.saver_options()))
    settle_memory()
    with call.output.progress("threads") as progress:
        report = copy_threads(
            opened, to, thread or None, on_existing=policy, progress=counting(progress), verify=verify
        )
    _tell(call, report, verify=verify)
    return exits.DONE if report.equal else exits.FINDINGS


def _tell(call: Call, report: CopyReport, *, verify: bool) -> None:
    say = call.output.say
    say(f"{report.copied} threads copied, {report.completed} completed, {report.unchanged} there already")
    if report.skipped:
        say(
            f"{report.skipped} skipped: the target has other threads of these ids, or what is told below was in the way"
        )
    compared = f", {len(report.differences)} differences" if not report.equal else ", all equal" if verify else ""
    say(f"{report.checkpoints} checkpoints and {report.writes} writes stored{compared}")
    if report.respelled:
        say(f"channel versions of {report.respelled} threads became texts, as those of the target are")
    if report.stripped:
        say(f"media of {report.stripped} threads were left out: the target's media policy strips them")
    if report.uploads_left_out:
        say(f"{report.uploads_left_out} recorded uploads were left out: the target has no place for them")
    for name, renamed in report.renamed.items():
        say(f"{safe_line(name)} became {safe_line(renamed)}")
    differences: list[dict[str, Any]] = [asdict(one) for one in report.differences]
    if call.output.json:
        call.output.write_json({**asdict(report), "differences": differences})
    elif differences:
        call.output.rows(("thread_id", "checkpoint_ns", "checkpoint_id", "detail"), differences)
