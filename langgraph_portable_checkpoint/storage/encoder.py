"""Values to entries and items: what one call has to store.

Owns the choice of form for each value (inline, blob, message, sequence) and the proof that a message's envelope gives
its bytes back. Knows nothing of keys, records or servers; see `codec` for the wire forms.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import ormsgpack
from langchain_core.messages import BaseMessage

from ..envelope.exact import fields_to_envelope
from ..errors import MediaTooLargeError, UnserializableValueError
from .codec import BLOB_WIRE, CHUNK, CHUNKED, DICT, LIST, STRICT, ValueCodec, id_to_wire, native_encode
from .items import BLOB, INNER, LEAF, MESSAGE, Secrets, media_ref, pack_item, refs_of
from .kept_whole import KeptWhole
from .known import Flat, KnownMessages, flatten_all
from .messages import STANDARD, Prototype, fingerprint, foreseen, is_heavy, name_of_taken, sha256_of
from .named_media import with_names, without_names
from .records import is_text
from .sequences import EMPTY, Entry, Sequenced, sequence

INLINE_BYTES: Final = 64
"""Serialized values up to this size stand inside the record."""
SMALL_BYTES: Final = 1024
"""Lists and dicts that serialize to less are one value."""
SMALL_ELEMENT_BYTES: Final = 64
MAX_DEPTH: Final = 8
_REFUSALS: Final = (TypeError, ValueError, RecursionError, OverflowError, AttributeError, NotImplementedError)
"""What serializers raise for values that they cannot take."""
NONE_ENTRY: Final = Entry([], ())


class NewMedia(NamedTuple):
    """Media bytes that a call has to store."""

    mime_type: str | None
    data: bytes
    sha256: bytes


class Dumped(NamedTuple):
    """A message's fields as they are stored."""

    fields: Any
    holes: Sequence[Any]
    is_whole: bool
    """Whether nothing was taken out, or stripped: then the message is read back as what it is."""
    reports: list[dict[str, Any]]
    """What the media policy could not keep, to be told once the message is stored so."""


@dataclass(slots=True)
class Sink:
    """What one call has to store, by digest."""

    items: dict[bytes, bytes] = field(default_factory=dict)
    refs: set[bytes] = field(default_factory=set)
    """What these items name."""
    media: dict[bytes, NewMedia] = field(default_factory=dict)
    """By ref."""
    records: list[dict[str, Any]] = field(default_factory=list)
    """What the media table says of them, once it is known where they go."""
    gone: set[bytes] = field(default_factory=set)
    """Media that these items name, and of which it is known that nobody has them."""
    stood_for: set[bytes] = field(default_factory=set)
    """Media that these items name because something stood for them: the thread may not have them any more."""
    absent: dict[bytes, dict[str, Any]] = field(default_factory=dict)
    """Those of them that it has not: what the media table shall say of them."""
    foreseen: dict[bytes, tuple[Any, Prototype]] = field(default_factory=dict)
    """By digest, the envelopes among these items that need not be opened to know what they will be read as."""
    reports: list[dict[str, Any]] = field(default_factory=list)
    """What the media policy could not keep as it was."""

    def builds_on(self, refs: Iterable[bytes], inherited: Iterable[bytes] = ()) -> bytes:
        """Name what must be in the server already for these refs to mean something, beside what is inherited."""
        return b"".join(self.refs.union(refs).difference(self.items, self.media, self.gone, inherited))


class Encoder:
    """Encodes the values of one call into a sink.

    Args:
        codec: The serializer side.
        secrets: The thread's key and sealer.
        known: Messages encoded before; is added to.
        sink: Receives every item the entries name that is not known to be stored.
        stored: Digests known to be in the server.
        home: The thread whose media may have texts that stand for them.
        lost: Its media that a read could not get.
        absent: Media that it does not know any more.
        away: Its media that nobody has: they are sent anew with any message that brings their bytes, known or not.
    """

    def __init__(
        self,
        codec: ValueCodec,
        secrets: Secrets,
        *,
        known: KnownMessages,
        stored: set[bytes],
        sink: Sink,
        home: bytes | None = None,
        lost: Container[bytes] = (),
        absent: Container[bytes] = (),
        away: Collection[bytes] = (),
    ) -> None:
        self.codec = codec
        self.secrets = secrets
        self.known = known
        self.stored = stored
        self.sink = sink
        self.home = home
        self.lost = lost
        self.absent = absent
        self.away = away
        self.whole = KeptWhole(codec.walk, home, self._tell)

    def channel(self, name: str, value: Any, previous: Sequenced | None = None) -> tuple[Entry, Sequenced | None]:
        """Encode a channel's value.

        Returns:
            The entry, and the sequence behind it if it is one, for the next call.

        Raises:
            UnserializableValueError: names the channel.
            MediaTooLargeError: a medium is larger than the policy allows.
        """
        try:
            return self._value(self._stripped(value), previous or EMPTY, 0)
        except MediaTooLargeError:
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
        flat, entries = self._flat(value, known) if self.codec.native else (None, [])
        if flat is None:
            return *self.channel(name, value, previous), None
        try:
            entries += [self.message(message) for message in value[len(entries) :]]
            return *self._sequence(entries, previous or EMPTY, LIST), flat
        except MediaTooLargeError:
            raise
        except _REFUSALS as error:
            raise _unserializable(name, value, error) from error

    def _flat(self, value: list[Any], known: tuple[Flat, list[Entry]] | None) -> tuple[Flat | None, list[Entry]]:
        """Flatten a list that may be a conversation, and list the entries of those messages that are known."""
        stands = self.codec.walk.holds_stand_in if self.codec.walk.any_stand() else None
        if known is not None:
            light = len(known[1]) if known[0].light else 0
            flat = flatten_all(value, self._heavy_name, known_light=light, stands=stands)
            if flat is None or known[0].begins(flat):
                return flat, list(known[1])
        return flatten_all(value, self._heavy_name, stands=stands), []

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
        taken = self.codec.walk.take_out(value, self.home)
        self._tell([report.to_wire() for report in taken.reports], None)
        return taken.value, taken.holes

    def _stripped(self, value: Any) -> Any:
        if isinstance(value, BaseMessage):
            return value
        taken = self.codec.walk.strip(value, self.home)
        self._tell([report.to_wire() for report in taken.reports], None)
        return taken.value

    def _tell(self, reports: Iterable[dict[str, Any]], message_id: Any) -> None:
        named = {"message": message_id} if type(message_id) is str and is_text(message_id) else {}
        self.sink.reports += [{**report, **named} for report in reports]

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
            self.sink.refs.update(refs)
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
        if hole.data is None:
            return self._media_stood_for(hole)
        digest = sha256_of(hole)
        ref = media_ref(digest, self.secrets.key)
        if ref not in self.stored or ref in self.away:
            self.sink.media[ref] = NewMedia(hole.mime_type, hole.data, digest)
        return ref

    def _media_stood_for(self, hole: Any) -> bytes:
        ref = bytes(hole.ref)
        self.sink.stood_for.add(ref)
        if ref in self.absent:
            self.sink.absent[ref] = {"mime_type": hole.mime_type, "size_bytes": hole.size_bytes}
        if ref in self.lost or ref in self.absent:
            self.sink.gone.add(ref)
        return ref

    def message(self, message: BaseMessage) -> Entry:
        """Encode a message; its id stands in the entry, so that the item does not change when an id is given."""
        if not _has_text_id(message):
            return self._blob_of_message(message)
        entry = self._message_item(message)
        return Entry(id_to_wire(message.id), entry.refs) if entry.wire is None else entry

    def _message_item(self, message: BaseMessage) -> Entry:
        if not self.codec.native:
            return self._new_message(message, None)
        taken = None
        if is_heavy(message) or self.codec.walk.holds_stand_in(message):
            taken = self._dumped(message)
            name = name_of_taken(message, taken.fields, taken.holes)
        else:
            name = fingerprint(message)
        digest = None if name is None else self.known.get(name)
        if digest is not None and self._has(digest):
            self._tell(taken.reports if taken else self.known.told.get(digest, ()), message.id)
            if self.away:
                self._holes(taken.holes if taken else self.codec.walk.take_out(message.model_dump(), self.home).holes)
            return Entry(None, (digest,))
        before = len(self.sink.reports)
        entry = self._new_message(message, taken)
        if name is not None and entry.wire is None:
            self._remember(name, entry.refs[0])
            if len(self.sink.reports) > before:
                self.known.tell(entry.refs[0], self.sink.reports[before:])
        return entry

    def _has(self, digest: bytes) -> bool:
        """Tell whether a message's item is stored, or put it into the sink if it was encoded a moment ago."""
        if digest in self.stored:
            return True
        data = self.known.sent(digest)
        if data is not None:
            self.sink.items[digest] = data
            self.sink.refs.update(refs_of(data, where="a message that was encoded a moment ago"))
        return data is not None

    def _remember(self, name: bytes, digest: bytes) -> None:
        self.known.add(name, digest)
        if digest in self.sink.items and not self.sink.media:
            self.known.send(digest, self.sink.items[digest])

    def _heavy_name(self, message: BaseMessage) -> bytes | None:
        taken = self.codec.walk.take_out(message.model_dump(), self.home)
        return name_of_taken(message, taken.value, taken.holes)

    def _dumped(self, message: BaseMessage) -> Dumped:
        fields = message.model_dump()
        taken = self.codec.walk.take_out(fields, self.home)
        reports = [report.to_wire() for report in taken.reports]
        return Dumped(taken.value, taken.holes, is_whole=taken.value is fields, reports=reports)

    def _new_message(self, message: BaseMessage, taken: Dumped | None) -> Entry:
        kind = type(message)
        fields, holes, is_whole, reports = taken or self._dumped(message)
        fields = self.codec.walk.with_empty_texts(fields, holes)
        try:
            envelope = fields_to_envelope(kind.__module__, kind.__name__, fields)
        except ormsgpack.MsgpackEncodeError:
            return self._blob_of_message(message)
        if not self.codec.native and not self._agrees(message):
            return self._blob_of_message(message)
        if not holes:
            self._tell(reports, message.id)
            digest = self.add_item(MESSAGE, (), envelope)
            if is_whole and self.codec.foresees and digest in self.sink.items:
                self._foresee(digest, envelope, message)
            return Entry(None, (digest,))
        wires, refs = self._holes(holes)
        if without_names(envelope, wires) != envelope:
            return self._blob_of_message(message)  # it holds what reading would take for a name of ours
        self._tell(reports, message.id)
        return Entry(None, (self.add_item(MESSAGE, refs, [with_names(envelope, wires), wires]),))

    def _foresee(self, digest: bytes, envelope: Any, message: BaseMessage) -> None:
        prototype = foreseen(message)
        if prototype is not None:
            self.sink.foreseen[digest] = (envelope, prototype)

    def _blob_of_message(self, message: BaseMessage) -> Entry:
        """Keep a message that has no envelope whole, without what the policy strips."""
        type_, data = self.codec.dump(self.whole.message(message))
        return Entry(BLOB_WIRE, (self.add_item(BLOB, (), [type_, data]),))

    def _agrees(self, message: BaseMessage) -> bool:
        """Check that a foreign serializer gives this message back as LangGraph's encoder would."""
        if type(message) not in STANDARD:
            return False
        back = self.codec.load(*self.codec.dump(message))
        ours = STRICT.loads_typed(("msgpack", native_encode(message)))
        return type(back) is type(ours) and native_encode(back) == native_encode(ours)


def _has_text_id(message: BaseMessage) -> bool:
    """Tell whether a message has no id, or one that is text without half of a surrogate pair."""
    return message.id is None or (type(message.id) is str and is_text(message.id))


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
