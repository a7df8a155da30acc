"""Native items and parts of the Responses API with the keys that requests may hold, and no others.

Owns which keys go back; who leaves some out says so. Source: `lint/responses_shapes.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..envelope.model import Block
from .lint.responses_shapes import HOLD_PARTS, INTERPRETED, ITEMS, PARTS
from .native_keys import left_out, only_known
from .responses_items import WITHHELD

NATIVE_KEYS: Final[Mapping[str, frozenset[str]]] = {
    **{kind: known.keys for kind, known in {**ITEMS, **PARTS}.items()},
    **{kind: ITEMS[kind].keys | {key} for kind, key in WITHHELD.items()},
}
"""Keys of native items and parts; what is withheld is told apart."""
_V1_KEYS: Final = frozenset({"reasoning", "extras"})
"""Keys of LangChain's own blocks, some of which have the types of items: these are spelled anew."""
_SAID_ELSEWHERE: Final[Mapping[str, frozenset[str]]] = {
    "custom_tool_call": frozenset({"status"}),
    "refusal": frozenset({"id", "phase"}),
    "output_text": frozenset({"id", "phase"}),
}
"""Keys by type that answers alone have, or that LangChain copies from the message around a part."""
_INNER: Final[Mapping[str, tuple[tuple[str, Mapping[str, Any]], ...]]] = {
    "reasoning": tuple((key, PARTS) for key in HOLD_PARTS["reasoning"]),
    "code_interpreter_call": (("outputs", INTERPRETED),),
}
"""Keys of items that hold parts, and the shapes of these; results' and messages' parts are blocks of their own."""


def native_form(block: Block) -> Mapping[str, Any] | None:
    """Return a block's raw form if it is a part or item of the API; without the keys that the API does not know."""
    raw = block.get("raw")
    if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
        return None
    if raw["type"] == "function_call" and not (
        isinstance(raw.get("arguments"), str) and isinstance(raw.get("name"), str)
    ):
        return None
    known = NATIVE_KEYS.get(raw["type"])
    if known is None or raw.keys() <= known:
        return _with_known_parts(raw) if raw["type"] in _INNER else raw
    return _with_known_parts(only_known(raw, known)) if raw.keys().isdisjoint(_V1_KEYS) else None


def known_item(item: Mapping[str, Any], kind: str | None = None) -> Mapping[str, Any]:
    """Return an item or part with the keys that its type has; the same object if it has no others."""
    kind = kind or str(item.get("type"))
    known = NATIVE_KEYS.get(kind)
    if known is None:
        return item
    return _with_known_parts(only_known(item, known)) if kind in _INNER else only_known(item, known)


def output_form(block: Block) -> Mapping[str, Any] | None:
    """Return a block's raw form if it is a part of an output message."""
    raw = native_form(block)
    return raw if raw is not None and raw["type"] in ("output_text", "refusal") else None


def unknown_of(native: Any, sent: Mapping[str, Any] | None = None) -> str:
    """Name the keys of a native form that are not in what is sent of it, or that its type has not; "" if none."""
    if native is sent or not isinstance(native, Mapping):
        return ""
    kind = str(native.get("type"))
    known = NATIVE_KEYS.get(kind, native.keys()) if sent is None else sent.keys()
    left = [left_out(native, known | _SAID_ELSEWHERE.get(kind, frozenset()))]
    left += [_left_inside(key, native[key], sent.get(key) if sent else None) for key, _ in _inner_of(native)]
    return ", ".join(filter(None, left))


def _inner_of(item: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(key, shapes) for key, shapes in _INNER.get(str(item.get("type")), ()) if isinstance(item.get(key), list)]


def _with_known_parts(item: Mapping[str, Any]) -> Mapping[str, Any]:
    for key, shapes in _inner_of(item):
        parts = [_known_part(part, shapes) for part in item[key]]
        if any(one is not part for one, part in zip(parts, item[key], strict=True)):
            item = {**item, key: parts}
    return item


def _known_part(part: Any, shapes: Mapping[str, Any]) -> Any:
    known = shapes.get(str(part.get("type"))) if isinstance(part, Mapping) else None
    return part if known is None else only_known(part, known.keys)


def _left_inside(key: str, parts: list[Any], sent: Any) -> str:
    if parts is sent or not isinstance(sent, list):
        return ""
    pairs = [(one, other) for one, other in zip(parts, sent, strict=True) if one is not other]
    left = [f"{key}.{name}" for one, other in pairs if (name := left_out(one, other.keys()))]
    return ", ".join(dict.fromkeys(left))
