"""What turn logic needs to know of one message, and nothing of its text.

Owns `MessageFact` and its two makers: one from a message envelope, one straight from a LangChain message for the hot
path. Both give the same fact for the same message. Knows nothing of turns, storage or clocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from langchain_core.messages import BaseMessage

from langgraph_portable_checkpoint.envelope.model import MEDIA_TYPES, MessageEnvelope, Role

SUMMARY_SOURCES: Final = frozenset({"summarization", "summary", "compaction", "compact", "isCompactSummary"})
"""Values of LangChain's `lc_source`, and of an envelope's `extras`, that mark a summary of earlier messages."""

COST_KEYS: Final = ("cost", "total_cost", "cost_usd")


@dataclass(frozen=True, slots=True)
class MediaFact:
    """One media part of a message: where its bytes are named, and how large they are."""

    ref: str | None
    """The sha256 in hex, else the store's ref, the provider's file id or the URL; None for bytes still inline."""
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
    extras = envelope.get("extras") or {}
    usage = envelope.get("usage")
    return MessageFact(
        role=role,
        typed_by_user=role == "user" and envelope.get("typed_by_user", True),
        tool_calls=tuple(block.get("id") for block in content if block["type"] == "tool_call"),
        tool_call_id=envelope.get("tool_call_id"),
        summary=_marks_summary(extras),
        provider=origin.get("provider"),
        model=origin.get("model"),
        usage=usage,
        response_id=origin.get("response_id"),
        media=tuple(_media_of_block(block) for block in content if block["type"] in MEDIA_TYPES),
        cost=_cost_of(usage, extras),
        created_at=envelope.get("created_at"),
    )


def fact_of_message(message: BaseMessage) -> MessageFact:
    """Return the fact of a LangChain message without building its envelope.

    Text content costs a few microseconds. Content in blocks is only searched for media parts.
    """
    role = _ROLES.get(message.type) or _role_of_chat(message)
    kwargs = message.additional_kwargs
    if role == "assistant":
        return _fact_of_answer(message, kwargs)
    source = kwargs.get("lc_source") if kwargs else None
    return MessageFact(
        role=role,
        typed_by_user=role == "user" and not isinstance(source, str),
        tool_call_id=getattr(message, "tool_call_id", None) if role == "tool" else None,
        summary=isinstance(source, str) and source in SUMMARY_SOURCES,
        media=_media_of_content(message.content),
    )


def _fact_of_answer(message: BaseMessage, kwargs: Mapping[str, Any]) -> MessageFact:
    metadata = message.response_metadata
    usage = getattr(message, "usage_metadata", None)
    return MessageFact(
        role="assistant",
        tool_calls=tuple(call["id"] for call in getattr(message, "tool_calls", ())),
        summary=bool(kwargs) and kwargs.get("lc_source") in SUMMARY_SOURCES,
        provider=metadata.get("model_provider"),
        model=metadata.get("model_name") or metadata.get("model"),
        usage=usage,
        response_id=metadata.get("id"),
        media=_media_of_content(message.content),
        cost=_cost_of(usage, {"response_metadata": metadata}) if metadata or usage else None,
    )


_ROLES: Final[Mapping[str, Role]] = {
    "human": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "SystemMessageChunk": "system",
    "tool": "tool",
    "ToolMessageChunk": "tool",
    "function": "tool",
    "FunctionMessageChunk": "tool",
}
_CHAT_ROLES: Final[Mapping[str, Role]] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}


def _role_of_chat(message: BaseMessage) -> Role:
    return _CHAT_ROLES.get(getattr(message, "role", ""), "other")


def _marks_summary(extras: Mapping[str, Any]) -> bool:
    kwargs = extras.get("additional_kwargs")
    source = extras.get("lc_source") or (kwargs.get("lc_source") if isinstance(kwargs, Mapping) else None)
    return (isinstance(source, str) and source in SUMMARY_SOURCES) or extras.get("isCompactSummary") is True


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


_MEDIA_BLOCKS: Final = frozenset(
    (
        *MEDIA_TYPES,
        "image_url",
        "input_image",
        "input_audio",
        "input_file",
        "document",
        "media",
        "file_url",
        "video_url",
    )
)


def _media_of_content(content: str | Sequence[Any]) -> tuple[MediaFact, ...]:
    if isinstance(content, str):
        return ()
    return tuple(
        _media_of_block(block) for block in content if isinstance(block, dict) and block.get("type") in _MEDIA_BLOCKS
    )


def _media_of_block(block: Mapping[str, Any]) -> MediaFact:
    """Return the media fact of a neutral block, or of a provider's own media block."""
    nested = next((v for k in _NESTED if isinstance(v := block.get(k), (Mapping, str)) and v), None)
    if isinstance(nested, Mapping):
        block = {**nested, **{k: v for k, v in block.items() if k not in _NESTED}}
    elif nested is not None:
        block = {"url": nested, **{k: v for k, v in block.items() if k not in _NESTED}}
    mime_type = block.get("mime_type") or block.get("media_type")
    url = block.get("url") or block.get("image_url") or block.get("file_data")
    if isinstance(url, str) and url.startswith("data:"):
        head, _, payload = url[5:].partition(",")
        return MediaFact(None, mime_type or head.partition(";")[0] or None, _decoded_size(payload))
    for key in ("sha256", "ref", "file_id", "url"):
        if isinstance(ref := block.get(key), str):
            return MediaFact(ref, mime_type, _size_or_none(block.get("size_bytes")))
    data = next((block[k] for k in ("base64", "data", "file_data") if k in block), None)
    return MediaFact(None, mime_type, _decoded_size(data))


_NESTED: Final = ("media", "image_url", "source", "input_audio", "file", "video_url", "file_url")


def _size_or_none(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _decoded_size(data: object) -> int | None:
    if isinstance(data, (bytes, bytearray)):
        return len(data)
    if not isinstance(data, str):
        return None
    return len(data) * 3 // 4 - (data.count("=", -2) if data else 0)
