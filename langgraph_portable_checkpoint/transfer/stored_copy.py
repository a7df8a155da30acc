"""A thread of one of our savers copied to another as it is stored, page by page.

Media that lie with the thread go along in its pages. Those that the source's external store has are fetched from there
and kept as the target keeps media; where they cannot be had, the target's thread names them as the source's does, so it
reads what it reads there, and reads them once they are back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha1

from ..errors import CorruptRecordError
from ..saver import PortableRedisSaver
from ..storage.effects import Program
from ..storage.programs import carrying, paged, whole
from ..storage.programs.blobs import open_blob
from ..storage.programs.carrying import LostMedium
from ..storage.view import ThreadView
from .steps import Moves, Run


@dataclass(frozen=True, slots=True)
class StoredCopy:
    """One such copy.

    Attributes:
        rewritten: Media table records that the target has in another form, as stored: its media are elsewhere.
        brought: Media whose bytes were in a store and are in the target thread's own keys now, with their sizes.
        lost: Media whose bytes could not be had, by name.
    """

    source: PortableRedisSaver
    target: PortableRedisSaver
    outline: paged.Outline
    rewritten: dict[bytes, bytes] = field(default_factory=dict)
    brought: dict[bytes, int] = field(default_factory=dict)
    lost: dict[bytes, LostMedium] = field(default_factory=dict)

    def parts(self, target_id: str) -> Sequence[str]:
        """What goes along: a turn log names its thread, and reading derives it again where it is left out."""
        return whole.PARTS if target_id == self.outline.thread_id else [part for part in whole.PARTS if part != "turns"]

    def copy(self, target_id: str, key: bytes) -> Moves[None]:
        """Send all pages; readers of the target see nothing before the last one is there.

        Raises:
            MediaStoreError: the target's external store does not take what the source's gave.
        """
        core, parts = self.target._core, self.parts(target_id)
        head = self.outline.head if "turns" in parts else self.outline.head.without_turn_log()
        load = yield Run(self.target, whole.begin_load(core, target_id, head, key=key))
        for wanted in self.outline.steps(parts):
            page = yield Run(self.source, paged.read_pages(self.source._core, self.outline, wanted))
            if "media" in page:
                page["media"] = yield from self._carried(load, page["media"])
            yield Run(self.target, whole.stage(core, load, page))
        yield Run(self.target, whole.commit(core, load))

    @property
    def _where(self) -> str:
        return f"thread {self.outline.thread_id!r}"

    def _view(self) -> ThreadView:
        head = self.outline.head
        return self.source._core.view_of(head.generation, head.key, self.outline.thread_id)

    def _carried(self, load: whole.Load, page: Mapping[bytes, bytes]) -> Moves[dict[bytes, bytes]]:
        """Bring along the media of which some fields of the media table say that a store has them."""
        records = carrying.records_of(self._view(), page, self._where)
        here = {name: record for name, record in records.items() if name in self.outline.sizes["blobs"]}
        self.rewritten.update(carrying.in_thread(self._view(), here))
        absent = {name: record for name, record in records.items() if name not in here}
        self.lost.update(carrying.absent_from_thread(absent))
        elsewhere = {name: record for name, record in absent.items() if carrying.is_elsewhere(record)}
        for batch in carrying.batches_of(elsewhere):
            yield from self._carry(load, batch)
        return {**page, **{name: self.rewritten[name] for name in page if name in self.rewritten}}

    def _carry(self, load: whole.Load, records: carrying.Records) -> Moves[None]:
        core, view = self.target._core, self._view()
        shared = yield Run(self.target, carrying.fetch_elsewhere(core, view, records, self._where))
        left = {name: records[name] for name in shared.lost}
        had = yield Run(self.source, carrying.fetch_elsewhere(self.source._core, view, left, self._where))
        self.lost.update(had.lost)
        kept: carrying.Kept = yield Run(self.target, carrying.keep(core, view, records, had.data))
        self.rewritten.update(kept.records)
        self.brought.update((name, len(data)) for name, data in kept.blobs.items())
        if kept.blobs:
            yield Run(self.target, whole.stage(core, load, {"blobs": kept.blobs}))

    def differing(self, target_id: str) -> Moves[list[str]]:
        """Compare what the target holds now with what was sent; say which parts differ.

        Items and blobs are compared byte for byte, what a graph at work may change by the SHA-1 of then. Media are
        checked against their digests; those that cannot be read are noted as lost.
        """
        copy = yield Run(self.target, paged.outline_thread(self.target._core, target_id))
        if copy is None:
            return list(self.parts(target_id))
        differing = []
        for part in self.parts(target_id):
            if not (yield from self._is_same(part, copy)):
                differing.append(part)
        yield from self._check_carried(target_id)
        return differing

    def _is_same(self, part: str, copy: paged.Outline) -> Moves[bool]:
        if part not in ("items", "blobs"):
            changed = self.rewritten if part == "media" else {}
            sizes = {**self.outline.sizes[part], **{name: len(data) for name, data in changed.items()}}
            marks = {**self.outline.marks[part], **{name: _mark(data) for name, data in changed.items()}}
            return copy.sizes[part] == sizes and copy.marks[part] == marks
        brought = self.brought if part == "blobs" else {}
        if copy.sizes[part] != {**self.outline.sizes[part], **brought}:
            return False
        for names in self.outline.pages(part):
            there = yield Run(self.source, paged.read_page(self.source._core, self.outline, part, names))
            here = yield Run(self.target, paged.read_page(self.target._core, copy, part, names))
            if here != there:
                return False
            if part == "blobs":
                self._check_blobs(here)
        return True

    def _check_blobs(self, blobs: Mapping[bytes, bytes]) -> None:
        """Note blobs that are not what their names say, in the source as in the copy."""
        for name, data in blobs.items():
            try:
                open_blob(self._view(), name, data, where=self._where)
            except CorruptRecordError as error:
                self.lost[name] = LostMedium({}, error.reason)

    def _check_carried(self, target_id: str) -> Moves[None]:
        """Read what was brought along back from where the target keeps it."""
        if self.rewritten:
            core = self.target._core.stranger()
            check: Program[dict[bytes, LostMedium]] = carrying.unreadable_media(
                core, target_id, wanted=self.rewritten.__contains__
            )
            self.lost.update((yield Run(self.target, check)))


def _mark(data: bytes) -> bytes:
    return sha1(data, usedforsecurity=False).hexdigest().encode()
