"""Envelopes written as Chat Completions messages for one host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..envelope.model import Block, MessageEnvelope
from .arguments import NotJsonError, plain_arguments, write_arguments
from .base import is_foreign, native, plain_text, text_and_calls
from .beside import UNSAID, detail_of, free_input, omits_content, unsaid
from .chat_hosts import Host
from .chat_read import API, NAME, REASONING_KEYS
from .jsonl import mend_surrogates
from .links import CALL_TYPES
from .lint.openai_chat import VALUES
from .media_parts import base64_of, data_url_of
from .native_keys import UNKNOWN_KEYS, left_out, only_known
from .report import Placed, Report

_FORMATS: Final = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mp3": "mp3",
    "audio/mpeg": "mp3",
}
_NATIVE_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "text": frozenset({"type", "text"}),
    "refusal": frozenset({"type", "refusal"}),
    "image_url": frozenset({"type", "image_url"}),
    "video_url": frozenset({"type", "video_url"}),
    "input_audio": frozenset({"type", "input_audio"}),
    "file": frozenset({"type", "file"}),
    "function": frozenset({"type", "id", "function"}),
    "custom": frozenset({"type", "id", "custom"}),
}
"""Keys of native parts and calls; a raw block with others (a v1 block, a stream's index) is spelled anew."""

_OF_MESSAGES: Final = frozenset({"id", "phase", "item"})
"""Keys of a part that LangChain copies from the message around it."""
_SPOKEN: Final = frozenset({"id", "data", "expires_at", "transcript"})
"""Keys of an answer's audio. Source: openai 3.57, chat_completion_audio.py."""
_SAID: Final[Mapping[str, tuple[str, ...]]] = {"image": ("detail",), "file": ("filename",)}


@dataclass(frozen=True)
class ChatWriter:
    """Writes messages for one host, reporting what its messages cannot say."""

    host: Host
    report: Report

    def message(self, placed: Placed) -> dict[str, Any]:
        """Spell one message."""
        envelope = placed.envelope
        message: dict[str, Any] = {"role": self._role(placed), **_WRITERS[envelope["role"]](self, placed)}
        name = envelope.get("name")
        if name is not None and self._takes_name(envelope, placed):
            message["name"] = name
        self._overlay(message, placed)
        return message

    def _role(self, placed: Placed) -> str:
        role: str = placed.envelope["role"]
        if role != "system" or placed.envelope.get("role_detail") != "developer":
            return role
        if not self.host.developer:
            self.lose("C13", "downgraded", placed, "role", action="role developer became system")
        return "developer" if self.host.developer else role

    def _takes_name(self, envelope: MessageEnvelope, placed: Placed) -> bool:
        """A tool's name goes back only where it came from; a speaker's name wherever the host knows the key."""
        if envelope["role"] == "tool":
            return self.host.tool_names and (envelope.get("origin") or {}).get("api") == API
        if "name" not in self.host.keys:
            self.lose("C10", "dropped", placed, "name", action="the host knows no names of speakers")
            return False
        return True

    def lose(self, rule: str, kind: Any, placed: Placed, path: str, *, action: str, detail: str = "") -> None:
        """Report what this host's messages cannot say."""
        self.report.add(rule, kind, at=placed, path=path, action=action, detail=detail)

    def plain(self, placed: Placed) -> dict[str, Any]:
        """Spell system and user content."""
        return {"content": self._content(placed)}

    def tool(self, placed: Placed) -> dict[str, Any]:
        """Spell a tool message."""
        return {"tool_call_id": placed.envelope.get("tool_call_id"), "content": self._content(placed)}

    def assistant(self, placed: Placed) -> dict[str, Any]:
        """Spell an assistant message: reasoning field, content, refusal, audio, calls."""
        envelope = placed.envelope
        known = text_and_calls(envelope, foreign=is_foreign(envelope, API)) if not _kept(envelope) else None
        if known is not None and (known[0] or known[1]):
            text, asked = known
            return {
                "content": text,
                **({"tool_calls": [self._call(call, placed) for call in asked]} if asked else {}),
            }
        kinds = _by_kind(envelope)
        message = self._reasoning(kinds.get("reasoning", ()))
        calls = [self._call(block, placed) for block in kinds.get("call", ())]
        refusals = self._refusals(kinds.get("refusal", ()), placed)
        audio = self._audio(kinds["audio"], placed) if "audio" in kinds else None
        content = self._content(placed)
        if content is not None or not omits_content(_kept(envelope)) or not (calls or audio):
            needs_text = content is None and not (calls or refusals or audio)
            message["content"] = "" if needs_text else content
        if refusals:
            message["refusal"] = "".join(refusals)
        if audio is not None:
            message["audio"] = {"id": audio}
        if calls:
            message["tool_calls"] = calls
        return message

    def _audio(self, blocks: Sequence[Block], placed: Placed) -> Any:
        """Return the id of what was said aloud: the answer had more, which the host keeps."""
        said = next((block for block in blocks if "file_id" in block), None)
        if said is None:
            return None
        self._tell_unknown(left_out(said.get("extras") or {}, _SPOKEN), placed)
        return said["file_id"]

    def _refusals(self, blocks: Sequence[Block], placed: Placed) -> list[str]:
        """Return the texts of refusals that go into the field: all but one that stands for the whole content (C12)."""
        if not blocks or any(block["type"] == "refusal" for block in _parts_of(placed.envelope)):
            return []
        if len(blocks) > 1:
            self.lose("C12", "merged", placed, "content", action="refusals became one")
        elif "raw" in blocks[0]:
            self.lose("C12", "moved", placed, "content", action="a refusal beside other parts went into its field")
        for block in blocks:
            self._tell_unsaid(block, placed)
        return [block["refusal"] for block in blocks]

    def _content(self, placed: Placed) -> Any:
        """Spell texts and parts: a plain text where there is one text that came as one, else a list of parts."""
        envelope = placed.envelope
        text = plain_text(envelope, foreign=is_foreign(envelope, API))
        if text is not None:
            return text
        blocks = envelope["content"]
        if envelope["role"] == "assistant":
            blocks = _parts_of(envelope)
        if not blocks:
            return None if envelope["role"] == "assistant" else ""
        parts = [self._part(block, placed) for block in blocks]
        alone = len(parts) == 1 and parts[0].keys() == {"type", "text"} and parts[0]["type"] == "text"
        if alone and native(blocks[0], envelope, api=API) is None:
            return parts[0]["text"]
        if not self.host.text_parts and all(part["type"] == "text" for part in parts):
            if len(parts) > 1:
                self.lose("C12", "merged", placed, "content", action="text parts became one text")
            return "".join(part["text"] for part in parts)
        return parts

    def _part(self, block: Block, placed: Placed) -> dict[str, Any]:
        raw = native(block, placed.envelope, api=API)
        if isinstance(raw, dict) and self._is_native(raw) and (block["type"] != "text" or raw.get("type") == "text"):
            return self._known(raw, placed)
        if block["type"] == "non_standard":
            return dict(block["value"])
        if block.get("annotations"):
            self.lose("C12", "dropped", placed, "content", action="citations have no place in messages that are sent")
        self._tell_unsaid(block, placed)
        extras = block.get("extras") or {}
        return {**_PARTS[block["type"]](block), **{key: extras[key] for key in self.host.part_keys if key in extras}}

    def _known(self, raw: Mapping[str, Any], placed: Placed) -> dict[str, Any]:
        """Return a part as it came, without keys that OpenAI's have not in what they hold; other hosts have more."""
        kind = raw["type"]
        shape = VALUES.get(kind) if "openai" in self.host.providers else None
        if shape is None or not isinstance(raw[kind], Mapping) or raw[kind].keys() <= shape.keys:
            return dict(raw)
        self._tell_unknown(left_out(raw[kind], shape.keys), placed)
        return {**raw, kind: dict(only_known(raw[kind], shape.keys))}

    def _tell_unknown(self, keys: str, placed: Placed) -> None:
        if keys:
            self.lose("C12", "dropped", placed, "content", action=UNKNOWN_KEYS, detail=keys)

    def _tell_unsaid(self, block: Block, placed: Placed, *said: str) -> None:
        if block["type"] == "refusal" and isinstance(raw := block.get("raw"), Mapping):
            self._tell_unknown(left_out(raw, _NATIVE_KEYS["refusal"] | _OF_MESSAGES), placed)
        if left := unsaid(block, *said, *_said(block), *self.host.call_keys, *self.host.part_keys):
            self.lose("C12", "dropped", placed, "content", action=UNSAID, detail=left)

    def _is_native(self, raw: Mapping[str, Any]) -> bool:
        allowed = _NATIVE_KEYS.get(str(raw.get("type")))
        if allowed is None or (raw["type"] == "custom" and not self.host.custom_calls):
            return False
        called = raw.get("type") in ("function", "custom")
        allowed = allowed.union(self.host.call_keys if called else self.host.part_keys)
        if "image_url" in raw and not isinstance(raw["image_url"], Mapping):
            return False
        return raw.keys() <= (allowed | {"cache_control"} if self.host.reasoning == "reasoning_details" else allowed)

    def _call(self, block: Block, placed: Placed) -> dict[str, Any]:
        raw = native(block, placed.envelope, api=API)
        if isinstance(raw, dict) and self._is_native(raw) and raw.get("id") and _is_text_call(raw):
            return dict(raw)
        if self.host.custom_calls and (said := free_input(block)) is not None:
            self._tell_unsaid(block, placed, "custom", "custom_tool_call")
            return {"id": block.get("id"), "type": "custom", "custom": {"name": block.get("name"), "input": said}}
        self._tell_unsaid(block, placed)
        try:
            arguments = write_arguments(block)
        except NotJsonError as odd:
            arguments = plain_arguments(block)
            self.lose("C9", "downgraded", placed, "content", action="made arguments plain", detail=str(odd))
        function = {"name": block.get("name"), "arguments": arguments}
        extras = block.get("extras") or {}
        own = {key: extras[key] for key in self.host.call_keys if key in extras}
        return {"id": block.get("id"), "type": "function", "function": function, **own}

    def _reasoning(self, blocks: Sequence[Block]) -> dict[str, Any]:
        if not blocks or not self.host.reasoning:
            return {}
        if self.host.reasoning == "reasoning_details":
            return {"reasoning_details": [_detail(block) for block in blocks]}
        return {self.host.reasoning: "\n".join(block.get("reasoning") or "" for block in blocks)}

    def _overlay(self, message: dict[str, Any], placed: Placed) -> None:
        """Put back keys that the source had beyond the neutral ones, where this host knows them."""
        kept = _kept(placed.envelope)
        if not kept:
            return
        for key, value in kept.items():
            if key == "omits" or key in message:
                continue
            if key in self.host.keys and key not in _NEUTRAL:
                if key not in REASONING_KEYS or value is None or "reasoning_details" in message:
                    message[key] = mend_surrogates(value, []) if isinstance(value, str) else value
            elif value is not None:
                self.lose("C5", "dropped", placed, key, action="the host knows no such key")


_NEUTRAL: Final = ("name", "tool_calls", "tool_call_id")
"""Keys that envelopes have places for: the places alone count."""


def _is_text_call(raw: Mapping[str, Any]) -> bool:
    """True unless a function's arguments are an object, as some logs have them, where the API takes a text."""
    function = raw.get("function")
    return raw.get("type") == "custom" or (isinstance(function, Mapping) and isinstance(function.get("arguments"), str))


def _by_kind(envelope: MessageEnvelope) -> dict[str, list[Block]]:
    """Sort blocks by type; valid and invalid calls are of one kind, in their order."""
    found: dict[str, list[Block]] = {}
    for block in envelope["content"]:
        kind = block["type"]
        found.setdefault("call" if kind in CALL_TYPES else kind, []).append(block)
    return found


def _kept(envelope: MessageEnvelope) -> Mapping[str, Any]:
    extras = envelope.get("extras")
    kept = extras.get(NAME) if extras else None
    return kept if kept and isinstance(kept, Mapping) else {}


def _is_part(block: Block) -> bool:
    """True for an assistant's refusal or unknown part that stood in content; others have fields of their own."""
    return block["type"] in ("refusal", "non_standard") and "raw" in block


def _parts_of(envelope: MessageEnvelope) -> list[Block]:
    """Return what stands in an assistant's content: texts and unknown parts, or one refusal that is alone (C12)."""
    blocks = [block for block in envelope["content"] if block["type"] == "text" or _is_part(block)]
    said = [block for block in blocks if block["type"] != "refusal"]
    refusals = sum(block["type"] == "refusal" for block in envelope["content"])
    return said if said or refusals > 1 else blocks


def _detail(block: Block) -> Any:
    raw = block.get("raw")
    if isinstance(raw, Mapping) and str(raw.get("type")).startswith("reasoning."):
        return raw
    extras = block.get("extras") or {}
    if extras.get("encrypted_content"):
        return {"type": "reasoning.encrypted", "data": extras["encrypted_content"]}
    detail = {"type": "reasoning.text", "text": block.get("reasoning") or ""}
    return detail | ({"signature": extras["signature"]} if extras.get("signature") else {})


def _image(block: Block) -> dict[str, Any]:
    image: dict[str, Any] = {"url": data_url_of(block) or block.get("url")}
    if detail := detail_of(block):
        image["detail"] = detail
    return {"type": "image_url", "image_url": image}


def _audio(block: Block) -> dict[str, Any]:
    audio = {"data": base64_of(block), "format": _FORMATS.get(block.get("mime_type") or "", "wav")}
    return {"type": "input_audio", "input_audio": audio}


def _said(block: Block) -> tuple[str, ...]:
    """Name what a part says here beside its content."""
    uploaded = block.get("file_id") and base64_of(block) is None
    return _SAID.get(block["type"], ()) if not uploaded else ()


def _file(block: Block) -> dict[str, Any]:
    if block.get("file_id") and base64_of(block) is None:
        return {"type": "file", "file": {"file_id": block["file_id"]}}
    name = block.get("filename") or f"file.{(block.get('mime_type') or 'application/pdf').rpartition('/')[2]}"
    return {"type": "file", "file": {"filename": name, "file_data": data_url_of(block) or block.get("url")}}


_PARTS: Final[Mapping[str, Callable[[Block], dict[str, Any]]]] = {
    "text": lambda block: {"type": "text", "text": block["text"]},
    "refusal": lambda block: {"type": "refusal", "refusal": block["refusal"]},
    "image": _image,
    "audio": _audio,
    "file": _file,
    "video": lambda block: {"type": "video_url", "video_url": {"url": data_url_of(block) or block.get("url")}},
}
_WRITERS: Final[Mapping[str, Callable[[ChatWriter, Placed], dict[str, Any]]]] = {
    "system": ChatWriter.plain,
    "user": ChatWriter.plain,
    "other": ChatWriter.plain,
    "assistant": ChatWriter.assistant,
    "tool": ChatWriter.tool,
}
