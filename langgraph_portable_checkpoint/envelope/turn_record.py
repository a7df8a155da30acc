"""Build the records of turns, and carry them forward as messages arrive.

Pure: times, ids and versions come in a `Stamp`. `advance_turns` is the hot path: it needs the last record and the new
messages, nothing older, and what it returns is all that has to be written. Its cost, in time and bytes, depends on the
new messages only: a record lists at most 64 messages, full pages are sealed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast

from langgraph_portable_checkpoint.envelope.facts import MessageFact
from langgraph_portable_checkpoint.envelope.turn_model import (
    MAX_INTERRUPTS,
    MAX_MODELS,
    MAX_NAME,
    MAX_PAST_ERRORS,
    MAX_QUESTIONS,
    MAX_RUN_IDS,
    PAGE_MESSAGES,
    TURN_VERSION,
    MediaUse,
    ModelUse,
    Stamp,
    TurnMessage,
    TurnPage,
    TurnRecord,
)
from langgraph_portable_checkpoint.envelope.turns import (
    NOTHING_PENDING,
    Pending,
    Phase,
    Status,
    next_calls,
    next_phase,
    opens_turn,
    status_of_followed,
    status_of_last,
)

MAX_COUNT: Final = 2**53 - 1
"""Numbers stay where every language reads them exactly."""


@dataclass(frozen=True, slots=True)
class TurnUpdate:
    """What changes in the turn log when messages arrive at the head."""

    records: tuple[TurnRecord, ...]
    """The turn that was last, if there was one, then the turns that were opened. The final one is the new last turn."""
    pages: tuple[TurnPage, ...] = ()
    """Pages that became full; none of them was written before."""


def advance_turns(
    last: TurnRecord | None,
    messages: Sequence[TurnMessage],
    *,
    stamp: Stamp,
    pending: Pending | None = NOTHING_PENDING,
) -> TurnUpdate:
    """Return the records to write when `messages` are appended to a conversation.

    Args:
        last: The record of the last turn, None for a conversation without messages.
        messages: The appended messages, in order; may be empty when only the checkpoint or what is pending changed.
        stamp: Who writes, when, at which checkpoint.
        pending: What is pending at the new checkpoint. A run that goes on has nothing pending, and the error that the
            turn had moves to `past_errors`. None leaves status, error and interrupts as they are (used for writes that
            are not part of a run, as update_state of another channel); with messages, None means nothing pending.

    Returns:
        The update; its first record is `last` itself when a turn follows it and nothing in it changes.
    """
    records: list[TurnRecord] = []
    pages: list[TurnPage] = []
    draft = None if last is None else _Draft(last)
    for message in messages:
        if draft is None or opens_turn(draft.phase, message.fact):
            if draft is not None:
                records.append(draft.followed(stamp))
                pages += draft.sealed
            draft = _Draft(_empty_record(stamp, turn=0 if draft is None else draft.base["turn"] + 1, first=message))
        draft.add(message)
    if draft is not None:
        records.append(draft.head(stamp, NOTHING_PENDING if messages and pending is None else pending))
        pages += draft.sealed
    return TurnUpdate(tuple(records), tuple(pages))


def mark_turn(record: TurnRecord, *, stamp: Stamp, pending: Pending) -> TurnRecord:
    """Return the last turn's record with more that is pending at its checkpoint: interrupts or an error.

    Interrupts add to those recorded (parallel tasks report one by one); the same id is recorded once.
    """
    known = {interrupt.get("id") for interrupt in record["interrupts"]}
    added = tuple(interrupt for interrupt in pending.interrupts if interrupt.get("id") not in known)
    error = pending.error or record["error"]
    merged = Pending((*record["interrupts"], *added), error, pending.finished)
    return advance_turns(record, (), stamp=stamp, pending=merged).records[0]


def settle(record: TurnRecord, pending: Pending) -> TurnRecord:
    """Return the record with status, error and interrupts as `pending` has them; a past error is kept as such."""
    error, before = pending.error, record["error"]
    settled = cast(
        TurnRecord,
        {**record, "error": error and dict(error), "interrupts": [*map(dict, pending.interrupts[:MAX_INTERRUPTS])]},
    )
    past = [*record.get("past_errors", []), *([before] if before is not None else [])]
    if past:  # one that is pending again, as of a turn whose messages were rewritten, is not past
        settled["past_errors"] = [known for known in past if known != error][-MAX_PAST_ERRORS:]
        if not settled["past_errors"]:
            del settled["past_errors"]
    calls = record.get("open_calls", [])
    settled["status"] = status_of_last(cast(Phase, record["phase"]), calls, pending)
    return settled


def iso_utc(at: datetime) -> str:
    """Return an aware time as ISO 8601 in UTC with microseconds, which sorts as text."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def add_usage(total: Mapping[str, Any], more: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the sum of two usage maps, key by key, details included. What is not a number is left out."""
    summed = dict(total)
    for key, value in (more or {}).items():
        before = summed.get(key)
        if isinstance(value, Mapping):
            summed[key] = add_usage(before if isinstance(before, Mapping) else {}, value)
        elif is_count(value):
            summed[key] = min((before if is_count(before) else 0) + value, MAX_COUNT)
    return summed


def is_count(value: object) -> bool:
    """Tell whether a value is a number that may be added up: finite, not negative, exact in every language."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT


def _empty_record(stamp: Stamp, *, turn: int, first: TurnMessage) -> TurnRecord:
    now = iso_utc(stamp.at)
    started_at = min(_time_of(first.fact) or now, now)
    record: TurnRecord = {
        "v": TURN_VERSION,
        "thread_id": stamp.thread_id,
        "turn": turn,
        "status": "open",
        "phase": "asked",
        "started_at": started_at,
        "updated_at": started_at,
        "count": 0,
        "messages": [],
        "question": [],
        "models": [],
        "usage": {},
        "media": [],
        "run_ids": [],
        "error": None,
        "interrupts": [],
        "checkpoint": {},
        "framework": {},
        "writer": {},
    }
    if stamp.channel != "messages":
        record["channel"] = stamp.channel
    return record


def _time_of(fact: MessageFact) -> str | None:
    """Return when a message was made, where it says so in a way that can be read."""
    if fact.created_at is None:
        return None
    try:
        made = datetime.fromisoformat(fact.created_at)
        return iso_utc(made if made.tzinfo else made.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def _named(name: str | None) -> str | None:
    return name if name is None else name[:MAX_NAME]


class _Draft:
    """A record while messages are added to it. Never changes the record that it starts from."""

    def __init__(self, base: TurnRecord) -> None:
        self.base = base
        self.phase = cast(Phase, base["phase"])
        self.calls = tuple(base.get("open_calls", ()))
        self.messages = list(base["messages"])
        self.media = list(base["media"])
        self.models = {(use["provider"], use["model"]): use for use in base["models"]}
        self.usage = base["usage"]
        self.cost = base.get("cost")
        self.question = base["question"]
        self.response_id = base.get("response_id")
        self.count = base["count"]
        self.pages = base.get("pages", 0)
        self.media_total = base.get("media_total")
        self.sealed: list[TurnPage] = []

    def add(self, message: TurnMessage) -> None:
        fact = message.fact
        self.phase = next_phase(self.phase, fact)
        self.calls = next_calls(self.calls, fact)
        self.messages.append([message.ref, message.id])
        if fact.typed_by_user:
            self.question = [*self.question, self.count][-MAX_QUESTIONS:]
        if fact.media:
            self._add_media(fact)
        if fact.role == "assistant":
            self._add_answer(fact)
        self.count += 1
        if len(self.messages) > PAGE_MESSAGES:
            self._seal()

    def _add_media(self, fact: MessageFact) -> None:
        self.media += [
            MediaUse(message=self.count, ref=part.ref, mime_type=part.mime_type, size_bytes=part.size_bytes)
            for part in fact.media
        ]
        total = self.media_total or {"count": 0, "size_bytes": 0}
        size = total["size_bytes"] + sum(part.size_bytes or 0 for part in fact.media)
        self.media_total = {"count": total["count"] + len(fact.media), "size_bytes": size}

    def _add_answer(self, fact: MessageFact) -> None:
        """Count a response once, although it may come as several messages that repeat its usage."""
        known = fact.provider is not None or fact.model is not None or fact.usage is not None
        response_id = _named(fact.response_id)
        repeated = response_id is not None and response_id == self.response_id
        self.response_id = response_id
        if not known or repeated:
            return
        who = (_named(fact.provider), _named(fact.model))
        if who not in self.models and len(self.models) >= MAX_MODELS:
            who = (None, None)
        use = self.models.get(who) or ModelUse(provider=who[0], model=who[1], requests=0, usage={})
        requests, usage = use["requests"] + 1, add_usage(use["usage"], fact.usage)
        self.models[who] = ModelUse(provider=who[0], model=who[1], requests=requests, usage=usage)
        self.usage = add_usage(self.usage, fact.usage)
        if fact.cost is not None and is_count(fact.cost):
            self.cost = (self.cost or 0.0) + fact.cost

    def _seal(self) -> None:
        """Move the oldest 64 messages, with their media, to a page of their own."""
        stop = (self.pages + 1) * PAGE_MESSAGES
        self.sealed.append(
            TurnPage(
                v=TURN_VERSION,
                turn=self.base["turn"],
                page=self.pages,
                messages=self.messages[:PAGE_MESSAGES],
                media=[use for use in self.media if use["message"] < stop],
            )
        )
        self.messages = self.messages[PAGE_MESSAGES:]
        self.media = [use for use in self.media if use["message"] >= stop]
        self.pages += 1

    def followed(self, stamp: Stamp) -> TurnRecord:
        """Return the record of a turn after which another one starts."""
        record = self.base if self.count == self.base["count"] else self.head(stamp, NOTHING_PENDING)
        status = status_of_followed(cast(Status, record["status"]))
        return record if status == record["status"] else cast(TurnRecord, {**record, "status": status})

    def head(self, stamp: Stamp, pending: Pending | None) -> TurnRecord:
        """Return the record of the turn at the head."""
        record = cast(TurnRecord, {**self.base, **self._content(), **self._signature(stamp)})
        for name, value in self._optional().items():
            if value is not None:
                record[name] = value  # type: ignore[literal-required]  # the names are those of _optional
            else:
                record.pop(name, None)  # type: ignore[misc]  # as above
        return record if pending is None else settle(record, pending)

    def _content(self) -> dict[str, Any]:
        return {
            "phase": self.phase,
            "count": self.count,
            "messages": self.messages,
            "question": self.question,
            "models": list(self.models.values()),
            "usage": self.usage,
            "media": self.media,
        }

    def _optional(self) -> dict[str, Any]:
        return {
            "pages": self.pages or None,
            "open_calls": list(self.calls) or None,
            "response_id": self.response_id,
            "media_total": self.media_total,
            "cost": self.cost,
        }

    def _signature(self, stamp: Stamp) -> dict[str, Any]:
        runs = self.base["run_ids"]
        if stamp.run_id is not None and stamp.run_id not in runs:
            runs = [*runs, stamp.run_id][-MAX_RUN_IDS:]
        return {
            "updated_at": max(self.base["updated_at"], iso_utc(stamp.at)),
            "run_ids": runs,
            "checkpoint": {"ns": stamp.checkpoint_ns, "id": stamp.checkpoint_id},
            "framework": {"name": stamp.framework[0], "version": stamp.framework[1]},
            "writer": {"package": stamp.writer[0], "version": stamp.writer[1]},
        }
