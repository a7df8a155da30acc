"""What merging a stream of langchain-mistralai does to thinking. Source: langchain-mistralai 1.1, `chat_models.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_TEXT: Final = frozenset({"type", "text", "index"})


def touches(block: Mapping[str, Any]) -> bool:
    """True for thinking in several texts, or in one that is numbered."""
    parts = block.get("thinking")
    if block.get("type") != "thinking" or not isinstance(parts, list) or not parts:
        return False
    return all(_is_text(part) for part in parts) and (len(parts) > 1 or "index" in parts[0])


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.keys() <= _TEXT and isinstance(part.get("text"), str)


def undo(block: dict[str, Any]) -> dict[str, Any]:
    """Return the chunk with its thinking as one text, without the numbers of a stream."""
    text = "".join(part["text"] for part in block["thinking"])
    kept = {key: value for key, value in block.items() if key != "index"}
    return {**kept, "thinking": [{"type": "text", "text": text}]}
