"""Copies compared with their sources, a few checkpoints at a time, as they are made.

Any saver is read back through LangGraph's interface. Our own is read back in its stored form by a reader that knows
nothing of what was just written; what a conversation begins with is decoded and compared once, however many checkpoints
hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from ..saver import PortableRedisSaver
from ..storage.codec import LIST
from ..storage.decoder import Decoder
from ..storage.known import Flat
from ..storage.layout import place as spell_place
from ..storage.programs import bulk
from ..storage.programs.core import Core
from ..storage.sequences import Entry, common_prefix
from .comparing import (
    difference,
    difference_of_names,
    difference_of_rest,
    difference_of_tuples,
    difference_of_values,
    difference_of_writes,
    flatten,
)
from .inventory import Inventory
from .steps import Moves, Place, Run

Compare = Callable[[Mapping[Place, CheckpointTuple]], Moves[list[tuple[Place, str]]]]
"""Compares copies with the sources given; returns the places that differ, with where."""


def comparer_of(target: Inventory, thread_id: str) -> Compare:
    """Return what compares the copies of one thread with their sources."""
    if isinstance(target.saver, PortableRedisSaver):
        return _Stored(target.saver, thread_id).compare
    return _Listed(target, thread_id).compare


@dataclass(frozen=True, slots=True)
class _Listed:
    target: Inventory
    thread_id: str

    def compare(self, sources: Mapping[Place, CheckpointTuple]) -> Moves[list[tuple[Place, str]]]:
        differing: list[tuple[Place, str]] = []
        for place, source in sources.items():
            copy = yield from self.target.read(self.thread_id, place)
            detail = "is missing" if copy is None else difference_of_tuples(copy, source)
            differing += [] if detail is None else [(place, detail)]
        return differing


@dataclass(slots=True)
class _Stored:
    target: PortableRedisSaver
    thread_id: str
    core: Core = field(init=False)
    known: dict[tuple[str, str], tuple[Flat, list[Entry]]] = field(default_factory=dict)
    """(namespace, channel) -> the conversation compared last, as the source has it and as it is stored."""

    def __post_init__(self) -> None:
        self.core = self.target._core.stranger()

    def compare(self, sources: Mapping[Place, CheckpointTuple]) -> Moves[list[tuple[Place, str]]]:
        spelled = {spell_place(place.checkpoint_ns, place.checkpoint_id): place for place in sources}
        copies = yield Run(self.target, bulk.read_back(self.core, self.thread_id, list(spelled)))
        differing: list[tuple[Place, str]] = []
        for at, place in spelled.items():
            copy = copies.get(at)
            detail = "is missing" if copy is None else self._difference(place, copy, sources[place])
            differing += [] if detail is None else [(place, detail)]
        return differing

    def _difference(self, place: Place, copy: bulk.ReadBack, source: CheckpointTuple) -> str | None:
        record, decoder = copy.record, copy.decoder
        found = difference_of_rest(record.parent_id, record.checkpoint, record.metadata, source)
        writes = ((write.task_id, write.channel, decoder.value(write.entry)) for write in copy.writes)
        found = found or difference_of_writes(writes, source)
        values = source.checkpoint["channel_values"]
        found = found or difference_of_names(record.values, values)
        if found is not None:
            return found
        for channel, entry in record.values.items():
            found = self._of_channel((place.checkpoint_ns, channel), entry, values[channel], decoder)
            if found is not None:
                return found
        return None

    def _of_channel(self, name: tuple[str, str], entry: Entry, source: Any, decoder: Decoder) -> str | None:
        path = f"channel {name[1]!r}"
        flat = flatten(source)
        if flat is None or not isinstance(entry.wire, list) or len(entry.wire) != 3 or entry.wire[1] != LIST:
            return difference(decoder.channel(entry)[0], source, path)
        entries = decoder.sequenced(entry).entries
        known, stored = self.known.get(name) or (None, [])
        kept = len(stored) if known is not None and known.begins(flat) else 0
        kept = kept if common_prefix(stored, entries) == kept else 0
        found = difference_of_values([decoder.value(each) for each in entries[kept:]], source[kept:], name[1])
        if found is None:
            self.known[name] = (flat, entries)
        return found
