"""A thread's conversation as one value: all turns, and every message exactly as the framework's own.

What an archive is made of. Media are put back into the messages, so nothing refers to the server any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage
from ormsgpack import MsgpackEncodeError

from ...envelope.exact import to_envelope
from ...envelope.model import MessageEnvelope
from ...envelope.read import read_message
from ...envelope.turn_log import StoredTurn
from ...envelope.turn_model import TurnRecord
from ...envelope.turn_wire import dump_turn
from ..codec import BLOB_WIRE, id_to_wire
from ..decoder import Decoder
from ..effects import Batch, Command, Program
from ..items import MESSAGE
from ..named_media import without_names
from ..opened import id_of
from ..sequences import Entry
from .anew import beginning_anew
from .carrying import LostMedium, unreadable_media
from .core import Core, OtherThreadError, fetch_media
from .interrupts import told_again
from .media_table import StoredMedia, read_media
from .reading import fetch, thread_info, turns_page
from .turns import read_log, seal, turn_field

ALL_TURNS: Final = 2**31
IN_MEMORY_ONLY: Final = ("raw_content",)


@dataclass(frozen=True, slots=True)
class WholeConversation:
    """What an archive is made of.

    Attributes:
        envelopes: By ref, the messages of the turns, media in place.
        lost: By name, the media of messages or uploads that could not be read.
        lost_in: Ref of a message -> the holes of its media that could not be read: there it holds no bytes.
        uploads: Media with uploads, as media table records in wire form, with the bytes where there are some, and the
            name of these where somebody keeps them.
    """

    turns: list[StoredTurn]
    envelopes: dict[bytes, MessageEnvelope]
    lost: Mapping[bytes, LostMedium]
    lost_in: Mapping[bytes, Sequence[Any]]
    uploads: Sequence[tuple[bytes | None, Mapping[str, Any], bytes | None]]


UploadsOf = Callable[[StoredMedia], Sequence[tuple[bytes | None, Mapping[str, Any]]]]
"""Says which media of a media table have uploads: by the name of their bytes, in wire form."""


@beginning_anew
def whole_conversation(core: Core, thread_id: str, *, uploads_of: UploadsOf) -> Program[WholeConversation | None]:
    """Read all turns and, by ref, the envelopes of their messages, and recorded uploads. At most nine round trips.

    Why media cannot be read is looked into with four more.

    Returns:
        None when there is no such thread.
    """
    if (yield from thread_info(core, thread_id)) is None:
        return None
    page = yield from turns_page(core, thread_id, 0, ALL_TURNS, media=False, messages=False)
    view = core.views.get(thread_id)
    stored = yield from read_media(core, thread_id)
    turns = [turn for turn, _ in page.turns]
    if view is None or stored is None or core.views.get(thread_id) is not view:
        raise OtherThreadError
    decoder = core.decoder(view, thread_id, {})
    entries = [entry for turn in turns for entry in turn.entries]
    yield from fetch(core, view, thread_id, [entry[0] for entry in entries], decoder, media=True)
    uploaded = uploads_of(stored)
    wanted = [name for name, _ in uploaded if name is not None and decoder.blob(name) is None]
    if wanted:
        yield from fetch_media(core, view, thread_id, wanted, decoder)
    lost_in = {ref: _lost_below(decoder, ref) for ref, *_ in entries if decoder.lost} if decoder.lost else {}
    envelopes = dict(_envelopes(decoder, entries, lost_in))
    lost = yield from _causes(core, thread_id, decoder.lost, stored.records)
    uploads = [(name, record, None if name is None else decoder.blob(name)) for name, record in uploaded]
    return WholeConversation(turns, envelopes, lost, {ref: holes for ref, holes in lost_in.items() if holes}, uploads)


def _causes(
    core: Core, thread_id: str, lost: Mapping[bytes, str], records: Mapping[bytes, Mapping[str, Any]]
) -> Program[dict[bytes, LostMedium]]:
    """Find out why media could not be read; of those that can be by now, how a read told of them."""
    again = (yield from unreadable_media(core, thread_id, wanted=lost.__contains__)) if lost else {}
    return {name: again.get(name) or LostMedium(records.get(name, {}), reason, reason) for name, reason in lost.items()}


def _lost_below(decoder: Decoder, ref: bytes) -> list[Any]:
    """List the holes of a message whose media are lost: what it holds is plain data, messages in it too."""
    opened = decoder.open(ref)
    if opened.kind != MESSAGE or decoder.lost.keys().isdisjoint(opened.media):
        return []
    holes = [decoder.codec.walk.from_wire(hole, where=decoder.where) for hole, _ in opened.body[1]]
    return [hole for hole in holes if hole.ref in decoder.lost]


def _envelopes(
    decoder: Decoder, entries: Iterable[list[Any]], lost_in: Mapping[bytes, Sequence[Any]]
) -> Iterable[tuple[bytes, MessageEnvelope]]:
    for ref, message_id, *_ in entries:
        yield ref, _envelope(decoder, ref, message_id, lacks=bool(lost_in.get(ref)))


def _envelope(decoder: Decoder, ref: bytes, message_id: str | None, *, lacks: bool) -> MessageEnvelope:
    opened = decoder.open(ref)
    if opened.kind == MESSAGE and not opened.media and isinstance(opened.body, dict):
        return cast(MessageEnvelope, opened.body)
    wire = id_to_wire(message_id) if opened.kind == MESSAGE else BLOB_WIRE
    message = _lacking(decoder, ref, wire) if lacks else decoder.value(Entry(wire, (ref,)))
    return exact_or_neutral(message)


def _lacking(decoder: Decoder, ref: bytes, wire: Any) -> BaseMessage:
    """Decode a message of which some media cannot be had: no bytes stand in their places, and no words."""
    opened, codec = decoder.open(ref), decoder.codec
    envelope, wires = opened.body
    holes = [codec.walk.from_wire(hole, where=decoder.where) for hole, _ in wires]
    module, name, fields = codec.message_fields(without_names(envelope, wires), id_of(opened, wire))
    filled = codec.walk.fill(fields, holes, lambda hole: decoder.blob(hole.ref) or b"")
    return cast(BaseMessage, codec.load_fields(module, name, filled))


def exact_or_neutral(message: BaseMessage) -> MessageEnvelope:
    """Return the envelope that gives the message back exactly; only its neutral part where there is none."""
    try:
        return cast(MessageEnvelope, to_envelope(message))
    except MsgpackEncodeError:
        envelope = {key: value for key, value in read_message(message).items() if key not in IN_MEMORY_ONLY}
        return cast(MessageEnvelope, envelope)


RETOLD: Final = (
    *("status", "phase", "error", "past_errors", "interrupts", "open_calls"),
    *("started_at", "updated_at", "run_ids"),
)
"""What a turn's messages do not tell of it."""


@beginning_anew
def retell_turns(core: Core, thread_id: str, told: Sequence[TurnRecord]) -> Program[None]:
    """Give the turns of a thread just made what earlier records tell of them beyond their messages. Three round trips.

    Turns that do not correspond are left as they are.
    """
    keys = core.layout.thread(thread_id)
    (meta,) = yield Batch((Command(("HMGET", keys[0], b"g", b"k")),))
    if meta[0] is None:
        return
    view = core.view_of(meta[0], meta[1] or b"", thread_id)
    _, log = yield from read_log(core, view, thread_id)
    if [turn.record["count"] for turn in log] != [record["count"] for record in told]:
        return
    words: list[bytes] = []
    for turn, record in zip(log, told, strict=True):
        kept: dict[str, Any] = {name: record[name] for name in RETOLD if name in record}
        kept["interrupts"] = told_again(core.codec.walk, record["interrupts"], thread_id)
        name = turn_field(turn.record["turn"])
        words += (name, seal(view, name, dump_turn(cast(TurnRecord, {**turn.record, **kept}))))
    if words:
        yield Batch((Command(("HSET", keys[5], *words)),))
    view.turn_log = None
