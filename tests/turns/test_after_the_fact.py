"""What is told of turns later, or of a copy: the same as when they happened."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

from langgraph_portable_checkpoint import PortableRedisSaver, export_thread
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError
from tests.saver.calls import Calls
from tests.saver.conftest import calls
from tests.servers import Room

__all__ = ["calls"]

CONFIG: Any = {"configurable": {"thread_id": "t"}}


@pytest.fixture
def saver(server: Room) -> Any:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as made:
        yield made


def _fail(_state: Any) -> Any:
    raise ValueError("no such file")


def _wait(_state: Any) -> Any:
    return {"messages": [AIMessage(str(interrupt("really?")))]}


def _graph(saver: Any, node: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    return builder.add_edge(START, "node").compile(checkpointer=saver)


@pytest.mark.parametrize(("node", "status"), [(_fail, "failed"), (_wait, "interrupted")])
def test_archive_keeps_why_a_turn_stopped(saver: Any, calls: Calls, node: Any, status: str) -> None:
    try:
        _graph(saver, node).invoke({"messages": [HumanMessage("q")]}, CONFIG)
    except ValueError:
        assert status == "failed"
    calls.run(saver, "from_json", calls.run(saver, "to_json", "t"), thread_id="copy")
    told = ("status", "error", "interrupts", "started_at", "updated_at")
    (before,), (after,) = saver.turns("t"), saver.turns("copy")
    assert before.status == status
    assert [after.record[name] for name in told] == [before.record[name] for name in told]
    question, asked = saver.interrupted_turn("copy"), saver.interrupted_turn("t")
    assert question["message"]["content"] == asked["message"]["content"]
    assert question["error"] == asked["error"]


def test_turns_of_an_older_checkpoint_have_its_time(saver: Any) -> None:
    graph = _graph(saver, lambda _state: {"messages": [AIMessage("a")]})
    graph.invoke({"messages": [HumanMessage("one")]}, CONFIG)
    old = graph.get_state(CONFIG)
    graph.update_state(old.config, {"messages": [HumanMessage("branch")]})
    branch = graph.get_state(CONFIG)
    graph.invoke({"messages": [HumanMessage("two")]}, old.config)
    at = branch.config["configurable"]["checkpoint_id"]
    first, again = (list(saver.turns("t", checkpoint_id=at)) for _ in range(2))
    assert [turn.record for turn in first] == [turn.record for turn in again]
    assert first[-1].record["updated_at"] <= branch.created_at


class Loose(TypedDict):
    messages: Annotated[list[Any], operator.add]


@pytest.mark.parametrize("odd", [{"role": "assistant", "content": "b"}, "bare", None, ("ai", "x"), {"long": "b" * 500}])
def test_list_with_something_else_than_messages_is_no_conversation(saver: Any, odd: Any) -> None:
    builder = StateGraph(Loose)
    builder.add_node("node", lambda _state: {"messages": [odd, AIMessage("a")]})
    graph = builder.add_edge(START, "node").compile(checkpointer=saver)
    graph.invoke({"messages": [HumanMessage("q")]}, CONFIG)
    head = graph.get_state(CONFIG).config["configurable"]["checkpoint_id"]
    assert list(saver.turns("t")) == list(saver.turns("t", checkpoint_id=head)) == []
    with pytest.raises(IncompatibleHistoryError, match="messages"):
        export_thread(saver, "t", to="openai-chat")


def test_value_of_a_class_without_a_name_comes_back_as_its_data(saver: Any) -> None:
    class Local(BaseModel):
        x: int

    builder = StateGraph(dict)
    builder.add_node("node", lambda _state: {"p": Local(x=1)})
    graph = builder.add_edge(START, "node").compile(checkpointer=saver)
    graph.invoke({"q": 1}, CONFIG)
    assert graph.get_state(CONFIG).values == {"p": {"x": 1}}
