"""Mistral chat messages, both directions, for every tokenizer version.

The profile is the tokenizer version of the model ("v3", "v11"); without one the payload fits all from v3 on, save for
what came from Mistral itself. Owns the dialect's tables. Messages are read by `mistral_read.py`, written by
`mistral_write.py`, checked by `lint/mistral.py`.

Source: mistral-common 1.13 validators; mistralai 3.7 models; rules M1 to M9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ..envelope.model import MessageEnvelope, Origin
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
from .chat_hosts import IMAGES
from .chat_read import first_choice
from .lint.mistral import ID, RULES, TOOL_NAME, Version, lint_messages
from .mistral_read import API, NAME, READERS, read_message
from .mistral_write import write_messages
from .models import narrow_media
from .problems import Problems, history_list
from .report import Placed, Report
from .type_words import words_of_others

KNOWN_PARTS: Final = frozenset(READERS) | words_of_others(NAME)
"""Types of parts that are none of an unknown type, though they could not be read."""
CONCERN_RULES: Final[Mapping[str, str]] = {
    "dangling_call": "M4",
    "orphan_result": "M4",
    "duplicate_result": "M4",
    "late_result": "M4",
    "call_id": "M1",
    "repeated_call_id": "M1",
    "tool_name": "M7",
    "speaker": "M8",
    "role": "M2",
    "mid_system": "M2",
    "blank_text": "M5",
    "message_keys": "M8",
    "broken_text": "M5",
    "empty_message": "M5",
    "reasoning": "M6",
    "refusal": "M6",
    "invalid_arguments": "M9",
    "server_tools": "M6",
    "non_standard": "M6",
    "media": "M6",
    "tool_media": "M6",
    "tool_status": "M8",
    "text_with_calls": "M5",
    "first_role": "M2",
    "last_role": "M3",
}
PROFILES: Final[Mapping[str, int]] = {f"v{number}": number for number in (1, 2, 3, 7, 11, 13, 15)}
CURRENT: Final = Version(11)
_IMAGE: Final = MediaRule(sources=frozenset({"base64", "url"}), mime_types=IMAGES)
_AUDIO: Final = MediaRule(sources=frozenset({"base64"}), mime_types=(r"audio/.+",))


class Mistral:
    """The dialect; see the module docstring."""

    name = NAME
    title = "Mistral chat messages"
    providers = ("mistral",)
    profiles = tuple(PROFILES)
    writes = True
    RULES: tuple[Rule, ...] = RULES
    FIELD_MAP: tuple[Field, ...] = (
        Field(neutral="role system, user, assistant, tool", native="role"),
        Field(neutral="text", native="content", note="a plain text, or text chunks"),
        Field(neutral="reasoning", native="thinking chunk", note="from v11 on, to the same model family"),
        Field(neutral="tool_call", native="tool_calls[].function"),
        Field(neutral="role tool, tool_call_id, name", native="role tool, tool_call_id, name"),
        Field(neutral="image", native="image_url chunk", note="from v3 on"),
        Field(neutral="audio", native="input_audio chunk", note="from v7 on, where the profile or model says so"),
    )
    LOSSES: tuple[DeclaredLoss, ...] = (
        DeclaredLoss(
            rule="M8", kind="dropped", when="citations, what a part or call says beside its content; unknown keys"
        ),
    )

    def target(self, options: ExportOptions) -> Target:
        """Describe what a tokenizer version takes."""
        version = _version(options)
        return Target(
            dialect=NAME,
            providers=frozenset({"mistral"}),
            api=API,
            model=options.model_name,
            rules=CONCERN_RULES,
            mid_system="after-user",
            starts_with_user=True,
            ends_with_user=True,
            call_id=IdRule(pattern=ID, max_length=9, prefix="", digest_length=9),
            tool_name=IdRule(pattern=TOOL_NAME, max_length=64, prefix="tool_"),
            speakers=False,
            tool_status=False,
            invalid_arguments=False,
            text_arguments=True,
            plain_arguments=True,
            text_with_calls=options.profile is not None and version.content_with_calls,
            own_text_with_calls=not options.integration and (options.profile is None or version.content_with_calls),
            blank_text=False,
            media=narrow_media(_media(version, options), options.model),
            tool_media="user",
            reasoning=ReasoningRule(replay="same-model" if version.takes("assistant", "thinking") else "never"),
            server_tools="never",
            refusal=False,
            non_standard="same-api",
            known_parts=KNOWN_PARTS,
            native_parts=frozenset({"document_url"}),
            own_parts=frozenset(part for part in _OWN_PARTS if version.takes(*part)),
            part_roles={} if version.hosted else {"reference": frozenset[str]()},
        )

    def render(self, conversation: Sequence[Placed], options: ExportOptions, report: Report) -> dict[str, Any]:
        """Return `{"messages": [...]}` for `client.chat.complete`."""
        return {"messages": write_messages(conversation, report)}

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read a list of messages, a request with `messages`, or a response with `choices` (its first choice)."""
        problems = Problems(NAME)
        natives, root = history_list(payload, ("messages", "choices"), problems)
        if root == "choices":
            natives = first_choice(natives, report)
        origin = _origin(payload, options)
        envelopes = [
            read_message(native, f"{root}[{at}]", origin=origin, problems=problems) for at, native in enumerate(natives)
        ]
        problems.raise_if_any()
        found = [envelope for envelope in envelopes if envelope is not None]
        tell_repeated(found, report)
        return found

    def recognises(self, payload: Any) -> float:
        """Recognise thinking chunks, and call ids of nine letters and digits."""
        natives = payload.get("messages") if isinstance(payload, Mapping) else payload
        if not isinstance(natives, list) or not natives or not all(isinstance(native, Mapping) for native in natives):
            return 0.0
        if any(native.get("role") == "assistant" and _thinks(native.get("content")) for native in natives):
            return 0.96
        ids = [native.get("tool_call_id") for native in natives if native.get("role") == "tool"]
        return 0.92 if ids and all(isinstance(one, str) and ID.fullmatch(one) for one in ids) else 0.0

    def lint(self, payload: Any, options: ExportOptions) -> list[Finding]:
        """Check messages against the rules of a tokenizer version; without a profile, of the current one."""
        natives = payload.get("messages") if isinstance(payload, Mapping) else payload
        return lint_messages(natives, _version(options), complete=not options.for_next_turn)


_OWN_PARTS: Final = (
    ("user", "document_url"),
    ("user", "file"),
    ("system", "thinking"),
    ("assistant", "reference"),
)
"""What goes back to Mistral as it came where the version takes it, thinking that a prompt shows (Magistral) too."""


def _version(options: ExportOptions) -> Version:
    return Version(PROFILES[options.profile]) if options.profile is not None else replace(CURRENT, hosted=True)


def _media(version: Version, options: ExportOptions) -> dict[tuple[str, str], MediaRule]:
    hears = "voxtral" in (options.model_name or "").lower()
    if isinstance(options.model, Mapping):
        hears = hears or bool(options.model.get("audio_inputs"))
    table = {("user", "image"): _IMAGE} if version.takes("user", "image_url") else {}
    if hears and version.takes("user", "input_audio"):
        table["user", "audio"] = _AUDIO
    if options.profile is not None and version.takes("tool", "image_url"):
        table["tool", "image"] = _IMAGE
    return table


def _thinks(content: Any) -> bool:
    return isinstance(content, list) and any(
        isinstance(chunk, Mapping) and chunk.get("type") == "thinking" and isinstance(chunk.get("thinking"), list)
        for chunk in content
    )


def _origin(payload: Any, options: ImportOptions) -> Origin:
    origin: Origin = {"provider": "mistral", "api": API}
    model = options.model or (payload.get("model") if isinstance(payload, Mapping) else None)
    if isinstance(model, str):
        origin["model"] = model
    if options.account:
        origin["account"] = options.account
    return origin
