"""What awaits exports and imports as what blocks, from savers that have only awaited methods too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import redis.asyncio
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_portable_checkpoint import (
    PortableRedisSaver,
    aexport_thread,
    aimport_thread,
    export_messages,
    export_thread,
)
from langgraph_portable_checkpoint.errors import MalformedHistoryError, ThreadExistsError, ThreadNotFoundError
from tests.servers import Room

CALL: dict[str, Any] = {"name": "look", "args": {"q": "tea"}, "id": "call_1", "type": "tool_call"}
PICTURE = {"type": "image", "base64": "iVBORw0KGgoA" * 500, "mime_type": "image/png"}
SAID = [HumanMessage([{"type": "text", "text": "see"}, PICTURE], id="q"), AIMessage("ok", id="a"), HumanMessage("b")]
CHAT = export_messages(SAID[1:], "openai-chat").payload
CONFIG: Any = {"configurable": {"thread_id": "t"}}
Open = Callable[[str], Any]


@pytest.fixture
async def opened(server: Room, tmp_path: Path) -> AsyncIterator[Callable[[str], Any]]:
    """Open a saver that has awaited methods, by its name; one with a blocking client cannot be used from here."""
    async with AsyncExitStack() as stack:
        client = redis.asyncio.Redis.from_url(server.url)
        stack.push_async_callback(client.aclose)
        sqlite = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(str(tmp_path / "a.db")))
        savers = {
            "ours": PortableRedisSaver(async_client=client, prefix=server.prefix),
            "sqlite": sqlite,
            "memory": InMemorySaver(),
        }
        yield savers.__getitem__


def _graph(saver: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda state: {"messages": [AIMessage("yes", id=f"y{len(state['messages'])}")]})
    return builder.add_edge(START, "answer").compile(checkpointer=saver)


NAMES = ["ours", "sqlite", "memory"]


@pytest.mark.parametrize("options", [{}, {"full": True}, {"resolve_media": False}, {"turns": 1}], ids=str)
@pytest.mark.parametrize("whole", [True, False], ids=["graph", "saver"])
@pytest.mark.parametrize("name", NAMES)
async def test_an_awaited_export_is_the_blocking_one(
    opened: Open, server: Room, name: str, whole: bool, options: dict[str, Any]
) -> None:
    saver, memory = opened(name), InMemorySaver()
    for each in (saver, memory):
        for message in (SAID[0], SAID[2]):
            await _graph(each).ainvoke({"messages": [message.model_copy(update={"id": message.id or "b"})]}, CONFIG)
    found = await aexport_thread(_graph(saver) if whole else saver, "t", "anthropic", **options)
    told = export_thread(_graph(memory) if whole else memory, "t", "anthropic", **options)
    if name == "ours":
        with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as blocking:
            told = export_thread(_graph(blocking) if whole else blocking, "t", "anthropic", **options)
    assert found.payload == told.payload
    assert found.report == told.report


@pytest.mark.parametrize("name", NAMES)
async def test_an_awaited_import_makes_a_thread_that_a_graph_goes_on_from(opened: Open, name: str) -> None:
    saver = opened(name)
    imported = await aimport_thread(saver, "t", CHAT, "openai-chat")
    assert len(imported.messages) == 2
    await _graph(saver).ainvoke({"messages": [HumanMessage("more")]}, CONFIG)
    export = await aexport_thread(saver, "t", "openai-chat")
    assert export.payload["messages"][:2] == CHAT["messages"]
    assert len(export.payload["messages"]) == 4


@pytest.mark.parametrize("name", NAMES)
async def test_an_awaited_import_refuses_or_overwrites_a_thread_that_is_there(opened: Open, name: str) -> None:
    saver = opened(name)
    await _graph(saver).ainvoke({"messages": [HumanMessage("old")]}, CONFIG)
    before = (await aexport_thread(saver, "t", "openai-chat")).payload
    with pytest.raises(ThreadExistsError):
        await aimport_thread(saver, "t", CHAT, "openai-chat")
    with pytest.raises(MalformedHistoryError):
        await aimport_thread(saver, "t", {"messages": 1}, "openai-chat", on_existing="overwrite")
    assert (await aexport_thread(saver, "t", "openai-chat")).payload == before
    await aimport_thread(saver, "t", CHAT, "openai-chat", on_existing="overwrite")
    assert (await aexport_thread(saver, "t", "openai-chat")).payload == CHAT
    assert len([each async for each in saver.alist(CONFIG)]) == 1


@pytest.mark.parametrize("name", NAMES)
async def test_an_awaited_export_names_a_thread_that_is_not_there(opened: Open, name: str) -> None:
    with pytest.raises(ThreadNotFoundError, match="nobody"):
        await aexport_thread(opened(name), "nobody", "anthropic")
