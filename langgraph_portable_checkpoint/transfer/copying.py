"""copy_threads: threads from any saver to any other, through LangGraph's interface.

Checkpoints go oldest first, each followed by its pending writes, so what is there after a crash is a beginning of the
thread, and the last checkpoint there is the only one whose writes may be missing. Doing it again completes it. Between
two savers of ours the stored form is copied as it is, all of a thread at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

from langgraph.checkpoint.base import WRITES_IDX_MAP, CheckpointTuple

from ..errors import CorruptRecordError, StorageError, ThreadExistsError, ThreadNotFoundError
from ..saver import PortableRedisSaver
from ..storage.layout import checked_id
from ..storage.programs import bulk, paged
from .as_kept import AsKept
from .comparing import difference_of_tuples, parent_of
from .copied_media import CopiedMedia
from .copy_report import CopyReport, Difference, Outcome
from .decoding import decoding_once
from .inventory import BUDGET, Inventory, TaskPaths, inventory_of
from .media_losses import NOWHERE
from .overwriting import Overwriting
from .steps import Ask, Gather, Moves, Place, Run, Saver, adrive, config_at, drive, weight_of
from .stored_copy import StoredCopy
from .verifying import Compare, comparer_of
from .versions import Spelling, has_numbers, makes_texts, with_versions_of

OnExisting = Literal["refuse", "skip", "overwrite", "as-new"]
POLICIES: Final = ("refuse", "skip", "overwrite", "as-new")
MAX_NEW_NAMES: Final = 1000
CHECKPOINTS_AT_ONCE: Final = 128
WEIGHT_AT_ONCE: Final = 20_000
"""How many checkpoints are in memory at a time, and how many entries of them; see `steps.weight_of`."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a copy, backup or restore is: threads done, of how many, and the thread just done."""

    done: int
    total: int
    thread_id: str


OnProgress = Callable[[Progress], None]


def copy_threads(
    source: Saver,
    target: Saver,
    threads: Iterable[str] | None = None,
    *,
    on_existing: OnExisting = "refuse",
    progress: OnProgress | None = None,
    verify: bool = True,
) -> CopyReport:
    """Copy threads from one saver to another: all checkpoints, namespaces, parents, metadata and pending writes.

    May be stopped at any moment and called again: threads that are there are recognised by their checkpoints' ids and
    their last checkpoint, and those that are there in part are completed.

    Media go along, from external stores too, and are kept as the target's media policy says: what that strips is left
    out, and counted. One that cannot be read is a difference in the report: between savers of ours the copy goes on
    naming it, to others its thread is not copied.

    Args:
        threads: Thread ids; all of the source's by default.
        on_existing: What to do where the target has another thread of that id: "refuse" before anything is written,
            "skip" it, "overwrite" it, or copy "as-new", under the id with "-copy" (or "-copy-2", ...) behind it.
        progress: Called after each thread.
        verify: Compare every checkpoint copied with the source's, by value and type, and media by digest. Of a thread
            that is there already, read its media, and bring those that the target lacks.

    Returns:
        What was done; differences are reported, not raised.

    Raises:
        ThreadExistsError: on_existing is "refuse" and the target has another thread of that id.
        ThreadExistsError, TurnInProgressError: on_existing is "overwrite", and the thread was written meanwhile, or
            someone else holds it; it was left alone.
        ThreadNotFoundError: a named thread is not in the source.
        MediaStoreError: the target's external store does not take a medium.
        MediaTooLargeError: a medium is larger than the target's policy allows.
        And what the savers raise; what was copied until then stays and counts.
    """
    return drive(_Copy(source, target, on_existing, progress, verify=verify).run(threads))


async def acopy_threads(
    source: Saver,
    target: Saver,
    threads: Iterable[str] | None = None,
    *,
    on_existing: OnExisting = "refuse",
    progress: OnProgress | None = None,
    verify: bool = True,
) -> CopyReport:
    """Copy threads from one saver to another; see `copy_threads`. Savers with blocking methods only may take part."""
    return await adrive(_Copy(source, target, on_existing, progress, verify=verify).run(threads))


@dataclass(frozen=True, slots=True)
class _Thread:
    """One thread to copy: where to, what is where, and whether it takes the place of another."""

    source_id: str
    target_id: str
    places: list[Place]
    present: frozenset[Place]
    overwrites: bool = False

    def lacks(self, place: Place) -> bool:
        """Tell whether the target may lack a checkpoint or some of its writes."""
        return place not in self.present or place == max(self.present)

    @property
    def missing(self) -> list[Place]:
        """The places that the target may lack."""
        return [place for place in self.places if self.lacks(place)]


class _Copy:
    """One call of copy_threads."""

    def __init__(
        self, source: Saver, target: Saver, on_existing: OnExisting, progress: OnProgress | None, *, verify: bool
    ) -> None:
        check_policy(on_existing)
        self.report = CopyReport()
        self.media = CopiedMedia(decoding_once(source), target, self.report)
        self.kept = AsKept(target)
        self.source = inventory_of(self.media.source)
        self.target = inventory_of(target)
        self.on_existing = on_existing
        self.progress = progress
        self.verify = verify
        self.spells = makes_texts(target)
        self.ttl = b""
        """The own time to live of the thread last copied as it is stored."""

    def run(self, threads: Iterable[str] | None) -> Moves[CopyReport]:
        """Copy all."""
        named = None if threads is None else [checked_id("thread_id", thread_id) for thread_id in threads]
        names = (yield from self.source.threads()) if named is None else list(dict.fromkeys(named))
        if self.on_existing == "refuse":
            yield from self._refuse_existing(names, must_exist=named is not None)
        for done, thread_id in enumerate(names, 1):
            self.report.count((yield from self._thread(thread_id, must_exist=named is not None)))
            self.media.tell_heard(thread_id)
            if self.progress is not None:
                self.progress(Progress(done, len(names), thread_id))
        return self.report

    def _refuse_existing(self, names: Sequence[str], *, must_exist: bool) -> Moves[None]:
        """Look at all threads before any is written."""
        foreign = []
        for thread_id in names:
            present = yield from self._present(thread_id)
            if present or must_exist:
                places = yield from self.source.places(thread_id)
                self._check_found(thread_id, places, must_exist=must_exist)
                foreign += [thread_id] if present - set(places) else []
        if foreign:
            shown = ", ".join(repr(name) for name in foreign[:3]) + (", ..." if len(foreign) > 3 else "")
            raise ThreadExistsError(
                f"the target already has {len(foreign)} of these threads with checkpoints of its own ({shown}). "
                'Nothing was copied. Choose on_existing="skip", "overwrite" or "as-new".'
            )

    @staticmethod
    def _check_found(thread_id: str, places: Sequence[Place], *, must_exist: bool) -> None:
        if must_exist and not places:
            raise ThreadNotFoundError(f"thread {thread_id!r} is not in the source.")

    def _present(self, thread_id: str) -> Moves[frozenset[Place]]:
        if (
            not self.target.is_cheap
            and (yield Ask(self.target.saver, "get_tuple", (config_at(thread_id, None),))) is None
        ):
            return frozenset()
        return frozenset((yield from self.target.places(thread_id)))

    def _thread(self, thread_id: str, *, must_exist: bool) -> Moves[Outcome]:
        gathered = None
        if self.source.is_cheap:
            places = yield from self.source.places(thread_id)
        else:
            gathered = yield Gather(self.source.saver, config_at(thread_id, None), BUDGET, may_be_cut=True)
            places = sorted(gathered.places)
        self._check_found(thread_id, places, must_exist=must_exist)
        if not places:
            return "unchanged"
        thread = yield from self._settle(thread_id, places)
        if thread is None:
            return "skipped"
        if thread.target_id != thread_id:
            self.report.renamed[thread_id] = thread.target_id
        if thread.present == set(places) and (yield from self._is_finished(thread)):
            completes = self.verify and (yield from self.media.complete(thread_id, thread.target_id))
            yield from self.media.follow(thread_id, thread.target_id)
            return "completed" if completes else "unchanged"
        tuples = gathered.tuples if gathered else None
        if thread.overwrites:
            return (yield from self._overwrite(thread, tuples))
        return (yield from self._fill(thread, tuples))

    def _fill(self, thread: _Thread, tuples: dict[Place, CheckpointTuple] | None) -> Moves[Outcome]:
        if not thread.present and (yield from self._copy_stored(thread)):
            return "copied"
        if (yield from self.media.are_lost(thread.source_id, thread.target_id)):
            return "skipped"
        if thread.present:
            yield from self.media.make_good(thread.source_id, thread.target_id)
        if not (yield from self._copy(thread, tuples)):
            return "skipped"
        yield from self.media.follow(thread.source_id, thread.target_id)
        if isinstance(self.target.saver, PortableRedisSaver):
            self.target.saver._core.forget(thread.target_id)  # else memory grows for some hundred threads
        return "completed" if thread.present else "copied"

    def _overwrite(self, thread: _Thread, tuples: dict[Place, CheckpointTuple] | None) -> Moves[Outcome]:
        """Copy a thread in the place of another, which stays as it is until the new one is whole and compared.

        Other savers than ours offer no such thing: there the whole source is read first, then the old thread goes.
        """
        target = self.target.saver
        if not isinstance(target, PortableRedisSaver):
            if (yield from self.media.are_lost(thread.source_id, thread.target_id)):
                return "skipped"
            for place in thread.places if tuples is None else ():
                yield from self.source.read(thread.source_id, place)
            if self.media.tell_heard(thread.target_id):
                return "skipped"
            yield Ask(target, "delete_thread", (thread.target_id,))
            return (yield from self._fill(thread, tuples))
        over = Overwriting.of(target, thread.target_id)
        before = yield Run(target, over.begin())
        staged = self._into(over.staged)
        yield from staged._fill(thread, tuples)
        self.media.heard.taken()  # the copy that was staged has told it
        self.report.differences += staged.report.differences
        if staged.report.differences:
            yield Run(target, over.drop())
            return "skipped"
        yield Run(target, over.swap(before, checkpoints=len(thread.places), ttl=staged.ttl))
        for name in ("checkpoints", "writes", "respelled", "stripped", "uploads_left_out"):
            setattr(self.report, name, getattr(self.report, name) + getattr(staged.report, name))
        return "copied"

    def _into(self, target: PortableRedisSaver) -> _Copy:
        return _Copy(self.source.saver, target, self.on_existing, None, verify=self.verify)

    def _settle(self, thread_id: str, places: list[Place]) -> Moves[_Thread | None]:
        """Decide under which id a thread goes; None to leave it out."""
        present = yield from self._present(thread_id)
        known = set(places)
        if present <= known:
            return _Thread(thread_id, thread_id, places, present)
        if self.on_existing == "skip":
            return None
        if self.on_existing == "overwrite":
            return _Thread(thread_id, thread_id, places, frozenset(), overwrites=True)
        if self.on_existing == "refuse":
            raise ThreadExistsError(f"thread {thread_id!r} has been written in the target meanwhile.")
        for name in new_names(thread_id):
            present = yield from self._present(name)
            if present <= known:
                return _Thread(thread_id, name, places, present)
        raise AssertionError("unreachable: new_names ends by raising")

    def _is_finished(self, thread: _Thread) -> Moves[bool]:
        """Tell whether a thread with all of its checkpoints also has the writes of the last one."""
        last = thread.places[-1]
        there = yield from self.source.read(thread.source_id, last)
        here = yield from self.target.read(thread.target_id, last)
        if there is None or here is None:
            return False
        there = self.kept.of(there)
        if self.spells and has_numbers(there):
            there = with_versions_of(there, here)
        return difference_of_tuples(here, there) is None

    def _copy_stored(self, thread: _Thread) -> Moves[bool]:
        """Copy a thread in its stored form, if both savers are ours, share their secrets and keep the same media."""
        source, target = self.source.saver, self.target.saver
        if not isinstance(source, PortableRedisSaver) or not isinstance(target, PortableRedisSaver):
            return False
        if self.kept.strips or target.media_policy.max_bytes < source.media_policy.max_bytes:
            return False
        for outline_of in paged.OUTLINES:
            with suppress(paged.ThreadChangedError):
                outline = yield Run(source, outline_of(source._core, thread.source_id))
                if outline is None or bool(outline.head.key) != target._core.codec.sealer.sealed:
                    return False
                return (yield from self._copy_outlined(StoredCopy(source, target, outline), thread.target_id))
        raise AssertionError("unreachable: the last outline holds all")

    def _copy_outlined(self, stored: StoredCopy, target_id: str) -> Moves[bool]:
        outline = stored.outline
        try:
            key = stored.target._core.reseal_key(outline.head.key, outline.thread_id, target_id)
        except CorruptRecordError:
            return False  # sealed with a key that the target does not have
        try:
            yield from stored.copy(target_id, key)
        except ThreadExistsError:
            return False
        self.ttl = outline.head.ttl
        self.report.checkpoints += len(outline.sizes["ckpts"])
        if self.verify:
            for part in (yield from stored.differing(target_id)):
                self.report.note(target_id, NOWHERE, f"{part}: not what was sent")
        yield from self.media.note(outline.thread_id, target_id, stored.lost)
        return True

    def _copy(self, thread: _Thread, tuples: dict[Place, CheckpointTuple] | None) -> Moves[bool]:
        """Copy what is missing and compare everything, a few checkpoints at a time.

        Returns:
            False when a medium could not be read: it was reported, and nothing from that checkpoint on was copied.
        """
        paths = yield from self.source.task_paths(thread.source_id)
        compare = comparer_of(self.target, thread.target_id) if self.verify else None
        self.kept.stripped = False
        places = thread.places if self.verify or self.spells else thread.missing
        spelling = Spelling() if self.spells else None
        chunk: dict[Place, CheckpointTuple] = {}
        weight = 0
        for place in places:
            known = tuples.get(place) if tuples else (yield from self.source.read(thread.source_id, place))
            if self.media.tell_heard(thread.target_id, place):
                break
            if known is not None:
                chunk[place] = known if spelling is None else spelling.spelled(known)
                weight += weight_of(known)
            if len(chunk) >= CHECKPOINTS_AT_ONCE or weight > WEIGHT_AT_ONCE:
                yield from self._copy_chunk(thread, chunk, paths, compare)
                chunk, weight = {}, 0
        else:
            yield from self._copy_chunk(thread, chunk, paths, compare)
            self.report.respelled += spelling is not None and spelling.used
            self.report.stripped += self.kept.stripped
            return True
        return False

    def _copy_chunk(
        self, thread: _Thread, found: dict[Place, CheckpointTuple], paths: TaskPaths, compare: Compare | None
    ) -> Moves[None]:
        missing = [place for place in found if thread.lacks(place)]
        yield from self._store(thread.target_id, [o for p in missing for o in operations_of(found[p], p, paths)])
        if compare is not None and found:
            for place, detail in (yield from compare({place: self.kept.of(each) for place, each in found.items()})):
                self.report.note(thread.target_id, place, detail)

    def _store(self, thread_id: str, operations: list[bulk.Operation]) -> Moves[None]:
        target = self.target.saver
        if isinstance(target, PortableRedisSaver):
            if operations:
                yield Run(target, bulk.put_many(target._core, thread_id, operations))
        else:
            for operation in operations:
                yield _ask_for(target, thread_id, operation)
        puts = sum(isinstance(operation, bulk.CheckpointPut) for operation in operations)
        self.report.checkpoints += puts
        self.report.writes += sum(len(o.writes) for o in operations if isinstance(o, bulk.WritesPut))


def check_policy(on_existing: str) -> None:
    """Refuse a word that is no policy."""
    if on_existing not in POLICIES:
        raise ValueError(f"on_existing is {on_existing!r}; use one of {', '.join(POLICIES)}")


def new_names(thread_id: str) -> Iterator[str]:
    """Make the ids to try for a thread that is copied as new."""
    yield f"{thread_id}-copy"
    for number in range(2, MAX_NEW_NAMES):
        yield f"{thread_id}-copy-{number}"
    raise StorageError(f"thread {thread_id!r} has {MAX_NEW_NAMES} copies already. Delete some.")


def operations_of(found: CheckpointTuple, place: Place, paths: TaskPaths) -> Iterator[bulk.Operation]:
    """Say what stores a checkpoint and its pending writes, in order."""
    yield bulk.CheckpointPut(place.checkpoint_ns, parent_of(found), found.checkpoint, found.metadata)
    tasks: dict[str, list[tuple[str, object]]] = {}
    for task_id, channel, value in found.pending_writes or ():
        tasks.setdefault(task_id, []).append((channel, value))
    for task_id, writes in tasks.items():
        path = paths.get((place, task_id), "")
        # A plain write's index is its position, a special one's is fixed; savers treat a call with both unlike either.
        for special in (False, True):
            some = [write for write in writes if (write[0] in WRITES_IDX_MAP) is special]
            if some:
                yield bulk.WritesPut(place.checkpoint_ns, place.checkpoint_id, task_id, path, some)


def _ask_for(target: Saver, thread_id: str, operation: bulk.Operation) -> Ask:
    if isinstance(operation, bulk.WritesPut):
        config = config_at(thread_id, Place(operation.checkpoint_id, operation.checkpoint_ns))
        return Ask(target, "put_writes", (config, operation.writes, operation.task_id, operation.task_path))
    config = config_at(thread_id, Place(operation.parent_id or "", operation.checkpoint_ns))
    if not operation.parent_id:
        del config["configurable"]["checkpoint_id"]
    checkpoint, versions = operation.checkpoint, operation.checkpoint["channel_versions"]
    return Ask(target, "put", (config, checkpoint, operation.metadata, versions))


__all__ = ["CopyReport", "Difference", "Inventory", "OnExisting", "Progress", "acopy_threads", "copy_threads"]
