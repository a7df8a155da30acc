"""Stored values without their digests, for backups: what an item, record or frame names is written as a number.

Digests are random bytes, which nothing compresses. A thread's blobs and items are numbered in the order in which they
are written, so that an item names only what came before it; a value's refs then are small numbers, or the digest itself
where the thread does not hold what it names. Values:

| shrunk | stored |
|---|---|
| bin | the same bytes |
| [kind, [ref, ...], bin] | an item or record: kind, refs (a number, or 16 bytes), and the encoded body |
| [[key, kind, [ref, ...], bin], ...] | frames of pending writes; key nil: what the record's own task and index make |
| [bin, number, bin, number, ..., bin] | a turn: between two pieces stands `c4 10` and the digest of that number |

Nothing is shrunk that does not come back byte for byte; that is tried for each value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from ..errors import CorruptRecordError
from ..storage.codec import id_from_wire
from ..storage.items import DIGEST_BYTES, SEALED, _assemble, _split, unpack
from ..storage.programs.paged import Outline
from ..storage.records import write_key

Shrunk = bytes | list[Any]
_LENGTHS: Final = 4 + 2
_BIN_16: Final = b"\xc4\x10"


class Numbers:
    """The numbers of a thread's blobs and items. Used the same way by who writes and who reads."""

    def __init__(self) -> None:
        self._digests: list[bytes] = []
        self._numbers: dict[bytes, int] = {}

    def add(self, digest: bytes) -> None:
        """Give the next number to a digest."""
        self._numbers.setdefault(digest, len(self._digests))
        self._digests.append(digest)

    @staticmethod
    def keep(stored: bytes) -> Shrunk:
        """Leave a value as it is."""
        return stored

    def shrink(self, stored: bytes) -> Shrunk:
        """Shrink an item or record."""
        shrunk = self._shrink(stored)
        return stored if shrunk is None or self._expand(*shrunk) != stored else shrunk

    def expand(self, shrunk: Any) -> bytes:
        """Invert `shrink`."""
        return shrunk if isinstance(shrunk, bytes) else self._expand(*shrunk)

    def shrink_frames(self, stored: bytes) -> Shrunk:
        """Shrink the frames of a checkpoint's pending writes."""
        shrunk: list[Any] = []
        for key, record in _frames(stored):
            parts = self._shrink(record)
            if parts is None:
                return stored
            shrunk.append([None if key == _own_key(parts) else key, *parts])
        return shrunk if self.expand_frames(shrunk) == stored else stored

    def expand_frames(self, shrunk: Any) -> bytes:
        """Invert `shrink_frames`."""
        if isinstance(shrunk, bytes):
            return shrunk
        out = bytearray()
        for key, *parts in shrunk:
            key = _own_key(parts) or b"" if key is None else key
            rest = len(key).to_bytes(2, "big") + key + self._expand(*parts)
            out += len(rest).to_bytes(4, "big") + rest
        return bytes(out)

    def shrink_text(self, stored: bytes) -> Shrunk:
        """Shrink a value that may have digests anywhere, as msgpack bins."""
        pieces: list[Any] = []
        start = at = 0
        while (at := stored.find(_BIN_16, at)) >= 0:
            number = self._numbers.get(stored[at + 2 : at + 2 + DIGEST_BYTES])
            if number is None:
                at += 1
                continue
            pieces += (stored[start:at], number)
            start = at = at + 2 + DIGEST_BYTES
        return [*pieces, stored[start:]] if pieces else stored

    def expand_text(self, shrunk: Any) -> bytes:
        """Invert `shrink_text`."""
        if isinstance(shrunk, bytes):
            return shrunk
        return b"".join(_BIN_16 + self._digests[piece] if isinstance(piece, int) else piece for piece in shrunk)

    def _shrink(self, stored: bytes) -> list[Any] | None:
        try:
            kind, joined, body = _split(stored, what="value", where="a backup")
        except CorruptRecordError:
            return None
        refs = (joined[at : at + DIGEST_BYTES] for at in range(0, len(joined), DIGEST_BYTES))
        return [kind, [self._numbers.get(ref, ref) for ref in refs], body]

    def _expand(self, kind: int, refs: list[int | bytes], body: bytes) -> bytes:
        return _assemble(kind, b"".join(self._digests[ref] if isinstance(ref, int) else ref for ref in refs), body)


def _frames(stored: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 0
    while at < len(stored):
        stop = at + 4 + int.from_bytes(stored[at : at + 4], "big")
        start = at + _LENGTHS + int.from_bytes(stored[at + 4 : at + _LENGTHS], "big")
        yield stored[at + _LENGTHS : start], stored[start:stop]
        at = max(stop, at + _LENGTHS)


def _own_key(parts: list[Any]) -> bytes | None:
    """Make a frame's key of its record; None when it is sealed or not a record of a write."""
    kind, _, body = parts
    if kind & SEALED:
        return None
    try:
        task_id, idx = unpack(body)[:2]
        return write_key(str(id_from_wire(task_id)), idx)
    except (ValueError, TypeError, IndexError):
        return None


def by_time(place: bytes) -> tuple[bytes, bytes]:
    """Sort places of checkpoints, oldest first."""
    ns, _, checkpoint_id = place.partition(b"\0")
    return checkpoint_id, ns


def by_number(name: bytes) -> tuple[int, bytes]:
    """Sort fields of a turn log."""
    return len(name), name


Read = Callable[[list[bytes]], Mapping[bytes, bytes]]


def items_in_order(
    outline: Outline, records: Iterable[Mapping[bytes, bytes]], read: Read
) -> Iterator[tuple[bytes, bytes]]:
    """Give a thread's items in the order in which they compress best: by first use, each after those that it names.

    Args:
        records: The checkpoint records, oldest first, by pages.
        read: Reads items.
    """
    left = dict.fromkeys(outline.sizes["items"])
    for page in records:
        yield from _closed(outline, left, [ref for data in page.values() for ref in _refs(data)], read)
    for some in outline.pages("items", list(left)):
        yield from _closed(outline, left, some, read)


def _closed(
    outline: Outline, left: dict[bytes, None], wanted: Iterable[bytes], read: Read
) -> Iterator[tuple[bytes, bytes]]:
    """Yield items and all that they name, children first, and take them off what is left. Holds a few pages of them."""
    stack = [ref for ref in dict.fromkeys(wanted) if ref in left][::-1]
    known: dict[bytes, bytes] = {}
    opened: set[bytes] = set()
    while stack:
        digest = stack[-1]
        if digest not in left:
            stack.pop()
            continue
        if digest not in known:
            coming = (ref for ref in reversed(stack) if ref in left and ref not in known)
            known.update(read(next(outline.pages("items", dict.fromkeys(coming)))))
        opened.add(digest)
        waiting = [ref for ref in _refs(known[digest]) if ref in left and ref not in opened]
        stack += waiting
        if not waiting:
            stack.pop()
            del left[digest]
            yield digest, known.pop(digest)


def _refs(stored: bytes) -> list[bytes]:
    try:
        _, joined, _ = _split(stored, what="value", where="a backup")
    except CorruptRecordError:
        return []
    return [joined[at : at + DIGEST_BYTES] for at in range(0, len(joined), DIGEST_BYTES)]
