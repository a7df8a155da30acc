"""Blobs as objects of a bucket: S3, Google Cloud Storage, Azure, or any server that speaks S3.

Owns object keys. Needs the extra `s3` (obstore). A key is the prefix and the digest, nothing else; the mime type is
the object's content type. An object store writes whole objects or none.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import md5
from typing import TYPE_CHECKING, Any, Final

from langgraph_portable_checkpoint.envelope.media_types import OCTET_STREAM
from langgraph_portable_checkpoint.errors import MediaDigestError, MediaMissingError, MediaRefError, MediaStoreError
from langgraph_portable_checkpoint.media.stores import StoredBlob, checked_bytes, checked_digest, checked_size

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_CONDEMNED: Final = "condemned/"
_STEADY: Final = timedelta(hours=1)
_PART_BYTES: Final = 5 * 2**20
_PERFORMING: Final = "Error performing "
_SECRETS: Final = re.compile(r"(?<=//)[^/\s\"]*@|\?[^\s\"]*")


class ObjectMediaStore:
    """Keep blobs in an object store, blocking and async.

    Args:
        store: An obstore store (`obstore.store.S3Store(...)` and the like), with the retries and time limits that
            suit the caller. The refs do not name it: a bucket may be copied to another provider.
        prefix: Of every key; blobs of several applications may share a bucket under different ones.
        name: What the media table calls this store.
        max_bytes: Larger objects are not loaded, so larger blobs are refused. Keep a policy's `max_bytes` below it.

    Do not let a lifecycle rule of the bucket delete by age under this prefix: a blob must live as long as every thread
    that names it. Sweep with `collect_garbage` instead.
    """

    def __init__(
        self, store: ObjectStore, *, prefix: str = "media/", name: str = "object", max_bytes: int = 2**30
    ) -> None:
        import obstore

        self._objects: Any = obstore
        self.store = store
        self.prefix = prefix
        self.name = name
        self.max_bytes = max_bytes

    @classmethod
    def from_url(
        cls, url: str, *, prefix: str = "media/", name: str = "object", max_bytes: int = 2**30, **options: Any
    ) -> ObjectMediaStore:
        """Open s3://, gs://, az:// and other URLs with obstore's own parser; `options` go to it.

        Raises:
            ValueError: the URL or an option is none that obstore takes, or the URL is that of a folder.
        """
        from obstore import store

        with _opening(url):
            opened = store.from_url(url, **options)
        if isinstance(opened, store.LocalStore):
            raise ValueError(f"{_shown(url)} is a folder: use DirectoryMediaStore, which survives crashes")
        return cls(opened, prefix=prefix, name=name, max_bytes=max_bytes)

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        """Store a blob, and return its digest as the ref.

        A blob that was put within the hour is not sent again if the store's entity tag shows these very bytes (as
        S3 has it, but not Azure); an older one is, so that no sweep takes it for unused.

        Raises:
            MediaDigestError: the bytes do not have this digest.
            MediaTooLargeError: the store would not read as many bytes back.
            MediaStoreError: the store failed, or the bucket is not there.
        """
        self._check(sha256, data)
        with self._failing("put", sha256):
            if not _steady(self._head(sha256), data):
                self._put(sha256, data, _attributes(mime_type))
        return sha256

    async def aput(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        """Store a blob without blocking; see `put`."""
        self._check(sha256, data)
        with self._failing("put", sha256):
            head = None
            with contextlib.suppress(FileNotFoundError):
                head = await self._objects.head_async(self.store, self._key(sha256))
            if not _steady(head, data):
                key, attributes = self._key(sha256), _attributes(mime_type)
                await self._objects.put_async(self.store, key, data, attributes=attributes, chunk_size=_PART_BYTES)
        return sha256

    def get(self, ref: str) -> bytes:
        """Load a blob.

        Raises:
            MediaRefError: this is no ref that `put` returns.
            MediaMissingError: there is no such object.
            MediaDigestError: the object holds other bytes.
            MediaStoreError: the store failed.
        """
        with self._failing("get", _checked(ref)):
            try:
                found = self._objects.get(self.store, self._key(ref))
            except FileNotFoundError:
                found = self._objects.get(self.store, self._aside(ref))
            data = bytes(self._bounded(found).bytes())
        return checked_bytes(data, ref, what=f"media object {ref}")

    async def aget(self, ref: str) -> bytes:
        """Load a blob without blocking; see `get`."""
        with self._failing("get", _checked(ref)):
            try:
                found = await self._objects.get_async(self.store, self._key(ref))
            except FileNotFoundError:
                found = await self._objects.get_async(self.store, self._aside(ref))
            data = bytes(await self._bounded(found).bytes_async())
        return checked_bytes(data, ref, what=f"media object {ref}")

    def exists(self, ref: str) -> bool:
        """Ask for the object's size only."""
        with self._failing("head", _checked(ref)):
            return self._head(ref) is not None or self._head(_CONDEMNED + ref) is not None

    def delete(self, ref: str) -> None:
        """Delete the object, also when it is condemned."""
        with self._failing("delete", _checked(ref)):
            for key in (self._key(ref), self._aside(ref)):
                self._delete(key)

    def list(self) -> Iterator[StoredBlob]:
        """List the blobs under the prefix, page by page; other objects are left out."""
        with self._failing("list", "*"):
            for page in self._objects.list(self.store, prefix=self.prefix or None):
                for meta in page:
                    name = str(meta["path"]).removeprefix(self.prefix)
                    ref = name.removeprefix(_CONDEMNED)
                    with contextlib.suppress(MediaRefError):
                        yield StoredBlob(_checked(ref), meta["size"], meta["last_modified"], name != ref)

    def presigned_url(self, ref: str, *, expires_seconds: int = 3600) -> str:
        """Return a link for reading the blob without credentials."""
        with self._failing("sign", _checked(ref)):
            return str(self._objects.sign(self.store, "GET", self._key(ref), timedelta(seconds=expires_seconds)))

    def stream(self, ref: str, *, chunk_bytes: int = 2**20) -> Iterator[bytes]:
        """Yield the object in pieces, unchecked."""
        with self._failing("get", _checked(ref)):
            for piece in self._objects.get(self.store, self._key(ref)).stream(min_chunk_size=chunk_bytes):
                yield bytes(piece)

    async def astream(self, ref: str, *, chunk_bytes: int = 2**20) -> AsyncIterator[bytes]:
        """Yield the object in pieces without blocking, unchecked."""
        with self._failing("get", _checked(ref)):
            found = await self._objects.get_async(self.store, self._key(ref))
            async for piece in found.stream(min_chunk_size=chunk_bytes):
                yield bytes(piece)

    def condemn(self, ref: str, *, unless_put_since: datetime) -> bool:
        """Copy the object aside on the server and delete the original, unless it was put since."""
        with self._failing("condemn", _checked(ref)):
            head = self._head(ref)
            if head is None or head["last_modified"] >= unless_put_since:
                return False
            self._objects.copy(self.store, self._key(ref), self._aside(ref))
            self._delete(self._key(ref))
            return True

    def restore(self, ref: str) -> None:
        """Store a condemned object anew, from wherever its bytes are right; where they are not, nothing is changed."""
        with self._failing("restore", _checked(ref)):
            if self._head(_CONDEMNED + ref) is None or (sound := self._sound(ref)) is None:
                return
            self._put(ref, *sound)
            self._delete(self._aside(ref))
            if self._head(ref) is None:  # a sweep beside this one had begun to condemn the object that stood there
                self._put(ref, *sound)

    def purge(self, ref: str) -> None:
        """Delete a condemned object."""
        with self._failing("delete", _checked(ref)):
            self._delete(self._aside(ref))

    def _key(self, ref: str) -> str:
        return self.prefix + ref

    def _aside(self, ref: str) -> str:
        return self.prefix + _CONDEMNED + ref

    def _check(self, sha256: str, data: bytes) -> None:
        checked_bytes(data, checked_digest(sha256), what="a blob to put")
        checked_size(data, self.max_bytes, store=self)

    def _put(self, ref: str, data: bytes, attributes: Any) -> None:
        self._objects.put(self.store, self._key(ref), data, attributes=attributes, chunk_size=_PART_BYTES)

    def _sound(self, ref: str) -> tuple[bytes, Any] | None:
        """Load the bytes and attributes of an object, condemned or living, that has the bytes of its digest."""
        for key in (self._aside(ref), self._key(ref)):
            with contextlib.suppress(FileNotFoundError, MediaDigestError, _TooLargeError):
                found = self._objects.get(self.store, key)
                data = checked_bytes(bytes(self._bounded(found).bytes()), ref, what=f"media object {ref}")
                return data, found.attributes
        return None

    def _bounded(self, found: Any) -> Any:
        """Look at the size before the bytes: the bucket may hold anything by now."""
        if found.meta["size"] > self.max_bytes:
            raise _TooLargeError(f"it has {found.meta['size']} bytes, more than {self.max_bytes}")
        return found

    def _head(self, name: str) -> Any:
        try:
            return self._objects.head(self.store, self.prefix + name)
        except FileNotFoundError:
            return None

    def _delete(self, key: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._objects.delete(self.store, key)

    @contextlib.contextmanager
    def _failing(self, what: str, ref: str) -> Iterator[None]:
        try:
            yield
        except (self._objects.exceptions.BaseError, OSError, ValueError) as failed:
            if isinstance(failed, MediaStoreError):
                raise
            if isinstance(failed, FileNotFoundError) and what == "get":
                raise MediaMissingError(f"media object {ref} is not under {self.prefix!r} of the bucket") from failed
            hint = "is the bucket there? " if isinstance(failed, FileNotFoundError) else ""
            raise MediaStoreError(
                f"{what} of media object {ref} failed: {hint}{_reason(failed):.300}. It is safe to try again."
            ) from failed


class _TooLargeError(ValueError):
    """An object is larger than this store loads."""


@contextlib.contextmanager
def _opening(url: str) -> Iterator[None]:
    """Say what is wrong with a URL or option, whatever obstore raises: its own errors, or panics of its Rust part."""
    from obstore.exceptions import BaseError

    try:
        yield
    except BaseException as failed:
        refused = isinstance(failed, (BaseError, ValueError, TypeError, OverflowError))
        if not refused and type(failed).__name__ != "PanicException":
            raise
        hint = "" if refused else " (an option of the HTTP client, such as timeout, belongs into client_options={...})"
        raise ValueError(
            f"{_shown(url)} cannot be opened as an object store with these options: {_reason(failed):.200}{hint}"
        ) from failed


def _checked(ref: object) -> str:
    return checked_digest(ref)


def _reason(failed: BaseException) -> str:
    """Return the error's first line, without what every message says of the object before it."""
    line = str(failed).partition("\n")[0]
    return _shown(line[line.find(_PERFORMING) :] if _PERFORMING in line else line)


def _shown(url: object) -> str:
    """Leave out what may be secret in URLs: user, password, query."""
    return _SECRETS.sub("", f"{url!s:.400}")


def _steady(head: Any, data: bytes) -> bool:
    """Tell whether an object is young, and its entity tag shows these bytes."""
    if head is None or head["size"] != len(data) or head["last_modified"] <= datetime.now(UTC) - _STEADY:
        return False
    return str(head["e_tag"] or "").strip('"') == _entity_tag(data)


def _entity_tag(data: bytes) -> str:
    """Make the tag that S3 gives an object that we put: the MD5 of its bytes, or of the MD5s of its parts."""
    if len(data) <= _PART_BYTES:
        return _md5(data).hex()
    view = memoryview(data)
    parts = [_md5(view[at : at + _PART_BYTES]) for at in range(0, len(data), _PART_BYTES)]
    return f"{_md5(b''.join(parts)).hex()}-{len(parts)}"


def _md5(data: bytes | memoryview) -> bytes:
    return md5(data, usedforsecurity=False).digest()


def _attributes(mime_type: str | None) -> Any:
    return {"Content-Type": mime_type or OCTET_STREAM}
