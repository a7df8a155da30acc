"""OpenAI Chat Completions, both directions, for OpenAI and the hosts that speak it.

Owns the dialect's tables. Hosts are described in `chat_hosts.py`; messages are read by `chat_read.py`, written by
`chat_write.py`, checked by `lint/openai_chat.py`.

Source: openai 3.57 types and OpenAPI; rules C1 to C13, H1 to H4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..envelope.model import MessageEnvelope, Origin
from .arguments import tell_repeated
from .base import DeclaredLoss, ExportOptions, Field, Finding, ImportOptions, MediaRule, ReasoningRule, Rule, Target
from .chat_hosts import CHAT_NAME, HOSTS, SPEAKER, host_of
from .chat_read import API, NAME, READERS, ROLES, first_choice, read_message
from .chat_write import ChatWriter
from .lint.openai_chat import RULES, lint_messages
from .models import narrow_media
from .problems import Problems, history_list
from .report import Placed, Report
from .type_words import words_of_others

KNOWN_PARTS: Final = frozenset(READERS) | words_of_others(NAME)
"""Types of parts that are none of an unknown type, though they could not be read."""
CONCERN_RULES: Final[Mapping[str, str]] = {
    "dangling_call": "C1",
    "orphan_result": "C2",
    "duplicate_result": "C3",
    "late_result": "C1",
    "call_id": "C7",
    "repeated_call_id": "C6",
    "result_name": "C10",
    "message_keys": "C5",
    "broken_text": "C5",
    "tool_name": "C8",
    "message_name": "C10",
    "role": "C13",
    "empty_message": "C5",
    "reasoning": "H2",
    "reasoning_required": "H1",
    "refusal": "C12",
    "invalid_arguments": "C9",
    "server_tools": "C13",
    "non_standard": "C13",
    "media": "C13",
    "tool_media": "C11",
    "tool_status": "C11",
    "mid_system": "H3",
    "first_role": "H3",
    "last_role": "H3",
    "alternation": "H3",
    "tools": "H4",
}
_LISTS: Final = ("messages", "choices")


class OpenAIChat:
    """The dialect; see the module docstring."""

    name = NAME
    title = "OpenAI Chat Completions messages"
    providers = tuple(provider for host in HOSTS.values() for provider in host.providers)
    profiles = tuple(HOSTS)
    writes = True
    RULES: tuple[Rule, ...] = RULES
    FIELD_MAP: tuple[Field, ...] = (
        Field(neutral="role system, user, assistant, tool", native="role", note="role_detail keeps developer"),
        Field(neutral="text", native="content", note="a plain text, or text parts"),
        Field(
            neutral="reasoning",
            native="reasoning_content, reasoning, reasoning_details",
            note="the host's own field, to the host it came from",
        ),
        Field(neutral="refusal", native="refusal"),
        Field(neutral="tool_call", native="tool_calls[].function", note="arguments as the provider spelled them"),
        Field(neutral="invalid_tool_call", native="tool_calls[].function", note="where the host takes invalid JSON"),
        Field(neutral="role tool, tool_call_id", native="role tool, tool_call_id"),
        Field(neutral="image", native="image_url"),
        Field(neutral="audio", native="input_audio; audio.id in assistant messages"),
        Field(neutral="video", native="video_url", note="Fireworks, Moonshot, vLLM, OpenRouter"),
        Field(neutral="file", native="file"),
        Field(neutral="name", native="name"),
    )
    LOSSES: tuple[DeclaredLoss, ...] = (
        DeclaredLoss(rule="C5", kind="dropped", when="a key of the source that the host does not know"),
        DeclaredLoss(rule="C9", kind="downgraded", when="arguments that hold bytes or other values unknown to JSON"),
        DeclaredLoss(rule="C10", kind="dropped", when="a speaker's name where the host knows none"),
        DeclaredLoss(
            rule="C12",
            kind="dropped",
            when="citations, what a part or call says beside its content; keys that the API does not know",
        ),
        DeclaredLoss(rule="C12", kind="merged", when="text parts where the host takes one text; several refusals"),
        DeclaredLoss(rule="C12", kind="moved", when="a refusal part beside other parts goes into the field refusal"),
        DeclaredLoss(rule="C13", kind="downgraded", when="role developer where the host knows system only"),
    )

    def target(self, options: ExportOptions) -> Target:
        """Describe what a host takes."""
        host = host_of(options.profile)
        media: dict[tuple[str, str], MediaRule] = {("user", kind): rule for kind, rule in host.media.items()}
        if "audio" in host.keys:
            media[("assistant", "audio")] = MediaRule(sources=frozenset({"file_id"}))
        replay: Any = {"": "never", "reasoning_details": "same-model"}.get(host.reasoning, "same-provider")
        return Target(
            dialect=NAME,
            providers=frozenset(host.providers),
            api=API,
            model=options.model_name,
            rules=CONCERN_RULES,
            system="leading" if host.alternates else "anywhere",
            mid_system="user" if host.alternates else "keep",
            starts_with_user=host.alternates,
            alternates=host.alternates,
            ends_with_user=host.alternates,
            call_id=host.call_id,
            unique_call_ids="step" if host.step_ids else "request",
            tools=host.tools,
            tool_name=CHAT_NAME,
            result_names=host.tool_names,
            tells_result_names=not host.tool_names,
            message_name=SPEAKER if "name" in host.keys else None,
            tool_status=False,
            invalid_arguments=not host.strict_arguments,
            text_arguments=True,
            plain_arguments=True,
            media=narrow_media(media, options.model),
            tool_media="user",
            reasoning=ReasoningRule(replay=replay, required_with_calls=host.requires_reasoning),
            server_tools="never",
            refusal=host.refusal and not options.integration,
            non_standard="same-api",
            known_parts=KNOWN_PARTS,
        )

    def render(self, conversation: Sequence[Placed], options: ExportOptions, report: Report) -> dict[str, Any]:
        """Return `{"messages": [...]}` for `client.chat.completions.create`."""
        writer = ChatWriter(host_of(options.profile), report)
        return {"messages": [writer.message(placed) for placed in conversation]}

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read a list of messages, a request with `messages`, or a response with `choices` (its first choice)."""
        problems = Problems(NAME)
        natives, root = history_list(payload, _LISTS, problems)
        origin = _origin(payload, natives, options)
        if root == "choices":
            natives = first_choice(natives, report)
        envelopes = [
            read_message(native, f"{root}[{at}]", origin=origin, problems=problems) for at, native in enumerate(natives)
        ]
        problems.raise_if_any()
        found = [envelope for envelope in envelopes if envelope is not None]
        tell_repeated(found, report)
        return found

    def recognises(self, payload: Any) -> float:
        """Recognise messages with a role of Chat Completions and none of its neighbours' marks."""
        natives = payload if isinstance(payload, list) else None
        if isinstance(payload, Mapping):
            if payload.get("object") == "chat.completion":
                return 1.0
            natives = payload.get("messages")
        if not isinstance(natives, list) or not natives or not all(isinstance(native, Mapping) for native in natives):
            return 0.0
        if not all(isinstance(native.get("role"), str) and native["role"] in ROLES for native in natives):
            return 0.0
        if any("parts" in native for native in natives):
            return 0.0
        return max((_mark(native) for native in natives), default=0.0) if not _foreign(natives) else 0.0

    def lint(self, payload: Any, options: ExportOptions) -> list[Finding]:
        """Check messages against the rules of the host."""
        natives = payload.get("messages") if isinstance(payload, Mapping) else payload
        if not isinstance(natives, (list, tuple)):
            return [Finding(rule="C5", path="messages", message="is not a list")]
        return lint_messages(natives, host_of(options.profile), complete=not options.for_next_turn)


def _origin(payload: Any, natives: Sequence[Any], options: ImportOptions) -> Origin:
    """Return who wrote a payload: the profile's host, else the one that its messages look like."""
    model = options.model or (payload.get("model") if isinstance(payload, Mapping) else None)
    profile = options.profile if options.profile in HOSTS else _guess(str(model or ""), natives)
    origin: Origin = {"provider": HOSTS[profile].providers[0] if profile else "unknown", "api": API}
    if isinstance(model, str):
        origin["model"] = model
    if isinstance(payload, Mapping) and isinstance(payload.get("id"), str):
        origin["response_id"] = payload["id"]
    if options.account:
        origin["account"] = options.account
    return origin


def _guess(model: str, natives: Sequence[Any]) -> str | None:
    """Guess the host by its marks; None if reasoning shows that it is not OpenAI, but not who it is."""
    keys = {key for native in natives if isinstance(native, Mapping) for key in native}
    if "reasoning_details" in keys:
        return "openrouter"
    for word, profile in (("deepseek", "deepseek"), ("kimi", "moonshot"), ("accounts/fireworks", "fireworks")):
        if word in model.lower():
            return profile
    return None if keys & {"reasoning", "reasoning_content"} else "openai"


def _mark(native: Mapping[str, Any]) -> float:
    """Say how surely one message is of Chat Completions."""
    if "tool_calls" in native or native["role"] in ("tool", "developer", "function") or "tool_call_id" in native:
        return 0.9
    return 0.7 if native["role"] == "system" or native.get("content") is None else 0.5


def _foreign(natives: Sequence[Mapping[str, Any]]) -> bool:
    """True if blocks are there that only other dialects have."""
    kinds = {
        str(part.get("type"))
        for native in natives
        if isinstance(native.get("content"), list)
        for part in native["content"]
        if isinstance(part, Mapping)
    }
    return bool(kinds - {"text", "image_url", "input_audio", "file", "video_url", "audio_url", "refusal"})
