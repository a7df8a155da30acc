"""Turns of a conversation, and selections that never split one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final

from ..envelope.facts import MessageFact, fact_of_envelope
from ..envelope.model import MessageEnvelope, Role
from ..envelope.turns import PHASES, Phase, next_phase, opens_turn
from .report import Placed


def place(conversation: Sequence[MessageEnvelope]) -> list[Placed]:
    """Give every envelope its index and its turn; `envelope.turns` decides where turns begin."""
    placed: list[Placed] = []
    turn = -1
    phase: Phase | None = None
    for index, envelope in enumerate(conversation):
        extras = envelope.get("extras")
        if extras and not _SUMMARY_KEYS.isdisjoint(extras):
            opens, phase = _told(phase, fact_of_envelope(envelope))
        else:
            role = envelope["role"]
            typed = role == "user" and envelope.get("typed_by_user", True)
            opens, phase = _step(phase, role, typed, role == "assistant" and asks(envelope))
        turn += opens
        placed.append(Placed(envelope, index, turn))
    return placed


def asks(envelope: MessageEnvelope) -> bool:
    """True for a message with a call of a client's tool."""
    for block in envelope["content"]:  # noqa: SIM110 - any() over a generator takes twice as long, for every answer
        if block["type"] == "tool_call":
            return True
    return False


@lru_cache(maxsize=64)
def _step(phase: Phase | None, role: Role, typed_by_user: bool, asks: bool) -> tuple[bool, Phase]:
    """Tell whether such a message opens a turn, and the phase after it. There are few such messages."""
    return _told(phase, MessageFact(role=role, typed_by_user=typed_by_user, tool_calls=(None,) if asks else ()))


def _told(phase: Phase | None, fact: MessageFact) -> tuple[bool, Phase]:
    opens = opens_turn(phase, fact)
    return opens, next_phase(PHASES[0] if opens else phase or PHASES[0], fact)


_SUMMARY_KEYS: Final = frozenset({"lc_source", "additional_kwargs", "isCompactSummary"})
"""Where `envelope.facts` looks for the mark of a summary."""


def check_turns(turns: int | tuple[int, int | None] | None) -> None:
    """Check a choice of turns.

    Raises:
        TypeError: It is neither a whole number nor a pair of them.
        ValueError: It is negative, or a range that ends before it begins.
    """
    if turns is not None and not _is_count(turns) and not _is_range(turns):
        raise TypeError(f"turns={turns!r:.80} is neither a number of turns nor a range of them (start, stop)")
    if isinstance(turns, int) and turns < 0:
        raise ValueError(f"turns={turns}: a number of turns is not negative")
    if isinstance(turns, tuple):
        start, stop = turns
        if stop is not None and stop < start and (stop < 0) == (start < 0):
            raise ValueError(f"turns={turns}: the range ends before it begins")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_range(value: object) -> bool:
    pair = isinstance(value, tuple) and len(value) == 2
    return pair and _is_count(value[0]) and (value[1] is None or _is_count(value[1]))  # type: ignore[index]  # a pair


def last_turns(conversation: Sequence[Placed], count: int, *, keep_system: bool = True) -> list[Placed]:
    """Select the last `count` turns, and the system messages that lead the history.

    Args:
        conversation: A placed conversation.
        count: How many turns; 0 selects none, more than there are selects all.
        keep_system: Keep leading system messages although their turn is not selected.
    """
    turns = turn_count(conversation)
    return turn_range(conversation, max(0, turns - max(count, 0)), turns, keep_system=keep_system)


def turn_range(
    conversation: Sequence[Placed], start: int, stop: int | None = None, *, keep_system: bool = True
) -> list[Placed]:
    """Select turns start to stop (exclusive); negative numbers count from the end, as in a slice."""
    wanted = range(turn_count(conversation))[slice(start, stop)]
    leading = _leading_system(conversation) if keep_system else 0
    return [placed for at, placed in enumerate(conversation) if at < leading or placed.turn in wanted]


def token_budget(
    conversation: Sequence[Placed],
    limit: int,
    *,
    count_tokens: Callable[[Sequence[MessageEnvelope]], int],
    keep_system: bool = True,
) -> list[Placed]:
    """Select as many of the last turns as fit a budget, whole turns only.

    Args:
        conversation: A placed conversation.
        limit: Most tokens, leading system messages included.
        count_tokens: Counts the tokens of some envelopes; called once per turn looked at.
        keep_system: Keep leading system messages; their tokens count.
    """
    leading = _leading_system(conversation) if keep_system else 0
    left = limit - _counted(count_tokens, conversation[:leading]) if leading else limit
    chosen = turn_count(conversation)
    turns = [list(turn) for _, turn in groupby(conversation[leading:], key=lambda placed: placed.turn)]
    for turn in reversed(turns):
        left -= _counted(count_tokens, turn)
        if left < 0:
            break
        chosen = turn[0].turn or 0
    return turn_range(conversation, chosen, None, keep_system=keep_system)


def _counted(count_tokens: Callable[[Sequence[MessageEnvelope]], int], turn: Sequence[Placed]) -> int:
    count = count_tokens([placed.envelope for placed in turn])
    if not isinstance(count, (int, float)):
        raise TypeError(f"count_tokens gave {count!r:.80}, not a number of tokens")
    return count


def turn_count(conversation: Sequence[Placed]) -> int:
    """Return how many turns a placed conversation has."""
    return (conversation[-1].turn or 0) + 1 if conversation else 0


def _leading_system(conversation: Sequence[Placed]) -> int:
    return next(
        (at for at, placed in enumerate(conversation) if placed.envelope["role"] != "system"), len(conversation)
    )
