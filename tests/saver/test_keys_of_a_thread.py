"""What stands in the keys of a thread after each operation, seen with a bare client: what goes, what stays, how long."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_portable_checkpoint import PortableRedisSaver, errors
from langgraph_portable_checkpoint.storage.layout import THREAD_PARTS, Layout
from langgraph_portable_checkpoint.storage.programs import lease
from tests.saver.between import Between
from tests.saver.calls import Calls
from tests.saver.checkpoints import chain, checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.test_interruptions import OPERATIONS, conversation, made, values_of

DATA = THREAD_PARTS[:9]


@pytest.fixture
def keys(make_saver: SaverFactory) -> dict[str, bytes]:
    """The keys of thread t, by part."""
    return dict(zip(THREAD_PARTS, Layout(make_saver.room.prefix).thread("t"), strict=True))


@pytest.fixture
def client(make_saver: SaverFactory) -> Any:
    """A bare client on the default server."""
    with make_saver.room.client() as bare:
        yield bare


def times(client: Any, keys: dict[str, bytes]) -> set[int]:
    """Return the times to live of the thread's keys, in whole hundreds of seconds; -1 for never."""
    found = [client.pttl(keys[part]) for part in DATA if client.exists(keys[part])]
    assert len(found) == 9, "the thread has every kind of key"
    return {-1 if ttl == -1 else (ttl + 99_999) // 100_000 for ttl in found}


@pytest.mark.parametrize("name", ["put", "put_writes", "put_writes of an interrupt", "truncate_to_turn"])
def test_every_write_gives_every_key_the_savers_time_to_live(
    make_saver: SaverFactory, client: Any, keys: dict[str, bytes], name: str
) -> None:
    made(make_saver())
    assert times(client, keys) == {-1}
    OPERATIONS[name](make_saver(ttl_seconds=1000))
    assert times(client, keys) == {10}


def test_a_copy_gets_the_savers_time_to_live_or_the_threads_own(make_saver: SaverFactory, client: Any) -> None:
    made(make_saver())
    copies = dict(zip(THREAD_PARTS, Layout(make_saver.room.prefix).thread("copy"), strict=True))
    for own, ttl_seconds, expected in ((None, None, -1), (None, 1000, 10), (300, 1000, 3), (0, 1000, -1)):
        saver = make_saver(ttl_seconds=ttl_seconds)
        if own is not None:
            saver.persist("t") if own == 0 else saver.expire("t", own)
        saver.copy_thread("t", "copy")
        assert times(client, copies) == {expected}
        saver.put_writes(config("copy", "0002"), [("n", 1)], "later")
        assert times(client, copies) == {expected}
        saver.delete_thread("copy")


Step = Callable[[Any], Any]


@pytest.mark.parametrize("ttl_seconds", [None, 1000])
def test_a_threads_own_time_to_live_holds_against_later_writes_until_it_is_dropped(
    make_saver: SaverFactory, client: Any, keys: dict[str, bytes], ttl_seconds: float | None
) -> None:
    saver, default = make_saver(ttl_seconds=ttl_seconds), -1 if ttl_seconds is None else 10
    made(saver)
    steps: list[tuple[Step, int]] = [
        (lambda s: s.expire("t", 300), 3),
        (lambda s: s.persist("t"), -1),
        (lambda s: s.expire("t", None), default),
        (lambda s: s.expire("t", 500), 5),
        (lambda s: s.expire("t", None), default),
    ]
    for step, expected in steps:
        assert step(saver) is True
        assert times(client, keys) == {expected}
        saver.put_writes(config("t", "0002"), [("n", 1)], "later")
        assert times(client, keys) == {expected}
    assert not client.hexists(keys["meta"], "ttl")


def test_an_unknown_thread_cannot_be_given_a_time_to_live(make_saver: SaverFactory) -> None:
    saver = make_saver(ttl_seconds=1000)
    assert (saver.persist("t"), saver.expire("t", 5), saver.expire("t", None)) == (False, False, False)
    assert make_saver.stored() == []


def test_a_thread_that_expires_keeps_its_time_when_an_interrupt_is_noted(
    make_saver: SaverFactory, client: Any, keys: dict[str, bytes]
) -> None:
    saver = make_saver(ttl_seconds=1000)
    made(saver)
    client.delete(keys["turns"])  # so that the record is made anew, by a client that does not hold it
    values, versions = values_of(3)
    saver.put(config("t", "0002"), checkpoint(values, versions, checkpoint_id="0003"), metadata(3), versions)
    OPERATIONS["put_writes of an interrupt"](make_saver(ttl_seconds=1000))
    assert times(client, keys) == {10}


def test_times_to_live_of_a_thread_are_not_those_of_its_tombstone_and_lease(
    make_saver: SaverFactory, client: Any, keys: dict[str, bytes]
) -> None:
    saver = make_saver(ttl_seconds=100_000)
    made(saver)
    saver.delete_thread("t")
    with saver.exclusive_turn("t", lease_seconds=1000):
        made(saver)
        for change in (lambda: None, lambda: saver.persist("t"), lambda: saver.expire("t", None)):
            change()
            saver.put_writes(config("t", "0002"), [("n", 1)], "later")
            assert 3_000_000 < client.pttl(keys["gone"]) <= 3_600_000
            assert 900_000 < client.pttl(keys["lease"]) <= 1_000_000


def test_deleting_every_run_leaves_no_key(make_saver: SaverFactory, keys: dict[str, bytes], client: Any) -> None:
    saver = make_saver()
    for step in range(2):
        values, versions = values_of(step)
        saver.put(config("t"), checkpoint(values, versions), metadata(step, run_id="r"), versions)
        saver.put_writes(saver.get_tuple(config("t")).config, [("n", 1)], "task")
    assert all(client.exists(keys[part]) for part in DATA)
    saver.delete_for_runs(["r"])
    assert make_saver.stored() == []


def test_writes_that_wait_for_their_checkpoint_outlive_all_checkpoints(
    make_saver: SaverFactory, keys: dict[str, bytes], client: Any
) -> None:
    saver = make_saver()
    values, versions = values_of(1)
    saver.put(config("t"), checkpoint(values, versions, checkpoint_id="1"), metadata(run_id="r"), versions)
    writes = [("messages", conversation(2)), ("n", 1)]
    saver.put_writes(config("t", "2"), writes, "task")
    saver.delete_for_runs(["r"])
    assert client.exists(keys["turns"], keys["ckpts"], keys["index"]) == 0
    assert make_saver().get_tuple(config("t")) is None
    assert list(make_saver().turns("t")) == []
    fresh = make_saver()
    place = fresh.put(config("t"), checkpoint({}, checkpoint_id="2"), metadata(), {})
    found = make_saver().get_tuple(place)
    assert [(channel, value) for _, channel, value in found.pending_writes] == writes


def test_pruning_drops_writes_media_and_items_of_what_went_and_nothing_else(
    make_saver: SaverFactory, keys: dict[str, bytes], client: Any
) -> None:
    saver = make_saver()
    made(saver)
    client.hset(keys["media"], b"report" + bytes(16), client.hvals(keys["media"])[0])
    saver.put(config("t", "0002"), checkpoint({"messages": conversation(9)[2:]}), metadata(), {"messages": 9})
    before = client.hgetall(keys["items"])
    saver.prune(["t"])
    assert client.hlen(keys["ckpts"]) == client.zcard(keys["index"]) == 1
    assert client.exists(keys["writes"], keys["blobs"]) == 0
    assert client.hkeys(keys["media"]) == [b"report" + bytes(16)]
    after = client.hgetall(keys["items"])
    assert 0 < len(after) < len(before)
    assert make_saver().get_tuple(config("t")).checkpoint["channel_values"]["messages"] == conversation(9)[2:]


def test_long_values_survive_pruning_whole(make_saver: SaverFactory) -> None:
    """Pages of every width: few refs, more than 255 bytes of them, and a writes value of many frames."""
    saver = make_saver()
    messages = [HumanMessage(f"message {number} " * 20, id=str(number)) for number in range(1200)]
    values = {"messages": messages, "many": [f"text {number} " * 20 for number in range(5000)], "n": 1}
    saver.put(config("t"), checkpoint({"messages": messages[:3]}), metadata(), {"messages": 1})
    place = saver.put(config("t"), checkpoint(values), metadata(), dict.fromkeys(values, 2))
    writes = [("messages", [HumanMessage(f"pending {number} " * 20)]) for number in range(300)]
    saver.put_writes(place, writes, "task")
    saver.put_writes(place, [("messages", [HumanMessage("other " * 20)])], "other " * 60)
    saver.put_writes(place, [(name, [HumanMessage(f"far {name} " * 20)]) for name in "ab"], "far", "path " * 13_000)
    expected = make_saver().get_tuple(place)
    saver.prune(["t"])
    found = make_saver().get_tuple(place)
    assert found.checkpoint["channel_values"] == values
    assert found.pending_writes == expected.pending_writes


@pytest.mark.parametrize("channels", [40, 4200])
def test_checkpoint_of_many_channels_is_read_and_pruned_whole(
    make_saver: SaverFactory, client: Any, keys: dict[str, bytes], channels: int
) -> None:
    """Its record names more items than one byte, or two, can count the bytes of."""
    values = {f"channel {number}": f"{number} " * 40 for number in range(channels)}
    saver = make_saver()
    saver.put(config("t"), checkpoint({}), metadata(), {})
    place = saver.put(config("t"), checkpoint(values), metadata(), dict.fromkeys(values, 1))
    saver.prune(["t"])
    assert client.hlen(keys["items"]) > channels
    assert make_saver().get_tuple(place).checkpoint["channel_values"] == values


def test_items_that_were_pruned_are_sent_again(make_saver: SaverFactory) -> None:
    """The client that wrote them remembers them; the generation tells it that they may be gone."""
    saver, old = make_saver(), conversation(2)
    saver.put(config("t"), checkpoint({"messages": old}), metadata(), {"messages": 1})
    place = saver.put(config("t"), checkpoint({"messages": conversation(1)[1:]}), metadata(), {"messages": 2})
    make_saver().prune(["t"])
    place = saver.put(place, checkpoint({"messages": old}), metadata(), {"messages": 3})
    saver.put_writes(place, [("messages", old)], "task")
    found = make_saver().get_tuple(config("t"))
    assert found.checkpoint["channel_values"]["messages"] == old
    assert found.pending_writes[0][2] == old


def test_a_prune_that_meets_a_new_life_of_the_thread_looks_again(make_saver: SaverFactory, client: Any) -> None:
    other = make_saver()

    def begin_anew(_: int) -> None:
        if between.calls == script:
            other.delete_thread("t")
            other.put(config("t"), checkpoint({}, checkpoint_id="1"), metadata(), {})

    script, between = -1, Between(client, begin_anew)
    pruning = PortableRedisSaver(client=between, prefix=make_saver.room.prefix)
    for attempt in ("teach the server the scripts", "count", "disturb"):
        other.delete_thread("t")
        for checkpoint_id in ("1", "2", "3"):
            other.put(config("t"), checkpoint({}, checkpoint_id=checkpoint_id), metadata(), {})
        between.calls = 0
        pruning.prune(["t"])
        script = between.calls if attempt == "count" else -1
    assert [found.checkpoint["id"] for found in make_saver().list(config("t"))] == ["1"]


def test_deleting_a_thread_frees_its_lease(make_saver: SaverFactory, client: Any, keys: dict[str, bytes]) -> None:
    saver = make_saver()
    chain(Calls(), saver, "t", 1)
    assert saver._run(lease.take_lease(saver._core, "t", b"token", 60_000))
    saver.delete_thread("t")
    assert not client.exists(keys["lease"])


def test_a_lease_may_be_asked_for_twice_and_always_expires(
    make_saver: SaverFactory, client: Any, keys: dict[str, bytes]
) -> None:
    """An answer may get lost on the way, so that the driver asks again."""
    saver = make_saver()
    for _ in range(2):
        assert saver._run(lease.take_lease(saver._core, "t", b"token", 60_000))
        assert 0 < client.pttl(keys["lease"]) <= 60_000
    assert make_saver.stored() == [keys["lease"]], "a thread is not begun by taking its lease"
    assert not saver._run(lease.free_lease(saver._core, "t", b"other"))
    assert not saver._run(lease.renew_lease(saver._core, "t", b"other", 90_000))
    assert client.get(keys["lease"]) == b"token"
    assert client.pttl(keys["lease"]) <= 60_000
    assert saver._run(lease.renew_lease(saver._core, "t", b"token", 90_000))
    assert client.pttl(keys["lease"]) > 60_000
    assert saver._run(lease.free_lease(saver._core, "t", b"token"))
    assert make_saver.stored() == []


def test_a_holder_that_lost_the_lease_to_one_who_wrote_nothing_is_refused(
    make_saver: SaverFactory, client: Any, keys: dict[str, bytes]
) -> None:
    saver, other = make_saver(), make_saver()
    place = chain(Calls(), saver, "t", 1)[0]
    with saver.exclusive_turn("t"):
        client.delete(keys["lease"])  # as when it ran out
        with other.exclusive_turn("t"):
            pass
        with pytest.raises(errors.TurnInProgressError):
            saver.put(place, checkpoint({}), metadata(), {})
    saver.put(place, checkpoint({}), metadata(), {})


def test_what_meta_says_of_a_thread_in_the_open(make_saver: SaverFactory, client: Any, keys: dict[str, bytes]) -> None:
    saver = make_saver()
    saver.put(config("t"), checkpoint({"messages": conversation(2)}, checkpoint_id="5"), metadata(), {"messages": 1})
    meta = client.hgetall(keys["meta"])
    assert len(meta.pop(b"g")) == 24
    assert meta == {b"t": b"t", b"m": b"5", b"th": b"\x005", b"tn": b"2"}
    assert client.zrange(keys["index"], 0, -1, withscores=True) == [(b"\x005", 0.0)]


def test_a_refused_put_on_a_thread_that_ran_out_leaves_nothing(make_saver: SaverFactory, client: Any) -> None:
    """The client dies before it sends everything."""

    def die(call: int) -> None:
        if call > dies_at:
            raise ConnectionError("killed")

    dies_at = 100
    between = Between(client, die)
    saver = PortableRedisSaver(client=between, prefix=make_saver.room.prefix)
    place = saver.put(config("t"), checkpoint({"messages": conversation(2)}), metadata(), {"messages": 1})
    client.delete(*make_saver.stored())
    between.calls, dies_at = 0, 0
    with pytest.raises(errors.ServerUnavailableError):
        saver.put(place, checkpoint({"messages": conversation(3)}), metadata(), {"messages": 2})
    assert make_saver.stored() == []


def test_a_thread_without_runs_has_no_set_of_them(
    make_saver: SaverFactory, client: Any, keys: dict[str, bytes]
) -> None:
    chain(Calls(), make_saver(), "t", 2)
    assert not client.exists(keys["runs"])


def test_a_conversation_that_shrinks_leaves_no_turn_records_behind(
    make_saver: SaverFactory, client: Any, keys: dict[str, bytes]
) -> None:
    saver = make_saver()
    place = saver.put(config("t"), checkpoint({"messages": conversation(4)}), metadata(), {"messages": 1})
    assert client.hlen(keys["turns"]) == 4
    saver.put(place, checkpoint({"messages": conversation(1)}), metadata(), {"messages": 2})
    assert client.hkeys(keys["turns"]) == [b"0"]


def test_a_prune_that_removes_nothing_changes_nothing(
    make_saver: SaverFactory, client: Any, keys: dict[str, bytes]
) -> None:
    chain(Calls(), make_saver(), "t", 3)
    make_saver().prune(["t"])
    before = client.hgetall(keys["meta"])
    make_saver().prune(["t"])
    assert client.hgetall(keys["meta"]) == before


@pytest.mark.parametrize("sealed", [False, True])
def test_a_thread_may_begin_after_it_was_pruned_copied_or_deleted_in_vain(
    make_saver: SaverFactory, sealed: bool
) -> None:
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef") if sealed else None
    saver = make_saver(serde=serde)
    saver.prune(["t"])
    saver.delete_for_runs(["r"])
    with suppress(errors.ThreadNotFoundError):
        saver.copy_thread("t", "u")
    saver.delete_thread("t")
    assert make_saver.stored() == []
    chain(Calls(), saver, "t", 2)
    assert len(list(make_saver(serde=serde).list(config("t")))) == 2
