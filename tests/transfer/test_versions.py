"""Threads with numbers for versions go on in savers that make texts, branches and all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_portable_checkpoint.saver import PortableRedisSaver
from langgraph_portable_checkpoint.transfer.copying import copy_threads
from langgraph_portable_checkpoint.transfer.versions import _text, makes_texts
from tests.cli.threads import graph_on, talk
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.same import comparable, difference
from tests.servers import Room
from tests.transfer.threads import OpenSaver, opened, play, put_chain, sqlite

MAKERS: list[Callable[[], Any]] = [InMemorySaver, sqlite]


@pytest.fixture
def ours(server: Room) -> Iterator[OpenSaver]:
    """Opens savers of ours."""
    with opened(server) as make:
        yield make


def _values(saver: Any, thread_id: str) -> dict[Any, Any]:
    """Read a thread but for its versions."""
    found = {}
    for each in saver.list({"configurable": {"thread_id": thread_id}}):
        made = comparable(each)
        assert made is not None
        made["writes"] = sorted(made["writes"], key=lambda write: write[0])
        made["checkpoint"].update(channel_versions=None, versions_seen=None)
        found[made["config"]["checkpoint_ns"], made["config"]["checkpoint_id"]] = made
    return dict(sorted(found.items()))


@pytest.mark.parametrize("make", MAKERS)
def test_a_graph_goes_on_where_versions_are_texts(ours: OpenSaver, make: Any) -> None:
    source, target, place = ours(), make(), {"configurable": {"thread_id": "t"}}
    talk(source, "t", "one", "wait")
    report = copy_threads(source, target)
    assert (report.respelled, report.differences) == (1, [])
    for saver in (source, target):
        graph_on(saver).invoke(Command(resume=True), place)
        state = graph_on(saver).invoke({"messages": [("user", "more")]}, place)
        assert [m.text for m in state["messages"]] == ["one", "echo one", "wait", "echo wait", "more", "echo more"]


@pytest.mark.parametrize("make", MAKERS)
def test_all_that_graphs_do_arrives_with_its_branches(ours: OpenSaver, make: Any) -> None:
    source, target = ours(), make()
    names = play(source)
    report = copy_threads(source, target)
    assert (report.respelled, report.differences) == (len(names), [])
    for name in names:
        assert difference(_values(target, name), _values(source, name)) is None


def test_nodes_have_seen_the_same_versions_as_before(ours: OpenSaver) -> None:
    source, target = ours(), InMemorySaver()
    play(source, ["time_travel", "tool_loop"])
    copy_threads(source, target)
    for name in ("time_travel", "tool_loop"):
        pairs = [(each, target.get_tuple(each.config)) for each in source.list({"configurable": {"thread_id": name}})]
        assert pairs
        for there, here in pairs:
            assert here is not None
            assert _unseen(here.checkpoint) == _unseen(there.checkpoint)


def _unseen(checkpoint: Any) -> set[tuple[str, str, str]]:
    """Say which nodes have yet to see which channels, as LangGraph finds out, and which see the version of now."""
    versions = checkpoint["channel_versions"]
    found = set()
    for node, seen in checkpoint["versions_seen"].items():
        for channel, version in seen.items():
            if channel in versions:
                is_new = versions[channel] > version
                found.add((node, channel, "new" if is_new else "now" if versions[channel] == version else "later"))
    return found


@pytest.mark.parametrize("ns", ["", "sub:1"])
def test_a_version_keeps_its_text_until_it_changes_and_branches_have_their_own(ours: OpenSaver, ns: str) -> None:
    source, target = ours(), InMemorySaver()
    first = source.put(config("t", ns=ns), checkpoint({"a": 1, "n": 1}), metadata(), {"a": 1, "n": 1})
    for value in (2, 3):
        changed = checkpoint({"a": 1, "n": value}, {"a": 1, "n": 2})
        source.put(first, changed, metadata(1), {"n": 2})
    assert copy_threads(source, target).equal
    right, left, root = [each.checkpoint["channel_versions"] for each in target.list(config("t", ns=ns))]
    assert right["a"] == left["a"] == root["a"]
    assert len({right["n"], left["n"], root["n"]}) == 3


def test_a_second_copy_finds_the_texts_that_the_first_has_made(ours: OpenSaver) -> None:
    source, target = ours(), InMemorySaver()
    put_chain(source, "t")
    assert copy_threads(source, target, verify=False).copied == 1
    again = copy_threads(source, target)
    assert (again.unchanged, again.checkpoints) == (1, 0)
    talk(source, "t", "more")
    assert copy_threads(source, target, verify=False).completed == 1
    fresh = InMemorySaver()
    copy_threads(source, fresh)
    versions = [
        {each.checkpoint["id"]: each.checkpoint["channel_versions"] for each in saver.list(None)}
        for saver in (target, fresh)
    ]
    assert versions[0] == versions[1]


def test_texts_come_home_as_they_are(ours: OpenSaver) -> None:
    source, between, back = ours("a"), InMemorySaver(), ours("b")
    talk(source, "t", "one", "two")
    copy_threads(source, between)
    report = copy_threads(between, back)
    assert (report.respelled, report.differences) == (0, [])
    state = graph_on(back).invoke({"messages": [("user", "more")]}, {"configurable": {"thread_id": "t"}})
    assert len(state["messages"]) == 6


def test_only_savers_that_make_texts_are_told_apart(ours: OpenSaver) -> None:
    saver: PortableRedisSaver = ours()
    assert [makes_texts(each) for each in (saver, InMemorySaver(), sqlite())] == [False, True, True]


@given(st.lists(st.one_of(st.integers(0, 10**9), st.floats(0, 10**6, allow_nan=False)), min_size=2, max_size=2))
def test_texts_sort_as_their_numbers_do(numbers: list[float]) -> None:
    low, high = sorted(numbers)
    if high - low > 1e-9:
        assert _text(low, "a") < _text(high, "b")
    assert int(_text(low, "a").split(".")[0]) == int(low)
