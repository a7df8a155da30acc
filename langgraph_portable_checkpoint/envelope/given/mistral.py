"""What langchain-mistralai does to references, and merging its streams to thinking.

Source: langchain-mistralai 1.1, `chat_models.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_TEXT: Final = frozenset({"type", "text", "index"})


def touches(block: Mapping[str, Any]) -> bool:
    """True for a reference, and for thinking in several texts, or in one that is numbered."""
    return _references(block) is not None or _is_parted(block)


def _references(block: Mapping[str, Any]) -> list[Any] | None:
    """Return the ids of a reference that was made an empty text, or in v1 output the citations of one."""
    if block.get("type") != "text" or block.get("text") != "":
        return None
    told = [block.get("reference"), *(_extras(note) for note in block.get("annotations") or ())]
    ids = [one["reference_ids"] for one in told if isinstance(one, dict) and isinstance(one.get("reference_ids"), list)]
    return [each for some in ids for each in some] or None


def _extras(note: Any) -> Any:
    return note.get("extras") if isinstance(note, dict) else None


def _is_parted(block: Mapping[str, Any]) -> bool:
    parts = block.get("thinking")
    if block.get("type") != "thinking" or not isinstance(parts, list) or not parts:
        return False
    return all(_is_text(part) for part in parts) and (len(parts) > 1 or "index" in parts[0])


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.keys() <= _TEXT and isinstance(part.get("text"), str)


def undo(block: dict[str, Any]) -> dict[str, Any]:
    """Return the chunk as the API gave it, its thinking as one text without the numbers of a stream."""
    ids = _references(block)
    if ids is not None:
        return {"type": "reference", "reference_ids": ids}
    text = "".join(part["text"] for part in block["thinking"])
    kept = {key: value for key, value in block.items() if key != "index"}
    return {**kept, "thinking": [{"type": "text", "text": text}]}
