"""get_tuple: one checkpoint with its values and pending writes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from ..decoder import Decoder, NotAtHandError
from ..effects import Program, Script
from ..items import Parsed
from ..layout import place as spell_place
from ..layout import split_place
from ..records import WriteRecord, load_writes
from ..view import HeldRecord, ThreadView
from .core import MAX_ATTEMPTS, Core, broken, fetch_missing, open_record, read_record, unpair
from .turns import Tail, conversation_of


def get_tuple(
    core: Core, thread_id: str, checkpoint_ns: str, checkpoint_id: str | None, config: RunnableConfig | None
) -> Program[CheckpointTuple | None]:
    """Read a checkpoint.

    Args:
        checkpoint_id: None for the head of the namespace.
        config: What the tuple's config is when an id is given, as the caller spelled it.

    Round trips: 1 when this client has the checkpoint's items, 1 for the first read of a namespace, else 2; one more
    for media.
    """
    core.check_open()
    for _ in range(MAX_ATTEMPTS):
        found = yield from _read(core, thread_id, checkpoint_ns, checkpoint_id)
        if found is None:
            return None
        if found.data is not None:
            made = yield from _assemble(core, found, found.data, thread_id, config)
            if checkpoint_ns == "":
                _note_turns(core, found)
            return made
    raise AssertionError("the server keeps saying that records are current which this client does not have")


def _read(core: Core, thread_id: str, ns: str, checkpoint_id: str | None) -> Program[_Found | None]:
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
    return _Found(current, found, record, writes, fetched, Tail(reply[5], int(reply[6]), reply[7] or None, None))


@dataclass(frozen=True, slots=True)
class _Found:
    view: ThreadView
    place: bytes
    data: bytes | None
    writes: bytes
    fetched: dict[bytes, bytes]
    tail: Tail


def _assemble(
    core: Core, found: _Found, data: bytes, thread_id: str, config: RunnableConfig | None
) -> Program[CheckpointTuple]:
    view, place = found.view, found.place
    decoder = core.decoder(view, thread_id, found.fetched)
    parsed = open_record(view, place, data, thread_id)
    writes = load_writes(found.writes, place=place, secrets=view.secrets, where=decoder.where)
    try:
        return tuple_of(core, view, place, data, parsed, writes, decoder, thread_id, config)
    except NotAtHandError:
        refs = (*parsed.refs, *(ref for write in writes for ref in write.entry.refs))
        yield from fetch_missing(core, view, thread_id, refs, decoder)
    return tuple_of(core, view, place, data, parsed, writes, decoder, thread_id, config)


def _note_turns(core: Core, found: _Found) -> None:
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
) -> CheckpointTuple:
    """Build the tuple from what is at hand; `remember` the record when the next call may build on it."""
    ns, checkpoint_id = split_place(place)
    record = read_record(core, parsed, decoder)
    values: dict[str, Any] = {}
    for channel, entry in record.values.items():
        values[channel], made = decoder.channel(entry, view.sequences.get((ns, channel)))
        if made is not None and remember:
            view.sequences[ns, channel] = made
    if remember:
        view.hold(place, HeldRecord(data, dict(record.versions), record.values))
    return CheckpointTuple(
        config=config if config is not None else config_of(thread_id, ns, checkpoint_id),
        checkpoint={**record.checkpoint, "channel_values": values},  # type: ignore[typeddict-item]
        metadata=record.metadata,  # type: ignore[arg-type]
        parent_config=config_of(thread_id, ns, record.parent_id) if record.parent_id else None,
        pending_writes=[(write.task_id, write.channel, decoder.value(write.entry)) for write in writes],
    )


def config_of(thread_id: str, checkpoint_ns: str, checkpoint_id: str) -> RunnableConfig:
    """Spell the config of a checkpoint."""
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": checkpoint_ns, "checkpoint_id": checkpoint_id}}
