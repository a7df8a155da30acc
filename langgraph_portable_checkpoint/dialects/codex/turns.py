"""A Codex rollout's history as it grows: where the user's turns begin, what a rollback and a compaction leave.

Owns what counts as a turn. Codex says much in the user's role by itself (the environment, instructions, a skill's text,
a command that the user ran): such context begins no turn, and goes with the turn that it stands before. Pure.

Source: codex-rs, context_manager/history.rs (is_user_turn_boundary, drop_last_n_user_turns), event_mapping.rs,
context/contextual_user_message.rs, compact.rs (collect_user_messages, build_compacted_history).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ...envelope.model import MessageEnvelope

_BEGINNINGS: Final = frozenset({"environment_context", "user_instructions", "recommended_plugins"})
"""Elements of the context that a session begins with; a compaction makes them again."""
_CONTEXTS: Final = _BEGINNINGS | {
    *("skill", "user_shell_command", "turn_aborted", "subagent_notification", "agent_message_board_notification"),
    *("extension_context", "additional_context", "external_context", "goal_context"),
    *("codex_internal_context", "hook_prompt"),
}
"""Elements that are no words of the user's where they are a part of a message as a whole."""
_WITH_ATTRIBUTES: Final = frozenset({"external_context", "codex_internal_context", "hook_prompt"})
_OPENING: Final = re.compile(r"<([a-z_]+|external_[^<>]+?)(\s[^>]*)?>")
_AGENTS_MD: Final = ("# agents.md instructions", "</instructions>")
_WARNINGS: Final = (
    "Warning: The maximum number of unified exec processes you can keep open is",
    "Warning: apply_patch was requested via ",
    "Warning: Your account was flagged for potentially high-risk cyber activity",
)
"""What earlier versions said in the user's role."""
_FIRST_WORDS: Final = (
    *("<environment_context>", "<user_instructions>", "<permissions instructions>", "<turn_aborted>"),
    "# AGENTS.md instructions",
)
"""By which earlier versions knew a whole message, whatever it ended with."""
_SUMMARY: Final = "Another language model started to solve this problem and produced a summary of its thinking process."
"""What Codex writes before the summary of a compaction."""
_OF_DEVELOPER: Final = (
    *("<permissions instructions>", "<model_switch>", "<collaboration_mode>", "<multi_agent_mode>"),
    *("<realtime_conversation>", "<skills_instructions>", "<personality_spec>", "<token_budget", "<context_window"),
    "<rollout_budget>",
)
"""What messages of the developer begin with that tell of a change before a turn."""
_AGENT_KEYS: Final = frozenset({"author", "recipient", "content", "trigger_turn"})


@dataclass
class History:
    """Messages in order, with what a rollback and a compaction need to know of them.

    Attributes:
        envelopes: The messages.
        session: The message of the session's instructions, which no compaction takes away.
    """

    envelopes: list[MessageEnvelope] = field(default_factory=list)
    session: MessageEnvelope | None = None
    _turns: list[int] = field(default_factory=list)
    """Where turns begin, ascending."""
    _settled: int = 0
    """How many messages stay in every later compaction, since one has left them."""

    def add(self, envelope: MessageEnvelope, *, begins_turn: bool = False) -> None:
        """Add one message."""
        if begins_turn:
            self._turns.append(len(self.envelopes))
        self.envelopes.append(envelope)

    def roll_back(self, turns: int) -> int:
        """Take the last turns away, with the context that stands before them; return how many messages went."""
        if turns <= 0 or not self._turns:
            return 0
        first, cut = self._turns[0], self._turns[-min(turns, len(self._turns))]
        while cut > first and _is_before_turn(self.envelopes[cut - 1]):
            cut -= 1
        gone = len(self.envelopes) - cut
        self._cut(cut)
        return gone

    def compact(self, *, replaced: bool) -> int:
        """Take away what a compaction does not leave, and return how many messages went.

        Args:
            replaced: It brings a history of its own: the session's instructions stay alone. Else what the session
                began with and the user's messages stay.
        """
        start = 0 if replaced else self._settled
        tail = self.envelopes[start:]
        kept = [each for each in tail if each is self.session] if replaced else [*self._left(tail, first=not start)]
        self._cut(start)
        for envelope in kept:
            self.add(envelope, begins_turn=is_typed(envelope))
        self._settled = 0 if replaced else len(self.envelopes)
        return len(tail) - len(kept)

    def _left(self, tail: list[MessageEnvelope], *, first: bool) -> Iterator[MessageEnvelope]:
        """Yield what a compaction without a history leaves: each is looked at by one compaction only."""
        for envelope in tail:
            first = first and is_beginning(envelope)
            if first or envelope is self.session or is_typed(envelope):
                yield envelope

    def _cut(self, at: int) -> None:
        del self.envelopes[at:]
        self._settled = min(self._settled, at)
        while self._turns and self._turns[-1] >= at:
            self._turns.pop()


def begins_turn(item: Mapping[str, Any], envelope: MessageEnvelope) -> bool:
    """Tell whether a turn begins with an item: what the user said, or what another agent said to this one."""
    kind = item.get("type", "message")
    if kind == "agent_message" or is_of_agent(item):
        return True
    return kind == "message" and envelope["role"] == "user" and not is_context(envelope)


def is_of_agent(item: Mapping[str, Any]) -> bool:
    """Tell a message of another agent that earlier versions wrote as an answer: a JSON object as its only text."""
    content = item.get("content")
    if item.get("role") != "assistant" or not isinstance(content, list) or len(content) != 1:
        return False
    text = content[0].get("text") if isinstance(content[0], Mapping) else None
    if not isinstance(text, str) or not text.startswith("{") or '"trigger_turn"' not in text:
        return False
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(said, dict) and said.keys() >= _AGENT_KEYS


def is_context(envelope: MessageEnvelope) -> bool:
    """True for what Codex itself says in the user's role: a part of it is context as a whole."""
    texts = _texts(envelope)
    return any(map(_context, texts)) or (bool(texts) and all(text.lstrip().startswith(_FIRST_WORDS) for text in texts))


def is_summary(envelope: MessageEnvelope) -> bool:
    """True for the summary of a compaction, which Codex says in the user's role."""
    return any(text.startswith(_SUMMARY) for text in _texts(envelope))


def is_typed(envelope: MessageEnvelope) -> bool:
    """True for the user's own messages."""
    return envelope["role"] == "user" and envelope.get("typed_by_user") is not False


def is_beginning(envelope: MessageEnvelope) -> bool:
    """True for what Codex says before the user's first words: instructions and the environment."""
    if envelope["role"] != "user" or not is_context(envelope):
        return envelope["role"] == "system"
    named = {name for name in map(_context, _texts(envelope)) if name}
    return named <= _BEGINNINGS | {_AGENTS_MD[0]}


def _is_before_turn(envelope: MessageEnvelope) -> bool:
    """True for context that a turn brought with it."""
    if envelope["role"] == "user":
        return envelope.get("typed_by_user") is False and is_context(envelope)
    developer = envelope.get("role_detail") == "developer"
    return developer and any(text.lstrip().lower().startswith(_OF_DEVELOPER) for text in _texts(envelope))


def _texts(envelope: MessageEnvelope) -> list[str]:
    return [block["text"] for block in envelope["content"] if block["type"] == "text"]


def _context(text: str) -> str:
    """Name the context that a text is as a whole; "" for any other text."""
    said = text.strip()
    if said.startswith(_WARNINGS):
        return "warning"
    head, tail = said[:400].lower(), said[-200:].lower()
    if head.startswith(_AGENTS_MD[0]) and tail.endswith(_AGENTS_MD[1]):
        return _AGENTS_MD[0]
    opening = _OPENING.match(head)
    if opening is None or not tail.endswith(f"</{opening[1]}>"):
        return ""
    name = "external_context" if opening[1].startswith("external_") else opening[1]
    return name if name in _CONTEXTS and (name in _WITH_ATTRIBUTES or not opening[2]) else ""
