"""Calls and results: who answers whom, and what becomes of those that are alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.export import export_messages, lint
from langgraph_portable_checkpoint.dialects.links import link
from langgraph_portable_checkpoint.dialects.selection import place
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError
from tests.dialects.histories import assistant, call, result, user

DONE = [user("hi"), assistant(call("a")), result("a", "A"), assistant("first answer")]


def shape(payload: dict[str, Any]) -> list[tuple[str, Any]]:
    """Roles with text, ids of calls, or the call answered."""
    return [
        (
            message["role"],
            [one["id"] for one in message.get("tool_calls") or ()] or message.get("tool_call_id") or message["content"],
        )
        for message in payload["messages"]
    ]


def chat(history: list[Any], **options: Any) -> list[tuple[str, Any]]:
    export = export_messages(history, "openai-chat", **options)
    assert not lint(export.payload, "openai-chat")
    return shape(export.payload)


def test_a_trailing_call_ends_the_export_at_the_last_complete_turn() -> None:
    history = [*DONE, user("more"), assistant(call("b"), call("c")), result("b")]
    assert chat(history) == [("user", "hi"), ("assistant", ["a"]), ("tool", "a"), ("assistant", "first answer")]


def test_without_a_complete_turn_it_ends_before_the_unfinished_step() -> None:
    history = [user("hi"), assistant(call("a")), result("a", "A"), assistant(call("b"))]
    assert chat(history) == [("user", "hi"), ("assistant", ["a"]), ("tool", "a")]


def test_trim_costs_the_unfinished_step_only() -> None:
    history = [*DONE, user("more"), assistant(call("b")), result("b"), assistant(call("c"))]
    assert chat(history, incomplete="trim")[-3:] == [("user", "more"), ("assistant", ["b"]), ("tool", "b")]


def test_synthesize_answers_with_an_error_that_says_so() -> None:
    history = [*DONE, user("more"), assistant(call("b"), call("c")), result("b")]
    payload = export_messages(history, "anthropic", incomplete="synthesize").payload
    made = payload["messages"][-1]["content"]
    assert [(one["tool_use_id"], one.get("is_error")) for one in made] == [("b", None), ("c", True)]
    assert "No result was recorded" in made[1]["content"]


def test_raise_names_the_call_and_the_turn() -> None:
    with pytest.raises(IncompatibleHistoryError, match="call 'b' of message 5 has no result") as caught:
        export_messages([*DONE, user("more"), assistant(call("b"))], "anthropic", incomplete="raise")
    assert caught.value.turn == 1


@pytest.mark.parametrize("incomplete", ["drop", "trim", "synthesize", "raise"])
def test_a_call_that_waits_for_a_human_is_pending_and_never_answered(incomplete: str) -> None:
    history = [*DONE, user("pay"), assistant(call("b"))]
    export = export_messages(history, "anthropic", incomplete=incomplete, pending=frozenset({"b"}))
    assert export.pending == ("b",)
    assert "No result" not in str(export.payload)
    assert any(loss.kind == "unresolved" and "b" in loss.detail for loss in export.report)


def test_a_pending_call_in_the_middle_is_not_answered_either() -> None:
    history = [user("pay"), assistant("I ask", call("b")), user("never mind"), assistant("fine")]
    export = export_messages(history, "anthropic", incomplete="synthesize", pending=frozenset({"b"}))
    assert "No result" not in str(export.payload)
    assert [(loss.rule, loss.kind) for loss in export.report] == [("A6", "dropped")]


def test_a_call_in_the_middle_goes_alone() -> None:
    history = [user("hi"), assistant("I look", call("a"), call("b")), result("b"), user("well?"), assistant("so")]
    assert chat(history)[1:3] == [("assistant", ["b"]), ("tool", "b")]


def test_nothing_left_is_refused_with_what_to_do() -> None:
    with pytest.raises(IncompatibleHistoryError, match="synthesize"):
        export_messages([assistant(call("a"))], "openai-chat")


def test_results_are_moved_behind_their_call_and_a_waiting_user_after_them() -> None:
    history = [user("hi"), assistant(call("a"), call("b")), user("hurry"), result("b"), result("a"), assistant("ok")]
    assert [one[0] for one in chat(history)] == ["user", "assistant", "tool", "tool", "user", "assistant"]


def test_results_behind_a_waiting_user_are_late_and_not_out_of_order() -> None:
    history = [user("hi"), assistant(call("a"), call("b")), user("hurry"), result("a"), result("b")]
    assert {(loss.rule, loss.kind) for loss in export_messages(history, "openai-chat").report} == {("C1", "reordered")}


def test_an_id_that_comes_back_belongs_to_the_latest_open_call() -> None:
    history = [
        user("hi"),
        assistant(call("functions.f:0")),
        result("functions.f:0", "one"),
        assistant(call("functions.f:0")),
        result("functions.f:0", "two"),
    ]
    messages = export_messages(history, "anthropic").payload["messages"]
    used = [message["content"][0].get("id") or message["content"][0]["tool_use_id"] for message in messages[1:]]
    assert used[0] == used[1] != used[2] == used[3]
    assert messages[2]["content"][0]["content"] == "one"
    assert not lint({"messages": messages}, "anthropic")


def test_two_calls_of_one_id_in_one_message_get_their_results_in_order() -> None:
    history = [user("hi"), assistant(call("x", a=1), call("x", a=2)), result("x", "one"), result("x", "two")]
    messages = export_messages(history, "openai-chat").payload["messages"]
    calls = {one["id"]: one["function"]["arguments"] for one in messages[1]["tool_calls"]}
    answers = {one["tool_call_id"]: one["content"] for one in messages[2:]}
    assert [(calls[key], answers[key]) for key in calls] == [('{"a": 1}', "one"), ('{"a": 2}', "two")]


def test_calls_and_results_without_ids_are_matched_by_tool() -> None:
    history = [user("hi"), assistant(call(None, "f"), call(None, "g")), result(None, "G", name="g"), result(None, "F")]
    export = export_messages(history, "openai-chat")
    assert not lint(export.payload, "openai-chat")
    names = {one["id"]: one["function"]["name"] for one in export.payload["messages"][1]["tool_calls"]}
    assert {names[one["tool_call_id"]]: one["content"] for one in export.payload["messages"][2:]} == {
        "g": "G",
        "f": "F",
    }


def answers(history: list[Any]) -> dict[str, str]:
    """What each call of the first answer was answered with, by the place that it named."""
    messages = export_messages(history, "openai-chat").payload["messages"]
    said = {one["tool_call_id"]: one["content"] for one in messages if one["role"] == "tool"}
    calls = [one for message in messages for one in message.get("tool_calls") or ()]
    return {json.loads(one["function"]["arguments"])["of"]: said[one["id"]] for one in calls}


WEATHER, TIME = {"name": "weather", "of": "weather"}, {"name": "time", "of": "time"}


@pytest.mark.parametrize(
    ("calls", "results"),
    [
        ([call("a", **WEATHER), call(None, **TIME)], [result(None, "time"), result("a", "weather")]),
        ([call("a", **WEATHER), call("", **TIME)], [result("", "time"), result("a", "weather")]),
        ([call(None, **WEATHER), call("b", **TIME)], [result("b", "time"), result(None, "weather")]),
        ([call(None, **WEATHER), call(None, **TIME)], [result(None, "time"), result(None, "weather", name="weather")]),
        ([call("x", **WEATHER), call("x", **TIME)], [result("x", "time"), result("x", "weather", name="weather")]),
        ([call("x", **WEATHER), call("x", **TIME)], [result("x", "time", name="time"), result("x", "weather")]),
        ([call("a", **WEATHER), call("b", **TIME)], [result(None, "weather"), result(None, "time")]),
    ],
)
def test_ids_and_names_are_matched_before_order(calls: list[Any], results: list[Any]) -> None:
    found = answers([user("hi"), assistant(*calls), *results, assistant("ok")])
    assert found == {"weather": "weather", "time": "time"}


def test_a_lone_result_without_id_answers_the_call_without_id() -> None:
    history = [user("hi"), assistant(call("a", **WEATHER), call(None, **TIME)), result(None, "time"), assistant("ok")]
    assert answers(history) == {"time": "time"}


def test_a_late_result_that_names_a_call_keeps_results_without_id_from_it() -> None:
    history = [
        user("hi"),
        assistant(call("a", **WEATHER), call(None, **TIME)),
        result(None, "time"),
        assistant("more", call("c", "weather", of="later")),
        result("c", "later"),
        result("a", "weather"),
        assistant("ok"),
    ]
    assert answers(history) == {"weather": "weather", "time": "time", "later": "later"}


def test_results_of_one_id_go_back_to_every_open_call_of_it() -> None:
    history = [user("hi"), *[assistant(call("x", of=str(at))) for at in range(3)], *map(result, "xxx", "210")]
    assert answers([*history, assistant("ok")]) == {"0": "0", "1": "1", "2": "2"}


def test_the_first_of_two_results_stays() -> None:
    history = [user("hi"), assistant(call("a")), result("a", "first"), result("a", "second")]
    assert export_messages(history, "openai-chat").payload["messages"][-1]["content"] == "first"


def test_a_lone_result_becomes_a_quotation_on_request() -> None:
    history = [user("hi"), result("gone", "42", name="calculator"), assistant("ok")]
    message = export_messages(history, "openai-chat", orphans="text").payload["messages"][1]
    assert message["role"] == "user"
    assert [part["text"] for part in message["content"]] == ["Result of calculator:", "42"]


def test_linking_stays_linear() -> None:
    """Ten thousand calls of one id: each is looked at a bounded number of times."""
    history = [one for _ in range(10_000) for one in (assistant(call("same")), result("same"))]
    links = link(place(history))
    assert [call.result for call in links.calls] == list(range(1, 20_000, 2))


@pytest.mark.parametrize("call_id", [None, "same"])
def test_many_calls_of_one_message_are_linked_in_order(call_id: str | None) -> None:
    history = [assistant(*[call(call_id)] * 10_000), *[result(call_id)] * 10_000]
    assert [call.result for call in link(place(history)).calls] == list(range(1, 10_001))


def test_a_call_of_nothing_that_a_stream_left_takes_no_answer_with_it() -> None:
    phantom = {"type": "tool_call", "name": "", "args": {}, "id": None}
    export = export_messages([user("hi"), assistant("found it", phantom)], "openai-chat")
    assert shape(export.payload) == [("user", "hi"), ("assistant", "found it")]
    assert [(loss.rule, loss.kind, loss.message) for loss in export.report] == [("C1", "dropped", 1)]
    named = {**phantom, "name": "look"}
    assert len(export_messages([user("hi"), assistant("found it", named)], "openai-chat").payload["messages"]) < 2
