"""What an operation costs, counted exactly: round trips, commands, bytes, keys, memory."""

from __future__ import annotations

import time
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from redis.crc import key_slot

from tests.conftest import AclUser
from tests.proxy import Proxy
from tests.saver.calls import Calls
from tests.saver.checkpoints import chain, checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.graphs import SCENARIOS, Play
from tests.servers import ACL_COMMANDS, Cluster, Server, command_counts

PAGE = 100
"""Round trips of a listing are counted per so many checkpoints."""


def turn(number: int) -> list[Any]:
    """Return the four messages of one tool turn, about 400 bytes each, none like another."""
    call = {"name": "search", "args": {"query": f"{number} " + "q" * 300}, "id": f"call-{number}", "type": "tool_call"}
    return [
        HumanMessage(f"question {number} " + "h" * 380, id=f"h{number}"),
        AIMessage("", tool_calls=[call], id=f"c{number}", usage_metadata=_usage(number)),
        ToolMessage(f"result {number} " + "t" * 380, tool_call_id=f"call-{number}", id=f"t{number}"),
        AIMessage(f"answer {number} " + "a" * 380, id=f"a{number}", usage_metadata=_usage(number)),
    ]


def _usage(number: int) -> Any:
    return {"input_tokens": number, "output_tokens": 1, "total_tokens": number + 1}


class Growing:
    """A thread that grows by one turn in `supersteps` puts, each followed by its writes."""

    def __init__(self, saver: Any, calls: Calls, *, thread_id: str = "t") -> None:
        self.saver, self.calls, self.place = saver, calls, config(thread_id)
        self.messages: list[Any] = []
        self.turns = self.version = 0

    def step(self, new: list[Any]) -> None:
        """Put one checkpoint that adds `new`, and write what made them."""
        self.version += 1
        self.messages = [*self.messages, *new]
        values = {"messages": self.messages, "branch:to:model": None}
        versions = dict.fromkeys(values, self.version)
        made = checkpoint(values, versions)
        self.place = self.calls.put(
            self.saver, self.place, made, metadata(self.version, run_id=f"r{self.turns}"), versions
        )
        self.calls.put_writes(self.saver, self.place, [("messages", new)], f"task-{self.version}")

    def turn(self) -> None:
        """Add a turn, one message a superstep."""
        for message in turn(self.turns):
            self.step([message])
        self.turns += 1

    def grow_to(self, turns: int, *, at_once: int = 1) -> None:
        """Add turns, `at_once` of them in a superstep, until there are so many."""
        while self.turns < turns:
            until = min(turns, self.turns + at_once)
            self.step([message for number in range(self.turns, until) for message in turn(number)])
            self.turns = until


def test_put_and_put_writes_take_one_round_trip_each(make_saver: SaverFactory, proxy: Proxy, calls: Calls) -> None:
    thread = Growing(make_saver(proxy.url), calls)
    thread.grow_to(3)
    place = thread.place
    for version in (98, 99):
        proxy.reset()
        thread.messages = [*thread.messages, HumanMessage(f"{version} " + "x" * 100_000)]
        made = checkpoint({"messages": thread.messages}, {"messages": version})
        place = calls.put(thread.saver, place, made, metadata(), {"messages": version})
        assert proxy.traffic.round_trips == 1
        proxy.reset()
        calls.put_writes(thread.saver, place, [(f"c{number}", turn(number)) for number in range(50)], "task")
        assert proxy.traffic.round_trips == 1


def test_put_on_an_older_checkpoint_takes_at_most_two_round_trips(
    make_saver: SaverFactory, proxy: Proxy, calls: Calls
) -> None:
    thread = Growing(make_saver(proxy.url), calls)
    pasts = []
    for turns in (2, 3, 6):
        thread.grow_to(turns)
        pasts.append(thread.place)
    for past in pasts[:2]:  # the client opens a connection for calls that go together at the first
        proxy.reset()
        calls.put(thread.saver, past, checkpoint({"messages": thread.messages[:5]}), metadata(), {"messages": 99})
    assert proxy.traffic.round_trips <= 2


def test_first_put_of_a_thread_takes_one_round_trip(make_saver: SaverFactory, proxy: Proxy, calls: Calls) -> None:
    saver = make_saver(proxy.url)
    chain(calls, saver, "warm up", 1)
    proxy.reset()
    chain(calls, saver, "new", 1)
    assert proxy.traffic.round_trips == 1


def test_warm_read_takes_one_round_trip(make_saver: SaverFactory, proxy: Proxy, calls: Calls) -> None:
    thread = Growing(make_saver(proxy.url), calls)
    thread.grow_to(50)
    for asked in (config("t"), thread.place):
        calls.get_tuple(thread.saver, asked)
        proxy.reset()
        calls.get_tuple(thread.saver, asked)
        assert proxy.traffic.round_trips == 1
        assert proxy.traffic.bytes_received < 5000


def test_cold_read_takes_at_most_three_round_trips(make_saver: SaverFactory, proxy: Proxy, calls: Calls) -> None:
    Growing(make_saver(), calls).grow_to(300, at_once=10)
    cold = make_saver(proxy.url)
    assert calls.get_tuple(cold, config("unknown")) is None
    proxy.reset()
    found = calls.get_tuple(cold, config("t"))
    assert found is not None
    assert len(found.checkpoint["channel_values"]["messages"]) == 1200
    assert proxy.traffic.round_trips <= 3


def test_value_that_stands_in_a_list_many_times_is_read_once(
    make_saver: SaverFactory, proxy: Proxy, calls: Calls
) -> None:
    value = ["much " * 1000] * 1000
    calls.put(make_saver(), config("t"), checkpoint({"a": value}), metadata(), {"a": 1})
    cold = make_saver(proxy.url)
    calls.get_tuple(cold, config("unknown"))
    proxy.reset()
    found = calls.get_tuple(cold, config("t"))
    assert found is not None
    assert found.checkpoint["channel_values"]["a"] == value
    assert proxy.traffic.bytes_received < 20_000


def test_read_of_another_clients_step_moves_only_what_is_new(
    make_saver: SaverFactory, proxy: Proxy, calls: Calls
) -> None:
    thread, reader = Growing(make_saver(), calls), make_saver(proxy.url)
    thread.grow_to(200, at_once=10)
    calls.get_tuple(reader, config("t"))
    for turns in (201, 202):  # the first time the server may have to learn a script
        thread.grow_to(turns)
        proxy.reset()
        calls.get_tuple(reader, config("t"))
    assert proxy.traffic.round_trips <= 2
    assert proxy.traffic.bytes_received < 20_000


@pytest.mark.parametrize(("count", "limit"), [(20, None), (100, 10), (250, None), (250, 3)])
def test_list_takes_at_most_three_round_trips_a_page(
    make_saver: SaverFactory, proxy: Proxy, calls: Calls, count: int, limit: int | None
) -> None:
    chain(calls, make_saver(), "t", count)
    cold = make_saver(proxy.url)
    calls.get_tuple(cold, config("unknown"))
    proxy.reset()
    assert len(calls.list(cold, config("t"), limit=limit)) == (limit or count)
    pages = -(-(limit or count) // PAGE)
    assert proxy.traffic.round_trips <= 3 * pages


def test_listing_with_a_limit_moves_no_more_than_it_gives(make_saver: SaverFactory, proxy: Proxy, calls: Calls) -> None:
    Growing(make_saver(), calls).grow_to(100)
    saver = make_saver(proxy.url)
    calls.get_tuple(saver, config("t"))
    proxy.reset()
    calls.list(saver, config("t"), limit=1)
    assert proxy.traffic.bytes_received < 20_000


def _bytes_of_eight_turns(proxy: Proxy, thread: Growing) -> int:
    proxy.reset()
    for _ in range(8):  # over a page of the sequence, so that its pages count in full
        thread.turn()
    return proxy.traffic.bytes_sent


def _stored_bytes(factory: SaverFactory) -> int:
    """Sum what is stored, without the server's tables, which double in size now and then."""
    with factory.room.client() as client:
        hashes = (client.hgetall(key) for key in factory.stored() if client.type(key) == b"hash")
        return sum(len(field) + len(value) for found in hashes for field, value in found.items())


def _memory(factory: SaverFactory) -> int:
    with factory.room.client() as client:
        return sum(client.memory_usage(key, samples=0) for key in factory.stored())


def test_cost_of_a_turn_does_not_grow_with_the_thread(make_saver: SaverFactory, proxy: Proxy) -> None:
    thread = Growing(make_saver(proxy.url), Calls())
    stored, sent = {}, {}
    for turns in (20, 200, 1000):
        thread.grow_to(turns - 8, at_once=10)
        before = _stored_bytes(make_saver)
        sent[turns] = _bytes_of_eight_turns(proxy, thread)
        stored[turns] = _stored_bytes(make_saver) - before
    assert sent[200] <= 1.3 * sent[20]
    assert sent[1000] <= 1.3 * sent[20]
    # A record names O(log n) pages, so a turn's bytes creep up a little with the length of the thread.
    assert stored[200] <= 1.3 * stored[20]
    assert stored[1000] <= 1.3 * stored[20]


def test_memory_of_the_server_is_linear_in_the_turns(make_saver: SaverFactory) -> None:
    thread = Growing(make_saver(), Calls())
    thread.grow_to(20)
    early = _memory(make_saver) / 20
    thread.grow_to(200)
    assert _memory(make_saver) / 200 <= 1.15 * early


def test_unchanged_value_is_stored_and_sent_once(make_saver: SaverFactory, proxy: Proxy, calls: Calls) -> None:
    static = "s" * 500_000
    saver, place = make_saver(proxy.url), config("t")
    for step in range(20):
        versions = {"static": step + 1, "n": step + 1}
        place = calls.put(saver, place, checkpoint({"static": static, "n": step}, versions), metadata(step), versions)
    assert proxy.traffic.bytes_sent < 600_000
    assert _memory(make_saver) < 1_200_000


def test_media_that_were_read_are_not_fetched_again_with_a_new_one(
    make_saver: SaverFactory, proxy: Proxy, calls: Calls
) -> None:
    writer, reader, place = make_saver(), make_saver(proxy.url), config("t")
    pictures = [b"\x89PNG" + bytes([number]) * 200_000 for number in range(3)]
    for step in range(1, 4):
        made = checkpoint({"a": pictures[:step]}, {"a": step})
        place = calls.put(writer, place, made, metadata(step), {"a": step})
        proxy.reset()
        found = calls.get_tuple(reader, config("t"))
        assert found is not None
        assert found.checkpoint["channel_values"]["a"] == pictures[:step]
        assert 200_000 < proxy.traffic.bytes_received < 250_000


def test_medium_that_a_thread_has_is_not_sent_again_within_another_value(
    make_saver: SaverFactory, proxy: Proxy, calls: Calls
) -> None:
    saver, picture = make_saver(proxy.url), b"\x89PNG" + bytes(range(256)) * 400
    place = calls.put(saver, config("t"), checkpoint({"a": picture}), metadata(), {"a": 1})
    for reader in (saver, make_saver(proxy.url)):
        calls.get_tuple(reader, place)
        proxy.reset()
        made = checkpoint({"a": {"of": picture}}, {"a": 2})
        calls.put(reader, place, made, metadata(), {"a": 2})
        assert proxy.traffic.bytes_sent < 20_000


def test_a_thread_has_a_constant_number_of_keys_all_in_one_slot(make_saver: SaverFactory, calls: Calls) -> None:
    thread = Growing(make_saver(), calls, thread_id="t:{x}")
    seen = []
    for turns in (2, 60):
        thread.grow_to(turns)
        chain(calls, thread.saver, "t:{x}", turns, ns="child:1")
        seen.append([key for key in make_saver.stored() if b"{r:" not in key])
    assert seen[0] == seen[1]
    assert len(seen[0]) <= 11
    assert len({key_slot(key) for key in seen[0]}) == 1


def test_every_key_has_the_prefix_and_two_prefixes_share_nothing(
    make_saver: SaverFactory, own_server: Server, calls: Calls
) -> None:
    for prefix in ("app-1", "app-10"):
        chain(calls, make_saver(own_server.url, prefix=prefix), "t", 3)
    with own_server.client() as client:
        assert all(key.startswith((b"app-1:", b"app-10:")) for key in client.scan_iter())
    calls.run(make_saver(own_server.url, prefix="app-1"), "delete_thread", "t")
    other = make_saver(own_server.url, prefix="app-10")
    assert len(calls.list(other, None)) == 3
    assert calls.list(make_saver(own_server.url, prefix="app"), None) == []


@pytest.mark.parametrize("how", ["delete_thread", "prune", "delete_for_runs"])
def test_nothing_is_left_after_a_delete(make_saver: SaverFactory, calls: Calls, how: str) -> None:
    thread = Growing(make_saver(), calls)
    thread.grow_to(5)
    for ns in ("child", "child:1|x"):
        chain(calls, thread.saver, "t", 3, ns=ns)
    if how == "delete_thread":
        calls.run(make_saver(), "delete_thread", "t")
    elif how == "prune":
        calls.run(make_saver(), "prune", ["t"], strategy="delete")
    else:
        calls.run(make_saver(), "prune", ["t"])
        for ns in ("child", "child:1|x"):
            place = config("t", ns=ns)
            calls.put(thread.saver, place, checkpoint({}), metadata(run_id="last"), {})
        calls.run(make_saver(), "delete_for_runs", [*(f"r{number}" for number in range(5)), "last"])
        return
    assert calls.list(make_saver(), None) == []
    with make_saver.room.client() as client:
        left = make_saver.stored()
        assert all(key.endswith(b":gone") and client.ttl(key) > 0 for key in left), left


def test_every_key_of_a_thread_expires_together(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver(ttl_seconds=1000)
    thread = Growing(saver, calls)
    thread.grow_to(3)
    with make_saver.room.client() as client:
        for key in make_saver.stored():
            client.expire(key, 500) if b"{r:" not in key else None
        thread.grow_to(4)
        calls.put_writes(saver, thread.place, [("n", 1)], "late")
        lives = {key: client.ttl(key) for key in make_saver.stored() if b"{r:" not in key}
    assert set(lives.values()) <= {999, 1000}, lives


def test_a_thread_whose_time_is_over_is_gone_from_every_view(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver(ttl_seconds=0.2)
    thread = Growing(saver, calls)
    thread.grow_to(2)
    with make_saver.room.client() as client:
        for key in make_saver.stored():
            if b"{r:" not in key:
                client.pexpire(key, 1)
    time.sleep(0.02)
    assert calls.get_tuple(saver, config("t")) is None
    assert calls.list(saver, None) == []
    thread.place = config("t")
    thread.grow_to(3)  # the saver must not count on what it once sent
    found = calls.get_tuple(make_saver(), config("t"))
    assert found is not None
    assert len(found.checkpoint["channel_values"]["messages"]) == 12


def test_only_core_commands_are_sent(make_saver: SaverFactory, own_server: Server, calls: Calls) -> None:
    """Counted in the server, so that what scripts call is in."""
    before: dict[str, int] = {}
    with own_server.client() as client:
        before = command_counts(client)
    for number, scenario in enumerate(SCENARIOS.values()):
        scenario(Play(make_saver(own_server.url, prefix=f"p{number}"), calls))
    saver = make_saver(own_server.url, prefix="p0")
    calls.list(saver, None, filter={"source": "loop"})
    for name, args in (
        ("copy_thread", ("t", "u")),
        ("prune", (["u"],)),
        ("delete_for_runs", (["r"],)),
        ("delete_thread", ("t",)),
    ):
        calls.run(saver, name, *args)
    with own_server.client() as client:
        after = command_counts(client)
    sent = {name for name, count in after.items() if count > before.get(name, 0)}
    own = {"info", "command", "command|docs", "client|setinfo", "client|setname", "client", "ping", "hello"}
    assert sent - own <= set(ACL_COMMANDS)
    assert {"evalsha", "hset"} & sent, "the counters must have seen the saver"


def test_user_with_the_published_commands_and_prefix_can_do_everything(
    acl_user: AclUser, make_any_saver: SaverFactory
) -> None:
    saver = make_any_saver(acl_user.url, prefix=acl_user.room.prefix)
    for name in ("conversation", "subgraph", "map_reduce", "parallel_interrupts"):
        saver.delete_thread("t")
        SCENARIOS[name](Play(saver, Calls()))
    saver.copy_thread("t", "u")
    saver.prune(["u"])
    saver.delete_for_runs(["r"])
    assert list(saver.list(None))


def test_cluster_serves_graphs_and_every_operation(make_saver: SaverFactory, cluster: Cluster, calls: Calls) -> None:
    saver = make_saver(cluster.url, cluster=True)
    for number, scenario in enumerate(SCENARIOS.values()):
        scenario(Play(saver, calls, config={"configurable": {"thread_id": f"t{number}"}}))
        calls.run(saver, "copy_thread", f"t{number}", f"copy {number}")
        calls.run(saver, "prune", [f"copy {number}"])
    assert {found.config["configurable"]["thread_id"] for found in calls.list(saver, None)} >= {"t0", "copy 0"}
    for number in range(len(SCENARIOS)):
        calls.run(saver, "delete_thread", f"t{number}")
        calls.run(saver, "delete_thread", f"copy {number}")
    assert calls.list(saver, None) == []


@pytest.mark.parametrize(
    "options", [{"decode_responses": "True"}, {"protocol": "3"}, {"protocol": "2", "decode_responses": "True"}]
)
def test_client_options_do_not_change_what_is_read(
    make_saver: SaverFactory, calls: Calls, options: dict[str, str]
) -> None:
    query = "&".join(f"{name}={value}" for name, value in options.items())
    saver = make_saver(f"{make_saver.room.url}?{query}")
    thread = Growing(saver, calls)
    thread.grow_to(3)
    found = calls.get_tuple(saver, config("t"))
    assert found is not None
    assert found.checkpoint["channel_values"]["messages"] == thread.messages
    assert len(calls.list(saver, None)) == 3
