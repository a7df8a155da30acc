"""Which compactions of a rollout the user took back: a turn that is rolled back takes those in it along.

Codex makes the history anew from the file when it rolls back, as if these compactions had never been. Of the turns it
counts what `turns.py` does; a turn reaches from the record that says that it starts to the next one's, so that a
compaction of its own behind a turn stays when only later turns go. Versions that did not record when a turn starts took
their turns from what a compaction had left, and so does a file without such records: nothing is taken back here. A
compaction before which the file holds no turn is the session's beginning, and stays too. Pure.

Source: codex-rs, rollout_reconstruction.rs (finalize_active_segment); openai/codex #13615, #32851.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..jsonl import Line
from ..problems import Problems
from ..responses_read import ItemReader
from .items import api_item, own_blocks
from .records import item_of, record_of
from .turns import begins_turn, is_of_agent

_STARTS: Final = ("task_started", "turn_started")
_SAID: Final = ("message", "agent_message")


def turns_of(kind: Any, payload: Any) -> int | None:
    """Return how many turns a record takes back; None where it is no rollback."""
    if kind != "event_msg" or not isinstance(payload, Mapping) or payload.get("type") != "thread_rolled_back":
        return None
    turns = payload.get("num_turns")
    return max(turns, 0) if isinstance(turns, int) else 0


def taken_back(lines: Sequence[Line]) -> frozenset[int]:
    """Return the numbers of the lines with compactions that a rollback took back."""
    records = [(line.number, *record_of(line.value)) for line in lines]
    compacted = any(kind == "compacted" for _, kind, _ in records)
    if not compacted or not any(turns_of(kind, payload) for _, kind, payload in records):
        return frozenset()
    found = _Turns()
    for number, kind, payload in records:
        found.read(number, kind, payload)
    return frozenset(found.taken)


@dataclass
class _Turns:
    """The turns and compactions that stand, each by the number of its line, ascending."""

    taken: set[int] = field(default_factory=set)
    turns: list[int] = field(default_factory=list)
    compactions: list[int] = field(default_factory=list)
    first: int | None = None
    """Where the first turn that is recorded starts."""
    start: int | None = None
    """Where a turn starts in which nothing was said yet."""
    begun: bool = False
    """Some turn has begun, whether or not it was recorded that it starts."""

    def read(self, number: int, kind: Any, payload: Any) -> None:
        """Read one record."""
        if turns := turns_of(kind, payload):
            self._roll_back(turns)
        elif kind == "event_msg" and isinstance(payload, Mapping) and payload.get("type") in _STARTS:
            self.start = number
            self.first = number if self.first is None else self.first
        elif kind == "compacted" and self.begun:
            self.compactions.append(number)
        elif (item := item_of(kind, payload)) is not None and _begins(item):
            self._begin(number)

    def _begin(self, number: int) -> None:
        self.begun = True
        if self.first is not None:
            self.turns.append(number if self.start is None else self.start)
        self.start = None

    def _roll_back(self, turns: int) -> None:
        if self.first is None:
            return
        cut = self.turns[-turns] if turns <= len(self.turns) else self.first
        del self.turns[-turns:]
        while self.compactions and self.compactions[-1] > cut:
            self.taken.add(self.compactions.pop())


def _begins(item: Mapping[str, Any]) -> bool:
    """Tell whether a turn begins with an item, read as the history reads it."""
    if item.get("type", "message") not in _SAID:
        return False
    if item.get("role") != "user" and item.get("type") != "agent_message" and not is_of_agent(item):
        return False
    problems = Problems("codex")
    reader = ItemReader({}, problems, [])
    reader.read(api_item(item, Counter()), "")
    for envelope in reader.envelopes:
        own_blocks(envelope)
    return not problems.found and any(begins_turn(item, envelope) for envelope in reader.envelopes)
