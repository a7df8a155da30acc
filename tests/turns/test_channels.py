"""Conversations in other channels, in several, in deltas, in subgraphs; and states that hold none."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from tests.saver.conftest import SaverFactory
from tests.turns.shapes import covered, outline

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Chat(TypedDict):
    """The usual state."""

    messages: Annotated[list[AnyMessage], add_messages]


def _one_node(state: Any, node: Any, saver: Any, **options: Any) -> Any:
    return StateGraph(state).add_node("say", node).add_edge(START, "say").compile(checkpointer=saver, **options)


def test_a_list_of_messages_is_a_conversation_whatever_its_channel_is_called(saver: Any) -> None:
    class Other(TypedDict):
        talk: Annotated[list[AnyMessage], add_messages]

    graph = _one_node(Other, lambda state: {"talk": AIMessage("yes")}, saver)
    graph.invoke({"talk": HumanMessage("really?")}, CONFIG)
    assert outline(saver, "t") == [("complete", ["really?", "yes"])]
    assert next(saver.turns("t")).record["channel"] == "talk"


class Two(TypedDict):
    """Two conversations and a list that is none."""

    inner: Annotated[list[AnyMessage], add_messages]
    messages: Annotated[list[AnyMessage], add_messages]
    words: Annotated[list[str], operator.add]


@pytest.mark.parametrize(("channels", "first"), [(("messages",), "to you"), (("inner", "messages"), "to myself")])
def test_of_several_conversations_the_configured_one_is_the_threads(
    make_saver: SaverFactory, channels: Sequence[str], first: str
) -> None:
    saver = make_saver(conversation_channels=channels)
    said = {"inner": AIMessage("hm"), "messages": AIMessage("hello"), "words": ["w"]}
    graph = _one_node(Two, lambda state: said, saver)
    graph.invoke({"inner": HumanMessage("to myself"), "messages": HumanMessage("to you"), "words": ["v"]}, CONFIG)
    ((status, texts),) = outline(saver, "t")
    assert (status, texts[0]) == ("complete", first)


def _appended(state: list[Any], writes: Sequence[Any]) -> list[Any]:
    for write in writes:
        state = [*state, *(write if isinstance(write, list) else [write])]
    return state


class Deltas(TypedDict):
    """A conversation that is stored as what was added."""

    messages: Annotated[list[AnyMessage], DeltaChannel(_appended)]


def test_a_conversation_in_deltas_is_read_with_the_graph_at_hand(saver: Any) -> None:
    graph = _one_node(
        Deltas,
        lambda state: {"messages": [AIMessage(f"a{len(state['messages'])}", id=f"a{len(state['messages'])}")]},
        saver,
    )
    for number in range(3):
        graph.invoke({"messages": [HumanMessage(f"q{number}", id=f"q{number}")]}, CONFIG)
    expected = [message.id for message in graph.get_state(CONFIG).values["messages"]]
    assert covered(saver, "t", graph=graph) == expected
    assert [status for status, _ in outline(saver, "t", graph=graph)] == ["complete"] * 3


async def test_a_conversation_in_deltas_is_read_asynchronously_too(saver: Any) -> None:
    graph = _one_node(Deltas, lambda state: {"messages": [AIMessage("a")]}, saver)
    await graph.ainvoke({"messages": [HumanMessage("q")]}, CONFIG)
    assert [turn.status async for turn in saver.aturns("t", graph=graph)] == ["complete"]


def test_a_conversation_in_a_subgraph_is_read_by_its_namespace(saver: Any) -> None:
    inner = (
        StateGraph(Chat).add_node("say", lambda state: {"messages": AIMessage("inner answer")}).add_edge(START, "say")
    )
    outer = (
        StateGraph(Chat)
        .add_node("sub", inner.compile(checkpointer=True))
        .add_edge(START, "sub")
        .compile(checkpointer=saver)
    )
    outer.invoke({"messages": HumanMessage("q", id="q")}, CONFIG)
    namespaces = {found.config["configurable"]["checkpoint_ns"] for found in saver.list(CONFIG)} - {""}
    (ns,) = namespaces
    assert outline(saver, "t") == [("complete", ["q", "inner answer"])]
    assert outline(saver, "t", checkpoint_ns=ns) == [("complete", ["q", "inner answer"])]


def test_a_thread_without_a_conversation_has_no_turns(saver: Any) -> None:
    class Plain(TypedDict):
        words: Annotated[list[str], operator.add]

    _one_node(Plain, lambda state: {"words": ["b"]}, saver).invoke({"words": ["a"]}, CONFIG)
    assert list(saver.turns("t")) == []
    assert saver.thread_info("t").turns == 0
    assert saver.interrupted_turn("t") is None


@pytest.mark.parametrize("value", ["text", 7, {"a": HumanMessage("x")}, [HumanMessage("x"), "no message"], (), []])
def test_a_state_whose_channel_is_no_conversation_has_no_turns(saver: Any, value: Any) -> None:
    class Loose(TypedDict):
        messages: Any

    _one_node(Loose, lambda state: {"messages": value}, saver).invoke({"messages": value}, CONFIG)
    assert list(saver.turns("t")) == []


def test_a_conversation_that_becomes_something_else_leaves_no_turns(saver: Any) -> None:
    class Loose(TypedDict):
        messages: Any

    graph = _one_node(Loose, lambda state: {"messages": "gone"}, saver)
    graph.update_state(CONFIG, {"messages": [HumanMessage("q")]}, as_node="say")
    assert len(list(saver.turns("t"))) == 1
    graph.update_state(CONFIG, {"messages": "gone"}, as_node="say")
    assert list(saver.turns("t")) == []


def test_a_node_after_the_answer_leaves_the_turn_complete(saver: Any) -> None:
    builder = (
        StateGraph(Chat).add_node("say", lambda state: {"messages": AIMessage("a")}).add_node("rest", lambda state: {})
    )
    graph = builder.add_edge(START, "say").add_edge("say", "rest").add_edge("rest", END).compile(checkpointer=saver)
    graph.invoke({"messages": HumanMessage("q")}, CONFIG)
    assert outline(saver, "t") == [("complete", ["q", "a"])]


def test_a_join_that_waits_for_nothing_leaves_the_derived_turn_complete_too(saver: Any) -> None:
    def tool(state: Any) -> Any:
        return {"messages": ToolMessage("done", tool_call_id="c")}

    call = AIMessage("", tool_calls=[{"name": "x", "args": {}, "id": "c"}])
    builder = StateGraph(Chat).add_node("say", lambda state: {"messages": call}).add_edge(START, "say")
    builder.add_node("one", tool).add_node("two", lambda state: {}).add_node("both", lambda state: {})
    builder.add_edge("say", "one").add_edge("say", "two").add_edge(["one", "two"], "both")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"messages": HumanMessage("q")}, CONFIG)
    (stored,) = saver.turns("t")
    head = graph.get_state(CONFIG).config["configurable"]["checkpoint_id"]
    (derived,) = saver.turns("t", checkpoint_id=head)
    assert stored.status == derived.status == "complete"
