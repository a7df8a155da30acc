"""One thread's conversation as one JSON document, and back: what `PortableRedisSaver` offers for single threads.

The document is self-contained: media are in it, once each, whatever store has them. Moving whole threads, with all of
their checkpoints, is the business of `transfer`.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.base.id import uuid6

from .archived_losses import LostMedium, lacking_message, losses_of, lost_entries, record_of, report_of
from .archived_uploads import KeptUpload, kept_uploads, uploads_taken, uploads_told
from .envelope.archive import ArchivedMedia, ThreadArchive, archive_from_json, archive_to_json
from .envelope.entries import UNPROVABLE
from .envelope.model import MessageEnvelope
from .envelope.turn_record import iso_utc
from .errors import ConflictError, CorruptRecordError, MediaMissingError, ThreadExistsError, ThreadNotFoundError
from .storage.layout import checked_id
from .storage.programs.core import MAX_ATTEMPTS
from .storage.programs.media_places import media_places
from .storage.programs.media_table import UPLOAD, StoredMedia, amend_media, read_media
from .storage.programs.turns import versions
from .storage.programs.whole_thread import WholeConversation, retell_turns, whole_conversation

if TYPE_CHECKING:
    from .storage.effects import Program
    from .storage.programs.core import Core

T = TypeVar("T")
MIN_MEDIA_BYTES: Final = 2048
"""Smaller media stay in their blocks."""


class ArchiveMethods:
    """`to_json` and `from_json` of a saver."""

    _core: Core

    def _run(self, program: Program[T]) -> T:
        raise NotImplementedError

    async def _arun(self, program: Program[T]) -> T:
        raise NotImplementedError

    def to_json(self, thread_id: str, path: str | os.PathLike[str] | None = None, *, strict: bool = False) -> str:
        """Write the conversation at a thread's head as one JSON document, media and recorded uploads included.

        Where a medium cannot be read, its part holds no bytes, and the document's `lost` says what is missing and why.

        Args:
            path: Also write it to this file, whole or not at all.
            strict: Raise where a medium cannot be read.

        Returns:
            The JSON text.

        Raises:
            ThreadNotFoundError: there is no such thread.
            MediaMissingError: `strict`, and a medium cannot be read; nothing was written.
            OSError: the file cannot be written; an older one of that name is as it was.
        """
        found = self._run(self._whole(thread_id))
        return archive_to_json(self._archive(thread_id, found, strict=strict), path=path)

    async def ato_json(
        self, thread_id: str, path: str | os.PathLike[str] | None = None, *, strict: bool = False
    ) -> str:
        """Write a thread's conversation as JSON; see `to_json`."""
        found = await self._arun(self._whole(thread_id))
        return archive_to_json(self._archive(thread_id, found, strict=strict), path=path)

    def _whole(self, thread_id: str) -> Program[WholeConversation | None]:
        uploads_of = partial(uploads_told, where=f"thread {thread_id!r}")
        return (yield from whole_conversation(self._core, checked_id("thread_id", thread_id), uploads_of=uploads_of))

    def _archive(self, thread_id: str, found: WholeConversation | None, *, strict: bool) -> ThreadArchive:
        if found is None:
            raise ThreadNotFoundError(f"there is no thread {thread_id!r} to write as JSON.")
        lost = lost_entries(found, sealed=self._core.codec.sealer.sealed)
        if strict and lost:
            raise _missing(thread_id, lost)
        turns, envelopes = found.turns, found.envelopes
        media: dict[str, ArchivedMedia] = {}
        inline = any(_looks_taken_out(block) for envelope in envelopes.values() for block in envelope["content"])
        if not inline:
            envelopes = {ref: _each_block(envelope, _taker(media)) for ref, envelope in envelopes.items()}
        uploads = tuple(uploads_taken(found, media))
        package, version = versions()[1]
        return ThreadArchive(
            thread_id=thread_id,
            saved_at=iso_utc(datetime.fromtimestamp(self._core.now_ms() / 1000, UTC)),
            writer={"package": package, "version": version},
            turns=tuple(turns),
            messages=envelopes,
            media=tuple(media.values()),
            inline=inline,
            uploads=uploads,
            lost=tuple(lost),
        )

    def from_json(self, source: str | bytes | os.PathLike[str], *, thread_id: str | None = None) -> ThreadArchive:
        """Read what `to_json` wrote and, where a thread id is given, make a new thread of it.

        Args:
            source: JSON text, its UTF-8 bytes, or a path. A str that starts with `{` or `[` is text.
            thread_id: The thread to make: one checkpoint that holds the conversation, from which a graph with the same
                channel goes on. The messages are exactly those that were written, and the turns keep their times,
                statuses, errors and interrupts. Uploads are recorded; media that the archive lacks are in the
                thread's `media_report`, and a text stands for each, as in a read of the thread that lost it.

        Raises:
            FutureVersionError, CorruptRecordError: not an archive that this version reads; nothing was stored.
            UnserializableValueError, MediaError: this saver cannot keep a part of it; no thread is left.
            ThreadExistsError: the thread is there.
        """
        archive = archive_from_json(source)
        if thread_id is not None:
            config = _config(checked_id("thread_id", thread_id))
            saver = cast(Any, self)
            _refuse_existing(thread_id, saver.get_tuple(config))
            retold = self._retold(thread_id, archive)
            saver.put(config, *self._first_put(thread_id, archive))
            try:
                self._run(retold)
            except BaseException:
                saver.delete_thread(thread_id)  # it would be taken for the whole conversation
                raise
        return archive

    async def afrom_json(
        self, source: str | bytes | os.PathLike[str], *, thread_id: str | None = None
    ) -> ThreadArchive:
        """Read a thread's conversation back; see `from_json`."""
        archive = archive_from_json(source)
        if thread_id is not None:
            config = _config(checked_id("thread_id", thread_id))
            saver = cast(Any, self)
            _refuse_existing(thread_id, await saver.aget_tuple(config))
            retold = self._retold(thread_id, archive)
            await saver.aput(config, *self._first_put(thread_id, archive))
            try:
                await self._arun(retold)
            except BaseException:
                await saver.adelete_thread(thread_id)  # it would be taken for the whole conversation
                raise
        return archive

    def _retold(self, thread_id: str, archive: ThreadArchive) -> Program[None]:
        """Check what an archive knows beyond messages; the program writes it to the thread that was made."""
        return self._retell(thread_id, archive, kept_uploads(archive), losses_of(archive))

    def _retell(
        self,
        thread_id: str,
        archive: ThreadArchive,
        uploads: Sequence[KeptUpload],
        lost: Sequence[LostMedium],
    ) -> Program[None]:
        yield from retell_turns(self._core, thread_id, [turn.record for turn in archive.turns])
        saver = cast(Any, self)
        for upload, data, mime_type, digest in uploads:
            yield from saver._record(thread_id, upload, data, mime_type, known_sha256=digest)
        if lost:
            yield from self._note_losses(thread_id, archive, lost)

    def _note_losses(self, thread_id: str, archive: ThreadArchive, lost: Sequence[LostMedium]) -> Program[None]:
        """Say of media that the thread names where they were, and report the others."""
        named = (yield from media_places(self._core, thread_id)).media
        for _ in range(MAX_ATTEMPTS):
            stored = yield from read_media(self._core, thread_id)
            if stored is None or (yield from self._noted(thread_id, archive, lost, named, stored)):
                return
        raise ConflictError(f"thread {thread_id!r} was written {MAX_ATTEMPTS} times while it was made. Try again.")

    def _noted(
        self, thread_id: str, archive: ThreadArchive, lost: Sequence[LostMedium], named: Iterable[bytes],
        stored: StoredMedia,
    ) -> Program[bool]:  # fmt: skip
        known, sealed = stored.records, self._core.codec.sealer.sealed
        there = {*named, *(name.removeprefix(UPLOAD) for name in known if name.startswith(UPLOAD))}
        absent = [one for one in lost if one.name in there and known.get(one.name, {}).get("store") is None]
        records = {one.name: record_of(one, known.get(one.name, {}), sealed=sealed) for one in absent}
        where = f"the archive of thread {archive.thread_id!r}"
        reports = [report_of(one, where=where) for one in lost if one.name not in there]
        return (yield from amend_media(self._core, thread_id, stored, records=records, reports=reports)).done

    def _first_put(self, thread_id: str, archive: ThreadArchive) -> tuple[Checkpoint, dict[str, Any], dict[str, int]]:
        """Return what `put` takes to make a thread of an archive."""
        channel = next((turn.record["channel"] for turn in archive.turns if "channel" in turn.record), "messages")
        messages = list(self._messages(thread_id, archive))
        checkpoint: Checkpoint = {
            "v": 4,
            "id": str(uuid6(clock_seq=-1)),
            "ts": datetime.fromtimestamp(self._core.now_ms() / 1000, UTC).isoformat(),
            "channel_values": {channel: messages},
            "channel_versions": {channel: 1},
            "versions_seen": {},
            "updated_channels": [channel],
        }
        return checkpoint, {"source": "update", "step": 0, "parents": {}}, {channel: 1}

    def _messages(self, thread_id: str, archive: ThreadArchive) -> Iterator[Any]:
        put_back = _putter({} if archive.inline else {blob.sha256: blob.data for blob in archive.media})
        lost: dict[str | None, list[LostMedium]] = {}
        for one in losses_of(archive):
            lost.setdefault(one.message, []).append(one)
        home = thread_id.encode()
        for ref, message_id, *_ in (entry for turn in archive.turns for entry in turn.entries):
            try:
                envelope = _each_block(archive.messages[ref], put_back)
                lacks = lost.get(ref.hex(), ())
                yield lacking_message(self._core.codec, envelope, message_id, lost=lacks, home=home)
            except UNPROVABLE as error:
                where = f"the archive of thread {archive.thread_id!r}"
                reason = f"its envelope does not fit together ({error!r:.80})"
                fix = "Nothing was imported. Use another copy of the archive."
                raise CorruptRecordError(f"message {ref.hex()}", where=where, reason=reason, fix=fix) from error


def _missing(thread_id: str, lost: Sequence[Mapping[str, Any]]) -> MediaMissingError:
    first = lost[0]
    return MediaMissingError(
        f"{len(lost)} media of thread {thread_id!r} cannot be read, so no whole archive can be written. The first is "
        f"{first.get('mime_type') or 'a medium'} of message {first.get('message')!r}: {first['detail']}. Make the "
        "media store readable, or leave strict out to write the rest."
    )


def _config(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}


def _refuse_existing(thread_id: str, found: object) -> None:
    if found is not None:
        raise ThreadExistsError(f"thread {thread_id!r} already exists. Choose another id, or delete it first.")


_ChangeBlock = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def _each_block(envelope: MessageEnvelope, change: _ChangeBlock) -> MessageEnvelope:
    content: Sequence[Any] = envelope["content"]
    return cast(MessageEnvelope, {**envelope, "content": [change(block) for block in content]})


def _looks_taken_out(block: Mapping[str, Any]) -> bool:
    """Tell whether a block as it is would be taken for one whose bytes stand elsewhere."""
    media = block.get("media")
    return block.get("base64") == "" and isinstance(media, dict) and "sha256" in media


def _taker(media: dict[str, ArchivedMedia]) -> _ChangeBlock:
    """Return what takes base64 out of a block into `media`, if the same text can be made of the bytes again."""

    def take(block: Mapping[str, Any]) -> Mapping[str, Any]:
        data = _canonical_bytes(block.get("base64"))
        if data is None or "media" in block:
            return block
        mime_type = block.get("mime_type")
        blob = ArchivedMedia(
            sha256(data).hexdigest(), mime_type if isinstance(mime_type, str) else None, len(data), data
        )
        media.setdefault(blob.sha256, blob)
        about = {"sha256": blob.sha256, "mime_type": blob.mime_type, "size_bytes": blob.size_bytes}
        return {**block, "base64": "", "media": about}

    return take


def _canonical_bytes(text: object) -> bytes | None:
    if not isinstance(text, str) or len(text) < MIN_MEDIA_BYTES:
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data).decode() == text else None


def _putter(blobs: Mapping[str, bytes | None]) -> _ChangeBlock:
    """Return what puts bytes back into a block; one whose bytes the archive only names stays without."""

    def put_back(block: Mapping[str, Any]) -> Mapping[str, Any]:
        if not _looks_taken_out(block) or block["media"]["sha256"] not in blobs:
            return block
        text = base64.b64encode(blobs[block["media"]["sha256"]] or b"").decode()
        return {key: text if key == "base64" else value for key, value in block.items() if key != "media"}

    return put_back
