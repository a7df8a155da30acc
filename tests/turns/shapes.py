"""Short forms of turns, for comparing."""

from __future__ import annotations

from typing import Any

IGNORED = frozenset({"checkpoint", "updated_at", "started_at", "run_ids"})
"""What says when and by whom a turn was written, and not what it is."""


def said(turn: Any) -> list[str]:
    """The texts of a turn's messages."""
    return ["".join(block.get("text", "") for block in message["content"]) for message in turn.messages]


def outline(saver: Any, thread_id: str, **options: Any) -> list[tuple[str, list[str]]]:
    """Status and texts of all turns."""
    return [(turn.status, said(turn)) for turn in saver.turns(thread_id, **options)]


def covered(saver: Any, thread_id: str, **options: Any) -> list[Any]:
    """Ids of all messages of all turns, in order."""
    return [message.get("id") for turn in saver.turns(thread_id, **options) for message in turn.messages]


def substance(turn: Any) -> dict[str, Any]:
    """A turn's record without what tells who wrote it when, and its messages."""
    record = {key: value for key, value in turn.record.items() if key not in IGNORED}
    for key in ("error", "past_errors"):
        if record.get(key):
            record[key] = _untimed(record[key])
    return {**record, "messages": turn.record["messages"], "read": turn.messages}


def _untimed(errors: Any) -> Any:
    if isinstance(errors, list):
        return [_untimed(error) for error in errors]
    return {key: value for key, value in errors.items() if key != "failed_at"}


def head_of(talk: Any) -> str:
    """The checkpoint id of the head."""
    checkpoint_id: str = talk.graph.get_state(talk.config).config["configurable"]["checkpoint_id"]
    return checkpoint_id
