"""Who speaks in a message, whose result it is, and what its API said of it beside its content.

Steps of the normaliser.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..envelope.model import MessageEnvelope
from .base import Target
from .ids import NameMap
from .jsonl import mend_surrogates
from .links import CALL_TYPES
from .parts import Parts
from .report import Placed

_APIS: Final = ("anthropic", "bedrock", "google", "mistral", "openai-chat", "openai-responses")
"""Dialects that keep what they know of a message under the extras of its envelope."""
_KEYS: Final = """
content function_call id index instructions is_error omits output reasoning refusal response role
status tool_calls type
"""
_TOLD_ELSEWHERE: Final = frozenset(_KEYS.split())
"""Keys that other fields of the envelope or its blocks say too, or that stand for the item alone."""


_CONTENT: Final = ("executed_tools",)
"""What integrations keep in `additional_kwargs` though the model said it: langchain-groq's server tools."""
_NOTHING: Final[tuple[Any, ...]] = (None, "", [], {})


def name_messages(conversation: list[Placed], parts: Parts) -> list[Placed]:
    """Fit tool names of results and names of speakers."""
    speakers = NameMap(parts.target.message_name)
    asked: dict[Any, Any] = {}
    out = []
    for placed in conversation:
        envelope = placed.envelope
        if envelope["role"] == "assistant" and not parts.target.result_names:
            asked |= {one.get("id"): one.get("name") for one in envelope["content"] if one["type"] in CALL_TYPES}
        if envelope.get("name") is not None:
            named = _of_tool if envelope["role"] == "tool" else _of_speaker
            placed = named(placed, parts, speakers, asked)
        out.append(placed)
    return out


def _of_tool(placed: Placed, parts: Parts, _: NameMap, asked: Mapping[Any, Any]) -> Placed:
    """Fit the name of a result's tool; where results have none, the one that its call has is no loss, save where the
    history had it in the target's own form.
    """
    envelope, target = placed.envelope, parts.target
    name = envelope.get("name") or ""
    new = parts.names.assign(name)
    own = target.tells_result_names and (envelope.get("origin") or {}).get("api") == target.api
    if not target.result_names and (own or asked.get(envelope.get("tool_call_id"), new) != new):
        action = "left out the name of a result" if own else "left out a name that its call has not"
        parts.lose("result_name", "dropped", placed, "name", action=action, detail=name)
    return placed if new == name else placed.having({**envelope, "name": new})


def _of_speaker(placed: Placed, parts: Parts, speakers: NameMap, _: Mapping[Any, Any]) -> Placed:
    name = placed.envelope.get("name") or ""
    if not parts.target.speakers:
        if name:
            parts.lose("speaker", "dropped", placed, "name", action="left out the speaker's name", detail=name)
        return placed.having(_nameless(placed.envelope))
    new = speakers.assign(mend_surrogates(name, []) if parts.target.message_name else name)
    if new == name:
        return placed
    parts.lose("message_name", "re-keyed", placed, "name", action="got a name that fits", detail=f"{name} -> {new}")
    return placed.having({**placed.envelope, "name": new})


def _nameless(envelope: MessageEnvelope) -> MessageEnvelope:
    copy = envelope.copy()
    copy.pop("name")
    return copy


def tell_message_keys(conversation: list[Placed], parts: Parts) -> list[Placed]:
    """Tell what another API said of a message beside its content, where the target has rules for it."""
    if "message_keys" in parts.target.rules:
        for placed in conversation:
            extras = placed.envelope.get("extras")
            for key in _keys_of_others(extras, parts.target) if extras else ():
                action = "left out what another API says of a message"
                parts.lose("message_keys", "dropped", placed, key, action=action)
    return conversation


def _keys_of_others(extras: Mapping[str, Any], target: Target) -> list[str]:
    told = [extras[name] for name in _APIS if name != target.dialect and isinstance(extras.get(name), Mapping)]
    keys = [key for one in told for key, value in one.items() if key not in _TOLD_ELSEWHERE and value not in _NOTHING]
    beside = extras.get("additional_kwargs")
    return keys + [key for key in _CONTENT if isinstance(beside, Mapping) and key in beside]
