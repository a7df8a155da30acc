"""Cutting a conversation back: a new head on a turn's boundary, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph import START, StateGraph

from langgraph_portable_checkpoint.errors import ConflictError, ThreadNotFoundError
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import calls
from tests.turns.scenes import Chat, Talk, answered, play, thread_id_of, tool_turn
from tests.turns.shapes import head_of, outline

__all__ = ["calls"]


@pytest.fixture
def talk(saver: Any) -> Talk:
    made = Talk(saver, "t")
    for number in range(4):
        tool_turn(made, number)
        made.update(note=f"after {number}")
    return made


@pytest.mark.parametrize("turn", [0, 1, 2, 3])
def test_a_conversation_is_cut_before_a_turn_and_goes_on(saver: Any, calls: Calls, talk: Talk, turn: int) -> None:
    before = outline(saver, "t")
    place = calls.run(saver, "truncate_to_turn", "t", turn)
    assert outline(saver, "t") == before[:turn]
    assert place["configurable"]["checkpoint_id"] == head_of(talk)
    state = talk.graph.get_state(talk.config)
    assert state.next == ()
    assert len(state.values["messages"]) == 5 * turn
    talk.ask("again", answered("better"))
    assert outline(saver, "t") == [*before[:turn], ("complete", ["again", "better"])]


def test_what_is_cut_off_stays_reachable(saver: Any, talk: Talk) -> None:
    before, head, count = outline(saver, "t"), head_of(talk), saver.thread_info("t").checkpoints
    saver.truncate_to_turn("t", 1)
    assert outline(saver, "t", checkpoint_id=head) == before
    assert saver.thread_info("t").checkpoints == count + 1


def test_the_rest_of_the_state_is_that_of_the_turn_before(saver: Any, calls: Calls, talk: Talk) -> None:
    calls.run(saver, "truncate_to_turn", "t", 2)
    assert (
        talk.graph.get_state(talk.config).values["note"] == "after 0"
    )  # written before turn 1 ended; "after 1" came later


def test_turns_may_be_counted_from_the_end(saver: Any, talk: Talk) -> None:
    saver.truncate_to_turn("t", -1)
    assert len(outline(saver, "t")) == 3


def test_cutting_after_the_last_turn_changes_nothing(saver: Any, talk: Talk) -> None:
    head = head_of(talk)
    assert saver.truncate_to_turn("t", 4)["configurable"]["checkpoint_id"] == head
    assert head_of(talk) == head


def test_messages_that_were_removed_do_not_come_back(saver: Any) -> None:
    talk = play(saver, ["removed"])["removed"]
    before = outline(saver, "removed")
    saver.truncate_to_turn("removed", 3)
    assert outline(saver, "removed") == before[:3]
    assert len(talk.messages) == 15


@pytest.mark.parametrize("scene", ["failed", "interrupted", "long", "summarised", "forked", "media"])
def test_turns_of_every_kind_can_be_cut_off(saver: Any, scene: str) -> None:
    talk = play(saver, [scene])[scene]
    thread_id = thread_id_of(scene)
    before = outline(saver, thread_id)
    saver.truncate_to_turn(thread_id, -1)
    assert outline(saver, thread_id) == before[:-1]
    assert saver.interrupted_turn(thread_id) is None
    talk.ask("again", answered("yes"))
    assert outline(saver, thread_id) == [*before[:-1], ("complete", ["again", "yes"])]


@pytest.mark.parametrize("turn", [5, -5])
def test_a_turn_that_is_not_there_is_refused(saver: Any, calls: Calls, talk: Talk, turn: int) -> None:
    with pytest.raises(ThreadNotFoundError, match=f"no turn {turn}; it has 4"):
        calls.run(saver, "truncate_to_turn", "t", turn)


def test_a_thread_that_is_not_there_is_refused(saver: Any) -> None:
    with pytest.raises(ThreadNotFoundError, match="no thread 'x'"):
        saver.truncate_to_turn("x", 0)


def test_a_head_from_the_future_is_refused(saver: Any, talk: Talk) -> None:
    state = saver.get_tuple(talk.config)
    late = {**state.checkpoint, "id": "f" + state.checkpoint["id"][1:]}
    saver.put(state.config, late, state.metadata, {})
    with pytest.raises(ConflictError, match="clock"):
        saver.truncate_to_turn("t", 1)


def test_versions_that_are_texts_and_another_channel_go_on_in_kind(saver: Any, calls: Calls) -> None:
    said = [HumanMessage("q0", id="0"), AIMessage("a0", id="1"), HumanMessage("q1", id="2"), AIMessage("a1", id="3")]
    version = "00000000000000000000000000000009.0.5"
    made = checkpoint({"said": said, "messages": "none"}, {"said": version, "messages": version})
    calls.put(saver, config("t"), made, metadata(), made["channel_versions"])
    calls.run(saver, "truncate_to_turn", "t", 1)
    head = calls.get_tuple(saver, config("t"))
    assert head is not None
    assert head.checkpoint["channel_values"] == {"said": said[:2], "messages": "none"}
    assert head.checkpoint["channel_versions"] == {"said": "00000000000000000000000000000010.0.5", "messages": version}


def test_the_new_head_holds_nothing_that_would_run(saver: Any, calls: Calls) -> None:
    said = [HumanMessage("q0", id="0"), AIMessage("a0", id="1"), HumanMessage("q1", id="2"), AIMessage("a1", id="3")]
    left = {"branch:to:n": None, "join:a+b:c": {"a"}, "__start__": {"messages": []}, "__pregel_tasks": ["x"]}
    place: Any = config("t")
    for end in (2, 4):
        values = {"messages": said[:end], "note": "kept", **left}
        versions = dict.fromkeys(values, end)
        made = {**checkpoint(values, versions), "versions_seen": {"n": {"branch:to:n": 1, "note": end, "gone": 1}}}
        place = calls.put(saver, place, made, metadata(end), versions)
    calls.run(saver, "truncate_to_turn", "t", 1)
    head = calls.get_tuple(saver, config("t"))
    assert head is not None
    assert head.checkpoint["channel_values"] == {"messages": said[:2], "note": "kept"}
    versions = head.checkpoint["channel_versions"]
    assert versions == {"messages": 3, "note": 2, **dict.fromkeys(left, 3)}
    assert head.checkpoint["versions_seen"] == {"n": {"branch:to:n": 3, "note": 2, "gone": 1}}
    assert head.metadata == {"source": "update", "step": 3, "parents": {}}


def test_the_rest_of_the_state_is_the_heads_where_messages_were_changed_since(saver: Any, talk: Talk) -> None:
    talk.update(messages=RemoveMessage(id=talk.messages[1].id), note="of the head")
    kept = [message.id for message in talk.messages][:9]
    saver.truncate_to_turn("t", 2)
    assert [message.id for message in talk.messages] == kept
    assert talk.graph.get_state(talk.config).values["note"] == "of the head"


def test_nothing_that_was_left_to_run_runs_at_the_new_head(saver: Any) -> None:
    ran: list[int] = []
    builder = StateGraph(Chat).add_node("say", lambda state: {"messages": AIMessage(f"a{len(state['messages'])}")})
    builder.add_node("note", lambda state: ran.append(len(state["messages"])))
    graph = builder.add_edge(START, "say").add_edge("say", "note").compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    for number in range(3):
        graph.invoke({"messages": HumanMessage(f"q{number}")}, config)
    assert graph.get_state(saver.checkpoint_of_turn("t", 0)).next == ("note",)
    saver.truncate_to_turn("t", 1)
    assert graph.get_state(config).next == ()
    graph.invoke({"messages": HumanMessage("again")}, config)
    assert ran == [2, 4, 6, 4]
    assert outline(saver, "t") == [("complete", ["q0", "a1"]), ("complete", ["again", "a3"])]
