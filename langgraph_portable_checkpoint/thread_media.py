"""The media of threads: what `PortableRedisSaver` offers to look after them.

Reads media tables and reports; finds blobs of a shared store that no thread names any more. Uploads to providers are
looked after in `thread_uploads`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from .errors import MediaError, ThreadNotFoundError
from .media.garbage import DEFAULT_GRACE, GarbageReport, acollect_garbage, collect_garbage
from .media.references import PersistenceReport, persistence_report
from .media.table import MediaRecord, MediaReport, MediaTable, mismatch_report
from .storage.layout import checked_id
from .storage.programs import media_table as programs
from .storage.programs.listing import AllThreads, open_all
from .storage.programs.media_places import MediaPlaces, media_places
from .storage.view import Lost
from .thread_uploads import UploadMethods

if TYPE_CHECKING:
    from .storage.effects import Program


MAX_LISTINGS: Final = 5
"""How often a sweep lists the threads, until there is none that it has not read.

A thread may be copied under another name, and deleted, before its turn to be read comes. What a new thread brings in
itself is young, so a server with ever new threads need not be listed forever.
"""


class MediaMethods(UploadMethods):
    """Media tables, reports, uploads and garbage of a saver."""

    def media_table(self, thread_id: str) -> MediaTable:
        """Read what is known of each medium of a thread: digest, type, size, store, first turn, uploads."""
        return self._run(self._table(thread_id))

    async def amedia_table(self, thread_id: str) -> MediaTable:
        """Read what is known of each medium of a thread; see `media_table`."""
        return await self._arun(self._table(thread_id))

    def _table(self, thread_id: str) -> Program[MediaTable]:
        media = yield from self._read(thread_id)
        if all(record.first_turn is not None for record in media.media.values()):
            return media.table
        places = (yield from media_places(self._core, thread_id)).media
        return MediaTable(
            replace(record, first_turn=places[name][1]) if record.first_turn is None and name in places else record
            for name, record in media.media.items()
        )

    def media_report(self, thread_id: str, *, check: bool = True) -> list[MediaReport]:
        """Say which media of a thread were not kept as they were, or cannot be had now, and where they stand.

        In the order of turns; those of no known turn come first.

        Args:
            check: Read every blob and check it against its digest; else only what saves and reads have met counts.
        """
        return self._run(self._report(thread_id, check=check))

    async def amedia_report(self, thread_id: str, *, check: bool = True) -> list[MediaReport]:
        """Say which media of a thread were not kept or cannot be had; see `media_report`."""
        return await self._arun(self._report(thread_id, check=check))

    def _report(self, thread_id: str, *, check: bool) -> Program[list[MediaReport]]:
        media = yield from self._read_what_can_be(thread_id)
        lost: Mapping[bytes, Lost] = media.stored.lost
        if check:
            lost = yield from programs.check_media(self._core, thread_id, media.stored)
        entries = [MediaReport.from_wire(wire, where=f"thread {thread_id!r}") for wire in media.stored.reports]
        entries = [entry for entry in entries if not media.is_untrue(entry)]
        entries += [MediaReport(reason="corrupt_blob", detail=str(error)) for error in media.corrupt.values()]
        lying = {name: record for name, record in media.records.items() if record.recognised_as is not None}
        if not entries and not lost and not lying and not check:
            return []
        places = yield from media_places(self._core, thread_id)
        if check:
            known = media.records.keys() | media.corrupt.keys()
            lost = {**{name: _UNKNOWN for name in places.media if name not in known}, **lost}
        entries = [_with_turn(entry, places) for entry in _distinct(entries)]
        entries += [_loss(each, media.records.get(name), _place(name, places)) for name, each in lost.items()]
        entries += [mismatch_report(record, **_place(name, places)) for name, record in lying.items()]
        return sorted(entries, key=_order)

    def persistence_report(self, state_or_thread_id: Any) -> PersistenceReport:
        """Measure what a save of a state writes, or a thread's head holds: bytes, messages, a record per media part."""
        if not isinstance(state_or_thread_id, str):
            return persistence_report(state_or_thread_id)
        return _report_of_head(state_or_thread_id, self.get_tuple(_head_of(state_or_thread_id)))

    async def apersistence_report(self, state_or_thread_id: Any) -> PersistenceReport:
        """Measure what a save of a state writes, or a thread's head holds; see `persistence_report`."""
        if not isinstance(state_or_thread_id, str):
            return persistence_report(state_or_thread_id)
        return _report_of_head(state_or_thread_id, await self.aget_tuple(_head_of(state_or_thread_id)))

    def collect_media_garbage(
        self,
        *,
        dry_run: bool = True,
        grace: timedelta = DEFAULT_GRACE,
        now: datetime | None = None,
        saves_stopped: bool = False,
        progress: Callable[[str, int], None] | None = None,
    ) -> GarbageReport:
        """Find, and with `dry_run=False` delete, blobs of the external media store that no thread names.

        Saves may go on meanwhile where the store can set blobs aside, as the bundled ones can.

        Args:
            dry_run: False to act.
            grace: Blobs put within this time stay.
            now: The time by which blobs are young; the machine's by default.
            saves_stopped: True says that nobody writes to the threads meanwhile: needed to act on a store that can
                only delete.
            progress: Called with what is going on and how many blobs were seen so far.

        Raises:
            MediaError: this saver has no external media store; media in Redis go with their threads.
            MediaStoreError: the store can only delete, and `saves_stopped` is not said; it cannot be swept; it failed.
        """
        return collect_garbage(
            self._swept_store(),
            self._live_refs,
            now=now or datetime.now(UTC),
            grace=grace,
            dry_run=dry_run,
            saves_stopped=saves_stopped,
            progress=progress,
        )

    async def acollect_media_garbage(
        self,
        *,
        dry_run: bool = True,
        grace: timedelta = DEFAULT_GRACE,
        now: datetime | None = None,
        saves_stopped: bool = False,
        progress: Callable[[str, int], None] | None = None,
    ) -> GarbageReport:
        """Find, and with `dry_run=False` delete, blobs that no thread names; see `collect_media_garbage`.

        Awaits the store's `alist()`, `acondemn()`, `arestore()`, `apurge()` and `adelete()`; what it has only in the
        blocking form is called on a thread, `progress` of it too.
        """
        return await acollect_garbage(
            self._swept_store(),
            self._alive_refs,
            now=now or datetime.now(UTC),
            grace=grace,
            dry_run=dry_run,
            saves_stopped=saves_stopped,
            progress=progress,
        )

    def _swept_store(self) -> Any:
        if self.media_store is None:
            raise MediaError("this saver has no external media store; media in Redis are deleted with their threads.")
        return self.media_store

    def _live_refs(self) -> Iterator[str]:
        read: set[str] = set()
        for _ in range(MAX_LISTINGS):
            for thread_id in (fresh := _unread(self._run(open_all(self._core)), read)):
                yield from _refs_of(self._run(programs.read_media(self._core, thread_id)))
            if not fresh:
                return

    async def _alive_refs(self) -> AsyncIterator[str]:
        read: set[str] = set()
        for _ in range(MAX_LISTINGS):
            for thread_id in (fresh := _unread(await self._arun(open_all(self._core)), read)):
                for ref in _refs_of(await self._arun(programs.read_media(self._core, thread_id))):
                    yield ref
            if not fresh:
                return


def _unread(threads: AllThreads, read: set[str]) -> list[str]:
    """Take the threads that were not read yet."""
    fresh = [thread_id for _, thread_id in threads.waiting if thread_id not in read]
    read.update(fresh)
    return fresh


def _head_of(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": checked_id("thread_id", thread_id), "checkpoint_ns": ""}}


def _report_of_head(thread_id: str, head: CheckpointTuple | None) -> PersistenceReport:
    if head is None:
        raise ThreadNotFoundError(f"there is no thread {thread_id!r} to measure.")
    return persistence_report(head.checkpoint["channel_values"])


def _refs_of(stored: programs.StoredMedia | None) -> Iterator[str]:
    """Yield what a thread names; raises where that cannot be told, for then nothing may be deleted."""
    for error in stored.corrupt.values() if stored is not None else ():
        raise error
    for record in stored.records.values() if stored is not None else ():
        if isinstance(record.get("ref"), str):
            yield record["ref"]


def _distinct(entries: list[MediaReport]) -> list[MediaReport]:
    """Drop entries that only say of a medium, without its message, what another says with it.

    A medium is often written before its message has an id, or in a task's write or an input.
    """
    named = {_medium(entry) for entry in entries if entry.message is not None}
    return [entry for entry in entries if entry.message is not None or _medium(entry) not in named]


def _medium(entry: MediaReport) -> tuple[Any, ...]:
    return entry.reason, entry.sha256, entry.mime_type, entry.size_bytes, entry.uri, entry.source


def _order(entry: MediaReport) -> tuple[Any, ...]:
    """Turn, message, then losses before what is only told."""
    place = (-1 if entry.turn is None else entry.turn, str(entry.message or ""))
    return (*place, entry.reason == "mime_mismatch", entry.reason, entry.sha256 or "", entry.uri or "")


def _with_turn(entry: MediaReport, places: MediaPlaces) -> MediaReport:
    if entry.turn is not None or not isinstance(entry.message, str):
        return entry
    return replace(entry, turn=places.turns.get(entry.message))


def _place(name: bytes, places: MediaPlaces) -> dict[str, Any]:
    message, turn = places.media.get(name, (None, None))
    return {"message": message, "turn": turn}


_UNKNOWN: Final = Lost("missing_blob", "the thread's media table does not know it")
"""Of a medium that a message names and that came from a thread which is no more."""


def _loss(lost: Lost, record: MediaRecord | None, place: dict[str, Any]) -> MediaReport:
    known = record or MediaRecord()
    reason: Any = lost.reason
    return MediaReport(
        reason=reason,
        mime_type=known.mime_type,
        size_bytes=known.size_bytes,
        sha256=known.sha256,
        detail=lost.detail,
        **place,
    )
