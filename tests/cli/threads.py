"""Threads for the tests of the command line, made by a real graph."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

PNG = b64encode(
    b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
    + bytes(8192)
).decode()
"""An image of a size that no policy leaves inline."""


def answer(state: MessagesState) -> dict[str, Any]:
    asked = state["messages"][-1]
    if asked.text == "wait":
        interrupt("Is this allowed?")
    if asked.text == "fail":
        raise RuntimeError("the model is down")
    usage = {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12}
    reply = AIMessage(f"echo {asked.text}", usage_metadata=usage, response_metadata={"model_name": "echo-1"})
    return {"messages": [reply]}


def graph_on(saver: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver)


def talk(saver: Any, thread_id: str, *said: Any) -> None:
    """Ask, one turn each."""
    graph = graph_on(saver)
    for content in said:
        message = HumanMessage(content)
        graph.invoke({"messages": [message]}, {"configurable": {"thread_id": thread_id}}, durability="sync")
