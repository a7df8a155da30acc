"""Blobs that are gone are stored again with the message that brings them, by a saver that knows of the loss."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_portable_checkpoint import PortableRedisSaver
from langgraph_portable_checkpoint.media.directory import DirectoryMediaStore
from tests.servers import Room

from .test_beside import Open
from .test_beside import open_saver as open_saver

PNG = b"\x89PNG\r\n\x1a\n" + b"".join(hashlib.sha256(bytes([n])).digest() for n in range(200))
PART = {"type": "image", "base64": base64.b64encode(PNG).decode(), "mime_type": "image/png"}
CALL = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}], id="call")
BRINGS: dict[str, Callable[[str], Any]] = {
    "content": lambda name: HumanMessage([PART], id=name),
    "artifact": lambda name: ToolMessage("seen", tool_call_id="c", artifact={"shot": PART}, id=name),
}


class Counting(DirectoryMediaStore):
    """A folder that counts what is put into it, and fails when it is told to."""

    puts = 0
    fails = False

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        self.puts += 1
        return super().put(sha256, mime_type, data)

    def get(self, ref: str) -> bytes:
        if self.fails:
            raise PermissionError("403")
        return super().get(ref)


@pytest.fixture
def store(tmp_path: Path) -> Counting:
    return Counting(tmp_path)


def _graph(saver: PortableRedisSaver) -> Any:
    builder = StateGraph(MessagesState).add_node("answer", lambda state: {"messages": [AIMessage("ok")]})
    return builder.add_edge(START, "answer").compile(checkpointer=saver)


def _config(thread: str = "t") -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}}


def _say(saver: PortableRedisSaver, message: Any, thread: str = "t") -> None:
    _graph(saver).invoke({"messages": [CALL, message]}, _config(thread))


def _lose(store: Counting, damage: str = "gone") -> None:
    [file] = store.path.iterdir()
    file.unlink() if damage == "gone" else file.write_bytes(b"other bytes")


def _reads(saver: PortableRedisSaver, thread: str = "t") -> list[str]:
    _graph(saver).get_state(_config(thread))
    return [entry.reason for entry in saver.media_report(thread)]


@pytest.mark.parametrize("brings", BRINGS)
@pytest.mark.parametrize("name", ["same", "new"])
@pytest.mark.parametrize("damage", ["gone", "damaged"])
@pytest.mark.parametrize("sealed", [False, True])
def test_a_blob_is_stored_again_with_its_message_by_a_saver_that_learned_of_the_loss(
    open_saver: Open, store: Counting, brings: str, name: str, damage: str, sealed: bool
) -> None:
    sealing = {"serde": EncryptedSerializer.from_pycryptodome_aes(key=b"0" * 32)} if sealed else {}
    saver = open_saver(store, **sealing)
    _say(saver, BRINGS[brings]("same"))
    for file in list(store.path.iterdir())[1:]:
        file.unlink()  # under a cipher each step of the first run that stores a medium makes bytes of its own
    _lose(store, damage)
    assert set(_reads(saver)) <= {"missing_blob", "corrupt_blob"}
    _say(saver, BRINGS[brings](name))
    assert _reads(saver) == []
    assert _reads(open_saver(store, **sealing)) == []


def test_the_loss_may_be_learned_in_another_thread(open_saver: Open, store: Counting) -> None:
    saver = open_saver(store)
    for thread in ("one", "two", "three"):
        _say(saver, BRINGS["content"]("q"), thread)
    _lose(store)
    assert _reads(saver, "one") == ["missing_blob"]
    _say(saver, BRINGS["content"]("q"), "two")
    assert [_reads(saver, thread) for thread in ("one", "two", "three")] == [[], [], []]


def test_what_was_stored_again_is_at_rest(open_saver: Open, store: Counting) -> None:
    saver = open_saver(store)
    _say(saver, BRINGS["content"]("q"))
    _lose(store)
    assert _reads(saver) == ["missing_blob"]
    before = store.puts
    _say(saver, BRINGS["content"]("q"))
    again = store.puts
    assert again > before
    for _ in range(3):
        _say(saver, BRINGS["content"]("q"))
    assert store.puts == again


def test_a_store_that_fails_for_a_while_is_not_asked_again_by_a_save(open_saver: Open, store: Counting) -> None:
    saver = open_saver(store)
    _say(saver, BRINGS["content"]("q"))
    store.fails = True
    assert _reads(saver) == ["missing_blob"]
    before = store.puts
    _say(saver, BRINGS["content"]("q"))
    assert store.puts == before


def test_a_blob_that_is_back_is_not_stored_again(open_saver: Open, store: Counting) -> None:
    saver = open_saver(store)
    _say(saver, BRINGS["content"]("q"))
    [file] = store.path.iterdir()
    file.rename(f"{file}.away")
    assert _reads(saver) == ["missing_blob"]
    Path(f"{file}.away").rename(file)
    assert _reads(saver) == []
    before = store.puts
    _say(saver, BRINGS["content"]("q"))
    assert store.puts == before


@pytest.mark.parametrize("brings", BRINGS)
def test_a_blob_that_the_server_evicted_is_stored_again(open_saver: Open, server: Room, brings: str) -> None:
    saver = open_saver(None)
    _say(saver, BRINGS[brings]("q"))
    with server.client() as client:
        client.delete(saver._core.layout.thread("t")[6])
    assert _reads(saver) == ["missing_blob"]
    _say(saver, BRINGS[brings]("q"))
    assert _reads(open_saver(None)) == []


def test_uploads_of_what_is_stored_again_are_still_known(open_saver: Open, server: Room) -> None:
    saver = open_saver(None)
    _say(saver, BRINGS["content"]("q"))
    saver.record_upload("t", "https://example.com/files/x", data=PNG, mime_type="image/png")
    known = list(saver.media_table("t"))
    with server.client() as client:
        client.delete(saver._core.layout.thread("t")[6])
    assert _reads(saver) == ["missing_blob"]
    _say(saver, BRINGS["content"]("q"))
    assert _reads(saver) == []
    assert list(saver.media_table("t")) == known
    assert [upload.uri for record in known for upload in record.uploads] == ["https://example.com/files/x"]
