"""Entries and items to values, from what is at hand.

Opens and checks each item once and keeps it; what has to be fetched first is said by raising `NotAtHandError`. Every
value handed out is fresh, so callers may change it. Knows nothing of keys or servers; see `codec` for the wire forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter, itemgetter
from typing import Any, Final, Protocol

from ..errors import CorruptRecordError, MissingItemError
from .codec import (
    BLOB_WIRE,
    CHUNKED,
    DICT,
    LIST,
    ValueCodec,
    split_entries,
)
from .items import BLOB, INNER, MESSAGE, Parsed, Secrets, parse_item
from .messages import FORESEEN_CLASSES, Prototype, copy_all, foreseen_of
from .named_media import without_names
from .opened import Items, Opened, id_of, media_sizes, opened_from
from .sequences import FANOUT, Entry, Sequenced, has_compound, levels_of

_FIRST: Final = itemgetter(0)
_SECOND: Final = itemgetter(1)
_PROTOTYPE: Final = attrgetter("prototype")
_LAST_ID: Final = attrgetter("last_id")


class Blobs(Protocol):
    """A cache of media by ref."""

    def get(self, digest: bytes) -> bytes | None: ...

    def put(self, digest: bytes, data: bytes) -> None: ...


class NotAtHandError(Exception):
    """Something has to be fetched before this can be decoded. Never leaves the programs."""


class Decoder:
    """Decodes entries of one thread, from items already at hand.

    Args:
        codec: The serializer side.
        secrets: The thread's key and sealer.
        items: The shared cache.
        fetched: Raw items that came with this call.
        blobs: The shared cache of media.
        home: The thread: in it, such texts go on standing for the media.
        where: What error messages call the thread.
    """

    def __init__(
        self,
        codec: ValueCodec,
        secrets: Secrets,
        *,
        items: Items,
        fetched: dict[bytes, bytes],
        blobs: Blobs,
        where: str,
        home: bytes | None = None,
    ) -> None:
        self.codec = codec
        self.secrets = secrets
        self.items = items
        self.fetched = fetched
        self.blobs = blobs
        self.media: dict[bytes, bytes] = {}
        self.lost: dict[bytes, str] = {}
        """Media that cannot be had, and why."""
        self.where = where
        self.home = home
        self.hydrate = True
        """Whether media are put in; else texts that name them."""
        self.named: set[bytes] = set()
        """Media that were left where they are: stored items name them."""
        self._substituted = False
        """Whether something stands for a medium in what was filled last."""
        self.final = False
        """Whether all that can be had is at hand; until then, what is not there raises NotAtHandError."""
        self._local: dict[bytes, Opened] = {}
        self._spellings: dict[tuple[bytes, str, str], Any] = {}

    def open(self, digest: bytes) -> Opened:
        """Open an item, from the cache or from what was fetched.

        Raises:
            NotAtHandError: it is in neither, and may be fetched.
            MissingItemError: it is in neither, and cannot be had.
        """
        opened = self._local.get(digest)
        if opened is not None:
            return opened
        item = self.items.get(digest) or self.fetched.get(digest)
        if item is None and not self.final:
            raise NotAtHandError
        if item is None:
            raise MissingItemError(f"item {digest.hex()}", where=self.where, reason="it is not stored")
        return self._keep(digest, item)

    def _keep(self, digest: bytes, item: Opened | bytes) -> Opened:
        """Open an item and hold on to it for this call, whatever the shared cache forgets meanwhile."""
        if isinstance(item, bytes):
            parsed = self._parse(digest, item)
            item = opened_from(parsed, size_bytes=len(item), where=self.where)
            self.items.add(digest, item)
        self._local[digest] = item
        return item

    def _parse(self, digest: bytes, data: bytes) -> Parsed:
        return parse_item(digest, data, secrets=self.secrets, where=self.where)

    def has(self, digest: bytes) -> bool:
        """Tell whether an item is at hand; it stays so for this call."""
        if digest in self._local or digest in self.fetched:
            return True
        item = self.items.get(digest)
        if item is not None:
            self._keep(digest, item)
        return item is not None

    def missing(self, refs: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
        """List the items and the media that are not at hand, following the items that are."""
        absent: dict[bytes, None] = {}
        media: dict[bytes, None] = {}
        seen: set[bytes] = set()
        pending = list(refs)
        while pending:
            ref = pending.pop()
            if ref in seen:
                continue
            seen.add(ref)
            if self.has(ref):
                opened = self.open(ref)
                pending += opened.refs
                media.update((name, None) for name in opened.media if self.blob(name) is None)
            else:
                absent[ref] = None
        return list(absent), list(media)

    def new_media_bytes(self, refs: Iterable[bytes], seen: set[bytes]) -> int:
        """Add up the media that items at hand lead to, without those that led to `seen` ones, which is added to."""
        size_bytes = 0
        pending = list(refs)
        while pending:
            ref = pending.pop()
            if ref not in seen and self.has(ref):
                opened = self.open(ref)
                pending += opened.refs
                size_bytes += sum(size for name, size in media_sizes(opened) if name not in seen)
                seen.update(opened.media)
            seen.add(ref)
        return size_bytes

    def blob(self, ref: bytes) -> bytes | None:
        """Return media bytes that are at hand; they stay so for this call."""
        data = self.media.get(ref) or self.blobs.get(ref)
        if data is not None:
            self.media[ref] = data
        return data

    def channel(
        self, entry: Entry, previous: Sequenced | None = None, *, hydrate_from: int = 0
    ) -> tuple[Any, Sequenced | None]:
        """Decode a channel's entry into a fresh value, and the sequence behind it if it is one.

        Args:
            previous: The sequence of the channel met last; when it still is this one, no page is opened.
            hydrate_from: Elements before this position keep texts in the place of media.
        """
        if isinstance(entry.wire, list) and len(entry.wire) == 3:
            same = previous is not None and previous.is_named(entry)
            made = previous if previous is not None and same else self.sequenced(entry)
            if hydrate_from and entry.wire[1] == LIST:
                return self._partly(made.entries, hydrate_from), made
            return self._container(entry.wire[1], made.entries), made
        return self.value(entry), None

    def _partly(self, entries: list[Entry], hydrate_from: int) -> list[Any]:
        self.hydrate = False
        try:
            early = self._elements(entries[:hydrate_from])
        finally:
            self.hydrate = True
        return early + self._elements(entries[hydrate_from:])

    def value(self, entry: Entry) -> Any:
        """Decode one entry into a fresh value."""
        wire, refs = entry
        if wire is None or isinstance(wire, (str, bytes)):
            return self._message(refs[0], wire)
        if wire == BLOB_WIRE:
            return self._blob(self.open(refs[0]))
        if not isinstance(wire, list) or len(wire) > 3:
            raise CorruptRecordError("entry", where=self.where, reason="it has no known form")
        if len(wire) == 3:
            return self._container(wire[1], self.sequenced(entry).entries)
        if len(wire) == 2:
            return self._load(wire[0], wire[1])
        return self._load("msgpack", wire[0]) if wire else None

    def without_media(self, entry: Entry) -> Any:
        """Decode one entry with texts in the place of its media, which nobody has to fetch then."""
        hydrated, self.hydrate = self.hydrate, False
        try:
            return self.value(entry)
        finally:
            self.hydrate = hydrated

    def _load(self, type_: str, data: bytes) -> Any:
        try:
            return self.codec.load(type_, data)
        except (ValueError, NotImplementedError, RecursionError) as error:
            raise CorruptRecordError(
                "value",
                where=self.where,
                reason=f"the serializer cannot read it ({type(error).__name__}: {error})"[:300],
            ) from error

    def _container(self, form: int, entries: list[Entry]) -> Any:
        if form == LIST:
            return self._elements(entries)
        if form == DICT:
            return self._map([self.value(entry) for entry in entries])
        if form == CHUNKED:
            return [element for entry in entries for element in self.value(entry)]
        raise CorruptRecordError("sequence", where=self.where, reason=f"its form {form!r} is not known")

    def _map(self, values: list[Any]) -> dict[Any, Any]:
        try:
            return dict(zip(values[::2], values[1::2], strict=True))
        except (ValueError, TypeError) as error:
            raise CorruptRecordError("sequence", where=self.where, reason="it is not the map it should be") from error

    def _elements(self, entries: list[Entry]) -> list[Any]:
        """Decode the entries of a list. Long conversations pass here: messages decoded before are copied together."""
        messages = self._messages_at_hand(entries)
        if messages is not None:
            return messages
        items = self.items.get
        elements: list[Any] = []
        prototypes, ids, places = [], [], []
        for entry in entries:
            wire = entry[0]
            if wire is not None and wire.__class__ is not list:
                opened = items(entry[1][0])
                if opened.__class__ is Opened and opened.prototype is not None and opened.last_id[0] == wire:
                    prototypes.append(opened.prototype)
                    ids.append(opened.last_id[1])
                    places.append(len(elements))
                    elements.append(None)
                    continue
            elements.append(self.value(entry))
        for place, twin in zip(places, copy_all(prototypes, ids), strict=True):
            elements[place] = twin
        return elements

    def _messages_at_hand(self, entries: list[Entry]) -> list[Any] | None:
        """Copy messages all of which were decoded before; None when some were not, or are something else."""
        try:
            opened: list[Any] = list(map(self.items.get, map(_FIRST, map(_SECOND, entries))))
            prototypes = list(map(_PROTOTYPE, opened))
            last_ids = list(map(_LAST_ID, opened))
        except (IndexError, AttributeError):  # an entry without a ref, or an item that is not at hand or not opened yet
            return None
        if None in prototypes or has_compound(entries):
            return None
        wires = list(map(_FIRST, entries))
        if list(map(_FIRST, last_ids)) == wires:
            return copy_all(prototypes, list(map(_SECOND, last_ids)))
        return copy_all(prototypes, list(map(id_of, opened, wires)))

    def sequenced(self, entry: Entry) -> Sequenced:
        """Open a sequence, down to its entries, keeping its page refs for the next write."""
        size, _, loose = entry.wire
        levels = levels_of(size)
        entries: list[Entry] = []
        pages: list[list[bytes]] = [[] for _ in range(max(levels, default=0))]
        for ref, level in zip(entry.refs, levels, strict=False):
            self._expand(ref, level, entries, pages)
        entries += split_entries(loose, entry.refs[len(levels) :], where=self.where)
        if len(entries) != size:
            raise CorruptRecordError("sequence", where=self.where, reason=f"it has {len(entries)} of {size} entries")
        return Sequenced(entries, pages, has_compound(entries))

    def _expand(self, ref: bytes, level: int, entries: list[Entry], pages: list[list[bytes]]) -> None:
        opened = self.open(ref)
        pages[level - 1].append(ref)
        if level > 1 and opened.kind == INNER and len(opened.refs) == FANOUT:
            for child in opened.refs:
                self._expand(child, level - 1, entries, pages)
        elif level == 1 and opened.entries is not None:
            entries += opened.entries
        else:
            raise CorruptRecordError(f"page {ref.hex()}", where=self.where, reason="it is not the page it should be")

    def _blob(self, opened: Opened) -> Any:
        if opened.kind != BLOB:
            raise CorruptRecordError("blob", where=self.where, reason=f"it is an item of kind {opened.kind}")
        body = opened.body
        value = self._load(body[0], body[1])
        return self._fill(value, body[2]) if len(body) > 2 else value

    def _fill(self, value: Any, wires: list[Any]) -> Any:
        holes, resolve = self._holes(wires)
        return self.codec.walk.fill(value, holes, resolve)

    def _holes(self, wires: list[Any]) -> tuple[list[Any], Callable[[Any], Any]]:
        """Open the holes of a value, with what answers for each."""
        ids: dict[int, Any] = {}
        holes = []
        for wire, message_id in wires:
            hole = self.codec.walk.from_wire(wire, where=self.where)
            ids[id(hole)] = message_id
            holes.append(hole)

        def resolve(hole: Any) -> Any:
            if hole.kind == "message":
                return self.value(Entry(ids[id(hole)], (hole.ref,)))
            data = self.blob(hole.ref) if self.hydrate else None
            if data is None and self.hydrate and not self.final:
                raise NotAtHandError
            if data is not None:
                return self._spelled(hole, data)
            self._substituted = True
            if not self.hydrate:
                self.named.add(hole.ref)
            return self.codec.walk.placeholder(hole, reference=not self.hydrate, home=self.home)

        return holes, resolve

    def _spelled(self, hole: Any, data: bytes) -> Any:
        """Spell a medium once for all the places of this call, so that a page of a listing holds one text of it."""
        key = hole.ref, hole.encoding, hole.prefix
        spelled = self._spellings.get(key)
        if spelled is None:
            spelled = self._spellings[key] = self.codec.walk.spell(hole, data)
        return spelled

    def _message(self, digest: bytes, id_wire: str | bytes | None) -> Any:
        opened = self.open(digest)
        message_id = id_of(opened, id_wire)
        if opened.prototype is not None:
            return opened.prototype.copy(message_id)
        if opened.bare is not None:
            envelope, wires = opened.body
            filled = self._filled(opened.bare.copy(message_id), wires)
            return self._whole_message(envelope, wires, message_id) if filled is None else filled
        return self._first_message(opened, digest, message_id)

    def _first_message(self, opened: Opened, digest: bytes, message_id: str | None) -> Any:
        """Decode a message that is not at hand as a prototype yet."""
        if opened.kind != MESSAGE:
            what = f"message {digest.hex()}"
            raise CorruptRecordError(what, where=self.where, reason=f"it is an item of kind {opened.kind}")
        if isinstance(opened.body, list):
            return self._first_with_media(opened, message_id)
        made = self._fitting(self.codec.message_fields, opened.body, message_id)
        opened.prototype = self._foreseen(*made)
        if opened.prototype is not None:
            return opened.prototype.copy(message_id)
        message = self._fitting(self.codec.load_fields, *made)
        if self.codec.native and Prototype.fits(message):
            opened.prototype = Prototype.of(message)
        return message

    def _first_with_media(self, opened: Opened, message_id: str | None) -> Any:
        envelope, wires = opened.body
        message = self._fitting(self.codec.load_message, without_names(envelope, wires), message_id)
        fits = self.codec.native and Prototype.fits(message)
        filled = self._filled(message, wires) if fits else None
        if filled is None:
            return self._whole_message(envelope, wires, message_id)
        opened.bare = Prototype.of(message)
        return filled

    def _foreseen(self, module: str, name: str, fields: dict[str, Any]) -> Prototype | None:
        kind = FORESEEN_CLASSES.get((module, name)) if self.codec.foresees else None
        return None if kind is None else foreseen_of(kind, fields)

    def _filled(self, message: Any, wires: list[Any]) -> Any:
        """Put media into a message decoded without them; None when it has to be made from its fields."""
        holes, resolve = self._holes(wires)
        return self.codec.walk.fill_message(message, holes, resolve)

    def _fitting(self, make: Callable[..., Any], *parts: Any) -> Any:
        try:
            return make(*parts)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            reason = f"its envelope does not fit together ({type(error).__name__})"
            raise CorruptRecordError("message", where=self.where, reason=reason) from error

    def _whole_message(self, envelope: Mapping[str, Any], wires: list[Any], message_id: str | None) -> Any:
        module, name, fields = self.codec.message_fields(without_names(envelope, wires), message_id)
        self._substituted = False
        filled = self._fill(fields, wires)
        message = self.codec.load_fields(module, name, filled)
        if self._substituted:
            keep_objects(message, filled)
        return message


def keep_objects(message: Any, fields: Mapping[str, Any]) -> None:
    """Let a message hold the very texts that stand for media, of which a serializer made equal ones."""
    own = getattr(message, "__dict__", {})
    own.update({name: value for name, value in fields.items() if name in own and own[name] == value})
