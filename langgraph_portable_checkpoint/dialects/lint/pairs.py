"""Calls and results of histories in the shape of Chat Completions: one walk, for OpenAI's hosts and for Mistral."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..base import Finding


@dataclass(frozen=True, kw_only=True)
class PairRules:
    """Rule ids to report, and which messages end the step whose calls are open (None: all but tool messages)."""

    unanswered: str
    orphan: str
    duplicate: str
    ended_by: frozenset[str] | None = None

    def ends(self, role: str) -> bool:
        """True if no result of an earlier call may stand behind a message of this role."""
        return self.ended_by is None or role in self.ended_by


class Message(Protocol):
    """What the walk reads of a message."""

    @property
    def path(self) -> str:
        """Its JSON path."""

    @property
    def role(self) -> str:
        """Its role."""

    @property
    def value(self) -> Mapping[str, Any]:
        """The message as it stands."""

    def breaks(self, rule: str, message: str, at: str = "") -> Finding:
        """Return a finding about it."""


def calls_of(value: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the calls of a message that are objects, each with its position under `tool_calls`."""
    calls = value.get("tool_calls")
    return [(at, call) for at, call in enumerate(calls) if isinstance(call, Mapping)] if isinstance(calls, list) else []


def lint_pairs(messages: Sequence[Message], rules: PairRules) -> Iterator[Finding]:
    """Yield each call without result in its step, each result without call, each second result."""
    open_calls: dict[str, str] = {}
    answered: set[str] = set()
    for message in messages:
        if message.role == "tool":
            call_id = str(message.value.get("tool_call_id"))
            if call_id in answered:
                yield message.breaks(rules.duplicate, f"call {call_id!r:.80} is answered already")
            elif open_calls.pop(call_id, None) is None:
                yield message.breaks(rules.orphan, f"no call {call_id!r:.80} before it")
            answered.add(call_id)
        elif rules.ends(message.role):
            yield from _unanswered(open_calls, rules)
            answered = set()
            open_calls = {
                str(call.get("id")): f"{message.path}.tool_calls[{at}]" for at, call in calls_of(message.value)
            }
    yield from _unanswered(open_calls, rules)


def _unanswered(open_calls: Mapping[str, str], rules: PairRules) -> Iterator[Finding]:
    for call_id, path in open_calls.items():
        yield Finding(rule=rules.unanswered, path=path, message=f"call {call_id!r:.80} has no result in its step")
