"""Responses items: every kind goes back as it came, and becomes something sensible elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint
from tests.dialects import oracle_shapes
from tests.dialects.histories import RESPONSES, assistant, call, result, text, user

U = {"role": "user", "content": "hi"}


def answer(words: str, item_id: str = "msg_1", **keys: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": words, "annotations": []}
    head = {"type": "message", "id": item_id, "role": "assistant", "status": "completed"}
    return {**head, "content": [part], **keys}


def back(*items: Any, **options: Any) -> list[Any]:
    imported = import_messages(list(items), "openai-responses")
    export = export_messages(imported.messages, "openai-responses", **options)
    written: list[Any] = export.payload["input"]
    assert not oracle_shapes.breaches("openai-responses", written)
    assert not lint(written, "openai-responses", **options)
    return written


SHELL_OUTPUT = [{"stdout": "a\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
PAIRS = {
    "function": (
        {
            "type": "function_call",
            "call_id": "c",
            "name": "f",
            "arguments": '{"a":1}',
            "id": "fc_1",
            "status": "completed",
        },
        {"type": "function_call_output", "call_id": "c", "output": "1"},
    ),
    "parts": (
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": [{"type": "input_image", "image_url": "https://example.com/a.png", "detail": "low"}],
        },
    ),
    "custom": (
        {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "SELECT 1", "id": "ctc_1"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "1"},
    ),
    "shell": (
        {"type": "shell_call", "call_id": "c", "id": "sh_1", "action": {"commands": ["ls"]}, "status": "completed"},
        {"type": "shell_call_output", "call_id": "c", "output": SHELL_OUTPUT},
    ),
    "local shell": (
        {
            "type": "local_shell_call",
            "call_id": "c",
            "id": "lsh_1",
            "action": {"type": "exec", "command": ["ls"], "env": {}},
            "status": "completed",
        },
        {"type": "local_shell_call_output", "id": "c", "output": "a"},
    ),
    "patch": (
        {
            "type": "apply_patch_call",
            "call_id": "c",
            "id": "apc_1",
            "status": "completed",
            "operation": {"type": "delete_file", "path": "a.txt"},
        },
        {"type": "apply_patch_call_output", "call_id": "c", "status": "completed", "output": "done"},
    ),
    "computer": (
        {
            "type": "computer_call",
            "call_id": "c",
            "id": "cu_1",
            "action": {"type": "screenshot"},
            "pending_safety_checks": [],
            "status": "completed",
        },
        {
            "type": "computer_call_output",
            "call_id": "c",
            "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw0KGgo="},
        },
    ),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_calls_and_their_outputs_come_back(kind: str) -> None:
    items = [U, *PAIRS[kind], answer("ok")]
    assert back(*items) == items


@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic", "mistral"])
def test_calls_of_every_kind_become_tool_calls_elsewhere(kind: str, dialect: str) -> None:
    imported = import_messages([U, *PAIRS[kind], answer("ok")], "openai-responses")
    export = export_messages(imported.envelopes, dialect)
    assert not lint(export.payload, dialect)
    assert len([one for one in export.payload["messages"] if one["role"] == "assistant"]) == 2


@pytest.mark.parametrize(
    "item",
    [
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "x", "queries": ["x"]},
        },
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
        {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "f", "arguments": "{}"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
        {"type": "compaction", "encrypted_content": "x"},
        {"type": "item_reference", "id": "msg_0"},
    ],
    ids=lambda item: item["type"],
)
def test_items_of_the_provider_come_back_in_their_place(item: dict[str, Any]) -> None:
    items = [U, item, answer("ok"), U]
    assert back(*items) == items


def test_what_a_message_says_beyond_its_text_comes_back() -> None:
    cited = answer("as it says", phase="final_answer")
    cited["content"][0]["annotations"] = [
        {"type": "url_citation", "url": "https://example.com", "title": "t", "start_index": 0, "end_index": 2}
    ]
    refused = answer("", "msg_2")
    refused["content"] = [{"type": "refusal", "refusal": "no"}]
    items = [{"role": "developer", "content": "s"}, U, cited, U, refused]
    assert back(*items) == items


def test_phase_is_kept_without_an_id_too() -> None:
    items = [U, {"role": "assistant", "content": "thinking aloud", "phase": "commentary"}]
    assert back(*items) == items


def test_two_answers_without_ids_stay_two() -> None:
    items = [U, {"role": "assistant", "content": "one"}, {"role": "assistant", "content": "two"}]
    assert back(*items) == items
    elsewhere = export_messages(import_messages(items, "openai-responses").envelopes, "openai-chat")
    assert [one["content"] for one in elsewhere.payload["messages"][1:]] == ["one", "two"]


def test_instructions_come_back_as_instructions() -> None:
    payload = {"instructions": "Be brief.", "input": [U]}
    imported = import_messages(payload, "openai-responses")
    assert export_messages(imported.messages, "openai-responses").payload == payload
    assert export_messages(imported.messages, "anthropic").payload["system"] == "Be brief."


def test_a_plain_text_input_is_a_question() -> None:
    (envelope,) = import_messages({"input": "hi", "model": "gpt-5"}, "openai-responses").envelopes
    assert (envelope["role"], envelope["content"]) == ("user", [text("hi")])


def test_interleaved_reasoning_keeps_its_order() -> None:
    def reasoning(number: int) -> dict[str, Any]:
        return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "x"}

    def calls(name: str) -> dict[str, Any]:
        return {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}", "id": f"fc_{name}"}

    def gives(name: str) -> dict[str, Any]:
        return {"type": "function_call_output", "call_id": name, "output": "1"}

    items = [U, reasoning(1), calls("a"), reasoning(2), calls("b"), gives("b"), gives("a"), answer("ok")]
    assert back(*items) == items


def test_a_call_whose_native_result_is_missing_becomes_a_function_call() -> None:
    shell, _ = PAIRS["shell"]
    imported = import_messages([U, shell], "openai-responses")
    export = export_messages(imported.envelopes, "openai-responses", incomplete="synthesize")
    kinds = [item.get("type") for item in export.payload["input"]]
    assert kinds == [None, "function_call", "function_call_output"]
    assert not oracle_shapes.breaches("openai-responses", export.payload["input"])


def test_long_call_ids_get_short_ones() -> None:
    history = [user("hi"), assistant(call("x" * 65)), result("x" * 65)]
    items = export_messages(history, "openai-responses").payload["input"]
    assert items[1]["call_id"] == items[2]["call_id"]
    assert len(items[1]["call_id"]) <= 64


def test_another_host_keeps_its_own_items() -> None:
    xai = {**RESPONSES, "provider": "xai"}
    history = [user("hi"), assistant({"type": "text", "text": "ok", "id": "msg_1"}, origin=xai)]
    assert export_messages(history, "openai-responses").payload["input"][1] == {"role": "assistant", "content": "ok"}
    assert export_messages(history, "openai-responses", profile="xai").payload["input"][1]["id"] == "msg_1"


def test_calls_that_a_thread_holds_as_items_wait_for_results_too() -> None:
    shell, _ = PAIRS["shell"]
    metadata = {"model_provider": "openai", "id": "resp_1"}
    asks = AIMessage([shell], response_metadata=metadata)
    answered = [HumanMessage("hi"), asks, ToolMessage("a", tool_call_id="c"), AIMessage("ok")]
    items = export_messages(answered, "openai-responses").payload["input"]
    assert [item.get("type") for item in items] == [None, "function_call", "function_call_output", None]
    assert [item["call_id"] for item in items[1:3]] == ["c", "c"]
    assert len(export_messages(answered[:2], "openai-responses").payload["input"]) == 1


def test_ids_of_all_kinds_of_items_go_with_their_reasoning() -> None:
    """R1b; an item that may not stand without its id goes, or becomes a function's call (R5)."""
    items: list[Any] = [
        {"role": "user", "content": "q"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "a", "name": "f", "input": "go"},
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "b", "action": {"type": "exec"}, "status": "completed"},
        {"type": "custom_tool_call_output", "call_id": "a", "output": "r"},
        {"type": "local_shell_call_output", "id": "b", "output": "r"},
    ]
    export = export_messages(import_messages(items, "openai-responses").envelopes, "openai-responses", reasoning="drop")
    assert [(item.get("type"), item.get("id")) for item in export.payload["input"]] == [
        (None, None),
        ("custom_tool_call", None),
        ("function_call", None),
        ("custom_tool_call_output", None),
        ("function_call_output", None),
    ]
    told = {(loss.rule, loss.kind, loss.path) for loss in export.report}
    assert {("R3", "dropped", "content[1]"), ("R1b", "dropped", ""), ("R3", "downgraded", "content")} <= told
    assert lint(export.payload, "openai-responses") == []
