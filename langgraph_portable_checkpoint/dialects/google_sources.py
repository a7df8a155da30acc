"""What a Gemini response says of its sources, as citations of its texts.

Source: ai.google.dev/api/generate-content, GroundingMetadata and CitationMetadata: indices count bytes of UTF-8 within
a part; langchain-core 1.5, messages/block_translators/google_genai.py, for the shape of a citation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..envelope.model import Block
from .google_parts import camel_keys

SOURCES: Final = ("groundingMetadata", "citationMetadata")


def cite(blocks: Sequence[Block], sources: Mapping[str, Any]) -> None:
    """Put citations on the texts of an answer that they speak of; what names no text is put on the last one."""
    texts = [block if block["type"] == "text" else None for block in blocks]
    last = next((block for block in reversed(texts) if block is not None), None)
    for part, citation in [*_grounded(sources.get("groundingMetadata")), *_cited(sources.get("citationMetadata"))]:
        named = texts[part] if isinstance(part, int) and 0 <= part < len(texts) else None
        block = named if named is not None else last
        if block is not None:
            block.setdefault("annotations", []).append({"type": "citation", **citation})


def _grounded(metadata: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    found = camel_keys(metadata) if isinstance(metadata, Mapping) else {}
    chunks = _listed(found.get("groundingChunks"))
    for support in map(camel_keys, _listed(found.get("groundingSupports"))):
        segment = camel_keys(support["segment"]) if isinstance(support.get("segment"), Mapping) else {}
        for index in support.get("groundingChunkIndices") or ():
            chunk = chunks[index] if isinstance(index, int) and 0 <= index < len(chunks) else {}
            yield segment.get("partIndex", 0), {**_source(chunk), **_span(segment)}


def _cited(metadata: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    found = camel_keys(metadata) if isinstance(metadata, Mapping) else {}
    for citation in _listed(found.get("citations") or found.get("citationSources")):
        yield None, {**_source({"": citation}), **_span(camel_keys(citation))}


def _source(chunk: Mapping[str, Any]) -> dict[str, Any]:
    """Return address and title of a chunk, which stand under its kind: web, maps, retrievedContext."""
    told = next((value for value in chunk.values() if isinstance(value, Mapping)), {})
    words = {"url": told.get("uri"), "title": told.get("title")}
    return {key: value for key, value in words.items() if isinstance(value, str)}


def _span(segment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the text that is spoken of; where it stands is counted in bytes, so it goes under extras."""
    at = {key: segment[key] for key in ("startIndex", "endIndex") if isinstance(segment.get(key), int)}
    text = segment.get("text")
    return ({"cited_text": text} if isinstance(text, str) else {}) | ({"extras": at} if at else {})


def _listed(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
