"""Reading media, part of them, or texts that name them; and saving under a policy of the config."""

from __future__ import annotations

import base64
import hashlib
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Interrupt, interrupt

from langgraph_portable_checkpoint import (
    DirectoryMediaStore,
    MediaHooks,
    MediaPolicy,
    PortableRedisSaver,
    export_thread,
)
from langgraph_portable_checkpoint.errors import LossyExportError
from langgraph_portable_checkpoint.media.shared_puts import SharedPuts
from tests.saver.checkpoints import checkpoint
from tests.servers import Room


def _image(seed: int) -> list[Any]:
    noise = b"".join(hashlib.sha256(f"{seed}.{i}".encode()).digest() for i in range(160))
    url = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + noise).decode()
    return [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": url}}]


def _graph(saver: PortableRedisSaver) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda _state: {"messages": [AIMessage("ok")]})
    return builder.add_edge(START, "answer").compile(checkpointer=saver)


def _blobs(server: Room) -> bytes:
    keys = server.keys()
    (key,) = [key for key in keys if key.endswith(b":blobs")]
    return key


@pytest.fixture
def saver(server: Room) -> Any:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as made:
        yield made


def _talk(saver: PortableRedisSaver, turns: int, **named: Any) -> list[Any]:
    graph, config = _graph(saver), {"configurable": {"thread_id": "t", **named}}
    for turn in range(turns):
        graph.invoke({"messages": [HumanMessage(_image(turn))]}, config)
    return list(graph.get_state({"configurable": {"thread_id": "t"}}).values["messages"])


def _read(saver: PortableRedisSaver, media: Any) -> list[Any]:
    found = saver.get_tuple({"configurable": {"thread_id": "t", "media": media}})
    assert found is not None
    messages: list[Any] = found.checkpoint["channel_values"]["messages"]
    return messages


@pytest.mark.parametrize(("media", "turns_with_bytes"), [("all", 3), ("none", 0), (0, 0), (1, 1), (2, 2), (9, 3)])
def test_media_of_the_last_turns_are_read(saver: PortableRedisSaver, media: Any, turns_with_bytes: int) -> None:
    full = _talk(saver, 3)
    read = _read(saver, media)
    late = len(full) - 2 * turns_with_bytes
    assert read[late:] == full[late:]
    assert all("kept as" in str(message.content) for message in read[:late:2])
    assert "base64" not in str(read[:late])


@pytest.mark.parametrize("media", ["all", "none", 0, 1, 2, 9])
def test_a_listing_brings_the_media_that_each_read_alone_brings(
    saver: PortableRedisSaver, server: Room, media: Any
) -> None:
    _talk(saver, 3)
    asked: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "media": media}}
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as other:
        listed = list(other.list(asked))
        of_all = list(other.list({"configurable": {"thread_id": "t", "media": media}}, filter={"source": "loop"}))
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as third:
        alone = [third.get_tuple({"configurable": {**each.config["configurable"], "media": media}}) for each in listed]
        history = list(_graph(third).get_state_history(asked))
    assert [each.checkpoint for each in listed] == [each.checkpoint for each in alone if each is not None]
    assert [each.pending_writes for each in listed] == [each.pending_writes for each in alone if each is not None]
    assert {each.checkpoint["id"] for each in of_all} < {each.checkpoint["id"] for each in listed}
    said = [each.checkpoint["channel_values"].get("messages", []) for each in listed]
    assert [each.values["messages"] for each in history] == said
    assert ("base64" in str(said)) == (media not in ("none", 0))


@pytest.mark.parametrize("media", ["none", 0, 1])
def test_a_list_of_messages_and_parts_is_no_conversation_and_brings_all_its_media(
    saver: PortableRedisSaver, server: Room, media: Any
) -> None:
    part, where = _image(0)[1], {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    odd = ToolMessage("done", tool_call_id="c", artifact=Interrupt(part, id="i"))
    values = {"shots": [HumanMessage("hi", id="h"), part, {"own": "a" * 2000}], "said": [HumanMessage("hi"), odd]}
    saver.put(where, checkpoint(values), {}, {"shots": 1, "said": 1})
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as other:
        found = other.get_tuple({"configurable": {**where["configurable"], "media": media}})
        assert found is not None
        assert (found.checkpoint["channel_values"]["shots"] == values["shots"]) == (media != "none")
        assert len(found.checkpoint["channel_values"]["said"]) == 2


@pytest.mark.parametrize("media", ["none", 0])
def test_a_medium_that_was_left_where_it_is_is_not_stored_anew(
    saver: PortableRedisSaver, server: Room, media: Any
) -> None:
    _talk(saver, 1)
    data = base64.b64decode(_image(0)[1]["image_url"]["url"].partition(",")[2])
    saver.record_upload("t", "https://generativelanguage.googleapis.com/v1beta/files/x", data=data)
    (before,) = saver.media_table("t")
    assert before.uploads
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as other:
        config = {"configurable": {"thread_id": "t", "media": media}}
        _graph(other).invoke({"messages": [HumanMessage(_image(0), id="again")]}, config)
        assert [*other.media_table("t")] == [before]
        assert _read(other, "all")[2].content == _image(0)


@pytest.mark.parametrize(("media", "whole"), [("all", True), (0, True), (1, True), ("none", False)])
def test_turns_are_counted_in_the_conversation_and_all_else_is_read_whole_or_not_at_all(
    saver: PortableRedisSaver, server: Room, media: Any, whole: bool
) -> None:
    frames = [base64.b64decode(part["image_url"]["url"][22:]) for part in (_image(7)[1], _image(8)[1])]
    made = checkpoint({"messages": [HumanMessage(_image(0), id="q")], "frames": frames})
    where: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    stored = saver.put(where, made, {"source": "loop", "step": 1, "parents": {}}, made["channel_versions"])
    saver.put_writes(stored, [("frames", frames)], "task")
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as other:
        found = other.get_tuple({"configurable": {**stored["configurable"], "media": media}})
    assert found is not None
    assert found.pending_writes is not None
    for read in (found.checkpoint["channel_values"]["frames"], found.pending_writes[0][2]):
        assert (read == frames) is whole


@pytest.mark.parametrize("media", ["some", -1, True])
def test_a_listing_in_an_unknown_reading_mode_is_refused(saver: PortableRedisSaver, media: Any) -> None:
    with pytest.raises(ValueError, match="media"):
        list(saver.list({"configurable": {"thread_id": "t", "media": media}}))


def test_no_blob_is_fetched_for_media_that_are_not_read(saver: PortableRedisSaver, server: Room) -> None:
    _talk(saver, 2)
    with server.client() as client:
        blobs = _blobs(server)
        client.delete(blobs)
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as other:
        assert "kept as" in str(_read(other, "none")[0].content)
        assert other.media_report("t", check=False) == []


@pytest.mark.parametrize("media", ["none", 1])
def test_messages_read_without_media_keep_them_when_written_again(
    saver: PortableRedisSaver, server: Room, media: Any
) -> None:
    full = _talk(saver, 3)
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as other:
        _graph(other).invoke({"messages": [HumanMessage("more")]}, {"configurable": {"thread_id": "t", "media": media}})
    after = _graph(saver).get_state({"configurable": {"thread_id": "t"}}).values["messages"]
    assert after[: len(full)] == full
    assert len(after) == len(full) + 2


def test_missing_blob_is_a_placeholder_that_does_not_replace_what_is_stored(
    saver: PortableRedisSaver, server: Room
) -> None:
    full = _talk(saver, 1)
    with server.client() as client:
        blobs = _blobs(server)
        saved = client.dump(blobs)
        client.delete(blobs)
        with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as other:
            config: Any = {"configurable": {"thread_id": "t"}}
            result = _graph(other).invoke({"messages": [HumanMessage("more")]}, config)
            assert "not available on read" in str(result["messages"][0].content)
            assert [entry.reason for entry in other.media_report("t")] == ["missing_blob"]
        client.restore(blobs, 0, saved)
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as third:
        assert _read(third, "all")[: len(full)] == full


@pytest.mark.parametrize("policy", [MediaPolicy(mode="strip"), "strip", {"mode": "strip"}])
def test_policy_of_the_config_counts_for_that_save(saver: PortableRedisSaver, policy: Any) -> None:
    stripped = _talk(saver, 1, media_policy=policy)
    assert "removed on save" in str(stripped[0].content)
    assert [entry.reason for entry in saver.media_report("t")] == ["stripped"]


@pytest.mark.parametrize("policy", ["keep", {"size": 1}, 5])
def test_unknown_policy_is_named_and_nothing_is_stored(saver: PortableRedisSaver, policy: Any) -> None:
    with pytest.raises(ValueError, match=r"polic|mode"):
        _talk(saver, 1, media_policy=policy)
    assert saver.get_tuple({"configurable": {"thread_id": "t"}}) is None


def test_what_was_stripped_can_be_saved_again_with_its_bytes(saver: PortableRedisSaver) -> None:
    _talk(saver, 1, media_policy="strip")
    builder_input = HumanMessage(_image(0), id="again")
    _graph(saver).invoke({"messages": [builder_input]}, {"configurable": {"thread_id": "t", "media_policy": "inline"}})
    assert _read(saver, "all")[2] == builder_input


@pytest.mark.parametrize("media", ["some", -1, 1.5, True, None])
def test_unknown_reading_mode_is_named(saver: PortableRedisSaver, media: Any) -> None:
    _talk(saver, 1)
    with pytest.raises(ValueError, match="media"):
        _read(saver, media)


def test_hooks_hear_of_media_stored_once_and_of_media_missing(server: Room) -> None:
    stored: list[Any] = []
    missing: list[Any] = []
    hooks = MediaHooks(on_externalize=stored.append, on_missing=missing.append)
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix, media_hooks=hooks) as saver:
        _talk(saver, 1)
        _talk(saver, 1)
        assert [(record.mime_type, record.store) for record in stored] == [("image/png", "redis")]
    with server.client() as client:
        client.delete(_blobs(server))
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix, media_hooks=hooks) as other:
        _read(other, "all")
        _read(other, "all")
        assert [(entry.reason, entry.sha256) for entry in missing] == [("missing_blob", stored[0].sha256)]


@pytest.mark.parametrize("begun", [True, False], ids=["a thread", "a new thread"])
def test_hooks_hear_once_of_a_medium_that_two_calls_store_side_by_side(
    server: Room, tmp_path: Path, begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, claims, stored, claim = Event(), count(1), list[Any](), SharedPuts.claim

    def counted(puts: SharedPuts, key: Any) -> Any:
        found = claim(puts, key)
        if next(claims) == 2:
            both.set()
        return found

    monkeypatch.setattr(SharedPuts, "claim", counted)

    class Waiting(DirectoryMediaStore):
        def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
            assert both.wait(20)
            return super().put(sha256, mime_type, data)

    hooks = MediaHooks(on_externalize=stored.append)
    where = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1"}}
    with (
        ThreadPoolExecutor(2) as pool,
        PortableRedisSaver.from_url(
            server.url, prefix=server.prefix, media_store=Waiting(tmp_path), media_hooks=hooks
        ) as saver,
    ):
        if begun:
            saver.put_writes(where, [("n", 1)], "zero")
        calls = [pool.submit(saver.put_writes, where, [("n", HumanMessage(_image(0)))], f"task {i}") for i in range(2)]
        for call in calls:
            call.result()
        assert len(stored) == 1


def test_export_tells_of_media_that_could_not_be_read(server: Room) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        _talk(saver, 1)
        assert export_thread(saver, "t", to="anthropic").lossless
    with server.client() as client:
        client.delete(_blobs(server))
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as other:
        export = export_thread(other, "t", to="anthropic")
        assert [loss.kind for loss in export.report] == ["unresolved"]
        with pytest.raises(LossyExportError):
            export_thread(other, "t", to="anthropic", strict=True)


def test_all_threads_are_listed_with_media_of_a_store_beside_the_server(server: Room, tmp_path: Path) -> None:
    config = {"configurable": {"checkpoint_ns": ""}}
    said = {thread: [HumanMessage(_image(number), id="m")] for number, thread in enumerate(("a", "b", "plain"))}
    said["plain"] = [HumanMessage("hi", id="m")]
    with PortableRedisSaver.from_url(
        server.url, prefix=server.prefix, media_store=DirectoryMediaStore(tmp_path)
    ) as saver:
        for number, (thread, messages) in enumerate(said.items()):
            where = {"configurable": {**config["configurable"], "thread_id": thread}}
            saver.put(where, checkpoint({"messages": messages}, checkpoint_id=str(number)), {}, {"messages": 1})
    with PortableRedisSaver.from_url(
        server.url, prefix=server.prefix, media_store=DirectoryMediaStore(tmp_path)
    ) as saver:
        found = {
            each.config["configurable"]["thread_id"]: each.checkpoint["channel_values"] for each in saver.list(None)
        }
    assert found == {thread: {"messages": messages} for thread, messages in said.items()}


class Asked(MessagesState):
    asked: list[Any]


@pytest.mark.parametrize("media", [0, 1, 2])
def test_other_channels_and_waiting_writes_are_read_whole_though_the_conversation_is_not(
    server: Room, media: int
) -> None:
    def model(state: Asked) -> dict[str, Any]:
        return {"messages": [AIMessage("ok")], "asked": state["messages"][-3:]}

    def human(state: Asked) -> dict[str, Any]:
        return {"messages": [AIMessage(str(interrupt("?")))]}

    builder = StateGraph(Asked).add_node("model", model).add_edge(START, "model")
    waits = StateGraph(Asked).add_node("model", model).add_node("human", human)
    waits = waits.add_edge(START, "model").add_edge(START, "human")
    config: Any = {"configurable": {"thread_id": "t"}}
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as made:
        for turn in range(3):
            builder.compile(checkpointer=made).invoke({"messages": [HumanMessage(_image(turn), id=f"q{turn}")]}, config)
        waits.compile(checkpointer=made).invoke({"messages": [HumanMessage("go on", id="last")]}, config)
        whole = made.get_tuple(config)
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as other:
        found = other.get_tuple({"configurable": {"thread_id": "t", "media": media}})
        listed = next(other.list({"configurable": {"thread_id": "t", "media": media}}))
    assert found is not None
    assert whole is not None
    assert found.checkpoint["channel_values"]["asked"] == whole.checkpoint["channel_values"]["asked"]
    assert "asked" in [channel for _, channel, _ in found.pending_writes or ()]
    assert found.pending_writes == whole.pending_writes == listed.pending_writes
    assert "not available" not in str(found.checkpoint["channel_values"]["messages"])
    assert "kept as" in str(found.checkpoint["channel_values"]["messages"])


@pytest.mark.parametrize("turns", [1, 2, 3, 6, 9])
@pytest.mark.parametrize("media", [0, 1])
def test_a_waiting_write_of_what_the_conversation_holds_too_is_read_whole(
    saver: PortableRedisSaver, server: Room, media: int, turns: int
) -> None:
    said: list[Any] = []
    for turn in range(turns):
        said += [HumanMessage(_image(turn), id=f"q{turn}"), AIMessage("ok", id=f"a{turn}")]
    said.append(HumanMessage("last", id="last"))
    where: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    at = saver.put(where, checkpoint({"messages": said}), {}, {"messages": 1})
    saver.put_writes(at, [("messages", said[0]), ("messages", said[-3]), ("messages", [*said])], "task")
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as other:
        found = other.get_tuple({"configurable": {**where["configurable"], "media": media}})
    assert found is not None
    assert [value for _, _, value in found.pending_writes or ()] == [said[0], said[-3], said]
    assert "kept as" in str(found.checkpoint["channel_values"])
