"""Where the user's turns begin in a Codex rollout, and what rollbacks, compactions and forks leave of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.codex import turns
from tests.dialects.codex_records import exports, item, read, said, texts

CONTEXTS = [
    "<environment_context>\n<cwd>/tmp</cwd>\n</environment_context>",
    "<user_instructions>\nx\n</user_instructions>",
    "# AGENTS.md instructions for /tmp\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>",
    "# AGENTS.md instructions\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>",
    "<skill>\n<name>sk</name>\n</skill>",
    "<user_shell_command>\n<command>ls</command>\n</user_shell_command>\n",
    "<turn_aborted>\nx\n</turn_aborted>",
    "  <SUBAGENT_NOTIFICATION>{}</subagent_notification>",
    "<extension_context>x</extension_context>",
    "<goal_context>x</goal_context>",
    "<external_browser>x</external_browser>",
    '<external_context source="a">x</external_context>',
    '<codex_internal_context source="goal">\nx\n</codex_internal_context>',
    '<hook_prompt hook_run_id="h">x</hook_prompt>',
    "<recommended_plugins>x</recommended_plugins>",
    "Warning: The maximum number of unified exec processes you can keep open is 60",
    "Warning: apply_patch was requested via exec. Use the apply_patch tool instead of exec_command.",
]
WORDS = [
    "<skill> is what?",
    "what is <skill></skill>",
    "# AGENTS.md is wrong",
    "<b>x</b>",
    "<skill x='1'>a</skill>",
    "<environment>x</environment>",
]
TALK = [said("user", "one"), said("assistant", "1")]


def back(turns: Any) -> dict[str, Any]:
    return {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": turns}}


@pytest.mark.parametrize("context", CONTEXTS)
def test_context_in_the_role_of_the_user_begins_no_turn(context: str) -> None:
    taken = [said("user", "TAKEN"), said("user", context), said("assistant", "2")]
    assert texts([*TALK, *taken, back(1), said("user", "two")]) == ["one", "1", "two"]
    late = [said("user", "TAKEN"), said("assistant", "2"), said("user", context)]
    assert texts([*TALK, *late, back(1), said("user", "two")]) == ["one", "1", "two"]
    assert [one.get("typed_by_user", True) for one in read([*TALK, *late])[0]] == [True, True, True, True, False]


@pytest.mark.parametrize("words", WORDS)
def test_words_that_look_like_context_are_the_users(words: str) -> None:
    assert texts([*TALK, said("user", words), said("assistant", "2"), back(1)]) == ["one", "1"]
    assert "typed_by_user" not in read([said("user", words)])[0][0]


def test_a_part_that_is_context_makes_its_message_context() -> None:
    parts = [{"type": "input_text", "text": text} for text in (CONTEXTS[0], "and this")]
    mixed = item(type="message", role="user", content=parts)
    assert texts([*TALK, said("user", "TAKEN"), mixed, said("assistant", "2"), back(1)]) == ["one", "1"]


def test_context_that_a_turn_brought_with_it_goes_with_it() -> None:
    before = [said("developer", "<model_switch>x</model_switch>"), said("user", CONTEXTS[0])]
    kept = said("developer", "Be kind.")
    turn = [kept, *before, said("user", "TAKEN"), said("assistant", "2")]
    assert texts([*TALK, *turn, back(1)]) == ["one", "1", "Be kind."]
    assert texts([*before, *TALK, back(3)]) == [before[0]["payload"]["content"][0]["text"], CONTEXTS[0]]


def test_an_instruction_of_another_agent_begins_a_turn() -> None:
    told = json.dumps({"author": "a", "recipient": "b", "content": "go", "trigger_turn": True})
    assert texts([*TALK, said("assistant", told), said("assistant", "2"), back(1)]) == ["one", "1"]
    assert texts([*TALK, said("assistant", '{"author": "a"}'), said("assistant", "2"), back(1)]) == []


def test_rollbacks_behind_one_another_take_one_turn_each() -> None:
    talk = [*TALK, said("user", "two"), said("assistant", "2"), said("user", "three")]
    assert texts([*talk, back(1), back(1)]) == ["one", "1"]
    assert texts([*talk, compacted("Sum"), back(2), said("user", "four"), back(1), back(1)]) == ["one"]


@pytest.mark.parametrize("turns", [0, -1, None, "1"])
def test_a_rollback_of_no_turn_takes_nothing(turns: Any) -> None:
    _, losses = read([*TALK, back(turns)])
    assert texts([*TALK, back(turns)]) == ["one", "1"]
    assert [loss for loss in losses if loss.rule == "CX5"] == []


def compacted(summary: str, **more: Any) -> dict[str, Any]:
    return {"type": "compacted", "payload": {"message": summary, **more}}


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_compaction_keeps_no_context_among_the_words_of_the_user(context: str) -> None:
    assert texts([*TALK, said("user", context), said("user", "two"), compacted("Sum")]) == ["one", "two", "Sum"]


def test_turns_are_counted_through_compactions_and_rollbacks() -> None:
    first = [said("user", CONTEXTS[0]), *TALK, said("user", "two"), compacted("Sum"), said("user", "three")]
    assert texts([*first, back(1)]) == [CONTEXTS[0], "one", "two", "Sum"]
    assert texts([*first, back(2)]) == [CONTEXTS[0], "one", "two"]
    assert texts([*first, back(3), said("user", "x"), compacted("S2")]) == [CONTEXTS[0], "one", "x", "S2"]
    assert texts([*first, back(9)]) == [CONTEXTS[0]]
    history = [one["payload"] for one in (said("user", CONTEXTS[0]), said("user", "kept"), said("user", "too"))]
    replaced = [*first, compacted("", replacement_history=history), said("user", "new")]
    assert texts([*replaced, back(2)]) == [CONTEXTS[0], "kept"]
    assert texts([*replaced, compacted("S2"), compacted("S3")]) == [CONTEXTS[0], "kept", "too", "new", "S3"]


def test_a_summary_in_a_history_of_its_own_is_not_the_users() -> None:
    summary = f"{turns._SUMMARY} You also have access to ...\nSum"
    history = [said("user", "kept")["payload"], said("user", summary)["payload"]]
    records = [*TALK, compacted("", replacement_history=history)]
    assert [one.get("typed_by_user", True) for one in read(records)[0]] == [True, False]
    assert texts([*records, compacted("Next")]) == ["kept", "Next"]


def steps(run: Callable[[], Any]) -> int:
    """How many calls of Python's own functions a call makes."""
    count = 0

    def watch(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("record", [lambda at: compacted(f"s{at}"), lambda at: back(1)])
def test_each_compaction_and_rollback_looks_at_what_came_since_the_last(record: Callable[[int], Any]) -> None:
    def many(count: int) -> list[Any]:
        return [said("user", str(at)) for at in range(count)] + [record(at) for at in range(count)]

    small, large = (steps(partial(read, many(count))) for count in (100, 400))
    assert large < 5 * small


def meta(name: str, text: str | None) -> dict[str, Any]:
    base = {} if text is None else {"base_instructions": {"text": text}}
    return {"type": "session_meta", "payload": {"id": name, **base}}


def test_the_first_session_of_a_fork_counts() -> None:
    fork = [meta("child", "BASE"), meta("parent", "BASE"), *TALK, meta("grandparent", "OLD")]
    envelopes, losses = read(fork)
    assert [one["role"] for one in envelopes] == ["system", "user", "assistant"]
    assert [(loss.rule, loss.path, loss.detail) for loss in losses] == [
        ("CX7", "line 5", "grandparent"),
        ("CX2", "", "session_meta 3"),
    ]
    assert texts([meta("child", None), meta("parent", "OLD"), *TALK]) == ["one", "1"]
    exports(fork)
