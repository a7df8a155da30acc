"""Payloads given as text or bytes: JSON, read strictly.

Repeated keys, NaN, too deep nesting and broken text are problems with a position; lone surrogates are mended and told.
What is no single JSON document is left to the dialects of line-delimited JSON.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

from ..errors import MalformedHistoryError
from .report import Report

MAX_CHARS: Final = 512 * 1024 * 1024
_LONE: Final = re.compile("[\ud800-\udfff]")
_ESCAPED: Final = re.compile(r"\\u[dD][89a-fA-F]")


class _Refused(ValueError):
    """A document is JSON by the letter, but not one that can be trusted."""


def read_payload(payload: Any, dialect: str, *, report: Report) -> Any:
    """Return what a JSON text holds; anything that is no text, or is line-delimited JSON, comes back as it is.

    Raises:
        MalformedHistoryError: The text is no UTF-8, is too long, or is a JSON document with a problem.
    """
    if isinstance(payload, (bytes, bytearray, memoryview)):
        payload = _decoded(bytes(payload), dialect)
    if not isinstance(payload, str):
        return payload
    payload = payload.removeprefix("\ufeff")  # a file's mark of its encoding, where it was read without heed to that
    if len(payload) > MAX_CHARS:
        raise MalformedHistoryError(dialect, [f"the text has more than {MAX_CHARS} characters"])
    try:
        value = json.loads(payload, object_pairs_hook=_unique, parse_constant=_refuse)
    except _Refused as error:
        raise MalformedHistoryError(dialect, [str(error)]) from None
    except RecursionError:
        raise MalformedHistoryError(dialect, ["the JSON is nested too deeply"]) from None
    except ValueError as error:
        return _lines_or_raise(payload, dialect, error)
    return _mend(value, report) if _ESCAPED.search(payload) or not payload.isascii() else value


def _decoded(payload: bytes, dialect: str) -> str:
    try:
        return payload.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MalformedHistoryError(dialect, [f"byte {error.start} is not UTF-8"]) from None


def _lines_or_raise(payload: str, dialect: str, error: ValueError) -> str:
    """Return a text whose first line is a JSON document of its own; else the error counts."""
    first = payload.lstrip().partition("\n")[0]
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        where = f"line {error.lineno} column {error.colno}: " if isinstance(error, json.JSONDecodeError) else ""
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise MalformedHistoryError(dialect, [f"{where}{reason}"]) from None
    return payload


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]  # add returns None on purpose
        raise _Refused(f"the key {twice!r} stands twice in one object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise _Refused(f"{constant} is not JSON")


def _mend(value: Any, report: Report) -> Any:
    """Replace lone surrogates, which no provider takes; report once if there were any."""
    mended, count = _mended(value)
    if count:
        report.add("json", "downgraded", action="lone surrogates became U+FFFD", detail=f"{count} texts")
    return mended


def _mended(value: Any) -> tuple[Any, int]:
    if isinstance(value, str):
        clean = _LONE.sub("\ufffd", value)
        return clean, int(clean != value)
    if isinstance(value, list):
        items = [_mended(item) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    if isinstance(value, dict):
        pairs = {_LONE.sub("\ufffd", key): _mended(item) for key, item in value.items()}
        return {key: item for key, (item, _) in pairs.items()}, sum(count for _, count in pairs.values())
    return value, 0
