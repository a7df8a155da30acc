"""What a block's native form says and its neutral spelling does not: told where native forms do not go along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..envelope.model import Block
from .beside import MEDIA_PARTS

_EVERYDAY: Final = (
    frozenset({"type", "text"}),
    frozenset({"type", "thinking", "signature"}),
    frozenset({"type", "id", "name", "input"}),
    frozenset({"type", "id", "function"}),
    frozenset({"text"}),
    frozenset({"type", "source"}),
    frozenset({"type", "image_url"}),
    frozenset({"type", "id", "call_id", "name", "arguments", "status"}),
    frozenset({"type", "id", "summary", "encrypted_content"}),
)
"""Keys of native blocks all of which have a neutral place."""
_IMPLIED: Final = frozenset({"type", "source_type", "thought", "role", "object", "index", "format", "status"})
"""Keys whose value is a word for what the neutral block is."""
_BYTES: Final = frozenset({"data", "base64", "bytes", "url", "image_url", "file_data"})
"""Keys of media whose bytes the neutral block holds, spelled anew."""
_WHOLE: Final = frozenset({"non_standard", "server_tool_call", "server_tool_result"})
"""Blocks that go along as they are, or of which a target tells itself."""
_LONG: Final = 200


def untold(block: Block, spelled: Mapping[str, Any]) -> str:
    """Name the keys of a block's native form whose values its spelling holds nowhere; "" if it has all.

    Args:
        block: The block, with its native form as `raw`.
        spelled: What was written for it.
    """
    raw = block.get("raw")
    if not isinstance(raw, Mapping) or raw.keys() in _EVERYDAY or block["type"] in _WHOLE:
        return ""
    known = [str(value) for _, value in _leaves(spelled)]
    short, long = "\0".join(text for text in known if len(text) <= _LONG), {*known}
    implied = _IMPLIED | _BYTES if block["type"] in MEDIA_PARTS else _IMPLIED
    left = [key for key, value in _leaves(raw) if key not in implied and not _is_said(value, short, long)]
    return ", ".join(dict.fromkeys(left))


def _is_said(value: Any, short: str, long: set[str]) -> bool:
    if value is None or value is False or isinstance(value, bytes) or value == "":
        return True
    text = str(value)
    return text in long or (text in short if len(text) <= _LONG else any(one.endswith(text[-_LONG:]) for one in long))


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _leaves(each, str(name))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(each, key)
    else:
        yield key, value
