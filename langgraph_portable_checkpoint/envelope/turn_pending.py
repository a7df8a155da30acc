"""What is pending at a checkpoint, in the words of a turn: its error, its interrupts, and the question to resend.

Reads LangGraph's pending writes and channel names; both are data here, nothing is run. Pure.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypedDict

from langgraph.checkpoint.base import WRITES_IDX_MAP

from langgraph_portable_checkpoint.envelope.model import MEDIA_TYPES, MessageEnvelope
from langgraph_portable_checkpoint.envelope.turn_model import MAX_NAME, MAX_TEXT, TurnError, TurnRecord
from langgraph_portable_checkpoint.envelope.turn_record import iso_utc
from langgraph_portable_checkpoint.envelope.turns import Pending

ERROR: Final = "__error__"
INTERRUPT: Final = "__interrupt__"


def _nothing(_: object) -> bool:
    return False


def pending_of(
    writes: Iterable[tuple[str, str, Any]],
    *,
    failed_at: datetime,
    channel_values: Mapping[str, Any] | None = None,
    has_media: Callable[[object], bool] = _nothing,
) -> Pending:
    """Return what is pending at a checkpoint.

    Args:
        writes: Its pending writes: (task id, channel, value). A task that has written to an ordinary channel has come
            to its end since, so its interrupts and its error count no more.
        failed_at: When the error was written; the time of the call where that is not known.
        channel_values: The checkpoint's channels, if it is to be known whether the run is finished.
        has_media: Tells whether a value holds media that are stored apart from it. Records hold none of these.
    """
    listed = list(writes)
    done = {task for task, channel, _ in listed if channel not in WRITES_IDX_MAP}
    waiting = [(channel, value) for task, channel, value in listed if task not in done]
    errors = [value for channel, value in waiting if channel == ERROR]
    interrupts = [
        entry for channel, value in waiting if channel == INTERRUPT for entry in interrupt_entries(value, has_media)
    ]
    return Pending(
        interrupts=tuple({entry["id"]: entry for entry in interrupts}.values()),
        error=error_entry(errors[-1], failed_at=failed_at) if errors else None,
        finished=channel_values is not None and is_finished(channel_values),
    )


def is_finished(channel_values: Mapping[str, Any]) -> bool:
    """Tell whether a StateGraph's checkpoint certainly leaves no task to run: nothing triggers a node any more."""
    return not any(
        name.startswith(("branch:to:", "__start__")) or (name.startswith(("join:", "__pregel_tasks")) and bool(value))
        for name, value in channel_values.items()
    )


def error_entry(raised: object, *, failed_at: datetime) -> TurnError:
    """Return the error of a turn from an exception, or from the text that LangGraph keeps of one (`repr`).

    >>> from datetime import UTC
    >>> error_entry("ValueError('no such file')", failed_at=datetime(2026, 1, 2, tzinfo=UTC))["message"]
    'no such file'
    """
    if isinstance(raised, BaseException):
        kind, message = type(raised).__name__, _message_of(raised.args) or str(raised)
    elif isinstance(raised, str) and (found := _REPR.fullmatch(raised)):
        kind, message = found["type"], _message_of(_literal(found["args"])) or found["args"]
    else:
        kind, message = "Error", str(raised)
    return TurnError(type=kind[:MAX_NAME], message=message[:MAX_TEXT], failed_at=iso_utc(failed_at))


_REPR: Final = re.compile(r"(?P<type>[A-Za-z_][\w.]*)\((?P<args>.*)\)", re.DOTALL)
_MAX_LITERAL: Final = 16 * MAX_TEXT


def _message_of(args: tuple[Any, ...]) -> str | None:
    return args[0] if len(args) == 1 and isinstance(args[0], str) else None


def _literal(args: str) -> tuple[Any, ...]:
    try:
        return tuple(ast.literal_eval(f"({args.rstrip(', ')},)")) if args and len(args) <= _MAX_LITERAL else ()
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ()


def interrupt_entries(interrupts: object, has_media: Callable[[object], bool] = _nothing) -> tuple[dict[str, Any], ...]:
    """Return the entries of an `__interrupt__` write: a LangGraph Interrupt, or a sequence of them."""
    several = interrupts if isinstance(interrupts, (list, tuple)) else (interrupts,)
    return tuple({"id": _id_of(one), **shown(getattr(one, "value", one), has_media)} for one in several)


def _id_of(interrupt: object) -> str | None:
    name = getattr(interrupt, "id", None)
    return name if isinstance(name, str) else None


def shown(value: object, has_media: Callable[[object], bool] = _nothing) -> dict[str, Any]:
    """Return a value as data if it is small and plain, else the name of its type: records hold no large values."""
    if has_media(value):
        return {"omitted": type(value).__name__}
    try:
        text = json.dumps(value, allow_nan=False)
        if len(text) <= MAX_TEXT and json.loads(text) == value:
            return {"value": json.loads(text)}
    except (TypeError, ValueError, RecursionError):
        pass
    return {"omitted": type(value).__name__}


class InterruptedTurn(TypedDict):
    """A turn that did not come to its answer, with the question to resend."""

    turn: int
    status: str
    message: MessageEnvelope | None
    """The last message that the user typed in the turn, as sent."""
    messages: list[MessageEnvelope]
    """All that the user typed in it, in order; more than one where the user sent several."""
    attachments: int
    """How many media parts those messages have."""
    error: str | None
    error_type: str | None
    failed_at: str | None
    interrupts: list[dict[str, Any]]


def interrupted_turn_record(record: TurnRecord | None, messages: Sequence[MessageEnvelope]) -> InterruptedTurn | None:
    """Return the question of a failed or interrupted turn, ready to be sent again.

    Args:
        record: The thread's last turn.
        messages: The envelopes of the messages at `record["question"]`.

    Returns:
        None when the last turn did not fail and was not interrupted; so it is gone once the next turn starts.
    """
    if record is None or record["status"] not in ("failed", "interrupted"):
        return None
    error: Mapping[str, Any] = record["error"] or {}
    return InterruptedTurn(
        turn=record["turn"],
        status=record["status"],
        message=messages[-1] if messages else None,
        messages=list(messages),
        attachments=sum(block["type"] in _ATTACHED for envelope in messages for block in envelope["content"]),
        error=error.get("message"),
        error_type=error.get("type"),
        failed_at=error.get("failed_at"),
        interrupts=record["interrupts"],
    )


_ATTACHED: Final = frozenset((*MEDIA_TYPES, "text-plain"))
