"""Objects of the providers' SDKs in a history, as the loops in the providers' documentation append them: plain JSON.

Knows no SDK: what has `model_dump` is written as a model of pydantic is sent, without what was never set and what the
SDK itself leaves out (`__api_exclude__`). LangChain's messages stay what they are.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any, Final

from langchain_core.messages import BaseMessage

MAX_DEPTH: Final = 12
"""How deep below a payload objects may stand: a block of a message of a request lies five deep."""


def plain_objects(value: Any) -> Any:
    """Return a payload whose SDK objects are spelled as JSON; the same object where it surely holds none.

    An object that cannot be spelled stays where it is.

    >>> from anthropic.types import TextBlock
    >>> plain_objects([{"role": "assistant", "content": [TextBlock(type="text", text="hi")]}])
    [{'role': 'assistant', 'content': [{'text': 'hi', 'type': 'text'}]}]
    """
    return _plain(value, MAX_DEPTH, {}) if _may_hold_objects(value) else value


_LEAVES: Final = frozenset({str, int, float, bool, bytes, type(None)})


def _may_hold_objects(value: Any) -> bool:
    """Tell at once that a payload is made of plain values and LangChain's messages alone, as nearly all are: level by
    level, not one by one.
    """
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        kinds = {*map(type, level)}
        if not all(issubclass(kind, BaseMessage) for kind in kinds - _PLAIN):
            return True
        within = {id(item): item for item in level if type(item) in _CONTAINERS} if kinds - _LEAVES else {}
        if not within:
            return False
        level = gc.get_referents(*within.values())
    return False


_CONTAINERS: Final = frozenset({dict, list, tuple})
_PLAIN: Final = _LEAVES | _CONTAINERS


def _is_object(value: Any) -> bool:
    """Tell an object that can be dumped by its class, so that nothing of an odd one is asked."""
    return callable(getattr(type(value), "model_dump", None)) and not isinstance(value, (type, BaseMessage))


def _plain(value: Any, depth: int, seen: dict[int, Any]) -> Any:
    if isinstance(value, (Mapping, list, tuple)):
        if depth < 0 or id(value) in seen:
            return seen.get(id(value), value)
        seen[id(value)] = value
        seen[id(value)] = found = _within(value, depth - 1, seen)
        return found
    return _dumped(value) if _is_object(value) else value


def _within(value: Any, depth: int, seen: dict[int, Any]) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item, depth, seen) for key, item in value.items()}
    return [_plain(item, depth, seen) for item in value]


def _dumped(value: Any) -> Any:
    """Write an object with all that was set, null too, and all that is not null, such as a type word by default.

    Objects of google-genai, which alone have `to_json_dict`, are sent without nulls.
    """
    how: dict[str, Any] = {"mode": "json", "by_alias": True, "warnings": False}
    try:
        how["exclude"] = getattr(value, "__api_exclude__", None)
        told = value.model_dump(**how, exclude_none=True)
        if hasattr(type(value), "to_json_dict"):
            return told
        return _joined(value.model_dump(**how, exclude_unset=True), told)
    except Exception:  # noqa: BLE001 - an object of anybody's may do anything; it is refused with its place
        return value


def _joined(given: Any, told: Any) -> Any:
    if isinstance(given, dict) and isinstance(told, dict):
        return {key: _joined(given[key], told.get(key)) for key in given} | {
            key: item for key, item in told.items() if key not in given
        }
    if isinstance(given, list) and isinstance(told, list) and len(given) == len(told):
        return [_joined(one, other) for one, other in zip(given, told, strict=True)]
    return told if given is None else given
