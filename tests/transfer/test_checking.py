"""A healthy thread gives no finding; each kind of damage gives one that names it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_portable_checkpoint.errors import ThreadNotFoundError
from langgraph_portable_checkpoint.media.policy import MediaPolicy
from langgraph_portable_checkpoint.storage.layout import Layout
from langgraph_portable_checkpoint.storage.programs import whole
from langgraph_portable_checkpoint.transfer.checking import averify_thread, verify, verify_thread
from langgraph_portable_checkpoint.transfer.copying import copy_threads
from langgraph_portable_checkpoint.transfer.findings import Finding
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.graphs import SCENARIOS, Play
from tests.servers import Room
from tests.transfer.threads import OpenSaver, memory_with, opened, put_chain, put_zoo


@pytest.fixture
def ours(server: Room) -> Iterator[OpenSaver]:
    """Opens savers of ours."""
    with opened(server) as make:
        yield make


def _errors(found: list[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.severity == "error"]


def test_threads_of_every_kind_are_well(ours: OpenSaver) -> None:
    saver = ours()
    for name, scenario in SCENARIOS.items():
        scenario(Play(saver, Calls(), config={"configurable": {"thread_id": name}}))
    put_zoo(saver)
    assert _errors(list(verify(saver))) == []


def test_copied_and_encrypted_threads_are_well(ours: OpenSaver) -> None:
    plain = ours("a")
    sealed = ours("b", serde=EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef"))
    memory = memory_with("subgraph", "tool_loop", "delta_channel")
    for saver in (plain, sealed):
        copy_threads(memory, saver)
        assert _errors(list(verify(saver))) == []
        assert asyncio.run(averify_thread(saver, "subgraph")) == verify_thread(saver, "subgraph")


def test_pruned_and_forked_threads_are_well(ours: OpenSaver) -> None:
    saver = ours()
    put_chain(saver, "t", turns=9)
    saver.delete_for_runs(["r3"])
    saver.copy_thread("t", "u")
    saver.prune(["t"])
    assert list(verify(saver)) == []


def test_a_thread_that_is_not_there_is_an_error(ours: OpenSaver) -> None:
    with pytest.raises(ThreadNotFoundError):
        verify_thread(ours(), "nothing")


Damage = Callable[[Any, tuple[bytes, ...]], Any]


def _first_place(client: Any, keys: tuple[bytes, ...]) -> bytes:
    return min(client.hkeys(keys[2]))


def _flip(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def _alter_item(client: Any, keys: tuple[bytes, ...]) -> None:
    digest = min(client.hkeys(keys[1]))
    client.hset(keys[1], digest, _flip(client.hget(keys[1], digest)))


def _alter_record(client: Any, keys: tuple[bytes, ...]) -> None:
    place = _first_place(client, keys)
    client.hset(keys[2], place, client.hget(keys[2], place)[:-3])


def _cut_writes(client: Any, keys: tuple[bytes, ...]) -> None:
    place = min(client.hkeys(keys[4]))
    client.hset(keys[4], place, client.hget(keys[4], place)[:-1])


def _drop_shape(client: Any, keys: tuple[bytes, ...]) -> None:
    record = client.hget(keys[2], _first_place(client, keys))
    client.hdel(keys[1], record[4:20])


def _swap_refs(client: Any, keys: tuple[bytes, ...]) -> None:
    """Name a message where the head's record names a page."""
    place = max(place for place in client.hkeys(keys[2]) if place.startswith(b"\0"))
    record = client.hget(keys[2], place)
    client.hset(keys[2], place, record[:20] + record[36:52] + record[20:36] + record[52:])


def _expire_apart(client: Any, keys: tuple[bytes, ...]) -> None:
    for key in keys[:9]:
        client.pexpire(key, 100_000)
    client.pexpire(keys[1], 110_000)


DAMAGES: dict[str, tuple[str, Damage]] = {
    "an altered item": ("item", _alter_item),
    "a message for a page": ("item", _swap_refs),
    "a truncated record": ("record", _alter_record),
    "cut off writes": ("write", _cut_writes),
    "empty writes": ("write", lambda c, k: c.hset(k[4], min(c.hkeys(k[4])), b"")),
    "a missing item": ("missing item", _drop_shape),
    "an index without a checkpoint": ("index", lambda c, k: c.zrem(k[3], _first_place(c, k))),
    "a record without an index entry": ("index", lambda c, k: c.hdel(k[2], _first_place(c, k))),
    "a lost meta": ("key", lambda c, k: c.delete(k[0])),
    "lost items": ("key", lambda c, k: c.delete(k[1])),
    "lost checkpoints": ("key", lambda c, k: c.delete(k[2], k[3], k[4])),
    "one key that expires": ("time to live", lambda c, k: c.pexpire(k[1], 100_000)),
    "keys that expire one after the other": ("time to live", _expire_apart),
    "a time to live that is none": ("time to live", lambda c, k: c.hset(k[0], "ttl", "soon")),
    "a tombstone that stays": ("time to live", lambda c, k: c.set(k[9], "1")),
    "a lost set of runs": ("run index", lambda c, k: c.delete(k[8])),
    "a lost turn": ("turn log", lambda c, k: c.hdel(k[5], b"1")),
    "a foreign turn": ("turn log", lambda c, k: c.hset(k[5], b"0", c.hget(k[5], b"2"))),
    "a garbled turn": ("turn log", lambda c, k: c.hset(k[5], b"0", b"\xc1")),
    "a swapped blob": ("blob", lambda c, k: c.hset(k[6], c.hkeys(k[6])[0], b"other bytes")),
    "a lost blob": ("blob", lambda c, k: c.delete(k[6])),
    "a garbled media record": ("media record", lambda c, k: c.hset(k[7], c.hkeys(k[7])[0], b"\xc1")),
    "a record of the future": ("record", lambda c, k: c.hset(k[2], _first_place(c, k), b"\x93\x3f\xc4\x00\x90")),
}


@pytest.mark.parametrize(("kind", "damage"), DAMAGES.values(), ids=DAMAGES)
def test_damage_is_found_and_named(ours: OpenSaver, server: Room, kind: str, damage: Damage) -> None:
    saver = ours("a", media_policy=MediaPolicy(min_bytes=10))
    put_chain(saver, "t")
    picture = {"type": "image", "base64": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", "mime_type": "image/png"}
    state = {"messages": [HumanMessage([picture], id="h")]}
    saver.put(config("t", ns="pictures"), checkpoint(state), metadata(), {"messages": 1})
    assert _errors(verify_thread(saver, "t")) == []
    with server.client() as client:
        damage(client, Layout(f"{server.prefix}-a").thread("t"))
    found = _errors(verify_thread(ours("a"), "t"))
    assert kind in {finding.kind for finding in found}
    if kind == "missing item":
        assert all(finding.kind != "orphan items" for finding in verify_thread(ours("a"), "t"))
        missing = [finding.where for finding in found if finding.kind == kind]
        assert len(missing) == len(set(missing))
    assert all("question" not in finding.detail for finding in found)


def test_what_costs_nothing_but_space_is_a_note(ours: OpenSaver, server: Room) -> None:
    saver = ours("a")
    put_chain(saver, "behind")
    with server.client() as client:
        keys = Layout(f"{server.prefix}-a").thread("behind")
        client.hset(keys[0], "th", min(place for place in client.hkeys(keys[2]) if place.startswith(b"\0")))
    saver.put_writes(config("early", "1"), [("n", 1)], "task")
    put_chain(saver, "t")
    staged = whole.load_thread(saver._core, "copy", saver._run(whole.dump_thread(saver._core, "t")), key=b"")
    saver._run(_first(staged, 3))
    expected = {
        "behind": ("turn log", "it is not the head's"),
        "early": ("write", "their checkpoint is not stored"),
        "copy": ("key", "never came to its end"),
    }
    for name, (kind, words) in expected.items():
        [finding] = [finding for finding in verify_thread(saver, name) if finding.kind == kind]
        assert finding.severity == "note"
        assert words in finding.detail
        assert _errors(verify_thread(saver, name)) == []


def _first(program: Any, count: int) -> Any:
    """Carry out only so many effects of a program."""
    reply = None
    for _ in range(count):
        reply = yield program.send(reply)


def test_a_thread_that_goes_while_others_are_looked_at_is_left_out(ours: OpenSaver, server: Room) -> None:
    saver, names = ours("a"), {"t", "u"}
    for name in names:
        put_chain(saver, name)
        with server.client() as client:
            client.persist(Layout(f"{server.prefix}-a").thread(name)[0])
            client.pexpire(Layout(f"{server.prefix}-a").thread(name)[1], 100_000)
    looked_at = verify(saver)
    [gone] = names - {next(looked_at).thread_id}
    saver.delete_thread(gone)
    assert gone not in {finding.thread_id for finding in looked_at}
    with pytest.raises(ThreadNotFoundError):
        list(verify(saver, [gone]))


def test_a_thread_that_no_listing_finds_is_found(ours: OpenSaver, server: Room) -> None:
    saver = ours("a")
    put_chain(saver, "t")
    layout = Layout(f"{server.prefix}-a")
    with server.client() as client:
        client.delete(
            *(layout.registry(shard) for shard in range(64)), *(layout.run_index(shard) for shard in range(64))
        )
    assert {finding.kind for finding in verify_thread(saver, "t")} == {"registry", "run index"}
    assert list(verify(saver)) == []


def test_a_foreign_key_is_one_finding(ours: OpenSaver) -> None:
    saver = ours("a", serde=EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef"))
    put_chain(saver, "t")
    stranger = ours("a", serde=EncryptedSerializer.from_pycryptodome_aes(key=b"fedcba9876543210"))
    assert [finding.kind for finding in verify_thread(stranger, "t")] == ["digest key"]
