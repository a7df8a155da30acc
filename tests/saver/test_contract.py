"""Corners of the contract that graphs reach seldom: what InMemorySaver does there is what is right."""

from __future__ import annotations

import asyncio
import inspect
import random
from collections import deque
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import ERROR, INTERRUPT, RESUME, SCHEDULED

from langgraph_portable_checkpoint import PortableRedisSaver
from langgraph_portable_checkpoint.errors import ThreadNotFoundError
from tests.proxy import Proxy
from tests.saver.calls import Calls
from tests.saver.checkpoints import chain, checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.model import ModelSaver
from tests.saver.same import assert_same, comparable

ODD_PUTS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "value without a version": ({"a": 1, "b": 2}, {"a": 1}, {"a": 1}),
    "version that the checkpoint does not have": ({"a": 1}, {"a": 1}, {"a": 1, "b": 1}),
    "version without a value": ({}, {"a": 1}, {"a": 1}),
    "nothing": ({}, {}, {}),
    "text versions": ({"a": 1}, {"a": "0001.5"}, {"a": "0001.5"}),
    "float versions": ({"a": 1}, {"a": 1.5}, {"a": 1.5}),
    "mixed versions": ({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": "2", "c": 3.0}, {"a": 1, "b": "2", "c": 3.0}),
    "many channels": (
        {f"c{n}": n for n in range(500)},
        {f"c{n}": 1 for n in range(500)},
        {f"c{n}": 1 for n in range(500)},
    ),
}


@pytest.mark.parametrize("name", ODD_PUTS)
def test_put_whose_parts_do_not_match(saver: Any, oracle: ModelSaver, calls: Calls, name: str) -> None:
    values, versions, new = ODD_PUTS[name]
    first, second = checkpoint(values, versions), checkpoint({"x": 1, **values}, {**versions, "x": 7})
    for each in (saver, oracle):
        put = calls.put(each, config("t"), first, metadata(), new)
        calls.put(each, put, second, metadata(1), {"x": 7})
    for made in (first, second):
        asked = config("t", made["id"])
        assert_same(comparable(calls.get_tuple(saver, asked)), comparable(oracle.get_tuple(asked)))


def test_checkpoint_keeps_what_other_versions_of_langgraph_put_into_it(
    saver: Any, oracle: ModelSaver, calls: Calls
) -> None:
    made: Any = {
        **checkpoint({"a": 1}),
        "v": 1,
        "pending_sends": [("x", {1})],
        "updated_channels": None,
        "new in 2.0": {"a": (1,)},
    }
    for each in (saver, oracle):
        calls.put(each, config("t"), made, {"source": "loop", "writes": {"n": {"a": [HumanMessage("x")]}}}, {"a": 1})
    ours, theirs = calls.get_tuple(saver, config("t")), oracle.get_tuple(config("t"))
    assert ours is not None
    assert theirs is not None
    assert_same(dict(sorted(ours.checkpoint.items())), dict(sorted(theirs.checkpoint.items())))
    assert_same(ours.metadata, theirs.metadata)


def test_metadata_of_the_config_is_merged(saver: Any, oracle: ModelSaver, calls: Calls) -> None:
    place = config("t")
    place["metadata"] = {"user": "ada\x00", "n": 1, "list": [1], "__private": 1, "langgraph_step": 3}
    place["configurable"] |= {"tenant": "acme", "flag": True, "object": object(), "__pregel_read": 1}
    for each in (saver, oracle):
        calls.put(each, place, checkpoint({}, checkpoint_id="1"), {"source": "loop", "text": "a\x00b"}, {})
    ours, theirs = calls.get_tuple(saver, config("t")), oracle.get_tuple(config("t"))
    assert ours is not None
    assert theirs is not None
    assert_same(dict(sorted(ours.metadata.items())), dict(sorted(theirs.metadata.items())))
    assert len(calls.list(saver, None, filter={"tenant": "acme", "flag": True})) == 1


def test_put_returns_the_config_of_what_was_put(saver: Any, calls: Calls) -> None:
    made = checkpoint({})
    place = {
        "configurable": {"thread_id": "t", "checkpoint_ns": "child", "checkpoint_id": None, "other": 1},
        "tags": ["x"],
    }
    assert calls.put(saver, place, made, {}, {}) == config("t", made["id"], ns="child")


BATCHES: dict[str, list[list[tuple[str, Any]]]] = {
    "plain writes stay as first written": [[("a", 1), ("b", 2)], [("a", 9), ("b", 9), ("c", 3)]],
    "special writes are replaced": [[(RESUME, [1])], [(RESUME, [1, 2])], [(ERROR, "e1")], [(ERROR, "e2")]],
    "mixed": [[("a", 1), (INTERRUPT, "i1"), ("b", 2)], [(INTERRUPT, "i2"), ("b", 9), ("c", 3), (SCHEDULED, None)]],
    "special twice in a batch": [[(ERROR, 1), (ERROR, 2), ("a", 3)]],
    "same channel many times": [[("a", number) for number in range(30)]],
    "empty batch": [[], [("a", 1)], []],
    "no values": [[("a", None), ("b", ""), ("c", b""), ("d", [])]],
}


@pytest.mark.parametrize("name", BATCHES)
def test_repeated_writes_of_a_task(
    saver: Any, make_saver: SaverFactory, oracle: ModelSaver, calls: Calls, name: str
) -> None:
    made = checkpoint({})
    for each in (saver, oracle):
        put = calls.put(each, config("t"), made, {}, {})
        for number, batch in enumerate(BATCHES[name]):
            for task_id in ("t2", "t1"):
                calls.put_writes(each, put, deque(batch), task_id, f"path {3 - number}")
    expected = comparable(oracle.get_tuple(put))
    assert_same(comparable(calls.get_tuple(saver, put)), expected)
    assert_same(comparable(calls.get_tuple(make_saver(), put)), expected)


def test_cancelled_calls_do_not_mix_up_answers(make_saver: SaverFactory, proxy: Proxy) -> None:
    """A cancelled call may leave its answer on the connection; no later call may take it for its own."""
    saver, moments = make_saver(proxy.url), random.Random(3)
    for number in range(10):
        chain(Calls(), saver, f"t{number}", 1 + number)

    async def read(number: int) -> None:
        found = await saver.aget_tuple(config(f"t{number}"))
        assert found.config["configurable"]["thread_id"] == f"t{number}"
        assert found.checkpoint["channel_values"] == {"n": number}

    async def main() -> None:
        proxy.fault.delay_seconds = 0.002
        for _ in range(60):
            tasks = [asyncio.create_task(read(moments.randrange(10))) for _ in range(8)]
            await asyncio.sleep(moments.uniform(0, 0.01))
            for task in tasks[::2]:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert {type(each) for each in ended} <= {type(None), asyncio.CancelledError}
        proxy.fault.delay_seconds = 0
        await asyncio.gather(*(read(number) for number in range(10)))

    asyncio.run(main())


def test_cancelled_put_is_there_whole_or_not_at_all(make_saver: SaverFactory, proxy: Proxy) -> None:
    saver, moments = make_saver(proxy.url), random.Random(5)

    async def main() -> None:
        proxy.fault.delay_seconds = 0.002
        place = config("t")
        for step in range(40):
            messages = [HumanMessage(f"{number}", id=f"{number}") for number in range(step + 1)]
            made = checkpoint({"messages": messages, "n": step}, dict.fromkeys(("messages", "n"), step + 1))
            task = asyncio.create_task(saver.aput(place, made, metadata(step), made["channel_versions"]))
            await asyncio.sleep(moments.uniform(0, 0.008))
            task.cancel()
            ended = (await asyncio.gather(task, return_exceptions=True))[0]
            place = place if isinstance(ended, BaseException) else ended

    asyncio.run(main())
    proxy.fault.delay_seconds = 0
    for found in make_saver().list(config("t")):
        assert len(found.checkpoint["channel_values"]["messages"]) == found.checkpoint["channel_values"]["n"] + 1


WITHOUT_A_SERVER = {"from_url", "embedded", "get_next_version", "with_allowlist"}


def test_whatever_asks_the_server_has_an_awaited_twin() -> None:
    names = {name for name, value in inspect.getmembers(PortableRedisSaver, callable) if not name.startswith("_")}
    awaited = {name for name in names if name[0] == "a" and name[1:] in names}
    assert {name for name in names - awaited if f"a{name}" not in awaited} == WITHOUT_A_SERVER


def test_a_threads_life_and_size_are_told_by_either_half(saver: Any, make_saver: SaverFactory, calls: Calls) -> None:
    place = calls.put(saver, config("t"), checkpoint({"messages": [HumanMessage("hi")]}), metadata(), {"messages": 1})
    assert calls.run(saver, "expire", "t", 500)
    assert saver.thread_info("t").ttl_seconds == pytest.approx(500, abs=60)
    assert calls.run(saver, "persist", "t")
    assert saver.thread_info("t").persistent
    assert not calls.run(saver, "persist", "unknown")
    assert calls.run(saver, "persistence_report", "t") == saver.persistence_report(
        saver.get_tuple(place).checkpoint["channel_values"]
    )
    assert calls.run(saver, "checkpoint_of_turn", "t", 0) == place
    for name, args in (("persistence_report", ("unknown",)), ("checkpoint_of_turn", ("t", 7))):
        with pytest.raises(ThreadNotFoundError):
            calls.run(saver, name, *args)
