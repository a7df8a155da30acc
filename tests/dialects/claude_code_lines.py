"""Lines of Claude Code session files, and what an import makes of them."""

from __future__ import annotations

from typing import Any

from langgraph_portable_checkpoint.dialects.base import ImportOptions
from langgraph_portable_checkpoint.dialects.claude_code.dialect import ClaudeCode
from langgraph_portable_checkpoint.dialects.report import Report

DIALECT = ClaudeCode()


def read(payload: Any) -> tuple[list[Any], list[Any]]:
    report = Report(target="claude-code")
    envelopes = DIALECT.parse(payload, ImportOptions(), report)
    declared = {(loss.rule, loss.kind) for loss in DIALECT.LOSSES}
    assert {(loss.rule, loss.kind) for loss in report} <= declared
    return envelopes, list(report)


def record(kind: str, uuid: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "message": message, **more}


def said(uuid: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return record("user", uuid, parent, content, **more)


def answered(uuid: str, parent: str | None, message_id: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    return record(
        "assistant", uuid, parent, list(blocks), message={"id": message_id, "model": "claude-sonnet-4-5"}, **more
    )


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def use(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": {}}


def result(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "ok", **more}


def shape(envelopes: list[Any]) -> list[tuple[str, list[str]]]:
    return [
        (one["role"], [block.get("id") or block.get("text", block["type"]) for block in one["content"]])
        for one in envelopes
    ]
