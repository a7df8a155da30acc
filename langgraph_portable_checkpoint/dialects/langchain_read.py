"""The first rows of reading LangChain messages as JSON: everyday messages, without making the message.

Give what `messages_from_dict` and `envelope.read` give for a message as `messages_to_dict` writes it: of one text and
calls and with nothing in its metadata, or of parts and with what providers put beside them; None for any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from ..envelope.everyday import read_text
from ..envelope.model import MessageEnvelope
from ..envelope.read import read_fields_of
from ..envelope.typed import is_sum
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
_NAMES: Final = ("name", "id", "tool_call_id")
_CLASSES: Final[Mapping[str, type[BaseMessage]]] = {
    "human": HumanMessage,
    "system": SystemMessage,
    "ai": AIMessage,
    "tool": ToolMessage,
}


def everyday_envelope(native: Mapping[str, Any]) -> MessageEnvelope | None:
    """Read an everyday message of JSON types; None for any other."""
    data = _everyday_data(native)
    if data is None or not is_plain(data.get("content")):
        return None
    if type(data.get("content")) is not str:
        return _of_parts(data)
    for key, nothing in _EMPTY.items():
        if key in data and data[key] != nothing:
            return None
    return cast("MessageEnvelope | None", read_text(data))


def _everyday_data(native: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the fields of a message that has names and calls as LangChain writes them; None of any other."""
    if native.keys() != _FORM:
        return None
    kind, data = native["type"], native["data"]
    if type(kind) is not str or type(data) is not dict or kind not in _KEYS or data.get("type") != kind:
        return None
    if not data.keys() <= _KEYS[kind] or not all(map(_is_name_or_none, map(data.get, _NAMES))):
        return None
    calls = data.get("tool_calls", [])
    if type(calls) is not list or not all(map(_is_everyday_call, calls)):
        return None
    if kind == "tool" and (data.get("tool_call_id") is None or data.get("status") not in ("success", "error")):
        return None
    return data


def _of_parts(data: dict[str, Any]) -> MessageEnvelope | None:
    """Read a message of parts, all of whose fields are there and hold what LangChain keeps as it is."""
    kind = data["type"]
    content, usage = data.get("content"), data.get("usage_metadata")
    if type(content) is not list or not content or data.keys() != _KEYS[kind]:
        return None
    if not all(type(part) is dict and type(part.get("type")) is str for part in content):
        return None
    if data["additional_kwargs"] != {} or data.get("invalid_tool_calls", []) != []:
        return None
    if type(data["response_metadata"]) is not dict or not (usage is None or is_sum(usage)):
        return None
    rest = [data["response_metadata"], data.get("artifact")]
    return read_fields_of(_CLASSES[kind], data) if is_plain(rest) else None


def _is_name_or_none(value: Any) -> bool:
    return value is None or _is_name(value)


def _is_name(value: Any) -> bool:
    return type(value) is str and value.isascii()


def _is_everyday_call(call: Any) -> bool:
    if type(call) is not dict or [*call] != _CALL_KEYS:
        return False
    return _is_name(call["id"]) and _is_name(call["name"]) and is_everyday(call["args"])
