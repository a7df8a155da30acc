"""verify_thread and verify: every key, record, item, blob, write and turn of a thread, looked at.

A thread is outlined at one moment and read page by page, and everything in it is opened: what cannot be, or names what
is not there, is a finding. Memory holds names, and the head's state once. Nothing is changed; `repairing.repair` mends
what can be mended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from ..errors import PortableCheckpointError, ThreadNotFoundError, WrongServerError
from ..saver import PortableRedisSaver
from ..storage.codec import BLOB_WIRE, id_to_wire, split_entries
from ..storage.decoder import Decoder
from ..storage.effects import Program
from ..storage.items import BLOB, INNER, LEAF, MESSAGE, SHAPE, Parsed, parse_item
from ..storage.layout import THREAD_PARTS, run_digest, split_place
from ..storage.programs import paged, reading, turns, whole
from ..storage.programs.blobs import open_media_record
from ..storage.programs.core import Core, fetch_media, open_record, read_record
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
    """Look at threads one after the other, by default all under the prefix.

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
    return saver._run(check_thread(saver._core.stranger(), thread_id))


async def averify_thread(saver: PortableRedisSaver, thread_id: str) -> list[Finding]:
    """Look at everything of one thread; see `verify_thread`."""
    return await saver._arun(check_thread(saver._core.stranger(), thread_id))


def check_thread(core: Core, thread_id: str) -> Program[list[Finding]]:
    """Look at everything of one thread, as a program."""
    try:
        return (yield from _checked(core, thread_id))
    except WrongServerError as error:
        return [Finding(thread_id, "key", "unknown", str(error))]


def _checked(core: Core, thread_id: str) -> Program[list[Finding]]:
    for outline_of in paged.OUTLINES:
        with suppress(paged.ThreadChangedError):
            standing, outline = yield from _outlined(core, thread_id, outline_of)
            if outline is None and not standing.meta:
                raise ThreadNotFoundError(f"there is no thread {thread_id!r} here.")
            check = _Check(core, standing, outline or paged.nothing(thread_id))
            yield from check.run()
            return check.findings
    raise AssertionError("unreachable: the last outline holds all")


def _outlined(
    core: Core, thread_id: str, outline_of: Callable[[Core, str], Program[paged.Outline | None]]
) -> Program[tuple[whole.Standing, paged.Outline | None]]:
    """Read keys and names of the same moment, or as near to it as a busy thread lets."""
    before = yield from whole.inspect_thread(core, thread_id)
    outline = None
    for _ in range(READS):
        outline = yield from outline_of(core, thread_id)
        after = yield from whole.inspect_thread(core, thread_id)
        if (before.index, before.meta) == (after.index, after.meta):
            break
        before = after
    return before, outline


class _Check:
    """One look at one thread."""

    def __init__(self, core: Core, standing: whole.Standing, outline: paged.Outline) -> None:
        thread_id = outline.thread_id
        self.core = core
        self.thread_id = thread_id
        self.standing = standing
        self.outline = outline
        self.head = outline.head
        self.names = outline.sizes
        self.where = f"thread {thread_id!r}"
        self.findings: list[Finding] = []
        self.view: ThreadView
        self.decoder: Decoder
        self.parsed: dict[bytes, Parsed] = {}
        self._pages: set[tuple[bytes, int]] = set()
        self._values: set[bytes] = set()
        self._waiting: dict[bytes, tuple[Entry, str, Kind]] = {}
        """Values and messages, with who named them first; decoded at the end, page by page."""
        self._media: dict[bytes, None] = {}
        self._missing: set[bytes] = set()
        self._reached: set[bytes] = set()
        self._runs: set[str] = set()

    def run(self) -> Program[None]:
        """Look at everything."""
        self.keys()
        self.times()
        yield from self.registrations()
        if self.open_view():
            yield from self.items()
            yield from self.records()
            yield from self.run_index()
            yield from self.writes()
            yield from self.media_records()
            yield from self.values()
            yield from self.blobs()
            self.orphans()
            yield from self.turn_log()

    def _pages_of(self, part: str, open_: Callable[[bytes, bytes], None]) -> Program[None]:
        """Read a part page by page."""
        for names in self.outline.pages(part):
            page = yield from paged.read_page(self.core, self.outline, part, names)
            for name, data in page.items():
                open_(name, data)

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
        if self.names["ckpts"] and not self.names["items"]:
            self.find("key", "items", "there are checkpoints and no items")
        if there & {"items", "meta"} and not there & {"ckpts", "writes"}:
            staged = self.standing.ttls_ms[0] > 0
            detail = "a copy or restore never came to its end" if staged else "there are items and no checkpoints"
            self.find("key", "ckpts", detail, severity="note" if staged else "error")
        index = set(self.standing.index)
        for place in sorted(index - self.names["ckpts"].keys()):
            self.find("index", _named(place), "the index names a checkpoint that is not stored")
        for place in sorted(self.names["ckpts"].keys() - index):
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
        if not self.names["ckpts"]:
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
            if score is None or digest not in self.head.runs:
                self.find("run index", run_id, "delete_for_runs does not find this thread by this run")

    def open_view(self) -> bool:
        """Open the digest key; without it nothing else can be read."""
        view = self._try(
            "digest key", "meta", lambda: self.core.view_of(self.head.generation or b"?", self.head.key, self.thread_id)
        )
        if view is None:
            return False
        self.view = view
        self.decoder = self._decoder({})
        return True

    def _decoder(self, items: dict[bytes, bytes]) -> Decoder:
        decoder = self.core.decoder(self.view, self.thread_id, items)
        decoder.final, decoder.hydrate = True, False
        return decoder

    def items(self) -> Program[None]:
        """Open every item and check it against its digest; keep what tells how a thread hangs together."""
        yield from self._pages_of("items", self._item)

    def _item(self, digest: bytes, data: bytes) -> None:
        opened = self._try("item", digest.hex(), lambda: self._parse(digest, data))
        if opened is not None:
            is_page = opened.kind in (SHAPE, LEAF, INNER)
            self.parsed[digest] = opened if is_page else replace(opened, body=None)
            if is_page:
                self.decoder.fetched[digest] = data

    def _parse(self, digest: bytes, data: bytes) -> Parsed:
        return parse_item(digest, data, secrets=self.view.secrets, where=self.where)

    def records(self) -> Program[None]:
        """Open every checkpoint record, and note all that it names."""
        yield from self._pages_of("ckpts", self._record)

    def _record(self, place: bytes, data: bytes) -> None:
        where = _named(place)
        parsed = self._try("record", where, lambda: open_record(self.view, place, data, self.thread_id))
        if parsed is None or not self._is_item(parsed.refs[0], SHAPE, where):
            return
        record = self._try("record", where, lambda: read_record(self.core, parsed, self.decoder))
        if record is None:
            return
        run_id = record.metadata.get("run_id")
        if isinstance(run_id, str):
            self._runs.add(run_id)
        for channel, entry in record.values.items():
            self._entry(entry, f"channel {channel!r} of {where}", "record")

    def writes(self) -> Program[None]:
        """Open every frame of pending writes, and note all that it names."""
        yield from self._pages_of("writes", self._frames)

    def _frames(self, place: bytes, frames: bytes) -> None:
        where = f"pending writes of {_named(place)}"
        if not frames:
            self.find("write", where, "they are empty, as nothing that this package writes is")
        loaded = self._try("write", where, lambda: self._load_writes(place, frames))
        for write in loaded or ():
            self._entry(write.entry, where, "write")
        if place not in self.names["ckpts"]:
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
            self._waiting[ref] = entry, where, kind
            self._reach(self.parsed[ref].refs, where)

    def values(self) -> Program[None]:
        """Decode every value and message that something names."""
        for names in self.outline.pages("items", self._waiting):
            within = {inner for ref in names for inner in self._within(ref)}
            items: dict[bytes, bytes] = {}
            for some in self.outline.pages("items", within):
                items.update((yield from paged.read_page(self.core, self.outline, "items", some)))
            decoder = self._decoder({**self.decoder.fetched, **items})
            for entry, where, kind in map(self._waiting.__getitem__, names):
                self._try(kind, f"item {entry.refs[0].hex()} of {where}", lambda e=entry, d=decoder: d.value(e))  # type: ignore[misc]  # a lambda with defaults

    def _within(self, ref: bytes) -> set[bytes]:
        """Name an item and all that decoding it needs."""
        found, pending = {ref}, [ref]
        while pending:
            parsed = self.parsed.get(pending.pop())
            inner = [each for each in (parsed.refs if parsed else ()) if each in self.parsed and each not in found]
            found.update(inner)
            pending += inner
        return found

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
            if ref not in self.names["items"] and ref not in self._missing:
                self._missing.add(ref)
                self.find("missing item", ref.hex(), f"{where} names it, and it is not stored")
            return False
        if parsed.kind != kind:
            self.find("item", ref.hex(), f"it is of kind {parsed.kind}, and {where} needs kind {kind}")
        return parsed.kind == kind

    def _reach(self, refs: Iterable[bytes], where: str) -> None:
        """Follow what a value names: messages within it, and media."""
        for ref in refs:
            if ref in self.names["items"]:
                self._entry(Entry(id_to_wire(None), (ref,)), where, "item")
            else:
                self._media[ref] = None

    def media_records(self) -> Program[None]:
        """Open every record of the media table."""
        yield from self._pages_of(
            "media", lambda r, d: self._try("media record", r.hex(), lambda: self._media_record(r, d))
        )

    def _media_record(self, ref: bytes, data: bytes) -> Mapping[str, Any]:
        return open_media_record(self.view, ref, data, where=self.where)

    def blobs(self) -> Program[None]:
        """Read every blob, wherever it is kept, and check it against its digest."""
        for some in self._batches_of_blobs():
            decoder = self.core.decoder(self.view, self.thread_id, {})
            yield from fetch_media(self.core, self.view, self.thread_id, some, decoder)
            for ref, why in decoder.lost.items():
                detail = (
                    "its bytes do not match its digest" if why == "corrupt_blob" else "it is named and not to be had"
                )
                self.find("blob", ref.hex(), detail)

    def _batches_of_blobs(self) -> Iterator[list[bytes]]:
        yield from self.outline.pages("blobs")
        elsewhere = [ref for ref in self._media if ref not in self.names["blobs"]]
        for at in range(0, len(elsewhere), BLOBS_AT_ONCE):
            yield elsewhere[at : at + BLOBS_AT_ONCE]

    def orphans(self) -> None:
        """Count the items that nothing names; pruning sweeps them."""
        left = [ref for ref in self.names["items"] if ref not in self._reached]
        if left and not self._missing:
            size = sum(self.names["items"][ref] for ref in left)
            self.find("orphan items", f"{len(left)} items", f"{size} bytes that no checkpoint names", severity="note")

    def turn_log(self) -> Program[None]:
        """Check the turn log against the conversation of the head."""
        heads = [place for place in self.names["ckpts"] if not split_place(place)[0]]
        if not self.head.log_place or not heads:
            return
        if self.head.log_place != max(heads):
            self.find(
                "turn log", _named(self.head.log_place), "it is not the head's; reading derives it", severity="note"
            )
            return
        stored: dict[bytes, bytes] = {}
        yield from self._pages_of("turns", stored.__setitem__)
        logged = self._try("turn log", "turns", lambda: self._logged(stored))
        if logged is None or self.findings_about("missing item", "item", "record", "key"):
            return
        head = split_place(max(heads))
        derived = yield from reading.derived_turns(self.core, self.thread_id, *head, media=False)
        meant = [[entry[:2] for entry in turn.entries] for turn, _ in derived]
        if logged != meant:
            self.find("turn log", "turns", f"it has {len(logged)} turns, and not the {len(meant)} of the head")

    def _logged(self, stored: Mapping[bytes, bytes]) -> list[list[Any]]:
        logged = turns.open_turns(self.view, stored, self.thread_id)
        return [[entry[:2] for entry in turn.entries] for turn in logged]

    def findings_about(self, *kinds: Kind) -> list[Finding]:
        """Return the findings of some kinds."""
        return [finding for finding in self.findings if finding.kind in kinds]


def _named(place: bytes) -> str:
    ns, checkpoint_id = split_place(place)
    return f"checkpoint {checkpoint_id!r}" + (f" (namespace {ns!r})" if ns else "")
