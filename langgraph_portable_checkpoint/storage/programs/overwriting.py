"""A thread in the place of another: written under staging keys in the same slot, then swapped in by one script.

Until the swap the old thread stays as it is, for readers and writers; what is staged expires within the hour when the
swap never comes. Each overwriting has keys of its own: of several at once, the first swap counts, and the others are
refused. After it a tombstone refuses writes of runs that were going on in the old thread, as after a delete.
Any program may write to the staging keys: a core made by `staging_of` spells those.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ...errors import ConflictError, ThreadExistsError
from ..effects import Batch, Command, Program, Script
from .core import TOMBSTONE_TTL_MS, Core, refuse

STAGED_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Standing:
    """What a thread was when its overwriting began: a digest that every write to it changes."""

    stamp: bytes
    there: bool
    """Whether it has had a checkpoint."""


def staging_of(core: Core) -> Core:
    """Return a core that knows nothing and writes under staging keys of the same threads, which no other has."""
    layout = replace(core.layout, staging=core.random_bytes(8).hex())
    return replace(core.with_codec(core.codec), layout=layout, ttl_ms=STAGED_MS)


def begin(core: Core, thread_id: str, *, token: bytes) -> Program[Standing]:
    """Note how the thread stands. One round trip.

    Raises:
        TurnInProgressError: someone else holds the thread.
    """
    reply = yield Script("stand", core.layout.thread(thread_id), (token,))
    refuse(reply, thread_id)
    return Standing(reply[1], bool(reply[2]))


def drop(staging: Core, thread_id: str) -> Program[None]:
    """Drop what is staged; the thread is left alone. One round trip."""
    yield Batch((Command(("UNLINK", *staging.layout.thread(thread_id))),))


def swap(
    core: Core,
    staging: Core,
    thread_id: str,
    before: Standing,
    *,
    checkpoints: int,
    token: bytes,
    ttl: bytes = b"",
) -> Program[None]:
    """Let what is staged take the thread's place. One round trip, two where the old thread had runs.

    Args:
        checkpoints: How many the new thread has.
        token: Of the lease that the caller holds, b"" for none.
        ttl: Its own time to live in ms, b"0" for never, b"" for the saver's.

    Raises:
        TurnInProgressError: someone else holds the thread; it was left alone.
        ThreadExistsError: the thread was made, written or deleted since `begin`; it was left alone.
        ConflictError: what was staged is gone or incomplete; the old thread was left alone.
    """
    keys = (*staging.layout.thread(thread_id), *core.layout.thread(thread_id))
    args = (before.stamp, token, checkpoints, ttl, core.ttl_arg, TOMBSTONE_TTL_MS)
    reply = yield Script("swap", keys, args)
    refuse(reply, thread_id)
    if reply[0] == b"exists":
        what = "while it was to be overwritten" if before.there else "meanwhile"
        raise ThreadExistsError(f"thread {thread_id!r} was written {what}. It was left alone.")
    if reply[0] == b"lost":
        raise ConflictError(
            f"what was to take the place of thread {thread_id!r} is gone or incomplete: expired or evicted. The thread "
            "was left alone; try again."
        )
    core.forget(thread_id)
    yield from _forget_runs(core, thread_id, reply[1])


def _forget_runs(core: Core, thread_id: str, runs: list[bytes]) -> Program[None]:
    """Drop the old thread's runs from the index, but for those that the new one has, too."""
    if not runs:
        return
    name = thread_id.encode()
    (kept,) = yield Batch((Command(("SMEMBERS", core.layout.thread(thread_id)[8])),))
    gone = sorted(set(runs) - set(kept))
    calls = [Command(("ZREM", core.layout.run_index(core.layout.shard_of(run)), run + name)) for run in gone]
    if calls:
        yield Batch(tuple(calls))
