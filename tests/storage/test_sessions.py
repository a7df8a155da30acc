"""Connections kept between calls: borrowed once, never the last one, never a dead one, never another process's."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import Any
from unittest.mock import patch

import pytest
import redis

from langgraph_portable_checkpoint import PortableRedisSaver
from langgraph_portable_checkpoint.storage.sessions import FRESH_SECONDS, MAX_KEPT, Sessions
from tests.saver.calls import Calls
from tests.saver.checkpoints import chain, config
from tests.servers import Room, Server


class Clock:
    """Seconds that pass when told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def pool_of(room: Room, **options: Any) -> Iterator[redis.Redis]:
    """A client on a blocking pool, as the saver makes one from a URL."""
    settings = {"max_connections": 64, "timeout": 5, **options}
    with redis.Redis.from_pool(redis.BlockingConnectionPool.from_url(room.url, **settings)) as client:
        yield client


def connections(room: Room) -> int:
    """How many clients the server sees, without the one that asks."""
    with room.client() as client:
        return len(client.client_list()) - 1


def test_calls_one_after_the_other_borrow_one_connection_once(server: Room) -> None:
    with (
        pool_of(server) as client,
        patch.object(client.connection_pool, "get_connection", wraps=client.connection_pool.get_connection) as borrow,
    ):
        sessions = Sessions(client)
        assert {sessions.execute_command("CLIENT", "ID") for _ in range(5)} == {
            sessions.execute_command("CLIENT", "ID")
        }
        assert borrow.call_count == 1
        sessions.close()


def test_calls_at_once_have_a_connection_each_and_only_some_are_kept(server: Room) -> None:
    many = MAX_KEPT + 4
    with pool_of(server) as client, ThreadPoolExecutor(many) as threads:
        sessions, barrier = Sessions(client), Barrier(many)

        def call(_: int) -> int:
            barrier.wait(10)
            sessions.execute_command("EVAL", "local t = redis.call('TIME') return 1", 0)
            barrier.wait(10)
            return int(sessions.execute_command("CLIENT", "ID"))

        list(threads.map(call, range(many)))
        assert len(client.connection_pool._connections) <= many
        free = client.connection_pool.pool.qsize()
        assert free >= 64 - MAX_KEPT
        sessions.close()
        assert client.connection_pool.pool.qsize() == 64


@pytest.mark.parametrize("size", [1, 2])
def test_small_pool_always_has_a_connection_for_a_pipeline(server: Room, size: int) -> None:
    with pool_of(server, max_connections=size) as client:
        sessions = Sessions(client)
        for _ in range(3):
            assert sessions.execute_command("PING")
            with sessions.pipeline(transaction=False) as pipeline:
                assert pipeline.ping().execute()
        sessions.close()


def test_saver_on_a_pool_of_one_connection_works(server: Room) -> None:
    url = f"{server.url}{'&' if '?' in server.url else '?'}max_connections=1"
    with PortableRedisSaver.from_url(url, prefix=server.prefix) as saver:
        head = chain(Calls(), saver, "t", 3)[-1]
        assert saver.get_tuple(head) is not None
        saver.delete_thread("t")
        assert saver.get_tuple(config("t")) is None


def test_connection_that_the_server_closed_in_the_meantime_is_replaced_without_a_retry(server: Room) -> None:
    clock = Clock()
    with pool_of(server, retry=None) as client, server.client() as other:
        sessions = Sessions(client, clock=clock)
        first = sessions.execute_command("CLIENT", "ID")
        assert other.execute_command("CLIENT", "KILL", "ID", first) == 1
        clock.now += FRESH_SECONDS
        assert sessions.execute_command("CLIENT", "ID") != first
        sessions.close()


def test_connection_that_breaks_between_two_calls_fails_once_and_connects_again(server: Room) -> None:
    with pool_of(server) as client, server.client() as other:
        sessions = Sessions(client)
        first = sessions.execute_command("CLIENT", "ID")
        assert other.execute_command("CLIENT", "KILL", "ID", first) == 1
        with pytest.raises(redis.ConnectionError):
            sessions.execute_command("CLIENT", "ID")
        assert sessions.execute_command("CLIENT", "ID") != first
        sessions.close()


def test_saver_does_not_notice_that_the_server_closed_its_connections(own_server: Server) -> None:
    with PortableRedisSaver.from_url(own_server.url) as saver, own_server.client() as other:
        place = chain(Calls(), saver, "t", 2)[-1]
        for _ in range(3):
            assert other.execute_command("CLIENT", "KILL", "SKIPME", "yes") >= 1
            assert saver.get_tuple(place) is not None


def test_error_reply_leaves_the_connection_usable(server: Room) -> None:
    with pool_of(server) as client:
        sessions = Sessions(client)
        first = sessions.execute_command("CLIENT", "ID")
        with pytest.raises(redis.ResponseError):
            sessions.execute_command("EVALSHA", "0" * 40, 0)
        assert sessions.execute_command("CLIENT", "ID") == first
        sessions.close()


def test_child_process_opens_a_connection_of_its_own(server: Room) -> None:
    with pool_of(server) as client:
        sessions = Sessions(client)
        parents = sessions.execute_command("CLIENT", "ID")
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, str(sessions.execute_command("CLIENT", "ID")).encode())
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert int(os.read(reader, 64)) != parents
        assert sessions.execute_command("CLIENT", "ID") == parents
        sessions.close()


def test_closed_saver_leaves_no_connection_open(server: Room) -> None:
    before = connections(server)
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        chain(Calls(), saver, "t", 3)
        assert connections(server) > before
    assert connections(server) == before


class CutOff(BaseException):
    """Stands for what a signal handler raises: Ctrl-C, a time limit."""


def test_call_cut_off_before_its_reply_was_read_does_not_leave_it_to_the_next(server: Room) -> None:
    with pool_of(server) as client:
        sessions = Sessions(client)
        sessions.execute_command("SET", "a", "first")
        with patch.object(redis.Redis, "parse_response", side_effect=CutOff), pytest.raises(CutOff):
            sessions.execute_command("GET", "a")
        sessions.execute_command("SET", "b", "second")
        assert sessions.execute_command("GET", "b") == b"second"
        sessions.close()
        assert client.connection_pool.pool.qsize() == 64


def test_saver_answers_of_the_thread_that_was_asked_after_an_interrupt(server: Room) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        for name in ("bob", "carol"):
            chain(Calls(), saver, name, 2 if name == "bob" else 3)
        with patch.object(redis.Redis, "parse_response", side_effect=CutOff), pytest.raises(CutOff):
            saver.get_tuple(config("bob"))
        found = saver.get_tuple(config("carol"))
        assert found is not None
        assert found.checkpoint["channel_values"] == {"n": 2}


@pytest.mark.parametrize("used_first", [False, True])
def test_child_process_may_close_what_it_inherited(server: Room, used_first: bool) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as saver:
        place = chain(Calls(), saver, "t", 2)[-1]
        child = os.fork()
        if child == 0:
            unheard: list[Any] = []
            sys.unraisablehook = unheard.append
            try:
                if used_first:
                    saver.get_tuple(place)
                saver.close()
                gc.collect()
                unheard.append(None)  # the end was reached
            finally:
                os._exit(len(unheard) != 1)
        assert os.waitpid(child, 0)[1] == 0
        assert saver.get_tuple(place) is not None
