"""What a saver's data holds: thread ids, places of checkpoints, task paths. Asked without decoding where possible.

LangGraph's interface lists checkpoints only whole, and neither threads nor task paths at all. For savers that are
known, the names are read from where they keep them; for others everything is listed once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..errors import WrongServerError
from ..saver import PortableRedisSaver
from ..storage.layout import split_place, thread_of
from ..storage.programs import whole
from ..storage.records import load_writes
from .steps import Ask, Compute, Gather, Moves, Place, Run, Saver, Select, config_at

TaskPaths = Mapping[tuple[Place, str], str]
"""(place, task id) -> task path, for the tasks that have one."""

BUDGET: Final = 40_000
"""How many entries of a thread's checkpoints are held at once; see `steps.weight_of`."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """Any saver through LangGraph's interface alone: everything is listed, and task paths are not known."""

    saver: Saver
    is_cheap = False
    """Whether places are known without decoding checkpoints."""

    def threads(self) -> Moves[list[str]]:
        """List all thread ids."""
        names: dict[str, None] = {}
        found = yield Gather(self.saver, None, -1, may_be_cut=True)
        names.update(found.threads)
        return list(names)

    def places(self, thread_id: str) -> Moves[list[Place]]:
        """List a thread's places, oldest first."""
        found = yield Gather(self.saver, config_at(thread_id, None), 0, may_be_cut=True)
        return sorted(found.places)

    def task_paths(self, thread_id: str) -> Moves[TaskPaths]:
        """Find the task paths of a thread's pending writes, as far as they can be had."""
        return {}
        yield  # a generator like the others

    def one_by_one(self) -> bool:
        """Tell whether a listing of this saver leaves something out, so that checkpoints must be asked for by place."""
        return False


class OfOurs(Inventory):
    """Our own saver: its registry, index and frames."""

    __slots__ = ()
    is_cheap = True

    @property
    def _own(self) -> PortableRedisSaver:
        assert isinstance(self.saver, PortableRedisSaver)
        return self.saver

    def threads(self) -> Moves[list[str]]:
        names: list[bytes] = []
        for shard in whole.ALL_SHARDS:
            start = 0
            while page := (yield Run(self._own, whole.registered_names(self._own._core, shard, start))):
                names += yield Run(self._own, whole.existing(self._own._core, page))
                start += whole.NAMES_AT_ONCE
        return [thread_of(name) for name in names]

    def places(self, thread_id: str) -> Moves[list[Place]]:
        found = yield Run(self._own, whole.places_of(self._own._core, thread_id))
        return sorted(Place(checkpoint_id, ns) for ns, checkpoint_id in map(split_place, found))

    def task_paths(self, thread_id: str) -> Moves[TaskPaths]:
        core = self._own._core
        stored = yield Run(self._own, whole.dump_thread(core, thread_id))
        if stored is None:
            return {}
        secrets, where = core.view_of(stored.generation, stored.key, thread_id).secrets, f"thread {thread_id!r}"
        return {
            (Place(*reversed(split_place(place))), write.task_id): write.task_path
            for place, frames in stored.writes.items()
            for write in load_writes(frames, place=place, secrets=secrets, where=where)
            if write.task_path
        }


class OfMemory(Inventory):
    """InMemorySaver: its dictionaries."""

    __slots__ = ()
    is_cheap = True

    def threads(self) -> Moves[list[str]]:
        storage: Any = self.saver.storage  # type: ignore[attr-defined]  # an InMemorySaver has one
        return [thread_id for thread_id in list(storage) if any(storage[thread_id].values())]
        yield  # a generator like the others

    def places(self, thread_id: str) -> Moves[list[Place]]:
        storage: Any = self.saver.storage  # type: ignore[attr-defined]  # an InMemorySaver has one
        namespaces = storage.get(thread_id, {})
        return sorted(Place(checkpoint_id, ns) for ns in list(namespaces) for checkpoint_id in list(namespaces[ns]))
        yield  # a generator like the others

    def task_paths(self, thread_id: str) -> Moves[TaskPaths]:
        writes: Any = self.saver.writes  # type: ignore[attr-defined]  # an InMemorySaver has one
        places = yield from self.places(thread_id)
        return {
            (place, write[0]): write[3]
            for place in places
            for write in writes.get((thread_id, place.checkpoint_ns, place.checkpoint_id), {}).values()
            if write[3]
        }


class OfSql(Inventory):
    """langgraph-checkpoint-sqlite: its tables."""

    __slots__ = ()
    is_cheap = True
    mark = "?"
    writes_table = "writes"

    def threads(self) -> Moves[list[str]]:
        rows = yield Select(self.saver, "SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id")
        return [row[0] for row in rows]

    def places(self, thread_id: str) -> Moves[list[Place]]:
        query = f"SELECT checkpoint_id, checkpoint_ns FROM checkpoints WHERE thread_id = {self.mark}"  # noqa: S608
        rows = yield Select(self.saver, query, (thread_id,))
        return sorted(Place(*row) for row in rows)

    def task_paths(self, thread_id: str) -> Moves[TaskPaths]:
        if not getattr(self.saver, "_has_task_path", True):
            return {}
        query = (
            "SELECT DISTINCT checkpoint_id, checkpoint_ns, task_id, task_path "  # noqa: S608
            f"FROM {self.writes_table} WHERE thread_id = {self.mark} AND task_path <> ''"
        )
        rows = yield Select(self.saver, query, (thread_id,))
        return {(Place(row[0], row[1]), row[2]): row[3] for row in rows}


class OfPostgres(OfSql):
    """langgraph-checkpoint-postgres: its tables."""

    __slots__ = ()
    mark = "%s"
    writes_table = "checkpoint_writes"


class OfValkey(Inventory):
    """ValkeySaver of langgraph-checkpoint-aws: its keys. It lists the root namespace only, and no threads."""

    __slots__ = ()
    is_cheap = True

    def threads(self) -> Moves[list[str]]:
        names = yield Compute(lambda: dict.fromkeys(thread_id for _, thread_id, _ in self._lists("*")))
        return list(names)

    def places(self, thread_id: str) -> Moves[list[Place]]:
        def read() -> list[Place]:
            return [
                Place(_text(checkpoint_id), ns)
                for key, found, ns in self._lists(re.sub(r"([*?\[\]\\^])", r"\\\1", thread_id))
                if found == thread_id
                for checkpoint_id in self._client.lrange(key, 0, -1)
            ]

        found = yield Compute(read)
        return sorted(set(found))

    @property
    def _client(self) -> Any:
        client: Any = self.saver.client  # type: ignore[attr-defined]  # a ValkeySaver has one
        if type(client).__module__.startswith("valkey.asyncio"):
            raise WrongServerError("threads of an AsyncValkeySaver cannot be found out; pass a ValkeySaver instead.")
        return client

    def _lists(self, pattern: str) -> Iterable[tuple[Any, str, str]]:
        for key in self._client.scan_iter(match=f"thread:{{{pattern}}}:*", count=1000):
            thread_id, _, ns = _text(key).removeprefix("thread:{").partition("}:")
            yield key, thread_id, ns

    def one_by_one(self) -> bool:
        return True


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


KINDS: Final[Mapping[str, Callable[[Saver], Inventory]]] = {
    "langgraph_portable_checkpoint.saver.PortableRedisSaver": OfOurs,
    "langgraph.checkpoint.memory.InMemorySaver": OfMemory,
    "langgraph.checkpoint.sqlite.SqliteSaver": OfSql,
    "langgraph.checkpoint.sqlite.aio.AsyncSqliteSaver": OfSql,
    "langgraph.checkpoint.postgres.PostgresSaver": OfPostgres,
    "langgraph.checkpoint.postgres.aio.AsyncPostgresSaver": OfPostgres,
    "langgraph_checkpoint_aws.checkpoint.valkey.base.BaseValkeySaver": OfValkey,
}


def inventory_of(saver: Saver) -> Inventory:
    """Return the cheapest way to find out what a saver holds."""
    for base in type(saver).__mro__:
        made = KINDS.get(f"{base.__module__}.{base.__qualname__}")
        if made is not None:
            return made(saver)
    return Inventory(saver)


def read(saver: Saver, thread_id: str, place: Place) -> Moves[Any]:
    """Read one checkpoint."""
    return (yield Ask(saver, "get_tuple", (config_at(thread_id, place),)))
