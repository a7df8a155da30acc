"""The media of whole threads on their way elsewhere: what an external store has is fetched, checked and kept anew.

Everywhere here bytes are as they are stored, sealed where the thread is, so they may change between the thread's own
keys and a store. Each is opened once to be checked against the name that its thread has for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from ...errors import ConflictError, CorruptRecordError, MediaDigestError
from ..effects import Batch, Command, MediaGet, MediaPut, Program
from ..items import media_ref
from ..view import ThreadView
from .anew import beginning_anew
from .blobs import known_of, open_blob, seal_media_record
from .core import MAX_ATTEMPTS, Core, same_thread
from .media_table import REPORT, UPLOAD, StoredMedia, amend_media, keep_bytes, read_media, read_record, record_kept

IN_THREAD: Final = "redis"
"""What a media table record names as its store where the bytes are with the thread."""
AT_ONCE_BYTES: Final = 8 * 1024 * 1024
AT_ONCE: Final = 64
Records = Mapping[bytes, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class LostMedium:
    """A medium whose bytes cannot be had.

    Attributes:
        record: What the media table says of it.
        cause: Why, in one line.
        reason: The media report's word for it: "missing_blob", or "corrupt_blob" where other bytes are in its place.
    """

    record: Mapping[str, Any]
    cause: str
    reason: str = "missing_blob"


@dataclass(slots=True)
class Gathered:
    """Media by name: the stored bytes of those that were had, and what is known of the others."""

    data: dict[bytes, bytes] = field(default_factory=dict)
    lost: dict[bytes, LostMedium] = field(default_factory=dict)


def is_elsewhere(record: Mapping[str, Any]) -> bool:
    """Tell whether a media table record says that an external store has the bytes."""
    return record.get("store") not in (None, IN_THREAD)


def records_of(view: ThreadView | None, page: Mapping[bytes, bytes], where: str) -> Records:
    """Open some fields of a media table, those that cannot be opened as empty records; reports are left out.

    Args:
        view: None where the thread is sealed with a key that is not at hand.
    """
    fields = {name: data for name, data in page.items() if not name.startswith(REPORT)}
    return {name: {} if view is None else known_of(view, name, data, where) for name, data in fields.items()}


def absent_from_thread(records: Records) -> dict[bytes, LostMedium]:
    """Tell which media are lost of those whose bytes are not with the thread: all that no store has either.

    Of uploads whose record cannot be read that is not known: their medium has a record of its own.
    """
    causes = {IN_THREAD: "its bytes are not with the thread any more"}
    return {
        name: LostMedium(record, causes.get(str(record.get("store")), "its media table record cannot be read"))
        for name, record in records.items()
        if record.get("store") == IN_THREAD or not (record or name.startswith(UPLOAD))
    }


def in_thread(view: ThreadView, records: Records) -> dict[bytes, bytes]:
    """Say of media that lie with the thread, where their records name a store, that this is where they are."""
    named = {name: record for name, record in records.items() if is_elsewhere(record)}
    told = {name: {key: part for key, part in record.items() if key != "ref"} for name, record in named.items()}
    return {name: seal_media_record(view, name, {**record, "store": IN_THREAD}) for name, record in told.items()}


def batches_of(records: Records) -> Iterator[Records]:
    """Group media so that the bytes of no group are too much to hold."""
    batch: dict[bytes, Mapping[str, Any]] = {}
    size_bytes = 0
    for name, record in records.items():
        told = record.get("size_bytes")
        size = told if isinstance(told, int) else 0
        if batch and (size_bytes + size > AT_ONCE_BYTES or len(batch) >= AT_ONCE):
            yield batch
            batch, size_bytes = {}, 0
        batch[name] = record
        size_bytes += size
    if batch:
        yield batch


def fetch_elsewhere(core: Core, view: ThreadView, records: Records, where: str) -> Program[Gathered]:
    """Fetch media from this core's external store, and check them. One call, none where all are of other stores."""
    gathered = Gathered()
    asked: dict[bytes, tuple[str, str]] = {}
    for name, record in records.items():
        place = (record.get("ref"), record.get("sha256"))
        if core.store is None or record.get("store") != core.store:
            cause = f"its bytes are in the media store {record.get('store')!r}, which this saver does not have"
            gathered.lost[name] = LostMedium(record, cause)
        elif all(isinstance(part, str) for part in place):
            asked[name] = place  # type: ignore[assignment]  # both are text
        else:
            gathered.lost[name] = LostMedium(record, "its media table record says not where its bytes are")
    answers = (yield MediaGet(tuple(asked.values()))) if asked else ()
    for name, answer in zip(asked, answers, strict=True):
        _take(gathered, view, name, answer, records[name], where)
    return gathered


def _take(
    gathered: Gathered, view: ThreadView, name: bytes, answer: Any, record: Mapping[str, Any], where: str
) -> bytes | None:
    """Take bytes in that are those of their name; return them as they are read."""
    if not isinstance(answer, bytes):
        reason = "corrupt_blob" if isinstance(answer, MediaDigestError) else "missing_blob"
        gathered.lost[name] = LostMedium(record, str(answer).partition("\n")[0], reason)
        return None
    try:
        opened = open_blob(view, name, answer, where=where)
    except CorruptRecordError as error:
        gathered.lost[name] = LostMedium(record, error.reason, "corrupt_blob")
        return None
    gathered.data[name] = answer
    return opened


@dataclass(frozen=True, slots=True)
class Kept:
    """How media are kept by another core: their media table records as stored, and blobs for the thread's own keys."""

    records: Mapping[bytes, bytes]
    blobs: Mapping[bytes, bytes]


def keep(core: Core, view: ThreadView, records: Records, data: Mapping[bytes, bytes]) -> Program[Kept]:
    """Put stored bytes where this core keeps media. One call to its external store, none without one."""
    refs: list[str | None] = [None] * len(data)
    if core.store is not None and data:
        blobs = ((records[name]["sha256"], _text(records[name].get("mime_type")), data[name]) for name in data)
        refs = yield MediaPut(tuple(blobs))
    named = {
        name: {**records[name], "store": core.store or IN_THREAD, "ref": ref}
        for name, ref in zip(data, refs, strict=True)
    }
    told = {name: {key: part for key, part in record.items() if part is not None} for name, record in named.items()}
    sealed = {name: seal_media_record(view, name, record) for name, record in told.items()}
    return Kept(sealed, data if core.store is None else {})


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


@beginning_anew
def unreadable_media(
    core: Core, thread_id: str, *, wanted: Callable[[bytes], bool] = lambda name: True
) -> Program[dict[bytes, LostMedium]]:
    """Read a thread's media, some at a time, and check them; say which cannot be had, and why.

    What is read is kept for the reads that follow, as far as the cache of media has room.
    """
    stored = yield from read_media(core, thread_id)
    if stored is None:
        return {}
    view = core.views.get(thread_id)
    assert view is not None  # read_media has made it
    corrupt = {name: error for name, error in stored.corrupt.items() if not name.startswith(REPORT) and wanted(name)}
    lost = {name: LostMedium({}, error.reason, "corrupt_blob") for name, error in corrupt.items()}
    for batch in batches_of({name: record for name, record in _carried(stored) if wanted(name)}):
        gathered = yield from _fetch(core, view, thread_id, batch)
        lost.update(gathered.lost)
    return lost


def _carried(stored: StoredMedia) -> Iterator[tuple[bytes, Mapping[str, Any]]]:
    """List the media whose bytes somebody should have."""
    for name, record in stored.records.items():
        if not name.startswith(UPLOAD) or record.get("store") is not None:
            yield name, record


def _fetch(core: Core, view: ThreadView, thread_id: str, records: Records) -> Program[Gathered]:
    keys, names, where = core.layout.thread(thread_id), list(records), f"thread {thread_id!r}"
    stored, generation = yield Batch((Command(("HMGET", keys[6], *names)), Command(("HGET", keys[0], b"g"))))
    same_thread(view, generation)
    here = {name: data for name, data in zip(names, stored, strict=True) if data is not None}
    absent = {name: record for name, record in records.items() if name not in here}
    gathered = yield from fetch_elsewhere(core, view, {n: r for n, r in absent.items() if is_elsewhere(r)}, where)
    gathered.lost.update(absent_from_thread(absent))
    for name, data in here.items():
        opened = _take(gathered, view, name, data, records[name], where)
        if opened is not None:
            core.blobs.put(name, opened)
    return gathered


def keep_lost(
    core: Core, thread_id: str, data: bytes, lost: Mapping[bytes, LostMedium], *, known_as: bytes = b""
) -> Program[bytes | None]:
    """Keep a medium anew if it is one of those that a thread has lost. No call where it is none, else two or three.

    Args:
        data: Its bytes as they are read.
        lost: By name; what the media table says of it stays, but for where it is.
        known_as: Its name in the thread that it comes from, which may be of another key.

    Returns:
        Its name there; None where it is none of them.
    """
    view = core.views.get(thread_id)
    if view is None:
        return None
    ref = media_ref(sha256(data).digest(), view.secrets.key)
    name = next((each for each in (ref, UPLOAD + ref, known_as) if each in lost), None)
    if name is None:
        return None
    mime_type = _text(lost[name].record.get("mime_type"))
    kept = yield from keep_bytes(core, view, name, data, mime_type, store=core.store)
    for _ in range(MAX_ATTEMPTS):
        read = yield from read_record(core, thread_id, name)
        if read is None or read.view is None or read.view.secrets.key != view.secrets.key:
            return None
        record = record_kept(read.records.get(name, {}), kept)
        if (yield from amend_media(core, thread_id, read, records={name: record}, blobs=kept.blobs)).done:
            return name
    raise ConflictError(f"a medium of thread {thread_id!r} was written {MAX_ATTEMPTS} times meanwhile. Try again.")
