"""Envelopes written as Anthropic messages: a step's tool results in one user message, results first (A8, A9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from ..envelope.model import Block, MessageEnvelope
from .anthropic_read import API, NAME
from .base import native, plain_text
from .beside import UNSAID, unsaid, word_of
from .lint.anthropic_shapes import BLOCK_KEYS, CACHE_MARK, CITATION_KEYS, MESSAGE_KEYS, SOURCES
from .media_parts import base64_of
from .native_keys import UNKNOWN_KEYS, left_out, only_known
from .reasoning import origin_of
from .report import Placed, Report

MAX_CACHE_HINTS: Final = 4


@dataclass
class AnthropicWriter:
    """Writes one history; `as_seen` is True where reasoning in it is bound to what the model saw before."""

    report: Report
    as_seen: bool = False
    system: list[dict[str, Any]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    _plain_system: bool = False
    _programs: set[Any] = field(default_factory=set)
    """Ids of the calls of the provider's own tools so far, which may call the client's."""

    def write(self, conversation: Sequence[Placed]) -> dict[str, Any]:
        """Return `system`, where there is one, and `messages`."""
        before: str | None = None
        for placed in conversation:
            role = placed.envelope["role"]
            if role == "system" and not self.messages:
                self._lead(placed)
            elif role == "tool":
                if before == "tool" and _stood_alone(placed):
                    self.report.add("A8", "merged", at=placed, action="a result went to those before it")
                self._append(placed, [self._result(placed)], joins=before == "tool" or _joined(placed))
            else:
                self._append(placed, self._content(placed), joins=_joined(placed))
            before = role
        payload: dict[str, Any] = {}
        if self.system:
            payload["system"] = self.system[0]["text"] if self._plain_system else self.system
        return payload | {"messages": self.messages}

    def _kept(self, placed: Placed, role: str) -> dict[str, Any]:
        """Return what this API said of a message beside its content, as far as messages of a role may say it."""
        envelope = placed.envelope
        kept = envelope.get("extras", {}).get(NAME) if envelope["role"] != "tool" else None
        if not kept or not isinstance(kept, Mapping):
            return {}
        known = MESSAGE_KEYS.get(role, frozenset())
        for key in kept.keys() - known:
            self.report.add("A18", "dropped", at=placed, path=str(key), action="messages have no such key")
        return {key: value for key, value in kept.items() if key in known}

    def _lead(self, placed: Placed) -> None:
        blocks = self._content(placed)
        self._kept(placed, "")
        self._plain_system = not self.system and isinstance(blocks, str)
        self.system.extend([{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks)

    def _append(self, placed: Placed, content: Any, *, joins: bool) -> None:
        """Append a message, or join its content to the user message before it."""
        role = placed.envelope["role"]
        role = "user" if role in ("tool", "other") else role
        last = self.messages[-1] if self.messages else None
        if not joins or last is None or last["role"] != role:
            message = {"role": role, "content": content}
            self.messages.append(message | self._kept(placed, role) if "extras" in placed.envelope else message)
            return
        self._kept(placed, "")
        last["content"] = _as_list(last["content"]) + _as_list(content)

    def _result(self, placed: Placed) -> dict[str, Any]:
        envelope = placed.envelope
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": envelope.get("tool_call_id")}
        content = self._content(placed)
        if content:
            result["content"] = content
        kept = (envelope.get("extras") or {}).get(NAME)
        kept = kept if isinstance(kept, Mapping) else {}
        for key, value in kept.items():
            if value is not None and key not in BLOCK_KEYS["tool_result"]:
                action = "the API knows no such key of a result"
                self.report.add("A18", "dropped", at=placed, path=key, action=action)
            elif value is not None and not _fits_result(key, value):
                action = "left out a value that the API does not take there"
                self.report.add("A18", "dropped", at=placed, path=key, action=action)
            elif value is not None and key not in result:
                result[key] = value
        if envelope.get("status") == "error":
            result["is_error"] = True
        return result

    def _content(self, placed: Placed) -> Any:
        """Spell content: a plain text where there is one text that came as one, else a list of blocks."""
        envelope = placed.envelope
        text = plain_text(envelope)
        if text is not None:
            return text
        blocks = [self._called(self._block(block, placed), placed) for block in envelope["content"]]
        if len(blocks) == 1 and blocks[0].keys() == {"type", "text"}:
            only = envelope["content"][0]
            if native(only, envelope, api=API) is None:
                return blocks[0]["text"]
        return blocks

    def _block(self, block: Block, placed: Placed) -> dict[str, Any]:
        raw = native(block, placed.envelope, api=API) or _unmistakable(block, placed.envelope)
        found = _native_form(raw, block) if isinstance(raw, dict) else None
        if found is not None:
            sent = self._known(found, placed)
            if found is not raw and (left := left_out(raw, found.keys())):
                self._tell_unknown(left, placed)
            cited = isinstance(sent.get("citations"), list)
            return {**sent, "citations": self._asked(sent["citations"], placed)} if cited else sent
        if block.get("annotations"):
            action = "citations of another provider have no form here"
            self.report.add("A13", "dropped", at=placed, path="content", action=action)
        if self.as_seen and "filename" in block and _is_langchain_file(block) and not word_of(block, "title"):
            action = "left out the name of a file, which no model saw"
            self.report.add("A18", "dropped", at=placed, path="content", action=action, detail="filename")
            block = cast(Block, {key: value for key, value in block.items() if key != "filename"})
        written = _BLOCKS[block["type"]](block)
        if block["type"] == "non_standard":
            return self._known(written, placed)
        own = _own_keys(block, placed.envelope, written)
        if left := unsaid(block, "cache_hint", *_said(block), *own):
            self.report.add("A18", "dropped", at=placed, path="content", action=UNSAID, detail=left)
        written |= own
        hint = block.get("cache_hint")
        if hint is not None:
            self._hint(written, hint, placed)
        return written

    def _called(self, written: dict[str, Any], placed: Placed) -> dict[str, Any]:
        """Return a block without a caller that is not there: a program of the provider that was left out (A13)."""
        if written.get("type") == "server_tool_use":
            self._programs.add(written.get("id"))
        caller = written.get("caller")
        program = caller.get("tool_id") if isinstance(caller, Mapping) else None
        if program is None or program in self._programs:
            return written
        self.report.add("A13", "dropped", at=placed, path="content", action="the caller of a call is not there")
        return {key: value for key, value in written.items() if key != "caller"}

    def _asked(self, citations: list[Any], placed: Placed) -> list[Any]:
        """Return citations as requests may hold them; what is none is left out."""
        known = [_as_asked(citation) for citation in citations if isinstance(citation, Mapping)]
        if len(known) < len(citations):
            self.report.add("A13", "dropped", at=placed, path="content", action="what is no citation was left out")
        left = {key for one in citations if isinstance(one, Mapping) for key, value in one.items() if value is not None}
        if left := left - {key for one in known for key in one}:
            action, detail = "keys of citations that no request holds were left out", ", ".join(sorted(left))
            self.report.add("A18", "dropped", at=placed, path="content", action=action, detail=detail)
        return known

    def _known(self, part: Mapping[str, Any], placed: Placed) -> dict[str, Any]:
        """Return a part without the keys that its type, its source and its cache mark have not."""
        sent, whole = dict(part), BLOCK_KEYS.get(str(part.get("type")))
        if _INNER.isdisjoint(part) and (whole is None or part.keys() <= whole):
            return sent
        for key, known in (("", whole), *_inner_of(part)):
            value: Any = sent[key] if key else sent
            if known is None or not isinstance(value, Mapping) or value.keys() <= known:
                continue
            if left := left_out(value, known):
                self._tell_unknown(f"{key}.{left}" if key else left, placed)
            sent = {**sent, key: dict(only_known(value, known))} if key else dict(only_known(value, known))
        return sent

    def _tell_unknown(self, keys: str, placed: Placed) -> None:
        self.report.add("A18", "dropped", at=placed, path="content", action=UNKNOWN_KEYS, detail=keys)

    def _hint(self, written: dict[str, Any], hint: Any, placed: Placed) -> None:
        if isinstance(hint, Mapping) and not any(CACHE_MARK.misfits(hint)):
            written["cache_control"] = dict(hint)
        else:
            action = "a cache hint of another provider was left out"
            self.report.add("A16", "dropped", at=placed, path="content", action=action)


def limit_cache_hints(payload: dict[str, Any], report: Report) -> None:
    """Take the earliest cache hints away if there are more than the provider takes (A16)."""
    marked = [block for block in _all_blocks(payload) if block.get("cache_control") is not None]
    for block in marked[: max(0, len(marked) - MAX_CACHE_HINTS)]:
        del block["cache_control"]
        report.add("A16", "dropped", action=f"more than {MAX_CACHE_HINTS} cache hints: the earliest were left out")


def _all_blocks(payload: Mapping[str, Any]) -> list[dict[str, Any]]:
    contents = [payload.get("system"), *(message["content"] for message in payload["messages"])]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [part for block in blocks for part in (*_held(block), block)]


def _held(block: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a result holds: it stands in the prompt before the end of the result."""
    content = block.get("content") if block.get("type") == "tool_result" else None
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _unmistakable(block: Block, envelope: MessageEnvelope) -> Any:
    """Return the raw form of a part that an application wrote itself, in a shape that only this API has."""
    raw = block.get("raw")
    known = "api" in origin_of(block, envelope)
    return None if known or not isinstance(raw, dict) or "source" not in raw else raw


_SPELLED_ANEW: Final = frozenset({"annotations", "extras", "partial_json", "base64", "mime_type", "data", "url"})
"""Keys of LangChain's own blocks, which share types with those of this API, and of calls that came in pieces."""


def _native_form(raw: Mapping[str, Any], block: Block) -> Mapping[str, Any] | None:
    """Return what a block goes back as: its raw form, without unknown keys; None for one that is spelled anew."""
    kind = str(raw.get("type"))
    known = BLOCK_KEYS.get(kind)
    if known is None or raw.keys() <= known:
        return raw
    anew = block["type"] == "tool_call" or (kind in SOURCES and "source" not in raw)
    return None if anew or not (raw.keys() - known).isdisjoint(_SPELLED_ANEW) else only_known(raw, known)


_INNER: Final = frozenset({"source", "cache_control"})


def _inner_of(part: Mapping[str, Any]) -> Iterator[tuple[str, frozenset[str] | None]]:
    """Yield the objects inside a block whose keys are known: where they stand, and these keys."""
    if "source" in part and part.get("type") in SOURCES and isinstance(part["source"], Mapping):
        shape = SOURCES[part["type"]].get(str(part["source"].get("type")))
        yield "source", shape.keys if shape else None
    if "cache_control" in part:
        yield "cache_control", CACHE_MARK.keys


def _as_asked(citation: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a citation with the keys that requests may hold; answers have more."""
    known = CITATION_KEYS.get(str(citation.get("type")))
    return citation if known is None else {key: value for key, value in citation.items() if key in known}


def _own_keys(block: Block, envelope: MessageEnvelope, written: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what this API itself said beside a block's content: the caller of a call."""
    extras = block.get("extras")
    if not extras or origin_of(block, envelope).get("api") != API:
        return {}
    known = BLOCK_KEYS.get(written["type"], frozenset())
    return {key: value for key, value in extras.items() if value is not None and key in known and key not in written}


def _stood_alone(placed: Placed) -> bool:
    """True for a result of this API that had a message of its own."""
    return (placed.envelope.get("origin") or {}).get("api") == API and not _joined(placed)


def _fits_result(key: str, value: Any) -> bool:
    """True if a key of a tool result may have that value."""
    if key == "cache_control":
        return isinstance(value, Mapping) and not any(CACHE_MARK.misfits(value))
    return key != "is_error" or isinstance(value, bool)


def _joined(placed: Placed) -> bool:
    return bool((placed.envelope.get("extras") or {}).get("joined"))


def _as_list(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _reasoning(block: Block) -> dict[str, Any]:
    extras = block.get("extras") or {}
    if extras.get("redacted_data"):
        return {"type": "redacted_thinking", "data": extras["redacted_data"]}
    return {"type": "thinking", "thinking": block.get("reasoning") or "", "signature": extras.get("signature")}


def _call(block: Block) -> dict[str, Any]:
    return {"type": "tool_use", "id": block.get("id"), "name": block.get("name"), "input": block.get("args") or {}}


def _server_call(block: Block) -> dict[str, Any]:
    extras = block.get("extras") or {}
    written = {
        "type": extras.get("block_type") or "server_tool_use",
        "id": block.get("id"),
        "name": block.get("name"),
        "input": block.get("args") or {},
    }
    return written | ({"server_name": extras["server_name"]} if "server_name" in extras else {})


def _server_result(block: Block) -> dict[str, Any]:
    kind = (block.get("extras") or {}).get("block_type")
    return {"type": kind, "tool_use_id": block.get("tool_call_id"), "content": block.get("output")}


def _image(block: Block) -> dict[str, Any]:
    return {"type": "image", "source": _source(block)}


def _said(block: Block) -> tuple[str, ...]:
    """Name what a block says here beside its content; a file's name is its title where it has no other."""
    if block["type"] not in ("file", "text-plain"):
        return ()
    return ("title", "context") if word_of(block, "title") else ("filename", "context")


def _is_langchain_file(block: Block) -> bool:
    """True for LangChain's own block of a file, whose name langchain-anthropic does not send."""
    raw = block.get("raw")
    return block["type"] == "file" and isinstance(raw, Mapping) and raw.get("type") == "file" and "file" not in raw


def _document(block: Block) -> dict[str, Any]:
    document: dict[str, Any] = {"type": "document", "source": _source(block)}
    title, context = word_of(block, "title") or block.get("filename"), word_of(block, "context")
    return document | ({"title": title} if title else {}) | ({"context": context} if context else {})


def _source(block: Block) -> dict[str, Any]:
    encoded = base64_of(block)
    if "text" in block:
        return {"type": "text", "media_type": "text/plain", "data": block["text"]}
    if encoded is not None:
        return {"type": "base64", "media_type": block.get("mime_type"), "data": encoded}
    if block.get("url"):
        return {"type": "url", "url": block["url"]}
    return {"type": "file", "file_id": block.get("file_id")}


_BLOCKS: Final[Mapping[str, Callable[[Block], dict[str, Any]]]] = {
    "text": lambda block: {"type": "text", "text": block["text"]},
    "reasoning": _reasoning,
    "tool_call": _call,
    "server_tool_call": _server_call,
    "server_tool_result": _server_result,
    "image": _image,
    "file": _document,
    "text-plain": _document,
    "non_standard": lambda block: block["value"],
}
