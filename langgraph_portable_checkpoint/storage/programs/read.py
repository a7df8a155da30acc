"""get_tuple: one checkpoint with its values and pending writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from ...envelope.facts import MessageFact
from ...envelope.turns import spans
from ..decoder import Decoder, NotAtHandError
from ..effects import Program, Script
from ..items import Parsed
from ..layout import place as spell_place
from ..layout import split_place
from ..records import WriteRecord, load_writes
from ..sequences import Entry
from ..view import HeldRecord, StoodIn, ThreadView
from .anew import beginning_anew
from .core import MAX_ATTEMPTS, Core, broken, fetch_missing, open_record, read_record, unpair
from .turns import Tail, conversation_of, messages_of, only_messages

Hydrate = Literal["all", "none"] | int
Config = TypeVar("Config", RunnableConfig, RunnableConfig | None)


@beginning_anew
def get_tuple(
    core: Core,
    thread_id: str,
    checkpoint_ns: str,
    checkpoint_id: str | None,
    *,
    config: RunnableConfig | None,
    media: Hydrate = "all",
) -> Program[CheckpointTuple | None]:
    """Read a checkpoint.

    Args:
        checkpoint_id: None for the head of the namespace.
        config: What the tuple's config is when an id is given, as the caller spelled it.
        media: "all" puts media in; "none" puts texts that name them; a number does the one for the conversation's last
            turns and the other for those before. A message with such texts still stands for the stored one when it is
            written again.

    Round trips: 1 when this client has the checkpoint's items, 1 for the first read of a namespace, else 2; one more
    for media.
    """
    answer = yield from read_found(core, thread_id, checkpoint_ns, checkpoint_id)
    if answer is None:
        return None
    found, data = answer
    made = yield from _assemble(core, found, data, thread_id, config, media)
    if checkpoint_ns == "":
        _note_turns(core, found)
    return asking_for_no_media(made) if media == "none" else made


def read_found(core: Core, thread_id: str, ns: str, checkpoint_id: str | None) -> Program[tuple[Found, bytes] | None]:
    """Read a checkpoint's writes and its record, of the head where no id is given. One round trip."""
    for _ in range(MAX_ATTEMPTS):
        found = yield from _read(core, thread_id, ns, checkpoint_id)
        if found is None:
            return None
        if found.data is not None:
            return found, found.data
    raise AssertionError("the server keeps saying that records are current which this client does not have")


def asking_for_no_media(made: CheckpointTuple) -> CheckpointTuple:
    """Let who goes on to the ancestors, as a graph that folds a delta channel, ask for no media there either."""
    return made._replace(config=_with_no_media(made.config), parent_config=_with_no_media(made.parent_config))


def _with_no_media(config: Config) -> Config:
    return config and {**config, "configurable": {**config["configurable"], "media": "none"}}


def _read(core: Core, thread_id: str, ns: str, checkpoint_id: str | None) -> Program[Found | None]:
    core.views.deleted.pop(thread_id, None)
    view = core.views.get(thread_id)
    place = spell_place(ns, checkpoint_id or "")
    guess = place if checkpoint_id is not None else (view.heads.get(ns, b"") if view else b"")
    held = view.records.get(guess) if view else None
    cold = view is None or ns not in view.heads
    place_ns, place_id = place.split(b"\0")
    args = (
        place_ns,
        place_id,
        guess if held else b"",
        held.sha1_hex if held else b"",
        b"1" if cold else b"0",
        b"1" if ns == "" else b"0",
    )
    reply = yield Script("read", core.layout.thread(thread_id), args, writes=False)
    generation, sealed_key, found, record, writes = reply[:5]
    if found == b"broken":
        raise broken(thread_id)
    if not generation or not found:
        if not generation:
            core.views.drop(thread_id)
        return None
    current = core.view_of(generation, sealed_key, thread_id)
    fetched = unpair(reply[8:])
    current.confirm(fetched)
    if checkpoint_id is None:
        current.heads[ns] = found
    if isinstance(record, int):
        record = held.data if held is not None and current is view else None
        if record is None:
            core.views.drop(thread_id)
    return Found(current, found, record, writes, fetched, Tail(reply[5], int(reply[6]), reply[7] or None, None))


@dataclass(frozen=True, slots=True)
class Found:
    """What the read script says of a checkpoint; no data where the client was taken to have a record that it lacks."""

    view: ThreadView
    place: bytes
    data: bytes | None
    writes: bytes
    fetched: dict[bytes, bytes]
    tail: Tail


def _assemble(
    core: Core, found: Found, data: bytes, thread_id: str, config: RunnableConfig | None, media: Hydrate
) -> Program[CheckpointTuple]:
    view, place = found.view, found.place
    decoder = core.decoder(view, thread_id, found.fetched)
    decoder.hydrate = media != "none"
    parsed = open_record(view, place, data, thread_id)
    writes = load_writes(found.writes, place=place, secrets=view.secrets, where=decoder.where)
    refs = (*parsed.refs, *(ref for write in writes for ref in write.entry.refs))
    late: Mapping[str, int] = {}
    if isinstance(media, int):
        late, refs = yield from last_turns(core, view, parsed, refs, decoder, thread_id, media)
    try:
        return tuple_of(core, view, place, data, parsed, writes, decoder, thread_id, config, late=late)
    except NotAtHandError:
        yield from fetch_missing(core, view, thread_id, refs, decoder, media=decoder.hydrate)
    return tuple_of(core, view, place, data, parsed, writes, decoder, thread_id, config, late=late)


def last_turns(
    core: Core, view: ThreadView, parsed: Parsed, refs: tuple[bytes, ...], decoder: Decoder, thread_id: str, turns: int
) -> Program[tuple[Mapping[str, int], tuple[bytes, ...]]]:
    """Find where the conversation's last turns begin, and the refs whose media are wanted.

    Args:
        refs: The record's, and behind them those of its pending writes.
    """
    yield from fetch_missing(core, view, thread_id, refs, decoder, media=False)
    wanted = _wanted(core, parsed, refs, decoder, turns)
    decoder.final = False  # all items are at hand, and no media
    return wanted


def _wanted(
    core: Core, parsed: Parsed, refs: tuple[bytes, ...], decoder: Decoder, turns: int
) -> tuple[Mapping[str, int], tuple[bytes, ...]]:
    values = read_record(core, parsed, decoder).values
    sequences = {
        name: decoder.sequenced(entry) if isinstance(entry.wire, list) and len(entry.wire) == 3 else None
        for name, entry in values.items()
    }
    channel = conversation_of(core, values, sequences)
    made = sequences.get(channel) if channel is not None else None
    facts = None if made is None else _facts(decoder, made.entries)
    if channel is None or made is None or facts is None:
        return {}, refs
    found = spans(facts)
    start = found[-turns].start if 0 < turns <= len(found) else (0 if turns else len(made.entries))
    late = {ref for entry in made.entries[start:] for ref in entry.refs}
    others = {ref for name, entry in values.items() if name != channel for ref in entry.refs}
    waiting = set(refs[len(parsed.refs) :])  # what writes name is read whole, also where the conversation names it too
    return {channel: start}, tuple(late | others | waiting | set(parsed.refs) - set(values[channel].refs))


def _facts(decoder: Decoder, entries: Sequence[Entry]) -> list[MessageFact] | None:
    """See what turn logic needs of messages, none of their media; None where something in the list is no message."""
    decoder.hydrate = False
    try:
        return [each.fact for each in messages_of(decoder, entries)] if only_messages(decoder, entries) else None
    finally:
        decoder.hydrate = True


def _note_turns(core: Core, found: Found) -> None:
    """Remember the turn log, with the messages it covers when they have just been read."""
    view, seen = found.view, found.tail
    if seen.place != found.place:
        known = view.turn_log
        if known is None or known.place != seen.place:
            view.turn_log = seen
        return
    values = view.records[found.place].values
    sequences = {channel: view.sequences.get(("", channel)) for channel in values}
    channel = conversation_of(core, values, sequences)
    made = sequences.get(channel) if channel is not None else None
    view.turn_log = replace(seen, entries=made.entries if made is not None else [])


def tuple_of(
    core: Core,
    view: ThreadView,
    place: bytes,
    data: bytes,
    parsed: Parsed,
    writes: list[WriteRecord],
    decoder: Decoder,
    thread_id: str,
    config: RunnableConfig | None,
    *,
    remember: bool = True,
    late: Mapping[str, int] | None = None,
) -> CheckpointTuple:
    """Build the tuple from what is at hand.

    Args:
        remember: Whether the next call may build on this record.
        late: Channel -> position from which media are put in.
    """
    ns, checkpoint_id = split_place(place)
    record = read_record(core, parsed, decoder)
    values: dict[str, Any] = {}
    for channel, entry in record.values.items():
        known = view.sequences.get((ns, channel))
        values[channel], made = decoder.channel(entry, known, hydrate_from=(late or {}).get(channel, 0))
        if made is not None and remember:
            view.sequences[ns, channel] = made
    if remember:
        lacks = decoder.named or decoder.lost
        view.note_stood(place, stood_in(core, values) if lacks else {})
        view.hold(place, HeldRecord(data, dict(record.versions), record.values))
    pending_writes = [(write.task_id, write.channel, decoder.value(write.entry)) for write in writes]
    view.confirm(decoder.named)
    return CheckpointTuple(
        config=config if config is not None else config_of(thread_id, ns, checkpoint_id),
        checkpoint={**record.checkpoint, "channel_values": values},  # type: ignore[typeddict-item]
        metadata=record.metadata,  # type: ignore[arg-type]
        parent_config=config_of(thread_id, ns, record.parent_id) if record.parent_id else None,
        pending_writes=pending_writes,
    )


def stood_in(core: Core, values: Mapping[str, Any]) -> StoodIn:
    """Find what stands for media in the values of channels, outside of messages."""
    found = {channel: core.codec.walk.stand_ins(value) for channel, value in values.items()}
    return {channel: places for channel, places in found.items() if places}


def config_of(thread_id: str, checkpoint_ns: str, checkpoint_id: str) -> RunnableConfig:
    """Spell the config of a checkpoint."""
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": checkpoint_ns, "checkpoint_id": checkpoint_id}}
