"""`verify`: everything that is stored of threads, looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import exits
from .call import MOVING, Call, command

if TYPE_CHECKING:
    from ..saver import PortableRedisSaver
    from .output import Progress

COLUMNS = ("thread_id", "severity", "kind", "where", "detail")


@command("verify", panel=MOVING)
def verify(
    call: Call,
    thread_ids: Annotated[
        list[str] | None, typer.Argument(metavar="THREAD", help="Ids of threads; all without.", show_default=False)
    ] = None,
    notes: Annotated[bool, typer.Option("--notes/--no-notes", help="Also what costs nothing but space.")] = True,
) -> int:
    """Look at every record, ref, digest and blob of threads. Exit code 1 when something is not as it should be.

    Changes nothing; `repair` mends what can be mended. Notes (what costs nothing but space) do not count.
    """
    saver = call.saver()
    errors = threads = 0
    with call.output.progress("threads") as progress:

        def rows() -> Iterator[dict[str, Any]]:
            nonlocal errors, threads
            for count, row in _findings(saver, thread_ids, progress):
                threads = count
                if row is not None and (notes or row["severity"] == "error"):
                    errors += row["severity"] == "error"
                    yield row

        call.output.rows(COLUMNS, rows())
    call.output.say(f"{threads} threads looked at, {errors} errors found")
    return exits.FINDINGS if errors else exits.DONE


def _findings(
    saver: PortableRedisSaver, thread_ids: list[str] | None, progress: Progress
) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield each finding with how many threads were looked at until then, and None after each thread."""
    from ..errors import ThreadNotFoundError
    from ..transfer.checking import verify_thread

    count = 0
    for thread_id in thread_ids or (info.thread_id for info in saver.threads()):
        try:
            findings = verify_thread(saver, thread_id)
        except ThreadNotFoundError:
            if thread_ids:
                raise
            continue  # deleted meanwhile
        count += 1
        progress.advance()
        yield from ((count, asdict(finding)) for finding in findings)
        yield count, None
