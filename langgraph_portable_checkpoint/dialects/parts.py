"""One message's content for a target: a table from block type to what becomes of such a block.

Each entry takes a block with its place and returns the blocks that stand for it, the same object if it may stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from ..envelope.model import Block, MessageEnvelope
from .arguments import is_sendable, settled_call
from .base import ExportOptions, Target, without_raw
from .beside import MEDIA_PARTS, says_more
from .ids import NameMap
from .jsonl import mend_surrogates
from .links import CALL_TYPES
from .media_parts import MediaFitter, placeholder, unsupported
from .native_parts import CONTENT_DOCUMENT, ITEM_REFERENCE, MARKERS, kind_of, neutral_form, told_data, told_text
from .pairing import with_content
from .plain_values import is_everyday, is_plain, told_as_text
from .reasoning import Replay, open_texts, origin_of
from .report import LossKind, Placed, Report, Spot
from .server_pairs import Half, half_of

_LONE: Final = re.compile("[\ud800-\udfff]")
UNKNOWN_TOOL: Final = "unknown_tool"
ANSWERS: Final = frozenset({*CALL_TYPES, "reasoning", "server_tool_call", "server_tool_result", "refusal"})
"""Blocks that only a model writes."""
_THINK_FIRST: Final = ("anthropic", "bedrock")
"""Targets whose models, if they are to think, want their own thoughts before the calls of a turn (A12)."""
_MENDED_LATER: Final = frozenset({"text", "reasoning"})
"""Blocks of which lone surrogates are looked for once it is known what stays of them."""


@dataclass
class Parts:
    """Fits the content of messages to a target, in the order of the history."""

    target: Target
    options: ExportOptions
    report: Report
    replay: Replay
    open_turn: int | None
    """The turn that the next request goes on with, if the history ends inside one."""
    halves: frozenset[Half] = frozenset()
    """Calls and results of server tools that stand in whole pairs, where the target takes no others."""
    names: NameMap = field(init=False)
    media: MediaFitter = field(init=False)

    def __post_init__(self) -> None:
        self.names = NameMap(self.target.tool_name)
        self.media = MediaFitter(self.target, self.options, self.report)

    def fit(self, placed: Placed) -> Placed:
        """Return the message with content that the target takes; the same object if nothing changes."""
        envelope = placed.envelope
        answers = envelope["role"] == "assistant"
        fitted: list[Block] = []
        spots: list[Spot] = []
        changed = gone = False
        for at, (block, spot) in enumerate(zip(envelope["content"], placed.all_spots(), strict=True)):
            if self._lets_be(block, answers=answers):
                fitted.append(block)
                spots.append(spot)
                continue
            found = self._block(block, placed, placed.part(at)[1])
            changed = changed or len(found) != 1 or found[0] is not block
            gone = gone or (block["type"] == "reasoning" and not (found and found[0]["type"] == "reasoning"))
            fitted.extend(found)
            spots.extend([spot] * len(found))
        if changed:
            placed = with_content(placed, fitted, spots=spots)
            placed = self._without_item_ids(placed) if gone and self.target.item_ids else placed
        return placed

    def stays(self, envelope: MessageEnvelope) -> bool:
        """True for a message of everyday texts and calls alone, all of which stay as they are; False says nothing."""
        answers = envelope["role"] == "assistant"
        for block in envelope["content"]:  # noqa: SIM110 - all() over a generator takes twice as long, per message
            if not self._lets_be(block, answers=answers):
                return False
        return True

    def _lets_be(self, block: Block, *, answers: bool) -> bool:
        """True for a text or a call that `text` or `tool_call` lets be; False says nothing."""
        if block["type"] != "text":
            return answers and block["type"] == "tool_call" and self._call_stays(block)
        text = block.get("text")
        if type(text) is not str or not text or text.isspace():
            return False
        return (text.isascii() or not _LONE.search(text)) and not ("annotations" in block and _is_broken(block))

    def _call_stays(self, block: Block) -> bool:
        name, args = block.get("name"), block.get("args")
        if not name or self.names.assign(name) != name:
            return False
        if ("arguments" in block or "extras" in block) and _is_broken_call(block):
            return False
        if self.target.invalid_arguments:
            return True
        return type(args) is dict and (is_sendable(args) if self.target.plain_arguments else is_plain(args))

    def lose(
        self, concern: str, kind: LossKind, placed: Placed, path: str = "", *, action: str, detail: str = ""
    ) -> None:
        """Report a loss under the target's rule for a concern."""
        self.report.add(self.target.rule(concern), kind, at=placed, path=path, action=action, detail=detail)

    def _without_item_ids(self, after: Placed) -> Placed:
        """Take away the ids of a response's items of which reasoning went (R1b)."""
        if not any(map(_item_id, after.envelope["content"])):
            return after
        self.lose("item_ids", "dropped", after, action="item ids went with the reasoning they belong to")
        bare: list[Block] = []
        spots: list[Spot] = []
        for at, (block, spot) in enumerate(zip(after.envelope["content"], after.all_spots(), strict=True)):
            found = self._bare(block, after, after.part(at)[1])
            bare.extend(found)
            spots.extend([spot] * len(found))
        return with_content(after, bare, spots=spots)

    def _bare(self, block: Block, placed: Placed, path: str) -> list[Block]:
        """Return what stands for a block without its item id: the items of hosted tools are nothing without theirs."""
        if not block["type"].startswith("server_tool"):
            return [_anonymous(block)]
        if not _item_id(block):
            return [block]
        return self._without_server_tool(block, placed, path, "its id went with its reasoning")

    def text(self, block: Block, placed: Placed, path: str) -> list[Block]:
        """Drop a text without a visible character where the target refuses it; an empty one silently."""
        text = block.get("text") or ""
        if (not text.isascii() and _LONE.search(text)) or ("annotations" in block and _is_broken(block)):
            self.lose("broken_text", "downgraded", placed, path, action="lone surrogates became U+FFFD")
            self.replay.changes(block, placed.envelope)
            block = cast(Block, mend_surrogates(block, []))
        if self.target.blank_text or (text and not text.isspace()):
            return [block]
        if text or block.get("annotations") or says_more(block):
            self.lose("blank_text", "dropped", placed, path, action="a blank text was left out")
        return []

    def reasoning(self, block: Block, placed: Placed, path: str) -> list[Block]:
        """Keep reasoning where it may be replayed, else drop it or make it text."""
        reason = self.replay.refusal(block, placed)
        if reason is None:
            return [self._in_utf8(block, placed, path)]
        text = block.get("reasoning") or "\n\n".join(open_texts((block.get("extras") or {}).get("content")))
        as_text = self.options.reasoning == "text" and bool(text.strip())
        current = self.target.dialect in _THINK_FIRST and self.open_turn is not None and placed.turn == self.open_turn
        current = current and any(other["type"] == "tool_call" for other in placed.envelope["content"])
        self.lose(
            "reasoning",
            "downgraded" if as_text else "dropped",
            placed,
            path,
            action="reasoning became text" if as_text else "reasoning was left out",
            detail=reason + ("; thinking_must_be_disabled for the next request" if current else ""),
        )
        return (
            self.text({"type": "text", "text": f"<reasoning>\n{text}\n</reasoning>"}, placed, path) if as_text else []
        )

    def refusal(self, block: Block, placed: Placed, path: str) -> list[Block]:
        """Make a refusal text where the target has no form for it."""
        if self.target.refusal:
            return [block]
        self.lose("refusal", "downgraded", placed, path, action="a refusal became text")
        return self.text({"type": "text", "text": block.get("refusal") or ""}, placed, path)

    def tool_call(self, block: Block, placed: Placed, path: str) -> list[Block]:
        """Rename a call whose name the target refuses; give invalid arguments a form."""
        name = self.names.assign(block.get("name") or UNKNOWN_TOOL)
        if name != block.get("name"):
            detail = f"{block.get('name')} -> {name}"
            self.replay.changes(block, placed.envelope)
            self.lose(
                "tool_name", "re-keyed", placed, f"{path}.name", action="the tool got a name that fits", detail=detail
            )
            block = without_raw(block, name=name)
        if self.target.invalid_arguments:
            return [block]
        block = settled_call(block) if self.target.text_arguments else block
        args = block.get("args")
        sendable = not self.target.plain_arguments or is_sendable(args)
        if block["type"] == "tool_call" and isinstance(args, dict) and sendable:
            return [block]
        self.replay.changes(block, placed.envelope)
        self.lose(
            "invalid_arguments", "downgraded", placed, f"{path}.args", action="invalid arguments became an object"
        )
        text = args if isinstance(args, str) else json.dumps(args, default=told_as_text)
        wrapped = without_raw(block, type="tool_call", args={"invalid_arguments": text if args else ""})
        wrapped.pop("arguments", None)
        return [wrapped]

    def server_tool(self, block: Block, placed: Placed, path: str) -> list[Block]:
        """Keep items of the provider's own tools where they may go back, else drop them or tell of them."""
        reason = self._server_refusal(block, placed)
        return self._without_server_tool(block, placed, path, reason) if reason else [block]

    def _without_server_tool(self, block: Block, placed: Placed, path: str, reason: str) -> list[Block]:
        self.replay.changes(block, placed.envelope)
        summary = _server_summary(block) if self.options.server_tools == "text" else None
        self.lose(
            "server_tools",
            "downgraded" if summary else "dropped",
            placed,
            path,
            action="a server tool's item became text" if summary else "a server tool's item was left out",
            detail=f"{block.get('name') or block['type']}: {reason}",
        )
        return [{"type": "text", "text": summary}] if summary else []

    def _server_refusal(self, block: Block, placed: Placed) -> str:
        mode = self.target.server_tools
        if mode == "any":
            return ""
        origin = origin_of(block, placed.envelope)
        if mode == "never":
            return "the target has no form for it"
        if origin.get("provider") not in self.target.providers or origin.get("api") != self.target.api:
            return f"it belongs to {origin.get('provider') or 'an unknown provider'}"
        if mode == "pairs" and half_of(block, placed.envelope["content"]) not in self.halves:
            return "its other half is missing, or what was found has no encrypted_content"
        return ""

    def non_standard(self, block: Block, placed: Placed, path: str) -> list[Block]:
        """Keep a block of unknown type for the API it was written for."""
        if "media" in block:
            self.replay.broken = True
            return self.media.unread(block, placed, path)
        origin = origin_of(block, placed.envelope)
        own = origin.get("provider") in self.target.providers and origin.get("api") == self.target.api
        value = block.get("value")
        kind = kind_of(value)
        own = own or ("provider" not in origin and kind in self.target.native_parts)
        own = (
            own
            and kind not in CALL_TYPES
            and kind not in self.target.known_parts
            and (not self.target.known_parts or _is_typed(value))
        )
        own = own and not (
            placed.envelope["role"] == "system"
            and self.target.system == "apart"
            and kind not in self.target.native_parts
        )
        own = own and placed.envelope["role"] in self.target.part_roles.get(kind, (placed.envelope["role"],))
        if self.target.non_standard == "any" or (self.target.non_standard == "same-api" and own and "raw" in block):
            return [block]
        if "provider" not in origin and (forms := neutral_form(value)):
            return [fitted for form in forms for fitted in self._block(form, placed, path)]
        if told_text(value):
            what = "document" if kind == CONTENT_DOCUMENT else "search result"
            return self._told(told_text(value), what, kind, placed, path)
        if data := told_data(value):
            return self._told(data, "plain object", kind, placed, path)
        return self._unknown(kind, placed, path)

    def _is_own_part(self, block: Block, placed: Placed) -> bool:
        origin = origin_of(block, placed.envelope)
        kind = kind_of(block.get("raw"))
        told = "provider" in origin
        own = origin.get("provider") in self.target.providers if told else kind in self.target.native_parts
        return own and (placed.envelope["role"], kind) in self.target.own_parts

    def _block(self, block: Block, placed: Placed, path: str) -> list[Block]:
        if self.target.own_parts and self._is_own_part(block, placed):
            return [self._in_utf8(block, placed, path, keeps_raw=True)]
        if block["type"] not in _MENDED_LATER:
            block = self._in_utf8(block, placed, path)
        if block["type"] in ANSWERS and placed.envelope["role"] != "assistant" and self.target.pairs:
            return self._unknown(f"{block['type']} in a message of role {placed.envelope['role']}", placed, path)
        return _FITS[block["type"]](self, block, placed, path) if block["type"] in _FITS else [block]

    def _in_utf8(self, block: Block, placed: Placed, path: str, *, keeps_raw: bool = False) -> Block:
        """Return a block without lone surrogates, wherever they stand."""
        if is_everyday(block):
            return block
        repairs: list[str] = []
        mended = mend_surrogates(block, repairs)
        if not repairs:
            return block
        self.lose("broken_text", "downgraded", placed, path, action="lone surrogates became U+FFFD")
        return cast(Block, mended) if keeps_raw or block["type"] == "non_standard" else without_raw(mended)

    def _told(self, text: str, what: str, kind: str, placed: Placed, path: str) -> list[Block]:
        self.replay.broken = True
        self.lose("non_standard", "downgraded", placed, path, action=f"a {what} became its text", detail=kind)
        return self.text({"type": "text", "text": text}, placed, path)

    def _unknown(self, kind: str, placed: Placed, path: str) -> list[Block]:
        if self.options.on_unsupported_part == "raise" and kind not in MARKERS:
            raise unsupported(placed, path, f"a part of unknown type ({kind})", "the target has no form for it")
        said = placed.envelope["role"] in ("user", "tool") and kind not in MARKERS | {ITEM_REFERENCE}
        stands = said and self.options.on_unsupported_part != "drop"
        self.replay.broken = self.replay.broken or said
        self.lose(
            "non_standard",
            "placeholder" if stands else "dropped",
            placed,
            path,
            action="a text stands in for a part of unknown type" if stands else "a part of unknown type was left out",
            detail=kind,
        )
        return [placeholder({"type": f"part of type {kind}"})] if stands else []

    def part(self, block: Block, placed: Placed, path: str) -> list[Block]:
        """Fit a media part; those of tool messages that move are fitted where they arrive."""
        if placed.envelope["role"] == "tool" and self.media.moves(block):
            self.replay.broken = True
            return [block]
        found = self.media.fit(block, placed, path)
        if found and found[0]["type"] == "text":
            found = self.text(found[0], placed, path)
        if [other["type"] for other in found] != [block["type"]]:
            self.replay.broken = True
        texts = [self.text(one, placed, path) if one["type"] == "text" else [one] for one in found]
        return [one for each in texts for one in each]


_Fit = Callable[[Parts, Block, Placed, str], list[Block]]
_FITS: Final[Mapping[str, _Fit]] = {
    "text": Parts.text,
    "reasoning": Parts.reasoning,
    "refusal": Parts.refusal,
    "tool_call": Parts.tool_call,
    "invalid_tool_call": Parts.tool_call,
    "server_tool_call": Parts.server_tool,
    "server_tool_result": Parts.server_tool,
    "non_standard": Parts.non_standard,
    **dict.fromkeys(MEDIA_PARTS, Parts.part),
}


def _is_broken(value: Any) -> bool:
    """True for a value that holds a lone surrogate."""
    if is_everyday(value):
        return False
    repairs: list[str] = []
    mend_surrogates(value, repairs)
    return bool(repairs)


def _is_broken_call(block: Block) -> bool:
    """True for a call that holds a lone surrogate in what goes along as it came: its text, or its native item."""
    text, extras = block.get("arguments"), block.get("extras")
    if type(text) is str and not text.isascii() and _LONE.search(text):
        return True
    if not isinstance(extras, Mapping):
        return False
    free = "item" in extras or "block_type" in extras
    return _is_broken(extras) or (free and _is_broken(block.get("args")))


def _is_typed(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("type"), str) and bool(value["type"].strip("\0"))


def _item_id(block: Block) -> Any:
    return (block.get("extras") or {}).get("item_id") or (block.get("id") if block["type"] != "tool_call" else None)


def _anonymous(block: Block) -> Block:
    """Copy a block without the id of its item; a call keeps the id that its result names."""
    if not _item_id(block) or block["type"] == "reasoning":
        return block
    extras = {key: value for key, value in (block.get("extras") or {}).items() if key != "item_id"}
    if isinstance(extras.get("item"), Mapping):
        extras["item"] = {key: value for key, value in extras["item"].items() if key != "id"}
    copy = without_raw(block, extras=extras)
    if block["type"] not in ("tool_call", "invalid_tool_call"):
        copy.pop("id", None)
    return copy


def _server_summary(block: Block) -> str:
    if block["type"] == "server_tool_call":
        return f"[{block.get('name') or 'a server tool'} was called with {_short(block.get('args'))}]"
    return f"[result of a server tool: {_short(block.get('output'))}]"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 2_000 else text[:2_000] + "..."
