"""agent-checkpoint files, both directions: one JSON object per line and conversation turn.

Written in the shape of OpenAI messages, which the format's reference adapter seeds without looking at `provider`; read
in that shape and in Anthropic's, which the tool writes for Claude Code sessions. What the format has no word for stands
under `_meta`, which its tools carry along.

Source: agent-checkpoint README (format, adapter contract); localab-checkpoint 0.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from ..envelope.model import MessageEnvelope
from .agent_checkpoint_read import META, NAME, RECOVERED, RESULT, read_turns
from .base import DeclaredLoss, ExportOptions, Field, Finding, ImportOptions, ReasoningRule, Rule, Target
from .jsonl import first_objects
from .lint.agent_checkpoint import RULES, lint_lines
from .openai_chat import OpenAIChat
from .plain_values import plain_or_told
from .report import LossKind, Placed, Report

_CONCERNS: Final[Mapping[str, str]] = {
    "dangling_call": "AC4",
    "orphan_result": "AC3",
    "duplicate_result": "AC3",
    "late_result": "AC3",
    "result_order": "AC3",
    "call_id": "AC3",
    "repeated_call_id": "AC3",
    "tool_name": "AC3",
    "message_name": "AC5",
    "role": "AC2",
    "message_keys": "AC5",
    "broken_text": "AC5",
    "empty_message": "AC5",
    "reasoning": "AC6",
    "refusal": "AC5",
    "server_tools": "AC6",
    "non_standard": "AC6",
    "media": "AC5",
    "tool_media": "AC5",
}


class AgentCheckpoint:
    """The dialect; see the module docstring."""

    name = NAME
    title = "agent-checkpoint files"
    providers: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    writes = True
    RULES: tuple[Rule, ...] = RULES
    FIELD_MAP: tuple[Field, ...] = (
        Field(neutral="role user, assistant, tool, system", native="role"),
        Field(neutral="text, media", native="content", note="a text, or parts as in OpenAI Chat Completions"),
        Field(neutral="tool_call", native="tool_calls[].function", note="read in Anthropic's words too, once"),
        Field(neutral="tool message", native="tool_results[0]: tool_call_id, content", note="is_error for errors"),
        Field(neutral="origin.provider, origin.model", native="_meta.origin; model", note="provider names the shape"),
        Field(neutral="created_at", native="ts", note="else the option extra={'saved_at': ...}, else null"),
        Field(neutral="id, name, typed_by_user, extras.recovered", native="_meta"),
    )
    LOSSES: tuple[DeclaredLoss, ...] = (
        DeclaredLoss(
            rule="AC5",
            kind="dropped",
            when="citations, what a part or call says beside its content, keys of the source",
        ),
        DeclaredLoss(rule="AC5", kind="downgraded", when="arguments or keys of the source that hold what JSON cannot"),
        DeclaredLoss(
            rule="AC3",
            kind="dropped",
            when="a call or result, or the content of a tool's line, that the same line tells otherwise (import)",
        ),
        DeclaredLoss(rule="AC1", kind="downgraded", when="a repeated key, or a lone surrogate (import)"),
    )

    def target(self, options: ExportOptions) -> Target:
        """OpenAI's messages, with an error flag, and without what stands beside content there."""
        chat = OpenAIChat().target(replace(options, profile=None))
        media = {key: rule for key, rule in (chat.media or {}).items() if key[0] != "assistant"}
        return replace(
            chat,
            dialect=NAME,
            rules=_CONCERNS,
            tool_status=True,
            result_names=True,
            media=media,
            reasoning=ReasoningRule(replay="never"),
            refusal=False,
            non_standard="never",
        )

    def render(self, conversation: Sequence[Placed], options: ExportOptions, report: Report) -> dict[str, Any]:
        """Return `{"lines": [...]}`, one object per line."""
        chat = OpenAIChat().render(conversation, replace(options, profile=None), _AsOwn(report))
        saved_at = options.extra.get("saved_at")
        pairs = zip(chat["messages"], conversation, strict=True)
        lines = []
        for message, placed in pairs:
            line = _line(message, placed.envelope, saved_at)
            if kept := (placed.envelope.get("extras") or {}).get(NAME):
                tell = partial(report.add, "AC5", "downgraded", action="made values plain", at=placed)
                line = _with_own_keys(line, plain_or_told(kept, tell))
            lines.append(line)
        return {"lines": lines}

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read the lines of a checkpoint: text, bytes, or objects already read. A bad line refuses the whole file."""
        return read_turns(payload, options, report)

    def recognises(self, payload: Any) -> float:
        """Lines with both tool_calls and tool_results are certain."""
        if isinstance(payload, (dict, Mapping)) and isinstance(payload.get("lines"), list):
            payload = payload["lines"]
        objects = first_objects(payload)
        known = [one for one in objects if {"role", "content", "tool_calls", "tool_results"} <= set(one)]
        return 0.98 if known and len(known) == len(objects) else 0.0

    def lint(self, payload: Any, options: ExportOptions) -> list[Finding]:
        """Check lines against the format."""
        return lint_lines(payload)


class _AsOwn(Report):
    """Passes the losses of OpenAI's renderer on under the rule of this format."""

    def __init__(self, own: Report) -> None:
        super().__init__(target=own.target)
        self.own = own

    def add(self, rule: str, kind: LossKind, **facts: Any) -> None:
        """Record a loss of content's shape."""
        self.own.add("AC5", kind, **facts)


def _line(message: Mapping[str, Any], envelope: MessageEnvelope, saved_at: Any) -> dict[str, Any]:
    origin = envelope.get("origin") or {}
    line: dict[str, Any] = {
        "role": message["role"],
        "content": message.get("content"),
        "tool_calls": message.get("tool_calls"),
        "tool_results": _results(message, envelope),
        "provider": "openai",
        "model": origin.get("model"),
        "ts": envelope.get("created_at") or saved_at,
    }
    meta: dict[str, Any] = {key: envelope[key] for key in META if envelope.get(key) is not None}
    meta["origin"] = dict(origin)
    extras = envelope.get("extras") or {}
    if extras.get(RECOVERED) is True:
        meta[RECOVERED] = True
    return {**line, "_meta": meta}


def _with_own_keys(line: dict[str, Any], kept: Any) -> dict[str, Any]:
    """Put back the keys that a line of this dialect came with and the format does not know."""
    if not isinstance(kept, Mapping):
        return line
    own = kept.get("_meta")
    rest = {key: value for key, value in kept.items() if key not in line and key != RESULT}
    return {**line, **rest, "_meta": {**(own if isinstance(own, Mapping) else {}), **line["_meta"]}}


def _results(message: Mapping[str, Any], envelope: MessageEnvelope) -> list[dict[str, Any]] | None:
    if message["role"] != "tool":
        return None
    kept = (envelope.get("extras") or {}).get(NAME)
    own = kept.get(RESULT) if isinstance(kept, Mapping) else None
    found = {"tool_call_id": message.get("tool_call_id"), "content": message.get("content")}
    error = {"is_error": True} if envelope.get("status") == "error" else {}
    return [{**(own if isinstance(own, Mapping) else {}), **found, **error}]
