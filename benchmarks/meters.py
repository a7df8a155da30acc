"""What is counted, and how: CPU inside the saver, commands and round trips of the clients, bytes and memory of the server.

Every count is taken where it cannot disturb the timing: thread CPU clocks around the saver's methods, two integer additions per
command in the clients, and the server's own counters, read between turns on a connection whose traffic is subtracted.
"""

import functools
import importlib
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import redis
from langgraph.checkpoint.base import BaseCheckpointSaver

BLOCKING_METHODS = ("get_tuple", "put", "put_writes")
ASYNC_METHODS = ("aget_tuple", "aput", "aput_writes")


@dataclass
class SaverCpu:
    """Seconds of CPU that threads spent inside a saver's methods, the outermost call counted once."""

    seconds: float = 0.0
    _inside: threading.local = field(default_factory=threading.local)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Add the CPU this thread uses inside the block, unless an outer block already does."""
        if getattr(self._inside, "depth", 0):
            yield
            return
        self._inside.depth, started = 1, time.thread_time()
        try:
            yield
        finally:
            self.seconds += time.thread_time() - started
            self._inside.depth = 0


class _CountedSteps(Generator[Any, Any, Any]):
    """A coroutine's steps. Counts what they run themselves, not what the loop does between them."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], cpu: SaverCpu) -> None:
        self._coroutine, self._cpu = coroutine, cpu

    def __await__(self) -> Generator[Any, Any, Any]:
        return self

    def send(self, value: Any, /) -> Any:
        with self._cpu.counting():
            return self._coroutine.send(value)

    def throw(self, *raised: Any) -> Any:
        with self._cpu.counting():
            return self._coroutine.throw(*raised)


def count_cpu(saver: BaseCheckpointSaver[Any], cpu: SaverCpu) -> None:
    """Make `saver` count its CPU into `cpu`. A subclass rather than instance attributes: the engine copies savers."""
    kind = type(saver)
    blocking = {name: _counted(getattr(kind, name), cpu) for name in BLOCKING_METHODS}
    waiting = {name: _counted_async(getattr(kind, name), cpu) for name in ASYNC_METHODS}
    saver.__class__ = type(kind.__name__, (kind,), {**blocking, **waiting, "__module__": kind.__module__})


def _counted(method: Callable[..., Any], cpu: SaverCpu) -> Callable[..., Any]:
    @functools.wraps(method)
    def counted(*args: Any, **kwargs: Any) -> Any:
        with cpu.counting():
            return method(*args, **kwargs)

    return counted


def _counted_async(method: Callable[..., Any], cpu: SaverCpu) -> Callable[..., Any]:
    @functools.wraps(method)
    async def counted(*args: Any, **kwargs: Any) -> Any:
        return await _CountedSteps(method(*args, **kwargs), cpu)

    return counted


@dataclass
class ClientTraffic:
    """Commands the client libraries sent, and round trips: writes to a socket that are followed by reading the replies."""

    commands: int = 0
    round_trips: int = 0

    def snapshot(self) -> tuple[int, int]:
        """Return commands and round trips so far."""
        return self.commands, self.round_trips


# (module, class, method, counter): where each client library turns a command into bytes, and where it writes them.
_CLIENT_SEAMS = (
    ("redis.connection", "PythonRespSerializer", "pack", "commands"),
    ("redis.connection", "HiredisRespSerializer", "pack", "commands"),
    ("redis.asyncio.connection", "AbstractConnection", "pack_command", "commands"),
    ("redis.connection", "AbstractConnection", "send_packed_command", "round_trips"),
    ("redis.asyncio.connection", "AbstractConnection", "send_packed_command", "round_trips"),
    ("valkey.connection", "PythonRespSerializer", "pack", "commands"),
    ("valkey.connection", "LibvalkeyRespSerializer", "pack", "commands"),
    ("valkey.asyncio.connection", "AbstractConnection", "pack_command", "commands"),
    ("valkey.connection", "AbstractConnection", "send_packed_command", "round_trips"),
    ("valkey.asyncio.connection", "AbstractConnection", "send_packed_command", "round_trips"),
)


@contextmanager
def counting_clients() -> Iterator[ClientTraffic]:
    """Count what redis-py and valkey-py send, in every connection of this process, while the block runs."""
    traffic = ClientTraffic()
    with ExitStack() as stack:
        for module_name, class_name, method_name, counter in _CLIENT_SEAMS:
            try:
                owner = getattr(importlib.import_module(module_name), class_name)
            except (ImportError, AttributeError):
                continue  # that client, or its C parser, is not installed
            counted = _adding_one(getattr(owner, method_name), traffic, counter=counter)
            stack.enter_context(mock.patch.object(owner, method_name, counted))
        yield traffic


def _adding_one(method: Callable[..., Any], traffic: ClientTraffic, *, counter: str) -> Callable[..., Any]:
    @functools.wraps(method)
    def counted(*args: Any, **kwargs: Any) -> Any:
        setattr(traffic, counter, getattr(traffic, counter) + 1)
        return method(*args, **kwargs)

    return counted


@dataclass(frozen=True, kw_only=True)
class ServerCounters:
    """A server's counters since its start, without the benchmark's own traffic."""

    bytes_received: int = 0
    """Bytes the server received, which are those the saver sent."""
    bytes_sent: int = 0
    commands_run: int = 0
    """Commands the server ran, those inside scripts included."""
    cpu_seconds: float = 0.0

    def __sub__(self, earlier: "ServerCounters") -> "ServerCounters":
        names = self.__dataclass_fields__
        return ServerCounters(**{name: getattr(self, name) - getattr(earlier, name) for name in names})

    def __add__(self, other: "ServerCounters") -> "ServerCounters":
        names = self.__dataclass_fields__
        return ServerCounters(**{name: getattr(self, name) + getattr(other, name) for name in names})


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """What a saver holds: in a server, in a file, or in this process."""

    size_bytes: int
    """Sum of MEMORY USAGE over all keys, every element sampled, or the growth of the server's used_memory where that is less
    (RedisJSON counts strings that documents share once per document); size of the file; or of the serialized values."""
    used_memory_bytes: int | None = None
    """Growth of the server's used_memory since its start; search indexes and client buffers are in it."""
    keys: int | None = None


class ServerMeter:
    """Reads one server's counters over a connection of its own and subtracts that connection's traffic."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(url)
        self._own = ServerCounters()
        first = self._read()
        self._one_read = self._read() - first
        self._memory_at_start = self.used_memory_bytes()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def counters(self) -> ServerCounters:
        """Return the counters; what the reads cost is subtracted, to within a few digits of the reply."""
        now = self._read() - self._own
        self._own += self._one_read
        return now

    def used_memory_bytes(self) -> int:
        """Return the server's used_memory."""
        with self._unseen():
            return int(self._client.info("memory")["used_memory"])

    def footprint(self) -> Footprint:
        """Return the size of all keys. Slow for savers with many keys; not part of any timing."""
        with self._unseen():
            grown = int(self._client.info("memory")["used_memory"]) - self._memory_at_start
        sizes = self.key_sizes()
        return Footprint(size_bytes=min(sum(sizes.values()), grown), used_memory_bytes=grown, keys=len(sizes))

    def key_sizes(self) -> dict[bytes, int]:
        """Return MEMORY USAGE of every key, all elements sampled."""
        with self._unseen():
            keys = list(self._client.scan_iter(count=1000))
            batches = [keys[start : start + 1000] for start in range(0, len(keys), 1000)]
            return {key: size for batch in batches for key, size in zip(batch, self._sizes(batch), strict=True)}

    def _sizes(self, keys: list[bytes]) -> list[int]:
        pipeline = self._client.pipeline(transaction=False)
        for key in keys:
            pipeline.memory_usage(key, samples=0)
        return [size or 0 for size in pipeline.execute()]

    @contextmanager
    def _unseen(self) -> Iterator[None]:
        before = self._read()
        yield
        # Both reads are the block's own too: one is inside the difference, the other is added.
        self._own += self._read() - before + self._one_read

    def _read(self) -> ServerCounters:
        stats = self._client.info("stats", "cpu")
        return ServerCounters(
            bytes_received=stats["total_net_input_bytes"],
            bytes_sent=stats["total_net_output_bytes"],
            commands_run=stats["total_commands_processed"],
            cpu_seconds=stats["used_cpu_user"] + stats["used_cpu_sys"],
        )
