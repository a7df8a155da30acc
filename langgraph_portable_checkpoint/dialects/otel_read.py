"""OpenTelemetry GenAI messages read as envelopes; keys of ours beside them come back to their places.

Also reads what writers in the wild do: attributes as JSON text, `thinking` for reasoning, `result` for response.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from ..envelope.model import ENVELOPE_VERSION, ROLES, Block, MessageEnvelope, Origin
from .arguments import read_call
from .base import ImportOptions
from .otel_write import MESSAGE_KEYS, MODALITY, OF_ANSWER, PREFIX, is_part
from .problems import Problems

NAME: Final = "otel"
API: Final = "otel"
LISTS: Final = ("gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages", "messages")
_KIND: Final = {"image": "image", "audio": "audio", "video": "video", "document": "file"}


def messages(payload: Any, problems: Problems) -> Iterator[tuple[str, Any]]:
    """Yield messages with their paths; an attribute may hold its list as JSON text."""
    if not isinstance(payload, (dict, Mapping)):
        payload = {"messages": payload}
    if not any(key in payload for key in LISTS):
        problems.add("", f"has none of {', '.join(LISTS)}")
    for key in LISTS:
        if key in payload:
            items = _list(payload[key], key, problems)
            if key == LISTS[0] and items:
                yield key, {"role": "system", "parts": items}
                continue
            for index, item in enumerate(items):
                yield f"{key}[{index}]", item


def _list(value: Any, path: str, problems: Problems) -> list[Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, list):
        problems.add(path, "is not a list of messages")
        return []
    return value


def read_message(native: Any, path: str, options: ImportOptions, problems: Problems) -> Iterator[MessageEnvelope]:
    message = problems.plain_mapping(native, path)
    if message is None:
        return
    role, parts = message.get("role"), message.get("parts")
    if not isinstance(role, str) or not isinstance(parts, list):
        problems.add(path, "needs a role and a list of parts")
        return
    if not _fits_within(message) and not _own_keys_fit(message, path, problems):
        return
    other: list[Block] = []
    made = 0
    for index, part in enumerate(parts):
        fields = part if type(part) is dict else problems.mapping(part, f"{path}.parts[{index}]")
        if fields is not None and not isinstance(fields.get("type"), str):
            problems.add(f"{path}.parts[{index}].type", "is missing or not a text")
        if fields is None or fields.get("type") != "tool_call_response":
            other += [_read_part(fields)] if fields is not None else []
            continue
        if other:
            yield _envelope(role, other, message, options, joined=made > 0)
            other, made = [], made + 1
        yield _read_answer(fields, message, options, joined=made > 0)
        made += 1
    if other or not parts:
        yield _envelope(role, other, message, options, joined=made > 0)


_OWN_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    **dict.fromkeys(("extras", "origin", "usage", "media"), Mapping),
    "annotations": list,
    "typed_by_user": bool,
    **dict.fromkeys(("artifact", "cache_hint", "value", "args", "output"), object),
}
"""Kinds of the values under keys of ours; all others are texts."""


def _fits_within(value: Mapping[str, Any]) -> bool:
    """True if the values under keys of ours fit, in a message and in its parts; `_own_keys_fit` says where not."""
    for key, item in value.items():
        if type(item) is list and key in _WITH_PARTS:
            for part in item:
                if isinstance(part, (dict, Mapping)) and not _fits_within(part):
                    return False
        elif key.startswith(PREFIX) and not _fits(key.removeprefix(PREFIX), item):
            return False
    return True


_WITH_PARTS: Final = ("parts", "response")


def _own_keys_fit(message: Mapping[str, Any], path: str, problems: Problems) -> bool:
    """Check the values under keys of ours, which anybody may have written, in a message and in its parts."""
    before = len(problems.found)
    todo: list[tuple[str, Any]] = [(path, message)]
    while todo:
        where, value = todo.pop()
        for key, item in value.items():
            if key.startswith(PREFIX) and not _fits(key.removeprefix(PREFIX), item):
                problems.add(f"{where}.{key}", f"is {type(item).__name__}, which has no meaning there")
            if key in _WITH_PARTS and isinstance(item, list):
                todo += [
                    (f"{where}.{key}[{at}]", part) for at, part in enumerate(item) if isinstance(part, (dict, Mapping))
                ]
    return len(problems.found) == before


def _fits(key: str, value: Any) -> bool:
    if key in ("raw", "raw_content", "state"):
        return False
    if key == "annotations":
        return isinstance(value, list) and all(isinstance(note, (dict, Mapping)) for note in value)
    if key == "origin":
        return isinstance(value, (dict, Mapping)) and all(isinstance(word, str) for word in value.values())
    return value is None or isinstance(value, _OWN_KINDS.get(key, str))


_OWN_KEYS: Final = tuple((PREFIX + key, key) for key in MESSAGE_KEYS)
_READ_KEYS: Final = frozenset({"role", "parts", "name", *(ours for ours, _ in _OWN_KEYS)})


def _envelope(
    role: str, content: list[Block], message: Mapping[str, Any], options: ImportOptions, *, joined: bool
) -> MessageEnvelope:
    known = role if role in ROLES and message.get(PREFIX + "role") != "other" else "other"
    envelope: MessageEnvelope = {"v": ENVELOPE_VERSION, "role": known, "content": content}  # type: ignore[typeddict-item]  # one of ROLES
    if known == "other" and role != "other":
        envelope["role_detail"] = role
    if message.get("name") is not None:
        envelope["name"] = str(message["name"])
    kept = {key: message[ours] for ours, key in _OWN_KEYS if message.get(ours) is not None}
    envelope.update(kept)  # type: ignore[typeddict-item]  # keys are the model's own
    if "origin" not in envelope:
        envelope["origin"] = _origin(options)
    rest = {key: value for key, value in message.items() if key not in _READ_KEYS and PREFIX not in key}
    if rest:
        envelope["extras"] = {**envelope.get("extras", {}), NAME: rest}
    if joined:
        envelope["extras"] = {**envelope.get("extras", {}), "joined": True}
    return envelope


def _origin(options: ImportOptions) -> Origin:
    origin: Origin = {"api": API}
    return {**origin, "model": options.model} if options.model else origin


def _read_answer(
    part: Mapping[str, Any], message: Mapping[str, Any], options: ImportOptions, *, joined: bool
) -> MessageEnvelope:
    response = part["response"] if "response" in part else part.get("result")
    envelope = _envelope("tool", _answer_blocks(response), message, options, joined=joined)
    if part.get("id") is not None:
        envelope["tool_call_id"] = str(part["id"])
    if isinstance(part.get("name"), str):
        envelope.setdefault("name", part["name"])
    envelope.setdefault("status", "error" if part.get("is_error") is True else "success")
    if rest := _beside(part):
        envelope["extras"] = {**envelope.get("extras", {}), OF_ANSWER: rest}
    return envelope


def _answer_blocks(response: Any) -> list[Block]:
    if isinstance(response, str):
        return [{"type": "text", "text": response}]
    if isinstance(response, list) and all(map(is_part, response)):
        return [_read_part(part) for part in response]
    if response is None:
        return []
    return [{"type": "text", "text": json.dumps(response, ensure_ascii=False), "extras": {"json": response}}]


def _read_part(part: Mapping[str, Any]) -> Block:
    reader = READERS.get(str(part.get("type")))
    block = reader(part) if reader else None
    if block is None:
        return {"type": "non_standard", "value": dict(part), "raw": dict(part), "origin": {"api": API}}
    kept = {
        key.removeprefix(PREFIX): value
        for key, value in part.items()
        if key.startswith(PREFIX) and key != f"{PREFIX}type"
    }
    if "arguments" in kept and not _spells(kept["arguments"], block.get("args")):
        del kept["arguments"]
    block.update(kept)  # type: ignore[typeddict-item]  # keys are the model's own
    if rest := _beside(part):
        block["extras"] = {**block.get("extras", {}), NAME: rest}
    return block


def _beside(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a part says in keys that the conventions do not name for it, and neither do we."""
    known = _PART_KEYS.get(part.get("type"))
    if known is None or part.keys() <= known:
        return {}
    return {key: value for key, value in part.items() if key not in known and not key.startswith(PREFIX)}


_MEDIA_KEYS: Final = ("type", "content", "uri", "file_id", "modality", "mime_type", "id")
_CALL_KEYS: Final = ("type", "id", "name", "arguments")
_PART_KEYS: Final[Mapping[Any, frozenset[str]]] = {
    **dict.fromkeys(("text", "reasoning", "thinking"), frozenset({"type", "content"})),
    **dict.fromkeys(("blob", "uri", "file"), frozenset(_MEDIA_KEYS)),
    "tool_call": frozenset(_CALL_KEYS),
    "server_tool_call": frozenset({*_CALL_KEYS, "server_tool_call"}),
    "server_tool_call_response": frozenset({"type", "id", "server_tool_call_response"}),
    "tool_call_response": frozenset({"type", "id", "response", "result"}),
}
"""Keys that readers of each type of part look at; of other types a part stands as it came."""


def _spells(text: str, args: Any) -> bool:
    """True for a text that says what the arguments say."""
    try:
        return bool(json.loads(text or "{}") == args)
    except (ValueError, RecursionError):
        return False


def _read_text(part: Mapping[str, Any]) -> Block | None:
    if not isinstance(part.get("content"), str):
        return None
    if part.get(PREFIX + "type") == "refusal":
        return {"type": "refusal", "refusal": part["content"]}
    return {"type": "text", "text": part["content"]}


def _read_reasoning(part: Mapping[str, Any]) -> Block | None:
    return {"type": "reasoning", "reasoning": part["content"]} if isinstance(part.get("content"), str) else None


def _read_call(part: Mapping[str, Any]) -> Block:
    """Read a call; what instruments providers may hold its arguments as the JSON text that they came as."""
    arguments, name = part.get("arguments"), part.get("name")
    if _is_marked(part):
        text = arguments if isinstance(arguments, str) or arguments is None else json.dumps(arguments)
        block: Block = {"type": "invalid_tool_call", "name": name, "args": text}
    else:
        block = read_call(arguments, call_id=None, name=name)
        block.pop("id")
        if block.get("arguments") == "":
            block.pop("arguments")
    if part.get("id") is not None:
        block["id"] = str(part["id"])
    return block


def _is_marked(part: Any) -> bool:
    return isinstance(part, (dict, Mapping)) and part.get(PREFIX + "type") == "invalid_tool_call"


def marks_invalid(message: Any) -> bool:
    """Tell whether a message marks a call as invalid, as our own exports do: it was so before."""
    parts = message.get("parts") if isinstance(message, (dict, Mapping)) else None
    return isinstance(parts, list) and any(map(_is_marked, parts))


def _read_server_call(part: Mapping[str, Any]) -> Block:
    call = part.get("server_tool_call")
    fields = call if isinstance(call, (dict, Mapping)) else {}
    args = fields["arguments"] if "arguments" in fields else {key: fields[key] for key in fields if key != "type"}
    block: Block = {"type": "server_tool_call", "name": part.get("name"), "args": args}
    return block if part.get("id") is None else {**block, "id": str(part["id"])}


def _read_server_result(part: Mapping[str, Any]) -> Block:
    answer = part.get("server_tool_call_response")
    fields = answer if isinstance(answer, (dict, Mapping)) else {}
    output = fields["output"] if "output" in fields else {key: fields[key] for key in fields if key != "type"}
    block: Block = {"type": "server_tool_result", "name": fields.get("type"), "output": output}
    if fields.get("status") is not None:
        block["status"] = str(fields["status"])
    return block if part.get("id") is None else {**block, "tool_call_id": str(part["id"])}


def _read_media(part: Mapping[str, Any]) -> Block | None:
    key, ours = {"blob": ("content", "base64"), "uri": ("uri", "url"), "file": ("file_id", "file_id")}[part["type"]]
    if not isinstance(part.get(key), str):
        return None
    if key == "content" and PREFIX + "type" in part and part[PREFIX + "type"] not in MODALITY:
        return _unpacked(part["content"])
    block: Block = {"type": _KIND.get(str(part.get("modality")), "file")}
    if part.get("mime_type") is not None:
        block["mime_type"] = str(part["mime_type"])
    if part.get(PREFIX + "type") == "text-plain":
        block["type"] = "text-plain"
        if key == "content" and PREFIX + "base64" not in part:
            return _with_text(block, part["content"])
    block[ours] = part[key]  # type: ignore[literal-required]  # base64, url or file_id
    return block


def _with_text(block: Block, content: str) -> Block | None:
    try:
        return {**block, "text": base64.b64decode(content, validate=True).decode("utf-8", "surrogatepass")}
    except ValueError:
        return None


def _unpacked(content: str) -> Block | None:
    """Read back a block that was written whole as a JSON document."""
    try:
        block = json.loads(base64.b64decode(content, validate=True))
    except (ValueError, RecursionError):
        return None
    return cast(Block, block) if isinstance(block, dict) and isinstance(block.get("type"), str) else None


READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Block | None]]] = {
    "text": _read_text,
    "reasoning": _read_reasoning,
    "thinking": _read_reasoning,
    "tool_call": _read_call,
    "server_tool_call": _read_server_call,
    "server_tool_call_response": _read_server_result,
    "blob": _read_media,
    "uri": _read_media,
    "file": _read_media,
    "compaction": lambda part: {"type": "non_standard", "value": {key: part[key] for key in part if PREFIX not in key}},
    "tool_call_response": lambda part: None,
}
