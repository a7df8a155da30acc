"""Where turns begin and end: the one place that decides it.

Pure functions over `MessageFact`; no storage, no clock. Two of them, `opens_turn` and `next_phase`, hold all rules; the
spans here and the records in `turn_record` are both folds over them, so they cannot disagree.

A turn is a user's message up to the answer that asks for no tool. Turns cover every message exactly once, in order.

| message | opens a turn | effect on the turn in which it stands |
|---|---|---|
| the first message of the thread, whatever it is | yes, turn 0 | as below |
| user, typed by the user | when the turn already holds an assistant or a tool message | none (`asked`) |
| user, typed, right after other user, system or summary messages | no: consecutive user messages are one turn | none |
| user, not typed by the user (`lc_source`, notifications) | no | none: it neither ends nor reopens the turn |
| summary of earlier messages, any role | no; a leading summary belongs to turn 0 | none, even in the assistant's role |
| system | no; leading system messages belong to turn 0, later ones to the turn in which they stand | none |
| assistant that asks for client tools | no; if first of all: turn 0 | `working`, even after an answer |
| assistant that asks for no tool | no; several answers in a row are one turn | `answered` |
| assistant with server tool calls or invalid calls only | no | `answered`: nobody is going to answer those |
| tool | no: also a late result, or one after the answer, stays where it stands | `working` if nothing answered yet |
| other (unknown chat roles) | no | none |

A user who writes while calls are unanswered starts a new turn: the old one is left as it was, and no later message
can complete it. Status of the last turn, first rule that fits: `failed` (an error is pending), `interrupted`
(interrupts are pending), `complete` (phase `answered`; or the run is finished and no call is open, which is how tools
that return directly and structured output leave it), else `open`. A turn that another turn follows is `complete` if
answered, else `interrupted`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from langchain_core.messages import BaseMessage

from langgraph_portable_checkpoint.envelope.facts import MessageFact

Phase = Literal["asked", "working", "answered"]
Status = Literal["open", "complete", "interrupted", "failed"]
PHASES: Final = ("asked", "working", "answered")
STATUSES: Final = ("open", "complete", "interrupted", "failed")


@dataclass(frozen=True, slots=True)
class Pending:
    """What the head checkpoint's pending writes say of the last turn."""

    interrupts: tuple[Mapping[str, Any], ...] = ()
    """One map per interrupt: `id`, and `value` where it is plain data."""
    error: Mapping[str, Any] | None = None
    """`type`, `message`, `failed_at` (UTC)."""
    finished: bool = False
    """True when the graph has no task left to run."""


NOTHING_PENDING: Final = Pending()


@dataclass(frozen=True, slots=True)
class Span:
    """One turn as a slice of the conversation: messages[start:stop]."""

    start: int
    stop: int
    status: Status
    phase: Phase = "asked"
    open_calls: tuple[str | None, ...] = ()
    """Calls of the latest asking message that no tool message has answered yet."""


def opens_turn(phase: Phase | None, fact: MessageFact) -> bool:
    """Tell whether a message starts a turn, given how far the turn before it got (None: there is none)."""
    if phase is None:
        return True
    return phase != "asked" and fact.typed_by_user and not fact.summary


def next_phase(phase: Phase, fact: MessageFact) -> Phase:
    """Return how far a turn is after a message that belongs to it. A new turn starts as `asked`."""
    if fact.summary:
        return phase
    if fact.role == "assistant":
        return "working" if fact.tool_calls else "answered"
    if fact.role == "tool" and phase == "asked":
        return "working"
    return phase


def next_calls(calls: tuple[str | None, ...], fact: MessageFact) -> tuple[str | None, ...]:
    """Return the calls that are open after a message; only those of the latest asking message count."""
    if fact.role == "assistant" and not fact.summary:
        return fact.tool_calls
    if fact.role == "tool" and calls and fact.tool_call_id in calls:
        at = calls.index(fact.tool_call_id)
        return calls[:at] + calls[at + 1 :]
    return calls


def status_of_last(phase: Phase, calls: Sequence[str | None], pending: Pending = NOTHING_PENDING) -> Status:
    """Return the status of the turn at the head."""
    if pending.error is not None:
        return "failed"
    if pending.interrupts:
        return "interrupted"
    if phase == "answered" or (phase == "working" and pending.finished and not calls):
        return "complete"
    return "open"


def status_of_followed(status: Status) -> Status:
    """Return the status of a turn once another turn follows it: what was open will never be completed."""
    return "interrupted" if status == "open" else status


def spans(facts: Sequence[MessageFact], pending: Pending = NOTHING_PENDING) -> list[Span]:
    """Cut a conversation into turns.

    Args:
        facts: One per message, in order.
        pending: What is pending at the checkpoint that holds these messages; it concerns the last turn only.

    Returns:
        The turns in order: `result[0].start == 0`, each starts where the one before stops, the last stops at the end.

    >>> question, answer = MessageFact("user", typed_by_user=True), MessageFact("assistant")
    >>> [(span.start, span.stop, span.status) for span in spans([question, answer, question])]
    [(0, 2, 'complete'), (2, 3, 'open')]
    """
    return advance(None, facts, pending=pending)


def extend(
    known: Sequence[Span], facts: Sequence[MessageFact], *, start: int, pending: Pending = NOTHING_PENDING
) -> list[Span]:
    """Return the turns of a conversation whose first `start` messages are already cut.

    Args:
        known: The turns as cut before.
        facts: The facts of messages[start:], nothing else is looked at.
        start: Where those messages stand. Either the end of the last turn (messages were appended) or the start of a
            turn (it and all that follow were replaced): see `restart_at`.
        pending: As for `spans`.

    Raises:
        ValueError: `start` lies inside a turn or beyond the end.
    """
    kept = [span for span in known if span.start < start] if known and start < known[-1].stop else list(known)
    if (kept[-1].stop if kept else 0) != start:
        raise ValueError(f"messages can be cut again only from a turn's boundary, and {start} is none; see restart_at")
    last = kept.pop() if kept else None
    return kept + advance(last, facts, pending=pending)


def advance(last: Span | None, facts: Sequence[MessageFact], *, pending: Pending = NOTHING_PENDING) -> list[Span]:
    """Return what becomes of the last turn, and the turns after it, when messages follow it.

    Costs O(len(facts)); the first element replaces `last`.
    """
    cut: list[Span] = []
    for at, fact in enumerate(facts, last.stop if last else 0):
        if last is None or opens_turn(last.phase, fact):
            if last is not None:
                cut.append(replace(last, status=_followed(last)))
            last = Span(at, at, "open")
        last = Span(last.start, at + 1, "open", next_phase(last.phase, fact), next_calls(last.open_calls, fact))
    if last is not None:
        cut.append(replace(last, status=status_of_last(last.phase, last.open_calls, pending)))
    return cut


def _followed(span: Span) -> Status:
    return "complete" if span.phase == "answered" else "interrupted"


def restart_at(known: Sequence[Span], changed_at: int) -> int:
    """Return from which message on to cut again when messages[changed_at:] may have changed."""
    for span in reversed(known):
        if span.start <= changed_at:
            return span.start if changed_at < span.stop else span.stop
    return 0


def stop_of_turn(known: Sequence[Span], turn: int) -> int:
    """Return how many messages remain when a conversation is truncated after `turn` (0-based, negative from the end).

    Raises:
        IndexError: The conversation has no such turn.
    """
    return known[turn].stop


def conversation(value: object) -> Sequence[BaseMessage] | None:
    """Return a channel's value if it is a conversation: a list of LangChain messages, possibly empty; else None."""
    if isinstance(value, (list, tuple)) and all(isinstance(message, BaseMessage) for message in value):
        return value
    return None
