"""What providers publish of their APIs agrees with every export: OpenAPI and discovery documents as judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError
from tests.dialects import oracle_google, oracle_specs
from tests.dialects.made import HISTORIES
from tests.dialects.test_exports_are_accepted import histories, recorded

TARGETS: dict[str, tuple[str, str | None]] = {
    "openai-chat": ("openai-chat", None),
    "openai-responses": ("openai-responses", None),
    "anthropic": ("anthropic", None),
    "google": ("google", None),
    "vertex": ("google", "vertex"),
}
SNAKE = ("pa_vertex_audio_snake_case", "rl_tool_returns_image_snake_case")
"""Recorded in snake case, which protobuf's JSON takes too and the discovery document does not list."""


def said(name: str, history: Any, **options: Any) -> list[str]:
    """What the description of a target says against the export of a history."""
    target, profile = TARGETS[name]
    try:
        payload = export_messages(history, target, profile=profile, **options).payload
    except IncompatibleHistoryError:
        return []
    entries = next(value for key, value in payload.items() if isinstance(value, list) and key != "system")
    return oracle_specs.breaches(name, oracle_google.plain(entries) if target == "google" else entries)


@pytest.mark.parametrize("name", TARGETS)
def test_every_recorded_history_exports_to_what_is_published(corpus: Path, name: str) -> None:
    failures = {}
    for path in recorded(corpus):
        for payload in histories(path):
            found = said(name, import_messages(payload).envelopes, incomplete="synthesize")
            if found and not (name == "google" and path.name.startswith(SNAKE)):
                failures[path.name] = found[:2]
    assert not failures


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=60)
@given(HISTORIES, st.sampled_from(["drop", "synthesize"]), st.sampled_from(["same-origin", "text"]))
def test_any_history_exports_to_what_is_published(
    name: str, history: list[Any], incomplete: str, reasoning: str
) -> None:
    assert not said(name, history, incomplete=incomplete, reasoning=reasoning, orphans="text", server_tools="text")


BAD: dict[str, Any] = {
    "openai-chat": {"role": "user", "content": []},
    "openai-responses": {"type": "function_call_output", "call_id": "x" * 65, "output": "r"},
    "anthropic": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a:b", "content": "r"}]},
    "google": {"role": "user", "parts": [{"text": "x", "odd": 1}]},
    "vertex": {"role": "user", "parts": [{"fileData": {"fileUri": "gs://a/b"}}]},
}


@pytest.mark.parametrize("name", TARGETS)
def test_a_description_finds_what_sdk_types_let_pass(name: str) -> None:
    assert oracle_specs.breaches(name, [BAD[name]])
    assert oracle_specs.breaches(name, [])
