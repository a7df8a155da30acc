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
