"""Checks that every parser shares: a payload's shape, with all problems and their JSON paths collected first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, Final

from ..errors import MalformedHistoryError
from .long_integers import with_text_arguments
from .number_limits import BEYOND_64_BITS, BROKEN_KEY, INT64, LEAVES, NOT_FINITE, ODD_KEY, is_whole, made_of_json

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
        if isinstance(value, (dict, Mapping)) and _has_text_keys(value):
            return value
        self.add(path, ODD_KEY if isinstance(value, (dict, Mapping)) else f"is {_kind(value)}, not an object")
        return None

    def plain_mapping(self, value: Any, path: str) -> Mapping[str, Any] | None:
        """Return the value if it is a JSON object that holds nothing but JSON (`plain`), else record what is wrong.

        Arguments of calls that hold an integer beyond 64 bits come back as their JSON text.
        """
        if type(value) is dict and made_of_json(value, MAX_DEPTH):
            return value
        found = self.mapping(value, path)
        found = with_text_arguments(found, self.dialect)
        return found if found is not None and self.plain(found, path) else None

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


def _has_text_keys(value: Mapping[Any, Any]) -> bool:
    for key in value:  # noqa: SIM110 - all() over a generator takes twice as long, for every object of a payload
        if not isinstance(key, str):
            return False
    return True


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__


def _not_plain(value: Any, depth: int) -> str:
    kind = type(value)
    if kind in LEAVES:
        return ""
    if kind is int:
        return "" if value in INT64 else BEYOND_64_BITS
    if kind is float:
        return "" if isfinite(value) else NOT_FINITE
    if depth == 0:
        return f"is nested deeper than {MAX_DEPTH}"
    if isinstance(value, dict):
        if not _has_text_keys(value):
            return ODD_KEY
        if not all(map(is_whole, value)):
            return BROKEN_KEY
        return _not_plain_within(value.values(), depth - 1)
    if isinstance(value, (list, tuple)):
        return _not_plain_within(value, depth - 1)
    return "" if isinstance(value, (str, int, float)) else f"holds a {kind.__name__}, which is not JSON"


def _not_plain_within(values: Iterable[Any], depth: int) -> str:
    for value in values:
        if type(value) not in LEAVES and (reason := _not_plain(value, depth)):
            return reason
    return ""


def history_list(payload: Any, keys: Sequence[str], problems: Problems) -> tuple[list[Any], str]:
    """Return the list of a payload that is one, or has it under one of `keys`, with its JSON path.

    Raises:
        MalformedHistoryError: There is no such list.
    """
    if isinstance(payload, (list, tuple)):
        return list(payload), ""
    if isinstance(payload, (dict, Mapping)):
        for key in keys:
            if isinstance(payload.get(key), (list, tuple)):
                return list(payload[key]), key
    problems.add("", f"is {_kind(payload)}; a list, or an object with {' or '.join(keys)}, was expected")
    raise MalformedHistoryError(problems.dialect, problems.found)
