"""A thread's conversation by the name of its channel, from any saver or graph; a wrong name is told with the right ones."""

from __future__ import annotations

import itertools
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph, add_messages
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langgraph_portable_checkpoint import export_thread
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError
from tests.saver.conftest import SaverFactory, make_saver

__all__ = ["make_saver"]


class Talk(TypedDict, total=False):
    topic: str
    chat: Annotated[list[AnyMessage], add_messages]
    later: Annotated[list[AnyMessage], add_messages]


def sources(saver: Any) -> list[Any]:
    """Return a saver and its graph, with two turns in thread "t"."""
    graph = StateGraph(Talk)
    graph.add_node("say", lambda state: {"chat": [AIMessage("a")], "topic": "tea"})
    graph.add_edge(START, "say")
    compiled = graph.compile(checkpointer=saver)
    for text in ("q", "q2"):
        compiled.invoke({"chat": [("user", text)]}, {"configurable": {"thread_id": "t"}})
    return [saver, compiled]


def savers(make_saver: SaverFactory) -> list[Any]:
    return [*sources(InMemorySaver()), *sources(make_saver())]


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("resolve_media", [False, True])
def test_a_name_that_is_none_is_told_with_those_that_are(
    make_saver: SaverFactory, full: bool, resolve_media: bool
) -> None:
    for source in savers(make_saver):
        with pytest.raises(IncompatibleHistoryError, match="there is no channel 'chats'; there are ") as caught:
            export_thread(source, "t", "openai-chat", channel="chats", full=full, resolve_media=resolve_media)
        assert "'chat'" in str(caught.value)
        assert "'topic'" in str(caught.value)
        assert "__start__" not in str(caught.value)
        assert "branch:" not in str(caught.value)


@pytest.mark.parametrize("full", [False, True])
def test_a_channel_that_early_checkpoints_lack_is_read(make_saver: SaverFactory, full: bool) -> None:
    for source in savers(make_saver):
        export = export_thread(source, "t", "openai-chat", channel="chat", full=full)
        assert [message["content"] for message in export.payload["messages"]] == ["q", "a", "q2", "a"]


def test_a_channel_of_a_graph_without_a_value_is_an_empty_conversation() -> None:
    _, graph = sources(InMemorySaver())
    with pytest.raises(IncompatibleHistoryError, match="it has no message"):
        export_thread(graph, "t", "openai-chat", channel="later")


class Two(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[AnyMessage], add_messages]


@pytest.mark.parametrize("ours", [True, False])
@pytest.mark.parametrize("cleared", [True, False])
def test_what_another_channel_held_before_is_not_recovered(make_saver: SaverFactory, ours: bool, cleared: bool) -> None:
    graph = StateGraph(Two).add_node("say", lambda state: {}).add_edge(START, "say")
    saver = make_saver() if ours else InMemorySaver()
    compiled: Any = graph.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    compiled.update_state(config, {"notes": [HumanMessage("aside")]}, as_node="say")
    compiled.update_state(config, {"messages": [HumanMessage("q"), AIMessage("a")]}, as_node="say")
    if cleared:
        compiled.update_state(config, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("q2")]})
    for source, media in itertools.product((saver, compiled), (True, False)):
        export = export_thread(source, "t", "openai-chat", full=True, resolve_media=media)
        texts = [message["content"] for message in export.payload["messages"]]
        assert texts == (["q", "a", "q2"] if cleared else ["q", "a"])
