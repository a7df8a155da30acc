"""Provider uploads of threads: remembered with their bytes, and renewed before a turn.

Owns how a thread's media table is read and written for that; `media.uploads` decides what becomes of each upload.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from .errors import ThreadNotFoundError
from .media.hooks import MediaHooks
from .media.table import MediaRecord, MediaReport, MediaTable, Upload
from .media.upload_checks import checked_bytes, checked_text, checked_upload
from .media.uploads import Refreshed, Renewal, arefresh_uploads, plan_upload, refresh_uploads
from .storage.layout import checked_id
from .storage.programs import media_table as programs
from .storage.programs.amend import amend
from .storage.programs.media_table import KeptBytes
from .storage.view import ThreadView
from .upload_channels import channel_of, elements_of, turns_of
from .upload_notes import MAX_NOTES, Noting, ThreadMedia, contended, fetch_medium, media_of, settle_uploads

if TYPE_CHECKING:
    from .media.policy import MediaPolicy
    from .storage.effects import Program
    from .storage.programs.core import Core

T = TypeVar("T")
ROOT: Final = {"checkpoint_ns": ""}


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

    def _read(self, thread_id: str) -> Program[ThreadMedia]:
        media = yield from self._read_what_can_be(thread_id)
        for error in media.corrupt.values():
            raise error
        return media

    def _read_what_can_be(self, thread_id: str) -> Program[ThreadMedia]:
        stored = yield from programs.read_media(self._core, checked_id("thread_id", thread_id))
        if stored is None:
            raise ThreadNotFoundError(f"there is no thread {thread_id!r}; media are known once it has a checkpoint.")
        return media_of(stored, f"thread {thread_id!r}")

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
            ConflictError: others wrote to the media table again and again meanwhile.
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
        self,
        thread_id: str,
        upload: Upload,
        data: bytes | None,
        mime_type: str | None,
        *,
        known_sha256: str | None = None,
    ) -> Program[MediaRecord]:
        """Remember an upload; `known_sha256`, in hex, of bytes that are not at hand."""
        data, mime_type = checked_bytes(data), checked_text("mime_type", mime_type)
        digest = sha256(data).hexdigest() if data is not None else known_sha256
        kept: KeptBytes | None = None
        for _ in range(MAX_NOTES):
            media = yield from self._read(thread_id)
            name = media.ref_of(bytes.fromhex(digest)) if digest is not None else None
            if name is not None and digest is not None:
                media = media.with_digest(name, digest)
            plan = plan_upload(
                media.table,
                upload,
                policy=self.media_policy,
                external=self._core.store is not None,
                sha256=digest,
                mime_type=mime_type,
                size_bytes=len(data) if data is not None else None,
            )
            noting = Noting(media, plan, name or media.name_of(plan.record))
            wanted = data is not None and noting.keeps_bytes and (kept is None or kept.name != name)
            if data is not None and wanted and not (yield from noting.has_sound_bytes(self._core, thread_id)):
                kept = yield from self._keep(media, noting.name, data, mime_type)
            noted = yield from noting.note(self._core, thread_id, kept)
            if noted.done and not noted.alone:
                yield from settle_uploads(self._core, thread_id)
            if noted.done:
                return noting.record(kept)
        raise contended(thread_id)

    def _keep(self, media: ThreadMedia, name: bytes, data: bytes, mime_type: str | None) -> Program[KeptBytes]:
        """Keep bytes; in the thread where bodies are sealed, since a shared store names blobs by what it holds.

        There as well in the place of damaged ones, which a read would find before those in a store.
        """
        in_thread = self._core.codec.sealer.sealed or name in media.stored.blobs
        store = None if in_thread else self._core.store
        view = cast(ThreadView, media.stored.view)
        return (yield from programs.keep_bytes(self._core, view, name, data, mime_type, store=store))

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
            MediaError: the thread has no channel of that name, or it holds a dict or object in the place of
                a list, or keeps changes only, as a DeltaChannel does.
            ThreadNotFoundError: there is no such thread.
        """
        head = _head(self.get_tuple({"configurable": {**ROOT, "thread_id": thread_id}}), thread_id)
        channel = channel_of(head, channel, conversations=self._core.conversation_channels)
        elements = elements_of(head, channel)
        media = self._run(self._read(thread_id))
        table = media.table
        made: list[MediaRecord] = []
        how = self._how(elements, made, now=now, account=account, recheck=recheck)

        def fetch(record: MediaRecord) -> Any:
            return self._run(fetch_medium(self._core, thread_id, media, record))

        try:
            refreshed = refresh_uploads(elements, table, upload=upload, check=check, fetch=fetch, **how)
        finally:  # an upload that fails takes none with it that was made before
            self._run(self._note(thread_id, head, media, made))
        self._run(self._amend(thread_id, head, channel, table, refreshed))
        self._run(self._tell(thread_id, _lasting(refreshed)))
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
        table = media.table
        made: list[MediaRecord] = []
        how = self._how(elements, made, now=now, account=account, recheck=recheck)

        def fetch(record: MediaRecord) -> Any:
            return self._arun(fetch_medium(self._core, thread_id, media, record))

        try:
            refreshed = await arefresh_uploads(elements, table, upload=upload, check=check, fetch=fetch, **how)
        finally:  # an upload that fails takes none with it that was made before
            await self._arun(self._note(thread_id, head, media, made))
        await self._arun(self._amend(thread_id, head, channel, table, refreshed))
        await self._arun(self._tell(thread_id, _lasting(refreshed)))
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
        self, thread_id: str, head: CheckpointTuple, media: ThreadMedia, made: Sequence[MediaRecord]
    ) -> Program[None]:
        """Write new uploads to the media table, before any message names them; nothing where the thread is gone."""
        for _ in range(MAX_NOTES if made else 0):
            records = media.renewed(made, self.media_policy)
            noted = yield from programs.amend_media(self._core, thread_id, media.stored, records=records)
            if noted.done and not noted.alone:
                yield from settle_uploads(self._core, thread_id)
            if noted.done:
                return
            stored = yield from programs.read_media(self._core, thread_id)
            if stored is None or (yield from programs.was_deleted(self._core, thread_id, head.checkpoint["id"])):
                return
            media = media_of(stored, f"thread {thread_id!r}")
        if made:
            raise contended(thread_id)

    def _tell(self, thread_id: str, reports: Sequence[MediaReport]) -> Program[None]:
        """Write to the media report."""
        told = [report.to_wire() for report in reports]
        if told:
            yield from programs.write_media(self._core, thread_id, records={}, reports=told)


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
