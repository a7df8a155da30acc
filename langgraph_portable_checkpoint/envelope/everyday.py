"""The first row of reading: everyday messages of LangChain's own classes, straight from their fields.

Shortcuts, each of which gives what the general way (`model_dump`, LangGraph's encoder, `fields.read_fields`) gives, or
None where it cannot tell: `packed_view` for messages that hold nothing but plain values, `read_text` for those of them
whose content is one text and which have nothing in `additional_kwargs`, and `read_said` for those that hold one text,
calls and names alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import ormsgpack
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_portable_checkpoint.envelope.fields import add_facts
from langgraph_portable_checkpoint.envelope.given import is_rewritten, wire_of
from langgraph_portable_checkpoint.envelope.model import ENVELOPE_VERSION, MessageEnvelope
from langgraph_portable_checkpoint.envelope.origins import told_metadata
from langgraph_portable_checkpoint.envelope.overlay import OVERLAY
from langgraph_portable_checkpoint.envelope.parts import read_quickly

EVERYDAY_CLASSES: Final = frozenset({AIMessage, HumanMessage, SystemMessage, ToolMessage})
_STRICT: Final = (
    ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
"""LangGraph's options without the two that change values: keys that are no texts, and lone surrogates, are refused."""
_CALL_KEYS: Final = frozenset({"name", "args", "id", "type"})
_COMMON: Final = {"content", "additional_kwargs", "response_metadata", "type", "name", "id"}
_FIELDS: Final[Mapping[type[BaseMessage], set[str]]] = {
    HumanMessage: _COMMON,
    SystemMessage: _COMMON,
    AIMessage: _COMMON | {"tool_calls", "invalid_tool_calls", "usage_metadata"},
    ToolMessage: _COMMON | {"tool_call_id", "artifact", "status"},
}
_NAMES: Final[Mapping[type[BaseMessage], tuple[str, ...]]] = {
    **dict.fromkeys((HumanMessage, SystemMessage, AIMessage), ("name", "id")),
    ToolMessage: ("name", "tool_call_id", "status", "id"),
}
_MAX_PACKED: Final = 16 * 1024
"""Bytes; to read a longer message anew takes little for its length, and what is kept takes room."""
_SAID_KEYS: Final = frozenset({"v", "role", "content", "name", "tool_call_id", "status"})
_SAID_ROLES: Final = frozenset({"user", "assistant", "system", "tool"})
_TEXT_KEYS: Final = {"type", "text"}
_ROLES: Final = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
_TYPES: Final[Mapping[type[BaseMessage], str]] = {
    kind: kind.model_fields["type"].default for kind, fields in _FIELDS.items() if kind.model_fields.keys() == fields
}
"""The type of each class whose fields are those that are known here."""


def packed_view(message: BaseMessage) -> dict[str, Any] | None:
    """Return a message's fields as plain values that share nothing with it.

    None where it has a class or fields of its own, a value that is not plain, or a text that UTF-8 cannot hold.
    """
    if type(message) not in EVERYDAY_CLASSES or message.__pydantic_extra__:
        return None
    view: dict[str, Any] | None = _packed(message.__dict__)
    return view


def _packed(value: Any) -> Any:
    """Return a copy of a plain value; None of any other."""
    try:
        return ormsgpack.unpackb(ormsgpack.packb(value, option=_STRICT))
    except (ormsgpack.MsgpackEncodeError, ormsgpack.MsgpackDecodeError):
        return None


def read_said(message: BaseMessage) -> dict[str, Any] | None:
    """Read a message that holds one text, calls and names, and nothing else; None for any other."""
    kind = type(message)
    known = _TYPES.get(kind)
    fields = message.__dict__
    content = fields.get("content")
    if known is None or fields.get("type") != known or message.__pydantic_extra__ or type(content) is not str:
        return None
    if not (content.isascii() or _fits_utf8(content)) or not _holds_no_more(kind, fields):
        return None
    blocks: list[dict[str, Any]] = [{"type": "text", "text": content}] if content else []
    if (
        kind is AIMessage
        and fields.get("tool_calls") != []
        and not _add_calls(blocks, _packed(fields.get("tool_calls")))
    ):
        return None
    envelope: dict[str, Any] = {"v": ENVELOPE_VERSION, "role": _ROLES[known], "content": blocks}
    for key in _NAMES[kind]:
        value = fields.get(key)
        if type(value) is str and value.isascii():
            envelope[key] = value
        elif value is not None:
            return None
    envelope["raw_content"] = content
    return envelope


def _holds_no_more(kind: type[BaseMessage], fields: Mapping[str, Any]) -> bool:
    if fields.get("additional_kwargs") != {} or fields.get("response_metadata") != {}:
        return False
    if kind is AIMessage:
        return fields.get("invalid_tool_calls") == [] and fields.get("usage_metadata") is None
    return kind is not ToolMessage or (fields.get("artifact") is None and fields.get("status") in ("success", "error"))


def _fits_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Said:
    """What a message says that holds no more than a text, calls and names, ready to be read again and again."""

    stored: Mapping[str, Any]
    text: str
    calls: bytes

    def envelope(self, message_id: str | None) -> MessageEnvelope:
        """Return the envelope that `read_message` gives for the message; it shares nothing mutable with another."""
        content: list[dict[str, Any]] = [{"type": "text", "text": self.text}] if self.text else []
        if self.calls:
            content += ormsgpack.unpackb(self.calls)
        envelope = {**self.stored, "content": content}
        if message_id is not None:
            envelope["id"] = message_id
        envelope["raw_content"] = self.text
        return cast(MessageEnvelope, envelope)


@dataclass(frozen=True, slots=True)
class Packed:
    """The envelope of a message that says more, ready to be read again and again: unpacking it is a copy."""

    envelope_bytes: bytes

    @classmethod
    def of(cls, envelope: MessageEnvelope) -> Packed | None:
        """Pack an envelope; None where it is long, or holds a value that unpacking would not give back."""
        try:
            packed = ormsgpack.packb({**envelope, "id": None}, option=_STRICT)
        except ormsgpack.MsgpackEncodeError:
            return None
        return cls(packed) if len(packed) <= _MAX_PACKED else None

    def envelope(self, message_id: str | None) -> MessageEnvelope:
        """Return the envelope under an id; it shares nothing mutable with another."""
        envelope: dict[str, Any] = ormsgpack.unpackb(self.envelope_bytes)
        if message_id is None:
            del envelope["id"]
        else:
            envelope["id"] = message_id
        return cast(MessageEnvelope, envelope)


def said_of(stored: Mapping[str, Any]) -> Said | None:
    """Take from a stored envelope what its message says; None where it holds more than that."""
    role = stored.get("role")
    if not _SAID_KEYS.issuperset(stored) or stored.get("v") != ENVELOPE_VERSION or role not in _SAID_ROLES:
        return None
    texts = [block["text"] for block in stored["content"] if block.keys() == _TEXT_KEYS and block["type"] == "text"]
    calls = stored["content"][len(texts) :]
    if len(texts) > 1 or "" in texts or (calls and role != "assistant"):
        return None
    blocks: list[dict[str, Any]] = []
    if calls and not _add_calls(blocks, calls):
        return None
    try:
        packed = ormsgpack.packb(blocks, option=_STRICT) if blocks else b""
    except ormsgpack.MsgpackEncodeError:
        return None
    return Said(stored, texts[0] if texts else "", packed)


def read_text(view: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read a plain view whose content is one text, with calls in `.tool_calls` only; None for any other."""
    content = view.get("content")
    envelope = _headed(view) if type(content) is str else None
    if envelope is None:
        return None
    blocks = envelope["content"]
    if content:
        blocks.append({"type": "text", "text": content})
    calls = view.get("tool_calls")
    if calls and not _add_calls(blocks, calls):
        return None
    return _ended(envelope, view, raw_content=content)


def read_parts(view: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read a plain view whose content is a list of blocks of known makes, with its calls among them; None otherwise."""
    content = view.get("content")
    envelope = _headed(view) if type(content) is list else None
    if envelope is None or type(content) is not list:
        return None
    api, blocks, wire = envelope.get("origin", {}).get("api"), envelope["content"], wire_of(envelope.get("origin"))
    for native in content:
        block = None if is_rewritten(native, wire) else read_quickly(native, api)
        if block is None:
            return None
        blocks.append(block)
    if not _says_all_calls(blocks, view.get("tool_calls")):
        return None
    return _ended(envelope, view, raw_content=None if all("raw" in block for block in blocks) else content)


def _headed(view: Mapping[str, Any]) -> dict[str, Any] | None:
    """Begin the envelope of a plain view, but for its content; None where more than the view's usual fields tell it."""
    role = _ROLES.get(view.get("type", ""))
    if role is None or view.get("additional_kwargs") or view.get("invalid_tool_calls"):
        return None
    envelope: dict[str, Any] = {"v": ENVELOPE_VERSION, "role": role, "content": []}
    add_facts(envelope, view, view.get("response_metadata") or {})
    return envelope


def _ended(envelope: dict[str, Any], view: Mapping[str, Any], *, raw_content: Any) -> dict[str, Any]:
    if type(view.get("id")) is str:
        envelope["id"] = view["id"]
    if raw_content is not None:
        envelope["raw_content"] = raw_content
    metadata = view.get("response_metadata")
    rest = left(told_metadata(envelope, metadata)) if metadata else None
    if rest:
        envelope["extras"] = {"response_metadata": rest}
    return envelope


def _says_all_calls(blocks: list[dict[str, Any]], calls: Any) -> bool:
    """Tell whether blocks hold all that `.tool_calls` does, each once and with the same arguments."""
    if not calls:
        return True
    said = {block.get("id"): block for block in blocks if block["type"] == "tool_call"}
    for call in calls:
        block = said.pop(call["id"], None) if type(call) is dict and type(call.get("id")) is str else None
        if block is None or block["args"] != call.get("args"):
            return False
    return True


def left(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the neutral part does not say of a field; what it does stands as None there."""
    return {key: value for key, value in told.items() if value is not None and key != OVERLAY}


def _add_calls(blocks: list[dict[str, Any]], calls: Any) -> bool:
    """Add calls as blocks; False where one is not as it should be, or two share an id."""
    if type(calls) is not list:
        return False
    for call in calls:
        if type(call) is not dict or call.keys() != _CALL_KEYS or call["type"] != "tool_call":
            return False
        if type(call["name"]) is not str or type(call["id"]) is not str or type(call["args"]) is not dict:
            return False
        blocks.append({"type": "tool_call", **call})
    return len(calls) == 1 or len({call["id"] for call in calls}) == len(calls)
