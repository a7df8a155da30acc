"""What is known about each medium of a thread, and what could not be kept.

Owns the records of a thread's media table and of its media report, in memory and on the wire. Knows nothing of
where they are stored. Wire forms are plain dicts of msgpack and JSON types; absent keys mean "not known", and
keys from a newer writer are kept in `extras` and written back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, Literal, Self, get_args

from langgraph_portable_checkpoint.envelope.media_types import ALIASES, OCTET_STREAM, sniff
from langgraph_portable_checkpoint.errors import CorruptRecordError, MediaDigestError, MediaError

Reason = Literal[
    "over_inline_threshold",
    "stripped",
    "missing_blob",
    "corrupt_blob",
    "expired_reuploaded",
    "expired_no_bytes",
    "unsupported",
    "mime_mismatch",
]
"""Why a part is on the report.

- over_inline_threshold: the policy says inline, the part is larger than `max_inline_bytes`: it was stored outside the
  message all the same, or, for a provider upload without a store, its bytes were not kept
- stripped: the policy removed the bytes and left a text
- missing_blob: the store has no such blob, or could not be asked; the reader got a placeholder
- corrupt_blob: the store's bytes do not match their digest; the reader got a placeholder
- expired_reuploaded: a provider upload had expired and was uploaded again; `new_uri` is in its place
- expired_no_bytes: a provider upload had expired and its bytes are not known; a placeholder is in its place
- unsupported: the reader or target cannot take the part
- mime_mismatch: the first bytes are not those of the declared type; bytes and declaration are kept as they are
"""
REASONS: Final = frozenset(get_args(Reason))


class _Wire:
    """Shared by the record types below: dict forms that survive unknown keys."""

    def to_wire(self) -> dict[str, Any]:
        """Return the dict form: JSON types, absent where unknown."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]  # every subclass is a dataclass
        extras = fields.pop("extras", {})
        return {**extras, **{name: _plain(value) for name, value in fields.items() if value not in (None, ())}}

    @classmethod
    def from_wire(cls, wire: object, *, where: str = "a media table") -> Self:
        """Read the dict form back.

        Raises:
            CorruptRecordError: a key is missing or of another type than documented.
        """
        if not isinstance(wire, Mapping) or not all(isinstance(key, str) for key in wire):
            raise CorruptRecordError(cls.__name__, where=where, reason="it is not a map with string keys")
        readers = _READERS[cls.__name__]
        known = {name: readers[name](value, where) for name, value in wire.items() if name in readers}
        extras = {name: value for name, value in wire.items() if name not in readers}
        try:
            make: Any = cls
            record: Self = make(**known, extras=extras)
        except TypeError as missing:
            raise CorruptRecordError(cls.__name__, where=where, reason=str(missing)) from missing
        return record


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Upload(_Wire):
    """One copy of a medium at a provider, which may expire.

    Attributes:
        uri: What messages name.
        provider: Who holds it.
        account: A hint for the key or account that the upload is bound to.
        uploaded_at: Aware, UTC.
        expires_at: Aware, UTC; None when unknown.
    """

    uri: str
    provider: str | None = None
    account: str | None = None
    uploaded_at: datetime | None = None
    expires_at: datetime | None = None
    extras: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MediaRecord(_Wire):
    """One medium of a thread.

    Attributes:
        sha256: Hex digest of the bytes, or None when a provider upload's bytes were never seen.
        mime_type: As declared or recognised when it was first stored.
        size_bytes: Size of the bytes.
        recognised_as: What the first bytes say, where that contradicts `mime_type`; "application/octet-stream" where
            they are no known file and the declared type is one that always starts alike.
        store: Name of the store that holds them; "redis" for the thread's own items; None when nobody does.
        ref: What the store's `put` returned.
        first_turn: The turn that brought it in.
        uploads: Copies at providers, oldest first.
    """

    sha256: str | None = None
    mime_type: str | None = None
    size_bytes: int | None = None
    recognised_as: str | None = None
    store: str | None = None
    ref: str | None = None
    first_turn: int | None = None
    uploads: tuple[Upload, ...] = ()
    extras: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)

    def upload(self, uri: str) -> Upload | None:
        """Return the upload of a URI."""
        return next((known for known in self.uploads if known.uri == uri), None)

    def with_upload(self, upload: Upload) -> MediaRecord:
        """Return the record with an upload added, or replaced where the URI is already known."""
        others = tuple(known for known in self.uploads if known.uri != upload.uri)
        return dataclasses.replace(self, uploads=(*others, upload))

    def without_upload(self, uri: str) -> MediaRecord:
        """Return the record without an upload, whose URI names other bytes now."""
        return dataclasses.replace(self, uploads=tuple(known for known in self.uploads if known.uri != uri))

    def joined(self, other: MediaRecord) -> MediaRecord:
        """Return what this record and another one tell of the same medium; where they differ, this one counts."""
        told: dict[str, Any] = {name: getattr(other, name) for name in _ABOUT if getattr(self, name) is None}
        if self.store is None:
            told |= {"store": other.store, "ref": other.ref}
        if self.mime_type is None:
            told |= {"recognised_as": other.recognised_as}
        uploads = {upload.uri: upload for upload in (*other.uploads, *self.uploads)}
        extras = {**other.extras, **self.extras}
        return dataclasses.replace(self, **told, uploads=tuple(uploads.values()), extras=extras)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MediaReport(_Wire):
    """One medium that a save or a read could not keep as it was.

    Attributes:
        reason: See `Reason`.
        mime_type: Of the part.
        size_bytes: Of the part.
        message: Id of the message, or its position where it has none.
        turn: 0-based.
        sha256: Where known.
        uri: Of a provider upload.
        new_uri: What replaced it.
        expires_at: When it expired.
        source: What asked for it, where not the policy's mode: "preserve_media".
        detail: The error, in one line; never contents.
    """

    reason: Reason
    mime_type: str | None = None
    size_bytes: int | None = None
    message: str | int | None = None
    turn: int | None = None
    sha256: str | None = None
    uri: str | None = None
    new_uri: str | None = None
    expires_at: datetime | None = None
    source: str | None = None
    detail: str | None = None
    extras: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)


def new_record(
    data: bytes,
    mime_type: str | None,
    *,
    store: str,
    ref: str | None = None,
    first_turn: int | None = None,
    digest: str | None = None,
) -> MediaRecord:
    """Describe bytes that a thread holds for the first time.

    A type that the bytes contradict is kept as it was declared, with what they look like in `recognised_as`.
    """
    return MediaRecord(
        sha256=digest or sha256(data).hexdigest(),
        mime_type=mime_type,
        size_bytes=len(data),
        recognised_as=contradiction(data[:64], mime_type),
        store=store,
        ref=ref,
        first_turn=first_turn,
    )


def contradiction(first: bytes, mime_type: str | None) -> str | None:
    """Return what the first bytes of a file are, where that is not what was declared; None where it may be.

    >>> contradiction(b"%PDF-1.7", "image/png"), contradiction(b"%PDF-1.7", "application/pdf")
    ('application/pdf', None)
    """
    declared = (mime_type or "").partition(";")[0].strip().lower()
    seen = sniff(first)
    if seen is None:
        return OCTET_STREAM if declared in _ALWAYS_ALIKE and first else None
    if declared.startswith("text/"):
        return seen if seen in _NEVER_TEXT else None
    return seen if declared in _CHECKABLE and _family(declared) != _family(seen) else None


def mismatch_report(record: MediaRecord, **facts: Any) -> MediaReport:
    """Report a medium whose bytes contradict its declared type; `facts` as for `failure_report`."""
    looks = "no file of that type" if record.recognised_as == OCTET_STREAM else record.recognised_as
    return MediaReport(
        reason="mime_mismatch",
        mime_type=record.mime_type,
        size_bytes=record.size_bytes,
        sha256=record.sha256,
        detail=f"the bytes are {looks}",
        **facts,
    )


def failure_report(error: MediaError, *, mime_type: str | None, size_bytes: int | None, **facts: Any) -> MediaReport:
    """Report a medium that could not be read.

    Args:
        error: Why.
        mime_type: Of the part.
        size_bytes: Of the part.
        **facts: Further fields of `MediaReport`, such as `message`, `turn` and `sha256`.
    """
    reason: Reason = "corrupt_blob" if isinstance(error, MediaDigestError) else "missing_blob"
    return MediaReport(reason=reason, mime_type=mime_type, size_bytes=size_bytes, detail=str(error), **facts)


class MediaTable:
    """The media of one thread, found by digest or by the URI of an upload. A URI is one medium's."""

    def __init__(self, records: Iterable[MediaRecord] = ()) -> None:
        """Make a table of records as they are stored.

        Args:
            records: Those of one digest are one medium. A URI that several have is that of known bytes, and among
                these of those that were uploaded last.
        """
        self._records: dict[str, MediaRecord] = {}
        self._by_uri: dict[str, str] = {}
        for position, record in enumerate(_with_own_uris([*records])):
            if record.sha256 is None and not record.uploads:
                self._records[f"at:{position}"] = record
                continue
            known = self._records.get(record_key(record))
            self.put(record if known is None else known.joined(record))

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Any:
        return iter(self._records.values())

    def put(self, record: MediaRecord) -> None:
        """Add a record, or replace the one with the same key. Its URIs name no other medium from then on."""
        key = record_key(record)
        self._forget_uris(key)
        for upload in record.uploads:
            self._release(upload.uri)
        self._records[key] = record
        for upload in record.uploads:
            self._by_uri[upload.uri] = key

    def _forget_uris(self, key: str) -> None:
        before = self._records.get(key)
        for upload in before.uploads if before is not None else ():
            self._by_uri.pop(upload.uri, None)

    def _release(self, uri: str) -> None:
        key = self._by_uri.get(uri)
        if key is None:
            return
        left = self._records[key].without_upload(uri)
        self._forget_uris(key)
        if left.sha256 is not None:
            self.put(left)
            return
        del self._records[key]
        if left.uploads:
            self.put(left)

    def by_digest(self, sha256: str) -> MediaRecord | None:
        """Return the record of a digest."""
        return self._records.get(sha256)

    def by_uri(self, uri: str) -> MediaRecord | None:
        """Return the record that has an upload with this URI."""
        return self._records.get(self._by_uri.get(uri, ""))


def _with_own_uris(records: Sequence[MediaRecord]) -> Iterator[MediaRecord]:
    """Leave each URI to one record; what it was all that was known of is left out."""
    owners: dict[str, tuple[Any, int]] = {}
    for position, record in enumerate(records):
        for upload in record.uploads:
            rank = (record.sha256 is not None, upload.uploaded_at or _BEGINNING)
            if upload.uri not in owners or rank >= owners[upload.uri][0]:
                owners[upload.uri] = (rank, position)
    for position, record in enumerate(records):
        own = tuple(upload for upload in record.uploads if owners[upload.uri][1] == position)
        if own == record.uploads:
            yield record
        elif own or record.sha256 is not None:
            yield dataclasses.replace(record, uploads=own)


def record_key(record: MediaRecord) -> str:
    """Name a record within its thread: its digest, or the first URI where the bytes are unknown."""
    if record.sha256 is None and not record.uploads:
        raise ValueError("a media record needs a digest or an upload")
    return record.sha256 or f"uri:{record.uploads[0].uri}"


def utc(moment: datetime) -> datetime:
    """Return a moment in UTC.

    Raises:
        ValueError: it names no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError("this time has no zone; pass an aware datetime, such as datetime.now(UTC)")
    return moment.astimezone(UTC)


_ABOUT: Final = ("sha256", "mime_type", "size_bytes", "first_turn")
_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)
_CONTAINERS: Final = frozenset({"audio/mp4", "video/mp4", "video/quicktime", "video/webm", "audio/webm", "image/heic"})
_ALWAYS_ALIKE: Final = frozenset({"image/png", "image/gif", "image/webp", "image/jpeg", "image/jpg"})
"""Types of which every file starts as `encodings.sniff` has it."""
_NEVER_TEXT: Final = _ALWAYS_ALIKE | {
    "application/pdf",
    "application/zip",
    "application/gzip",
    "audio/ogg",
    "audio/flac",
}
_CHECKABLE: Final = frozenset(
    {"image/png", "image/gif", "image/webp", "image/tiff", "image/bmp", "application/pdf", "audio/ogg", "audio/flac"}
    | {*ALIASES, *ALIASES.values(), *_CONTAINERS}
)
"""Types whose files `encodings.sniff` knows; others cannot contradict their bytes."""


def _family(mime_type: str) -> str:
    return "container" if mime_type in _CONTAINERS else ALIASES.get(mime_type, mime_type)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return utc(value).isoformat().replace("+00:00", "Z")
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    return [item.to_wire() for item in value] if isinstance(value, tuple) else value


def _of(*types: type) -> Any:
    def read(value: object, where: str) -> object:
        if value is not None and (not isinstance(value, types) or isinstance(value, bool)):
            raise CorruptRecordError("a media record", where=where, reason=f"{type(value).__name__} is not expected")
        return value

    return read


def _uri(value: object, where: str) -> object:
    if value is None:
        raise CorruptRecordError("a media record", where=where, reason="an upload has no URI")
    return _of(str)(value, where)


def _time(value: object, where: str) -> datetime | None:
    try:
        return None if value is None else utc(datetime.fromisoformat(str(value)))
    except (ValueError, OverflowError) as wrong:
        raise CorruptRecordError("a media record", where=where, reason=f"a time is malformed: {wrong}") from wrong


def _uploads(value: object, where: str) -> tuple[Upload, ...]:
    return tuple(Upload.from_wire(item, where=where) for item in _of(list)(value, where) or ())


def _reason(value: object, where: str) -> object:
    if not isinstance(value, str) or value not in REASONS:
        raise CorruptRecordError("a media report", where=where, reason=f"reason {value!r:.60} is not known")
    return value


_READERS: Final[dict[str, dict[str, Any]]] = {
    "Upload": {"uri": _uri, "provider": _of(str), "account": _of(str), "uploaded_at": _time, "expires_at": _time},
    "MediaRecord": {
        "sha256": _of(str), "mime_type": _of(str), "size_bytes": _of(int), "recognised_as": _of(str),
        "store": _of(str), "ref": _of(str),
        "first_turn": _of(int), "uploads": _uploads,
    },
    "MediaReport": {
        "reason": _reason, "mime_type": _of(str), "size_bytes": _of(int), "message": _of(str, int),
        "turn": _of(int), "sha256": _of(str), "uri": _of(str), "new_uri": _of(str), "expires_at": _time,
        "source": _of(str), "detail": _of(str),
    },
}  # fmt: skip
