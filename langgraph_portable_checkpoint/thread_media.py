"""The media of threads: what `PortableRedisSaver` offers to look after them.

Reads and writes media tables and reports; renews provider uploads before a turn; finds blobs of a shared store that no
thread names any more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any, Final, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointTuple
from langgraph.checkpoint.base.id import uuid6

from .errors import MediaError, ThreadNotFoundError
from .media.garbage import DEFAULT_GRACE, GarbageReport, collect_garbage
from .media.hooks import MediaHooks
from .media.references import PersistenceReport, persistence_report
from .media.table import MediaRecord, MediaReport, MediaTable, Upload
from .media.uploads import Refreshed, UploadPlan, arefresh_uploads, plan_upload, refresh_uploads
from .storage.layout import checked_id
from .storage.programs import media_table as programs
from .storage.programs.media_table import StoredMedia

if TYPE_CHECKING:
    from .media.policy import MediaPolicy
    from .storage.effects import Program
    from .storage.programs.core import Core

T = TypeVar("T")
UPLOAD: Final = b"upload:"


@dataclass(frozen=True, slots=True)
class _Media:
    """A thread's media table, with the names that its records are stored under."""

    stored: StoredMedia
    names: Mapping[str, bytes]
    table: MediaTable

    def name_of(self, record: MediaRecord) -> bytes:
        """Find or make the name of a record."""
        keys = (*([record.sha256] if record.sha256 else []), *(upload.uri for upload in record.uploads))
        found = next((self.names[key] for key in keys if key in self.names), None)
        return found or UPLOAD + blake2b(keys[-1].encode(), digest_size=16).digest()


def _media(stored: StoredMedia, where: str) -> _Media:
    names: dict[str, bytes] = {}
    records = []
    for name, wire in stored.records.items():
        record = MediaRecord.from_wire(wire, where=where)
        records.append(record)
        for key in (record.sha256, *(upload.uri for upload in record.uploads)):
            if key is not None:
                names[key] = name
    return _Media(stored, names, MediaTable(records))


class MediaMethods:
    """Media tables, reports, uploads and garbage of a saver."""

    _core: Core
    media_policy: MediaPolicy
    media_hooks: MediaHooks
    media_store: Any

    def _run(self, program: Program[T]) -> T:
        raise NotImplementedError

    async def _arun(self, program: Program[T]) -> T:
        raise NotImplementedError

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        raise NotImplementedError

    def media_table(self, thread_id: str) -> MediaTable:
        """Read what is known of each medium of a thread: digest, type, size, store, uploads."""
        return self._media_of(thread_id).table

    def _media_of(self, thread_id: str) -> _Media:
        stored = self._run(programs.read_media(self._core, checked_id("thread_id", thread_id)))
        return _found(stored, thread_id)

    def media_report(self, thread_id: str, *, check: bool = True) -> list[MediaReport]:
        """Say which media of a thread were not kept as they were, or cannot be had now.

        Args:
            check: Read every blob and check it against its digest; else only what saves and reads have met counts.
        """
        media = self._media_of(thread_id)
        entries = [MediaReport.from_wire(wire, where=f"thread {thread_id!r}") for wire in media.stored.reports]
        lost = dict(media.stored.lost)
        if check:
            refs = [name for name in media.stored.records if not name.startswith(UPLOAD)]
            lost = dict(self._run(programs.check_media(self._core, thread_id, refs))) if refs else {}
        for ref, reason in lost.items():
            record = media.stored.records.get(ref, {})
            entries.append(
                MediaReport(
                    reason=reason,  # type: ignore[arg-type]  # one of the two that programs use
                    mime_type=record.get("mime_type"),
                    size_bytes=record.get("size_bytes"),
                    sha256=record.get("sha256"),
                )
            )
        return entries

    def record_upload(
        self,
        thread_id: str,
        uri: str,
        *,
        data: bytes | None = None,
        mime_type: str | None = None,
        provider: str | None = "google",
        account: str | None = None,
        uploaded_at: datetime | None = None,
        expires_at: datetime | None = None,
    ) -> MediaRecord:
        """Remember a file that was uploaded to a provider, with its bytes where the policy lets them be kept.

        Args:
            uri: What messages name.
            data: The bytes; without them the upload cannot be renewed.
            expires_at: When the provider drops it; None: unknown, it is asked for before use.
            account: A hint for the key that it is bound to.

        Raises:
            ThreadNotFoundError: the thread has no checkpoint yet.
        """
        media = self._media_of(thread_id)
        upload = Upload(
            uri=uri,
            provider=provider,
            account=account,
            uploaded_at=uploaded_at or datetime.now(UTC),
            expires_at=expires_at,
        )
        plan = plan_upload(
            media.table,
            upload,
            policy=self.media_policy,
            external=False,
            sha256=sha256(data).hexdigest() if data is not None else None,
            mime_type=mime_type,
            size_bytes=len(data) if data is not None else None,
        )
        self._store_upload(thread_id, media, plan, data)
        return plan.record

    def _store_upload(self, thread_id: str, media: _Media, plan: UploadPlan, data: bytes | None) -> None:
        record, blobs = plan.record, {}
        known = record.sha256 is not None and record.sha256 in media.names
        name = media.name_of(record)
        if plan.keep_bytes and data is not None and not known:
            ref = self._run(programs.ref_of(self._core, thread_id, data))
            name = UPLOAD + ref
            blobs = {name: data}
            record = replace(record, store="redis")
        reports = [plan.report.to_wire()] if plan.report else []
        program = programs.write_media(
            self._core, thread_id, records={name: record.to_wire()}, reports=reports, blobs=blobs
        )
        self._run(program)

    def refresh_uploads(
        self,
        thread_id: str,
        *,
        upload: Callable[[bytes, MediaRecord], Upload | str],
        check: Callable[[Upload], bool] | None = None,
        account: str | None = None,
        recheck: bool = False,
        now: datetime | None = None,
        channel: str = "messages",
    ) -> Refreshed:
        """Renew provider uploads that have expired, before a turn that would send them.

        Dead URIs whose bytes are known are uploaded again, and messages and table rewritten; others become
        placeholders.
        The rewritten messages are a new head (metadata source "update"); nothing older changes.

        Args:
            upload: Uploads bytes, returns the new URI or Upload.
            check: Asks the provider whether a URI without a recorded expiry still works.
            account: The account that the next request uses.
            recheck: Ask for every URI, whatever is recorded.
        """
        head, messages, media = self._before_refresh(thread_id, channel)
        refreshed = refresh_uploads(
            messages,
            media.table,
            now=now or datetime.now(UTC),
            fetch=lambda record: self._run(programs.fetch_blob(self._core, thread_id, media.name_of(record))),
            upload=upload,
            check=check,
            account=account,
            recheck=recheck,
            hooks=self.media_hooks,
        )
        self._after_refresh(thread_id, head, media, refreshed, channel)
        return refreshed

    async def arefresh_uploads(
        self,
        thread_id: str,
        *,
        upload: Callable[[bytes, MediaRecord], Upload | str | Awaitable[Upload | str]],
        check: Callable[[Upload], bool | Awaitable[bool]] | None = None,
        account: str | None = None,
        recheck: bool = False,
        now: datetime | None = None,
        channel: str = "messages",
    ) -> Refreshed:
        """Renew provider uploads; see `refresh_uploads`. The callables may be coroutine functions."""
        import asyncio

        head, messages, media = await asyncio.to_thread(self._before_refresh, thread_id, channel)
        refreshed = await arefresh_uploads(
            messages,
            media.table,
            now=now or datetime.now(UTC),
            fetch=lambda record: self._arun(programs.fetch_blob(self._core, thread_id, media.name_of(record))),
            upload=upload,
            check=check,
            account=account,
            recheck=recheck,
            hooks=self.media_hooks,
        )
        await asyncio.to_thread(self._after_refresh, thread_id, head, media, refreshed, channel)
        return refreshed

    def _before_refresh(self, thread_id: str, channel: str) -> tuple[CheckpointTuple, list[Any], _Media]:
        head = self.get_tuple({"configurable": {"thread_id": checked_id("thread_id", thread_id), "checkpoint_ns": ""}})
        if head is None:
            raise ThreadNotFoundError(f"there is no thread {thread_id!r} whose uploads could be refreshed.")
        value = head.checkpoint["channel_values"].get(channel)
        return head, list(value) if isinstance(value, list) else [], self._media_of(thread_id)

    def _after_refresh(
        self, thread_id: str, head: CheckpointTuple, media: _Media, refreshed: Refreshed, channel: str
    ) -> None:
        records = {media.name_of(record): record.to_wire() for record in refreshed.records}
        reports = [report.to_wire() for report in refreshed.reports]
        if refreshed.changed:
            put_amended(self, head, {channel: list(refreshed.values)})
        if records or reports:
            self._run(programs.write_media(self._core, thread_id, records=records, reports=reports))

    def persistence_report(self, state_or_thread_id: Any) -> PersistenceReport:
        """Measure what a save of a state writes, or a thread's head holds: bytes, messages, a record per media part."""
        if not isinstance(state_or_thread_id, str):
            return persistence_report(state_or_thread_id)
        thread_id = checked_id("thread_id", state_or_thread_id)
        head = self.get_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
        if head is None:
            raise ThreadNotFoundError(f"there is no thread {thread_id!r} to measure.")
        return persistence_report(head.checkpoint["channel_values"])

    def collect_media_garbage(
        self,
        *,
        dry_run: bool = True,
        grace: timedelta = DEFAULT_GRACE,
        now: datetime | None = None,
        progress: Callable[[str, int], None] | None = None,
    ) -> GarbageReport:
        """Find, and with `dry_run=False` delete, blobs of the external media store that no thread names.

        Raises:
            MediaError: this saver has no external media store; media in Redis go with their threads.
        """
        if self.media_store is None:
            raise MediaError("this saver has no external media store; media in Redis are deleted with their threads.")
        return collect_garbage(
            self.media_store,
            self._live_refs,
            now=now or datetime.now(UTC),
            grace=grace,
            dry_run=dry_run,
            progress=progress,
        )

    def _live_refs(self) -> Iterator[str]:
        from .storage.programs.listing import open_all

        threads = self._run(open_all(self._core))
        for _, thread_id in threads.waiting:
            stored = self._run(programs.read_media(self._core, thread_id))
            for record in stored.records.values() if stored is not None else ():
                if isinstance(record.get("ref"), str):
                    yield record["ref"]


def _found(stored: StoredMedia | None, thread_id: str) -> _Media:
    if stored is None:
        raise ThreadNotFoundError(f"there is no thread {thread_id!r}; media are known once it has a checkpoint.")
    return _media(stored, f"thread {thread_id!r}")


def put_amended(saver: Any, head: CheckpointTuple, changes: Mapping[str, Any]) -> RunnableConfig:
    """Put a new head that is a checkpoint with some channels changed, as update_state of a graph does.

    Pending writes of the old head stay with it.
    """
    checkpoint = head.checkpoint
    step = head.metadata.get("step", -1) + 1
    versions = dict(checkpoint["channel_versions"])
    top = max(versions.values(), default=None)
    new_versions = dict.fromkeys(changes, saver.get_next_version(top, None))
    amended: Checkpoint = {
        **checkpoint,
        "id": str(uuid6(clock_seq=step)),
        "ts": datetime.now(UTC).isoformat(),
        "channel_values": {**checkpoint["channel_values"], **changes},
        "channel_versions": {**versions, **new_versions},
        "updated_channels": sorted(changes),
    }
    config: RunnableConfig = saver.put(
        head.config,
        amended,
        {"source": "update", "step": step, "parents": head.metadata.get("parents", {})},
        new_versions,
    )
    return config
