"""Blobs that were read lately, by digest, under a byte budget."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

DEFAULT_BUDGET_BYTES: Final = 64 * 2**20


class BlobCache:
    """Keeps the blobs used last, as long as they fit together. Safe to share between threads.

    A digest names its bytes for ever, so nothing here can be out of date.

    >>> cache = BlobCache(budget_bytes=3)
    >>> cache.put("a", b"12"), cache.put("b", b"34"), cache.put("c", b"5678")
    (None, None, None)
    >>> cache.get("a"), cache.get("b"), cache.get("c")
    (None, b'34', None)
    """

    def __init__(self, budget_bytes: int = DEFAULT_BUDGET_BYTES) -> None:
        self.budget_bytes = budget_bytes
        self.size_bytes = 0
        self._blobs: OrderedDict[str | bytes, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, digest: str | bytes) -> bytes | None:
        """Return the bytes, or None."""
        with self._lock:
            data = self._blobs.get(digest)
            if data is not None:
                self._blobs.move_to_end(digest)
            return data

    def put(self, digest: str | bytes, data: bytes) -> None:
        """Keep the bytes, and let go of those used longest ago; bytes above the whole budget are not kept."""
        with self._lock:
            if len(data) > self.budget_bytes or digest in self._blobs:
                return
            self._blobs[digest] = data
            self.size_bytes += len(data)
            while self.size_bytes > self.budget_bytes:
                self.size_bytes -= len(self._blobs.popitem(last=False)[1])

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._blobs.clear()
            self.size_bytes = 0
