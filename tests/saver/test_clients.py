"""Every kind of ready client serves, is used as it is, and stays the caller's."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import redis
import redis.asyncio
import valkey
import valkey.asyncio
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.sentinel import Sentinel

from langgraph_portable_checkpoint import PortableRedisSaver, errors
from tests.conftest import TlsEndpoint
from tests.saver.calls import AsyncCalls, Calls
from tests.saver.checkpoints import chain, config
from tests.saver.graphs import SCENARIOS, Play
from tests.servers import Cluster, Room, SentinelSetup

BLOCKING: dict[str, Callable[[Room], Any]] = {
    "redis": lambda room: redis.Redis.from_url(room.url),
    "redis, text": lambda room: redis.Redis.from_url(room.url, decode_responses=True),
    "redis, RESP2": lambda room: redis.Redis.from_url(room.url, protocol=2),
    "redis, RESP3, text": lambda room: redis.Redis.from_url(room.url, protocol=3, decode_responses=True),
    "redis, latin": lambda room: redis.Redis.from_url(room.url, decode_responses=True, encoding="latin-1"),
    "redis, one connection": lambda room: redis.Redis.from_url(room.url, single_connection_client=True),
    "valkey": lambda room: valkey.Valkey.from_url(room.url),
    "valkey, text": lambda room: valkey.Valkey.from_url(room.url, decode_responses=True),
}
ASYNC: dict[str, Callable[[Room], Any]] = {
    "redis": lambda room: redis.asyncio.Redis.from_url(room.url),
    "redis, text": lambda room: redis.asyncio.Redis.from_url(room.url, decode_responses=True, protocol=3),
    "valkey": lambda room: valkey.asyncio.Valkey.from_url(room.url),
}


def everything(saver: Any, calls: Calls) -> None:
    """Use all that a saver does."""
    for number, name in enumerate(("conversation", "subgraph", "time_travel")):
        SCENARIOS[name](Play(saver, calls, config=config(f"t{number}")))
    calls.run(saver, "copy_thread", "t0", "copy")
    calls.run(saver, "prune", ["copy"])
    calls.run(saver, "delete_for_runs", ["none"])
    assert len(calls.list(saver, config("copy"))) == 1
    for thread_id in ("t0", "t1", "t2", "copy"):
        assert calls.get_tuple(saver, config(thread_id)) is not None
        calls.run(saver, "delete_thread", thread_id)
    assert calls.list(saver, None) == []


@pytest.mark.parametrize("kind", BLOCKING)
def test_blocking_client_serves_both_halves_and_stays_open(server: Room, kind: str) -> None:
    with BLOCKING[kind](server) as client:
        saver = PortableRedisSaver(client, prefix=server.prefix)
        everything(saver, Calls())
        with asyncio.Runner() as runner:
            everything(saver, AsyncCalls(runner))
        saver.close()
        assert client.ping()


@pytest.mark.parametrize("kind", ASYNC)
def test_async_client_serves_its_loop_and_stays_open(server: Room, kind: str) -> None:
    with asyncio.Runner() as runner:
        client = ASYNC[kind](server)
        saver = PortableRedisSaver(async_client=client, prefix=server.prefix)
        everything(saver, AsyncCalls(runner))
        runner.run(saver.aclose())
        assert runner.run(client.ping())
        runner.run(client.aclose())


def test_blocking_call_without_a_blocking_client_is_refused(server: Room) -> None:
    async def main() -> None:
        async with redis.asyncio.Redis.from_url(server.url) as client:
            saver = PortableRedisSaver(async_client=client, prefix=server.prefix)
            with pytest.raises(errors.ClientMissingError):
                saver.get_tuple(config("t"))

    asyncio.run(main())


def test_cluster_clients(server: Room, cluster: Cluster) -> None:
    with cluster.client() as client, asyncio.Runner() as runner:
        async_client = cluster.async_client()
        saver = PortableRedisSaver(client, async_client, prefix=server.prefix)
        everything(saver, Calls())
        everything(saver, AsyncCalls(runner))
        saver.close()
        assert client.ping()
        runner.run(async_client.aclose())


def test_clients_of_a_sentinels_master(server: Room, sentinel: SentinelSetup) -> None:
    address = [(sentinel.host, sentinel.port)]
    with Sentinel(address).master_for(sentinel.service_name) as client, asyncio.Runner() as runner:
        watchers = AsyncSentinel(address)
        async_client = watchers.master_for(sentinel.service_name)
        saver = PortableRedisSaver(client, async_client, prefix=server.prefix)
        everything(saver, Calls())
        everything(saver, AsyncCalls(runner))
        for opened in (async_client, *watchers.sentinels):
            runner.run(opened.aclose())


def test_tls(server: Room, tls_server: TlsEndpoint) -> None:
    saver = PortableRedisSaver.from_url(f"{tls_server.url}?ssl_ca_certs={tls_server.ca_file}", prefix=server.prefix)
    everything(saver, Calls())
    with asyncio.Runner() as runner:
        everything(saver, AsyncCalls(runner))
    saver.close()


def test_with_and_setup_are_optional_and_harmless(server: Room) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        saver.setup()
        saver.setup()
        chain(Calls(), saver, "t", 1)
    with pytest.raises(errors.SaverClosedError):
        saver.get_tuple(config("t"))

    async def main() -> None:
        async with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
            await saver.asetup()
            assert await saver.aget_tuple(config("t")) is not None
        with pytest.raises(errors.SaverClosedError):
            await saver.aget_tuple(config("t"))

    asyncio.run(main())


class FailingClient:
    """A client whose call ends in an error, after something else happened: `before`."""

    def __init__(self, error: Exception, before: Callable[[], None]) -> None:
        self._error, self._before = error, before

    def execute_command(self, *args: Any, **options: Any) -> Any:
        self._before()
        raise self._error


class FailingAsyncClient(FailingClient):
    async def execute_command(self, *args: Any, **options: Any) -> Any:
        return super().execute_command(*args, **options)


def saver_that_fails(error: Exception, *, closed: bool) -> PortableRedisSaver:
    """A saver whose calls end in this error, closed in the middle of them or left open."""
    clients = [kind(error, lambda: saver.close() if closed else None) for kind in (FailingClient, FailingAsyncClient)]
    saver = PortableRedisSaver(*clients)
    return saver


WHAT_CLOSED_CONNECTIONS_RAISE = [
    ValueError("I/O operation on closed file."),
    AttributeError("'NoneType' object has no attribute 'readline'"),
    redis.ConnectionError("Connection closed by server."),
    OSError(9, "Bad file descriptor"),
]


@pytest.mark.parametrize("error", WHAT_CLOSED_CONNECTIONS_RAISE, ids=repr)
def test_call_that_a_close_cuts_off_says_so_and_leaves_open_what_was_stored(calls: Calls, error: Exception) -> None:
    saver = saver_that_fails(error, closed=True)
    with pytest.raises(errors.SaverClosedError, match="in the middle of the call, which may have been carried out"):
        calls.get_tuple(saver, config("t"))


@pytest.mark.parametrize("error", WHAT_CLOSED_CONNECTIONS_RAISE, ids=repr)
def test_the_same_errors_are_told_as_they_are_while_the_saver_is_open(calls: Calls, error: Exception) -> None:
    with pytest.raises((type(error), errors.ServerUnavailableError)):
        calls.get_tuple(saver_that_fails(error, closed=False), config("t"))


def test_what_the_server_answered_is_told_although_the_saver_was_closed_meanwhile(calls: Calls) -> None:
    error = redis.ResponseError("OOM command not allowed when used memory > 'maxmemory'.")
    with pytest.raises(errors.ServerFullError):
        calls.get_tuple(saver_that_fails(error, closed=True), config("t"))


@pytest.mark.parametrize("closing", [0, 1])
def test_savers_on_the_same_connections_are_closed_together(server: Room, calls: Calls, closing: int) -> None:
    saver = PortableRedisSaver.from_url(server.url, prefix=server.prefix)
    pair = saver, saver.with_allowlist([("a", "B")])
    assert pair[0] is not pair[1]
    calls.run(pair[closing], "close")
    for each in pair:
        with pytest.raises(errors.SaverClosedError):
            calls.get_tuple(each, config("t"))


async def test_calls_are_refused_from_the_beginning_of_an_aclose(server: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    saver = PortableRedisSaver.from_url(server.url, prefix=server.prefix)
    close_clients = saver._clients.aclose

    async def call_meanwhile() -> None:
        with pytest.raises(errors.SaverClosedError):
            await saver.aget_tuple(config("t"))
        await close_clients()

    monkeypatch.setattr(saver._clients, "aclose", call_meanwhile)
    await saver.aclose()


EXHAUSTED: dict[str, Callable[[Room], Any]] = {
    "redis": lambda room: redis.Redis.from_url(room.url, max_connections=1),
    "redis, blocking pool": lambda room: redis.Redis.from_pool(
        redis.BlockingConnectionPool.from_url(room.url, max_connections=1, timeout=0.01)
    ),
    "valkey": lambda room: valkey.Valkey.from_url(room.url, max_connections=1),
}


@pytest.mark.parametrize("kind", EXHAUSTED)
def test_exhausted_pool_is_told_as_one_and_not_as_a_server_out_of_reach(server: Room, kind: str) -> None:
    with EXHAUSTED[kind](server) as client:
        saver = PortableRedisSaver(client, prefix=server.prefix)
        advice = r"All connections .* max_connections, .* BlockingConnectionPool"
        with client.client(), pytest.raises(errors.ServerUnavailableError, match=advice) as caught:
            saver.get_tuple(config("t"))
        assert "reached" not in str(caught.value)
        assert saver.get_tuple(config("t")) is None


@pytest.mark.parametrize("library", [redis, valkey], ids=["redis", "valkey"])
def test_exhausted_pool_of_a_cluster_client_is_told_although_its_error_has_no_words(library: Any) -> None:
    saver = saver_that_fails(library.exceptions.MaxConnectionsError(), closed=False)
    with pytest.raises(errors.ServerUnavailableError, match="max_connections"):
        saver.get_tuple(config("t"))


def test_building_a_saver_connects_to_nothing() -> None:
    saver = PortableRedisSaver.from_url("redis://203.0.113.1:1")
    saver.close()
    saver.close()


@pytest.mark.parametrize("url", ["", "http://localhost", "localhost:6379", "redis//x"])
def test_bad_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        PortableRedisSaver.from_url(url)


def test_no_client_at_all_is_refused() -> None:
    with pytest.raises(TypeError, match="client"):
        PortableRedisSaver()


@pytest.mark.parametrize("prefix", ["", "a{b}", 7, None])
def test_prefix_that_is_none_is_refused(server: Room, prefix: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        PortableRedisSaver.from_url(server.url, prefix=prefix)


@pytest.mark.parametrize("ttl_seconds", [0, -1, "60", float("nan")])
def test_time_to_live_that_is_none_is_refused(server: Room, ttl_seconds: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        PortableRedisSaver.from_url(server.url, prefix=server.prefix, ttl_seconds=ttl_seconds)


def test_closing_leaves_no_connection_and_no_warning(server: Room) -> None:
    async def main(saver: Any) -> None:
        for _ in range(3):
            assert await saver.aget_tuple(config("t")) is None
        await saver.aclose()

    with server.client() as watcher, warnings.catch_warnings():
        warnings.simplefilter("error")
        before = watcher.info("clients")["connected_clients"]
        for _ in range(5):
            saver = PortableRedisSaver.from_url(server.url, prefix=server.prefix)
            chain(Calls(), saver, "u", 1)
            asyncio.run(main(saver))
            gc.collect()
        assert watcher.info("clients")["connected_clients"] <= before


def test_embedded_server_keeps_threads_in_its_folder(tmp_path: Any) -> None:
    for number in range(2):
        with PortableRedisSaver.embedded(tmp_path / "data") as saver:
            assert len(list(saver.list(None))) == number
            chain(Calls(), saver, f"t{number}", 1)
    with PortableRedisSaver.embedded(tmp_path / "data") as saver:
        with asyncio.Runner() as runner:
            for thread_id in ("t0", "t1"):
                runner.run(saver.adelete_thread(thread_id))
        everything(saver, Calls())


def test_call_that_began_just_before_close_makes_no_new_client(server: Room) -> None:
    saver = PortableRedisSaver.from_url(server.url, prefix=server.prefix)
    saver.close()
    for begin in (saver._clients.blocking, saver._clients.calling, lambda: asyncio.run(saver._clients.asynchronous())):
        with pytest.raises(errors.SaverClosedError):
            begin()


def test_a_word_that_says_nothing_is_refused_when_the_saver_is_made() -> None:
    with pytest.raises(ValueError, match="on_conflict is 'refuse'; use one of allow, warn, raise"):
        PortableRedisSaver.from_url("redis://localhost:1", on_conflict="refuse")
