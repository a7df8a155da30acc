"""What is said where there is nothing to export: the thread, its namespace or the checkpoint is not there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_portable_checkpoint import aexport_thread, export_thread
from langgraph_portable_checkpoint.errors import ThreadNotFoundError
from tests.saver.conftest import SaverFactory, make_saver

__all__ = ["make_saver"]


def graph_on(saver: Any) -> Any:
    """Run a thread "t" with a graph whose part keeps a namespace of its own."""
    part = StateGraph(MessagesState).add_node("say", lambda _: {"messages": [AIMessage("a")]}).add_edge(START, "say")
    whole = StateGraph(MessagesState).add_node("part", part.compile(checkpointer=True)).add_edge(START, "part")
    graph = whole.compile(checkpointer=saver)
    graph.invoke({"messages": [HumanMessage("q")]}, {"configurable": {"thread_id": "t"}})
    return graph


@pytest.fixture(params=["ours", "memory", "sqlite", "graph of ours", "graph of memory"])
def source(request: Any, make_saver: SaverFactory) -> Any:
    if request.param == "sqlite":
        with SqliteSaver.from_conn_string(":memory:") as saver:
            graph_on(saver)
            yield saver
        return
    graph = graph_on(make_saver() if "ours" in request.param else InMemorySaver())
    yield graph if "graph" in request.param else graph.checkpointer


def head_of(source: Any) -> str:
    saver = getattr(source, "checkpointer", source)
    head = saver.get_tuple({"configurable": {"thread_id": "t", "checkpoint_ns": ""}})
    return str(head.checkpoint["id"])


@pytest.mark.parametrize(
    ("thread_id", "named", "expected"),
    [
        ("u", {}, "there is no thread 'u' here."),
        ("u", {"checkpoint_ns": "part"}, "there is no thread 'u' here."),
        ("u", {"checkpoint_id": "1f0"}, "there is no thread 'u' here."),
        (
            "t",
            {"checkpoint_ns": "parts"},
            "thread 't' has no checkpoint namespace 'parts'; it has '' (the root), 'part'.",
        ),
        ("t", {"checkpoint_id": "1f0"}, "thread 't' has no checkpoint '1f0'."),
        (
            "t",
            {"checkpoint_ns": "part", "checkpoint_id": "1f0"},
            "thread 't' has no checkpoint '1f0' in namespace 'part'.",
        ),
        ("t", {"checkpoint_ns": "parts", "checkpoint_id": "1f0"}, "thread 't' has no checkpoint namespace 'parts'; "),
    ],
)
@pytest.mark.parametrize("full", [False, True])
def test_what_is_not_there_is_named(source: Any, thread_id: str, named: Any, expected: str, full: bool) -> None:
    with pytest.raises(ThreadNotFoundError) as caught:
        export_thread(source, thread_id, "openai-chat", full=full, **named)
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize("ns", ["part", "parts"])
def test_a_checkpoint_of_another_namespace_is_found_there(source: Any, ns: str) -> None:
    with pytest.raises(ThreadNotFoundError) as caught:
        export_thread(source, "t", "openai-chat", checkpoint_ns=ns, checkpoint_id=head_of(source))
    assert str(caught.value).endswith(f"not in namespace {ns!r}, but in '' (the root).")


def test_awaited_exports_say_the_same(make_saver: SaverFactory) -> None:
    graph = graph_on(make_saver())
    with pytest.raises(ThreadNotFoundError, match="has no checkpoint namespace 'parts'"):
        asyncio.run(aexport_thread(graph.checkpointer, "t", "openai-chat", checkpoint_ns="parts"))


def test_many_namespaces_are_counted() -> None:
    saver = InMemorySaver()
    graph_on(saver)
    for number in range(20):
        saver.storage["t"][f"n{number:02}"] = dict(saver.storage["t"][""])
    with pytest.raises(ThreadNotFoundError, match=r"'n05', 'n06' and 14 more\. Name one of these\."):
        export_thread(saver, "t", "openai-chat", checkpoint_ns="parts")
