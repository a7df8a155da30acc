"""Messages in memory: a fingerprint that tells whether one has changed, and copies that share nothing mutable.

Both exist for speed only: a message that is known by its fingerprint is not serialized again, and a message that was
decoded once is copied instead of decoded again. Both are exact. The fingerprint is what LangGraph's own encoder makes of
the message's fields but its id, so messages with one fingerprint read back alike; it declines (None) whatever that
encoder cannot take natively.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable
from hashlib import blake2b
from typing import Any, Final

import ormsgpack
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)

STANDARD: Final = frozenset(
    {
        AIMessage,
        AIMessageChunk,
        ChatMessage,
        ChatMessageChunk,
        FunctionMessage,
        FunctionMessageChunk,
        HumanMessage,
        HumanMessageChunk,
        RemoveMessage,
        SystemMessage,
        SystemMessageChunk,
        ToolMessage,
        ToolMessageChunk,
    }
)
"""Classes whose instances hold nothing but their fields."""

_ATOMS: Final = frozenset({str, int, float, bool, type(None), bytes})
_LONGEST_KEY: Final = 4096
# The options of LangGraph's own encoder.
_OPTIONS: Final = (
    ormsgpack.OPT_NON_STR_KEYS
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
    | ormsgpack.OPT_REPLACE_SURROGATES
)
_set = object.__setattr__


def fingerprint(message: BaseMessage) -> Hashable | None:
    """Name a standard message by class and all fields but its id; None when it cannot be told apart for sure."""
    kind = type(message)
    if kind not in STANDARD:
        return None
    fields = message.__dict__.copy()
    fields["id"] = None
    if message.__pydantic_extra__:
        fields["\0extra"] = message.__pydantic_extra__
    return _fingerprint(kind, fields)


def _fingerprint(kind: type, value: Any) -> Hashable | None:
    try:
        flat = ormsgpack.packb(value, None, _OPTIONS)
    except TypeError:
        return None
    if len(flat) > _LONGEST_KEY:
        return kind, blake2b(flat, digest_size=32).digest()
    return kind, flat


def _copy_tree(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: child if type(child) in _ATOMS else _copy_tree(child) for key, child in value.items()}
    if kind is list:
        return [child if type(child) in _ATOMS else _copy_tree(child) for child in value]
    return value if kind in _ATOMS else copy.deepcopy(value)


def copy_message(message: BaseMessage, message_id: str | None) -> BaseMessage:
    """Copy a standard message under an id; the copy shares only immutable values with it."""
    kind = type(message)
    twin = kind.__new__(kind)
    fields = message.__dict__.copy()
    for name, value in fields.items():
        if type(value) not in _ATOMS:
            fields[name] = _copy_tree(value)
    fields["id"] = message_id
    _set(twin, "__dict__", fields)
    _set(twin, "__pydantic_fields_set__", message.__pydantic_fields_set__.copy())
    extra = message.__pydantic_extra__
    _set(twin, "__pydantic_extra__", _copy_tree(extra) if extra else extra if extra is None else {})
    _set(twin, "__pydantic_private__", None)
    return twin
