"""Items and records as bytes: the wire form, digests, and sealing.

An item is a msgpack array of three: kind (positive fixint), refs (bin: the 16-byte digests it names, concatenated, in
the order in which its body consumes them) and body. Its digest is BLAKE2b-16 of these very bytes, keyed when sealed, so
an item can be checked by anyone who has the bytes (and the key). Kinds:

| kind | item | body |
|---|---|---|
| 1 | message envelope | map (see the message envelope), or [map, holes] |
| 2 | blob | [serializer type, bytes] or [serializer type, bytes, holes] |
| 3 | leaf page of a sequence | list of entries |
| 4 | inner page of a sequence | nil; its refs are its children, all of one level |
| 5 | shape of a record | see `records` |
| 16 | checkpoint record | see `records` |
| 17 | pending write | see `records` |
| 18 | turn envelope, only where sealed | bin: the turn envelope's msgpack |
| 19 | media table record, only where sealed | map |

Sealed items and records have 64 added to the kind and carry [serializer type, bytes] as body: what the serializer makes
of the msgpack bytes of the plain body. Their refs stay visible (they are keyed digests), so that the server can follow
them; the digest covers kind, refs and plain body, so an item cannot be altered, moved or given other refs unnoticed.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Protocol

import msgpack
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from ..errors import CorruptRecordError, FutureVersionError, PlaintextRecordError

MESSAGE: Final = 1
BLOB: Final = 2
LEAF: Final = 3
INNER: Final = 4
SHAPE: Final = 5
CHECKPOINT: Final = 16
WRITE: Final = 17
TURN: Final = 18
MEDIA: Final = 19
SEALED: Final = 64
KINDS: Final = frozenset({MESSAGE, BLOB, LEAF, INNER, SHAPE, CHECKPOINT, WRITE, TURN, MEDIA})

DIGEST_BYTES: Final = 16
MAX_ITEM_BYTES: Final = 500 * 1024 * 1024
"""Below the server's own limit of 512 MiB for one value."""


def pack(value: Any) -> bytes:
    """Encode plain values as msgpack."""
    return msgpack.packb(value, use_bin_type=True)


def unpack(data: bytes) -> Any:
    """Decode msgpack made by `pack`; sizes are bounded by the data itself, and no ext type is accepted."""
    return msgpack.unpackb(data, raw=False, strict_map_key=False, use_list=True, ext_hook=_refuse_ext)


def _refuse_ext(code: int, _data: bytes) -> Any:
    raise ValueError(f"msgpack ext type {code} has no place in this format")


@dataclass(frozen=True, slots=True)
class Parsed:
    """An item or record, opened."""

    kind: int
    refs: tuple[bytes, ...]
    body: Any


class Sealer(Protocol):
    """Turns plain bodies into what is stored, and back."""

    sealed: bool

    def seal(self, data: bytes) -> list[Any]: ...

    def open(self, stored: list[Any], *, what: str, where: str) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Secrets:
    """How one thread names and seals its items."""

    key: bytes
    sealer: Sealer


class PlainSealer:
    """Stores bodies as they are."""

    sealed = False

    def seal(self, data: bytes) -> list[Any]:
        raise AssertionError("plain bodies are not sealed")

    def open(self, stored: list[Any], *, what: str, where: str) -> bytes:
        raise CorruptRecordError(
            what,
            where=where,
            reason="it is sealed",
            fix="Pass the serde= (and its key) that this thread was written with.",
        )


class SerdeSealer:
    """Passes every body through the caller's own serializer, so a serializer that encrypts encrypts everything.

    A serializer that cannot take bytes is given them as base64 text.
    """

    sealed = True

    def __init__(self, serde: SerializerProtocol) -> None:
        self._serde = serde
        self._must_encrypt = isinstance(serde, EncryptedSerializer)
        self._as_text = not self._takes_bytes()

    def _takes_bytes(self) -> bool:
        probe = b"\x00probe\xff"
        try:
            return bool(self._serde.loads_typed(self._serde.dumps_typed(probe)) == probe)
        except (TypeError, ValueError, KeyError, AttributeError, NotImplementedError):
            return False

    def seal(self, data: bytes) -> list[Any]:
        return list(self._serde.dumps_typed(b64encode(data).decode() if self._as_text else data))

    def open(self, stored: list[Any], *, what: str, where: str) -> bytes:
        type_, data = stored
        if self._must_encrypt and "+" not in type_:
            raise PlaintextRecordError(
                what, where=where, reason="it is not encrypted, and this saver only reads encrypted data"
            )
        try:
            opened = self._serde.loads_typed((type_, data))
        except (ValueError, TypeError, KeyError, AssertionError, NotImplementedError) as error:
            raise CorruptRecordError(
                what,
                where=where,
                reason=f"the serializer cannot open it ({type(error).__name__})",
                fix="Check that the key is the one this thread was written with; otherwise the data was altered.",
            ) from error
        if self._as_text and isinstance(opened, str):
            opened = b64decode(opened)
        if not isinstance(opened, bytes):
            raise CorruptRecordError(what, where=where, reason="the serializer gave back something else than bytes")
        return opened


def _bin_header(size: int) -> bytes:
    if size < 256:
        return b"\xc4" + size.to_bytes(1, "big")
    if size < 65536:
        return b"\xc5" + size.to_bytes(2, "big")
    return b"\xc6" + size.to_bytes(4, "big")


def _assemble(kind: int, refs: bytes, body: bytes) -> bytes:
    return b"\x93" + kind.to_bytes(1, "big") + _bin_header(len(refs)) + refs + body


def digest_of(data: bytes, key: bytes) -> bytes:
    """Name an item: BLAKE2b-16 of its plain bytes, keyed with the thread's key where it has one."""
    return blake2b(data, digest_size=DIGEST_BYTES, key=key).digest()


def media_ref(sha256_digest: bytes, key: bytes) -> bytes:
    """Name media bytes within a thread: the first 16 bytes of their SHA-256, or its keyed BLAKE2b-16 where sealed."""
    return blake2b(sha256_digest, digest_size=DIGEST_BYTES, key=key).digest() if key else sha256_digest[:DIGEST_BYTES]


def pack_item(kind: int, refs: tuple[bytes, ...], body: Any, secrets: Secrets) -> tuple[bytes, bytes]:
    """Encode an item.

    Returns:
        Its digest and the bytes to store.
    """
    joined = b"".join(refs)
    plain = pack(body)
    data = _assemble(kind, joined, plain)
    digest = digest_of(data, secrets.key)
    if secrets.sealer.sealed:
        data = _assemble(kind | SEALED, joined, pack(secrets.sealer.seal(plain)))
    return digest, data


def pack_record(kind: int, refs: tuple[bytes, ...], body: Any, *, secrets: Secrets, place: bytes) -> bytes:
    """Encode a record. A sealed one holds its place and a mark of the thread's key, so it cannot be moved unnoticed."""
    joined = b"".join(refs)
    if not secrets.sealer.sealed:
        return _assemble(kind, joined, pack(body))
    bound = digest_of(joined, secrets.key)
    return _assemble(kind | SEALED, joined, pack(secrets.sealer.seal(pack([place, bound, body]))))


def _split(data: bytes, *, what: str, where: str) -> tuple[int, bytes, bytes]:
    """Cut item bytes into kind, joined refs and encoded body."""
    if len(data) < 5 or data[0] != 0x93 or data[1] > 0x7F:
        raise CorruptRecordError(what, where=where, reason="it does not start as one of this format")
    widths = {0xC4: 1, 0xC5: 2, 0xC6: 4}
    width = widths.get(data[2])
    if width is None:
        raise CorruptRecordError(what, where=where, reason="its refs are not where they should be")
    start = 3 + width
    size = int.from_bytes(data[3:start], "big")
    if size % DIGEST_BYTES or start + size >= len(data):
        raise CorruptRecordError(what, where=where, reason="it is truncated")
    return data[1], data[start : start + size], data[start + size :]


def _decode(body: bytes, *, what: str, where: str) -> Any:
    try:
        return unpack(body)
    except (ValueError, msgpack.UnpackException, RecursionError) as error:
        raise CorruptRecordError(what, where=where, reason=f"it is not readable msgpack ({error})"[:200]) from error


def _checked_kind(kind: int, sealer: Sealer, *, what: str, where: str) -> int:
    plain_kind = kind & ~SEALED
    if plain_kind not in KINDS:
        raise FutureVersionError(what, where=where, found=f"kind {plain_kind}", supported="format 1")
    if sealer.sealed and not kind & SEALED:
        raise PlaintextRecordError(
            what, where=where, reason="it is stored in the open, and this saver only reads sealed data"
        )
    return plain_kind


def _split_refs(joined: bytes) -> tuple[bytes, ...]:
    return tuple(joined[i : i + DIGEST_BYTES] for i in range(0, len(joined), DIGEST_BYTES))


def refs_of(data: bytes, *, where: str) -> tuple[bytes, ...]:
    """Read which items an item or record names, without opening it."""
    return _split_refs(_split(data, what="item or record", where=where)[1])


def parse_item(digest: bytes, data: bytes, *, secrets: Secrets, where: str) -> Parsed:
    """Open an item and check it against its digest.

    Raises:
        CorruptRecordError: truncated, altered, or stored under another digest.
        PlaintextRecordError: an open item under a sealing serializer.
        FutureVersionError: a kind that this version does not know.
    """
    what = f"item {digest.hex()}"
    stored_kind, joined, body = _split(data, what=what, where=where)
    kind = _checked_kind(stored_kind, secrets.sealer, what=what, where=where)
    if stored_kind & SEALED:
        body = secrets.sealer.open(_decode(body, what=what, where=where), what=what, where=where)
        data = _assemble(kind, joined, body)
    if digest_of(data, secrets.key) != digest:
        raise CorruptRecordError(what, where=where, reason="its bytes do not match its digest")
    return Parsed(kind, _split_refs(joined), _decode(body, what=what, where=where))


def parse_record(kind: int, data: bytes, *, secrets: Secrets, place: bytes, what: str, where: str) -> Parsed:
    """Open a record and, when sealed, check that it stands where it was written."""
    stored_kind, joined, body = _split(data, what=what, where=where)
    found = _checked_kind(stored_kind, secrets.sealer, what=what, where=where)
    if found != kind:
        raise CorruptRecordError(what, where=where, reason=f"it is of kind {found}, not {kind}")
    decoded = _decode(body, what=what, where=where)
    if stored_kind & SEALED:
        opened = _decode(secrets.sealer.open(decoded, what=what, where=where), what=what, where=where)
        if opened[0] != place or opened[1] != digest_of(joined, secrets.key):
            raise CorruptRecordError(what, where=where, reason="it was moved here from another place")
        decoded = opened[2]
    return Parsed(kind, _split_refs(joined), decoded)
