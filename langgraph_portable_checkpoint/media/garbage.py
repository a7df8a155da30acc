"""Find and delete the blobs of a shared store that no thread names any more: mark and sweep, with a grace period.

Owns the order of steps that makes a sweep safe while savers go on:

1. List the store. A blob younger than the grace period is left alone: its save may not be finished.
2. Mark: read the refs of all living threads, after the listing. A save that comes later puts its blob again, which
   makes it young.
3. Sweep. A store that can condemn sets unreferenced blobs aside, where reads still find them and a put takes them
   back; the next sweep, a grace period later, deletes those that still nobody names. Other stores delete at once, and
   nothing tells them of a put just before it: they are swept only where the caller says that nobody saves meanwhile.

The order is one generator, driven by a blocking function and by an awaited one. A sweep may be killed anywhere and run
again. Two sweeps at once do no harm. If marking fails, nothing is deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple, cast

from langgraph_portable_checkpoint.errors import MediaStoreError
from langgraph_portable_checkpoint.media.stores import (
    AsyncCondemnsBlobs,
    AsyncDeletesBlobs,
    AsyncListsBlobs,
    CondemnsBlobs,
    DeletesBlobs,
    ListsBlobs,
    StoredBlob,
    store_name,
)
from langgraph_portable_checkpoint.media.table import utc

DEFAULT_GRACE: Final = timedelta(days=1)
MIN_GRACE: Final = timedelta(hours=1)
"""The longest that a save may take between putting a blob and naming it."""

Action = Literal["condemn", "purge", "restore", "delete"]
Progress = Callable[[str, int], None]
"""Called with what is going on ("list", "mark", or an action) and how many blobs were seen so far."""


@dataclass(frozen=True, slots=True)
class GarbageReport:
    """What a sweep did, or would do.

    Attributes:
        dry_run: True when nothing was changed.
        blobs: How many blobs the store holds.
        live: How many of them living threads name.
        young: How many others are within the grace period.
        actions: (action, blob) in order: "condemn" sets aside, "purge" deletes what was set aside a grace period ago,
            "restore" takes back what somebody names again, "delete" is for stores that cannot condemn.
        freed_bytes: Size of what was deleted.
        missing: Refs that living threads name and the store does not hold.
    """

    dry_run: bool
    blobs: int
    live: int
    young: int
    actions: tuple[tuple[Action, StoredBlob], ...]
    freed_bytes: int
    missing: tuple[str, ...]


class ListStore(NamedTuple):
    """List the store. The answer is a list of blobs."""


class Mark(NamedTuple):
    """Read what living threads name. The answer is a list of refs."""


class Act(NamedTuple):
    """Do something to a blob. The answer is the store's."""

    action: Action
    ref: str
    arguments: Mapping[str, Any]


Sweep = Generator[ListStore | Mark | Act, Any, GarbageReport]


def collect_garbage(
    store: Any,
    live_refs: Callable[[], Iterable[str]],
    *,
    now: datetime,
    grace: timedelta = DEFAULT_GRACE,
    dry_run: bool = True,
    saves_stopped: bool = False,
    progress: Progress | None = None,
) -> GarbageReport:
    """Sweep a shared store; by default only say what would be done.

    Args:
        store: Lists, and condemns or deletes.
        live_refs: Called once the store is listed; yields every ref that a living thread's media table names, of all
            savers that share the store.
        now: Aware.
        grace: Blobs put within this time stay. At least `MIN_GRACE`.
        dry_run: False to act.
        saves_stopped: True says that nobody writes to these threads until the sweep is done. A store that cannot
            condemn is swept only then.
        progress: See `Progress`.

    Raises:
        ValueError: the grace period is too short to be safe.
        MediaStoreError: the store cannot do this, or only while nobody saves, or failed. What was done until then is
            safe.
    """
    tell = progress or _tell_nobody
    condemns = _sets_aside(store, ListsBlobs, CondemnsBlobs, deletes=DeletesBlobs)
    _check_safe(store, safe=condemns or dry_run or saves_stopped)
    sweep = _sweep(condemns=condemns, now=now, grace=grace, dry_run=dry_run)
    try:
        step = next(sweep)
        while True:
            if isinstance(step, Act):
                tell(step.action, 1)
                step = sweep.send(getattr(store, step.action)(step.ref, **step.arguments))
            elif isinstance(step, Mark):
                step = sweep.send(_counted(live_refs(), "mark", tell))
            else:
                step = sweep.send(_counted(store.list(), "list", tell))
    except StopIteration as stop:
        return cast(GarbageReport, stop.value)


async def acollect_garbage(
    store: Any,
    live_refs: Callable[[], AsyncIterable[str]],
    *,
    now: datetime,
    grace: timedelta = DEFAULT_GRACE,
    dry_run: bool = True,
    saves_stopped: bool = False,
    progress: Progress | None = None,
) -> GarbageReport:
    """Sweep a shared store without blocking; see `collect_garbage`.

    Args:
        store: With `alist()`, and `acondemn()`, `arestore()` and `apurge()`, or `adelete()`; what it has only in the
            blocking form is called on a thread.
        live_refs: As `collect_garbage` takes it, but asynchronous.
    """
    tell = progress or _tell_nobody
    either = (ListsBlobs | AsyncListsBlobs, CondemnsBlobs | AsyncCondemnsBlobs)
    condemns = _sets_aside(store, *either, deletes=DeletesBlobs | AsyncDeletesBlobs)
    _check_safe(store, safe=condemns or dry_run or saves_stopped)
    sweep = _sweep(condemns=condemns, now=now, grace=grace, dry_run=dry_run)
    try:
        step = next(sweep)
        while True:
            if isinstance(step, Act):
                tell(step.action, 1)
                step = sweep.send(await _acall(store, step.action, step.ref, **step.arguments))
            elif isinstance(step, Mark):
                step = sweep.send(await _acounted(live_refs(), "mark", tell))
            elif isinstance(store, AsyncListsBlobs):
                step = sweep.send(await _acounted(store.alist(), "list", tell))
            else:
                step = sweep.send(await asyncio.to_thread(_counted_of, store, tell))
    except StopIteration as stop:
        return cast(GarbageReport, stop.value)


def _sweep(*, condemns: bool, now: datetime, grace: timedelta, dry_run: bool) -> Sweep:
    """Run a sweep; the steps say what is wanted of the store and of the threads."""
    if grace < MIN_GRACE:
        raise ValueError(f"a grace period of {grace} could delete what is being saved; the least is {MIN_GRACE}")
    blobs: list[StoredBlob] = yield ListStore()
    live = set((yield Mark()))
    cutoff = utc(now) - grace
    planned = [(action, blob) for blob in blobs if (action := _action(blob, live, cutoff=cutoff, condemns=condemns))]
    done = list(planned) if dry_run else []
    for action, blob in () if dry_run else planned:
        arguments = {"unless_put_since": cutoff} if action == "condemn" else {}
        acted = yield Act(action, blob.ref, arguments)
        if acted or action != "condemn":
            done.append((action, blob))
    there = {blob.ref for blob in blobs}
    return GarbageReport(
        dry_run,
        blobs=len(blobs),
        live=len(there & live),
        young=sum(1 for blob in blobs if blob.ref not in live and blob.modified_at >= cutoff),
        actions=tuple(done),
        freed_bytes=sum(blob.size_bytes for action, blob in done if action in ("purge", "delete")),
        missing=tuple(sorted(live - there)),
    )


def _sets_aside(store: Any, lists: Any, condemns: Any, *, deletes: Any) -> bool:
    """Tell whether a store can condemn; refuse one that can neither that nor delete, or not list."""
    if isinstance(store, lists) and isinstance(store, condemns | deletes):
        return isinstance(store, condemns)
    more = ""
    if isinstance(store, AsyncListsBlobs) and isinstance(store, AsyncCondemnsBlobs | AsyncDeletesBlobs):
        more = " in the blocking form; use acollect_media_garbage()"
    raise MediaStoreError(
        f"the media store {store_name(store)!r} cannot be swept: it needs list(), and condemn() or delete(){more}"
    )


def _check_safe(store: Any, *, safe: bool) -> None:
    if not safe:
        raise MediaStoreError(
            f"the media store {store_name(store)!r} cannot set blobs aside, so a sweep could delete what is being "
            "saved. Nothing was deleted. Give the store condemn(), restore() and purge(), or stop all that writes to "
            "its threads and say so with saves_stopped=True."
        )


def _tell_nobody(step: str, count: int) -> None:
    """Take progress that nobody asked for."""


def _counted(items: Iterable[Any], step: str, tell: Progress) -> list[Any]:
    seen = []
    for item in items:
        seen.append(item)
        tell(step, len(seen))
    return seen


def _counted_of(store: Any, tell: Progress) -> list[Any]:
    return _counted(store.list(), "list", tell)


async def _acounted(items: AsyncIterable[Any], step: str, tell: Progress) -> list[Any]:
    seen = []
    async for item in items:
        seen.append(item)
        tell(step, len(seen))
    return seen


async def _acall(store: Any, method: str, ref: str, **arguments: Any) -> Any:
    awaited = getattr(store, f"a{method}", None)
    if awaited is not None:
        return await awaited(ref, **arguments)
    return await asyncio.to_thread(getattr(store, method), ref, **arguments)


def _action(blob: StoredBlob, live: set[str], *, cutoff: datetime, condemns: bool) -> Action | None:
    """Decide about one blob; what is young or named stays, or comes back."""
    if blob.ref in live:
        return "restore" if blob.condemned else None
    if blob.modified_at >= cutoff:
        return None
    if blob.condemned:
        return "purge"
    return "condemn" if condemns else "delete"
