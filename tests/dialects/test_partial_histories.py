"""A history of which only a part could be read is told to be one."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.concerns import PARTIAL
from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages

USER = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "par"}
REFERENCE = {"type": "item_reference", "id": "msg_1"}
MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "par", "annotations": []}],
}
CUT = {**MESSAGE, "status": "incomplete"}
CONTENT = {"role": "user", "parts": [{"text": "q"}]}
MODEL = {"role": "model", "parts": [{"text": "par"}]}
CLAUDE = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "par"}]}
CONVERSE = {"role": "assistant", "content": [{"text": "par"}]}


def told(payload: Any, dialect: str) -> list[tuple[str, str]]:
    """Return path and detail of each loss that says that a history is not whole."""
    report = import_messages(payload, dialect).report
    assert {(loss.rule, loss.kind) for loss in report} <= {(PARTIAL.rule, PARTIAL.kind)}
    return [(loss.path, loss.detail) for loss in report]


@pytest.mark.parametrize(
    ("dialect", "payload", "path"),
    [
        ("openai-responses", {"input": "x", "previous_response_id": "resp_1"}, "previous_response_id"),
        (
            "langchain",
            [{"type": "ai", "data": {"content": "par", "response_metadata": {"finish_reason": "length"}}}],
            "response_metadata",
        ),
        ("openai-responses", {"input": [USER], "conversation": {"id": "conv_1"}}, "conversation"),
        ("openai-responses", {"input": [USER], "prompt": {"id": "pmpt_1"}}, "prompt"),
        ("openai-responses", {"output": [MESSAGE], "previous_response_id": "resp_1"}, "previous_response_id"),
        ("openai-responses", [USER, REFERENCE], "[1]"),
        ("openai-responses", {"input": [REFERENCE, USER]}, "input[0]"),
        ("google", {"contents": [CONTENT], "cachedContent": "cachedContents/1"}, "cachedContent"),
        ("google", {"contents": [CONTENT], "config": {"cached_content": "c/1"}}, "config.cached_content"),
        ("bedrock", {"messages": [CONVERSE], "promptVariables": {"a": {"text": "b"}}}, "promptVariables"),
    ],
)
def test_what_the_provider_keeps_is_told(dialect: str, payload: Any, path: str) -> None:
    assert [path for path, _ in told(payload, dialect)] == [path]


@pytest.mark.parametrize(
    ("dialect", "payload", "found"),
    [
        (
            "openai-responses",
            {"status": "failed", "error": {"code": "server_error"}, "output": []},
            ("status", "failed, server_error"),
        ),
        (
            "openai-responses",
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [CUT]},
            ("status", "incomplete, max_output_tokens"),
        ),
        ("openai-responses", [USER, CUT], ("[1].status", "incomplete")),
        (
            "openai-chat",
            {"choices": [{"message": SAID, "finish_reason": "length"}]},
            ("choices[0].finish_reason", "length"),
        ),
        ("mistral", {"choices": [{"message": SAID, "finish_reason": "error"}]}, ("choices[0].finish_reason", "error")),
        ("anthropic", {**CLAUDE, "stop_reason": "max_tokens"}, ("stop_reason", "max_tokens")),
        ("google", {"candidates": [{"content": MODEL, "finishReason": "SAFETY"}]}, ("finishReason", "SAFETY")),
        ("bedrock", {"output": {"message": CONVERSE}, "stopReason": "max_tokens"}, ("stopReason", "max_tokens")),
        (
            "otel",
            [{"role": "assistant", "parts": [{"type": "text", "content": "p"}], "finish_reason": "length"}],
            ("finish_reason", "length"),
        ),
    ],
)
def test_an_answer_that_was_not_finished_is_told(dialect: str, payload: Any, found: tuple[str, str]) -> None:
    assert told(payload, dialect) == [found]


@pytest.mark.parametrize(
    ("dialect", "payload"),
    [
        ("openai-responses", {"input": "x", "previous_response_id": None, "conversation": None, "prompt": None}),
        ("openai-responses", [MESSAGE, REFERENCE, USER]),
        ("openai-responses", {"status": "completed", "output": [MESSAGE]}),
        ("openai-responses", [{"type": "mcp_call", "id": "mcp_1", "name": "f", "arguments": "{}", "status": "failed"}]),
        ("openai-chat", {"choices": [{"message": SAID, "finish_reason": "stop"}]}),
        ("anthropic", {**CLAUDE, "stop_reason": "end_turn"}),
        ("google", {"candidates": [{"content": MODEL, "finishReason": "STOP"}]}),
    ],
)
def test_a_whole_history_is_not_called_a_part(dialect: str, payload: Any) -> None:
    assert told(payload, dialect) == []


@pytest.mark.parametrize("odd", [{}, [], 1, None])
def test_states_and_ids_of_any_kind_are_no_error(odd: Any) -> None:
    item = {"type": "new_item", "id": odd, "status": odd}
    assert import_messages({"output": [item, {**REFERENCE, "id": odd}], "status": odd}, "openai-responses").report


def test_an_exported_history_comes_back_without_a_word() -> None:
    imported = import_messages({**CLAUDE, "stop_reason": "max_tokens"}, "anthropic")
    assert import_messages(export_messages(imported.messages, "otel").payload, "otel").report == ()


@pytest.mark.parametrize("target", ["openai-chat", "anthropic", "google", "bedrock", "mistral"])
def test_a_reference_to_what_the_provider_keeps_is_nothing_that_a_user_said(target: str) -> None:
    imported = import_messages([USER, REFERENCE, {"role": "assistant", "content": "yo"}], "openai-responses")
    export = export_messages(imported.envelopes, target)
    assert "item_reference" not in str(export.payload)
    assert ("dropped", 1) in [(loss.kind, loss.message) for loss in export.report]
    assert "placeholder" not in [loss.kind for loss in export.report]
