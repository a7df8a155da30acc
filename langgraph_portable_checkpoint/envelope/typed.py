"""What the keys of envelopes and blocks hold, as the published schema says, and what other rooms rely on within them.

Values come from anywhere: a provider's file, an application's own parts, what an import left in a message.
Knows no provider; no value is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langgraph_portable_checkpoint.envelope.model import BLOCK_TYPES, ROLES

_TEXT: Final = (str,)
_TEXT_OR_NULL: Final = (str, type(None))
_MAP: Final = (dict,)
_KINDS: Final = frozenset(BLOCK_TYPES)
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("text", "reasoning", "refusal", "mime_type", "base64", "url", "file_id", "arguments"), _TEXT),
    **dict.fromkeys(("filename", "detail", "status", "title", "context"), _TEXT),
    **dict.fromkeys(("id", "name", "error", "tool_call_id"), _TEXT_OR_NULL),
    "extras": _MAP,
    "origin": _MAP,
    "media": _MAP,
    "data": (bytes,),
    "annotations": (list,),
}
_NEEDS: Final = {"text": "text", "reasoning": "reasoning", "refusal": "refusal", "non_standard": "value"}
_ARGS: Final[Mapping[str, tuple[type, ...]]] = {"tool_call": _MAP, "invalid_tool_call": _TEXT_OR_NULL}
_WITHIN: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("block_type", "phase", "field", "encrypted_content"), _TEXT_OR_NULL),
    "redacted_data": (str, bytes, type(None)),
    "item": (dict, type(None)),
    "summary": (list, type(None)),
}
"""Extras of blocks that are looked into."""
_HEADS: Final[Mapping[str, tuple[type, ...]]] = {
    "role": _TEXT,
    **dict.fromkeys(
        ("id", "name", "tool_call_id", "status", "stop_reason", "created_at", "role_detail"), _TEXT_OR_NULL
    ),
    **dict.fromkeys(("origin", "extras", "usage"), _MAP),
    "content": (list,),
}
NESTING: Final = ("extras", "annotations")
"""Keys of blocks whose values are looked into."""


def well_typed(block: Mapping[str, Any]) -> bool:
    """Tell whether every neutral key of a block holds what the published schema says."""
    for key, value in block.items():
        if key in _TYPES and not isinstance(value, _TYPES[key]):
            return False
    kind = block["type"]
    if kind not in _KINDS or _NEEDS.get(kind, "type") not in block:
        return False
    return (kind not in _ARGS or isinstance(block.get("args"), _ARGS[kind])) and not wrong_within(block)


def wrong_within(block: Mapping[str, Any]) -> str:
    """Name what a block's extras or annotations hold of a wrong type; "" if nothing."""
    for key, value in (block.get("extras") or {}).items():
        if key in _WITHIN and not isinstance(value, _WITHIN[key]):
            return f"extras.{key}"
    for at, note in enumerate(block.get("annotations") or ()):
        if not isinstance(note, dict) or not isinstance(note.get("extras") or {}, dict):
            return f"annotations[{at}]"
    return ""


def wrong_heads(envelope: Mapping[str, Any]) -> list[str]:
    """Name the keys of an envelope that hold a value of another type than the format says."""
    return [key for key, value in envelope.items() if key in _HEADS and not isinstance(value, _HEADS[key])]


def well_typed_message(envelope: Mapping[str, Any]) -> bool:
    """Tell whether every neutral key of an envelope and of its blocks holds what the published schema says."""
    if not {"v", "role", "content"} <= envelope.keys() or wrong_heads(envelope) or envelope["role"] not in ROLES:
        return False
    if not all(isinstance(word, str) for word in envelope.get("origin", {}).values()):
        return False
    return all(isinstance(block.get("type"), str) and well_typed(block) for block in envelope["content"])


def is_sum(usage: Any) -> bool:
    """Tell whether a usage is counts without details."""
    return isinstance(usage, dict) and usage.keys() == _COUNTS and all(type(count) is int for count in usage.values())


_COUNTS: Final = {"input_tokens", "output_tokens", "total_tokens"}
