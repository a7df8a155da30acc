"""What was found out about long strings and bytes, so that a value saved at every step is decoded once.

Owns nothing but time saved. Strings and bytes cannot change, so what holds for an object holds as long as it lives;
each entry keeps its object alive, under a byte budget, so that its identity cannot pass to another.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

DEFAULT_BUDGET_BYTES: Final = 64 * 2**20
WORTH_REMEMBERING_BYTES: Final = 16 * 2**10


@dataclass(slots=True)
class Leaf:
    """A long string or bytes of a value, and the bytes that it stands for."""

    value: str | bytes
    data: bytes
    digests: dict[bytes, bytes] = field(default_factory=dict)

    def digest(self, key: bytes, compute: Callable[[bytes, bytes], bytes]) -> bytes:
        """Return `compute(data, key)`, computed once per key."""
        found = self.digests.get(key)
        if found is None:
            found = self.digests[key] = compute(self.data, key)
        return found


class KnownLeaves:
    """Leaves that were decoded lately. Safe to share between threads.

    >>> leaves, text = KnownLeaves(), "QUJD"
    >>> leaves.get(text) is None, leaves.add(text, b"ABC") is leaves.get(text)
    (True, True)
    """

    def __init__(self, budget_bytes: int = DEFAULT_BUDGET_BYTES) -> None:
        self.budget_bytes = budget_bytes
        self.size_bytes = 0
        self._leaves: OrderedDict[int, Leaf] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, value: str | bytes) -> Leaf | None:
        """Return what is known of this very object."""
        with self._lock:
            leaf = self._leaves.get(id(value))
            if leaf is not None:
                self._leaves.move_to_end(id(value))
            return leaf

    def add(self, value: str | bytes, data: bytes) -> Leaf:
        """Remember what an object stands for, and let go of those used longest ago."""
        leaf = Leaf(value, data)
        if _size(leaf) <= self.budget_bytes:
            with self._lock:
                if id(value) not in self._leaves:
                    self._leaves[id(value)] = leaf
                    self.size_bytes += _size(leaf)
                while self.size_bytes > self.budget_bytes:
                    self.size_bytes -= _size(self._leaves.popitem(last=False)[1])
        return leaf


def _size(leaf: Leaf) -> int:
    return len(leaf.data) + (0 if leaf.data is leaf.value else len(leaf.value))
