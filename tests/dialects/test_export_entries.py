"""The entries: what they take, what they refuse, and what they give back."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint
from langgraph_portable_checkpoint.errors import (
    DialectError,
    IncompatibleHistoryError,
    LossyExportError,
    MalformedHistoryError,
    UnknownDialectError,
)
from tests.dialects.histories import assistant, call, result, thought, user

MESSAGES = [
    SystemMessage("Be brief."),
    HumanMessage("What is the weather in Bern?"),
    AIMessage("", tool_calls=[{"id": "call_1", "name": "weather", "args": {"city": "Bern"}}]),
    ToolMessage("12 degrees", tool_call_id="call_1"),
    AIMessage("It is 12 degrees in Bern."),
]


def test_langchain_messages_become_chat_completions() -> None:
    arguments = '{"city": "Bern"}'
    assert export_messages(MESSAGES, "openai-chat").payload == {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is the weather in Bern?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": arguments}}
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "12 degrees"},
            {"role": "assistant", "content": "It is 12 degrees in Bern."},
        ]
    }


def test_langchain_messages_become_anthropic_messages() -> None:
    assert export_messages(MESSAGES, "anthropic").payload == {
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "What is the weather in Bern?"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Bern"}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "12 degrees"}],
            },
            {"role": "assistant", "content": "It is 12 degrees in Bern."},
        ],
    }


def test_langchain_messages_become_responses_input() -> None:
    assert export_messages(MESSAGES, "openai-responses").payload == {
        "input": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is the weather in Bern?"},
            {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city": "Bern"}'},
            {"type": "function_call_output", "call_id": "call_1", "output": "12 degrees"},
            {"role": "assistant", "content": "It is 12 degrees in Bern."},
        ]
    }


def test_langchain_messages_become_mistral_messages() -> None:
    export = export_messages(MESSAGES, "mistral")
    call = export.payload["messages"][2]
    assert call["role"] == "assistant"
    assert "content" not in call
    assert call["tool_calls"][0]["id"] == export.payload["messages"][3]["tool_call_id"]
    assert len(call["tool_calls"][0]["id"]) == 9
    assert [(loss.rule, loss.kind) for loss in export.report] == [("M1", "re-keyed")]


def test_no_messages_are_no_request() -> None:
    with pytest.raises(IncompatibleHistoryError, match="no message"):
        export_messages([], "anthropic")


def test_strict_raises_all_losses_at_once() -> None:
    history = [user("hi"), assistant(thought(), thought(), "ok")]
    with pytest.raises(LossyExportError, match="2 losses under strict=True") as caught:
        export_messages(history, "anthropic", strict=True)
    assert [loss.path for loss in caught.value.report] == ["content[0]", "content[1]"]
    assert export_messages(MESSAGES, "anthropic", strict=True).lossless


def test_an_export_does_not_change_what_it_is_given() -> None:
    before = [message.model_copy(deep=True) for message in MESSAGES]
    export_messages(MESSAGES, "mistral", for_next_turn=False)
    assert before == MESSAGES


def test_exports_share_nothing_with_each_other() -> None:
    history = [user({"type": "text", "text": "hi", "cache_hint": {"type": "ephemeral"}})]
    first = export_messages(history, "anthropic").payload
    first["messages"][0]["content"][0]["cache_control"]["ttl"] = "1h"
    assert "ttl" not in str(export_messages(history, "anthropic").payload)


def test_lines_are_json_lines() -> None:
    lines = list(export_messages(MESSAGES, "anthropic").lines())
    assert len(lines) == 4
    assert json.loads(lines[0]) == {"role": "user", "content": "What is the weather in Bern?"}


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"to": "openai"}, UnknownDialectError, "there is no dialect 'openai'"),
        ({"to": "openai-chat", "profile": "azure"}, DialectError, "no profile 'azure'. It has openai, fireworks"),
        ({"to": "anthropic", "modle": "x"}, TypeError, "unknown export option modle"),
        ({"to": "claude-code"}, DialectError, "can only be imported"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        export_messages(MESSAGES, **options)


def test_a_provider_history_is_no_list_of_messages() -> None:
    with pytest.raises(TypeError, match="import_messages first"):
        export_messages([{"role": "user", "content": "hi"}], "anthropic")  # type: ignore[list-item]  # wrong on purpose


def test_an_import_says_whose_history_it_is() -> None:
    payload = {"model": "deepseek-reasoner", "temperature": 0, "messages": [{"role": "assistant", "content": "hi"}]}
    imported = import_messages(payload, "openai-chat")
    assert imported.origin == {"provider": "deepseek", "api": "chat", "model": "deepseek-reasoner"}
    assert imported.settings == {"model": "deepseek-reasoner", "temperature": 0}
    assert imported.dialect == "openai-chat"
    assert [message.content for message in imported.messages] == ["hi"]


@pytest.mark.parametrize("form", ["objects", "text", "bytes", "bytes with a byte order mark"])
def test_json_may_come_as_objects_text_or_bytes(form: str) -> None:
    payload: Any = [{"role": "user", "content": "grüezi"}, {"role": "assistant", "content": None, "refusal": "no"}]
    if form != "objects":
        payload = json.dumps(payload, ensure_ascii=False)
    if form.startswith("bytes"):
        payload = payload.encode("utf-8-sig" if "mark" in form else "utf-8")
    assert import_messages(payload, "openai-chat").envelopes[0]["content"][0]["text"] == "grüezi"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[{"role": "user", "content": "a",]', "line 1 column 34"),
        ('[{"role": "user", "role": "system", "content": "a"}]', "'role' stands twice"),
        ('[{"role": "user", "content": NaN}]', "NaN is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        (b"\xff\xfe", "byte 0 is not UTF-8"),
        ("", "line 1 column 1"),
        ('[{"role": "user", "content": "a"}] trailing', "line 1 column 36"),
    ],
)
def test_broken_text_is_refused_with_its_position(text: Any, problem: str) -> None:
    with pytest.raises(MalformedHistoryError, match=problem):
        import_messages(text, "openai-chat")


@pytest.mark.parametrize(
    ("dialect", "payload", "problem"),
    [
        ("openai-chat", [{"role": "user"}, {"role": 7}], r"\[1\].role: 7 is not a role"),
        ("openai-chat", {"messages": [{"role": "tool", "tool_call_id": 1}]}, r"messages\[0\].tool_call_id: is int"),
        ("openai-chat", [{"role": "user", "content": 3}], r"\[0\].content: is int, not a text or a list"),
        ("openai-responses", [{"type": "function_call"}], r"\[0\].call_id: is missing"),
        ("openai-responses", {"input": [{"role": "bot", "content": "x"}]}, r"input\[0\].role: 'bot' is no role"),
        ("anthropic", [{"role": "user"}], r"\[0\].content: is missing"),
        ("anthropic", [{"role": "user", "content": [{"text": "x"}]}], r"\[0\].content\[0\].type: is missing"),
        ("mistral", {"messages": "x"}, "messages or choices"),
        ("mistral", [{"role": "user", "content": {"a": {1: 2}}}], r"\[0\]: has a key that is not a text"),
    ],
)
def test_a_wrong_dialect_is_refused_with_every_problem(dialect: str, payload: Any, problem: str) -> None:
    with pytest.raises(MalformedHistoryError, match=problem):
        import_messages(payload, dialect)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(MalformedHistoryError) as caught:
        import_messages([{"role": "bot"}, 3, {"role": "user", "content": 5}], "openai-chat")
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["[0].role", "[1]", "[2].content"]


def test_deep_nesting_is_a_problem_and_no_crash() -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(MalformedHistoryError, match="nested deeper than"):
        import_messages([{"role": "user", "content": deep}], "openai-chat")


@pytest.mark.parametrize("arguments", ["{bad", "[1]", "null", '{"a": NaN}', '{"a": 1' + "0" * 30 + "}"])
def test_arguments_that_are_no_object_come_back_as_they_were(arguments: str) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}
    payload = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "bad arguments"},
    ]
    imported = import_messages(payload, "openai-chat")
    assert imported.messages[1].invalid_tool_calls[0]["args"] == arguments  # type: ignore[attr-defined]  # an AIMessage
    assert export_messages(imported.messages, "openai-chat").payload["messages"] == payload
    block = export_messages(imported.messages, "anthropic").payload["messages"][1]["content"][0]
    assert block["input"] == {"invalid_arguments": arguments}


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "mistral"])
def test_nul_and_emoji_survive(dialect: str) -> None:
    payload = export_messages([HumanMessage("a\0b\U0001f600")], dialect).payload
    assert (payload.get("messages") or payload["input"])[0]["content"] == "a\0b\U0001f600"


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "mistral"])
@pytest.mark.parametrize("odd", [float("nan"), "\ud800", float("-inf")], ids=["nan", "surrogate", "infinity"])
def test_arguments_that_no_request_can_hold_are_told_as_text(dialect: str, odd: Any) -> None:
    history = [user("hi"), assistant(call("abcdefghi", a=odd)), result("abcdefghi", "\ud800 ok")]
    payload = export_messages(history, dialect).payload
    assert "ok" in json.dumps(payload, allow_nan=False, ensure_ascii=False).encode().decode()


def test_lint_takes_the_options_that_change_rules() -> None:
    payload = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ok"}]}
    assert lint(payload, "mistral") == []
    assert [found.rule for found in lint(payload, "mistral", for_next_turn=False)] == ["M3"]


@pytest.mark.parametrize(
    "native",
    [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "user", "content": ["hi"]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
        {"role": "assistant", "content": [], "tool_calls": [{"id": "c", "type": "function"}]},
        {"role": "user", "content": "hi"},
        {"role": "model", "parts": [{"text": "hi"}]},
    ],
)
@pytest.mark.parametrize("to", ["openai-chat", "otel", "anthropic"])
def test_messages_of_a_provider_are_not_taken_for_envelopes(native: Any, to: str) -> None:
    with pytest.raises(TypeError, match="import_messages"):
        export_messages([native], to)
    with pytest.raises(TypeError, match="import_messages"):
        export_messages([MappingProxyType(native)], to)  # type: ignore[list-item]  # wrong on purpose
