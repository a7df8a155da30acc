"""Whole threads: delete, prune, delete for runs, copy, expiry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ...errors import ConflictError
from ..effects import Batch, Command, Program, Script
from ..items import DIGEST_BYTES
from ..layout import place as spell_place
from ..layout import run_digest, split_place, thread_of
from ..records import CheckpointRecord
from ..view import ThreadView
from .anew import beginning_anew
from .blobs import known_of
from .core import MAX_ATTEMPTS, TOMBSTONE_TTL_MS, Core, fetch_missing, open_record, read_record, refuse, unpair

DELTA_COUNTERS: Final = "counters_since_delta_snapshot"


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a delete removed."""

    thread_id: str
    keys: int = 0
    checkpoints: int = 0
    items: int = 0
    bytes: int = 0


def delete_thread(core: Core, thread_id: str) -> Program[Deleted]:
    """Delete a thread at once, then its entries in the registry and the run index.

    Round trips: 2. A crash between them leaves only index entries, which readers drop.
    """
    reply = yield Script("delete", core.layout.thread(thread_id), (TOMBSTONE_TTL_MS,))
    core.views.note_deleted(thread_id)
    name = thread_id.encode()
    calls = [Command(("ZREM", core.layout.registry(core.layout.shard_of(name)), name))]
    calls += [Command(("ZREM", core.layout.run_index(core.layout.shard_of(run)), run + name)) for run in reply[4]]
    if reply[0]:
        yield Batch(tuple(calls))
    return Deleted(thread_id, *(int(count) for count in reply[:4]))


Records = dict[bytes, CheckpointRecord]


@beginning_anew
def all_records(core: Core, thread_id: str) -> Program[tuple[ThreadView, Records, set[bytes]] | None]:
    """Read all records of a thread without their values; None when it does not exist. Two round trips."""
    keys = core.layout.thread(thread_id)
    meta, flat, written = yield Batch(
        (
            Command(("HMGET", keys[0], b"g", b"k")),
            Command(("HGETALL", keys[2])),
            Command(("HKEYS", keys[4])),
        )
    )
    if meta[0] is None:
        return None
    view = core.view_of(meta[0], meta[1] or b"", thread_id)
    stored = flat if isinstance(flat, dict) else unpair(flat)
    opened = {place: open_record(view, place, data, thread_id) for place, data in stored.items()}
    decoder = core.decoder(view, thread_id, {})
    yield from fetch_missing(core, view, thread_id, {parsed.refs[0] for parsed in opened.values()}, decoder)
    return view, {place: read_record(core, parsed, decoder) for place, parsed in opened.items()}, set(written)


Choose = Callable[[Records], Iterable[bytes]]
TokenOf = Callable[[str], bytes]
"""Says what lease the caller holds on a thread."""


def no_token(thread_id: str) -> bytes:
    """Say that the caller holds none."""
    return b""


def remove_checkpoints(core: Core, thread_id: str, choose: Choose, token: bytes = b"") -> Program[int]:
    """Remove chosen checkpoints with their writes, and every item that nothing names any more, atomically.

    Round trips: 3, and 3 more for each time that another client prunes in between. A sealed thread takes one more.

    Returns:
        How many checkpoints went.
    """
    for _ in range(MAX_ATTEMPTS):
        found = yield from all_records(core, thread_id)
        if found is None:
            return 0
        view, records, _ = found
        doomed = list(choose(records))
        if not doomed:
            return 0
        fresh = core.random_bytes(12).hex().encode()
        kept = yield from _sealed_uploads(core, view, thread_id)
        args = (view.generation, fresh, token, b"".join(kept), *doomed)
        reply = yield Script("prune", core.layout.thread(thread_id), args)
        refuse(reply, thread_id)
        core.views.drop(thread_id)
        if reply[0] == b"ok":
            if not int(reply[3]):
                yield from _unregister(core, thread_id)
            return int(reply[1])
    raise ConflictError(f"thread {thread_id!r} was pruned by others {MAX_ATTEMPTS} times meanwhile. Try again.")


def _sealed_uploads(core: Core, view: ThreadView, thread_id: str) -> Program[list[bytes]]:
    """Name media whose own records tell of uploads, as earlier versions wrote them, where a script cannot see it."""
    if not view.secrets.sealer.sealed:
        return []
    (flat,) = yield Batch((Command(("HGETALL", core.layout.thread(thread_id)[7])),))
    media = {
        name: data
        for name, data in (flat if isinstance(flat, dict) else unpair(flat)).items()
        if len(name) == DIGEST_BYTES
    }
    return [name for name, data in media.items() if known_of(view, name, data, "").get("uploads")]


def _unregister(core: Core, thread_id: str) -> Program[None]:
    name = thread_id.encode()
    yield Batch((Command(("ZREM", core.layout.registry(core.layout.shard_of(name)), name)),))


def keep_latest(records: Records) -> set[bytes]:
    """Choose what `prune` removes: all but the head of each namespace and what the heads cannot do without.

    A head needs, besides itself: for each delta channel without a value of its own, its ancestors down to the nearest
    one with a value (their writes are the channel's state). Pending writes and interrupts stand on the heads.
    """
    heads: dict[str, bytes] = {}
    for place in sorted(records):
        heads[split_place(place)[0]] = place
    kept: set[bytes] = set()
    for place in heads.values():
        kept.add(place)
        kept |= _delta_ancestors(records, place)
    return set(records) - kept


def _delta_ancestors(records: Records, place: bytes) -> set[bytes]:
    head = records[place]
    open_channels = {ch for ch in head.metadata.get(DELTA_COUNTERS) or () if ch not in head.values}
    needed: set[bytes] = set()
    at: bytes | None = place
    while open_channels and at is not None:
        record = records[at]
        at = spell_place(split_place(at)[0], record.parent_id) if record.parent_id else None
        if at is None or at not in records:
            break
        needed.add(at)
        open_channels -= set(records[at].values)
    return needed


def prune(core: Core, thread_id: str, strategy: str, token: bytes = b"") -> Program[int]:
    """Apply a pruning strategy to one thread; returns how many checkpoints went."""
    if strategy == "delete":
        return (yield from delete_thread(core, thread_id)).checkpoints
    if strategy != "keep_latest":
        raise ValueError(f'prune strategy {strategy!r} is not known. Use "keep_latest" or "delete".')
    return (yield from remove_checkpoints(core, thread_id, keep_latest, token))


def delete_for_runs(core: Core, run_ids: Sequence[str], token_of: TokenOf = no_token) -> Program[int]:
    """Remove the checkpoints that runs made, in whichever threads, without looking at other threads.

    Round trips: 1 to find the threads, 3 for each, 1 to clean the index.
    """
    digests = [run_digest(run_id) for run_id in run_ids]
    calls = tuple(
        Command(("ZRANGEBYLEX", core.layout.run_index(core.layout.shard_of(d)), b"[" + d, b"(" + _after(d)))
        for d in digests
    )
    if not calls:
        return 0
    found = yield Batch(calls)
    threads = {thread_of(member[16:]) for members in found for member in members}
    wanted = set(run_ids)
    removed = 0
    for thread_id in sorted(threads):
        token = token_of(thread_id)
        removed += yield from remove_checkpoints(core, thread_id, lambda records: _of_runs(records, wanted), token)
    cleaning = tuple(
        Command(("ZREM", core.layout.run_index(core.layout.shard_of(digest)), *members))
        for digest, members in zip(digests, found, strict=True)
        if members
    )
    if cleaning:
        yield Batch(cleaning)
    return removed


def _after(digest: bytes) -> bytes:
    """Spell the upper end of all members that start with a digest."""
    return digest + b"\xff" * 5


def _of_runs(records: Records, run_ids: set[str]) -> list[bytes]:
    return [place for place, record in records.items() if record.metadata.get("run_id") in run_ids]


def set_expiry(core: Core, thread_id: str, ttl_ms: int | None) -> Program[bool]:
    """Give one thread its own expiry, counted from its last write; 0: never, None: the saver's own again.

    Returns:
        Whether the thread exists.
    """
    arg = b"" if ttl_ms is None else str(ttl_ms).encode()
    reply = yield Script("expire", core.layout.thread(thread_id), (arg, core.ttl_arg))
    return bool(reply)
