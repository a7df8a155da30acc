"""Texts that are longer than a request may hold are cut, and told."""

from __future__ import annotations

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint.dialects.export import export_messages, lint
from langgraph_portable_checkpoint.dialects.lint.openai_responses import MAX_TEXT

LONG = "x" * (MAX_TEXT + 1)
CALL = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c"}])


def test_long_texts_and_outputs_are_cut_and_told() -> None:
    parts = HumanMessage([{"type": "text", "text": LONG}, {"type": "text", "text": "short"}])
    export = export_messages([parts, CALL, ToolMessage(LONG, tool_call_id="c")], "openai-responses")
    question, _, output = export.payload["input"]
    assert [len(part["text"]) for part in question["content"]] == [MAX_TEXT, len("short")]
    assert len(output["output"]) == MAX_TEXT
    assert [(loss.rule, loss.kind, loss.message) for loss in export.report] == [
        ("R12", "downgraded", 0),
        ("R12", "downgraded", 2),
    ]
    assert not lint(export.payload, "openai-responses")


def test_the_longest_text_stays() -> None:
    assert export_messages([HumanMessage("x" * MAX_TEXT)], "openai-responses").lossless
