"""repair: what can be mended of threads, mended.

Indexes and registries are made again from the records, which are what counts. What holds data is never removed, and
what is lost stays lost: `checking.verify` names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import unquote_to_bytes

from ..errors import WrongServerError
from ..saver import PortableRedisSaver
from ..storage.layout import THREAD_PARTS, split_place, thread_of
from ..storage.programs import listing, whole

Kind = Literal[
    "drop staged leftovers",
    "make meta again",
    "set highest checkpoint",
    "index checkpoint",
    "drop index entry",
    "drop empty writes",
    "set times to live",
    "let tombstone or lease expire",
    "register thread",
    "register runs",
    "forget deleted thread",
    "cannot mend",
]
"""What a repair does."""

_KINDS: Final[dict[str, Kind]] = {
    "staged": "drop staged leftovers",
    "meta": "make meta again",
    "top": "set highest checkpoint",
    "index": "index checkpoint",
    "unindex": "drop index entry",
    "writes": "drop empty writes",
    "ttl": "set times to live",
    "gone": "let tombstone or lease expire",
    "sealed": "cannot mend",
}
_PLACES: Final = ("index", "unindex", "writes")
_LOST_KEY: Final = "the thread is encrypted and the key with its own record is gone; restore it from a backup"
_FOREIGN: Final = "one of its keys belongs to something else; move that away, or use another prefix"
SCAN_COUNT: Final = 1000


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that was mended, or would be.

    Attributes:
        detail: Which checkpoint, how many, or until when.
        done: Whether it was done; False in a dry run, and for what cannot be mended.
    """

    thread_id: str
    kind: Kind
    detail: str
    done: bool


def repair(
    saver: PortableRedisSaver, threads: Iterable[str] | None = None, *, dry_run: bool = True
) -> Iterator[Action]:
    """Mend threads, one after the other and each atomically: index, registries, deletes that stopped half way, TTLs.

    Safe while others read and write.

    Args:
        threads: Thread ids; by default every thread that has a key under the prefix, found by SCAN.
        dry_run: Only say what would be done.

    Yields:
        What was done, or would be; do exhaust it.
    """
    for thread_id in _scanned(saver) if threads is None else threads:
        yield from _mend(saver, thread_id, dry_run=dry_run)
    if threads is None:
        for shard in whole.ALL_SHARDS:
            yield from _forget(saver, shard, dry_run=dry_run)


def _mend(saver: PortableRedisSaver, thread_id: str, *, dry_run: bool) -> Iterator[Action]:
    core = saver._core
    try:
        done = saver._run(whole.mend_thread(core, thread_id, dry_run=dry_run))
    except WrongServerError:
        yield Action(thread_id, "cannot mend", _FOREIGN, False)
        return
    for name, detail in done:
        shown = _shown(name, detail)
        yield Action(thread_id, _KINDS[name], shown, not dry_run and name != "sealed")
    ttls = dict(zip(THREAD_PARTS, saver._run(whole.inspect_thread(core, thread_id)).ttls_ms, strict=True))
    if ttls["ckpts"] == -2 and ttls["writes"] == -2:
        return
    registered, runs = saver._run(whole.registrations_of(core, thread_id))
    if not dry_run and (not registered or runs):
        saver._run(whole.register(core, thread_id, runs))
    if not registered:
        yield Action(thread_id, "register thread", "no listing found it", not dry_run)
    if runs:
        yield Action(thread_id, "register runs", f"{len(runs)} runs", not dry_run)


def _shown(name: str, detail: bytes) -> str:
    if name == "sealed":
        return _LOST_KEY
    if name in _PLACES:
        ns, checkpoint_id = split_place(detail)
        return f"checkpoint {checkpoint_id!r}" + (f" (namespace {ns!r})" if ns else "")
    unit = {"staged": " items", "ttl": " ms" if detail.isdigit() else ""}.get(name, "")
    return detail.decode(errors="replace") + unit


def _forget(saver: PortableRedisSaver, shard: int, *, dry_run: bool) -> Iterator[Action]:
    """Drop registrations of threads that are no more, as a delete that stopped half way leaves them."""
    core, start = saver._core, 0
    while names := saver._run(whole.registered_names(core, shard, start)):
        kept = set(saver._run(whole.existing(core, names)))
        cutoff = core.now_ms() - listing.REGISTRATION_GRACE_MS
        scores = saver._run(whole.registry_scores(core, shard, names))
        dead = [
            n for n, at in zip(names, scores, strict=True) if n not in kept and at is not None and float(at) < cutoff
        ]
        if dead and not dry_run:
            saver._run(listing.forget_in_shard(core, shard, dead))
        for name in dead:
            yield Action(name.decode(errors="replace"), "forget deleted thread", "it has no keys", not dry_run)
        start += len(names) - (0 if dry_run else len(dead))


def _scanned(saver: PortableRedisSaver) -> Iterator[str]:
    """Find the threads of a prefix by their keys alone, each once."""
    pattern, start, stop = _pattern(saver)
    seen: set[bytes] = set()
    for key in saver._clients.blocking().scan_iter(match=pattern, count=SCAN_COUNT):
        raw = key.encode() if isinstance(key, str) else bytes(key)
        name, _, part = raw.removeprefix(start).rpartition(stop)
        if not raw.startswith(start) or not part or name in seen:
            continue
        seen.add(name)
        thread_id = thread_of(unquote_to_bytes(name))
        # Other keys that look like ours are a stranger's.
        if thread_id and saver._core.layout.thread(thread_id)[0].startswith(start + name + stop):
            yield thread_id


def _pattern(saver: PortableRedisSaver) -> tuple[bytes, bytes, bytes]:
    """Take a glob, and what stands before and behind a thread's id in its keys, from the layout itself."""
    key: Any = saver._core.layout.thread("")[0]
    start, _, rest = key.partition(b"}")
    stop = b"}" + rest[: rest.rindex(b":") + 1]
    escaped = b"".join(b"\\" + bytes([c]) if c in b"*?[]\\^-" else bytes([c]) for c in start)
    return escaped + b"*" + stop + b"*", start, stop
