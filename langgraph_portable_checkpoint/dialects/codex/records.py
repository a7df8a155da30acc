"""What a line of a Codex rollout is: a record with its payload, or an item alone, as the first versions wrote it.

Knows nothing of what a history makes of them. Pure.

Source: codex-rs protocol (RolloutItem, RolloutLine); rollout lines of the first versions: recorder.rs of 2025-07.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .items import BARE, NO_ITEMS

ROLLOUT: Final = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_OF_ITEMS: Final = frozenset({"role", "call_id", "summary", "encrypted_content", "action", "id"})
_OF_BARE: Final = frozenset({"id", "timestamp", "instructions"})


def is_bare(value: Mapping[str, Any]) -> bool:
    """Tell an item that stands in a line of its own, as the first versions wrote them."""
    kind = value.get("type")
    known = isinstance(kind, str) and kind in BARE
    return known and not isinstance(value.get("payload"), Mapping) and not _OF_ITEMS.isdisjoint(value)


def begins_bare(value: Mapping[str, Any]) -> bool:
    """Tell the line with the session's id and instructions that bare items stand behind."""
    return "type" not in value and value.keys() >= _OF_BARE and isinstance(value["timestamp"], str)


def is_record(value: Mapping[str, Any]) -> bool:
    """Tell a line of a rollout."""
    return value.get("type") in ROLLOUT or is_bare(value) or begins_bare(value)


def record_of(value: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return what a line says that it is, and its payload."""
    if is_bare(value):
        return "response_item", value
    if begins_bare(value):
        return "session_meta", value
    return value.get("type"), value.get("payload")


def item_of(kind: Any, payload: Any) -> Mapping[str, Any] | None:
    """Return the item that the model is sent for a record; None where it is sent none."""
    if not isinstance(payload, Mapping):
        return None
    if kind == "inter_agent_communication":
        return _agent_message(payload)
    return payload if kind == "response_item" and payload.get("type") not in NO_ITEMS else None


def _agent_message(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Spell a message between agents, which later versions record apart, as the item that the model is sent."""
    said = [{"type": "input_text", "text": payload["content"]}] if payload.get("content") else []
    sealed = payload.get("encrypted_content")
    parts = [*said, *([{"type": "encrypted_content", "encrypted_content": sealed}] if sealed else [])]
    return {**payload, "type": "agent_message", "content": parts}
