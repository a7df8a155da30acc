"""`threads`: which threads there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .call import THREADS, Call, command
from .quick import Row, quick_threads
from .settings import UsageError

if TYPE_CHECKING:
    from ..storage.programs.reading import ThreadInfo

COLUMNS: Final = ("thread_id", "turns", "status", "checkpoints", "updated_at", "ttl_seconds")
SORTED_BY: Final = ("thread_id", "turns", "status", "checkpoints", "started_at", "updated_at", "ttl_seconds")


@command("threads", panel=THREADS)
def threads(
    call: Call,
    match: Annotated[str | None, typer.Option(metavar="PATTERN", help="Only ids that fit, as user-*.")] = None,
    status: Annotated[
        str | None,
        typer.Option(metavar="WORD", help="Only with a last turn that is open, complete, interrupted, failed."),
    ] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Only changed at or after, as 2026-11-29.")] = None,
    before: Annotated[str | None, typer.Option(metavar="TIME", help="Only changed before.")] = None,
    sort: Annotated[
        str | None, typer.Option(metavar="COLUMN", help=f"Sort by {', '.join(SORTED_BY)}; reads all threads.")
    ] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="The largest or newest first.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="Threads on a page; 0 for all.")] = 50,
    page: Annotated[int, typer.Option(min=1, help="Which page.")] = 1,
) -> None:
    """List threads, a page at a time; unsorted unless asked, so that the first page is there at once."""
    if sort is not None and sort not in SORTED_BY:
        raise UsageError(f"--sort takes {', '.join(SORTED_BY)}, not {sort!r}.")
    keep = _filter(match, status, since, before)
    start = (page - 1) * limit

    def take(rows: Iterable[Row]) -> Iterator[Row]:
        found: Iterable[Row] = filter(keep, rows)
        if sort is not None or reverse:
            found = _sorted(found, sort or "updated_at", reverse=reverse)
        return islice(found, start, start + limit + 1 if limit else None)

    # One row more than the page, to tell whether there is more.
    chosen: Iterable[Row] | None = quick_threads(call.settings(), lambda rows: list(take(rows))) if limit else None
    if chosen is None:
        chosen = take(row_of(info) for info in call.saver().threads(page_size=limit or 100))
    written, more = _write(call, chosen, limit)
    if not written:
        call.output.say("no threads here" if page == 1 else f"no threads on page {page}")
    if more:
        call.output.say(f"there are more: --page {page + 1}, or --limit 0 for all")


def _filter(match: str | None, status: str | None, since: str | None, before: str | None) -> Callable[[Row], bool]:
    def keep(row: Row) -> bool:
        changed = row["updated_at"] or ""
        return (
            (match is None or fnmatchcase(row["thread_id"], match))
            and (status is None or row["status"] == status)
            and (since is None or changed >= since)
            and (before is None or changed < before)
        )

    return keep


def _sorted(rows: Iterable[Row], column: str, *, reverse: bool) -> list[Row]:
    def key(row: Row) -> tuple[bool, Any, str]:
        value = row[column]
        return (value is not None, "" if value is None else value, row["thread_id"])

    return sorted(rows, key=key, reverse=reverse)


def _write(call: Call, rows: Iterable[Row], limit: int) -> tuple[int, bool]:
    """Write a page; return how many rows it has, and whether there is more."""
    written, more = 0, False

    def page() -> Iterator[Row]:
        nonlocal written, more
        for row in rows:
            if limit and written == limit:
                more = True
                return
            written += 1
            yield row

    call.output.rows(COLUMNS, page())
    return written, more


def row_of(info: ThreadInfo) -> dict[str, Any]:
    """Return a thread as a row."""
    row = asdict(info)
    if row["totals"] is None:
        del row["totals"]
    return row
