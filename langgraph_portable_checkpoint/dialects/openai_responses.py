"""OpenAI Responses `input`, both directions, for OpenAI and xAI.

Owns the dialect's tables. Items are described in `responses_items.py`, read by `responses_read.py`, written by
`responses_write.py`, checked by `lint/openai_responses.py`.

Source: openai 3.57 types and OpenAPI; rules R1 to R14.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..envelope.model import ENVELOPE_VERSION, MessageEnvelope, Origin
from .arguments import tell_repeated
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
from .chat_hosts import CHAT_NAME, IMAGES
from .lint.openai_responses import RULES, lint_items
from .models import narrow_media
from .problems import Problems, history_list
from .report import Placed, Report
from .responses_items import API, CALLS, HOSTED, NAME, OUTPUTS, USER_ITEMS
from .responses_read import READERS, ItemReader
from .responses_write import ResponsesWriter
from .type_words import words_of_others

KNOWN_PARTS: Final = frozenset({*READERS, *CALLS, *OUTPUTS, "message", "reasoning"}) | words_of_others(NAME)
"""Types of parts that are none of an unknown type, though they could not be read."""
CONCERN_RULES: Final[Mapping[str, str]] = {
    "dangling_call": "R3",
    "orphan_result": "R4",
    "duplicate_result": "R8",
    "late_result": "R3",
    "call_id": "R9",
    "repeated_call_id": "R8",
    "tool_name": "R3",
    "speaker": "R7",
    "role": "R7",
    "result_name": "R7",
    "message_keys": "R12",
    "broken_text": "R12",
    "empty_message": "R7",
    "reasoning": "R2",
    "item_ids": "R1b",
    "server_tools": "R3",
    "non_standard": "R7",
    "media": "R12",
    "tool_media": "R12",
    "tool_status": "R3",
}
PROFILES: Final[Mapping[str, str]] = {"openai": "openai", "xai": "xai"}
_ANY: Final = re.compile("[^\ud800-\udfff]+")
_IMAGE: Final = MediaRule(sources=frozenset({"base64", "url", "file_id"}), mime_types=IMAGES)
_FILE: Final = MediaRule(sources=frozenset({"base64", "url", "file_id"}))
_MEDIA: Final[Mapping[tuple[str, str], MediaRule]] = {
    (role, kind): rule for role in ("user", "tool") for kind, rule in (("image", _IMAGE), ("file", _FILE))
}


class OpenAIResponses:
    """The dialect; see the module docstring."""

    name = NAME
    title = "OpenAI Responses input"
    providers = tuple(PROFILES.values())
    profiles = tuple(PROFILES)
    writes = True
    RULES: tuple[Rule, ...] = RULES
    FIELD_MAP: tuple[Field, ...] = (
        Field(neutral="role system, user", native="message", note="instructions where the history came with them"),
        Field(neutral="role assistant", native="a run of items", note="in order"),
        Field(neutral="text, annotations", native="message.content output_text", note="a plain text without own id"),
        Field(neutral="refusal", native="message.content refusal"),
        Field(neutral="reasoning", native="reasoning", note="summary, encrypted_content; to the same model family"),
        Field(neutral="tool_call", native="function_call, custom_tool_call, shell_call, apply_patch_call, ..."),
        Field(neutral="role tool", native="function_call_output and the outputs of the other calls"),
        Field(neutral="server_tool_call", native="web_search_call, file_search_call, mcp_call, ..."),
        Field(neutral="image", native="input_image"),
        Field(neutral="file", native="input_file"),
        Field(neutral="non_standard", native="compaction, mcp_list_tools, mcp_approval_request, ..."),
    )
    LOSSES: tuple[DeclaredLoss, ...] = (
        DeclaredLoss(
            rule="R1", kind="dropped", when="reasoning whose item is gone, or that more reasoning follows (OpenAI)"
        ),
        DeclaredLoss(rule="R3", kind="dropped", when="a server tool's block that is no native item"),
        DeclaredLoss(
            rule="R3",
            kind="downgraded",
            when="a shell, patch or computer call without its native result, or without its id",
        ),
        DeclaredLoss(rule="R5", kind="synthesized", when="an id for reasoning that came without one"),
        DeclaredLoss(rule="R5", kind="re-keyed", when="an id of reasoning or a message without the prefix of its type"),
        DeclaredLoss(
            rule="R5",
            kind="dropped",
            when="an id of a call without the prefix of its type; an item of a hosted tool without id",
        ),
        DeclaredLoss(rule="R6", kind="re-keyed", when="an id of reasoning or a message that was used before"),
        DeclaredLoss(rule="R6", kind="dropped", when="an id of a call that was used before"),
        DeclaredLoss(
            rule="R7", kind="dropped", when="citations and parts of unknown type, save in an answer with its own id"
        ),
        DeclaredLoss(rule="R7", kind="downgraded", when="a part of a message without its own id"),
        DeclaredLoss(rule="R7", kind="merged", when="text parts of a message without its own id"),
        DeclaredLoss(rule="R12", kind="synthesized", when="the detail of an image that came without one"),
        DeclaredLoss(
            rule="R12",
            kind="dropped",
            when="what a part or call says beside its content; keys that the API does not know",
        ),
        DeclaredLoss(
            rule="R12",
            kind="downgraded",
            when="a text longer than a request may hold; bytes in arguments; lone surrogates in keys beside content",
        ),
    )

    def target(self, options: ExportOptions) -> Target:
        """Describe what the Responses API takes."""
        provider = PROFILES[options.profile or "openai"]
        needs = () if options.store else ("encrypted_content",)
        return Target(
            dialect=NAME,
            providers=frozenset({provider}),
            api=API,
            model=options.model_name,
            rules=CONCERN_RULES,
            results="later",
            call_id=IdRule(pattern=_ANY, max_length=64),
            tool_name=CHAT_NAME,
            speakers=False,
            result_names=False,
            tool_status=False,
            media=narrow_media(_MEDIA, options.model),
            tool_media="user",
            reasoning=ReasoningRule(replay="same-model", needs=needs),
            item_ids=True,
            server_tools="items",
            non_standard="same-api",
            known_parts=KNOWN_PARTS,
            native_parts=USER_ITEMS,
        )

    def render(self, conversation: Sequence[Placed], options: ExportOptions, report: Report) -> dict[str, Any]:
        """Return `{"input": [...]}` for `client.responses.create`, and `instructions` where there were some."""
        return ResponsesWriter(self.target(options).providers, report).write(conversation)

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read a list of items, a request with `input`, or a response with `output`."""
        problems = Problems(NAME)
        if isinstance(payload, Mapping) and isinstance(payload.get("input"), str) and "output" not in payload:
            payload = {**payload, "input": [{"role": "user", "content": payload["input"]}]}
        natives, root = history_list(payload, ("output", "input"), problems)
        reader = ItemReader(_origin(payload, options), problems)
        if isinstance(payload, Mapping) and isinstance(payload.get("instructions"), str):
            reader.envelopes.append(_instructions(payload["instructions"], reader.origin))
        elif isinstance(payload, Mapping) and isinstance(payload.get("instructions"), list):
            for at, native in enumerate(payload["instructions"]):
                reader.read(native, f"instructions[{at}]")
        for at, native in enumerate(natives):
            reader.read(native, f"{root}[{at}]")
        problems.raise_if_any()
        tell_repeated(reader.envelopes, report)
        return reader.envelopes

    def recognises(self, payload: Any) -> float:
        """Recognise item types that only the Responses API has."""
        if isinstance(payload, Mapping):
            if payload.get("object") == "response":
                return 1.0
            if "previous_interaction_id" in payload:  # Gemini's Interactions
                return 0.0
            if isinstance(payload.get("input"), str):
                return 0.6
            named, payload = True, payload.get("input")
        else:
            named = False
        if not isinstance(payload, list) or not payload or not all(isinstance(item, Mapping) for item in payload):
            return 0.0
        kinds = {str(item.get("type")) for item in payload if "type" in item}
        if kinds & _MARKS or _part_kinds(payload) & _PARTS:
            return 0.97
        named = named or "message" in kinds
        return 0.9 if named and all("role" in item or "type" in item for item in payload) else 0.0

    def lint(self, payload: Any, options: ExportOptions) -> list[Finding]:
        """Check items against the rules; `store=True`, here or in the request, allows reasoning by id."""
        request = payload if isinstance(payload, Mapping) else {}
        items = request.get("input", request.get("output")) if isinstance(payload, Mapping) else payload
        if isinstance(items, str):
            return []
        stores = request.get("store") if isinstance(request.get("store"), bool) else options.store
        return lint_items(
            items,
            stateless=not stores,
            openai=(options.profile or "openai") == "openai",
            held=any(request.get(key) for key in _AT_THE_SERVER),
        )


_AT_THE_SERVER: Final = ("previous_response_id", "conversation")
"""Keys of a request that name items which the server has."""
_MARKS: Final = frozenset(
    {*CALLS, *OUTPUTS, *HOSTED, "reasoning", "item_reference", "compaction", "mcp_list_tools"}
) - {"program"}
_PARTS: Final = frozenset({"input_text", "output_text", "input_image", "input_file"})


def _part_kinds(items: list[Mapping[str, Any]]) -> set[str]:
    contents = [item.get("content") for item in items if "role" in item]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return {str(part.get("type")) for part in parts if isinstance(part, Mapping)}


def _origin(payload: Any, options: ImportOptions) -> Origin:
    found = payload if isinstance(payload, Mapping) else {}
    model = options.model or found.get("model")
    guess = "xai" if "grok" in str(model or "") else "openai"
    origin: Origin = {"provider": PROFILES.get(options.profile or guess, "openai"), "api": API}
    if isinstance(model, str):
        origin["model"] = model
    if isinstance(found.get("id"), str):
        origin["response_id"] = found["id"]
    if options.account:
        origin["account"] = options.account
    return origin


def _instructions(text: str, origin: Origin) -> MessageEnvelope:
    return {
        "v": ENVELOPE_VERSION,
        "role": "system",
        "content": [{"type": "text", "text": text}],
        "origin": origin,
        "extras": {NAME: {"instructions": True}},
    }
