"""Reasoning that is bound to all that stands before it is not replayed behind a change that the export itself makes."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_portable_checkpoint import export_messages, import_messages

MODEL = "claude-opus-5-5"
Q: dict[str, Any] = {"role": "user", "content": "q"}
THOUGHT = {"type": "thinking", "thinking": "t", "signature": "SIG"}
SAID = {"type": "text", "text": "a"}


def answer(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": [*blocks, SAID]}


def called(name: str, call_id: str) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    return [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": "r"}]},
    ]


HALF = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
CHANGES: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "half a server tool": ([Q, answer(HALF), Q], {}),
    "an id": ([Q, *called("f", "a.b:c")], {}),
    "a name": ([Q, *called("a tool", "toolu_1")], {}),
    "a model without tools": ([Q, *called("f", "toolu_1")], {"model": {"name": MODEL, "tool_calling": False}}),
    "half a surrogate pair": ([{"role": "user", "content": b"q \\ud800".decode("unicode_escape")}], {}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_follows_a_change_is_not_replayed(change: str) -> None:
    before, options = CHANGES[change]
    history = [*before, answer(THOUGHT), Q]
    imported = import_messages({"model": MODEL, "messages": history}, "anthropic")
    export = export_messages(imported.messages, "anthropic", **{"model": MODEL, **options})
    assert "SIG" not in str(export.payload)
    assert "what stands before it is not what the model saw" in {loss.detail for loss in export.report}


def test_an_unchanged_history_keeps_its_reasoning() -> None:
    history = [Q, *called("f", "toolu_1"), answer(THOUGHT), Q]
    imported = import_messages({"model": MODEL, "messages": history}, "anthropic")
    export = export_messages(imported.messages, "anthropic", model=MODEL)
    assert export.payload["messages"] == history
    assert export.lossless


def test_what_another_provider_said_is_no_change() -> None:
    call = {"id": "a.b:c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat = [Q, {"role": "assistant", "content": None, "tool_calls": [call]}]
    chat.append({"role": "tool", "tool_call_id": "a.b:c", "content": "r"})
    first = import_messages({"messages": chat}, "openai-chat").envelopes
    then = import_messages({"model": MODEL, "messages": [Q, answer(THOUGHT), Q]}, "anthropic").envelopes
    export = export_messages([*first, *then], "anthropic", model=MODEL)
    assert "SIG" in str(export.payload)


def test_behind_a_summary_nothing_bound_is_replayed() -> None:
    kept = import_messages({"model": MODEL, "messages": [Q, answer(THOUGHT), Q]}, "anthropic").messages
    summary = HumanMessage("so far", additional_kwargs={"lc_source": "summarization"})
    assert "SIG" in str(export_messages(kept, "anthropic", model=MODEL).payload)
    assert "SIG" not in str(export_messages([summary, *kept], "anthropic", model=MODEL).payload)


@pytest.mark.parametrize(("model", "titled"), [("claude-sonnet-4-5", True), ("claude-opus-5-5", False)])
def test_a_file_s_name_is_no_title_before_reasoning_that_is_bound(model: str, titled: bool) -> None:
    """langchain-anthropic sends LangChain's own block without its name."""
    file = {"type": "file", "base64": "JVBERi0=", "mime_type": "application/pdf", "filename": "a.pdf"}
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    made = {"model_provider": "anthropic", "model_name": model}
    said = AIMessage([thought, {"type": "text", "text": "a"}], response_metadata=made)
    export = export_messages(
        [HumanMessage([{"type": "text", "text": "q"}, file]), said, HumanMessage("z")], "anthropic"
    )
    document = export.payload["messages"][0]["content"][1]
    assert (document.get("title") == "a.pdf") == titled
    assert [(loss.rule, loss.detail) for loss in export.report] == ([] if titled else [("A18", "filename")])
    assert export.payload["messages"][1]["content"][0] == thought
