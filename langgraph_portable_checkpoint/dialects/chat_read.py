"""Chat Completions messages read as envelopes, one for one.

Keys without a neutral place stay under `extras["openai-chat"]`; "omits" there names keys that were left out where
others write null. Text content that was a plain text has no raw, a part of a list has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ..envelope.model import ENVELOPE_VERSION, Block, MessageEnvelope, Origin, Role
from .arguments import read_call
from .beside import keep_beside
from .concerns import OTHER_ANSWERS
from .problems import Problems
from .report import Report

NAME: Final = "openai-chat"
API: Final = "chat"
ROLES: Final[Mapping[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
REASONING_KEYS: Final = ("reasoning_details", "reasoning_content", "reasoning")
_READ_KEYS: Final = frozenset(
    {"role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "audio", *REASONING_KEYS}
)
_MAY_BE_NULL: Final = ("refusal", "audio", "function_call", *REASONING_KEYS)
_PLAIN_KEYS: Final = frozenset({"role", "content", "name", "tool_call_id"})
_AUDIO: Final = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def read_message(native: Any, path: str, *, origin: Origin, problems: Problems) -> MessageEnvelope | None:
    """Read one message; None and a recorded problem if it is none."""
    message = problems.plain_mapping(native, path)
    if message is None:
        return None
    role = ROLES.get(str(message.get("role")))
    if role is None:
        problems.add(f"{path}.role", f"{message.get('role')!r} is not a role of Chat Completions")
        return None
    plain = message.keys() <= _PLAIN_KEYS
    text = message.get("content") if plain else None
    if isinstance(text, str):
        content: list[Block] = [{"type": "text", "text": text}]
    else:
        content = [*_content(message, path, problems), *_calls(message, path, problems)]
        if not message.keys().isdisjoint(REASONING_KEYS):
            content = [*_reasoning(message), *content]
    envelope: MessageEnvelope = {"v": ENVELOPE_VERSION, "role": role, "content": content, "origin": origin}
    if role == "tool":
        envelope["tool_call_id"] = problems.optional_text(message.get("tool_call_id"), f"{path}.tool_call_id")
        envelope["status"] = "success"
    if isinstance(message.get("name"), str):
        envelope["name"] = message["name"]
    elif message.get("role") == "tool" and isinstance(message.get("tool_name"), str):  # Ollama's word for it
        envelope["name"] = message["tool_name"]
    if message["role"] != role:
        envelope["role_detail"] = message["role"]
    extras = {} if plain and "content" in message else _extras(message, content)
    if extras:
        envelope["extras"] = {NAME: extras}
    return envelope


def first_choice(choices: Sequence[Any], report: Report) -> list[Any]:
    """Return the message of a response's first choice, and report the choices that are left out."""
    tell_other_answers(len(choices) - 1, report, path="choices")
    return [choice.get("message") if isinstance(choice, (dict, Mapping)) else choice for choice in choices[:1]]


def tell_other_answers(count: int, report: Report, *, path: str) -> None:
    """Report the answers of a response that an import leaves out, if there are any."""
    if count > 0:
        rule, kind = OTHER_ANSWERS.rule, OTHER_ANSWERS.kind
        report.add(rule, kind, action="took the first answer only", path=path, detail=f"{count} more")


def _extras(message: Mapping[str, Any], content: list[Block]) -> dict[str, Any]:
    """Return the keys without a neutral place."""
    extras = {key: value for key, value in message.items() if key not in _READ_KEYS}
    extras |= {key: None for key in _MAY_BE_NULL if key in message and message[key] is None}
    if content and "reasoning_details" in message and isinstance(message.get("reasoning"), str):
        extras["reasoning"] = message["reasoning"]
    if "content" not in message:
        extras["omits"] = ["content"]
    return extras


def _reasoning(message: Mapping[str, Any]) -> Iterator[Block]:
    """Read the reasoning of an assistant message; details win over the plain text that repeats them."""
    details = message.get("reasoning_details")
    if isinstance(details, list) and details:
        for detail in details:
            yield _detail(detail)
        return
    for key in REASONING_KEYS[1:]:
        if isinstance(message.get(key), str):
            yield {"type": "reasoning", "reasoning": message[key], "extras": {"field": key}}
            return


def _detail(detail: Any) -> Block:
    native = detail if isinstance(detail, (dict, Mapping)) else {}
    text = native.get("text") or native.get("summary") or ""
    extras: dict[str, Any] = {"field": "reasoning_details"}
    for key, neutral in (("signature", "signature"), ("data", "encrypted_content")):
        if native.get(key):
            extras[neutral] = native[key]
    return {"type": "reasoning", "reasoning": text if isinstance(text, str) else "", "extras": extras, "raw": detail}


def _content(message: Mapping[str, Any], path: str, problems: Problems) -> Iterator[Block]:
    content = message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        for at, part in enumerate(content):
            yield from _part(part, f"{path}.content[{at}]", problems)
    elif content is not None:
        problems.add(f"{path}.content", f"is {type(content).__name__}, not a text or a list of parts")
    if isinstance(message.get("refusal"), str):
        yield {"type": "refusal", "refusal": message["refusal"]}
    audio = message.get("audio")
    if isinstance(audio, (dict, Mapping)) and isinstance(audio.get("id"), str):
        extras = {key: value for key, value in audio.items() if key != "id"}
        yield {"type": "audio", "file_id": audio["id"], "extras": extras, "raw": audio}


def _part(part: Any, path: str, problems: Problems) -> Iterator[Block]:
    if isinstance(part, str):
        yield {"type": "text", "text": part}
        return
    native = problems.mapping(part, path)
    if native is None:
        return
    read = READERS.get(str(native.get("type")))
    block = read(native) if read else None
    if block is None:
        block = {"type": "non_standard", "value": part}
    keep_beside(block, native)
    block["raw"] = part
    if native.get("cache_control") is not None:
        block["cache_hint"] = native["cache_control"]
    yield block


def _text(native: Mapping[str, Any]) -> Block | None:
    return {"type": "text", "text": native["text"]} if isinstance(native.get("text"), str) else None


def _refusal(native: Mapping[str, Any]) -> Block | None:
    return {"type": "refusal", "refusal": native["refusal"]} if isinstance(native.get("refusal"), str) else None


def _url_part(key: str, block_type: str) -> Callable[[Mapping[str, Any]], Block | None]:
    def read(native: Mapping[str, Any]) -> Block | None:
        value = native.get(key)
        value = value if isinstance(value, (dict, Mapping)) else {"url": value}
        block = located(block_type, value.get("url"))
        if block is not None and isinstance(value.get("detail"), str):
            block["detail"] = value["detail"]
        return block

    return read


def _input_audio(native: Mapping[str, Any]) -> Block | None:
    audio = native.get("input_audio")
    if not isinstance(audio, (dict, Mapping)) or not isinstance(audio.get("data"), str):
        return None
    spelled = str(audio.get("format"))
    return {"type": "audio", "base64": audio["data"], "mime_type": _AUDIO.get(spelled, f"audio/{spelled}")}


def _file(native: Mapping[str, Any]) -> Block | None:
    file = native.get("file")
    if not isinstance(file, (dict, Mapping)):
        return None
    if isinstance(file.get("file_id"), str):
        block: Block | None = {"type": "file", "file_id": file["file_id"]}
    else:
        block = located("file", file.get("file_data"))
    if block is not None and isinstance(file.get("filename"), str):
        block["filename"] = file["filename"]
    return block


def located(block_type: str, url: Any) -> Block | None:
    """Read a URL or a data URL as a media block."""
    if not isinstance(url, str):
        return None
    if url.startswith("data:"):
        head, comma, encoded = url[5:].partition(",")
        if not comma or not head.endswith(";base64"):
            return None
        return {"type": block_type, "base64": encoded, "mime_type": head.removesuffix(";base64")}
    return {"type": block_type, "url": url}


READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Block | None]]] = {
    "text": _text,
    "refusal": _refusal,
    "image_url": _url_part("image_url", "image"),
    "video_url": _url_part("video_url", "video"),
    "audio_url": _url_part("audio_url", "audio"),
    "input_audio": _input_audio,
    "file": _file,
}


def _calls(message: Mapping[str, Any], path: str, problems: Problems) -> Iterator[Block]:
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        problems.add(f"{path}.tool_calls", f"is {type(calls).__name__}, not a list")
        calls = None
    for at, call in enumerate(calls or ()):
        native = problems.mapping(call, f"{path}.tool_calls[{at}]")
        if native is not None:
            yield _call(native, f"{path}.tool_calls[{at}]", problems)
    legacy = message.get("function_call")
    if isinstance(legacy, (dict, Mapping)):
        name = problems.optional_text(legacy.get("name"), f"{path}.function_call.name")
        yield read_call(legacy.get("arguments"), call_id=None, name=name)


def _call(native: Mapping[str, Any], path: str, problems: Problems) -> Block:
    call_id = problems.optional_text(native.get("id"), f"{path}.id")
    custom = native.get("custom")
    if native.get("type") == "custom" and isinstance(custom, (dict, Mapping)):
        block: Block = {
            "type": "tool_call",
            "id": call_id,
            "name": problems.optional_text(custom.get("name"), f"{path}.custom.name"),
            "args": {"__arg1": custom.get("input")},
            "extras": {"block_type": "custom"},
        }
    else:
        function = native.get("function")
        if not isinstance(function, (dict, Mapping)):
            problems.add(f"{path}.function", "is missing" if function is None else "is not an object")
            function = {}
        name = problems.optional_text(function.get("name"), f"{path}.function.name")
        block = read_call(function.get("arguments"), call_id=call_id, name=name)
        keep_beside(block, function)
    keep_beside(block, native)
    block["raw"] = native
    return block
