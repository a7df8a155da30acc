"""`stats`: what memory goes where."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ..errors import ThreadNotFoundError
from .call import THREADS, Call, command
from .output import Output, safe_line, shown_bytes
from .sizes import sizes_of_threads

if TYPE_CHECKING:
    from ..saver import PortableRedisSaver
    from ..storage.programs.reading import ThreadInfo

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
    saver = call.saver()
    if thread_id is not None:
        info = saver.thread_info(thread_id)
        if info is None:
            raise ThreadNotFoundError(f"there is no thread {thread_id!r} here.")
        row = _row(info, sizes_of_threads(saver, [thread_id])[0])
        _write(call.output, row, heading=f"thread {safe_line(thread_id)}")
        return
    totals = _Totals()
    with call.output.progress("threads") as progress:
        for row in _rows(saver):
            totals.add(row, top)
            progress.advance()
    _write_all(call.output, totals)


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
        "bytes_per_turn": round(size / info.turns) if info.turns else None,
        "bytes_per_checkpoint": round(size / info.checkpoints) if info.checkpoints else None,
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


def _write_all(output: Output, totals: _Totals) -> None:
    row = {
        "threads": totals.threads,
        "bytes": totals.bytes,
        "turns": totals.turns,
        "checkpoints": totals.checkpoints,
        "bytes_per_turn": round(totals.bytes / totals.turns) if totals.turns else None,
        "bytes_per_checkpoint": round(totals.bytes / totals.checkpoints) if totals.checkpoints else None,
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
