"""Items as clients keep them: opened once, with what was made of them, in a cache that threads share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ..envelope.everyday import Packed, Said, said_of
from .codec import id_from_wire, split_entries
from .items import BLOB, LEAF, MESSAGE, Parsed
from .messages import Prototype
from .sequences import Entry

OVERHEAD_BYTES: Final = 200
_UNREAD: Final = object()


class Items:
    """Items by digest, opened or as they were stored; shared by threads; forgets the oldest beyond its budget."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self._items: dict[bytes, Opened | bytes] = {}
        self._bytes = 0
        self.get = self._items.get

    def add(self, digest: bytes, item: Opened | bytes) -> None:
        """Remember an item; an opened one takes the place of its bytes, never the other way round."""
        known = self._items.get(digest)
        if known.__class__ is Opened and item.__class__ is bytes:
            return
        self._items[digest] = item
        if known is None:
            self._bytes += _weight(item)
            while self._bytes > self.budget_bytes and len(self._items) > 1:
                self._drop_oldest()

    def _drop_oldest(self) -> None:
        try:
            oldest = self._items.pop(next(iter(self._items)))
        except (StopIteration, KeyError, RuntimeError):  # another thread was quicker
            return
        self._bytes -= _weight(oldest)


def _weight(item: Opened | bytes) -> int:
    return len(item) + OVERHEAD_BYTES if isinstance(item, bytes) else item.size_bytes


@dataclass(slots=True)
class Opened:
    """An item, opened, with what was made of it."""

    kind: int
    refs: tuple[bytes, ...]
    body: Any
    size_bytes: int
    media: tuple[bytes, ...] = ()
    """Refs of its media; they are not among `refs`."""
    prototype: Prototype | None = None
    bare: Prototype | None = None
    """The prototype of a message with media, without them."""
    last_id: tuple[Any, str | None] = (None, None)
    """The wire form and text of the id that it was copied under last."""
    entries: list[Entry] | None = None
    said: Any = _UNREAD
    """See `said_by`."""


def id_of(opened: Opened, wire: Any) -> str | None:
    """Read the id under which a message stands, which is mostly the one under which it was read last."""
    last = opened.last_id
    if last[0] != wire:
        last = opened.last_id = (wire, id_from_wire(wire))
    return last[1]


def opened_message(envelope: Any, prototype: Prototype, *, size_bytes: int) -> Opened:
    """Make what opening a message without media would give, from what is known of it."""
    return Opened(MESSAGE, (), envelope, size_bytes + OVERHEAD_BYTES, prototype=prototype)


def media_sizes(opened: Opened) -> Iterator[tuple[bytes, int]]:
    """Yield the media that an item names, each once, with their sizes in bytes."""
    if opened.media:
        yield from {wire[2]: wire[6] for wire, _ in opened.body[-1] if wire[0] == "media"}.items()


def opened_from(parsed: Parsed, *, size_bytes: int, where: str) -> Opened:
    """Make an opened item of a parsed one."""
    body = parsed.body
    wires = body[-1] if isinstance(body, list) and len(body) == {BLOB: 3, MESSAGE: 2}.get(parsed.kind) else ()
    media = {wire[2] for wire, _ in wires if wire[0] == "media"}
    refs = tuple(ref for ref in parsed.refs if ref not in media) if media else parsed.refs
    entries = split_entries(body, parsed.refs, where=where) if parsed.kind == LEAF else None
    return Opened(parsed.kind, refs, body, size_bytes + OVERHEAD_BYTES, tuple(media), entries=entries)


def said_by(opened: Opened) -> Said | Packed | None:
    """Tell what a message says that is everyday, or was read before; looked at once, None for any other item."""
    if opened.said is _UNREAD:
        opened.said = said_of(opened.body) if opened.kind == MESSAGE and type(opened.body) is dict else None
    said: Said | Packed | None = opened.said
    return said
