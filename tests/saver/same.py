"""Deep equality by value and type: what "equals InMemorySaver" means in these tests.

`==` is too kind for that: `1 == True == 1.0`, a list subclass equals a list, `0.0 == -0.0`, NaN differs from itself,
two messages with swapped key order are equal. `difference` walks both values and names the first place where they part.
"""

from __future__ import annotations

import dataclasses
import struct
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime, time
from enum import Enum
from typing import Any

import numpy as np
from langgraph.checkpoint.base import CheckpointTuple
from pydantic import BaseModel

Step = Iterable[tuple[str, Any, Any]]


def assert_same(actual: object, expected: object) -> None:
    """Fail with the path of the first difference in value, type or key order."""
    found = difference(actual, expected)
    assert found is None, found


def difference(actual: Any, expected: Any, path: str = "$") -> str | None:
    """Return where and how the two values differ, or None when they are the same."""
    if type(actual) is not type(expected):
        return f"{path}: {type(actual).__name__} {actual!r:.200} instead of {type(expected).__name__} {expected!r:.200}"
    for kind, walk in WALKS:
        if isinstance(expected, kind):
            return _first(walk(actual, expected), path)
    if _fields(expected) is not None:
        return _first(_of_fields(actual, expected), path)
    return None if actual == expected else f"{path}: {actual!r:.200} instead of {expected!r:.200}"


def _first(steps: Step, path: str) -> str | None:
    for name, left, right in steps:
        if name == "!":
            if left != right:
                return f"{path}: {left!r:.200} instead of {right!r:.200}"
        elif (found := difference(left, right, path + name)) is not None:
            return found
    return None


def _exactly(view: Callable[[Any], Any]) -> Callable[[Any, Any], Step]:
    return lambda left, right: [("!", view(left), view(right))]


def _of_model(left: BaseModel, right: BaseModel) -> Step:
    yield ".__dict__", left.__dict__, right.__dict__
    yield ".__pydantic_extra__", left.__pydantic_extra__, right.__pydantic_extra__
    yield ".__pydantic_private__", left.__pydantic_private__, right.__pydantic_private__


def _of_dict(left: dict[Any, Any], right: dict[Any, Any]) -> Step:
    yield "!", [(type(key), key) for key in left], [(type(key), key) for key in right]
    for (left_key, left_value), (right_key, right_value) in zip(left.items(), right.items(), strict=True):
        yield f".key({right_key!r})", left_key, right_key
        yield f"[{right_key!r}]", left_value, right_value


def _of_sequence(left: Any, right: Any) -> Step:
    yield "!", len(left), len(right)
    for index, (left_entry, right_entry) in enumerate(zip(left, right, strict=True)):
        yield f"[{index}]", left_entry, right_entry


def _of_set(left: Any, right: Any) -> Step:
    yield ".entries", *(sorted((type(entry).__name__, repr(entry)) for entry in side) for side in (left, right))


def _of_fields(left: Any, right: Any) -> Step:
    for name in _fields(right) or ():
        yield f".{name}", getattr(left, name, None), getattr(right, name, None)


def _fields(value: object) -> tuple[str, ...] | None:
    if dataclasses.is_dataclass(value):
        return tuple(field.name for field in dataclasses.fields(value))
    slots = tuple(name for name in getattr(type(value), "__slots__", ()) if hasattr(value, name))
    return slots or (("__dict__",) if vars_of(value) else None)


def vars_of(value: object) -> dict[str, Any] | None:
    """Return the attributes of an instance of a user's class, None for everything built in."""
    return vars(value) if hasattr(value, "__dict__") and type(value).__module__ not in ("builtins", "re") else None


def _array(value: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    return value.dtype.str, value.shape, value.tobytes(), value.flags.f_contiguous


WALKS: tuple[tuple[Any, Callable[[Any, Any], Step]], ...] = (
    (BaseModel, _of_model),
    (Enum, _exactly(id)),
    (dict, _of_dict),
    ((list, tuple, deque), _of_sequence),
    ((set, frozenset), _of_set),
    (float, _exactly(lambda value: struct.pack("<d", value) if value == value else "nan")),
    (np.ndarray, _exactly(_array)),
    ((datetime, time), _exactly(lambda value: (value.isoformat(), value.fold, type(value.tzinfo), str(value.tzinfo)))),
    ((str, int, bytes, bytearray, complex), _exactly(lambda value: value)),
    (BaseException, _exactly(repr)),
)


def comparable(found: CheckpointTuple | None) -> dict[str, Any] | None:
    """Return what must be equal between two savers: everything but key order of the outermost dicts."""
    if found is None:
        return None
    return {
        "config": _place(found.config),
        "checkpoint": {
            **{key: found.checkpoint.get(key) for key in ("v", "id", "ts", "updated_channels", "pending_sends")},
            **{
                key: dict(sorted(found.checkpoint[key].items()))  # type: ignore[literal-required]  # a fixed list of keys
                for key in ("channel_values", "channel_versions", "versions_seen")
            },
        },
        "metadata": dict(sorted(found.metadata.items())),
        "parent": _place(found.parent_config) if found.parent_config else None,
        "writes": found.pending_writes,
    }


def _place(config: Any) -> dict[str, Any]:
    configurable = config["configurable"]
    return {
        "thread_id": configurable["thread_id"],
        "checkpoint_ns": configurable.get("checkpoint_ns", ""),
        "checkpoint_id": configurable["checkpoint_id"],
    }
