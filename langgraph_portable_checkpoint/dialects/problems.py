"""Checks that every parser shares: a payload's shape, with all problems and their JSON paths collected first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..errors import MalformedHistoryError
from .arguments import BEYOND_64_BITS, INT64

MAX_DEPTH: Final = 200


class Problems:
    """Collects what is wrong with a payload."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.found: list[str] = []

    def add(self, path: str, message: str) -> None:
        """Record one problem at a JSON path."""
        self.found.append(f"{path}: {message}" if path else message)

    def raise_if_any(self) -> None:
        """Raise MalformedHistoryError with all problems, if there are any."""
        if self.found:
            raise MalformedHistoryError(self.dialect, self.found)

    def mapping(self, value: Any, path: str) -> Mapping[str, Any] | None:
        """Return the value if it is a JSON object with text keys, else record that it is none."""
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return value
        self.add(path, f"is {_kind(value)}, not an object")
        return None

    def text(self, value: Any, path: str) -> str | None:
        """Return the value if it is a text, else record that it is none."""
        if isinstance(value, str):
            return value
        self.add(path, f"is {_kind(value)}, not a text")
        return None

    def optional_text(self, value: Any, path: str) -> str | None:
        """Return the value if it is a text or null, else record that it is neither."""
        return None if value is None else self.text(value, path)

    def plain(self, value: Any, path: str) -> bool:
        """Check that a value is made of JSON types and whole numbers of 64 bits, not nested deeper than `MAX_DEPTH`."""
        reason = _not_plain(value, MAX_DEPTH)
        if reason:
            self.add(path, reason)
        return not reason


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__


def _not_plain(value: Any, depth: int) -> str:
    kind = type(value)
    if kind is int:
        return "" if value in INT64 else BEYOND_64_BITS
    if kind is str or value is None or kind is bool or kind is float:
        return ""
    if depth == 0:
        return f"is nested deeper than {MAX_DEPTH}"
    if isinstance(value, dict):
        for key, item in value.items():
            reason = "has a key that is not a text" if not isinstance(key, str) else _not_plain(item, depth - 1)
            if reason:
                return reason
        return ""
    if isinstance(value, (list, tuple)):
        return next((reason for item in value if (reason := _not_plain(item, depth - 1))), "")
    return "" if isinstance(value, (str, int, float)) else f"holds a {kind.__name__}, which is not JSON"


def history_list(payload: Any, keys: Sequence[str], problems: Problems) -> tuple[list[Any], str]:
    """Return the list of a payload that is one, or has it under one of `keys`, with its JSON path.

    Raises:
        MalformedHistoryError: There is no such list.
    """
    if isinstance(payload, (list, tuple)):
        return list(payload), ""
    if isinstance(payload, Mapping):
        for key in keys:
            if isinstance(payload.get(key), (list, tuple)):
                return list(payload[key]), key
    problems.add("", f"is {_kind(payload)}; a list, or an object with {' or '.join(keys)}, was expected")
    raise MalformedHistoryError(problems.dialect, problems.found)
