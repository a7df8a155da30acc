"""Envelopes written as Bedrock Converse messages: all results of a step in the next user message, limits kept.

Expects a normalised conversation. A block that nothing changed goes back as it came.

Source: botocore 1.44 bedrock-runtime service model; rules B3, B4, B6, B8, B11, B12.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeGuard

from ..envelope.model import Block, MessageEnvelope
from .base import Target, native, plain_text
from .bedrock_blocks import Native, block_of, native_block
from .bedrock_read import API
from .bedrock_read import PROVIDER as NAME
from .beside import UNSAID, unsaid, word_of
from .lint.bedrock import BLOCK_KEYS, MAX_DOCUMENTS, MAX_IMAGES, RESULT_KEYS, SYSTEM_KEYS, check_block
from .media_parts import unsupported
from .native_parts import kind_of
from .plain_values import plain_or_told
from .reasoning import origin_of
from .report import LossKind, Placed, Report

_NATIVE_KEYS: Final = BLOCK_KEYS | {"json"}
_HOLDS: Final[Mapping[str, frozenset[str]]] = {"system": SYSTEM_KEYS, "tool": RESULT_KEYS}
"""Blocks that may stand in a role's content, where that is not every block of a message."""

_SAID: Final[Mapping[str, tuple[str, ...]]] = {
    "document": ("context", "bucketOwner"),
    **dict.fromkeys(("image", "video", "audio"), ("bucketOwner",)),
}
"""What a native block says beside its content, in words of the block that it is written from."""


class Writer:
    """Spells a normalised conversation; counts images and documents of the whole request.

    `unsupported` says what becomes of parts that turn out here to be none of Converse's, or one too many.
    """

    def __init__(self, target: Target, report: Report, *, unsupported: str = "placeholder") -> None:
        self.target, self.report, self.unsupported = target, report, unsupported
        self.images = self.documents = 0
        self.names: set[str] = set()

    def payload(self, conversation: Sequence[Placed]) -> dict[str, Any]:
        system: list[Native] = []
        messages: list[dict[str, Any]] = []
        for placed in conversation:
            role = placed.envelope["role"]
            if "extras" in placed.envelope:
                self._tell_unknown(placed)
            if role == "system":
                system += self._blocks(placed)
                continue
            blocks = self._answer(placed) if role == "tool" else self._blocks(placed)
            native_role = "assistant" if role == "assistant" else "user"
            if messages and messages[-1]["role"] == native_role:
                self._tell_merged(placed)
                messages[-1]["content"] += blocks
            elif blocks:
                messages.append({"role": native_role, "content": blocks})
            if role == "user":
                self._add_text(messages[-1]["content"], placed)
        found: dict[str, Any] = {"system": system} if system else {}
        return {**found, "messages": messages}

    def _tell_unknown(self, placed: Placed) -> None:
        """Tell what a message of Converse said in keys that it has not."""
        kept = placed.envelope["extras"].get(NAME)
        for key in kept if isinstance(kept, Mapping) else ():
            self.report.add("B4", "dropped", action="messages have no such key", at=placed, path=str(key))

    def _tell_merged(self, placed: Placed) -> None:
        """Tell of a message that stood alone in a history of Converse's own."""
        envelope = placed.envelope
        if (envelope.get("origin") or {}).get("api") == API and not (envelope.get("extras") or {}).get("joined"):
            self.report.add("B3", "merged", action="consecutive user messages became one", at=placed)

    def _add_text(self, content: list[Native], placed: Placed) -> None:
        """Put a text beside documents that stand without one (B6)."""
        if not any("text" in block for block in content) and any("document" in block for block in content):
            content.append({"text": "See the attached document."})
            self.report.add("B6", "synthesized", action="put a text beside a document", at=placed)

    def _blocks(self, placed: Placed) -> list[Native]:
        text = plain_text(placed.envelope)
        if text is not None:
            return [{"text": text}]
        found: list[Native] = []
        for index, block in enumerate(placed.envelope["content"]):
            found += self._block(block, *placed.part(index))
        return found

    def _block(self, block: Block, placed: Placed, path: str) -> list[Native]:
        raw = native(block, placed.envelope, api=API)
        spelled = raw if self._stays(raw, block, placed, path) else self._written(block, placed, path)
        found = None if spelled is None else self._in_place(spelled, block, placed, path)
        if found is None:
            return []
        found = self._within_limits(found, placed, path)
        if found is None:
            return []
        hint = block.get("cache_hint")
        if is_native(hint) and "cachePoint" in hint and _is_sound(hint):
            return [found, dict(hint)]
        if hint:
            refused = ", ".join(wrong.path.lstrip(".") for wrong in check_block(hint, _NATIVE_KEYS))
            self.report.add("B4", "dropped", action="left out a cache marker", at=placed, path=path, detail=refused)
        return [found]

    def _stays(self, raw: Any, block: Block, placed: Placed, path: str) -> TypeGuard[Native]:
        """True for a native form that goes back as it came; texts and calls were read from theirs."""
        if not is_native(raw):
            return False
        if "text" in raw or (block["type"] == "tool_call" and isinstance(raw["toolUse"].get("input"), Mapping)):
            return True
        served = "toolResult" not in raw or (isinstance(raw["toolResult"], Mapping) and "type" in raw["toolResult"])
        if served and _is_sound(raw):
            return True
        if block["type"] != "non_standard":
            action = "a part that holds what Converse refuses was spelled anew"
            refused = ", ".join(found.path.lstrip(".") for found in check_block(raw, _NATIVE_KEYS))
            self.report.add("B4", "downgraded", action=action, at=placed, path=path, detail=refused)
        return False

    def _in_place(self, found: Native, block: Block, placed: Placed, path: str) -> Native | None:
        """Return a block that may stand in its content: what is read of it where it may not, None for what steers only.

        Cache markers of results stand behind them, as langchain-aws puts them.
        """
        role, (key,) = placed.envelope["role"], found
        if key in _HOLDS.get(role, BLOCK_KEYS) or (key == "cachePoint" and role == "tool"):
            return found
        said = block if block["type"] == "text" else block_of(found)
        if said["type"] != "text" or not said["text"].strip():
            self.report.add("B4", "dropped", action="left out a part that has no place here", at=placed, path=path)
            return None
        if key != "json":
            action = "a part that has no place here became its text"
            self.report.add("B4", "downgraded", action=action, at=placed, path=path, detail=key)
        return {"text": said["text"]}

    def _written(self, block: Block, placed: Placed, path: str) -> Native | None:
        found = block.get("value") if block["type"] == "non_standard" else native_block(block)
        if not is_native(found) or (block["type"] in _FREE and not _is_sound(found)):
            return self._unwritable(block, placed, path)
        if "toolUse" in found:
            tell = partial(self.report.add, "B12", "downgraded", action="made arguments plain", at=placed, path=path)
            found = {"toolUse": {**found["toolUse"], "input": plain_or_told(found["toolUse"]["input"], tell)}}
        if left := unsaid(block, "cache_hint", *_said(found, block)):
            self.report.add("B6", "dropped", action=UNSAID, at=placed, path=path, detail=left)
        if block.get("annotations"):
            found = self._cited(found, block, placed, path)
        return self._named(found, block, placed, path) if "document" in found else found

    def _unwritable(self, block: Block, placed: Placed, path: str) -> Native | None:
        value = block.get("value")
        kind = block.get("mime_type") or (kind_of(value) if is_native(value) else block["type"])
        if block["type"] != "non_standard" and block["type"] in _FREE:  # no words that the model said itself
            action = "left out what a tool of the model's provider was asked or gave"
            self.report.add("B6", "dropped", action=action, at=placed, path=path, detail=kind)
            return None
        return self._instead(
            placed, path, kind, text=f"[{kind}: not available here]", loss="unresolved", reason="Converse refuses it"
        )

    def _instead(
        self, placed: Placed, path: str, kind: str, *, text: str, loss: LossKind, reason: str
    ) -> Native | None:
        """Return what stands for a part that Converse does not take; a message that holds no text keeps one."""
        if self.unsupported == "raise":
            raise unsupported(placed, path, kind, reason)
        said = any(block["type"] == "text" and block["text"].strip() for block in placed.envelope["content"])
        drops = self.unsupported == "drop" and said
        action = "the part was left out" if drops else "a text stands in for the part"
        loss = "dropped" if drops else loss
        self.report.add("B6", loss, action=action, at=placed, path=path, detail=f"{kind}: {reason}")
        return None if drops else {"text": text}

    def _cited(self, found: Native, block: Block, placed: Placed, path: str) -> Native:
        own = origin_of(block, placed.envelope).get("api") == API
        notes = [_native_note(note, own=own) for note in block["annotations"]]
        kept = [note for note in notes if note is not None]
        cited = {"citationsContent": {"content": [{"text": found.get("text")}], "citations": kept}}
        sound = bool(kept) and "text" in found and _is_sound(cited)
        if not sound or len(kept) < len(notes):
            self.report.add("B4", "dropped", action="left out citations", at=placed, path=path)
        return cited if sound else found

    def _named(self, found: Native, block: Block, placed: Placed, path: str) -> Native:
        """Give a document a name that fits and is not used yet (B6)."""
        name = made = found["document"]["name"]
        while made in self.names:
            made = f"{name[:190]} {len(self.names) + 1}"
        if made != (block.get("filename") or word_of(block, "title") or "document"):
            self.report.add("B6", "re-keyed", action="gave a document a name that fits", at=placed, path=path)
        return {"document": {**found["document"], "name": made}}

    def _within_limits(self, found: Native, placed: Placed, path: str) -> Native | None:
        self.images += "image" in found
        self.documents += "document" in found
        if "document" in found:
            self.names.add(str(found["document"].get("name")))
        if ("image" in found and self.images > MAX_IMAGES) or ("document" in found and self.documents > MAX_DOCUMENTS):
            (kind,) = found
            text = f"[{kind}: left out, a request holds only so many]"
            reason = f"a request holds no more {kind}s"
            return self._instead(placed, path, kind, text=text, loss="placeholder", reason=reason)
        return found

    def _answer(self, placed: Placed) -> list[Native]:
        envelope = placed.envelope
        api = (envelope.get("origin") or {}).get("api")
        raw = envelope["raw_content"] if api == API and isinstance(envelope.get("raw_content"), dict) else None
        if raw is not None and not _is_whole(raw.get("toolResult")):
            left = ", ".join(key for key in raw.get("toolResult") or () if key not in _RESULT_KEYS)
            action = "a result that Converse refuses was spelled anew"
            self.report.add("B4", "downgraded", action=action, at=placed, detail=left)
        elif raw is not None and _answers(raw, envelope):
            return [raw if self.target.tool_status else {"toolResult": _without_status(raw["toolResult"])}]
        blocks = self._blocks(placed)
        content = [block for block in blocks if "cachePoint" not in block]
        markers = [block for block in blocks if "cachePoint" in block]
        failed = envelope.get("status") == "error"
        if failed and not content:
            content = [{"text": "The tool failed without a message."}]
            self.report.add("B11", "synthesized", action="gave an error result a text", at=placed)
        found = {"toolUseId": envelope.get("tool_call_id"), "content": content}
        told = raw["toolResult"].get("status") if raw and isinstance(raw.get("toolResult"), Mapping) else None
        word = "error" if failed else told if told == "success" else None
        status = {"status": word} if word and self.target.tool_status else {}
        return [{"toolResult": found | status}, *markers[-1:]]


def _native_note(note: Mapping[str, Any], *, own: bool) -> Mapping[str, Any] | None:
    """Spell a citation of Converse's own; None for any other, and for those of search results.

    Source: langchain-aws 1.9, bedrock_converse.py: Bedrock refuses citations of search results that come back.
    """
    extras = note.get("extras") or {}
    native = extras.get("bedrock") if isinstance(extras, Mapping) else None
    if native is None and own and isinstance(extras, Mapping) and "location" in extras:
        said = {"sourceContent": [{"text": note["cited_text"]}]} if "cited_text" in note else {}
        native = {**said, **_camel({key: note[key] for key in ("title",) if key in note} | dict(extras))}
    if not isinstance(native, Mapping) or "searchResultLocation" in (native.get("location") or {}):
        return None
    return native


def _camel(value: Any) -> Any:
    """Spell keys as the API does where langchain-aws wrote them with underscores."""
    if isinstance(value, Mapping):
        return {_HUMP.sub(lambda found: found[1].upper(), str(key)): _camel(one) for key, one in value.items()}
    return [_camel(one) for one in value] if isinstance(value, list) else value


_HUMP: Final = re.compile("_([a-z])")


def _said(found: Native, block: Block) -> tuple[str, ...]:
    """Name what a native block says beside its content; blocks of Converse's own stand among the extras of a text.

    A document's name is the file's, or its title.
    """
    (kind,) = found
    name = "filename" if block.get("filename") else "title"
    return (kind, *_SAID.get(kind, ()), *([name] if kind == "document" else ()))


def _answers(raw: Mapping[str, Any], envelope: MessageEnvelope) -> bool:
    """True for a native result that names the call which the message answers."""
    answer = raw.get("toolResult")
    return isinstance(answer, Mapping) and answer.get("toolUseId") == envelope.get("tool_call_id")


def _without_status(answer: Mapping[str, Any]) -> Native:
    return {key: value for key, value in answer.items() if key != "status"}


_FREE: Final = ("non_standard", "server_tool_call", "server_tool_result")
"""Blocks that may hold any value."""


def _is_sound(value: Native) -> bool:
    """Tell whether a native block holds what Converse takes."""
    return next(check_block(value, _NATIVE_KEYS), None) is None


_RESULT_KEYS: Final = frozenset({"toolUseId", "content", "status", "type"})
"""Source: botocore 1.44 ToolResultBlock."""


def _is_whole(answer: Any) -> bool:
    """Tell whether a native result holds what Converse takes; plain texts are not looked into."""
    if isinstance(answer, Mapping) and not _RESULT_KEYS.issuperset(answer):
        return False
    if not isinstance(answer, Mapping) or not isinstance(answer.get("content"), list):
        return False
    if not isinstance(answer.get("toolUseId"), str) or answer.get("status") not in (None, "success", "error"):
        return False
    for part in answer["content"]:
        if not is_native(part) or (type(part.get("text")) is not str and not _is_sound(part)):
            return False
    return True


def is_native(value: Any) -> TypeGuard[Native]:
    """Tell whether a value is one native content block (or a `json` one of a tool result)."""
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in _NATIVE_KEYS
