"""The turn log of one conversation: derived whole, compared with what is stored, and added up.

Used where messages were not simply appended (RemoveMessage, summarisation, trimming, time travel, forks) and for any
checkpoint that is not the head. Pure; see `turn_record` for the path that appends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict, cast

from langgraph_portable_checkpoint.envelope.turn_model import (
    MAX_RUN_IDS,
    Entry,
    Stamp,
    TurnMessage,
    TurnPage,
    TurnRecord,
)
from langgraph_portable_checkpoint.envelope.turn_record import add_usage, advance_turns, settle
from langgraph_portable_checkpoint.envelope.turns import NOTHING_PENDING, Pending, Status, status_of_followed


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """One turn with all its pages."""

    record: TurnRecord
    pages: tuple[TurnPage, ...] = ()

    @property
    def entries(self) -> list[Entry]:
        """All messages of the turn, in order."""
        return [entry for part in (*self.pages, self.record) for entry in part["messages"]]


@dataclass(frozen=True, slots=True)
class TurnChanges:
    """What to write and what to delete so that the stored turn log equals another one."""

    records: tuple[TurnRecord, ...] = ()
    pages: tuple[TurnPage, ...] = ()
    delete_turns: tuple[int, ...] = ()
    delete_pages: tuple[tuple[int, int], ...] = ()
    """(turn, page) pairs."""


class Totals(TypedDict):
    """What turns add up to."""

    turns: int
    messages: int
    requests: int
    usage: dict[str, Any]
    cost: NotRequired[float]
    media_count: int
    media_bytes: int


def derive_turns(
    messages: Sequence[TurnMessage],
    *,
    stamp: Stamp,
    pending: Pending = NOTHING_PENDING,
    known: Sequence[StoredTurn] = (),
) -> list[StoredTurn]:
    """Return the turns of a whole conversation.

    Args:
        messages: All messages, in order.
        stamp: Who writes, when, at which checkpoint; it signs the turns that are not in `known`.
        pending: What is pending at the checkpoint; it concerns the last turn.
        known: The turn log as stored. A turn that still has the same messages keeps its record, whatever its number is
            now. One that starts with the same message keeps its start, runs and errors.
    """
    update = advance_turns(None, messages, stamp=stamp, pending=pending)
    pages: dict[int, list[TurnPage]] = {}
    for page in update.pages:
        pages.setdefault(page["turn"], []).append(page)
    fresh = [StoredTurn(record, tuple(pages.get(record["turn"], ()))) for record in update.records]
    before = _KnownTurns(known)
    kept = [_keep(turn, before.take(turn)) for turn in fresh]
    if not kept:
        return []
    followed = [StoredTurn(_followed(turn.record), turn.pages) for turn in kept[:-1]]
    return [*followed, StoredTurn(settle(kept[-1].record, pending), kept[-1].pages)]


def changed_turns(old: Sequence[StoredTurn], new: Sequence[StoredTurn]) -> TurnChanges:
    """Return the writes and deletes that make the stored log `old` equal to `new`. Equal turns cost nothing."""
    stored = {turn.record["turn"]: turn for turn in old}
    wanted = {turn.record["turn"]: turn for turn in new}
    old_pages = {(page["turn"], page["page"]): page for turn in old for page in turn.pages}
    new_pages = {(page["turn"], page["page"]): page for turn in new for page in turn.pages}
    return TurnChanges(
        records=tuple(t.record for n, t in wanted.items() if n not in stored or stored[n].record != t.record),
        pages=tuple(page for at, page in new_pages.items() if old_pages.get(at) != page),
        delete_turns=tuple(n for n in stored if n not in wanted),
        delete_pages=tuple(at for at in old_pages if at not in new_pages),
    )


class _KnownTurns:
    """Finds the stored turn that starts with the same message; each is given out once."""

    def __init__(self, known: Sequence[StoredTurn]) -> None:
        self._by_start: dict[object, dict[int, StoredTurn]] = {}
        for turn in known:
            for name in _start_of(turn):
                self._by_start.setdefault(name, {})[turn.record["turn"]] = turn

    def take(self, turn: StoredTurn) -> StoredTurn | None:
        """Return the turn of the same number if it starts alike, else the first unused one that does, else None."""
        for name in _start_of(turn):
            alike = self._by_start.get(name)
            if alike:
                number = turn.record["turn"]
                return self._use(alike[number] if number in alike else next(iter(alike.values())))
        return None

    def _use(self, turn: StoredTurn) -> StoredTurn:
        for name in _start_of(turn):
            del self._by_start[name][turn.record["turn"]]
        return turn


def _start_of(turn: StoredTurn) -> set[object]:
    first = (turn.pages[0] if turn.pages else turn.record)["messages"][:1]
    return {name for entry in first for name in entry[:2] if name is not None}


def _keep(new: StoredTurn, old: StoredTurn | None) -> StoredTurn:
    if old is None:
        return new
    number = new.record["turn"]
    if old.entries == new.entries:
        record = old.record if old.record["turn"] == number else cast(TurnRecord, {**old.record, "turn": number})
        return StoredTurn(record, new.pages)
    runs = [*old.record["run_ids"], *(run for run in new.record["run_ids"] if run not in old.record["run_ids"])]
    kept: dict[str, Any] = {
        "started_at": min(old.record["started_at"], new.record["started_at"]),
        "updated_at": max(old.record["updated_at"], new.record["updated_at"]),
        "run_ids": runs[-MAX_RUN_IDS:],
        "error": old.record["error"],
    }
    if "past_errors" in old.record:
        kept["past_errors"] = old.record["past_errors"]
    return StoredTurn(settle(cast(TurnRecord, {**new.record, **kept}), NOTHING_PENDING), new.pages)


def _followed(record: TurnRecord) -> TurnRecord:
    status = status_of_followed(cast(Status, record["status"]))
    return record if status == record["status"] else cast(TurnRecord, {**record, "status": status})


def no_turns() -> Totals:
    """Return the totals of a thread without turns."""
    return Totals(turns=0, messages=0, requests=0, usage={}, media_count=0, media_bytes=0)


def add_turns(totals: Totals, records: Iterable[TurnRecord]) -> Totals:
    """Return totals with more turns added.

    A store keeps the totals of all turns but the last (they change no more) and adds the last one when asked.
    """
    for record in records:
        media = record.get("media_total", {"count": 0, "size_bytes": 0})
        more = Totals(
            turns=totals["turns"] + 1,
            messages=totals["messages"] + record["count"],
            requests=totals["requests"] + sum(use["requests"] for use in record["models"]),
            usage=add_usage(totals["usage"], record["usage"]),
            media_count=totals["media_count"] + media["count"],
            media_bytes=totals["media_bytes"] + media["size_bytes"],
        )
        costs = [part["cost"] for part in (totals, record) if "cost" in part]
        if costs:
            more["cost"] = sum(costs)
        totals = more
    return totals
