"""A history that goes back to the dialect it came from is the same there, or its report says what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from langgraph_portable_checkpoint import export_messages, import_messages

USER = {"role": "user", "content": "hi"}
DONE = {"role": "assistant", "content": "done"}
FUNCTION = {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CHAT_RESULT = {"role": "tool", "tool_call_id": "abcdefghi", "content": "r"}
HEARD = {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}]}
USES = {"role": "assistant", "content": [{"type": "tool_use", "id": name, "name": "f", "input": {}} for name in "ab"]}
RESULTS = [{"type": "tool_result", "tool_use_id": name, "content": "r"} for name in "ab"]
TOOL_USES = [{"toolUse": {"toolUseId": name, "name": "f", "input": {}}} for name in "ab"]
TOOL_RESULTS = [{"toolResult": {"toolUseId": name, "content": [{"text": "r"}]}} for name in "ab"]
ASKED = [{"functionCall": {"name": name, "args": {}}, "thoughtSignature": "c2ln"} for name in "ab"]
ANSWERED = [{"functionResponse": {"name": name, "response": {"output": "r"}}} for name in "ab"]
PICTURE = {"type": "input_image", "image_url": "https://a.b/c.png"}
KEYS = {"google": "contents", "openai-responses": "input"}


def back(payload: Any, dialect: str, profile: str | None = None) -> tuple[list[Any], list[tuple[str, str, int | None]]]:
    """Return the messages of a history that went to and fro, and what its reports say."""
    imported = import_messages(payload, dialect, profile=profile)
    export = export_messages(imported.messages, dialect, incomplete="trim", profile=profile)
    told = [(loss.rule, loss.kind, loss.message) for loss in (*imported.report, *export.report)]
    return export.payload[KEYS.get(dialect, "messages")], told


@pytest.mark.parametrize(
    ("dialect", "payload"),
    [
        ("openai-chat", [USER, {**DONE, "refusal": None, "audio": None, "function_call": None}, USER]),
        ("openai-chat", [HEARD, {"role": "assistant", "audio": {"id": "audio_1"}}, USER]),
        ("mistral", [USER, {"role": "assistant", "content": "", "tool_calls": [FUNCTION]}, CHAT_RESULT, DONE]),
        ("mistral", [USER, {"role": "assistant", "content": None, "tool_calls": [FUNCTION]}, CHAT_RESULT, DONE]),
        ("mistral", [USER, {"role": "assistant", "tool_calls": [FUNCTION]}, CHAT_RESULT, DONE]),
        ("anthropic", [USER, USES, {"role": "user", "content": RESULTS}, DONE]),
        (
            "bedrock",
            [
                {"role": "user", "content": [{"text": "q"}]},
                {"role": "assistant", "content": TOOL_USES},
                {"role": "user", "content": TOOL_RESULTS},
            ],
        ),
        (
            "google",
            [
                {"role": "user", "parts": [{"text": "q"}]},
                {"role": "model", "parts": ASKED},
                {"role": "user", "parts": ANSWERED},
            ],
        ),
    ],
)
def test_what_a_provider_takes_goes_back_as_it_came(dialect: str, payload: Any) -> None:
    assert back(payload, dialect) == (payload, [])


@pytest.mark.parametrize(
    ("dialect", "payload", "told"),
    [
        ("openai-chat", [USER, {**DONE, "annotations": []}], ("C5", "dropped", 1)),
        ("anthropic", [USER, USES, *({"role": "user", "content": [one]} for one in RESULTS)], ("A8", "merged", 3)),
        (
            "bedrock",
            [
                {"role": "user", "content": [{"text": "q"}]},
                {"role": "assistant", "content": TOOL_USES},
                *({"role": "user", "content": [one]} for one in TOOL_RESULTS),
            ],
            ("B3", "merged", 3),
        ),
        (
            "google",
            [
                {"role": "user", "parts": [{"text": "q"}]},
                {"role": "model", "parts": ASKED},
                *({"role": "user", "parts": [one]} for one in ANSWERED),
            ],
            ("G7", "merged", 3),
        ),
        ("openai-responses", [{"role": "user", "content": [PICTURE]}], ("R12", "synthesized", 0)),
        (
            "openai-responses",
            [USER, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}],
            ("R7", "downgraded", 1),
        ),
    ],
)
def test_what_a_rule_changes_is_told(dialect: str, payload: Any, told: Any) -> None:
    messages, losses = back(payload, dialect)
    assert messages != payload
    assert losses == [told]


@pytest.mark.parametrize(
    ("folder", "dialect"),
    [
        ("anthropic", "anthropic"),
        ("gemini", "google"),
        ("openai_chat", "openai-chat"),
        ("openai_responses", "openai-responses"),
    ],
)
def test_a_recorded_history_is_the_same_or_not_called_lossless(corpus: Path, folder: str, dialect: str) -> None:
    paths = sorted((corpus / folder).glob("*.history.json"))
    assert paths
    for path in paths:
        payload = json.loads(path.read_text())
        read = "mistral" if "rl_mistral" in path.name else dialect
        given = payload[KEYS.get(read, "messages")] if isinstance(payload, dict) else payload
        profile = next((word for word in ("deepseek", "openrouter", "xai") if word in path.name), None)
        messages, told = back(payload, read, profile)
        assert told or messages == given, path.name
