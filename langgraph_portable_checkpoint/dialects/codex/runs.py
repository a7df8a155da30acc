"""Which events of a `codex exec --json` log tell of one item: ids count anew in each run, and logs hold several.

An item is started, updated and completed, all under one id. A new run begins with `thread.started`; where a log lacks
that line, an id is of a new item once its item is complete, has another type, or is started again. A line that stands
there twice is one event. Items of the first versions are given in the words of later ones.

Source: codex-rs exec_events, event_processor_with_jsonl_output.rs; openai/codex #4177, #4525, #4610 (first versions).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..jsonl import Line

Item = Mapping[str, Any]

RUNS: Final = frozenset({"thread.started", "session.created", "session.resumed"})
"""Events that a run begins with; those of a session are the first versions'."""
_STARTS: Final = ("item.started", "item.added")
_FIRST_TYPES: Final = {"assistant_message": "agent_message"}
"""Types of items that later versions call otherwise."""


@dataclass
class _Slot:
    first: int
    last: Item
    turn: int
    complete: bool = False


def last_states(lines: Sequence[Line]) -> dict[int, Item]:
    """Return the last state of each item under the number of the line that it first appears in."""
    slots: list[_Slot] = []
    open_slots: dict[str, _Slot] = {}
    turn = 0
    for line in lines:
        kind, item = line.value.get("type"), line.value.get("item")
        if not isinstance(kind, str):
            continue
        if kind in RUNS:
            open_slots.clear()
        elif kind == "turn.started":
            turn = line.number
            open_slots = {key: slot for key, slot in open_slots.items() if not slot.complete}
        elif kind.startswith("item.") and isinstance(item, Mapping):
            state = _spelled(item)
            key = str(state.get("id") or f"line {line.number}")
            slot = open_slots.get(key)
            if slot is None or _is_new(kind, state, slot, turn):
                open_slots[key] = slot = _Slot(line.number, state, turn)
                slots.append(slot)
            slot.last, slot.complete = state, slot.complete or kind == "item.completed"
    return {slot.first: slot.last for slot in slots}


def _spelled(item: Item) -> Item:
    """Return an item with its type where later versions have it, and by their name."""
    found = {("type" if key == "item_type" and "type" not in item else key): value for key, value in item.items()}
    kind = found.get("type")
    return {**found, "type": _FIRST_TYPES.get(kind, kind)} if isinstance(kind, str) else found


def _is_new(kind: str, item: Item, slot: _Slot, turn: int) -> bool:
    """Tell an event of a new item from one more of the item that has its id."""
    started = kind in _STARTS
    if item == slot.last and (slot.complete or not started or slot.turn == turn):
        return False
    return slot.complete or started or item.get("type") != slot.last.get("type")
