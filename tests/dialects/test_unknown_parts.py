"""Parts that the named dialect does not know are told, or the payload is refused; never a part of it in silence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint.dialects.concerns import UNKNOWN_PART
from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint
from langgraph_portable_checkpoint.errors import MalformedHistoryError, UnsupportedPartError

ANTHROPIC = [
    {"role": "user", "content": [{"type": "text", "text": "look"}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "look", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "found"}]},
]
GEMINI = [{"role": "user", "parts": [{"text": "hi"}]}]
LANGCHAIN = [{"type": "human", "content": "hi"}, {"type": "ai", "content": "yo"}]
OTEL = [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]
BEDROCK = [{"role": "user", "content": [{"text": "hi"}]}]
CHAT_CALL = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "t", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
]


@pytest.mark.parametrize(
    ("payload", "named"),
    [
        *((ANTHROPIC, name) for name in ("openai-chat", "openai-responses", "mistral", "bedrock", "otel", "google")),
        *((GEMINI, name) for name in ("openai-chat", "openai-responses", "mistral", "bedrock", "otel", "anthropic")),
        *((OTEL, name) for name in ("openai-chat", "openai-responses", "mistral", "bedrock", "google", "anthropic")),
        *((BEDROCK, name) for name in ("openai-chat", "openai-responses", "mistral", "anthropic", "otel")),
        *((LANGCHAIN, name) for name in ("openai-chat", "openai-responses", "mistral", "anthropic", "otel", "google")),
    ],
)
def test_a_history_of_another_dialect_is_refused(payload: list[Any], named: str) -> None:
    with pytest.raises(MalformedHistoryError):
        import_messages(payload, named)


@pytest.mark.parametrize("named", ["openai-chat", "openai-responses", "mistral"])
def test_each_foreign_part_of_a_mostly_readable_history_is_told(named: str) -> None:
    texts = [{"role": "user", "content": "more"}] * 4
    imported = import_messages([*ANTHROPIC, *texts], named)
    told = [(loss.rule, loss.kind, loss.detail, loss.message) for loss in imported.report]
    assert told == [
        (UNKNOWN_PART.rule, UNKNOWN_PART.kind, "tool_use", 1),
        (UNKNOWN_PART.rule, UNKNOWN_PART.kind, "tool_result", 2),
    ]


@pytest.mark.parametrize("named", ["anthropic", "openai-responses"])
def test_calls_that_the_named_dialect_keeps_elsewhere_are_told(named: str) -> None:
    imported = import_messages(CHAT_CALL, named)
    assert [(loss.rule, loss.detail, loss.message) for loss in imported.report] == [("unknown-part", "tool_calls", 1)]


@pytest.mark.parametrize(
    ("named", "payload"),
    [
        ("anthropic", [{"role": "assistant", "content": [{"type": "new_tool_use", "id": "n"}]}]),
        ("openai-responses", [{"type": "new_call", "id": "n"}]),
        ("google", [{"role": "model", "parts": [{"newPart": {}}]}]),
        ("bedrock", [{"role": "assistant", "content": [{"newBlock": {}}]}]),
    ],
)
def test_a_new_kind_of_block_of_the_right_provider_is_kept_and_told(named: str, payload: list[Any]) -> None:
    imported = import_messages(payload, named)
    assert [block["type"] for block in imported.envelopes[0]["content"]] == ["non_standard"]
    assert [(loss.rule, loss.kind) for loss in imported.report] == [(UNKNOWN_PART.rule, UNKNOWN_PART.kind)]


def test_kinds_without_a_neutral_place_that_a_dialect_knows_are_no_news() -> None:
    payload = [{"type": "mcp_list_tools", "id": "m"}, {"type": "compaction", "id": "c", "encrypted_content": "x"}]
    assert import_messages(payload, "openai-responses").report == ()


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "anthropic", "google", "bedrock", "mistral"])
def test_plain_data_that_a_tool_gave_is_told_as_its_json(target: str) -> None:
    call = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "abcdefghi"}])
    found = ToolMessage([{"city": "Rome", "n": [1]}, {"type": "text", "text": "x"}], tool_call_id="abcdefghi")
    export = export_messages([HumanMessage("q"), call, found], target)
    assert '{"city": "Rome", "n": [1]}' in json.dumps(export.payload).replace('\\"', '"')
    told = [loss for loss in export.report if loss.message == 2 and loss.kind == "downgraded"]
    assert [(loss.path, loss.detail) for loss in told] == [("content[0]", "city, n")]


ORIGINS: dict[str, dict[str, Any]] = {
    "anthropic": {"model_provider": "anthropic", "model_name": "claude-sonnet-4-5"},
    "openai-chat": {"model_provider": "openai", "model_name": "gpt-5"},
    "openai-responses": {"model_provider": "openai", "model_name": "gpt-5", "id": "resp_1", "object": "response"},
    "google": {"model_provider": "google_genai", "model_name": "gemini-3-pro-preview"},
    "bedrock": {"model_provider": "bedrock_converse", "model_name": "anthropic.claude-sonnet-4-5"},
}
STANDARD: list[dict[str, Any]] = [
    {"type": "tool_call", "id": "call_1", "name": "f", "args": {"n": 1}},
    {"type": "invalid_tool_call", "id": "call_1", "name": "f", "args": "{", "error": None},
    {"type": "server_tool_call", "id": "s", "name": "web_search", "args": {}},
    {"type": "non_standard", "value": {"type": "x"}},
    {"type": "reasoning", "reasoning": "hm"},
    {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"},
    {"type": "audio", "base64": "AAAA", "mime_type": "audio/wav"},
    {"type": "file", "base64": "AAAA", "mime_type": "application/pdf"},
    {"type": "video", "url": "https://example.org/a.mp4"},
    {"type": "text-plain", "text": "x"},
]


@pytest.mark.parametrize("target", ORIGINS)
@pytest.mark.parametrize("version", [None, "v1"])
@pytest.mark.parametrize("block", STANDARD, ids=lambda block: str(block["type"]))
@pytest.mark.parametrize("origin", ORIGINS)
def test_a_block_of_langchain_with_a_key_of_somebody_else_is_not_sent_as_it_is(
    origin: str, block: dict[str, Any], version: str | None, target: str
) -> None:
    metadata = {**ORIGINS[origin], **({"output_version": version} if version else {})}
    calls: Any = [{"id": "call_1", "name": "f", "args": {"n": 1}}] if block["type"] == "tool_call" else []
    answer = AIMessage(
        [{"type": "text", "text": "hi"}, {**block, "odd": 1}], tool_calls=calls, response_metadata=metadata
    )
    results = [ToolMessage("r", tool_call_id="call_1")] if block.get("id") == "call_1" else []
    export = export_messages([HumanMessage("q"), answer, *results, HumanMessage("z")], target)
    assert "odd" not in str(export.payload)
    assert not lint(export.payload, target)
    if block["type"] not in ("reasoning", "server_tool_call"):
        assert not export.lossless


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "anthropic", "google", "bedrock", "mistral"])
def test_what_shall_become_of_unsupported_parts_goes_for_unknown_ones_too(target: str) -> None:
    history = [HumanMessage([{"type": "weird", "x": 1}, {"type": "text", "text": "t"}]), AIMessage("d")]
    with pytest.raises(UnsupportedPartError, match=r"message 0, content\[0\]: a part of unknown type \(weird\)"):
        export_messages(history, target, on_unsupported_part="raise")
    dropped = export_messages(history, target, on_unsupported_part="drop")
    assert [(loss.kind, loss.path) for loss in dropped.report] == [("dropped", "content[0]")]
    assert "not available" not in json.dumps(dropped.payload)


@pytest.mark.parametrize(
    ("named", "content"),
    [
        ("google", {"parts": [{"newPart": {}}, {"text": "x"}]}),
        ("bedrock", {"content": [{"newBlock": {}}, {"text": "x"}]}),
        ("bedrock", {"content": [{"text": "x"}, *[{"image": {"format": "png", "source": {"bytes": b"i"}}}] * 21]}),
    ],
)
def test_it_goes_for_parts_that_their_own_api_refuses(named: str, content: dict[str, Any]) -> None:
    messages = import_messages([{"role": "user", **content}], named).envelopes
    with pytest.raises(UnsupportedPartError):
        export_messages(messages, named, on_unsupported_part="raise")
    dropped = export_messages(messages, named, on_unsupported_part="drop")
    assert [loss.kind for loss in dropped.report] == ["dropped"]
    assert "not available" not in str(dropped.payload)
    assert "left out" not in str(dropped.payload)
    told = export_messages(messages, named)
    assert [loss.kind for loss in told.report] in (["unresolved"], ["placeholder"])
    assert "not available" in str(told.payload) or "left out" in str(told.payload)
    assert not lint(told.payload, named)


def test_a_lone_block_that_converse_refuses_leaves_a_text() -> None:
    imported = import_messages([{"role": "user", "content": [{"newBlock": {}}]}], "bedrock")
    export = export_messages(imported.envelopes, "bedrock", on_unsupported_part="drop")
    assert [loss.kind for loss in export.report] == ["unresolved"]
    assert "not available here" in str(export.payload)


def test_a_cache_marker_is_no_part_to_refuse() -> None:
    history = [HumanMessage([{"type": "text", "text": "t"}, {"cachePoint": {"type": "default"}}])]
    assert export_messages(history, "anthropic", on_unsupported_part="raise").report[0].kind == "dropped"
