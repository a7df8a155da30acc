"""Find the parts of a value that stand for media: bytes inline, links, and files kept at a provider.

Owns the table of what refers to media without carrying it, and `persistence_report`. Knows nothing of stores, and
never opens a link.

Source: Gemini `fileData.fileUri` (https://ai.google.dev/gemini-api/docs/files, 2026-11: gone after 48 hours, bound to
the key's project); OpenAI `file_id`, Anthropic `source.file_id`, Bedrock `s3Location.uri`, LangChain v0 and v1 blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from langchain_core.messages import BaseMessage

from langgraph_portable_checkpoint.media.holes import Path
from langgraph_portable_checkpoint.media.own_records import is_own_record
from langgraph_portable_checkpoint.media.shapes import (
    is_listed,
    listed_part,
    looks_like_a_part,
    native_part,
    says_text,
)
from langgraph_portable_checkpoint.media.slots import PartText
from langgraph_portable_checkpoint.media.walk import children, punch

Kind = Literal["base64", "google_file_uri", "provider_file", "url"]

_REFERRING_KEYS: Final = frozenset(
    {
        "file_id", "fileId", "file_uri", "fileUri", "url", "uri", "image_url", "audio_url", "video_url",
        "document_url", "file_url",
    }
)  # fmt: skip
_PROVIDER_FILE_KEYS: Final = frozenset({"file_id", "fileId"})
_MAX_PATH_CHARS: Final = 2048
_GOOGLE_FILES: Final = "https://generativelanguage.googleapis.com/"
_MIME_KEYS: Final = ("mime_type", "mimeType", "media_type", "mediaType")


class Reference(NamedTuple):
    """One media part that names its bytes instead of carrying them."""

    path: Path
    """Of the URI or id."""
    part: int | None
    """How many steps of `path` lead to the part; None in a channel's own record, which is more than the reference."""
    kind: Kind
    uri: str
    mime_type: str | None
    size_bytes: int | None
    text_stays: bool = False
    """Whether the part has its text all the same, so that only the reference has to go."""

    def removal(self, text: str) -> tuple[Path, Callable[[Any], Any]]:
        """Say what to exchange, and for what, to take the medium away.

        Args:
            text: What takes the place of a part that is nothing but the medium.
        """
        if self.text_stays:
            return self.path[:-1], _without_references
        if self.part is None:
            return self.path, lambda _: text
        return self.path[: self.part], PartText(text)


class MediaPart(NamedTuple):
    """One record of `persistence_report`."""

    kind: Kind
    message: str | int
    """Id of the message, or its position where it has none."""
    mime_type: str | None
    size_bytes: int | None
    """Decoded size of inline bytes; None for what is kept elsewhere."""
    uri: str | None
    """None for inline bytes."""


class PersistenceReport(NamedTuple):
    """What a conversation would take to keep."""

    size_bytes: int
    """Decoded media plus the text of everything else, in UTF-8."""
    messages: int
    media: tuple[MediaPart, ...]


def find_references(value: Any) -> list[Reference]:
    """List the media parts of a value that refer to bytes kept elsewhere, in order."""
    return list(_references(value, (), None, None))


def persistence_report(state: Any) -> PersistenceReport:
    """Measure messages, or a state that holds them, before they are saved.

    Args:
        state: A list of messages, a state's values (a map), or anything that nests them.

    Returns:
        Size, number of messages, and one record per media part. Nothing is stored, changed or opened.
    """
    messages = list(_messages(state))
    media: list[MediaPart] = []
    text_bytes = 0
    for position, message in enumerate(messages):
        value, holes = punch(_fields(message), select=lambda size, mime_type: mime_type is not None, min_bytes=1)
        name = message.id or position
        carried = (hole for hole in holes if hole.kind == "media")
        media += [MediaPart("base64", name, hole.mime_type, hole.size_bytes, None) for hole in carried]
        media += [
            MediaPart(found.kind, name, found.mime_type, found.size_bytes, found.uri)
            for found in find_references(value)
        ]
        text_bytes += _text_size(value)
    return PersistenceReport(
        text_bytes + sum(part.size_bytes or 0 for part in media if part.kind == "base64"), len(messages), tuple(media)
    )


def _fields(message: BaseMessage) -> dict[str, Any]:
    return {name: value for name, value in message.__dict__.items() if value is not None}


def _messages(node: Any) -> Iterator[BaseMessage]:
    if isinstance(node, BaseMessage):
        yield node
        node = node.__dict__
    for _, child in children(node):
        yield from _messages(child)


def _references(node: Any, path: Path, part: int | None, block: Mapping[Any, Any] | None) -> Iterator[Reference]:
    """Yield the references below a node; `block` is the media part around it, `part` the length of its path."""
    if isinstance(node, Mapping) and (is_listed(path) or block is None):
        part, block = _part(node, path)
    for step, child in children(node):
        if block is not None and isinstance(child, str) and _is_referring(step, node, path) and _refers(step, child):
            kind = _kind(step, child)
            text_stays = says_text(native_part(block))
            yield Reference((*path, step), part, kind, child, _mime(node, block), _size(block), text_stays)
        else:
            yield from _references(child, (*path, step), part, block)


def _part(node: Mapping[Any, Any], path: Path) -> tuple[int | None, Mapping[Any, Any] | None]:
    """Say how long the path of the part is that a dict is, and return the part; see `Reference.part`."""
    native = listed_part(node, path)
    if not looks_like_a_part(node, path) and not _is_upload(native, is_listed(path)):
        return None, None
    return None if is_own_record(native, path) else len(path), node


def _is_upload(node: Mapping[Any, Any], listed: bool) -> bool:
    if node.get("type") == "container_upload":
        return True
    file_data = node.get("fileData", node.get("file_data"))
    return isinstance(file_data, Mapping) and (listed or len(node) == 1)


def _is_referring(step: object, node: Mapping[Any, Any], path: Path) -> bool:
    if path[-1:] == ("resource",) and isinstance(node.get("text"), str):
        return False  # MCP's embedded text, which its URI only names
    return step in _REFERRING_KEYS or (step == "id" and node.get("source_type") == "id")


def _without_references(node: Mapping[Any, Any]) -> dict[Any, Any]:
    return {step: child for step, child in node.items() if not _is_referring(step, node, ())}


def _refers(step: object, text: str) -> bool:
    """Say whether a text names a place; one without a scheme may be a path, or in some APIs base64, which is long."""
    if not text or step in _PROVIDER_FILE_KEYS or step == "id":
        return bool(text)
    return text[:5].lower() != "data:" and (":" in text[:64] or len(text) <= _MAX_PATH_CHARS)


def _kind(step: object, uri: str) -> Kind:
    if (step in _PROVIDER_FILE_KEYS or step == "id") and not uri.startswith("https://"):
        return "provider_file"
    return "google_file_uri" if uri.startswith(_GOOGLE_FILES) else "url"


def _mime(*holders: Mapping[Any, Any]) -> str | None:
    found = (holder.get(key) for holder in holders for key in _MIME_KEYS)
    return next((mime_type for mime_type in found if isinstance(mime_type, str)), None)


def _size(block: Mapping[Any, Any]) -> int | None:
    size = block.get("size_bytes")
    return size if type(size) is int and 0 <= size < 2**63 else None


def _text_size(node: Any) -> int:
    if isinstance(node, str):
        return len(node.encode("utf-8", "replace"))
    if isinstance(node, bytes):
        return len(node)
    below = sum(_text_size(child) for _, child in children(node))
    return below + (sum(len(str(key)) for key in node) if isinstance(node, dict) else 0)
