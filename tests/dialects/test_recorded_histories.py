"""Recorded histories of OpenAI and Anthropic, imported and exported to every target of this half of the dialects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import messages_from_dict, messages_to_dict

from langgraph_portable_checkpoint.dialects.base import ExportOptions
from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint
from langgraph_portable_checkpoint.dialects.normalise import normaliser_losses
from langgraph_portable_checkpoint.dialects.registry import get_dialect
from langgraph_portable_checkpoint.dialects.report import Imported
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError
from tests.dialects import counting_native
from tests.dialects.recorded import TARGETS, Recorded, breaches, entries, recorded

CALLS_ONLY = ("vercel_openai-apply-patch-tool", "vercel_openai-custom-tool")
"""Recordings of nothing but one call without a result: there is nothing to export without making one up."""
STRICTER_THAN_RECORDED = {
    "annotations": "openai-chat: the request type has no such key",
    "name": "openai-chat: the request type has no name on tool messages",
    "tool_calls": "openai-chat, mistral: null where the request type has a list",
    "reasoning": "openai-chat: OpenAI knows no reasoning, null as it is",
    "reasoning_details": "openai-chat: OpenAI knows no reasoning",
    "id": "openai-responses: the request type has no id on user messages",
}
"""Keys that a rule of the target removes from the source's own messages."""


def read(one: Recorded) -> Imported:
    return import_messages(one.payload, one.dialect, profile=one.profile)


@pytest.mark.parametrize("folder", ["openai-chat", "openai-responses", "anthropic"])
def test_imports_hold_what_the_files_hold(corpus: Path, folder: str) -> None:
    count = getattr(counting_native, folder.replace("-", "_"))
    checked = 0
    for one in recorded(corpus):
        if one.dialect == folder:
            counted, ours = count(one.payload), counting_native.of_envelopes(read(one).envelopes)
            if folder == "openai-chat":
                ours.pop("reasoning", None)
            assert ours == counted, one.name
            checked += 1
    assert checked >= 10


def test_recorded_histories_are_recognised(corpus: Path) -> None:
    wrong = {}
    for one in recorded(corpus):
        found = import_messages(one.payload).dialect
        expected = "mistral" if "mistral" in one.name else one.dialect
        if found != expected:
            wrong[one.name] = found
    assert not wrong


@pytest.mark.parametrize(("dialect", "profile"), TARGETS)
@pytest.mark.parametrize("incomplete", ["drop", "synthesize"])
def test_exports_pass_oracles_and_linter(corpus: Path, dialect: str, profile: str | None, incomplete: str) -> None:
    failures, exported = {}, 0
    for one in recorded(corpus):
        try:
            export = export_messages(read(one).envelopes, dialect, profile=profile, incomplete=incomplete)
        except IncompatibleHistoryError:
            assert incomplete == "drop"
            assert one.name.startswith(CALLS_ONLY)
            continue
        exported += 1
        said = breaches(export.payload, dialect, profile)
        said += [str(finding) for finding in lint(export.payload, dialect, profile=profile)]
        if said:
            failures[one.name] = said[:2]
    assert not failures
    assert exported == (37 if incomplete == "drop" else 39)


@pytest.mark.parametrize(("dialect", "profile"), TARGETS)
def test_every_loss_is_declared(corpus: Path, dialect: str, profile: str | None) -> None:
    known = get_dialect(dialect)
    target = known.target(ExportOptions(profile=profile))
    declared = {(loss.rule, loss.kind) for loss in (*known.LOSSES, *normaliser_losses(target))}
    for one in recorded(corpus):
        export = export_messages(
            read(one).envelopes,
            dialect,
            profile=profile,
            incomplete="synthesize",
            reasoning="text",
            server_tools="text",
        )
        assert {(loss.rule, loss.kind) for loss in export.report} <= declared, one.name
        assert all(loss.target == dialect and loss.action for loss in export.report)


def test_histories_return_to_their_own_dialect_as_they_were(corpus: Path) -> None:
    """Byte for byte, save for keys that the request types refuse."""
    unchanged = 0
    for one in recorded(corpus):
        if not isinstance(one.payload, list) or "orphan" in one.name or "interleaved" in one.name:
            continue
        profile = "openrouter" if "openrouter" in one.name else one.profile
        back = entries(export_messages(read(one).envelopes, one.dialect, profile=profile).payload, one.dialect)
        assert len(back) == len(one.payload), one.name
        for before, after in zip(one.payload, back, strict=True):
            _same_but_for_refused_keys(before, after, one.name)
        unchanged += back == one.payload
    assert unchanged >= 16


def _same_but_for_refused_keys(before: dict[str, Any], after: dict[str, Any], name: str) -> None:
    removed = before.keys() - after.keys()
    assert removed <= STRICTER_THAN_RECORDED.keys(), (name, removed)
    rekeyed = "taubench" in name and ("tool_calls" in before or "tool_call_id" in before)
    if not rekeyed:
        assert {key: value for key, value in before.items() if key not in removed} == after, name


def test_langchain_messages_in_between_change_nothing(corpus: Path) -> None:
    for one in recorded(corpus):
        imported = read(one)
        stored = messages_from_dict(json.loads(json.dumps(messages_to_dict(imported.messages))))
        for dialect in ("openai-chat", "openai-responses", "anthropic", "mistral"):
            direct = export_messages(imported.envelopes, dialect, incomplete="synthesize")
            assert export_messages(stored, dialect, incomplete="synthesize") == direct, (one.name, dialect)


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "mistral"])
def test_a_longer_history_starts_as_the_shorter_one(corpus: Path, dialect: str) -> None:
    for one in recorded(corpus):
        envelopes = read(one).envelopes
        whole = entries(export_messages(envelopes, dialect, incomplete="synthesize").payload, dialect)
        for count in range(1, len(envelopes), 1 + len(envelopes) // 12):
            try:
                part = entries(export_messages(envelopes[:count], dialect).payload, dialect)
            except IncompatibleHistoryError:
                continue
            assert whole[: len(part)] == part, (one.name, count)


def test_crossing_three_providers_and_back_keeps_texts_calls_and_results(corpus: Path) -> None:
    for one in recorded(corpus):
        home = "mistral" if "mistral" in one.name else one.dialect
        envelopes = list(read(one).envelopes)
        expected = _substance(export_messages(envelopes, home, incomplete="synthesize").payload, home)
        payload = None
        for dialect in ("anthropic", "openai-responses", "mistral", home):
            payload = export_messages(envelopes, dialect, incomplete="synthesize").payload
            envelopes = list(import_messages(payload, dialect).envelopes)
        assert _substance(payload, home) == expected, one.name


def _substance(payload: Any, dialect: str) -> tuple[str, list[Any], list[str]]:
    """Texts, calls, and text results of a payload, as its own importer reads them; made messages left out."""
    texts, calls, results = [], [], []
    for envelope in import_messages(payload, dialect).envelopes:
        for block in envelope["content"]:
            if block["type"] == "text" and envelope["role"] == "tool":
                results.append(block["text"])
            elif block["type"] == "text" and not block["text"].startswith(
                ("(The conversation", "[", "From the result")
            ):
                texts.append("".join(block["text"].split()))
            elif block["type"] == "tool_call":
                calls.append((block["name"], json.dumps(block["args"], sort_keys=True)))
    return "".join(texts), calls, [text for text in results if "see the next user message" not in text]
