"""Messages in memory: a fingerprint that tells whether one has changed, and copies that share nothing mutable.

Both exist for speed only: a message that is known by its fingerprint is not serialized again, and a message that was
decoded once is copied instead of decoded again. Both are exact. The fingerprint is what LangGraph's own encoder makes of
the message's fields but its id, so messages with one fingerprint read back alike; it declines (None) whatever that
encoder cannot take natively.
"""

from __future__ import annotations

import copy
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
LONGEST_NAME: Final = 4096
# The options of LangGraph's own encoder.
OPTIONS: Final = (
    ormsgpack.OPT_NON_STR_KEYS
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
    | ormsgpack.OPT_REPLACE_SURROGATES
)
_set = object.__setattr__


def fingerprint(message: BaseMessage) -> bytes | None:
    """Name a standard message, within its class, by all fields but its id; None when it cannot be told for sure."""
    fields = message.__dict__.copy()
    fields["id"] = None
    return flatten(message, fields)


def flatten(message: BaseMessage, fields: dict[str, Any]) -> bytes | None:
    """Name a standard message, within its class, by the given fields."""
    if message.__pydantic_extra__:
        return None
    try:
        flat = ormsgpack.packb(fields, None, OPTIONS)
    except TypeError:
        return None
    return flat if len(flat) <= LONGEST_NAME else shortened(flat)


def shortened(flat: bytes) -> bytes:
    """Stand in for a name that is too long to keep."""
    return blake2b(flat, digest_size=32).digest()


class Prototype:
    """A decoded standard message to make copies of, none of which shares anything mutable with it or another."""

    __slots__ = ("_fields", "_fields_set", "_kind", "_mutable")

    def __init__(self, message: BaseMessage) -> None:
        self._kind = type(message)
        self._fields = {name: _copy_tree(value) for name, value in message.__dict__.items()}
        self._mutable = [(name, value) for name, value in self._fields.items() if type(value) not in _ATOMS]
        self._fields_set = message.__pydantic_fields_set__.copy()

    @staticmethod
    def fits(message: Any) -> bool:
        """Tell whether copies of a message are all there is to it."""
        return type(message) in STANDARD and not message.__pydantic_extra__

    def copy(self, message_id: str | None) -> BaseMessage:
        """Make a copy under an id."""
        twin = self._kind.__new__(self._kind)
        fields = self._fields.copy()
        for name, value in self._mutable:
            fields[name] = _copy_tree(value) if value else type(value)()
        fields["id"] = message_id
        _set(twin, "__dict__", fields)
        _set(twin, "__pydantic_fields_set__", self._fields_set.copy())
        _set(twin, "__pydantic_extra__", {})
        _set(twin, "__pydantic_private__", None)
        return twin


def _copy_tree(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: child if type(child) in _ATOMS else _copy_tree(child) for key, child in value.items()}
    if kind is list:
        return [child if type(child) in _ATOMS else _copy_tree(child) for child in value]
    return value if kind in _ATOMS else copy.deepcopy(value)
