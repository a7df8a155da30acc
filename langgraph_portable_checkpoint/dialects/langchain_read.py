"""The first row of reading LangChain messages as JSON: everyday messages, without making the message.

Gives what `messages_from_dict` and `envelope.read` give for a message as `messages_to_dict` writes it, of one text and
calls and with nothing in its metadata; None for any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from ..envelope.everyday import read_text
from ..envelope.model import MessageEnvelope
from .plain_values import is_everyday, is_plain

_FORM: Final = frozenset({"type", "data"})
_SAID: Final = frozenset({"content", "type", "name", "id", "additional_kwargs", "response_metadata"})
_KEYS: Final[Mapping[Any, frozenset[str]]] = {
    "human": _SAID,
    "system": _SAID,
    "ai": _SAID | {"tool_calls", "invalid_tool_calls", "usage_metadata"},
    "tool": _SAID | {"tool_call_id", "artifact", "status"},
}
_CALL_KEYS: Final = ["name", "args", "id", "type"]
"""In the order in which LangChain keeps them."""
_EMPTY: Final[Mapping[str, Any]] = {
    "additional_kwargs": {},
    "response_metadata": {},
    "invalid_tool_calls": [],
    "usage_metadata": None,
    "artifact": None,
}
"""Fields of an everyday message that hold nothing."""


def everyday_envelope(native: Mapping[str, Any]) -> MessageEnvelope | None:
    """Read an everyday message of JSON types; None for any other."""
    if native.keys() != _FORM:
        return None
    kind, data = native["type"], native["data"]
    if type(kind) is not str or type(data) is not dict or kind not in _KEYS or data.get("type") != kind:
        return None
    if not data.keys() <= _KEYS[kind] or not _holds_texts(data):
        return None
    for key, nothing in _EMPTY.items():
        if key in data and data[key] != nothing:
            return None
    calls = data.get("tool_calls", [])
    if type(calls) is not list or not all(map(_is_everyday_call, calls)):
        return None
    if kind == "tool" and (data.get("tool_call_id") is None or data.get("status") not in ("success", "error")):
        return None
    return cast("MessageEnvelope | None", read_text(data))


def _holds_texts(data: Mapping[str, Any]) -> bool:
    """True if content and names are texts that UTF-8 can hold."""
    content = data.get("content")
    if type(content) is not str or not is_plain(content):
        return False
    for key in ("name", "id", "tool_call_id"):  # noqa: SIM110 - all() over a generator takes twice as long, per message
        if data.get(key) is not None and not _is_name(data[key]):
            return False
    return True


def _is_name(value: Any) -> bool:
    return type(value) is str and value.isascii()


def _is_everyday_call(call: Any) -> bool:
    if type(call) is not dict or [*call] != _CALL_KEYS:
        return False
    return _is_name(call["id"]) and _is_name(call["name"]) and is_everyday(call["args"])
