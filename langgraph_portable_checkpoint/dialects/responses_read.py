"""Responses items read as envelopes: a run of the model's items is one assistant message.

Each item of the model is a block with its item as raw, in order; the parts of one output message are blocks that share
its id and carry the rest of the item under `extras["item"]`. The client's items are messages of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from ..envelope.model import ENVELOPE_VERSION, Block, MessageEnvelope, Origin, Role
from ..envelope.typed import well_typed
from .arguments import read_call
from .beside import keep_beside
from .problems import Problems
from .reasoning import open_texts
from .responses_items import API, CALLS, HOSTED, NAME, OUTPUTS, USER_ITEMS, call_id_of
from .responses_keys import NATIVE_KEYS

_ROLES: Final[Mapping[str, Role]] = {
    "user": "user",
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
}


@dataclass
class ItemReader:
    """Reads items in order."""

    origin: Origin
    problems: Problems
    envelopes: list[MessageEnvelope] = field(default_factory=list)

    def read(self, native: Any, path: str) -> None:
        """Read one item."""
        item = self.problems.plain_mapping(native, path)
        if item is None:
            return
        kind = item.get("type", "message")
        if not isinstance(kind, str):
            self.problems.add(f"{path}.type", "is not a text")
        elif kind == "message":
            self._message(item, path)
        elif kind in OUTPUTS:
            self._output(item, path)
        elif kind in USER_ITEMS:
            self._append("user", [{"type": "non_standard", "value": native, "raw": native}])
        else:
            self._model_item(kind, item, path)

    def _append(self, role: Role, content: list[Block]) -> MessageEnvelope:
        envelope: MessageEnvelope = {"v": ENVELOPE_VERSION, "role": role, "content": content, "origin": self.origin}
        self.envelopes.append(envelope)
        return envelope

    def _run(self) -> list[Block]:
        """Return the content of the assistant message that the model's items go to."""
        if not self.envelopes or self.envelopes[-1]["role"] != "assistant":
            self._append("assistant", [])
        return self.envelopes[-1]["content"]

    def _message(self, item: Mapping[str, Any], path: str) -> None:
        role = _ROLES.get(str(item.get("role")))
        if role is None:
            self.problems.add(f"{path}.role", f"{item.get('role')!r} is no role of the Responses API")
            return
        said = item.get("content")
        content = [_said(said)] if isinstance(said, str) else list(_parts(said, f"{path}.content", self.problems))
        head = {**item}
        head.pop("content", None)
        if role == "assistant":
            self._answer(content, head)
            return
        envelope = self._append(role, content)
        if item["role"] != role:
            envelope["role_detail"] = item["role"]
        if head.keys() > {"role"}:
            envelope["extras"] = {NAME: head}

    def _answer(self, content: list[Block], head: Mapping[str, Any]) -> None:
        """Add an output message to the run; two texts without ids cannot be told apart, so they are two messages."""
        run = self._run()
        if not isinstance(head.get("id"), str) and any(block["type"] == "text" for block in run):
            self._append("assistant", [])
            run = self._run()
        for block in content:
            if isinstance(head.get("id"), str):
                block["id"] = head["id"]
            block["extras"] = {**block.get("extras", {}), "item": head}
        run.extend(content)

    def _output(self, item: Mapping[str, Any], path: str) -> None:
        kind, output = item["type"], item.get("output")
        call_id = call_id_of(item)
        if not isinstance(call_id, str):
            self.problems.add(f"{path}.call_id", "is missing or not a text")
        known = kind in ("function_call_output", "custom_tool_call_output") and isinstance(output, (str, list))
        if isinstance(output, str) and known:
            content = [_said(output)]
        else:
            content = list(_parts(output, f"{path}.output", self.problems)) if known else _told(output)
        envelope = self._append("tool", content)
        envelope["tool_call_id"] = call_id
        envelope["status"] = "error" if item.get("status") == "failed" else "success"
        left = {"call_id", "output"} if known else {"call_id"}
        envelope["extras"] = {NAME: {key: value for key, value in item.items() if key not in left}}

    def _model_item(self, kind: str, item: Mapping[str, Any], path: str) -> None:
        if kind == "reasoning":
            if not _is_summary(item.get("summary", []), f"{path}.summary", self.problems):
                return
            block = _reasoning(item)
        elif kind in CALLS:
            block = _call(kind, item)
        elif kind in HOSTED:
            block = _hosted(kind, item)
        else:
            block = {"type": "non_standard", "value": item}
        block["raw"] = item
        if kind in CALLS:
            if not isinstance(block.get("id"), str):
                self.problems.add(f"{path}.call_id", "is missing or not a text")
            self.problems.optional_text(block.get("name"), f"{path}.name")
        self._run().append(block)


def lift_items(envelope: MessageEnvelope) -> MessageEnvelope:
    """Read a thread's message as its items: shell, patch and computer calls wait for a result too, reasoning that
    LangChain's v1 blocks tell summary by summary is one item (R2), and a text has the id that its message has.
    """
    if envelope.get("origin", {}).get("api") != API:
        return envelope
    content = [_lifted(block) if block["type"] == "non_standard" else block for block in envelope["content"]]
    return {**envelope, "content": [_with_id(block, envelope) for block in _one_per_id(content)]}


def _with_id(block: Block, envelope: MessageEnvelope) -> Block:
    """Give an answer's text the id of its item where LangChain's message has it, as older output does (v0)."""
    item_id = envelope.get("id")
    said = block["type"] in ("text", "refusal") and "id" not in block
    if not said or envelope["role"] != "assistant" or not str(item_id).startswith("msg_"):
        return block
    return {**block, "id": item_id}


def _one_per_id(content: list[Block]) -> Iterator[Block]:
    for (kind, item_id), group in groupby(content, key=lambda block: (block["type"], block.get("id"))):
        blocks = list(group)
        sealed = any((block.get("extras") or {}).get("encrypted_content") for block in blocks[1:])
        if kind == "reasoning" and item_id and len(blocks) > 1 and not sealed:
            yield _joined(blocks)
        else:
            yield from blocks


def _joined(blocks: list[Block]) -> Block:
    summary = [block.get("reasoning") or "" for block in blocks]
    extras: dict[str, Any] = {}
    for block in blocks:
        extras |= block.get("extras") or {}
    joined: Block = {**blocks[0], "reasoning": "\n\n".join(summary), "extras": {**extras, "summary": summary}}
    joined.pop("raw", None)
    return joined


def _lifted(block: Block) -> Block:
    item = block.get("value")
    if (
        not isinstance(item, (dict, Mapping))
        or str(item.get("type")) not in CALLS
        or not isinstance(call_id_of(item), str)
    ):
        return block
    item = {key: value for key, value in item.items() if key != "index"}  # where it stood in a stream
    call: Block = {**_call(item["type"], item), "raw": item}
    return call if well_typed(call) else block


def _is_summary(summary: Any, path: str, problems: Problems) -> bool:
    """Tell whether a summary is a list of parts with texts; what is not is told."""
    wrong: list[tuple[str, str]] = [] if isinstance(summary, list) else [("", "is not a list")]
    for at, part in enumerate(summary if isinstance(summary, list) else ()):
        if not isinstance(part, (dict, Mapping)) or not isinstance(part.get("text"), str):
            wrong.append((f"[{at}]", "is no part with a text"))
        elif not isinstance(part.get("type", ""), str):
            wrong.append((f"[{at}].type", "is not a text"))
    for place, reason in wrong:
        problems.add(f"{path}{place}", reason)
    return not wrong


def _reasoning(item: Mapping[str, Any]) -> Block:
    parts = item.get("summary")
    summary = [
        part["text"] for part in parts or () if isinstance(part, (dict, Mapping)) and isinstance(part.get("text"), str)
    ]
    extras: dict[str, Any] = {}
    if isinstance(item.get("encrypted_content"), str):
        extras["encrypted_content"] = item["encrypted_content"]
    if len(summary) > 1:
        extras["summary"] = summary
    said = open_texts(item.get("content"))
    if said:
        extras["content"] = item["content"]
    block: Block = {"type": "reasoning", "reasoning": "\n\n".join(summary or said)}
    if isinstance(item.get("id"), str):
        block["id"] = item["id"]
    if extras:
        block["extras"] = extras
    return block


_CALL_KEYS: Final = frozenset({"type", "id", "call_id", "name", "arguments", "index"})
"""Keys of a function's call that have a place of their own; `index` says where it stood in a stream."""


def _call(kind: str, item: Mapping[str, Any]) -> Block:
    if kind == "function_call":
        block = read_call(item.get("arguments"), call_id=item.get("call_id"), name=item.get("name"))
        extras = {"item_id": item.get("id")} | {key: value for key, value in item.items() if key not in _CALL_KEYS}
        extras = {key: value for key, value in extras.items() if value is not None}
        if extras:
            block["extras"] = extras
        return block
    call = CALLS[kind]
    asked = {"__arg1": item.get("input")} if kind == "custom_tool_call" else item.get(call.args)
    left = ("call_id", "input") if kind == "custom_tool_call" else ("call_id",)
    head = {key: value for key, value in item.items() if key not in left}
    unknown = {key: head[key] for key in head.keys() - NATIVE_KEYS[kind] if head[key] is not None and key != "status"}
    return {
        "type": "tool_call",
        "id": call_id_of(item),
        "name": call.name or item.get("name"),
        "args": asked if isinstance(asked, dict) else {"value": asked},
        "extras": {**unknown, "item": head, "item_id": item.get("id")},
    }


def _hosted(kind: str, item: Mapping[str, Any]) -> Block:
    name, key = HOSTED[kind]
    item_id = item.get("id") if isinstance(item.get("id"), str) else None
    named = item.get("name") if isinstance(item.get("name"), str) else name
    return {"type": "server_tool_call", "id": item_id, "name": named, "args": item.get(key)}


def answer_blocks(output: Any) -> list[Block]:
    """Read a result's output that stands in a message of an application: no path can be told, no part is refused."""
    if isinstance(output, str):
        return [{"type": "text", "text": output}]
    parts = [part for part in output if isinstance(part, (dict, Mapping))] if isinstance(output, list) else []
    typed = [part for part in parts if "type" in part]
    if not typed or len(typed) < len(output):
        return _told(output)
    return [_read_part(part) for part in typed]


def _told(output: Any) -> list[Block]:
    """Tell what a result that is no text or parts says: a screenshot as an image, a shell's streams as a text."""
    shot = _image(output) if isinstance(output, (dict, Mapping)) else None
    if shot is not None:
        return [shot]
    if isinstance(output, list) and all(isinstance(chunk, (dict, Mapping)) for chunk in output):
        streams = [str(chunk.get("stdout") or "") + str(chunk.get("stderr") or "") + _ending(chunk) for chunk in output]
        return [{"type": "text", "text": "\n".join(streams)}]
    if output is None:
        return []
    return [{"type": "text", "text": output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)}]


def _ending(chunk: Mapping[str, Any]) -> str:
    """Tell how a command ended that did not end well."""
    outcome = chunk.get("outcome")
    kind = outcome.get("type") if isinstance(outcome, (dict, Mapping)) else None
    if kind == "timeout":
        return "[timed out]"
    code = outcome.get("exit_code") if kind == "exit" and isinstance(outcome, (dict, Mapping)) else 0
    return f"[exit code {code}]" if code else ""


def _parts(content: Any, path: str, problems: Problems) -> Iterator[Block]:
    if isinstance(content, str):
        yield _said(content)
        return
    if not isinstance(content, list):
        problems.add(path, f"is {type(content).__name__}, not a text or a list of parts")
        return
    for at, part in enumerate(content):
        native = problems.mapping(part, f"{path}[{at}]")
        if native is not None:
            yield _read_part(native)


def _said(text: str) -> Block:
    return {"type": "text", "text": text}


def _read_part(native: Mapping[str, Any]) -> Block:
    read = READERS.get(str(native.get("type")))
    block: Block = (read(native) if read else None) or {"type": "non_standard", "value": native}
    keep_beside(block, native)
    block["raw"] = native
    return block


def _text(native: Mapping[str, Any]) -> Block | None:
    if not isinstance(native.get("text"), str):
        return None
    block: Block = {"type": "text", "text": native["text"]}
    annotations = native.get("annotations")
    if isinstance(annotations, list) and annotations:
        block["annotations"] = [_citation(one) for one in annotations if isinstance(one, (dict, Mapping))]
    return block


def _citation(native: Mapping[str, Any]) -> dict[str, Any]:
    """Read an annotation in LangChain's v1 shape; what has no place there stays under its extras."""
    known = ("url", "title", "start_index", "end_index")
    citation = {key: native[key] for key in known if native.get(key) is not None}
    extras = {key: value for key, value in native.items() if key not in known}
    return {"type": "citation", **citation, "extras": extras}


def _refusal(native: Mapping[str, Any]) -> Block | None:
    return {"type": "refusal", "refusal": native["refusal"]} if isinstance(native.get("refusal"), str) else None


def _image(native: Mapping[str, Any]) -> Block | None:
    if isinstance(native.get("image_url"), str):
        block = _located("image", native["image_url"])
    elif isinstance(native.get("file_id"), str):
        block = {"type": "image", "file_id": native["file_id"]}
    else:
        return None
    if isinstance(native.get("file_id"), str):
        block["file_id"] = native["file_id"]
    if isinstance(native.get("detail"), str):
        block["detail"] = native["detail"]
    return block


def _file(native: Mapping[str, Any]) -> Block | None:
    if isinstance(native.get("file_data"), str):
        block = _located("file", native["file_data"])
    elif isinstance(native.get("file_id"), str):
        block = {"type": "file", "file_id": native["file_id"]}
    elif isinstance(native.get("file_url"), str):
        block = {"type": "file", "url": native["file_url"]}
    else:
        return None
    if isinstance(native.get("filename"), str):
        block["filename"] = native["filename"]
    return block


def _located(block_type: str, url: str) -> Block:
    head, comma, encoded = url[5:].partition(",")
    if url.startswith("data:") and comma and head.endswith(";base64"):
        return {"type": block_type, "base64": encoded, "mime_type": head.removesuffix(";base64")}
    return {"type": block_type, "url": url}


READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Block | None]]] = {
    "input_text": _text,
    "output_text": _text,
    "text": _text,
    "refusal": _refusal,
    "input_image": _image,
    "input_file": _file,
}
