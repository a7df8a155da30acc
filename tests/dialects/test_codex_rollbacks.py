"""Rollbacks over compactions in Codex rollouts: what a turn that is taken back had compacted is there again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_portable_checkpoint.dialects.codex import turns
from tests.dialects.codex_records import exports, item, read, said
from tests.dialects.test_codex_turns import CONTEXTS, back, compacted, meta, steps

SUM = f"{turns._SUMMARY} ...\n"


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "event_msg", "payload": {"type": kind, **fields}}


def started(name: str) -> list[Any]:
    return [event("task_started", turn_id=name), {"type": "turn_context", "payload": {"turn_id": name, "model": "m"}}]


def turn(name: str, *body: Any, early: tuple[Any, ...] = ()) -> list[Any]:
    asked = [said("user", f"USER {name}"), event("user_message", message=f"USER {name}")]
    return [*started(name), *early, *asked, *body, event("task_complete", turn_id=name)]


def alone(name: str, record: Any) -> list[Any]:
    return [event("task_started", turn_id=name), record, event("task_complete", turn_id=name)]


def call(name: str) -> list[Any]:
    made = item(type="function_call", name="shell", arguments="{}", call_id=name)
    return [made, item(type="function_call_output", call_id=name, output=f"out {name}")]


def answer(name: str) -> dict[str, Any]:
    return said("assistant", f"ANSWER {name}")


def replaced(*texts: str) -> dict[str, Any]:
    return compacted("", replacement_history=[said("user", text)["payload"] for text in texts])


KINDS: dict[str, Callable[..., Any]] = {
    "with its history": replaced,
    "with a summary alone": lambda *texts: compacted(texts[-1]),
}


def words(records: list[Any]) -> list[str]:
    """What is said, called and given, in order."""
    blocks = [block for one in read(records)[0] for block in one["content"]]
    return [block["text"] if block["type"] == "text" else block["id"] for block in blocks]


def told(records: list[Any]) -> list[tuple[str, str, str]]:
    return [(loss.rule, loss.path, loss.action) for loss in read(records)[1] if loss.rule in ("CX3", "CX5")]


FIRST = turn("t1", *call("c1"), answer("t1"))
SAID_FIRST = ["USER t1", "c1", "out c1", "ANSWER t1"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_compaction_in_a_turn_that_is_taken_back_goes_with_it(kind: str) -> None:
    record = KINDS[kind]("USER t1", "USER t2", f"{SUM}did t1 and half of t2")
    second = turn("t2", *call("c2"), record, answer("t2"))
    records = [*FIRST, *second, back(1), *turn("t3", answer("t3"))]
    assert words(records) == [*SAID_FIRST, "USER t3", "ANSWER t3"]
    assert told(records) == [
        ("CX5", "line 15", "left out a compaction that the user took back"),
        ("CX5", "line 18", "left out 4 messages that the user took back"),
    ]
    exports(records)


@pytest.mark.parametrize("kind", KINDS)
def test_a_compaction_before_the_words_of_a_turn_goes_with_it(kind: str) -> None:
    early = (KINDS[kind]("USER t1", f"{SUM}did t1"), said("user", CONTEXTS[0]))
    records = [*FIRST, *turn("t2", answer("t2"), early=early), back(1), *turn("t3")]
    assert words(records) == [*SAID_FIRST, "USER t3"]
    assert "CX3" not in {rule for rule, _, _ in told(records)}


@pytest.mark.parametrize(("kind", "left"), [*zip(KINDS, (6, 4), strict=True)])
def test_a_compaction_between_turns_goes_with_the_turn_before_it(kind: str, left: int) -> None:
    summary = f"{SUM}did t1 and t2"
    compaction = alone("c", KINDS[kind]("USER t1", "USER t2", summary))
    records = [*FIRST, *turn("t2", answer("t2")), *compaction, *turn("t3", answer("t3"))]
    assert words([*records, back(2), *turn("t4")]) == [*SAID_FIRST, "USER t4"]
    assert words([*records, back(1), back(1), *turn("t4")]) == [*SAID_FIRST, "USER t4"]
    assert words([*records, back(1), *turn("t4")]) == ["USER t1", "USER t2", summary, "USER t4"]
    assert told([*records, back(1)])[0] == ("CX3", "line 16", f"left out {left} messages")
    assert words([*records, back(9), *turn("t4")]) == ["USER t4"]


def test_words_that_came_while_a_turn_ran_are_taken_back_alone() -> None:
    """As Codex counts: each of the user's messages is a turn of its own."""
    record = replaced("USER t1", "USER t2", f"{SUM}did half of t2")
    steered = turn("t2", record, said("user", "faster"), answer("t2"))
    assert words([*FIRST, *steered, back(1)]) == ["USER t1", "USER t2", f"{SUM}did half of t2"]
    assert words([*FIRST, *steered, back(2)]) == SAID_FIRST


def test_an_instruction_of_another_agent_is_taken_back_with_its_compaction() -> None:
    told = json.dumps({"author": "a", "recipient": "b", "content": "go", "trigger_turn": True})
    apart = {"type": "inter_agent_communication", "payload": {"author": "a", "recipient": "b", "content": "go"}}
    for record in (said("assistant", told), item(type="agent_message", content=[]), apart):
        before = [*FIRST, *alone("c", replaced("USER t1", f"{SUM}x"))]
        turn_of_agent = [event("turn_started"), replaced("USER t1", f"{SUM}y"), record, answer("t2")]
        assert words([*before, *turn_of_agent, back(1)]) == ["USER t1", f"{SUM}x"]


def test_an_item_that_cannot_be_read_begins_no_turn() -> None:
    unreadable = item(type="message", role="user", content=["?"])
    second = turn("t2", replaced("USER t1", "USER t2", f"{SUM}x"), unreadable, answer("t2"))
    assert words([*FIRST, *second, back(1)]) == SAID_FIRST


def test_what_a_file_begins_with_has_nothing_before_it_to_go_back_to() -> None:
    """Codex may write a file anew from its last compaction on."""
    base = replaced("USER t1", "USER t2", "USER t3")
    for begin in ([base], alone("c", base), [*started("t4"), base]):
        records = [meta("s", "BASE"), *begin, *turn("t4", answer("t4"))]
        assert words([*records, back(1)]) == ["BASE", "USER t1", "USER t2", "USER t3"]
        assert words([*records, back(2)]) == ["BASE", "USER t1", "USER t2"]


def test_turns_that_no_record_starts_are_taken_from_what_a_compaction_left() -> None:
    unmarked = [said("user", "one"), answer("1"), said("user", "two"), replaced("one", "two", f"{SUM}x")]
    assert words([*unmarked, *turn("t3", answer("t3")), back(1)]) == ["one", "two", f"{SUM}x"]
    assert words([*unmarked, *turn("t3", answer("t3")), back(2)]) == ["one", "two"]


Entry = tuple[str, str]


@dataclass
class Model:
    """A history that is copied before each turn, so that a rollback puts the copy back."""

    records: list[Any] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    standing: set[int] = field(default_factory=set)
    all: set[int] = field(default_factory=set)
    copies: list[tuple[list[Entry], set[int]]] = field(default_factory=list)
    floor: tuple[list[Entry], set[int]] | None = None
    count: int = 0

    def copy(self) -> tuple[list[Entry], set[int]]:
        return [*self.entries], {*self.standing}

    def add(self, kind: str, text: str) -> None:
        self.entries.append((kind, text))

    def name(self) -> str:
        self.count += 1
        return str(self.count)

    def compact(self, kind: str) -> None:
        summary = f"{SUM}{self.name()}"
        users = [text for said_by, text in self.entries if said_by == "user"]
        self.entries = [*(("user", text) for text in users), ("summary", summary)]
        self.records.append(KINDS[kind](*users, summary))
        self.standing.add(len(self.records))
        self.all.add(len(self.records))

    def turn(self, early: str | None, body: list[str]) -> None:
        kept, name = self.copy(), self.name()
        if early and self.floor is None:
            self.compact(early)
            kept = self.copy()
        self.records += started(name)
        if early and self.floor is not None:
            self.compact(early)
        self.floor = self.floor or kept
        self.copies.append(kept)
        self.records.append(said("user", name))
        self.add("user", name)
        for step in body:
            if step in KINDS:
                self.compact(step)
                continue
            own = self.name()
            self.records += call(own) if step == "call" else [said("assistant", own)]
            self.add("model", own)
            if step == "call":
                self.add("tool", f"out {own}")

    def alone(self, kind: str) -> None:
        self.records.append(event("task_started"))
        self.compact(kind)

    def roll_back(self, turns: int) -> None:
        self.records.append(back(turns))
        if turns <= len(self.copies):
            self.entries, self.standing = self.copies[-turns]
        elif self.floor:
            self.entries, self.standing = self._of_floor(self.floor, turns - len(self.copies))
            self.floor = self.copy()
        elif self.entries:
            self.entries = self._of_floor(self.copy(), turns)[0]
        del self.copies[-turns:]
        self.entries, self.standing = self.copy()

    def _of_floor(self, floor: tuple[list[Entry], set[int]], turns: int) -> tuple[list[Entry], set[int]]:
        begins = [at for at, (kind, _) in enumerate(floor[0]) if kind in ("user", "summary")]
        return floor[0][: begins[-turns] if turns <= len(begins) else 0], floor[1]


STEPS = st.one_of(
    st.tuples(
        st.just("turn"),
        st.none() | st.sampled_from([*KINDS]),
        st.lists(st.sampled_from(["call", "answer", *KINDS]), max_size=3),
    ),
    st.tuples(st.just("alone"), st.sampled_from([*KINDS])),
    st.tuples(st.just("roll_back"), st.integers(1, 4)),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(STEPS, max_size=10))
def test_a_rollback_gives_the_history_that_was_there_before_the_turn(program: list[Any]) -> None:
    model = Model()
    for name, *arguments in program:
        getattr(model, name)(*arguments)
    if not model.records:
        return
    assert words(model.records) == [text for _, text in model.entries]
    losses = told(model.records)
    assert {f"line {number}" for number in model.standing} == {path for rule, path, _ in losses if rule == "CX3"}
    gone = {path for rule, path, action in losses if rule == "CX5" and "compaction" in action}
    assert gone == {f"line {number}" for number in model.all - model.standing}


@pytest.mark.parametrize("kind", KINDS)
def test_compactions_that_are_taken_back_cost_no_look_at_what_stands_before_them(kind: str) -> None:
    def many(count: int) -> list[Any]:
        talk = [record for at in range(count) for record in turn(f"t{at}", answer(f"t{at}"))]
        again = turn("x", KINDS[kind]("USER t1", SUM), answer("x"))
        return [*talk, *(record for _ in range(count) for record in (*again, back(1)))]

    small, large = (steps(partial(read, many(count))) for count in (100, 400))
    assert large < 5 * small
