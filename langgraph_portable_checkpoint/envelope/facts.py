"""What turn logic needs to know of one message, and nothing of its text.

Owns `MessageFact` and its two makers: one from a message envelope, one straight from a LangChain message for the hot
path. Both give the same fact for the same message. Knows nothing of turns, storage or clocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage

from langgraph_portable_checkpoint.envelope.exact import to_envelope
from langgraph_portable_checkpoint.envelope.fields import read_fields
from langgraph_portable_checkpoint.envelope.model import MEDIA_TYPES, MessageEnvelope, Role
from langgraph_portable_checkpoint.envelope.origins import read_origin

SUMMARY_SOURCES: Final = frozenset({"summarization", "summary", "compaction", "compact", "isCompactSummary"})
"""Values of LangChain's `lc_source`, and of an envelope's `extras`, that mark a summary of earlier messages."""

COST_KEYS: Final = ("cost", "total_cost", "cost_usd")


@dataclass(frozen=True, slots=True)
class MediaFact:
    """One media part of a message: where its bytes are named, and how large they are."""

    ref: str | None
    """The digest or sha256 in hex, else the store's ref, the provider's file id or the URL; None for bytes inline."""
    mime_type: str | None
    size_bytes: int | None
    """Decoded size; None where only a URL or a file id is known."""


@dataclass(frozen=True, slots=True)
class MessageFact:
    """The small view of one message that decides turns, statuses and totals."""

    role: Role
    typed_by_user: bool = False
    """True on user messages that no framework wrote; always False for other roles."""
    tool_calls: tuple[str | None, ...] = ()
    """Ids of the client tool calls that need answers. Server tool calls and invalid calls are not among them."""
    tool_call_id: str | None = None
    """Role tool only: the call that this message answers."""
    summary: bool = False
    provider: str | None = None
    model: str | None = None
    usage: Mapping[str, Any] | None = None
    response_id: str | None = None
    media: tuple[MediaFact, ...] = ()
    cost: float | None = None
    created_at: str | None = None

    @property
    def asks_for_tools(self) -> bool:
        """Tell whether this message waits for a tool before the turn can end."""
        return bool(self.tool_calls)


def fact_of_envelope(envelope: MessageEnvelope) -> MessageFact:
    """Return the fact of a message envelope."""
    role = envelope["role"]
    content = envelope["content"]
    origin = envelope.get("origin") or {}
    told = _told_by(envelope)
    usage = envelope.get("usage")
    return MessageFact(
        role=role,
        typed_by_user=role == "user" and envelope.get("typed_by_user", True) and not _source_of(told),
        tool_calls=tuple(block.get("id") for block in content if block["type"] == "tool_call"),
        tool_call_id=envelope.get("tool_call_id"),
        summary=_source_of(told) in SUMMARY_SOURCES or told.get("isCompactSummary") is True,
        provider=origin.get("provider"),
        model=origin.get("model"),
        usage=usage,
        response_id=origin.get("response_id"),
        media=tuple(_media_of_block(block) for block in content if block["type"] in MEDIA_TYPES),
        cost=_cost_of(usage, told),
        created_at=envelope.get("created_at"),
    )


def fact_of_message(message: BaseMessage) -> MessageFact:
    """Return the fact of a LangChain message, without building its envelope where the message is an everyday one.

    Text, and content blocks that are text, thinking or calls known to `.tool_calls`, cost a few microseconds. Other
    messages (media, foreign shapes, unknown classes) are read as an envelope is, but not proven or serialized.
    """
    if not _is_regular(message):
        return fact_of_envelope(cast(MessageEnvelope, to_envelope(message)))
    kind: object = message.type
    role = _ROLES.get(kind) if isinstance(kind, str) else None
    if role is None or not _is_everyday(message):
        reading = read_fields(message.model_dump())
        return fact_of_envelope(cast(MessageEnvelope, {**reading.envelope, "state": reading.state}))
    source = message.additional_kwargs.get("lc_source") if message.additional_kwargs else None
    source = source if isinstance(source, str) else None
    if role == "assistant":
        return _fact_of_answer(message, source)
    return MessageFact(
        role=role,
        typed_by_user=role == "user" and source is None,
        tool_call_id=getattr(message, "tool_call_id", None) if role == "tool" else None,
        summary=source in SUMMARY_SOURCES,
    )


def _fact_of_answer(message: BaseMessage, source: str | None) -> MessageFact:
    metadata = message.response_metadata
    origin = read_origin(metadata) if metadata else {}
    usage = getattr(message, "usage_metadata", None) or None
    calls = getattr(message, "tool_calls", None)
    return MessageFact(
        role="assistant",
        tool_calls=tuple([call["id"] for call in calls]) if calls else (),
        summary=source in SUMMARY_SOURCES,
        provider=origin.get("provider"),
        model=origin.get("model"),
        usage=usage,
        response_id=origin.get("response_id"),
        cost=_cost_of(usage, {"response_metadata": metadata}) if metadata or usage else None,
    )


def _is_regular(message: BaseMessage) -> bool:
    """Tell whether a message's fields are of the types that its class says, as far as is looked at here."""
    fields = message.__dict__
    calls, usage = fields.get("tool_calls", []), fields.get("usage_metadata")
    return (
        isinstance(fields.get("response_metadata"), dict)
        and isinstance(fields.get("additional_kwargs"), dict)
        and (usage is None or isinstance(usage, dict))
        and isinstance(calls, list)
        and all(isinstance(call, dict) and isinstance(call.get("id", 0), (str, type(None))) for call in calls)
    )


def _is_everyday(message: BaseMessage) -> bool:
    """Tell whether the content holds no media, and no call that `.tool_calls` does not name too."""
    content = message.content
    if isinstance(content, str):
        return True
    if not isinstance(content, list):
        return False
    known = [call["id"] for call in getattr(message, "tool_calls", ())]
    return all(_is_plain(block, known) for block in content)


def _is_plain(block: object, known: Sequence[str | None]) -> bool:
    if not isinstance(block, dict):
        return isinstance(block, str)
    kind = block.get("type")
    if not isinstance(kind, str):
        return False
    return kind in _PLAIN_BLOCKS or (kind in _CALL_BLOCKS and block.get(_CALL_BLOCKS[kind]) in known)


_PLAIN_BLOCKS: Final = frozenset({"text", "thinking", "redacted_thinking", "reasoning"})
_CALL_BLOCKS: Final = {"tool_use": "id", "tool_call": "id", "function_call": "call_id"}
"""Where a native content block that is a client tool call keeps the call's id."""

_ROLES: Final[Mapping[str, Role]] = {
    "human": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "SystemMessageChunk": "system",
    "tool": "tool",
    "ToolMessageChunk": "tool",
}


def _told_by(envelope: MessageEnvelope) -> Mapping[str, Any]:
    """Return what the source said beside the neutral part: fields without a neutral place, and the residual state."""
    state = envelope.get("state")
    extras = envelope.get("extras") or {}
    return {**state, **extras} if isinstance(state, Mapping) else extras


def _source_of(told: Mapping[str, Any]) -> str | None:
    kwargs = told.get("additional_kwargs")
    source = kwargs.get("lc_source") if isinstance(kwargs, Mapping) else told.get("lc_source")
    return source if isinstance(source, str) else None


def _cost_of(usage: Mapping[str, Any] | None, extras: Mapping[str, Any]) -> float | None:
    """Return the cost that a message carries, wherever its integration put it (OpenRouter: `token_usage.cost`)."""
    metadata = extras.get("response_metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    for place in (usage, extras, metadata, metadata.get("token_usage"), metadata.get("usage")):
        if isinstance(place, Mapping):
            for key in COST_KEYS:
                cost = place.get(key)
                if isinstance(cost, (int, float)) and not isinstance(cost, bool) and isfinite(cost):
                    return float(cost)
    return None


def _media_of_block(block: Mapping[str, Any]) -> MediaFact:
    """Return the media fact of a neutral block: named by digest, store ref, file id or URL, or still inline."""
    media = block.get("media")
    about: Mapping[str, Any] = {**block, **media} if isinstance(media, Mapping) else block
    mime_type, url = about.get("mime_type"), about.get("url")
    mime_type = mime_type if isinstance(mime_type, str) else None
    if isinstance(url, str) and url[:_SCHEME_CHARS].lstrip()[:5].lower() == "data:":
        head, _, payload = url.lstrip()[5:].partition(",")
        return MediaFact(None, mime_type or head.partition(";")[0] or None, _decoded_size(payload))
    for key in ("sha256", "ref", "file_id", "url"):
        ref = about.get(key)
        if isinstance(ref, (str, bytes)):
            return MediaFact(ref.hex() if isinstance(ref, bytes) else ref, mime_type, _size_of(about))
    return MediaFact(None, mime_type, _decoded_size(about.get("data") or about.get("base64")))


_SCHEME_CHARS: Final = 64
"""So much of a link is looked at for its scheme."""


def _size_of(about: Mapping[str, Any]) -> int | None:
    size = about.get("size_bytes", about.get("size"))
    return size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None


def _decoded_size(data: object) -> int | None:
    if isinstance(data, (bytes, bytearray)):
        return len(data)
    if not isinstance(data, str):
        return None
    return len(data.rstrip("=")) * 3 // 4
