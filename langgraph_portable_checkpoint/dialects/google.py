"""Google Gemini `contents`, both directions: the Gemini API (profile "gemini") and Vertex AI (profile "vertex").

Owns the dialect's tables: what Gemini takes, the field map, the losses. Contents are read by `google_read.py`, written
by `google_write.py`, checked by `lint/google.py`.

Source: ai.google.dev/gemini-api/docs; rules G1 to G14.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
    MediaSource,
    ReasoningRule,
    Rule,
    Target,
)
from .google_cli import is_recording
from .google_parts import camel_keys, is_part
from .google_read import API, NAME, PROVIDERS, Payload, Reader
from .google_write import Writer, generation
from .jsonl import first_objects
from .lint.google import RULES, lint_contents
from .models import narrow_media
from .report import Placed, Report

CALL_ID: Final = IdRule(pattern=re.compile("[^\ud800-\udfff]+"), max_length=10_000)
"""Any id, but another for each call of a step: responses are matched by it (G8).

langchain-google-genai matches a call with the first result of that id in the whole history."""
TOOL_NAME: Final = IdRule(
    pattern=re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]*"), max_length=64, prefix="tool_", digest_length=24
)
_TOOL_MEDIA: Final = (r"image/(png|jpeg|webp)", "application/pdf", "text/plain")


def _media(*, vertex: bool, nested: bool) -> dict[tuple[str, str], MediaRule]:
    """The media table; `nested` is whether tool results may hold media (Gemini 3, G9)."""
    any_source = frozenset[MediaSource]({"base64", "url", "file_id"})
    rule = MediaRule(sources=any_source, schemes=("gs", "https", "http") if vertex else ("https", "http"))
    kinds = ("image", "audio", "video", "file", "text-plain")
    table = {(role, kind): rule for role in ("user", "assistant") for kind in kinds}
    answer = replace(rule, sources=frozenset({"base64"}), mime_types=_TOOL_MEDIA)
    return table | ({("tool", kind): answer for kind in ("image", "file", "text-plain")} if nested else {})


class Google:
    """The dialect; see the module docstring."""

    name = NAME
    title = "Google Gemini contents"
    providers = ("google", "google-vertex")
    profiles = ("gemini", "vertex")
    writes = True
    RULES: tuple[Rule, ...] = RULES
    FIELD_MAP: tuple[Field, ...] = (
        Field(neutral="role user, assistant, tool", native="role user, model, user"),
        Field(neutral="role system", native="system_instruction.parts[].text"),
        Field(neutral="text", native="parts[].text"),
        Field(neutral="reasoning", native="parts[].text with thought: true"),
        Field(neutral="extras.signature", native="parts[].thoughtSignature", note="only from Gemini itself (G10, G11)"),
        Field(
            neutral="origin.provider google",
            native="what langchain-google-genai made",
            note="it names both platforms so: a thread that it made on Vertex goes back with profile gemini, whole",
        ),
        Field(neutral="tool_call", native="parts[].functionCall", note="id left out for Vertex (G12)"),
        Field(neutral="tool message", native="parts[].functionResponse", note="response.output or response.error (G8)"),
        Field(
            neutral="media in tool messages", native="functionResponse.parts[].inlineData", note="Gemini 3 and later"
        ),
        Field(neutral="image, audio, video, file", native="parts[].inlineData or fileData"),
        Field(neutral="text-plain", native="parts[].inlineData of text/plain"),
        Field(neutral="server_tool_call", native="executableCode or toolCall (G13)"),
        Field(neutral="server_tool_result", native="codeExecutionResult or toolResponse (G13)"),
        Field(neutral="non_standard", native="the part as it came", note="back to Gemini only"),
    )
    LOSSES: tuple[DeclaredLoss, ...] = (
        DeclaredLoss(rule="G6", kind="merged", when="consecutive model messages, the later of which calls a function"),
        DeclaredLoss(rule="G7", kind="merged", when="contents that each hold some of a step's responses"),
        DeclaredLoss(rule="G8", kind="unresolved", when="a function response that matches no call (import)"),
        DeclaredLoss(
            rule="G8",
            kind="downgraded",
            when="arguments that hold NaN, infinities, bytes or lone surrogates; a result that Gemini refuses",
        ),
        DeclaredLoss(rule="G8", kind="dropped", when="the id of a response whose call has none, where others have ids"),
        DeclaredLoss(rule="G10", kind="synthesized", when="a call that no Gemini model signed"),
        DeclaredLoss(rule="G10", kind="downgraded", when='such a call under missing_signature="text"'),
        DeclaredLoss(
            rule="G10", kind="dropped", when="a signature of another provider, platform or model family, or of two"
        ),
        DeclaredLoss(rule="G12", kind="dropped", when="call ids, for Vertex"),
        DeclaredLoss(
            rule="G1", kind="dropped", when="a blank text; a content without parts, a CLI's own message (import)"
        ),
        DeclaredLoss(rule="G14", kind="synthesized", when="a mime type, where none is known"),
        DeclaredLoss(
            rule="G14", kind="unresolved", when="bytes that are empty, of no known type, or cannot be decoded"
        ),
        DeclaredLoss(rule="G2", kind="re-keyed", when="a content whose role is none"),
        DeclaredLoss(rule="G14", kind="downgraded", when="a part with a value that Gemini refuses: it is spelled anew"),
        DeclaredLoss(
            rule="G4",
            kind="dropped",
            when="citations, and blocks that no part can say; keys beside the parts of a system instruction (import)",
        ),
        DeclaredLoss(rule="G4", kind="unresolved", when="such a block in what the user or a tool said"),
        DeclaredLoss(
            rule="G14", kind="dropped", when="what a part or call says beside its content; keys that parts have not"
        ),
    )

    def target(self, options: ExportOptions) -> Target:
        """Describe what Gemini accepts; media inside tool results from Gemini 3 on."""
        vertex = options.profile == "vertex"
        nested = generation(options.model_name) >= 3
        media = _media(vertex=vertex, nested=nested)
        return Target(
            dialect=self.name,
            providers=frozenset({PROVIDERS["vertex" if vertex else "gemini"]}),
            api=API,
            model=options.model_name,
            rules=_CONCERNS,
            system="apart",
            mid_system="user",
            starts_with_user=True,
            ends_with_user=True,
            call_id=CALL_ID,
            unique_call_ids="request" if options.integration else "step",
            tool_name=TOOL_NAME,
            speakers=False,
            result_names=False,
            result_order="call",
            tool_status=not options.integration,
            invalid_arguments=False,
            media=narrow_media(media, options.model),
            tool_media="user",
            reasoning=ReasoningRule(replay="same-model"),
            server_tools="items",
            refusal=False,
            non_standard="same-api",
            own_parts=frozenset({("tool", "fileData"), ("tool", "file_data")}),
        )

    def render(self, conversation: Sequence[Placed], options: ExportOptions, report: Report) -> dict[str, Any]:
        """Spell a normalised conversation as `{"system_instruction", "contents"}`; both JSON-able.

        Raises:
            IncompatibleHistoryError: A call has no signature and `missing_signature` is "raise".
        """
        return Writer(self.target(options), options, report).payload(conversation)

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read a request, a response, or a list of contents, responses or recorded calls."""
        found = Payload(payload)
        if found.problems:
            raise MalformedHistoryError(self.name, found.problems)
        return list(Reader(options, report).envelopes(found))

    def recognises(self, payload: Any) -> float:
        """Contents, requests and responses are certain by their keys."""
        if isinstance(payload, Mapping):
            return self._recognises_mapping(payload)
        if isinstance(payload, (str, bytes)):
            payload = first_objects(payload)
        if not isinstance(payload, list) or not payload or not all(isinstance(item, Mapping) for item in payload):
            return 0.0
        if all({"method", "response"} <= set(item) for item in payload):
            return 0.8
        foreign = any("content" in item or _has_typed_part(item) for item in payload)
        return 0.95 if not foreign and any(map(_has_part, payload)) else 0.0

    def _recognises_mapping(self, payload: Mapping[str, Any]) -> float:
        keys = camel_keys({str(key): value for key, value in payload.items()})
        contents = keys.get("contents")
        if is_recording(keys):
            return (
                0.9 if any(one.get("type") == "gemini" for one in keys["messages"] if isinstance(one, Mapping)) else 0.4
            )
        has_parts = isinstance(contents, list) and any("parts" in one for one in contents if isinstance(one, Mapping))
        return 0.95 if "candidates" in keys or has_parts else 0.0

    def lint(self, payload: Any, options: ExportOptions) -> list[Finding]:
        """Check contents against rules G1 to G14."""
        return lint_contents(payload, vertex=options.profile == "vertex", generation=generation(options.model_name))


_CONCERNS: Final[Mapping[str, str]] = {
    "dangling_call": "G7",
    "orphan_result": "G7",
    "duplicate_result": "G7",
    "late_result": "G7",
    "result_order": "G7",
    "call_id": "G8",
    "repeated_call_id": "G8",
    "tool_name": "G8",
    "speaker": "G2",
    "role": "G2",
    "mid_system": "G14",
    "result_name": "G2",
    "message_keys": "G4",
    "broken_text": "G1",
    "empty_message": "G3",
    "tool_status": "G8",
    "reasoning": "G10",
    "refusal": "G4",
    "invalid_arguments": "G8",
    "server_tools": "G13",
    "non_standard": "G4",
    "media": "G14",
    "tool_media": "G9",
    "first_role": "G6",
    "last_role": "G6",
}


def _has_part(item: Mapping[str, Any]) -> bool:
    """Tell whether a content has a part of Gemini's, or a text that its SDK takes for one, or has none at all."""
    parts = item.get("parts")
    return parts == [] or (isinstance(parts, list) and any(isinstance(part, str) or is_part(part) for part in parts))


def _has_typed_part(item: Mapping[str, Any]) -> bool:
    parts = item.get("parts")
    return isinstance(parts, list) and any(isinstance(part, Mapping) and "type" in part for part in parts)
