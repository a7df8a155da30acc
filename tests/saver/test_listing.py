"""`list`: newest first over everything, in pages without a cap, with filters that only look at data."""

from __future__ import annotations

import time
from typing import Any

import pytest

from langgraph_portable_checkpoint.errors import WrongServerError
from tests.saver.calls import Calls
from tests.saver.checkpoints import chain, checkpoint, config, metadata, new_id
from tests.saver.conftest import SaverFactory
from tests.saver.model import ModelSaver
from tests.saver.same import assert_same


def _ids(found: Any) -> list[str]:
    return [each.checkpoint["id"] for each in found]


def test_all_threads_are_listed_newest_first(saver: Any, make_saver: SaverFactory, calls: Calls) -> None:
    """Puts go round the threads, so that thread by thread would be another order."""
    made = []
    for step in range(3):
        for number in range(120):
            put = calls.put(saver, config(f"thread {number}"), checkpoint({"n": step}), metadata(step), {"n": 1})
            made.append(put["configurable"]["checkpoint_id"])
    assert _ids(calls.list(make_saver(), None)) == made[::-1]
    assert _ids(calls.list(make_saver(), None, limit=7)) == made[:-8:-1]
    before = {"configurable": {"checkpoint_id": made[200], "thread_id": "thread 0"}}
    assert _ids(calls.list(make_saver(), None, before=before, limit=150)) == made[50:200][::-1]
    assert len(calls.list(make_saver(), None, filter={"step": 1})) == 120


def test_long_thread_is_listed_whole(saver: Any, calls: Calls) -> None:
    made = [put["configurable"]["checkpoint_id"] for put in chain(calls, saver, "t", 450)]
    assert _ids(calls.list(saver, config("t"))) == made[::-1]
    assert _ids(calls.list(saver, config("t"), limit=230)) == made[:-231:-1]


def test_put_during_a_listing_neither_repeats_nor_loses(saver: Any) -> None:
    made = [put["configurable"]["checkpoint_id"] for put in chain(Calls(), saver, "t", 250)]
    listing, seen = saver.list(config("t")), []
    for number, found in enumerate(listing):
        seen.append(found.checkpoint["id"])
        if number % 50 == 0:
            chain(Calls(), saver, "t", 1)
    assert seen == made[::-1]


def test_listing_is_lazy(saver: Any) -> None:
    chain(Calls(), saver, "t", 5)
    assert next(iter(saver.list(None))).metadata["step"] == 4
    assert hasattr(saver.list(None), "__next__")


def test_namespace_missing_is_every_namespace_and_empty_is_the_root(saver: Any, calls: Calls) -> None:
    for ns in ("", "child", "child:1|x", "chil"):
        chain(calls, saver, "t", 2, ns=ns)
    assert len(calls.list(saver, config("t", ns=None))) == 8
    for ns in ("", "child", "chil"):
        assert len(calls.list(saver, config("t", ns=ns))) == 2
    assert _ids(calls.list(saver, config("t", ns=None))) == sorted(
        _ids(calls.list(saver, config("t", ns=None))), reverse=True
    )


def test_before_is_an_exclusive_bound_known_or_not(saver: Any, calls: Calls) -> None:
    made = [put["configurable"]["checkpoint_id"] for put in chain(calls, saver, "t", 5)]
    assert _ids(calls.list(saver, config("t"), before=config("t", made[2]))) == made[:2][::-1]
    assert _ids(calls.list(saver, config("t"), before=config("t", new_id()))) == made[::-1]
    assert _ids(calls.list(saver, config("t"), before=config("t", "0"))) == []
    assert _ids(calls.list(saver, config("t"), before=config("t"))) == made[::-1]
    assert _ids(calls.list(saver, config("t", made[1]), before=config("t", made[2]))) == made[1:2]
    assert _ids(calls.list(saver, config("t", made[2]), before=config("t", made[2]))) == []


METADATA: list[dict[str, Any]] = [
    {"user": "ada", "n": 2, "tags": ["a", "b"], "nested": {"a": {"b": 1}}},
    {"user": "ada", "n": 3, "flag": True, "none": None},
    {"user": "bob", "n": 2.5, "flag": False, "text": "literal \\u0000 text", ")|(@x:{*}": "odd"},
    {"user": "*", "tags": ["a"], "nested": {"a": {"b": 2}}, "$where": "1", "'; DROP": '"'},
]
FILTERS: list[dict[str, Any]] = [
    *(
        {"user": "ada"},
        {"user": "ada", "n": 3},
        {"user": "a*"},
        {"user": "*"},
        {"n": 2.5},
        {"tags": ["a", "b"]},
        {"tags": "a"},
    ),
    *(
        {"nested": {"a": {"b": 1}}},
        {"nested": {"a": {}}},
        {"flag": True},
        {"flag": False},
        {"none": None},
        {"missing": 1},
    ),
    *(
        {"text": "literal \\u0000 text"},
        {")|(@x:{*}": "odd"},
        {"$where": "1"},
        {"'; DROP": '"'},
        {"user": {"$ne": ""}},
        {},
    ),
    *({"source": "loop"}, {"source": "loop", "missing": "x"}, {"user": ["ada"]}, {"parents": {}}),
]


@pytest.mark.parametrize("wanted", FILTERS, ids=repr)
def test_filter_compares_any_key_exactly(saver: Any, oracle: ModelSaver, calls: Calls, wanted: dict[str, Any]) -> None:
    for number, more in enumerate(METADATA * 2):
        for each, made in (
            (saver, checkpoint({}, checkpoint_id=f"{number}")),
            (oracle, checkpoint({}, checkpoint_id=f"{number}")),
        ):
            calls.put(each, config(f"t{number % 3}"), made, metadata(number, **more), {})
    for limit in (None, 1):
        found = [each.metadata for each in calls.list(saver, None, filter=wanted, limit=limit)]
        assert_same(found, [each.metadata for each in oracle.list(None, filter=wanted, limit=limit)])


def test_the_same_put_twice_is_listed_once(saver: Any, calls: Calls) -> None:
    made = checkpoint({"n": 1})
    for _ in range(2):
        calls.put(saver, config("t"), made, metadata(), {"n": 1})
    assert len(calls.list(saver, config("t"))) == 1


def test_head_is_the_highest_id_not_the_last_put(saver: Any, make_saver: SaverFactory, calls: Calls) -> None:
    early, late = new_id(), new_id()
    for checkpoint_id in (late, early):
        calls.put(
            saver, config("t"), checkpoint({"id": checkpoint_id}, checkpoint_id=checkpoint_id), metadata(), {"id": 1}
        )
    for each in (saver, make_saver()):
        found = calls.get_tuple(each, config("t"))
        assert found is not None
        assert found.checkpoint["id"] == late
        assert _ids(calls.list(each, config("t"))) == [late, early]


def test_listing_drops_old_registrations_of_threads_that_are_gone(
    saver: Any, make_saver: SaverFactory, calls: Calls
) -> None:
    layout = saver._core.layout
    chain(calls, saver, "t", 1)
    old, young = layout.registry(layout.shard_of(b"old")), layout.registry(layout.shard_of(b"young"))
    with make_saver.room.client() as client:
        client.zadd(old, {"old": 1000})
        client.zadd(young, {"young": time.time() * 1000})
        assert len(calls.list(saver, None)) == 1
        assert client.zscore(old, "old") is None
        assert client.zscore(young, "young") is not None, "its first put may be under way"


def test_listing_that_meets_a_key_of_something_else_says_so(saver: Any, make_saver: SaverFactory, calls: Calls) -> None:
    chain(calls, saver, "t", 1)
    with make_saver.room.client() as client:
        client.set(saver._core.layout.thread("t")[0], "not ours")
    with pytest.raises(WrongServerError, match="'t'"):
        calls.list(saver, None)
