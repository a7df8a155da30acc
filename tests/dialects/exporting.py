"""From envelopes to a payload as an export does it, without LangChain: turns, normaliser, renderer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph_portable_checkpoint.dialects.base import ExportOptions
from langgraph_portable_checkpoint.dialects.normalise import normalise, normaliser_losses
from langgraph_portable_checkpoint.dialects.report import Placed, Report
from langgraph_portable_checkpoint.envelope.model import MessageEnvelope


def place(envelopes: Sequence[MessageEnvelope]) -> list[Placed]:
    """Number messages and turns; a turn starts with each user message."""
    turn, placed = -1, []
    for index, envelope in enumerate(envelopes):
        turn += envelope["role"] == "user"
        placed.append(Placed(envelope, index, max(turn, 0)))
    return placed


def export(dialect: Any, envelopes: Sequence[MessageEnvelope], **options: Any) -> tuple[dict[str, Any], Report]:
    """Export, and check that every loss is one that the dialect declares."""
    chosen = ExportOptions(**options)
    report = Report(target=dialect.name)
    target = dialect.target(chosen)
    fitted = normalise(place(envelopes), target, options=chosen, report=report)
    payload = dialect.render(fitted.conversation, chosen, report)
    declared = {(loss.rule, loss.kind) for loss in (*dialect.LOSSES, *normaliser_losses(target))}
    undeclared = {(loss.rule, loss.kind) for loss in report} - declared
    assert not undeclared, undeclared
    return payload, report
