"""Anthropic's documents that hold their content: sent to Anthropic as they are, and with their texts to others."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint import export_messages, import_messages
from langgraph_portable_checkpoint.dialects.export import lint

PIXEL = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
ELSEWHERE = ("openai-chat", "openai-responses", "google", "bedrock", "mistral")


def document(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "document", "source": {"type": "content", "content": content}, **more}


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **more}


OF_TEXTS = {
    "a text": document("the body"),
    "texts": document([text("the body"), text("its end")], title="t", citations={"enabled": True}),
}
OF_MORE = {
    "a cached text": document([text("the body", cache_control={"type": "ephemeral"})]),
    "a text and an image": document([text("the body"), PIXEL], title="the title", context="the context"),
}
DOCUMENTS = OF_TEXTS | OF_MORE


def said(part: Any) -> list[BaseMessage]:
    return [HumanMessage([text("q"), part])]


def answered(part: Any) -> list[BaseMessage]:
    call = {"name": "f", "args": {}, "id": "abcdefghi"}
    return [HumanMessage("q"), AIMessage("", tool_calls=[call]), ToolMessage([part], tool_call_id="abcdefghi")]


def imported(part: Any) -> Any:
    payload = [{"role": "user", "content": [text("q"), part]}]
    found = import_messages(payload, "anthropic")
    assert found.report == ()
    return found.envelopes


@pytest.mark.parametrize("history", [said, answered, imported])
@pytest.mark.parametrize("form", DOCUMENTS)
def test_anthropic_gets_them_as_they_are(history: Any, form: str) -> None:
    export = export_messages(history(DOCUMENTS[form]), "anthropic")
    (last,) = export.payload["messages"][-1]["content"][-1:]
    assert (last["content"][0] if history is answered else last) == DOCUMENTS[form]
    assert export.lossless
    assert lint(export.payload, "anthropic") == []


def spoken(payload: Any) -> str:
    """Return a payload as JSON, with the texts that it holds as base64 behind it."""
    found: list[str] = []

    def visit(value: Any) -> Any:
        if isinstance(value, bytes):
            found.append(value.decode(errors="replace"))
        elif isinstance(value, dict):
            if "inlineData" in value:
                found.append(base64.b64decode(value["inlineData"]["data"]).decode(errors="replace"))
            [visit(item) for item in value.values()]
        elif isinstance(value, list):
            [visit(item) for item in value]

    visit(payload)
    return json.dumps(payload, default=str) + "".join(found)


@pytest.mark.parametrize("history", [said, answered, imported])
@pytest.mark.parametrize("form", DOCUMENTS)
@pytest.mark.parametrize("target", ELSEWHERE)
def test_others_get_their_texts(target: str, form: str, history: Any) -> None:
    export = export_messages(history(DOCUMENTS[form]), target)
    assert "the body" in spoken(export.payload)
    assert "placeholder" not in {loss.kind for loss in export.report}


@pytest.mark.parametrize("target", ELSEWHERE)
def test_what_others_do_not_get_of_them_is_told(target: str) -> None:
    export = export_messages(said(OF_MORE["a text and an image"]), target)
    assert [(loss.kind, loss.action) for loss in export.report] == [("downgraded", "a document became its text")]
    told = "the title\nthe context\nthe body\n[image: not available here]"
    assert json.dumps(told)[1:-1] in json.dumps(export.payload)


@pytest.mark.parametrize("source", [{"type": "content", "content": [{"type": "hologram"}]}, {"type": "new"}])
def test_a_document_of_what_nobody_knows_is_told(source: Any) -> None:
    part = {"type": "document", "source": source}
    assert [loss.kind for loss in export_messages(said(part), "anthropic").report] == ["placeholder"]
    found = import_messages([{"role": "user", "content": [text("q"), part]}], "anthropic")
    assert [loss.rule for loss in found.report] == ["unknown-part"]


def test_a_blank_document_becomes_no_blank_text() -> None:
    export = export_messages(said(document(" ")), "mistral")
    assert export.payload["messages"][-1]["content"] == "q"
    assert "dropped" in {loss.kind for loss in export.report}
