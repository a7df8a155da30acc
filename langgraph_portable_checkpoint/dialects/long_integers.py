"""Arguments of calls that no checkpoint can hold as objects, spelled as the JSON text that a model wrote.

They hold an integer beyond 64 bits, or a key with half of a surrogate pair. As a text all of it stays, and the call is
read as an invalid one, as a call is whose arguments came as such a text. Other objects are left as they are.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from .number_limits import BEYOND_64_BITS, BROKEN_KEY, unfit


class _Calls(NamedTuple):
    """How a dialect's calls are found: by their type, or by the keys that hold them; and the key of their arguments."""

    arguments: str
    types: Collection[str] = ()
    keys: Collection[str] = ()


_CALLS: Final[Mapping[str, _Calls]] = {
    "anthropic": _Calls("input", types=("tool_use",)),
    "bedrock": _Calls("input", keys=("toolUse",)),
    "google": _Calls("args", keys=("functionCall", "function_call")),
    "mistral": _Calls("arguments", keys=("function",)),
    "openai-chat": _Calls("arguments", keys=("function", "function_call")),
    "openai-responses": _Calls("arguments", types=("function_call",)),
}
_AS_TEXT: Final = (BEYOND_64_BITS, BROKEN_KEY)
_HOLDERS: Final = frozenset({"content", "parts", "tool_calls"})
_DEPTH: Final = 3
"""How deep in a message a call may stand: in an object, of an object, of a list."""


def with_text_arguments(message: Any, dialect: str) -> Any:
    """Return a message with such arguments as texts; the same object where there are none."""
    if dialect not in _CALLS or unfit(message) not in _AS_TEXT:
        return message
    return _spelled(message, _CALLS[dialect], depth=_DEPTH)


def _spelled(value: Any, calls: _Calls, *, inside: str = "", depth: int) -> Any:
    if isinstance(value, list) and depth:
        return [_spelled(item, calls, depth=depth - 1) for item in value]
    if not isinstance(value, (dict, Mapping)):
        return value
    if inside in calls.keys or value.get("type") in calls.types:
        return _with_text(value, calls.arguments)
    return {
        key: _spelled(item, calls, inside=key, depth=depth - 1)
        if depth and (key in _HOLDERS or key in calls.keys)
        else item
        for key, item in value.items()
    }


def _with_text(call: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    arguments = call.get(key)
    if not isinstance(arguments, dict) or unfit(arguments) not in _AS_TEXT:
        return call
    try:
        return {**call, key: json.dumps(arguments, ensure_ascii=False, allow_nan=False)}
    except (TypeError, ValueError, RecursionError):  # no JSON for another reason: refused for that
        return call
