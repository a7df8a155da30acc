"""Parts in a provider's own spelling, in messages and results that applications wrote: native to it, words elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint import export_messages, lint

TARGETS = ("anthropic", "openai-chat", "openai-responses", "mistral", "google", "bedrock")
RESPONSES = {"model_provider": "openai", "model_name": "gpt-5", "output_version": "responses/v1"}
CUSTOM = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "sql", "input": "SELECT 1"}
SEARCH = {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "THE BODY"}]}


def answered(*content: Any, **fields: Any) -> list[Any]:
    call = {"name": "f", "args": {}, "id": "call_1"}
    answer = ToolMessage(list(content), tool_call_id="call_1", **fields)
    return [HumanMessage("q"), AIMessage("", tool_calls=[call]), answer]


def of_responses(item: Any, *more: Any, **fields: Any) -> Any:
    history = [HumanMessage("q"), AIMessage([item], response_metadata=RESPONSES, **fields), *more]
    return export_messages(history, "openai-responses")


def losses_of_result(export: Any) -> list[str]:
    return [loss.kind for loss in export.report if loss.message == 2]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("part", [{"type": "json", "json": {"rows": 1}}, {"json": {"rows": 1}}], ids=["typed", "bare"])
def test_a_json_result_is_json_to_bedrock_and_its_text_elsewhere(target: str, part: Any) -> None:
    export = export_messages(answered(part), target)
    assert not losses_of_result(export)
    assert not lint(export.payload, target)
    if target == "bedrock":
        assert export.payload["messages"][-1]["content"][0]["toolResult"]["content"] == [{"json": {"rows": 1}}]
    else:
        assert json.dumps(json.dumps({"rows": 1})) in json.dumps(export.payload)


@pytest.mark.parametrize("target", TARGETS)
def test_the_output_of_a_custom_tool_is_read(target: str) -> None:
    export = export_messages(answered({"type": "custom_tool_call_output", "output": "rows"}), target)
    assert not losses_of_result(export)
    assert "rows" in json.dumps(export.payload)
    assert "custom_tool_call_output" not in json.dumps(export.payload)


SHOT = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}
FORMS = {"v0": lambda item: item, "v1": lambda item: {"type": "non_standard", "value": item}}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("target", TARGETS)
def test_media_in_the_output_of_a_custom_tool_go_where_media_of_results_go(target: str, form: str) -> None:
    item = {"type": "custom_tool_call_output", "output": [{"type": "input_text", "text": "rows"}, SHOT]}
    export = export_messages(answered(FORMS[form](item)), target, model="gemini-3-pro" if target == "google" else None)
    moved = target in ("openai-chat", "mistral")
    assert losses_of_result(export) == ["moved"] * moved
    assert "rows" in str(export.payload)
    assert "iVBORw0KGgo" in str(export.payload) or b"\x89PNG\r\n\x1a\n" in _bytes(export.payload)
    assert not lint(export.payload, target)


def _bytes(value: Any) -> list[bytes]:
    if isinstance(value, bytes):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [found for item in items for found in _bytes(item)]


def test_a_part_of_unknown_type_in_the_output_of_a_custom_tool_is_told_alone() -> None:
    item = {"type": "custom_tool_call_output", "output": [{"type": "input_text", "text": "rows"}, {"type": "new"}]}
    export = export_messages(answered(item), "anthropic")
    assert [loss.detail for loss in export.report if loss.message == 2] == ["new"]
    assert "rows" in json.dumps(export.payload)


def test_a_screenshot_that_stands_in_a_result_stays_a_picture() -> None:
    item = {"type": "computer_call_output", "output": {"type": "computer_screenshot", "image_url": SHOT["image_url"]}}
    (result,) = export_messages(answered(item), "anthropic").payload["messages"][-1]["content"]
    assert [block["type"] for block in result["content"]] == ["image"]


@pytest.mark.parametrize("content", [[{"type": "custom_tool_call_output", "output": "rows"}], "rows"])
def test_the_output_of_a_custom_tool_has_the_type_of_its_call(content: Any) -> None:
    calls = [{"name": "sql", "args": {"__arg1": "SELECT 1"}, "id": "call_1"}]
    answer = ToolMessage(content, tool_call_id="call_1")
    export = of_responses({**CUSTOM, "status": "completed"}, answer, tool_calls=calls)
    assert export.payload["input"][1:] == [
        CUSTOM,
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "rows"},
    ]


def test_an_approval_goes_back_with_its_request() -> None:
    asked = {"type": "mcp_approval_request", "id": "mcpr_1", "arguments": "{}", "name": "n", "server_label": "s"}
    given = {"type": "mcp_approval_response", "approve": True, "approval_request_id": "mcpr_1"}
    export = of_responses(asked, HumanMessage([given]))
    assert export.payload["input"][1:] == [asked, given]
    assert export.lossless


def test_a_screenshot_answers_a_computer_call() -> None:
    call = {"type": "computer_call", "id": "cu_1", "call_id": "call_1", "action": {"type": "screenshot"}}
    call |= {"pending_safety_checks": [], "status": "completed"}
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    answer = ToolMessage([image], tool_call_id="call_1", additional_kwargs={"type": "computer_call_output"})
    export = of_responses(call, answer)
    output = {"type": "computer_screenshot", "image_url": image["image_url"]}
    assert export.payload["input"][1:] == [
        call,
        {"type": "computer_call_output", "call_id": "call_1", "output": output},
    ]
    assert export.lossless
    unmarked = of_responses(call, ToolMessage([image], tool_call_id="call_1"))
    assert [item["type"] for item in unmarked.payload["input"][1:]] == ["function_call", "function_call_output"]


@pytest.mark.parametrize("target", TARGETS)
def test_a_cache_point_is_kept_for_bedrock_and_no_text_elsewhere(target: str) -> None:
    said = [HumanMessage([{"type": "text", "text": "ctx"}, {"cachePoint": {"type": "default"}}])]
    export = export_messages(said, target)
    if target == "bedrock":
        assert export.payload["messages"][0]["content"] == [{"text": "ctx"}, {"cachePoint": {"type": "default"}}]
    else:
        assert "not available" not in json.dumps(export.payload)
    assert [loss.kind for loss in export.report] == ([] if target == "bedrock" else ["dropped"])


@pytest.mark.parametrize("target", TARGETS)
def test_a_search_result_is_kept_for_anthropic_and_told_elsewhere(target: str) -> None:
    export = export_messages(answered(SEARCH), target)
    assert "THE BODY" in json.dumps(export.payload)
    assert losses_of_result(export) == ([] if target == "anthropic" else ["downgraded"])
    if target == "anthropic":
        assert export.payload["messages"][-1]["content"][0]["content"] == [SEARCH]
