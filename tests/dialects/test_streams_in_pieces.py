"""What streams leave in messages: calls in pieces, two signed texts in one, a summary beside an empty text."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.messages.utils import message_chunk_to_message

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint, read_messages
from tests.dialects.recorded import breaches

FACTS: dict[str, Any] = {
    "anthropic": {"model_provider": "anthropic", "model_name": "claude-sonnet-4-5"},
    "openai-chat": {"model_provider": "openai", "model_name": "gpt-5"},
    "openai-responses": {"model_provider": "openai", "model_name": "gpt-5", "id": "resp_1", "object": "response"},
    "bedrock": {"model_provider": "bedrock_converse", "model_name": "anthropic.claude-sonnet-4-5"},
    "google": {"model_provider": "google_genai", "model_name": "gemini-3-pro-preview"},
}
TARGETS = ("anthropic", "openai-chat", "openai-responses", "bedrock", "google", "mistral")
CUT = '{"city": "Pari'
WHOLE = '{"city": "Paris"}'


def streamed(origin: str, text: str, *, call_type: str = "tool_call_chunk", merged: bool = False) -> Any:
    """An answer whose last part came in two pieces, as LangChain's v1 output has it, with or without its end."""
    facts = {**FACTS[origin], "output_version": "v1"}
    first = {"type": call_type, "id": "call_1", "name": "weather", "args": text[:4], "index": 1}
    rest = {"type": call_type, "id": None, "name": None, "args": text[4:], "index": 1}
    begun = AIMessageChunk([{"type": "text", "text": "I look.", "index": 0}, first], response_metadata=facts)
    whole = begun + AIMessageChunk([rest])
    return message_chunk_to_message(whole) if merged else whole


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("origin", FACTS)
@pytest.mark.parametrize("target", TARGETS)
def test_a_call_that_was_cut_goes_with_its_pieces(origin: str, target: str, merged: bool) -> None:
    answer = streamed(origin, CUT, merged=merged)
    assert any(part["type"] == "tool_call_chunk" for part in answer.content)
    export = export_messages([HumanMessage("q"), answer, HumanMessage("z")], target)
    assert "chunk" not in str(export.payload)
    assert "not available" not in str(export.payload)
    assert not lint(export.payload, target)
    assert [loss.kind for loss in export.report if "call_1" in loss.detail or "call" in loss.action] == ["dropped"]
    assert not any(loss.rule == "unknown-part" for loss in export.report)


@pytest.mark.parametrize("text", [WHOLE, CUT])
def test_a_call_in_pieces_is_the_one_that_ran(text: str) -> None:
    answer = streamed("anthropic", text, merged=True)
    answer.tool_calls = [{"name": "weather", "args": {"city": "Rome"}, "id": "call_1", "type": "tool_call"}]
    result = ToolMessage("18", tool_call_id="call_1")
    export = export_messages([HumanMessage("q"), answer, result], "anthropic")
    uses = [part for part in export.payload["messages"][1]["content"] if part["type"] == "tool_use"]
    assert uses == [{"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Rome"}}]


@pytest.mark.parametrize("target", TARGETS)
def test_arguments_that_are_no_json_are_told_once(target: str) -> None:
    answer = streamed("anthropic", '{"city": Paris}', merged=True)
    answer.invalid_tool_calls = [
        {"name": "weather", "args": '{"city": Paris}', "id": "call_1", "error": None, "type": "invalid_tool_call"}
    ]
    export = export_messages([HumanMessage("q"), answer, ToolMessage("no", tool_call_id="call_1")], target)
    if target in ("anthropic", "openai-chat", "openai-responses"):
        assert not breaches(export.payload, target, None)
    assert not lint(export.payload, target)
    assert str(export.payload).count("Paris") == 1
    assert "tool_call_chunk" not in str(export.payload)


def test_a_call_that_was_refused_is_invalid_whatever_its_text() -> None:
    answer = streamed("anthropic", WHOLE, merged=True)
    refused = {"name": "weather", "args": WHOLE, "id": "call_1", "error": "not allowed", "type": "invalid_tool_call"}
    answer.invalid_tool_calls = [refused]
    [envelope] = read_messages([answer])
    assert [block["type"] for block in envelope["content"]] == ["text", "invalid_tool_call"]


def test_a_server_tool_that_was_cut_is_dropped_and_told() -> None:
    answer = streamed("anthropic", '{"query": "Par', call_type="server_tool_call_chunk")
    answer.content[1]["name"] = "web_search"
    export = export_messages([HumanMessage("q"), answer, HumanMessage("z")], "anthropic")
    assert export.payload["messages"][1]["content"] == [{"type": "text", "text": "I look."}]
    assert [(loss.rule, loss.kind) for loss in export.report] == [("A13", "dropped")]


@pytest.mark.parametrize("target", ["anthropic", "openai-chat"])
def test_a_summary_beside_an_empty_text_is_a_compaction(target: str) -> None:
    facts = {**FACTS["anthropic"], "output_version": "v1"}
    summary = {"type": "text", "text": "", "index": 0, "extras": {"content": "Summary: she is Ada."}}
    answer = AIMessage([summary, {"type": "text", "text": "Hello Ada", "index": 1}], response_metadata=facts)
    export = export_messages([HumanMessage("q"), answer, HumanMessage("z")], target)
    content = export.payload["messages"][1]["content"]
    if target == "anthropic":
        assert content[0] == {"type": "compaction", "content": "Summary: she is Ada."}
        assert export.lossless
    else:
        assert [(loss.rule, loss.kind) for loss in export.report] == [("C13", "dropped")]


@pytest.mark.parametrize("version", [None, "v1"])
def test_two_signatures_in_one_are_none(version: str | None) -> None:
    facts = {**FACTS["google"], **({"output_version": version} if version else {})}

    def piece(text: str, signature: str) -> AIMessageChunk:
        part = {"type": "text", "text": text, "index": 0, "extras": {"signature": signature}}
        return AIMessageChunk([part], response_metadata=facts if text == "one " else {})

    answer = piece("one ", "QUFBQQ==") + piece("two", "QkJCQg==")
    assert answer.content[0]["extras"] == {"signature": "QUFBQQ==QkJCQg=="}  # type: ignore[index,call-overload]
    export = export_messages([HumanMessage("q"), answer, HumanMessage("z")], "google")
    assert export.payload["contents"][1]["parts"] == [{"text": "one two"}]
    assert [(loss.rule, loss.kind) for loss in export.report] == [("G10", "dropped")]
    broken = {"contents": [{"role": "model", "parts": [{"text": "a", "thoughtSignature": "QUE=QkI="}]}]}
    assert [finding.path for finding in lint(broken, "google")] == ["contents[0].parts[0].thoughtSignature"]
    imported = import_messages(broken, "google").messages
    again = export_messages([HumanMessage("q"), *imported], "google")
    assert "thoughtSignature" not in str(again.payload)
    assert [loss.rule for loss in again.report] == ["G10"]


def test_calls_stand_in_the_order_in_which_they_were_asked() -> None:
    """langchain-openai's v1 streams merge the first call into the text before it, which has its index."""
    text = {"type": "text", "text": "I look", "index": 0, "id": "call_1", "name": "weather", "args": WHOLE}
    second = {"type": "tool_call", "id": "call_2", "name": "weather", "args": {"city": "Rome"}}
    calls: Any = [
        {"name": "weather", "args": {"city": city}, "id": f"call_{at}"} for at, city in ((1, "Paris"), (2, "Rome"))
    ]
    facts = {**FACTS["openai-chat"], "output_version": "v1"}
    answer = AIMessage([text, second], tool_calls=calls, response_metadata=facts)
    [envelope] = read_messages([answer])
    assert [block.get("id") for block in envelope["content"] if block["type"] == "tool_call"] == ["call_1", "call_2"]
