"""Provider uploads of threads: remembered with their bytes, and renewed before a turn.

Owns how a thread's media table is read and written for that; `media.uploads` decides what becomes of each upload.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any, Final, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from .errors import CorruptRecordError, ThreadNotFoundError
from .media.hooks import MediaHooks
from .media.table import MediaRecord, MediaReport, MediaTable, Upload
from .media.upload_checks import checked_bytes, checked_text, checked_upload
from .media.uploads import Refreshed, Renewal, arefresh_uploads, plan_upload, refresh_uploads
from .storage.layout import checked_id
from .storage.programs import media_table as programs
from .storage.programs.amend import amend
from .storage.programs.media_table import UPLOAD, StoredMedia
from .upload_channels import channel_of, elements_of, turns_of

if TYPE_CHECKING:
    from .media.policy import MediaPolicy
    from .storage.effects import Program
    from .storage.programs.core import Core

T = TypeVar("T")
ROOT: Final = {"checkpoint_ns": ""}


@dataclass(frozen=True, slots=True)
class _Media:
    """A thread's media table, with the names that its records are stored under."""

    stored: StoredMedia
    names: Mapping[str, bytes]
    records: Mapping[bytes, MediaRecord]
    corrupt: Mapping[bytes, CorruptRecordError]

    @property
    def table(self) -> MediaTable:
        return MediaTable(self.records.values())

    def may_lack(self, name: bytes) -> bool:
        """Tell whether bytes that were kept under a name may be gone: no call is made for those in a store."""
        record = self.records.get(name)
        if record is None or record.store is None:
            return False
        return record.store != "redis" or name not in self.stored.blobs

    def name_of(self, record: MediaRecord) -> bytes:
        """Find or make the name of a record."""
        keys = (*([record.sha256] if record.sha256 else []), *(upload.uri for upload in record.uploads))
        found = next((self.names[key] for key in keys if key in self.names), None)
        return found or UPLOAD + blake2b(keys[-1].encode(), digest_size=16).digest()


def _media(stored: StoredMedia, where: str) -> _Media:
    records: dict[bytes, MediaRecord] = {}
    corrupt = dict(stored.corrupt)
    for name, wire in stored.records.items():
        try:
            records[name] = MediaRecord.from_wire(wire, where=where)
        except CorruptRecordError as error:
            corrupt[name] = error
    names = {
        key: name
        for name, record in records.items()
        for key in (record.sha256, *(upload.uri for upload in record.uploads))
        if key is not None
    }
    return _Media(stored, names, records, corrupt)


class UploadMethods:
    """Uploads of a saver."""

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

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        raise NotImplementedError

    def _token(self, thread_id: str) -> bytes:
        raise NotImplementedError

    def _read(self, thread_id: str) -> Program[_Media]:
        media = yield from self._read_what_can_be(thread_id)
        for error in media.corrupt.values():
            raise error
        return media

    def _read_what_can_be(self, thread_id: str) -> Program[_Media]:
        stored = yield from programs.read_media(self._core, checked_id("thread_id", thread_id))
        if stored is None:
            raise ThreadNotFoundError(f"there is no thread {thread_id!r}; media are known once it has a checkpoint.")
        return _media(stored, f"thread {thread_id!r}")

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
            data: The bytes; without them the upload cannot be renewed. They go to the external media store, if there
                is one, else they stay with the thread, up to the policy's `max_inline_bytes`. Bytes that were kept
                before and are gone are kept again.
            expires_at: When the provider drops it; None: unknown, it is asked for before use.
            account: A hint for the key that it is bound to.

        Raises:
            InvalidUploadError: an argument is not of its type, is empty, or is a time without a zone.
            MediaTooLargeError: the bytes are more than the policy's `max_bytes`; nothing was stored.
            ThreadNotFoundError: the thread has no checkpoint yet.
        """
        upload = _upload(uri, provider, account, uploaded_at, expires_at)
        return self._run(self._record(thread_id, upload, data, mime_type))

    async def arecord_upload(
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
        """Remember a file that was uploaded to a provider; see `record_upload`."""
        upload = _upload(uri, provider, account, uploaded_at, expires_at)
        return await self._arun(self._record(thread_id, upload, data, mime_type))

    def _record(
        self, thread_id: str, upload: Upload, data: bytes | None, mime_type: str | None
    ) -> Program[MediaRecord]:
        data, mime_type = checked_bytes(data), checked_text("mime_type", mime_type)
        media = yield from self._read(thread_id)
        plan = plan_upload(
            media.table,
            upload,
            policy=self.media_policy,
            external=self._core.store is not None,
            sha256=sha256(data).hexdigest() if data is not None else None,
            mime_type=mime_type,
            size_bytes=len(data) if data is not None else None,
        )
        record = plan.record
        # the URI was that of other bytes, whose record keeps its name
        name = media.name_of(record if plan.without is None else replace(record, uploads=()))
        if plan.report is not None and plan.report.reason == "stripped":
            data = None
        blobs: Mapping[bytes, bytes] = {}
        is_new = plan.keep_bytes and record.sha256 not in media.names
        if data is not None and (is_new or media.may_lack(name)):
            kept = yield from programs.keep_bytes(self._core, thread_id, data, mime_type)
            name = kept.name if is_new else name
            record, blobs = (
                replace(record, store=kept.store, ref=kept.ref),
                dict.fromkeys([name] * len(kept.blobs), data),
            )
        reports = [plan.report.to_wire()] if plan.report else []
        before = {} if plan.without is None else {media.name_of(plan.without): plan.without.to_wire()}
        yield from programs.write_media(
            self._core, thread_id, records={**before, name: record.to_wire()}, reports=reports, blobs=blobs
        )
        return record

    def refresh_uploads(
        self,
        thread_id: str,
        *,
        upload: Callable[[bytes, MediaRecord], Upload | str],
        check: Callable[[Upload], bool] | None = None,
        account: str | None = None,
        recheck: bool = False,
        now: datetime | None = None,
        channel: str | None = None,
    ) -> Refreshed:
        """Renew provider uploads that have expired, before a turn that would send them.

        Dead URIs whose bytes are known are uploaded again, and messages and table rewritten. Those whose bytes were
        never kept become placeholders; those whose bytes cannot be had just then stay, and are reported with the cause.
        The messages are rewritten in the head, in place: what waits there goes on as if nothing had been done, and
        nothing older changes.

        Args:
            upload: Uploads bytes, returns the new URI or Upload.
            check: Asks the provider whether a URI without a recorded expiry still works.
            account: The account that the next request uses.
            recheck: Ask for every URI, whatever is recorded.
            channel: Which channel to look into; by default the one that holds the conversation, as for `turns()`.

        Raises:
            InvalidUploadError: a callable answered something else than it should. The messages are left as they are;
                uploads made before are remembered. What `upload` or `check` raise passes through, and leaves the same.
            ConflictError: the thread went on meanwhile. The new uploads are remembered, the messages left as they are.
            MediaError: the thread has no channel of that name, or it keeps changes only, as a DeltaChannel does.
            ThreadNotFoundError: there is no such thread.
        """
        head = _head(self.get_tuple({"configurable": {**ROOT, "thread_id": thread_id}}), thread_id)
        channel = channel_of(head, channel, conversations=self._core.conversation_channels)
        elements = elements_of(head, channel)
        media = self._run(self._read(thread_id))
        made: list[MediaRecord] = []
        how = self._how(elements, made, now=now, account=account, recheck=recheck)

        def fetch(record: MediaRecord) -> Any:
            return self._run(programs.fetch_blob(self._core, thread_id, media.name_of(record)))

        try:
            refreshed = refresh_uploads(elements, media.table, upload=upload, check=check, fetch=fetch, **how)
        finally:  # an upload that fails takes none with it that was made before
            self._run(self._note(thread_id, media, made))
        self._run(self._amend(thread_id, head, channel, media.table, refreshed))
        self._run(self._note(thread_id, media, reports=_lasting(refreshed)))
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
        channel: str | None = None,
    ) -> Refreshed:
        """Renew provider uploads; see `refresh_uploads`. The callables may be coroutine functions."""
        head = _head(await self.aget_tuple({"configurable": {**ROOT, "thread_id": thread_id}}), thread_id)
        channel = channel_of(head, channel, conversations=self._core.conversation_channels)
        elements = elements_of(head, channel)
        media = await self._arun(self._read(thread_id))
        made: list[MediaRecord] = []
        how = self._how(elements, made, now=now, account=account, recheck=recheck)

        def fetch(record: MediaRecord) -> Any:
            return self._arun(programs.fetch_blob(self._core, thread_id, media.name_of(record)))

        try:
            refreshed = await arefresh_uploads(elements, media.table, upload=upload, check=check, fetch=fetch, **how)
        finally:  # an upload that fails takes none with it that was made before
            await self._arun(self._note(thread_id, media, made))
        await self._arun(self._amend(thread_id, head, channel, media.table, refreshed))
        await self._arun(self._note(thread_id, media, reports=_lasting(refreshed)))
        return refreshed

    def _how(
        self, elements: Sequence[Any], made: list[MediaRecord], *, now: datetime | None, **asked: Any
    ) -> dict[str, Any]:
        """Return what both ways to refresh take beside their callables; `asked` as the caller gave it."""
        moment = datetime.now(UTC) if now is None else now
        return {**asked, "now": moment, "turns": turns_of(elements), "made": made, "hooks": self.media_hooks}

    def _amend(
        self, thread_id: str, head: CheckpointTuple, channel: str | None, table: MediaTable, refreshed: Refreshed
    ) -> Program[None]:
        """Rewrite what changed in the head, in place: what waits there goes on as if nothing had been done."""
        if channel is not None and refreshed.changed:
            yield from amend(
                self._core,
                thread_id,
                head.checkpoint["id"],
                channel,
                positions=refreshed.changed,
                renewal=Renewal(refreshed.successors, table),
                token=self._token(thread_id),
            )

    def _note(
        self, thread_id: str, media: _Media, records: Iterable[MediaRecord] = (), reports: Iterable[MediaReport] = ()
    ) -> Program[None]:
        """Write to the media table and report. A new URI is noted before any message names it."""
        named = {media.name_of(record): record.to_wire() for record in records}
        told = [report.to_wire() for report in reports]
        if named or told:
            yield from programs.write_media(self._core, thread_id, records=named, reports=told)


def _upload(
    uri: str,
    provider: str | None,
    account: str | None,
    uploaded_at: datetime | None,
    expires_at: datetime | None,
) -> Upload:
    at = datetime.now(UTC) if uploaded_at is None else uploaded_at
    made = Upload(uri=uri, provider=provider, account=account, uploaded_at=at, expires_at=expires_at)
    return checked_upload(made)


def _head(head: CheckpointTuple | None, thread_id: str) -> CheckpointTuple:
    if head is None:
        raise ThreadNotFoundError(f"there is no thread {thread_id!r} whose uploads could be refreshed.")
    return head


def _lasting(refreshed: Refreshed) -> list[MediaReport]:
    """List what stays true: bytes that cannot be had now may be had later, and each report looks for them anew."""
    return [report for report in refreshed.reports if report.reason.startswith("expired")]
