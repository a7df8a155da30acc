"""Blobs that several calls put at the same moment, put by one of them.

Savers write a message's checkpoint, its input and its tasks' writes side by side, and each of these holds the medium.
Owns who puts and who waits; the waiting itself is the caller's, blocking or not. Only puts that are under way are
joined: what was put before may have been deleted or damaged since.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock
from types import TracebackType

Blob = tuple[str, str | None, bytes]
"""SHA-256 in hex, mime type, bytes."""


class PutsUnderWay:
    """The puts of a store that have begun and not ended. Safe to share between threads and event loops."""

    def __init__(self) -> None:
        self._refs: dict[str, Future[str]] = {}
        self._lock = Lock()

    def claim(self, blobs: Sequence[Blob]) -> Claim:
        """Divide blobs into those that nobody puts, which are the caller's to put now, and the others."""
        with self._lock:
            others = {blob[0]: self._refs[blob[0]] for blob in blobs if blob[0] in self._refs}
            own: dict[str, Future[str]] = {blob[0]: Future() for blob in blobs if blob[0] not in others}
            self._refs.update(own)
        return Claim(self, blobs, own, others)

    def forget(self, digests: Sequence[str]) -> None:
        """Let the next call put these itself."""
        with self._lock:
            for digest in digests:
                self._refs.pop(digest, None)


class Claim:
    """What one call puts, and what it waits for. As a context it ends its own puts, whatever becomes of them."""

    def __init__(
        self,
        puts: PutsUnderWay,
        blobs: Sequence[Blob],
        own: dict[str, Future[str]],
        others: dict[str, Future[str]],
    ) -> None:
        self._puts = puts
        self._blobs = blobs
        self._own = own
        self.others = others
        """By digest; one that is cancelled was not put."""
        self._refs: dict[str, str] = {}

    @property
    def own(self) -> list[Blob]:
        """The blobs to put now."""
        return [blob for blob in self._blobs if blob[0] in self._own]

    def __enter__(self) -> Claim:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        self._puts.forget(list(self._own))
        for future in self._own.values():
            if future.cancel():
                future.set_running_or_notify_cancel()  # wakes those who wait

    def done(self, blobs: Sequence[Blob], refs: Sequence[str]) -> None:
        """Note what the store answered, and tell those who wait for it."""
        for (digest, *_), ref in zip(blobs, refs, strict=True):
            self._refs[digest] = ref
            if digest in self._own:
                self._own[digest].set_result(ref)

    def left(self) -> list[Blob]:
        """Take over what others have put, and list what they have not: it is the caller's after all."""
        for digest, future in self.others.items():
            if future.done() and not future.cancelled():
                self._refs[digest] = future.result()
        return [blob for blob in self._blobs if blob[0] not in self._refs]

    def refs(self) -> list[str]:
        """The refs of all blobs, in order."""
        return [self._refs[blob[0]] for blob in self._blobs]
