"""Checkpoints compared by value and type, to say whether a copy is one.

`==` is too kind for that: `1 == True == 1.0`, NaN differs from itself, and two messages may differ in what `==` does
not look at. Both sides are walked; the first place where they part is named. Contents are never shown.
"""

from __future__ import annotations

import dataclasses
import struct
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, time
from enum import Enum
from functools import partial
from typing import Any, Final

import ormsgpack
from langgraph.checkpoint.base import WRITES_IDX_MAP, CheckpointTuple

from ..storage.known import Flat
from ..storage.messages import OPTIONS, STANDARD

_STRICT: Final = (OPTIONS & ~ormsgpack.OPT_REPLACE_SURROGATES) | ormsgpack.OPT_PASSTHROUGH_TUPLE
_PLAIN: Final = (
    ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | (OPTIONS & ~ormsgpack.OPT_REPLACE_SURROGATES & ~ormsgpack.OPT_NON_STR_KEYS)
)
_ATOMS: Final = (str, int, bytes, bytearray, complex, type(None))
_VERDICTS: Final = {"!": "another value", "=": "keys in another order"}
Step = Iterable[tuple[str, Any, Any]]


def difference_of_tuples(copy: CheckpointTuple, source: CheckpointTuple) -> str | None:
    """Say where a copied checkpoint parts from its source; None when it is the same.

    The order of channels, wherever they are listed, the order of metadata keys and the order of the writes of different
    tasks are not compared: no saver promises them. PostgreSQL keeps versions as jsonb, which sorts keys by length.
    """
    found = difference_of_rest(parent_of(copy), copy.checkpoint, copy.metadata, source)
    found = found or difference_of_writes(copy.pending_writes, source)
    return found or _of_channels(copy.checkpoint["channel_values"], source.checkpoint["channel_values"])


def difference_of_rest(
    parent_id: str | None, checkpoint: Mapping[str, Any], metadata: Mapping[str, Any], source: CheckpointTuple
) -> str | None:
    """Compare everything of a checkpoint but its channel values and writes."""
    if parent_id != parent_of(source):
        return "parent: another one"
    copies, sources = _rest(checkpoint, metadata), _rest(source.checkpoint, source.metadata)
    if _same_plain(copies, sources):
        return None
    found = (difference(copies[name], sources[name], name) for name in sources)
    return next((one for one in found if one is not None), None)


def _rest(checkpoint: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, dict[Any, Any]]:
    return {
        "checkpoint": _sorted({**checkpoint, **_UNCOMPARED}),
        "versions": _sorted(checkpoint["channel_versions"]),
        "versions_seen": _sorted({node: _sorted(seen) for node, seen in checkpoint["versions_seen"].items()}),
        "metadata": _sorted(metadata),
    }


def _same_plain(left: Any, right: Any) -> bool:
    """Tell in one comparison whether two plain structures are the same; False when it cannot."""
    try:
        return ormsgpack.packb(left, None, _PLAIN) == ormsgpack.packb(right, None, _PLAIN)
    except TypeError:
        return False


def difference_of_writes(copy: Iterable[tuple[str, str, Any]] | None, source: CheckpointTuple) -> str | None:
    """Compare pending writes, task by task."""
    tasks, meant = by_task(copy), by_task(source.pending_writes)
    for task_id, writes in meant.items():
        if [channel for channel, _ in tasks.get(task_id, ())] != [channel for channel, _ in writes]:
            break
        for (channel, value), (_, original) in zip(tasks[task_id], writes, strict=True):
            if (found := difference_of_values(value, original, channel)) is not None:
                return f"writes: {found}"
    else:
        return None if tasks.keys() == meant.keys() else "writes: of another task"
    return "writes: other ones"


_UNCOMPARED: Final = {"channel_values": None, "channel_versions": None, "versions_seen": None}


def _sorted(values: Mapping[Any, Any]) -> dict[Any, Any]:
    return dict(sorted(values.items()))


def parent_of(found: CheckpointTuple) -> str | None:
    """Return the parent's checkpoint id."""
    return found.parent_config["configurable"].get("checkpoint_id") if found.parent_config else None


def by_task(writes: Iterable[tuple[str, str, Any]] | None) -> dict[str, list[tuple[str, Any]]]:
    """Group pending writes by task, in the order of task ids.

    Special writes (errors, interrupts, resumes) come first: each has its own index, and savers list them anywhere.
    """
    tasks: dict[str, list[tuple[str, Any]]] = {}
    for task_id, channel, value in writes or ():
        tasks.setdefault(task_id, []).append((channel, value))
    return _sorted({task_id: sorted(some, key=_own_index) for task_id, some in tasks.items()})


def _own_index(write: tuple[str, Any]) -> int:
    return WRITES_IDX_MAP.get(write[0], 0)


def _of_channels(copy: Mapping[str, Any], source: Mapping[str, Any]) -> str | None:
    if (found := difference_of_names(copy, source)) is not None:
        return found
    for channel, value in source.items():
        found = difference_of_values(copy[channel], value, channel)
        if found is not None:
            return found
    return None


def difference_of_names(copy: Mapping[str, Any], source: Mapping[str, Any]) -> str | None:
    """Compare which channels have a value."""
    return None if copy.keys() == source.keys() else f"channels: {sorted(copy.keys() ^ source.keys())} on one side only"


def difference_of_values(copy: Any, source: Any, channel: str) -> str | None:
    """Compare the values of a channel; conversations of standard messages in one comparison."""
    if copy is source:
        return None
    flat = flatten(source)
    if flat is not None and flat == flatten(copy):
        return None
    return difference(copy, source, f"channel {channel!r}")


def flatten(value: Any) -> Flat | None:
    """Flatten a conversation of standard messages so that equal bytes mean equal values and types; None for others."""
    if type(value) is not list or not value:
        return None
    kinds = list(map(type, value))
    if not STANDARD.issuperset(kinds) or any(message.__pydantic_extra__ for message in value):
        return None
    try:
        whole = ormsgpack.packb([message.__dict__ for message in value], None, _STRICT)
    except TypeError:
        return None
    return Flat(kinds, whole)


def difference(left: Any, right: Any, path: str) -> str | None:
    """Name the first place where two values differ in value, type or key order; None when they are the same."""
    if type(left) is not type(right):
        return f"{path}: {type(left).__name__} instead of {type(right).__name__}"
    if isinstance(right, _ATOMS) and not isinstance(right, Enum):
        return None if left == right else f"{path}: another value"
    for name, a, b in _steps(left, right):
        if name in _VERDICTS:
            if a != b:
                return f"{path}: {_VERDICTS[name]}"
        elif (found := difference(a, b, path + name)) is not None:
            return found
    return None


def _both(view: Callable[[Any], Any], left: Any, right: Any) -> Step:
    """Compare two values by what a function sees of them."""
    return [("!", view(left), view(right))]


def _steps(left: Any, right: Any) -> Step:
    for kind, walk in _WALKS:
        if isinstance(right, kind):
            return walk(left, right)
    return _of_object(left, right)


def _of_sequence(left: Any, right: Any) -> Step:
    yield "!", len(left), len(right)
    for index, (a, b) in enumerate(zip(left, right, strict=True)):
        yield f"[{index}]", a, b


def _float(value: float) -> bytes:
    return struct.pack("<d", value) if value == value else b"nan"


def _set(values: Iterable[Any]) -> list[tuple[str, str]]:
    return sorted((type(entry).__name__, repr(entry)) for entry in values)


def _moment(value: Any) -> tuple[Any, ...]:
    return value.isoformat(), value.fold, type(value.tzinfo), str(value.tzinfo)


def _array(value: Any) -> tuple[Any, ...]:
    return str(value.dtype), value.shape, value.tobytes(), value.flags.f_contiguous


def _of_dict(left: dict[Any, Any], right: dict[Any, Any]) -> Step:
    keys, meant = ([(type(key), _key(key)) for key in each] for each in (left, right))
    yield ("=" if set(keys) == set(meant) else "!"), keys, meant
    for (_, a), (key, b) in zip(left.items(), right.items(), strict=True):
        yield f"[{key!r:.40}]", a, b


def _key(key: Any) -> Any:
    return repr(key) if isinstance(key, float | tuple) else key


def _of_object(left: Any, right: Any) -> Step:
    if hasattr(right, "dtype") and hasattr(right, "tobytes"):
        return _both(_array, left, right)
    names = _field_names(right)
    if not names:
        return _both(_value, left, right)
    return [(f".{name}", getattr(left, name, None), getattr(right, name, None)) for name in names]


def _field_names(value: Any) -> tuple[str, ...]:
    kind = type(value)
    if hasattr(value, "__pydantic_extra__"):
        return ("__dict__", "__pydantic_extra__", "__pydantic_private__")
    if dataclasses.is_dataclass(value):
        return tuple(each.name for each in dataclasses.fields(value))
    if kind.__module__.startswith(("langgraph.", "langchain")) and hasattr(kind, "__slots__"):
        return tuple(name for name in kind.__slots__ if hasattr(value, name))
    own_eq = _has_own_eq(kind) and not hasattr(value, "__fields_set__")
    return ("__dict__",) if hasattr(value, "__dict__") and not own_eq else ()


def _has_own_eq(kind: type) -> bool:
    return getattr(kind, "__eq__", None) is not object.__eq__


def _value(value: Any) -> Any:
    return (value, str(value)) if _has_own_eq(type(value)) else repr(value)


_WALKS: Final[tuple[tuple[Any, Callable[[Any, Any], Step]], ...]] = (
    (Enum, partial(_both, id)),
    (float, partial(_both, _float)),
    (dict, _of_dict),
    ((list, tuple, deque), _of_sequence),
    ((set, frozenset), partial(_both, _set)),
    ((datetime, time), partial(_both, _moment)),
    (BaseException, partial(_both, repr)),
)
