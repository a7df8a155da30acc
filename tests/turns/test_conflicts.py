"""A put whose parent is not the head: allowed, said aloud, or refused."""

from __future__ import annotations

import warnings

import pytest

from langgraph_portable_checkpoint.errors import BranchWarning, ConflictError
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
