"""LangChain's message classes as facts: their roles, field orders and the values a field has when nobody set it.

Source: langchain_core.messages, langchain-core 1.8. Any other class works too; it only costs some bytes of `state`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_CORE: Final = "langchain_core.messages."
_BASE: Final = ("content", "additional_kwargs", "response_metadata", "type", "name", "id")
_AI: Final = (*_BASE, "tool_calls", "invalid_tool_calls", "usage_metadata")
_TOOL: Final = (*_BASE, "tool_call_id", "artifact", "status")

MODULES: Final[dict[str, str]] = {
    "HumanMessage": _CORE + "human",
    "HumanMessageChunk": _CORE + "human",
    "AIMessage": _CORE + "ai",
    "AIMessageChunk": _CORE + "ai",
    "SystemMessage": _CORE + "system",
    "SystemMessageChunk": _CORE + "system",
    "ToolMessage": _CORE + "tool",
    "ToolMessageChunk": _CORE + "tool",
    "FunctionMessage": _CORE + "function",
    "FunctionMessageChunk": _CORE + "function",
    "ChatMessage": _CORE + "chat",
    "ChatMessageChunk": _CORE + "chat",
    "RemoveMessage": _CORE + "modifier",
}
"""The classes that `state` names by their bare name."""

FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "AIMessage": _AI,
    "AIMessageChunk": (*_AI, "tool_call_chunks", "chunk_position"),
    "ToolMessage": _TOOL,
    "ToolMessageChunk": _TOOL,
    "ChatMessage": (*_BASE, "role"),
    "ChatMessageChunk": (*_BASE, "role"),
}
"""Dump order of the classes that have more than the base fields."""

TYPES: Final[dict[str, str]] = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
    "RemoveMessage": "remove",
}
"""The `type` field per class; a chunk class has its own name there."""

STANDARD_CLASS: Final[dict[str, str]] = {
    "user": "HumanMessage",
    "assistant": "AIMessage",
    "system": "SystemMessage",
    "tool": "ToolMessage",
}
"""The class that a role implies; `state` names any other one."""

_ROLES: Final[dict[str, str]] = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
    "HumanMessageChunk": "user",
    "AIMessageChunk": "assistant",
    "SystemMessageChunk": "system",
    "ToolMessageChunk": "tool",
    "FunctionMessageChunk": "tool",
}
_CHAT_ROLES: Final[dict[str, str]] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
}


def role_of(fields: Mapping[str, Any]) -> tuple[str, str | None]:
    """Tell the neutral role of a dumped message, and the native role where it says more."""
    kind = fields.get("type")
    if kind in ("chat", "ChatMessageChunk") and isinstance(fields.get("role"), str):
        return _CHAT_ROLES.get(fields["role"], "other"), fields["role"]
    role = _ROLES.get(kind, "other") if isinstance(kind, str) else "other"
    if role == "other" and isinstance(kind, str):
        return role, kind
    return role, "function" if kind in ("function", "FunctionMessageChunk") else None


def fields_of(class_name: str, role: str) -> tuple[str, ...]:
    """Tell the dump order of a class; an unknown class is taken for a child of the one its role implies."""
    if class_name not in MODULES:
        class_name = STANDARD_CLASS.get(role, "")
    return FIELDS.get(class_name, _BASE)


def type_of(class_name: str, role: str) -> str:
    """Tell the `type` field that a class has."""
    if class_name not in MODULES:
        class_name = STANDARD_CLASS.get(role, class_name)
    return TYPES.get(class_name, class_name)
