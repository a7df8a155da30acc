"""AWS Bedrock Converse, both directions: `system` and `messages` as boto3's `converse` takes them.

Owns the dialect's tables. Messages are read by `bedrock_read.py`, written by `bedrock_write.py`, content blocks are
spelled by `bedrock_blocks.py`, checked by `lint/bedrock.py`.

Source: botocore 1.44 bedrock-runtime service model and docs.aws.amazon.com/bedrock; rules B1 to B12.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..envelope.model import MessageEnvelope
from ..errors import MalformedHistoryError
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
from .bedrock_blocks import FORMATS
from .bedrock_read import API, PROVIDER, Reader, problems_of, split_payload
from .bedrock_write import Writer
from .jsonl import MAX_DEPTH, too_deep
from .lint.bedrock import BLOCK_KEYS, RULES, lint_messages
from .long_integers import with_text_arguments
from .models import narrow_media
from .number_limits import LEAVES_OR_BYTES, made_of_json
from .report import Placed, Report

NAME: Final = "bedrock"

_CALL_ID: Final = IdRule(pattern=re.compile(r"[a-zA-Z0-9_.:-]+"), max_length=64, prefix="tooluse_")
_TOOL_NAME: Final = IdRule(pattern=re.compile(r"[a-zA-Z0-9_-]+"), max_length=64, prefix="tool_")
_WITH_STATUS: Final = re.compile(r"claude|nova")
"""Models whose tool results may carry `status` (B11)."""
_BOUND: Final = re.compile(r"claude-(fable-(5-[1-9]|[6-9])|(opus|sonnet|haiku)-(5-[5-9]|[6-9]))")
"""Models that bind thinking to what stands before it (A12c): docs.aws.amazon.com, thinking block binding."""

NATIVE_PARTS: Final = frozenset({"cachePoint", "guardContent", "toolAddition", "toolRemoval"})
_MEDIA: Final = {
    (role, kind): MediaRule(
        sources=frozenset({"base64", "url"}), mime_types=tuple(map(re.escape, FORMATS[kind])), schemes=("s3",)
    )
    for role, kinds in {"user": ("image", "file", "video", "audio"), "tool": ("image", "file", "video")}.items()
    for kind in kinds
} | {(role, "text-plain"): MediaRule(sources=frozenset({"base64"})) for role in ("user", "tool")}

_CONCERNS: Final[Mapping[str, str]] = {
    "dangling_call": "B8",
    "orphan_result": "B9",
    "duplicate_result": "B9",
    "late_result": "B8",
    "result_order": "B8",
    "call_id": "B10",
    "repeated_call_id": "B10",
    "tool_name": "B10",
    "speaker": "B3",
    "role": "B3",
    "mid_system": "B3",
    "blank_text": "B5",
    "result_name": "B3",
    "message_keys": "B4",
    "broken_text": "B5",
    "empty_message": "B4",
    "reasoning": "B12",
    "refusal": "B4",
    "invalid_arguments": "B12",
    "server_tools": "B7",
    "non_standard": "B4",
    "media": "B6",
    "tool_media": "B6",
    "tool_status": "B11",
    "first_role": "B2",
    "last_role": "B2",
    "alternation": "B3",
}


class Bedrock:
    """The dialect; see the module docstring."""

    name = NAME
    title = "AWS Bedrock Converse"
    providers = (PROVIDER,)
    profiles: tuple[str, ...] = ()
    writes = True
    RULES: tuple[Rule, ...] = RULES
    FIELD_MAP: tuple[Field, ...] = (
        Field(neutral="role user, assistant", native="messages[].role"),
        Field(neutral="role system", native="system[].text"),
        Field(neutral="tool message", native="toolResult in the next user message", note="all of a step in one (B8)"),
        Field(neutral="status", native="toolResult.status", note="error only; Claude and Nova (B11)"),
        Field(neutral="text", native="text, or json where it came as json"),
        Field(neutral="annotations", native="citationsContent", note="as it came from Bedrock"),
        Field(neutral="reasoning", native="reasoningContent.reasoningText or redactedContent", note="same model (B12)"),
        Field(neutral="tool_call", native="toolUse"),
        Field(neutral="server tool call, result", native="toolUse and toolResult with a type", note="same platform"),
        Field(neutral="image, video, audio", native="image, video, audio with bytes or s3Location"),
        Field(neutral="file, text-plain", native="document", note="name of letters, digits, spaces, -()[] (B6)"),
        Field(
            neutral="cache_hint",
            native="cachePoint behind the block",
            note="back to Bedrock; behind a toolResult",
        ),
        Field(neutral="non_standard", native="the block as it came", note="back to Bedrock only"),
    )
    LOSSES: tuple[DeclaredLoss, ...] = (
        DeclaredLoss(rule="B6", kind="synthesized", when="a document stands in a message without text"),
        DeclaredLoss(rule="B6", kind="re-keyed", when="a document's name does not fit, or is used twice"),
        DeclaredLoss(rule="B6", kind="placeholder", when="more images or documents than a request may hold"),
        DeclaredLoss(rule="B6", kind="unresolved", when="bytes that cannot be decoded"),
        DeclaredLoss(rule="B6", kind="dropped", when="what a part or call says beside its content"),
        DeclaredLoss(rule="B11", kind="synthesized", when="an error result without content"),
        DeclaredLoss(rule="B12", kind="downgraded", when="arguments that hold NaN, infinities or bytes"),
        DeclaredLoss(rule="B4", kind="dropped", when="citations and cache markers of other providers; unknown keys"),
        DeclaredLoss(
            rule="B4",
            kind="downgraded",
            when="a part that has no place in its content becomes its text; one that Converse refuses is spelled anew",
        ),
        DeclaredLoss(rule="B9", kind="unresolved", when="a result without an id (import)"),
    )

    def target(self, options: ExportOptions) -> Target:
        """Describe what Converse accepts; the error flag of results depends on the model."""
        model = options.model_name
        return Target(
            dialect=NAME,
            providers=frozenset({PROVIDER}),
            api=API,
            model=model,
            rules=_CONCERNS,
            system="apart",
            mid_system="user",
            starts_with_user=True,
            alternates=True,
            ends_with_user=True,
            call_id=_CALL_ID,
            tool_name=_TOOL_NAME,
            speakers=False,
            result_names=False,
            tool_status=model is None or _WITH_STATUS.search(model) is not None,
            invalid_arguments=False,
            blank_text=False,
            media=narrow_media(_MEDIA, options.model),
            tool_media="user",
            reasoning=ReasoningRule(replay="same-model", needs=("signature", "redacted_data"), bound_to_prefix=_BOUND),
            server_tools="pairs",
            typed_results="",
            refusal=False,
            non_standard="same-api",
            native_parts=NATIVE_PARTS,
        )

    def render(self, conversation: Sequence[Placed], options: ExportOptions, report: Report) -> dict[str, Any]:
        """Spell a normalised conversation as `{"system", "messages"}`; bytes where boto3 wants bytes."""
        return Writer(self.target(options), report, unsupported=options.on_unsupported_part).payload(conversation)

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read a request, a response, or a list of messages."""
        plain = made_of_json(payload, MAX_DEPTH, LEAVES_OR_BYTES)
        if not plain and too_deep(payload):
            raise MalformedHistoryError(NAME, [f"is nested deeper than {MAX_DEPTH}"])
        system, messages, facts = split_payload(payload)
        if not plain and isinstance(messages, list):
            messages = [with_text_arguments(message, NAME) for message in messages]
        problems = problems_of(system, messages, plain=plain)
        if problems:
            raise MalformedHistoryError(NAME, problems)
        return list(Reader(options, report).envelopes(system, messages, facts))

    def recognises(self, payload: Any) -> float:
        """Blocks without `type`, keyed by what they are, tell Converse from Anthropic."""
        if isinstance(payload, Mapping) and isinstance(payload.get("output"), Mapping) and "stopReason" in payload:
            return 0.95
        _, messages, _ = split_payload(payload)
        if not isinstance(messages, list) or not messages:
            return 0.0
        contents = [item.get("content") for item in messages if isinstance(item, Mapping)]
        blocks = [block for content in contents if isinstance(content, list) for block in content]
        if not blocks or not all(isinstance(block, Mapping) and "type" not in block for block in blocks):
            return 0.0
        return 0.9 if all(len(block) == 1 and next(iter(block)) in BLOCK_KEYS for block in blocks) else 0.3

    def lint(self, payload: Any, options: ExportOptions) -> list[Finding]:
        """Check messages against rules B1 to B12."""
        return lint_messages(payload)
