"""`stats`: what memory goes where."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ..errors import ServerReadOnlyError
from .call import THREADS, Call, command
from .output import Output, safe_line, shown_bytes
from .sizes import sizes_of_threads

if TYPE_CHECKING:
    from ..saver import PortableRedisSaver
    from ..storage.programs.reading import ThreadInfo
    from ..transfer.measuring import Stats

PAGE: Final = 100
_NAMES: Final = {
    "items": "messages and values",
    "ckpts": "checkpoint records",
    "writes": "pending writes",
    "turns": "turn envelopes",
    "blobs": "media",
    "media": "media table",
    "index": "index of checkpoints",
    "meta": "thread's own record",
    "runs": "run ids",
}


@dataclass
class _Totals:
    """Sums over all threads, and the largest of them; memory does not grow with their number."""

    threads: int = 0
    bytes: int = 0
    turns: int = 0
    checkpoints: int = 0
    parts: Counter[str] = field(default_factory=Counter)
    largest: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)

    def add(self, row: dict[str, Any], top: int) -> None:
        self.threads += 1
        self.bytes += row["bytes"]
        self.turns += row["turns"]
        self.checkpoints += row["checkpoints"]
        self.parts.update(row["parts"])
        heapq.heappush(self.largest, (row["bytes"], row["thread_id"], row))
        if len(self.largest) > top:
            heapq.heappop(self.largest)


@command("stats", panel=THREADS)
def stats(
    call: Call,
    thread_id: Annotated[str | None, typer.Argument(metavar="THREAD", help="One thread; all of them without.")] = None,
    top: Annotated[int, typer.Option(min=0, help="How many of the largest threads to list.")] = 10,
) -> None:
    """Say what memory goes where, as the server counts it: by thread, by part, by turn and checkpoint."""
    from ..transfer.measuring import stats as measure

    saver = call.saver()
    if thread_id is not None:
        _write(call.output, _row_of(measure(saver, thread_id), thread_id), heading=f"thread {safe_line(thread_id)}")
        return
    try:
        _write_all(call.output, _totals(saver, call.output, top))
    except ServerReadOnlyError:  # this user may not ask for MEMORY USAGE
        row = _row_of(measure(saver), None)
        _write(call.output, row, heading=f"{row['threads']} threads")


def _totals(saver: PortableRedisSaver, output: Output, top: int) -> _Totals:
    totals = _Totals()
    with output.progress("threads") as progress:
        for row in _rows(saver):
            totals.add(row, top)
            progress.advance()
    return totals


def _row_of(found: Stats, thread_id: str | None) -> dict[str, Any]:
    """Return what the library measured, in all of one thread or of all threads."""
    size = found.size_bytes
    return {
        "thread_id": thread_id,
        "threads": found.threads,
        "bytes": size,
        "turns": found.turns,
        "checkpoints": found.checkpoints,
        **_shares(size, found.turns, found.checkpoints),
        "parts": dict(found.bytes_by_part),
        "items": dict(found.items),
        "item_bytes": dict(found.item_bytes),
        "measured": found.measured,
        "first_checkpoint_bytes": round(found.oldest_checkpoint_bytes),
        "last_checkpoint_bytes": round(found.newest_checkpoint_bytes),
    }


def _shares(size: int, turns: int, checkpoints: int) -> dict[str, int | None]:
    return {
        "bytes_per_turn": round(size / turns) if turns else None,
        "bytes_per_checkpoint": round(size / checkpoints) if checkpoints else None,
    }


def _rows(saver: PortableRedisSaver) -> Iterator[dict[str, Any]]:
    for batch in _batches(saver.threads(page_size=PAGE)):
        sizes = sizes_of_threads(saver, [info.thread_id for info in batch])
        yield from (_row(info, parts) for info, parts in zip(batch, sizes, strict=True))


def _batches(threads: Iterable[ThreadInfo]) -> Iterator[list[ThreadInfo]]:
    waiting = iter(threads)
    while batch := list(islice(waiting, PAGE)):
        yield batch


def _row(info: ThreadInfo, parts: dict[str, int]) -> dict[str, Any]:
    size = sum(parts.values())
    return {
        "thread_id": info.thread_id,
        "bytes": size,
        "turns": info.turns,
        "checkpoints": info.checkpoints,
        **_shares(size, info.turns, info.checkpoints),
        "parts": parts,
    }


def _write(output: Output, row: dict[str, Any], *, heading: str) -> None:
    if output.json:
        output.write_json(row)
        return
    counts = f"{row['turns']} turns, {row['checkpoints']} checkpoints"
    output.write(f"{heading}: {shown_bytes(row['bytes'])}, {counts}")
    for name in ("turn", "checkpoint"):
        if row[f"bytes_per_{name}"] is not None:
            output.write(f"{shown_bytes(row[f'bytes_per_{name}']):>10}  per {name}")
    for part, size in sorted(row["parts"].items(), key=lambda pair: -pair[1]):
        output.write(f"{shown_bytes(size):>10}  {_NAMES.get(part, part)}")
    for kind, count in row.get("items", {}).items():
        output.write(f"{shown_bytes(row['item_bytes'][kind]):>10}  as stored in {count} {kind}")
    if "last_checkpoint_bytes" in row:
        first, last = (shown_bytes(row[f"{end}_checkpoint_bytes"]) for end in ("first", "last"))
        output.write(f"growth: a checkpoint's own record and writes took {first} at first and take {last} now")
    if not row.get("measured", True):
        output.write("(summed up from the values; this user may not ask the server with MEMORY USAGE)")


def _write_all(output: Output, totals: _Totals) -> None:
    row = {
        "threads": totals.threads,
        "bytes": totals.bytes,
        "turns": totals.turns,
        "checkpoints": totals.checkpoints,
        **_shares(totals.bytes, totals.turns, totals.checkpoints),
        "parts": dict(totals.parts),
    }
    largest = [row for *_, row in sorted(totals.largest, key=lambda found: (-found[0], found[1]))]
    if output.json:
        output.write_json({**row, "largest": largest})
        return
    _write(output, row, heading=f"{totals.threads} threads")
    if largest:
        output.write()
        output.rows(("thread_id", "bytes", "turns", "checkpoints", "bytes_per_turn"), largest)
