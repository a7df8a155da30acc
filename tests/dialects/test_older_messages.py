"""Messages of integrations that did not yet write `model_provider`: what they hold goes back to who made it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint import export_messages
from langgraph_portable_checkpoint.dialects.export import read_messages

CALL: dict[str, Any] = {"name": "f", "args": {}, "id": "toolu_1"}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "sig"}
REASONING = {"type": "reasoning_content", "reasoning_content": {"text": "hm", "signature": "sig"}}
ITEM = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}
CLAUDE = {"id": "msg_01A", "model": "claude-3-7-sonnet-20250219", "stop_reason": "tool_use", "stop_sequence": None}
MADE: dict[str, tuple[str, AIMessage]] = {
    "langchain-anthropic 0.3": (
        "anthropic",
        AIMessage([THINKING, {"type": "tool_use", "input": {}, **CALL}], tool_calls=[CALL], response_metadata=CLAUDE),
    ),
    "langchain-anthropic 0.3, streamed": (
        "anthropic",
        AIMessage([THINKING], tool_calls=[CALL], response_metadata={"stop_reason": "tool_use", "stop_sequence": None}),
    ),
    "langchain-openai 0.3": (
        "openai-responses",
        AIMessage(
            [],
            tool_calls=[CALL],
            additional_kwargs={"reasoning": ITEM},
            response_metadata={"id": "resp_1", "object": "response", "model": "gpt-5", "model_name": "gpt-5"},
        ),
    ),
    "langchain-aws 0.2": (
        "bedrock",
        AIMessage(
            [REASONING],
            tool_calls=[CALL],
            response_metadata={"ResponseMetadata": {}, "stopReason": "tool_use", "metrics": {"latencyMs": [9]}},
        ),
    ),
}


@pytest.mark.parametrize("made", MADE)
def test_reasoning_goes_back_to_the_api_that_signed_it(made: str) -> None:
    own, message = MADE[made]
    history = [HumanMessage("q"), message, ToolMessage("r", tool_call_id="toolu_1")]
    export = export_messages(history, own)
    assert "sig" in str(export.payload) or "'E'" in str(export.payload)
    assert export.lossless
    for other in {"anthropic", "openai-responses", "bedrock"} - {own}:
        assert "sig" not in str(export_messages(history, other).payload).replace("signature", "")


@pytest.mark.parametrize(
    ("metadata", "provider", "api"),
    [
        ({"finish_reason": "STOP", "safety_ratings": [], "model_name": "gemini-2.5-pro"}, "google", "generate-content"),
        ({"is_blocked": False, "safety_ratings": []}, "google-vertex", "generate-content"),
        ({"token_usage": {}, "model_name": "gpt-4o", "id": "chatcmpl-1", "system_fingerprint": "fp"}, None, None),
        ({"stop_sequence": None, "model": "minimax-m2"}, None, None),
        ({"finish_reason": "stop", "model_name": "mistral-large"}, None, None),
    ],
)
def test_who_made_a_message_is_told_by_marks_that_one_api_alone_leaves(
    metadata: dict[str, Any], provider: str | None, api: str | None
) -> None:
    (envelope,) = read_messages([AIMessage("x", response_metadata=metadata)])
    origin = envelope.get("origin") or {}
    assert (origin.get("provider"), origin.get("api")) == (provider, api)
