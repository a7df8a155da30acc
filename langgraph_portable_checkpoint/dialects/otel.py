"""OpenTelemetry GenAI messages, both directions: the vendor-neutral JSON that the semantic conventions publish.

A neutral dialect: nothing is repaired and nothing is lost. What the conventions have no word for stands beside the
part or message under keys of our own with a dot in them (`portable_checkpoint.signature`), as the schema allows;
reading such a message back gives the same envelope.

Source: open-telemetry/semantic-conventions-genai, gen-ai-input-messages.json (2026); opentelemetry-util-genai 1.3b0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from ..envelope.model import Block, MessageEnvelope
from .arguments import tell_invalid
from .base import DeclaredLoss, ExportOptions, Field, Finding, ImportOptions, Rule, Target
from .lint.otel import RULES, lint_otel
from .otel_read import API, LISTS, NAME, READERS, marks_invalid, messages, read_message
from .otel_write import PREFIX, is_part, write_message, write_part
from .plain_values import is_everyday, plain_or_told
from .problems import Problems
from .raw_facts import untold
from .report import Placed, Report
from .responses_items import API as RESPONSES

_CONCERNS: Final = {"media": "O3", "broken_text": "O3", "tool_name": "O3"}


class OTel:
    """The dialect; see the module docstring."""

    name = NAME
    title = "OpenTelemetry GenAI messages"
    providers: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    writes = True
    RULES: tuple[Rule, ...] = RULES
    FIELD_MAP: tuple[Field, ...] = (
        Field(neutral="role", native="role", note="other: the native role"),
        Field(neutral="text", native="parts[].type text, content"),
        Field(neutral="reasoning", native="parts[].type reasoning, content"),
        Field(neutral="refusal", native="parts[].type text", note=f"{PREFIX}type says refusal"),
        Field(neutral="tool_call, invalid_tool_call", native="parts[].type tool_call: id, name, arguments"),
        Field(neutral="tool message", native="parts[].type tool_call_response: id, response"),
        Field(neutral="server_tool_call", native="parts[].type server_tool_call"),
        Field(neutral="server_tool_result", native="parts[].type server_tool_call_response"),
        Field(neutral="image, audio, video, file", native="parts[].type blob, uri or file", note="file is document"),
        Field(neutral="text-plain", native="parts[].type blob of text/plain"),
        Field(neutral="non_standard", native="parts[].type blob of application/json; compaction where it is one"),
        Field(neutral="every other key", native=f"{PREFIX}<key> beside them"),
    )
    LOSSES: tuple[DeclaredLoss, ...] = (
        DeclaredLoss(
            rule="O3",
            kind="downgraded",
            when="values that JSON cannot hold: NaN, lone surrogates; items that only their provider can read: "
            "they are told, but cannot go back from here",
        ),
        DeclaredLoss(
            rule="O3", kind="dropped", when="what only a provider's own form of a part says: a hint, an inner id"
        ),
        DeclaredLoss(rule="O3", kind="unresolved", when="a call without a name (import)"),
        DeclaredLoss(
            rule="O4", kind="unresolved", when="a key of a message that the conventions do not know; it stays"
        ),
    )

    def target(self, options: ExportOptions) -> Target:
        """A history stays as it is."""
        return Target(dialect=NAME, api=API, rules=_CONCERNS, mid_system="keep", pairs=False, keeps_empty=True)

    def render(self, conversation: Sequence[Placed], options: ExportOptions, report: Report) -> dict[str, Any]:
        """Return `{"messages": [...]}`, a value of the attribute gen_ai.input.messages."""
        found = []
        for placed in conversation:
            parts = [write_part(block) for block in placed.envelope["content"]]
            for at, block in enumerate(placed.envelope["content"]):
                if "raw" not in block:
                    continue
                if _stays_here(block, placed.envelope):
                    action = "kept what a provider's own item says, not the item itself: it cannot go back"
                    report.add(
                        "O3", "downgraded", action=action, at=placed, path=placed.part(at)[1], detail=block["type"]
                    )
                elif left := untold(block, parts[at]):
                    action = "what only a provider's own form of a part says was left out"
                    report.add("O3", "dropped", action=action, at=placed, path=placed.part(at)[1], detail=left)
            _tell_unknown_keys(placed, report)
            message = write_message(placed.envelope, parts)
            if not is_everyday(message):
                tell = partial(
                    report.add, "O3", "downgraded", action="made values plain that JSON cannot hold", at=placed
                )
                message = plain_or_told(message, tell)
            found.append(message)
        return {"messages": found}

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read messages, or the attributes of a span: instructions, input and output messages, also as JSON text."""
        problems = Problems(NAME)
        found: list[MessageEnvelope] = []
        natives = [*messages(payload, problems)]
        for path, message in natives:
            found += read_message(message, path, options, problems)
        problems.raise_if_any()
        _tell_nameless(found, report)
        invalid = any(block["type"] == "invalid_tool_call" for envelope in found for block in envelope["content"])
        if invalid and not any(marks_invalid(message) for _, message in natives):
            tell_invalid(found, report)
        return found

    def recognises(self, payload: Any) -> float:
        """Messages of typed parts with `content` or `arguments`, or attributes by their names."""
        if isinstance(payload, Mapping) and any(key in payload for key in LISTS[:3]):
            return 0.95
        messages = payload.get("messages") if isinstance(payload, Mapping) else payload
        if not isinstance(messages, list) or not messages or not all(isinstance(one, Mapping) for one in messages):
            return 0.0
        parts = [part for one in messages if isinstance(one.get("parts"), list) for part in one["parts"]]
        return 0.9 if parts and all(is_part(part) or _is_withheld(part) for part in parts) else 0.0

    def lint(self, payload: Any, options: ExportOptions) -> list[Finding]:
        """Check messages against the published schema."""
        return lint_otel(payload)


def _tell_unknown_keys(placed: Placed, report: Report) -> None:
    """Tell of keys that a message came with, go back with it, and are none of the conventions (O4)."""
    extras = placed.envelope.get("extras")
    own = extras.get(NAME) if extras else None
    for key in own if isinstance(own, Mapping) else ():
        if "." not in key and key != "finish_reason":
            action = "kept a key that the conventions do not know"
            report.add("O4", "unresolved", action=action, at=placed, path=key)


def _is_withheld(part: Any) -> bool:
    """True for a part that instrumentation wrote without its content."""
    return isinstance(part, Mapping) and part.keys() == {"type"} and str(part["type"]) in READERS


def _tell_nameless(envelopes: Sequence[MessageEnvelope], report: Report) -> None:
    """Tell of calls without the name that they need (O3)."""
    for index, envelope in enumerate(envelopes):
        for at, block in enumerate(envelope["content"]):
            if block["type"] in _NAMED and not block.get("name"):
                placed = Placed(envelope, index)
                report.add(
                    "O3", "unresolved", action="kept a call without a name", at=placed, path=f"content[{at}].name"
                )


_NAMED: Final = ("tool_call", "invalid_tool_call", "server_tool_call")


def _stays_here(block: Block, envelope: MessageEnvelope) -> bool:
    """True for items that go back to their provider only as they came, which a message here does not hold."""
    origin = block.get("origin") or envelope.get("origin") or {}
    hosted = block["type"] in ("server_tool_call", "server_tool_result") and origin.get("api") == RESPONSES
    return hosted or (block["type"] == "non_standard" and "provider" in origin)
