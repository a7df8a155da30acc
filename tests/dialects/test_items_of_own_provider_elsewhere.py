"""Items that only their provider can read, on their way through other dialects; and checkpoints of one line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint

SEALED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}
SAID = {"type": "output_text", "text": "found", "annotations": []}
ANSWER = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": [SAID]}
ASKED = {"role": "user", "content": "look"}
SEARCHED: list[Any] = [ASKED, SEALED, SEARCH, {**SEALED, "id": "rs_2"}, ANSWER]
COMPACTED: list[Any] = [ASKED, {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}, ANSWER]


@pytest.mark.parametrize(("items", "kind"), [(SEARCHED, "server_tool_call"), (COMPACTED, "non_standard")])
def test_otel_tells_of_items_that_cannot_go_back(items: list[Any], kind: str) -> None:
    export = export_messages(import_messages(items, "openai-responses").envelopes, "otel")
    assert [(loss.rule, loss.kind, loss.detail) for loss in export.report] == [("O3", "downgraded", kind)]


def test_reasoning_goes_with_the_item_that_it_belongs_to() -> None:
    through = export_messages(import_messages(SEARCHED, "openai-responses").envelopes, "otel").payload
    export = export_messages(import_messages(through, "otel").envelopes, "openai-responses")
    assert [item.get("id") for item in export.payload["input"]] == [None, "rs_2", "msg_1"]
    assert [(loss.rule, loss.kind) for loss in export.report] == [("R3", "dropped"), ("R1", "dropped")]
    assert not lint(export.payload, "openai-responses")


@pytest.mark.parametrize("form", ["text", "object"])
def test_a_checkpoint_of_one_line_is_checked(form: str) -> None:
    line = {"role": "user", "content": "hi", "tool_calls": None, "tool_results": None}
    assert lint(json.dumps(line) if form == "text" else line, "agent-checkpoint") == []
    broken = {**line, "role": "nobody"}
    found = lint(json.dumps(broken) if form == "text" else broken, "agent-checkpoint")
    assert [finding.rule for finding in found] == ["AC2"]
