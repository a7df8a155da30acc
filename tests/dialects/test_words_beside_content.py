"""What parts and calls say beside their content reaches the target, or a loss names it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint import export_messages, import_messages, lint
from tests.dialects import oracle_bedrock, oracle_mistral, oracle_shapes

PDF = "JVBERi0xLjQgaGVsbG8="
PNG = "iVBORw0KGgo="
CITED = [{"type": "citation", "url": "https://c.example/said", "title": "said"}]
DOCUMENT: dict[str, Any] = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
}
NAMING = frozenset({"openai-chat", "openai-responses", "anthropic", "bedrock", "mistral"})
"""Targets that are told a file's name; a placeholder tells it too."""
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
    "name of a file": (
        {"type": "file", "base64": PDF, "mime_type": "application/pdf", "filename": "said"},
        NAMING,
    ),
    "name of a file in older messages": (
        {"type": "file", "base64": PDF, "mime_type": "application/pdf", "metadata": {"filename": "said"}},
        NAMING,
    ),
    "name of a picture": (
        {"type": "image", "base64": PNG, "mime_type": "image/png", "extras": {"filename": "said"}},
        frozenset(),
    ),
    "detail that no provider knows": (
        {"type": "image", "base64": PNG, "mime_type": "image/png", "extras": {"detail": "said"}},
        frozenset(),
    ),
    "key of an application, of a picture": (
        {"type": "image", "base64": PNG, "mime_type": "image/png", "mine": "said"},
        frozenset(),
    ),
    "key of an application": ({"type": "text", "text": "words", "mine": "said"}, frozenset()),
    "title of a text": ({"type": "text", "text": "words", "title": "said"}, frozenset()),
    "title of a picture": (
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}, "title": "said"},
        frozenset(),
    ),
    "cache hint": (
        {"type": "text", "text": "words", "cache_control": {"type": "ephemeral"}},
        frozenset({"anthropic"}),
    ),
    "citation": ({"type": "text", "text": "words", "annotations": CITED}, frozenset()),
}
SOURCES: tuple[dict[str, Any], ...] = (
    {"type": "text", "media_type": "text/plain", "data": "words"},
    {"type": "content", "content": [{"type": "text", "text": "wor"}, {"type": "text", "text": "ds"}]},
)
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


def holding(role: str, part: Any, *, alone: bool = False) -> list[BaseMessage]:
    content: Any = [part] if alone else [{"type": "text", "text": "see"}, part]
    if role == "assistant":
        return [HumanMessage("q"), AIMessage(content)]
    if role == "user":
        return [HumanMessage(content)]
    return [HumanMessage("q"), ASKED, ToolMessage(content, tool_call_id="abcdefghi"), AIMessage("ok")]


def said(payload: Any) -> bool:
    written = json.dumps(payload, default=repr)
    return any(word in written for word in ("said", '"low"', "ephemeral"))


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


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "mistral"])
@pytest.mark.parametrize("source", SOURCES)
def test_a_document_that_becomes_its_text_tells_its_title_as_lost(target: str, source: dict[str, Any]) -> None:
    part = {"type": "document", "title": "said", "context": "said", "source": source}
    export = export_messages(holding("user", part), target)
    assert not said(export.payload)
    assert [loss.detail for loss in export.report] == ["text/plain", "title, context"]


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
@pytest.mark.parametrize("name", ["key of an application", "cache hint"])
@pytest.mark.parametrize("target", [*TARGETS, "agent-checkpoint"])
def test_what_a_lone_text_says_more_is_told_too(target: str, name: str, role: str) -> None:
    part, able = PARTS[name]
    export = export_messages(holding(role, part, alone=True), target)
    assert said(export.payload) is (target in able)
    assert export.lossless is (target in able) or role == "tool"
    assert said(export.payload) or any(
        loss.detail in ("mine", "cache_hint") or loss.rule == "B4" for loss in export.report
    )


CALL_WORDS: dict[str, Any] = {
    "signature": {"type": "tool_call", "name": "look", "args": {}, "id": "abcdefghi", "extras": {"signature": "said"}},
    "caller": {"type": "tool_use", "name": "look", "input": {}, "id": "abcdefghi", "caller": {"type": "said"}},
    "hint": {
        "type": "tool_use",
        "name": "look",
        "input": {},
        "id": "abcdefghi",
        "cache_control": {"type": "ephemeral"},
    },
    "own key": {"type": "tool_call", "name": "look", "args": {}, "id": "abcdefghi", "extras": {"mine": "said"}},
}


@pytest.mark.parametrize("name", CALL_WORDS)
@pytest.mark.parametrize("target", [*TARGETS, "agent-checkpoint"])
def test_what_a_call_says_more_is_told(target: str, name: str) -> None:
    asked = AIMessage([CALL_WORDS[name]], tool_calls=[{"name": "look", "args": {}, "id": "abcdefghi"}])
    export = export_messages([HumanMessage("q"), asked, ToolMessage("ok", tool_call_id="abcdefghi")], target)
    assert said(export.payload) or any(loss.kind == "dropped" and loss.message == 1 for loss in export.report)


@pytest.mark.parametrize("source", ["anthropic", "openai-chat", "openai-responses", "mistral"])
@pytest.mark.parametrize("key", ["mine", "title"])
@pytest.mark.parametrize("target", TARGETS)
def test_an_unknown_key_of_a_provider_s_part_is_kept_or_told(source: str, key: str, target: str) -> None:
    kind = "input_text" if source == "openai-responses" else "text"
    part = {"type": kind, "text": "a", key: "said"}
    history = "input" if source == "openai-responses" else "messages"
    imported = import_messages({history: [{"role": "user", "content": [part]}]}, source)
    for given in (imported.envelopes, imported.messages):
        export = export_messages(given, target)
        assert said(export.payload) or [loss.detail for loss in export.report] == [key]


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
