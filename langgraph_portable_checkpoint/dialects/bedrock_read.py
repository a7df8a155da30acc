"""Bedrock Converse messages read as envelopes: one per tool result, one for the rest of each message.

Source: botocore 1.44 bedrock-runtime service model, Message and ToolResultBlock; rules B3, B9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..envelope.model import ENVELOPE_VERSION, Block, MessageEnvelope, Origin
from .base import ImportOptions
from .bedrock_blocks import block_of, with_bytes
from .lint.bedrock import BLOCK_KEYS
from .number_limits import unfit
from .report import Report

API: Final = "converse"
PROVIDER: Final = "bedrock"


def split_payload(payload: Any) -> tuple[Any, Any, Mapping[str, Any]]:
    """Return system, messages, and the facts of a response."""
    if not isinstance(payload, (dict, Mapping)):
        return None, payload, {}
    output = payload.get("output")
    if isinstance(output, (dict, Mapping)) and "message" in output:
        return None, [output["message"]], payload
    return payload.get("system"), payload.get("messages"), {}


def problems_of(system: Any, messages: Any, *, plain: bool) -> list[str]:
    """Say what is wrong with a payload; `plain` where all its values are known to fit."""
    found = [] if system is None or isinstance(system, list) else [f"system: is {type(system).__name__}, not a list"]
    if not plain and (reason := unfit(system)):
        found.append(f"system: {reason}")
    if not isinstance(messages, list):
        return [*found, f"messages: is {type(messages).__name__}, not a list"]
    for index, message in enumerate(messages):
        if not plain or not _is_sound(message):
            found += _message_problems(message, f"messages[{index}]", plain=plain)
    if not messages and not system:
        found.append("messages: is empty")
    return found


def _is_sound(message: Any) -> bool:
    """True for a message in which `_message_problems` finds nothing; False says nothing."""
    content = message.get("content") if type(message) is dict else None
    return type(content) is list and message.get("role") in _ROLES and {*map(type, content)} <= {dict}


_ROLES: Final = ("user", "assistant", "system")
_MESSAGE_KEYS: Final = frozenset({"role", "content"})


def _message_problems(message: Any, path: str, *, plain: bool) -> Iterator[str]:
    if not isinstance(message, (dict, Mapping)):
        yield f"{path}: is {type(message).__name__}, not a message"
        return
    if message.get("role") not in _ROLES:
        yield f"{path}.role: {message.get('role')!r:.40} is not user or assistant"
    if not plain and (reason := unfit({key: value for key, value in message.items() if key not in _MESSAGE_KEYS})):
        yield f"{path}: {reason}"
    content = message.get("content")
    if not isinstance(content, list):
        yield f"{path}.content: is {type(content).__name__}, not a list"
        return
    for index, block in enumerate(content):
        if not isinstance(block, (dict, Mapping)):
            yield f"{path}.content[{index}]: is {type(block).__name__}, not a block"
        elif not plain and (reason := unfit(block)):
            yield f"{path}.content[{index}]: {reason}"


def _keep(envelope: MessageEnvelope, rest: Mapping[str, Any]) -> None:
    """Keep what a message, or the block of a result, says in keys of its own."""
    extras = envelope.get("extras", {})
    envelope["extras"] = {**extras, PROVIDER: {**extras.get(PROVIDER, {}), **rest}}


class Reader:
    """Turns messages into envelopes; tool results become messages of their own."""

    def __init__(self, options: ImportOptions, report: Report) -> None:
        self.report = report
        self.origin: Origin = {"provider": PROVIDER, "api": API}
        if options.model:
            self.origin["model"] = options.model
        if options.account:
            self.origin["account"] = options.account

    def envelopes(self, system: Any, messages: list[Any], facts: Mapping[str, Any]) -> Iterator[MessageEnvelope]:
        blocks = self._blocks(system or [], "system")
        if blocks:
            yield self._envelope("system", blocks)
        for index, message in enumerate(messages):
            for made, envelope in enumerate(self._message(message, f"messages[{index}]")):
                if not made and not message.keys() <= _MESSAGE_KEYS:
                    _keep(envelope, {key: value for key, value in message.items() if key not in _MESSAGE_KEYS})
                if made:
                    envelope["extras"] = {**envelope.get("extras", {}), "joined": True}
                yield self._with_facts(envelope, facts) if facts else envelope

    def _envelope(self, role: Any, content: list[Block]) -> MessageEnvelope:
        return {"v": ENVELOPE_VERSION, "role": role, "content": content, "origin": self.origin}

    def _with_facts(self, envelope: MessageEnvelope, facts: Mapping[str, Any]) -> MessageEnvelope:
        usage = facts.get("usage")
        if isinstance(usage, (dict, Mapping)):
            counts = {"input_tokens": "inputTokens", "output_tokens": "outputTokens", "total_tokens": "totalTokens"}
            found = {ours: usage.get(theirs) for ours, theirs in counts.items()}
            envelope["usage"] = {ours: count if type(count) is int else 0 for ours, count in found.items()}
        if facts.get("stopReason"):
            envelope["stop_reason"] = str(facts["stopReason"])
        return envelope

    def _message(self, message: Mapping[str, Any], path: str) -> Iterator[MessageEnvelope]:
        other: list[Any] = []
        for index, block in enumerate(message["content"]):
            answer = block.get("toolResult")
            if not isinstance(answer, (dict, Mapping)) or message["role"] != "user":
                other.append(block)
                continue
            if other:
                yield self._envelope("user", self._blocks(other, path))
                other = []
            envelope = self._answer(answer, f"{path}.content[{index}]")
            if len(block) > 1:
                _keep(envelope, {key: value for key, value in block.items() if key != "toolResult"})
            yield envelope
        if other or not message["content"]:
            yield self._envelope(message["role"], self._blocks(other, path))

    def _blocks(self, natives: Sequence[Any], path: str) -> list[Block]:
        """Read blocks; a cache point marks the block before it."""
        found: list[Block] = []
        for one in natives:
            if not isinstance(one, (dict, Mapping)):
                found.append({"type": "non_standard", "value": one})
                continue
            one = one if len(one) == 1 else self._alone(one, path)
            if len(one) == 1 and "cachePoint" in one and found:
                found[-1]["cache_hint"] = dict(one)
            else:
                found.append(block_of(one))
        return found

    def _alone(self, native: Mapping[str, Any], path: str) -> Mapping[str, Any]:
        """Return a block without unknown keys beside the one that says what it is; one that says nothing as it is."""
        told = native.keys() & BLOCK_KEYS | native.keys() & {"json"}
        if len(told) != 1 or "type" in native:
            return native
        left = ", ".join(sorted(str(key) for key in native if key not in told))
        self.report.add("B4", "dropped", action="left out keys beside that of a block", path=path, detail=left)
        return {key: native[key] for key in told}

    def _answer(self, answer: Mapping[str, Any], path: str) -> MessageEnvelope:
        content = answer.get("content")
        envelope = self._envelope("tool", self._blocks(content if isinstance(content, list) else [], path))
        envelope["status"] = "error" if answer.get("status") == "error" else "success"
        envelope["raw_content"] = {"toolResult": with_bytes(dict(answer))}
        if isinstance(answer.get("toolUseId"), str):
            envelope["tool_call_id"] = answer["toolUseId"]
        else:
            self.report.add("B9", "unresolved", action="kept a result without toolUseId", path=path)
        return envelope
