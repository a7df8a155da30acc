"""What threads take, by part and kind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from langgraph_portable_checkpoint.errors import ThreadNotFoundError
from langgraph_portable_checkpoint.saver import PortableRedisSaver
from langgraph_portable_checkpoint.transfer.measuring import stats
from tests.conftest import AclUser
from tests.servers import Room
from tests.transfer.threads import OpenSaver, opened, put_chain


@pytest.fixture
def ours(server: Room) -> Iterator[OpenSaver]:
    """Opens savers of ours."""
    with opened(server) as make:
        yield make


def test_a_thread_is_weighed_as_the_server_does(ours: OpenSaver, server: Room) -> None:
    saver = ours()
    put_chain(saver, "t", turns=20)
    made = stats(saver, "t")
    with server.client() as client:
        keys = list(client.scan_iter(match=f"{server.prefix}*{{t:t}}*", count=1000))
        assert made.size_bytes == sum(client.memory_usage(key, samples=0) for key in keys)
    assert (made.threads, made.checkpoints, made.turns, made.measured) == (1, 21, 20, True)
    assert made.items["messages"] == 41
    assert 0.5 < made.newest_checkpoint_bytes / made.oldest_checkpoint_bytes < 1.5


def test_all_threads_add_up(ours: OpenSaver) -> None:
    saver = ours()
    put_chain(saver, "t")
    put_chain(saver, "u", turns=5)
    both, one, other = stats(saver), stats(saver, "t"), stats(saver, "u")
    assert both.size_bytes == one.size_bytes + other.size_bytes
    assert both.items == one.items + other.items
    assert both.threads == 2


def test_a_user_who_may_not_ask_the_server_gets_sums(acl_user: AclUser) -> None:
    with PortableRedisSaver.from_url(acl_user.url, prefix=acl_user.room.prefix) as saver:
        put_chain(saver, "t")
        made = stats(saver, "t")
    assert not made.measured
    assert made.bytes_by_part["items"] > 1000


def test_a_thread_that_is_not_there_is_an_error(ours: OpenSaver) -> None:
    with pytest.raises(ThreadNotFoundError):
        stats(ours(), "nothing")
    assert stats(ours()).threads == 0
