"""How a turn stands: interrupted, failed, gone on; and the question to send again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from tests.saver.calls import Calls
from tests.saver.conftest import SaverFactory, calls
from tests.turns.scenes import PNG, Ask, Chat, Talk, answered, calling, picture, play, result
from tests.turns.shapes import outline, said

__all__ = ["calls"]
CONFIG: Any = {"configurable": {"thread_id": "t"}}


def last(saver: Any, thread_id: str = "t") -> Any:
    (turn,) = saver.turns(thread_id, start=-1)
    return turn


def fail(talk: Talk, question: Any, *script: Any) -> None:
    with pytest.raises(ValueError, match="boom"):
        talk.ask(question, *script, ValueError("boom"))


def test_a_question_without_an_answer_is_open(saver: Any) -> None:
    Talk(saver, "t").update(HumanMessage("anyone?"))
    assert (last(saver).status, last(saver).record["phase"]) == ("open", "asked")


def test_an_interrupt_is_in_the_turn_with_its_question(saver: Any) -> None:
    Talk(saver, "t").ask("delete it", calling("delete"), Ask("really?"))
    record = last(saver).record
    assert record["status"] == "interrupted"
    assert [entry["value"] for entry in record["interrupts"]] == ["really?"]
    assert record["open_calls"] == ["call-delete"]


def _asking_in_parallel(saver: Any) -> Any:
    def asks(name: str) -> Any:
        return lambda state: {"messages": AIMessage(f"{name}: {interrupt({'ask': name})}")}

    builder = StateGraph(Chat)
    for name in "abc":
        builder.add_node(name, asks(name)).add_edge(START, name)
    return builder.compile(checkpointer=saver)


def test_interrupts_of_parallel_tasks_are_all_in_the_turn(saver: Any) -> None:
    _asking_in_parallel(saver).invoke({"messages": HumanMessage("q")}, CONFIG)
    assert sorted(entry["value"]["ask"] for entry in last(saver).record["interrupts"]) == ["a", "b", "c"]
    assert len({entry["id"] for entry in last(saver).record["interrupts"]}) == 3


def test_tasks_that_stop_at_the_same_time_lose_nothing(saver: Any) -> None:
    def asks(number: int) -> Any:
        return lambda state: {"messages": AIMessage(str(interrupt(number)))}

    builder = StateGraph(Chat)
    for number in range(40):
        builder.add_node(f"n{number}", asks(number)).add_edge(START, f"n{number}")
    builder.compile(checkpointer=saver).invoke({"messages": HumanMessage("q")}, CONFIG)
    assert sorted(entry["value"] for entry in last(saver).record["interrupts"]) == list(range(40))


def test_an_interrupt_that_was_answered_is_waited_for_no_longer(saver: Any) -> None:
    graph = _asking_in_parallel(saver)
    graph.invoke({"messages": HumanMessage("q")}, CONFIG)
    by_name = {each.value["ask"]: each.id for each in graph.get_state(CONFIG).interrupts}
    graph.invoke(Command(resume={by_name["b"]: "yes"}), CONFIG)
    assert last(saver).status == "interrupted"
    graph.invoke(Command(resume={by_name["a"]: "yes", by_name["c"]: "no"}), CONFIG)
    assert (last(saver).status, last(saver).record["interrupts"]) == ("complete", [])


def test_a_large_or_odd_interrupt_is_named_by_its_type(saver: Any) -> None:
    def ask(state: Any) -> Any:
        return {"messages": AIMessage(str(interrupt({"long": "x" * 10_000})))}

    StateGraph(Chat).add_node("ask", ask).add_edge(START, "ask").compile(checkpointer=saver).invoke(
        {"messages": HumanMessage("q")}, CONFIG
    )
    (entry,) = last(saver).record["interrupts"]
    assert entry["omitted"] == "dict"


def test_a_resumed_turn_is_one_turn_and_complete(saver: Any) -> None:
    talk = Talk(saver, "t")
    talk.ask("delete it", Ask("really?"))
    talk.resume("yes", answered("gone"))
    assert outline(saver, "t") == [("complete", ["delete it", "you said yes", "gone"])]


def test_a_turn_that_is_interrupted_twice_waits_for_the_second_question(saver: Any) -> None:
    talk = Talk(saver, "t")
    talk.ask("delete it", Ask("really?"))
    talk.resume("yes", calling("delete"), Ask("for good?"))
    assert [entry["value"] for entry in last(saver).record["interrupts"]] == ["for good?"]


def test_a_failed_turn_says_what_went_wrong_and_when(saver: Any) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    fail(Talk(saver, "t"), "look", calling("look"))
    turn = last(saver)
    assert turn.status == "failed"
    assert (turn.record["error"]["type"], turn.record["error"]["message"]) == ("ValueError", "boom")
    assert before < datetime.fromisoformat(turn.record["error"]["failed_at"]) < datetime.now(UTC) + timedelta(seconds=1)
    assert said(turn)[0] == "look"
    assert turn.messages[1]["content"][0]["name"] == "look"


def test_a_turn_that_fails_at_once_keeps_its_question(saver: Any) -> None:
    fail(Talk(saver, "t"), "look")
    assert outline(saver, "t") == [("failed", ["look"])]


def test_a_retried_turn_is_complete_and_remembers_its_error(saver: Any) -> None:
    play(saver, ["retried"])
    record = last(saver, "retried").record
    assert (record["status"], record["error"]) == ("complete", None)
    assert [error["message"] for error in record["past_errors"]] == ["no such file"]


def test_the_next_turn_leaves_the_failed_one_as_it_was(saver: Any) -> None:
    talk = Talk(saver, "t")
    fail(talk, "look", calling("look"))
    failed = last(saver).record
    talk.ask("never mind", answered("fine"))
    first, second = (turn.record for turn in saver.turns("t"))
    assert first == failed
    assert second["status"] == "complete"
    assert "past_errors" not in second


def test_the_next_turn_leaves_the_interrupted_one_as_it_was(saver: Any) -> None:
    talk = Talk(saver, "t")
    talk.ask("delete it", calling("delete"), Ask("really?"))
    interrupted = last(saver).record
    talk.ask("never mind", answered("fine"))
    assert next(saver.turns("t")).record == interrupted


def test_the_question_of_a_failed_turn_can_be_sent_again_by_another_process(
    saver: Any, make_saver: SaverFactory, calls: Calls
) -> None:
    talk = Talk(saver, "t")
    talk.ask("hi", answered("hello"))
    fail(talk, picture("what is this?", PNG * 3), calling("look"))
    question = calls.run(make_saver(), "interrupted_turn", "t")
    assert (question["turn"], question["status"], question["attachments"]) == (1, "failed", 1)
    assert (question["error_type"], question["error"]) == ("ValueError", "boom")
    assert question["failed_at"].endswith("+00:00")
    blocks = question["message"]["content"]
    assert blocks[0]["text"] == "what is this?"
    assert len(blocks[1]["base64"]) == (len(PNG) * 3 + 2) // 3 * 4


def test_the_question_is_gone_once_the_next_turn_starts(saver: Any) -> None:
    talk = Talk(saver, "t")
    fail(talk, "look", calling("look"))
    assert saver.interrupted_turn("t") is not None
    talk.ask("never mind", answered("fine"))
    assert saver.interrupted_turn("t") is None


def test_the_question_of_a_second_failure_is_the_second_question(saver: Any) -> None:
    talk = Talk(saver, "t")
    fail(talk, "first", calling("a"))
    fail(talk, "second", calling("b"))
    question = saver.interrupted_turn("t")
    assert said(type("Turn", (), {"messages": question["messages"]})()) == ["second"]
    assert question["turn"] == 1
    assert [turn.status for turn in saver.turns("t")] == ["failed", "failed"]


def test_several_questions_are_all_given_back(saver: Any) -> None:
    fail(Talk(saver, "t"), [HumanMessage("one"), HumanMessage("two")])
    question = saver.interrupted_turn("t")
    assert [message["content"][0]["text"] for message in question["messages"]] == ["one", "two"]
    assert question["message"] == question["messages"][-1]


def test_a_complete_turn_has_no_question_to_send_again(saver: Any) -> None:
    talk = Talk(saver, "t")
    talk.ask("hi", answered("hello"))
    assert saver.interrupted_turn("t") is None
    assert saver.interrupted_turn("never seen") is None


def test_a_question_in_a_long_turn_can_be_sent_again(saver: Any) -> None:
    lines = [line for n in range(40) for line in (calling(f"t{n}"), result(f"t{n}"))]
    fail(Talk(saver, "t"), "work", *lines)
    assert saver.interrupted_turn("t")["message"]["content"][0]["text"] == "work"


def test_removing_the_failed_turn_removes_its_question(saver: Any) -> None:
    talk = Talk(saver, "t")
    talk.ask("hi", answered("hello"))
    fail(talk, "look", calling("look"))
    talk.update(*[RemoveMessage(id=message.id) for message in talk.messages[2:]])
    assert saver.interrupted_turn("t") is None
    assert outline(saver, "t") == [("complete", ["hi", "hello"])]
