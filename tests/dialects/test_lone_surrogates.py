"""Lone surrogates, which no request can hold, become U+FFFD and are told, wherever they stand in a message."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint.dialects.base import ExportOptions
from langgraph_portable_checkpoint.dialects.export import export_messages
from langgraph_portable_checkpoint.dialects.registry import bundled_names, get_dialect
from tests.dialects.histories import CLAUDE, assistant, thought, user

CALL = AIMessage("", tool_calls=[{"name": "f", "args": {"a": "x\ud800y"}, "id": "c"}])
ASKED = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c"}])
HISTORIES: dict[str, list[BaseMessage]] = {
    "text": [HumanMessage("x\ud800y")],
    "part": [HumanMessage([{"type": "text", "text": "x\ud800y"}])],
    "arguments": [HumanMessage("hi"), CALL, ToolMessage("found", tool_call_id="c")],
    "result": [HumanMessage("hi"), ASKED, ToolMessage("x\udfffy", tool_call_id="c")],
}


@pytest.mark.parametrize("dialect", [name for name in bundled_names() if get_dialect(name).writes])
@pytest.mark.parametrize("place", HISTORIES)
def test_a_lone_surrogate_is_mended_and_told(place: str, dialect: str) -> None:
    export = export_messages(HISTORIES[place], dialect)
    written = str(export.payload).replace("\\ufffd", "\ufffd")
    assert "x\ufffdy" in written
    assert "x?y" not in written
    at = next(index for index, message in enumerate(HISTORIES[place]) if "\\ud" in ascii(message))
    rule = get_dialect(dialect).target(ExportOptions()).rule("broken_text")
    assert (rule, "downgraded", at) in [(loss.rule, loss.kind, loss.message) for loss in export.report]


def test_the_message_itself_is_not_changed() -> None:
    message = HumanMessage("x\ud800y")
    export_messages([message], "anthropic")
    assert message.content == "x\ud800y"


def test_reasoning_that_is_left_out_is_told_once_and_mended_where_it_becomes_a_text() -> None:
    history = [user("hi"), assistant(thought("x\ud800y", signature="sig"), "ok", origin=CLAUDE)]
    assert [loss.kind for loss in export_messages(history, "mistral").report] == ["dropped"]
    as_text = export_messages(history, "mistral", reasoning="text")
    assert "x\ufffdy" in str(as_text.payload)
    assert [loss.kind for loss in as_text.report] == ["downgraded", "downgraded"]
    kept = export_messages(history, "anthropic")
    assert "x\ufffdy" in str(kept.payload)
    assert [loss.kind for loss in kept.report] == ["downgraded"]
