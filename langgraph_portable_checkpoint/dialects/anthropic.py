"""Anthropic Messages, both directions.

Owns the dialect's tables. Messages are read by `anthropic_read.py`, written by `anthropic_write.py`, checked by
`lint/anthropic.py`.

Source: anthropic 2.14 types; platform.claude.com; rules A1 to A18.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ..envelope.model import MessageEnvelope, Origin
from .anthropic_read import API, NAME, READERS, read_message, read_system
from .anthropic_write import AnthropicWriter, limit_cache_hints
from .base import (
    DeclaredLoss,
    ExportOptions,
    Field,
    Finding,
    IdRule,
    ImportOptions,
    MediaRule,
    ReasoningRule,
    Rule,
    Target,
)
from .chat_hosts import IMAGES
from .lint.anthropic import ID, RULES, TOOL_NAME, lint_payload
from .lint.anthropic_shapes import MID_SYSTEM, PART_ROLES
from .models import narrow_media
from .native_parts import CONTENT_DOCUMENT
from .problems import Problems, history_list
from .reasoning import target_model
from .report import Placed, Report
from .type_words import words_of_others

CONCERN_RULES: Final[Mapping[str, str]] = {
    "dangling_call": "A6",
    "orphan_result": "A7",
    "duplicate_result": "A8",
    "late_result": "A6",
    "call_id": "A10",
    "repeated_call_id": "A11",
    "tool_name": "A10",
    "speaker": "A18",
    "role": "A2",
    "mid_system": "A17",
    "blank_text": "A4",
    "result_name": "A18",
    "message_keys": "A18",
    "broken_text": "A4",
    "empty_message": "A3",
    "tool_status": "A18",
    "reasoning": "A12",
    "refusal": "A18",
    "invalid_arguments": "A18",
    "server_tools": "A13",
    "non_standard": "A18",
    "media": "A18",
    "tool_media": "A18",
    "calls_last": "A6",
    "first_role": "A2",
    "last_role": "A14",
}
BINDING: Final = re.compile(r"fable-(5-[1-9]|[6-9])|(opus|sonnet|haiku)-(5-[5-9]|[6-9])")
"""Models that bind thinking to everything before it (A12c)."""
KNOWN_PARTS: Final = frozenset({*READERS, "tool_result"}) | words_of_others(NAME)
"""Types of parts that are none of an unknown type, though they could not be read."""
NATIVE_PARTS: Final = frozenset({"container_upload", "search_result", "tool_reference", CONTENT_DOCUMENT})
_SOURCES: Final = frozenset({"base64", "url", "file_id"})
_IMAGE: Final = MediaRule(sources=_SOURCES, mime_types=IMAGES)  # type: ignore[arg-type]  # literals
_DOCUMENT: Final = MediaRule(sources=_SOURCES, mime_types=("application/pdf",))  # type: ignore[arg-type]  # literals
_MEDIA: Final[Mapping[tuple[str, str], MediaRule]] = {
    (role, kind): rule
    for role in ("user", "tool")
    for kind, rule in (("image", _IMAGE), ("file", _DOCUMENT), ("text-plain", _DOCUMENT))
}
_MEDIA_OF_BEDROCK: Final = {key: replace(rule, sources=frozenset({"base64"})) for key, rule in _MEDIA.items()}
"""InvokeModel fetches nothing, and has no files. Source: docs.aws.amazon.com, Anthropic Claude Messages API."""


_PLATFORMS: Final = {"bedrock": "bedrock", "vertex": "google_anthropic_vertex"}
"""Where else the Messages API is spoken, with our words for who signs there."""


class Anthropic:
    """The dialect; see the module docstring."""

    name = NAME
    title = "Anthropic Claude messages"
    providers = ("anthropic",)
    profiles = tuple(_PLATFORMS)
    writes = True
    RULES: tuple[Rule, ...] = RULES
    FIELD_MAP: tuple[Field, ...] = (
        Field(neutral="role system", native="system", note="later ones: role system or user, by model (A17)"),
        Field(neutral="role user, assistant", native="role user, assistant"),
        Field(neutral="role tool", native="tool_result in a user message", note="a step's results in one message"),
        Field(neutral="text", native="text"),
        Field(neutral="annotations", native="text.citations", note="to Anthropic only"),
        Field(neutral="reasoning", native="thinking, redacted_thinking", note="to the same model family only"),
        Field(neutral="tool_call", native="tool_use"),
        Field(neutral="status", native="tool_result.is_error"),
        Field(neutral="server_tool_call", native="server_tool_use, mcp_tool_use"),
        Field(neutral="server_tool_result", native="*_tool_result"),
        Field(neutral="image", native="image.source"),
        Field(neutral="file, text-plain", native="document.source"),
        Field(neutral="cache_hint", native="cache_control"),
    )
    LOSSES: tuple[DeclaredLoss, ...] = (
        DeclaredLoss(rule="A8", kind="merged", when="user messages that each hold some of a step's results"),
        DeclaredLoss(rule="A13", kind="dropped", when="citations of another provider"),
        DeclaredLoss(rule="A13", kind="dropped", when="the caller of a call, where its own call is not there"),
        DeclaredLoss(rule="A16", kind="dropped", when="cache hints of another provider, or beyond four"),
        DeclaredLoss(
            rule="A18",
            kind="dropped",
            when="keys that the API does not know, or with values that it does not take; what a part or call says "
            "beside its content",
        ),
    )

    def target(self, options: ExportOptions) -> Target:
        """Describe what the Messages API takes."""
        knows_system = bool(options.model_name and MID_SYSTEM.search(options.model_name))
        return Target(
            dialect=NAME,
            providers=frozenset({_provider(options.profile)}),
            api=API,
            model=options.model_name,
            rules=CONCERN_RULES,
            system="apart",
            mid_system="after-user" if knows_system else "user",
            starts_with_user=True,
            ends_with_user=True,
            call_id=IdRule(pattern=ID, max_length=128, prefix="toolu_"),
            tool_name=IdRule(pattern=TOOL_NAME, max_length=128, prefix="tool_"),
            speakers=False,
            result_names=False,
            tool_status=not (options.integration and options.profile == "bedrock"),
            invalid_arguments=False,
            plain_arguments=True,
            calls_last=True,
            blank_text=False,
            media=narrow_media(_MEDIA_OF_BEDROCK if options.profile == "bedrock" else _MEDIA, options.model),
            tool_media="user",
            reasoning=ReasoningRule(replay="same-model", needs=("signature", "redacted_data"), bound_to_prefix=BINDING),
            server_tools="pairs",
            typed_results="_tool_result",
            refusal=False,
            non_standard="same-api",
            known_parts=KNOWN_PARTS,
            native_parts=NATIVE_PARTS,
            part_roles=PART_ROLES,
        )

    def render(self, conversation: Sequence[Placed], options: ExportOptions, report: Report) -> dict[str, Any]:
        """Return `{"system": ..., "messages": [...]}` for `client.messages.create`; no system key without one."""
        reasons = any(block["type"] == "reasoning" for placed in conversation for block in placed.envelope["content"])
        model = target_model(conversation, self.target(options), options) if reasons else None
        as_seen = reasons and (model is None or BINDING.search(model) is not None)
        payload = AnthropicWriter(report, as_seen).write(conversation)
        limit_cache_hints(payload, report)
        return payload

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read a list of messages, a request with `messages` and `system`, or a Message response."""
        problems = Problems(NAME)
        origin = _origin(payload, options)
        if isinstance(payload, Mapping) and payload.get("role") == "assistant" and "content" in payload:
            envelopes = read_message(payload, "", origin=origin, problems=problems)
            problems.raise_if_any()
            return [_with_response(envelope, payload) for envelope in envelopes]
        natives, root = history_list(payload, ("messages",), problems)
        system = payload.get("system") if isinstance(payload, Mapping) else None
        envelopes = read_system(system, origin=origin, problems=problems)
        for at, native in enumerate(natives):
            envelopes.extend(read_message(native, f"{root}[{at}]", origin=origin, problems=problems))
        problems.raise_if_any()
        return envelopes

    def recognises(self, payload: Any) -> float:
        """Recognise block types and parameters that only Anthropic has."""
        if isinstance(payload, Mapping):
            if payload.get("type") == "message" and payload.get("role") == "assistant":
                return 1.0
            if "system" in payload and isinstance(payload.get("messages"), list):
                return 0.0 if _holds_untyped([payload["system"], *_contents(payload["messages"])]) else 0.95
            payload = payload.get("messages")
        if not isinstance(payload, list) or not payload or not all(isinstance(item, Mapping) for item in payload):
            return 0.0
        roles = {str(item.get("role")) for item in payload}
        contents = _contents(payload)
        if not roles <= {"user", "assistant"} or any("tool_calls" in item or "content" not in item for item in payload):
            return 0.0
        if _holds_untyped(contents):
            return 0.0
        if any(item.get("type") == "message" and "stop_reason" in item for item in payload):
            return 0.98
        return 0.95 if _kinds(contents) & _MARKS else 0.4

    def lint(self, payload: Any, options: ExportOptions) -> list[Finding]:
        """Check a request, or its messages alone, against the rules."""
        return lint_payload(payload, model=options.model_name, complete=not options.for_next_turn)


_MARKS: Final = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document", "compaction", "image"}
)


def _contents(messages: Sequence[Any]) -> list[Any]:
    return [message.get("content") for message in messages if isinstance(message, Mapping)]


def _blocks(contents: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    for content in contents:
        if isinstance(content, list):
            yield from (block for block in content if isinstance(block, Mapping))


def _kinds(contents: Sequence[Any]) -> set[str]:
    return {str(block.get("type")) for block in _blocks(contents)}


def _holds_untyped(contents: Sequence[Any]) -> bool:
    """True if a block says by a key of its own what it is, as those of Bedrock do."""
    return any("type" not in block for block in _blocks(contents))


def _provider(profile: str | None) -> str:
    return _PLATFORMS.get(profile or "", "anthropic")


def _origin(payload: Any, options: ImportOptions) -> Origin:
    origin: Origin = {"provider": _provider(options.profile), "api": API}
    model = options.model or (payload.get("model") if isinstance(payload, Mapping) else None)
    if isinstance(model, str):
        origin["model"] = model
    if options.account:
        origin["account"] = options.account
    return origin


def _with_response(envelope: MessageEnvelope, response: Mapping[str, Any]) -> MessageEnvelope:
    """Add what a response says beyond its content."""
    usage = response.get("usage")
    if isinstance(response.get("id"), str):
        envelope["id"] = response["id"]
        envelope["origin"] = {**envelope.get("origin", {}), "response_id": response["id"]}
    if isinstance(response.get("stop_reason"), str):
        envelope["stop_reason"] = response["stop_reason"]
    if isinstance(usage, Mapping) and isinstance(usage.get("input_tokens"), int):
        output = usage["output_tokens"] if isinstance(usage.get("output_tokens"), int) else 0
        total = usage["input_tokens"] + output
        envelope["usage"] = {"input_tokens": usage["input_tokens"], "output_tokens": output, "total_tokens": total}
    return envelope
