"""Large media travel as plain commands, in one transaction with the script that names them: all or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import redis
import valkey
from langchain_core.messages import HumanMessage

from langgraph_portable_checkpoint import PortableRedisSaver
from langgraph_portable_checkpoint.errors import (
    ConflictError,
    ServerFullError,
    ServerUnavailableError,
    ThreadDeletedError,
    TurnInProgressError,
    WrongServerError,
)
from langgraph_portable_checkpoint.storage.programs.large import LARGE_BYTES
from tests.conftest import AclUser
from tests.proxy import Proxy
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.servers import Cluster, Server

LARGE = os.urandom(LARGE_BYTES)
TRANSACTION = ["MULTI", "HEXISTS", "HDEL", "HSET", "EVAL", "EXEC"]


def holding(*blobs: bytes) -> Any:
    """A checkpoint with a message for each of these."""
    parts = [{"type": "file", "data": data, "mime_type": "a/b"} for data in blobs]
    return checkpoint({"messages": [HumanMessage([part], id=f"m{n}") for n, part in enumerate(parts)]})


def put(calls: Calls, saver: Any, *blobs: bytes, place: Any = None) -> Any:
    return calls.put(saver, place or config("t"), holding(*(blobs or [LARGE])), metadata(), {"messages": 1})


def read(calls: Calls, saver: Any) -> bytes:
    found = calls.get_tuple(saver, config("t"))
    assert found is not None
    data: bytes = found.checkpoint["channel_values"]["messages"][0].content[0]["data"]
    return data


def contents(factory: SaverFactory) -> dict[bytes, Any]:
    """All hashes under the prefix."""
    with factory.room.client() as client:
        return {key: client.hgetall(key) for key in factory.stored() if client.type(key) == b"hash"}


def test_a_large_medium_takes_one_round_trip_and_is_no_argument_of_a_script(
    make_saver: SaverFactory, proxy: Proxy, calls: Calls
) -> None:
    saver = make_saver(proxy.url)
    blobs = [b"small" * 1000, b"less" * 1000, os.urandom(LARGE_BYTES)]
    place = None
    for count in (1, 2, 3):  # the client opens its connections: one for scripts, one for transactions
        place = put(calls, saver, *blobs[:count], place=place)
    for data in (LARGE, os.urandom(LARGE_BYTES)):
        proxy.reset()
        blobs.append(data)
        place = put(calls, saver, *blobs, place=place)
        assert proxy.traffic.commands == TRANSACTION
        assert proxy.traffic.round_trips == 1
        assert proxy.traffic.bytes_sent < len(data) + 20_000
    proxy.reset()
    calls.put_writes(saver, place, [("shot", os.urandom(LARGE_BYTES))], "task")
    assert (proxy.traffic.commands, proxy.traffic.round_trips) == (TRANSACTION, 1)


def test_a_small_medium_is_an_argument_of_the_script(make_saver: SaverFactory, proxy: Proxy, calls: Calls) -> None:
    saver = make_saver(proxy.url)
    place = put(calls, saver)
    proxy.reset()
    put(calls, saver, LARGE, os.urandom(LARGE_BYTES - 1), place=place)
    assert proxy.traffic.commands == ["EVALSHA"]


def test_what_a_large_medium_stores_is_what_a_small_one_stores(make_saver: SaverFactory, calls: Calls) -> None:
    both, made = [], holding(LARGE)
    for transactions in (True, False):
        saver = make_saver(prefix=f"{make_saver.room.prefix}-{transactions}")
        saver._core.transactions = transactions
        saver._core.random_bytes = lambda size: bytes(size)
        calls.put(saver, config("t"), made, metadata(), {"messages": 1})
        with make_saver.room.client() as client:
            keys = client.hgetall(saver._core.layout.thread("t")[6]), client.hgetall(saver._core.layout.thread("t")[7])
        both.append(keys)
    assert both[0] == both[1]
    assert list(both[0][0].values()) == [LARGE]


def _hold(saver: Any, other: Any, place: Any) -> Callable[[], None]:
    lease = other.exclusive_turn("t")
    lease.__enter__()
    return lambda: lease.__exit__(None, None, None)


def _delete(saver: Any, other: Any, place: Any) -> Callable[[], None]:
    other.delete_thread("t")
    return lambda: None


def _advance(saver: Any, other: Any, place: Any) -> Callable[[], None]:
    other.put(place, holding(b"x" * 5000), metadata(), {"messages": 1})
    return lambda: None


@pytest.mark.parametrize(
    ("meanwhile", "refusal"),
    [(_hold, TurnInProgressError), (_delete, ThreadDeletedError), (_advance, ConflictError)],
)
def test_a_refused_call_leaves_no_large_medium_behind(
    make_saver: SaverFactory, calls: Calls, meanwhile: Any, refusal: type[Exception]
) -> None:
    saver, other = make_saver(on_conflict="raise"), make_saver()
    place = put(calls, saver, b"first" * 1000)
    end = meanwhile(saver, other, place)
    before = contents(make_saver)
    with pytest.raises(refusal):
        put(calls, saver, place=place)
    assert contents(make_saver) == before
    if refusal is not ConflictError:
        with pytest.raises(refusal):
            calls.put_writes(saver, place, [("shot", LARGE)], "task")
        assert contents(make_saver) == before
    end()


def test_a_refused_call_leaves_a_medium_that_was_there(make_saver: SaverFactory, calls: Calls) -> None:
    saver, other, late = make_saver(), make_saver(), make_saver()
    place = put(calls, other)
    late.get_tuple(config("t"))
    before = contents(make_saver)
    with other.exclusive_turn("t"), pytest.raises(TurnInProgressError):
        put(calls, saver, place=place)
    after = contents(make_saver)
    assert [value for key, value in after.items() if LARGE in value.values()] == [
        value for key, value in before.items() if LARGE in value.values()
    ]
    assert read(calls, make_saver()) == LARGE


def test_a_client_that_missed_a_prune_sends_a_large_medium_again(make_saver: SaverFactory, calls: Calls) -> None:
    saver, other = make_saver(), make_saver()
    put(calls, saver)
    other.delete_thread("t")
    put(calls, other, b"another" * 1000)
    put(calls, saver)
    assert read(calls, make_saver()) == LARGE


def test_a_thread_of_a_large_medium_expires_whole(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver(ttl_seconds=1000)
    put(calls, saver)
    with make_saver.room.client() as client:
        assert all(client.pttl(key) > 0 for key in saver._core.layout.thread("t")[:9] if client.exists(key))
        assert client.pttl(saver._core.layout.thread("t")[6]) > 0


def test_a_full_server_takes_nothing_of_a_large_medium(full_server: Server, calls: Calls) -> None:
    with PortableRedisSaver.from_url(full_server.url) as saver, full_server.client() as client:
        place = put(calls, saver, b"first" * 1000)
        before = [client.hgetall(key) for key in saver._core.layout.thread("t")[5:8]]
        with suppress(redis.exceptions.OutOfMemoryError):
            while True:
                client.set(os.urandom(8), os.urandom(100_000))
        with pytest.raises(ServerFullError):
            put(calls, saver, place=place)
        with pytest.raises(ServerFullError):
            calls.put_writes(saver, place, [("shot", LARGE)], "task")
        assert [client.hgetall(key) for key in saver._core.layout.thread("t")[5:8]] == before


@pytest.mark.parametrize("part", [1, 6])
def test_a_foreign_key_is_told_and_nothing_is_stored(make_any_saver: SaverFactory, calls: Calls, part: int) -> None:
    saver = make_any_saver()
    place = put(calls, saver, b"first" * 1000)
    foreign = saver._core.layout.thread("t")[part]
    with make_any_saver.room.client() as client:
        client.delete(foreign)
        client.set(foreign, b"not ours")
    before = contents(make_any_saver)
    with pytest.raises(WrongServerError):
        put(calls, saver, b"first" * 1000, LARGE, place=place)
    with pytest.raises(WrongServerError):
        calls.put_writes(saver, place, [("shot", LARGE)], "task")
    assert contents(make_any_saver) == before


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_a_connection_that_breaks_within_a_large_medium_stores_nothing(
    make_saver: SaverFactory, proxy: Proxy, calls: Calls, share: float
) -> None:
    saver = make_saver(proxy.url)
    place = put(calls, saver, b"first" * 1000)
    before = contents(make_saver)
    proxy.fault.cut_after_bytes = int(share * len(LARGE))
    with pytest.raises(ServerUnavailableError):
        put(calls, saver, place=place)
    assert contents(make_saver) == before
    proxy.fault.cut_after_bytes = None
    put(calls, saver, place=place)
    assert read(calls, make_saver()) == LARGE


def test_a_user_without_transactions_stores_large_media_all_the_same(acl_user: AclUser, calls: Calls) -> None:
    with acl_user.room.client() as admin:
        name = acl_user.url.partition("//")[2].partition(":")[0]
        admin.execute_command("ACL SETUSER", name, "-multi", "-exec")
    with PortableRedisSaver.from_url(acl_user.url, prefix=acl_user.room.prefix) as saver:
        place = put(calls, saver)
        assert read(calls, saver) == LARGE
        calls.put_writes(saver, place, [("shot", LARGE[::-1])], "task")
        found = calls.get_tuple(saver, config("t"))
        assert found is not None
        assert found.pending_writes == [("task", "shot", LARGE[::-1])]


def test_a_cluster_stores_large_media(make_saver: SaverFactory, cluster: Cluster, calls: Calls) -> None:
    saver, fresh = (make_saver(cluster.url, cluster=True) for _ in range(2))
    put(calls, saver)
    assert read(calls, fresh) == LARGE
    calls.run(saver, "delete_thread", "t")


@pytest.mark.parametrize(
    "options", [{"decode_responses": "True"}, {"protocol": "3"}, {"protocol": "2", "decode_responses": "True"}]
)
def test_client_options_make_no_difference(make_saver: SaverFactory, calls: Calls, options: dict[str, str]) -> None:
    url = f"{make_saver.room.url}?{'&'.join(f'{name}={value}' for name, value in options.items())}"
    saver = make_saver(url)
    place = put(calls, saver)
    with make_saver().exclusive_turn("t"), pytest.raises(TurnInProgressError):
        put(calls, saver, LARGE, LARGE[::-1], place=place)
    assert read(calls, make_saver(url)) == LARGE


def test_valkeys_own_client_stores_large_media(make_saver: SaverFactory) -> None:
    room = make_saver.room
    calls = Calls()
    with valkey.Valkey.from_url(room.url) as client:
        saver = PortableRedisSaver(client, prefix=room.prefix)
        place = put(calls, saver)
        assert read(calls, make_saver()) == LARGE
        with make_saver().exclusive_turn("t"), pytest.raises(TurnInProgressError):
            put(calls, saver, LARGE, LARGE[::-1], place=place)
