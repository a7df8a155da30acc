"""Turn records: built message by message, bounded, derived whole, compared and added up."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_portable_checkpoint.envelope.facts import MediaFact, MessageFact
from langgraph_portable_checkpoint.envelope.turn_log import (
    StoredTurn,
    add_turns,
    changed_turns,
    derive_turns,
    no_turns,
)
from langgraph_portable_checkpoint.envelope.turn_model import PAGE_MESSAGES, Stamp, TurnMessage, TurnPage, TurnRecord
from langgraph_portable_checkpoint.envelope.turn_pending import error_entry
from langgraph_portable_checkpoint.envelope.turn_record import add_usage, advance_turns, mark_turn
from langgraph_portable_checkpoint.envelope.turn_wire import dump_page, dump_turn
from langgraph_portable_checkpoint.envelope.turns import Pending, spans

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
STAMP = Stamp("t1", NOON, "c1", ("langgraph", "1.2"), ("langgraph-portable-checkpoint", "1"), run_id="r1")
USER = MessageFact("user", typed_by_user=True)
ANSWER = MessageFact("assistant", provider="openai", model="m", usage={"input_tokens": 3, "output_tokens": 1})
ASK = MessageFact("assistant", tool_calls=("c1",))
RESULT = MessageFact("tool", tool_call_id="c1")
SYSTEM = MessageFact("system")
NOTICE = MessageFact("user")
PICTURE = MessageFact("user", typed_by_user=True, media=(MediaFact("aa", "image/png", 10),))
BOOM = error_entry(ValueError("boom"), failed_at=NOON)


def messages(*facts: MessageFact, first: int = 0) -> list[TurnMessage]:
    return [TurnMessage(n.to_bytes(16, "big"), f"m{n}", fact) for n, fact in enumerate(facts, first)]


def later(seconds: float, **changes: Any) -> Stamp:
    return replace(STAMP, at=NOON + timedelta(seconds=seconds), **changes)


def last_of(*facts: MessageFact, pending: Pending | None = None) -> TurnRecord:
    return advance_turns(None, messages(*facts), stamp=STAMP, pending=pending).records[-1]


def written(log: list[StoredTurn]) -> dict[Any, Any]:
    """A turn log as a store holds it."""
    records = {turn.record["turn"]: turn.record for turn in log}
    return records | {(page["turn"], page["page"]): page for turn in log for page in turn.pages}


facts_of = st.lists(st.sampled_from((USER, ANSWER, ASK, RESULT, SYSTEM, NOTICE, PICTURE)), max_size=30)


def test_a_turn_says_who_answered_and_what_was_used() -> None:
    record = last_of(USER, ASK, RESULT, ANSWER, replace(ANSWER, provider="anthropic", cost=0.25))
    assert [(use["provider"], use["model"], use["requests"]) for use in record["models"]] == [
        ("openai", "m", 1),
        ("anthropic", "m", 1),
    ]
    assert record["usage"] == {"input_tokens": 6, "output_tokens": 2}
    assert record["cost"] == 0.25
    assert (record["status"], record["count"], record["question"]) == ("complete", 5, [0])
    assert record["messages"][1] == [(1).to_bytes(16, "big"), "m1"]
    assert record["checkpoint"] == {"ns": "", "id": "c1"}


def test_a_response_in_several_messages_is_counted_once() -> None:
    part = replace(ANSWER, response_id="resp_1")
    assert last_of(USER, part, part, part)["models"][0]["requests"] == 1
    assert last_of(USER, part, replace(part, response_id="resp_2"))["models"][0]["requests"] == 2
    assert last_of(USER, ANSWER, ANSWER)["models"][0]["requests"] == 2


def test_answers_that_tell_no_model_are_no_requests() -> None:
    assert last_of(USER, MessageFact("assistant"))["models"] == []


def test_many_models_are_added_up_under_one_entry() -> None:
    record = last_of(USER, *(replace(ANSWER, model=f"m{n}") for n in range(100)))
    assert len(record["models"]) == 33
    assert sum(use["requests"] for use in record["models"]) == 100


@given(facts_of, st.lists(st.integers(0, 30), max_size=8))
def test_any_number_of_steps_leaves_the_same_log(facts: list[MessageFact], stops: list[int]) -> None:
    history = messages(*facts)
    stored: dict[int, TurnRecord] = {}
    last = None
    at = 0
    for stop in [*sorted({min(stop, len(facts)) for stop in stops}), len(facts)]:
        for record in advance_turns(last, history[at:stop], stamp=STAMP).records:
            stored[record["turn"]] = last = record
        at = stop
    assert stored == written(derive_turns(history, stamp=STAMP))


@given(facts_of)
def test_records_and_spans_agree(facts: list[MessageFact]) -> None:
    log = derive_turns(messages(*facts), stamp=STAMP)
    assert [turn.record["turn"] for turn in log] == list(range(len(log)))
    assert [entry[1] for turn in log for entry in turn.entries] == [f"m{n}" for n in range(len(facts))]
    assert [(t.record["status"], t.record["count"]) for t in log] == [
        (span.status, span.stop - span.start) for span in spans(facts)
    ]


def test_a_long_turn_moves_full_pages_out_of_its_record() -> None:
    log = derive_turns(messages(USER, *[ASK, RESULT] * 5000), stamp=STAMP)
    assert len(log) == 1
    assert {len(page["messages"]) for page in log[0].pages} == {PAGE_MESSAGES}
    assert 1 <= len(log[0].record["messages"]) <= PAGE_MESSAGES
    assert len(log[0].entries) == log[0].record["count"] == 10_001
    assert log[0].record["pages"] == len(log[0].pages)


def test_a_step_of_a_turn_that_never_ends_writes_no_more_than_an_early_one() -> None:
    last, sizes = last_of(USER), []
    for step in range(1500):
        picture = replace(RESULT, media=(MediaFact("aa", "image/png", 10),))
        update = advance_turns(last, messages(ASK, picture, first=1 + 2 * step), stamp=STAMP)
        last = update.records[-1]
        sizes.append(len(dump_turn(last)) + sum(len(dump_page(page)) for page in update.pages))
    assert sum(sizes[1000:]) < 1.1 * sum(sizes[500:1000])
    assert last["media_total"] == {"count": 1500, "size_bytes": 15_000}


def test_media_of_a_page_is_on_the_page() -> None:
    update = advance_turns(None, messages(PICTURE, *[ASK, RESULT] * 40, PICTURE), stamp=STAMP)
    first, second = update.records
    assert [use["message"] for use in update.pages[0]["media"]] == [0]
    assert first["media"] == []
    assert second["media"] == [{"message": 0, "ref": "aa", "mime_type": "image/png", "size_bytes": 10}]


def test_the_next_turn_leaves_a_completed_one_untouched() -> None:
    done = last_of(USER, ANSWER)
    update = advance_turns(done, messages(USER, first=2), stamp=later(5, checkpoint_id="c2"))
    assert update.records[0] is done
    assert update.records[1]["turn"] == 1


def test_what_was_open_is_interrupted_once_another_turn_follows() -> None:
    update = advance_turns(last_of(USER, ASK), messages(USER, first=2), stamp=STAMP)
    assert [record["status"] for record in update.records] == ["interrupted", "open"]


def test_a_failed_turn_stays_failed_with_its_error_when_another_follows() -> None:
    failed = mark_turn(last_of(USER, ASK), stamp=later(1), pending=Pending(error=BOOM))
    update = advance_turns(failed, messages(USER, ANSWER, first=2), stamp=later(2))
    assert update.records[0] is failed
    assert (failed["status"], failed["error"], failed["count"]) == ("failed", BOOM, 2)


def test_a_turn_that_is_tried_again_keeps_its_error_as_a_past_one() -> None:
    failed = mark_turn(last_of(USER), stamp=later(1), pending=Pending(error=BOOM))
    done = advance_turns(failed, messages(ANSWER, first=1), stamp=later(2, run_id="r2")).records[0]
    assert (done["status"], done["error"], done["past_errors"]) == ("complete", None, [BOOM])
    assert done["run_ids"] == ["r1", "r2"]


def test_writes_outside_a_run_leave_a_failure_as_it_is() -> None:
    failed = mark_turn(last_of(USER), stamp=STAMP, pending=Pending(error=BOOM))
    kept = advance_turns(failed, (), stamp=later(1, checkpoint_id="c2"), pending=None).records[0]
    assert (kept["status"], kept["error"], kept["checkpoint"]["id"]) == ("failed", BOOM, "c2")


def test_parallel_tasks_report_their_interrupts_one_by_one() -> None:
    record = last_of(USER, ASK)
    for name in ("a", "b", "a"):
        record = mark_turn(record, stamp=STAMP, pending=Pending(interrupts=({"id": name},)))
    assert (record["status"], record["interrupts"]) == ("interrupted", [{"id": "a"}, {"id": "b"}])
    resumed = advance_turns(record, messages(RESULT, first=2), stamp=STAMP).records[0]
    assert (resumed["status"], resumed["interrupts"]) == ("open", [])


def test_a_run_that_ends_in_a_tool_result_completes_the_turn_for_good() -> None:
    done = last_of(USER, ASK, RESULT, pending=Pending(finished=True))
    marked = mark_turn(last_of(USER, ASK, RESULT), stamp=STAMP, pending=Pending(finished=True))
    assert marked["status"] == "complete"
    assert advance_turns(marked, messages(USER, first=3), stamp=STAMP).records[0]["status"] == "complete"
    assert done["status"] == "complete"


def test_a_clock_that_goes_backwards_never_takes_a_time_back() -> None:
    record = advance_turns(None, messages(USER), stamp=later(0)).records[0]
    record = advance_turns(record, messages(ANSWER, first=1), stamp=later(-3600)).records[0]
    assert record["updated_at"] == record["started_at"] == "2026-01-02T12:00:00.000000+00:00"


@pytest.mark.parametrize(
    ("created_at", "started_at"),
    [
        ("2025-08-22T09:38:56.228Z", "2025-08-22T09:38:56.228000+00:00"),
        ("2025-08-22T11:38:56+02:00", "2025-08-22T09:38:56.000000+00:00"),
        ("2999-01-01T00:00:00Z", "2026-01-02T12:00:00.000000+00:00"),
        ("yesterday", "2026-01-02T12:00:00.000000+00:00"),
        ("0001-01-01T00:00:00+14:00", "2026-01-02T12:00:00.000000+00:00"),
    ],
)
def test_a_turn_starts_when_its_first_message_says(created_at: str, started_at: str) -> None:
    assert last_of(replace(USER, created_at=created_at))["started_at"] == started_at


def test_times_are_utc_whatever_zone_they_come_in() -> None:
    east = datetime.fromisoformat("2026-01-02T14:00:00+02:00")
    record = advance_turns(None, messages(USER), stamp=replace(STAMP, at=east)).records[0]
    assert record["started_at"] == "2026-01-02T12:00:00.000000+00:00"


def test_messages_without_ids_and_with_the_same_content_are_each_in_their_turn() -> None:
    same = [TurnMessage(b"x" * 16, None, fact) for fact in [USER, ANSWER] * 50]
    log = derive_turns(same, stamp=STAMP)
    assert [turn.record["count"] for turn in log] == [2] * 50
    again = derive_turns(same[:-2], stamp=later(9), known=log)
    assert changed_turns(log, again).delete_turns == (49,)
    assert changed_turns(log, again).records == ()


def test_unknown_fields_survive_an_update() -> None:
    record: Any = {**last_of(USER), "from_the_future": {"a": [1]}}
    assert advance_turns(record, messages(ANSWER, first=1), stamp=STAMP).records[0]["from_the_future"] == {"a": [1]}  # type: ignore[typeddict-item]


def test_an_update_changes_nothing_that_it_was_given() -> None:
    record = last_of(PICTURE, ASK)
    before = dump_turn(record)
    advance_turns(record, messages(RESULT, ANSWER, PICTURE, first=2), stamp=later(1, run_id="r9"))
    mark_turn(record, stamp=later(1), pending=Pending(error=BOOM))
    assert dump_turn(record) == before


@given(facts_of, st.data())
def test_the_changes_make_the_stored_log_equal_to_the_derived_one(
    facts: list[MessageFact], data: st.DataObject
) -> None:
    history = messages(*facts)
    kept = data.draw(st.lists(st.sampled_from(history), unique_by=lambda m: m.ref)) if history else []
    kept.sort(key=lambda message: message.ref)
    old = derive_turns(history, stamp=STAMP)
    new = derive_turns(kept, stamp=later(60), known=old)
    changes = changed_turns(old, new)
    store = written(old)
    for gone in (*changes.delete_turns, *changes.delete_pages):
        del store[gone]
    store |= {record["turn"]: record for record in changes.records}
    store |= {(page["turn"], page["page"]): page for page in changes.pages}
    assert store == written(new)
    assert [(t.record["count"], t.record["messages"]) for t in new] == [
        (t.record["count"], t.record["messages"]) for t in derive_turns(kept, stamp=STAMP)
    ]


def test_a_removed_answer_changes_one_turn_only() -> None:
    history = messages(*[USER, ANSWER] * 10)
    old = derive_turns(history, stamp=STAMP)
    new = derive_turns(history[:-1], stamp=later(60), known=old)
    changes = changed_turns(old, new)
    assert [record["turn"] for record in changes.records] == [9]
    assert changes.records[0]["started_at"] == old[9].record["started_at"]
    assert changes.delete_turns == ()


def test_trimming_the_start_renumbers_turns_but_keeps_what_they_record() -> None:
    history = messages(*[USER, ANSWER] * 3)
    old = derive_turns(history, stamp=STAMP)
    new = derive_turns(history[2:], stamp=later(60, checkpoint_id="c9"), known=old)
    assert [turn.record["turn"] for turn in new] == [0, 1]
    assert [{**turn.record, "turn": 0} for turn in new] == [{**turn.record, "turn": 0} for turn in old[1:]]
    assert changed_turns(old, new).delete_turns == (2,)


def test_pages_of_a_turn_that_shrank_are_deleted() -> None:
    history = messages(USER, *[ASK, RESULT] * 100)
    old = derive_turns(history, stamp=STAMP)
    new = derive_turns(history[:70], stamp=STAMP, known=old)
    assert changed_turns(old, new).delete_pages == ((0, 1), (0, 2))
    assert changed_turns(old, new).pages == ()


def test_a_failure_survives_a_change_of_other_turns() -> None:
    history = messages(USER, ANSWER, USER, ASK, USER, ANSWER)
    old = derive_turns(history, stamp=STAMP)
    old[1] = StoredTurn(mark_turn(old[1].record, stamp=STAMP, pending=Pending(error=BOOM)))
    new = derive_turns(history[2:], stamp=later(60), known=old)
    assert [turn.record["status"] for turn in new] == ["failed", "complete"]
    assert new[0].record["error"] == BOOM


def test_no_messages_no_turns() -> None:
    assert derive_turns([], stamp=STAMP) == []
    assert advance_turns(None, [], stamp=STAMP).records == ()
    old = derive_turns(messages(USER), stamp=STAMP)
    assert changed_turns(old, []).delete_turns == (0,)


def test_totals_are_the_sum_of_the_turns() -> None:
    log = derive_turns(messages(PICTURE, ANSWER, USER, replace(ANSWER, cost=0.5), USER), stamp=STAMP)
    totals = add_turns(no_turns(), [turn.record for turn in log])
    assert totals == {
        "turns": 3,
        "messages": 5,
        "requests": 2,
        "usage": {"input_tokens": 6, "output_tokens": 2},
        "cost": 0.5,
        "media_count": 1,
        "media_bytes": 10,
    }
    closed = add_turns(no_turns(), [turn.record for turn in log[:-1]])
    assert add_turns(closed, [log[-1].record]) == totals
    assert "cost" not in add_turns(no_turns(), [log[0].record])


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"input_tokens": 2, "details": {"cached": 1}}, {"input_tokens": 3, "details": {"cached": 1}}),
        ({"input_tokens": "many", "flag": True, "none": None, "list": [1]}, {"input_tokens": 1}),
        ({"input_tokens": float("nan")}, {"input_tokens": 1}),
        ({"input_tokens": float("inf")}, {"input_tokens": 1}),
        ({"input_tokens": -5}, {"input_tokens": 1}),
        ({"input_tokens": 2**53 - 1}, {"input_tokens": 2**53 - 1}),
        (None, {"input_tokens": 1}),
    ],
)
def test_usage_adds_up_only_what_counts(more: Any, expected: dict[str, Any]) -> None:
    assert add_usage({"input_tokens": 1}, more) == expected


def test_a_page_belongs_to_its_turn() -> None:
    pages: tuple[TurnPage, ...] = derive_turns(messages(USER, ANSWER, USER, *[ASK, RESULT] * 70), stamp=STAMP)[1].pages
    assert [(page["turn"], page["page"]) for page in pages] == [(1, 0), (1, 1)]


def test_what_could_grow_without_end_has_a_bound() -> None:
    record = last_of(*[USER] * 50)
    assert record["question"] == list(range(42, 50))
    for step in range(60):
        stamp = later(step, run_id=f"run-{step}")
        failed = mark_turn(record, stamp=stamp, pending=Pending(error=error_entry(str(step), failed_at=NOON)))
        record = advance_turns(failed, messages(ASK), stamp=stamp).records[0]
    assert record["run_ids"] == [f"run-{step}" for step in range(28, 60)]
    assert [error["message"] for error in record.get("past_errors", [])] == ["56", "57", "58", "59"]


def test_many_interrupts_and_long_names_are_cut() -> None:
    waiting = Pending(interrupts=tuple({"id": str(n)} for n in range(100)))
    assert len(mark_turn(last_of(USER, ASK), stamp=STAMP, pending=waiting)["interrupts"]) == 64
    named = last_of(USER, replace(ANSWER, model="m" * 10**6, response_id="r" * 10**6))
    assert len(dump_turn(named)) < 2000


def test_the_same_run_is_listed_once() -> None:
    record = advance_turns(last_of(USER), messages(ASK, RESULT), stamp=STAMP).records[0]
    assert record["run_ids"] == ["r1"]


def test_a_changed_turn_keeps_its_runs_its_start_and_what_went_wrong() -> None:
    history = messages(USER, ASK, RESULT)
    failed = mark_turn(derive_turns(history, stamp=STAMP)[0].record, stamp=later(50), pending=Pending(error=BOOM))
    again = derive_turns(history[:2], stamp=later(9, run_id="r2"), known=[StoredTurn(failed)])[0].record
    assert again["run_ids"] == ["r1", "r2"]
    assert again["started_at"] == failed["started_at"]
    assert again["updated_at"] == failed["updated_at"]
    assert (again["error"], again["past_errors"]) == (None, [BOOM])
    third = derive_turns(history[:1], stamp=later(9), known=[StoredTurn(again)])[0].record
    assert third["past_errors"] == [BOOM]


def test_a_turn_with_the_same_start_keeps_its_number_among_others_like_it() -> None:
    history = [TurnMessage(b"x" * 16, None, fact) for fact in [USER, ANSWER] * 3]
    old = derive_turns(history, stamp=STAMP)
    old[1] = StoredTurn(mark_turn(old[1].record, stamp=STAMP, pending=Pending(error=BOOM)))
    assert derive_turns(history, stamp=later(9), known=old) == old


def test_what_is_reported_again_or_later_does_not_hide_the_error() -> None:
    failed = mark_turn(last_of(USER), stamp=STAMP, pending=Pending(error=BOOM))
    again = mark_turn(failed, stamp=STAMP, pending=Pending(error=BOOM))
    assert "past_errors" not in again
    waiting = mark_turn(failed, stamp=STAMP, pending=Pending(interrupts=({"id": "a"},)))
    assert (waiting["status"], waiting["error"], waiting["interrupts"]) == ("failed", BOOM, [{"id": "a"}])
