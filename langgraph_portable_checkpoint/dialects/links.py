"""Which result belongs to which call.

Pure functions over placed envelopes. Calls are told apart by occurrence, never by id alone: an id may come back in a
later turn. A result with an id goes to the latest message that has an unanswered call of this id. One without goes to
the latest message with calls, to a call that no result names by its id: ids first, then names of tools, then order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ..envelope.model import MessageEnvelope
from .report import Placed

CALL_TYPES: Final = ("tool_call", "invalid_tool_call")


@dataclass(eq=False)
class Call:
    """One client tool call: its message and block position, and the position of its result, None while unanswered."""

    message: int
    block: int
    id: str | None
    name: str | None
    invalid: bool
    result: int | None = None


class _Result(NamedTuple):
    position: int
    name: str | None


@dataclass(slots=True)
class _Room:
    """Calls of one message that share an id, or all of them, and the results that are meant for some of them."""

    calls: list[Call] = field(default_factory=list)
    results: list[_Result] = field(default_factory=list)


@dataclass
class Links:
    """All calls in order, and the positions of results that belong to none or to an answered one."""

    calls: list[Call] = field(default_factory=list)
    orphans: list[int] = field(default_factory=list)
    duplicates: list[int] = field(default_factory=list)
    _by_id: dict[str, list[_Room]] = field(default_factory=dict)
    """Rooms of an id that have a call left, the latest last."""
    _shared: list[_Room] = field(default_factory=list)
    """Rooms of several calls with one id."""
    _steps: list[_Room] = field(default_factory=list)
    """A room of each message with calls, for results without id."""

    def add_calls(self, position: int, envelope: MessageEnvelope) -> None:
        """Register the calls of an assistant message."""
        calls = [
            Call(position, at, block.get("id") or None, block.get("name") or None, block["type"] == "invalid_tool_call")
            for at, block in enumerate(envelope["content"])
            if block["type"] in CALL_TYPES
        ]
        if not calls:
            return
        self.calls += calls
        self._steps.append(_Room(calls))
        rooms: dict[str, _Room] = defaultdict(_Room)
        for call in calls:
            if call.id is not None:
                rooms[call.id].calls.append(call)
        for call_id, room in rooms.items():
            self._by_id.setdefault(call_id, []).append(room)
        self._shared += [room for room in rooms.values() if len(room.calls) > 1]

    def add_result(self, position: int, envelope: MessageEnvelope) -> None:
        """Give a tool message to its call, or to those among which `settle` chooses."""
        call_id, result = envelope.get("tool_call_id"), _Result(position, envelope.get("name") or None)
        if call_id:
            self._give_by_id(call_id, result)
        elif self._steps:
            self._steps[-1].results.append(result)
        else:
            self.orphans.append(position)

    def _give_by_id(self, call_id: str, result: _Result) -> None:
        rooms = self._by_id.get(call_id)
        if not rooms:
            (self.orphans if rooms is None else self.duplicates).append(result.position)
            return
        room = rooms[-1]
        room.results.append(result)
        if len(room.calls) == 1:
            room.calls[0].result = result.position
        if len(room.results) == len(room.calls):
            rooms.pop()

    def settle(self) -> None:
        """Choose the calls of results that share an id, then, among what is left, of those that have none."""
        for room in self._shared:
            left = _answered_by_name(room)
            _answer(room.calls, sorted(left))
        for room in self._steps:
            if room.results:
                self.orphans += [result.position for result in _answered_by_name(room)]


def _answered_by_name(room: _Room) -> list[_Result]:
    """Give results to calls of their tool, and those that name none to what is left. Return the others."""
    by_name: dict[str | None, list[Call]] = defaultdict(list)
    for call in room.calls:
        by_name[call.name].append(call)
    alike: dict[str | None, list[_Result]] = defaultdict(list)
    for result in room.results:
        alike[result.name].append(result)
    unnamed = alike.pop(None, [])
    strange = [left for name, results in alike.items() for left in _answer(by_name.get(name, ()), results)]
    return [*_answer(by_name.get(None, ()), strange), *_answer(room.calls, unnamed)]


def _answer(calls: Iterable[Call], results: Sequence[_Result]) -> Sequence[_Result]:
    """Give results to open calls in order, to calls without id where these suffice. Return the results left over."""
    if not results:
        return results
    unanswered = [call for call in calls if call.result is None]
    without_id = [call for call in unanswered if call.id is None]
    chosen = without_id if len(without_id) >= len(results) else unanswered
    for call, result in zip(chosen, results, strict=False):
        call.result = result.position
    return results[len(chosen) :]


def link(conversation: Sequence[Placed]) -> Links:
    """Pair calls and results of a conversation. O(messages + calls)."""
    links = Links()
    for position, placed in enumerate(conversation):
        role = placed.envelope["role"]
        if role == "assistant":
            links.add_calls(position, placed.envelope)
        elif role == "tool":
            links.add_result(position, placed.envelope)
    links.settle()
    return links
