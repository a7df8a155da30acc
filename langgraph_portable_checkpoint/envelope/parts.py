"""One native block as readers see it: the neutral block with annotations and `raw`, and without traces of streaming.

Owns what is done to a block after `entries.read_block`, and a shortcut past both: where the kinds of a native block
look at its keys and types alone, what they make of one block tells where the values go of every other of that make.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from langgraph_portable_checkpoint.envelope.citations import with_annotations
from langgraph_portable_checkpoint.envelope.entries import Entry, read_block, spelled_arguments
from langgraph_portable_checkpoint.envelope.natives import KINDS, kinds_of
from langgraph_portable_checkpoint.envelope.natives.apis import is_native

_STREAMING: Final = frozenset({"index", "partial_json"})
_SDK_NULLS: Final = ("caller", "toolset_name")
_WHOLE_KINDS: Final = {"tool_use": "tool_use", "rs": "rs", "rs2": "rs"}
"""The kind of the block that a merged stream stands for."""
_LOOKED_INTO: Final = frozenset({"annotations", "citations"})
"""Keys that stay out of a block where their values are empty."""
_MAX_MAKES: Final = 4096
_MAX_KEYS: Final = 16


def finished(block: dict[str, Any], native: Any, entry: Entry | None, *, api: str | None) -> dict[str, Any]:
    """Finish a block that was read.

    Args:
        block: The neutral block; it is not changed.
        native: The block that it was read from; None where it stands in fields of the message.
        entry: The native block's entry.
        api: Our word for the wire API of the message.
    """
    streamed = isinstance(native, dict) and not _STREAMING.isdisjoint(native)
    if streamed and "extras" in block:
        rest = {key: value for key, value in block["extras"].items() if key not in _STREAMING}
        block = {key: value for key, value in block.items() if key != "extras"} | ({"extras": rest} if rest else {})
    if streamed and block["type"] != "non_standard":
        block = {key: value for key, value in block.items() if key != "index"}
    block = with_annotations(block)
    if isinstance(entry, str) and block["type"] == "tool_call":
        block = {**block, **spelled_arguments(block, entry)}
    raw = _raw(native, entry, api=api, block=block)
    return block if raw is None else {**block, "raw": raw}


def _raw(native: Any, entry: Entry | None, *, api: str | None, block: Mapping[str, Any]) -> Any:
    """The native block where its API takes it; a merged stream's is cleaned of what only streaming put there."""
    if native is None or entry is None or isinstance(entry, bytes):
        return None
    if isinstance(entry, str) and ".streamed" in entry:
        whole = _WHOLE_KINDS.get(entry.split(".")[0])
        native = KINDS[whole].write(block) if whole and block["type"] != "invalid_tool_call" else None
    elif not is_native(entry, native, api):
        return None
    if not isinstance(native, dict):
        return None
    # merging a stream, or dumping an SDK's response object, put more into a block than the API gave
    return {k: value for k, value in native.items() if k != "index" and (value is not None or k not in _SDK_NULLS)}


class _Make(NamedTuple):
    """Where values go of native blocks that have the same keys, in the same order, with values of the same types."""

    keys: Mapping[str, str | None]
    """The neutral block's keys in their order, with the values that are always the same."""
    moves: tuple[tuple[str, str], ...]
    extras: tuple[tuple[str, str], ...]
    raw: bool

    def block(self, native: dict[str, Any]) -> dict[str, Any]:
        block: dict[str, Any] = {**self.keys}
        for key, to in self.moves:
            block[to] = native[key]
        if self.extras:
            block["extras"] = {to: native[key] for key, to in self.extras}
        if self.raw:
            block["raw"] = {**native}
        return block


_makes: dict[tuple[Any, ...], _Make | None] = {}


def read_quickly(native: Any, api: str | None) -> dict[str, Any] | None:
    """Read and finish a plain native block at once; None where its make does not tell what it becomes.

    The block's values are shared with the native one, as `entries.read_block` shares them.
    """
    if type(native) is not dict or len(native) > _MAX_KEYS:
        return None
    sign = (api, native.get("type"), *native, *map(type, native.values()))
    try:
        make = _makes[sign]
    except KeyError:
        make = _remember(sign, _make_of(native, api))
    except TypeError:  # a type that is no text, nor anything else that can be looked up
        return None
    return None if make is None else make.block(native)


def _remember(sign: tuple[Any, ...], make: _Make | None) -> _Make | None:
    if len(_makes) >= _MAX_MAKES:
        _makes.clear()
    _makes[sign] = make
    return make


def _make_of(native: dict[str, Any], api: str | None) -> _Make | None:
    if not _LOOKED_INTO.isdisjoint(native) or not isinstance(native.get("type"), str):
        return None
    marks = {key: _mark(value, number) for number, (key, value) in enumerate(native.items())} | {"type": native["type"]}
    if None in marks.values():
        return None
    block, entry = read_block(marks)
    if not isinstance(entry, str) or not _looks_at_keys_alone(marks, entry):
        return None
    return _make_from(finished(block, marks, entry, api=api), marks)


def _mark(value: Any, number: int) -> Any:
    """Return a value of the same type that is like no other of its block; None where there is none."""
    marks: Mapping[type, Any] = {str: f"\0{number}", dict: {str(number): 0}, list: [number], bytes: b"\0%d" % number}
    return marks.get(type(value))


def _looks_at_keys_alone(native: dict[str, Any], entry: str) -> bool:
    """Tell whether the kind that read a block looks at keys and types alone, and each that was asked before it."""
    name = entry.partition("/")[0]
    for kind in kinds_of(native):
        if kind.needs <= native.keys() and not kind.by_keys:
            return False
        if kind.name == name:
            return True
    return False


def _make_from(block: dict[str, Any], marks: Mapping[str, Any]) -> _Make | None:
    """Find the marks in the finished block; None where it holds anything else than them and constant texts."""
    names = {id(mark): key for key, mark in marks.items() if key != "type"}
    raw, extras = block.pop("raw", None), block.get("extras", {})
    moves = {to: names[id(value)] for to, value in block.items() if id(value) in names}
    placed = {to: names[id(value)] for to, value in extras.items() if id(value) in names}
    constants = {to: value for to, value in block.items() if to not in moves and to != "extras"}
    if raw not in (None, marks) or len(placed) < len(extras) or not all(type(v) is str for v in constants.values()):
        return None
    return _Make(
        keys={to: constants.get(to) for to in block},
        moves=tuple((key, to) for to, key in moves.items()),
        extras=tuple((key, to) for to, key in placed.items()),
        raw=raw is not None,
    )
