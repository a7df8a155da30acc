"""Envelopes written as OpenTelemetry GenAI messages, each so that the same envelope comes back from it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..envelope.model import Block, MessageEnvelope
from .media_parts import base64_of
from .plain_values import is_everyday, told_as_text

PREFIX: Final = "portable_checkpoint."
MODALITY: Final = {"image": "image", "audio": "audio", "video": "video", "file": "document", "text-plain": "document"}
MESSAGE_KEYS: Final = (
    "id",
    "origin",
    "usage",
    "stop_reason",
    "artifact",
    "typed_by_user",
    "role_detail",
    "created_at",
    "extras",
    "status",
)
"""Keys of an envelope that stand beside the message under `PREFIX`."""
NAME: Final = "otel"
OF_ANSWER: Final = "otel.tool_call_response"
"""Where an envelope keeps what a tool's answer says in keys of its own."""
_EXTRAS: Final = PREFIX + "extras"
_IMPLIED: Final = ((PREFIX + "origin", {"api": "otel"}), (PREFIX + "status", "success"))
"""What reading takes for granted where nothing is said."""
_UNTOLD: Final = ("type", "raw")
_NEEDS: Final = {
    "text": "content",
    "reasoning": "content",
    "thinking": "content",
    "blob": "content",
    "uri": "uri",
    "file": "file_id",
}
"""Types of parts that are none without a text under this key."""
_OTHERS: Final = frozenset(
    {"tool_call", "tool_call_response", "server_tool_call", "server_tool_call_response", "compaction"}
)
Part = dict[str, Any]


def is_part(value: Any) -> bool:
    """True for what the conventions call a part: other forms of messages have parts with the same types."""
    kind = value.get("type") if isinstance(value, Mapping) else None
    if not isinstance(kind, str):
        return False
    return kind in _OTHERS or (kind in _NEEDS and isinstance(value.get(_NEEDS[kind]), str))


def write_message(envelope: MessageEnvelope, parts: list[Part]) -> dict[str, Any]:
    """Spell one envelope as a message, its blocks being spelled already; the same envelope comes back from it."""
    role = envelope["role"]
    message: dict[str, Any] = {"role": envelope.get("role_detail") or role if role == "other" else role}
    message["parts"] = [_answer(envelope, parts)] if role == "tool" else parts
    if envelope.get("name") is not None:
        message["name"] = envelope["name"]
    kept = {PREFIX + key: value for key in MESSAGE_KEYS if (value := envelope.get(key)) is not None}
    for key, implied in _IMPLIED:
        if kept.get(key) == implied:
            del kept[key]
    own = _own_keys(kept, message) if _EXTRAS in kept else {}
    if role == "other":
        kept[PREFIX + "role"] = "other"
    return {**message, **own, **_json(kept)}


def _own_keys(kept: dict[str, Any], message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take out of the extras what a message of this dialect, and a tool's answer in it, had beside our keys."""
    answer = message["parts"][0] if message["role"] == "tool" else {}
    kept[_EXTRAS], beside = _apart(kept[_EXTRAS], OF_ANSWER, answer)
    answer.update(beside)
    kept[_EXTRAS], own = _apart(kept[_EXTRAS], NAME, message)
    if (own or beside) and not kept[_EXTRAS]:
        del kept[_EXTRAS]
    return own


def _apart(extras: Mapping[str, Any], key: str, part: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Part what goes back into a part of this dialect from the rest of the extras."""
    own = extras.get(key)
    if not isinstance(own, Mapping) or not part or not part.keys().isdisjoint(own) or any(PREFIX in one for one in own):
        return extras, {}
    return {name: value for name, value in extras.items() if name != key}, own


def _answer(envelope: MessageEnvelope, parts: list[Part]) -> Part:
    """A tool's answer: plain text as text, anything else as the list of its parts."""
    if len(parts) == 1 and _is_spelled_json(envelope["content"][0]):
        return {
            "type": "tool_call_response",
            "id": envelope.get("tool_call_id"),
            "response": envelope["content"][0]["extras"]["json"],
        }
    plain = len(parts) == 1 and parts[0].keys() == {"type", "content"} and parts[0]["type"] == "text"
    response = parts[0]["content"] if plain else parts
    return {"type": "tool_call_response", "id": envelope.get("tool_call_id"), "response": response}


def _is_spelled_json(block: Block) -> bool:
    """Tell whether a text is what reading gives for an answer that is JSON and neither a text nor parts."""
    extras = block.get("extras")
    if block["type"] != "text" or not isinstance(extras, Mapping) or extras.keys() != {"json"}:
        return False
    value = extras["json"]
    listed = isinstance(value, list) and not all(map(is_part, value))
    plain = listed or isinstance(value, (Mapping, int, float))
    return (
        plain
        and {*block} <= {"type", "text", "extras", "raw"}
        and json.dumps(value, ensure_ascii=False) == block["text"]
    )


def write_part(block: Block) -> Part:
    """Spell one block as a part; one that this dialect could not read stands as it came."""
    if block["type"] == "non_standard" and "raw" in block and block.get("origin", {}).get("api") == NAME:
        return dict(block["raw"])
    writer = _WRITERS.get(block["type"], _write_other)
    part, used = writer(block)
    rest: dict[str, Any] = {
        PREFIX + key: value
        for key, value in block.items()
        if key not in used and key not in _UNTOLD and value is not None
    }
    if isinstance(rest.get(_EXTRAS), Mapping):
        rest[_EXTRAS], own = _apart(rest[_EXTRAS], NAME, part)
        part = {**part, **own}
        if own and not rest[_EXTRAS]:
            del rest[_EXTRAS]
    return {**part, **_json(rest)} if rest else part


def _json(value: dict[str, Any]) -> dict[str, Any]:
    """Return what JSON can hold: bytes, which stand in extras of some providers, as base64."""
    if is_everyday(value):
        return value
    found: dict[str, Any] = json.loads(json.dumps(value, default=told_as_text))
    return found


_Written = tuple[Part, tuple[str, ...]]


def _write_call(block: Block) -> _Written:
    part = {"type": "tool_call", "id": block.get("id"), "name": block.get("name") or "", "arguments": block.get("args")}
    if block["type"] == "invalid_tool_call":
        part[PREFIX + "type"] = block["type"]
    return part, ("id", "name", "args")


def _write_server_call(block: Block) -> _Written:
    name = block.get("name") or "server_tool"
    call = {"type": name, "arguments": block.get("args")}
    return {"type": "server_tool_call", "id": block.get("id"), "name": name, "server_tool_call": call}, (
        "id",
        "name",
        "args",
    )


def _write_server_result(block: Block) -> _Written:
    answer = {"type": block.get("name") or "server_tool", "output": block.get("output"), "status": block.get("status")}
    part = {"type": "server_tool_call_response", "id": block.get("tool_call_id"), "server_tool_call_response": answer}
    return _json(part), ("tool_call_id", "name", "output", "status")


def _write_media(block: Block) -> _Written:
    shape: Part = {"mime_type": block.get("mime_type"), "modality": MODALITY[block["type"]]}
    data = base64_of(block)
    if data is not None:
        return {"type": "blob", **shape, "content": data}, ("mime_type", "base64", "data")
    if block.get("file_id") is not None:
        return {"type": "file", **shape, "file_id": block["file_id"]}, ("mime_type", "file_id")
    if block.get("url") is not None:
        return {"type": "uri", **shape, "uri": block["url"]}, ("mime_type", "url")
    return _write_other(block)


def _write_plain(block: Block) -> _Written:
    if block.get("text") is None:
        part, used = _write_media(block)
        return {**part, PREFIX + "type": "text-plain"}, used
    content = base64.b64encode(block["text"].encode("utf-8", "surrogatepass")).decode()
    part = {"type": "blob", "mime_type": block.get("mime_type") or "text/plain", "modality": "document"}
    return {**part, "content": content, PREFIX + "type": "text-plain"}, ("mime_type", "text")


def _is_compaction(value: Mapping[str, Any]) -> bool:
    return value.get("type") == "compaction" and set(value) <= {"type", "id", "content"}


def _write_other(block: Block) -> _Written:
    """A block that the conventions have no word for, as a JSON document, so that no reader takes it for text."""
    value = block.get("value")
    if block["type"] == "non_standard" and isinstance(value, Mapping) and _is_compaction(value):
        return dict(value), ("value",)
    kept = {key: item for key, item in block.items() if key != "raw"}
    content = base64.b64encode(json.dumps(kept, default=told_as_text).encode()).decode()
    part = {"type": "blob", "mime_type": "application/json", "modality": "document", "content": content}
    return {**part, PREFIX + "type": block["type"]}, tuple(kept)


_WRITERS: Final[Mapping[str, Callable[[Block], _Written]]] = {
    "text": lambda block: ({"type": "text", "content": block["text"]}, ("text",)),
    "reasoning": lambda block: ({"type": "reasoning", "content": block.get("reasoning") or ""}, ("reasoning",)),
    "refusal": lambda block: (
        {"type": "text", "content": block["refusal"], PREFIX + "type": "refusal"},
        ("refusal",),
    ),
    "tool_call": _write_call,
    "invalid_tool_call": _write_call,
    "server_tool_call": _write_server_call,
    "server_tool_result": _write_server_result,
    "text-plain": _write_plain,
    **dict.fromkeys(("image", "audio", "video", "file"), _write_media),
}
