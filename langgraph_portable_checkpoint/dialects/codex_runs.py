"""Which events of a `codex exec --json` log tell of one item: ids count anew in each run, and logs hold several.

An item is started, updated and completed, all under one id. A new run begins with `thread.started`; where a log lacks
that line, an id is of a new item once its item is complete, has another type, or is started again. A line that stands
there twice is one event.

Source: codex-rs exec_events, event_processor_with_jsonl_output.rs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .jsonl import Line

Item = Mapping[str, Any]


@dataclass
class _Slot:
    first: int
    last: Item
    complete: bool


def last_states(lines: Sequence[Line]) -> dict[int, Item]:
    """Return the last state of each item under the number of the line that it first appears in."""
    slots: list[_Slot] = []
    open_slots: dict[str, _Slot] = {}
    for line in lines:
        kind, item = line.value.get("type"), line.value.get("item")
        if kind == "thread.started":
            open_slots.clear()
        elif kind == "turn.started":
            open_slots = {key: slot for key, slot in open_slots.items() if not slot.complete}
        elif isinstance(kind, str) and kind.startswith("item.") and isinstance(item, Mapping):
            key = str(item.get("id") or f"line {line.number}")
            slot = open_slots.get(key)
            if slot is None or _is_new(kind, item, slot):
                open_slots[key] = slot = _Slot(line.number, item, complete=False)
                slots.append(slot)
            slot.last, slot.complete = item, slot.complete or kind == "item.completed"
    return {slot.first: slot.last for slot in slots}


def _is_new(kind: str, item: Item, slot: _Slot) -> bool:
    """Tell an event of a new item from one more of the item that has its id."""
    if item == slot.last and (slot.complete or kind != "item.started"):
        return False
    return slot.complete or kind == "item.started" or item.get("type") != slot.last.get("type")
