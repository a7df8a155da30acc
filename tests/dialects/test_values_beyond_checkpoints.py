"""Values that no checkpoint can hold: refused with their place, by errors of this package."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint import adapt_messages, export_messages, import_messages
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError, MalformedHistoryError

TARGETS = ("anthropic", "openai-chat", "openai-responses", "mistral", "google", "bedrock", "otel")
BIG = 12345678901234567890000


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def history_of(dialect: str, value: Any) -> Any:
    args = {"n": value}
    call = {"type": "function", "id": "abcdefghi", "function": {"name": "f", "arguments": args}}
    return {
        "anthropic": [{"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": args}]}],
        "openai-chat": [{"role": "assistant", "tool_calls": [call]}],
        "mistral": [{"role": "assistant", "tool_calls": [call]}],
        "openai-responses": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": args}],
        "google": [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": args}}]}],
        "bedrock": [{"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "f", "input": args}}]}],
        "otel": [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "f", "arguments": args}]}],
    }[dialect]


@pytest.mark.parametrize("dialect", TARGETS)
def test_an_import_refuses_them_with_their_place(dialect: str) -> None:
    beside = [{**message, "beside": {"n": BIG}} for message in history_of(dialect, 1)]
    if dialect == "bedrock":
        beside = [{"role": "user", "content": [{"text": "q", "beside": BIG}]}]
    with pytest.raises(MalformedHistoryError, match=r"\[0\].*beyond 64 bits"):
        import_messages(beside, dialect)
    with pytest.raises(MalformedHistoryError, match="deeper than 200"):
        import_messages(history_of(dialect, nested(3000)), dialect)
    assert import_messages(history_of(dialect, 2**63 - 1), dialect).messages


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("value", [BIG, nested(3000)], ids=["big", "deep"])
def test_an_export_refuses_them_with_their_place(target: str, value: Any) -> None:
    call = {"name": "f", "args": {"n": value}, "id": "c"}
    history = [HumanMessage("hi"), AIMessage("", tool_calls=[call]), ToolMessage("r", tool_call_id="c")]
    with pytest.raises(IncompatibleHistoryError, match="message 1 holds a value that no checkpoint can hold"):
        export_messages(history, target)


@pytest.mark.parametrize("summary", [5, True, "text", {"a": 1}])
def test_a_summary_of_reasoning_that_is_no_list_is_refused(summary: Any) -> None:
    with pytest.raises(MalformedHistoryError, match=r"\[0\]\.summary"):
        import_messages([{"type": "reasoning", "id": "rs_1", "summary": summary}], "openai-responses")


SPELLED = '{"n": 12345678901234567890000}'


def asked(arguments: str) -> list[Any]:
    call = {"type": "function", "id": "abcdefghi", "function": {"name": "f", "arguments": arguments}}
    told = {"role": "tool", "tool_call_id": "abcdefghi", "content": "r"}
    return [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": [call]}, told]


@pytest.mark.parametrize("arguments", [SPELLED, '{"n": ', "[1]", '{"n": NaN}'])
def test_an_import_tells_of_arguments_that_it_keeps_as_text(arguments: str) -> None:
    imported = import_messages(asked(arguments), "openai-chat")
    assert [(one.rule, one.kind, one.message, one.path) for one in imported.report] == [
        ("arguments", "unresolved", 1, "content[0].args")
    ]
    assert imported.messages[1].invalid_tool_calls[0]["args"] == arguments  # type: ignore[attr-defined]


SPELLING = tuple(target for target in TARGETS if target != "otel")


@pytest.mark.parametrize("dialect", SPELLING)
def test_an_import_keeps_objects_of_arguments_with_long_integers_as_text(dialect: str) -> None:
    imported = import_messages(history_of(dialect, BIG), dialect)
    (call,) = imported.messages[0].invalid_tool_calls  # type: ignore[attr-defined]
    assert (call["name"], call["args"]) == ("f", SPELLED)
    assert [(one.rule, one.kind, one.path) for one in imported.report] == [
        ("arguments", "unresolved", "content[0].args")
    ]
    assert "beyond 64 bits" in imported.report[0].detail


@pytest.mark.parametrize("dialect", SPELLING)
@pytest.mark.parametrize("target", ["openai-chat", "anthropic", "google", "bedrock"])
def test_calls_with_such_objects_are_answered_and_go_on(dialect: str, target: str) -> None:
    call = import_messages(history_of(dialect, BIG), dialect).messages[0]
    told = ToolMessage("r", tool_call_id=call.invalid_tool_calls[0]["id"])  # type: ignore[attr-defined]
    export = export_messages([HumanMessage("q"), call, told], target)
    spelled = SPELLED if target == "openai-chat" else {"invalid_arguments": SPELLED}
    assert json.dumps(spelled) in json.dumps(export.payload)
    assert "dropped" not in {loss.kind for loss in export.report}


@pytest.mark.parametrize("dialect", ["anthropic", "google", "bedrock"])
def test_arguments_that_are_no_object_make_an_invalid_call(dialect: str) -> None:
    payload = json.loads(json.dumps(history_of(dialect, "here")).replace('{"n": "here"}', "[1]"))
    imported = import_messages(payload, dialect)
    assert imported.messages[0].invalid_tool_calls[0]["args"] == "[1]"  # type: ignore[attr-defined]
    assert [one.rule for one in imported.report] == ["arguments"]


@pytest.mark.parametrize(
    ("dialect", "payload"),
    [
        (
            "google",
            {"candidates": [{"content": {"parts": [{"text": "a"}]}}], "usageMetadata": {"promptTokenCount": BIG}},
        ),
        (
            "bedrock",
            {
                "output": {"message": {"role": "assistant", "content": [{"text": "a"}]}},
                "stopReason": "end_turn",
                "usage": {"inputTokens": BIG},
            },
        ),
    ],
)
def test_counts_of_tokens_that_no_checkpoint_holds_are_refused(dialect: str, payload: Any) -> None:
    with pytest.raises(MalformedHistoryError, match=r"message 0 usage: .*beyond 64 bits"):
        import_messages(payload, dialect)


@pytest.mark.parametrize(
    ("dialect", "payload"),
    [
        (
            "google",
            {"systemInstruction": {"parts": [{"text": "s", "n": BIG}]}, "contents": [{"parts": [{"text": "q"}]}]},
        ),
        (
            "bedrock",
            {"system": [{"text": "s", "n": BIG}], "messages": [{"role": "user", "content": [{"text": "q"}]}]},
        ),
        (
            "anthropic",
            {"system": [{"type": "text", "text": "s", "n": BIG}], "messages": [{"role": "user", "content": "q"}]},
        ),
    ],
)
def test_system_instructions_that_no_checkpoint_holds_are_refused(dialect: str, payload: Any) -> None:
    with pytest.raises(MalformedHistoryError, match=r"system.*beyond 64 bits"):
        import_messages(payload, dialect)


def test_an_import_of_integers_of_64_bits_has_nothing_to_tell() -> None:
    imported = import_messages(asked('{"n": 18446744073709551615, "m": -9223372036854775808}'), "openai-chat")
    assert imported.report == ()
    assert imported.messages[1].tool_calls[0]["args"] == {"n": 2**64 - 1, "m": -(2**63)}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("target", "profile"),
    [("openai-chat", "openai"), ("openai-chat", "groq"), ("openai-responses", None), ("mistral", None)],
)
def test_long_integers_go_on_where_arguments_are_text(target: str, profile: str | None) -> None:
    export = export_messages(import_messages(asked(SPELLED), "openai-chat").messages, target, profile=profile)
    assert export.lossless
    assert json.dumps(SPELLED) in json.dumps(export.payload)


@pytest.mark.parametrize("target", ["anthropic", "google", "bedrock"])
def test_long_integers_are_wrapped_and_told_where_arguments_are_objects(target: str) -> None:
    export = export_messages(import_messages(asked(SPELLED), "openai-chat").messages, target)
    assert "invalid arguments became an object" in {loss.action for loss in export.report}
    assert json.dumps({"invalid_arguments": SPELLED}) in json.dumps(export.payload)
    assert adapt_messages(import_messages(asked(SPELLED), "openai-chat").messages, target).messages


def test_adapted_messages_do_not_tell_again_what_was_invalid_before() -> None:
    messages = import_messages(asked(SPELLED), "openai-chat").messages
    assert adapt_messages(messages, "openai-chat").report == ()
