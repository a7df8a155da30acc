"""What an API says of messages, calls and sources beside their content comes back to it, or a loss names it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint import export_messages, import_messages, lint
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError, MalformedHistoryError
from tests.dialects import oracle_bedrock, oracle_mistral

Q: dict[str, Any] = {"role": "user", "content": "q"}
TARGETS = ("anthropic", "bedrock", "google", "mistral", "openai-chat", "openai-responses")


def asks(arguments: str, **beside: Any) -> list[dict[str, Any]]:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}, **beside}
    return [
        Q,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "r"},
    ]


def again(payload: Any, dialect: str, **options: Any) -> Any:
    """Import a history and export it to where it came from, also as LangChain messages."""
    imported = import_messages(payload, dialect)
    ways = [export_messages(given, dialect, **options) for given in (imported.envelopes, imported.messages)]
    assert ways[0].payload == ways[1].payload
    assert ways[0].report == ways[1].report
    return ways[0]


def test_a_signature_in_a_chat_call_goes_back_to_hosts_that_may_want_it_and_is_told_elsewhere() -> None:
    signed = asks("{}", extra_content={"google": {"thought_signature": "TS"}})
    assert again({"messages": signed}, "openai-chat", profile="compatible").payload["messages"][1] == signed[1]
    for profile in ("openai", "openrouter", "groq"):
        export = again({"messages": signed}, "openai-chat", profile=profile)
        assert ("C12", "extra_content") in {(loss.rule, loss.detail) for loss in export.report}


def test_the_caller_of_a_call_survives_a_detour() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}, "caller": {"type": "direct"}}
    history = [Q, {"role": "assistant", "content": [call]}]
    history.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}]})
    detour = export_messages(import_messages({"messages": history}, "anthropic").envelopes, "otel")
    back = export_messages(import_messages(detour.payload, "otel").envelopes, "anthropic")
    assert back.payload["messages"][1]["content"] == [call]


def test_the_tools_of_aws_go_back_in_pairs() -> None:
    use = {"toolUse": {"toolUseId": "st1", "name": "nova_grounding", "input": {"q": 1}, "type": "server_tool_use"}}
    answer = {"toolResult": {"toolUseId": "st1", "content": [{"json": {"x": 1}}], "type": "nova_grounding_result"}}
    user = {"role": "user", "content": [{"text": "q"}]}
    payload = {"messages": [user, {"role": "assistant", "content": [use, answer, {"text": "a"}]}, user]}
    export = again(payload, "bedrock")
    assert export.payload == payload
    assert export.lossless
    assert lint(payload, "bedrock") == oracle_bedrock.complaints(payload) == []
    half = {"messages": [user, {"role": "assistant", "content": [answer, {"text": "a"}]}, user]}
    assert again(half, "bedrock").payload["messages"][1]["content"] == [{"text": "a"}]
    detour = export_messages(import_messages(payload, "bedrock").envelopes, "otel").payload
    assert export_messages(import_messages(detour, "otel").envelopes, "bedrock").payload == payload


def test_documents_and_references_of_mistral_go_back_to_its_api_and_to_no_bare_tokenizer() -> None:
    document = {"type": "document_url", "document_url": "https://d.example/a.pdf", "document_name": "a"}
    asked = {"role": "user", "content": [{"type": "text", "text": "t"}, document]}
    said = {
        "role": "assistant",
        "content": [{"type": "text", "text": "a"}, {"type": "reference", "reference_ids": [1]}],
    }
    payload = {"messages": [asked, said, Q]}
    export = again(payload, "mistral")
    assert export.payload == payload
    assert lint(payload, "mistral") == oracle_mistral.unknown_to_sdk(payload["messages"]) == []
    bare = export_messages(import_messages(payload, "mistral").envelopes[:1], "mistral", profile="v15")
    assert [loss.kind for loss in bare.report] == ["placeholder"]


SOURCES = {
    "groundingMetadata": {
        "webSearchQueries": ["q"],
        "groundingChunks": [{"web": {"uri": "https://g.example", "title": "T"}}],
        "groundingSupports": [{"segment": {"endIndex": 1, "text": "a"}, "groundingChunkIndices": [0, 7]}],
    },
    "citationMetadata": {"citations": [{"uri": "https://c.example", "startIndex": 0, "endIndex": 1}]},
}


def test_what_gemini_says_of_its_sources_becomes_citations() -> None:
    parts = [{"text": "thinks", "thought": True}, {"text": "a"}]
    response = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", **SOURCES}]}
    imported = import_messages(response, "google")
    annotations = imported.envelopes[0]["content"][1]["annotations"]
    assert [one.get("url") for one in annotations] == ["https://g.example", None, "https://c.example"]
    assert annotations[0]["cited_text"] == "a"
    history = [HumanMessage("q"), *imported.messages]
    for target in TARGETS:
        told = {loss.path for loss in export_messages(history, target).report if loss.kind == "dropped"}
        assert {"groundingMetadata", "citationMetadata"} <= told, target
    assert "https://g.example" in str(export_messages(history, "otel").payload)


@pytest.mark.parametrize("profile", ["openai", "groq", "compatible"])
def test_a_result_s_name_is_told_where_its_call_has_another(profile: str) -> None:
    named = asks("{}")
    named[2]["name"] = "other"
    told = [loss.detail for loss in again({"messages": named}, "openai-chat", profile=profile).report]
    assert told == ["other"]
    named[2]["name"] = "f"
    assert again({"messages": named}, "openai-chat", profile=profile).lossless


def test_keys_of_an_item_that_input_has_not_are_told() -> None:
    item = {"type": "message", "id": "msg_1", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    assert [loss.detail for loss in again({"input": [item]}, "openai-responses").report] == ["id"]


def test_unknown_keys_of_a_message_are_told() -> None:
    for dialect, rule in (("mistral", "M8"), ("openai-chat", "C5")):
        told = again({"messages": [{**Q, "mine": 1}]}, dialect).report
        assert [(loss.rule, loss.path) for loss in told] == [(rule, "mine")]


@pytest.mark.parametrize("options", [{}, {"incomplete": "trim"}, {"orphans": "text"}])
def test_a_history_of_blank_texts_is_said_to_be_one(options: Any) -> None:
    with pytest.raises(IncompatibleHistoryError, match="blank texts"):
        export_messages([HumanMessage("")], "anthropic", **options)
    lone = [HumanMessage(""), AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c"}])]
    with pytest.raises(IncompatibleHistoryError, match="unfinished"):
        export_messages(lone, "anthropic")


def test_a_payload_that_holds_itself_is_refused() -> None:
    itself: dict[str, Any] = {"type": "text"}
    itself["again"] = [itself, itself]
    for dialect in ("openai-chat", "anthropic", "mistral", "bedrock", "google"):
        with pytest.raises(MalformedHistoryError, match="nested deeper"):
            import_messages({"messages": [{"role": "user", "content": [itself]}]}, dialect)


@pytest.mark.parametrize("arguments", ['{"a":' * 300 + "1" + "}" * 300, '{"a\\ud800":1}', '[{"b":{"a\\udc00":1}}]'])
def test_arguments_that_no_checkpoint_can_hold_are_kept_as_text(arguments: str) -> None:
    imported = import_messages({"messages": asks(arguments)}, "openai-chat")
    assert [loss.rule for loss in imported.report] == ["arguments"]
    assert imported.messages[1].invalid_tool_calls[0]["args"] == arguments  # type: ignore[attr-defined]
    assert isinstance(imported.messages[2], ToolMessage)


def test_pairs_of_surrogates_in_a_key_are_no_halves() -> None:
    imported = import_messages({"messages": asks('{"\\ud83d\\ude00":1}')}, "openai-chat")
    assert imported.messages[1].tool_calls[0]["args"] == {"\U0001f600": 1}  # type: ignore[attr-defined]
