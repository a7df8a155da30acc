"""Which strings and bytes of a value are media: the table of every part shape that carries bytes.

Owns the knowledge of keys and block types. Knows nothing of paths, policies or stores. Being listed here decides
only where bytes are kept, never what a reader gets back, so a wrong guess costs nothing but space.

Source: langchain_core.messages.content (v1 blocks) and its v0 `source_type` blocks; OpenAI chat and responses parts,
Anthropic image and document sources, Gemini inline_data, Bedrock converse blocks, Mistral chunks, MCP contents (each
provider's API reference, 2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from langgraph_portable_checkpoint.envelope.media_types import OCTET_STREAM, may_be_chance, sniff
from langgraph_portable_checkpoint.media.encodings import Encoded, head, measure
from langgraph_portable_checkpoint.media.own_records import is_own_record

UNNAMED_MIN_BYTES: Final = 128
"""A string that no block announces must hold at least this much to be taken for a file by its first bytes."""

_MIME: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")

_BYTES_KEYS: Final = frozenset({"base64", "data", "bytes", "blob", "file_data", "b64_json"})
URL_KEYS: Final = frozenset(
    {"url", "uri", "image_url", "audio_url", "video_url", "document_url", "file_url", "file_data", "data"}
)
_PART_KEYS: Final = frozenset({"input_audio"})
_OPAQUE_KEYS: Final = frozenset(
    {
        "redacted_content", "redactedContent", "redacted_data", "signature", "thought_signature", "thoughtSignature",
        "encrypted_content",
    }
)  # fmt: skip
_ANNOUNCING_KEYS: Final = frozenset(
    {"mime_type", "mimeType", "media_type", "mediaType", "source_type", "transcript", "filename"}
)
_ANNOUNCING_PARENTS: Final = frozenset({"inline_data", "inlineData", "source", "input_audio", "audio", "file"})
_MIME_KEYS: Final = ("mime_type", "mimeType", "media_type", "mediaType")
_TEXT_SOURCES: Final = frozenset({"text", "content", "url"})

MEDIA_PART_TYPES: Final = frozenset(
    {
        "image", "image_url", "input_image", "audio", "audio_url", "input_audio", "output_audio", "video",
        "video_url", "input_video", "file", "input_file", "document", "document_url", "media", "text-plain",
        "image_generation_call", "computer_screenshot", "resource", "resource_link",
    }
)  # fmt: skip
_TEXT_PART_TYPES: Final = frozenset({"text-plain", "file", "document"})
_UNTYPED_PART_KEYS: Final = frozenset({"inline_data", "inlineData", "image", "audio", "video", "document"})
_SOURCE_TYPE: Final = "base64"
"""Type of an Anthropic source that stands without its block."""

_FORMATS: Final = {
    "png": "image/png", "jpeg": "image/jpeg", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
    "wav": "audio/wav", "mp3": "audio/mpeg", "flac": "audio/flac", "opus": "audio/opus", "pcm16": "audio/pcm",
    "aac": "audio/aac", "ogg": "audio/ogg", "mp4": "video/mp4", "mov": "video/quicktime", "mkv": "video/x-matroska",
    "webm": "video/webm", "mpeg": "video/mpeg", "pdf": "application/pdf", "csv": "text/csv", "html": "text/html",
    "txt": "text/plain", "md": "text/markdown", "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}  # fmt: skip

Enclosing = Sequence[tuple[str, Mapping[Any, Any]]]
"""The dicts around a leaf, outermost first, each with the key that leads on towards the leaf."""


class Found(NamedTuple):
    """A leaf that is media: how it is encoded, what it is, and whether a block announced it."""

    encoded: Encoded
    mime_type: str | None
    """None for bytes that nothing names: they are some channel's own data rather than a media part."""
    named: bool


def recognise(leaf: str | bytes, enclosing: Enclosing, *, min_bytes: int) -> Found | None:
    """Say whether a leaf is media, looking at its first bytes only; `encodings.decode` has the last word.

    Args:
        leaf: The string or bytes.
        enclosing: The dicts around it; see `Enclosing`.
        min_bytes: Smaller leaves are not media.
    """
    encoded = measure(leaf)
    if encoded.size_bytes < max(min_bytes, 1):
        return None
    named = is_named(encoded, enclosing)
    if not named and encoded.encoding.startswith("base64") and encoded.size_bytes < UNNAMED_MIN_BYTES:
        return None
    first = head(leaf, encoded)
    seen = sniff(first) if first else None
    if not seen and named and _may_be_a_word(encoded, enclosing):
        return None
    unsure = not seen or (encoded.encoding.startswith("base64") and may_be_chance(first))
    if unsure and (_is_opaque(enclosing) or (seen and not named)):
        return None
    if named:
        return Found(encoded, _type(declared_type(encoded.prefix, enclosing), seen), True) if first else None
    if encoded.encoding == "data-url":
        return Found(encoded, _type(declared_type(encoded.prefix, ()), seen), False) if first else None
    return Found(encoded, seen, False) if seen or encoded.encoding == "bytes" else None


def _type(declared: str | None, seen: str | None) -> str:
    """Name the type that was declared, or that the bytes are of where that says nothing."""
    return declared if declared not in (None, OCTET_STREAM) else seen or OCTET_STREAM


def _is_opaque(enclosing: Enclosing) -> bool:
    """Say whether a leaf is what a provider sealed and wants back as it is; a file under such a key is a file."""
    return bool(enclosing) and enclosing[-1][0] in _OPAQUE_KEYS


def is_media_part(block: Mapping[Any, Any]) -> bool:
    """Say whether a list element is a part that stands for one medium, so that a placeholder may replace it whole."""
    kind = block.get("type")
    if isinstance(kind, str):
        return kind in MEDIA_PART_TYPES
    return any(isinstance(block.get(key), Mapping) for key in _UNTYPED_PART_KEYS)


def says_text(block: Mapping[Any, Any]) -> bool:
    """Say whether a part is a text that also says where it was found."""
    return _word(block, "type") in _TEXT_PART_TYPES and bool(_word(block, "text"))


def native_part(block: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return what a list element is, or wraps as LangChain wraps what it has no word for."""
    inner = block.get("value") if block.get("type") == "non_standard" else None
    return inner if isinstance(inner, Mapping) else block


def stands_for_a_part(block: Mapping[Any, Any], path: Sequence[object]) -> bool:
    """Say whether a placeholder may replace a dict whole, also where it is no list's element.

    Args:
        block: The dict.
        path: Where it stands.
    """
    return looks_like_a_part(block, path) and not is_own_record(listed_part(block, path), path)


def looks_like_a_part(block: Mapping[Any, Any], path: Sequence[object]) -> bool:
    """Say whether a dict has the shape of a part.

    What has no type is a part by its place: only in a list is `{"image": ...}` one, elsewhere it may be a call's
    arguments, unless it can be nothing else.
    """
    if is_listed(path):
        return is_media_part(native_part(block))
    if isinstance(block.get("type"), str):
        return block["type"] == _SOURCE_TYPE or is_media_part(block)
    [(key, inner), *more] = block.items() or [(None, None)]
    return not more and key in _UNTYPED_PART_KEYS and isinstance(inner, Mapping) and _is_source(inner)


def listed_part(block: Mapping[Any, Any], path: Sequence[object]) -> Mapping[Any, Any]:
    """Return the part that a dict is, or wraps where it is a list's element."""
    return native_part(block) if is_listed(path) else block


def is_listed(path: Sequence[object]) -> bool:
    """Say whether a path leads to an element of a list."""
    return bool(path) and isinstance(path[-1], int)


def part_around(path: Sequence[object], enclosing: Enclosing) -> int | None:
    """Say how many steps of a leaf's path lead to the outermost part around it; None where no part is around it."""
    first = len(path) - len(enclosing)
    for depth, (_, block) in enumerate(enclosing, start=first):
        if stands_for_a_part(block, path[:depth]):
            return depth
    return None


def is_named(encoded: Encoded, enclosing: Enclosing) -> bool:
    """Tell whether a leaf stands where parts have their media, so that the whole part stands for it."""
    if not enclosing:
        return False
    key, holder = enclosing[-1]
    parent = enclosing[-2][0] if len(enclosing) > 1 else ""
    if encoded.encoding == "data-url":
        return key in URL_KEYS
    if key in _PART_KEYS or (key == "result" and holder.get("type") == "image_generation_call"):
        return True
    if key not in _BYTES_KEYS or not _TEXT_SOURCES.isdisjoint((_word(holder, "type"), _word(holder, "source_type"))):
        return False
    announced = not _ANNOUNCING_KEYS.isdisjoint(holder) or _word(holder, "format") in _FORMATS
    return announced or parent in _ANNOUNCING_PARENTS or is_media_part(holder)


def _may_be_a_word(encoded: Encoded, enclosing: Enclosing) -> bool:
    """Tell a short text that may be a word: in a call's arguments or a channel's own dict, "data" may hold one."""
    short = encoded.encoding.startswith("base64") and encoded.size_bytes < UNNAMED_MIN_BYTES
    return short and not any(stands_for_a_part(block, (0,)) for _, block in enclosing)


def declared_type(prefix: str, enclosing: Enclosing) -> str | None:
    """Name the mime type that a data URL's prefix declares, or else the innermost dict that declares one."""
    if prefix:
        return _mime(prefix[5:].split(";", 1)[0])
    for _, holder in reversed(enclosing):
        for key in _MIME_KEYS:
            if mime_type := _mime(holder.get(key)):
                return mime_type
        if mime_type := _FORMATS.get(_word(holder, "format")):
            return mime_type
    return None


def _is_source(inner: Mapping[Any, Any]) -> bool:
    return "type" not in inner and ("source" in inner or not inner.keys().isdisjoint(_MIME_KEYS))


def _word(holder: Mapping[Any, Any], key: str) -> str:
    """Read a word that may be anything: a schema may have a list of types."""
    word = holder.get(key)
    return word if isinstance(word, str) else ""


def _mime(declared: object) -> str | None:
    """Take a declared mime type only where it is one: it ends up in file names and reports."""
    lowered = declared.split(";", 1)[0].strip().lower() if isinstance(declared, str) else ""
    return lowered if _MIME.fullmatch(lowered) else None
