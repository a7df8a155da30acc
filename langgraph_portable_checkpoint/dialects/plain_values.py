"""Values that any JSON document can hold: what else stands in a history is spelled so that it can.

NaN and infinities become null, bytes base64 text, lone surrogates U+FFFD; whoever calls tells of the change. Pure.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from typing import Any, Final

from .jsonl import mend_surrogates
from .number_limits import INT64

_spell: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def plain_value(value: Any) -> Any:
    """Return a value as plain JSON; the same object where it is plain already.

    >>> plain_value({"x": float("nan"), "y": b"b"})
    {'x': None, 'y': 'Yg=='}
    """
    return value if is_plain(value) else _spelled(value)


def is_everyday(value: Any, *, depth: int = 20) -> bool:
    """True for what JSON in UTF-8 can surely hold: ASCII texts, finite numbers, nested a little. False says nothing.

    Much faster than to try it, and right for nearly all values.
    """
    kind = type(value)
    if kind is str:
        return bool(value.isascii())
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not key.isascii() or depth == 0:
                return False
            if not (item.isascii() if type(item) is str else is_everyday(item, depth=depth - 1)):
                return False
        return True
    if kind is list:
        return depth > 0 and all(is_everyday(item, depth=depth - 1) for item in value)
    return value is None or kind is bool or (kind is int and value in INT64) or (kind is float and math.isfinite(value))


def is_plain(value: Any) -> bool:
    """Tell whether JSON in UTF-8 can hold a value as it is."""
    if is_everyday(value):
        return True
    try:
        _spell(value).encode()
    except (TypeError, ValueError):
        return False
    return True


def plain_or_told(value: Any, tell: Callable[[], None]) -> Any:
    """Return a value as plain JSON, and call `tell` if that changed it."""
    if is_plain(value):
        return value
    tell()
    return _spelled(value)


def told_as_text(value: Any) -> str:
    """Return the text that stands for a value that JSON has no form for: base64 of bytes."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _spelled(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {mend_surrogates(str(key), []): _spelled(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_spelled(item) for item in value]
    if value is None or isinstance(value, (int, float)):
        return value
    return mend_surrogates(value if isinstance(value, str) else str(value), [])
