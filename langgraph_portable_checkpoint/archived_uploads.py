"""What an archive says of a thread's uploads to providers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from re import fullmatch
from typing import Any, Final, NamedTuple

from .envelope.archive import ArchivedMedia, ThreadArchive
from .errors import CorruptRecordError, InvalidUploadError
from .media.table import Upload
from .media.upload_checks import checked_text, checked_upload
from .storage.items import pack
from .storage.programs.media_table import StoredMedia
from .storage.programs.whole_thread import WholeConversation
from .upload_notes import told_uploads

ABOUT: Final = ("mime_type", "size_bytes")
NOTHING_IMPORTED: Final = "Nothing was imported."


class KeptUpload(NamedTuple):
    """An upload of an archive, with the bytes where the archive has them."""

    upload: Upload
    data: bytes | None
    mime_type: str | None
    sha256: str | None = None


def uploads_told(stored: StoredMedia, where: str) -> list[tuple[bytes | None, Mapping[str, Any]]]:
    """List the media of a thread with uploads, each URI once, by the name of their bytes.

    Raises:
        CorruptRecordError: what is told of uploads is not what it should be.
    """
    return [(one.name, one.record.to_wire()) for one in told_uploads(stored, where)]


def uploads_taken(found: WholeConversation, media: dict[str, ArchivedMedia]) -> Iterator[Mapping[str, Any]]:
    """List the uploads of a thread, and put their bytes among the media of its archive."""
    for _, record, data in found.uploads:
        about = {name: record[name] for name in (*ABOUT, "sha256") if name in record}
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
            raise CorruptRecordError("uploads", where=where, reason="they are no list", fix=NOTHING_IMPORTED)
        digest = _digest(record.get("sha256"))
        known = data.get(digest) if digest is not None else None
        found += [KeptUpload(_upload(upload, mime_type, where), known, mime_type, digest) for upload in uploads]
    return found


def _digest(told: object) -> str | None:
    return told if isinstance(told, str) and fullmatch("[0-9a-f]{64}", told) else None


def _upload(wire: object, mime_type: str | None, where: str) -> Upload:
    try:
        checked_text("mime_type", mime_type)
        upload = checked_upload(Upload.from_wire(wire, where=where))
    except InvalidUploadError as error:
        raise CorruptRecordError("uploads", where=where, reason=str(error), fix=NOTHING_IMPORTED) from error
    check_storable(upload.to_wire(), where)
    return upload


def check_storable(wire: Mapping[str, Any], where: str) -> None:
    """Refuse what no server can keep, before anything is stored."""
    try:
        pack(wire)
    except (ValueError, TypeError, OverflowError) as error:
        raise CorruptRecordError("media table", where=where, reason=f"{error!r:.80}", fix=NOTHING_IMPORTED) from error
