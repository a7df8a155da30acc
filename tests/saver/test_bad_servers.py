"""Servers that are down, full, read-only, loading or something else: a typed error, and nothing stored is lost."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_portable_checkpoint import errors
from tests.proxy import Proxy, RequestReader
from tests.saver.calls import Calls
from tests.saver.checkpoints import chain, checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.servers import Server, free_port


@contextmanager
def answering(reply: bytes) -> Iterator[str]:
    """Run a server that gives the same answer to every command; yield its URL."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(client: socket.socket) -> None:
        reader = RequestReader()
        with client, suppress(ConnectionError):  # the saver closes with answers on the way
            while data := client.recv(65536):
                client.sendall(reply * len(reader.feed(data)))

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield f"redis://127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


ATTEMPTS: dict[str, tuple[Any, ...]] = {
    "get_tuple": (config("t"),),
    "put": (config("t"), checkpoint({"n": 1}), {}, {"n": 1}),
    "put_writes": (config("t", "1"), [("n", 1)], "task"),
    "delete_thread": ("t",),
}
ANSWERS = {
    "loading": (b"-LOADING Redis is loading the dataset in memory\r\n", errors.ServerUnavailableError),
    "no authentication": (b"-NOAUTH Authentication required.\r\n", errors.StorageError),
    "no permission": (b"-NOPERM this user has no permissions to run this command\r\n", errors.StorageError),
    "cluster down": (b"-CLUSTERDOWN The cluster is down\r\n", errors.ServerUnavailableError),
    "unknown command": (b"-ERR unknown command 'EVALSHA'\r\n", errors.WrongServerError),
    "cannot persist": (b"-MISCONF Redis is configured to save RDB snapshots\r\n", errors.StorageError),
    "web server": (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", errors.WrongServerError),
    "mail server": (b"220 mail.example.com ESMTP\r\n", errors.WrongServerError),
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("name", [*ATTEMPTS, "list"])
def test_server_that_answers_something_else(make_saver: SaverFactory, calls: Calls, answer: str, name: str) -> None:
    reply, expected = ANSWERS[answer]
    with answering(reply) as url:
        saver = make_saver(f"{url}?protocol=2")
        with pytest.raises(expected) as caught:
            calls.run(saver, name, *ATTEMPTS[name]) if name in ATTEMPTS else calls.list(saver, None)
    assert len(str(caught.value).split()) > 5, "the message must say how to fix it"


@pytest.mark.parametrize("name", [*ATTEMPTS, "list"])
def test_server_that_is_down(make_saver: SaverFactory, calls: Calls, name: str) -> None:
    saver = make_saver(f"redis://127.0.0.1:{free_port()}")
    with pytest.raises(errors.ServerUnavailableError):
        calls.run(saver, name, *ATTEMPTS[name]) if name in ATTEMPTS else calls.list(saver, None)
    with pytest.raises(ConnectionError):
        calls.get_tuple(saver, config("t"))


def test_graph_does_not_start_anew_while_the_server_is_down(
    make_saver: SaverFactory, own_server: Server, calls: Calls
) -> None:
    """A saver that says "not found" then would let the graph overwrite the conversation."""
    saver, ran = make_saver(own_server.url), []
    builder = StateGraph(MessagesState).add_node("node", lambda state: ran.append(len(state["messages"])))
    graph = builder.add_edge(START, "node").compile(checkpointer=saver)
    calls.run(graph, "invoke", {"messages": [HumanMessage("one")]}, config("t"))
    own_server.kill()
    with pytest.raises(errors.ServerUnavailableError):
        calls.run(graph, "invoke", {"messages": [HumanMessage("two")]}, config("t"))
    assert ran == [1]


def test_saver_works_again_when_the_server_is_back(
    make_saver: SaverFactory, durable_server: Server, calls: Calls
) -> None:
    saver = make_saver(durable_server.url)
    place = chain(calls, saver, "t", 3)[-1]
    durable_server.kill()
    with pytest.raises(errors.ServerUnavailableError):
        calls.put(saver, place, checkpoint({"n": 4}), metadata(), {"n": 4})
    durable_server.restart()
    calls.put(saver, place, checkpoint({"n": 5}), metadata(), {"n": 5})
    assert [found.checkpoint["channel_values"]["n"] for found in calls.list(saver, config("t"))] == [5, 2, 1, 0]


def test_saver_goes_on_after_its_connections_were_cut(make_saver: SaverFactory, proxy: Proxy, calls: Calls) -> None:
    saver, place = make_saver(proxy.url), config("t")
    for step in range(4):
        place = calls.put(saver, place, checkpoint({"n": step}), metadata(step), {"n": step + 1})
        proxy.cut()
        calls.put_writes(saver, place, [("n", step)], "task")
        proxy.cut()
        assert calls.get_tuple(saver, config("t")) is not None
        proxy.cut()
    assert len(calls.list(saver, config("t"))) == 4


def test_scripts_flushed_from_the_server_come_back(make_saver: SaverFactory, own_server: Server, calls: Calls) -> None:
    saver = make_saver(own_server.url)
    for _ in range(2):
        place = chain(calls, saver, "t", 2)[-1]
        with own_server.client() as client:
            client.script_flush()
    calls.put_writes(saver, place, [("n", 1)], "task")
    with own_server.client() as client:
        client.script_flush()
    assert len(calls.list(saver, config("t"))) == 4
    with own_server.client() as client:
        client.script_flush()
    chain(calls, saver, "u", 1)
    with own_server.client() as client:
        client.script_flush()
    assert len(calls.list(saver, None)) == 5


def test_server_emptied_under_a_warm_saver(make_saver: SaverFactory, own_server: Server, calls: Calls) -> None:
    """What the saver remembers having sent is gone; it must send it again, not name it."""
    saver = make_saver(own_server.url)
    messages = [HumanMessage(f"message {number}" * 20, id=str(number)) for number in range(100)]
    calls.put(saver, config("t"), checkpoint({"messages": messages}), metadata(), {"messages": 1})
    with own_server.client() as client:
        client.flushall()
    assert calls.get_tuple(saver, config("t")) is None
    put = calls.put(saver, config("t"), checkpoint({"messages": messages}), metadata(), {"messages": 1})
    for each in (saver, make_saver(own_server.url)):
        found = calls.get_tuple(each, put)
        assert found is not None
        assert found.checkpoint["channel_values"]["messages"] == messages


def _fill(calls: Calls, saver: Any, acknowledged: list[Any]) -> None:
    for step in range(1000):
        values = {"n": step, "text": f"{step} " * 20000}
        place = acknowledged[-1] if acknowledged else config("t")
        acknowledged.append(
            calls.put(saver, place, checkpoint(values), metadata(step), dict.fromkeys(values, step + 1))
        )


def test_full_server_refuses_whole_writes_and_still_reads_and_deletes(
    make_saver: SaverFactory, full_server: Server, calls: Calls
) -> None:
    saver = make_saver(full_server.url)
    chain(calls, saver, "other", 2)
    acknowledged: list[Any] = []
    with pytest.raises(errors.ServerFullError):
        _fill(calls, saver, acknowledged)
    place, stored = acknowledged[-1], len(acknowledged)
    with pytest.raises(errors.ServerFullError):
        calls.put_writes(saver, place, [("n", 1), ("text", "x" * 100_000)], "task")
    found = calls.list(make_saver(full_server.url), config("t"))
    assert [each.checkpoint["channel_values"]["n"] for each in found] == list(range(stored))[::-1]
    assert all(each.checkpoint["channel_values"]["text"][:4].split()[0] == str(each.metadata["step"]) for each in found)
    assert found[0].pending_writes == []
    calls.run(saver, "delete_thread", "t")
    assert len(chain(calls, saver, "t2", 3)) == 3


def test_read_only_replica_refuses_writes_and_reads(
    make_saver: SaverFactory, read_only_server: Server, calls: Calls
) -> None:
    saver = make_saver(read_only_server.url)
    assert calls.get_tuple(saver, config("t")) is None
    for name in ("put", "put_writes"):
        with pytest.raises(errors.ServerReadOnlyError):
            calls.run(saver, name, *ATTEMPTS[name])


def test_key_that_belongs_to_something_else(make_saver: SaverFactory, calls: Calls) -> None:
    chain(calls, make_saver(), "t", 2)
    with make_saver.room.client() as client:
        for key in make_saver.stored():
            saved = client.dump(key)
            client.delete(key)
            client.set(key, "not ours")
            for name in ("get_tuple", "put"):
                try:
                    found = calls.run(make_saver(), name, *ATTEMPTS[name])
                except errors.StorageError:
                    continue
                assert found is not None, key
            client.delete(key)
            client.restore(key, 0, saved)


@pytest.mark.parametrize("name", ["put", "put_writes"])
def test_lost_answer_is_repeated_without_doubling(
    make_saver: SaverFactory, proxy: Proxy, calls: Calls, name: str
) -> None:
    """The server acted, the answer got lost: the caller sees a typed error or success, and the data is there once."""
    saver = make_saver(proxy.url)
    place = chain(calls, saver, "t", 1)[0]
    args = {"put": (place, checkpoint({"n": 9}), {}, {"n": 9}), "put_writes": (place, [("n", 9), ("n", 10)], "task")}[
        name
    ]
    proxy.fault.drop_replies = True
    with pytest.raises(errors.ServerUnavailableError):
        calls.run(saver, name, *args)
    proxy.fault.drop_replies = False
    calls.run(saver, name, *args)
    found = calls.list(make_saver(), config("t"))
    assert len(found) == (2 if name == "put" else 1)
    assert len(found[-1].pending_writes or ()) == (0 if name == "put" else 2)
