"""What an archive says of media that could not be read, and what a thread that is made of it holds in their places.

An archive has parts without bytes there. A thread has what a read of the first thread gave: a text, in a shape that the
place takes, which stands for the medium. So the new thread lacks the medium as the first one does, and whatever tells
of media that cannot be had tells of it: reads, reports, exports.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

from langchain_core.messages import BaseMessage

from .archived_uploads import ABOUT, NOTHING_IMPORTED, check_storable
from .envelope.archive import ThreadArchive, named_media
from .envelope.model import MessageEnvelope
from .errors import CorruptRecordError
from .media.empty_places import empty_places, is_empty_at
from .media.holes import Hole, Missing
from .media.policy import unavailable_text
from .media.table import MediaReport
from .media.walk import fill
from .storage.codec import ValueCodec
from .storage.decoder import keep_objects
from .storage.items import DIGEST_BYTES
from .storage.programs.carrying import IN_THREAD
from .storage.programs.whole_thread import WholeConversation

_REPORTED: Final = ("reason", "mime_type", "size_bytes", "message", "turn", "sha256", "uri", "detail")
_TEXTS: Final = ("mime_type", "sha256", "store", "store_ref", "medium")


@dataclass(frozen=True, slots=True)
class LostMedium:
    """A medium that an archive lacks in one message, or for one upload.

    Attributes:
        name: What the new thread calls it.
        told: What the archive says of it.
        holes: Where it stood in the message; archives of before do not say.
    """

    name: bytes
    told: Mapping[str, Any]
    holes: tuple[Hole, ...] = ()

    @property
    def message(self) -> str | None:
        """The hex ref of the message; None for an upload."""
        ref = self.told.get("ref")
        return ref if isinstance(ref, str) else None


def lost_entries(found: WholeConversation, *, sealed: bool) -> list[dict[str, Any]]:
    """List media that could not be read: for each message that lacks it, and for each upload.

    Args:
        sealed: Whether the thread's digests are of encrypted bytes, which tell a reader of the archive nothing.
    """
    ids = {entry[0]: (entry[1], turn.record["turn"]) for turn in found.turns for entry in turn.entries}
    entries = []
    for ref, holes in found.lost_in.items():
        message, turn = ids[ref]
        place = {"ref": ref.hex(), "turn": turn, **({} if message is None else {"message": message})}
        for name in dict.fromkeys(hole.ref for hole in holes):
            places = [_to_wire(hole) for hole in holes if hole.ref == name]
            entries.append({**_loss(found, name, sealed=sealed), **place, "medium": name.hex(), "places": places})
    for name, record, _ in found.uploads:
        if name is not None and name in found.lost:
            entries += [{**_loss(found, name, sealed=sealed), "uri": one.get("uri")} for one in record["uploads"]]
    return entries


def _loss(found: WholeConversation, name: bytes, *, sealed: bool) -> dict[str, Any]:
    one = found.lost[name]
    known = ABOUT if sealed else (*ABOUT, "sha256", "store")
    kept = {} if sealed or "ref" not in one.record else {"store_ref": one.record["ref"]}
    told = {field: one.record[field] for field in known if field in one.record}
    return {"reason": one.reason, **told, **kept, "detail": one.cause}


def _to_wire(hole: Hole) -> list[Any]:
    """Spell a hole for JSON, without what stands elsewhere in its entry."""
    _, path, _, *rest = hole.to_wire(b"")
    return [path, *rest]


def losses_of(archive: ThreadArchive) -> list[LostMedium]:
    """Read what an archive lacks, and what it leaves to a store.

    Raises:
        CorruptRecordError: what it says of that is not what it should be.
    """
    where = f"the archive of thread {archive.thread_id!r}"
    return [_read(told, where) for told in (*archive.lost, *_named_only(archive))]


def _read(told: Mapping[str, Any], where: str) -> LostMedium:
    MediaReport.from_wire(_report(told), where=where)
    wrong = [key for key in _TEXTS if not isinstance(told.get(key), str | None)]
    places = told.get("places", [])
    if wrong or not isinstance(places, list) or not all(isinstance(place, list) and place for place in places):
        reason = f"it says of what it lacks {', '.join(wrong or ['places'])} of a wrong type"
        raise CorruptRecordError("thread archive", where=where, reason=reason, fix=NOTHING_IMPORTED)
    check_storable({key: told[key] for key in (*_REPORTED, *_TEXTS, "places") if key in told}, where)
    name = _name(told)
    holes = tuple(Hole.from_wire(["media", path, name, *rest], where=where) for path, *rest in places)
    return LostMedium(name, told, holes)


def _report(told: Mapping[str, Any]) -> dict[str, Any]:
    return {key: told[key] for key in _REPORTED if key in told}


def _name(told: Mapping[str, Any]) -> bytes:
    """Return what a thread that is not sealed calls a medium; what has no digest gets a name that no bytes have."""
    for digest in (told.get("medium"), told.get("sha256")):
        try:
            name = bytes.fromhex(digest or "")[:DIGEST_BYTES]
        except ValueError:
            continue
        if len(name) == DIGEST_BYTES:
            return name
    return sha256(repr(sorted(told.items(), key=str)).encode("utf-8", "backslashreplace")).digest()[:DIGEST_BYTES]


def _named_only(archive: ThreadArchive) -> Iterator[Mapping[str, Any]]:
    """List blocks whose bytes an archive names and leaves to a store."""
    named = {blob.sha256: blob for blob in archive.media if blob.data is None}
    for turn in archive.turns if named else ():
        for ref, message, *_ in turn.entries:
            for digest in named_media(archive.messages[ref]["content"]):
                if (blob := named.get(digest)) is not None:
                    place = {"ref": ref.hex(), "message": message, "turn": turn.record["turn"]}
                    about = {"mime_type": blob.mime_type, "size_bytes": blob.size_bytes, "sha256": blob.sha256}
                    detail = f"the archive leaves it to a store, {blob.store!r}"
                    kept = {"store": blob.store, "store_ref": blob.ref, "detail": detail}
                    yield {"reason": "missing_blob", **about, **place, **kept}


def lacking_message(
    codec: ValueCodec, envelope: MessageEnvelope, message_id: str | None, *, lost: Sequence[LostMedium], home: bytes
) -> BaseMessage:
    """Rebuild a message; where it holds no bytes of media, texts stand for them.

    Args:
        codec: Of the saver.
        envelope: The message as the archive has it.
        message_id: Its id.
        lost: What it lacks.
        home: The thread that is made.
    """
    if not lost:
        message: BaseMessage = codec.load_message(envelope, message_id)
        return message
    module, name, fields = codec.message_fields(envelope, message_id)
    fields = copy.deepcopy(fields)  # what was rebuilt shares values with the archive
    standing = list(_standing(fields, lost))
    filled = fill(fields, [hole for hole, _ in standing], _answering(standing, home))
    made: BaseMessage = codec.load_fields(module, name, filled)
    keep_objects(made, filled)
    return made


def _answering(standing: Sequence[tuple[Hole, bool]], home: bytes) -> Any:
    known = {hole.path for hole, is_known in standing if is_known}

    def answer(hole: Hole) -> Missing:
        if hole.path in known:
            return Missing(unavailable_text(hole.mime_type, hole.size_bytes), home)
        return Missing(unavailable_text(hole.mime_type, None))

    return answer


def _standing(fields: Mapping[str, Any], lost: Sequence[LostMedium]) -> Iterator[tuple[Hole, bool]]:
    """List the places of a message's media without bytes, and whether it is known of each which medium it is."""
    told = [hole for one in lost for hole in one.holes]
    if told:
        yield from ((hole, True) for hole in told if is_empty_at(fields, hole))
        return
    found = empty_places(fields)
    media = {one.name: one for one in lost}
    if len(media) == 1:
        media_of = list(media.values()) * len(found)
    else:
        media_of = list(media.values()) if len(media) == len(found) else []
    if not media_of:
        yield from ((hole, False) for hole in found)
    for hole, one in zip(found, media_of, strict=False):
        size_bytes = one.told.get("size_bytes") or 0
        mime_type = one.told.get("mime_type") or hole.mime_type
        yield replace(hole, ref=one.name, mime_type=mime_type, size_bytes=size_bytes), True


def record_of(one: LostMedium, known: Mapping[str, Any], *, sealed: bool) -> Mapping[str, Any]:
    """Say for a media table where the bytes of a medium were, so that it is asked for there.

    Args:
        one: The medium.
        known: The record that the new thread has of it.
        sealed: Whether the new thread is sealed: then no bytes of another thread are its own.
    """
    told = one.told
    about = {key: told[key] for key in ABOUT if told.get(key) is not None} | dict(known)
    if sealed or not isinstance(told.get("sha256"), str):
        return {**about, "store": IN_THREAD}
    about["sha256"] = told["sha256"]
    if told.get("store") in (None, IN_THREAD) or not isinstance(told.get("store_ref"), str):
        return {**about, "store": IN_THREAD}
    return {**about, "store": told["store"], "ref": told["store_ref"]}


def report_of(one: LostMedium, *, where: str) -> Mapping[str, Any]:
    """Spell a medium that the new thread cannot name as an entry of its media report."""
    return MediaReport.from_wire(_report(one.told), where=where).to_wire()
