"""What crosses from one target to another and back keeps its texts, calls and results, and exports grow by appending."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_portable_checkpoint.dialects.agent_checkpoint import AgentCheckpoint
from langgraph_portable_checkpoint.dialects.base import ExportOptions, ImportOptions
from langgraph_portable_checkpoint.dialects.bedrock import Bedrock
from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages
from langgraph_portable_checkpoint.dialects.google import Google
from langgraph_portable_checkpoint.dialects.langchain import LangChain
from langgraph_portable_checkpoint.dialects.otel import OTel
from langgraph_portable_checkpoint.dialects.report import Report
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError, MalformedHistoryError
from tests.dialects.exporting import export
from tests.dialects.made import HISTORIES, JSON
from tests.dialects.test_exports_are_accepted import histories, recorded

GOOGLE, BEDROCK, OTEL, CHECKPOINT, LANGCHAIN = Google(), Bedrock(), OTel(), AgentCheckpoint(), LangChain()
DIALECTS = [GOOGLE, BEDROCK, OTEL, CHECKPOINT, LANGCHAIN]
IDS = [dialect.name for dialect in DIALECTS]
MOVED = re.compile(r"(?m)^\[.*: (see the next user message|not available here)\]$|^From the result of .*")
"""Words that stand where media were moved from or could not go along; each is a reported loss."""
SYNTHESIZED = {"(The conversation starts with the assistant.)", "Continue.", "See the attached document."}


def read(dialect: Any, payload: Any) -> list[Any]:
    return dialect.parse(payload, ImportOptions(), Report(target=dialect.name))


def said(envelopes: Any) -> list[Any]:
    """Texts, calls and results in order, without ids, empty texts and what an export may add."""
    found: list[Any] = []
    results: list[Any] = []
    for envelope in envelopes:
        texts = [MOVED.sub("", block["text"]).strip() for block in envelope["content"] if block["type"] == "text"]
        if envelope["role"] == "tool":
            results.append(("result", "\n".join(text for text in texts if text), envelope.get("status")))
            continue
        found += sorted(results)
        results = []
        found += [(envelope["role"], text) for text in texts if text and text not in SYNTHESIZED]
        found += [
            ("call", block["name"], block["args"]) for block in envelope["content"] if block["type"] == "tool_call"
        ]
    return found + sorted(results)


@pytest.mark.parametrize("first", DIALECTS, ids=IDS)
@pytest.mark.parametrize("second", [GOOGLE, BEDROCK, CHECKPOINT], ids=lambda dialect: dialect.name)
def test_recorded_histories_survive_a_tour_of_targets(corpus: Path, first: Any, second: Any) -> None:
    toured = 0
    for path in recorded(corpus):
        for payload in histories(path)[:1]:
            envelopes = import_messages(payload).envelopes
            try:
                start, _ = export(second, envelopes, incomplete="trim")
                if not start.get("contents", start.get("messages", start.get("lines"))):
                    continue
                there, _ = export(first, read(second, start))
                back, _ = export(second, read(first, there))
            except IncompatibleHistoryError:
                continue
            assert said(read(second, back)) == said(read(second, start)), (path.name, first.name)
            toured += 1
    assert toured > 45


@pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
@settings(max_examples=100, deadline=None)
@given(HISTORIES)
def test_what_was_exported_once_exports_to_the_same_again(dialect: Any, history: list[Any]) -> None:
    try:
        once, _ = export(dialect, history)
    except IncompatibleHistoryError:
        return
    if not once.get("contents", once.get("messages", once.get("lines"))):
        return
    twice, report = export(dialect, read(dialect, copy.deepcopy(once)))
    assert twice == once
    assert [loss for loss in report if loss.kind != "re-keyed"] == []


@pytest.mark.parametrize("dialect", [GOOGLE, OTEL, CHECKPOINT, LANGCHAIN], ids=lambda dialect: dialect.name)
def test_an_export_of_the_beginning_is_the_beginning_of_the_export(corpus: Path, dialect: Any) -> None:
    for path in recorded(corpus):
        for payload in histories(path)[:1]:
            envelopes = list(import_messages(payload).envelopes)
            starts = [
                at
                for at, one in enumerate(envelopes)
                if one["role"] == "user" and at and envelopes[at - 1]["role"] == "assistant"
            ]
            for at in starts[:4]:
                try:
                    (key, part), *_ = [
                        (k, v) for k, v in export(dialect, envelopes[:at])[0].items() if isinstance(v, list)
                    ]
                    whole = export(dialect, envelopes, incomplete="trim")[0][key]
                except IncompatibleHistoryError:
                    continue
                assert whole[: len(part)] == part, path.name


def test_a_gemini_history_comes_back_unchanged_through_a_threads_messages(corpus: Path) -> None:
    for path in sorted((corpus / "gemini").glob("*.history.json")):
        profile = "vertex" if "vertex" in path.name else None
        native = json.loads(path.read_text())
        messages = import_messages(native, profile=profile).messages
        contents = export_messages(messages, "google", profile=profile, incomplete="trim").payload["contents"]
        assert json.dumps(contents) == json.dumps(native[: len(contents)]), path.name
        assert len(contents) >= len(native) - 1


NATIVES = st.recursive(
    JSON,
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["role", "parts", "content", "contents", "messages", "text", "functionCall", "function_response", "name", "args", "response", "inlineData", "data", "mimeType",
             "toolUse", "toolResult", "toolUseId", "input", "json", "image", "document", "source", "bytes", "reasoningContent", "reasoningText", "signature", "candidates",
             "systemInstruction", "system", "output", "message", "stopReason", "usage", "type", "sessionId", "toolCalls", "thoughts", "citationsContent", "citations", "status"]
        ),
        inner | st.sampled_from(["user", "model", "assistant", "gemini", "error"]),
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.parametrize("dialect", [GOOGLE, BEDROCK, OTEL], ids=lambda dialect: dialect.name)
@settings(max_examples=400, deadline=None)
@given(NATIVES | st.text(max_size=20) | st.binary(max_size=20))
def test_any_payload_is_read_or_refused(dialect: Any, payload: Any) -> None:
    assert 0.0 <= dialect.recognises(payload) <= 1.0
    dialect.lint(payload, ExportOptions())
    try:
        envelopes = read(dialect, payload)
    except MalformedHistoryError:
        return
    for envelope in envelopes:
        assert {"v", "role", "content", "origin"} <= set(envelope)


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"parts": [value]}
    return value


@pytest.mark.parametrize("dialect", [GOOGLE, BEDROCK, OTEL, CHECKPOINT, LANGCHAIN], ids=lambda dialect: dialect.name)
def test_deep_nesting_is_refused_not_a_crash(dialect: Any) -> None:
    nested = deep(3000)
    for payload in (
        nested,
        [nested],
        [{"role": "user", "parts": [{"functionCall": {"name": "f", "args": nested}}]}],
        [
            {
                "role": "user",
                "content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": nested}}],
                "tool_calls": None,
                "tool_results": None,
            }
        ],
        [{"role": "user", "parts": [{"type": "tool_call", "name": "f", "arguments": nested}]}],
        [{"type": "human", "content": "x", "additional_kwargs": nested}],
    ):
        dialect.recognises(payload)
        with pytest.raises(MalformedHistoryError):
            read(dialect, payload)
