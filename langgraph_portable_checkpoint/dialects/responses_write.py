"""Envelopes written as Responses items, and the rules on reasoning and ids that concern items as a whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from ..envelope.model import Block, MessageEnvelope
from .arguments import NotJsonError, plain_arguments
from .base import IdRule, is_foreign, plain_text, text_and_calls
from .beside import UNSAID, unsaid
from .ids import digest_id
from .jsonl import mend_surrogates
from .lint.openai_responses import MAX_TEXT, leads_to
from .native_keys import UNKNOWN_KEYS
from .plain_values import is_everyday
from .reasoning import origin_of
from .report import LossKind, Placed, Report
from .responses_items import API, CALLS, HOSTED, NAME, NEED_ID, NULLS, USER_ITEMS, WITHHELD
from .responses_keys import NATIVE_KEYS, known_item, native_form, output_form, unknown_of
from .responses_searches import lone_searches
from .responses_spell import (
    PARTS,
    call_item,
    hints_of,
    is_whole,
    notes_of,
    output_part,
    reasoning_item,
    said_of,
)

_ITEM_ID: Final = re.compile("[a-zA-Z0-9_-]+")
_ID_RULES: Final[Mapping[str, str]] = {
    "message": "msg_",
    "reasoning": "rs_",
    **{kind: call.prefix for kind, call in CALLS.items() if kind in ("function_call", "custom_tool_call")},
}
_NAMED: Final = ("item_reference", "local_shell_call_output")
"""Items whose id names another item."""
_SAYS_NOTHING: Final = frozenset({"type", "role"})
"""Keys of an item that says no more than what it is."""
_CLIENT_KEYS: Final = frozenset({"type", "role", "status", "instructions"})


@dataclass
class ResponsesWriter:
    """Writes one history for the hosts whose items may go back as they are."""

    providers: frozenset[str]
    report: Report
    items: list[tuple[dict[str, Any], Placed]] = field(default_factory=list)
    instructions: str | None = None
    _call_types: dict[Any, str] = field(default_factory=dict)
    _output_types: dict[Any, Any] = field(default_factory=dict)

    def write(self, conversation: Sequence[Placed]) -> dict[str, Any]:
        """Return `input`, and `instructions` where the history came with them."""
        for placed in conversation:
            envelope = placed.envelope
            if envelope["role"] == "tool" and ("origin" in envelope or "extras" in envelope):
                self._output_types[envelope.get("tool_call_id")] = self._answer_item(envelope).get("type")
        for placed in conversation:
            items = self._plain_items(placed.envelope) or _WRITERS[placed.envelope["role"]](self, placed)
            for item in items:
                self.items.append((item, placed))
        self._pair_searches()
        self._follow_reasoning()
        self._distinct_ids()
        self._shorten()
        head = {"instructions": self.instructions} if self.instructions is not None else {}
        return {**head, "input": [item for item, _ in self.items]}

    def lose(self, rule: str, kind: LossKind, placed: Placed, *, action: str, detail: str = "") -> None:
        """Report what items cannot say."""
        self.report.add(rule, kind, at=placed, path="content", action=action, detail=detail)

    def _is_own(self, block: Block | None, envelope: MessageEnvelope) -> bool:
        origin = (block.get("origin") if block else None) or envelope.get("origin")
        return origin is not None and origin.get("api") == API and origin.get("provider") in self.providers

    def _plain_items(self, envelope: MessageEnvelope) -> list[dict[str, Any]] | None:
        """Spell a message of one plain text and calls of which no item is known; None for any other."""
        role, foreign = envelope["role"], is_foreign(envelope, API)
        unknown = foreign or "origin" not in envelope
        if role == "assistant":
            known = text_and_calls(envelope, foreign=foreign)
            if known is None or (known[1] and (not unknown or any("origin" in call for call in known[1]))):
                return None
            said = [] if known[0] is None else [{"role": role, "content": known[0]}]
            try:
                return said + [call_item(call, own=False) for call in known[1]]
            except NotJsonError:
                return None
        text = plain_text(envelope, foreign=foreign)
        if text is None:
            return None
        if role != "tool":
            return None if _kept(envelope) else [{"role": _role(envelope), "content": text}]
        call_id = envelope.get("tool_call_id")
        if "extras" in envelope or call_id in self._call_types:
            return None
        return [{"type": "function_call_output", "call_id": call_id, "output": text}]

    def client_message(self, placed: Placed) -> Iterator[dict[str, Any]]:
        """Spell a system or user message; items of unknown type in it stand for themselves."""
        envelope = placed.envelope
        kept = _kept(envelope)
        if envelope["role"] == "system" and kept.get("instructions") and not self.items and self.instructions is None:
            self.instructions = "".join(block.get("text", "") for block in envelope["content"])
            return
        for block in filter(_stands_alone, envelope["content"]):
            yield self._known(block["value"], placed)
        content = self._content([block for block in envelope["content"] if not _stands_alone(block)], placed)
        if content != []:
            yield {**self._head(placed), "role": _role(envelope), "content": content}

    def _head(self, placed: Placed) -> dict[str, Any]:
        """Return what its own API said of a client's message; whole items have more keys than what is sent."""
        if not self._is_own(None, placed.envelope):
            return {}
        kept = _kept(placed.envelope)
        for key in kept.keys() - _CLIENT_KEYS:
            self.lose("R12", "dropped", placed, action="messages of the client have no such key", detail=key)
        return {key: kept[key] for key in ("type", "status") if key in kept}

    def tool(self, placed: Placed) -> Iterator[dict[str, Any]]:
        """Spell a result in the item type that belongs to its call."""
        envelope = placed.envelope
        call_id = envelope.get("tool_call_id")
        wanted = CALLS[self._call_types.get(call_id, "function_call")].output
        kept = self._known(self._answer_item(envelope), placed)
        key = "id" if wanted == "local_shell_call_output" else "call_id"
        if kept.get("type") == wanted and "output" in kept:
            yield {**kept, key: call_id}
            return
        head = kept if kept.get("type") == wanted else {"type": wanted}
        yield {**head, key: call_id, "output": self._content(envelope["content"], placed)}

    def _answer_item(self, envelope: MessageEnvelope) -> Mapping[str, Any]:
        """Return what is known of a result's item: as it came, or as an application marked it for this API."""
        if self._is_own(None, envelope):
            return _kept(envelope)
        return _screenshot(envelope) if "origin" not in envelope else {}

    def assistant(self, placed: Placed) -> Iterator[dict[str, Any]]:
        """Spell the items of an assistant message in order; texts that share an id are one output message."""
        blocks = [block for block in placed.envelope["content"] if block["type"] != "server_tool_result"]
        for key, group in groupby(blocks, key=_message_key):
            run = list(group)
            yield from self._answer(run, placed) if key is not None else self._single(run, placed)

    def _single(self, blocks: Sequence[Block], placed: Placed) -> Iterator[dict[str, Any]]:
        for block in blocks:
            item = self._item(block, placed)
            if item is not None:
                yield item
            else:
                self._drop_reasoning_before()

    def _drop_reasoning_before(self) -> None:
        """Drop the reasoning that the item left out belongs to (R1); items are collected as they are written."""
        while self.items and self.items[-1][0].get("type") == "reasoning":
            _, placed = self.items.pop()
            self.lose("R1", "dropped", placed, action="reasoning whose item is gone was left out")

    def _item(self, block: Block, placed: Placed) -> dict[str, Any] | None:
        kind = block["type"]
        own = self._is_own(block, placed.envelope) and not self._lacks_output(block, placed)
        raw = self._native(block) if own else None
        if raw is not None and raw["type"] in HOSTED and raw["type"] in NEED_ID and not raw.get("id"):
            self.lose("R5", "dropped", placed, action="an item without the id that it needs was left out")
            return None
        if raw is not None and (kind != "server_tool_call" or raw["type"] in HOSTED):
            self._tell_unknown(block["raw"], raw, placed)
            item = self._whole(raw, placed)
        elif kind == "non_standard":
            return self._known(block["value"], placed)
        elif kind == "reasoning":
            item = reasoning_item(block)
        elif kind in ("tool_call", "invalid_tool_call"):
            item = self._asked(block, placed, own=own)
        else:
            action = "an item that is no native one was left out"
            self.lose("R3", "dropped", placed, action=action, detail=str(block.get("name")))
            return None
        if item.get("type") in CALLS:
            self._call_types[block.get("id")] = item["type"]
        return item

    def _native(self, block: Block) -> Mapping[str, Any] | None:
        """Return the item that a block goes back as; hosted ones of other hosts have keys that OpenAI's have not."""
        raw = native_form(block)
        others = raw is not None and raw["type"] in HOSTED and self.providers != {"openai"}
        return block["raw"] if others else raw

    def _whole(self, raw: Mapping[str, Any], placed: Placed) -> dict[str, Any]:
        """Return an item with the keys that it must have, and without what the API does not take back."""
        left = WITHHELD.get(raw["type"])
        if left is None or left not in raw:
            return {**raw, **{key: None for key in NULLS.get(raw["type"], ()) if key not in raw}}
        self.lose("R12", "dropped", placed, action="what the API does not take back was left out", detail=left)
        return {key: value for key, value in raw.items() if key != left}

    def _known(self, item: Mapping[str, Any], placed: Placed, *, kind: str | None = None) -> dict[str, Any]:
        """Return an item or part without the keys that its type has not, which are told (R12)."""
        if item.keys() <= _SAYS_NOTHING:
            return dict(item)
        sent = known_item(item, kind)
        self._tell_unknown(item, sent, placed)
        if is_everyday(sent):
            return dict(sent)
        repairs: list[str] = []
        mended: dict[str, Any] = mend_surrogates(sent, repairs)
        if repairs:
            self.lose("R12", "downgraded", placed, action="lone surrogates became U+FFFD")
        return mended

    def _tell_unknown(self, native: Any, sent: Mapping[str, Any] | None, placed: Placed) -> None:
        if left := unknown_of(native, sent):
            self.lose("R12", "dropped", placed, action=UNKNOWN_KEYS, detail=left)

    def _asked(self, block: Block, placed: Placed, *, own: bool) -> dict[str, Any]:
        self._tell_unsaid(block, placed)
        try:
            return call_item(block, own=own)
        except NotJsonError as odd:
            self.lose("R12", "downgraded", placed, action="made arguments plain", detail=str(odd))
            return call_item({**block, "arguments": plain_arguments(block)}, own=own)

    def _lacks_output(self, block: Block, placed: Placed) -> bool:
        """True for a shell, patch or computer call whose result is no native one, or whose id went (R1b): both become a
        function's (R3).
        """
        item = (block.get("extras") or {}).get("item")
        if not item or not isinstance(item, Mapping):
            return False
        call = CALLS.get(str(item.get("type")))
        if call is None or not call.own_output:
            return False
        bare = item["type"] in NEED_ID and not _is_item_id(item.get("id"))
        if not bare and self._output_types.get(block.get("id")) == call.output:
            return False
        self.lose(
            "R3", "downgraded", placed, action=f"a {call.name} call without native result or id became a function's"
        )
        return True

    def _answer(self, blocks: list[Block], placed: Placed) -> Iterator[dict[str, Any]]:
        """Spell texts and refusals of one output message: as such with its own id, else as a plain text (R7)."""
        extras = blocks[0].get("extras") or {}
        item = extras.get("item")
        head = self._head_of(item if isinstance(item, Mapping) else {}, placed)
        item_id = blocks[0].get("id")
        if self._is_own(blocks[0], placed.envelope) and str(item_id).startswith("msg_"):
            head = head or {"type": "message", "role": "assistant", "status": "completed"}
            head |= {"phase": extras["phase"]} if extras.get("phase") else {}
            yield {**head, "id": item_id, "content": [self._output_part(block, placed) for block in blocks]}
            if not all(map(is_whole, notes_of(blocks))):
                self.lose("R7", "dropped", placed, action="citations that lack what the API demands were left out")
            return
        if any(block.get("annotations") for block in blocks):
            self.lose("R7", "dropped", placed, action="citations have no form without the message's own id")
        if any(block["type"] == "refusal" for block in blocks):
            self.lose("R7", "downgraded", placed, action="a refusal became text")
        if len(blocks) > 1:
            self.lose("R7", "merged", placed, action="text parts became one text")
        elif blocks[0]["type"] == "text" and self._is_own(blocks[0], placed.envelope) and native_form(blocks[0]):
            self.lose("R7", "downgraded", placed, action="a part of a message without its own id became its text")
        for block in blocks:
            self._tell_unsaid(block, placed, *(("phase",) if block is blocks[0] else ()))
        if any(block["type"] == "non_standard" for block in blocks):
            self.lose("R7", "dropped", placed, action="a part of unknown type was left out")
        text = "".join(block.get("text") or block.get("refusal") or "" for block in blocks)
        phase = head.get("phase") or extras.get("phase")
        kept = {key: head[key] for key in ("type",) if key in head}
        yield {**kept, "role": "assistant", "content": text} | ({"phase": phase} if phase else {})

    def _output_part(self, block: Block, placed: Placed) -> dict[str, Any]:
        """Spell a part of an output message: as it came where it is one."""
        raw = output_form(block)
        if raw is not None:
            self._tell_unknown(block["raw"], raw, placed)
            return dict(raw)
        if block["type"] == "non_standard":
            return self._known(block["value"], placed)
        self._tell_unsaid(block, placed, "phase")
        return output_part(block)

    def _head_of(self, item: Mapping[str, Any] | None, placed: Placed) -> dict[str, Any]:
        """Return what is known of an output message; nothing where it is none of a model's."""
        if not item or item.get("role") == "assistant":
            return self._known(item or {}, placed, kind="message")
        self.lose("R7", "dropped", placed, action="what is said of an output message that is no model's was left out")
        return {}

    def _content(self, blocks: Sequence[Block], placed: Placed) -> Any:
        """Spell input content: a plain text where there is one text that came as one, else a list of parts."""
        if not blocks:
            return "" if placed.envelope["role"] == "tool" else []
        if any(block.get("annotations") for block in blocks):
            self.lose("R7", "dropped", placed, action="citations have no form in what is sent as input")
        alone = len(blocks) == 1 and blocks[0]["type"] == "text" and not hints_of(blocks[0])
        if alone and not self._raw_part(blocks[0], placed.envelope):
            self._tell_unsaid(blocks[0], placed)
            return blocks[0]["text"]
        return [self._part(block, placed) for block in blocks]

    def _tell_unsaid(self, block: Block, placed: Placed, *said: str) -> None:
        own = self._is_own(block, placed.envelope)
        if left := unsaid(block, *said, *said_of(block), *(NATIVE_KEYS["function_call"] if own else ()), items=own):
            self.lose("R12", "dropped", placed, action=UNSAID, detail=left)
        if own and block["type"] == "refusal":
            self._tell_unknown(block.get("raw"), None, placed)

    def _raw_part(self, block: Block, envelope: MessageEnvelope) -> Mapping[str, Any] | None:
        raw = native_form(block) if origin_of(block, envelope).get("api") == API else None
        return raw if raw is not None and str(raw["type"]).startswith("input_") else None

    def _part(self, block: Block, placed: Placed) -> dict[str, Any]:
        raw = known_item(block["value"]) if block["type"] == "non_standard" else self._raw_part(block, placed.envelope)
        if raw is None:
            self._tell_unsaid(block, placed)
            return {**PARTS[block["type"]](block), **hints_of(block)}
        self._tell_unknown(block.get("value", block.get("raw")), raw, placed)
        if raw.get("type") != "input_image" or "detail" in raw or placed.envelope["role"] == "tool":
            return dict(raw)
        self.lose("R12", "synthesized", placed, action="an image got the detail that it must have", detail="auto")
        return {**raw, "detail": "auto"}

    def _pair_searches(self) -> None:
        """Drop searches for tools that the client ran, or was to run, without their other half (R3, R4)."""
        lone = lone_searches(item for item, _ in self.items)
        for at in sorted(lone, reverse=True):
            item, placed = self.items.pop(at)
            action = "a search for tools without its other half was left out"
            self.lose(lone[at], "dropped", placed, action=action, detail=str(item["call_id"]))

    def _follow_reasoning(self) -> None:
        """Drop reasoning that no item of the model follows directly (R1)."""
        if not any(item.get("type") == "reasoning" for item, _ in self.items):
            return
        runs = self.providers != {"openai"}
        kept: list[tuple[dict[str, Any], Placed]] = []
        led = False
        for item, placed in reversed(self.items):
            led = leads_to(kept[-1][0] if kept else None, runs=runs, led=led)
            if item.get("type") == "reasoning" and not led:
                self.lose("R1", "dropped", placed, action="reasoning without an item of its own behind it was left out")
            else:
                kept.append((item, placed))
        self.items = kept[::-1]

    def _shorten(self) -> None:
        """Cut texts at the longest that a request may hold (R12)."""
        for at, (item, placed) in enumerate(self.items):
            if len(item) == 2 and isinstance(said := item.get("content"), str) and len(said) <= MAX_TEXT:
                continue
            for key in ("content", "output"):
                value = item.get(key)
                if value is None or (isinstance(value, str) and len(value) <= MAX_TEXT):
                    continue
                short = _shortened(value)
                if short is not value:
                    self.items[at] = (item := {**item, key: short}, placed)
                    self.lose("R12", "downgraded", placed, action=f"a text was cut at {MAX_TEXT} characters")

    def _distinct_ids(self) -> None:
        """Make ids fit their type and be used once: an optional one goes, a required one is made (R5, R6)."""
        used: dict[str, int] = {}
        for item, placed in self.items:
            if "id" not in item and item.get("type") != "reasoning":
                continue
            kind = str(item.get("type", "message"))
            prefix = _ID_RULES.get(kind, "")
            others = self.providers != {"openai"} and "id" in item
            if others or (not prefix and kind in _NAMED):
                continue
            old = str(item.get("id"))
            occurrence = used.get(old, 0)
            used[old] = occurrence + 1
            fits = old.startswith(prefix) and _is_item_id(item.get("id"))
            if fits and not occurrence:
                continue
            self._replace_id(item, placed, prefix=prefix, occurrence=occurrence, rule="R6" if fits else "R5")

    def _replace_id(self, item: dict[str, Any], placed: Placed, *, prefix: str, occurrence: int, rule: str) -> None:
        old = item.pop("id", None)
        if item.get("type") in CALLS:
            self.lose(rule, "dropped", placed, action="an item id that does not fit was left out", detail=str(old))
            return
        id_rule = IdRule(pattern=_ITEM_ID, max_length=64, prefix=prefix, digest_length=40)
        item["id"] = digest_id(id_rule, str(old), occurrence=occurrence)
        kind: LossKind = "re-keyed" if old else "synthesized"
        self.lose(rule, kind, placed, action="an item got an id of its own", detail=f"{old} -> {item['id']}")


def _is_item_id(value: Any) -> bool:
    return isinstance(value, str) and _ITEM_ID.fullmatch(value) is not None


def _shortened(content: Any) -> Any:
    """Return content whose texts fit; the same object if they do."""
    if isinstance(content, str):
        return content if len(content) <= MAX_TEXT else content[:MAX_TEXT]
    if not isinstance(content, list):
        return content
    parts = [{**part, "text": _shortened(part["text"])} if _is_long(part) else part for part in content]
    return parts if any(map(_is_long, content)) else content


def _is_long(part: Any) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("text"), str) and len(part["text"]) > MAX_TEXT


def _role(envelope: MessageEnvelope) -> str:
    developer = envelope["role"] == "system" and envelope.get("role_detail") == "developer"
    return "developer" if developer else ("user" if envelope["role"] == "other" else envelope["role"])


def _kept(envelope: MessageEnvelope) -> Mapping[str, Any]:
    kept = (envelope.get("extras") or {}).get(NAME)
    return kept if isinstance(kept, Mapping) else {}


def _screenshot(envelope: MessageEnvelope) -> dict[str, Any]:
    """Read a result that langchain-openai's users mark as a computer call's: its first image."""
    marks = (envelope.get("extras") or {}).get("additional_kwargs") or {}
    if marks.get("type") != "computer_call_output":
        return {}
    shot = next((block for block in envelope["content"] if block["type"] == "image"), None)
    if shot is None:
        return {}
    source = {key: value for key, value in PARTS["image"](shot).items() if key in ("image_url", "file_id")}
    checks = {key: marks[key] for key in ("acknowledged_safety_checks",) if key in marks}
    return {"type": marks["type"], "output": {"type": "computer_screenshot", **source}, **checks}


def _message_key(block: Block) -> Any:
    """Tell which output message a block belongs to: None for items of their own."""
    part = block["type"] == "non_standard" and not _stands_alone(block, assistant=True)
    return (block.get("id"),) if block["type"] in ("text", "refusal") or part else None


def _stands_alone(block: Block, *, assistant: bool = False) -> bool:
    """True for an item of unknown type; a part of unknown type belongs to its message, and knows its head."""
    value = block.get("value")
    if block["type"] != "non_standard" or not isinstance(value, Mapping):
        return False
    return str(value.get("type")) in USER_ITEMS or (assistant and "item" not in (block.get("extras") or {}))


_WRITERS: Final[Mapping[str, Callable[[ResponsesWriter, Placed], Iterator[dict[str, Any]]]]] = {
    "system": ResponsesWriter.client_message,
    "user": ResponsesWriter.client_message,
    "other": ResponsesWriter.client_message,
    "assistant": ResponsesWriter.assistant,
    "tool": ResponsesWriter.tool,
}
