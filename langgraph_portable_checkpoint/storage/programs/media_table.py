"""The media table and report of a thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha1, sha256
from typing import Any, Final, NamedTuple

from ...errors import (
    ConflictError,
    CorruptRecordError,
    MediaDigestError,
    MediaError,
    MediaMissingError,
    MediaStoreError,
)
from ..effects import Batch, Command, MediaGet, MediaPut, Program, Script
from ..items import DIGEST_BYTES, digest_of, pack
from ..view import Lost, ThreadView
from .anew import beginning_anew
from .blobs import known_of, open_blob, open_media_record, seal_blob, seal_media_record
from .core import MAX_ATTEMPTS, Core, fetch_media, pairs, same_thread

REPORT: Final = b"report"
UPLOAD: Final = b"upload:"
"""Starts the names of records of provider uploads. The medium's name follows, whose bytes stay as long as the record
does; where nobody knows the bytes, a digest of the URI."""
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
        view: Of the thread when this was read.
        marks: Ref -> SHA-1 in hex of its record as it is stored.
    """

    records: Mapping[bytes, dict[str, Any]]
    reports: list[dict[str, Any]]
    blobs: frozenset[bytes]
    lost: Mapping[bytes, Lost]
    corrupt: Mapping[bytes, CorruptRecordError] = field(default_factory=dict)
    view: ThreadView | None = None
    marks: Mapping[bytes, bytes] = field(default_factory=dict)

    def bytes_of(self, name: bytes) -> bytes | None:
        """Name the record of the bytes that a record tells of, its own or its medium's; None where nobody keeps them.

        Earlier versions kept bytes of uploads under the name of the upload's record.
        """
        names = (name.removeprefix(UPLOAD), name) if name.startswith(UPLOAD) else (name,)
        kept = [each for each in names if self.records.get(each, {}).get("store") is not None]
        return next((each for each in kept if each in self.blobs), next(iter(kept), None))

    @property
    def uploads_mark(self) -> bytes:
        """Return a digest of the records of uploads, as the script `note` makes it."""
        marks = sorted(_mark(name) + mark for name, mark in self.marks.items() if name.startswith(UPLOAD))
        return _mark(b"".join(marks))


class Amended(NamedTuple):
    """What became of a change of a media table."""

    done: bool
    """False: nothing was written, since one of the records has changed since, or the thread has."""
    alone: bool
    """Whether no record of uploads had changed since, not even those that the change leaves."""


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
        view=view,
        marks={name: _mark(data) for name, data in stored.items()},
    )


def read_record(core: Core, thread_id: str, name: bytes) -> Program[StoredMedia | None]:
    """Read one record of a media table, as nothing where it is unreadable; None without the thread. One round trip."""
    keys = core.layout.thread(thread_id)
    meta, data = yield Batch((Command(("HMGET", keys[0], b"g", b"k")), Command(("HGET", keys[7], name))))
    if meta[0] is None:
        return None
    view = core.view_of(meta[0], meta[1] or b"", thread_id)
    known = {name: known_of(view, name, data, f"thread {thread_id!r}")} if data is not None else {}
    marks = {name: _mark(data)} if data is not None else {}
    return StoredMedia(records=known, reports=[], blobs=frozenset(), lost={}, view=view, marks=marks)


def _mark(data: bytes) -> bytes:
    return sha1(data, usedforsecurity=False).hexdigest().encode()


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

    Args:
        records: They take the place of what is there, whatever it is: none that was made of what was read.
        reports: Those that are there already stay as they are.
        blobs: As they are stored.

    Returns:
        False when there is no such thread.

    Raises:
        ConflictError: the thread was deleted or pruned again and again meanwhile.
    """
    for _ in range(MAX_ATTEMPTS):
        view = yield from _view(core, thread_id)
        if view is None:
            return False
        reply = yield from _note(core, thread_id, view, records, reports, blobs or {}, {}, ())
        if reply[0] == b"ok":
            return True
    raise ConflictError(
        f"thread {thread_id!r} was deleted or pruned {MAX_ATTEMPTS} times while its media were noted. "
        "Nothing was noted; try again."
    )


def amend_media(
    core: Core,
    thread_id: str,
    read: StoredMedia,
    *,
    records: Mapping[bytes, Mapping[str, Any] | None],
    reports: Sequence[Mapping[str, Any]] = (),
    blobs: Mapping[bytes, bytes] | None = None,
) -> Program[Amended]:
    """Write what was made of a media table that was read, atomically. One round trip.

    Bytes that were kept for uploads alone go when their record is dropped, or says of none any more.

    Args:
        read: What was read.
        records: What takes the place of records; None: nothing does.
        reports: Entries of the media report.
        blobs: As they are stored.

    Returns:
        Not done when one of the records has changed since, or the thread has: nothing was written; read it again.
    """
    if read.view is None:
        raise ValueError("what was read has no view")
    marks = {name: read.marks.get(name, b"") for name in records}
    own = [name for name in records if name.startswith(UPLOAD) and name in read.blobs]
    freed = [name for name in own if (records[name] or {}).get("store") is None]
    reply = yield from _note(core, thread_id, read.view, records, reports, blobs or {}, marks, freed)
    done = bool(reply[0] == b"ok")
    return Amended(done, done and reply[1] == read.uploads_mark)


def was_deleted(core: Core, thread_id: str, checkpoint_id: str) -> Program[bool]:
    """Tell whether the thread that had a checkpoint was deleted: it is not there, or another one is. One round trip."""
    keys = core.layout.thread(thread_id)
    generation, gone = yield Batch((Command(("HGET", keys[0], b"g")), Command(("GET", keys[9]))))
    return generation is None or (gone is not None and bool(gone >= checkpoint_id.encode()))


def _note(
    core: Core,
    thread_id: str,
    view: ThreadView,
    records: Mapping[bytes, Mapping[str, Any] | None],
    reports: Sequence[Mapping[str, Any]],
    blobs: Mapping[bytes, bytes],
    marks: Mapping[bytes, bytes],
    freed: Sequence[bytes],
) -> Program[list[bytes]]:
    sealed = {name: seal_media_record(view, name, record) for name, record in records.items() if record is not None}
    for report in reports:
        name = REPORT + digest_of(pack(report), view.secrets.key)
        sealed[name] = seal_media_record(view, name, report)
    dropped = [name for name, record in records.items() if record is None]
    drops: list[bytes | int] = [len(dropped), *dropped, len(freed), *freed]
    args = (view.generation, core.ttl_arg, *pairs(marks), *pairs(blobs), *pairs(sealed), *drops)
    return (yield Script("note", core.layout.thread(thread_id), args))  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class KeptBytes:
    """Where bytes are, or are to be."""

    name: bytes
    """Of the medium."""
    about: Mapping[str, Any]
    """What their record says of that."""
    blobs: Mapping[bytes, bytes] = field(default_factory=dict)
    """What is still to be written into the thread's own keys."""


def keep_bytes(
    core: Core, view: ThreadView, name: bytes, data: bytes, mime_type: str | None, *, store: str | None
) -> Program[KeptBytes]:
    """Put bytes into the external media store, or say how they are kept in the thread. No call, or one to the store.

    Args:
        store: The core's; None: they stay in the thread.
    """
    stored = seal_blob(view, name, data)
    digest = sha256(stored).hexdigest()
    about = {"sha256": digest, "size_bytes": len(data), "store": store or "redis"}
    if store is None:
        return KeptBytes(name, about, {name: stored})
    (ref,) = yield MediaPut(((digest, mime_type, stored),))
    return KeptBytes(name, {**about, "ref": ref})


def record_kept(known: Mapping[str, Any], kept: KeptBytes) -> dict[str, Any]:
    """Say in a record where its bytes are from now on."""
    return {**{name: told for name, told in known.items() if name != "ref"}, **kept.about}
