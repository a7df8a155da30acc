"""A step of parallel calls that stopped half-way: every source tells the same results, and the same waiting calls."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt

from langgraph_portable_checkpoint import export_thread
from langgraph_portable_checkpoint.dialects.export import read_messages
from langgraph_portable_checkpoint.transfer.conversations import config_of, read_conversation
from tests.saver.conftest import SaverFactory, make_saver

__all__ = ["make_saver"]

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def tool(state: dict[str, Any]) -> dict[str, Any]:
    """A tool that does as its call is named: asks, fails, or answers."""
    call = state["call"]
    if call["name"] == "fail":
        time.sleep(0.2)  # LangGraph drops what a task says that ends beside a failure
        raise ValueError("no")
    said = interrupt({"for": call["id"]}) if call["name"] == "ask" else "done"
    return {"messages": [ToolMessage(str(said), tool_call_id=call["id"])]}


def graph_of(saver: Any, names: str) -> Any:
    """A graph whose model calls one tool for each name, each in a task of its own."""
    calls = [{"name": name, "args": {}, "id": f"c{at}"} for at, name in enumerate(names.split())]
    answers = iter([AIMessage("", tool_calls=calls, id="calls")])
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda _: {"messages": [next(answers, AIMessage("fine", id="end"))]})
    builder.add_node("tool", tool)
    builder.add_edge(START, "model")
    builder.add_conditional_edges(
        "model", lambda state: [Send("tool", {"call": one}) for one in _calls(state)], ["tool"]
    )
    return builder.compile(checkpointer=saver)


def _calls(state: Any) -> list[Any]:
    return state["messages"][-1].tool_calls


def run(graph: Any, given: Any) -> None:
    with suppress(ValueError):
        graph.invoke(given, CONFIG)


def told(source: Any, **options: Any) -> tuple[Any, Any]:
    found = read_conversation(source, config_of("t", "", None), None, full=False, read_media=True, **options)
    said = [
        {key: value for key, value in one.items() if key not in ("id", "v")} for one in read_messages(found.messages)
    ]
    return said, found.pending


def both(make_saver: SaverFactory, names: str) -> tuple[list[Any], list[Any]]:
    savers = [make_saver(), InMemorySaver()]
    graphs = [graph_of(saver, names) for saver in savers]
    for graph in graphs:
        run(graph, {"messages": [HumanMessage("hi", id="1")]})
    return savers, graphs


@pytest.mark.parametrize(
    ("names", "pending", "results"),
    [
        ("ok ask", {"c1"}, ["c0"]),
        ("ask ok ask ok", {"c0", "c2"}, ["c1", "c3"]),
        ("ask", {"c0"}, []),
        ("ok fail", set(), ["c0"]),
        ("ok ok", set(), ["c0", "c1"]),
    ],
)
def test_all_sources_tell_the_same(make_saver: SaverFactory, names: str, pending: set[str], results: list[str]) -> None:
    savers, graphs = both(make_saver, names)
    for source in (*savers, *graphs):
        said, waiting = told(source)
        assert waiting == pending
        assert [one["tool_call_id"] for one in said if one["role"] == "tool"] == results
        assert said == told(graphs[1])[0]


def test_a_question_that_was_answered_waits_no_more(make_saver: SaverFactory) -> None:
    savers, graphs = both(make_saver, "ask ask")
    for graph in graphs:
        first, _ = graph.get_state(CONFIG).interrupts
        run(graph, Command(resume={first.id: "yes"}))
    assert [told(source)[1] for source in (*savers, *graphs)] == [{"c1"}] * 4


def test_a_failure_beside_an_answered_question_is_no_wait(make_saver: SaverFactory) -> None:
    savers, graphs = both(make_saver, "ask fail")
    for graph in graphs:
        run(graph, Command(resume="yes"))
    sources = (*savers, *graphs)
    assert [told(source)[1] for source in sources] == [set()] * 4
    payloads = [export_thread(one, "t", "openai-chat", incomplete="synthesize").payload["messages"] for one in sources]
    assert next(message["content"] for message in payloads[0] if message["role"] == "tool") == "yes"
    assert payloads == [payloads[0]] * 4


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("media", [False, True])
def test_a_finished_result_is_read_without_media_and_with_all_that_was_lost(
    make_saver: SaverFactory, full: bool, media: bool
) -> None:
    savers, graphs = both(make_saver, "ok ask")
    for source in (*savers, *graphs):
        found = read_conversation(source, config_of("t", "", None), None, full=full, read_media=media)
        assert found.pending == {"c1"}
        assert [one["role"] for one in read_messages(found.messages)] == ["user", "assistant", "tool"]


def test_a_step_by_its_id_is_told_as_it_began(make_saver: SaverFactory) -> None:
    savers, graphs = both(make_saver, "ok ask")
    for source, graph in zip((*savers, *graphs), graphs * 2, strict=True):
        at = graph.get_state(CONFIG).config["configurable"]["checkpoint_id"]
        found = read_conversation(source, config_of("t", "", at), None, full=False, read_media=True)
        assert (found.pending, len(found.messages)) == ({"c0", "c1"}, 2)


def test_a_call_whose_id_came_before_waits_too() -> None:
    saver = InMemorySaver()
    builder = StateGraph(MessagesState).add_node("model", lambda _: {"messages": [ToolMessage(interrupt(1), "f:0")]})
    call = {"name": "ask", "args": {}, "id": "f:0"}
    messages = [
        AIMessage("", tool_calls=[call]),
        ToolMessage("1", tool_call_id="f:0"),
        AIMessage("", tool_calls=[call]),
    ]
    builder.add_edge(START, "model").compile(checkpointer=saver).invoke({"messages": messages}, CONFIG)
    assert told(saver)[1] == {"f:0"}
