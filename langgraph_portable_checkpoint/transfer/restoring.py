"""restore: the threads of a backup, put back.

The whole file is read first and checked, the ids against the target included, before anything is written. Threads go
one at a time and a page at a time. What is encrypted needs the serde that it was written with.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import CorruptRecordError, ThreadExistsError
from ..saver import PortableRedisSaver
from ..storage.items import digest_of
from ..storage.layout import checked_id
from ..storage.programs import carrying, whole
from .backed_up_media import Arrival, mend
from .backup import Source
from .compact import Numbers
from .copy_report import Difference, Outcome
from .copying import OnExisting, OnProgress, Progress, check_policy, new_names
from .frames import DATA, THREAD, THREAD_END, TRAILER, Frame, FrameReader
from .media_losses import as_differences
from .overwriting import Overwriting
from .steps import Moves, Run, drive


@dataclass(slots=True)
class RestoreReport:
    """What a restore did.

    Attributes:
        restored, unchanged, skipped: Threads written, there already with the same checkpoints, and left alone.
        checkpoints: How many were written.
        blobs_left_out: Media that the backup names and does not hold, in the threads written.
        media_mended: Media that threads which were there could not read any more, and can now.
        lost: Media of threads written, or there already, that cannot be read here and are not in the backup: with the
            oldest checkpoint that holds each, and why.
        renamed: Thread id in the backup -> thread id here, where they differ.
    """

    restored: int = 0
    unchanged: int = 0
    skipped: int = 0
    checkpoints: int = 0
    blobs_left_out: int = 0
    media_mended: int = 0
    lost: list[Difference] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)


def restore(
    saver: PortableRedisSaver,
    file: Source,
    *,
    on_existing: OnExisting = "refuse",
    progress: OnProgress | None = None,
) -> RestoreReport:
    """Write the threads of a backup. All of the file is checked before anything is written.

    Media that were in an external store go where this saver keeps media. Each thread appears at once, whole. Called
    again after a crash, it goes on where it stopped. Threads that are there and stay are left as they are, but for
    media of the backup that they name and cannot read any more: these are put back.

    Args:
        file: A path, or an open binary file that can be read twice.
        on_existing: What to do where another thread of that id exists; see `copy_threads`.

    Raises:
        CorruptRecordError: not a backup, cut off or altered; or encrypted with another key. Nothing was written.
        FutureVersionError: made by a later version.
        ThreadExistsError: on_existing is "refuse" and a thread exists with other checkpoints.
        ThreadExistsError, TurnInProgressError: on_existing is "overwrite", and the thread was written meanwhile, or
            someone else holds it; it was left alone.
    """
    check_policy(on_existing)
    with _read_from(file) as (opened, name):
        start = opened.tell()
        checked = _checked(saver, FrameReader(opened, name), name, on_existing)
        opened.seek(start)
        report = RestoreReport()
        arriving = _threads(FrameReader(opened, name), name)
        for done, (thread, places) in enumerate(zip(arriving, checked, strict=True), 1):
            _restore_thread(saver, thread, places, on_existing, report)
            if progress is not None:
                progress(Progress(done, len(checked), thread.thread_id))
    return report


@contextmanager
def _read_from(file: Source) -> Iterator[tuple[BinaryIO, str]]:
    if not isinstance(file, str | os.PathLike):
        yield file, str(getattr(file, "name", "given"))
        return
    with Path(file).open("rb") as opened:
        yield opened, str(file)


@dataclass(frozen=True, slots=True)
class _Places:
    """Which checkpoints a thread of the file has."""

    count: int
    digest: bytes

    @classmethod
    def of(cls, names: Iterable[bytes]) -> _Places:
        """Take the names of all of them."""
        named = sorted(set(names))
        return cls(len(named), blake2b(b"\xff".join(named), digest_size=16).digest())  # no id has this byte


def _checked(saver: PortableRedisSaver, reader: FrameReader, name: str, on_existing: OnExisting) -> list[_Places]:
    """Read the whole file; say for each of its threads which checkpoints it has."""
    checked: list[_Places] = []
    foreign: list[str] = []
    stranger = saver._core.stranger()
    for thread in _threads(reader, name):
        places = _Places.of(place for page in thread for place in page.get("ckpts", ()))
        checked.append(places)
        stranger.view_of(b"", thread.head.key, thread.thread_id)  # raises when this saver cannot open the thread
        if on_existing == "refuse" and not _is_new(saver, thread.thread_id, places):
            foreign.append(thread.thread_id)
    if foreign:
        shown = ", ".join(map(repr, foreign[:3])) + (", ..." if len(foreign) > 3 else "")
        raise ThreadExistsError(
            f"{len(foreign)} threads of the backup exist already with other checkpoints ({shown}). Nothing was "
            'restored. Choose on_existing="skip", "overwrite" or "as-new".'
        )
    return checked


def _is_new(saver: PortableRedisSaver, thread_id: str, places: _Places) -> bool:
    present = saver._run(whole.places_of(saver._core, thread_id))
    return not present or _Places.of(present) == places


def _threads(reader: FrameReader, name: str) -> Iterator[_Arriving]:
    """Read the threads of a backup. Each must be read to its end before the next."""
    count, frames = 0, iter(reader)
    for frame in frames:
        with _told_by(name):
            if frame.type == TRAILER and frame.value["threads"] == count:
                continue
            if frame.type != THREAD:
                raise ValueError("frames are not in order")
            thread = _Arriving(frame.value, frames, name)
        yield thread
        if not thread.has_ended:
            raise AssertionError("a thread was not read to its end")
        count += 1


@contextmanager
def _told_by(name: str) -> Iterator[None]:
    """Tell of frames that hold something else than they should."""
    try:
        yield
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, CorruptRecordError):
            raise
        raise CorruptRecordError("backup", where=f"file {name!r}", reason=f"its frames do not fit ({error})") from error


Page = dict[str, dict[bytes, bytes]]
"""Part -> field -> value."""


class _Arriving:
    """A thread of which frames come in: iterating gives its pages, once.

    Attributes:
        blobs_left_out: How many of its media the backup does not hold, once it has ended.
    """

    def __init__(self, head: Mapping[str, Any], frames: Iterator[Frame], name: str) -> None:
        self.thread_id = checked_id("thread_id", head["thread_id"])
        self.head = whole.StoredThread(
            generation=b"",
            key=_bytes(head["key"]),
            ttl=_bytes(head["ttl"]),
            log_place=_bytes(head["log_place"]),
            log_turns=_bytes(head["log_turns"]),
            runs=tuple(_bytes(run) for run in head["runs"]),
        )
        self.has_begun = False
        self.has_ended = False
        self.blobs_left_out = 0
        self._frames = frames
        self._name = name
        self._numbers = Numbers()
        self._counts: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Page]:
        self.has_begun = True
        for frame in self._frames:
            with _told_by(self._name):
                if frame.type == THREAD_END:
                    self._end(frame.value)
                    return
                if frame.type != DATA:
                    raise ValueError("frames are not in order")
                page = self._taken(frame.value)
            yield page

    def _end(self, value: Mapping[str, Any]) -> None:
        if self._counts.total() != value["fields"]:
            raise ValueError(f"thread {self.thread_id!r} has other fields than counted")
        self.blobs_left_out = value["blobs"] - self._counts["blobs"]
        self.has_ended = True

    def _taken(self, value: Iterable[tuple[str, list[Any]]]) -> Page:
        page: Page = {}
        for part, flat in value:
            if part not in whole.PARTS:
                raise ValueError(f"there is no part {part!r:.40}")
            page[part] = self._fields(part, flat)
            self._counts[part] += len(page[part])
        return page

    def _fields(self, part: str, flat: list[Any]) -> dict[bytes, bytes]:
        fields: dict[bytes, bytes] = {}
        numbers = self._numbers
        expands = {"writes": numbers.expand_frames, "turns": numbers.expand_text}
        expand = expands.get(part, numbers.expand)
        for name, shrunk in zip(flat[::2], flat[1::2], strict=True):
            data = _bytes(expand(shrunk))
            digest = digest_of(data, b"") if name is None else _bytes(name)
            fields[digest] = data
            if part in ("blobs", "items"):
                numbers.add(digest)
        return fields


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} where bytes belong")
    return value


def _restore_thread(
    saver: PortableRedisSaver, thread: _Arriving, places: _Places, on_existing: OnExisting, report: RestoreReport
) -> None:
    target_id, outcome = _settled(saver, thread.thread_id, places, on_existing)
    if target_id != thread.thread_id:
        report.renamed[thread.thread_id] = target_id
    if outcome != "copied":
        _mend(saver, thread, target_id, outcome, report)
        return
    if on_existing == "overwrite" and saver._run(whole.places_of(saver._core, target_id)):
        absent = _load_over(saver, thread, places)
    else:
        absent = _load(saver, thread, target_id)
    report.lost += drive(_lost_of(saver, target_id, absent))
    report.restored += 1
    report.checkpoints += places.count
    report.blobs_left_out += thread.blobs_left_out


def _mend(
    saver: PortableRedisSaver, thread: _Arriving, target_id: str, outcome: Outcome, report: RestoreReport
) -> None:
    """Leave a thread that is there as it is, but for media that it cannot read and the backup has."""
    report.skipped += outcome == "skipped"
    report.unchanged += outcome == "unchanged"
    try:
        mended, lost = mend(saver, target_id, thread, head=thread.head, own_id=thread.thread_id)
    except CorruptRecordError:
        if outcome == "unchanged" or thread.has_begun:
            raise
        for _ in thread:  # another thread of that id, which this saver cannot open
            pass
        return
    report.media_mended += mended
    if outcome == "unchanged":
        report.lost += drive(as_differences(saver, target_id, lost))


def _settled(
    saver: PortableRedisSaver, thread_id: str, places: _Places, on_existing: OnExisting
) -> tuple[str, Outcome]:
    """Decide under which id a thread goes, and whether."""
    present = saver._run(whole.places_of(saver._core, thread_id))
    if present and _Places.of(present) == places:
        return thread_id, "unchanged"
    if not present or on_existing == "overwrite":
        return thread_id, "copied"
    if on_existing == "skip":
        return thread_id, "skipped"
    if on_existing == "refuse":
        raise ThreadExistsError(f"thread {thread_id!r} has been written in the target meanwhile.")
    target_id = next(name for name in new_names(thread_id) if _is_new(saver, name, places))
    there = saver._run(whole.places_of(saver._core, target_id))
    return target_id, "unchanged" if there else "copied"


def _lost_of(saver: PortableRedisSaver, thread_id: str, absent: Mapping[bytes, None]) -> Moves[list[Difference]]:
    """Look for media that did not come along where this saver would read them; say which are not there."""
    if not absent:
        return []
    check = carrying.unreadable_media(saver._core.stranger(), thread_id, wanted=absent.__contains__)
    lost = yield Run(saver, check)
    return (yield from as_differences(saver, thread_id, lost))


def _load_over(saver: PortableRedisSaver, thread: _Arriving, places: _Places) -> Mapping[bytes, None]:
    """Put a thread in the place of the one that is there, which stays until the new one is whole."""
    over = Overwriting.of(saver, thread.thread_id)
    before = saver._run(over.begin())
    absent = _load(over.staged, thread, thread.thread_id)
    saver._run(over.swap(before, checkpoints=places.count, ttl=thread.head.ttl))
    return absent


def _load(saver: PortableRedisSaver, thread: _Arriving, target_id: str) -> Mapping[bytes, None]:
    """Write a thread; return the names of the media whose bytes did not come along."""
    core, renamed = saver._core, target_id != thread.thread_id
    key = core.reseal_key(thread.head.key, thread.thread_id, target_id)
    head = thread.head.without_turn_log() if renamed else thread.head
    load = saver._run(whole.begin_load(core, target_id, head, key=key))
    media = Arrival(saver, thread.thread_id, thread.head.key)
    for page in thread:
        if renamed:
            page.pop("turns", None)
        saver._run(whole.stage(core, load, media.settled(page)))
    saver._run(whole.stage(core, load, media.rest()))
    saver._run(whole.commit(core, load))
    return media.absent
