"""What the pending writes of a checkpoint say of its conversation: whether a human is waited for, and finished calls.

A compiled graph applies the writes of finished tasks when it shows its head; a checkpointer hands them out beside the
checkpoint and knows no reducers. So only what is plain is taken from them: results of calls that are open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from langchain_core.messages import ToolMessage

INTERRUPT: Final = "__interrupt__"
_CONTROL: Final = frozenset({INTERRUPT, "__resume__", "__error__", "__error_source_node__"})
"""Channels of writes by which a task says how it fares, not what it made. Source: langgraph.pregel, 1.2."""
_NO_TASK: Final = "00000000-0000-0000-0000-000000000000"


def finished_tasks(written: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Name the tasks that ran to their end, from the tasks and channels of pending writes."""
    return frozenset(task for task, channel in written if task != _NO_TASK and channel not in _CONTROL)


def waits(written: Collection[tuple[str, str]], *, live: bool) -> bool:
    """Tell whether a task waits for a human; of a checkpoint that is no head (`live`), whether one did."""
    asked = {task for task, channel in written if channel == INTERRUPT}
    return bool(asked - finished_tasks(written) if live else asked)


def results(
    writes: Iterable[tuple[str, str, Any]], channel: str | None, calls: Sequence[str | None]
) -> list[ToolMessage]:
    """Return the results that finished tasks wrote into a channel for these open calls, in the order of the calls."""
    found: dict[str, ToolMessage] = {}
    for _, name, value in writes:
        if name == channel:
            for message in _results_in(value):
                found.setdefault(message.tool_call_id, message)
    return [found[call] for call in dict.fromkeys(calls) if call and call in found]


def _results_in(value: Any) -> Iterator[ToolMessage]:
    for message in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(message, ToolMessage):
            yield message
