"""Messages in memory: a fingerprint that tells whether one has changed, and copies that share nothing mutable.

Both exist for speed only: a message that is known by its fingerprint is not serialized again, and a message that was
decoded once is copied instead of decoded again. Both are exact. The fingerprint is what LangGraph's own encoder makes
of the message's fields but its id, so messages with one fingerprint read back alike; it declines (None) whatever that
encoder cannot take natively.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import repeat
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
from pydantic import BaseModel

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
_TEXT_OR_NONE: Final = frozenset({str, type(None)})
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
_new = object.__new__
# A slot's own setter takes half the time of `object.__setattr__`.
_set_fields = BaseModel.__dict__["__dict__"].__set__
_set_fields_set = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_set_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
_set_private = BaseModel.__dict__["__pydantic_private__"].__set__


_LIGHT_BLOCKS: Final = frozenset(
    {"text", "tool_use", "tool_call", "thinking", "reasoning", "redacted_thinking", "text-plain", "refusal"}
)


def is_heavy(message: BaseMessage) -> bool:
    """Tell whether a message may hold media, so that its fields are too long to be compared whole at every step."""
    content = message.content
    if type(content) is not list:
        return isinstance(content, str) and len(content) > HEAVY_TEXT
    return any(type(block) is dict and not _is_light(block) for block in content)


def _is_light(block: dict[Any, Any]) -> bool:
    kind = block.get("type")
    return type(kind) is str and kind in _LIGHT_BLOCKS and type(block.get("text", "")) is str


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
        name.update(hole.ref if hole.data is None else sha256_of(hole))
    return name.digest()


def sha256_of(hole: Any) -> bytes:
    """Digest the bytes of a media hole, once per object."""
    digest: bytes = hole.sha256()
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


@dataclass(frozen=True, slots=True)
class _Shape:
    """What many messages have in common; kept once, so that it stays in the processor's cache while many are copied."""

    kind: type[BaseMessage]
    fields_set: frozenset[str]
    empty: tuple[tuple[str, type], ...]
    """Fields that hold an empty dict or list."""


_shape = lru_cache(maxsize=1024)(_Shape)


class Prototype:
    """A decoded standard message to make copies of, none of which shares anything mutable with it or another."""

    __slots__ = ("fields", "packed", "shape", "trees")

    def __init__(self, kind: type[BaseMessage], fields: dict[str, Any], fields_set: Iterable[str]) -> None:
        self.fields = dict(fields)
        self.packed: list[tuple[str, bytes]] = []
        self.trees: list[tuple[str, Any]] = []
        empty = []
        for name, value in fields.items():
            if type(value) in (dict, list) and not value:
                empty.append((name, type(value)))
            elif type(value) not in _ATOMS:
                self._sort(name, value)
        self.shape = _shape(kind, frozenset(fields_set), tuple(empty))

    @classmethod
    def of(cls, message: BaseMessage) -> Prototype:
        """Make the prototype of a message, which may be changed afterwards."""
        return cls(type(message), message.__dict__, message.__pydantic_fields_set__)

    def _sort(self, name: str, value: Any) -> None:
        packed = _packed_exactly(value)
        if packed is not None:
            self.packed.append((name, packed))
        else:
            self.trees.append((name, copy_tree(value)))

    @staticmethod
    def fits(message: Any) -> bool:
        """Tell whether copies of a message are all there is to it."""
        return type(message) in STANDARD and not message.__pydantic_extra__

    def copy(self, message_id: str | None) -> BaseMessage:
        """Make a copy under an id."""
        return copy_all([self], [message_id])[0]

    def plain_fields(self, message_id: str | None) -> dict[str, Any] | None:
        """Return the fields that a copy under an id would have; None where they are not all plain values."""
        if self.trees:
            return None
        fields = self.fields.copy()
        for name, kind in self.shape.empty:
            fields[name] = kind()
        self._fill(fields)
        fields["id"] = message_id
        return fields

    def _fill(self, fields: dict[str, Any]) -> None:
        """Replace the containers in copied fields by copies of their own."""
        for name, packed in self.packed:
            fields[name] = ormsgpack.unpackb(packed)
        for name, value in self.trees:
            fields[name] = copy_tree(value)


_FORESEEN: Final[dict[type, tuple[str, tuple[str, ...]]]] = {
    kind: (kind.model_fields["type"].default, tuple(kind.model_fields))
    for kind in (AIMessage, HumanMessage, SystemMessage, ToolMessage)
}
FORESEEN_CLASSES: Final = {(kind.__module__, kind.__name__): kind for kind in _FORESEEN}
"""The type and the fields, in order, of messages that are read back as they were."""
_CALL: Final = ("name", "args", "id", "type")
_USAGE: Final = ("input_tokens", "output_tokens", "total_tokens")


def foreseen(message: BaseMessage) -> Prototype | None:
    """Make the prototype that reading a message back would give, where that is certain; None for other messages."""
    return None if message.__pydantic_extra__ else foreseen_of(type(message), message.__dict__)


def foreseen_of(kind: type[BaseMessage], fields: dict[str, Any]) -> Prototype | None:
    """Make the prototype of the message that LangChain's constructor makes of these fields, where it changes none."""
    type_, names = _FORESEEN.get(kind, (None, ()))
    if tuple(fields) != names or fields["type"] != type_ or not _stays(fields):
        return None
    try:
        ormsgpack.packb(fields)
    except TypeError:  # half of a surrogate pair, or an integer of more than 64 bits
        return None
    return Prototype(kind, fields, names)


def _stays(fields: dict[str, Any]) -> bool:
    usage = fields.get("usage_metadata")
    return (
        type(fields["content"]) is type(fields["type"]) is type(fields.get("status", "")) is str
        and type(fields["additional_kwargs"]) is type(fields["response_metadata"]) is dict
        and _is_plain(fields["additional_kwargs"])
        and _is_plain(fields["response_metadata"])
        and "tool_calls" not in fields["additional_kwargs"]
        and type(fields["name"]) in _TEXT_OR_NONE
        and type(fields["id"]) in _TEXT_OR_NONE
        and _calls_stay(fields.get("tool_calls", []))
        and type(fields.get("invalid_tool_calls", [])) is list
        and not fields.get("invalid_tool_calls")
        and (usage is None or _usage_stays(usage))
        and type(fields.get("tool_call_id", "")) is str
        and fields.get("artifact") is None
        and fields.get("status", "success") in ("success", "error")
    )


def _usage_stays(usage: Any) -> bool:
    return type(usage) is dict and tuple(usage) == _USAGE and all(type(count) is int for count in usage.values())


def _calls_stay(calls: Any) -> bool:
    return type(calls) is list and all(
        type(call) is dict
        and tuple(call) == _CALL
        and type(call["name"]) is str
        and type(call["args"]) is dict
        and _is_plain(call["args"])
        and type(call["id"]) in _TEXT_OR_NONE
        and type(call["type"]) is str
        and call["type"] == "tool_call"
        for call in calls
    )


def copy_all(prototypes: Sequence[Prototype], ids: Sequence[str | None]) -> list[BaseMessage]:
    """Make a copy of each prototype under the id at its place.

    Each attribute is set for all messages before the next one: this is what most of the time of reading a long thread
    goes into, and short loops wait for memory less than one long one.
    """
    shapes = [prototype.shape for prototype in prototypes]
    twins: list[BaseMessage] = [_new(shape.kind) for shape in shapes]
    copied = [prototype.fields.copy() for prototype in prototypes]
    for prototype, fields, shape, message_id in zip(prototypes, copied, shapes, ids, strict=True):
        for name, kind in shape.empty:
            fields[name] = kind()
        if prototype.packed or prototype.trees:
            prototype._fill(fields)
        fields["id"] = message_id
    _for_each(_set_fields, twins, copied)
    _for_each(_set_fields_set, twins, [set(shape.fields_set) for shape in shapes])
    _for_each(_set_extra, twins, [{} for _ in twins])
    _for_each(_set_private, twins, repeat(None))
    return twins


def _for_each(function: Callable[..., None], *arguments: Iterable[Any]) -> None:
    """Call a function once for each of the arguments side by side."""
    deque(map(function, *arguments), maxlen=0)


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


def copy_tree(value: Any) -> Any:
    """Copy a value so that the copy shares nothing mutable with it."""
    kind = type(value)
    if kind is dict:
        return {key: child if type(child) in _ATOMS else copy_tree(child) for key, child in value.items()}
    if kind is list:
        return [child if type(child) in _ATOMS else copy_tree(child) for child in value]
    return value if kind in _ATOMS else copy.deepcopy(value)
