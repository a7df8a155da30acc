"""agent-checkpoint lines whose calls and results stand in fields of their own, whoever the provider is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from langgraph_portable_checkpoint import export_messages, import_messages, lint
from langgraph_portable_checkpoint.dialects.agent_checkpoint import AgentCheckpoint
from langgraph_portable_checkpoint.errors import MalformedHistoryError

TARGETS = ("anthropic", "openai-responses", "google", "openai-chat", "bedrock", "agent-checkpoint")
PROVIDERS = ("anthropic", "openai", "other", None)
USE = {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}}
FUNCTION = {"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
PLAIN = {"id": "t1", "name": "f", "args": {"x": 1}}
THEIRS = {"type": "tool_result", "tool_use_id": "t1", "content": "found"}
OWN = {"tool_call_id": "t1", "content": "found"}


def line(role: str, content: Any, calls: Any = None, results: Any = None, provider: Any = "anthropic") -> Any:
    fields = {"role": role, "content": content, "tool_calls": calls, "tool_results": results}
    return {**fields, "provider": provider, "model": "m", "ts": "2026"}


def read(*lines: Any) -> tuple[list[Any], list[Any]]:
    """What an import gives, which each provider can be sent."""
    imported = import_messages("\n".join(map(json.dumps, lines)), "auto")
    assert imported.dialect == "agent-checkpoint"
    declared = {(loss.rule, loss.kind) for loss in AgentCheckpoint().LOSSES}
    assert {(loss.rule, loss.kind) for loss in imported.report} <= declared
    for target in TARGETS:
        assert lint(export_messages(imported.messages, target).payload, target) == [], target
    shown = [
        (one["role"], [block.get("id") or block.get("text", block["type"]) for block in one["content"]])
        for one in imported.envelopes
    ]
    return shown, [*imported.report]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("call", [USE, FUNCTION, PLAIN], ids=["use", "function", "plain"])
@pytest.mark.parametrize("content", ["hm", [{"type": "text", "text": "hm"}], None, ""], ids=repr)
def test_calls_beside_content_are_read_in_any_words(content: Any, call: Any, provider: Any) -> None:
    rest = [line("tool", "found", None, [OWN], provider), line("assistant", "done", provider=provider)]
    shown, losses = read(
        line("user", "q", provider=provider), line("assistant", content, [call], None, provider), *rest
    )
    said = [part for part in shown[1][1] if part]
    assert said == (["hm", "t1"] if content else ["t1"])
    assert shown[2:] == [("tool", ["found"]), ("assistant", ["done"])]
    assert losses == []


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("result", [THEIRS, OWN], ids=["theirs", "own"])
@pytest.mark.parametrize(
    ("role", "content", "more"),
    [
        ("tool", "found", []),
        ("tool", [{"type": "text", "text": "found"}], []),
        ("tool", None, []),
        ("user", "", []),
        ("user", None, []),
        ("user", "and this", [("user", ["and this"])]),
        ("user", [{"type": "text", "text": "and this"}], [("user", ["and this"])]),
        ("assistant", "done", [("assistant", ["done"])]),
        ("assistant", None, []),
    ],
)
def test_results_are_read_on_a_line_of_any_role(role: str, content: Any, more: Any, result: Any, provider: Any) -> None:
    asked = line("assistant", None, [FUNCTION], None, provider)
    shown, losses = read(line("user", "q", provider=provider), asked, line(role, content, None, [result], provider))
    assert shown[2:] == [("tool", ["found"]), *more]
    assert losses == []


@pytest.mark.parametrize("provider", PROVIDERS)
def test_results_of_a_lines_own_calls_stand_behind_it(provider: Any) -> None:
    shown, _ = read(line("user", "q"), line("assistant", "hm", [FUNCTION], [OWN], provider), line("assistant", "done"))
    assert shown[1:] == [("assistant", ["hm", "t1"]), ("tool", ["found"]), ("assistant", ["done"])]


@pytest.mark.parametrize("role", ["user", "tool"])
def test_what_the_content_holds_already_is_read_once(role: str) -> None:
    asked = line("assistant", [{"type": "text", "text": "hm"}, USE], [USE])
    shown, losses = read(line("user", "q"), asked, line(role, [THEIRS], None, [THEIRS]))
    assert shown[1:] == [("assistant", ["hm", "t1"]), ("tool", ["found"])]
    assert losses == []
    same = line("assistant", [USE], [FUNCTION])
    assert read(line("user", "q"), same, line(role, [THEIRS], None, [OWN]))[1] == []


@pytest.mark.parametrize(
    ("asked", "told", "action"),
    [
        (line("assistant", [USE], [{**USE, "input": {}}]), line("user", [THEIRS]), "left out a call that the content"),
        (line("assistant", [USE]), line("user", [THEIRS], None, [{**OWN, "content": "x"}]), "left out a result that"),
        (line("assistant", [USE]), line("tool", "x", None, [OWN]), "left out content that its result"),
        (line("assistant", [USE]), line("tool", "x", None, [OWN], "openai"), "left out content that its result"),
    ],
)
def test_what_a_line_tells_in_two_ways_is_told(asked: Any, told: Any, action: str) -> None:
    shown, [loss] = read(line("user", "q"), asked, told)
    assert shown[1:] == [("assistant", ["t1"]), ("tool", ["found"])]
    assert (loss.rule, loss.kind) == ("AC3", "dropped")
    assert loss.action.startswith(action)
    assert loss.path in ("line 2", "line 3")


def test_results_in_anthropics_words_keep_pictures_and_errors() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    result = {"tool_use_id": "t1", "content": [{"type": "image", "source": source}], "is_error": True}
    for provider, given in (("openai", result), ("anthropic", {**OWN, **result, "duration": 3})):
        lines = [line("user", "q"), line("assistant", None, [USE]), line("user", None, None, [given], provider)]
        told = import_messages(lines, "agent-checkpoint").envelopes[2]
        assert (told["role"], told["tool_call_id"], told["status"]) == ("tool", "t1", "error")
        assert told["content"][0]["base64"] == source["data"]


def test_calls_beside_the_lines_of_one_answer_are_all_read() -> None:
    two = {**USE, "id": "t2"}
    answer = [line("assistant", [{"type": "text", "text": word}], [call]) for word, call in (("a", USE), ("b", two))]
    results = [{"tool_call_id": one, "content": "r"} for one in ("t1", "t2")]
    shown, _ = read(line("user", "q"), *answer, line("user", "", None, results))
    assert shown[1:] == [("assistant", ["a", "b", "t1", "t2"]), ("tool", ["r"]), ("tool", ["r"])]


def test_an_id_is_that_of_one_message() -> None:
    named = {**line("user", "more", None, [OWN]), "_meta": {"id": "m1"}}
    imported = import_messages([line("user", "q"), line("assistant", None, [USE]), named], "agent-checkpoint")
    assert [one.get("id") for one in imported.envelopes[2:]] == [None, "m1"]


@pytest.mark.parametrize("key", ["tool_calls", "tool_results"])
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("wrong", [3, {}, "x", [1]])
def test_fields_that_are_no_lists_of_objects_are_refused(wrong: Any, provider: Any, key: str) -> None:
    with pytest.raises(MalformedHistoryError, match=f"line 1 {key}"):
        import_messages([{**line("assistant", "x", provider=provider), key: wrong}], "agent-checkpoint")


@pytest.mark.parametrize("wrong", [[], {}, 3])
def test_a_result_whose_call_is_no_text_is_refused(wrong: Any) -> None:
    given = [{"type": "tool_result", "tool_use_id": wrong, "content": "x"}]
    for payload in (line("user", "", None, given), line("user", given, None, given)):
        with pytest.raises(MalformedHistoryError, match="tool_use_id"):
            import_messages([payload], "agent-checkpoint")
