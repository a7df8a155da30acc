"""stats: what memory goes where, in one thread or in all, and how a thread grows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..errors import StorageError, ThreadNotFoundError
from ..saver import PortableRedisSaver
from ..storage.effects import Batch, Command, Program
from ..storage.items import BLOB, INNER, LEAF, MESSAGE, SEALED, SHAPE
from ..storage.layout import THREAD_PARTS, checked_id
from ..storage.programs import weighing
from ..storage.programs.weighing import Names
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
    """Say what a thread takes, or all threads under the prefix; values stay in the server.

    Memory holds the names of one thread's fields, and the sizes of its checkpoints. Round trips for a thread: 2, and 1
    for each 1,000 items and each 1,000 checkpoints.

    Raises:
        ThreadNotFoundError: the named thread does not exist.
    """
    made = Stats()
    names = drive(inventory_of(saver).threads()) if thread_id is None else [checked_id("thread_id", thread_id)]
    for name in names:
        held = saver._run(weighing.names_of(saver._core, name))
        if held is not None:
            _add(saver, made, name, held)
        elif thread_id is not None:
            raise ThreadNotFoundError(f"there is no thread {thread_id!r} here.")
    return made


def _add(saver: PortableRedisSaver, made: Stats, thread_id: str, held: Names) -> None:
    made.threads += 1
    made.checkpoints += len(held.parts["ckpts"])
    made.turns += sum(b":" not in name for name in held.parts["turns"])
    items = _weighed(saver, thread_id, held, "items", kinds=True)
    for size, told in items:
        kind = ITEM_NAMES.get(told & ~SEALED if told >= 0 else -1, "unknown")
        made.items[kind] += 1
        made.item_bytes[kind] += size
    records = [size for size, _ in _weighed(saver, thread_id, held, "ckpts")]
    measured = _measured(saver, thread_id)
    made.measured = made.measured and measured is not None
    known = {"items": sum(size for size, _ in items), "ckpts": sum(records)}
    made.bytes_by_part.update(measured if measured is not None else _summed(saver, thread_id, held, known))
    old, new = _growth(saver, thread_id, held, records)
    share = 1 / made.threads
    made.oldest_checkpoint_bytes += (old - made.oldest_checkpoint_bytes) * share
    made.newest_checkpoint_bytes += (new - made.newest_checkpoint_bytes) * share


def _weighed(
    saver: PortableRedisSaver, thread_id: str, held: Names, part: str, *, kinds: bool = False
) -> list[tuple[int, int]]:
    return saver._run(weighing.weigh(saver._core, thread_id, part, held.parts[part], kinds=kinds))


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


def _summed(saver: PortableRedisSaver, thread_id: str, held: Names, known: Mapping[str, int]) -> dict[str, int]:
    """Add up what is stored, for users who may not ask the server."""
    sizes = {}
    for part, names in held.parts.items():
        if names:
            values = known.get(part) or sum(size for size, _ in _weighed(saver, thread_id, held, part))
            sizes[part] = values + sum(len(name) + ENTRY_BYTES for name in names)
    index = sum(len(place) + ENTRY_BYTES for place in held.parts["ckpts"])
    return {**sizes, "index": index, "runs": held.runs * (16 + ENTRY_BYTES)}


def _growth(saver: PortableRedisSaver, thread_id: str, held: Names, records: Sequence[int]) -> tuple[float, float]:
    """Weigh the first and the last fifth of the checkpoints, in bytes for each."""
    sizes = dict(zip(held.parts["ckpts"], records, strict=True))
    places = sorted(sizes, key=lambda place: place.rpartition(b"\0")[2])
    count = max(1, len(places) // 5)
    return _average(saver, thread_id, sizes, places[:count]), _average(saver, thread_id, sizes, places[-count:])


def _average(saver: PortableRedisSaver, thread_id: str, sizes: Mapping[bytes, int], places: Sequence[bytes]) -> float:
    writes = saver._run(weighing.weigh(saver._core, thread_id, "writes", places))
    return sum(sizes[place] + size for place, (size, _) in zip(places, writes, strict=True)) / max(1, len(places))
