"""Turns are read in pages, from either end, lazily, at a known cost."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from langgraph_portable_checkpoint.errors import InvalidIdError
from tests.proxy import Proxy
from tests.saver.calls import Calls
from tests.saver.conftest import SaverFactory, calls
from tests.saver.test_counts import Growing
from tests.turns.scenes import PNG, Talk, answered, picture, play, thread_id_of
from tests.turns.shapes import outline

__all__ = ["calls"]
PAGE = 50
"""Turns that are read at once."""


def grown(saver: Any, turns: int) -> None:
    Growing(saver, Calls()).grow_to(turns, at_once=10)


@pytest.mark.parametrize("turns", [100, 1000])
def test_the_last_turn_costs_two_round_trips_however_long_the_thread_is(
    make_saver: SaverFactory, proxy: Proxy, calls: Calls, turns: int
) -> None:
    grown(make_saver(), turns)
    list(make_saver().turns("t", start=-1))  # the server has all scripts now
    reader = make_saver(proxy.url)
    calls.run(reader, "thread_info", "someone else's")
    proxy.reset()
    (last,) = _drain(calls, reader, start=-1)
    assert last.turn == turns - 1
    assert proxy.traffic.round_trips <= 2
    assert proxy.traffic.bytes_received < 6_000


def _drain(calls: Calls, saver: Any, **options: Any) -> list[Any]:
    return list(calls.drain(saver, "turns", "t", **options))


def test_all_turns_come_in_at_most_three_round_trips_a_page(
    make_saver: SaverFactory, proxy: Proxy, calls: Calls
) -> None:
    grown(make_saver(), 200)
    list(make_saver().turns("t", start=-1))
    reader = make_saver(proxy.url)
    calls.run(reader, "thread_info", "someone else's")
    proxy.reset()
    assert [turn.turn for turn in _drain(calls, reader)] == list(range(200))
    assert proxy.traffic.round_trips <= 3 * 200 // PAGE


def test_only_what_is_looked_at_is_read(make_saver: SaverFactory, proxy: Proxy) -> None:
    grown(make_saver(), 200)
    list(make_saver().turns("t", start=-1))
    reader = make_saver(proxy.url)
    assert reader.thread_info("someone else's") is None
    proxy.reset()
    assert [turn.turn for turn in itertools.islice(reader.turns("t"), 3)] == [0, 1, 2]
    assert proxy.traffic.round_trips <= 3


BOUNDS = [
    (0, None),
    (0, 0),
    (3, 9),
    (-4, None),
    (-4, -1),
    (0, -100),
    (110, None),
    (119, 500),
    (-500, 2),
    (50, 100),
    (49, 51),
]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("start", "stop"), BOUNDS)
def test_a_range_of_turns_is_a_slice(saver: Any, calls: Calls, start: int, stop: int | None, *, reverse: bool) -> None:
    grown(saver, 120)
    expected = list(range(120))[start:stop]
    found = [turn.turn for turn in _drain(calls, saver, start=start, stop=stop, reverse=reverse)]
    assert found == (expected[::-1] if reverse else expected)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("start", "stop"), [(0, None), (1, 3), (-2, None), (7, None)])
def test_a_range_of_derived_turns_is_a_slice_too(saver: Any, start: int, stop: int | None, *, reverse: bool) -> None:
    talk = play(saver, ["tools"])["tools"]
    head = talk.graph.get_state(talk.config).config["configurable"]["checkpoint_id"]
    options = {"start": start, "stop": stop, "reverse": reverse}
    thread_id = thread_id_of("tools")
    assert outline(saver, thread_id, checkpoint_id=head, **options) == outline(saver, thread_id, **options)


def test_media_are_in_the_blocks_or_named_by_them(saver: Any) -> None:
    Talk(saver, "t").ask(picture("look", PNG), answered("a dot"))
    block = next(saver.turns("t")).messages[0]["content"][1]
    assert len(block["base64"]) == (len(PNG) + 2) // 3 * 4
    named = next(saver.turns("t", media=False)).messages[0]["content"][1]
    assert named["media"]["size_bytes"] == len(PNG)
    assert not named.get("base64")


def test_asynchronous_reading_gives_the_same(saver: Any, calls: Calls) -> None:
    play(saver, ["odd"])
    assert [turn.messages for turn in calls.drain(saver, "turns", "odd")] == [t.messages for t in saver.turns("odd")]


def test_a_thread_that_is_not_there_has_no_turns(saver: Any, calls: Calls) -> None:
    assert _drain(calls, saver) == []
    assert _drain(calls, saver, start=-3) == []
    assert _drain(calls, saver, reverse=True) == []
    assert _drain(calls, saver, checkpoint_id="no such") == []
    assert calls.run(saver, "thread_info", "t") is None


@pytest.mark.parametrize("thread_id", [None, 7, "", "\ud800"])
def test_an_id_that_is_none_is_refused(saver: Any, thread_id: Any) -> None:
    with pytest.raises(InvalidIdError):
        list(saver.turns(thread_id))
    with pytest.raises(InvalidIdError):
        saver.thread_info(thread_id)


def test_threads_are_listed_in_pages_without_those_that_are_gone(saver: Any, calls: Calls) -> None:
    for number in range(30):
        Talk(saver, f"t{number}").ask("q", answered("a"))
    saver.delete_thread("t7")
    found = {info.thread_id: info for info in calls.drain(saver, "threads", page_size=4)}
    assert sorted(found) == sorted(f"t{number}" for number in range(30) if number != 7)
    assert {(info.turns, info.status) for info in found.values()} == {(1, "complete")}
