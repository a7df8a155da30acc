"""A put whose parent is not the head: allowed, said aloud, or refused."""

from __future__ import annotations

import warnings

import pytest

from langgraph_portable_checkpoint.errors import BranchWarning, ConflictError
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.turns.scenes import Talk, answered
from tests.turns.shapes import head_of, outline


def _branch(talk: Talk) -> None:
    early = next(s for s in talk.graph.get_state_history(talk.config) if len(s.values.get("messages", [])) == 2)
    talk.ask("other", answered("way"), config=early.config)


def _talk(make_saver: SaverFactory, on_conflict: str) -> Talk:
    talk = Talk(make_saver(on_conflict=on_conflict), "t")
    talk.ask("one", answered("1"))
    talk.ask("two", answered("2"))
    return talk


def test_a_branch_is_allowed_by_default_and_nothing_is_said(make_saver: SaverFactory) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        talk = _talk(make_saver, "allow")
        _branch(talk)
    assert len(outline(talk.graph.checkpointer, "t")) == 2


def test_a_branch_is_said_aloud_under_warn_and_stored(make_saver: SaverFactory) -> None:
    talk = _talk(make_saver, "warn")
    with pytest.warns(BranchWarning, match="'t'.*branches"):
        _branch(talk)
    assert outline(talk.graph.checkpointer, "t")[1] == ("complete", ["other", "way"])


def test_ordinary_turns_are_not_taken_for_branches_under_warn(make_saver: SaverFactory) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", BranchWarning)
        talk = _talk(make_saver, "warn")
        talk.update(note="n")
        Talk(make_saver(on_conflict="warn"), "t").ask("three", answered("3"))
    assert len(outline(talk.graph.checkpointer, "t")) == 3


def test_a_branch_is_refused_under_raise_and_nothing_is_stored(make_saver: SaverFactory) -> None:
    talk = _talk(make_saver, "raise")
    before, head = outline(talk.graph.checkpointer, "t"), head_of(talk)
    with pytest.raises(ConflictError, match="head of thread 't'"):
        _branch(talk)
    assert (outline(talk.graph.checkpointer, "t"), head_of(talk)) == (before, head)


def test_a_put_may_be_repeated_under_raise(make_saver: SaverFactory) -> None:
    """As after an answer that got lost."""
    saver, place = make_saver(on_conflict="raise"), config("t")
    for number in range(3):
        put = (place, checkpoint({"n": number}, {"n": number + 1}), metadata(number), {"n": number + 1})
        places = [saver.put(*put) for _ in range(2)] + [make_saver(on_conflict="raise").put(*put)]
        place = places[0]
    assert [found.metadata["step"] for found in saver.list(config("t"))] == [2, 1, 0]


def test_other_namespaces_are_no_branches_under_raise(make_saver: SaverFactory) -> None:
    saver, heads = make_saver(on_conflict="raise"), {}
    namespaces = ["", "a", "a\0", "a\0b", "a\1", "a|b", "b"]
    for step in range(2):
        for ns in (*namespaces, *reversed(namespaces)):
            heads[ns] = saver.put(heads.get(ns, config("t", ns=ns)), checkpoint({}), metadata(step), {})
    for ns in namespaces:
        with pytest.raises(ConflictError):
            saver.put(config("t", ns=ns), checkpoint({}), metadata(), {})
        assert saver.get_tuple(config("t", ns=ns)).config == heads[ns]
