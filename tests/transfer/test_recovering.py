"""One conversation of several states: what is in it, in which order, and which summaries are not needed in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langgraph_portable_checkpoint.transfer.recovering import Recovered, Recovering

SUMMARY = {"lc_source": "summarization"}
IDS = st.lists(st.sampled_from(["s1", "s2", "s3", "a", "b", "c", "d", "e"]), unique=True, max_size=6)


def made(name: str) -> BaseMessage:
    """Make a message by its name: s* are system messages, S* summaries."""
    if name.startswith("s"):
        return SystemMessage(name, id=name)
    return HumanMessage(name, id=name, additional_kwargs=SUMMARY if name.startswith("S") else {})


def recovered(*states: str, steps: Sequence[Any] | None = None) -> Recovered:
    """Recover from states that are given oldest first, as names."""
    numbered = list(zip(steps or range(len(states)), states, strict=True))
    (step, newest), *older = reversed(numbered)
    recovering = Recovering([made(name) for name in newest.split()], step)
    for step, state in older:
        recovering.take([made(name) for name in state.split()], step)
    return recovering.result()


def names(found: Recovered) -> str:
    return " ".join(message["id"] if isinstance(message, dict) else message.id for message in found.messages)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        pytest.param(["a b c d", "c d e"], "a b c d e", id="trimmed"),
        pytest.param(["a b c d", "x c d"], "a b x c d", id="a note in the place of messages"),
        pytest.param(["a b c d", "x d"], "a b c x d", id="a rewritten question"),
        pytest.param(["a b c d", "x b y d"], "a x b c y d", id="all questions rewritten"),
        pytest.param(["a b c d", "c d a b"], "c d a b", id="put in another order"),
        pytest.param(["a b c d", "c d a"], "c d a b", id="put in another order, and one removed"),
        pytest.param(["a b c", "a b"], "a b c", id="the last one taken back"),
        pytest.param(["a b c", "a b", "a b d"], "a b c d", id="the last one said anew"),
        pytest.param(["a b c d", "x c d", "x c d e f", "y f"], "a b x c d e y f", id="twice"),
        pytest.param(["a b", ""], "a b", id="nothing left"),
        pytest.param(["", "a b"], "a b", id="nothing before"),
        pytest.param(["s1 a b c", "s1 c"], "s1 a b c", id="behind a system message that stays"),
        pytest.param(["a b c", "s1 s2 c"], "s1 s2 a b c", id="behind system messages that came later"),
        pytest.param(["s1 a b c", "s1 s2 c"], "s1 s2 a b c", id="behind one that stays and one that came"),
        pytest.param(["s1 a b", "s2 b c"], "s2 s1 a b c", id="behind a system message that was replaced"),
        pytest.param(["a s1 b", "s1 b"], "s1 a b", id="behind a system message that moved to the front"),
    ],
)
def test_what_is_recovered_stands_behind_what_it_followed(states: list[str], expected: str) -> None:
    assert names(recovered(*states)) == expected


@given(st.lists(IDS, min_size=1, max_size=5))
def test_the_newest_state_stays_in_its_order_and_nothing_is_missing(states: list[list[str]]) -> None:
    found = names(recovered(*[" ".join(state) for state in states])).split()
    newest = states[-1]
    assert [name for name in found if name in newest] == newest
    assert sorted(found) == sorted({name for state in states for name in state})


def test_only_what_the_newest_state_lacks_is_marked() -> None:
    marks = [isinstance(message, dict) and message["extras"] for message in recovered("a b", "b c").messages]
    assert marks == [{"recovered": True}, False, False]


def test_the_newest_words_of_a_message_count() -> None:
    recovering = Recovering([HumanMessage("now", id="a")], 1)
    recovering.take([HumanMessage("then", id="a")], 0)
    assert [message.content for message in recovering.result().messages] == ["now"]


def test_messages_without_an_id_are_told_apart_by_what_they_say() -> None:
    recovering = Recovering([HumanMessage("yes"), AIMessage("ok"), HumanMessage("yes")], 1)
    recovering.take([HumanMessage("hi"), AIMessage("ok"), HumanMessage("yes")], 0)
    found = [
        message["content"][0]["text"] if isinstance(message, dict) else message.content
        for message in recovering.result().messages
    ]
    assert found == ["hi", "yes", "ok", "yes"]


def test_an_id_that_a_state_has_twice_is_there_twice() -> None:
    assert names(recovered("a b", "b a b")) == "b a b"


@pytest.mark.parametrize(
    ("states", "steps", "expected"),
    [
        pytest.param(["a b c d", "S1 d"], None, "a b c d", id="all is there"),
        pytest.param(["a b c", "S1 c", "S1 c d", "S2 d"], None, "a b c d", id="a summary of a summary"),
        pytest.param(["S1 d"], None, "S1 d", id="nothing before it is there"),
        pytest.param(["S1 c", "S1 c d", "S2 d"], None, "S1 c d", id="what the first one stands for is not there"),
        pytest.param(["a b c d", "S1 d"], [0, 2], "a b c S1 d", id="a state between is not there"),
        pytest.param(["a b c", "S1 c", "S1 c d"], [0, 1, 3], "a b S1 c d", id="a later state is not there"),
        pytest.param(["a b c d", "S1 d"], [None, None], "a b c S1 d", id="steps that are not known"),
        pytest.param(["a b", "S1 b x"], None, "a S1 b x", id="came with more than the thread ever had"),
        pytest.param(["a b", "S1 a b"], None, "S1 a b", id="came in the place of nothing"),
        pytest.param(["a b", "S1 b", "b", "S1 b c"], None, "a S1 b c", id="came back with something else"),
        pytest.param(["S1 a b", "a b", "S1 b"], None, "a S1 b", id="was there before, and came back"),
    ],
)
def test_a_summary_stays_unless_all_that_it_stands_for_is_there(
    states: list[str], steps: list[Any] | None, expected: str
) -> None:
    found = recovered(*states, steps=steps)
    assert names(found) == expected
    summaries = {name for state in states for name in state.split() if name.startswith("S")}
    assert set(found.left_out) == summaries - set(expected.split())
