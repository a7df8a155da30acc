"""backup and restore: threads as they are stored, in one file.

Threads go one at a time, so memory holds one thread at most. What is encrypted stays encrypted; a restore needs the
same serde. A restore reads the whole file first and checks all of it, the ids against the target included, before it
writes.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal

from ..errors import CorruptRecordError, ThreadExistsError, ThreadNotFoundError
from ..saver import PortableRedisSaver
from ..storage.items import digest_of
from ..storage.layout import LAYOUT_VERSION, checked_id
from ..storage.programs import whole
from .compact import Numbers, Shrunk, in_order
from .copying import OnExisting, OnProgress, Outcome, Progress, check_policy, new_names
from .frames import DATA, FORMAT, HEADER, THREAD, THREAD_END, TRAILER, FrameReader, FrameWriter
from .inventory import inventory_of
from .steps import drive

Media = Literal["include", "reference"]
FRAME_BYTES: Final = 1024 * 1024
"""Fields are put together into frames of about this size."""
Source = str | os.PathLike[str] | BinaryIO


@dataclass(frozen=True, slots=True)
class BackupReport:
    """What a backup holds, and its size."""

    threads: int
    checkpoints: int
    size_bytes: int


@dataclass(slots=True)
class RestoreReport:
    """What a restore did.

    Attributes:
        restored, unchanged, skipped: Threads written, there already with the same checkpoints, and left alone.
        checkpoints: How many were written.
        blobs_left_out: Media that the backup names and does not hold, in the threads written.
        renamed: Thread id in the backup -> thread id here, where they differ.
    """

    restored: int = 0
    unchanged: int = 0
    skipped: int = 0
    checkpoints: int = 0
    blobs_left_out: int = 0
    renamed: dict[str, str] = field(default_factory=dict)


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
        media: "include" the blobs that are kept in Redis, or only "reference" them.
        progress: Called after each thread.

    Raises:
        ThreadNotFoundError: a named thread does not exist. OSError: the file cannot be written; none is left behind.
    """
    if media not in ("include", "reference"):
        raise ValueError(f'media is {media!r}; use "include" or "reference"')
    named = None if threads is None else list(dict.fromkeys(checked_id("thread_id", name) for name in threads))
    names = drive(inventory_of(saver).threads()) if named is None else named
    with _written(file) as out:
        writer = FrameWriter(out)
        writer.write(HEADER, _header(media))
        threads_written = checkpoints = 0
        for done, thread_id in enumerate(names, 1):
            stored = saver._run(whole.dump_thread(saver._core, thread_id))
            if stored is None and named is not None:
                raise ThreadNotFoundError(f"thread {thread_id!r} does not exist, so it cannot be backed up.")
            if stored is not None:
                _write_thread(writer, thread_id, stored, media)
                threads_written += 1
                checkpoints += len(stored.ckpts)
            if progress is not None:
                progress(Progress(done, len(names), thread_id))
        writer.write(TRAILER, {"threads": threads_written, "frames": writer.frames})
        return BackupReport(threads_written, checkpoints, writer.size_bytes)


def _header(media: Media) -> dict[str, Any]:
    created_at = datetime.now(UTC).isoformat()
    return {"format": FORMAT, "layout": LAYOUT_VERSION, "media": media, "created_at": created_at}


@contextmanager
def _written(file: Source) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its name only when all went well."""
    if not isinstance(file, str | os.PathLike):
        yield file
        return
    path = Path(file)
    handle, part = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        Path(part).replace(path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def _write_thread(writer: FrameWriter, thread_id: str, stored: whole.StoredThread, media: Media) -> None:
    head = {
        "thread_id": thread_id,
        "key": stored.key,
        "ttl": stored.ttl,
        "log_place": stored.log_place,
        "log_turns": stored.log_turns,
        "runs": list(stored.runs),
    }
    writer.write(THREAD, head)
    fields = size = 0
    frame: list[list[Any]] = []
    for part, values in _parts_of(stored, media):
        frame.append([part, []])
        for name, shrunk, size_bytes in values:
            frame[-1][1] += (name, shrunk)
            fields, size = fields + 1, size + size_bytes
            if size > FRAME_BYTES:
                writer.write(DATA, frame)
                frame, size = [[part, []]], 0
    writer.write(DATA, frame)
    writer.write(THREAD_END, {"fields": fields, "blobs": len(stored.blobs)})


Field = tuple[bytes | None, Shrunk, int]
"""Name (None: the digest of the value), value, and its size as stored."""


def _parts_of(stored: whole.StoredThread, media: Media) -> Iterator[tuple[str, Iterator[Field]]]:
    numbers, parts = Numbers(), in_order(stored)
    yield "blobs", _numbered({} if media == "reference" else parts["blobs"], stored, numbers, numbers.keep)
    yield "items", _numbered(parts["items"], stored, numbers, numbers.shrink)
    shrinks = {"media": numbers.keep, "ckpts": numbers.shrink, "writes": numbers.shrink_frames}
    for part in ("media", "ckpts", "writes", "turns"):
        shrink = shrinks.get(part, numbers.shrink_text)
        yield part, ((name, shrink(data), len(data)) for name, data in parts[part].items())


def _numbered(
    values: Mapping[bytes, bytes], stored: whole.StoredThread, numbers: Numbers, shrink: Callable[[bytes], Shrunk]
) -> Iterator[Field]:
    for digest, data in values.items():
        nameless = not stored.key and digest_of(data, b"") == digest
        yield None if nameless else digest, shrink(data), len(data)
        numbers.add(digest)


def restore(
    saver: PortableRedisSaver,
    file: Source,
    *,
    on_existing: OnExisting = "refuse",
    progress: OnProgress | None = None,
) -> RestoreReport:
    """Write the threads of a backup. All of the file is checked before anything is written.

    Each thread appears at once, whole. Called again after a crash, it goes on where it stopped: threads with the same
    checkpoints are left as they are.

    Args:
        file: A path, or an open binary file that can be read twice.
        on_existing: What to do where another thread of that id exists; see `copy_threads`.

    Raises:
        CorruptRecordError: not a backup, cut off or altered; or encrypted with another key. Nothing was written.
        FutureVersionError: made by a later version.
        ThreadExistsError: on_existing is "refuse" and a thread exists with other checkpoints.
    """
    check_policy(on_existing)
    with _read_from(file) as (opened, name):
        start = opened.tell()
        count = _checked(saver, FrameReader(opened, name), name, on_existing)
        opened.seek(start)
        report = RestoreReport()
        for done, (thread_id, stored, blobs) in enumerate(_threads(FrameReader(opened, name), name), 1):
            outcome = _restore_thread(saver, thread_id, stored, on_existing, report)
            if outcome == "copied":
                report.restored += 1
                report.checkpoints += len(stored.ckpts)
                report.blobs_left_out += blobs - len(stored.blobs)
            elif outcome == "skipped":
                report.skipped += 1
            else:
                report.unchanged += 1
            if progress is not None:
                progress(Progress(done, count, thread_id))
    return report


@contextmanager
def _read_from(file: Source) -> Iterator[tuple[BinaryIO, str]]:
    if not isinstance(file, str | os.PathLike):
        yield file, str(getattr(file, "name", "given"))
        return
    with Path(file).open("rb") as opened:
        yield opened, str(file)


def _checked(saver: PortableRedisSaver, reader: FrameReader, name: str, on_existing: OnExisting) -> int:
    """Read the whole file; count its threads."""
    count = 0
    foreign: list[str] = []
    stranger = saver._core.with_codec(saver._core.codec)
    for thread_id, stored, _ in _threads(reader, name):
        count += 1
        stranger.view_of(b"", stored.key, thread_id)  # raises when this saver cannot open the thread
        if on_existing == "refuse" and not _is_new(saver, thread_id, stored):
            foreign.append(thread_id)
    if foreign:
        shown = ", ".join(map(repr, foreign[:3])) + (", ..." if len(foreign) > 3 else "")
        raise ThreadExistsError(
            f"{len(foreign)} threads of the backup exist already with other checkpoints ({shown}). Nothing was "
            'restored. Choose on_existing="skip", "overwrite" or "as-new".'
        )
    return count


def _is_new(saver: PortableRedisSaver, thread_id: str, stored: whole.StoredThread) -> bool:
    present = saver._run(whole.places_of(saver._core, thread_id))
    return not present or set(present) == set(stored.ckpts)


def _threads(reader: FrameReader, name: str) -> Iterator[tuple[str, whole.StoredThread, int]]:
    """Read the threads of a backup, each with how many blobs it had."""
    thread: _Arriving | None = None
    count = 0
    for frame in reader:
        try:
            if frame.type == THREAD and thread is None:
                thread = _Arriving(frame.value)
            elif frame.type == DATA and thread is not None:
                for part, flat in frame.value:
                    thread.take(part, flat)
            elif frame.type == THREAD_END and thread is not None:
                yield thread.thread_id, thread.stored(frame.value["fields"]), frame.value["blobs"]
                thread, count = None, count + 1
            elif frame.type != TRAILER or thread is not None or frame.value["threads"] != count:
                raise ValueError("frames are not in order")
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
            if isinstance(error, CorruptRecordError):
                raise
            raise CorruptRecordError(
                "backup", where=f"file {name!r}", reason=f"its frames do not fit ({error})"
            ) from error


class _Arriving:
    """A thread of which frames come in."""

    def __init__(self, head: Mapping[str, Any]) -> None:
        self.thread_id = checked_id("thread_id", head["thread_id"])
        self._head = whole.StoredThread(
            generation=b"",
            key=_bytes(head["key"]),
            ttl=_bytes(head["ttl"]),
            log_place=_bytes(head["log_place"]),
            log_turns=_bytes(head["log_turns"]),
            runs=tuple(_bytes(run) for run in head["runs"]),
        )
        self._parts: dict[str, dict[bytes, bytes]] = {part: {} for part in whole.PARTS}
        self._numbers = Numbers()

    def take(self, part: str, flat: list[Any]) -> None:
        """Take some fields in."""
        fields, numbers = self._parts[part], self._numbers
        expands = {"writes": numbers.expand_frames, "turns": numbers.expand_text}
        expand = expands.get(part, numbers.expand)
        for name, shrunk in zip(flat[::2], flat[1::2], strict=True):
            data = _bytes(expand(shrunk))
            digest = digest_of(data, b"") if name is None else _bytes(name)
            fields[digest] = data
            if part in ("blobs", "items"):
                numbers.add(digest)

    def stored(self, fields: int) -> whole.StoredThread:
        """Return the thread once it is whole."""
        if sum(map(len, self._parts.values())) != fields:
            raise ValueError(f"thread {self.thread_id!r} has other fields than counted")
        parts = self._parts
        return replace(
            self._head,
            items=parts["items"],
            blobs=parts["blobs"],
            media=parts["media"],
            ckpts=parts["ckpts"],
            writes=parts["writes"],
            turns=parts["turns"],
        )


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} where bytes belong")
    return value


def _restore_thread(
    saver: PortableRedisSaver,
    thread_id: str,
    stored: whole.StoredThread,
    on_existing: OnExisting,
    report: RestoreReport,
) -> Outcome:
    core = saver._core
    target_id = thread_id
    present = set(saver._run(whole.places_of(core, thread_id)))
    if present and present == set(stored.ckpts):
        return "unchanged"
    if present and on_existing == "skip":
        return "skipped"
    if present and on_existing == "overwrite":
        saver.delete(thread_id)
    if present and on_existing == "as-new":
        target_id = next(name for name in new_names(thread_id) if _is_new(saver, name, stored))
        report.renamed[thread_id] = target_id
        if saver._run(whole.places_of(core, target_id)):
            return "unchanged"
        stored = stored.without_turn_log()
    key = core.reseal_key(stored.key, thread_id, target_id)
    saver._run(whole.load_thread(core, target_id, stored, key=key))
    return "copied"
