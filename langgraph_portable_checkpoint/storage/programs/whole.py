"""Whole threads in their stored form: taken out, put back, and looked into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ...errors import ConflictError, ThreadExistsError
from ..effects import Batch, Command, Program, Script
from ..layout import SHARDS, thread_of
from .core import Core, pairs, unpair
from .threads import set_expiry

NAMES_AT_ONCE: Final = 1000
STAGE_BYTES: Final = 8 * 1024 * 1024
IDLE_MS: Final = 60_000
"""A copy or restore that has sent nothing for so long is taken for dead by a repair."""
PARTS: Final = ("items", "blobs", "media", "ckpts", "writes", "turns")
"""The hashes of a thread, as `StoredThread` names them, in the order in which a step of a load takes them."""


@dataclass(frozen=True, slots=True)
class StoredThread:
    """Everything of one thread, as it is stored.

    Attributes:
        generation: See `storage.view`.
        key: The sealed digest key, b"" where nothing is sealed.
        ttl: The thread's own time to live in ms, b"0" for never, b"" for the saver's.
        log_place: The place that the turn log belongs to, b"" for none.
        log_turns: How many turns it has.
        items, blobs, media: Digest -> bytes.
        ckpts, writes: Place -> bytes.
        turns: Field -> bytes.
        runs: Digests of run ids.
    """

    generation: bytes
    key: bytes
    ttl: bytes
    log_place: bytes
    log_turns: bytes
    items: Mapping[bytes, bytes] = field(default_factory=dict)
    blobs: Mapping[bytes, bytes] = field(default_factory=dict)
    media: Mapping[bytes, bytes] = field(default_factory=dict)
    ckpts: Mapping[bytes, bytes] = field(default_factory=dict)
    writes: Mapping[bytes, bytes] = field(default_factory=dict)
    turns: Mapping[bytes, bytes] = field(default_factory=dict)
    runs: tuple[bytes, ...] = ()

    def part(self, name: str) -> Mapping[bytes, bytes]:
        """Return one of `PARTS`."""
        return getattr(self, name)  # type: ignore[no-any-return]

    def without_turn_log(self) -> StoredThread:
        """Return the thread without its turn log, which names the thread's id; reading derives it again."""
        return replace(self, log_place=b"", log_turns=b"", turns={})


@dataclass(frozen=True, slots=True)
class Standing:
    """How a thread's keys stand.

    Attributes:
        meta: The meta hash.
        index: Places in the index.
        ttls_ms: PTTL of each key in the order of `layout.THREAD_PARTS`; -1: never, -2: no such key.
    """

    meta: Mapping[bytes, bytes]
    index: tuple[bytes, ...]
    ttls_ms: tuple[int, ...]


def dump_thread(core: Core, thread_id: str) -> Program[StoredThread | None]:
    """Take out a whole thread at one moment; None when there is none. One round trip."""
    reply = yield Script("dump", core.layout.thread(thread_id), (), writes=False)
    items, ckpts, writes, turns, blobs, media = (unpair(flat) for flat in reply[4:10])
    if not reply[0] and not (items or ckpts or writes):
        return None
    return StoredThread(
        generation=reply[0],
        key=reply[1],
        ttl=reply[2],
        log_place=reply[3],
        log_turns=reply[11],
        items=items,
        blobs=blobs,
        media=media,
        ckpts=ckpts,
        writes=writes,
        turns=turns,
        runs=tuple(sorted(reply[10])),
    )


@dataclass(slots=True)
class Load:
    """A whole thread that is being written; readers see nothing before its commit.

    Attributes:
        head: What is not in pages: key, ttl, turn log and runs.
        key: The digest key sealed for this thread id (see `Core.reseal_key`).
        fields, blobs: How many fields were staged, but for blobs, and how many blobs.
    """

    thread_id: str
    generation: bytes
    head: StoredThread
    key: bytes
    fields: int = 0
    blobs: int = 0

    def args(self, core: Core, step: bytes) -> tuple[bytes | int, ...]:
        """Spell what every step begins with."""
        name, log = self.thread_id.encode(), (self.head.log_place, self.head.log_turns)
        return (step, self.generation, self.key, name, core.ttl_arg, *log)


def begin_load(core: Core, thread_id: str, head: StoredThread, *, key: bytes) -> Program[Load]:
    """Start to write a whole thread; what an earlier load staged and never committed is dropped. Two round trips.

    Raises:
        ThreadExistsError: the thread has data.
        ConflictError: it was deleted, or lost a key, while it was being written.
    """
    name, generation = thread_id.encode(), core.random_bytes(12).hex().encode()
    _refuse((yield Script("claim", core.layout.thread(thread_id), (generation, name))), thread_id)
    yield Batch(tuple(_registrations(core, name, head.runs)))
    return Load(thread_id, generation, head, key)


def stage(core: Core, load: Load, values: Mapping[str, Mapping[bytes, bytes]]) -> Program[None]:
    """Send some fields, by part. One round trip.

    Raises:
        ThreadExistsError: somebody else has written the thread meanwhile.
        ConflictError: it was deleted meanwhile.
    """
    words = (word for part in PARTS for word in pairs(values.get(part, {})))
    reply = yield Script("load", core.layout.thread(load.thread_id), (*load.args(core, b"stage"), *words))
    _refuse(reply, load.thread_id)
    load.blobs += len(values.get("blobs", ()))
    load.fields += sum(len(values[part]) for part in values if part != "blobs")


def commit(core: Core, load: Load) -> Program[None]:
    """Let readers see all that was staged. One round trip, two for a thread with its own time to live.

    Raises:
        ThreadExistsError: somebody else has written the thread meanwhile.
        ConflictError: it was deleted, or lost a key, meanwhile.
    """
    args = (*load.args(core, b"commit"), load.fields, load.blobs, len(load.head.runs), *load.head.runs)
    _refuse((yield Script("load", core.layout.thread(load.thread_id), args)), load.thread_id)
    core.views.drop(load.thread_id)
    if load.head.ttl and not core.layout.staging:  # what is staged expires, until it takes a thread's place
        yield from set_expiry(core, load.thread_id, int(load.head.ttl))


def load_thread(core: Core, thread_id: str, stored: StoredThread, *, key: bytes) -> Program[None]:
    """Put back a whole thread that is in memory; see `begin_load`.

    Round trips: 4, and 1 for each 8 MiB.

    Raises:
        ThreadExistsError: the thread has data.
    """
    load = yield from begin_load(core, thread_id, stored, key=key)
    for values in _stages(stored):
        yield from stage(core, load, values)
    yield from commit(core, load)


def _registrations(core: Core, name: bytes, runs: Sequence[bytes]) -> Iterator[Command]:
    yield Command(("ZADD", core.layout.registry(core.layout.shard_of(name)), core.now_ms(), name))
    for run in runs:
        yield Command(("ZADD", core.layout.run_index(core.layout.shard_of(run)), 0, run + name))


def _refuse(reply: list[bytes], thread_id: str) -> None:
    if reply[0] == b"exists":
        raise ThreadExistsError(
            f"thread {thread_id!r} already has data. Delete it first, or write to another thread id."
        )
    if reply[0] == b"lost":
        raise ConflictError(
            f"thread {thread_id!r} was deleted, expired or evicted while it was being written. Nothing of it is there "
            "now; write it again."
        )


def _stages(stored: StoredThread) -> Iterator[dict[str, dict[bytes, bytes]]]:
    """Cut a thread into steps of `STAGE_BYTES`."""
    step: dict[str, dict[bytes, bytes]] = {}
    size = 0
    for part in PARTS:
        for name, data in stored.part(part).items():
            step.setdefault(part, {})[name] = data
            size += len(data)
            if size > STAGE_BYTES:
                yield step
                step, size = {}, 0
    yield step


def inspect_thread(core: Core, thread_id: str) -> Program[Standing]:
    """Say how a thread's keys stand. One round trip."""
    meta, index, ttls = yield Script("inspect", core.layout.thread(thread_id), (), writes=False)
    return Standing(unpair(meta), tuple(index), tuple(int(ttl) for ttl in ttls))


def mend_thread(core: Core, thread_id: str, *, dry_run: bool) -> Program[list[tuple[str, bytes]]]:
    """Mend what can be mended of one thread; see `lua/mend.lua`. One round trip.

    Returns:
        What was done, or would be, and to what.
    """
    fresh = core.random_bytes(12).hex().encode()
    args = (b"1" if dry_run else b"0", fresh, thread_id.encode(), core.ttl_arg, IDLE_MS)
    reply = yield Script("mend", core.layout.thread(thread_id), args)
    if reply and not dry_run:
        core.views.drop(thread_id)
    return [(name.decode(), detail) for name, detail in zip(reply[::2], reply[1::2], strict=True)]


def registrations_of(core: Core, thread_id: str) -> Program[tuple[bool, list[bytes]]]:
    """Say whether a thread is registered, and which of its runs the run index lacks. Two round trips."""
    name = thread_id.encode()
    score, runs = yield Batch(
        (
            Command(("ZSCORE", core.layout.registry(core.layout.shard_of(name)), name)),
            Command(("SMEMBERS", core.layout.thread(thread_id)[8])),
        )
    )
    scores = yield from run_scores(core, [run + name for run in runs])
    return score is not None, [run for run, at in zip(runs, scores, strict=True) if at is None]


def register(core: Core, thread_id: str, runs: Sequence[bytes]) -> Program[None]:
    """Enter a thread, and runs of it, where listings and delete_for_runs look."""
    yield Batch(tuple(_registrations(core, thread_id.encode(), runs)))


def places_of(core: Core, thread_id: str) -> Program[list[bytes]]:
    """List the places of a thread's checkpoints, by byte order. One round trip."""
    (members,) = yield Batch((Command(("ZRANGE", core.layout.thread(thread_id)[3], 0, -1)),))
    return list(members)


def registered_names(core: Core, shard: int, start: int) -> Program[list[bytes]]:
    """Read a page of one registry shard, by the order of registration; threads that are no more may be among them."""
    stop = start + NAMES_AT_ONCE - 1
    (names,) = yield Batch((Command(("ZRANGE", core.layout.registry(shard), start, stop)),))
    return list(names)


def registry_scores(core: Core, shard: int, names: list[bytes]) -> Program[list[Any]]:
    """Say for names whether they are registered in a shard: their scores, None where not."""
    calls = tuple(Command(("ZSCORE", core.layout.registry(shard), name)) for name in names)
    return (yield Batch(calls)) if calls else []


def run_scores(core: Core, members: list[bytes]) -> Program[list[Any]]:
    """Say for (run digest, thread id) members whether the run index has them: their scores, None where not."""
    calls = tuple(
        Command(("ZSCORE", core.layout.run_index(core.layout.shard_of(member[:16])), member)) for member in members
    )
    return (yield Batch(calls)) if calls else []


def existing(core: Core, names: list[bytes]) -> Program[list[bytes]]:
    """Keep the names of threads that are there. One round trip on a standalone server."""
    calls = tuple(Script("peek", core.layout.thread(thread_of(name)), (), writes=False) for name in names)
    peeks = (yield Batch(calls)) if calls else []
    return [name for name, peek in zip(names, peeks, strict=True) if peek[0] or peek[2]]


ALL_SHARDS: Final = range(SHARDS)
