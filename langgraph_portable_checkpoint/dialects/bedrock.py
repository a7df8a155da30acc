"""AWS Bedrock Converse, both directions: `system` and `messages` as boto3's `converse` takes them.

Owns messages: strict alternation of user and assistant, all results of a step in the next user message, the limits on
images and documents. Content blocks are spelled by `bedrock_blocks.py`, checked by `lint/bedrock.py`.

Source: botocore 1.44 bedrock-runtime service model and docs.aws.amazon.com/bedrock; rules B1 to B12.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from ..envelope.model import ENVELOPE_VERSION, Block, MessageEnvelope, Origin
from ..errors import MalformedHistoryError
from .base import (
    DeclaredLoss,
    ExportOptions,
    Field,
    Finding,
    IdRule,
    ImportOptions,
    MediaRule,
    ReasoningRule,
    Rule,
    Target,
    native,
)
from .bedrock_blocks import FORMATS, Native, block_of, native_block, with_bytes
from .jsonl import MAX_DEPTH, too_deep
from .lint.bedrock import MAX_DOCUMENTS, MAX_IMAGES, RULES, lint_messages
from .models import narrow_media
from .plain_values import plain_or_told
from .report import Placed, Report

NAME: Final = "bedrock"
API: Final = "converse"
PROVIDER: Final = "bedrock"

_CALL_ID: Final = IdRule(pattern=re.compile(r"[a-zA-Z0-9_.:-]+"), max_length=64, prefix="tooluse_")
_TOOL_NAME: Final = IdRule(pattern=re.compile(r"[a-zA-Z0-9_-]+"), max_length=64, prefix="tool_")
_WITH_STATUS: Final = re.compile(r"claude|nova")
"""Models whose tool results may carry `status` (B11)."""
_BOUND: Final = re.compile(r"claude-(fable-(5-[1-9]|[6-9])|(opus|sonnet|haiku)-(5-[5-9]|[6-9]))")
"""Models that bind thinking to what stands before it (A12c): docs.aws.amazon.com, thinking block binding."""

_MEDIA: Final = {
    (role, kind): MediaRule(
        sources=frozenset({"base64", "url"}), mime_types=tuple(map(re.escape, FORMATS[kind])), schemes=("s3",)
    )
    for role, kinds in {"user": ("image", "file", "video", "audio"), "tool": ("image", "file", "video")}.items()
    for kind in kinds
} | {(role, "text-plain"): MediaRule(sources=frozenset({"base64"})) for role in ("user", "tool")}

_CONCERNS: Final[Mapping[str, str]] = {
    "dangling_call": "B8",
    "orphan_result": "B9",
    "duplicate_result": "B9",
    "late_result": "B8",
    "call_id": "B10",
    "repeated_call_id": "B10",
    "tool_name": "B10",
    "role": "B3",
    "mid_system": "B3",
    "blank_text": "B5",
    "broken_text": "B5",
    "empty_message": "B4",
    "reasoning": "B12",
    "refusal": "B4",
    "invalid_arguments": "B12",
    "server_tools": "B7",
    "non_standard": "B4",
    "media": "B6",
    "tool_media": "B6",
    "tool_status": "B11",
    "first_role": "B2",
    "last_role": "B2",
    "alternation": "B3",
}


class Bedrock:
    """The dialect; see the module docstring."""

    name = NAME
    title = "AWS Bedrock Converse"
    providers = (PROVIDER,)
    profiles: tuple[str, ...] = ()
    writes = True
    RULES: tuple[Rule, ...] = RULES
    FIELD_MAP: tuple[Field, ...] = (
        Field(neutral="role user, assistant", native="messages[].role"),
        Field(neutral="role system", native="system[].text"),
        Field(neutral="tool message", native="toolResult in the next user message", note="all of a step in one (B8)"),
        Field(neutral="status", native="toolResult.status", note="error only; Claude and Nova (B11)"),
        Field(neutral="text", native="text, or json where it came as json"),
        Field(neutral="annotations", native="citationsContent", note="as it came from Bedrock"),
        Field(neutral="reasoning", native="reasoningContent.reasoningText or redactedContent", note="same model (B12)"),
        Field(neutral="tool_call", native="toolUse"),
        Field(neutral="image, video, audio", native="image, video, audio with bytes or s3Location"),
        Field(neutral="file, text-plain", native="document", note="name of letters, digits, spaces, -()[] (B6)"),
        Field(neutral="cache_hint", native="cachePoint behind the block", note="as it came from Bedrock"),
        Field(neutral="non_standard", native="the block as it came", note="back to Bedrock only"),
    )
    LOSSES: tuple[DeclaredLoss, ...] = (
        DeclaredLoss(rule="B6", kind="synthesized", when="a document stands in a message without text"),
        DeclaredLoss(rule="B6", kind="re-keyed", when="a document's name does not fit, or is used twice"),
        DeclaredLoss(rule="B6", kind="placeholder", when="more images or documents than a request may hold"),
        DeclaredLoss(rule="B6", kind="unresolved", when="bytes that cannot be decoded"),
        DeclaredLoss(rule="B11", kind="synthesized", when="an error result without content"),
        DeclaredLoss(rule="B12", kind="downgraded", when="arguments that hold NaN, infinities or bytes"),
        DeclaredLoss(rule="B4", kind="dropped", when="citations and cache markers of other providers"),
        DeclaredLoss(rule="B3", kind="dropped", when="names of speakers"),
        DeclaredLoss(rule="B9", kind="unresolved", when="a result without an id (import)"),
    )

    def target(self, options: ExportOptions) -> Target:
        """Describe what Converse accepts; the error flag of results depends on the model."""
        model = options.model_name
        return Target(
            dialect=NAME,
            providers=frozenset({PROVIDER}),
            api=API,
            model=model,
            rules=_CONCERNS,
            system="apart",
            mid_system="user",
            starts_with_user=True,
            alternates=True,
            ends_with_user=True,
            call_id=_CALL_ID,
            tool_name=_TOOL_NAME,
            tool_status=model is None or _WITH_STATUS.search(model) is not None,
            invalid_arguments=False,
            blank_text=False,
            media=narrow_media(_MEDIA, options.model),
            tool_media="user",
            reasoning=ReasoningRule(replay="same-model", needs=("signature", "redacted_data"), bound_to_prefix=_BOUND),
            server_tools="never",
            refusal=False,
            non_standard="same-api",
        )

    def render(self, conversation: Sequence[Placed], options: ExportOptions, report: Report) -> dict[str, Any]:
        """Spell a normalised conversation as `{"system", "messages"}`; bytes where boto3 wants bytes."""
        return _Writer(self.target(options), report).payload(conversation)

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read a request, a response, or a list of messages."""
        if too_deep(payload):
            raise MalformedHistoryError(NAME, [f"is nested deeper than {MAX_DEPTH}"])
        system, messages, facts = _split(payload)
        problems = _problems(system, messages)
        if problems:
            raise MalformedHistoryError(NAME, problems)
        return list(_Reader(options, report).envelopes(system, messages, facts))

    def recognises(self, payload: Any) -> float:
        """Blocks without `type`, keyed by what they are, tell Converse from Anthropic."""
        if isinstance(payload, Mapping) and isinstance(payload.get("output"), Mapping) and "stopReason" in payload:
            return 0.95
        _, messages, _ = _split(payload)
        if not isinstance(messages, list) or not messages:
            return 0.0
        contents = [item.get("content") for item in messages if isinstance(item, Mapping)]
        blocks = [block for content in contents if isinstance(content, list) for block in content]
        if not blocks or not all(isinstance(block, Mapping) and "type" not in block for block in blocks):
            return 0.0
        return 0.9 if all(len(block) == 1 and next(iter(block)) in _BLOCK_KEYS for block in blocks) else 0.3

    def lint(self, payload: Any, options: ExportOptions) -> list[Finding]:
        """Check messages against rules B1 to B12."""
        return lint_messages(payload)


_BLOCK_KEYS: Final = frozenset(
    {
        "text", "image", "document", "video", "audio", "toolUse", "toolResult", "guardContent", "cachePoint",
        "reasoningContent", "citationsContent", "searchResult", "toolAddition", "toolRemoval",
    }
)  # fmt: skip


def _split(payload: Any) -> tuple[Any, Any, Mapping[str, Any]]:
    """Return system, messages, and the facts of a response."""
    if not isinstance(payload, Mapping):
        return None, payload, {}
    output = payload.get("output")
    if isinstance(output, Mapping) and "message" in output:
        return None, [output["message"]], payload
    return payload.get("system"), payload.get("messages"), {}


def _problems(system: Any, messages: Any) -> list[str]:
    found = [] if system is None or isinstance(system, list) else [f"system: is {type(system).__name__}, not a list"]
    if not isinstance(messages, list):
        return [*found, f"messages: is {type(messages).__name__}, not a list"]
    for index, message in enumerate(messages):
        found += _message_problems(message, f"messages[{index}]")
    if not messages and not system:
        found.append("messages: is empty")
    return found


def _message_problems(message: Any, path: str) -> Iterator[str]:
    if not isinstance(message, Mapping):
        yield f"{path}: is {type(message).__name__}, not a message"
        return
    if message.get("role") not in ("user", "assistant", "system"):
        yield f"{path}.role: {message.get('role')!r:.40} is not user or assistant"
    content = message.get("content")
    if not isinstance(content, list):
        yield f"{path}.content: is {type(content).__name__}, not a list"
        return
    for index, block in enumerate(content):
        if not isinstance(block, Mapping):
            yield f"{path}.content[{index}]: is {type(block).__name__}, not a block"


class _Reader:
    """Turns messages into envelopes; tool results become messages of their own."""

    def __init__(self, options: ImportOptions, report: Report) -> None:
        self.report = report
        self.origin: Origin = {"provider": PROVIDER, "api": API}
        if options.model:
            self.origin["model"] = options.model
        if options.account:
            self.origin["account"] = options.account

    def envelopes(self, system: Any, messages: list[Any], facts: Mapping[str, Any]) -> Iterator[MessageEnvelope]:
        blocks = self._blocks(system or [])
        if blocks:
            yield self._envelope("system", blocks)
        for index, message in enumerate(messages):
            for made, envelope in enumerate(self._message(message, f"messages[{index}]")):
                if made:
                    envelope["extras"] = {**envelope.get("extras", {}), "joined": True}
                yield self._with_facts(envelope, facts)

    def _envelope(self, role: Any, content: list[Block]) -> MessageEnvelope:
        origin: Origin = {**self.origin}
        return {"v": ENVELOPE_VERSION, "role": role, "content": content, "origin": origin}

    def _with_facts(self, envelope: MessageEnvelope, facts: Mapping[str, Any]) -> MessageEnvelope:
        usage = facts.get("usage")
        if isinstance(usage, Mapping):
            counts = {"input_tokens": "inputTokens", "output_tokens": "outputTokens", "total_tokens": "totalTokens"}
            envelope["usage"] = {ours: usage.get(theirs, 0) for ours, theirs in counts.items()}
        if facts.get("stopReason"):
            envelope["stop_reason"] = str(facts["stopReason"])
        return envelope

    def _message(self, message: Mapping[str, Any], path: str) -> Iterator[MessageEnvelope]:
        other: list[Any] = []
        for index, block in enumerate(message["content"]):
            answer = block.get("toolResult")
            if not isinstance(answer, Mapping) or message["role"] != "user":
                other.append(block)
                continue
            if other:
                yield self._envelope("user", self._blocks(other))
                other = []
            yield self._answer(answer, f"{path}.content[{index}]")
        if other or not message["content"]:
            yield self._envelope(message["role"], self._blocks(other))

    def _blocks(self, natives: Sequence[Any]) -> list[Block]:
        """Read blocks; a cache point marks the block before it."""
        found: list[Block] = []
        for one in natives:
            if isinstance(one, Mapping) and set(one) == {"cachePoint"} and found:
                found[-1]["cache_hint"] = dict(one)
            else:
                found.append(
                    block_of(dict(one)) if isinstance(one, Mapping) else {"type": "non_standard", "value": one}
                )
        return found

    def _answer(self, answer: Mapping[str, Any], path: str) -> MessageEnvelope:
        content = answer.get("content")
        envelope = self._envelope("tool", self._blocks(content if isinstance(content, list) else []))
        envelope["status"] = "error" if answer.get("status") == "error" else "success"
        envelope["raw_content"] = {"toolResult": with_bytes(dict(answer))}
        if isinstance(answer.get("toolUseId"), str):
            envelope["tool_call_id"] = answer["toolUseId"]
        else:
            self.report.add("B9", "unresolved", action="kept a result without toolUseId", path=path)
        return envelope


class _Writer:
    """Spells a normalised conversation; counts images and documents of the whole request."""

    def __init__(self, target: Target, report: Report) -> None:
        self.target, self.report = target, report
        self.images = self.documents = 0
        self.names: set[str] = set()

    def payload(self, conversation: Sequence[Placed]) -> dict[str, Any]:
        system: list[Native] = []
        messages: list[dict[str, Any]] = []
        for placed in conversation:
            role = placed.envelope["role"]
            if role == "system":
                system += self._blocks(placed)
                continue
            blocks = [self._answer(placed)] if role == "tool" else self._blocks(placed)
            native_role = "assistant" if role == "assistant" else "user"
            if messages and messages[-1]["role"] == native_role:
                messages[-1]["content"] += blocks
            elif blocks:
                messages.append({"role": native_role, "content": blocks})
            if role == "user":
                self._add_text(messages[-1]["content"], placed)
        found: dict[str, Any] = {"system": system} if system else {}
        return {**found, "messages": messages}

    def _add_text(self, content: list[Native], placed: Placed) -> None:
        """Put a text beside documents that stand without one (B6)."""
        if any("document" in block for block in content) and not any("text" in block for block in content):
            content.append({"text": "See the attached document."})
            self.report.add("B6", "synthesized", action="put a text beside a document", at=placed)

    def _blocks(self, placed: Placed) -> list[Native]:
        if placed.envelope.get("name") and placed.envelope["role"] in ("user", "assistant"):
            self.report.add("B3", "dropped", action="left out the speaker's name", at=placed)
        found: list[Native] = []
        for index, block in enumerate(placed.envelope["content"]):
            found += self._block(block, placed, f"content[{index}]")
        return found

    def _block(self, block: Block, placed: Placed, path: str) -> list[Native]:
        found = native(block, placed.envelope, api=API)
        if not is_native(found):
            found = self._written(block, placed, path)
        if found is None:
            return []
        found = self._within_limits(found, placed, path)
        hint = block.get("cache_hint")
        if isinstance(hint, Mapping) and "cachePoint" in hint:
            return [found, dict(hint)]
        if hint:
            self.report.add("B4", "dropped", action="left out a cache marker", at=placed, path=path)
        return [found]

    def _written(self, block: Block, placed: Placed, path: str) -> Native | None:
        found = block.get("value") if block["type"] == "non_standard" else native_block(block)
        if not isinstance(found, dict) or not is_native(found):
            return self._unwritable(block, placed, path)
        if "toolUse" in found:
            tell = partial(self.report.add, "B12", "downgraded", action="made arguments plain", at=placed, path=path)
            found = {"toolUse": {**found["toolUse"], "input": plain_or_told(found["toolUse"]["input"], tell)}}
        if block.get("annotations"):
            return self._cited(block, placed, path)
        return self._named(found, block, placed, path) if "document" in found else found

    def _unwritable(self, block: Block, placed: Placed, path: str) -> Native:
        kind = block.get("mime_type") or block["type"]
        self.report.add("B6", "unresolved", action="a text stands in for the part", at=placed, path=path, detail=kind)
        return {"text": f"[{kind}: not available here]"}

    def _cited(self, block: Block, placed: Placed, path: str) -> Native:
        notes = [(note.get("extras") or {}).get("bedrock") for note in block["annotations"]]
        if all(isinstance(note, Mapping) for note in notes):
            return {"citationsContent": {"content": [{"text": block["text"]}], "citations": notes}}
        self.report.add("B4", "dropped", action="left out citations", at=placed, path=path)
        return {"text": block["text"]}

    def _named(self, found: Native, block: Block, placed: Placed, path: str) -> Native:
        """Give a document a name that fits and is not used yet (B6)."""
        name = made = found["document"]["name"]
        while made in self.names:
            made = f"{name[:190]} {len(self.names) + 1}"
        if made != (block.get("filename") or block.get("title") or "document"):
            self.report.add("B6", "re-keyed", action="gave a document a name that fits", at=placed, path=path)
        return {"document": {**found["document"], "name": made}}

    def _within_limits(self, found: Native, placed: Placed, path: str) -> Native:
        self.images += "image" in found
        self.documents += "document" in found
        if "document" in found:
            self.names.add(str(found["document"].get("name")))
        if ("image" in found and self.images > MAX_IMAGES) or ("document" in found and self.documents > MAX_DOCUMENTS):
            (kind,) = found
            self.report.add("B6", "placeholder", action=f"more than a request's {kind}s", at=placed, path=path)
            return {"text": f"[{kind}: left out, a request holds only so many]"}
        return found

    def _answer(self, placed: Placed) -> Native:
        envelope = placed.envelope
        raw = envelope.get("raw_content")
        if isinstance(raw, dict) and "toolResult" in raw and (envelope.get("origin") or {}).get("api") == API:
            return raw if self.target.tool_status else {"toolResult": _without_status(raw["toolResult"])}
        content = self._blocks(placed)
        failed = envelope.get("status") == "error"
        if failed and not content:
            content = [{"text": "The tool failed without a message."}]
            self.report.add("B11", "synthesized", action="gave an error result a text", at=placed)
        found = {"toolUseId": envelope.get("tool_call_id"), "content": content}
        return {"toolResult": found | ({"status": "error"} if failed and self.target.tool_status else {})}


def _without_status(answer: Mapping[str, Any]) -> Native:
    return {key: value for key, value in answer.items() if key != "status"}


def is_native(value: Any) -> bool:
    """Tell whether a value is one native content block (or a `json` one of a tool result)."""
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in (*_BLOCK_KEYS, "json")
