"""Media in a store beside the server: through the saver, with stores that lose, damage or refuse blobs."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_portable_checkpoint.errors import MediaStoreError, MediaTooLargeError
from langgraph_portable_checkpoint.media.directory import DirectoryMediaStore
from langgraph_portable_checkpoint.media.garbage import collect_garbage
from langgraph_portable_checkpoint.media.objects import ObjectMediaStore
from langgraph_portable_checkpoint.media.policy import MediaPolicy
from langgraph_portable_checkpoint.saver import PortableRedisSaver
from tests.servers import Room

from .test_in_threads import stored

PNG = b"\x89PNG\r\n\x1a\n" + os.urandom(50_000)
PART = {"type": "image", "base64": base64.b64encode(PNG).decode(), "mime_type": "image/png"}
GONE = {"type": "text", "text": f"[image/png, {len(PNG)} B, not available on read]"}
QUESTION = HumanMessage([{"type": "text", "text": "look"}, PART], id="q")

Open = Callable[..., PortableRedisSaver]


@pytest.fixture
def open_saver(server: Room) -> Iterator[Open]:
    opened: list[PortableRedisSaver] = []

    def open_one(store: Any, **options: Any) -> PortableRedisSaver:
        saver = PortableRedisSaver.from_url(server.url, prefix=server.prefix, media_store=store, **options)
        opened.append(saver)
        return saver

    yield open_one
    for saver in opened:
        saver.close()


def graph_on(saver: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda state: {"messages": [AIMessage(f"seen {len(state['messages'])}")]})
    return builder.add_edge(START, "answer").compile(checkpointer=saver)


def config(thread: str = "t") -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}}


def question(saver: Any, thread: str = "t") -> Any:
    return graph_on(saver).get_state(config(thread)).values["messages"][0].content[1]


def bytes_in_redis(room: Room, sample: bytes = PNG[1000:1048]) -> list[bytes]:
    return [value for values in stored(room).values() for value in values if sample in value]


@pytest.fixture(params=["directory", "objects"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> DirectoryMediaStore | ObjectMediaStore:
    if request.param == "directory":
        return DirectoryMediaStore(tmp_path)
    found: ObjectMediaStore = request.getfixturevalue("object_store")
    return found


def test_bytes_go_to_the_store_once_for_all_threads(open_saver: Open, server: Room, store: Any) -> None:
    graph = graph_on(open_saver(store))
    for thread in ("a", "b"):
        graph.invoke({"messages": [QUESTION]}, config(thread))
    assert bytes_in_redis(server) == []
    assert [blob.size_bytes for blob in store.list()] == [len(PNG)]
    fresh = open_saver(store)
    assert question(fresh, "a") == question(fresh, "b") == PART


async def test_awaiting_a_graph_uses_the_store_too(open_saver: Open, server: Room, store: Any) -> None:
    await graph_on(open_saver(store)).ainvoke({"messages": [QUESTION]}, config())
    assert bytes_in_redis(server) == []
    state = await graph_on(open_saver(store)).aget_state(config())
    assert state.values["messages"][0] == QUESTION


def test_a_folder_is_named_by_its_path(open_saver: Open, tmp_path: Path) -> None:
    graph_on(open_saver(tmp_path / "media")).invoke({"messages": [QUESTION]}, config())
    assert [file.suffix for file in (tmp_path / "media").iterdir()] == [".png"]
    assert question(open_saver(str(tmp_path / "media"))) == PART


def test_a_missing_blob_leaves_the_thread_readable_until_it_is_back(open_saver: Open, tmp_path: Path) -> None:
    store = DirectoryMediaStore(tmp_path)
    graph_on(open_saver(store)).invoke({"messages": [QUESTION]}, config())
    [blob] = store.list()
    (tmp_path / blob.ref).rename(tmp_path / "elsewhere")
    saver = open_saver(store)
    assert question(saver) == GONE
    assert len(graph_on(saver).get_state(config()).values["messages"]) == 2
    (tmp_path / "elsewhere").rename(tmp_path / blob.ref)
    assert question(open_saver(store)) == PART
    assert question(saver) == PART


@pytest.mark.parametrize("damage", [b"", PNG[:-1], bytes(len(PNG))])
def test_a_damaged_blob_is_never_given_out(open_saver: Open, tmp_path: Path, damage: bytes) -> None:
    store = DirectoryMediaStore(tmp_path)
    graph_on(open_saver(store)).invoke({"messages": [QUESTION]}, config())
    [blob] = store.list()
    (tmp_path / blob.ref).write_bytes(damage)
    assert question(open_saver(store)) == GONE


def test_going_on_while_a_blob_is_away_does_not_lose_it(open_saver: Open, tmp_path: Path) -> None:
    """The graph saves the message it has read, placeholder and all; the thread must still name the blob."""
    store = DirectoryMediaStore(tmp_path)
    graph_on(open_saver(store)).invoke({"messages": [QUESTION]}, config())
    [blob] = store.list()
    (tmp_path / blob.ref).rename(tmp_path / "elsewhere")
    graph_on(open_saver(store)).invoke({"messages": [HumanMessage("and now?")]}, config())
    (tmp_path / "elsewhere").rename(tmp_path / blob.ref)
    assert question(open_saver(store)) == PART


class Refusing:
    """A store that is down."""

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        raise ConnectionError("the bucket is on fire")

    def get(self, ref: str) -> bytes:
        raise ConnectionError("the bucket is on fire")


def test_a_save_that_the_store_refuses_leaves_the_thread_as_it_was(
    open_saver: Open, server: Room, tmp_path: Path
) -> None:
    working = open_saver(tmp_path)
    graph_on(working).invoke({"messages": [HumanMessage("hi", id="h")]}, config())
    before = stored(server)
    with pytest.raises(MediaStoreError, match="on fire"):
        graph_on(open_saver(Refusing())).invoke({"messages": [QUESTION]}, config(), durability="sync")
    with pytest.raises(MediaStoreError, match="on fire"):
        graph_on(open_saver(Refusing())).invoke({"messages": [QUESTION]}, config("new"), durability="sync")
    assert stored(server) == before


def test_an_encrypted_thread_shows_nothing_in_the_store(open_saver: Open, tmp_path: Path) -> None:
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 16)
    graph_on(open_saver(tmp_path, serde=serde)).invoke({"messages": [QUESTION]}, config())
    files = [file.read_bytes() for file in tmp_path.iterdir()]
    assert files
    assert not [data for data in files if PNG[1000:1048] in data]
    assert question(open_saver(tmp_path, serde=serde)) == PART


def test_two_sweeps_after_a_thread_is_gone_free_its_blobs(open_saver: Open, tmp_path: Path) -> None:
    store = DirectoryMediaStore(tmp_path)
    saver = open_saver(store)
    graph_on(saver).invoke({"messages": [QUESTION]}, config())
    saver.delete_thread("t")
    for _ in range(2):
        for file in tmp_path.iterdir():
            os.utime(file, (0, 0))
        collect_garbage(store, list, now=datetime.now(UTC), dry_run=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("serde", [None, EncryptedSerializer.from_pycryptodome_aes(key=b"0" * 32)])
async def test_a_blob_that_its_store_would_not_read_back_is_refused_by_the_save(
    open_saver: Open, tmp_path: Path, serde: Any
) -> None:
    """Whatever the policy allows: what cannot be read back is lost."""
    store = DirectoryMediaStore(tmp_path, max_bytes=len(PNG) - 1)
    saver = open_saver(store, serde=serde, media_policy=MediaPolicy(max_bytes=3 * 2**30))
    graph = graph_on(saver)
    graph.invoke({"messages": [HumanMessage("hello", id="h")]}, config())
    with pytest.raises(MediaTooLargeError, match="max_bytes"):
        graph.invoke({"messages": [QUESTION]}, config())
    with pytest.raises(MediaTooLargeError, match="max_bytes"):
        await graph.ainvoke({"messages": [QUESTION]}, config())
    assert list(store.list()) == []
    assert [entry.content for entry in graph.get_state(config()).values["messages"]] == ["hello", "seen 1"]
    assert saver.media_report("t") == []
