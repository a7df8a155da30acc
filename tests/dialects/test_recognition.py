"""What is written in a dialect is read as that dialect, whatever form it is handed in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages
from langgraph_portable_checkpoint.dialects.registry import bundled_names, get_dialect
from langgraph_portable_checkpoint.dialects.report import Export
from langgraph_portable_checkpoint.errors import FutureVersionError, UnknownDialectError

_CALL = AIMessage("text", tool_calls=[{"name": "look", "args": {"a": 1}, "id": "c"}])
_TOOLS: list[BaseMessage] = [HumanMessage("hi"), _CALL, ToolMessage("found", tool_call_id="c"), AIMessage("yo")]
_IMAGE = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}
HISTORIES: dict[str, list[BaseMessage]] = {
    "question": [HumanMessage("hi")],
    "answer": [HumanMessage("hi"), AIMessage("yo")],
    "system": [SystemMessage("be kind"), HumanMessage("hi"), AIMessage("yo"), HumanMessage("more")],
    "tools": _TOOLS,
    "tools with system": [SystemMessage("be kind"), *_TOOLS],
    "image": [HumanMessage([{"type": "text", "text": "see"}, _IMAGE]), AIMessage("yo")],
}
WRITABLE = [name for name in bundled_names() if get_dialect(name).writes]
_LISTS = ("messages", "input", "contents", "lines")


def _plain(value: Any) -> str:
    return f"<{len(value)} bytes>"


def _form(export: Export, form: str) -> Any:
    payload: Any = export.payload
    if form.startswith("list"):
        payload = next(payload[key] for key in _LISTS if key in payload)
    return json.dumps(payload, default=_plain) if form.endswith("text") else payload


def _said(messages: list[BaseMessage]) -> list[tuple[str, str, list[tuple[str, Any]], int]]:
    return [
        (
            message.type,
            str(message.text),
            [(call["name"], call["args"]) for call in getattr(message, "tool_calls", ())],
            len(message.content_blocks),
        )
        for message in messages
    ]


@pytest.mark.parametrize("form", ["dict", "list", "dict as text", "list as text"])
@pytest.mark.parametrize("dialect", WRITABLE)
@pytest.mark.parametrize("history", HISTORIES)
def test_an_export_is_recognised(history: str, dialect: str, form: str) -> None:
    payload = _form(export_messages(HISTORIES[history], dialect), form)
    found = import_messages(payload)
    named = import_messages(payload, dialect)
    assert _said(found.messages) == _said(named.messages)
    assert found.report == named.report


@pytest.mark.parametrize("dialect", WRITABLE)
def test_a_request_with_tools_is_recognised_as_its_own(dialect: str) -> None:
    found = import_messages(export_messages(HISTORIES["tools with system"], dialect).payload)
    assert found.dialect == dialect


def test_lines_as_text_are_recognised() -> None:
    text = "\n".join(export_messages(_TOOLS, "agent-checkpoint").lines())
    assert import_messages(text).dialect == "agent-checkpoint"


def test_messages_that_the_anthropic_sdk_dumped_are_its_own() -> None:
    answer = {"id": "msg_01", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "a"}]}
    answer |= {"model": "claude-sonnet-4-5", "stop_reason": "end_turn", "stop_sequence": None}
    history = [{"role": "user", "content": "q"}, answer]
    for payload in (history, {"messages": history}):
        imported = import_messages(payload)
        assert (imported.dialect, imported.origin.get("model")) == ("anthropic", "claude-sonnet-4-5")


def test_an_envelope_of_a_later_version_is_refused_whatever_else_it_has() -> None:
    with pytest.raises(FutureVersionError):
        import_messages({"version": 4, "messages": [{"role": "user", "content": "q"}], "session_id": "s"})


PYDANTIC_AI = [
    {"parts": [{"content": "hi", "part_kind": "user-prompt"}], "kind": "request"},
    {"parts": [{"content": "yo", "part_kind": "text"}], "kind": "response"},
]


@pytest.mark.parametrize(
    "payload",
    [PYDANTIC_AI, {"model": "gemini-3-pro", "input": "and now?", "previous_interaction_id": "x"}],
    ids=["pydantic-ai", "interactions"],
)
def test_histories_of_others_are_nobodys(payload: Any) -> None:
    with pytest.raises(UnknownDialectError):
        import_messages(payload)


@pytest.mark.parametrize("dialect", ["openai-chat", "mistral"])
@pytest.mark.parametrize("omits", [None, 1, "content", {"content": 1}])
def test_what_an_edited_file_says_was_left_out_may_be_anything(dialect: str, omits: Any) -> None:
    said: Any = {"v": 1, "role": "assistant", "content": [_CALL_BLOCK], "extras": {dialect: {"omits": omits}}}
    history: list[Any] = [HumanMessage("hi"), said, ToolMessage("found", tool_call_id="c" * 9)]
    message = export_messages(history, dialect).payload["messages"][1]
    assert message["tool_calls"][0]["function"]["name"] == "look"


_CALL_BLOCK = {"type": "tool_call", "id": "c" * 9, "name": "look", "args": {"a": 1}}
