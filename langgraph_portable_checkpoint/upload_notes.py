"""What a thread's media table says of uploads, and what is written to it for one more.

Owns the names of records: the bytes of a medium are told by the medium's own record, its uploads by one of their own
beside it, so that neither is written over with the other. Reads what earlier versions wrote as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .errors import ConflictError, CorruptRecordError, MediaError
from .media.table import MediaRecord, MediaReport, MediaTable, Upload
from .media.uploads import UploadPlan, strips
from .storage.items import DIGEST_BYTES, media_ref
from .storage.programs import media_table as programs
from .storage.programs.media_table import UPLOAD, Amended, KeptBytes, StoredMedia

if TYPE_CHECKING:
    from .media.policy import MediaPolicy
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
    mediums: Mapping[bytes, bytes] = field(default_factory=dict)
    """Name of a record -> that of its medium in `media`."""

    @property
    def table(self) -> MediaTable:
        return MediaTable(self.media.values())

    @property
    def _key(self) -> bytes:
        return self.stored.view.secrets.key if self.stored.view is not None else b""

    def ref_of(self, digest: bytes) -> bytes:
        """Name a medium by the SHA-256 of its bytes."""
        return media_ref(digest, self._key)

    def protects(self, name: bytes) -> bool:
        """Tell whether uploads keep the bytes of a medium, whether or not a message names it."""
        own = self.records.get(name)
        return UPLOAD + name in self.records or (own is not None and bool(own.uploads))

    def is_untrue(self, report: MediaReport) -> bool:
        """Tell whether a report says that bytes of an upload were not kept, and they have been since."""
        if report.uri is None or report.reason not in ("stripped", "over_inline_threshold"):
            return False
        names = (name for name, known in self.media.items() if known.upload(report.uri) is not None)
        return any(self.protects(name) and self.bytes_of(name) is not None for name in names)

    def home_of(self, name: bytes, record: MediaRecord, *, stripped: bool) -> bytes:
        """Name the record that is to have a medium's uploads, of which the last is new.

        A record of the medium's name would keep bytes that a policy does not let be kept for uploads.
        """
        return self.name_of_uri(record.uploads[-1].uri) if stripped and not self.protects(name) else name

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

    def uploaded(self) -> Iterator[Uploaded]:
        """List media with uploads, each URI with the medium whose it is."""
        names: dict[str, bytes] = {}
        for name, record in self.media.items():
            for key in (record.sha256,) if record.sha256 is not None else [upload.uri for upload in record.uploads]:
                if key not in names or self.bytes_of(names[key]) is None:
                    names[key] = name
        for record in self.table:
            if record.uploads:
                name = names[record.sha256 or record.uploads[-1].uri]
                yield Uploaded(self.bytes_of(name), replace(record, sha256=self._plain_digest(name, record)))

    def _plain_digest(self, name: bytes, record: MediaRecord) -> str | None:
        """Return the SHA-256 of the bytes as they are read: a sealed thread may have only that of what is stored."""
        digest = _digest_of(record)
        if digest is None or not self._key:
            return record.sha256 if digest is not None else None
        named = {self.ref_of(digest), *(self.name_of_uri(upload.uri) for upload in record.uploads)}
        return record.sha256 if name in named else None

    def settled(self) -> dict[bytes, dict[str, Any] | None]:
        """Say what is to be written so that no URI is in records of several media."""
        owners = {upload.uri: record.sha256 for record in self.table for upload in record.uploads}
        written: dict[bytes, dict[str, Any] | None] = {}
        for name, record in self.records.items():
            digest = self.media[self.mediums[name]].sha256
            own = [one for one in record.uploads if owners[one.uri] == digest]
            if len(own) != len(record.uploads):
                written[name] = self._left(name, record, own)
        return written

    def renewed(self, made: Iterable[MediaRecord], policy: MediaPolicy) -> dict[bytes, dict[str, Any] | None]:
        """Say what is to be written for records of which the last upload is new."""
        table, fresh = self.table, {}
        for record in made:
            known = table.by_digest(record.sha256 or "") or record
            table.put(known.with_upload(record.uploads[-1]))
            fresh[self.name_of(record)] = record.sha256 or ""
        told = {name: table.by_digest(digest) for name, digest in fresh.items()}
        return self.written(
            {
                self.home_of(name, record, stripped=strips(policy, record.size_bytes, record.mime_type)): record
                for name, record in told.items()
                if record is not None
            }
        )

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
            if name in written and left:  # another medium's, which had the name of a URI that is this one's now
                written[self._free_name(left, written)] = self._left(name, record, left)
            elif name not in written and left != record.uploads:
                written[name] = self._left(name, record, left)
        return written

    def _free_name(self, uploads: Sequence[Upload], written: Mapping[bytes, object]) -> bytes:
        """Name a record of uploads by one of them, where no other record has that name."""
        names = [UPLOAD + self.name_of_uri(upload.uri) for upload in reversed(uploads)]
        free = (name for name in names if name not in written and name not in self.records)
        return next(free, None) or UPLOAD + self.name_of_uri("\0".join(upload.uri for upload in uploads))

    def _left(self, name: bytes, record: MediaRecord, uploads: Iterable[Upload]) -> dict[str, Any] | None:
        """Say what is left of a record with some of its uploads."""
        left = replace(record, uploads=tuple(uploads))
        return left.to_wire() if left.uploads or not name.startswith(UPLOAD) else None

    def _of_uploads(self, name: bytes, record: MediaRecord) -> MediaRecord:
        """Return the record of a medium's uploads; where the bytes are, the medium's own says."""
        own = self.records.get(name, MediaRecord())
        if name.removeprefix(UPLOAD) in self.stored.blobs:  # earlier versions kept the bytes a second time
            own = replace(own, store=None, ref=None)
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
    mediums = {name: _medium_of(name, record, stored) for name, record in records.items()}
    for name, record in records.items():
        medium = mediums[name]
        pair = (record, media.get(medium)) if name.startswith(UPLOAD) else (media.get(medium), record)
        media[medium] = reduce(MediaRecord.joined, (each for each in pair if each is not None))
    return ThreadMedia(stored, records, corrupt, media, mediums)


def _medium_of(name: bytes, record: MediaRecord, stored: StoredMedia) -> bytes:
    """Name the medium that a record tells of: that of uploads whose bytes no policy let be kept has another name."""
    medium, digest = name.removeprefix(UPLOAD), _digest_of(record)
    if medium == name or medium in stored.records or digest is None:
        return medium
    ref = media_ref(digest, stored.view.secrets.key if stored.view is not None else b"")
    return ref if ref in stored.records or UPLOAD + ref in stored.records else medium


def _digest_of(record: MediaRecord) -> bytes | None:
    try:
        return bytes.fromhex(record.sha256 or "") or None
    except ValueError:
        return None


def told_uploads(stored: StoredMedia, where: str) -> list[Uploaded]:
    """List media with uploads of a thread of which something else is to be made.

    Raises:
        CorruptRecordError: what is told of uploads is not what it should be.
    """
    media = media_of(stored, where)
    for name, error in media.corrupt.items():
        if name not in stored.corrupt and (name.startswith(UPLOAD) or "uploads" in stored.records[name]):
            raise error
    return [*media.uploaded()]


class Uploaded(NamedTuple):
    """A medium with uploads."""

    name: bytes | None
    """Of the record that says where its bytes are; None where nobody keeps them."""
    record: MediaRecord
    """With the digest of the bytes as they are read, if that is known."""


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
    def keeps_bytes(self) -> bool:
        """Tell whether bytes are to be kept, or have been. No call is made for those in a store, which may be gone."""
        is_kept = self.plan.record.store is not None
        return not self._stripped and (self.plan.keep_bytes or is_kept)

    def has_sound_bytes(self, core: Core, thread_id: str) -> Program[bool]:
        """Tell whether the bytes are in the thread's own keys, undamaged. No call where they are not, else two."""
        name = self.media.bytes_of(self.name)
        if name is None or not self.media.has_bytes(self.name):
            return False
        return isinstance((yield from programs.fetch_blob(core, thread_id, name)), bytes)

    def record(self, kept: KeptBytes | None) -> MediaRecord:
        """Return what is known of the medium then."""
        if kept is None:
            return self.plan.record
        return replace(self.plan.record, store=kept.about["store"], ref=kept.about.get("ref"))

    def note(self, core: Core, thread_id: str, kept: KeptBytes | None) -> Program[Amended]:
        """Write it, unless the media table has changed since it was read."""
        record, stored = self.plan.record, self.media.stored
        records = self.media.written({self.media.home_of(self.name, record, stripped=self._stripped): record})
        if kept is not None:
            known = records.get(self.name) or stored.records.get(self.name) or _about(record)
            records[self.name] = programs.record_kept(known, kept)
            # where earlier versions kept them there is nothing, or they would not be kept anew
            told = records[UPLOAD + self.name] or {}
            records[UPLOAD + self.name] = {field: told[field] for field in told if field not in ("store", "ref")}
        reports = [self.plan.report.to_wire()] if self.plan.report else []
        blobs = kept.blobs if kept is not None else {}
        change = programs.amend_media(core, thread_id, stored, records=records, reports=reports, blobs=blobs)
        return (yield from change)


def settle_uploads(core: Core, thread_id: str) -> Program[None]:
    """Leave each URI to one medium, where several were given it at once. One round trip where that is so already."""
    for _ in range(MAX_NOTES):
        stored = yield from programs.read_media(core, thread_id)
        records = media_of(stored, f"thread {thread_id!r}").settled() if stored is not None else {}
        if stored is None or not records:
            return
        if (yield from programs.amend_media(core, thread_id, stored, records=records)).done:
            return


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
