"""Copies of threads: their turns name the copy."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_portable_checkpoint import PortableRedisSaver, errors
from langgraph_portable_checkpoint.storage.layout import THREAD_PARTS, Layout
from tests.saver.between import Between
from tests.saver.calls import Calls
from tests.saver.checkpoints import chain, checkpoint, config, metadata
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


def _parts(client: Any, room: Room, thread_id: str) -> dict[str, bytes | None]:
    keys = zip(THREAD_PARTS, Layout(room.prefix).thread(thread_id), strict=True)
    return {part: client.dump(key) for part, key in keys}


@pytest.mark.parametrize("kept", [(), ("ckpts",), ("index",), ("writes",), ("items",), ("meta",), ("meta", "items")])
@pytest.mark.parametrize("ttl_seconds", [None, 1800])
def test_a_copy_takes_no_thread_away_that_has_any_data(
    server: Room, kept: tuple[str, ...], ttl_seconds: float | None
) -> None:
    """Not one that expires, nor one of which all but some keys were evicted: a repair may want those."""
    saver = PortableRedisSaver.from_url(server.url, prefix=server.prefix, ttl_seconds=ttl_seconds)
    for thread_id in ("source", "target"):
        place = chain(Calls(), saver, thread_id, 2)[-1]
        saver.put_writes(place, [("n", 1)], "task")
    with saver, server.client() as client:
        for part, key in zip(THREAD_PARTS, Layout(server.prefix).thread("target"), strict=True):
            if kept and part not in kept:
                client.delete(key)
        before = _parts(client, server, "target")
        with pytest.raises(errors.ThreadExistsError):
            saver.copy_thread("source", "target")
        assert _parts(client, server, "target") == before


@pytest.mark.parametrize("lost", ["deleted", "items", "blobs"])
def test_a_copy_that_lost_what_it_had_written_is_refused_and_can_be_made_again(server: Room, lost: str) -> None:
    """Someone deletes it, or the server evicts a key, before the last step: half a thread must not appear."""
    plain = PortableRedisSaver.from_url(server.url, prefix=server.prefix)
    image = {"type": "image", "base64": "iVBORw0KGgo" + "A" * 40001, "mime_type": "image/png"}
    values = {"messages": [HumanMessage([image]), AIMessage("seen")]}
    plain.put(config("source"), checkpoint(values), metadata(), {"messages": 1})
    with plain, server.client() as client:

        def lose(call: int) -> None:
            if call == last:
                keys = dict(zip(THREAD_PARTS, Layout(server.prefix).thread("copy"), strict=True))
                plain.delete_thread("copy") if lost == "deleted" else client.delete(keys[lost])

        last = -1
        counting = Between(client, lose)
        for _ in range(2):  # at first the server may not know all scripts, which takes more calls
            counting.calls = 0
            PortableRedisSaver(client=counting, prefix=server.prefix).copy_thread("source", "copy")
            plain.delete_thread("copy")
        last, counting.calls = counting.calls - 1, 0
        with pytest.raises(errors.ConflictError, match="again"):
            PortableRedisSaver(client=counting, prefix=server.prefix).copy_thread("source", "copy")
        assert plain.thread_info("copy") is None
        assert plain.get_tuple(config("copy")) is None
        plain.copy_thread("source", "copy")
        found = plain.get_tuple(config("copy"))
    assert found is not None
    assert found.checkpoint["channel_values"] == values
