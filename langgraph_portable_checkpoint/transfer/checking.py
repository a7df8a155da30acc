"""verify_thread and verify: every key, record, item, blob, write and turn of a thread, looked at.

A thread is outlined at one moment and read page by page, and everything in it is opened: what cannot be, or names what
is not there, is a finding. Memory holds names, and the head's state once. Nothing is changed; `repairing.repair` mends
what can be mended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from ..errors import ConflictError, ThreadNotFoundError, WrongServerError
from ..saver import PortableRedisSaver
from ..storage.codec import BLOB_WIRE, id_to_wire, split_entries
from ..storage.decoder import Decoder
from ..storage.effects import Program
from ..storage.items import BLOB, INNER, LEAF, MESSAGE, SHAPE, Parsed, parse_item
from ..storage.layout import split_place
from ..storage.programs import paged, reading, turns, whole
from ..storage.programs.blobs import open_media_record
from ..storage.programs.core import NO_GENERATION, Core, OtherThreadError, fetch_media, open_record, read_record
from ..storage.records import load_writes
from ..storage.sequences import FANOUT, Entry, levels_of
from ..storage.view import ThreadView
from .checking_keys import KeyCheck
from .findings import Finding, Findings, Kind, named
from .inventory import inventory_of
from .steps import drive

READS: Final = 3
BLOBS_AT_ONCE: Final = 8


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
        with suppress(paged.ThreadChangedError, OtherThreadError):
            standing, outline = yield from _outlined(core, thread_id, outline_of)
            if outline is None and not standing.meta:
                raise ThreadNotFoundError(f"there is no thread {thread_id!r} here.")
            check = _Check(core, standing, outline or paged.nothing(thread_id))
            yield from check.run()
            return check.findings.found
    raise ConflictError(
        f"thread {thread_id!r} was deleted, replaced or pruned each time that it was looked at. Try again."
    )


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
        self.outline = outline
        self.head = outline.head
        self.names = outline.sizes
        self.where = f"thread {thread_id!r}"
        self.findings = Findings(thread_id)
        self.keys = KeyCheck(core, standing, outline, self.findings)
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
        self.keys.keys()
        self.keys.times()
        yield from self.keys.registrations()
        if self.open_view():
            yield from self.items()
            yield from self.records()
            yield from self.keys.run_index(self._runs)
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

    def open_view(self) -> bool:
        """Open the digest key; without it nothing else can be read."""
        view = self.findings.attempt(
            "digest key",
            "meta",
            lambda: self.core.view_of(self.head.generation or NO_GENERATION, self.head.key, self.thread_id),
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
        opened = self.findings.attempt("item", digest.hex(), lambda: self._parse(digest, data))
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
        where = named(place)
        parsed = self.findings.attempt("record", where, lambda: open_record(self.view, place, data, self.thread_id))
        if parsed is None or not self._is_item(parsed.refs[0], SHAPE, where):
            return
        record = self.findings.attempt("record", where, lambda: read_record(self.core, parsed, self.decoder))
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
        where = f"pending writes of {named(place)}"
        if not frames:
            self.findings.add("write", where, "they are empty, as nothing that this package writes is")
        loaded = self.findings.attempt("write", where, lambda: self._load_writes(place, frames))
        for write in loaded or ():
            self._entry(write.entry, where, "write")
        if place not in self.names["ckpts"]:
            self.findings.add("write", where, "their checkpoint is not stored (yet)", severity="note")

    def _load_writes(self, place: bytes, frames: bytes) -> list[Any]:
        return load_writes(frames, place=place, secrets=self.view.secrets, where=self.where)

    def _entry(self, entry: Entry, where: str, kind: Kind) -> None:
        if isinstance(entry.wire, list):
            if len(entry.wire) == 3:
                self.findings.attempt(kind, where, lambda: self._sequence(entry, where, kind))
            elif entry.wire:
                self.findings.attempt(kind, where, lambda: self.decoder.value(entry))
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
                at = f"item {entry.refs[0].hex()} of {where}"
                self.findings.attempt(kind, at, partial(decoder.value, entry))

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
                self.findings.add("item", ref.hex(), f"a page with {len(page.refs)} pages below it, in {where}")
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
                self.findings.add("missing item", ref.hex(), f"{where} names it, and it is not stored")
            return False
        if parsed.kind != kind:
            self.findings.add("item", ref.hex(), f"it is of kind {parsed.kind}, and {where} needs kind {kind}")
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
            "media", lambda r, d: self.findings.attempt("media record", r.hex(), lambda: self._media_record(r, d))
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
                self.findings.add("blob", ref.hex(), detail)

    def _batches_of_blobs(self) -> Iterator[list[bytes]]:
        yield from self.outline.pages("blobs")
        elsewhere = [ref for ref in self._media if ref not in self.names["blobs"]]
        for at in range(0, len(elsewhere), BLOBS_AT_ONCE):
            yield elsewhere[at : at + BLOBS_AT_ONCE]

    def orphans(self) -> None:
        """Count the items that nothing names; pruning sweeps them."""
        left = [ref for ref in self.names["items"] if ref not in self._reached]
        if left and not self._missing:
            detail = f"{sum(self.names['items'][ref] for ref in left)} bytes that no checkpoint names"
            self.findings.add("orphan items", f"{len(left)} items", detail, severity="note")

    def turn_log(self) -> Program[None]:
        """Check the turn log against the conversation of the head."""
        heads = [place for place in self.names["ckpts"] if not split_place(place)[0]]
        if not self.head.log_place or not heads:
            return
        if self.head.log_place != max(heads):
            self.findings.add(
                "turn log", named(self.head.log_place), "it is not the head's; reading derives it", severity="note"
            )
            return
        stored: dict[bytes, bytes] = {}
        yield from self._pages_of("turns", stored.__setitem__)
        logged = self.findings.attempt("turn log", "turns", lambda: self._logged(stored))
        if logged is None or self.findings.has("missing item", "item", "record", "key"):
            return
        head = split_place(max(heads))
        derived = yield from reading.derived_turns(self.core, self.thread_id, *head, media=False)
        meant = [[entry[:2] for entry in turn.entries] for turn, _ in derived]
        if logged != meant:
            self.findings.add("turn log", "turns", f"it has {len(logged)} turns, and not the {len(meant)} of the head")

    def _logged(self, stored: Mapping[bytes, bytes]) -> list[list[Any]]:
        logged = turns.open_turns(self.view, stored, self.thread_id)
        return [[entry[:2] for entry in turn.entries] for turn in logged]
