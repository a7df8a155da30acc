"""Lines of Codex files, and what an import makes of them and tells."""

from __future__ import annotations

import json
from typing import Any

from langgraph_portable_checkpoint import export_messages, import_messages, lint
from langgraph_portable_checkpoint.dialects.base import ImportOptions
from langgraph_portable_checkpoint.dialects.codex.dialect import Codex
from langgraph_portable_checkpoint.dialects.report import Report

DIALECT = Codex()
PNG = "iVBORw0KGgo="
TARGETS = ("openai-responses", "anthropic", "google", "openai-chat")


def read(payload: Any) -> tuple[list[Any], list[Any]]:
    report = Report(target="codex")
    envelopes = DIALECT.parse(payload, ImportOptions(), report)
    assert {(loss.rule, loss.kind) for loss in report} <= {(loss.rule, loss.kind) for loss in DIALECT.LOSSES}
    return envelopes, list(report)


def item(**payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload}


def said(role: str, text: str, **more: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(type="message", role=role, content=[{"type": kind, "text": text}], **more)


def done(**fields: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": fields}


def texts(records: list[Any]) -> list[str]:
    return [one["content"][0]["text"] for one in read(records)[0]]


def exports(records: list[Any]) -> dict[str, Any]:
    """What each target is sent, once its own rules let it pass."""
    lines = "\n".join(map(json.dumps, records))
    messages = import_messages(lines, from_="codex").messages
    assert import_messages(lines, from_="auto").messages == messages
    payloads = {target: export_messages(messages, to=target).payload for target in TARGETS}
    assert [(target, found) for target in TARGETS for found in lint(payloads[target], target)] == []
    return payloads
