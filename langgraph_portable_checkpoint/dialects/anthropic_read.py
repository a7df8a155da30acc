"""Anthropic messages read as envelopes: one per tool result, one for the rest of each message.

Keys without a neutral place stay under `extras["anthropic"]` of the message or block. Content that was a plain text has
no raw, a block of a list has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ..envelope.model import ENVELOPE_VERSION, Block, MessageEnvelope, Origin, Role
from ..envelope.natives.anthropic import PART_BREAK
from .arguments import read_object_call
from .beside import keep_beside
from .number_limits import made_of_json
from .problems import MAX_DEPTH, Problems

NAME: Final = "anthropic"
API: Final = "messages"
_READ_KEYS: Final = frozenset({"role", "content"})
_OF_RESPONSES: Final = frozenset(
    {"id", "type", "model", "stop_reason", "stop_sequence", "stop_details", "usage", "container", "context_management"}
)
"""What a response says of itself. Source: anthropic 2.14, message.py and beta_message.py."""
_RESULT_KEYS: Final = frozenset({"type", "tool_use_id", "content"})
_CITATION_KEYS: Final[Mapping[str, str]] = {
    "cited_text": "cited_text",
    "title": "title",
    "document_title": "title",
    "url": "url",
}


def read_system(system: Any, *, origin: Origin, problems: Problems) -> list[MessageEnvelope]:
    """Read the `system` parameter: a text or a list of text blocks, as one system message."""
    plain = isinstance(system, str) or made_of_json(system, MAX_DEPTH) or problems.plain(system, "system")
    if system is None or not plain:
        return []
    content = list(read_content(system, "system", problems))
    return [{"v": ENVELOPE_VERSION, "role": "system", "content": content, "origin": origin}]


def read_message(native: Any, path: str, *, origin: Origin, problems: Problems) -> list[MessageEnvelope]:
    """Read one message; several envelopes where it holds tool results."""
    message = problems.plain_mapping(native, path)
    if message is None:
        return []
    role = message.get("role")
    if role not in ("user", "assistant", "system"):
        problems.add(f"{path}.role", f"{role!r} is neither user, assistant nor system")
        return []
    if "content" not in message:
        problems.add(f"{path}.content", "is missing")
        return []
    if message.get("type") == "message" and isinstance(message.get("model"), str):
        origin = {**origin, "model": message["model"]}
    envelopes = list(_envelopes(message["content"], role, path, origin=origin, problems=problems))
    if not message.keys() <= _READ_KEYS:
        _keep_of_message(envelopes, message)
    for envelope in envelopes[1:]:
        envelope["extras"] = {**envelope.get("extras", {}), "joined": True}
    return envelopes


def _keep_of_message(envelopes: list[MessageEnvelope], message: Mapping[str, Any]) -> None:
    """Keep what a message says in keys of its own with the first of its envelopes that is no result, else with that."""
    known = _READ_KEYS | _OF_RESPONSES if message.get("type") == "message" else _READ_KEYS
    rest = {key: value for key, value in message.items() if key not in known}
    plain = [envelope for envelope in envelopes if envelope["role"] != "tool"]
    if rest and envelopes:
        first = (plain or envelopes)[0]
        rest = rest if plain else {f"message.{key}": value for key, value in rest.items()}
        extras = first.get("extras", {})
        first["extras"] = {**extras, NAME: {**rest, **extras.get(NAME, {})}}


def _envelopes(content: Any, role: Role, path: str, *, origin: Origin, problems: Problems) -> Iterator[MessageEnvelope]:
    """Cut content at its tool results."""
    rest: list[Block] = []
    results = False
    natives = content if isinstance(content, list) else [content]
    for at, native in enumerate(natives):
        if isinstance(native, (dict, Mapping)) and native.get("type") == "tool_result":
            if rest:
                yield {"v": ENVELOPE_VERSION, "role": role, "content": rest, "origin": origin}
                rest = []
            results = True
            yield _result(native, f"{path}.content[{at}]", origin=origin, problems=problems)
        else:
            where = f"{path}.content[{at}]" if isinstance(content, list) else f"{path}.content"
            rest.extend(_block(native, where, problems))
    if rest or not results:
        envelope: MessageEnvelope = {"v": ENVELOPE_VERSION, "role": role, "content": rest, "origin": origin}
        yield envelope


def _result(native: Mapping[str, Any], path: str, *, origin: Origin, problems: Problems) -> MessageEnvelope:
    if not isinstance(native.get("tool_use_id"), str):
        problems.add(f"{path}.tool_use_id", "is missing or not a text")
    content = native.get("content")
    extras = {key: value for key, value in native.items() if key not in _RESULT_KEYS}
    if extras.get("is_error") is True:
        del extras["is_error"]
    if content == "" or content == []:
        extras["content"] = content
        content = None
    envelope: MessageEnvelope = {
        "v": ENVELOPE_VERSION,
        "role": "tool",
        "content": list(read_content(content, f"{path}.content", problems)) if content is not None else [],
        "tool_call_id": native.get("tool_use_id"),
        "status": "error" if native.get("is_error") is True else "success",
        "origin": origin,
    }
    if extras:
        envelope["extras"] = {NAME: extras}
    return envelope


def read_content(content: Any, path: str, problems: Problems) -> Iterator[Block]:
    """Read a text or a list of blocks."""
    if not isinstance(content, list):
        yield from _block(content, path, problems)
        return
    for at, native in enumerate(content):
        yield from _block(native, f"{path}[{at}]", problems)


def _block(native: Any, path: str, problems: Problems) -> Iterator[Block]:
    if isinstance(native, str):
        yield {"type": "text", "text": native}
        return
    found = problems.mapping(native, path)
    if found is None:
        return
    kind = found.get("type")
    if not isinstance(kind, str):
        problems.add(f"{path}.type", "is missing")
        return
    read = READERS.get(kind) or (_server_result if kind.endswith("_tool_result") else None)
    block = read(found) if read else None
    if block is None and kind == "tool_use":
        problems.add(path, "a tool_use needs an id and a name, as texts")
    block = block or {"type": "non_standard", "value": native}
    keep_beside(block, found)
    block["raw"] = native
    if found.get("cache_control") is not None:
        block["cache_hint"] = found["cache_control"]
    yield block


def _text(native: Mapping[str, Any]) -> Block | None:
    if not isinstance(native.get("text"), str):
        return None
    block: Block = {"type": "text", "text": native["text"]}
    citations = native.get("citations")
    if isinstance(citations, list) and citations:
        block["annotations"] = [_citation(citation) for citation in citations if isinstance(citation, (dict, Mapping))]
    return block


def _citation(native: Mapping[str, Any]) -> dict[str, Any]:
    """Read a citation in LangChain's v1 shape; what has no place there stays under its extras."""
    citation: dict[str, Any] = {"type": "citation"}
    extras = {}
    for key, value in native.items():
        neutral = _CITATION_KEYS.get(key)
        if neutral and isinstance(value, str):
            citation[neutral] = value
        elif value is not None:
            extras[key] = value
    return {**citation, "extras": extras}


def _thinking(native: Mapping[str, Any]) -> Block | None:
    if not isinstance(native.get("thinking"), str):
        return None
    block: Block = {"type": "reasoning", "reasoning": native["thinking"]}
    if native.get("signature") is not None:
        block["extras"] = {"signature": native["signature"]}
    return block


def _redacted(native: Mapping[str, Any]) -> Block | None:
    return {"type": "reasoning", "reasoning": "", "extras": {"redacted_data": native.get("data")}}


def _tool_use(native: Mapping[str, Any]) -> Block | None:
    if not isinstance(native.get("id"), str) or not isinstance(native.get("name"), str):
        return None
    return read_object_call(native.get("input"), call_id=native["id"], name=native["name"])


def _server_use(native: Mapping[str, Any]) -> Block | None:
    extras = {"block_type": native["type"]}
    if "server_name" in native:
        extras["server_name"] = native["server_name"]
    return {
        "type": "server_tool_call",
        "id": _text_or_none(native.get("id")),
        "name": _text_or_none(native.get("name")),
        "args": native.get("input"),
        "extras": extras,
    }


def _server_result(native: Mapping[str, Any]) -> Block | None:
    content = native.get("content")
    failed = native.get("is_error") is True or (
        isinstance(content, (dict, Mapping)) and str(content.get("type")).endswith("_error")
    )
    return {
        "type": "server_tool_result",
        "tool_call_id": _text_or_none(native.get("tool_use_id")),
        "status": "error" if failed else "success",
        "output": content,
        "extras": {"block_type": native["type"]},
    }


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _image(native: Mapping[str, Any]) -> Block | None:
    return _media("image", native)


def _document(native: Mapping[str, Any]) -> Block | None:
    block = _media("file", native)
    if block is not None and isinstance(native.get("title"), str):
        block["filename" if block["type"] == "file" else "title"] = native["title"]
    if block is not None and isinstance(native.get("context"), str):
        block["context"] = native["context"]
    return block


def _media(block_type: str, native: Mapping[str, Any]) -> Block | None:
    source = native.get("source")
    if not isinstance(source, (dict, Mapping)):
        return None
    kind, data = source.get("type"), source.get("data")
    if kind == "base64" and isinstance(data, str):
        return {"type": block_type, "base64": data, "mime_type": str(source.get("media_type"))}
    if kind == "text" and isinstance(data, str):
        return {"type": "text-plain", "text": data, "mime_type": "text/plain"}
    if kind == "content" and (text := _document_text(source.get("content"))) is not None:
        return {"type": "text-plain", "text": text, "mime_type": "text/plain"}
    if kind == "url" and isinstance(source.get("url"), str):
        return {"type": block_type, "url": source["url"]}
    if kind == "file" and isinstance(source.get("file_id"), str):
        return {"type": block_type, "file_id": source["file_id"]}
    return None


def _document_text(content: Any) -> str | None:
    """Return the text of a document that has its content inside; None where there is more than texts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        return None
    texts = [part.get("text") if _is_text(part) else None for part in content]
    return None if None in texts else PART_BREAK.join(map(str, texts))


def _is_text(part: Any) -> bool:
    return isinstance(part, (dict, Mapping)) and part.get("type") == "text" and isinstance(part.get("text"), str)


READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Block | None]]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _tool_use,
    "server_tool_use": _server_use,
    "mcp_tool_use": _server_use,
    "image": _image,
    "document": _document,
}
