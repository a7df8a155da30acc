"""What threads take in the server, measured by the server itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..storage.effects import Batch, Command, Program
from ..storage.layout import THREAD_PARTS, Layout

if TYPE_CHECKING:
    from ..saver import PortableRedisSaver


def sizes_of_threads(saver: PortableRedisSaver, thread_ids: Sequence[str]) -> list[dict[str, int]]:
    """Return, for each thread, the memory of each of its keys that exists, by the key's part. One round trip."""
    return saver._run(_sizes(saver._core.layout, thread_ids)) if thread_ids else []


def thread_sizes(saver: PortableRedisSaver, thread_id: str) -> dict[str, int]:
    """Return the memory of each of a thread's keys; see `sizes_of_threads`."""
    return sizes_of_threads(saver, [thread_id])[0]


def _sizes(layout: Layout, thread_ids: Sequence[str]) -> Program[list[dict[str, int]]]:
    keys = [key for thread_id in thread_ids for key in layout.thread(thread_id)]
    found = yield Batch(tuple(Command((b"MEMORY", b"USAGE", key, b"SAMPLES", b"0")) for key in keys))
    width = len(THREAD_PARTS)
    rows = [found[at : at + width] for at in range(0, len(found), width)]
    return [{part: int(size) for part, size in zip(THREAD_PARTS, row, strict=True) if size} for row in rows]
