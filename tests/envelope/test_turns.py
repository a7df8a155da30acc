"""Where turns begin and end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_portable_checkpoint.envelope.facts import MessageFact
from langgraph_portable_checkpoint.envelope.turns import (
    NOTHING_PENDING,
    Pending,
    advance,
    conversation,
    extend,
    restart_at,
    spans,
    stop_of_turn,
)

SYSTEM = MessageFact("system")
USER = MessageFact("user", typed_by_user=True)
NOTICE = MessageFact("user", typed_by_user=False)
SUMMARY = MessageFact("user", typed_by_user=False, summary=True)
ASSISTANT_SUMMARY = MessageFact("assistant", summary=True)
ANSWER = MessageFact("assistant")
ASK = MessageFact("assistant", tool_calls=("c1",))
ASK_TWO = MessageFact("assistant", tool_calls=("c1", "c2"))
ASK_UNNAMED = MessageFact("assistant", tool_calls=(None,))
RESULT = MessageFact("tool", tool_call_id="c1")
RESULT_TWO = MessageFact("tool", tool_call_id="c2")
OTHER = MessageFact("other")
KINDS = (
    SYSTEM, USER, NOTICE, SUMMARY, ASSISTANT_SUMMARY, ANSWER, ASK, ASK_TWO, ASK_UNNAMED, RESULT, RESULT_TWO, OTHER,
)  # fmt: skip

histories = st.lists(st.sampled_from(KINDS), max_size=40)
pendings = st.sampled_from(
    (Pending(), Pending(finished=True), Pending(interrupts=({"id": "i"},)), Pending(error={"type": "E"}))
)


def cut(*facts: MessageFact, pending: Pending = NOTHING_PENDING) -> list[tuple[int, str]]:
    """Return (number of messages, status) per turn."""
    return [(span.stop - span.start, span.status) for span in spans(facts, pending)]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param([], [], id="no message, no turn"),
        pytest.param([USER], [(1, "open")], id="a question alone"),
        pytest.param([USER, ANSWER], [(2, "complete")], id="question and answer"),
        pytest.param([USER, ASK, RESULT, ANSWER], [(4, "complete")], id="one tool round"),
        pytest.param([USER, ASK, RESULT], [(3, "open")], id="the answer is still to come"),
        pytest.param([USER, ANSWER, USER], [(2, "complete"), (1, "open")], id="a second question"),
        pytest.param([USER, USER, ANSWER], [(3, "complete")], id="consecutive user messages are one turn"),
        pytest.param([SYSTEM, SYSTEM, USER, ANSWER], [(4, "complete")], id="leading system messages"),
        pytest.param([SYSTEM], [(1, "open")], id="only a system message"),
        pytest.param([USER, ANSWER, SYSTEM, USER], [(3, "complete"), (1, "open")], id="a later system message stays"),
        pytest.param([USER, SYSTEM, USER, ANSWER], [(4, "complete")], id="a system message between two user messages"),
        pytest.param([USER, ANSWER, NOTICE, ANSWER], [(4, "complete")], id="a notification opens no turn"),
        pytest.param([NOTICE, USER, ANSWER], [(3, "complete")], id="a leading notification"),
        pytest.param([USER, ANSWER, NOTICE, USER], [(3, "complete"), (1, "open")], id="a notification reopens nothing"),
        pytest.param([SUMMARY, USER, ANSWER], [(3, "complete")], id="a leading summary belongs to turn 0"),
        pytest.param([SUMMARY, ASK, RESULT, ANSWER, USER], [(4, "complete"), (1, "open")], id="summarised mid-turn"),
        pytest.param([ASSISTANT_SUMMARY, USER, ANSWER], [(3, "complete")], id="a summary in the assistant's role"),
        pytest.param([USER, ANSWER, SUMMARY, USER], [(3, "complete"), (1, "open")], id="a summary in the middle"),
        pytest.param([ANSWER, USER, ANSWER], [(1, "complete"), (2, "complete")], id="assistant first: a greeting"),
        pytest.param([RESULT, USER], [(1, "interrupted"), (1, "open")], id="an orphan result first"),
        pytest.param([USER, ASK, ANSWER, RESULT], [(4, "complete")], id="a result after the answer"),
        pytest.param([USER, ANSWER, ANSWER], [(3, "complete")], id="two answers, one turn"),
        pytest.param([USER, ANSWER, ASK], [(3, "open")], id="an answer, then more work"),
        pytest.param([USER, ASK, USER, ANSWER], [(2, "interrupted"), (2, "complete")], id="a user who does not wait"),
        pytest.param(
            [USER, ASK, USER, RESULT, ANSWER], [(2, "interrupted"), (3, "complete")], id="a late result stays put"
        ),
        pytest.param([OTHER, USER, OTHER, ANSWER, OTHER], [(5, "complete")], id="unknown roles"),
    ],
)
def test_turns_of(facts: list[MessageFact], expected: list[tuple[int, str]]) -> None:
    assert cut(*facts) == expected


@pytest.mark.parametrize(
    ("facts", "pending", "status"),
    [
        ([USER, ASK], Pending(interrupts=({"id": "i"},)), "interrupted"),
        ([USER, ASK], Pending(error={"type": "E"}), "failed"),
        ([USER, ANSWER], Pending(error={"type": "E"}), "failed"),
        ([USER], Pending(interrupts=({"id": "i"},), error={"type": "E"}), "failed"),
        ([USER, ASK, RESULT], Pending(finished=True), "complete"),
        ([USER, ASK_TWO, RESULT], Pending(finished=True), "open"),
        ([USER, ASK_TWO, RESULT, RESULT_TWO], Pending(finished=True), "complete"),
        ([USER, ASK_UNNAMED, RESULT], Pending(finished=True), "open"),
        ([USER], Pending(finished=True), "open"),
    ],
)
def test_what_is_pending_decides_the_status_of_the_last_turn(
    facts: list[MessageFact], pending: Pending, status: str
) -> None:
    assert cut(*facts, pending=pending)[-1][1] == status
    assert [turn[1] for turn in cut(USER, ANSWER, *facts, pending=pending)] == ["complete", status]


def test_only_calls_of_the_latest_asking_message_are_open() -> None:
    assert spans([USER, ASK_TWO, RESULT])[0].open_calls == ("c2",)
    assert spans([USER, ASK_TWO, ASK])[0].open_calls == ("c1",)
    assert spans([USER, ASK_TWO, ANSWER])[0].open_calls == ()


@given(histories)
def test_turns_cover_every_message_once_and_in_order(facts: list[MessageFact]) -> None:
    covered = [at for span in spans(facts) for at in range(span.start, span.stop)]
    assert covered == list(range(len(facts)))
    assert all(span.start < span.stop for span in spans(facts))


@given(histories)
def test_every_turn_but_the_first_starts_with_a_user_message_and_ends_before_the_next(facts: list[MessageFact]) -> None:
    for before, after in zip(spans(facts), spans(facts)[1:], strict=False):
        assert facts[after.start].typed_by_user
        assert before.status in ("complete", "interrupted")


@given(histories, st.lists(st.integers(0, 40), max_size=6), pendings)
def test_extending_equals_cutting_anew(facts: list[MessageFact], stops: list[int], pending: Pending) -> None:
    known = []
    at = 0
    for stop in sorted({min(stop, len(facts)) for stop in stops}):
        known = extend(known, facts[at:stop], start=at, pending=pending)
        at = stop
        assert known == spans(facts[:at], pending)
    assert extend(known, facts[at:], start=at, pending=pending) == spans(facts, pending)


@given(histories, histories, st.integers(0, 40))
def test_cutting_again_after_a_change_equals_cutting_anew(
    old: list[MessageFact], tail: list[MessageFact], changed_at: int
) -> None:
    changed_at = min(changed_at, len(old))
    new = old[:changed_at] + tail
    known = spans(old)
    start = restart_at(known, changed_at)
    assert start <= changed_at
    assert extend(known, new[start:], start=start) == spans(new)


def test_cutting_again_inside_a_turn_is_refused() -> None:
    known = spans([USER, ANSWER, USER, ANSWER])
    for start in (1, 3, 5):
        with pytest.raises(ValueError, match="restart_at"):
            extend(known, [USER], start=start)


def test_the_last_turn_alone_is_enough_to_go_on() -> None:
    known = spans([USER, ANSWER] * 1000)
    assert advance(known[-1], [USER]) == [*known[-1:], *spans([USER, ANSWER] * 1000 + [USER])[-1:]]


def test_truncation_keeps_whole_turns() -> None:
    known = spans([SYSTEM, USER, ASK, RESULT, ANSWER, USER, ANSWER])
    assert stop_of_turn(known, 0) == 5
    assert stop_of_turn(known, -1) == 7
    with pytest.raises(IndexError):
        stop_of_turn(known, 2)


@pytest.mark.parametrize("value", [None, "text", {"a": 1}, 3, ["text"], [{"role": "user"}]])
def test_what_is_no_list_of_messages_is_no_conversation(value: object) -> None:
    assert conversation(value) is None
    assert conversation([]) == []


def test_a_summary_neither_opens_a_turn_nor_answers_a_call() -> None:
    unmarked = MessageFact("user", typed_by_user=True, summary=True)
    assert cut(USER, ANSWER, unmarked, USER) == [(3, "complete"), (1, "open")]
    assert spans([USER, ASK, ASSISTANT_SUMMARY])[0].open_calls == ("c1",)
