"""Checkpoints, configs and metadata as LangGraph would make them, for tests that call the saver directly."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.base.id import uuid6

from tests.saver.calls import Calls, Saver


def new_id() -> str:
    """Return a checkpoint id later than all before."""
    return str(uuid6())


def config(thread_id: str, checkpoint_id: str | None = None, *, ns: str | None = "") -> Any:
    """Return a config; `ns=None` leaves the namespace out, `checkpoint_id=None` names the head."""
    optional = {"checkpoint_ns": ns, "checkpoint_id": checkpoint_id}
    return {"configurable": {"thread_id": thread_id, **{k: v for k, v in optional.items() if v is not None}}}


def checkpoint(
    values: dict[str, Any], versions: dict[str, Any] | None = None, *, checkpoint_id: str = ""
) -> Checkpoint:
    """Return a checkpoint that holds `values`, each at version 1 unless `versions` says otherwise."""
    return Checkpoint(
        v=4,
        id=checkpoint_id or new_id(),
        ts=datetime.now(UTC).isoformat(),
        channel_values=values,
        channel_versions=dict.fromkeys(values, 1) if versions is None else versions,
        versions_seen={"__input__": {}, "node": dict.fromkeys(values, 1)},
        updated_channels=sorted(values),
    )


def metadata(step: int = 0, **more: Any) -> Any:
    """Return metadata of a loop step."""
    return {"source": "loop", "step": step, "parents": {}, **more}


def put_all(calls: Calls, savers: list[Saver], place: Any, made: Checkpoint, new: dict[str, Any], **more: Any) -> Any:
    """Put the same checkpoint with every saver; return the config that the first one gives back."""
    puts = [calls.put(saver, place, made, metadata(**more), new) for saver in savers]
    return puts[0]


def chain(calls: Calls, saver: Saver, thread_id: str, length: int, *, ns: str = "") -> list[Any]:
    """Put `length` checkpoints, each the parent of the next; return their configs, oldest first."""
    place, made = config(thread_id, ns=ns), []
    for step in range(length):
        place = calls.put(saver, place, checkpoint({"n": step}, {"n": step + 1}), metadata(step), {"n": step + 1})
        made.append(place)
    return made
