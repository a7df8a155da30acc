"""Payloads with a history beside the one that a dialect reads: it is told, and kept as it came."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.concerns import SECOND_HISTORY
from langgraph_portable_checkpoint.dialects.export import import_messages
from langgraph_portable_checkpoint.dialects.history_keys import _FORMS, _HISTORIES
from langgraph_portable_checkpoint.dialects.registry import bundled_names
from langgraph_portable_checkpoint.errors import MalformedHistoryError


def chat(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def parts(text: str, key: str = "text") -> dict[str, Any]:
    return {"role": "user", "parts": [{"type": "text", key: text}] if key == "content" else [{key: text}]}


def bedrock(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"text": text}]}


ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "B"}]}
READ: list[tuple[str, dict[str, Any], list[str]]] = [
    ("openai-chat", {"messages": [chat("A")]}, ["A"]),
    ("openai-chat", {"choices": [{"message": chat("B", "assistant")}]}, ["B"]),
    ("mistral", {"messages": [chat("A")]}, ["A"]),
    ("mistral", {"choices": [{"message": chat("B", "assistant")}]}, ["B"]),
    ("openai-responses", {"input": [chat("A")], "instructions": "S"}, ["S", "A"]),
    ("openai-responses", {"input": "A", "instructions": [chat("S", "developer")]}, ["S", "A"]),
    ("openai-responses", {"output": [ANSWER], "instructions": "S"}, ["S", "B"]),
    ("anthropic", {"messages": [chat("A")], "system": "S"}, ["S", "A"]),
    ("anthropic", {"role": "assistant", "content": "B"}, ["B"]),
    ("bedrock", {"messages": [bedrock("A")], "system": [{"text": "S"}]}, ["S", "A"]),
    ("bedrock", {"output": {"message": {**bedrock("B"), "role": "assistant"}}}, ["B"]),
    ("google", {"contents": [parts("A")], "system_instruction": "S"}, ["S", "A"]),
    ("google", {"contents": [parts("A")], "systemInstruction": parts("S")}, ["S", "A"]),
    ("google", {"candidates": [{"content": {**parts("B"), "role": "model"}}]}, ["B"]),
    ("google", {"method": "POST", "response": {"candidates": [{"content": parts("B")}]}}, ["B"]),
    ("google", {"sessionId": "s", "messages": [{"type": "user", "content": "A"}]}, ["A"]),
    ("google", {"role": "user", "parts": [{"text": "A"}], "createTime": "now"}, ["A"]),
    ("otel", {"messages": [parts("A", "content")]}, ["A"]),
    (
        "otel",
        {
            "gen_ai.system_instructions": [{"type": "text", "content": "S"}],
            "gen_ai.input.messages": [parts("A", "content")],
            "gen_ai.output.messages": [{**parts("B", "content"), "role": "assistant"}],
        },
        ["S", "A", "B"],
    ),
    ("langchain", {"messages": [{"type": "human", "data": {"content": "A"}}]}, ["A"]),
    ("agent-checkpoint", {"lines": [{**chat("A"), "tool_calls": None, "tool_results": None}]}, ["A"]),
    ("session-envelope", {"version": 1, "provider": "openai", "messages": [chat("A")]}, ["A"]),
]


def names(read: tuple[str, dict[str, Any], list[str]]) -> str:
    return f"{read[0]}-{'+'.join(read[1])}"


def texts(imported: Any) -> list[str]:
    return [str(message.text) for message in imported.messages]


@pytest.mark.parametrize("read", READ, ids=names)
def test_what_is_read_is_no_setting_and_no_loss(read: tuple[str, dict[str, Any], list[str]]) -> None:
    dialect, payload, expected = read
    imported = import_messages({**payload, "temperature": 0, "system": payload.get("system")}, dialect)
    assert texts(imported) == expected
    assert not imported.report
    assert imported.settings.keys() & payload.keys() <= {"version", "provider", "createTime"}
    assert imported.settings["temperature"] == 0


def others(dialect: str, key: str) -> Any:
    """What may stand under a key: what this dialect reads there, else what another does, with words of its own."""
    held = [one[key] for name, one, _ in sorted(READ, key=lambda one: one[0] != dialect) if key in one]
    return json.loads(re.sub('"[ABS]"', '"other words"', json.dumps(held[0] if held else "other words")))


@pytest.mark.parametrize("key", sorted(_HISTORIES))
@pytest.mark.parametrize("read", READ, ids=names)
def test_two_histories_are_read_or_told_and_kept(read: tuple[str, dict[str, Any], list[str]], key: str) -> None:
    dialect, payload, expected = read
    if key.lower().replace("_", "") in [one.lower().replace("_", "") for one in payload]:
        return
    payload = {**payload, key: others(dialect, key)}
    try:
        imported = import_messages(payload, dialect)
    except MalformedHistoryError:
        return
    told = {loss.path for loss in imported.report if loss.rule == SECOND_HISTORY.rule}
    assert told == imported.settings.keys() & _HISTORIES
    assert all(imported.settings[one] == payload[one] for one in told)
    kept = json.dumps([imported.settings[one] for one in told])
    assert all(text in texts(imported) or f'"{text}"' in kept for text in [*expected, "other words"])


def test_instructions_that_another_dialect_takes_are_told() -> None:
    imported = import_messages({"system": "S", "messages": [chat("A")]}, "openai-chat")
    assert (texts(imported), imported.settings) == (["A"], {"system": "S"})
    assert "the history was read from messages" in imported.report[0].action


def test_every_dialect_of_payloads_with_keys_has_its_forms() -> None:
    assert {*_FORMS} == {*bundled_names()} - {"claude-code", "codex"} == {dialect for dialect, _, _ in READ}
