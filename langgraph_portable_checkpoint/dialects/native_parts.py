"""Parts in one provider's spelling that applications put into their own messages and results, in neutral words.

Such messages name no origin, so the spelling alone tells what they say: a tool's JSON is its text, a search result is
what a model reads of it, and a cache marker is nothing that a model reads.

Source: langchain-openai 1.7, outputs of custom and computer tools; Anthropic search_result blocks; Bedrock
ToolResultContentBlock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from ..envelope.model import Block
from ..envelope.placeholders import without_placeholder
from .base import without_raw
from .bedrock_blocks import KEYS, block_of
from .google_parts import is_part, media_block
from .media_parts import placeholder
from .mistral_read import READERS as MISTRAL_READERS
from .plain_values import is_plain
from .responses_items import OUTPUTS
from .responses_read import answer_blocks

MARKERS: Final = frozenset({"cachePoint"})
"""Kinds that only steer the provider: nothing stands in for them elsewhere."""
ITEM_REFERENCE: Final = "item_reference"
"""What stands for an item of anyone's that the provider keeps: nobody said it."""
CONTENT_DOCUMENT: Final = "document.content"
"""An Anthropic document that holds texts and images inside."""
_PARTS: Final = ("text", "image")
_TOLD: Final[Mapping[str, tuple[str, ...]]] = {
    "search_result": ("title", "source"),
    CONTENT_DOCUMENT: ("title", "context"),
}
"""Kinds that have a text, and the keys beside their content that a model reads too."""
_CONVERSE: Final = frozenset({"json", "guardContent", "searchResult", "image", "document", "video", "audio"})


def kind_of(value: Any) -> str:
    """Name what a native part says it is: its `type`, or its only key.

    >>> kind_of({"cachePoint": {"type": "default"}})
    'cachePoint'
    """
    if not isinstance(value, Mapping):
        return type(value).__name__
    if value.get("type") == "document" and _content_of(value):
        return CONTENT_DOCUMENT
    return str(value["type"]) if "type" in value else ", ".join(map(str, value))


def neutral_form(value: Any) -> list[Block]:
    """Return the neutral blocks that say the same as a native part; none where there are no words for it."""
    if not isinstance(value, Mapping):
        return []
    read = _READERS.get(kind_of(value))
    return read(value) if read else []


def told_text(value: Any) -> str:
    """Return what a model reads of an Anthropic search result, or of a document of parts; "" for any other part."""
    kind = kind_of(value)
    if kind not in _TOLD:
        return ""
    parts = _content_of(value) if kind == CONTENT_DOCUMENT else value.get("content")
    if not isinstance(parts, list):
        return ""
    head = [value[key] for key in _TOLD[kind] if isinstance(value.get(key), str)]
    return "\n".join([*head, *_texts(parts)])


def told_data(value: Any) -> str:
    """Return plain data, which a tool may give instead of parts, as its JSON text; "" for a part of any API."""
    known = not isinstance(value, Mapping) or "type" in value or is_part(value) or not value.keys().isdisjoint(KEYS)
    return "" if known or not is_plain(value) else json.dumps(value, ensure_ascii=False)


def _content_of(document: Mapping[str, Any]) -> list[Any]:
    """Return the parts that an Anthropic document holds inside; none where it holds anything else."""
    source = document.get("source")
    parts = source.get("content") if isinstance(source, Mapping) and source.get("type") == "content" else None
    known = isinstance(parts, list) and all(isinstance(part, Mapping) and part.get("type") in _PARTS for part in parts)
    return parts if known and isinstance(parts, list) else []


def _texts(parts: list[Any]) -> list[str]:
    """Return the texts of parts; an image is named where it stood."""
    named = [placeholder({"type": "image"})["text"] if _is_image(part) else _text_of(part) for part in parts]
    return [text for text in named if text is not None]


def _is_image(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "image"


def _text_of(part: Any) -> str | None:
    text = part.get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else None


def _converse(value: Mapping[str, Any]) -> list[Block]:
    block = block_of({key: item for key, item in value.items() if key != "type"})
    return [] if block["type"] == "non_standard" else [without_raw(block)]


def _guarded(value: Mapping[str, Any]) -> list[Block]:
    """Read what langchain-aws writes for a text that a guardrail looks at."""
    inner = value.get("guard_content") if isinstance(value.get("guard_content"), Mapping) else value
    text = inner.get("text") if isinstance(inner, Mapping) else None
    return _converse({"guardContent": {"text": {"text": text}}}) if isinstance(text, str) else []


def _json(value: Mapping[str, Any]) -> list[Block]:
    return _converse(value) if "json" in value else []


def _media(value: Mapping[str, Any]) -> list[Block]:
    """Read langchain-google-genai's part for media, with its bytes as they are."""
    block = media_block(value)
    return [] if block is None else [block]


def _chunk(value: Mapping[str, Any]) -> list[Block]:
    """Read a chunk of Mistral's own, which langchain-mistralai hands on."""
    block = MISTRAL_READERS[value["type"]](value)
    return [] if block is None else [block]


def _output(value: Mapping[str, Any]) -> list[Block]:
    """Read what langchain-openai's tools answer for an item of the Responses API: a text, parts, a screenshot."""
    return [
        cast(Block, without_placeholder(cast(dict[str, Any], block))) for block in answer_blocks(value.get("output"))
    ]


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], list[Block]]]] = {
    **dict.fromkeys(_CONVERSE, _converse),
    "json": _json,
    "guard_content": _guarded,
    "media": _media,
    "input_audio": _chunk,
    "document_url": _chunk,
    **dict.fromkeys(OUTPUTS, _output),
}
