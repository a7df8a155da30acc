"""Line-delimited JSON, read strictly and within bounds.

Owns how a file of one JSON object per line becomes objects with line numbers. A line that is no JSON object is a
`BadLine`, never an exception: session files are written by processes that are killed. What was mended inside a good
line (a lone surrogate, a repeated key) is told in `Line.repairs`. Knows nothing of what the lines mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from .number_limits import made_of_json, unfit

MAX_LINE_CHARS: Final = 64 * 1024 * 1024
MAX_DEPTH: Final = 200

_LONG: Final = re.compile(r"\d{19}|\d[eE]\d{3}")
"""What an integer beyond 64 bits, or a number that is read as an infinity, must hold."""
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_LONE: Final = re.compile("[\ud800-\udfff]")


class Line(NamedTuple):
    """One good line: its 1-based number, its object, and what was mended in it."""

    number: int
    value: dict[str, Any]
    repairs: tuple[str, ...] = ()


class BadLine(NamedTuple):
    """One line that is not a JSON object: its 1-based number and why."""

    number: int
    reason: str


def read_lines(payload: str | bytes | Iterable[Any], *, max_chars: int = MAX_LINE_CHARS) -> Iterator[Line | BadLine]:
    """Yield every non-blank line in order.

    Args:
        payload: The text, its UTF-8 bytes, or an iterable of lines (text, bytes, or objects already read).
        max_chars: Longest line that is parsed; a longer one is a `BadLine`.
    """
    written = rows(payload) if isinstance(payload, (str, bytes)) else payload
    for number, row in enumerate(written, start=1):
        line = _read_row(row, number, max_chars)
        if line is not None:
            yield line


def first_objects(payload: Any, count: int = 20) -> list[dict[str, Any]]:
    """Return the first good objects of line-delimited JSON, or of a list; one object counts as one line."""
    if isinstance(payload, dict):
        payload = [payload]
    if not isinstance(payload, (str, bytes, list)):
        return []
    return [line.value for line in islice(read_lines(payload, max_chars=1_000_000), count) if isinstance(line, Line)]


def rows(payload: str | bytes) -> Iterator[Any]:
    """Yield rows without copying the whole text; only a newline ends a row, as JSON text may hold U+2028."""
    newline: Any = "\n" if isinstance(payload, str) else b"\n"
    start = 0
    while start < len(payload):
        end = payload.find(newline, start)
        end = len(payload) if end < 0 else end
        yield payload[start:end]
        start = end + 1


def _read_row(row: Any, number: int, max_chars: int) -> Line | BadLine | None:
    if isinstance(row, dict):
        if made_of_json(row, MAX_DEPTH):
            return Line(number, row)
        reason = f"nested deeper than {MAX_DEPTH} levels" if too_deep(row) else unfit(row)
        return BadLine(number, reason) if reason else Line(number, row)
    if not isinstance(row, (str, bytes)):
        return BadLine(number, f"a line is {type(row).__name__}, not text or an object")
    if len(row) > max_chars:
        return BadLine(number, f"longer than the limit of {max_chars} characters")
    try:
        text = row.decode("utf-8-sig") if isinstance(row, bytes) else row.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        return BadLine(number, f"not UTF-8 at byte {error.start}")
    return _parse(text.strip(), number) if text.strip() else None


def _parse(text: str, number: int) -> Line | BadLine:
    repairs: list[str] = []
    try:
        value = load_strict(text, repairs)
    except (ValueError, RecursionError) as error:
        return BadLine(number, _reason(error))
    if not isinstance(value, dict):
        return BadLine(number, f"a JSON {type(value).__name__}, not an object")
    if _LONG.search(text) and (reason := unfit(value)):
        return BadLine(number, reason)
    return Line(number, value, tuple(repairs))


def load_strict(text: str, repairs: list[str]) -> Any:
    """Parse JSON; NaN and Infinity are refused, the last of repeated keys is kept and told in `repairs`.

    Raises:
        ValueError: Not JSON, or nested deeper than `MAX_DEPTH`.
        RecursionError: Nested so deep that the parser itself gives up.
    """

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            repairs.append("a key is repeated; its last value was kept")
        return found

    value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=pairs)
    if text.count("[") + text.count("{") > MAX_DEPTH and too_deep(value):
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    if _SURROGATE.search(text):
        value = mend_surrogates(value, repairs)
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return f"nested deeper than {MAX_DEPTH} levels"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON at column {error.colno}: {error.msg}"
    return str(error)


def too_deep(value: Any, *, limit: int = MAX_DEPTH) -> bool:
    """Tell whether containers nest deeper than `limit`; a value that holds itself always does."""
    level = [value]
    width = 1
    for _ in range(limit + 1):
        level = _inner(level)
        if not level:
            return False
        if len(level) > 2 * width:  # only then: what stands in many places must not be counted in each of them
            level = list({id(child): child for child in level}.values())
            width = max(width, len(level))
    return True


def _inner(level: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in level:
        inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        for child in inner:
            if isinstance(child, (dict, list)):
                found.append(child)
    return found


def mend_surrogates(value: Any, repairs: list[str]) -> Any:
    """Replace lone surrogates, which no UTF-8 writer accepts, by U+FFFD and tell so once in `repairs`."""
    if isinstance(value, str):
        if value.isascii() or not _LONE.search(value):
            return value
        if "a lone surrogate was replaced by U+FFFD" not in repairs:
            repairs.append("a lone surrogate was replaced by U+FFFD")
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [mend_surrogates(item, repairs) for item in value]
    if isinstance(value, dict):
        return {mend_surrogates(key, repairs): mend_surrogates(item, repairs) for key, item in value.items()}
    return value
