"""Blobs as objects of a bucket: S3, Google Cloud Storage, Azure, or any server that speaks S3.

Owns object keys. Needs the extra `s3` (obstore). A key is the prefix and the digest, nothing else; the mime type is
the object's content type. An object store writes whole objects or none.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from langgraph_portable_checkpoint.errors import MediaMissingError, MediaRefError, MediaStoreError
from langgraph_portable_checkpoint.media.encodings import OCTET_STREAM
from langgraph_portable_checkpoint.media.stores import StoredBlob, checked_bytes, checked_digest

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_CONDEMNED: Final = "condemned/"
_STEADY: Final = timedelta(hours=1)


class ObjectMediaStore:
    """Keep blobs in an object store, blocking and async.

    Args:
        store: An obstore store (`obstore.store.S3Store(...)` and the like), with the retries and time limits that
            suit the caller. The refs do not name it: a bucket may be copied to another provider.
        prefix: Of every key; blobs of several applications may share a bucket under different ones.
        name: What the media table calls this store.
        max_bytes: Larger objects are not loaded: no policy lets them be written.

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
    def from_url(cls, url: str, *, prefix: str = "media/", name: str = "object", **options: Any) -> ObjectMediaStore:
        """Open s3://, gs://, az:// and other URLs with obstore's own parser; `options` go to it."""
        from obstore.store import from_url

        return cls(from_url(url, **options), prefix=prefix, name=name)

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        """Store a blob, and return its digest as the ref.

        A blob that was put within the hour is not sent again; an older one is, so that no sweep takes it for unused.

        Raises:
            MediaDigestError: the bytes do not have this digest.
            MediaStoreError: the store failed.
        """
        checked_bytes(data, checked_digest(sha256), what="a blob to put")
        with self._failing("put", sha256):
            if not self._steady(self._head(sha256), data):
                self._objects.put(self.store, self._key(sha256), data, attributes=_attributes(mime_type))
        return sha256

    async def aput(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        """Store a blob without blocking; see `put`."""
        checked_bytes(data, checked_digest(sha256), what="a blob to put")
        with self._failing("put", sha256):
            head = None
            with contextlib.suppress(FileNotFoundError):
                head = await self._objects.head_async(self.store, self._key(sha256))
            if not self._steady(head, data):
                key = self._key(sha256)
                await self._objects.put_async(self.store, key, data, attributes=_attributes(mime_type))
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
        """Copy a condemned object back."""
        with self._failing("restore", _checked(ref)), contextlib.suppress(FileNotFoundError):
            self._objects.copy(self.store, self._aside(ref), self._key(ref))
            self._delete(self._aside(ref))

    def purge(self, ref: str) -> None:
        """Delete a condemned object."""
        with self._failing("delete", _checked(ref)):
            self._delete(self._aside(ref))

    def _key(self, ref: str) -> str:
        return self.prefix + ref

    def _aside(self, ref: str) -> str:
        return self.prefix + _CONDEMNED + ref

    def _bounded(self, found: Any) -> Any:
        """Look at the size before the bytes: the bucket may hold anything by now."""
        if found.meta["size"] > self.max_bytes:
            raise ValueError(f"it has {found.meta['size']} bytes, more than {self.max_bytes}")
        return found

    def _head(self, name: str) -> Any:
        try:
            return self._objects.head(self.store, self.prefix + name)
        except FileNotFoundError:
            return None

    def _steady(self, head: Any, data: bytes) -> bool:
        return head is not None and head["size"] == len(data) and head["last_modified"] > datetime.now(UTC) - _STEADY

    def _delete(self, key: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._objects.delete(self.store, key)

    @contextlib.contextmanager
    def _failing(self, what: str, ref: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as missing:
            raise MediaMissingError(f"media object {ref} is not under {self.prefix!r} of the bucket") from missing
        except (self._objects.exceptions.BaseError, OSError, ValueError) as failed:
            if isinstance(failed, MediaStoreError):
                raise
            reason = str(failed).partition("\n")[0]
            raise MediaStoreError(
                f"{what} of media object {ref} failed: {reason:.200}. It is safe to try again."
            ) from failed


def _checked(ref: object) -> str:
    return checked_digest(ref)


def _attributes(mime_type: str | None) -> Any:
    return {"Content-Type": mime_type or OCTET_STREAM}
