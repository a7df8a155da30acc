"""Cutting a conversation back to an earlier turn, as a new head: what `PortableRedisSaver` offers for starting again.

Nothing is destroyed: the checkpoints that hold what was cut off stay, and lie beside the new head as a branch.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointTuple
from langgraph.checkpoint.base.id import uuid6

from .envelope.turn_log import StoredTurn
from .errors import ConflictError, ThreadNotFoundError
from .storage.layout import checked_id
from .storage.programs.reading import turns_page

if TYPE_CHECKING:
    from .storage.effects import Program
    from .storage.programs.core import Core

T = TypeVar("T")
ALL_TURNS: Final = 2**31
_PENDING: Final = ("branch:to:", "join:", "__start__", "__pregel_tasks")
"""Channels whose values trigger nodes. The new head has none of them: there is nothing left to run at it."""


class TruncateMethods:
    """Starting again from an earlier turn."""

    _core: Core

    def _run(self, program: Program[T]) -> T:
        raise NotImplementedError

    async def _arun(self, program: Program[T]) -> T:
        raise NotImplementedError

    def checkpoint_of_turn(self, thread_id: str, turn: int) -> RunnableConfig:
        """Return the config of the checkpoint at which a turn ended: a graph invoked with it starts again from there.

        Nothing is destroyed: the run makes a new branch, whose head becomes the thread's.

        Raises:
            ThreadNotFoundError: there is no such thread or turn.
        """
        return self._run(self._end_of_turn(checked_id("thread_id", thread_id), turn))

    async def acheckpoint_of_turn(self, thread_id: str, turn: int) -> RunnableConfig:
        """Return the config of the checkpoint at which a turn ended; see `checkpoint_of_turn`."""
        return await self._arun(self._end_of_turn(checked_id("thread_id", thread_id), turn))

    def _end_of_turn(self, thread_id: str, turn: int) -> Program[RunnableConfig]:
        page = yield from turns_page(self._core, thread_id, turn, 1, media=False, messages=False)
        if not page.turns:
            raise ThreadNotFoundError(f"thread {thread_id!r} has no turn {turn}; it has {page.total}.")
        place = page.turns[0][0].record["checkpoint"]
        named = {"thread_id": thread_id, "checkpoint_ns": place.get("ns", ""), "checkpoint_id": place.get("id")}
        return {"configurable": {name: value for name, value in named.items() if value is not None}}

    def truncate_to_turn(self, thread_id: str, turn: int) -> RunnableConfig:
        """Make a new head whose conversation ends before a turn; the next run starts that turn again.

        The rest of the state is that of the checkpoint at which the turn before ended, if the conversation there is
        the one that is kept; else (messages were removed or changed since, or no turn is kept) that of the head.
        Nothing is destroyed.

        Args:
            turn: The first turn to cut off, from 0: turns 0 up to `turn` - 1 stay. Negative: counted from the end.

        Returns:
            The config of the new head; of the present one if `turn` is the number of turns.

        Raises:
            ThreadNotFoundError: there is no such thread or turn.
            ConflictError: this machine's clock is behind that of the head's writer; nothing was stored.
        """
        saver = cast(Any, self)
        thread_id = checked_id("thread_id", thread_id)
        page = self._run(turns_page(self._core, thread_id, 0, ALL_TURNS, media=False, messages=False))
        head = saver.get_tuple(_config(thread_id))
        cut = _Cut(thread_id, turn, [stored for stored, _ in page.turns], head)
        if cut.nothing:
            return cut.head.config
        before = None if cut.before is None else saver.get_tuple(cut.before)
        config: RunnableConfig = saver.put(*cut.put(before))
        return config

    async def atruncate_to_turn(self, thread_id: str, turn: int) -> RunnableConfig:
        """Make a new head whose conversation ends before a turn; see `truncate_to_turn`."""
        saver = cast(Any, self)
        thread_id = checked_id("thread_id", thread_id)
        page = await self._arun(turns_page(self._core, thread_id, 0, ALL_TURNS, media=False, messages=False))
        head = await saver.aget_tuple(_config(thread_id))
        cut = _Cut(thread_id, turn, [stored for stored, _ in page.turns], head)
        if cut.nothing:
            return cut.head.config
        before = None if cut.before is None else await saver.aget_tuple(cut.before)
        config: RunnableConfig = await saver.aput(*cut.put(before))
        return config


def _config(thread_id: str, checkpoint_id: str | None = None) -> RunnableConfig:
    named = {"thread_id": thread_id, "checkpoint_ns": ""}
    return {"configurable": named if checkpoint_id is None else {**named, "checkpoint_id": checkpoint_id}}


class _Cut:
    """One truncation: what is kept, and the checkpoint that it makes."""

    def __init__(self, thread_id: str, turn: int, turns: list[StoredTurn], head: CheckpointTuple | None) -> None:
        if head is None:
            raise ThreadNotFoundError(f"there is no thread {thread_id!r}.")
        kept = turn + len(turns) if turn < 0 else turn
        if not 0 <= kept <= len(turns):
            raise ThreadNotFoundError(f"thread {thread_id!r} has no turn {turn}; it has {len(turns)}.")
        self.head = head
        self.nothing = kept == len(turns)
        self.channel = turns[-1].record.get("channel", "messages") if turns else "messages"
        self._size = sum(stored.record["count"] for stored in turns[:kept])
        place = turns[kept - 1].record["checkpoint"] if kept else {}
        self.before = _config(thread_id, place.get("id")) if place.get("id") else None

    def put(self, before: CheckpointTuple | None) -> tuple[RunnableConfig, Checkpoint, dict[str, Any], dict[str, Any]]:
        """Return what `put` takes to make the new head."""
        messages = self.head.checkpoint["channel_values"][self.channel][: self._size]
        fits = before is not None and before.checkpoint["channel_values"].get(self.channel) == messages
        base = before if before is not None and fits else self.head
        known = base.checkpoint["channel_versions"]
        changed = [self.channel, *(name for name in base.checkpoint["channel_values"] if name.startswith(_PENDING))]
        new = {name: _next(known.get(name)) for name in changed}
        made = self._checkpoint(base.checkpoint, messages, new)
        metadata = {"source": "update", "step": base.metadata.get("step", 0) + 1, "parents": {}}
        return base.config, made, metadata, new

    def _checkpoint(self, base: Checkpoint, messages: list[Any], new: Mapping[str, Any]) -> Checkpoint:
        made = str(uuid6(clock_seq=-1))
        head_id = self.head.checkpoint["id"]
        if made <= head_id:
            _refuse_clock(head_id)
        values = {name: value for name, value in base["channel_values"].items() if name not in new}
        versions = {**base["channel_versions"], **new}
        seen = {node: _all_seen(channels, versions) for node, channels in base["versions_seen"].items()}
        return cast(
            Checkpoint,
            {
                **base,
                "id": made,
                "ts": datetime.now(UTC).isoformat(),
                "channel_values": {**values, self.channel: messages},
                "channel_versions": versions,
                "versions_seen": seen,
                "updated_channels": sorted(new),
            },
        )


def _all_seen(channels: Mapping[str, Any], versions: Mapping[str, Any]) -> dict[str, Any]:
    return {name: versions.get(name, seen) for name, seen in channels.items()}


def _next(version: Any) -> Any:
    """Return a version after this one, in kind."""
    if isinstance(version, str):
        whole, dot, rest = version.partition(".")
        return f"{int(whole) + 1:0{len(whole)}}{dot}{rest}"
    return 1 if version is None else version + 1


def _refuse_clock(head_id: str) -> NoReturn:
    raise ConflictError(
        f"the head {head_id!r} has an id of a later time than this machine's clock says, so no checkpoint made here "
        "now can follow it. Nothing was stored; set the clock, or try again later."
    )
