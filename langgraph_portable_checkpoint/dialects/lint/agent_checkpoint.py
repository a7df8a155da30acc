"""Rules of agent-checkpoint lines (AC1 to AC6).

Source: agent-checkpoint README; localab-checkpoint 0.3.1, format and reference adapter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..base import Finding, Rule
from ..jsonl import BadLine, read_lines

_README: Final = "agent-checkpoint README, canonical checkpoint format"
RULES: Final = (
    Rule(id="AC1", text="one JSON object per line, with role, content, tool_calls and tool_results", source=_README),
    Rule(id="AC2", text="role is user, assistant or tool (system as the tool passes it on)", source=_README),
    Rule(
        id="AC3",
        text="a tool line names its call in tool_results[0].tool_call_id, which was made before",
        source=_README,
    ),
    Rule(id="AC4", text="the last line does not ask for tools: a dangling call is never saved", source=_README),
    Rule(
        id="AC5",
        text="tool_calls and tool_results are lists or null; an assistant line has content or calls",
        source=_README,
    ),
    Rule(id="AC6", text="opaque values of providers have no place", source=_README),
)
_ROLES: Final = ("user", "assistant", "tool", "system", "developer")


def lint_lines(payload: Any) -> list[Finding]:
    """Return every breach of AC1 to AC5 in a checkpoint. Never raises."""
    if isinstance(payload, Mapping):
        payload = [dict(payload)] if "role" in payload else payload.get("lines")
    if not isinstance(payload, (str, bytes, list)) or not payload:
        return [Finding(rule="AC1", path="lines", message="holds no lines")]
    found: list[Finding] = []
    made: set[str] = set()
    last: Mapping[str, Any] = {}
    for line in read_lines(payload):
        if isinstance(line, BadLine):
            found.append(Finding(rule="AC1", path=f"line {line.number}", message=line.reason))
            continue
        last, path = line.value, f"line {line.number}"
        found += _line(last, path, made)
        calls = last.get("tool_calls")
        made |= (
            {str(call.get("id")) for call in calls if isinstance(call, Mapping)} if isinstance(calls, list) else set()
        )
    if last.get("tool_calls") and not last.get("tool_results"):
        found.append(Finding(rule="AC4", path=path, message="ends with calls that have no result"))
    return found


def _line(value: Mapping[str, Any], path: str, made: set[str]) -> Iterator[Finding]:
    missing = [key for key in ("role", "content", "tool_calls", "tool_results") if key not in value]
    if missing:
        yield Finding(rule="AC1", path=path, message=f"lacks {', '.join(missing)}")
    if value.get("role") not in _ROLES:
        yield Finding(rule="AC2", path=f"{path}.role", message=f"is {value.get('role')!r:.40}")
    calls, results = value.get("tool_calls"), value.get("tool_results")
    for key, found in (("tool_calls", calls), ("tool_results", results)):
        if found is not None and not isinstance(found, list):
            yield Finding(rule="AC5", path=f"{path}.{key}", message="is neither a list nor null")
    if value.get("role") == "assistant" and value.get("content") in (None, []) and not calls:
        yield Finding(rule="AC5", path=path, message="has neither content nor calls")
    if value.get("role") == "tool":
        first = results[0] if isinstance(results, list) and results and isinstance(results[0], Mapping) else {}
        if str(first.get("tool_call_id")) not in made:
            yield Finding(rule="AC3", path=f"{path}.tool_results", message="names no call made before")
