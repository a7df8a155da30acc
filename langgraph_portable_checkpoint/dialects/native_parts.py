"""Parts in one provider's spelling that applications put into their own messages and results, in neutral words.

Such messages name no origin, so the spelling alone tells what they say: a tool's JSON is its text, a search result is
what a model reads of it, and a cache marker is nothing that a model reads.

Source: langchain-openai 1.7, outputs of custom and computer tools; Anthropic search_result blocks; Bedrock
ToolResultContentBlock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..envelope.model import Block
from .base import without_raw
from .bedrock_blocks import block_of
from .responses_items import OUTPUTS
from .responses_read import answer_blocks

MARKERS: Final = frozenset({"cachePoint"})
"""Kinds that only steer the provider: nothing stands in for them elsewhere."""
_CONVERSE: Final = frozenset({"json", "guardContent", "searchResult", "image", "document", "video", "audio"})


def kind_of(value: Any) -> str:
    """Name what a native part says it is: its `type`, or its only key.

    >>> kind_of({"cachePoint": {"type": "default"}})
    'cachePoint'
    """
    if not isinstance(value, Mapping):
        return type(value).__name__
    return str(value["type"]) if "type" in value else ", ".join(map(str, value))


def neutral_form(value: Any) -> list[Block]:
    """Return the neutral blocks that say the same as a native part; none where there are no words for it."""
    if not isinstance(value, Mapping):
        return []
    read = _READERS.get(kind_of(value))
    return read(value) if read else []


def told_text(value: Any) -> str:
    """Return what a model reads of an Anthropic search result; "" for any other part."""
    if kind_of(value) != "search_result" or not isinstance(value.get("content"), list):
        return ""
    head = [value[key] for key in ("title", "source") if isinstance(value.get(key), str)]
    return "\n".join([*head, *_texts(value["content"])])


def _texts(parts: list[Any]) -> list[str]:
    return [part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)]


def _converse(value: Mapping[str, Any]) -> list[Block]:
    block = block_of({key: item for key, item in value.items() if key != "type"})
    return [] if block["type"] == "non_standard" else [without_raw(block)]


def _json(value: Mapping[str, Any]) -> list[Block]:
    return _converse(value) if "json" in value else []


def _output(value: Mapping[str, Any]) -> list[Block]:
    """Read what langchain-openai's tools answer for an item of the Responses API: a text, parts, a screenshot."""
    return answer_blocks(value.get("output"))


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], list[Block]]]] = {
    **dict.fromkeys(_CONVERSE, _converse),
    "json": _json,
    **dict.fromkeys(OUTPUTS, _output),
}
