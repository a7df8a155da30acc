"""Searches for tools that the client runs: an export holds both halves or none, and the linter finds a lone one."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_portable_checkpoint import export_messages, import_messages, lint

Q: dict[str, Any] = {"role": "user", "content": "q"}
FIN = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []}
SAYS: dict[str, Any] = {**FIN, "content": [{"type": "output_text", "text": "fin", "annotations": []}]}
CALL = {"type": "tool_search_call", "call_id": "c", "execution": "client", "status": "completed", "arguments": {}}
OUT = {"type": "tool_search_output", "call_id": "c", "execution": "client", "status": "completed", "tools": []}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
IMAGE = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo="}
SERVER = {"execution": "server"}

LONE: dict[str, tuple[list[dict[str, Any]], int, str]] = {
    "a call that nobody answered": ([Q, CALL, Q, SAYS], 1, "R3"),
    "an output that nobody asked for": ([Q, OUT, SAYS], 1, "R4"),
    "an output of another call": ([Q, {**CALL, "call_id": "d"}, OUT, {**OUT, "call_id": "d"}, SAYS], 2, "R4"),
    "an output before its call": ([Q, OUT, CALL, SAYS], 1, "R4"),
}


@pytest.mark.parametrize("name", LONE)
def test_a_lone_half_is_found_and_left_out(name: str) -> None:
    items, at, rule = LONE[name]
    assert (rule, f"input[{at}]") in {(one.rule, one.path) for one in lint(items, "openai-responses")}
    export = export_messages(import_messages(items, "openai-responses").messages, "openai-responses")
    assert lint(export.payload, "openai-responses") == []
    action = "a search for tools without its other half was left out"
    assert rule in {loss.rule for loss in export.report if loss.action == action}


@pytest.mark.parametrize(
    "items",
    [
        [Q, CALL, OUT, SAYS],
        [Q, {**CALL, **SERVER}, SAYS],
        [Q, {**OUT, **SERVER}, SAYS],
        [Q, {**OUT, "call_id": None}, SAYS],
        [Q, THOUGHT, CALL, OUT, SAYS],
    ],
)
def test_pairs_and_searches_of_the_server_stay(items: list[dict[str, Any]]) -> None:
    assert lint(items, "openai-responses") == []
    export = export_messages(import_messages(items, "openai-responses").messages, "openai-responses")
    assert [item.get("type") for item in export.payload["input"]] == [item.get("type") for item in items]


def test_a_pair_without_ids_outlives_the_reasoning_that_other_items_belong_to() -> None:
    items = [Q, THOUGHT, CALL, OUT, IMAGE, SAYS]
    messages = import_messages(items, "openai-responses", model="gpt-5.4").messages
    export = export_messages(messages, "openai-responses", model="o3")
    assert [item.get("type") for item in export.payload["input"]][1:3] == ["tool_search_call", "tool_search_output"]
    assert lint(export.payload, "openai-responses") == []
    messages = import_messages([Q, THOUGHT, {**CALL, "id": "tsc_1"}, OUT, SAYS], "openai-responses", model="gpt-5.4")
    export = export_messages(messages.messages, "openai-responses", model="o3")
    assert not any("search" in str(item.get("type")) for item in export.payload["input"])
    assert {"R3", "R4"} <= {loss.rule for loss in export.report}


@pytest.mark.parametrize("part", [{"type": "summary_text", "text": None}, {"type": None, "text": "x"}, "x"])
def test_a_damaged_summary_is_refused_or_skipped_and_told(part: Any) -> None:
    item = {**THOUGHT, "summary": [part]}
    with pytest.raises(ValueError, match=r"input\[1\].summary\[0\]"):
        import_messages({"input": [Q, item, SAYS]}, "openai-responses")
    lines = [{"timestamp": "t", "type": "response_item", "payload": one} for one in (Q | {"type": "message"}, item)]
    imported = import_messages(lines, "codex")
    assert [loss.rule for loss in imported.report] == ["CX1"]
