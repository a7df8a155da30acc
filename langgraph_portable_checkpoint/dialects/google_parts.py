"""Gemini parts: one native part to one block, and one block to one native part.

Owns the spelling of a part: camelCase (the REST API), snake_case (the Python SDK and protobuf JSON), or a mix of
both in one history. Knows nothing of whole histories; `google.py` does. Every function is pure, and every block keeps
its native part verbatim under `raw`.

Source: ai.google.dev/gemini-api/docs, Part and Content; rules G4, G8 to G14.
"""

from __future__ import annotations

import base64
import json
import mimetypes
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from ..envelope.media_types import OCTET_STREAM
from ..envelope.model import Block
from .arguments import read_object_call
from .media_parts import bytes_of

Part = dict[str, Any]

DATA_FIELDS: Final = (
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
)
"""The union fields of a part: exactly one is set (G4)."""

_ANSWER_KEYS: Final = ("output", "result", "return_value")
"""Keys under which programs put a tool's plain answer; the API documents `output` (G8)."""


@lru_cache(maxsize=1024)
def camel(key: str) -> str:
    """Spell a snake_case key in camelCase.

    >>> camel("thought_signature")
    'thoughtSignature'
    """
    head, *rest = str(key).split("_")  # a key that is no text is refused elsewhere
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


def camel_keys(native: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same mapping with its own keys (not those inside) in camelCase."""
    return {camel(key): value for key, value in native.items()}


def media_kind(mime_type: str) -> str:
    """Name the block type for a mime type: image, audio, video, or file."""
    kind = mime_type.partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "file"


def standard_base64(data: str) -> str:
    """Spell URL-safe base64, which Gemini's recordings mix in, with the standard alphabet; leave anything else alone.

    >>> standard_base64("__t0xA=="), standard_base64("not-base64!")
    ('//t0xA==', 'not-base64!')
    """
    return data.translate(_STANDARD) if _URL_SAFE.fullmatch(data) else data


_URL_SAFE: Final = re.compile(r"[A-Za-z0-9_\-]*={0,2}")
_STANDARD: Final = str.maketrans("-_", "+/")


def is_signature(value: Any) -> bool:
    """Tell whether a thought signature is one piece of base64 in either alphabet; of two that were joined it is not.

    >>> is_signature("QUFB"), is_signature("QUE=QkI=")
    (True, False)
    """
    return isinstance(value, bytes) or (isinstance(value, str) and _BASE64.fullmatch(value) is not None)


_BASE64: Final = re.compile(r"[A-Za-z0-9+/_\-]+={0,2}")


def padded(data: str) -> str:
    """Give base64 the padding that some writers leave out."""
    return data + "=" * (-len(data) % 4)


def block_of(part: Part) -> Block:
    """Read one native part that is not a function response."""
    if len(part) == 1 and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"], "raw": part}
    native = camel_keys(part)
    fields = [name for name in native if name in DATA_FIELDS and native[name] is not None]
    reader = _READERS.get(fields[0]) if len(fields) == 1 else None
    block = reader(native) if reader else None
    if block is None:
        return {"type": "non_standard", "value": part, "raw": part}
    _keep_rest(block, native, fields[0])
    block["raw"] = part
    return block


def _keep_rest(block: Block, native: Mapping[str, Any], field: str) -> None:
    """Put what stands beside the data field under extras, the signature by its neutral name."""
    if len(native) == 1:
        return
    rest = {
        key: value
        for key, value in native.items()
        if key != field and value is not None and (key != "thought" or field != "text")
    }
    if "thoughtSignature" in rest:
        signature = rest.pop("thoughtSignature")
        rest["signature"] = standard_base64(padded(signature)) if isinstance(signature, str) else signature
    if rest:
        block.setdefault("extras", {}).update(rest)


def _text(native: Mapping[str, Any]) -> Block | None:
    if not isinstance(native["text"], str):
        return None
    if native.get("thought"):
        return {"type": "reasoning", "reasoning": native["text"]}
    return {"type": "text", "text": native["text"]}


def _inline(native: Mapping[str, Any]) -> Block | None:
    return media_block(native["inlineData"])


def media_block(blob: Any) -> Block | None:
    """Read a Blob or FileData mapping; None where it is neither."""
    if not isinstance(blob, (dict, Mapping)):
        return None
    fields = camel_keys(blob)
    mime_type, uri = fields.get("mimeType"), fields.get("fileUri")
    if not mime_type and isinstance(uri, str) and knows_its_type(uri):
        block: Block = {"type": "file" if is_upload(uri) else "video"}
    else:
        block = {"type": media_kind(str(mime_type)) if mime_type else "file"}
        block["mime_type"] = str(mime_type or OCTET_STREAM)
    if not _media_source(block, fields):
        return None
    if fields.get("displayName"):
        block["filename"] = str(fields["displayName"])
    return block


def _media_source(block: Block, fields: Mapping[str, Any]) -> bool:
    data, uri = fields.get("data"), fields.get("fileUri")
    if isinstance(data, bytes):
        block["data"] = data
    elif isinstance(data, str):
        block["base64"] = standard_base64(data)
    elif isinstance(uri, str):
        block["file_id" if is_upload(uri) else "url"] = uri
    else:
        return False
    return True


def is_upload(uri: str) -> bool:
    """Tell a Files API upload, which is bound to its key and expires, from a URL that anybody may fetch."""
    return ("generativelanguage.googleapis.com" in uri and "/files/" in uri) or "://" not in uri


def knows_its_type(uri: str) -> bool:
    """Tell a file whose type the Gemini API knows by itself: an upload, or a video of YouTube.

    Source: ai.google.dev/gemini-api/docs/video-understanding, whose requests name none.
    """
    return is_upload(uri) or _YOUTUBE.match(uri) is not None


_YOUTUBE: Final = re.compile(r"https?://((www|m|music)\.)?(youtube\.com|youtu\.be)/", re.IGNORECASE)


def _file(native: Mapping[str, Any]) -> Block | None:
    return media_block(native["fileData"])


def _call(native: Mapping[str, Any]) -> Block | None:
    call = native["functionCall"]
    if not isinstance(call, (dict, Mapping)) or not isinstance(call.get("name"), str):
        return None
    args = call.get("args")
    call_id = str(call["id"]) if call.get("id") else None
    block = read_object_call({} if args is None else args, call_id=call_id, name=call["name"])
    if call_id is None:
        del block["id"]
    rest = {key: value for key, value in call.items() if key not in ("id", "name", "args") and value is not None}
    if rest:
        block["extras"] = rest
    return block


def _server_call(native: Mapping[str, Any]) -> Block | None:
    return _server(native, "executableCode", name="code_execution", kind="server_tool_call")


def _server_result(native: Mapping[str, Any]) -> Block | None:
    return _server(native, "codeExecutionResult", name="code_execution", kind="server_tool_result")


def _tool_call(native: Mapping[str, Any]) -> Block | None:
    return _server(native, "toolCall", name=None, kind="server_tool_call")


def _tool_response(native: Mapping[str, Any]) -> Block | None:
    return _server(native, "toolResponse", name=None, kind="server_tool_result")


def _server(native: Mapping[str, Any], field: str, *, name: str | None, kind: str) -> Block | None:
    """Read a tool that Google ran itself: code execution, or a `toolType` of toolCall and toolResponse (G13)."""
    value = native[field]
    if not isinstance(value, (dict, Mapping)):
        return None
    rest = {key: item for key, item in value.items() if key != "id"}
    name = name or str(camel_keys(value).get("toolType") or "server_tool").lower()
    if kind == "server_tool_call":
        block: Block = {"type": kind, "name": name, "args": rest}
        if value.get("id"):
            block["id"] = str(value["id"])
        return block
    failed = str(rest.get("outcome") or "OUTCOME_OK") not in ("OUTCOME_OK", "OUTCOME_UNSPECIFIED")
    result: Block = {"type": kind, "name": name, "output": rest, "status": "error" if failed else "success"}
    if value.get("id"):
        result["tool_call_id"] = str(value["id"])
    return result


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Block | None]]] = {
    "text": _text,
    "inlineData": _inline,
    "fileData": _file,
    "functionCall": _call,
    "executableCode": _server_call,
    "codeExecutionResult": _server_result,
    "toolCall": _tool_call,
    "toolResponse": _tool_response,
}


def answer_blocks(response: Mapping[str, Any], parts: Any) -> tuple[list[Block], str]:
    """Read what a function response answers: its blocks, and "success" or "error" (G8, G9).

    A response of one plain `output` (or result, return_value, error) becomes that text; any other object is kept as
    JSON text, which is what a model sees of it elsewhere.
    """
    status = "error" if "error" in response and not any(key in response for key in _ANSWER_KEYS) else "success"
    blocks: list[Block] = []
    if response:
        blocks.append({"type": "text", "text": answer_text(response)})
    for part in parts if isinstance(parts, list) else ():
        blocks.append(_answer_media(part))
    return blocks, status


def answer_text(response: Mapping[str, Any]) -> str:
    """Spell a function response as the text that a model sees of it elsewhere."""
    if len(response) == 1:
        (key, value), *_ = response.items()
        if key in (*_ANSWER_KEYS, "error") and isinstance(value, str):
            return value
    return json.dumps(response, ensure_ascii=False)


def _answer_media(part: Any) -> Block:
    if isinstance(part, (dict, Mapping)):
        fields = camel_keys(part)
        field = "inlineData" if fields.get("inlineData") else "fileData"
        block = media_block(fields.get(field))
        if block is not None:
            _keep_rest(block, fields, field)
            block["raw"] = part
            return block
    return {"type": "non_standard", "value": part}


def native_part(block: Block) -> Part | None:
    """Spell one block as a part in camelCase, without signature; None where a part cannot say it."""
    writer = _WRITERS.get(block["type"])
    return writer(block) if writer else None


def _write_media(block: Block) -> Part | None:
    told = block.get("mime_type")
    mime_type = told if told and told != OCTET_STREAM else None
    extras = block.get("extras") or {}
    rest: Part = {key: extras[key] for key in ("videoMetadata", "mediaResolution") if key in extras}
    if "base64" in block or "data" in block:
        data = bytes_of({**block, "base64": padded(block["base64"])} if "base64" in block else block)
        if not data or told == OCTET_STREAM:
            return None
        blob = {"mimeType": mime_type or default_mime(block), "data": base64.b64encode(data).decode()}
        return {"inlineData": blob, **rest}
    uri = block.get("file_id") or block.get("url")
    if uri and not mime_type and knows_its_type(uri):
        return {"fileData": {"fileUri": uri}, **rest}
    return {"fileData": {"fileUri": uri, "mimeType": mime_type or default_mime(block)}, **rest} if uri else None


def default_mime(block: Block) -> str:
    """Guess a mime type that a part must have (G14) from the name in the URL, else take the most common of its kind."""
    if _YOUTUBE.match(block.get("url") or ""):
        return _COMMON_MIME["video"]
    guess, _ = mimetypes.guess_type(block.get("filename") or block.get("url") or "")
    if guess and (media_kind(guess) == block["type"] or block["type"] == "file"):
        return guess
    return _COMMON_MIME[block["type"]]


_COMMON_MIME: Final = {"image": "image/jpeg", "audio": "audio/mpeg", "video": "video/mp4", "file": "application/pdf"}


def _write_plain(block: Block) -> Part | None:
    if block.get("text") is None:
        return _write_media({**block, "mime_type": block.get("mime_type") or "text/plain"})
    if not block["text"]:
        return None
    data = base64.b64encode(block["text"].encode()).decode()
    return {"inlineData": {"mimeType": block.get("mime_type") or "text/plain", "data": data}}


_CODE_TOOLS: Final = ("code_execution", "code_interpreter")


def _write_server_call(block: Block) -> Part | None:
    """Spell a server tool's call: code as executableCode, others as toolCall with their toolType (G13)."""
    args = block.get("args")
    fields = args if isinstance(args, dict) else {}
    known = {"id": block["id"]} if block.get("id") else {}
    if block.get("name") in _CODE_TOOLS:
        if not isinstance(fields.get("code"), str):
            return None
        return {"executableCode": {"language": "PYTHON", "code": fields["code"], **known}}
    return {"toolCall": {**fields, **known}} if _is_tool(fields, "args") else None


def _write_server_result(block: Block) -> Part | None:
    output = block.get("output")
    fields = output if isinstance(output, dict) else {}
    known = {"id": block["tool_call_id"]} if block.get("tool_call_id") else {}
    if block.get("name", _CODE_TOOLS[0]) not in _CODE_TOOLS:
        return {"toolResponse": {**fields, **known}} if _is_tool(fields, "response") else None
    said = output if isinstance(output, str) else fields.get("output")
    outcome = fields.get("outcome")
    if not isinstance(outcome, str) or not outcome.startswith("OUTCOME_"):
        outcome = "OUTCOME_FAILED" if block.get("status") == "error" else "OUTCOME_OK"
    result = {"outcome": outcome, "output": said if isinstance(said, str) else ""}
    return {"codeExecutionResult": {**result, **known}}


def _is_tool(fields: Mapping[str, Any], body: str) -> bool:
    """Tell whether fields are those of a ToolCall or ToolResponse."""
    return isinstance(camel_keys(fields).get("toolType"), str) and set(camel_keys(fields)) <= {"toolType", body}


def _write_call(block: Block) -> Part:
    call: dict[str, Any] = {"name": block.get("name") or "", "args": block.get("args") or {}}
    return {"functionCall": call | ({"id": block["id"]} if block.get("id") and not is_made_id(block["id"]) else {})}


_WRITERS: Final[Mapping[str, Callable[[Block], Part | None]]] = {
    "text": lambda block: {"text": block["text"]},
    "reasoning": lambda block: {"text": block.get("reasoning") or "", "thought": True},
    "tool_call": _write_call,
    "image": _write_media,
    "audio": _write_media,
    "video": _write_media,
    "file": _write_media,
    "text-plain": _write_plain,
    "server_tool_call": _write_server_call,
    "server_tool_result": _write_server_result,
}


_MADE_ID: Final = re.compile(r"gemini_\d+_\d+")


def made_id(content: int, call: int) -> str:
    """Make an id of a call that Gemini gave none, by where it stands: its result is told by it outside of Gemini."""
    return f"gemini_{content}_{call}"


def is_made_id(call_id: Any) -> bool:
    """True for an id that `made_id` made, which goes back to Gemini no more than it came from there."""
    return isinstance(call_id, str) and _MADE_ID.fullmatch(call_id) is not None


def is_part(value: Any) -> bool:
    """Tell whether a value is a native part: one data field, and no `type` as blocks of other APIs have."""
    if not isinstance(value, (dict, Mapping)) or "type" in value:
        return False
    keys = camel_keys(value)
    return len([key for key in keys if key in DATA_FIELDS and keys[key] is not None]) == 1
