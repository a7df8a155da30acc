"""A server that comes back without writes that it had confirmed: no client stores what only its own memory completes.

So does a replica that lagged when it took over, a snapshot that was put back, or `appendfsync everysec` and a power cut.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_portable_checkpoint import PortableRedisSaver, verify_thread
from tests.saver.between import Between
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.servers import Room

PICTURE = [{"type": "image", "mime_type": "image/png", "base64": base64.b64encode(bytes(range(256)) * 2048).decode()}]


def graph_of(saver: Any) -> Any:
    def answer(state: MessagesState) -> Any:
        return {"messages": [AIMessage(f"answer to {str(state['messages'][-1].content)[:40]}")]}

    return StateGraph(MessagesState).add_node("n", answer).add_edge(START, "n").compile(checkpointer=saver)


def snapshot(room: Room) -> Callable[[], None]:
    """Return what puts the room's keys back as they are now."""
    with room.client() as client:
        names = room.keys()
        kept = {key: client.dump(key) for key in names}

    def put_back() -> None:
        with room.client() as client:
            client.delete(*room.keys())
            for key, data in kept.items():
                client.restore(key, 0, data)

    return put_back


@pytest.fixture(params=["in the open", "sealed"])
def make(server: Room, request: pytest.FixtureRequest) -> Callable[[], PortableRedisSaver]:
    options = {"serde": EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 32)} if request.param == "sealed" else {}
    return lambda: PortableRedisSaver.from_url(server.url, prefix=server.prefix, **options)


def same_for_everyone(make: Callable[[], PortableRedisSaver], saver: PortableRedisSaver) -> None:
    """What the writer sees, another process sees, and no finding is left."""
    with make() as other:
        for read in (graph_of(saver), graph_of(other)):
            assert read.get_state(config("t")) == graph_of(other).get_state(config("t"))
            assert len(list(read.get_state_history(config("t")))) > 1
        assert [str(finding) for finding in verify_thread(other, "t") if finding.severity == "error"] == []
        assert len(list(other.turns("t"))) == len(list(saver.turns("t")))


@pytest.mark.parametrize("asked", ["the same", "another", "a picture"])
@pytest.mark.parametrize("before", [1, 7])
def test_graph_goes_on_after_the_server_lost_its_last_turns(
    server: Room, make: Callable[[], PortableRedisSaver], calls: Calls, asked: str, before: int
) -> None:
    content: Any = PICTURE if asked == "a picture" else "lost"
    with make() as saver:
        graph = graph_of(saver)
        for number in range(before):
            graph.invoke({"messages": [HumanMessage(f"kept {number}")]}, config("t"))
        put_back = snapshot(server)
        for text in (content, "yes"):
            calls.run(graph, "invoke", {"messages": [HumanMessage(text)]}, config("t"))
        put_back()
        again: Any = "new" if asked == "another" else content
        result = calls.run(graph, "invoke", {"messages": [HumanMessage(again)]}, config("t"))
        assert len(result["messages"]) == 2 * before + 2
        calls.run(graph, "invoke", {"messages": [HumanMessage("yes")]}, config("t"))
        same_for_everyone(make, saver)


def test_run_that_does_not_read_in_between_goes_on(
    server: Room, make: Callable[[], PortableRedisSaver], calls: Calls
) -> None:
    """The put's parent, and what it carries over from there, are lost as well."""
    with make() as saver:
        long = ["kept " * 200]
        first = calls.put(saver, config("t"), checkpoint({"a": long}, {"a": 1}), metadata(), {"a": 1})
        put_back = snapshot(server)
        values = {"a": long, "b": [HumanMessage("carried " * 100)]}
        second = calls.put(saver, first, checkpoint(values, {"a": 1, "b": 1}), metadata(1), {"b": 1})
        put_back()
        third = checkpoint({**values, "c": 1}, {"a": 1, "b": 1, "c": 1})
        place = calls.put(saver, second, third, metadata(2), {"c": 1})
        calls.put_writes(saver, place, [("b", values["b"])], "task")
        with make() as other:
            found = other.get_tuple(config("t"))
            assert found is not None
            assert found.checkpoint["channel_values"] == {**values, "c": 1}
            assert found.pending_writes == [("task", "b", values["b"])]


@pytest.mark.parametrize("known", [4, 15, 60])
def test_pages_that_were_lost_under_a_new_page_are_sent_again(
    server: Room, make: Callable[[], PortableRedisSaver], calls: Calls, known: int
) -> None:
    """The new checkpoint names none of them itself."""
    said = [HumanMessage(f"said {number} " * 20, id=str(number)) for number in range(64)]
    with make() as saver:
        first = calls.put(saver, config("t"), checkpoint({"messages": said[:1]}), metadata(), {"messages": 1})
        put_back = snapshot(server)
        lost = checkpoint({"messages": said[:known]}, {"messages": 2})
        place = calls.put(saver, first, lost, metadata(1), {"messages": 2})
        put_back()
        until = -(-(known + 1) // 4) * 4
        made = checkpoint({"messages": said[:until]}, {"messages": 3})
        calls.put(saver, place, made, metadata(1), {"messages": 3})
        with make() as other:
            found = other.get_tuple(config("t"))
            assert found is not None
            assert found.checkpoint["channel_values"] == {"messages": said[:until]}


def test_pending_write_of_a_message_that_was_lost_is_stored_whole(
    server: Room, make: Callable[[], PortableRedisSaver], calls: Calls
) -> None:
    said = HumanMessage("said before " * 50, id="1")
    with make() as saver:
        first = calls.put(saver, config("t"), checkpoint({}), metadata(), {})
        put_back = snapshot(server)
        calls.put_writes(saver, first, [("messages", [said])], "lost")
        put_back()
        calls.put_writes(saver, first, [("messages", [said])], "task")
        with make() as other:
            found = other.get_tuple(config("t"))
            assert found is not None
            assert found.pending_writes == [("task", "messages", [said])]


def test_conversation_is_sent_again_at_once_where_its_thread_was_forgotten_meanwhile(server: Room) -> None:
    """Many other threads have pushed what is known of this one out, but not the flat form of its conversation."""
    said = [HumanMessage(f"said {number} " * 20, id=str(number)) for number in range(8)]
    with server.client() as client:
        between = Between(client, lambda _: saver._core.views.drop("t"))
        saver = PortableRedisSaver(between, prefix=server.prefix)
        first = saver.put(config("t"), checkpoint({}), metadata(), {})
        saver.get_tuple(first)  # now the server knows the scripts
        put_back = snapshot(server)
        place = saver.put(first, checkpoint({"messages": said[:7]}), metadata(1), {"messages": 1})
        put_back()
        between.calls = 0
        saver.put(place, checkpoint({"messages": said}), metadata(2), {"messages": 2})
        assert between.calls == 4, "refused, its parent and the turn log looked for, and stored"
        found = PortableRedisSaver(client, prefix=server.prefix).get_tuple(config("t"))
        assert found is not None
        assert found.checkpoint["channel_values"] == {"messages": said}
