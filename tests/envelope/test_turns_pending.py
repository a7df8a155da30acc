"""What is pending at a checkpoint, as a turn records it, and the question to resend."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Interrupt, interrupt

from langgraph_portable_checkpoint.envelope.facts import MediaFact, MessageFact
from langgraph_portable_checkpoint.envelope.turn_model import Stamp, TurnMessage, TurnRecord
from langgraph_portable_checkpoint.envelope.turn_pending import (
    error_entry,
    interrupt_entries,
    interrupted_turn_record,
    is_finished,
    pending_of,
)
from langgraph_portable_checkpoint.envelope.turn_record import advance_turns, mark_turn
from langgraph_portable_checkpoint.envelope.turns import NOTHING_PENDING, Pending

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
STAMP = Stamp("t1", NOON, "c1", ("langgraph", "1.2"), ("langgraph-portable-checkpoint", "1"))
USER = MessageFact("user", typed_by_user=True)
ANSWER = MessageFact("assistant")
ASK = MessageFact("assistant", tool_calls=("c1",))
SYSTEM = MessageFact("system")
PICTURE = MessageFact("user", typed_by_user=True, media=(MediaFact("aa", "image/png", 10),))
BOOM = error_entry(ValueError("boom"), failed_at=NOON)


def messages(*facts: MessageFact) -> list[TurnMessage]:
    return [TurnMessage(n.to_bytes(16, "big"), f"m{n}", fact) for n, fact in enumerate(facts)]


def last_of(*facts: MessageFact) -> TurnRecord:
    return advance_turns(None, messages(*facts), stamp=STAMP).records[-1]


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (ValueError("boom"), "ValueError", "boom"),
        ("ValueError('boom')", "ValueError", "boom"),
        ('KeyError("it\'s")', "KeyError", "it's"),
        ("APIError(status=500)", "APIError", "status=500"),
        ("TimeoutError()", "TimeoutError", ""),
        ("something else", "Error", "something else"),
        (None, "Error", "None"),
    ],
)
def test_an_error_is_read_from_the_exception_or_from_its_text(raised: object, kind: str, message: str) -> None:
    entry = error_entry(raised, failed_at=NOON)
    assert entry == {"type": kind, "message": message, "failed_at": "2026-01-02T12:00:00.000000+00:00"}


def test_a_huge_error_message_is_cut() -> None:
    assert len(error_entry(ValueError("x" * 10**6), failed_at=NOON)["message"]) == 4096


def test_interrupts_are_recorded_with_small_plain_values_only() -> None:
    entries = interrupt_entries(
        [Interrupt(value={"ask": "ok?"}, id="i1"), Interrupt(value=NOON, id="i2"), Interrupt(value="x" * 9999, id="i3")]
    )
    assert entries == (
        {"id": "i1", "value": {"ask": "ok?"}},
        {"id": "i2", "omitted": "datetime"},
        {"id": "i3", "omitted": "str"},
    )
    assert interrupt_entries(Interrupt(value=(1, 2), id="i4")) == ({"id": "i4", "omitted": "tuple"},)


QUESTION: Any = {"v": 1, "role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image", "url": "u"}]}


def test_a_failed_turn_gives_the_question_to_resend() -> None:
    failed = mark_turn(last_of(PICTURE, ASK), stamp=STAMP, pending=Pending(error=BOOM))
    assert interrupted_turn_record(failed, [QUESTION]) == {
        "turn": 0,
        "status": "failed",
        "message": QUESTION,
        "messages": [QUESTION],
        "attachments": 1,
        "error": "boom",
        "error_type": "ValueError",
        "failed_at": "2026-01-02T12:00:00.000000+00:00",
        "interrupts": [],
    }


def test_the_question_to_resend_is_gone_once_the_next_turn_starts() -> None:
    failed = mark_turn(last_of(USER, ASK), stamp=STAMP, pending=Pending(error=BOOM))
    for fact in (USER, ANSWER):
        assert interrupted_turn_record(advance_turns(failed, messages(fact), stamp=STAMP).records[-1], []) is None
    assert interrupted_turn_record(None, []) is None


def test_a_question_in_several_messages_is_resent_whole() -> None:
    failed = mark_turn(last_of(SYSTEM, USER, PICTURE, ASK), stamp=STAMP, pending=Pending(error=BOOM))
    assert failed["question"] == [1, 2]
    again = interrupted_turn_record(failed, [QUESTION, QUESTION])
    assert again is not None
    assert (len(again["messages"]), again["attachments"]) == (2, 2)


def pending_at_head(node: Any, *inputs: Any) -> Pending:
    """Run a graph of one node and return what LangGraph leaves pending at its last checkpoint."""
    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    saver = InMemorySaver()
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    for one in inputs:
        with contextlib.suppress(ValueError):
            graph.invoke(one, config)
    head = saver.get_tuple(config)
    assert head is not None
    return pending_of(head.pending_writes or [], failed_at=NOON, channel_values=head.checkpoint["channel_values"])


def answers(state: Any) -> Any:
    return {"messages": [AIMessage("x")]}


def raises(state: Any) -> Any:
    raise ValueError('it\'s "boom"\nsecond line')


def asks(state: Any) -> Any:
    return {"messages": [AIMessage(interrupt({"ok": 1}))]}


HELLO = {"messages": [("user", "hi")]}


def test_what_a_graph_leaves_when_it_ends() -> None:
    assert pending_at_head(answers, HELLO) == Pending(finished=True)


def test_what_a_graph_leaves_when_a_node_raises() -> None:
    pending = pending_at_head(raises, HELLO)
    assert pending.error == error_entry(ValueError('it\'s "boom"\nsecond line'), failed_at=NOON)
    assert pending.error is not None
    assert pending.error["message"] == 'it\'s "boom"\nsecond line'
    assert not pending.finished


def test_what_a_graph_leaves_when_it_waits_for_a_human() -> None:
    pending = pending_at_head(asks, HELLO)
    assert [entry["value"] for entry in pending.interrupts] == [{"ok": 1}]
    assert not pending.finished
    assert pending_at_head(asks, HELLO, Command(resume="yes")) == Pending(finished=True)


def test_a_task_that_came_to_its_end_has_nothing_pending() -> None:
    asked = ("task-1", "__interrupt__", [Interrupt(value=1, id="i")])
    failed = ("task-2", "__error__", "ValueError('boom')")
    assert pending_of([asked, failed, ("task-1", "__resume__", 1)], failed_at=NOON) == Pending(
        interrupts=({"id": "i", "value": 1},), error=BOOM
    )
    over = [asked, failed, ("task-1", "messages", []), ("task-2", "__no_writes__", None)]
    assert pending_of(over, failed_at=NOON) == NOTHING_PENDING


@pytest.mark.parametrize(
    ("values", "finished"),
    [
        ({"messages": []}, True),
        ({}, True),
        ({"branch:to:a": None}, False),
        ({"__start__": {}}, False),
        ({"__pregel_tasks": []}, True),
        ({"__pregel_tasks": ["send"]}, False),
        ({"join:a+b:c": {"a"}}, False),
        ({"join:a+b:c": set()}, True),
    ],
)
def test_a_run_is_finished_when_nothing_triggers_a_node(values: Any, finished: bool) -> None:
    assert is_finished(values) is finished
