"""Conversations read from the stored envelopes: turns in pages, what a thread holds, which threads there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, cast

from ...envelope.model import MessageEnvelope
from ...envelope.read import read_message
from ...envelope.turn_log import StoredTurn, Totals, add_turns, derive_turns, no_turns
from ...envelope.turn_model import TurnMessage, TurnRecord
from ...envelope.turn_pending import is_finished, pending_of
from ...envelope.turn_wire import load_page, load_turn
from ...envelope.turns import Pending
from ..decoder import Decoder, NotAtHandError
from ..effects import Batch, Command, Program, Script
from ..items import MESSAGE
from ..layout import SHARDS, split_place, thread_of
from ..layout import place as spell_place
from ..messages import copy_tree
from ..records import load_writes
from ..sequences import Entry, Sequenced
from ..view import ThreadView
from .anew import beginning_anew
from .core import Core, broken, fetch_missing, open_record, read_record, same_thread, unpair
from .listing import forget_threads
from .stops import with_known_error
from .turns import conversation_of, mark_of, messages_of, only_messages, read_log, seal, stamp, turn_field, unseal

ALL_TURNS: Final = 2**31
PAGE_TURNS: Final = 50


@dataclass(frozen=True, slots=True)
class TurnsPage:
    """Some turns with their messages, in order, and how many turns there are."""

    turns: list[tuple[StoredTurn, list[MessageEnvelope]]]
    first: int
    total: int


@beginning_anew
def turns_page(
    core: Core, thread_id: str, first: int, count: int, *, media: bool, messages: bool = True
) -> Program[TurnsPage]:
    """Read turns of the head by number; a negative `first` counts from the end.

    Round trips: 2; one more for turns of over 64 messages, one for media; 2 for the whole when the stored log does not
    belong to the head (it is then derived).
    """
    reply = yield Script("turns", core.layout.thread(thread_id), (first, count), writes=False)
    if reply[0] == b"broken":
        raise broken(thread_id)
    if not reply[0]:
        core.views.drop(thread_id)
    if not reply[0] or not reply[2]:
        return TurnsPage([], 0, 0)
    view = core.view_of(reply[0], reply[1], thread_id)
    if reply[2] != reply[3]:
        ns, checkpoint_id = split_place(reply[2])
        whole = yield from derived_turns(core, thread_id, ns, checkpoint_id, media=media)
        total = len(whole)
        start = max(total + first, 0) if first < 0 else first
        return TurnsPage(whole[start : start + count], start, total)
    start = int(reply[5])
    where = f"thread {thread_id!r}"
    records = [
        load_turn(unseal(view, turn_field(start + i), data, where=where), where=f"turn {start + i} of {where}")
        for i, data in enumerate(reply[6:])
    ]
    turns = yield from _with_pages(core, view, thread_id, records)
    if not messages:
        return TurnsPage([(turn, []) for turn in turns], start, int(reply[4]))
    return TurnsPage((yield from _with_messages(core, view, thread_id, turns, media=media)), start, int(reply[4]))


def _with_pages(core: Core, view: ThreadView, thread_id: str, records: list[TurnRecord]) -> Program[list[StoredTurn]]:
    names = [turn_field(r["turn"], page) for r in records for page in range(r.get("pages", 0))]
    if not names:
        return [StoredTurn(record) for record in records]
    keys = core.layout.thread(thread_id)
    found, generation = yield Batch((Command(("HMGET", keys[5], *names)), Command(("HGET", keys[0], b"g"))))
    same_thread(view, generation)
    where = f"thread {thread_id!r}"
    pages = {
        name: load_page(unseal(view, name, data or b"", where=where), where=f"page {name.decode()} of {where}")
        for name, data in zip(names, found, strict=True)
    }
    return [
        StoredTurn(record, tuple(pages[turn_field(record["turn"], page)] for page in range(record.get("pages", 0))))
        for record in records
    ]


def _with_messages(
    core: Core, view: ThreadView, thread_id: str, turns: list[StoredTurn], *, media: bool
) -> Program[list[tuple[StoredTurn, list[MessageEnvelope]]]]:
    decoder = core.decoder(view, thread_id, {})
    refs = [entry[0] for turn in turns for entry in turn.entries]
    yield from fetch(core, view, thread_id, refs, decoder, media=media)
    return [(turn, [envelope_of(decoder, *entry[:2], media=media) for entry in turn.entries]) for turn in turns]


def fetch(
    core: Core, view: ThreadView, thread_id: str, refs: Iterable[bytes], decoder: Decoder, *, media: bool
) -> Program[None]:
    """Fetch items, and their media where asked for, into a decoder."""
    wanted = list(refs)
    if any(not decoder.has(ref) for ref in wanted) or media:
        yield from fetch_missing(core, view, thread_id, wanted, decoder, media=media)
    decoder.final = True


def envelope_of(decoder: Decoder, ref: bytes, message_id: str | None, *, media: bool) -> MessageEnvelope:
    """Open a stored message as an envelope of the caller's own: as stored, or read anew with its media in place."""
    opened = decoder.open(ref)
    if opened.kind == MESSAGE and not (media and opened.media):
        body = opened.body[0] if isinstance(opened.body, list) else opened.body
        return cast(MessageEnvelope, {**copy_tree(body), "id": message_id})
    from ..codec import BLOB_WIRE, id_to_wire

    wire = id_to_wire(message_id) if opened.kind == MESSAGE else BLOB_WIRE
    return read_message(decoder.value(Entry(wire, (ref,))))


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of one checkpoint, as stored."""

    view: ThreadView
    place: bytes
    entries: list[Entry]
    channel: str
    messages: list[TurnMessage]
    writes: list[tuple[str, str, Any]]
    finished: bool
    decoder: Decoder
    at: datetime | None
    """When the checkpoint was made, by its own word."""


@beginning_anew
def conversation(core: Core, thread_id: str, ns: str, checkpoint_id: str | None) -> Program[Conversation | None]:
    """Read the conversation that turns are made of, at a checkpoint, from its record alone. One or two round trips."""
    place = spell_place(ns, checkpoint_id or "")
    place_ns, place_id = place.split(b"\0")
    args = (place_ns, place_id, b"", b"", b"0", b"0")
    reply = yield Script("read", core.layout.thread(thread_id), args, writes=False)
    if reply[2] == b"broken":
        raise broken(thread_id)
    if not reply[2]:
        return None
    view = core.view_of(reply[0], reply[1], thread_id)
    decoder = core.decoder(view, thread_id, unpair(reply[8:]))
    parsed = open_record(view, reply[2], reply[3], thread_id)
    writes = load_writes(reply[4], place=reply[2], secrets=view.secrets, where=decoder.where)
    refs = (*parsed.refs, *(ref for write in writes for ref in write.entry.refs))
    yield from fetch_missing(core, view, thread_id, refs, decoder, media=False)
    decoder.final = True
    record = read_record(core, parsed, decoder)
    sequences = {
        name: decoder.sequenced(entry) if isinstance(entry.wire, list) and len(entry.wire) == 3 else None
        for name, entry in record.values.items()
    }
    channel = conversation_of(core, record.values, sequences)
    if channel is not None and not only_messages(decoder, _entries_of(sequences, channel)):
        channel = None
    made = sequences.get(channel) if channel is not None else None
    entries = made.entries if made is not None else []
    return Conversation(
        view,
        reply[2],
        entries,
        channel or "messages",
        messages_of(decoder, entries),
        [(write.task_id, write.channel, _value(decoder, write.entry)) for write in writes],
        is_finished({name: _told(decoder, name, entry) for name, entry in record.values.items()}),
        decoder,
        _time_of(record.checkpoint.get("ts")),
    )


def _time_of(ts: Any) -> datetime | None:
    try:
        made = datetime.fromisoformat(ts)
    except (TypeError, ValueError):
        return None
    return made if made.tzinfo else made.replace(tzinfo=UTC)


def _entries_of(sequences: Mapping[str, Sequenced | None], channel: str) -> list[Entry]:
    made = sequences.get(channel)
    return made.entries if made is not None else []


def _value(decoder: Decoder, entry: Entry) -> Any:
    try:
        return decoder.without_media(entry)
    except NotAtHandError:
        return None


def _told(decoder: Decoder, name: str, entry: Entry) -> Any:
    """Return a channel's value where it tells whether the run is finished; that there is one tells enough elsewhere."""
    return _value(decoder, entry) if name.startswith(("join:", "__pregel_tasks")) else True


@beginning_anew
def derived_turns(
    core: Core, thread_id: str, ns: str, checkpoint_id: str | None, *, media: bool
) -> Program[list[tuple[StoredTurn, list[MessageEnvelope]]]]:
    """Derive the turns of any checkpoint with the function that writes the log; knows of the log's times and errors."""
    found = yield from conversation(core, thread_id, ns, checkpoint_id)
    if found is None:
        return []
    _, known = yield from read_log(core, found.view, thread_id)
    mark = stamp(core, thread_id, ns, split_place(found.place)[1], channel=found.channel, at=found.at)
    pending = pending_of(found.writes, failed_at=mark.at, has_media=core.codec.walk.holds_stand_in)
    pending = replace(pending, finished=found.finished)
    pending = with_known_error(pending, [turn.record["error"] for turn in known])
    turns = derive_turns(found.messages, stamp=mark, pending=pending, known=known)
    return (yield from _with_messages(core, found.view, thread_id, turns, media=media))


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """What a thread holds.

    Attributes:
        thread_id: Its id.
        checkpoints: How many checkpoints, in all namespaces.
        turns: How many turns the head has.
        status: Of the last turn; None without a conversation.
        started_at: When the first turn started, ISO 8601 in UTC.
        updated_at: When the last turn changed.
        head: The root namespace's head, a checkpoint id.
        items: How many items (messages, pages, values).
        media: How many media bytes are kept in the thread's own keys, counted as blobs.
        ttl_seconds: How long until it expires; None: never.
        persistent: Whether it has an expiry of its own that says never.
        totals: What its turns add up to; None where it was not asked for.
    """

    thread_id: str
    checkpoints: int
    turns: int
    status: str | None
    started_at: str | None
    updated_at: str | None
    head: str | None
    items: int
    media: int
    ttl_seconds: float | None
    persistent: bool
    totals: Totals | None = None


def info_of(core: Core, thread_id: str, reply: list[Any]) -> ThreadInfo | None:
    """Read what the info script says; None when there is no such thread."""
    if reply[0] == b"broken":
        raise broken(thread_id)
    if not reply[0]:
        return None
    view = core.view_of(reply[0], reply[1], thread_id)
    where = f"thread {thread_id!r}"
    turns = int(reply[3])
    first = load_turn(unseal(view, b"0", reply[10], where=where), where=where) if reply[10] else None
    name = turn_field(turns - 1)
    last = load_turn(unseal(view, name, reply[11], where=where), where=where) if reply[11] else None
    return ThreadInfo(
        thread_id=thread_id,
        checkpoints=int(reply[6]),
        turns=turns,
        status=last["status"] if last else None,
        started_at=first["started_at"] if first else None,
        updated_at=last["updated_at"] if last else None,
        head=split_place(reply[12])[1] if reply[12] else None,
        items=int(reply[7]),
        media=int(reply[9]),
        ttl_seconds=int(reply[5]) / 1000 if int(reply[5]) >= 0 else None,
        persistent=reply[4] == b"0",
    )


@beginning_anew
def thread_info(core: Core, thread_id: str) -> Program[ThreadInfo | None]:
    """Describe a thread, with what its turns add up to. Two round trips; up to four when its turn log is behind."""
    reply = yield Script("info", core.layout.thread(thread_id), (), writes=False)
    info = info_of(core, thread_id, reply)
    if info is None:
        return None
    if is_behind(reply):
        page = yield from turns_page(core, thread_id, 0, ALL_TURNS, media=False, messages=False)
        records = [turn.record for turn, _ in page.turns]
        info = _retold(info, records)
    else:
        view = core.view_of(reply[0], reply[1], thread_id)
        records = [turn.record for turn in (yield from read_log(core, view, thread_id))[1]]
    return replace(info, totals=add_turns(no_turns(), records))


def is_behind(reply: Sequence[Any]) -> bool:
    """Tell from what the info script says whether the turn log is of another checkpoint than the head.

    It is when two clients wrote at the same time, and in a thread that came without its log.
    """
    return bool(reply[12]) and reply[2] != reply[12]


def _retold(info: ThreadInfo, records: Sequence[TurnRecord]) -> ThreadInfo:
    """Say of a thread what its head's turns tell, instead of the log's."""
    return replace(
        info,
        turns=len(records),
        status=records[-1]["status"] if records else None,
        started_at=records[0]["started_at"] if records else None,
        updated_at=records[-1]["updated_at"] if records else None,
    )


def registry_page(core: Core, shard: int) -> Program[list[str]]:
    """List the thread ids of one registry shard, in order of their names. One round trip."""
    (names,) = yield Batch((Command(("ZRANGE", core.layout.registry(shard), 0, -1)),))
    return sorted(thread_of(name) for name in names)


def infos(core: Core, thread_ids: Sequence[str]) -> Program[list[ThreadInfo]]:
    """Describe threads, in the order given; those that are gone are left out of the answer and of the registry.

    One round trip, and more for each thread whose turn log is behind its head.
    """
    if not thread_ids:
        return []
    calls = tuple(Script("info", core.layout.thread(thread), (), writes=False) for thread in thread_ids)
    replies = yield Batch(calls)
    found = [info_of(core, thread, reply) for thread, reply in zip(thread_ids, replies, strict=True)]
    for at, (thread, reply) in enumerate(zip(thread_ids, replies, strict=True)):
        if found[at] is not None and is_behind(reply):
            info = yield from thread_info(core, thread)
            found[at] = info and replace(info, totals=None)
    gone = [thread.encode() for thread, info in zip(thread_ids, found, strict=True) if info is None]
    yield from forget_threads(core, gone)
    return [info for info in found if info is not None]


def last_turn(core: Core, thread_id: str) -> Program[tuple[TurnRecord, list[MessageEnvelope]] | None]:
    """Read the last turn with its messages. Two round trips."""
    page = yield from turns_page(core, thread_id, -1, 1, media=True)
    if not page.turns:
        return None
    turn, messages = page.turns[0]
    return turn.record, messages


def fail_turn(core: Core, thread_id: str, error: BaseException) -> Program[None]:
    """Record an error in the last turn, unless that turn has come to its end. Two round trips."""
    from ...envelope.turn_pending import error_entry
    from ...envelope.turn_record import mark_turn
    from ...envelope.turn_wire import dump_turn

    reply = yield Script("turns", core.layout.thread(thread_id), (-1, 1), writes=False)
    if len(reply) < 7 or not reply[6]:
        return
    view = core.view_of(reply[0], reply[1], thread_id)
    name = turn_field(int(reply[5]))
    where = f"thread {thread_id!r}"
    record = load_turn(unseal(view, name, reply[6], where=where), where=where)
    if record["status"] != "open":
        return
    mark = stamp(core, thread_id, "", record["checkpoint"].get("id", ""), channel=record.get("channel", "messages"))
    failed = mark_turn(record, stamp=mark, pending=Pending(error=error_entry(error, failed_at=mark.at)))
    args = (view.generation, reply[3], name, seal(view, name, dump_turn(failed)), mark_of(reply[6]))
    yield Script("mark", core.layout.thread(thread_id), args)
    view.turn_log = None


SHARD_NUMBERS: Final = range(SHARDS)
