"""A thread's conversation as one value: all turns, and every message exactly as the framework's own.

What an archive is made of. Media are put back into the messages, so nothing refers to the server any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from ..sequences import Entry
from .anew import beginning_anew
from .core import Core, OtherThreadError
from .reading import fetch, thread_info, turns_page
from .turns import read_log, seal, turn_field

ALL_TURNS: Final = 2**31
IN_MEMORY_ONLY: Final = ("raw_content",)


@beginning_anew
def whole_conversation(
    core: Core, thread_id: str
) -> Program[tuple[list[StoredTurn], dict[bytes, MessageEnvelope]] | None]:
    """Read all turns and, by ref, the envelopes of their messages. At most seven round trips.

    Returns:
        None when there is no such thread.
    """
    if (yield from thread_info(core, thread_id)) is None:
        return None
    page = yield from turns_page(core, thread_id, 0, ALL_TURNS, media=False, messages=False)
    view = core.views.get(thread_id)
    turns = [turn for turn, _ in page.turns]
    if view is None:
        raise OtherThreadError
    decoder = core.decoder(view, thread_id, {})
    entries = [entry for turn in turns for entry in turn.entries]
    yield from fetch(core, view, thread_id, [entry[0] for entry in entries], decoder, media=True)
    return turns, dict(_envelopes(decoder, entries))


def _envelopes(decoder: Decoder, entries: Iterable[list[Any]]) -> Iterable[tuple[bytes, MessageEnvelope]]:
    for ref, message_id, *_ in entries:
        yield ref, _envelope(decoder, ref, message_id)


def _envelope(decoder: Decoder, ref: bytes, message_id: str | None) -> MessageEnvelope:
    opened = decoder.open(ref)
    if opened.kind == MESSAGE and not opened.media and isinstance(opened.body, dict):
        return cast(MessageEnvelope, opened.body)
    message = decoder.value(Entry(id_to_wire(message_id) if opened.kind == MESSAGE else BLOB_WIRE, (ref,)))
    return exact_or_neutral(message)


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
        kept = {name: record[name] for name in RETOLD if name in record}
        name = turn_field(turn.record["turn"])
        words += (name, seal(view, name, dump_turn(cast(TurnRecord, {**turn.record, **kept}))))
    if words:
        yield Batch((Command(("HSET", keys[5], *words)),))
    view.turn_log = None
