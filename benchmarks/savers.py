"""The savers that are compared, one row each: which package, which kind of server, how it is opened and sized.

A saver is added by one `Contender` row. Peers are imported when they are opened, so that a missing package is a reported
gap in the table and not an error.
"""

import asyncio
import importlib
import importlib.util
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal, TypeAlias

from langgraph.checkpoint.base import BaseCheckpointSaver

from benchmarks.meters import Footprint

Saver: TypeAlias = BaseCheckpointSaver[Any]
ServerKind = Literal["none", "file", "plain", "modules"]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a saver is opened: a server's URL or a file, and the event loop it runs on, if any."""

    location: str
    loop: asyncio.AbstractEventLoop | None
    stack: ExitStack
    """Closes what the saver opened."""


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One saver of the comparison."""

    name: str
    distribution: str
    module: str
    server: ServerKind
    open: Callable[[Any, Place], Saver]
    """Opens the saver from its imported module, set up and ready."""
    footprint: Callable[[Saver, Place], Footprint] | None = None
    """Size of what it holds; None where the server is asked."""

    @property
    def installed(self) -> bool:
        """Whether the package, and the saver's module in it, can be imported."""
        try:
            return importlib.util.find_spec(self.module) is not None
        except ModuleNotFoundError:
            return False

    @property
    def version(self) -> str:
        """The installed version of the package."""
        return version(self.distribution)

    def opened(self, place: Place) -> Saver:
        """Open the saver at `place`."""
        return self.open(importlib.import_module(self.module), place)


def _portable(module: Any, place: Place) -> Saver:
    saver: Saver = module.PortableRedisSaver.from_url(place.location)
    _close_with(place, saver)
    return saver


def _in_memory(module: Any, place: Place) -> Saver:
    saver: Saver = module.InMemorySaver()
    return saver


def _in_memory_footprint(saver: Any, place: Place) -> Footprint:
    """Sum the serialized values; the Python objects around them come on top."""
    threads = (
        checkpoint for spaces in saver.storage.values() for space in spaces.values() for checkpoint in space.values()
    )
    records = sum(len(value[1]) for thread in threads for value in thread[:2])
    blobs = sum(len(value[1]) for value in saver.blobs.values())
    writes = sum(len(write[2][1]) for pending in saver.writes.values() for write in pending.values())
    return Footprint(size_bytes=records + blobs + writes)


def _sqlite(module: Any, place: Place) -> Saver:
    if place.loop is None:
        connection = sqlite3.connect(place.location, check_same_thread=False)
        place.stack.callback(connection.close)
        saver: Saver = module.SqliteSaver(connection)
        return saver
    aio = importlib.import_module(f"{module.__name__}.aio")
    waiting: Saver = place.loop.run_until_complete(_sqlite_async(aio, place))
    return waiting


async def _sqlite_async(aio: Any, place: Place) -> Any:
    connection = await importlib.import_module("aiosqlite").connect(place.location)
    _close_with(place, connection)
    return aio.AsyncSqliteSaver(connection)


def _sqlite_footprint(saver: Any, place: Place) -> Footprint:
    with sqlite3.connect(place.location) as connection:
        pages, page_bytes = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    connection.close()
    return Footprint(size_bytes=pages * page_bytes)


def _plainredis(module: Any, place: Place) -> Saver:
    kind = module.RedisSaver if place.loop is None else module.AsyncRedisSaver
    saver: Saver = kind(url=place.location)
    _close_with(place, saver.client)  # type: ignore[attr-defined]  # a plainredis saver has one
    return saver


def _valkey(module: Any, place: Place) -> Saver:
    client_module = importlib.import_module("valkey" if place.loop is None else "valkey.asyncio")
    client = client_module.Valkey.from_url(place.location)
    _close_with(place, client)
    saver: Saver = (module.ValkeySaver if place.loop is None else module.AsyncValkeySaver)(client)
    return saver


def _redis_json(module: Any, place: Place) -> Saver:
    if place.loop is None:
        saver: Saver = module.RedisSaver(redis_url=place.location)
        saver.setup()  # type: ignore[attr-defined]  # RedisSaver needs it, the base class has none
        place.stack.callback(saver._redis.close)  # type: ignore[attr-defined]  # it offers no close()
        return saver
    waiting: Any = importlib.import_module(f"{module.__name__}.aio").AsyncRedisSaver(redis_url=place.location)
    place.loop.run_until_complete(waiting.asetup())
    _close_with(place, waiting._redis)
    ready: Saver = waiting
    return ready


def _close_with(place: Place, closable: Any) -> None:
    """Close with the stack, by whichever of the libraries' verbs there is."""
    if place.loop is not None and (waiting := getattr(closable, "aclose", None) or getattr(closable, "close", None)):
        loop = place.loop
        place.stack.callback(lambda: loop.run_until_complete(waiting()))
    elif hasattr(closable, "close"):
        place.stack.callback(closable.close)


OURS = "PortableRedisSaver"
REFERENCE = "InMemorySaver"

CONTENDERS: tuple[Contender, ...] = (
    Contender(
        name=OURS,
        distribution="langgraph-portable-checkpoint",
        module="langgraph_portable_checkpoint.saver",
        server="plain",
        open=_portable,
    ),
    Contender(
        name=REFERENCE,
        distribution="langgraph-checkpoint",
        module="langgraph.checkpoint.memory",
        server="none",
        open=_in_memory,
        footprint=_in_memory_footprint,
    ),
    Contender(
        name="SqliteSaver",
        distribution="langgraph-checkpoint-sqlite",
        module="langgraph.checkpoint.sqlite",
        server="file",
        open=_sqlite,
        footprint=_sqlite_footprint,
    ),
    Contender(
        name="plainredis RedisSaver",
        distribution="langgraph-checkpoint-plainredis",
        module="langgraph_checkpoint_plainredis",
        server="plain",
        open=_plainredis,
    ),
    Contender(
        name="ValkeySaver",
        distribution="langgraph-checkpoint-aws",
        module="langgraph_checkpoint_aws.checkpoint.valkey",
        server="plain",
        open=_valkey,
    ),
    Contender(
        name="RedisJSON RedisSaver",
        distribution="langgraph-checkpoint-redis",
        module="langgraph.checkpoint.redis",
        server="modules",
        open=_redis_json,
    ),
)
