"""The first row of reading: everyday messages of LangChain's own classes, straight from their fields.

Two shortcuts, each of which gives what the general way (`model_dump`, LangGraph's encoder, `fields.read_fields`) gives,
or None where it cannot tell: `packed_view` for messages that hold nothing but plain values, and `read_text` for those
among them whose content is one text and which have nothing in `additional_kwargs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import ormsgpack
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_portable_checkpoint.envelope.fields import add_facts
from langgraph_portable_checkpoint.envelope.model import ENVELOPE_VERSION
from langgraph_portable_checkpoint.envelope.origins import told_metadata
from langgraph_portable_checkpoint.envelope.overlay import OVERLAY

_CLASSES: Final = frozenset({AIMessage, HumanMessage, SystemMessage, ToolMessage})
_STRICT: Final = (
    ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
"""LangGraph's options without the two that change values: keys that are no texts, and lone surrogates, are refused."""
_CALL_KEYS: Final = frozenset({"name", "args", "id", "type"})
_ROLES: Final = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}


def packed_view(message: BaseMessage) -> dict[str, Any] | None:
    """Return a message's fields as plain values that share nothing with it.

    None where it has a class or fields of its own, a value that is not plain, or a text that UTF-8 cannot hold.
    """
    if type(message) not in _CLASSES or message.__pydantic_extra__:
        return None
    try:
        view: dict[str, Any] = ormsgpack.unpackb(ormsgpack.packb(message.__dict__, option=_STRICT))
    except (ormsgpack.MsgpackEncodeError, ormsgpack.MsgpackDecodeError):
        return None
    return view


def read_text(view: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read a plain view whose content is one text, with calls in `.tool_calls` only; None for any other."""
    content, role = view.get("content"), _ROLES.get(view.get("type", ""))
    if type(content) is not str or role is None or view.get("additional_kwargs") or view.get("invalid_tool_calls"):
        return None
    blocks: list[dict[str, Any]] = [{"type": "text", "text": content}] if content else []
    calls = view.get("tool_calls")
    if calls and not _add_calls(blocks, calls):
        return None
    envelope: dict[str, Any] = {"v": ENVELOPE_VERSION, "role": role, "content": blocks}
    metadata = view.get("response_metadata") or {}
    add_facts(envelope, view, metadata)
    if type(view.get("id")) is str:
        envelope["id"] = view["id"]
    envelope["raw_content"] = content
    rest = left(told_metadata(envelope, metadata)) if metadata else None
    if rest:
        envelope["extras"] = {"response_metadata": rest}
    return envelope


def left(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the neutral part does not say of a field; what it does stands as None there."""
    return {key: value for key, value in told.items() if value is not None and key != OVERLAY}


def _add_calls(blocks: list[dict[str, Any]], calls: Any) -> bool:
    """Add calls as blocks; False where one is not as it should be, or two share an id."""
    for call in calls:
        if type(call) is not dict or call.keys() != _CALL_KEYS or call["type"] != "tool_call":
            return False
        if type(call["name"]) is not str or type(call["id"]) is not str or type(call["args"]) is not dict:
            return False
        blocks.append({"type": "tool_call", **call})
    return len(calls) == 1 or len({call["id"] for call in calls}) == len(calls)
