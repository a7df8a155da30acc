"""`repair`: what can be mended of threads, mended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer

from . import exits
from .call import MOVING, Call, DryRun, Yes, command

if TYPE_CHECKING:
    from ..saver import PortableRedisSaver

COLUMNS: Final = ("thread_id", "kind", "detail", "done")


@command("repair", panel=MOVING)
def repair(
    call: Call,
    thread_ids: Annotated[
        list[str] | None, typer.Argument(metavar="THREAD", help="Ids of threads; all without.", show_default=False)
    ] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> int:
    """Mend what can be mended: index and registry, deletes that stopped half way, missing times to live.

    Nothing that holds data is removed; what is lost is named by `verify`. Exit code 1 when something cannot be mended.
    """
    from ..transfer.repairing import repair as mend

    saver = call.saver()
    with call.output.progress("repairs") as progress:
        planned = []
        for action in mend(saver, thread_ids or None, dry_run=True):
            planned.append(action)
            progress.advance()
    _check_known(saver, {*(thread_ids or ())} - {action.thread_id for action in planned})
    hopeless = [action for action in planned if action.kind == "cannot mend"]
    todo = len(planned) - len(hopeless)
    found = planned
    if todo and not dry_run:
        call.confirm(f"Mend {todo} things? --dry-run shows them.", yes=yes)
        found = list(mend(saver, thread_ids or None, dry_run=False))
    call.output.rows(COLUMNS, map(asdict, found))
    done = sum(action.done for action in found)
    call.output.say(f"{todo} things to mend" if dry_run else f"{done} things mended")
    return exits.FINDINGS if hopeless else exits.DONE


def _check_known(saver: PortableRedisSaver, thread_ids: Iterable[str]) -> None:
    """Refuse ids of threads that are not there, and of which nothing is left that could be mended."""
    from ..errors import ThreadNotFoundError

    for thread_id in thread_ids:
        if saver.thread_info(thread_id) is None:
            raise ThreadNotFoundError(f"there is no thread {thread_id!r} here. Check the id and the server.")
