"""The media of threads that are copied checkpoint by checkpoint: none is left behind, or becomes a text.

A read gives a text in the place of a medium that cannot be had. Such a text is for whoever reads; copied, it would be
what somebody said. So a thread of ours is copied this way only where all of its media can be read. Other savers have no
media apart from their values.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..media.table import Upload
from ..saver import PortableRedisSaver
from ..storage.known import Flats
from ..storage.programs import carrying
from ..storage.programs import media_table as programs
from ..storage.programs.carrying import LostMedium
from ..storage.programs.media_places import first_places
from ..storage.programs.media_table import StoredMedia
from ..storage.view import Views
from ..upload_notes import Uploaded, told_uploads
from .copy_report import CopyReport
from .media_losses import NOWHERE, as_differences, described, told_losses
from .steps import Moves, Place, Run, Saver

Lost = Mapping[bytes, LostMedium]


@dataclass(slots=True)
class Heard:
    """What reads of a source could not get since it was asked last."""

    entries: list[dict[str, Any]] = field(default_factory=list)

    def taken(self) -> list[LostMedium]:
        """Return it, and forget it."""
        heard, self.entries = self.entries, []
        return [LostMedium(entry, str(entry.get("detail") or entry.get("reason"))) for entry in heard]


def listening(saver: Saver, heard: Heard) -> Saver:
    """Return a twin of a saver of ours, on the same connections and caches, that tells which media it did not get."""
    if not isinstance(saver, PortableRedisSaver):
        return saver
    twin, core = copy.copy(saver), saver._core

    def hear(entry: dict[str, Any]) -> None:
        heard.entries.append(entry)
        if core.on_lost is not None:
            core.on_lost(entry)

    twin._core = replace(core, views=Views(), flats=Flats(), on_lost=hear)
    return twin


class CopiedMedia:
    """The media of one copy.

    Attributes:
        source: The saver to read from.
        heard: What reads of it did not get.
    """

    def __init__(self, source: Saver, target: Saver, report: CopyReport) -> None:
        self.heard = Heard()
        self.source = listening(source, self.heard)
        self.target = target
        self.report = report

    def are_lost(self, source_id: str, target_id: str) -> Moves[bool]:
        """Read all media of a thread; tell, and report, whether some cannot be had.

        Bytes of uploads count where the target can keep them.
        """
        if not isinstance(self.source, PortableRedisSaver):
            return False
        core = self.source._core
        lost = yield Run(self.source, carrying.unreadable_media(core, source_id))
        if lost and not isinstance(self.target, PortableRedisSaver):
            held = yield Run(self.source, first_places(core, source_id, lost))
            lost = {name: one for name, one in lost.items() if name in held}
        self.heard.taken()
        yield from self.note(source_id, target_id, lost)
        return bool(lost)

    def note(self, source_id: str, target_id: str, lost: Lost) -> Moves[None]:
        """Report media that cannot be had, with where they stand in the source and why."""
        if lost and isinstance(self.source, PortableRedisSaver):
            for place, detail in (yield from told_losses(self.source, source_id, lost)):
                self.report.note(target_id, place, detail)

    def tell_heard(self, target_id: str, place: Place = NOWHERE) -> bool:
        """Report media that a read of the source did not get; tell whether there were any."""
        heard = self.heard.taken()
        for one in heard:
            self.report.note(target_id, place, f"media: {described(one)}")
        return bool(heard)

    def make_good(self, source_id: str, target_id: str) -> Moves[tuple[int, Lost]]:
        """Keep media anew that a thread of the target names and cannot read any more, or could never.

        Returns:
            How many were kept, and those that the target still cannot read, by their names there.
        """
        source, target = self.source, self.target
        if not isinstance(source, PortableRedisSaver) or not isinstance(target, PortableRedisSaver):
            return 0, {}
        core = target._core.stranger()
        lost = yield Run(target, carrying.unreadable_media(core, target_id))
        left = dict(lost)
        there = (yield Run(source, programs.read_media(source._core, source_id))) if lost else None
        for name in there.records if there is not None else ():
            data = yield Run(source, programs.fetch_blob(source._core, source_id, name))
            if isinstance(data, bytes):
                left.pop((yield Run(target, carrying.keep_lost(core, target_id, data, left, known_as=name))), None)
            if not left:
                break
        return len(lost) - len(left), left

    def complete(self, source_id: str, target_id: str) -> Moves[bool]:
        """Bring media that a thread of the target with all checkpoints lacks; report those that cannot be had.

        Returns:
            Whether any were brought.
        """
        brought, left = yield from self.make_good(source_id, target_id)
        self.heard.taken()
        if left and isinstance(self.target, PortableRedisSaver):
            self.report.differences += yield from as_differences(self.target, target_id, left)
        return bool(brought)

    def follow(self, source_id: str, target_id: str) -> Moves[None]:
        """Bring along what the media table knows beyond messages: uploads, with their bytes, and the report.

        What the target has already stays, so it may be done again. Two round trips where there is nothing to do.

        Raises:
            CorruptRecordError: what one of the threads tells of uploads is not what it should be.
        """
        source, target = self.source, self.target
        if not isinstance(source, PortableRedisSaver):
            return
        if self.heard.entries:
            yield from self.are_lost(source_id, target_id)
        there = yield Run(source, programs.read_media(source._core, source_id))
        uploads = told_uploads(there, f"thread {source_id!r}") if there is not None else []
        if there is None or not (there.reports or uploads):
            return
        if not isinstance(target, PortableRedisSaver):
            self.report.uploads_left_out += sum(len(one.record.uploads) for one in uploads)
            return
        here = yield Run(target, programs.read_media(target._core, target_id))
        if here is not None:
            reports = [report for report in there.reports if report not in here.reports]
            lost = yield from _Followers(source, source_id, target, target_id).all_of(uploads, reports, here)
            yield from self.note(source_id, target_id, lost)


@dataclass(frozen=True, slots=True)
class _Followers:
    """What follows a thread from one saver of ours to another."""

    source: PortableRedisSaver
    source_id: str
    target: PortableRedisSaver
    target_id: str

    def all_of(
        self, uploads: Iterable[Uploaded], reports: Sequence[Mapping[str, Any]], here: StoredMedia
    ) -> Moves[Lost]:
        """Bring along what one media table has and the other lacks; return media of uploads that cannot be had."""
        ours = told_uploads(here, f"thread {self.target_id!r}")
        known = {upload.uri: upload for one in ours for upload in one.record.uploads}
        whole = {upload.uri for one in ours if one.name is not None for upload in one.record.uploads}
        lost: dict[bytes, LostMedium] = {}
        for one in uploads:
            there_already = whole if one.name is not None else known
            missing = [upload for upload in one.record.uploads if upload.uri not in there_already]
            if missing:
                lost.update((yield from self._uploads(one, [known.get(each.uri, each) for each in missing])))
        if reports:
            write = programs.write_media(self.target._core, self.target_id, records={}, reports=reports)
            yield Run(self.target, write)
        return lost

    def _uploads(self, one: Uploaded, uploads: Iterable[Upload]) -> Moves[Lost]:
        core, found, lost, name, record = self.source._core, None, {}, one.name, one.record
        if name is not None:
            check = carrying.unreadable_media(core, self.source_id, wanted=name.__eq__)
            lost = yield Run(self.source, check)
            found = yield Run(self.source, programs.fetch_blob(core, self.source_id, name))
        data = found if isinstance(found, bytes) else None
        for upload in uploads:
            note = self.target._record(self.target_id, upload, data, record.mime_type, known_sha256=record.sha256)
            yield Run(self.target, note)
        return lost
