"""A key that stands twice in the text of a call's arguments: one value counts, and the import tells so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from langgraph_portable_checkpoint import export_messages, import_messages
from langgraph_portable_checkpoint.dialects.concerns import REPEATED_KEY

TEXTS = {
    "at the top": ('{"a": 1, "a": 2}', {"a": 2}),
    "inside": ('{"a": [{"b": 1, "c": "x:y", "b": 2}]}', {"a": [{"b": 2, "c": "x:y"}]}),
}


def history(dialect: str, arguments: str) -> Any:
    call = {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": arguments}}
    item = {"type": "function_call", "call_id": "abcdefghi", "name": "f", "arguments": arguments}
    user = {"type": "message", "role": "user", "content": "q"}
    return {
        "openai-chat": [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": [call]}],
        "mistral": [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": [call]}],
        "openai-responses": [user, item],
        "codex": [{"type": "response_item", "payload": one} for one in ({**user, "content": []}, item)],
    }[dialect]


@pytest.mark.parametrize("dialect", ["openai-chat", "mistral", "openai-responses", "codex"])
@pytest.mark.parametrize("where", TEXTS)
def test_it_is_told(dialect: str, where: str) -> None:
    text, args = TEXTS[where]
    imported = import_messages(history(dialect, text), dialect)
    assert imported.messages[-1].tool_calls[0]["args"] == args  # type: ignore[attr-defined]
    told = [(loss.message, loss.path, loss.detail) for loss in imported.report if loss.rule == REPEATED_KEY.rule]
    assert told == [(len(imported.messages) - 1, "content[0].args", "call abcdefghi")]
    assert {loss.kind for loss in imported.report if loss.rule == REPEATED_KEY.rule} == {REPEATED_KEY.kind}


@pytest.mark.parametrize("dialect", ["openai-chat", "mistral", "openai-responses", "codex"])
@pytest.mark.parametrize("arguments", ["", "{}", '{"a": 1, "b": 2}', '{"a": "x:y", "b": [{"a": 1}, {"a": 2}]}'])
def test_keys_that_stand_once_in_each_object_are_no_news(dialect: str, arguments: str) -> None:
    imported = import_messages(history(dialect, arguments), dialect)
    assert [loss for loss in imported.report if loss.rule == REPEATED_KEY.rule] == []


def test_the_text_goes_back_as_it_was() -> None:
    text = TEXTS["at the top"][0]
    payload = history("openai-chat", text)
    payload.append({"role": "tool", "tool_call_id": "abcdefghi", "content": "r"})
    export = export_messages(import_messages(payload, "openai-chat").envelopes, "openai-chat")
    assert json.dumps(text) in json.dumps(export.payload)
