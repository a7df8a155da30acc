"""Rules of Bedrock Converse messages (B1 to B12), checked on any history.

Enums, patterns and lengths are here too: botocore's own validator does not check them.

Source: botocore 1.44 bedrock-runtime service model; server errors as cited per rule.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from ..base import Finding, Rule
from .shapes import Shape, shape, words

MAX_IMAGES: Final = 20
MAX_DOCUMENTS: Final = 5
BLOCK_KEYS: Final = frozenset(
    {
        "text", "image", "document", "video", "audio", "toolUse", "toolResult", "guardContent", "cachePoint",
        "reasoningContent", "citationsContent", "searchResult", "toolAddition", "toolRemoval",
    }
)  # fmt: skip
"""Blocks of messages."""
RESULT_KEYS: Final = frozenset({"json", "text", "image", "document", "video", "searchResult"})
"""Blocks of a toolResult."""
SYSTEM_KEYS: Final = frozenset({"text", "guardContent", "cachePoint"})
"""Blocks of the system parameter."""

RULES: Final = (
    Rule(id="B1", text="messages is not empty", source="server error"),
    Rule(
        id="B2", text="the first message is user", source="server error 'A conversation must start with a user message'"
    ),
    Rule(id="B3", text="user and assistant alternate", source="server error 'A conversation must alternate'"),
    Rule(
        id="B4",
        text="content is a non-empty list of blocks that Converse knows there, system a list; a cachePoint is default, "
        "for 5m or 1h; nothing else has a place",
        source="service model, Message, ToolResultContentBlock, SystemContentBlock, CachePointBlock",
    ),
    Rule(
        id="B5", text="texts are not blank", source="server error 'The text field in the ContentBlock object is blank'"
    ),
    Rule(
        id="B6",
        text="documents stand beside a text, with a plain name; at most 20 images and 5 documents; media in user only, "
        "of a known format, as bytes or from an s3:// URI",
        source="service model, Message documentation, DocumentBlock, ImageBlock, VideoBlock, AudioBlock, S3Uri",
    ),
    Rule(
        id="B7",
        text="toolUse stands in assistant, toolResult in user messages; AWS's own tools' in an assistant message",
        source="service model",
    ),
    Rule(
        id="B8",
        text="every toolUse has its toolResult in the next message",
        source="server error 'Expected toolResult blocks'",
    ),
    Rule(
        id="B9",
        text="every toolResult answers a toolUse of the message before",
        source="server error 'exceeds the number of toolUse blocks'",
    ),
    Rule(
        id="B10", text="toolUseId [a-zA-Z0-9_.:-]{1,64}, name [a-zA-Z0-9_-]{1,64}", source="service model, ToolUseBlock"
    ),
    Rule(id="B11", text="an error result has content; status is success or error", source="aws-samples #15"),
    Rule(
        id="B12",
        text="reasoning has its signature; input and json are documents without NaN and bytes",
        source="service model",
    ),
)

_ID: Final = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_TOOL: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NAME: Final = re.compile(r"[a-zA-Z0-9\-()\[\]]+( [a-zA-Z0-9\-()\[\]]+)*")
_USER_ONLY: Final = ("image", "document", "video", "audio")
S3_URI: Final = re.compile(r"s3://[a-z0-9][.\-a-z0-9]{1,61}[a-z0-9](/.*)?", re.DOTALL)
MEDIA: Final[Mapping[str, Shape]] = {
    "image": shape("format! source! error", format=words("png jpeg gif webp")),
    "document": shape(
        "format name! source! context citations", format=words("pdf csv doc docx xls xlsx html txt md"), context=str
    ),
    "video": shape("format! source!", format=words("mkv mov mp4 webm flv mpeg mpg wmv three_gp")),
    "audio": shape(
        "format! source! error",
        format=words("mp3 opus wav aac flac mp4 ogg mkv mka x-aac m4a mpeg mpga pcm webm"),
    ),
}
"""Media by block. Source: botocore 1.44, bedrock-runtime service model."""
_SOURCE: Final = shape("bytes s3Location", bytes=(bytes, bytearray, str, io.IOBase))
"""Bytes are as boto3 takes them; recordings hold base64 texts in their place."""
_DOCUMENT_SOURCE: Final = shape("bytes s3Location text content", text=str, content=list, **_SOURCE.values)
_PLACE: Final = shape("uri! bucketOwner", uri=str, bucketOwner=str)
_CACHE_POINT: Final = shape("type! ttl", type=words("default"), ttl=words("5m 1h"))


def lint_messages(payload: Any) -> list[Finding]:
    """Return every breach of B1 to B12 in a request, or in a list of messages. Never raises."""
    messages = payload.get("messages") if isinstance(payload, Mapping) else payload
    if not isinstance(messages, list) or not messages:
        return [Finding(rule="B1", path="messages", message="is no non-empty list")]
    found: list[Finding] = []
    for index, message in enumerate(messages):
        found += _message(message, f"messages[{index}]")
    found += _order([_role(message) for message in messages])
    found += _pairs(messages)
    found += _totals(messages)
    if isinstance(payload, Mapping):
        found += _system(payload.get("system"))
    return found


def _system(system: Any) -> Iterator[Finding]:
    if not isinstance(system, (list, type(None))):
        yield Finding(rule="B4", path="system", message="is no list")
    for index, block in enumerate(system if isinstance(system, list) else ()):
        yield from check_block(block, SYSTEM_KEYS, f"system[{index}]")


def check_block(block: Any, keys: frozenset[str], path: str = "") -> Iterator[Finding]:
    """Check that a block is one of those of its place, and its value."""
    if not isinstance(block, Mapping) or len(block) != 1:
        yield Finding(rule="B4", path=path, message="is no block with one key")
        return
    ((key, value),) = block.items()
    if key not in keys:
        yield Finding(rule="B4", path=path, message=f"{key!s:.80} has no place here")
        return
    yield from _value(key, value, f"{path}.{key}")


def _role(message: Any) -> str:
    return str(message.get("role")) if isinstance(message, Mapping) else ""


def _content(message: Any) -> list[Mapping[str, Any]]:
    content = message.get("content") if isinstance(message, Mapping) else None
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def _order(roles: Sequence[str]) -> Iterator[Finding]:
    if roles[0] != "user":
        yield Finding(rule="B2", path="messages[0].role", message="is not user")
    for index, (before, role) in enumerate(pairwise(roles), start=1):
        if before == role:
            yield Finding(rule="B3", path=f"messages[{index}].role", message=f"{role} follows {before}")


def _message(message: Any, path: str) -> Iterator[Finding]:
    if not isinstance(message, Mapping) or message.get("role") not in ("user", "assistant"):
        yield Finding(rule="B3", path=path, message="is no user or assistant message")
        return
    content = message.get("content")
    if not isinstance(content, list) or not content:
        yield Finding(rule="B4", path=f"{path}.content", message="is no non-empty list")
        return
    for index, block in enumerate(content):
        yield from _block(block, message["role"], f"{path}.content[{index}]")
    blocks = _content(message)
    if any("document" in block for block in blocks) and not any("text" in block for block in blocks):
        yield Finding(rule="B6", path=f"{path}.content", message="a document without a text beside it")


def _block(block: Any, role: str, path: str) -> Iterator[Finding]:
    yield from check_block(block, BLOCK_KEYS, path)
    key = next(iter(block), None) if isinstance(block, Mapping) else None
    served = key == "toolResult" and role == "assistant" and _is_served(block[key])
    if (key == "toolUse" and role != "assistant") or (key == "toolResult" and role != "user" and not served):
        yield Finding(rule="B7", path=path, message=f"{key} in a {role} message")
    if key in _USER_ONLY and role != "user":
        yield Finding(rule="B6", path=path, message=f"{key} in a {role} message")


def _is_served(answer: Any) -> bool:
    """True for a result of AWS's own tools, which stands in the assistant message with its call."""
    return isinstance(answer, Mapping) and isinstance(answer.get("type"), str)


def _value(key: str, value: Any, path: str) -> Iterator[Finding]:
    if key in ("text", "json"):
        yield from _text(value, path) if key == "text" else _document(value, path)
    elif not isinstance(value, Mapping):
        yield Finding(rule="B4", path=path, message="is no object")
    elif key in MEDIA:
        yield from _media(key, value, path)
    elif key in _VALUES:
        yield from _VALUES[key](value, path)


def _media(key: str, value: Mapping[str, Any], path: str) -> Iterator[Finding]:
    yield from _misfits("B6", MEDIA[key], value, path)
    if key == "document":
        yield from _document_block(value, path)
    source = value.get("source")
    if "source" not in value:
        return
    yield from _misfits("B6", _DOCUMENT_SOURCE if key == "document" else _SOURCE, source, f"{path}.source")
    if isinstance(source, Mapping) and len(source) != 1:
        yield Finding(rule="B6", path=f"{path}.source", message=f"has {len(source)} sources")
    if isinstance(source, Mapping) and "s3Location" in source:
        yield from _place(source["s3Location"], f"{path}.source.s3Location")


def _place(value: Any, path: str) -> Iterator[Finding]:
    yield from _misfits("B6", _PLACE, value, path)
    uri = value.get("uri") if isinstance(value, Mapping) else None
    if isinstance(uri, str) and not S3_URI.fullmatch(uri):
        yield Finding(rule="B6", path=f"{path}.uri", message=f"{uri!r:.80} is no URI of S3")


def _cache_point(value: Mapping[str, Any], path: str) -> Iterator[Finding]:
    yield from _misfits("B4", _CACHE_POINT, value, path)


def _misfits(rule: str, known: Shape, value: Any, path: str) -> Iterator[Finding]:
    for key, wrong in known.misfits(value):
        yield Finding(rule=rule, path=f"{path}{key}", message=wrong)


def _cited(value: Mapping[str, Any], path: str) -> Iterator[Finding]:
    citations = value.get("citations", [])
    for key, items in (("content", value.get("content", [])), ("citations", citations)):
        if not _are_objects(items):
            yield Finding(rule="B4", path=f"{path}.{key}", message="is no list of objects")
    for at, citation in enumerate(citations if _are_objects(citations) else ()):
        if not _are_objects(citation.get("sourceContent", [])):
            yield Finding(rule="B4", path=f"{path}.citations[{at}].sourceContent", message="is no list of objects")


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in value)


def _text(value: Any, path: str) -> Iterator[Finding]:
    if not isinstance(value, str) or not value.strip():
        yield Finding(rule="B5", path=path, message="is blank")


def _tool_use(value: Mapping[str, Any], path: str) -> Iterator[Finding]:
    for key, pattern in (("toolUseId", _ID), ("name", _TOOL)):
        if not isinstance(value.get(key), str) or not pattern.fullmatch(value[key]):
            yield Finding(rule="B10", path=f"{path}.{key}", message="does not fit")
    if not isinstance(value.get("input"), Mapping):
        yield Finding(rule="B12", path=f"{path}.input", message="is no object")
    else:
        yield from _document(value["input"], f"{path}.input")


def _tool_result(value: Mapping[str, Any], path: str) -> Iterator[Finding]:
    if not isinstance(value.get("toolUseId"), str) or not _ID.fullmatch(value["toolUseId"]):
        yield Finding(rule="B10", path=f"{path}.toolUseId", message="does not fit")
    content, status = value.get("content"), value.get("status")
    if not isinstance(content, list):
        yield Finding(rule="B4", path=f"{path}.content", message="is no list")
        return
    if status not in (None, "success", "error") or (status == "error" and not content):
        yield Finding(rule="B11", path=f"{path}.status", message="is unknown, or an error without content")
    for index, block in enumerate(content):
        yield from check_block(block, RESULT_KEYS, f"{path}.content[{index}]")


def _reasoning(value: Mapping[str, Any], path: str) -> Iterator[Finding]:
    text = value.get("reasoningText")
    if "redactedContent" in value:
        return
    if not isinstance(text, Mapping) or not isinstance(text.get("text"), str) or not text.get("signature"):
        yield Finding(rule="B12", path=path, message="has no text with a signature")


def _document_block(value: Mapping[str, Any], path: str) -> Iterator[Finding]:
    name = value.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > 200:
        yield Finding(rule="B6", path=f"{path}.name", message="is not of letters, digits, single spaces, -()[]")


def _document(value: Any, path: str) -> Iterator[Finding]:
    """Find NaN and bytes in an AWS document, without recursion: it may nest deeply."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, bytes) or (isinstance(item, float) and not math.isfinite(item)):
            yield Finding(rule="B12", path=path, message="holds NaN, an infinity or bytes")
            return
        todo += list(item.values()) if isinstance(item, Mapping) else item if isinstance(item, list) else []


_VALUES: Final[Mapping[str, Callable[[Mapping[str, Any], str], Iterator[Finding]]]] = {
    "toolUse": _tool_use,
    "toolResult": _tool_result,
    "reasoningContent": _reasoning,
    "citationsContent": _cited,
    "cachePoint": _cache_point,
}


def _ids(message: Any, key: str) -> list[str]:
    blocks = (block[key] for block in _content(message) if isinstance(block.get(key), Mapping))
    served = isinstance(message, Mapping) and message.get("role") == "assistant"
    return [str(block.get("toolUseId")) for block in blocks if not (served and _is_served(block))]


def _pairs(messages: Sequence[Any]) -> Iterator[Finding]:
    calls: list[str] = []
    for index, message in enumerate([*messages, None]):
        path, answers = f"messages[{min(index, len(messages) - 1)}].content", _ids(message, "toolResult")
        if set(calls) - set(answers):
            yield Finding(rule="B8", path=path, message=f"{len(set(calls) - set(answers))} calls have no result")
        if len(answers) > len(calls) or set(answers) - set(calls):
            yield Finding(rule="B9", path=path, message="results answer no call of the message before")
        calls = _ids(message, "toolUse")
        if len(set(calls)) < len(calls):
            yield Finding(rule="B10", path=path, message="a toolUseId is used twice")


def _totals(messages: Sequence[Any]) -> Iterator[Finding]:
    blocks = [block for message in messages for block in _content(message)]
    results = [block["toolResult"] for block in blocks if isinstance(block.get("toolResult"), Mapping)]
    blocks += [block for result in results for block in _content(result)]
    for key, most in (("image", MAX_IMAGES), ("document", MAX_DOCUMENTS)):
        count = sum(key in block for block in blocks)
        if count > most:
            yield Finding(rule="B6", path="messages", message=f"{count} blocks of {key}, at most {most}")
