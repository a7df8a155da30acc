"""Selections keep turns whole, and system messages that lead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_portable_checkpoint.dialects.export import export_messages, lint
from langgraph_portable_checkpoint.dialects.selection import last_turns, place, token_budget, turn_range
from langgraph_portable_checkpoint.envelope.facts import fact_of_envelope
from langgraph_portable_checkpoint.envelope.turns import spans
from tests.dialects.histories import assistant, call, result, system, user
from tests.dialects.made import HISTORIES

THREE = [
    system("be brief"),
    user("one"),
    assistant(call("a")),
    result("a"),
    assistant("1"),
    user("two"),
    assistant("2"),
    user("three"),
    assistant(call("b")),
    result("b"),
    assistant("3"),
]


def indexes(placed: Sequence[Any]) -> list[int | None]:
    return [one.index for one in placed]


def words(envelopes: Sequence[Any]) -> int:
    return len(envelopes)


@given(HISTORIES)
def test_turns_are_those_of_the_turn_log(history: list[Any]) -> None:
    turns = [
        turn
        for turn, span in enumerate(spans([fact_of_envelope(envelope) for envelope in history]))
        for _ in range(span.start, span.stop)
    ]
    assert [placed.turn for placed in place(history)] == turns


def test_a_summary_does_not_open_a_turn() -> None:
    history = [*THREE, user("so far: ...", extras={"lc_source": "summarization"}), user("four")]
    assert [placed.turn for placed in place(history)][-2:] == [2, 3]


@pytest.mark.parametrize(
    ("count", "expected"),
    [(1, [0, 7, 8, 9, 10]), (2, [0, 5, 6, 7, 8, 9, 10]), (3, list(range(11))), (9, list(range(11))), (0, [0])],
)
def test_the_last_turns(count: int, expected: list[int]) -> None:
    assert indexes(last_turns(place(THREE), count)) == expected


def test_a_range_of_turns_counts_like_a_slice() -> None:
    placed = place(THREE)
    assert indexes(turn_range(placed, 1, 2)) == [0, 5, 6]
    assert indexes(turn_range(placed, -1)) == [0, 7, 8, 9, 10]
    assert indexes(turn_range(placed, 0, 1, keep_system=False)) == [0, 1, 2, 3, 4]
    assert indexes(turn_range(placed, 1, 2, keep_system=False)) == [5, 6]


@pytest.mark.parametrize(("limit", "expected"), [(4, 1), (5, 5), (6, 5), (7, 7), (11, 11), (0, 1)])
def test_a_budget_takes_whole_turns_from_the_end(limit: int, expected: int) -> None:
    assert len(token_budget(place(THREE), limit, count_tokens=words)) == expected


@given(HISTORIES, st.integers(0, 5))
def test_a_selection_never_splits_a_turn(history: list[Any], count: int) -> None:
    placed = place(history)
    chosen = last_turns(placed, count, keep_system=False)
    turns = {one.turn for one in chosen}
    assert chosen == [one for one in placed if one.turn in turns]


def test_an_export_of_the_last_turn_is_complete() -> None:
    export = export_messages(THREE, "openai-chat", turns=1)
    assert [message["role"] for message in export.payload["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert not lint(export.payload, "openai-chat")
    assert export.lossless


def test_an_export_within_a_budget() -> None:
    messages = export_messages(THREE, "openai-chat", max_tokens=7, count_tokens=words).payload["messages"]
    assert [message["content"] for message in messages if message["role"] == "user"] == ["two", "three"]


def test_a_budget_needs_a_counter() -> None:
    with pytest.raises(TypeError, match="count_tokens"):
        export_messages(THREE, "openai-chat", max_tokens=7)


def test_a_negative_budget_is_refused() -> None:
    with pytest.raises(ValueError, match="max_tokens=-1"):
        export_messages(THREE, "openai-chat", max_tokens=-1, count_tokens=words)
