"""verify_thread and verify: every key, record, item, blob, write and turn of a thread, looked at.

A thread is read at one moment, and everything in it is opened: what cannot be, or names what is not there, is a
finding. Nothing is changed; `repairing.repair` mends what can be mended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from ..errors import PortableCheckpointError, ThreadNotFoundError, WrongServerError
from ..saver import PortableRedisSaver
from ..storage.codec import BLOB_WIRE, id_to_wire, split_entries
from ..storage.decoder import Decoder
from ..storage.effects import Program
from ..storage.items import BLOB, INNER, LEAF, MESSAGE, SHAPE, Parsed, parse_item
from ..storage.layout import THREAD_PARTS, run_digest, split_place
from ..storage.programs import reading, turns, whole
from ..storage.programs.core import Core, fetch_media, open_media_record, open_record, read_record
from ..storage.records import load_writes
from ..storage.sequences import FANOUT, Entry, levels_of
from ..storage.view import ThreadView
from .inventory import inventory_of
from .steps import drive

Severity = Literal["error", "note"]
Kind = Literal[
    "key",
    "digest key",
    "item",
    "missing item",
    "record",
    "index",
    "write",
    "blob",
    "media record",
    "turn log",
    "time to live",
    "registry",
    "run index",
    "orphan items",
]
"""What a finding is about."""

READS: Final = 3
BLOBS_AT_ONCE: Final = 8
TTL_SLACK_MS: Final = 2000
"""Keys of one thread are given their time to live one after the other, which takes the server a moment."""
UNREADABLE: Final = (PortableCheckpointError, ValueError, TypeError, KeyError, IndexError, AttributeError)
"""What opening damaged bytes raises."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be.

    Attributes:
        severity: "error", or "note" for what costs nothing but space or is made good on reading.
        where: The checkpoint, digest, key or turn.
        detail: What is wrong with it. Never holds contents.
    """

    thread_id: str
    kind: Kind
    where: str
    detail: str
    severity: Severity = "error"


def verify(saver: PortableRedisSaver, threads: Iterable[str] | None = None) -> Iterator[Finding]:
    """Look at threads one after the other, by default all under the prefix; memory holds one thread at a time.

    Yields:
        Findings, by thread.
    """
    names = drive(inventory_of(saver).threads()) if threads is None else threads
    for thread_id in names:
        try:
            yield from verify_thread(saver, thread_id)
        except ThreadNotFoundError:
            if threads is not None:
                raise


def verify_thread(saver: PortableRedisSaver, thread_id: str) -> list[Finding]:
    """Look at everything of one thread.

    Returns:
        Findings; none when all is well.

    Raises:
        ThreadNotFoundError: there is nothing of that id.
    """
    return saver._run(check_thread(saver._core.with_codec(saver._core.codec), thread_id))


async def averify_thread(saver: PortableRedisSaver, thread_id: str) -> list[Finding]:
    """Look at everything of one thread; see `verify_thread`."""
    return await saver._arun(check_thread(saver._core.with_codec(saver._core.codec), thread_id))


def check_thread(core: Core, thread_id: str) -> Program[list[Finding]]:
    """Look at everything of one thread, as a program."""
    try:
        standing, stored = yield from _read_steadily(core, thread_id)
    except WrongServerError as error:
        return [Finding(thread_id, "key", "unknown", str(error))]
    if stored is None and not standing.meta:
        raise ThreadNotFoundError(f"there is no thread {thread_id!r} here.")
    check = _Check(core, thread_id, standing, stored or whole.StoredThread(b"", b"", b"", b"", b""))
    check.keys()
    check.times()
    yield from check.registrations()
    if check.open_view():
        check.items()
        check.records()
        yield from check.run_index()
        check.writes()
        check.media_records()
        yield from check.blobs()
        check.orphans()
        yield from check.turn_log()
    return check.findings


def _read_steadily(core: Core, thread_id: str) -> Program[tuple[whole.Standing, whole.StoredThread | None]]:
    """Read keys and values of the same moment, or as near to it as a busy thread lets."""
    before = yield from whole.inspect_thread(core, thread_id)
    stored = None
    for _ in range(READS):
        stored = yield from whole.dump_thread(core, thread_id)
        after = yield from whole.inspect_thread(core, thread_id)
        if (before.index, before.meta) == (after.index, after.meta):
            break
        before = after
    return before, stored


class _Check:
    """One look at one thread."""

    def __init__(self, core: Core, thread_id: str, standing: whole.Standing, stored: whole.StoredThread) -> None:
        self.core = core
        self.thread_id = thread_id
        self.standing = standing
        self.stored = stored
        self.where = f"thread {thread_id!r}"
        self.findings: list[Finding] = []
        self.view: ThreadView
        self.decoder: Decoder
        self.parsed: dict[bytes, Parsed] = {}
        self._pages: set[tuple[bytes, int]] = set()
        self._values: set[bytes] = set()
        self._media: dict[bytes, None] = {}
        self._missing: set[bytes] = set()
        self._reached: set[bytes] = set()
        self._runs: set[str] = set()

    def find(self, kind: Kind, where: str, detail: str, *, severity: Severity = "error") -> None:
        """Note a finding."""
        self.findings.append(Finding(self.thread_id, kind, where, detail, severity))

    def _try(self, kind: Kind, where: str, open_: Callable[[], Any]) -> Any:
        """Open something; a failure is a finding, and gives None."""
        try:
            return open_()
        except UNREADABLE as error:
            reason = getattr(error, "reason", None) or f"{type(error).__name__}: {error}"
            self.find(kind, where, f"it cannot be read: {reason}"[:300])
            return None

    def keys(self) -> None:
        """Check that the thread's keys are there together, and that the index names the records."""
        there = {name for name, ttl in zip(THREAD_PARTS, self.standing.ttls_ms, strict=True) if ttl != -2}
        if not self.standing.meta.get(b"g"):
            self.find("key", "meta", "the thread's own record is gone or has no generation")
        if self.stored.ckpts and not self.stored.items:
            self.find("key", "items", "there are checkpoints and no items")
        if there & {"items", "meta"} and not there & {"ckpts", "writes"}:
            staged = self.standing.ttls_ms[0] > 0
            detail = "a copy or restore never came to its end" if staged else "there are items and no checkpoints"
            self.find("key", "ckpts", detail, severity="note" if staged else "error")
        index = set(self.standing.index)
        for place in sorted(index - self.stored.ckpts.keys()):
            self.find("index", _named(place), "the index names a checkpoint that is not stored")
        for place in sorted(self.stored.ckpts.keys() - index):
            self.find("index", _named(place), "the index does not name this checkpoint, so nothing lists it")

    def times(self) -> None:
        """Check that all keys of the thread expire together."""
        ttls = {part: ttl for part, ttl in zip(THREAD_PARTS[:9], self.standing.ttls_ms[:9], strict=True) if ttl != -2}
        if not ttls:
            return
        mixed = -1 in ttls.values() and any(ttl >= 0 for ttl in ttls.values())
        if mixed or max(ttls.values()) - min(ttls.values()) > TTL_SLACK_MS:
            shown = ", ".join(f"{part} {'never' if ttl < 0 else f'{ttl} ms'}" for part, ttl in sorted(ttls.items()))
            self.find("time to live", ", ".join(sorted(ttls)), f"the keys do not expire together: {shown}")
        own = self.standing.meta.get(b"ttl", b"0")
        if not own.isdigit():
            self.find("time to live", "meta", "the thread's own time to live is no number")
        for part, ttl in zip(THREAD_PARTS[9:], self.standing.ttls_ms[9:], strict=True):
            if ttl == -1:
                self.find("time to live", part, "this key must expire and never does")

    def registrations(self) -> Program[None]:
        """Check that listings and delete_for_runs find the thread."""
        if not self.stored.ckpts:
            return
        name = self.thread_id.encode()
        (score,) = yield from whole.registry_scores(self.core, self.core.layout.shard_of(name), [name])
        if score is None:
            self.find("registry", self.thread_id, "no listing finds this thread")

    def run_index(self) -> Program[None]:
        """Check that delete_for_runs finds the thread by every run that a checkpoint names."""
        digests = {run_digest(run_id): run_id for run_id in self._runs}
        scores = yield from whole.run_scores(self.core, [digest + self.thread_id.encode() for digest in digests])
        for (digest, run_id), score in zip(digests.items(), scores, strict=True):
            if score is None or digest not in self.stored.runs:
                self.find("run index", run_id, "delete_for_runs does not find this thread by this run")

    def open_view(self) -> bool:
        """Open the digest key; without it nothing else can be read."""
        stored = self.stored
        view = self._try(
            "digest key", "meta", lambda: self.core.view_of(stored.generation or b"?", stored.key, self.thread_id)
        )
        if view is None:
            return False
        self.view = view
        self.decoder = self.core.decoder(view, self.thread_id, dict(stored.items))
        self.decoder.final, self.decoder.hydrate = True, False
        return True

    def items(self) -> None:
        """Open every item and check it against its digest."""
        for digest, data in self.stored.items.items():
            opened = self._try("item", digest.hex(), lambda d=digest, b=data: self._parse(d, b))  # type: ignore[misc]  # a lambda with defaults
            if opened is not None:
                self.parsed[digest] = opened

    def _parse(self, digest: bytes, data: bytes) -> Parsed:
        return parse_item(digest, data, secrets=self.view.secrets, where=self.where)

    def records(self) -> None:
        """Open every checkpoint record, and all that it names."""
        for place, data in self.stored.ckpts.items():
            where = _named(place)
            parsed = self._try("record", where, lambda p=place, b=data: open_record(self.view, p, b, self.thread_id))  # type: ignore[misc]  # a lambda with defaults
            if parsed is None or not self._is_item(parsed.refs[0], SHAPE, where):
                continue
            record = self._try("record", where, lambda p=parsed: read_record(self.core, p, self.decoder))  # type: ignore[misc]  # a lambda with defaults
            if record is None:
                continue
            run_id = record.metadata.get("run_id")
            if isinstance(run_id, str):
                self._runs.add(run_id)
            for channel, entry in record.values.items():
                self._entry(entry, f"channel {channel!r} of {where}", "record")

    def writes(self) -> None:
        """Open every frame of pending writes, and all that it names."""
        for place, frames in self.stored.writes.items():
            where = f"pending writes of {_named(place)}"
            if not frames:
                self.find("write", where, "they are empty, as nothing that this package writes is")
            loaded = self._try("write", where, lambda p=place, b=frames: self._load_writes(p, b))  # type: ignore[misc]  # a lambda with defaults
            for write in loaded or ():
                self._entry(write.entry, where, "write")
            if place not in self.stored.ckpts:
                self.find("write", where, "their checkpoint is not stored (yet)", severity="note")

    def _load_writes(self, place: bytes, frames: bytes) -> list[Any]:
        return load_writes(frames, place=place, secrets=self.view.secrets, where=self.where)

    def _entry(self, entry: Entry, where: str, kind: Kind) -> None:
        if isinstance(entry.wire, list):
            if len(entry.wire) == 3:
                self._try(kind, where, lambda: self._sequence(entry, where, kind))
            elif entry.wire:
                self._try(kind, where, lambda: self.decoder.value(entry))
        elif entry.refs[0] not in self._values:
            self._values.add(entry.refs[0])
            self._value(entry, where, kind)

    def _value(self, entry: Entry, where: str, kind: Kind) -> None:
        ref = entry.refs[0]
        if self._is_item(ref, BLOB if entry.wire == BLOB_WIRE else MESSAGE, where):
            self._reach(self.parsed[ref].refs, where)
            self._try(kind, f"item {ref.hex()} of {where}", lambda: self.decoder.value(entry))

    def _sequence(self, entry: Entry, where: str, kind: Kind) -> None:
        size, _, loose = entry.wire
        levels = levels_of(size)
        for ref, level in zip(entry.refs, levels, strict=False):
            self._page(ref, level, where, kind)
        for each in split_entries(loose, entry.refs[len(levels) :], where=self.where):
            self._entry(each, where, kind)

    def _page(self, ref: bytes, level: int, where: str, kind: Kind) -> None:
        if (ref, level) in self._pages:
            return
        self._pages.add((ref, level))
        if not self._is_item(ref, INNER if level > 1 else LEAF, where):
            return
        page = self.parsed[ref]
        if level > 1:
            if len(page.refs) != FANOUT:
                self.find("item", ref.hex(), f"a page with {len(page.refs)} pages below it, in {where}")
            for child in page.refs:
                self._page(child, level - 1, where, kind)
            return
        for each in split_entries(page.body, page.refs, where=self.where):
            self._entry(each, where, kind)

    def _is_item(self, ref: bytes, kind: int, where: str) -> bool:
        """Check that an item is there and of a kind."""
        self._reached.add(ref)
        parsed = self.parsed.get(ref)
        if parsed is None:
            if ref not in self.stored.items and ref not in self._missing:
                self._missing.add(ref)
                self.find("missing item", ref.hex(), f"{where} names it, and it is not stored")
            return False
        if parsed.kind != kind:
            self.find("item", ref.hex(), f"it is of kind {parsed.kind}, and {where} needs kind {kind}")
        return parsed.kind == kind

    def _reach(self, refs: Iterable[bytes], where: str) -> None:
        """Follow what a value names: messages within it, and media."""
        for ref in refs:
            if ref in self.stored.items:
                self._entry(Entry(id_to_wire(None), (ref,)), where, "item")
            else:
                self._media[ref] = None

    def media_records(self) -> None:
        """Open every record of the media table."""
        for ref, data in self.stored.media.items():
            self._try("media record", ref.hex(), lambda r=ref, d=data: self._media_record(r, d))  # type: ignore[misc]  # a lambda with defaults

    def _media_record(self, ref: bytes, data: bytes) -> Mapping[str, Any]:
        return open_media_record(self.view, ref, data, where=self.where)

    def blobs(self) -> Program[None]:
        """Read every blob, wherever it is kept, and check it against its digest."""
        refs = list(dict.fromkeys([*self._media, *self.stored.blobs]))
        for at in range(0, len(refs), BLOBS_AT_ONCE):
            some = refs[at : at + BLOBS_AT_ONCE]
            decoder = self.core.decoder(self.view, self.thread_id, {})
            yield from fetch_media(self.core, self.view, self.thread_id, some, decoder)
            for ref, why in decoder.lost.items():
                detail = (
                    "its bytes do not match its digest" if why == "corrupt_blob" else "it is named and not to be had"
                )
                self.find("blob", ref.hex(), detail)

    def orphans(self) -> None:
        """Count the items that nothing names; pruning sweeps them."""
        left = [ref for ref in self.stored.items if ref not in self._reached]
        if left and not self._missing:
            size = sum(len(self.stored.items[ref]) for ref in left)
            self.find("orphan items", f"{len(left)} items", f"{size} bytes that no checkpoint names", severity="note")

    def turn_log(self) -> Program[None]:
        """Check the turn log against the conversation of the head."""
        heads = [place for place in self.stored.ckpts if not split_place(place)[0]]
        if not self.stored.log_place or not heads:
            return
        if self.stored.log_place != max(heads):
            self.find(
                "turn log", _named(self.stored.log_place), "it is not the head's; reading derives it", severity="note"
            )
            return
        logged = self._try("turn log", "turns", self._logged)
        if logged is None or self.findings_about("missing item", "item", "record", "key"):
            return
        head = split_place(max(heads))
        derived = yield from reading.derived_turns(self.core, self.thread_id, *head, media=False)
        meant = [[entry[:2] for entry in turn.entries] for turn, _ in derived]
        if logged != meant:
            self.find("turn log", "turns", f"it has {len(logged)} turns, and not the {len(meant)} of the head")

    def _logged(self) -> list[list[Any]]:
        logged = turns.open_turns(self.view, self.stored.turns, self.thread_id)
        return [[entry[:2] for entry in turn.entries] for turn in logged]

    def findings_about(self, *kinds: Kind) -> list[Finding]:
        """Return the findings of some kinds."""
        return [finding for finding in self.findings if finding.kind in kinds]


def _named(place: bytes) -> str:
    try:
        ns, checkpoint_id = split_place(place)
    except UnicodeDecodeError:
        return f"checkpoint {place!r}"
    return f"checkpoint {checkpoint_id!r}" + (f" (namespace {ns!r})" if ns else "")
