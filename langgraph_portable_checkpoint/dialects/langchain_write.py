"""The first row of writing LangChain messages as JSON: everyday envelopes, without making the message.

Gives what `write_message` and `messages_to_dict` give for a message of one plain text and calls of which no origin is
known, as users, tools and applications write them; None for any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..envelope.model import Block, MessageEnvelope
from .base import text_and_calls
from .plain_values import is_everyday, is_plain

_KEYS: Final = frozenset({"v", "role", "content", "id", "name", "raw_content"})
_TOOL_KEYS: Final = frozenset({"tool_call_id", "status"})
_CALL_KEYS: Final = frozenset({"type", "id", "name", "args"})


def everyday_dict(envelope: MessageEnvelope) -> dict[str, Any] | None:
    """Write an everyday envelope as `{type, data}`, plain JSON; None for any other."""
    role = envelope["role"]
    known = text_and_calls(envelope)
    if known is None or role not in _WRITERS or not _has_known_keys(envelope):
        return None
    text, calls = known
    if text == "" or not is_plain(text) or envelope.get("raw_content", text or "") != (text or ""):
        return None
    return _WRITERS[role](envelope, text or "", calls)


def _has_known_keys(envelope: MessageEnvelope) -> bool:
    """True if reading the message back gives each key of the envelope, so that nothing need stand beside it."""
    keys = _KEYS | _TOOL_KEYS if envelope["role"] == "tool" else _KEYS
    if not envelope.keys() <= keys:
        return False
    return all(_is_text(envelope[key]) for key in ("id", "name") if key in envelope)


def _is_text(value: Any) -> bool:
    return type(value) is str and value.isascii()


def _data(envelope: MessageEnvelope, content: str, kind: str) -> dict[str, Any]:
    return {
        "content": content,
        "additional_kwargs": {},
        "response_metadata": {},
        "type": kind,
        "name": envelope.get("name"),
        "id": envelope.get("id"),
    }


def _said(kind: str) -> Callable[[MessageEnvelope, str, list[Block]], dict[str, Any] | None]:
    def write(envelope: MessageEnvelope, content: str, calls: list[Block]) -> dict[str, Any] | None:
        return None if calls else {"type": kind, "data": _data(envelope, content, kind)}

    return write


def _answer(envelope: MessageEnvelope, content: str, calls: list[Block]) -> dict[str, Any] | None:
    if not all(map(_is_everyday_call, calls)) or len({call["id"] for call in calls}) < len(calls):
        return None
    asked = [{"name": call["name"], "args": call["args"], "id": call["id"], "type": "tool_call"} for call in calls]
    more = {"tool_calls": asked, "invalid_tool_calls": [], "usage_metadata": None}
    return {"type": "ai", "data": {**_data(envelope, content, "ai"), **more}}


def _is_everyday_call(call: Block) -> bool:
    if call.keys() != _CALL_KEYS or type(call["args"]) is not dict:
        return False
    return _is_text(call["id"]) and _is_text(call["name"]) and is_everyday(call["args"])


def _result(envelope: MessageEnvelope, content: str, calls: list[Block]) -> dict[str, Any] | None:
    if calls or not _is_text(envelope.get("tool_call_id")) or envelope.get("status") not in ("success", "error"):
        return None
    more = {"tool_call_id": envelope["tool_call_id"], "artifact": None, "status": envelope["status"]}
    return {"type": "tool", "data": {**_data(envelope, content, "tool"), **more}}


_WRITERS: Final[Mapping[str, Callable[[MessageEnvelope, str, list[Block]], dict[str, Any] | None]]] = {
    "user": _said("human"),
    "system": _said("system"),
    "assistant": _answer,
    "tool": _result,
}
