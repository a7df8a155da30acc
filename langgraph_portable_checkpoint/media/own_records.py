"""Which dicts of a channel only look like a part: records of an application, which say more than a part can say.

Owns the words that the APIs' parts have. A part that is taken away goes with all it says, so what is no part, but a
search hit with its snippet or a product with its price, must not be taken for one. Messages hold parts only: what
stands in a `content` is none of these.

Source: as `shapes`; langchain_core.messages.content (v1 and v0), the blocks of langchain-anthropic and
langchain-google-genai, MCP `ContentBlock` (2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

_CONTENT: Final = "content"
_WORDS: Final = frozenset(
    {
        "type", "id", "index", "extras", "metadata", "name", "filename", "format", "detail", "annotations", "_meta",
        "size", "size_bytes", "expires_at", "transcript", "cache_control", "thought_signature", "thoughtSignature",
        "video_metadata", "videoMetadata", "media_resolution", "mediaResolution", "display_name", "displayName",
        "mime_type", "mimeType", "media_type", "mediaType", "source_type", "source", "base64", "data", "bytes", "blob",
        "file_data", "file_id", "fileId", "file_uri", "fileUri", "file_url", "url", "uri", "image_url", "audio_url",
        "video_url", "document_url", "image", "audio", "video", "file", "document", "resource", "inline_data",
    }
)  # fmt: skip
_TITLE_WORDS: Final = frozenset({"title", "context", "citations", "description"})
_PLAIN_TYPES: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("image", "audio", "video", "media"), _WORDS),
    **dict.fromkeys(("file", "document", "resource"), _WORDS | _TITLE_WORDS),
}
"""The types that are everyday words, with the words of their parts. A type such as "input_image" is an API's alone."""
_UNTYPED_WORDS: Final = frozenset(
    {
        "image", "audio", "video", "document", "inline_data", "inlineData", "fileData", "file_data", "cachePoint",
        "thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata", "mediaResolution",
        "media_resolution",
    }
)  # fmt: skip


def is_own_record(block: Mapping[Any, Any], path: Sequence[object]) -> bool:
    """Say whether a dict that looks like a part says more than a part can say, and stands where parts need not be.

    Args:
        block: The dict.
        path: Where it stands.
    """
    if _CONTENT in path:
        return False
    kind = block.get("type")
    words = _PLAIN_TYPES.get(kind) if isinstance(kind, str) else _UNTYPED_WORDS
    return words is not None and not words.issuperset(block)
