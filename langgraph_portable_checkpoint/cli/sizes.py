"""What a thread takes in the server, measured by the server itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..storage.effects import Batch, Command, Program
from ..storage.layout import THREAD_PARTS, Layout

if TYPE_CHECKING:
    from ..saver import PortableRedisSaver


def thread_sizes(saver: PortableRedisSaver, thread_id: str) -> dict[str, int]:
    """Return the memory of each of a thread's keys that exists, by the key's part. One round trip."""
    return saver._run(_sizes(saver._core.layout, thread_id))


def _sizes(layout: Layout, thread_id: str) -> Program[dict[str, int]]:
    keys = layout.thread(thread_id)
    found = yield Batch(tuple(Command((b"MEMORY", b"USAGE", key, b"SAMPLES", b"0")) for key in keys))
    return {part: int(size) for part, size in zip(THREAD_PARTS, found, strict=True) if size}
