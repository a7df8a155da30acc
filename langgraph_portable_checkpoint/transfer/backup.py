"""backup: threads as they are stored, in one file.

Threads go one at a time and a page at a time, so memory holds the names of one thread's parts and a few pages. What is
encrypted stays encrypted. `restoring.restore` puts them back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, cast, get_args

from ..errors import ThreadNotFoundError
from ..saver import PortableRedisSaver
from ..storage.items import digest_of
from ..storage.layout import LAYOUT_VERSION, checked_id
from ..storage.programs import paged
from .backed_up_media import Elsewhere
from .compact import Numbers, Shrunk, by_number, by_time, items_in_order
from .copy_report import Difference
from .copying import OnProgress, Progress
from .frames import DATA, FORMAT, HEADER, THREAD, THREAD_END, TRAILER, FrameWriter
from .inventory import inventory_of
from .media_losses import as_differences
from .steps import drive
from .whole_file import whole_file

Media = Literal["include", "own", "reference"]
FRAME_BYTES: Final = 1024 * 1024
"""Fields are put together into frames of about this size."""
Source = str | os.PathLike[str] | BinaryIO


@dataclass(frozen=True, slots=True)
class BackupReport:
    """What a backup holds, and its size.

    Attributes:
        lost: Media that it should hold and does not, since they cannot be read: with the oldest checkpoint that holds
            each, and why.
    """

    threads: int
    checkpoints: int
    size_bytes: int
    lost: tuple[Difference, ...] = ()


def backup(
    saver: PortableRedisSaver,
    file: Source,
    threads: Iterable[str] | None = None,
    *,
    media: Media = "include",
    progress: OnProgress | None = None,
) -> BackupReport:
    """Write threads to one file. Each thread is as it was at one moment; the file appears only once it is whole.

    Args:
        file: A path, or an open binary file.
        threads: Thread ids; all under the saver's prefix by default.
        media: "include" the bytes of media, also those that the external media store has; include only the threads'
            "own", which are kept in Redis; or only "reference" them. What is not included is still named.
        progress: Called after each thread.

    Raises:
        ThreadNotFoundError: a named thread does not exist. OSError: the file cannot be written; none is left behind.
    """
    if media not in get_args(Media):
        raise ValueError(f"media is {media!r}; use one of {', '.join(get_args(Media))}")
    named = None if threads is None else list(dict.fromkeys(checked_id("thread_id", name) for name in threads))
    names = drive(inventory_of(saver).threads()) if named is None else named
    with _written(file) as out:
        writer = FrameWriter(out)
        writer.write(HEADER, _header(media))
        threads_written = checkpoints = 0
        lost: list[Difference] = []
        for done, thread_id in enumerate(names, 1):
            written = _write_steadily(writer, saver, thread_id, media, lost)
            if written is None and named is not None:
                raise ThreadNotFoundError(f"thread {thread_id!r} does not exist, so it cannot be backed up.")
            threads_written += written is not None
            checkpoints += written or 0
            if progress is not None:
                progress(Progress(done, len(names), thread_id))
        writer.write(TRAILER, {"threads": threads_written, "frames": writer.frames})
        return BackupReport(threads_written, checkpoints, writer.size_bytes, tuple(lost))


def _header(media: Media) -> dict[str, Any]:
    created_at = datetime.now(UTC).isoformat()
    return {"format": FORMAT, "layout": LAYOUT_VERSION, "media": media, "created_at": created_at}


@contextmanager
def _written(file: Source) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its name only when all went well."""
    if not isinstance(file, str | os.PathLike):
        yield file
        return
    with whole_file(Path(file)) as out:
        yield cast(BinaryIO, out)


def _write_steadily(
    writer: FrameWriter, saver: PortableRedisSaver, thread_id: str, media: Media, lost: list[Difference]
) -> int | None:
    """Write a thread as it is at one moment; return how many checkpoints it has, None when there is no such thread."""
    for read in paged.OUTLINES:
        with suppress(paged.ThreadChangedError):
            outline = saver._run(read(saver._core, thread_id))
            if outline is None:
                return None
            elsewhere = Elsewhere(saver, outline)
            with writer.whole():
                _write_thread(writer, _Pages(saver, outline), media, elsewhere)
            missing, opens = {} if media == "reference" else elsewhere.lost, elsewhere.view is not None
            lost += drive(as_differences(saver, thread_id, missing, opens=opens))
            return len(outline.sizes["ckpts"])
    raise AssertionError("unreachable: the last outline holds all")


@dataclass(frozen=True, slots=True)
class _Pages:
    """A thread as it is read."""

    saver: PortableRedisSaver
    outline: paged.Outline

    def read(self, part: str, names: list[bytes]) -> dict[bytes, bytes]:
        """Read some fields."""
        return self.saver._run(paged.read_page(self.saver._core, self.outline, part, names))

    def of(self, part: str, names: Iterable[bytes] | None = None) -> Iterator[dict[bytes, bytes]]:
        """Read a part page by page."""
        return (self.read(part, page) for page in self.outline.pages(part, names))

    def fields(self, part: str) -> Iterator[tuple[bytes, bytes]]:
        """Read a part in the order in which it compresses best."""
        names = self.outline.sizes[part]
        if part == "items":
            records = self.of("ckpts", sorted(self.outline.sizes["ckpts"], key=by_time))
            return items_in_order(self.outline, records, lambda some: self.read("items", some))
        order = {"ckpts": by_time, "writes": by_time, "turns": by_number}.get(part)
        return (field for page in self.of(part, sorted(names, key=order) if order else names) for field in page.items())


def _write_thread(writer: FrameWriter, pages: _Pages, media: Media, elsewhere: Elsewhere) -> None:
    stored = pages.outline.head
    head = {
        "thread_id": pages.outline.thread_id,
        "key": stored.key,
        "ttl": stored.ttl,
        "log_place": stored.log_place,
        "log_turns": stored.log_turns,
        "runs": list(stored.runs),
    }
    writer.write(THREAD, head)
    fields = size = 0
    frame: list[list[Any]] = []
    for part, values in _parts_of(pages, media, elsewhere):
        frame.append([part, []])
        for name, shrunk, size_bytes in values:
            frame[-1][1] += (name, shrunk)
            fields, size = fields + 1, size + size_bytes
            if size > FRAME_BYTES:
                writer.write(DATA, frame)
                frame, size = [[part, []]], 0
    writer.write(DATA, frame)
    blobs = len(pages.outline.sizes["blobs"]) + len(elsewhere.records)
    writer.write(THREAD_END, {"fields": fields, "blobs": blobs})


Field = tuple[bytes | None, Shrunk, int]
"""Name (None: the digest of the value), value, and its size as stored."""


def _parts_of(pages: _Pages, media: Media, elsewhere: Elsewhere) -> Iterator[tuple[str, Iterator[Field]]]:
    """List the parts of a thread. Media table records come first: they tell which of the blobs were in a store."""
    numbers, key = Numbers(), pages.outline.head.key
    yield "media", _noted(pages, elsewhere)
    yield "blobs", _numbered(_blobs(pages, media, elsewhere), key, numbers, numbers.keep)
    yield "items", _numbered(pages.fields("items"), key, numbers, numbers.shrink)
    shrinks = {"ckpts": numbers.shrink, "writes": numbers.shrink_frames}
    for part in ("ckpts", "writes", "turns"):
        shrink = shrinks.get(part, numbers.shrink_text)
        yield part, ((name, shrink(data), len(data)) for name, data in pages.fields(part))


def _noted(pages: _Pages, elsewhere: Elsewhere) -> Iterator[Field]:
    for page in pages.of("media"):
        elsewhere.note(page)
        yield from ((name, data, len(data)) for name, data in page.items())


def _blobs(pages: _Pages, media: Media, elsewhere: Elsewhere) -> Iterator[tuple[bytes, bytes]]:
    if media != "reference":
        yield from pages.fields("blobs")
    if media == "include":
        yield from elsewhere.fields()


def _numbered(
    values: Iterable[tuple[bytes, bytes]], key: bytes, numbers: Numbers, shrink: Callable[[bytes], Shrunk]
) -> Iterator[Field]:
    for digest, data in values:
        nameless = not key and digest_of(data, b"") == digest
        yield None if nameless else digest, shrink(data), len(data)
        numbers.add(digest)
