"""Payloads given as text or bytes: JSON, read strictly. Objects of SDKs in a payload are spelled as JSON.

Repeated keys, NaN, too deep nesting and broken text are problems with a position; lone surrogates are mended and told.
What is no single JSON document is left to the dialects of line-delimited JSON.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any, Final, NoReturn

from ..errors import MalformedHistoryError
from .jsonl import rows
from .report import Report
from .sdk_objects import plain_objects

MAX_CHARS: Final = 512 * 1024 * 1024
_LONE: Final = re.compile("[\ud800-\udfff]")
_FIRST_ROWS: Final = 100
"""Among how many rows of a text that is no document one must be a JSON object for it to be line-delimited JSON."""
_ESCAPED: Final = re.compile(r"\\u[dD][89a-fA-F]")


class _Refused(ValueError):
    """A document is JSON by the letter, but not one that can be trusted."""


def read_payload(payload: Any, dialect: str, *, report: Report) -> Any:
    """Return what a JSON text holds, and what is no text with its SDK objects spelled as JSON.

    Line-delimited JSON comes back as it is.

    Raises:
        MalformedHistoryError: The text is no UTF-8, is too long, or is a JSON document with a problem.
    """
    if isinstance(payload, (bytes, bytearray, memoryview)):
        payload = _decoded(bytes(payload), dialect)
    if not isinstance(payload, str):
        return plain_objects(payload)
    payload = payload.removeprefix("\ufeff")  # a file's mark of its encoding, where it was read without heed to that
    if len(payload) > MAX_CHARS:
        raise MalformedHistoryError(dialect, [f"the text has more than {MAX_CHARS} characters"])
    try:
        value = json.loads(payload, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        if _holds_lines(payload):
            return payload
        raise MalformedHistoryError(dialect, [_reason(error)]) from None
    return _mend(value, report) if _ESCAPED.search(payload) or not payload.isascii() else value


def _decoded(payload: bytes, dialect: str) -> str:
    try:
        return payload.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MalformedHistoryError(dialect, [f"byte {error.start} is not UTF-8"]) from None


def _holds_lines(payload: str) -> bool:
    """Tell line-delimited JSON, some of whose lines may be cut or no JSON, from a document that is broken."""
    first, *more = [row for row in islice(rows(payload.lstrip()), _FIRST_ROWS) if row.strip()] or [""]
    if not more:
        return False
    if _is_json(first, (dict, list)):
        return True
    goes_on = any(row.rstrip().endswith(("[", "{", ",")) for row in (first, *more[:-1]))
    return not goes_on and any(row.startswith("{") and _is_json(row, dict) for row in more)


def _is_json(row: str, kind: type | tuple[type, ...]) -> bool:
    try:
        return isinstance(json.loads(row), kind)
    except RecursionError:
        return True
    except ValueError:
        return False


def _reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "the JSON is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno} column {error.colno}: {error.msg}"
    return str(error)


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
