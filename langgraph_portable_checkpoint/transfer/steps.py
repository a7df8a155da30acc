"""What moving threads asks of savers, as frozen values, and two drivers that do it: one blocking, one async.

Moving is written once, as generators that yield steps and are sent the answers, like the programs of `storage`. A saver
that has only blocking methods is called in a thread of its own by the async driver.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ..saver import PortableRedisSaver
from ..storage.effects import Program

T = TypeVar("T")
Saver = BaseCheckpointSaver[Any]


class Place(NamedTuple):
    """A checkpoint within its thread. Sorted, a thread's places are oldest first, as far as ids tell."""

    checkpoint_id: str
    checkpoint_ns: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Call a method of a saver, or its async twin. The answer is what it returns."""

    saver: Saver
    method: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Gather:
    """List a thread's checkpoints. The answer is a `Gathered`."""

    saver: Saver
    config: RunnableConfig | None
    budget: int
    may_be_cut: bool = False


@dataclass(frozen=True, slots=True)
class Select:
    """Run one query on a saver that keeps its data in SQL. The answer is a list of tuples."""

    saver: Saver
    query: str
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """Run a program of `storage` with one of our own savers."""

    saver: PortableRedisSaver
    program: Program[Any]


@dataclass(frozen=True, slots=True)
class Compute:
    """Do blocking work that is no saver's method. The answer is what it returns."""

    work: Callable[[], Any]


Step = Ask | Gather | Select | Run | Compute
Moves = Generator[Step, Any, T]


@dataclass(slots=True)
class Gathered:
    """What a listing gave.

    Attributes:
        budget: How many entries may be held; below 0, thread ids are all that is kept.
        places: The places of all checkpoints.
        tuples: The checkpoints; None when they outweigh the budget, and must be asked for one by one.
        threads: The thread ids met, in order.
        oldest: The lowest checkpoint id met.
    """

    budget: int
    places: dict[Place, None] = field(default_factory=dict)
    tuples: dict[Place, CheckpointTuple] | None = field(default_factory=dict)
    threads: dict[str, None] = field(default_factory=dict)

    oldest: str | None = None

    def __post_init__(self) -> None:
        if self.budget < 0:
            self.tuples = None

    def take(self, found: CheckpointTuple) -> None:
        """Take one checkpoint of the listing in."""
        place = place_of(found)
        self.oldest = place.checkpoint_id if self.oldest is None else min(self.oldest, place.checkpoint_id)
        self.threads[found.config["configurable"]["thread_id"]] = None
        if self.tuples is None and self.budget < 0:
            return  # only thread ids are asked for
        if place in self.places:
            return
        self.places[place] = None
        self.budget -= weight_of(found)
        if self.tuples is not None:
            self.tuples[place] = found
            if self.budget < 0:
                self.tuples, self.budget = None, 0

    def before(self) -> RunnableConfig:
        """Spell the `before` config for what is older than all so far."""
        return {"configurable": {"checkpoint_id": self.oldest}}


def place_of(found: CheckpointTuple) -> Place:
    """Return a checkpoint's place."""
    configurable = found.config["configurable"]
    return Place(found.checkpoint["id"], configurable.get("checkpoint_ns", ""))


def weight_of(found: CheckpointTuple) -> int:
    """Estimate what a checkpoint takes in memory, in entries of its containers."""
    values = found.checkpoint["channel_values"].values()
    return 1 + len(found.pending_writes or ()) + sum(len(value) for value in values if isinstance(value, list | dict))


def config_at(thread_id: str, place: Place | None) -> RunnableConfig:
    """Spell the config of a checkpoint; without a place, of a whole thread."""
    if place is None:
        return {"configurable": {"thread_id": thread_id}}
    return {
        "configurable": {
            "thread_id": thread_id,
            "checkpoint_ns": place.checkpoint_ns,
            "checkpoint_id": place.checkpoint_id,
        }
    }


def drive(moves: Moves[T]) -> T:
    """Do all steps with the savers' blocking methods."""
    reply: Any = None
    try:
        step = next(moves)
        while True:
            try:
                reply = _perform(step)
            except Exception as error:  # noqa: BLE001  # the generator decides, and lets through what it does not know
                step = moves.throw(error)
            else:
                step = moves.send(reply)
    except StopIteration as stop:
        return cast(T, stop.value)


def _perform(step: Step) -> Any:
    if isinstance(step, Ask):
        return getattr(step.saver, step.method)(*step.args)
    if isinstance(step, Gather):
        return _gathered(step)
    if isinstance(step, Select):
        return _select(step)
    return step.work() if isinstance(step, Compute) else step.saver._run(step.program)


def _gathered(step: Gather) -> Gathered:
    """List everything; savers that cut a listing short at some number are asked again for what is older."""
    gathered, before = Gathered(step.budget), None
    while True:
        known = gathered.oldest
        for each in step.saver.list(step.config, before=before):
            gathered.take(each)
        if not step.may_be_cut or gathered.oldest == known:
            return gathered
        before = gathered.before()


def _select(step: Select) -> list[tuple[Any, ...]]:
    saver: Any = step.saver
    if hasattr(saver, "cursor"):  # langgraph-checkpoint-sqlite
        with saver.cursor(transaction=False) as cursor:
            return list(cursor.execute(step.query, step.values).fetchall())
    with saver._cursor() as cursor:  # langgraph-checkpoint-postgres, which has no public one
        cursor.execute(step.query, step.values)
        return list(_rows(cursor.fetchall()))


def _rows(found: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    for row in found:
        yield tuple(row.values()) if isinstance(row, dict) else tuple(row)


async def adrive(moves: Moves[T]) -> T:
    """Do all steps with the savers' async methods, where they have them."""
    reply: Any = None
    try:
        step = next(moves)
        while True:
            try:
                reply = await _aperform(step)
            except Exception as error:  # noqa: BLE001  # the generator decides, and lets through what it does not know
                step = moves.throw(error)
            else:
                step = moves.send(reply)
    except StopIteration as stop:
        return cast(T, stop.value)


async def _aperform(step: Step) -> Any:
    if isinstance(step, Run):
        return await step.saver._arun(step.program)
    if isinstance(step, Compute):
        return await asyncio.to_thread(step.work)
    try:
        if isinstance(step, Ask):
            return await getattr(step.saver, f"a{step.method}")(*step.args)
        if isinstance(step, Gather):
            return await _agathered(step)
        if _is_async(step.saver):
            return await _aselect(step)
    except NotImplementedError:  # the saver's async half is only there to say so
        pass
    return await asyncio.to_thread(_perform, step)


async def _agathered(step: Gather) -> Gathered:
    gathered, before = Gathered(step.budget), None
    while True:
        known = gathered.oldest
        async for each in step.saver.alist(step.config, before=before):
            gathered.take(each)
        if not step.may_be_cut or gathered.oldest == known:
            return gathered
        before = gathered.before()


def _is_async(saver: Saver) -> bool:
    return type(saver).__name__.startswith("Async")


async def _aselect(step: Select) -> list[tuple[Any, ...]]:
    saver: Any = step.saver
    if hasattr(saver, "_cursor"):
        async with saver._cursor() as cursor:
            await cursor.execute(step.query, step.values)
            return list(_rows(await cursor.fetchall()))
    await saver.setup()
    async with saver.lock, saver.conn.execute(step.query, step.values) as cursor:
        return list(_rows(await cursor.fetchall()))
