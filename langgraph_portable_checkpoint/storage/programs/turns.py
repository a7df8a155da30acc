"""The turn log: what a put writes of it, in the same atomic step, and how it is read.

The log in the server belongs to one checkpoint of the root namespace, its head, named in meta `th`. A put whose parent
is that checkpoint and that only appended messages writes the last turn's record again, and new ones; nothing older is
looked at. Where messages went, changed, or the head moved elsewhere (time travel, forks, another client), the log is
derived anew and compared with the stored one, which takes one read more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from hashlib import sha1
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from langchain_core.messages import BaseMessage

from ...envelope.facts import fact_of_envelope, fact_of_message
from ...envelope.turn_log import StoredTurn, TurnChanges, changed_turns, derive_turns
from ...envelope.turn_model import Stamp, TurnMessage, TurnRecord
from ...envelope.turn_record import advance_turns
from ...envelope.turn_wire import dump_page, dump_turn, load_page, load_turn
from ...envelope.turns import Pending
from ..codec import BLOB_WIRE, LIST, id_from_wire
from ..decoder import Decoder
from ..effects import Batch, Command, Program
from ..items import MESSAGE, TURN, pack_record, parse_record
from ..messages import STANDARD, is_heavy
from ..sequences import Entry, Sequenced, common_prefix
from ..view import ThreadView
from .core import Core, OtherThreadError, same_thread, unpair


@dataclass(frozen=True, slots=True)
class Tail:
    """What a client knows of the turn log.

    Attributes:
        place: The checkpoint that the log belongs to.
        turns: How many turns it has.
        last: The last turn's record, as stored or opened.
        entries: The messages it covers; None when this client has not read that checkpoint.
        stored: The last turn's record as stored, so that it is replaced only where nobody else has changed it; None
            when that is not known, or `last` is it.
    """

    place: bytes
    turns: int
    last: TurnRecord | bytes | None
    entries: list[Entry] | None
    stored: bytes | None = None

    @property
    def as_stored(self) -> bytes | None:
        """The last turn's record as stored, if that is known."""
        return self.last if isinstance(self.last, bytes) else self.stored


def mark_of(data: bytes) -> bytes:
    """Name a record's bytes for `write` and `mark`, which compare them with what is stored."""
    return sha1(data, usedforsecurity=False).hexdigest().encode()


@dataclass(frozen=True, slots=True)
class TurnWrite:
    """What a put writes of the log.

    Attributes:
        extends: The place that the log must belong to for this to be right; b"" for none yet.
        tail: What is known once it is written.
    """

    extends: bytes
    tail: Tail
    sets: Mapping[bytes, bytes] = field(default_factory=dict)
    drops: Sequence[bytes] = ()


@cache
def versions() -> tuple[tuple[str, str], tuple[str, str]]:
    """Name the framework and this package, with their versions."""
    return ("langgraph", _version("langgraph")), (
        "langgraph-portable-checkpoint",
        _version("langgraph-portable-checkpoint"),
    )


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"


def stamp(
    core: Core,
    thread_id: str,
    ns: str,
    checkpoint_id: str,
    *,
    run_id: Any = None,
    channel: str = "messages",
    at: datetime | None = None,
) -> Stamp:
    """Say who writes a turn, now or, for what is derived of an older checkpoint, at its time."""
    framework, writer = versions()
    return Stamp(
        thread_id=thread_id,
        at=at or datetime.fromtimestamp(core.now_ms() / 1000, UTC),
        checkpoint_id=checkpoint_id,
        framework=framework,
        writer=writer,
        checkpoint_ns=ns,
        run_id=run_id if isinstance(run_id, str) else None,
        channel=channel,
    )


def is_conversation(made: Sequenced | None, entry: Entry) -> bool:
    """Tell whether a channel's value is a list of messages, as far as its entries say: see `only_messages`."""
    return made is not None and is_list(entry) and not made.compound


def is_list(entry: Entry) -> bool:
    """Tell whether a channel's value is a list of which each element is stored for itself."""
    return isinstance(entry.wire, list) and len(entry.wire) == 3 and bool(entry.wire[1] == LIST)


def only_messages(decoder: Decoder, entries: Sequence[Entry]) -> bool:
    """Tell whether entries that may be something else, blobs, are messages too."""
    blobs = [entry for entry in entries if entry.wire == BLOB_WIRE]
    return all(isinstance(decoder.value(entry), BaseMessage) for entry in blobs)


def all_messages(value: Sequence[Any]) -> bool:
    """Tell whether a list holds nothing but messages."""
    return STANDARD.issuperset(map(type, value)) or all(isinstance(element, BaseMessage) for element in value)


def conversation_of(core: Core, values: Mapping[str, Entry], sequences: Mapping[str, Sequenced | None]) -> str | None:
    """Choose the channel that holds the conversation: a configured one, else the first list of messages."""
    found = [name for name, entry in values.items() if is_conversation(sequences.get(name), entry)]
    return next((name for name in core.conversation_channels if name in found), found[0] if found else None)


def turn_field(turn: int, page: int | None = None) -> bytes:
    """Spell the field of a turn's record or page."""
    return str(turn).encode() if page is None else f"{turn}:{page}".encode()


def seal(view: ThreadView, name: bytes, data: bytes) -> bytes:
    """Turn a record's bytes into what is stored: themselves, or sealed and bound to their field."""
    if not view.secrets.sealer.sealed:
        return data
    return pack_record(TURN, (), data, secrets=view.secrets, place=b"turn\0" + name)


def unseal(view: ThreadView, name: bytes, data: bytes, *, where: str) -> bytes:
    """Invert `seal`."""
    if not view.secrets.sealer.sealed:
        return data
    body = parse_record(
        TURN, data, secrets=view.secrets, place=b"turn\0" + name, what="turn envelope", where=where
    ).body
    return bytes(body)


def opened(view: ThreadView, tail: Tail, thread_id: str) -> TurnRecord | None:
    """Open the last turn's record of a tail."""
    if not isinstance(tail.last, bytes):
        return tail.last
    where = f"turn {tail.turns - 1} of thread {thread_id!r}"
    return load_turn(unseal(view, turn_field(tail.turns - 1), tail.last, where=where), where=where)


def turn_messages(
    decoder: Callable[[], Decoder], entries: Sequence[Entry], messages: Sequence[Any]
) -> list[TurnMessage]:
    """See messages as the turn log does; those with media from their envelopes, which name the media."""
    return [_turn_message(decoder, entry, message) for entry, message in zip(entries, messages, strict=True)]


def _turn_message(decoder: Callable[[], Decoder], entry: Entry, message: Any) -> TurnMessage:
    fact = None if is_heavy(message) else fact_of_message(message)
    if fact is None or fact.media:
        opener, ref = decoder(), entry.refs[0]
        if opener.has(ref) and opener.open(ref).kind == MESSAGE:
            return _stored_message(opener, entry)
    message_id = message.id if isinstance(message.id, str) and entry.wire != BLOB_WIRE else None
    return TurnMessage(entry.refs[0], message_id, fact or fact_of_message(message))


def plan(
    core: Core,
    view: ThreadView,
    thread_id: str,
    *,
    checkpoint: tuple[bytes, str],
    parent: bytes,
    entries: list[Entry],
    messages: Sequence[Any] | None,
    channel: str,
    run_id: Any,
    finished: bool,
    starting: bool,
    fresh: bool,
    decoder: Callable[[], Decoder],
) -> Program[TurnWrite | None]:
    """Work out what a put of the root namespace writes of the turn log.

    Args:
        checkpoint: Its place and id.
        parent: Its parent's place, b"" if none.
        entries: The conversation's entries.
        messages: Its messages; None when the channel is carried over from the parent.
        finished: Whether the checkpoint leaves nothing to run.
        starting: Whether it holds new input that is not in the conversation yet. Then the last turn stays as it ended.
        fresh: Whether the thread is new to this client and has no parent.
        decoder: Makes what opens the items that this put stores.

    Returns:
        None when this put must leave the log alone.
    """
    place, checkpoint_id = checkpoint
    mark = stamp(core, thread_id, "", checkpoint_id, run_id=run_id, channel=channel)
    pending = Pending(finished=finished)
    tail: Tail | None = Tail(b"", 0, None, []) if fresh else view.turn_log
    if tail is not None and tail.entries is not None and (tail.place == parent or fresh):
        if messages is None and tail.entries != entries:
            return None
        kept = len(tail.entries)
        if common_prefix(tail.entries, entries) == kept:
            fresh_messages = [] if messages is None else turn_messages(decoder, entries[kept:], messages[kept:])
            if starting and not fresh_messages:
                return TurnWrite(tail.place, Tail(place, tail.turns, tail.last, entries, tail.as_stored))
            return _appended(view, tail, thread_id, place, entries, fresh_messages, mark, pending)
    if messages is None:
        return None
    named = turn_messages(decoder, entries, messages)
    return (yield from rewritten(core, view, thread_id, place, entries, named, mark, pending))


def _appended(
    view: ThreadView,
    tail: Tail,
    thread_id: str,
    place: bytes,
    entries: list[Entry],
    messages: list[TurnMessage],
    mark: Stamp,
    pending: Pending,
) -> TurnWrite:
    last = opened(view, tail, thread_id)
    if last is None and not messages:
        return TurnWrite(tail.place, Tail(place, 0, None, entries))
    if not messages and last is not None and _settled(last, pending):
        return TurnWrite(tail.place, Tail(place, tail.turns, last, entries, tail.as_stored))
    update = advance_turns(last, messages, stamp=mark, pending=pending)
    sets = {
        turn_field(record["turn"]): seal(view, turn_field(record["turn"]), dump_turn(record))
        for record in update.records
        if record is not last
    }
    for page in update.pages:
        name = turn_field(page["turn"], page["page"])
        sets[name] = seal(view, name, dump_page(page))
    newest = update.records[-1]
    written = sets.get(turn_field(newest["turn"]))
    stored = tail.as_stored if written is None else written
    return TurnWrite(tail.place, Tail(place, newest["turn"] + 1, newest, entries, stored), sets)


def _settled(last: TurnRecord, pending: Pending) -> bool:
    """Tell whether a record stays as it is when nothing was said and nothing is pending."""
    return last["error"] is None and not last["interrupts"] and (last["status"] == "complete" or not pending.finished)


def rewritten(
    core: Core,
    view: ThreadView,
    thread_id: str,
    place: bytes,
    entries: list[Entry],
    messages: Sequence[TurnMessage],
    mark: Stamp,
    pending: Pending,
) -> Program[TurnWrite]:
    """Derive the turn log anew, and compare it with the stored one. One round trip.

    Raises:
        OtherThreadError: the thread is not the view's any more.
    """
    generation, log_place, stored = yield from _fetch_log(core, thread_id)
    if generation and generation != view.generation:
        raise OtherThreadError
    known = open_turns(view, stored, thread_id)
    derived = derive_turns(messages, stamp=mark, pending=pending, known=known)
    changes = changed_turns(known, derived)
    last = derived[-1].record if derived else None
    sets = _sets(view, changes)
    written = sets.get(turn_field(len(derived) - 1))
    return TurnWrite(log_place, Tail(place, len(derived), last, entries, written), sets, _drops(changes))


def _sets(view: ThreadView, changes: TurnChanges) -> dict[bytes, bytes]:
    sets: dict[bytes, bytes] = {}
    for record in changes.records:
        name = turn_field(record["turn"])
        sets[name] = seal(view, name, dump_turn(record))
    for page in changes.pages:
        name = turn_field(page["turn"], page["page"])
        sets[name] = seal(view, name, dump_page(page))
    return sets


def _drops(changes: TurnChanges) -> list[bytes]:
    return [turn_field(turn) for turn in changes.delete_turns] + [turn_field(*at) for at in changes.delete_pages]


def read_log(core: Core, view: ThreadView, thread_id: str) -> Program[tuple[bytes, list[StoredTurn]]]:
    """Read the whole stored log and the place that it belongs to. One round trip.

    Raises:
        OtherThreadError: the thread is not the view's any more.
    """
    generation, log_place, stored = yield from _fetch_log(core, thread_id)
    same_thread(view, generation)
    return log_place, open_turns(view, stored, thread_id)


def _fetch_log(core: Core, thread_id: str) -> Program[tuple[bytes, bytes, Mapping[bytes, bytes]]]:
    """Fetch a thread's generation, the place of its turn log, and the log's fields. One round trip."""
    keys = core.layout.thread(thread_id)
    place, fields, last = (
        Command(("HGET", keys[0], b"th")),
        Command(("HGETALL", keys[5])),
        Command(("HGET", keys[0], b"g")),
    )
    log_place, flat, generation = yield Batch((place, fields, last))
    return generation or b"", log_place or b"", flat if isinstance(flat, dict) else unpair(flat)


def open_turns(view: ThreadView, stored: Mapping[bytes, bytes], thread_id: str) -> list[StoredTurn]:
    """Open the fields of a turn log, in the order of the turns."""
    pages: dict[int, list[Any]] = {}
    records: dict[int, TurnRecord] = {}
    for name, data in stored.items():
        where = f"turn {name.decode(errors='replace')} of thread {thread_id!r}"
        plain = unseal(view, name, data, where=where)
        turn, _, page = name.partition(b":")
        if page:
            pages.setdefault(int(turn), []).append(load_page(plain, where=where))
        else:
            records[int(turn)] = load_turn(plain, where=where)
    return [
        StoredTurn(record, tuple(sorted(pages.get(turn, ()), key=lambda page: int(page["page"]))))
        for turn, record in sorted(records.items())
    ]


def entries_of(decoder: Decoder, entry: Entry) -> Sequence[Entry]:
    """Open the entries of a conversation."""
    return decoder.sequenced(entry).entries


def messages_of(decoder: Decoder, entries: Iterable[Entry]) -> list[TurnMessage]:
    """See stored messages as the turn log does, from their envelopes alone."""
    return [_stored_message(decoder, entry) for entry in entries]


def _stored_message(decoder: Decoder, entry: Entry) -> TurnMessage:
    opened_item = decoder.open(entry.refs[0])
    if entry.wire == BLOB_WIRE or opened_item.kind != MESSAGE:
        return TurnMessage(entry.refs[0], None, fact_of_message(decoder.value(entry)))
    body = opened_item.body
    envelope = body[0] if isinstance(body, list) else body
    return TurnMessage(entry.refs[0], id_from_wire(entry.wire), fact_of_envelope(envelope))
