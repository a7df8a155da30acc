"""Data of other programs under our prefix and in our registries: whole-prefix work goes on beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from langgraph_portable_checkpoint.errors import CorruptRecordError
from langgraph_portable_checkpoint.storage.layout import THREAD_PARTS, Layout, run_digest
from langgraph_portable_checkpoint.transfer.checking import verify, verify_thread
from langgraph_portable_checkpoint.transfer.repairing import repair
from tests.servers import Room
from tests.transfer.threads import OpenSaver, assert_same_thread, contents, opened, put_chain


@pytest.fixture
def ours(server: Room) -> Iterator[OpenSaver]:
    """Opens savers of ours."""
    with opened(server) as make:
        yield make


Plant = Callable[[Any, Layout], Any]
RUN = run_digest("r0")

STRANGE: dict[str, Plant] = {
    "a registered name that is no text": lambda c, of: c.zadd(of.registry(of.shard_of(b"\xff")), {b"\xff": 1}),
    "a registered name in the wrong shard": lambda c, of: c.zadd(of.registry(3), {b"": 1, b"\xfe": 1, b"gone": 1}),
    "a run of a thread that is no text": lambda c, of: c.zadd(of.run_index(of.shard_of(RUN)), {RUN + b"\xfe": 0}),
    "a key whose id is no text": lambda c, of: c.set(of.thread("x")[0].replace(b"t:x", b"t:\xff"), "other"),
    "a key whose id is escaped otherwise": lambda c, of: c.set(of.thread("x")[0].replace(b"t:x", b"t:a b"), "other"),
    "a key of an empty id": lambda c, of: c.set(of.thread("")[1], "other"),
    "a key of another layout": lambda c, of: c.set(f"{of.prefix}:2:whatever", "other"),
    "a field of meta": lambda c, of: c.hset(of.thread("t")[0], b"\xff", b"other"),
}


@pytest.mark.parametrize("plant", STRANGE.values(), ids=STRANGE)
def test_strange_data_changes_nothing_for_the_threads_beside_it(ours: OpenSaver, server: Room, plant: Plant) -> None:
    saver = ours("a")
    for thread_id in ("t", "u"):
        put_chain(saver, thread_id)
    before, all_of = contents(saver, "t"), len(list(saver.list(None)))
    with server.client() as client:
        plant(client, Layout(f"{server.prefix}-a"))
    assert len(list(saver.list(None))) == all_of
    assert sorted(info.thread_id for info in saver.threads()) == ["t", "u"]
    assert {action.thread_id for action in repair(saver, dry_run=False)}.isdisjoint({"t", "u"})
    assert list(repair(saver)) == []
    assert list(verify(saver)) == []
    assert contents(saver, "t") == before
    saver.delete_for_runs(["r0"])
    assert len(list(saver.list(None))) < all_of


@pytest.mark.parametrize("part", THREAD_PARTS)
def test_a_key_of_another_type_is_reported_and_the_other_threads_are_looked_at(
    ours: OpenSaver, server: Room, part: str
) -> None:
    saver = ours("a")
    for thread_id in ("t", "u"):
        put_chain(saver, thread_id)
    layout = Layout(f"{server.prefix}-a")
    with server.client() as client:
        key = layout.thread("t")[THREAD_PARTS.index(part)]
        client.delete(key, layout.thread("u")[3])
        client.geoadd(key, (1, 1, "a shop")) if part != "index" else client.set(key, "other")
        stranger = client.dump(key)
        found = {(action.thread_id, action.kind) for action in repair(saver, dry_run=False)}
        assert client.dump(key) == stranger
    assert found == {("t", "cannot mend"), ("u", "index checkpoint")}
    if part not in ("gone", "lease"):
        (finding,) = verify_thread(saver, "t")
        assert (finding.kind, finding.severity) == ("key", "error")
    assert verify_thread(saver, "u") == []


@pytest.mark.parametrize("field", [b"tn", b"ttl"])
def test_a_number_of_meta_that_is_none_is_a_typed_error_or_has_no_effect(
    ours: OpenSaver, server: Room, field: bytes
) -> None:
    saver = ours("a")
    put_chain(saver, "t")
    with server.client() as client:
        client.hset(Layout(f"{server.prefix}-a").thread("t")[0], field, b"garbage")
    before = len(list(saver.list(None)))
    if field == b"tn":
        for read in (saver.thread_info, lambda t: list(saver.turns(t)), saver.interrupted_turn):
            with pytest.raises(CorruptRecordError):
                read("t")
    else:
        assert [finding.where for finding in verify_thread(saver, "t")] == ["meta"]
    put_chain(saver, "t", turns=1)
    assert len(list(saver.list(None))) > before
    list(repair(saver, dry_run=False))
    put_chain(saver, "u")
    assert_same_thread(saver, saver, "u")
