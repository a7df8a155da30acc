"""What a media store is: two methods, and what else it may be able to do.

Owns the protocols and the rules of refs. Knows no store. The contract of every store, checked by
`langgraph_portable_checkpoint.testing.MediaStoreTests`:

- `put` is told the digest of the bytes; it stores them whole or raises, and a second put of the same bytes is
  harmless. What `put` has returned for can be read: a blob that stands there with other bytes is replaced, and one that
  `get` would not give back is refused. It returns a ref, which is the store's own name for the blob.
- `get` returns the bytes or raises; never None, never other bytes, never part of them.
- A ref is data from a database. A store answers only to refs that its own `put` returns, and builds no path, URL or
  key from any other.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Final, NamedTuple, Protocol, runtime_checkable

from langgraph_portable_checkpoint.errors import MediaDigestError, MediaRefError, MediaTooLargeError

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
MAX_REF_CHARS: Final = 1024
THREADS_OWN: Final = "redis"
"""What the media table calls the thread's own keys; no store may have this name."""


@runtime_checkable
class MediaStore(Protocol):
    """Keeps blobs. Methods may be called from several threads at once."""

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        """Store bytes under their hex digest and return the ref."""

    def get(self, ref: str) -> bytes:
        """Return the bytes of a ref, or raise."""


@runtime_checkable
class AsyncMediaStore(Protocol):
    """Does the same without blocking; a store may be both, or only this for a saver that is only awaited."""

    async def aput(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        """Store bytes under their hex digest and return the ref."""

    async def aget(self, ref: str) -> bytes:
        """Return the bytes of a ref, or raise."""


class StoredBlob(NamedTuple):
    """One entry of a listing."""

    ref: str
    size_bytes: int
    modified_at: datetime
    """When the blob was last put, or condemned. Aware, UTC."""
    condemned: bool = False
    """True for a blob that a sweep has set aside; see `CondemnsBlobs`."""


@runtime_checkable
class ChecksBlobs(Protocol):
    """Can say cheaply whether a blob is there."""

    def exists(self, ref: str) -> bool:
        """Return whether `get` would find the blob."""


@runtime_checkable
class DeletesBlobs(Protocol):
    """Can delete."""

    def delete(self, ref: str) -> None:
        """Delete a blob at once; one that is not there is no error."""


@runtime_checkable
class ListsBlobs(Protocol):
    """Can list what it holds."""

    def list(self) -> Iterator[StoredBlob]:
        """List all blobs, in no order, without loading them."""


@runtime_checkable
class CondemnsBlobs(Protocol):
    """Can set a blob aside for a while before it is deleted: a put or a get in the meantime brings it back.

    With it, a sweep cannot take a blob from a save that goes on at the same moment. A store that can only delete is
    swept while nobody saves, and not else.
    """

    def condemn(self, ref: str, *, unless_put_since: datetime) -> bool:
        """Set a blob aside, unless it was put since; return whether it was. `get` still finds it."""

    def restore(self, ref: str) -> None:
        """Take a condemned blob back."""

    def purge(self, ref: str) -> None:
        """Delete a condemned blob for good; a living one under the same ref stays."""


@runtime_checkable
class AsyncDeletesBlobs(Protocol):
    """Deletes without blocking."""

    async def adelete(self, ref: str) -> None:
        """Delete a blob at once; one that is not there is no error."""


@runtime_checkable
class AsyncListsBlobs(Protocol):
    """Lists without blocking."""

    def alist(self) -> AsyncIterator[StoredBlob]:
        """List all blobs, in no order, without loading them."""


@runtime_checkable
class AsyncCondemnsBlobs(Protocol):
    """Sets blobs aside without blocking; see `CondemnsBlobs`."""

    async def acondemn(self, ref: str, *, unless_put_since: datetime) -> bool:
        """Set a blob aside, unless it was put since; return whether it was."""

    async def arestore(self, ref: str) -> None:
        """Take a condemned blob back."""

    async def apurge(self, ref: str) -> None:
        """Delete a condemned blob for good."""


@runtime_checkable
class PresignsBlobs(Protocol):
    """Can make a link that works without credentials for a while."""

    def presigned_url(self, ref: str, *, expires_seconds: int = 3600) -> str:
        """Return such a link."""


@runtime_checkable
class StreamsBlobs(Protocol):
    """Can give a blob piece by piece. The pieces are not checked against the digest: check their hash at the end."""

    def stream(self, ref: str, *, chunk_bytes: int = 2**20) -> Iterator[bytes]:
        """Yield the bytes in order."""


@runtime_checkable
class AsyncStreamsBlobs(Protocol):
    """Streams without blocking."""

    def astream(self, ref: str, *, chunk_bytes: int = 2**20) -> AsyncIterator[bytes]:
        """Yield the bytes in order."""


def store_name(store: object) -> str:
    """Return the name that the media table gives a store: its `name`, or its class's."""
    name = getattr(store, "name", None)
    return name if isinstance(name, str) else type(store).__name__


def checked_digest(sha256: object) -> str:
    """Return a digest that is safe to build a name from.

    Raises:
        MediaRefError: it is not 64 lower-case hex digits.
    """
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise MediaRefError(f"{sha256!r:.80} is not a SHA-256 digest in lower-case hex. It was not used.")
    return sha256


def checked_bytes(data: bytes, sha256: str, *, what: str) -> bytes:
    """Return bytes that match their digest.

    Raises:
        MediaDigestError: they do not.
    """
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise MediaDigestError(
            f"{what}: {len(data)} bytes have the SHA-256 {found}, expected {sha256}. They were not used. "
            "Put the right blob back, or restore the store from a backup."
        )
    return data


def checked_size(data: bytes, max_bytes: int, *, store: object) -> None:
    """Refuse a blob that a store would not read back.

    Raises:
        MediaTooLargeError: it has more than `max_bytes`.
    """
    if len(data) > max_bytes:
        raise MediaTooLargeError(
            f"a blob has {len(data)} bytes, and the media store {store_name(store)!r} reads no more than {max_bytes}. "
            "Nothing was stored. Raise the store's max_bytes, or lower the policy's."
        )
