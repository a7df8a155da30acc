"""What a saver's data holds: thread ids, places of checkpoints, task paths. Asked without decoding where possible.

LangGraph's interface lists checkpoints only whole, and neither threads nor task paths at all. For savers that are
known, the names are read from where they keep them; for others everything is listed once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from langgraph.checkpoint.base import CheckpointTuple

from ..errors import WrongServerError
from ..saver import PortableRedisSaver
from ..storage.layout import split_place, thread_of
from ..storage.programs import paged, whole
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

    def read(self, thread_id: str, place: Place) -> Moves[CheckpointTuple | None]:
        """Read one checkpoint."""
        return (yield Ask(self.saver, "get_tuple", (config_at(thread_id, place),)))  # type: ignore[no-any-return]  # what the saver answers


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
        for outline_of in paged.OUTLINES:
            with suppress(paged.ThreadChangedError):
                outline = yield Run(self._own, outline_of(core, thread_id))
                return {} if outline is None else (yield from self._task_paths(outline))
        raise AssertionError("unreachable: the last outline holds all")

    def _task_paths(self, outline: paged.Outline) -> Moves[TaskPaths]:
        core, thread_id, head = self._own._core, outline.thread_id, outline.head
        secrets, where = core.view_of(head.generation, head.key, thread_id).secrets, f"thread {thread_id!r}"
        paths: dict[tuple[Place, str], str] = {}
        for names in outline.pages("writes"):
            page = yield Run(self._own, paged.read_page(core, outline, "writes", names))
            for place, frames in page.items():
                at = Place(*reversed(split_place(place)))
                for write in load_writes(frames, place=place, secrets=secrets, where=where):
                    if write.task_path:
                        paths[at, write.task_id] = write.task_path
        return paths


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


@dataclass(frozen=True, slots=True)
class OfValkey(Inventory):
    """ValkeySaver of langgraph-checkpoint-aws: its keys. It lists the root namespace only, and no threads."""

    lists: dict[str, list[tuple[Any, str]]] = field(default_factory=dict)
    """Thread id -> keys and namespaces, for threads that were listed: looking for one goes through all keys."""
    is_cheap = True

    def threads(self) -> Moves[list[str]]:
        def read() -> None:
            for key, thread_id, ns in self._lists("*"):
                self.lists.setdefault(thread_id, []).append((key, ns))

        yield Compute(read)
        return list(self.lists)

    def places(self, thread_id: str) -> Moves[list[Place]]:
        def read() -> list[Place]:
            looked_for = self._lists(GLOB.sub(r"\\\1", thread_id)) if thread_id not in self.lists else ()
            lists = self.lists.get(thread_id) or [(key, ns) for key, found, ns in looked_for if found == thread_id]
            return [Place(_text(each), ns) for key, ns in lists for each in self._client.lrange(key, 0, -1)]

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


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


@dataclass(frozen=True, slots=True)
class OfRedisJson(Inventory):
    """RedisSaver of langgraph-checkpoint-redis: its documents.

    Its own listing stops at 10,000 checkpoints whatever `before` says, leaves messages as dicts, and finds nothing of
    thread ids that the search engine folds or splits. So documents are found by their keys, a thread's through the
    index where that gives as many, and read one by one as a graph reads them.
    """

    counts: dict[str, int] = field(default_factory=dict)
    """How many checkpoints each thread had when threads were listed."""
    is_cheap = True

    def threads(self) -> Moves[list[str]]:
        found = yield Compute(lambda: Counter(thread_id for thread_id, _ in self._documents("*")))
        self.counts.update(found)
        return list(found)

    def places(self, thread_id: str) -> Moves[list[Place]]:
        def read() -> list[Place]:
            rows = self._indexed(self._own.checkpoints_index.name, thread_id)
            places = {Place(_unsafe_id(row["checkpoint_id"]), _unsafe_ns(row["checkpoint_ns"])) for row in rows}
            if places and len(places) >= self.counts.get(thread_id, 1):
                return sorted(places)
            pattern = GLOB.sub(r"\\\1", thread_id or EMPTY_ID)
            return sorted({place for found, place in self._documents(f"{pattern}:*") if found == thread_id})

        return (yield Compute(read))  # type: ignore[no-any-return]  # what the work gives

    def task_paths(self, thread_id: str) -> Moves[TaskPaths]:
        def read() -> TaskPaths:
            rows = self._indexed(self._own.checkpoint_writes_index.name, thread_id, "task_id", "$.task_path")
            return {
                (Place(_unsafe_id(row["checkpoint_id"]), _unsafe_ns(row["checkpoint_ns"])), row["task_id"]): path
                for row in rows
                if (path := row.get("$.task_path"))
            }

        return (yield Compute(read))  # type: ignore[no-any-return]  # what the work gives

    def read(self, thread_id: str, place: Place) -> Moves[CheckpointTuple | None]:
        """Read one checkpoint, with the writes that are stored also where its document says that there are none.

        A graph may store writes before their checkpoint, which then overwrites the mark that they left.
        """
        found = yield from Inventory.read(self, thread_id, place)
        if found is None or found.pending_writes:
            return found
        load, args = self._own._load_pending_writes, (thread_id, place.checkpoint_ns, place.checkpoint_id)
        return found._replace(pending_writes=(yield Compute(lambda: load(*args))))

    @property
    def _own(self) -> Any:
        saver: Any = self.saver
        if type(saver).__name__.startswith("Async"):
            raise WrongServerError("threads of an AsyncRedisSaver cannot be found out; pass a RedisSaver instead.")
        return saver

    def _documents(self, pattern: str) -> Iterator[tuple[str, Place]]:
        """Find checkpoints by key; ids may hold the separator of keys, so they are read from the documents."""
        client, prefix = self._own._redis, GLOB.sub(r"\\\1", self._own._checkpoint_prefix)
        keys = client.scan_iter(match=f"{prefix}:{pattern}", count=1000, _type="ReJSON-RL")
        for some in _batches(keys, 1000):
            fields = [client.json().mget(some, f"$.{name}") for name in ("thread_id", "checkpoint_ns", "checkpoint_id")]
            for thread_id, ns, checkpoint_id in zip(*fields, strict=True):
                if thread_id and ns and checkpoint_id:
                    yield _unsafe_id(thread_id[0]), Place(_unsafe_id(checkpoint_id[0]), _unsafe_ns(ns[0]))

    def _indexed(self, index: str, thread_id: str, *more: str) -> Iterator[dict[str, str]]:
        """Ask the search engine for a thread's documents, page by page, without its limits of number and time."""
        execute, names = self._own._redis.execute_command, ("thread_id", "checkpoint_ns", "checkpoint_id", *more)
        load = [name if name.startswith("$") else f"@{name}" for name in names]
        query = ("@thread_id:{$id}", "LOAD", len(load), *load, "TIMEOUT", 0, "WITHCURSOR", "COUNT", 1000)
        params = ("PARAMS", 2, "id", thread_id or EMPTY_ID, "DIALECT", 2)
        page, cursor = execute("FT.AGGREGATE", index, *query, *params)
        while True:
            for flat in page[1:]:
                row = dict(zip(map(_text, flat[::2]), map(_text, flat[1::2]), strict=True))
                if _unsafe_id(row.get("thread_id", "")) == thread_id:  # the index does not tell A from a
                    yield row
            if not cursor:
                return
            page, cursor = execute("FT.CURSOR", "READ", index, cursor)


GLOB: Final = re.compile(r"([*?\[\]\\^])")
EMPTY_ID: Final = "00000000-0000-0000-0000-000000000000"
"""What RedisSaver stores for an empty id; for an empty namespace, see `_unsafe_ns`."""


def _unsafe_id(stored: str) -> str:
    return "" if stored == EMPTY_ID else stored


def _unsafe_ns(stored: str) -> str:
    return "" if stored == "__empty__" else stored


def _batches(values: Iterable[Any], size: int) -> Iterator[list[Any]]:
    iterator = iter(values)
    while batch := list(islice(iterator, size)):
        yield batch


KINDS: Final[Mapping[str, Callable[[Saver], Inventory]]] = {
    "langgraph_portable_checkpoint.saver.PortableRedisSaver": OfOurs,
    "langgraph.checkpoint.memory.InMemorySaver": OfMemory,
    "langgraph.checkpoint.sqlite.SqliteSaver": OfSql,
    "langgraph.checkpoint.sqlite.aio.AsyncSqliteSaver": OfSql,
    "langgraph.checkpoint.postgres.PostgresSaver": OfPostgres,
    "langgraph.checkpoint.postgres.aio.AsyncPostgresSaver": OfPostgres,
    "langgraph.checkpoint.redis.RedisSaver": OfRedisJson,
    "langgraph.checkpoint.redis.aio.AsyncRedisSaver": OfRedisJson,
    "langgraph_checkpoint_aws.checkpoint.valkey.base.BaseValkeySaver": OfValkey,
}


def inventory_of(saver: Saver) -> Inventory:
    """Return the cheapest way to find out what a saver holds."""
    for base in type(saver).__mro__:
        made = KINDS.get(f"{base.__module__}.{base.__qualname__}")
        if made is not None:
            return made(saver)
    return Inventory(saver)
