"""What docs/dialects.md promises of growing histories: an export at the end of a turn is the beginning of each later one.

Prompt caches, and reasoning that a provider binds to all that stands before it (A12c), depend on it.
"""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages
from langgraph_portable_checkpoint.dialects.links import link
from langgraph_portable_checkpoint.dialects.registry import bundled_names, get_dialect
from langgraph_portable_checkpoint.dialects.selection import place
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError
from tests.dialects.histories import CLAUDE, assistant, call, result, system, text, thought, user
from tests.dialects.made import HISTORIES
from tests.dialects.made_native import NATIVE, turns

TARGETS: Final = [
    (name, profile)
    for name in bundled_names()
    if get_dialect(name).writes
    for profile in get_dialect(name).profiles or (None,)
]
MERGING: Final = [("bedrock", None), ("openai-chat", "perplexity")]
"""Targets that join consecutive messages of one role."""
OPTIONS = st.fixed_dictionaries(
    {
        "incomplete": st.sampled_from(["drop", "trim", "synthesize"]),
        "reasoning": st.sampled_from(["same-origin", "drop", "text"]),
        "orphans": st.sampled_from(["drop", "text"]),
        "model": st.sampled_from([None, "claude-sonnet-4-5", "gemini-3-pro"]),
    }
)


def entries(history: Any, target: tuple[str, str | None], **options: Any) -> list[Any]:
    """The list of a payload; of one that cannot be made, none."""
    try:
        payload = export_messages(history, target[0], profile=target[1], **options).payload
    except IncompatibleHistoryError:
        return []
    return next((value for key, value in payload.items() if isinstance(value, list) and key != "system"), [])


def is_settled(history: list[Any], end: int) -> bool:
    """True if no result behind `end` answers a call before it."""
    return all(
        (found.message < end) == (found.result < end)
        for found in link(place(history)).calls
        if found.result is not None
    )


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: "-".join(filter(None, target)))
@settings(max_examples=25)
@given(HISTORIES, HISTORIES, OPTIONS)
def test_an_export_at_the_end_of_a_turn_is_the_beginning_of_each_later_one(
    target: tuple[str, str | None], before: list[Any], after: list[Any], options: dict[str, Any]
) -> None:
    ended = [*before, user("q"), assistant("ok", origin=CLAUDE)]
    grown = [*ended, user("go on"), *after]
    if is_settled(grown, len(ended)):
        early, late = entries(ended, target, **options), entries(grown, target, **options)
        assert late[: len(early)] == early or not late


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: "-".join(filter(None, target)))
@settings(max_examples=8)
@given(turns(), st.sampled_from(sorted(NATIVE)))
def test_inside_a_turn_only_the_last_entry_may_still_grow(
    target: tuple[str, str | None], made: list[dict[str, Any]], source: str
) -> None:
    history = list(import_messages(NATIVE[source](made), source).envelopes)
    whole = entries(history, target)
    for count in range(1, len(history)):
        part = entries(history[:count], target)
        assert part[:-1] == whole[: max(0, len(part) - 1)]
        assert not part or part[-1].get("role") == whole[len(part) - 1].get("role")


@pytest.mark.parametrize("target", MERGING)
def test_a_second_user_message_joins_the_first_where_roles_alternate(target: tuple[str, str | None]) -> None:
    told = [system("s"), user("one")]
    assert entries(told, target)[-1] != entries([*told, user("two")], target)[-1]
    assert len(entries([*told, user("two")], target)) == len(entries(told, target))


def test_the_model_that_reads_decides_what_of_earlier_turns_is_replayed() -> None:
    """Without `model=` it is the last one of the provider in the history: name it to keep the beginning."""
    signed = thought("hm", signature="c2ln")
    ended = [user("q"), assistant(signed, "ok", origin=CLAUDE)]
    grown = [*ended, user("go on"), assistant("ok", origin={**CLAUDE, "model": "claude-opus-4-5"})]
    assert entries(grown, ("anthropic", None))[:2] != entries(ended, ("anthropic", None))
    named = {"model": "claude-sonnet-4-5"}
    assert entries(grown, ("anthropic", None), **named)[:2] == entries(ended, ("anthropic", None), **named)


def test_a_result_that_comes_after_its_turn_changes_the_turn() -> None:
    ended = [user("q"), assistant("I look", call("a")), user("well?"), assistant("ok")]
    grown = [*ended, user("go on"), result("a")]
    assert entries(grown, ("anthropic", None))[:2] != entries(ended, ("anthropic", None))[:2]


def test_only_the_last_four_cache_marks_stay() -> None:
    marked = [
        one for at in range(6) for one in (user(text(f"q{at}", cache_hint={"type": "ephemeral"})), assistant("ok"))
    ]
    marks = [["cache_control" in str(one) for one in entries(marked[:end], ("anthropic", None))] for end in (2, 12)]
    assert (marks[0], marks[1].count(True), marks[1][0]) == ([True, False], 4, False)
