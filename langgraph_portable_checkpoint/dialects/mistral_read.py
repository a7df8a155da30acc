"""Mistral chat messages read as envelopes, one for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ..envelope.model import ENVELOPE_VERSION, Block, MessageEnvelope, Origin, Role
from .arguments import read_call
from .beside import keep_beside
from .chat_read import located
from .problems import Problems

NAME: Final = "mistral"
API: Final = "chat"
_ROLES: Final[Mapping[str, Role]] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_READ_KEYS: Final = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})


def read_message(native: Any, path: str, *, origin: Origin, problems: Problems) -> MessageEnvelope | None:
    """Read one message; None and a recorded problem if it is none."""
    message = problems.plain_mapping(native, path)
    if message is None:
        return None
    role = _ROLES.get(str(message.get("role")))
    if role is None:
        problems.add(f"{path}.role", f"{message.get('role')!r} is not a role of Mistral")
        return None
    content = [*_content(message.get("content"), f"{path}.content", problems), *_calls(message, path, problems)]
    envelope: MessageEnvelope = {"v": ENVELOPE_VERSION, "role": role, "content": content, "origin": origin}
    if isinstance(message.get("name"), str):
        envelope["name"] = message["name"]
    if role == "tool":
        envelope["tool_call_id"] = problems.optional_text(message.get("tool_call_id"), f"{path}.tool_call_id")
        envelope["status"] = "success"
    extras = {key: value for key, value in message.items() if key not in _READ_KEYS}
    if "content" not in message:
        extras["omits"] = ["content"]
    elif message.get("tool_calls") and message["content"] in (None, ""):
        extras["content"] = message["content"]
    if "tool_calls" in message and not message["tool_calls"]:
        extras["tool_calls"] = message["tool_calls"]
    if extras:
        envelope["extras"] = {NAME: extras}
    return envelope


def _content(content: Any, path: str, problems: Problems) -> Iterator[Block]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        for at, chunk in enumerate(content):
            native = problems.mapping(chunk, f"{path}[{at}]")
            if native is not None:
                read = READERS.get(str(native.get("type")))
                block = (read(native) if read else None) or {"type": "non_standard", "value": chunk}
                keep_beside(block, native)
                block["raw"] = chunk
                yield block
    elif content is not None:
        problems.add(path, f"is {type(content).__name__}, not a text or a list of chunks")


def _text(native: Mapping[str, Any]) -> Block | None:
    return {"type": "text", "text": native["text"]} if isinstance(native.get("text"), str) else None


def _thinking(native: Mapping[str, Any]) -> Block | None:
    parts = native.get("thinking")
    if isinstance(parts, str):
        text = parts
    elif isinstance(parts, list):
        text = "".join(str(part.get("text") or "") for part in parts if isinstance(part, (dict, Mapping)))
    else:
        return None
    block: Block = {"type": "reasoning", "reasoning": text}
    if native.get("signature"):
        block["extras"] = {"signature": native["signature"]}
    return block


def _image(native: Mapping[str, Any]) -> Block | None:
    value = native.get("image_url")
    value = value if isinstance(value, (dict, Mapping)) else {"url": value}
    block = located("image", value.get("url"))
    if block is not None and isinstance(value.get("detail"), str):
        block["detail"] = value["detail"]
    return block


def _audio(native: Mapping[str, Any]) -> Block | None:
    value = native.get("input_audio")
    value = value.get("data") if isinstance(value, (dict, Mapping)) else value
    if not isinstance(value, str):
        return None
    return located("audio", value) if value.startswith(("data:", "http")) else {"type": "audio", "base64": value}


def _document(native: Mapping[str, Any]) -> Block | None:
    block = located("file", native.get("document_url"))
    if block is not None and isinstance(native.get("document_name"), str):
        block["filename"] = native["document_name"]
    return block


def _file(native: Mapping[str, Any]) -> Block | None:
    return {"type": "file", "file_id": native["file_id"]} if isinstance(native.get("file_id"), str) else None


READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Block | None]]] = {
    "text": _text,
    "thinking": _thinking,
    "image_url": _image,
    "input_audio": _audio,
    "document_url": _document,
    "file": _file,
}


def _calls(message: Mapping[str, Any], path: str, problems: Problems) -> Iterator[Block]:
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        problems.add(f"{path}.tool_calls", f"is {type(calls).__name__}, not a list")
        return
    for at, call in enumerate(calls or ()):
        native = problems.mapping(call, f"{path}.tool_calls[{at}]")
        if native is not None:
            function = native.get("function")
            function = function if isinstance(function, (dict, Mapping)) else {}
            call_id = problems.optional_text(native.get("id"), f"{path}.tool_calls[{at}].id")
            name = problems.optional_text(function.get("name"), f"{path}.tool_calls[{at}].function.name")
            block = read_call(function.get("arguments"), call_id=call_id, name=name)
            keep_beside(block, native)
            block["raw"] = native
            yield block
