"""Calls before which a graph stops by design wait for a human; an export never answers them."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_portable_checkpoint import PortableRedisSaver, export_thread
from tests.servers import Room

CALL = {"name": "pay", "args": {"sum": 3}, "id": "c1", "type": "tool_call"}


def _graph(saver: PortableRedisSaver, **breakpoints: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda _state: {"messages": [AIMessage("", tool_calls=[CALL])]})
    builder.add_node("tools", lambda _state: {"messages": []})
    builder.add_edge(START, "model").add_edge("model", "tools")
    return builder.compile(checkpointer=saver, **breakpoints)


@pytest.mark.parametrize("breakpoints", [{"interrupt_before": ["tools"]}, {"interrupt_after": ["model"]}])
@pytest.mark.parametrize("incomplete", ["drop", "synthesize"])
def test_call_at_a_breakpoint_is_pending(server: Room, breakpoints: Any, incomplete: str) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        graph = _graph(saver, **breakpoints)
        graph.invoke({"messages": [HumanMessage("pay")]}, {"configurable": {"thread_id": "t"}})
        export = export_thread(graph, "t", to="openai-chat", incomplete=incomplete)
        assert export.pending == ("c1",)
        assert "tool" not in [message["role"] for message in export.payload["messages"]]
