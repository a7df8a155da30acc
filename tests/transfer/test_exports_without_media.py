"""`export_thread(..., resolve_media=False)` reads no medium: of the head, of its ancestors, of another channel."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

from langgraph_portable_checkpoint import PortableRedisSaver, export_thread
from tests.servers import Room

CONFIG: Any = {"configurable": {"thread_id": "t"}}
GONE = "[image/png: not available here]"


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]
    notes: Annotated[list[Any], add_messages]


def _seen(seed: int, message_id: str) -> HumanMessage:
    noise = b"".join(hashlib.sha256(f"{seed}.{at}".encode()).digest() for at in range(160))
    url = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + noise).decode()
    part = {"type": "image_url", "image_url": {"url": url}}
    return HumanMessage([{"type": "text", "text": f"see {seed}"}, part], id=message_id)


def _answer(state: State) -> dict[str, Any]:
    last = state["messages"][-1]
    if last.text == "pay":
        call = {"name": "pay", "args": {}, "id": "waits"}
        return {"messages": [AIMessage("", tool_calls=[call], id="asks")]}
    return {"messages": [AIMessage("ok")]}


def _wait(state: State) -> None:
    if getattr(state["messages"][-1], "tool_calls", None):
        interrupt("may I?")


@pytest.fixture
def saver(server: Room) -> Any:
    """A saver that has talked about two pictures, of which the state has lost the first; their bytes are gone."""
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as made:
        graph = _graph(made)
        graph.invoke({"messages": [_seen(1, "one")], "notes": [_seen(3, "note")]}, CONFIG)
        graph.update_state(CONFIG, {"messages": [RemoveMessage("one")]})
        graph.invoke({"messages": [_seen(2, "two")]}, CONFIG)
    keys = server.keys()
    with server.client() as client:
        client.delete(*[key for key in keys if key.endswith(b":blobs")])
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as again:
        yield again


def _graph(saver: PortableRedisSaver) -> Any:
    builder = StateGraph(State)
    builder.add_node("answer", _answer)
    builder.add_node("wait", _wait)
    builder.add_edge(START, "answer").add_edge("answer", "wait")
    return builder.compile(checkpointer=saver)


def _texts(export: Any) -> list[list[str]]:
    contents = [message["content"] for message in export.payload["messages"] if message["role"] == "user"]
    return [[part["text"] for part in content] for content in contents]


@pytest.mark.parametrize("of", [lambda saver: saver, _graph], ids=["saver", "graph"])
@pytest.mark.parametrize(("full", "said"), [(False, [["see 2", GONE]]), (True, [["see 1", GONE], ["see 2", GONE]])])
def test_no_medium_is_read(saver: Any, of: Any, full: bool, said: list[list[str]]) -> None:
    export = export_thread(of(saver), "t", "openai-chat", full=full, resolve_media=False)
    assert _texts(export) == said
    assert [(loss.kind, loss.path) for loss in export.report] == [("unresolved", "content[1]")] * len(said)
    assert {"reads no blob" in loss.detail for loss in export.report} == {True}


def test_what_the_state_has_lost_is_marked(saver: Any) -> None:
    export = export_thread(saver, "t", "langchain", full=True, resolve_media=False)
    marks = ["recovered" in str(message) for message in export.payload["messages"]]
    assert marks == [True, False, False, False]


def test_another_channel_is_read_without_media_too(saver: Any) -> None:
    export = export_thread(saver, "t", "openai-chat", channel="notes", resolve_media=False)
    assert _texts(export) == [["see 3", GONE]]


@pytest.mark.parametrize("of", [lambda saver: saver, _graph], ids=["saver", "graph"])
def test_a_call_that_waits_is_pending(saver: Any, of: Any) -> None:
    _graph(saver).invoke({"messages": [HumanMessage("pay")]}, {"configurable": {"thread_id": "t", "media": "none"}})
    assert export_thread(of(saver), "t", "openai-chat", resolve_media=False).pending == ("waits",)


def _appended(state: list[Any] | None, writes: Any) -> list[Any]:
    return [
        *(state or []),
        *(message for write in writes for message in (write if isinstance(write, list) else [write])),
    ]


def _folding(saver: PortableRedisSaver, snapshot_frequency: int) -> Any:
    channel = DeltaChannel(_appended, snapshot_frequency=snapshot_frequency)
    folded = TypedDict("folded", {"messages": Annotated[list[Any], channel]})  # type: ignore[misc]  # noqa: UP013
    return (
        StateGraph(folded)
        .add_node("answer", lambda _: {"messages": [AIMessage("ok")]})
        .add_edge(START, "answer")
        .compile(checkpointer=saver)
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("snapshot_frequency", [1, 2, 100])
def test_media_of_a_delta_channel_are_not_read_and_told(server: Room, snapshot_frequency: int, full: bool) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        graph = _folding(saver, snapshot_frequency)
        for seed in range(3):
            graph.invoke({"messages": [_seen(seed, f"m{seed}")]}, CONFIG)
        bare: Any = {"configurable": {"thread_id": "t", "media": "none"}}
        written = json.loads(json.dumps(graph.get_state(bare).values["messages"][0].content[1]["text"]))
        assert "kept as" in written
        graph.invoke({"messages": [HumanMessage([{"type": "text", "text": text} for text in ("so", written)])]}, CONFIG)
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        graph = _folding(saver, snapshot_frequency)
        export = export_thread(graph, "t", "openai-chat", full=full, resolve_media=False)
        assert _texts(export) == [["see 0", GONE], ["see 1", GONE], ["see 2", GONE], ["so", written]]
        assert [(loss.kind, loss.path) for loss in export.report] == [("unresolved", "content[1]")] * 3
        assert {"reads no blob" in loss.detail for loss in export.report} == {True}
        exported = export_thread(graph, "t", "openai-chat", full=full)
        assert [loss for loss in exported.report if loss.kind == "unresolved"] == []
        assert "base64," in str(exported.payload)
