"""Values that no checkpoint can hold: refused with their place, by errors of this package."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint import export_messages, import_messages
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
    with pytest.raises(MalformedHistoryError, match=r"\[0\].*beyond 64 bits"):
        import_messages(history_of(dialect, BIG), dialect)
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
