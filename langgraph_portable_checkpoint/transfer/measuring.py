"""stats: what memory goes where, in one thread or in all, and how a thread grows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from ..errors import StorageError, ThreadNotFoundError
from ..saver import PortableRedisSaver
from ..storage.effects import Batch, Command, Program
from ..storage.items import BLOB, INNER, LEAF, MESSAGE, SEALED, SHAPE
from ..storage.layout import THREAD_PARTS, checked_id
from ..storage.programs import whole
from .inventory import inventory_of
from .steps import drive

ITEM_NAMES: Final = {MESSAGE: "messages", BLOB: "values", LEAF: "pages", INNER: "pages", SHAPE: "shapes"}
ENTRY_BYTES: Final = 64
"""What the server adds to a field of a hash or set, about; used where it does not say itself."""


@dataclass(slots=True)
class Stats:
    """What threads take.

    Attributes:
        threads, checkpoints, turns: How many.
        bytes_by_part: Bytes in the server by part of a thread (see `layout.THREAD_PARTS`).
        items, item_bytes: How many items of each kind, and their bytes as stored.
        measured: Whether the server itself gave the bytes (MEMORY USAGE); else they are summed up from the values.
        newest_checkpoint_bytes: Record and pending writes of a checkpoint, on average over a thread's last fifth.
        oldest_checkpoint_bytes: The same for the first fifth: a thread that grows as it should has about the same.
    """

    threads: int = 0
    checkpoints: int = 0
    turns: int = 0
    bytes_by_part: Counter[str] = field(default_factory=Counter)
    items: Counter[str] = field(default_factory=Counter)
    item_bytes: Counter[str] = field(default_factory=Counter)
    measured: bool = True
    newest_checkpoint_bytes: float = 0.0
    oldest_checkpoint_bytes: float = 0.0

    @property
    def size_bytes(self) -> int:
        """Bytes in all."""
        return sum(self.bytes_by_part.values())

    @property
    def bytes_per_turn(self) -> float:
        """Bytes for each turn."""
        return self.size_bytes / self.turns if self.turns else 0.0


def stats(saver: PortableRedisSaver, thread_id: str | None = None) -> Stats:
    """Say what a thread takes, or all threads under the prefix; memory holds one thread at a time.

    Raises:
        ThreadNotFoundError: the named thread does not exist.
    """
    made = Stats()
    names = drive(inventory_of(saver).threads()) if thread_id is None else [checked_id("thread_id", thread_id)]
    for name in names:
        stored = saver._run(whole.dump_thread(saver._core, name))
        if stored is not None:
            _add(saver, made, name, stored)
        elif thread_id is not None:
            raise ThreadNotFoundError(f"there is no thread {thread_id!r} here.")
    return made


def _add(saver: PortableRedisSaver, made: Stats, thread_id: str, stored: whole.StoredThread) -> None:
    made.threads += 1
    made.checkpoints += len(stored.ckpts)
    made.turns += sum(b":" not in name for name in stored.turns)
    for data in stored.items.values():
        kind = ITEM_NAMES.get(data[1] & ~SEALED if len(data) > 1 else -1, "unknown")
        made.items[kind] += 1
        made.item_bytes[kind] += len(data)
    measured = _measured(saver, thread_id)
    made.measured = made.measured and measured is not None
    made.bytes_by_part.update(measured if measured is not None else _summed(stored))
    old, new = _growth(stored)
    share = 1 / made.threads
    made.oldest_checkpoint_bytes += (old - made.oldest_checkpoint_bytes) * share
    made.newest_checkpoint_bytes += (new - made.newest_checkpoint_bytes) * share


def _measured(saver: PortableRedisSaver, thread_id: str) -> dict[str, int] | None:
    """Ask the server; None where this user may not."""
    keys = saver._core.layout.thread(thread_id)
    try:
        sizes = saver._run(_usage(keys))
    except StorageError:
        return None
    return {part: int(size) for part, size in zip(THREAD_PARTS, sizes, strict=True) if size}


def _usage(keys: Iterable[bytes]) -> Program[list[int | None]]:
    return (yield Batch(tuple(Command(("MEMORY", "USAGE", key, "SAMPLES", 0)) for key in keys)))  # type: ignore[no-any-return]  # what the server says


def _summed(stored: whole.StoredThread) -> dict[str, int]:
    parts = {part: stored.part(part) for part in whole.PARTS}
    sizes = {p: sum(len(k) + len(v) + ENTRY_BYTES for k, v in values.items()) for p, values in parts.items() if values}
    index = sum(len(place) + ENTRY_BYTES for place in stored.ckpts)
    return {**sizes, "index": index, "runs": len(stored.runs) * (16 + ENTRY_BYTES)}


def _growth(stored: whole.StoredThread) -> tuple[float, float]:
    """Weigh the first and the last fifth of the checkpoints, in bytes for each."""
    places = sorted(stored.ckpts, key=lambda place: place.rpartition(b"\0")[2])
    count = max(1, len(places) // 5)
    ends = (places[:count], places[-count:])
    old, new = ([len(stored.ckpts[p]) + len(stored.writes.get(p, b"")) for p in end] or [0] for end in ends)
    return sum(old) / len(old), sum(new) / len(new)
