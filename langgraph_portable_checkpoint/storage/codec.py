"""Values to entries and items, and back.

An entry is what stands for one value in a record, a page or a frame. Its wire forms, and the refs that each consumes:

| wire | value | refs |
|---|---|---|
| nil, str, bin(16) | a message whose id is None, this text, or this UUID in lower-case canonical text | 1 |
| [] | None | 0 |
| [bin] | inline: the serializer's bytes of type "msgpack" | 0 |
| [str, bin] | inline: the serializer's type and bytes | 0 |
| 2 | a blob item | 1 |
| [n, form, [entry, ...]] | a sequence of n entries, these of them loose | its pages (see `sequences`), then theirs |

The form of a sequence is 0 for a list, 1 for a dict (key, value, key, value, ... in order), or 2 for a list whose
entries are lists of `CHUNK` elements each, the last one shorter.

Everything that is not a message, a large list or a large dict goes through the caller's serializer unchanged, so what
is read back is what the serializer gives back. Messages are stored as neutral envelopes that provably rebuild the
serializer's own bytes. Nothing is ever recognised by its shape on the way back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import ormsgpack
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ..envelope.exact import from_envelope
from ..errors import CorruptRecordError
from .items import MAX_ITEM_BYTES, PlainSealer, Sealer, SerdeSealer
from .sequences import Entry, levels_of

CHUNK: Final = 64
LIST, DICT, CHUNKED = 0, 1, 2
EXT_PYDANTIC_V2: Final = 5
BLOB_WIRE: Final = 2


class Hole(Protocol):
    """A place of a value that is stored elsewhere: what the media walk makes."""

    kind: str
    message: BaseMessage | None
    data: bytes | None
    mime_type: str | None
    ref: Any
    leaf: Any

    def to_wire(self, ref: bytes | str) -> list[Any]: ...


class Walk(Protocol):
    """The media room, as storage sees it."""

    def take_out(self, value: Any, home: bytes | None = None) -> Any:
        """Take media and nested messages out of a value: its `value`, `holes` and `reports` (wire forms).

        What stands for media of the thread `home` becomes holes without data.
        """

    def strip(self, value: Any, home: bytes | None = None) -> Any:
        """Take out for good what the policy strips: `value` and `reports`. A piece of a value may not say enough."""

    def fill(self, value: Any, holes: Sequence[Any], resolve: Callable[[Any], Any]) -> Any:
        """Put them back."""

    def any_stand(self) -> bool:
        """Tell at once whether anything may stand for a medium."""

    def holds_stand_in(self, value: Any) -> bool:
        """Tell whether something in a value or message does."""

    def stand_ins(self, value: Any) -> Mapping[Any, Any]:
        """Find the texts of a value that stand for media, outside of messages, by where they are."""

    def stand_again(self, value: Any, known: Mapping[Any, Any]) -> Any:
        """Put them where a value has equal texts at the same places; the very same object if nowhere."""

    def with_empty_texts(self, fields: Any, holes: Sequence[Any]) -> Any:
        """Put empty text in the place of media in a message's content, so that its blocks still say what they are."""

    def from_wire(self, wire: Any, *, where: str) -> Any:
        """Read a hole."""

    def describe(
        self, data: bytes, mime_type: str | None, *, sha256: str, store: str, ref: str | None
    ) -> dict[str, Any]:
        """Make the media table's record of bytes."""

    def fill_message(self, message: Any, holes: Sequence[Any], resolve: Callable[[Any], Any]) -> Any:
        """Put media into a message that was decoded without them; None when that is not possible."""

    def spell(self, hole: Any, data: bytes) -> Any:
        """Spell bytes as they stand in a hole's place: what `fill` takes too, for many places at once."""

    def placeholder(self, hole: Any, *, reference: bool = False, home: bytes | None = None) -> Any:
        """Give what stands for media that is not there, or that was not asked for: for those of the thread `home`."""


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
        langgraphs_own = type(inner) is JsonPlusSerializer or "reads_messages_as_langgraph" in vars(type(inner))
        self.foresees = langgraphs_own and not getattr(inner, "_custom_unpack_ext_hook", True)
        """True when messages are known to be read back by LangGraph's own decoder."""
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
        return self.load_fields(*self.message_fields(envelope, message_id))

    def load_fields(self, module: str, name: str, fields: Mapping[str, Any]) -> Any:
        """Make a message of its fields exactly as the serializer would."""
        packed = native_encode((module, name, fields, "model_validate_json"))
        return self.load_native(ormsgpack.packb(ormsgpack.Ext(EXT_PYDANTIC_V2, packed)))

    def load_native(self, data: bytes) -> Any:
        """Deserialize what LangGraph's encoder made; with a foreign serializer, of messages it is known to agree on."""
        return self.load("msgpack", data) if self.native else STRICT.loads_typed(("msgpack", data))

    def message_fields(self, envelope: Mapping[str, Any], message_id: str | None) -> tuple[str, str, dict[str, Any]]:
        """Rebuild module, class name and fields of a message."""
        return from_envelope(envelope, id=message_id, loads=self.load_native)


UUID_BYTES: Final = 16
_NATIVE: Final = JsonPlusSerializer()
STRICT: Final = JsonPlusSerializer(allowed_msgpack_modules=None)


def native_encode(value: Any) -> bytes:
    return _NATIVE.dumps_typed(value)[1]


def id_to_wire(message_id: str | None) -> str | bytes | None:
    """Spell a message id: 16 bytes when it is a UUID in canonical lower-case text, else as it is."""
    if message_id is not None and len(message_id) == 36 and message_id[8] == "-":
        try:
            packed = bytes.fromhex(message_id.replace("-", ""))
        except ValueError:
            return message_id
        if len(packed) == UUID_BYTES and _uuid_text(packed) == message_id:
            return packed
    return message_id


def id_from_wire(wire: str | bytes | None) -> str | None:
    """Invert `id_to_wire`."""
    return _uuid_text(wire) if isinstance(wire, bytes) else wire


def _uuid_text(data: bytes) -> str:
    """Spell a UUID as `str(UUID(bytes=data))` does, in a quarter of the time."""
    if len(data) != UUID_BYTES:
        raise ValueError(f"an id of {len(data)} bytes is no UUID")
    digits = data.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


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
