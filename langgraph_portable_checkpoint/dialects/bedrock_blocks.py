"""Bedrock Converse content blocks: one native block to one neutral block, and back.

Bytes are bytes on both sides, as boto3 wants them; base64 texts, which recordings hold in their place, are decoded on
reading. Every block keeps its native form under `raw`.

Source: botocore 1.44 bedrock-runtime service model, ContentBlock and ToolResultContentBlock; rules B6, B10, B12.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ..envelope.model import Block
from .arguments import read_object_call
from .beside import word_of
from .lint.bedrock import S3_URI
from .media_parts import bytes_of
from .number_limits import made_of_json
from .problems import MAX_DEPTH

Native = dict[str, Any]

IMAGE_FORMATS: Final = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
DOCUMENT_FORMATS: Final = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
}
VIDEO_FORMATS: Final = {
    "video/x-matroska": "mkv",
    "video/quicktime": "mov",
    "video/mp4": "mp4",
    "video/webm": "webm",
    "video/x-flv": "flv",
    "video/mpeg": "mpeg",
    "video/x-ms-wmv": "wmv",
    "video/3gpp": "three_gp",
}
AUDIO_FORMATS: Final = {
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/opus": "opus",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/ogg": "ogg",
    "audio/mp4": "m4a",
    "audio/webm": "webm",
    "audio/x-aac": "x-aac",
    "audio/x-matroska": "mka",
    "audio/pcm": "pcm",
}
_SAME_FORMATS: Final = {
    ("video", "mpg"): "video/mpeg",
    ("audio", "mp4"): "audio/mp4",
    ("audio", "mpeg"): "audio/mpeg",
    ("audio", "mpga"): "audio/mpeg",
    ("audio", "mkv"): "audio/x-matroska",
}
"""Other names that Converse has for a format."""
FORMATS: Final[Mapping[str, Mapping[str, str]]] = {
    "image": IMAGE_FORMATS,
    "file": DOCUMENT_FORMATS,
    "video": VIDEO_FORMATS,
    "audio": AUDIO_FORMATS,
}
_NATIVE_KEYS: Final = {"image": "image", "document": "file", "video": "video", "audio": "audio"}
_KEY_OF: Final = {kind: key for key, kind in _NATIVE_KEYS.items()}
_BAD_NAME: Final = re.compile(r"[^a-zA-Z0-9\-()\[\] ]+")


_BYTES: Final = ("bytes", "redactedContent")


def with_bytes(native: Any) -> Any:
    """Return a native block with base64 texts in the places of bytes decoded; what is not base64 stays."""
    if isinstance(native, list):
        return [with_bytes(item) for item in native]
    if not isinstance(native, dict):
        return native
    return {
        key: value if isinstance(value, str) and key not in _BYTES else _decoded(key, value)
        for key, value in native.items()
    }


def _decoded(key: str, value: Any) -> Any:
    if key in _BYTES and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            return value
    return value if key in ("input", "json") else with_bytes(value)


def block_of(native: Mapping[str, Any]) -> Block:
    """Read one content block that is not a tool result; one of unknown shape becomes non_standard."""
    if len(native) == 1 and isinstance(native.get("text"), str):
        return {"type": "text", "text": native["text"], "raw": {**native}}
    native = with_bytes(dict(native))
    key = next(iter(native), "") if len(native) == 1 else ""
    reader = _READERS.get(key)
    block = reader(native[key]) if reader else None
    if block is None:
        block = {"type": "non_standard", "value": native}
    block["raw"] = native
    return block


def _text(value: Any) -> Block | None:
    return {"type": "text", "text": value} if isinstance(value, str) else None


def _json(value: Any) -> Block | None:
    if not made_of_json([value], MAX_DEPTH):
        return None
    return {"type": "text", "text": json.dumps(value, ensure_ascii=False), "extras": {"json": value}}


def _search_result(value: Any) -> Block | None:
    """Read a search result as the text that a model reads of it."""
    if not isinstance(value, (dict, Mapping)) or not isinstance(value.get("content"), list):
        return None
    head = [value[key] for key in ("title", "source") if isinstance(value.get(key), str)]
    texts = [part["text"] for part in value["content"] if isinstance(part, (dict, Mapping)) and _is_text(part)]
    return {"type": "text", "text": "\n".join([*head, *texts]), "extras": {"searchResult": dict(value)}}


def _guarded(value: Any) -> Block | None:
    """Read a text that is there for a guardrail to check."""
    text = value.get("text") if isinstance(value, (dict, Mapping)) else None
    if not isinstance(text, (dict, Mapping)) or not isinstance(text.get("text"), str):
        return None
    return {"type": "text", "text": text["text"], "extras": {"guardContent": dict(value)}}


def _tool_use(value: Any) -> Block | None:
    if not isinstance(value, (dict, Mapping)) or not isinstance(value.get("name"), str):
        return None
    args, call_id = value.get("input", {}), value.get("toolUseId")
    block = read_object_call(args, call_id=call_id, name=value["name"])
    if value.get("type") == "server_tool_use":
        block = {"type": "server_tool_call", "id": call_id, "name": value["name"], "args": args}
    if not isinstance(call_id, str):
        del block["id"]
    return block


def _server_result(value: Any) -> Block | None:
    """Read a result of AWS's own tools, which has a type and stands behind its call; those of clients are messages."""
    if not isinstance(value, (dict, Mapping)) or not isinstance(value.get("type"), str):
        return None
    return {
        "type": "server_tool_result",
        "tool_call_id": value.get("toolUseId"),
        "status": "error" if value.get("status") == "error" else "success",
        "output": value.get("content"),
        "extras": {"block_type": value["type"]},
    }


def _reasoning(value: Any) -> Block | None:
    if not isinstance(value, (dict, Mapping)):
        return None
    text, redacted = value.get("reasoningText"), value.get("redactedContent")
    if isinstance(text, (dict, Mapping)) and isinstance(text.get("text"), str):
        block: Block = {"type": "reasoning", "reasoning": text["text"]}
        if text.get("signature"):
            block["extras"] = {"signature": text["signature"]}
        return block
    if isinstance(redacted, bytes):
        return {
            "type": "reasoning",
            "reasoning": "",
            "extras": {"redacted_data": base64.b64encode(redacted).decode()},
        }
    return None


def _citations(value: Any) -> Block | None:
    """Read a text that cites: its text, and each citation as an annotation with the native one inside."""
    if not isinstance(value, (dict, Mapping)) or not isinstance(value.get("content", []), list):
        return None
    texts = [part["text"] for part in value.get("content", []) if isinstance(part, (dict, Mapping)) and _is_text(part)]
    notes = [citation for citation in _listed(value.get("citations")) if isinstance(citation, (dict, Mapping))]
    return {"type": "text", "text": "".join(texts), "annotations": [_citation(note) for note in notes]}


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _is_text(part: Mapping[str, Any]) -> bool:
    return isinstance(part.get("text"), str)


def _citation(note: Mapping[str, Any]) -> dict[str, Any]:
    quotes = [
        part["text"]
        for part in _listed(note.get("sourceContent"))
        if isinstance(part, (dict, Mapping)) and _is_text(part)
    ]
    found: dict[str, Any] = {"type": "citation", "extras": {"bedrock": dict(note)}}
    if isinstance(note.get("title"), str):
        found["title"] = note["title"]
    return found | ({"cited_text": "".join(quotes)} if quotes else {})


def _media(kind: str, value: Any) -> Block | None:
    if not isinstance(value, (dict, Mapping)) or not isinstance(value.get("source"), (dict, Mapping)):
        return None
    source, native_format = value["source"], value.get("format")
    block: Block = {"type": kind}
    mime_type = _mime_type(kind, native_format)
    if mime_type:
        block["mime_type"] = mime_type
    if isinstance(value.get("name"), str):
        block["filename"] = value["name"]
    extras = {key: value[key] for key in ("context", "citations", "error") if value.get(key) is not None}
    if extras:
        block["extras"] = extras
    return block if _take_source(block, source) else None


def _mime_type(kind: str, native_format: Any) -> str | None:
    known = next((mime for mime, known in FORMATS[kind].items() if known == native_format), None)
    return known or _SAME_FORMATS.get((kind, str(native_format)))


def _take_source(block: Block, source: Mapping[str, Any]) -> bool:
    place = source.get("s3Location")
    if isinstance(source.get("bytes"), bytes):
        block["data"] = source["bytes"]
    elif isinstance(place, (dict, Mapping)) and isinstance(place.get("uri"), str):
        block["url"] = place["uri"]
        if place.get("bucketOwner"):
            block.setdefault("extras", {})["bucketOwner"] = place["bucketOwner"]
    elif isinstance(source.get("text"), str):
        block.update({"type": "text-plain", "text": source["text"], "mime_type": block.get("mime_type", "text/plain")})
    else:
        return False
    return True


_READERS: Final[Mapping[str, Callable[[Any], Block | None]]] = {
    "text": _text,
    "json": _json,
    "toolUse": _tool_use,
    "toolResult": _server_result,
    "reasoningContent": _reasoning,
    "citationsContent": _citations,
    "searchResult": _search_result,
    "guardContent": _guarded,
    "image": lambda value: _media("image", value),
    "document": lambda value: _media("file", value),
    "video": lambda value: _media("video", value),
    "audio": lambda value: _media("audio", value),
}


KEYS: Final = frozenset({*_READERS, "cachePoint", "guard_content"})
"""Keys that tell what a content block is."""


def native_block(block: Block) -> Native | None:
    """Spell one block natively; None where Converse cannot say it. Media names are the caller's."""
    writer = _WRITERS.get(block["type"])
    return writer(block) if writer else None


def _write_text(block: Block) -> Native:
    """Spell a text; one that was read from another form goes back in that form, if it still says the same."""
    for key, value in (block.get("extras") or {}).items():
        reader = _READERS.get(key) if key in ("json", "searchResult", "guardContent") else None
        again = reader(value) if reader else None
        if again is not None and again.get("text") == block["text"]:
            return {key: value}
    return {"text": block["text"]}


def _write_call(block: Block) -> Native:
    fields = {"toolUseId": block.get("id"), "name": block.get("name"), "input": block.get("args")}
    return {"toolUse": fields | ({"type": "server_tool_use"} if block["type"] == "server_tool_call" else {})}


def _write_server_result(block: Block) -> Native:
    kind = (block.get("extras") or {}).get("block_type")
    answer = {"toolUseId": block.get("tool_call_id"), "content": block.get("output"), "type": kind}
    return {"toolResult": answer | ({"status": "error"} if block.get("status") == "error" else {})}


def _write_reasoning(block: Block) -> Native | None:
    extras = block.get("extras") or {}
    redacted = extras.get("redacted_data")
    if redacted:
        try:
            data = redacted if isinstance(redacted, bytes) else base64.b64decode(redacted, validate=True)
            return {"reasoningContent": {"redactedContent": data}}
        except (binascii.Error, ValueError, TypeError):
            return None
    fields = {"text": block.get("reasoning") or ""}
    return {
        "reasoningContent": {
            "reasoningText": fields | ({"signature": extras["signature"]} if "signature" in extras else {})
        }
    }


def _write_media(block: Block) -> Native | None:
    kind = "file" if block["type"] == "text-plain" else block["type"]
    native_format = FORMATS[kind].get(block.get("mime_type") or "")
    source = _source(block)
    if source is None or (native_format is None and kind != "file"):
        return None
    fields: Native = {"format": native_format} if native_format else {}
    if kind == "file":
        fields["name"] = document_name(block.get("filename") or word_of(block, "title") or "document")
        context, citations = word_of(block, "context"), (block.get("extras") or {}).get("citations")
        fields |= ({"context": context} if context else {}) | ({"citations": citations} if citations else {})
    return {_KEY_OF[kind]: {**fields, "source": source}}


def _source(block: Block) -> Native | None:
    if block.get("text") is not None:
        return {"bytes": block["text"].encode()} if block["text"] else None
    url = block.get("url") or ""
    if S3_URI.fullmatch(url):
        owner = (block.get("extras") or {}).get("bucketOwner")
        return {"s3Location": {"uri": url} | ({"bucketOwner": owner} if owner else {})}
    data = bytes_of(block)
    return {"bytes": data} if data else None


def document_name(name: str) -> str:
    """Make a document name of letters, digits, single spaces and -()[], at most 200 characters (B6).

    >>> document_name("Q3 report_final.pdf")
    'Q3 report final pdf'
    """
    return " ".join(_BAD_NAME.sub(" ", name).split())[:200].strip() or "document"


_WRITERS: Final[Mapping[str, Callable[[Block], Native | None]]] = {
    "text": _write_text,
    "reasoning": _write_reasoning,
    "tool_call": _write_call,
    "server_tool_call": _write_call,
    "server_tool_result": _write_server_result,
    "image": _write_media,
    "audio": _write_media,
    "video": _write_media,
    "file": _write_media,
    "text-plain": _write_media,
}
