"""The indexes that find threads and runs: nothing is stored of what cannot be entered there, and nothing is unlisted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from langgraph_portable_checkpoint import PortableRedisSaver, errors
from langgraph_portable_checkpoint.storage.layout import Layout, run_digest
from tests.saver.between import Between
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.servers import SLOT_RANGES, Server, free_port, wait_until

WRITES: dict[str, Callable[[Calls, Any], Any]] = {
    "put": lambda calls, saver: calls.put(saver, config("t"), checkpoint({"n": 1}), metadata(run_id="r"), {"n": 1}),
    "put_writes": lambda calls, saver: calls.put_writes(saver, config("t", "1"), [("n", 1)], "task"),
}


def shards(prefix: str) -> dict[str, bytes]:
    """The keys that thread t and run r are entered into."""
    layout, run = Layout(prefix), run_digest("r")
    return {"threads": layout.registry(layout.shard_of(b"t")), "runs": layout.run_index(layout.shard_of(run))}


def listed(saver: Any) -> set[str]:
    return {info.thread_id for info in saver.threads()}


@pytest.mark.parametrize(("name", "index"), [("put", "threads"), ("put", "runs"), ("put_writes", "threads")])
def test_a_thread_that_cannot_be_registered_is_not_stored(
    make_any_saver: SaverFactory, calls: Calls, name: str, index: str
) -> None:
    saver, key = make_any_saver(), shards(make_any_saver.room.prefix)[index]
    with make_any_saver.room.client() as client:
        client.set(key, "not ours")
        with pytest.raises(errors.WrongServerError):
            WRITES[name](calls, saver)
        assert make_any_saver.stored() == [key]
        client.delete(key)
    WRITES[name](calls, saver)
    assert listed(make_any_saver()) == {"t"}


@pytest.mark.parametrize("name", WRITES)
def test_first_write_and_its_registration_are_one_call(make_saver: SaverFactory, name: str) -> None:
    with make_saver.room.client() as client:
        between = Between(client, lambda _: None)
        WRITES[name](Calls(), PortableRedisSaver(client=between, prefix=make_saver.room.prefix))
        scripts_unknown = between.calls - 1
        WRITES[name](Calls(), PortableRedisSaver(client=between, prefix=f"{make_saver.room.prefix}2"))
        assert between.calls - scripts_unknown - 1 == 1
    assert listed(make_saver()) == {"t"}


@pytest.fixture
def one_slot_at_a_time() -> Iterator[redis.Redis]:
    """A plain client on a server that takes no call with keys of several slots, as behind some proxies."""
    options = ("--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", str(free_port()))
    with Server.start("redis-7.0", *options, tcp=True) as server, server.client() as client:
        client.execute_command("CLUSTER ADDSLOTSRANGE", SLOT_RANGES[0][0], SLOT_RANGES[-1][1])
        wait_until(lambda: client.execute_command("CLUSTER INFO")["cluster_state"] == "ok", what="slots")
        yield client


@pytest.mark.parametrize("name", WRITES)
def test_a_server_of_one_slot_for_each_call_stores_and_lists(one_slot_at_a_time: redis.Redis, name: str) -> None:
    saver = PortableRedisSaver(client=one_slot_at_a_time)
    for _ in range(2):
        WRITES[name](Calls(), saver)
    assert listed(PortableRedisSaver(client=one_slot_at_a_time)) == {"t"}
    saver.delete_for_runs(["r"])
    assert listed(saver) == (set() if name == "put" else {"t"})


@pytest.mark.parametrize("name", WRITES)
def test_memory_that_runs_out_around_a_registration_of_its_own(one_slot_at_a_time: redis.Redis, name: str) -> None:
    client = one_slot_at_a_time
    PortableRedisSaver(client=client, prefix="warm").put(config("t"), checkpoint({}), metadata(), {})
    for moment in range(5):
        client.flushall()
        between = Between(client, lambda call, m=moment: call == m and client.config_set("maxmemory", 1))
        saver = PortableRedisSaver(client=between)
        refused = False
        try:
            WRITES[name](Calls(), saver)
        except errors.ServerFullError:
            refused = True
        client.config_set("maxmemory", 0)
        assert listed(PortableRedisSaver(client=client)) == (set() if refused else {"t"})
        assert bool(client.exists(*Layout("lpc").thread("t"))) is not refused
        between.before = lambda _: None
        WRITES[name](Calls(), saver)
        assert listed(PortableRedisSaver(client=client)) == {"t"}
