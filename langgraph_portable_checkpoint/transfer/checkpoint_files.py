"""agent-checkpoint histories compared and merged, as the published tool does it, on any history.

Pure: lines and envelopes come in, values go out; files and threads are read by the caller. *Lines* are the objects of
an agent-checkpoint file. Where this departs from the tool (localab-checkpoint 0.3.1) the docstring of the function says
so and why.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..envelope.model import MessageEnvelope

Line = Mapping[str, Any]
COMPARED: Final = ("role", "content", "tool_calls", "tool_results")
_UNCOMPARED: Final = ("raw", "raw_content", "origin", "extras", "id", "index", "arguments", "cache_hint")
"""Keys of blocks that say by whom and in which spelling a block was written, not what it says."""
_CALLS: Final = ("tool_call", "invalid_tool_call")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One place where two histories part.

    Attributes:
        index: Number of the message, from 0; None for the length.
        field: One of `COMPARED`, "turn" where one side has no such message, or "turn_count".
        a: What the first says, as canonical JSON; a number for the length; None where it says nothing.
        b: What the second says.
    """

    index: int | None
    field: str
    a: Any = None
    b: Any = None

    def to_wire(self) -> dict[str, Any]:
        """Return it in the published tool's shape."""
        if self.field == "turn":
            return {"index": self.index, "field": "turn", "detail": f"missing in {'A' if self.a is None else 'B'}"}
        return {**({} if self.index is None else {"index": self.index}), "field": self.field, "a": self.a, "b": self.b}

    def __str__(self) -> str:
        if self.field == "turn_count":
            return f"turn counts differ: A={self.a} B={self.b}"
        if self.field == "turn":
            return f"turn[{self.index}]: missing in {'A' if self.a is None else 'B'}"
        return f"turn[{self.index}]: {self.field} differs"


def compare_histories(a: Sequence[MessageEnvelope], b: Sequence[MessageEnvelope]) -> list[Difference]:
    """Compare two histories by role, content, tool calls and tool results.

    Times, providers, models and the reasoning that is bound to them are not compared. Unlike the tool this compares
    what is said, not how a provider spells it: the same conversation in two providers' shapes is equal.
    """
    found = [Difference(index=None, field="turn_count", a=len(a), b=len(b))] if len(a) != len(b) else []
    for index in range(max(len(a), len(b))):
        left = _compared(a[index]) if index < len(a) else None
        right = _compared(b[index]) if index < len(b) else None
        if left is None or right is None:
            found.append(Difference(index=index, field="turn", a=left, b=right))
            continue
        found += [
            Difference(index=index, field=field, a=left[field], b=right[field])
            for field in COMPARED
            if left[field] != right[field]
        ]
    return found


def _compared(envelope: MessageEnvelope) -> dict[str, str]:
    role = envelope["role"]
    blocks = [block for block in envelope["content"] if block["type"] != "reasoning" and block.get("text") != ""]
    said = [_bare(block) for block in blocks if block["type"] not in _CALLS]
    calls = [_bare(block, also=("id",)) for block in blocks if block["type"] in _CALLS]
    results = []
    if role == "tool":
        failed = envelope.get("status") == "error"
        results = [{"tool_call_id": envelope.get("tool_call_id"), "content": said, "is_error": failed}]
    return {
        "role": role,
        "content": canonical(said),
        "tool_calls": canonical(calls),
        "tool_results": canonical(results),
    }


def _bare(block: Mapping[str, Any], *, also: tuple[str, ...] = ()) -> dict[str, Any]:
    return {key: value for key, value in block.items() if (key not in _UNCOMPARED or key in also) and value is not None}


def canonical(value: Any) -> str:
    """Spell a value so that equal values are equal texts."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_spelled)


def _spelled(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else repr(value)


@dataclass(frozen=True, kw_only=True)
class Merged:
    """Two histories in one.

    Attributes:
        lines: All of A, then what B has beyond it, each with `_meta.source`.
        from_a: How many lines A had.
        from_b: How many lines came from B.
        conflicts: Ids of calls for which both have a result, and not the same one. A's was taken.
        dropped: How many lines or calls were left out because no result was ever recorded.
    """

    lines: list[dict[str, Any]]
    from_a: int
    from_b: int
    conflicts: tuple[str, ...]
    dropped: int


def merge_checkpoints(a: Sequence[Line], b: Sequence[Line]) -> Merged:
    """Append to A those lines of B that A does not have.

    A line is the same when role, content, tool_calls and tool_results are. Two departures from the tool: a line that B
    repeats on purpose ("go on", twice) stays as often as B says it; and of two different results for one call only A's
    is written, as a second one would make a history that no provider takes. Calls without result are never written.
    """
    present = Counter(map(_same, a))
    results_of_a = {call_id: text for line in a for call_id, text in _results(line)}
    lines, conflicts, added = [_with_source(line, "a") for line in a], [], 0
    for line in b:
        if present[_same(line)]:
            present[_same(line)] -= 1
            continue
        clashing = [key for key, text in _results(line) if results_of_a.get(key, text) != text]
        conflicts += clashing
        if clashing or any(key in results_of_a for key, _ in _results(line)):
            continue
        lines.append(_with_source(line, "b"))
        added += 1
    kept, dropped = _without_dangling(lines)
    return Merged(lines=kept, from_a=len(a), from_b=added, conflicts=tuple(conflicts), dropped=dropped)


def _same(line: Line) -> str:
    return canonical([line.get(key) for key in COMPARED])


def _results(line: Line) -> list[tuple[str, str]]:
    results = line.get("tool_results")
    found = [one for one in results if isinstance(one, Mapping)] if isinstance(results, list) else []
    named = [(one.get("tool_call_id") or one.get("tool_use_id"), one.get("content")) for one in found]
    return [(call_id, canonical(content)) for call_id, content in named if isinstance(call_id, str)]


def _with_source(line: Line, source: str) -> dict[str, Any]:
    meta = line.get("_meta")
    return {**line, "_meta": {"source": source, **(meta if isinstance(meta, Mapping) else {})}}


def _without_dangling(lines: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    answered = {call_id for line in lines for call_id, _ in _results(line)}
    kept, dropped = [], 0
    for line in lines:
        calls = line.get("tool_calls")
        if not isinstance(calls, list) or not calls:
            kept.append(line)
            continue
        open_ids = {call.get("id") for call in calls if isinstance(call, Mapping)} - answered
        dropped += len(open_ids)
        left = [call for call in calls if isinstance(call, Mapping) and call.get("id") in answered]
        if left or not open_ids:
            kept.append(_without_calls(line, left, open_ids))
    return kept, dropped


def _without_calls(line: dict[str, Any], left: list[Any], open_ids: Iterable[Any]) -> dict[str, Any]:
    """Return a line with only its answered calls, in `tool_calls` and in Anthropic's content blocks."""
    gone = set(open_ids)
    if not gone:
        return line
    content = line.get("content")
    if isinstance(content, list):
        content = [block for block in content if not (isinstance(block, Mapping) and block.get("id") in gone)]
    return {**line, "content": content, "tool_calls": left}
