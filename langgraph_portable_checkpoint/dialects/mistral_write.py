"""Envelopes written as Mistral chat messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..envelope.model import Block, MessageEnvelope
from .arguments import plain_arguments
from .base import is_foreign, plain_text, text_and_calls
from .beside import UNSAID, detail_of, omits_content, unsaid
from .links import CALL_TYPES
from .media_parts import base64_of, data_url_of
from .mistral_read import API, NAME
from .native_keys import UNKNOWN_KEYS, left_out, only_known
from .reasoning import origin_of
from .report import LossKind, Placed, Report

_NATIVE_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "text": frozenset({"type", "text"}),
    "thinking": frozenset({"type", "thinking", "signature", "closed"}),
    "image_url": frozenset({"type", "image_url"}),
    "input_audio": frozenset({"type", "input_audio"}),
    "document_url": frozenset({"type", "document_url", "document_name"}),
    "file": frozenset({"type", "file_id"}),
    "function": frozenset({"type", "id", "function", "index"}),
}
_SAID: Final[Mapping[str, tuple[str, ...]]] = {"image": ("detail",), "file": ("filename",)}
_NOTHING_KEPT: Final[Mapping[str, Any]] = {"omits": ("content",)}
_MESSAGE_KEYS: Final = frozenset({"prefix", "tool_calls"})


@dataclass(frozen=True)
class MistralWriter:
    """Writes messages, reporting what they cannot say."""

    report: Report

    def message(self, placed: Placed) -> dict[str, Any]:
        """Spell one message."""
        envelope = placed.envelope
        role = envelope["role"]
        if role == "other":
            role = "user"
        message: dict[str, Any] = {"role": role}
        kept = _kept(envelope) if "extras" in envelope else _NOTHING_KEPT
        known = text_and_calls(envelope, foreign=is_foreign(envelope, API))
        content, calls = known or (self._content(placed), _calls_of(envelope))
        if content is not None or role != "assistant":
            message["content"] = "" if content is None else content
        else:
            message |= _no_content(kept, called=bool(calls))
        if calls:
            message["tool_calls"] = [self._call(block, placed) for block in calls]
        if role == "tool":
            message["tool_call_id"] = envelope.get("tool_call_id")
            if envelope.get("name") is not None:
                message["name"] = envelope["name"]
        if kept is not _NOTHING_KEPT:
            own = _MESSAGE_KEYS if role == "assistant" else _MESSAGE_KEYS - {"prefix"}
            message |= {key: kept[key] for key in kept if key in own and key not in message}
            for key in kept.keys() - own - message.keys() - {"omits", "content"}:
                self.lose("dropped", placed, key, action="messages have no such key")
        return message

    def lose(self, kind: LossKind, placed: Placed, path: str, *, action: str) -> None:
        """Report what Mistral's messages cannot say (M8)."""
        self.report.add("M8", kind, at=placed, path=path, action=action)

    def _content(self, placed: Placed) -> Any:
        """Spell texts and chunks: a plain text where there is one text that came as one, else a list of chunks."""
        text = plain_text(placed.envelope)
        if text is not None:
            return text
        blocks = [block for block in placed.envelope["content"] if block["type"] in _CHUNKS]
        if not blocks:
            return None
        chunks = [self._chunk(block, placed) for block in blocks]
        if len(chunks) == 1 and blocks[0]["type"] == "text" and _native(blocks[0], placed.envelope) is None:
            return chunks[0]["text"]
        return chunks

    def _chunk(self, block: Block, placed: Placed) -> dict[str, Any]:
        raw = _native(block, placed.envelope)
        if raw is not None:
            if raw is not block["raw"] and (left := left_out(block["raw"], raw.keys())):
                self.report.add("M8", "dropped", at=placed, path="content", action=UNKNOWN_KEYS, detail=left)
            return dict(raw)
        if block.get("annotations"):
            self.lose("dropped", placed, "content", action="citations have no place in messages that are sent")
        self._tell_unsaid(block, placed)
        return _CHUNKS[block["type"]](block)

    def _tell_unsaid(self, block: Block, placed: Placed) -> None:
        if left := unsaid(block, *_SAID.get(block["type"], ())):
            self.report.add("M8", "dropped", at=placed, path="content", action=UNSAID, detail=left)

    def _call(self, block: Block, placed: Placed) -> dict[str, Any]:
        raw = _native(block, placed.envelope)
        if raw is not None and raw.get("id") == block.get("id") and _is_call(raw):
            return dict(raw)
        self._tell_unsaid(block, placed)
        function = {"name": block.get("name"), "arguments": plain_arguments(block)}
        return {"id": block.get("id"), "type": "function", "function": function}


def _kept(envelope: MessageEnvelope) -> Mapping[str, Any]:
    extras = envelope.get("extras")
    kept = extras.get(NAME) if extras else None
    return kept if kept and isinstance(kept, Mapping) else _NOTHING_KEPT


def _no_content(kept: Mapping[str, Any], *, called: bool) -> dict[str, Any]:
    """Spell that an assistant says nothing: as it came, where there are calls."""
    if called and "content" in kept:
        return {"content": None if kept["content"] is None else ""}
    return {} if "omits" not in kept or omits_content(kept) else {"content": ""}


def _calls_of(envelope: MessageEnvelope) -> list[Block]:
    return [block for block in envelope["content"] if block["type"] in CALL_TYPES]


def _native(block: Block, envelope: MessageEnvelope) -> Mapping[str, Any] | None:
    """Return a block's raw form if it came from Mistral and is spelled as its API does."""
    raw, origin = block.get("raw"), origin_of(block, envelope)
    if raw is None:
        return None
    if origin.get("provider") != NAME or origin.get("api", API) != API or not isinstance(raw, dict):
        return None
    kind = str(raw.get("type") or ("function" if "function" in raw else ""))
    unknown = raw.keys() if block["type"] == "non_standard" else frozenset[str]()
    known = _NATIVE_KEYS.get(kind, unknown)
    return only_known(raw, known) if kind == "thinking" or raw.keys() <= known else None


def _is_call(raw: Mapping[str, Any]) -> bool:
    function = raw.get("function")
    return isinstance(function, Mapping) and isinstance(function.get("arguments"), (str, Mapping))


def _thinking(block: Block) -> dict[str, Any]:
    chunk: dict[str, Any] = {"type": "thinking", "thinking": [{"type": "text", "text": block.get("reasoning") or ""}]}
    signature = (block.get("extras") or {}).get("signature")
    return chunk | ({"signature": signature} if signature else {})


def _image(block: Block) -> dict[str, Any]:
    url, detail = data_url_of(block) or block.get("url"), detail_of(block)
    return {"type": "image_url", "image_url": {"url": url, "detail": detail} if detail not in (None, "auto") else url}


def _file(block: Block) -> dict[str, Any]:
    """Spell a document of Mistral's own histories; no others get here."""
    if block.get("file_id"):
        return {"type": "file", "file_id": block["file_id"]}
    named = {"document_name": block["filename"]} if block.get("filename") else {}
    return {"type": "document_url", "document_url": data_url_of(block) or block.get("url"), **named}


_CHUNKS: Final[Mapping[str, Callable[[Block], dict[str, Any]]]] = {
    "text": lambda block: {"type": "text", "text": block["text"]},
    "reasoning": _thinking,
    "image": _image,
    "audio": lambda block: {"type": "input_audio", "input_audio": base64_of(block) or block.get("url")},
    "file": _file,
    "non_standard": lambda block: block["value"],
}


def write_messages(conversation: Sequence[Placed], report: Report) -> list[dict[str, Any]]:
    """Spell a normalised conversation."""
    writer = MistralWriter(report)
    return [writer.message(placed) for placed in conversation]
