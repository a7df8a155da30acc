"""What can be mended is mended, and said; what is well or lost is left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_portable_checkpoint.errors import CorruptRecordError
from langgraph_portable_checkpoint.storage.layout import THREAD_PARTS, Layout
from langgraph_portable_checkpoint.storage.programs import whole
from langgraph_portable_checkpoint.transfer.checking import verify, verify_thread
from langgraph_portable_checkpoint.transfer.repairing import repair
from tests.saver.checkpoints import config
from tests.saver.same import assert_same
from tests.servers import Room
from tests.transfer.threads import OpenSaver, assert_same_thread, contents, opened, put_chain


@pytest.fixture
def ours(server: Room) -> Iterator[OpenSaver]:
    """Opens savers of ours."""
    with opened(server) as make:
        yield make


def _keys(server: Room, thread_id: str = "t") -> tuple[bytes, ...]:
    return Layout(f"{server.prefix}-a").thread(thread_id)


def _kinds(saver: Any, **options: Any) -> list[str]:
    return sorted({action.kind for action in repair(saver, **options)})


def _first_place(client: Any, keys: tuple[bytes, ...]) -> bytes:
    return min(client.hkeys(keys[2]))  # type: ignore[no-any-return]  # redis-py's types


def _registries(server: Room) -> list[bytes]:
    layout = Layout(f"{server.prefix}-a")
    return [spell(shard) for spell in (layout.registry, layout.run_index) for shard in range(64)]


Damage = Callable[[Any, tuple[bytes, ...], list[bytes]], Any]

MENDED: dict[str, tuple[list[str], Damage]] = {
    "a lost index": (["index checkpoint"], lambda c, k, r: c.delete(k[3])),
    "an index that names nothing": (["drop index entry"], lambda c, k, r: c.zadd(k[3], {b"\0nothing": 0})),
    "a lost meta": (["make meta again", "set highest checkpoint"], lambda c, k, r: c.delete(k[0])),
    "empty writes": (["drop empty writes"], lambda c, k, r: c.hset(k[4], b"\0nothing", b"")),
    "a key that expires": (["set times to live"], lambda c, k, r: c.pexpire(k[1], 100_000)),
    "lost registries": (["register runs", "register thread"], lambda c, k, r: c.delete(*r)),
    "a tombstone for ever": (["let tombstone or lease expire"], lambda c, k, r: c.set(k[9], b"")),
    "a lease for ever": (["let tombstone or lease expire"], lambda c, k, r: c.set(k[10], b"x")),
}


@pytest.mark.parametrize(("kinds", "damage"), MENDED.values(), ids=MENDED)
def test_what_can_be_mended_is(ours: OpenSaver, server: Room, kinds: list[str], damage: Damage) -> None:
    saver = ours("a")
    put_chain(saver, "t")
    list(repair(saver, dry_run=False))
    before = contents(saver, "t")
    with server.client() as client:
        damage(client, _keys(server), _registries(server))
        state = {key: client.dump(key) for key in _keys(server)}
        assert _kinds(ours("a")) == kinds
        assert {key: client.dump(key) for key in _keys(server)} == state, "a dry run changes nothing"
    assert all(action.done for action in repair(ours("a"), dry_run=False))
    assert list(repair(ours("a"))) == []
    assert [finding for finding in verify(ours("a")) if finding.kind != "turn log"] == []
    assert_same(contents(ours("a"), "t"), before)


def test_a_healthy_prefix_needs_nothing(ours: OpenSaver) -> None:
    saver = ours("a", ttl_seconds=1000)
    for thread_id in ("t", "with {braces} * [and] \\ \n more: ", "ünïcode/%2F"):
        put_chain(saver, thread_id)
    assert list(repair(saver)) == []
    assert list(verify(saver)) == []


@pytest.mark.parametrize("kept", [("items",), ("meta", "items"), ("meta",), ("items", "turns", "media")])
@pytest.mark.parametrize("ttl_seconds", [None, 1800])
def test_what_an_eviction_left_is_not_taken_for_a_dead_restore(
    ours: OpenSaver, server: Room, kept: tuple[str, ...], ttl_seconds: float | None
) -> None:
    saver = ours("a", ttl_seconds=ttl_seconds)
    put_chain(saver, "t")
    with server.client() as client:
        client.delete(*(key for part, key in zip(THREAD_PARTS, _keys(server), strict=True) if part not in kept))
        before = {key: client.dump(key) for key in _keys(server)}
        list(repair(saver, dry_run=False))
        assert {key: client.dump(key) for key in _keys(server)} == before


def test_a_thread_of_writes_alone_is_mended_like_any_other(ours: OpenSaver, server: Room) -> None:
    saver = ours("a")
    saver.put_writes(config("t", "1"), [("n", 1)], "task")
    keys = _keys(server)
    with server.client() as client:
        client.hset(keys[4], b"\0nothing", b"")
        client.pexpire(keys[4], 100_000)
        client.delete(keys[0])
        assert _kinds(saver, dry_run=False) == ["drop empty writes", "make meta again", "set times to live"]
        assert client.hget(keys[0], "t") == b"t"
        assert client.hkeys(keys[4]) == [b"\x001"]
    assert list(repair(saver)) == []


@pytest.mark.parametrize("record", [b"", b"\x93", b"\x93\x01"])
def test_a_lost_meta_beside_a_damaged_record_is_made_again(ours: OpenSaver, server: Room, record: bytes) -> None:
    saver, keys = ours("a"), _keys(server)
    put_chain(saver, "t", turns=1)
    with server.client() as client:
        for place in client.hkeys(keys[2]):
            client.hset(keys[2], place, record)
        client.hset(keys[2], b"no place", record)
        client.delete(keys[0])
        assert "make meta again" in _kinds(saver, dry_run=False)
        assert client.hget(keys[0], "t") == b"t"
    with pytest.raises(CorruptRecordError):
        list(saver.list(config("t")))


def test_records_alone_are_indexed_again(ours: OpenSaver, server: Room) -> None:
    saver = ours("a")
    put_chain(saver, "t")
    with server.client() as client:
        client.delete(_keys(server)[3], _keys(server)[4])
        assert _kinds(saver, dry_run=False) == ["index checkpoint"]
    assert len(list(saver.list(config("t")))) == 3


@pytest.mark.parametrize("others", [(), (4,)])
def test_an_index_without_its_records_is_dropped_and_the_thread_stays_damaged(
    ours: OpenSaver, server: Room, others: tuple[int, ...]
) -> None:
    saver = ours("a")
    put_chain(saver, "t")
    with server.client() as client:
        client.delete(_keys(server)[2], *(_keys(server)[part] for part in others))
        assert "drop index entry" in _kinds(saver, dry_run=False)
        assert client.exists(_keys(server)[3]) == 0
    with pytest.raises(CorruptRecordError):
        saver.get_tuple(config("t"))


@pytest.mark.parametrize(
    ("own", "default", "times", "expected"),
    [
        (None, 1000, {1: 400_000, 2: 900_000}, (800_000, 1_000_000)),
        (None, 1000, {part: 300_000 + 50_000 * part for part in range(9)}, (600_000, 700_000)),
        (None, 1000, {}, None),
        (None, 1000, {part: 500_000 + part for part in range(9)}, None),
        (0, 1000, {1: 400_000}, (-1, -1)),
        (None, None, {1: 400_000}, (-1, -1)),
        (None, None, {part: 500_000 + part for part in range(9)}, None),
        (500, None, {1: 400_000}, (400_000, 500_000)),
        (500, 1000, dict.fromkeys(range(9), -1), (400_000, 500_000)),
        (None, 1000, dict.fromkeys(range(9), -1), (900_000, 1_000_000)),
    ],
)
def test_times_to_live_become_those_of_the_longest_key_or_of_the_thread(
    ours: OpenSaver,
    server: Room,
    own: float | None,
    default: float | None,
    times: dict[int, int],
    expected: tuple[int, int] | None,
) -> None:
    saver, keys = ours("a", ttl_seconds=default), _keys(server)
    put_chain(saver, "t")
    if own is not None:
        saver.persist("t") if own == 0 else saver.expire("t", own)
    with server.client() as client:
        for part, ttl in times.items():
            client.persist(keys[part]) if ttl < 0 else client.pexpire(keys[part], ttl)
        assert _kinds(saver, dry_run=False) == ([] if expected is None else ["set times to live"])
        low, high = expected or (-1, 1_000_000)
        assert all(low <= client.pttl(key) <= high for key in keys[:9] if client.exists(key))
    assert list(repair(saver)) == []


def test_what_is_not_there_is_not_registered(ours: OpenSaver, server: Room) -> None:
    saver = ours("a")
    with server.client() as client:
        client.hset(_keys(server, "u")[1], "left", "item")
    before = server.keys()
    assert list(repair(saver, ["t", "u"], dry_run=False)) == []
    assert server.keys() == before


@pytest.mark.parametrize("lost", ["registry", "run_index"])
def test_what_no_listing_finds_is_registered_again_and_not_in_a_dry_run(
    ours: OpenSaver, server: Room, lost: str
) -> None:
    saver, layout = ours("a"), Layout(f"{server.prefix}-a")
    put_chain(saver, "t")
    before = server.keys()
    with server.client() as client:
        client.delete(*(getattr(layout, lost)(shard) for shard in range(64)))
    for dry_run in (True, True, False):
        assert _kinds(saver, dry_run=dry_run) == ["register thread" if lost == "registry" else "register runs"]
    assert list(repair(saver)) == []
    assert server.keys() == before


def test_a_prefix_of_any_characters_is_found(ours: OpenSaver, server: Room) -> None:
    saver, other = ours("a[1]*?"), ours("a1bc")
    for each in (saver, other):
        put_chain(each, "t")
        with server.client() as client:
            client.delete(each._core.layout.thread("t")[3])
    assert [action.kind for action in repair(saver, dry_run=False)].count("index checkpoint") == 4
    assert [action.kind for action in repair(other)].count("index checkpoint") == 4


def test_other_prefixes_are_not_touched(ours: OpenSaver, server: Room) -> None:
    saver, other = ours("a"), ours("a2")
    put_chain(saver, "t")
    put_chain(other, "u")
    with server.client() as client:
        client.delete(Layout(f"{server.prefix}-a2").thread("u")[3])
    assert list(repair(saver)) == []
    assert {action.thread_id for action in repair(other)} == {"u"}


def test_ids_of_any_kind_are_found_by_their_keys(ours: OpenSaver, server: Room) -> None:
    saver = ours("a")
    ids = ["plain", "with {braces} * [and] \\ \n more:meta", "ünïcode/%2F", "}:x"]
    for thread_id in ids:
        put_chain(saver, thread_id, turns=1)
    with server.client() as client:
        client.delete(*_registries(server))
    assert {action.thread_id for action in repair(saver, dry_run=False)} == set(ids)
    assert {finding.thread_id for finding in verify(saver)} == set()
    assert len({found.config["configurable"]["thread_id"] for found in saver.list(None)}) == len(ids)


def test_times_to_live_that_are_missing_are_set(ours: OpenSaver, server: Room) -> None:
    put_chain(ours("a"), "t")
    keeping, saver = ours("a"), ours("a", ttl_seconds=1000)
    assert _kinds(saver, dry_run=False) == ["set times to live"]
    with server.client() as client:
        assert {0 < client.pttl(key) <= 1_000_000 for key in _keys(server)[:9] if client.exists(key)} == {True}
    keeping.persist("t")
    assert list(repair(saver)) == []


def test_what_a_dead_restore_staged_is_dropped_and_a_live_one_is_not(ours: OpenSaver, server: Room) -> None:
    saver = ours("a")
    put_chain(saver, "t")
    stored = saver._run(whole.dump_thread(saver._core, "t"))
    program = whole.load_thread(saver._core, "u", stored, key=b"")
    effect = next(program)
    for _ in range(3):
        effect = program.send(saver._run(_just(effect)))
    assert list(repair(saver, ["u"])) == []
    with server.client() as client:
        for key in _keys(server, "u"):
            client.pexpire(key, 3_000_000)
        assert [action.kind for action in repair(saver, ["u"], dry_run=False)] == ["drop staged leftovers"]
        assert client.exists(*_keys(server, "u")) == 0


def _just(effect: Any) -> Any:
    return (yield effect)


def test_every_registration_of_a_thread_that_is_gone_is_dropped_at_once(ours: OpenSaver, server: Room) -> None:
    saver, layout = ours("a"), Layout(f"{server.prefix}-a")
    shard, names = layout.registry(7), {f"gone {number}": number for number in range(2 * whole.NAMES_AT_ONCE + 1)}
    with server.client() as client:
        client.zadd(shard, names)
        for dry_run in (True, False):
            assert {action.thread_id for action in repair(saver, dry_run=dry_run)} == names.keys()
        assert not client.exists(shard)


def test_a_delete_that_stopped_half_way_is_finished(ours: OpenSaver, server: Room) -> None:
    saver = ours("a")
    put_chain(saver, "t")
    put_chain(saver, "gone")
    layout = Layout(f"{server.prefix}-a")
    with server.client() as client:
        client.delete(*_keys(server, "gone"))
        shard = layout.registry(layout.shard_of(b"gone"))
        assert list(repair(saver)) == [], "it may just be about to be written"
        client.zadd(shard, {b"gone": 1000})
        assert [(a.thread_id, a.done) for a in repair(saver)] == [("gone", False)]
        assert client.zscore(shard, b"gone") == 1000
        assert [(a.thread_id, a.kind) for a in repair(saver, dry_run=False)] == [("gone", "forget deleted thread")]
        assert client.zscore(shard, b"gone") is None
    assert_same_thread(saver, saver, "t")


def test_an_encrypted_thread_without_its_key_is_not_touched(ours: OpenSaver, server: Room) -> None:
    saver = ours("a", serde=EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef"))
    put_chain(saver, "t")
    with server.client() as client:
        client.delete(_keys(server)[0])
        (action,) = repair(saver, dry_run=False)
        assert (action.kind, action.done) == ("cannot mend", False)
        assert client.exists(_keys(server)[0]) == 0
    assert {finding.kind for finding in verify_thread(saver, "t")} >= {"key"}
