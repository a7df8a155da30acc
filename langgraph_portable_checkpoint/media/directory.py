"""Blobs as files of one folder, named `<sha256>.<ext>`.

Owns file names and atomic writing. A blob appears whole or not at all, whoever is killed when: it is written to a
temporary file of the same folder, flushed to disk, and renamed. Several processes may share the folder.

Names in the folder: `<sha256>.<ext>` is a blob; `<sha256>.<ext>.condemned` one that a sweep has set aside;
`.<anything>.tmp` a write that was not finished.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from stat import S_ISREG
from typing import Final

from langgraph_portable_checkpoint.errors import MediaMissingError, MediaRefError, MediaStoreError
from langgraph_portable_checkpoint.media.stores import StoredBlob, checked_bytes, checked_digest, checked_size

_EXTENSIONS: Final = {
    "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/svg+xml": "svg",
    "image/heic": "heic", "image/avif": "avif", "image/tiff": "tiff", "image/bmp": "bmp", "audio/wav": "wav",
    "audio/mpeg": "mp3", "audio/ogg": "ogg", "audio/flac": "flac", "audio/aac": "aac", "audio/mp4": "m4a",
    "audio/aiff": "aiff", "video/mp4": "mp4", "video/webm": "webm", "video/quicktime": "mov", "video/mpeg": "mpeg",
    "application/pdf": "pdf", "application/zip": "zip", "application/gzip": "gz", "application/json": "json",
    "text/plain": "txt", "text/csv": "csv", "text/html": "html", "text/markdown": "md",
}  # fmt: skip
_OTHER: Final = "bin"
_NAMES: Final = frozenset({*_EXTENSIONS.values(), _OTHER})
_REF: Final = re.compile(r"([0-9a-f]{64})\.([a-z0-9]{1,5})")
_CONDEMNED: Final = ".condemned"
_FILES_ONLY: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Follow no link, and do not wait for the other end of a pipe that someone has put in the folder."""


class DirectoryMediaStore:
    """Keep blobs as files of a folder, which is made when it is missing.

    Args:
        path: The folder; a relative one is where it is now, wherever the process goes later. Threads, savers and
            processes may share it; it can be moved with what names its blobs.
        name: What the media table calls this store.
        file_mode: Permissions of new files.
        max_bytes: Larger files are not loaded, so larger blobs are refused. Keep a policy's `max_bytes` below it.

    Every read is checked against the digest in the file's name. Links are not followed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        name: str = "directory",
        file_mode: int = 0o600,
        max_bytes: int = 2**30,
    ) -> None:
        self.path = Path(path).absolute()
        self.name = name
        self.file_mode = file_mode
        self.max_bytes = max_bytes

    def __repr__(self) -> str:
        return f"DirectoryMediaStore({str(self.path)!r})"

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        """Write a blob, once, and return its file name. What stands there is believed only if it has these bytes.

        Raises:
            MediaDigestError: the bytes do not have this digest.
            MediaTooLargeError: the store would not read as many bytes back.
            MediaStoreError: the folder cannot be written; nothing was left there.
        """
        checked_bytes(data, checked_digest(sha256), what="a blob to put")
        checked_size(data, self.max_bytes, store=self)
        with self._failing("written"):
            self.path.mkdir(parents=True, exist_ok=True)
            ref = self._present(sha256) or f"{sha256}.{_EXTENSIONS.get(mime_type or '', _OTHER)}"
            if not (self._kept(ref, data) or self._taken_back(ref, data)):
                self._write(ref, data)
        return ref

    def get(self, ref: str) -> bytes:
        """Read a blob.

        Raises:
            MediaRefError: this is no name that `put` returns.
            MediaMissingError: there is no such blob.
            MediaDigestError: the file holds other bytes than its name says.
            MediaStoreError: it cannot be read.
        """
        sha256 = self._checked(ref)
        with self._failing("read", ref):
            data = self._read(ref)
        return checked_bytes(data, sha256, what=f"media file {ref}")

    def exists(self, ref: str) -> bool:
        """Return whether the file is there."""
        self._checked(ref)
        with self._failing("read", ref):
            return (self.path / ref).is_file() or (self.path / (ref + _CONDEMNED)).is_file()

    def delete(self, ref: str) -> None:
        """Delete the file, also when it is condemned."""
        self._checked(ref)
        with self._failing("deleted", ref):
            (self.path / ref).unlink(missing_ok=True)
            (self.path / (ref + _CONDEMNED)).unlink(missing_ok=True)

    def list(self) -> Iterator[StoredBlob]:
        """List the blobs of the folder; other files are not looked at."""
        with self._failing("listed"), contextlib.suppress(FileNotFoundError), os.scandir(self.path) as entries:
            for entry in entries:
                condemned = entry.name.endswith(_CONDEMNED)
                ref = entry.name.removesuffix(_CONDEMNED)
                if _REF.fullmatch(ref):
                    yield from _described(entry, ref, condemned)

    def stream(self, ref: str, *, chunk_bytes: int = 2**20) -> Iterator[bytes]:
        """Yield the file in pieces, unchecked."""
        self._checked(ref)
        with self._failing("read", ref), self._open(*_wherever(ref)) as file:
            while piece := os.read(file, chunk_bytes):
                yield piece

    def condemn(self, ref: str, *, unless_put_since: datetime) -> bool:
        """Rename the file aside, unless a put has touched it since; readers go on finding it."""
        self._checked(ref)
        living, aside = self.path / ref, self.path / (ref + _CONDEMNED)
        with self._failing("condemned", ref):
            with contextlib.suppress(FileNotFoundError):  # a put has brought it back, or another sweep was faster
                if living.stat().st_mtime >= unless_put_since.timestamp():
                    return False
                living.rename(aside)
                if aside.stat().st_mtime < unless_put_since.timestamp():
                    os.utime(aside)
                    return True
                self.restore(ref)  # a put touched it in between
            return False

    def restore(self, ref: str) -> None:
        """Rename a condemned file back, if it has its bytes; else the living file stays, and takes its place."""
        sha256, aside = self._checked(ref), ref + _CONDEMNED
        with self._failing("restored", ref), contextlib.suppress(FileNotFoundError):
            if not self._sound(aside, sha256):
                if not self._sound(ref, sha256):
                    return
                self._write(aside, self._read(ref))  # never a moment in which one of two sweeps has the only one
            os.utime(self.path / aside)
            (self.path / aside).replace(self.path / ref)

    def purge(self, ref: str) -> None:
        """Delete a condemned file."""
        self._checked(ref)
        with self._failing("deleted", ref):
            (self.path / (ref + _CONDEMNED)).unlink(missing_ok=True)

    def purge_unfinished(self, *, before: datetime) -> int:
        """Delete temporary files that a killed writer left, older than `before`; return how many."""
        count = 0
        with self._failing("deleted"):
            for file in self.path.glob(".*.tmp"):
                with contextlib.suppress(FileNotFoundError):  # another writer or sweep was faster
                    if file.lstat().st_mtime < before.timestamp():
                        file.unlink()
                        count += 1
        return count

    def _checked(self, ref: object) -> str:
        match = _REF.fullmatch(ref) if isinstance(ref, str) else None
        if match is None or match[2] not in _NAMES:
            raise MediaRefError(f"{ref!r:.80} is not the name of a media file (<sha256>.<ext>). It was not used.")
        return match[1]

    def _present(self, sha256: str) -> str | None:
        """Find the blob under any extension: another writer may have called it another type."""
        refs = (f"{sha256}.{extension}" for extension in _NAMES)
        there = (ref for ref in refs for end in ("", _CONDEMNED) if os.path.lexists(self.path / (ref + end)))
        return next(there, None)

    def _kept(self, ref: str, data: bytes) -> bool:
        """Touch the blob, so that sweeps know it is wanted; False if it has other bytes, or a sweep has just come."""
        if not self._holds(ref, data):
            return False
        try:
            os.utime(self.path / ref)
        except FileNotFoundError:
            return False
        return os.path.lexists(self.path / ref)  # a sweep may have renamed it between its name and its time

    def _taken_back(self, ref: str, data: bytes) -> bool:
        """Rename the blob back that a sweep has set aside; False if it has other bytes, or was purged just now."""
        aside = self.path / (ref + _CONDEMNED)
        if not self._holds(aside.name, data):
            return False
        try:
            os.utime(aside)
            aside.replace(self.path / ref)
        except FileNotFoundError:
            return False
        return os.path.lexists(self.path / ref)

    def _holds(self, name: str, data: bytes) -> bool:
        """Believe only the bytes: a damaged or exchanged file is written anew."""
        try:
            with self._open(name) as file:
                return self._bytes_of(file, name) == data
        except OSError:
            return False

    def _sound(self, name: str, sha256: str) -> bool:
        """Tell whether a file, which may be larger than this store loads, has the bytes of a digest."""
        try:
            with self._open(name) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
                return S_ISREG(os.fstat(descriptor).st_mode) and file_digest(file, "sha256").hexdigest() == sha256
        except OSError:
            return False

    def _write(self, name: str, data: bytes) -> None:
        temporary = self.path / f".{secrets.token_hex(8)}.tmp"
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILES_ONLY, self.file_mode)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path / name)
        finally:
            temporary.unlink(missing_ok=True)
        self._sync_folder()

    def _sync_folder(self) -> None:
        """Make the rename itself durable, where the system lets folders be opened."""
        if os.name == "posix":
            descriptor = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _read(self, ref: str) -> bytes:
        with self._open(*_wherever(ref)) as file:
            return self._bytes_of(file, ref)

    def _bytes_of(self, file: int, name: str) -> bytes:
        stat = os.fstat(file)
        if not S_ISREG(stat.st_mode) or stat.st_size > self.max_bytes:
            raise OSError(f"{name} is no regular file of at most {self.max_bytes} bytes")
        pieces = list(iter(lambda: os.read(file, stat.st_size + 1), b""))
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @contextlib.contextmanager
    def _open(self, *names: str) -> Iterator[int]:
        """Open the first of these files that is there."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                descriptor = os.open(self.path / name, os.O_RDONLY | _FILES_ONLY)
                break
        else:
            raise FileNotFoundError(names[0])
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def _failing(self, what: str, ref: str = "") -> Iterator[None]:
        subject = f"media file {ref}" if ref else "a media file"
        try:
            yield
        except MediaStoreError:
            raise
        except OSError as failed:
            if what == "read" and isinstance(failed, FileNotFoundError):
                raise MediaMissingError(f"{subject} is not in {self.path}. Restore it from a backup.") from failed
            raise MediaStoreError(
                f"{subject} cannot be {what} in {self.path}: {failed.strerror or failed}. "
                "Check free space and permissions of the folder, then try again."
            ) from failed


def _wherever(ref: str) -> tuple[str, ...]:
    """Name the files that may be a blob, condemned or not; twice, for a sweep may rename it in between."""
    return ref, ref + _CONDEMNED, ref


def _described(entry: os.DirEntry[str], ref: str, condemned: bool) -> Iterator[StoredBlob]:
    with contextlib.suppress(FileNotFoundError):  # deleted while we list
        stat = entry.stat(follow_symlinks=False)
        yield StoredBlob(ref, stat.st_size, datetime.fromtimestamp(stat.st_mtime, UTC), condemned)
