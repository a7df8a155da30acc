"""Copies of threads: their turns name the copy."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_portable_checkpoint import PortableRedisSaver
from tests.servers import Room


def _graph(saver: PortableRedisSaver) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda _state: {"messages": [AIMessage("ok")]})
    return builder.add_edge(START, "answer").compile(checkpointer=saver)


@pytest.mark.parametrize("sealed", [False, True])
def test_turns_of_a_copy_name_the_copy_and_keep_their_times(server: Room, *, sealed: bool) -> None:
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef") if sealed else None
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix, serde=serde) as saver:
        graph = _graph(saver)
        for question in ("one", "two"):
            graph.invoke({"messages": [HumanMessage(question)]}, {"configurable": {"thread_id": "a"}})
        saver.copy_thread("a", "b")
        source, copied = list(saver.turns("a")), list(saver.turns("b"))
        assert [turn.record["thread_id"] for turn in copied] == ["b", "b"]
        assert [{**turn.record, "thread_id": "a"} for turn in copied] == [turn.record for turn in source]
        graph.invoke({"messages": [HumanMessage("three")]}, {"configurable": {"thread_id": "b"}})
        assert [turn.record["thread_id"] for turn in saver.turns("b")] == ["b"] * 3
        assert len(list(saver.turns("a"))) == 2
