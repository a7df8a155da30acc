"""The media table and report of a thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from ..effects import Batch, Command, Program
from ..items import digest_of, media_ref, pack
from .core import Core, fetch_media, open_media_record, pairs, seal_blob, seal_media_record

REPORT: Final = b"report"


@dataclass(frozen=True, slots=True)
class StoredMedia:
    """What a thread's media keys hold.

    Attributes:
        records: Ref -> media table record, in wire form.
        reports: Media report entries, in wire form.
        blobs: Refs whose bytes are in the thread's own keys.
        lost: Ref -> why a read of this client could not get it.
    """

    records: Mapping[bytes, dict[str, Any]]
    reports: list[dict[str, Any]]
    blobs: frozenset[bytes]
    lost: Mapping[bytes, str]


def read_media(core: Core, thread_id: str) -> Program[StoredMedia | None]:
    """Read the media table and report of a thread; None when there is no such thread. One round trip."""
    core.check_open()
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
    opened = {name: open_media_record(view, name, data, where=where) for name, data in stored.items()}
    return StoredMedia(
        records={name: record for name, record in opened.items() if not name.startswith(REPORT)},
        reports=[record for name, record in opened.items() if name.startswith(REPORT)],
        blobs=frozenset(names),
        lost=dict(view.lost),
    )


def check_media(core: Core, thread_id: str, refs: Sequence[bytes]) -> Program[Mapping[bytes, str]]:
    """Read blobs and check them; returns ref -> why for those that cannot be had."""
    meta = (yield Batch((Command(("HMGET", core.layout.thread(thread_id)[0], b"g", b"k")),)))[0]
    if meta[0] is None:
        return {}
    view = core.view_of(meta[0], meta[1] or b"", thread_id)
    decoder = core.decoder(view, thread_id, {})
    yield from fetch_media(core, view, thread_id, list(refs), decoder)
    return decoder.lost


def fetch_blob(core: Core, thread_id: str, ref: bytes) -> Program[bytes | None]:
    """Read the bytes of one medium; None when they cannot be had."""
    meta = (yield Batch((Command(("HMGET", core.layout.thread(thread_id)[0], b"g", b"k")),)))[0]
    if meta[0] is None:
        return None
    view = core.view_of(meta[0], meta[1] or b"", thread_id)
    decoder = core.decoder(view, thread_id, {})
    yield from fetch_media(core, view, thread_id, [ref], decoder)
    return decoder.media.get(ref)


def write_media(
    core: Core,
    thread_id: str,
    *,
    records: Mapping[bytes, Mapping[str, Any]],
    reports: Iterable[Mapping[str, Any]] = (),
    blobs: Mapping[bytes, bytes] | None = None,
) -> Program[bool]:
    """Write media table records, report entries and blobs of an existing thread. Two round trips.

    Returns:
        False when there is no such thread.
    """
    keys = core.layout.thread(thread_id)
    meta = (yield Batch((Command(("HMGET", keys[0], b"g", b"k")),)))[0]
    if meta[0] is None:
        return False
    view = core.view_of(meta[0], meta[1] or b"", thread_id)
    sealed = {ref: seal_media_record(view, ref, record) for ref, record in records.items()}
    for report in reports:
        name = REPORT + digest_of(pack(report), view.secrets.key)
        sealed[name] = seal_media_record(view, name, report)
    calls = [Command(("HSET", keys[7], *pairs(sealed)[1:]))] if sealed else []
    if blobs:
        stored = {ref: seal_blob(view, ref, data) for ref, data in blobs.items()}
        calls.append(Command(("HSET", keys[6], *pairs(stored)[1:])))
    if calls:
        yield Batch(tuple(calls))
    return True


def ref_of(core: Core, thread_id: str, data: bytes) -> Program[bytes]:
    """Name bytes as the thread does."""
    meta = (yield Batch((Command(("HMGET", core.layout.thread(thread_id)[0], b"g", b"k")),)))[0]
    if meta[0] is None:
        return media_ref(sha256(data).digest(), b"")
    return media_ref(sha256(data).digest(), core.view_of(meta[0], meta[1] or b"", thread_id).secrets.key)
