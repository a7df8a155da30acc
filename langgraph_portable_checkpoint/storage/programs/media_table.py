"""The media table and report of a thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from ...errors import (
    ConflictError,
    CorruptRecordError,
    MediaDigestError,
    MediaError,
    MediaMissingError,
    MediaStoreError,
)
from ..effects import Batch, Command, MediaGet, MediaPut, Program, Script
from ..items import DIGEST_BYTES, digest_of, media_ref, pack
from ..view import Lost, ThreadView
from .anew import beginning_anew
from .blobs import known_of, open_blob, open_media_record, seal_blob, seal_media_record
from .core import MAX_ATTEMPTS, Core, fetch_media, pairs, same_thread

REPORT: Final = b"report"
UPLOAD: Final = b"upload:"
"""Starts the names of records of provider uploads that no message of the thread carries as bytes."""
CHECK_BYTES: Final = 64 * 2**20
"""So much is read at once to be checked."""


@dataclass(frozen=True, slots=True)
class StoredMedia:
    """What a thread's media keys hold.

    Attributes:
        records: Ref -> media table record, in wire form.
        reports: Media report entries, in wire form.
        blobs: Refs whose bytes are in the thread's own keys.
        lost: Ref -> why a read of this client could not get it.
        corrupt: Ref -> why its record cannot be read.
    """

    records: Mapping[bytes, dict[str, Any]]
    reports: list[dict[str, Any]]
    blobs: frozenset[bytes]
    lost: Mapping[bytes, Lost]
    corrupt: Mapping[bytes, CorruptRecordError] = field(default_factory=dict)


def read_media(core: Core, thread_id: str) -> Program[StoredMedia | None]:
    """Read the media table and report of a thread; None when there is no such thread. One round trip."""
    keys = core.layout.thread(thread_id)
    meta, flat, names = yield Batch(
        (
            Command(("HMGET", keys[0], b"g", b"k")),
            Command(("HGETALL", keys[7])),
            Command(("HKEYS", keys[6])),
        )
    )
    if meta[0] is None:
        return None
    view = core.view_of(meta[0], meta[1] or b"", thread_id)
    stored = flat if isinstance(flat, dict) else dict(zip(flat[::2], flat[1::2], strict=True))
    where = f"thread {thread_id!r}"
    opened: dict[bytes, dict[str, Any]] = {}
    corrupt: dict[bytes, CorruptRecordError] = {}
    for name, data in stored.items():
        try:
            opened[name] = open_media_record(view, name, data, where=where)
        except CorruptRecordError as error:
            corrupt[name] = error
    return StoredMedia(
        records={name: record for name, record in opened.items() if not name.startswith(REPORT)},
        reports=[record for name, record in opened.items() if name.startswith(REPORT)],
        blobs=frozenset(names),
        lost=dict(view.lost),
        corrupt=corrupt,
    )


@beginning_anew
def check_media(core: Core, thread_id: str, stored: StoredMedia) -> Program[Mapping[bytes, Lost]]:
    """Read blobs and check them, some at a time; returns ref -> why for those that cannot be had."""
    view = yield from _view(core, thread_id)
    if view is None:
        return {}
    lost: dict[bytes, Lost] = {}
    for refs in _batches(stored):
        decoder = core.decoder(view, thread_id, {})
        lost.update((yield from fetch_media(core, view, thread_id, refs, decoder)))
    return lost


def _batches(stored: StoredMedia) -> Iterator[list[bytes]]:
    """Group the media whose bytes somebody should have, so that no group is too large to hold."""
    batch: list[bytes] = []
    batch_bytes = 0
    unknown: dict[bytes, dict[str, Any]] = {ref: {} for ref in stored.corrupt if len(ref) == DIGEST_BYTES}
    for ref, record in {**stored.records, **unknown}.items():
        if ref.startswith(UPLOAD) and record.get("store") is None:
            continue
        told = record.get("size_bytes")
        size_bytes = told if isinstance(told, int) else 0
        if batch and batch_bytes + size_bytes > CHECK_BYTES:
            yield batch
            batch, batch_bytes = [], 0
        batch.append(ref)
        batch_bytes += size_bytes
    if batch:
        yield batch


def _view(core: Core, thread_id: str) -> Program[ThreadView | None]:
    (meta,) = yield Batch((Command(("HMGET", core.layout.thread(thread_id)[0], b"g", b"k")),))
    return None if meta[0] is None else core.view_of(meta[0], meta[1] or b"", thread_id)


@beginning_anew
def fetch_blob(core: Core, thread_id: str, ref: bytes) -> Program[bytes | MediaError]:
    """Read the bytes of one medium, or learn why they cannot be had now. Two round trips, one more for a store."""
    view = yield from _view(core, thread_id)
    if view is None:
        return MediaMissingError(f"thread {thread_id!r} is not there any more.")
    keys = core.layout.thread(thread_id)
    data, record, generation = yield Batch(
        (Command(("HGET", keys[6], ref)), Command(("HGET", keys[7], ref)), Command(("HGET", keys[0], b"g")))
    )
    same_thread(view, generation)
    if data is None:
        data = yield from _fetch_stored(core, known_of(view, ref, record, f"thread {thread_id!r}"))
    if isinstance(data, MediaError):
        return data
    try:
        return open_blob(view, ref, data, where=f"thread {thread_id!r}")
    except CorruptRecordError as error:
        return MediaDigestError(str(error))


def _fetch_stored(core: Core, record: Mapping[str, Any]) -> Program[bytes | MediaError]:
    store, ref, digest = (record.get(name) for name in ("store", "ref", "sha256"))
    if store == "redis" or not isinstance(ref, str) or not isinstance(digest, str):
        return MediaMissingError("its bytes are not in the thread, which should have them. Restore it from a backup.")
    if store != core.store:
        return MediaStoreError(
            f"its bytes are in the media store {store!r}, and this saver has {core.store!r}. Pass that media_store=."
        )
    (answer,) = yield MediaGet(((ref, digest),))
    return answer  # type: ignore[no-any-return]


def write_media(
    core: Core,
    thread_id: str,
    *,
    records: Mapping[bytes, Mapping[str, Any]],
    reports: Sequence[Mapping[str, Any]] = (),
    blobs: Mapping[bytes, bytes] | None = None,
) -> Program[bool]:
    """Write media table records, report entries and blobs of an existing thread, atomically. Two round trips.

    Returns:
        False when there is no such thread.

    Raises:
        ConflictError: the thread was deleted or pruned again and again meanwhile.
    """
    keys = core.layout.thread(thread_id)
    for _ in range(MAX_ATTEMPTS):
        view = yield from _view(core, thread_id)
        if view is None:
            return False
        sealed = {ref: seal_media_record(view, ref, record) for ref, record in records.items()}
        for report in reports:
            name = REPORT + digest_of(pack(report), view.secrets.key)
            sealed[name] = seal_media_record(view, name, report)
        stored = {ref: seal_blob(view, ref, data) for ref, data in (blobs or {}).items()}
        args = (view.generation, core.ttl_arg, *pairs(stored), *pairs(sealed))
        reply = yield Script("note", keys, args)
        if reply[0] == b"ok":
            return True
    raise ConflictError(
        f"thread {thread_id!r} was deleted or pruned {MAX_ATTEMPTS} times while its media were noted. "
        "Nothing was noted; try again."
    )


@dataclass(frozen=True, slots=True)
class KeptBytes:
    """Where the bytes of an upload are, or are to be."""

    name: bytes
    """Of their record."""
    store: str
    ref: str | None = None
    blobs: Mapping[bytes, bytes] = field(default_factory=dict)
    """What is still to be written into the thread's own keys."""


def keep_bytes(core: Core, thread_id: str, data: bytes, mime_type: str | None) -> Program[KeptBytes]:
    """Put bytes into the external media store, or say how they are kept in the thread. One call, one more for a store.

    Where bodies are sealed they stay in the thread, since a shared store names blobs by what it holds.
    """
    view = yield from _view(core, thread_id)
    digest = sha256(data)
    name = UPLOAD + media_ref(digest.digest(), view.secrets.key if view is not None else b"")
    if core.store is None or core.codec.sealer.sealed:
        return KeptBytes(name, "redis", blobs={name: data})
    (ref,) = yield MediaPut(((digest.hexdigest(), mime_type, data),))
    return KeptBytes(name, core.store, ref)
