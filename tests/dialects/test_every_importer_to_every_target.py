"""Every recorded history, of whatever importer, to every target, with the options that change most: judged there."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import messages_from_dict, messages_to_dict

from langgraph_portable_checkpoint.dialects.base import ExportOptions
from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint
from langgraph_portable_checkpoint.dialects.normalise import normaliser_losses
from langgraph_portable_checkpoint.dialects.registry import get_dialect
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError
from tests.dialects.recorded import TARGETS, breaches
from tests.dialects.test_exports_are_accepted import ORACLES, histories, recorded

EVERY = (
    *TARGETS,
    ("google", None),
    ("google", "vertex"),
    ("bedrock", None),
    ("otel", None),
    ("agent-checkpoint", None),
)
POLICIES: tuple[dict[str, Any], ...] = (
    {"incomplete": "synthesize", "reasoning": "text", "server_tools": "text", "orphans": "text"},
    {"incomplete": "trim", "reasoning": "drop", "on_unsupported_part": "drop"},
)


@cache
def imported(corpus: Path) -> list[tuple[str, Any, list[Any]]]:
    """Each history with its envelopes, and as LangChain messages that went through a store."""
    found = []
    for path in recorded(corpus):
        for payload in histories(path):
            one = import_messages(payload)
            stored = messages_from_dict(json.loads(json.dumps(messages_to_dict(one.messages))))
            found.append((path.name, one.envelopes, stored))
    return found


def said(payload: Any, dialect: str, profile: str | None) -> list[str]:
    judged = breaches(payload, dialect, profile) if (dialect, profile) in TARGETS else ORACLES[dialect](payload)
    return [*judged, *map(str, lint(payload, dialect, profile=profile))]


@pytest.mark.parametrize(("dialect", "profile"), EVERY)
def test_a_target_takes_whatever_an_importer_reads(corpus: Path, dialect: str, profile: str | None) -> None:
    known = get_dialect(dialect)
    losses = (*known.LOSSES, *normaliser_losses(known.target(ExportOptions(profile=profile))))
    declared = {(loss.rule, loss.kind) for loss in losses}
    exported = 0
    for name, envelopes, stored in imported(corpus):
        for policy in POLICIES:
            try:
                export = export_messages(envelopes, dialect, profile=profile, **policy)
            except IncompatibleHistoryError:
                continue
            assert not said(export.payload, dialect, profile), name
            assert {(loss.rule, loss.kind) for loss in export.report} <= declared, name
            assert all(loss.message is None or 0 <= loss.message < len(envelopes) for loss in export.report), name
            assert export_messages(stored, dialect, profile=profile, **policy).payload == export.payload, name
            exported += 1
    assert exported > 120


WAYS = ("openai-chat", "openai-responses", "anthropic", "google", "bedrock", "mistral", "otel", "agent-checkpoint")
STAND_INS = ("(The conversation", "[", "From the result")


def crossed(envelopes: Any, dialect: str) -> Any:
    """Write a history for a dialect and read what was written, files as text."""
    export = export_messages(envelopes, dialect, incomplete="synthesize")
    written = "\n".join(export.lines()) if dialect == "agent-checkpoint" else export.payload
    return import_messages(written, dialect).envelopes


def substance(envelopes: Any) -> tuple[str, list[Any], list[str]]:
    """All texts in order, calls in order, results in any: a target may put them in the order of their calls."""
    texts, calls, results = [], [], []
    for envelope in envelopes:
        for block in envelope["content"]:
            words = "".join((block.get("text") or block.get("refusal") or "").split())
            if block["type"] == "tool_call":
                calls.append((block["name"], json.dumps(block["args"], sort_keys=True)))
            elif envelope["role"] == "tool" and words and not words.startswith("["):
                results.append(words)
            elif envelope["role"] != "tool" and not words.startswith(tuple("".join(one.split()) for one in STAND_INS)):
                texts.append(words)
    return "".join(texts), calls, sorted(results)


@pytest.mark.parametrize("first", WAYS)
@pytest.mark.parametrize("step", [1, 3])
def test_a_history_that_crosses_two_others_and_comes_back_keeps_texts_calls_and_results(
    corpus: Path, first: str, step: int
) -> None:
    second = WAYS[(WAYS.index(first) + step) % len(WAYS)]
    checked = 0
    for name, envelopes, _ in imported(corpus):
        maker = (envelopes[0].get("origin") or {}).get("provider", "") if envelopes else ""
        home = maker if maker in WAYS else "anthropic"
        try:
            settled = crossed(envelopes, home)
        except IncompatibleHistoryError:
            continue
        back = settled
        for dialect in (first, second, home):
            back = crossed(back, dialect)
        assert substance(back) == substance(settled), name
        checked += 1
    assert checked > 60
