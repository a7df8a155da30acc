"""What an archive says of a thread's media beside the messages: uploads to providers, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

from .envelope.archive import ArchivedMedia, ThreadArchive
from .errors import CorruptRecordError, InvalidUploadError
from .media.table import MediaReport, Upload
from .media.upload_checks import checked_text, checked_upload
from .storage.items import pack
from .storage.programs.whole_thread import WholeConversation

ABOUT: Final = ("mime_type", "size_bytes")
_FIX: Final = "Nothing was imported."
_REPORTED: Final = ("reason", "mime_type", "size_bytes", "message", "turn", "sha256", "uri", "detail")


class KeptUpload(NamedTuple):
    """An upload of an archive, with the bytes where the archive has them."""

    upload: Upload
    data: bytes | None
    mime_type: str | None


def uploads_taken(found: WholeConversation, media: dict[str, ArchivedMedia]) -> Iterator[Mapping[str, Any]]:
    """List the uploads of a thread, and put their bytes among the media of its archive."""
    for _, record, data in found.uploads:
        about = {name: record[name] for name in ABOUT if name in record}
        if data is not None:
            digest = sha256(data).hexdigest()
            media.setdefault(digest, ArchivedMedia(digest, record.get("mime_type"), len(data), data))
            about["sha256"] = digest
        yield {**about, "uploads": record["uploads"]}


def kept_uploads(archive: ThreadArchive) -> list[KeptUpload]:
    """Read the uploads of an archive.

    Raises:
        CorruptRecordError: they are not what they should be.
    """
    where = f"the archive of thread {archive.thread_id!r}"
    data = {blob.sha256: blob.data for blob in archive.media}
    found = []
    for record in archive.uploads:
        mime_type, uploads = record.get("mime_type"), record.get("uploads")
        if not isinstance(uploads, list) or not isinstance(mime_type, str | None):
            raise CorruptRecordError("uploads", where=where, reason="they are no list", fix=_FIX)
        digest = record.get("sha256")
        known = data.get(digest) if isinstance(digest, str) else None
        found += [KeptUpload(_upload(upload, mime_type, where), known, mime_type) for upload in uploads]
    return found


def _upload(wire: object, mime_type: str | None, where: str) -> Upload:
    try:
        checked_text("mime_type", mime_type)
        upload = checked_upload(Upload.from_wire(wire, where=where))
    except InvalidUploadError as error:
        raise CorruptRecordError("uploads", where=where, reason=str(error), fix=_FIX) from error
    _check_storable(upload.to_wire(), where)
    return upload


def _check_storable(wire: Mapping[str, Any], where: str) -> None:
    """Refuse what no server can keep, before anything is stored."""
    try:
        pack(wire)
    except (ValueError, TypeError, OverflowError) as error:
        raise CorruptRecordError("media table", where=where, reason=f"{error!r:.80}", fix=_FIX) from error


def lost_entries(found: WholeConversation, *, sealed: bool) -> list[dict[str, Any]]:
    """List media that could not be read: for each message that lacks it, and for each upload.

    Args:
        sealed: Whether the thread's digests are of encrypted bytes, which tell a reader of the archive nothing.
    """
    ids = {entry[0]: (entry[1], turn.record["turn"]) for turn in found.turns for entry in turn.entries}
    entries = []
    for ref, names in found.lost_in.items():
        message, turn = ids[ref]
        place = {"ref": ref.hex(), "turn": turn, **({} if message is None else {"message": message})}
        entries += [{**_loss(found, name, sealed=sealed), **place} for name in names]
    for name, record, _ in found.uploads:
        if name in found.lost:
            entries += [{**_loss(found, name, sealed=sealed), "uri": one.get("uri")} for one in record["uploads"]]
    return entries


def _loss(found: WholeConversation, name: bytes, *, sealed: bool) -> dict[str, Any]:
    one = found.lost[name]
    known = ABOUT if sealed else (*ABOUT, "sha256")
    return {
        "reason": one.reason,
        **{field: one.record[field] for field in known if field in one.record},
        "detail": one.cause,
    }


def reports_of(archive: ThreadArchive) -> Sequence[Mapping[str, Any]]:
    """Spell what an archive lacks as entries of a thread's media report.

    Raises:
        CorruptRecordError: what it says of that is not what it should be.
    """
    where = f"the archive of thread {archive.thread_id!r}"
    told = [{name: entry[name] for name in _REPORTED if name in entry} for entry in archive.lost]
    reports = [MediaReport.from_wire(entry, where=where).to_wire() for entry in (*told, *_named_only(archive))]
    for report in reports:
        _check_storable(report, where)
    return reports


def _named_only(archive: ThreadArchive) -> Iterator[Mapping[str, Any]]:
    """List blocks whose bytes an archive names and leaves to a store."""
    named = {blob.sha256: blob for blob in archive.media if blob.data is None}
    for turn in archive.turns if named else ():
        for ref, message, *_ in turn.entries:
            for blob in _named_in(archive.messages[ref]["content"], named):
                place = {"message": message, "turn": turn.record["turn"]}
                told = {"mime_type": blob.mime_type, "size_bytes": blob.size_bytes, "sha256": blob.sha256, **place}
                yield {"reason": "missing_blob", **told, "detail": f"the archive leaves it to a store, {blob.store!r}"}


def _named_in(blocks: Sequence[Any], named: Mapping[Any, ArchivedMedia]) -> Iterator[ArchivedMedia]:
    for block in blocks:
        about = block.get("media") if block.get("base64") == "" else None
        digest = about.get("sha256") if isinstance(about, dict) else None
        if isinstance(digest, str) and digest in named:
            yield named[digest]
