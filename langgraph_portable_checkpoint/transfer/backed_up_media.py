"""The media of threads in backups: what a store has is in the file, too, and goes where the target keeps media.

In the file such bytes stand among the blobs, as if they were with the thread, so every version reads them. Media table
records come before: they say which of the blobs were in a store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any, cast

from ..errors import CorruptRecordError
from ..saver import PortableRedisSaver
from ..storage.programs import carrying, paged
from ..storage.programs.blobs import open_blob
from ..storage.programs.carrying import LostMedium
from ..storage.programs.whole import StoredThread
from ..storage.view import ThreadView

Fields = dict[bytes, bytes]


class Elsewhere:
    """The media of one thread that the saver's external store has, on their way into a backup.

    Attributes:
        records: Name -> media table record, of those media.
        lost: Of these, and of those that should be with the thread, the media that cannot be had.
    """

    def __init__(self, saver: PortableRedisSaver, outline: paged.Outline) -> None:
        self.saver = saver
        self.where = f"thread {outline.thread_id!r}"
        self.view = _view_of(saver, outline)
        self.own = outline.sizes["blobs"]
        self.records: dict[bytes, Mapping[str, Any]] = {}
        self.lost: dict[bytes, LostMedium] = {}

    def note(self, page: Mapping[bytes, bytes]) -> None:
        """Look at some fields of the media table."""
        records = carrying.records_of(self.view, page, self.where)
        absent = {name: record for name, record in records.items() if name not in self.own}
        self.records |= {name: record for name, record in absent.items() if carrying.is_elsewhere(record)}
        self.lost |= carrying.absent_from_thread(absent)

    def fields(self) -> Iterator[tuple[bytes, bytes]]:
        """Read them, some at a time."""
        view = self.view
        for batch in carrying.batches_of(self.records) if view is not None else ():
            fetch = carrying.fetch_elsewhere(self.saver._core, cast(ThreadView, view), batch, self.where)
            gathered = self.saver._run(fetch)
            self.lost.update(gathered.lost)
            yield from gathered.data.items()


def mend(
    saver: PortableRedisSaver,
    thread_id: str,
    thread: Iterable[Mapping[str, Fields]],
    *,
    head: StoredThread,
    own_id: str,
) -> tuple[int, dict[bytes, LostMedium]]:
    """Keep anew what a thread that is there cannot read of its media, from a backup that holds them.

    Args:
        thread: The pages of a thread of the backup; all are read.
        head: That thread's, with the key that it is sealed with.
        own_id: That thread's id.

    Returns:
        How many media were kept, and those that still cannot be read.
    """
    core, where = saver._core.stranger(), f"thread {thread_id!r}"
    view = saver._core.stranger().view_of(b"", head.key, own_id)
    lost = saver._run(carrying.unreadable_media(core, thread_id))
    left = dict(lost)
    for page in thread:
        for name, data in page.get("blobs", {}).items() if left else ():
            with suppress(CorruptRecordError):
                opened = open_blob(view, name, data, where=where)
                kept = saver._run(carrying.keep_lost(core, thread_id, opened, left, known_as=name))
                left = {each: one for each, one in left.items() if each != kept}
    return len(lost) - len(left), left


def _view_of(saver: PortableRedisSaver, outline: paged.Outline) -> ThreadView | None:
    """Return what opens a thread; None for one that is sealed with another key, which a backup takes as it is."""
    try:
        return saver._core.stranger().view_of(outline.head.generation, outline.head.key, outline.thread_id)
    except CorruptRecordError:
        return None


class Arrival:
    """The media of one thread on their way out of a backup.

    Attributes:
        absent: Names of media whose bytes did not come along, or came before their records did, as in older files.
    """

    def __init__(self, saver: PortableRedisSaver, thread_id: str, key: bytes) -> None:
        self.saver = saver
        self.where = f"thread {thread_id!r}"
        self.view = saver._core.stranger().view_of(b"", key, thread_id)
        self.absent: dict[bytes, None] = {}
        self._waiting: Fields = {}
        self._records: dict[bytes, Mapping[str, Any]] = {}

    def settled(self, page: Mapping[str, Fields]) -> dict[str, Fields]:
        """Return what is to be written of a page: media that were in a store go to where this saver keeps media."""
        settled = dict(page)
        if "media" in page:
            self._note(page["media"])
            settled["media"] = {name: data for name, data in page["media"].items() if name not in self._waiting}
        if "blobs" in page:
            settled |= self._kept(page["blobs"], settled.get("media", {}))
        return settled

    def _note(self, page: Fields) -> None:
        records = carrying.records_of(self.view, page, self.where)
        self.absent |= {name: None for name, record in records.items() if record.get("store") is not None}
        self._records |= {name: record for name, record in records.items() if carrying.is_elsewhere(record)}
        self._waiting |= {name: page[name] for name in records if name in self._records}

    def _kept(self, blobs: Fields, media: Fields) -> dict[str, Fields]:
        for name in blobs:
            self.absent.pop(name, None)
        moved = {name: data for name, data in blobs.items() if self._is_as_told(name, data)}
        kept = self.saver._run(carrying.keep(self.saver._core, self.view, self._records, moved))
        for name in moved:
            del self._waiting[name]
        own = {name: data for name, data in blobs.items() if name not in moved}
        return {"blobs": {**own, **kept.blobs}, "media": {**media, **kept.records}}

    def _is_as_told(self, name: bytes, data: bytes) -> bool:
        """Tell whether bytes are what a record says that a store had; only those are given to another store."""
        return name in self._waiting and sha256(data).hexdigest() == self._records[name].get("sha256")

    def rest(self) -> dict[str, Fields]:
        """Return what waited for bytes that did not come."""
        return {"media": self._waiting} if self._waiting else {}
