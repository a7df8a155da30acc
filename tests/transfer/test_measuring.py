"""What threads take, by part and kind."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest

from langgraph_portable_checkpoint.errors import ThreadNotFoundError
from langgraph_portable_checkpoint.saver import PortableRedisSaver
from langgraph_portable_checkpoint.storage.programs import weighing, whole
from langgraph_portable_checkpoint.transfer import measuring
from langgraph_portable_checkpoint.transfer.measuring import stats
from tests.conftest import AclUser
from tests.proxy import Proxy
from tests.saver.checkpoints import checkpoint, config, metadata
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


def _with_large_values(saver: PortableRedisSaver, *, checkpoints: int) -> None:
    place = config("t")
    for step in range(checkpoints):
        text = f"{step} " * 50_000
        place = saver.put(place, checkpoint({"text": text}, {"text": step}), metadata(step), {"text": step})
        saver.put_writes(place, [("text", text[::-1])], "task")


def test_values_stay_in_the_server(ours: OpenSaver, proxy: Proxy) -> None:
    _with_large_values(ours(), checkpoints=40)
    with PortableRedisSaver.from_url(proxy.url, prefix=ours()._core.layout.prefix) as saver:
        stats(saver)
        proxy.reset()
        tracemalloc.start()
        made = stats(saver, "t")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert made.item_bytes["values"] > 6_000_000
    assert proxy.traffic.bytes_received < 20_000
    assert peak < 1_000_000


@pytest.mark.parametrize("may_ask", [True, False])
def test_a_page_of_names_is_weighed_at_a_time(
    ours: OpenSaver, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, may_ask: bool
) -> None:
    saver = ours()
    put_chain(saver, "t", turns=30)
    once = stats(saver, "t")
    monkeypatch.setattr(weighing, "NAMES_AT_ONCE", 7)
    if not may_ask:
        monkeypatch.setattr(measuring, "_measured", lambda *_: None)
    with PortableRedisSaver.from_url(proxy.url, prefix=saver._core.layout.prefix) as paged:
        made = stats(paged, "t")
    names = saver._run(weighing.names_of(saver._core, "t"))
    assert names is not None
    assert proxy.traffic.commands.count("EVALSHA") >= sum(len(names.parts[part]) // 7 for part in ("items", "ckpts"))
    assert (made.items, made.item_bytes) == (once.items, once.item_bytes)
    assert (made.oldest_checkpoint_bytes, made.newest_checkpoint_bytes) == (
        once.oldest_checkpoint_bytes,
        once.newest_checkpoint_bytes,
    )
    stored = saver._run(whole.dump_thread(saver._core, "t"))
    assert stored is not None
    sums = {
        part: sum(len(name) + len(data) + measuring.ENTRY_BYTES for name, data in stored.part(part).items())
        for part in whole.PARTS
    }
    if not may_ask:
        assert {part: made.bytes_by_part[part] for part in sums} == sums
