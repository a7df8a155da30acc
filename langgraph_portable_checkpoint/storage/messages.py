"""Messages in memory: a fingerprint that tells whether one has changed, and copies that share nothing mutable.

Both exist for speed only: a message that is known by its fingerprint is not serialized again, and a message that was
decoded once is copied instead of decoded again. Both are exact. The fingerprint is what LangGraph's own encoder makes
of the message's fields but its id, so messages with one fingerprint read back alike; it declines (None) whatever that
encoder cannot take natively.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from hashlib import blake2b, sha256
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
# The options of LangGraph's own encoder.
OPTIONS: Final = (
    ormsgpack.OPT_NON_STR_KEYS
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
    | ormsgpack.OPT_REPLACE_SURROGATES
)
HEAVY_TEXT: Final = 64 * 1024
_set = object.__setattr__


_LIGHT_BLOCKS: Final = frozenset(
    {"text", "tool_use", "tool_call", "thinking", "reasoning", "redacted_thinking", "text-plain", "refusal"}
)


def is_heavy(message: BaseMessage) -> bool:
    """Tell whether a message may hold media, so that its fields are too long to be compared whole at every step."""
    content = message.content
    if type(content) is not list:
        return len(content) > HEAVY_TEXT
    return any(type(block) is dict and block.get("type") not in _LIGHT_BLOCKS for block in content)


def name_of_taken(message: BaseMessage, fields: Any, holes: Sequence[Any]) -> bytes | None:
    """Name a standard message by its fields without media and the digests of these; None as `fingerprint`."""
    if type(message) not in STANDARD or message.__pydantic_extra__:
        return None
    try:
        flat = ormsgpack.packb({**fields, "id": None}, None, OPTIONS)
    except TypeError:
        return None
    name = blake2b(flat, digest_size=16, person=type(message).__name__.encode()[:16])
    for hole in holes:
        if hole.kind != "media":
            return None
        name.update(repr((hole.path, hole.encoding, hole.prefix)).encode())
        name.update(sha256_of(hole))
    return name.digest()


def sha256_of(hole: Any) -> bytes:
    """Digest the bytes of a media hole, once per object."""
    if hole.leaf is None:
        return sha256(hole.data).digest()
    digest: bytes = hole.leaf.digest(b"", lambda data, _key: sha256(data).digest())
    return digest


def fingerprint(message: BaseMessage) -> bytes | None:
    """Name a standard message by class and all fields but its id; None when it cannot be told for sure."""
    if type(message) not in STANDARD or message.__pydantic_extra__:
        return None
    fields = message.__dict__.copy()
    fields["id"] = None
    try:
        flat = ormsgpack.packb(fields, None, OPTIONS)
    except TypeError:
        return None
    return blake2b(flat, digest_size=16, person=type(message).__name__.encode()[:16]).digest()


class Prototype:
    """A decoded standard message to make copies of, none of which shares anything mutable with it or another."""

    __slots__ = ("_empty", "_fields", "_fields_set", "_kind", "_packed", "_trees")

    def __init__(self, message: BaseMessage) -> None:
        self._kind = type(message)
        self._fields = dict(message.__dict__)
        self._fields_set = message.__pydantic_fields_set__.copy()
        self._empty: list[tuple[str, type]] = []
        self._packed: list[tuple[str, bytes]] = []
        self._trees: list[tuple[str, Any]] = []
        for name, value in message.__dict__.items():
            if type(value) not in _ATOMS:
                self._sort(name, value)

    def _sort(self, name: str, value: Any) -> None:
        packed = _packed_exactly(value)
        if type(value) in (dict, list) and not value:
            self._empty.append((name, type(value)))
        elif packed is not None:
            self._packed.append((name, packed))
        else:
            self._trees.append((name, _copy_tree(value)))

    @staticmethod
    def fits(message: Any) -> bool:
        """Tell whether copies of a message are all there is to it."""
        return type(message) in STANDARD and not message.__pydantic_extra__

    def copy(self, message_id: str | None) -> BaseMessage:
        """Make a copy under an id."""
        twin = self._kind.__new__(self._kind)
        fields = self._fields.copy()
        for name, kind in self._empty:
            fields[name] = kind()
        for name, packed in self._packed:
            fields[name] = ormsgpack.unpackb(packed)
        for name, value in self._trees:
            fields[name] = _copy_tree(value)
        fields["id"] = message_id
        _set(twin, "__dict__", fields)
        _set(twin, "__pydantic_fields_set__", self._fields_set.copy())
        _set(twin, "__pydantic_extra__", {})
        _set(twin, "__pydantic_private__", None)
        return twin


def _packed_exactly(value: Any) -> bytes | None:
    """Pack a container if unpacking gives it back by value and type: the fastest deep copy there is."""
    if not _is_plain(value):
        return None
    try:
        return ormsgpack.packb(value)
    except TypeError:
        return None


def _is_plain(value: Any) -> bool:
    kind = type(value)
    if kind is dict:
        return all(type(key) is str and _is_plain(child) for key, child in value.items())
    if kind is list:
        return all(_is_plain(child) for child in value)
    return kind in _ATOMS


def _copy_tree(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: child if type(child) in _ATOMS else _copy_tree(child) for key, child in value.items()}
    if kind is list:
        return [child if type(child) in _ATOMS else _copy_tree(child) for child in value]
    return value if kind in _ATOMS else copy.deepcopy(value)
