"""Values to entries and items, and back.

An entry is what stands for one value in a record, a page or a frame. Its wire forms, and the refs that each consumes:

| wire | value | refs |
|---|---|---|
| nil, str, bin(16) | a message whose id is None, this text, or this UUID in lower-case canonical text | 1 |
| [] | None | 0 |
| [bin] | inline: the serializer's bytes of type "msgpack" | 0 |
| [str, bin] | inline: the serializer's type and bytes | 0 |
| 2 | a blob item | 1 |
| [n, form, [entry, ...]] | a sequence of n entries, of which these are loose | its pages (see `sequences`), then theirs |

The form of a sequence is 0 for a list, 1 for a dict (key, value, key, value, ... in order), or 2 for a list whose
entries are lists of `CHUNK` elements each, the last one shorter.

Everything that is not a message, a large list or a large dict goes through the caller's serializer unchanged, so what
is read back is what the serializer gives back. Messages are stored as neutral envelopes that provably rebuild the
serializer's own bytes. Nothing is ever recognised by its shape on the way back.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import ormsgpack
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ..envelope.exact import fields_to_envelope, from_envelope
from ..errors import CorruptRecordError, MediaTooLargeError, MissingItemError, UnserializableValueError
from .items import (
    BLOB,
    INNER,
    LEAF,
    MAX_ITEM_BYTES,
    MESSAGE,
    Parsed,
    PlainSealer,
    Sealer,
    Secrets,
    SerdeSealer,
    digest_of,
    pack_item,
    parse_item,
)
from .known import Flat, KnownMessages, flatten_all
from .messages import STANDARD, Prototype
from .sequences import EMPTY, FANOUT, Entry, Sequenced, levels_of, sequence

INLINE_BYTES: Final = 64
"""Serialized values up to this size stand inside the record."""
CHUNK: Final = 64
SMALL_BYTES: Final = 1024
"""Lists and dicts that serialize to less are one value."""
SMALL_ELEMENT_BYTES: Final = 64
MAX_DEPTH: Final = 8
OVERHEAD_BYTES: Final = 200
LIST, DICT, CHUNKED = 0, 1, 2
EXT_PYDANTIC_V2: Final = 5

_REFUSALS: Final = (TypeError, ValueError, RecursionError, OverflowError, AttributeError, NotImplementedError)
"""What serializers raise for values that they cannot take."""

NONE_ENTRY: Final = Entry([], ())
BLOB_WIRE: Final = 2


class Hole(Protocol):
    """A place of a value that is stored elsewhere: what the media walk makes."""

    kind: str
    message: BaseMessage | None
    data: bytes | None
    mime_type: str | None
    ref: Any

    def to_wire(self, ref: bytes | str) -> list[Any]: ...


class Walk(Protocol):
    """The media room, as storage sees it."""

    def take_out(self, value: Any) -> Any:
        """Take media and nested messages out of a value: its `value`, `holes` and `reports` (wire forms)."""

    def fill(self, value: Any, holes: Sequence[Any], resolve: Callable[[Any], Any]) -> Any:
        """Put them back."""

    def from_wire(self, wire: Any, *, where: str) -> Any:
        """Read a hole."""

    def describe(self, data: bytes, mime_type: str | None, *, store: str, ref: str | None) -> dict[str, Any]:
        """Make the media table's record of bytes."""

    def placeholder(self, hole: Any) -> Any:
        """Give what stands for media that is not there."""


class Blobs(Protocol):
    """A cache of media by ref."""

    def get(self, digest: bytes) -> bytes | None: ...

    def put(self, digest: bytes, data: bytes) -> None: ...


@dataclass(slots=True)
class Sink:
    """What one call has to store, by digest."""

    items: dict[bytes, bytes] = field(default_factory=dict)
    media: dict[bytes, tuple[str | None, bytes]] = field(default_factory=dict)
    """Ref -> mime type and bytes."""
    reports: list[dict[str, Any]] = field(default_factory=list)
    """What the media policy could not keep as it was."""


class ValueCodec:
    """Encodes and decodes values under one serializer. Holds no state of a thread."""

    def __init__(self, serde: SerializerProtocol, walk: Walk) -> None:
        self.serde = serde
        self.walk = walk
        inner = serde.serde if type(serde) is EncryptedSerializer else serde
        self.native = (
            isinstance(inner, JsonPlusSerializer) and type(inner).dumps_typed is JsonPlusSerializer.dumps_typed
        )
        """True when messages are known to go through LangGraph's own encoder."""
        self.inner: SerializerProtocol = inner if self.native else serde
        self.sealer: Sealer = PlainSealer() if type(inner) is type(serde) and self.native else SerdeSealer(serde)

    def dump(self, value: Any) -> tuple[str, bytes]:
        """Serialize with the caller's serializer, before sealing."""
        type_, data = self.inner.dumps_typed(value)
        if len(data) > MAX_ITEM_BYTES:
            raise ValueError(f"it serializes to {len(data)} bytes; the limit for one value is {MAX_ITEM_BYTES}")
        return type_, data

    def load(self, type_: str, data: bytes) -> Any:
        """Deserialize what `dump` made."""
        return self.inner.loads_typed((type_, data))

    def load_message(self, envelope: Mapping[str, Any], message_id: str | None) -> Any:
        """Rebuild a message exactly as the serializer would."""
        return self.load_native(self.message_bytes(envelope, message_id))

    def load_native(self, data: bytes) -> Any:
        """Deserialize what LangGraph's encoder made; with a foreign serializer, of messages it is known to agree on."""
        return self.load("msgpack", data) if self.native else _STRICT.loads_typed(("msgpack", data))

    def message_fields(self, envelope: Mapping[str, Any], message_id: str | None) -> tuple[str, str, dict[str, Any]]:
        """Rebuild module, class name and fields of a message."""
        return from_envelope(envelope, id=message_id, loads=self.load_native)

    def message_bytes(self, envelope: Mapping[str, Any], message_id: str | None) -> bytes:
        """Rebuild the bytes that LangGraph's encoder makes of the message."""
        module, name, fields = self.message_fields(envelope, message_id)
        packed = _native_encode((module, name, fields, "model_validate_json"))
        return ormsgpack.packb(ormsgpack.Ext(EXT_PYDANTIC_V2, packed))


_NATIVE: Final = JsonPlusSerializer()
_STRICT: Final = JsonPlusSerializer(allowed_msgpack_modules=None)


def _native_encode(value: Any) -> bytes:
    return _NATIVE.dumps_typed(value)[1]


class Encoder:
    """Encodes the values of one call into a sink.

    Args:
        codec: The serializer side.
        secrets: The thread's key and sealer.
        known: Messages encoded before; is added to.
        sink: Receives every item the entries name that is not known to be stored.
        stored: Digests known to be in the server.
    """

    def __init__(
        self,
        codec: ValueCodec,
        secrets: Secrets,
        *,
        known: KnownMessages,
        stored: set[bytes],
        sink: Sink,
    ) -> None:
        self.codec = codec
        self.secrets = secrets
        self.known = known
        self.stored = stored
        self.sink = sink

    def channel(self, name: str, value: Any, previous: Sequenced | None = None) -> tuple[Entry, Sequenced | None]:
        """Encode a channel's value.

        Returns:
            The entry, and the sequence behind it if it is one, for the next call.

        Raises:
            UnserializableValueError: names the channel.
        """
        try:
            return self._value(value, previous or EMPTY, 0)
        except (UnserializableValueError, MediaTooLargeError):
            raise
        except _REFUSALS as error:
            raise _unserializable(name, value, error) from error

    def dump_named(self, name: str, value: Any) -> tuple[str, bytes]:
        """Serialize a value that stands in a record; raises like `channel`."""
        try:
            return self.codec.dump(value)
        except _REFUSALS as error:
            raise _unserializable(name, value, error) from error

    def _value(self, value: Any, previous: Sequenced, depth: int) -> tuple[Entry, Sequenced | None]:
        if value is None:
            return NONE_ENTRY, None
        if isinstance(value, BaseMessage):
            return self.message(value), None
        if depth and self.codec.native and type(value) is bytearray:
            value = bytes(value)  # within a value, LangGraph's encoder makes no difference
        if depth < MAX_DEPTH:
            if type(value) is list and value:
                return self._list(value, previous, depth)
            if type(value) is dict and value:
                return self._dict(value, previous, depth)
        return self._blob(value), None

    def _list(self, value: list[Any], previous: Sequenced, depth: int) -> tuple[Entry, Sequenced | None]:
        if not any(isinstance(element, BaseMessage) for element in value):
            punched = self._take_out(value)
            type_, data = self.codec.dump(punched[0])
            if len(data) < SMALL_BYTES:
                return self._typed(type_, data, punched[1]), None
            if len(data) < len(value) * SMALL_ELEMENT_BYTES and not punched[1]:
                chunks = [value[i : i + CHUNK] for i in range(0, len(value), CHUNK)]
                return self._sequence([self._blob(chunk) for chunk in chunks], previous, CHUNKED)
            if len(value) == 1:
                return self._typed(type_, data, punched[1]), None
        return self._sequence([self._value(element, EMPTY, depth + 1)[0] for element in value], previous, LIST)

    def conversation(
        self, name: str, value: list[Any], previous: Sequenced | None, known: tuple[Flat, list[Entry]] | None
    ) -> tuple[Entry, Sequenced | None, Flat | None]:
        """Encode a list that may be a conversation; what is unchanged since `known` is not looked at again.

        Returns:
            As `channel`, and the flat form for the next call if it is a conversation.
        """
        flat = flatten_all(value) if self.codec.native else None
        if flat is None:
            return *self.channel(name, value, previous), None
        entries = list(known[1]) if known is not None and known[0].begins(flat) else []
        try:
            entries += [self.message(message) for message in value[len(entries) :]]
            return *self._sequence(entries, previous or EMPTY, LIST), flat
        except _REFUSALS as error:
            raise _unserializable(name, value, error) from error

    def _dict(self, value: dict[Any, Any], previous: Sequenced, depth: int) -> tuple[Entry, Sequenced | None]:
        punched = self._take_out(value)
        type_, data = self.codec.dump(punched[0])
        if len(data) < SMALL_BYTES or any(type(key) is not str for key in value):
            return self._typed(type_, data, punched[1]), None
        entries: list[Entry] = []
        for key, element in value.items():
            entries += [self._blob(key), self._value(element, EMPTY, depth + 1)[0]]
        return self._sequence(entries, previous, DICT)

    def _take_out(self, value: Any) -> tuple[Any, Sequence[Any]]:
        taken = self.codec.walk.take_out(value)
        self.sink.reports += [report.to_wire() for report in taken.reports]
        return taken.value, taken.holes

    def _sequence(self, entries: list[Entry], previous: Sequenced, form: int) -> tuple[Entry, Sequenced]:
        made = sequence(entries, previous, leaf=self._leaf, inner=self._inner)
        loose, refs = made.node()
        wire = [len(entries), form, [entry.wire for entry in loose]]
        return Entry(wire, refs + tuple(ref for entry in loose for ref in entry.refs)), made

    def _leaf(self, entries: Sequence[Entry]) -> bytes:
        refs = tuple(ref for entry in entries for ref in entry.refs)
        return self.add_item(LEAF, refs, [entry.wire for entry in entries])

    def _inner(self, refs: Sequence[bytes]) -> bytes:
        return self.add_item(INNER, tuple(refs), None)

    def add_item(self, kind: int, refs: tuple[bytes, ...], body: Any) -> bytes:
        """Put an item into the sink unless it is known to be stored; return its digest."""
        digest, data = pack_item(kind, refs, body, self.secrets)
        if digest not in self.stored:
            self.sink.items[digest] = data
        return digest

    def _blob(self, value: Any) -> Entry:
        value, holes = self._take_out(value)
        type_, data = self.codec.dump(value)
        return self._typed(type_, data, holes)

    def _typed(self, type_: str, data: bytes, holes: Sequence[Any] = ()) -> Entry:
        if not holes and len(data) <= INLINE_BYTES:
            if type_ == "null":
                return NONE_ENTRY
            return Entry([data] if type_ == "msgpack" else [type_, data], ())
        if not holes:
            return Entry(BLOB_WIRE, (self.add_item(BLOB, (), [type_, data]),))
        wires, refs = self._holes(holes)
        return Entry(BLOB_WIRE, (self.add_item(BLOB, refs, [type_, data, wires]),))

    def _holes(self, holes: Sequence[Any]) -> tuple[list[Any], tuple[bytes, ...]]:
        wires: list[Any] = []
        refs: list[bytes] = []
        for hole in holes:
            if hole.kind == "message":
                entry = self.message(hole.message)
                refs += entry.refs
                wires.append([hole.to_wire(entry.refs[0]), entry.wire])
            else:
                ref = self._media(hole)
                refs.append(ref)
                wires.append([hole.to_wire(ref), None])
        return wires, tuple(refs)

    def _media(self, hole: Any) -> bytes:
        ref = digest_of(hole.data, self.secrets.key)
        if ref not in self.stored:
            self.sink.media[ref] = (hole.mime_type, hole.data)
        return ref

    def message(self, message: BaseMessage) -> Entry:
        """Encode a message; its id stands in the entry, so that the item does not change when an id is given."""
        entry = self._message_item(message)
        return Entry(id_to_wire(message.id), entry.refs) if entry.wire is None else entry

    def _message_item(self, message: BaseMessage) -> Entry:
        digest, name = self.known.digest(message) if self.codec.native else (None, None)
        if digest is not None and digest in self.stored:
            return Entry(None, (digest,))
        entry = self._new_message(message)
        if name is not None and entry.wire is None:
            self.known.add(name, entry.refs[0])
        return entry

    def _new_message(self, message: BaseMessage) -> Entry:
        if not _has_text_id(message):
            return self._blob_of_message(message)
        kind = type(message)
        fields, holes = self._take_out(message.model_dump())
        fields = _emptied(fields, holes)
        try:
            envelope = fields_to_envelope(kind.__module__, kind.__name__, fields)
        except ormsgpack.MsgpackEncodeError:
            return self._blob_of_message(message)
        if not self.codec.native and not self._agrees(message):
            return self._blob_of_message(message)
        if not holes:
            return Entry(None, (self.add_item(MESSAGE, (), envelope),))
        wires, refs = self._holes(holes)
        if _without_names(envelope, wires) != envelope:
            return self._blob_of_message(message)  # it holds what reading would take for a name of ours
        return Entry(None, (self.add_item(MESSAGE, refs, [_with_names(envelope, wires), wires]),))

    def _blob_of_message(self, message: BaseMessage) -> Entry:
        type_, data = self.codec.dump(message)
        return Entry(BLOB_WIRE, (self.add_item(BLOB, (), [type_, data]),))

    def _agrees(self, message: BaseMessage) -> bool:
        """Check that a foreign serializer gives this message back as LangGraph's encoder would."""
        if type(message) not in STANDARD:
            return False
        back = self.codec.load(*self.codec.dump(message))
        ours = _STRICT.loads_typed(("msgpack", _native_encode(message)))
        return type(back) is type(ours) and _native_encode(back) == _native_encode(ours)


def _blocks_with_media(envelope: Mapping[str, Any], wires: Sequence[Any]) -> dict[int, list[Any]]:
    """Say which neutral blocks have media that are stored elsewhere: block -> wire forms of its holes."""
    lead = (envelope.get("state") or {}).get("lead", 0)
    found: dict[int, list[Any]] = {}
    for wire, _ in wires:
        kind, path = wire[:2]
        if kind == "media" and len(path) > 1 and path[0] == "content" and type(path[1]) is int:
            found.setdefault(path[1] + lead, []).append(wire)
    return found


def _with_names(envelope: Mapping[str, Any], wires: Sequence[Any]) -> dict[str, Any]:
    """Say in the neutral blocks which blob belongs where, for readers without LangChain."""
    blocks = [dict(block) for block in envelope["content"]]
    for at, holes in _blocks_with_media(envelope, wires).items():
        if at < len(blocks) and "media" not in blocks[at]:
            _, _, ref, _, _, mime_type, size_bytes, _ = holes[0]
            blocks[at]["media"] = {"ref": ref, "mime_type": mime_type, "size_bytes": size_bytes}
    return {**envelope, "content": blocks}


def _without_names(envelope: Mapping[str, Any], wires: Sequence[Any]) -> Mapping[str, Any]:
    """Invert `_with_names`: where a name may stand is known from the holes, never from the block."""
    blocks = list(envelope["content"])
    for at, holes in _blocks_with_media(envelope, wires).items():
        media = blocks[at].get("media") if at < len(blocks) else None
        if isinstance(media, dict) and media.get("ref") in [hole[2] for hole in holes]:
            blocks[at] = {key: value for key, value in blocks[at].items() if key != "media"}
    return {**envelope, "content": blocks}


def _emptied(fields: dict[str, Any], holes: Sequence[Any]) -> dict[str, Any]:
    """Put empty text in the place of media of a message, so that its blocks still read as what they are."""
    for hole in holes:
        if hole.kind == "media" and hole.path[0] == "content" and hole.encoding != "bytes":
            fields = _with_text(fields, hole.path)
    return fields


def _with_text(node: Any, path: Sequence[Any]) -> Any:
    if not path:
        return ""
    twin = node.copy()
    twin[path[0]] = _with_text(node[path[0]], path[1:])
    return twin


def _has_text_id(message: BaseMessage) -> bool:
    return message.id is None or type(message.id) is str


def _unserializable(name: str, value: Any, error: Exception) -> UnserializableValueError:
    reason = f"{type(error).__name__}: {error}"[:300]
    return UnserializableValueError(channel=name, type_name=_culprit(value), reason=reason)


def _culprit(value: Any) -> str:
    """Name the type that most likely cannot be serialized: the first leaf of an unusual type."""
    seen = 0
    pending = [value]
    while pending and seen < 10_000:
        seen += 1
        node = pending.pop()
        if type(node) in (list, tuple, set, frozenset):
            pending += node
        elif type(node) is dict:
            pending += node.values()
        elif type(node) not in (str, int, float, bool, bytes, type(None)):
            return f"{type(node).__module__}.{type(node).__qualname__}"
    return type(value).__name__


def id_to_wire(message_id: str | None) -> str | bytes | None:
    """Spell a message id: 16 bytes when it is a UUID in canonical lower-case text, else as it is."""
    if message_id is not None and len(message_id) == 36 and message_id[8] == "-":
        try:
            packed = bytes.fromhex(message_id.replace("-", ""))
        except ValueError:
            return message_id
        if len(packed) == 16 and str(uuid.UUID(bytes=packed)) == message_id:
            return packed
    return message_id


def id_from_wire(wire: str | bytes | None) -> str | None:
    """Invert `id_to_wire`."""
    return str(uuid.UUID(bytes=wire)) if isinstance(wire, bytes) else wire


class Items:
    """Items by digest, opened or as they were stored; shared by threads; forgets the oldest beyond its budget."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self._items: dict[bytes, Opened | bytes] = {}
        self._bytes = 0
        self.get = self._items.get

    def add(self, digest: bytes, item: Opened | bytes) -> None:
        """Remember an item; an opened one takes the place of its bytes."""
        known = self._items.get(digest)
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
    last_id: tuple[Any, str | None] = (None, None)
    """The wire form and text of the id that it was copied under last."""
    entries: list[Entry] | None = None


def _opened(parsed: Parsed, size_bytes: int) -> Opened:
    body = parsed.body
    wires = body[-1] if isinstance(body, list) and len(body) == {BLOB: 3, MESSAGE: 2}.get(parsed.kind) else ()
    media = {wire[2] for wire, _ in wires if wire[0] == "media"}
    refs = tuple(ref for ref in parsed.refs if ref not in media) if media else parsed.refs
    return Opened(parsed.kind, refs, body, size_bytes, tuple(media))


def split_entries(wires: Iterable[Any], refs: Sequence[bytes], *, where: str) -> list[Entry]:
    """Give each wire form the refs it consumes."""
    entries: list[Entry] = []
    at = 0
    for wire in wires:
        taken = refs_taken(wire, where=where)
        entries.append(Entry(wire, tuple(refs[at : at + taken])))
        at += taken
    if at != len(refs):
        raise CorruptRecordError("entries", where=where, reason=f"they name {at} refs, and {len(refs)} are there")
    return entries


def refs_taken(wire: Any, *, where: str) -> int:
    """Count the refs that an entry consumes."""
    if not isinstance(wire, list):
        return 1
    if len(wire) == 3:
        return len(levels_of(wire[0])) + sum(refs_taken(loose, where=where) for loose in wire[2])
    if len(wire) > 3:
        raise CorruptRecordError("entry", where=where, reason="it has no known form")
    return 0


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
        self.final = False
        """Whether all that can be had is at hand; until then, what is not there raises NotAtHandError."""
        self._local: dict[bytes, Opened] = {}

    def open(self, digest: bytes) -> Opened:
        """Open an item, from the cache or from what was fetched.

        Raises:
            NotAtHandError: it is in neither, and may be fetched.
            MissingItemError: it is in neither, and cannot be had.
        """
        opened = self._local.get(digest) or self.items.get(digest)
        if opened is None or isinstance(opened, bytes):
            data = opened or self.fetched.get(digest)
            if data is None and not self.final:
                raise NotAtHandError
            if data is None:
                raise MissingItemError(f"item {digest.hex()}", where=self.where, reason="it is not stored")
            parsed = self._parse(digest, data)
            opened = _opened(parsed, len(data) + OVERHEAD_BYTES)
            if parsed.kind == LEAF:
                opened.entries = split_entries(parsed.body, parsed.refs, where=self.where)
            self.items.add(digest, opened)
            self._local[digest] = opened
        return opened

    def _parse(self, digest: bytes, data: bytes) -> Parsed:
        return parse_item(digest, data, secrets=self.secrets, where=self.where)

    def has(self, digest: bytes) -> bool:
        return digest in self._local or digest in self.fetched or self.items.get(digest) is not None

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

    def blob(self, ref: bytes) -> bytes | None:
        """Return media bytes that are at hand."""
        return self.media.get(ref) or self.blobs.get(ref)

    def channel(self, entry: Entry, previous: Sequenced | None = None) -> tuple[Any, Sequenced | None]:
        """Decode a channel's entry into a fresh value, and the sequence behind it if it is one.

        Args:
            previous: The sequence of the channel met last; when it still is this one, no page is opened.
        """
        if isinstance(entry.wire, list) and len(entry.wire) == 3:
            same = previous is not None and previous.is_named(entry)
            made = previous if previous is not None and same else self.sequenced(entry)
            return self._container(entry.wire[1], made.entries), made
        return self.value(entry), None

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
            values = [self.value(entry) for entry in entries]
            return dict(zip(values[::2], values[1::2], strict=True))
        if form == CHUNKED:
            return [element for entry in entries for element in self.value(entry)]
        raise CorruptRecordError("sequence", where=self.where, reason=f"its form {form!r} is not known")

    def _elements(self, entries: list[Entry]) -> list[Any]:
        """Decode the entries of a list. Long conversations pass here, so messages decoded before are met first."""
        items, elements = self.items.get, []
        for entry in entries:
            wire = entry[0]
            if wire is not None and wire.__class__ is not list:
                opened = items(entry[1][0])
                if opened.__class__ is Opened and opened.prototype is not None and opened.last_id[0] == wire:
                    elements.append(opened.prototype.copy(opened.last_id[1]))
                    continue
            elements.append(self.value(entry))
        return elements

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
        return Sequenced(entries, pages)

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
        ids: dict[int, Any] = {}
        holes = []
        for wire, message_id in wires:
            hole = self.codec.walk.from_wire(wire, where=self.where)
            ids[id(hole)] = message_id
            holes.append(hole)

        def resolve(hole: Any) -> Any:
            if hole.kind == "message":
                return self.value(Entry(ids[id(hole)], (hole.ref,)))
            data = self.blob(hole.ref)
            if data is None and not self.final:
                raise NotAtHandError
            return self.codec.walk.placeholder(hole) if data is None else data

        return self.codec.walk.fill(value, holes, resolve)

    def _message(self, digest: bytes, id_wire: str | bytes | None) -> Any:
        opened = self.open(digest)
        if opened.last_id[0] != id_wire:
            opened.last_id = (id_wire, id_from_wire(id_wire))
        message_id = opened.last_id[1]
        if opened.prototype is not None:
            return opened.prototype.copy(message_id)
        if opened.kind != MESSAGE:
            what = f"message {digest.hex()}"
            raise CorruptRecordError(what, where=self.where, reason=f"it is an item of kind {opened.kind}")
        envelope, wires = opened.body if isinstance(opened.body, list) else (opened.body, None)
        if wires is not None:
            return self._message_with_media(envelope, wires, message_id)
        message = self._load_message(envelope, message_id)
        if self.codec.native and Prototype.fits(message):
            opened.prototype = Prototype(message)
        return message

    def _load_message(self, envelope: Any, message_id: str | None) -> Any:
        try:
            return self.codec.load_message(envelope, message_id)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            reason = f"its envelope does not fit together ({type(error).__name__})"
            raise CorruptRecordError("message", where=self.where, reason=reason) from error

    def _message_with_media(self, envelope: Mapping[str, Any], wires: list[Any], message_id: str | None) -> Any:
        module, name, fields = self.codec.message_fields(_without_names(envelope, wires), message_id)
        whole = self._fill(fields, wires)
        packed = _native_encode((module, name, whole, "model_validate_json"))
        return self.codec.load_native(ormsgpack.packb(ormsgpack.Ext(EXT_PYDANTIC_V2, packed)))
