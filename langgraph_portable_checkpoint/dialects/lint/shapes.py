"""Shapes of objects as tables: which keys an object may hold, which it must hold, and what some of them are.

Knows no provider and no rule. A key that may be left out may also be null; a demanded one may be null only where the
table says nothing of its value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Words = frozenset[str]
Value = Words | type | tuple[type, ...]
"""What a value must be: one of some words, or of a type."""


@dataclass(frozen=True)
class Shape:
    """What an object may hold."""

    keys: frozenset[str]
    required: frozenset[str] = frozenset()
    values: Mapping[str, Value] = field(default_factory=dict)

    def misfits(self, value: Any, *, open_keys: bool = False) -> Iterator[tuple[str, str]]:
        """Yield each breach as the path to add, such as ".detail", and what is wrong there; no path for the whole.

        Args:
            value: What should be an object of this shape.
            open_keys: Keys that the table does not know may stand in it.
        """
        if not isinstance(value, Mapping):
            yield "", "is no object"
            return
        for key in [] if open_keys else unknown_keys(value, self.keys):
            yield f".{key}", "is no known key"
        for key in sorted(self.required - value.keys()):
            yield f".{key}", "is missing"
        for key, wanted in self.values.items():
            if key in value and not (value[key] is None and key not in self.required) and not _is(value[key], wanted):
                yield f".{key}", f"is not {_named(wanted)}"


def shape(keys: str, **values: Value) -> Shape:
    """Make a shape of its keys, those demanded with an exclamation mark.

    >>> list(shape("type! data! name", data=str).misfits({"type": "x", "data": 5, "nam": "y"}))
    [('.nam', 'is no known key'), ('.data', 'is not a text')]
    """
    names = keys.split()
    required = frozenset(name.rstrip("!") for name in names if name.endswith("!"))
    return Shape(frozenset(name.rstrip("!") for name in names), required, values)


def words(text: str) -> Words:
    """Return the words of a table's cell."""
    return frozenset(text.split())


def unknown_keys(value: Mapping[Any, Any], known: Collection[str]) -> list[str]:
    """Return the keys that are not known, as texts, in order."""
    return sorted(str(key) for key in value if key not in known)


def _is(value: Any, wanted: Value) -> bool:
    if isinstance(wanted, frozenset):
        return isinstance(value, str) and value in wanted
    return isinstance(value, wanted)


_NAMES: Final[Mapping[Any, str]] = {str: "a text", bool: "true or false", list: "a list", Mapping: "an object"}


def _named(wanted: Value) -> str:
    if isinstance(wanted, frozenset):
        return " or ".join(sorted(wanted))
    kinds = wanted if isinstance(wanted, tuple) else (wanted,)
    return " or ".join(_NAMES[kind] for kind in kinds if kind in _NAMES)
