"""What the tools of MCP servers give, as Codex records it, read as neutral blocks: texts, media, resources.

Knows nothing of items and events. What has no neutral place is kept as it came, under an origin of Codex's own, so that
no provider is sent it. Pure.

Source: Model Context Protocol 2025-06-18, ContentBlock; codex-rs exec_events (McpToolCallItemResult).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ...envelope.model import Block, Origin

OWN: Final[Origin] = {"provider": "openai", "api": "codex"}
"""Origin of what Codex alone knows."""
_KINDS: Final = ("image", "audio", "video")


def read_content(content: Any) -> Iterator[Block]:
    """Yield the blocks of a result's content: a list of parts, or a text."""
    if isinstance(content, str):
        yield {"type": "text", "text": content}
        return
    for part in content if isinstance(content, list) else ():
        yield read_part(part)


def read_part(part: Any) -> Block:
    """Read one part; one of unknown type is kept as it came."""
    read = _READERS.get(str(part.get("type"))) if isinstance(part, Mapping) else None
    block = read(part) if read else None
    return block if block is not None else {"type": "non_standard", "value": part, "origin": {**OWN}}


def as_text(value: Any) -> Block:
    """Return the text of a value that is no text: its JSON."""
    return {"type": "text", "text": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}


def medium(kind: str, encoded: str, mime_type: Any) -> Block:
    """Make a media block of base64, or of a URL with its data in it."""
    head, comma, data = encoded[5:].partition(",")
    if encoded.startswith("data:") and comma and head.endswith(";base64"):
        encoded, mime_type = data, head.removesuffix(";base64")
    elif "://" in encoded[:20]:
        return _typed({"type": kind, "url": encoded}, mime_type)
    return _typed({"type": kind, "base64": encoded}, mime_type)


def with_rest(block: Block, native: Mapping[str, Any], *used: str) -> Block:
    """Keep what a native object says beside the keys that were read under the extras of its block."""
    rest = {key: value for key, value in native.items() if value is not None and key not in used}
    if rest:
        block["extras"] = {**rest, **block.get("extras", {})}
    return block


def _typed(block: Block, mime_type: Any) -> Block:
    return {**block, "mime_type": mime_type} if isinstance(mime_type, str) and mime_type else block


def _text(part: Mapping[str, Any]) -> Block | None:
    if not isinstance(part.get("text"), str):
        return None
    return with_rest({"type": "text", "text": part["text"]}, part, "type", "text")


def _medium(part: Mapping[str, Any]) -> Block | None:
    if not isinstance(part.get("data"), str):
        return None
    mime_type = part.get("mimeType") or part.get("mime_type")
    block = medium(part["type"], part["data"], mime_type)
    return with_rest(block, part, "type", "data", "mimeType", "mime_type")


def _resource(part: Mapping[str, Any]) -> Block | None:
    """Read an embedded resource: a text, or a medium of the kind that its type tells."""
    held = part.get("resource")
    if not isinstance(held, Mapping):
        return None
    mime_type, uri = held.get("mimeType"), held.get("uri")
    if isinstance(held.get("text"), str):
        return with_rest({"type": "text", "text": held["text"]}, {**held, **part}, "type", "resource", "text")
    if not isinstance(held.get("blob"), str):
        return None
    kind = str(mime_type).partition("/")[0]
    block = medium(kind if kind in _KINDS else "file", held["blob"], mime_type)
    if block["type"] == "file" and isinstance(uri, str) and (name := uri.rpartition("/")[2]):
        block["filename"] = name
    return with_rest(block, {**held, **part}, "type", "resource", "blob", "mimeType")


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Block | None]]] = {
    "text": _text,
    "input_text": _text,
    "image": _medium,
    "audio": _medium,
    "resource": _resource,
    "resource_link": as_text,
}
