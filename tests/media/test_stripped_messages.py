"""A message that was stripped reads alike for everybody, also for the saver that took the bytes away."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, MessagesState, StateGraph

from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.conftest import calls as calls
from tests.saver.conftest import make_saver as make_saver

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 12
TEXT = base64.b64encode(PNG).decode()
URL = f"data:image/png;base64,{TEXT}"
PART = {"type": "image", "base64": TEXT, "mime_type": "image/png"}
SOUND = {"id": "audio_1", "data": TEXT, "transcript": "Hello.", "expires_at": 1}

MESSAGES: dict[str, Callable[[], BaseMessage]] = {
    "a part": lambda: HumanMessage([PART], id="m"),
    "content that is a text": lambda: HumanMessage(URL, id="m"),
    "a result that is a text": lambda: ToolMessage(URL, tool_call_id="c", id="m"),
    "arguments": lambda: AIMessage("", tool_calls=[{"name": "n", "id": "c", "args": {"shot": PART}}], id="m"),
    "invalid arguments": lambda: AIMessage(
        "", invalid_tool_calls=[{"name": "n", "id": "c", "args": TEXT, "error": URL}], id="m"
    ),
    "an answer in sound": lambda: AIMessage("", additional_kwargs={"audio": SOUND}, id="m"),
    "response metadata": lambda: AIMessage("ok", response_metadata={"shot": [PART]}, id="m"),
    "an artifact": lambda: ToolMessage("ok", tool_call_id="c", artifact={"shot": PART}, id="m"),
    "a name": lambda: HumanMessage("hi", name=TEXT, id="m"),
}
POLICIES: list[Any] = ["strip", {"preserve_media": False}, {"rules": {"image/*": "strip"}}]


@pytest.fixture(params=["plain", "encrypted"])
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {} if request.param == "plain" else {"serde": EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 32)}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", MESSAGES)
def test_the_saver_that_stripped_reads_what_others_read(
    make_saver: SaverFactory, calls: Calls, options: dict[str, Any], name: str, policy: Any
) -> None:
    saver, message = make_saver(media_policy=policy, **options), MESSAGES[name]()
    stored = calls.put(saver, config("t"), checkpoint({"messages": [message]}), metadata(), {"messages": 1})
    calls.put_writes(saver, stored, [("messages", [message])], "task")
    own, other = (calls.get_tuple(each, stored) for each in (saver, make_saver(**options)))
    assert own is not None
    assert own == other
    assert "removed on save" in repr(own.checkpoint)
    assert TEXT not in repr((own.checkpoint, own.pending_writes))


@pytest.mark.parametrize("name", MESSAGES)
def test_a_later_turn_stores_nothing_that_was_stripped_before(
    make_saver: SaverFactory, calls: Calls, options: dict[str, Any], name: str
) -> None:
    saver, seen = make_saver(**options), list[str]()

    def answer(state: MessagesState) -> dict[str, list[AnyMessage]]:
        seen.append(repr(state["messages"]))
        return {"messages": []}

    graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile(checkpointer=saver)
    thread = {"thread_id": "t"}
    calls.run(graph, "invoke", {"messages": [MESSAGES[name]()]}, {"configurable": {**thread, "media_policy": "strip"}})
    calls.run(graph, "invoke", {"messages": ["and now?"]}, {"configurable": thread})
    assert TEXT not in seen[1]
    assert TEXT not in repr(calls.get_tuple(make_saver(**options), config("t")))
