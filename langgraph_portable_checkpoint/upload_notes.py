"""What a thread's media table says of uploads, and what is written to it for one more.

Owns the names of records: the bytes of a medium are told by the medium's own record, its uploads by one of their own
beside it, so that neither is written over with the other. Reads what earlier versions wrote as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from .errors import ConflictError, CorruptRecordError, MediaError
from .media.table import MediaRecord, MediaTable
from .media.uploads import UploadPlan
from .storage.items import DIGEST_BYTES, media_ref
from .storage.programs import media_table as programs
from .storage.programs.media_table import UPLOAD, KeptBytes, StoredMedia

if TYPE_CHECKING:
    from .storage.effects import Program
    from .storage.programs.core import Core

MAX_NOTES: Final = 100
"""How often a note is tried anew where others note uploads of the same media meanwhile: one always gets through."""


@dataclass(frozen=True, slots=True)
class ThreadMedia:
    """A thread's media table, as it is stored and as it is told."""

    stored: StoredMedia
    records: Mapping[bytes, MediaRecord]
    """By name; there may be one of a medium, and one of its uploads."""
    corrupt: Mapping[bytes, CorruptRecordError]
    media: Mapping[bytes, MediaRecord]
    """By the medium's name, with its uploads; where nobody knows the bytes, by that of the upload."""

    @property
    def table(self) -> MediaTable:
        return MediaTable(self.media.values())

    @property
    def _key(self) -> bytes:
        return self.stored.view.secrets.key if self.stored.view is not None else b""

    def ref_of(self, digest: bytes) -> bytes:
        """Name a medium by the SHA-256 of its bytes."""
        return media_ref(digest, self._key)

    def with_digest(self, name: bytes, digest: str) -> ThreadMedia:
        """Return the same where a medium's digest is known: a sealed thread has that of what is stored."""
        if name not in self.media or self.media[name].sha256 == digest:
            return self
        return replace(self, media={**self.media, name: replace(self.media[name], sha256=digest)})

    def name_of(self, record: MediaRecord) -> bytes:
        """Find or make the name of a medium, or of uploads whose bytes nobody knows."""
        same = [name for name, known in self.media.items() if _is_same(known, record)]
        kept = [name for name in same if self.bytes_of(name) is not None]
        return next(iter((*kept, *same)), None) or self.name_of_uri(record.uploads[-1].uri)

    def name_of_uri(self, uri: str) -> bytes:
        """Name uploads by a URI."""
        return blake2b(uri.encode(), digest_size=DIGEST_BYTES, key=self._key).digest()

    def bytes_of(self, name: bytes) -> bytes | None:
        """Name the record that says where the bytes of a medium are."""
        return self.stored.bytes_of(UPLOAD + name) or self.stored.bytes_of(name)

    def has_bytes(self, name: bytes) -> bool:
        """Tell whether the bytes of a medium are in the thread's own keys."""
        return self.bytes_of(name) in self.stored.blobs

    def renewed(self, made: Iterable[MediaRecord]) -> dict[bytes, dict[str, Any] | None]:
        """Say what is to be written for records of which the last upload is new."""
        table, fresh = self.table, {}
        for record in made:
            known = table.by_digest(record.sha256 or "") or record
            table.put(known.with_upload(record.uploads[-1]))
            fresh[self.name_of(record)] = record.sha256 or ""
        told = {name: table.by_digest(digest) for name, digest in fresh.items()}
        return self.written({name: record for name, record in told.items() if record is not None})

    def written(self, media: Mapping[bytes, MediaRecord]) -> dict[bytes, dict[str, Any] | None]:
        """Say what is to be written where some media have their uploads from now on, and other records do not.

        Args:
            media: By name, each with all of its uploads.

        Returns:
            What takes the place of records; None: nothing does.
        """
        moved = {upload.uri for record in media.values() for upload in record.uploads}
        written: dict[bytes, dict[str, Any] | None] = {
            UPLOAD + name: self._of_uploads(UPLOAD + name, record).to_wire() for name, record in media.items()
        }
        for name, record in self.records.items():
            left = tuple(upload for upload in record.uploads if upload.uri not in moved)
            if name not in written and left != record.uploads:
                has_more = left or not name.startswith(UPLOAD) or record.store is not None
                written[name] = replace(record, uploads=left).to_wire() if has_more else None
        return written

    def _of_uploads(self, name: bytes, record: MediaRecord) -> MediaRecord:
        """Return the record of a medium's uploads; where the bytes are, the medium's own says."""
        own = self.records.get(name, MediaRecord())
        return replace(record, store=own.store, ref=own.ref, recognised_as=own.recognised_as, extras=own.extras)


def _is_same(known: MediaRecord, record: MediaRecord) -> bool:
    if None not in (known.sha256, record.sha256):
        return known.sha256 == record.sha256
    return any(known.upload(upload.uri) is not None for upload in record.uploads)


def media_of(stored: StoredMedia, where: str) -> ThreadMedia:
    """Read what is stored; `where` is for what cannot be read."""
    records: dict[bytes, MediaRecord] = {}
    corrupt = dict(stored.corrupt)
    for name, wire in stored.records.items():
        try:
            records[name] = MediaRecord.from_wire(wire, where=where)
        except CorruptRecordError as error:
            corrupt[name] = error
    media: dict[bytes, MediaRecord] = {}
    for name, record in records.items():
        medium = name.removeprefix(UPLOAD)
        pair = (record, media.get(medium)) if name.startswith(UPLOAD) else (media.get(medium), record)
        media[medium] = reduce(MediaRecord.joined, (each for each in pair if each is not None))
    return ThreadMedia(stored, records, corrupt, media)


@dataclass(frozen=True, slots=True)
class Noting:
    """An attempt to remember an upload."""

    media: ThreadMedia
    plan: UploadPlan
    name: bytes
    """Of the medium."""

    @property
    def _stripped(self) -> bool:
        return self.plan.report is not None and self.plan.report.reason == "stripped"

    @property
    def wants_bytes(self) -> bool:
        """Tell whether bytes are to be kept. No call is made for those in a store, which may be gone."""
        is_kept = self.plan.record.store is not None
        return not self._stripped and (self.plan.keep_bytes or is_kept) and not self.media.has_bytes(self.name)

    def record(self, kept: KeptBytes | None) -> MediaRecord:
        """Return what is known of the medium then."""
        if kept is None:
            return self.plan.record
        return replace(self.plan.record, store=kept.about["store"], ref=kept.about.get("ref"))

    def note(self, core: Core, thread_id: str, kept: KeptBytes | None) -> Program[bool]:
        """Write it; False where the media table has changed since it was read."""
        record, stored = self.plan.record, self.media.stored
        # a record of the medium's name would keep bytes that this policy does not let be kept
        loose = self._stripped and UPLOAD + self.name not in self.media.records
        name = self.media.name_of_uri(record.uploads[-1].uri) if loose else self.name
        records = self.media.written({name: record})
        if kept is not None:
            known = records.get(self.name) or stored.records.get(self.name) or _about(record)
            records[self.name] = programs.record_kept(known, kept)
            # where earlier versions kept them there is nothing, or they would not be kept anew
            told = records[UPLOAD + self.name] or {}
            records[UPLOAD + self.name] = {field: told[field] for field in told if field not in ("store", "ref")}
        reports = [self.plan.report.to_wire()] if self.plan.report else []
        blobs = kept.blobs if kept is not None else {}
        return (yield from programs.amend_media(core, thread_id, stored, records=records, reports=reports, blobs=blobs))


def _about(record: MediaRecord) -> dict[str, Any]:
    return {} if record.mime_type is None else {"mime_type": record.mime_type}


def fetch_medium(core: Core, thread_id: str, media: ThreadMedia, record: MediaRecord) -> Program[bytes | MediaError]:
    """Read the bytes of a medium, or learn why they cannot be had now."""
    name = media.name_of(record)
    return (yield from programs.fetch_blob(core, thread_id, media.bytes_of(name) or name))


def contended(thread_id: str) -> ConflictError:
    """Make the error for a note that others were always faster than."""
    return ConflictError(
        f"the media table of thread {thread_id!r} was changed {MAX_NOTES} times while uploads were noted. They were "
        "not noted; try again."
    )
