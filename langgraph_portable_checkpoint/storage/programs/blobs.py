"""Media bytes and media table records as they are stored: sealed where bodies are, and checked when they are opened."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from ...errors import CorruptRecordError, MediaDigestError, MediaError, MediaMissingError, MediaStoreError
from ..encoder import NewMedia
from ..items import DIGEST_BYTES, MEDIA, media_ref, pack, pack_record, parse_record, unpack
from ..view import Lost, ThreadView

OF_THE_BYTES: Final = frozenset({"sha256", "mime_type", "size_bytes", "recognised_as", "store", "ref"})
PLACE: Final = ("sha256", "store", "ref")
MAX_DETAIL_CHARS: Final = 600


def unpack_sealed(data: bytes, *, what: str, where: str) -> list[Any]:
    """Read type and bytes of what a sealing serializer made."""
    try:
        type_, sealed = unpack(data)
    except (ValueError, TypeError) as error:
        raise CorruptRecordError(what, where=where, reason="it is not readable") from error
    return [type_, sealed]


def seal_blob(view: ThreadView, ref: bytes, data: bytes) -> bytes:
    """Turn media bytes into what is stored: themselves, or sealed."""
    return pack(view.secrets.sealer.seal(data)) if view.secrets.sealer.sealed else data


def open_blob(view: ThreadView, ref: bytes, data: bytes, *, where: str) -> bytes:
    """Invert `seal_blob`, and check the bytes against their ref.

    Raises:
        CorruptRecordError: altered, moved, or stored in the open under a sealing serializer.
    """
    what = f"media {ref.hex()}"
    if view.secrets.sealer.sealed:
        data = view.secrets.sealer.open(unpack_sealed(data, what=what, where=where), what=what, where=where)
    if media_ref(sha256(data).digest(), view.secrets.key) != ref[-DIGEST_BYTES:]:
        raise CorruptRecordError(what, where=where, reason="its bytes do not match its digest")
    return data


def seal_media_record(view: ThreadView, ref: bytes, record: Mapping[str, Any]) -> bytes:
    """Turn a media table record into what is stored: its msgpack, sealed and bound to its ref if bodies are."""
    if not view.secrets.sealer.sealed:
        return pack(record)
    return pack_record(MEDIA, (), dict(record), secrets=view.secrets, place=b"media\0" + ref)


def open_media_record(view: ThreadView, ref: bytes, data: bytes, *, where: str) -> dict[str, Any]:
    """Invert `seal_media_record`."""
    what = "media table record"
    if not view.secrets.sealer.sealed:
        try:
            record = unpack(data)
        except ValueError as error:
            raise CorruptRecordError(what, where=where, reason="it is not readable msgpack") from error
    else:
        place = b"media\0" + ref
        record = parse_record(MEDIA, data, secrets=view.secrets, place=place, what=what, where=where).body
    if not isinstance(record, dict):
        raise CorruptRecordError(what, where=where, reason="it is not a map")
    return record


def known_of(view: ThreadView, ref: bytes, data: bytes | None, where: str) -> dict[str, Any]:
    """Open what may be a media table record; nothing is known of a medium whose record is unreadable."""
    try:
        return {} if data is None else open_media_record(view, ref, data, where=where)
    except CorruptRecordError:
        return {}


def told_of(view: ThreadView, ref: bytes, data: bytes | None) -> dict[str, Any]:
    """Open a media table record for what it tells beside where the bytes are and what they look like."""
    return {name: told for name, told in known_of(view, ref, data, "").items() if name not in OF_THE_BYTES}


def with_place_of(known: Mapping[str, Any], described: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a medium whose bytes stay where they are, though they were put elsewhere as well."""
    kept = {name: known[name] for name in PLACE if name in known}
    return {**{name: told for name, told in described.items() if name not in PLACE}, **kept}


def stored_digest(media: NewMedia, stored: bytes) -> str:
    """Return the SHA-256, in hex, of what is stored: the bytes themselves, or what sealing made of them."""
    return (media.sha256 if stored is media.data else sha256(stored).digest()).hex()


def answered(answer: bytes | MediaError) -> bytes | Lost:
    """Return what a media store gave, or why it gave nothing: its error in one line."""
    if isinstance(answer, bytes):
        return answer
    reason = "corrupt_blob" if isinstance(answer, MediaDigestError) else "missing_blob"
    failed = isinstance(answer, MediaStoreError) and not isinstance(answer, MediaMissingError)
    line = " ".join(str(answer).split()).encode("utf-8", "replace").decode()
    return Lost(reason, line[:MAX_DETAIL_CHARS], gone=not failed)


def stored_at(record: Mapping[str, Any], own_store: str | None) -> tuple[str, str] | Lost:
    """Return ref and digest of a blob that is not with the thread, or why a saver with this store cannot ask for it."""
    store, ref, sha256 = (record.get(name) for name in ("store", "ref", "sha256"))
    if store == "redis":
        return Lost("missing_blob", "its bytes are not with the thread any more, as after an eviction")
    if not (isinstance(store, str) and isinstance(ref, str) and isinstance(sha256, str)):
        return Lost("missing_blob", "the thread's media table does not say where it is")
    if store != own_store:
        own = "has none" if own_store is None else f"reads {own_store!r:.80}"
        return Lost("missing_blob", f"it is in the media store {store!r:.80}, and this saver {own}")
    return ref, sha256
