"""What media and texts say beside their bytes and words reaches the target, or a loss names it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint import export_messages, lint
from tests.dialects import oracle_bedrock, oracle_mistral, oracle_shapes

PDF = "JVBERi0xLjQgaGVsbG8="
PNG = "iVBORw0KGgo="
CITED = [{"type": "citation", "url": "https://c.example/said", "title": "said"}]
DOCUMENT: dict[str, Any] = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
}
PARTS: dict[str, tuple[dict[str, Any], frozenset[str]]] = {
    "title": ({**DOCUMENT, "title": "said"}, frozenset({"anthropic", "bedrock"})),
    "context": ({**DOCUMENT, "title": "t", "context": "said"}, frozenset({"anthropic", "bedrock"})),
    "title of a v1 block": (
        {"type": "file", "base64": PDF, "mime_type": "application/pdf", "extras": {"title": "said"}},
        frozenset({"anthropic", "bedrock"}),
    ),
    "detail": (
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
        frozenset({"openai-chat", "openai-responses", "mistral"}),
    ),
    "detail of a v1 block": (
        {"type": "image", "base64": PNG, "mime_type": "image/png", "extras": {"detail": "low"}},
        frozenset({"openai-chat", "openai-responses", "mistral"}),
    ),
    "transcript": (
        {"type": "audio", "base64": "UklGRg==", "mime_type": "audio/wav", "extras": {"transcript": "said"}},
        frozenset({"openai-responses", "anthropic", "mistral"}),
    ),
    "citation": ({"type": "text", "text": "words", "annotations": CITED}, frozenset()),
}
TARGETS = ("anthropic", "bedrock", "google", "mistral", "openai-chat", "openai-responses")
ASKED = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "abcdefghi"}])
ORACLES: dict[str, Any] = {
    "anthropic": lambda payload: oracle_shapes.breaches("anthropic", payload["messages"]),
    "openai-chat": lambda payload: oracle_shapes.breaches("openai-chat", payload["messages"]),
    "openai-responses": lambda payload: oracle_shapes.breaches("openai-responses", payload["input"]),
    "bedrock": oracle_bedrock.complaints,
    "mistral": lambda payload: oracle_mistral.unknown_to_sdk(payload["messages"]),
    "google": lambda payload: [],
}


def holding(role: str, part: Any) -> list[BaseMessage]:
    content = [{"type": "text", "text": "see"}, part]
    if role == "user":
        return [HumanMessage(content)]
    return [HumanMessage("q"), ASKED, ToolMessage(content, tool_call_id="abcdefghi"), AIMessage("ok")]


def said(payload: Any) -> bool:
    written = json.dumps(payload, default=repr)
    return "said" in written or '"low"' in written


@pytest.mark.parametrize("role", ["user", "tool"])
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("target", TARGETS)
def test_a_word_reaches_the_target_or_a_loss_names_it(target: str, name: str, role: str) -> None:
    part, able = PARTS[name]
    export = export_messages(holding(role, part), target)
    at = 0 if role == "user" else 2
    told = [
        loss for loss in export.report if loss.message == at and loss.kind in ("dropped", "placeholder", "downgraded")
    ]
    assert said(export.payload) or told
    assert role == "tool" or said(export.payload) is (target in able)
    assert ORACLES[target](export.payload) == lint(export.payload, target) == []


@pytest.mark.parametrize("target", TARGETS)
def test_the_usual_detail_is_no_loss(target: str) -> None:
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "auto"}}
    assert export_messages(holding("user", part), target).lossless


@pytest.mark.parametrize("target", [*TARGETS, "agent-checkpoint", "otel"])
def test_bytes_in_arguments_are_base64_and_told(target: str) -> None:
    asked = AIMessage("", tool_calls=[{"name": "look", "args": {"x": b"\0x", "é": [b""]}, "id": "abcdefghi"}])
    export = export_messages([HumanMessage("q"), asked, ToolMessage("ok", tool_call_id="abcdefghi")], target)
    assert "AHg=" in str(export.payload)
    assert "x00" not in str(export.payload)
    assert "downgraded" in {loss.kind for loss in export.report if loss.message == 1}
