"""Find and delete the blobs of a shared store that no thread names any more: mark and sweep, with a grace period.

Owns the order of steps that makes a sweep safe while savers go on:

1. List the store. A blob younger than the grace period is left alone: its save may not be finished.
2. Mark: read the refs of all living threads, after the listing. A save that comes later puts its blob again, which
   makes it young.
3. Sweep. A store that can condemn sets unreferenced blobs aside, where reads still find them and a put takes them
   back; the next sweep, a grace period later, deletes those that still nobody names. Other stores delete at once.

A sweep may be killed anywhere and run again. Two sweeps at once do no harm. If marking fails, nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from langgraph_portable_checkpoint.errors import MediaStoreError
from langgraph_portable_checkpoint.media.stores import (
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


def collect_garbage(
    store: Any,
    live_refs: Callable[[], Iterable[str]],
    *,
    now: datetime,
    grace: timedelta = DEFAULT_GRACE,
    dry_run: bool = True,
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
        progress: See `Progress`.

    Raises:
        ValueError: the grace period is too short to be safe.
        MediaStoreError: the store cannot do this, or failed. What was done until then is safe.
    """
    if grace < MIN_GRACE:
        raise ValueError(f"a grace period of {grace} could delete what is being saved; the least is {MIN_GRACE}")
    if not isinstance(store, ListsBlobs) or not isinstance(store, CondemnsBlobs | DeletesBlobs):
        raise MediaStoreError(
            f"the media store {store_name(store)!r} cannot be swept: it needs list(), and condemn() or delete()"
        )
    tell = progress or (lambda step, count: None)
    blobs = _counted(store.list(), "list", tell)
    live = set(_counted(live_refs(), "mark", tell))
    cutoff = utc(now) - grace
    planned = [(action, blob) for blob in blobs if (action := _action(store, blob, live, cutoff)) is not None]
    done = planned if dry_run else [step for step in planned if _act(store, step, cutoff, tell)]
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


def _counted(items: Iterable[Any], step: str, tell: Progress) -> list[Any]:
    seen = []
    for item in items:
        seen.append(item)
        tell(step, len(seen))
    return seen


def _action(store: Any, blob: StoredBlob, live: set[str], cutoff: datetime) -> Action | None:
    """Decide about one blob; what is young or named stays, or comes back."""
    if blob.ref in live:
        return "restore" if blob.condemned else None
    if blob.modified_at >= cutoff:
        return None
    if blob.condemned:
        return "purge"
    return "condemn" if isinstance(store, CondemnsBlobs) else "delete"


def _act(store: Any, step: tuple[Action, StoredBlob], cutoff: datetime, tell: Progress) -> bool:
    action, blob = step
    tell(action, 1)
    if action == "condemn":
        return bool(store.condemn(blob.ref, unless_put_since=cutoff))
    getattr(store, action)(blob.ref)
    return True
