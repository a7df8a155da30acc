"""put_many: many checkpoints and pending writes of one thread, sent many at a time.

The programs of `put` and `put_writes` are run ahead of the server: their writes are collected, each is answered as the
server will answer it when nobody interferes, and the calls are sent together. Where an answer turns out differently,
what was collected is done once more, one call at a time; every call may be repeated. What the server sees is what a run
of single calls sends, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from langgraph.checkpoint.base import Checkpoint

from ..decoder import Decoder
from ..effects import Batch, Command, Effect, Program, Script
from ..records import CheckpointRecord, WriteRecord, load_writes
from .anew import beginning_anew
from .core import Core, broken, fetch_missing, open_record, read_record
from .write import put, put_writes

WINDOW_BYTES: Final = 4 * 1024 * 1024
WINDOW_CALLS: Final = 256


@dataclass(frozen=True, slots=True)
class CheckpointPut:
    """One checkpoint to store."""

    checkpoint_ns: str
    parent_id: str | None
    checkpoint: Checkpoint
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WritesPut:
    """Pending writes of one task to store."""

    checkpoint_ns: str
    checkpoint_id: str
    task_id: str
    task_path: str
    writes: Sequence[tuple[str, Any]]


Operation = CheckpointPut | WritesPut


@dataclass(slots=True)
class _Window:
    """What was collected and not sent yet."""

    operations: list[Operation] = field(default_factory=list)
    calls: list[Script | Command] = field(default_factory=list)
    supposed: list[Any] = field(default_factory=list)
    size_bytes: int = 0

    def collect(self, effect: Script | Batch) -> Any:
        """Take an effect in; return the reply that it will have if nobody interferes."""
        calls = effect.calls if isinstance(effect, Batch) else (effect,)
        replies = [_supposed(call) for call in calls]
        self.calls += calls
        self.supposed += replies
        self.size_bytes += sum(_weight(call.args) for call in calls)
        return replies if isinstance(effect, Batch) else replies[0]

    @property
    def is_full(self) -> bool:
        return self.size_bytes > WINDOW_BYTES or len(self.calls) >= WINDOW_CALLS

    def clear(self) -> None:
        self.operations, self.calls, self.supposed, self.size_bytes = [], [], [], 0


def _weight(args: Iterable[Any]) -> int:
    return sum(len(arg) for arg in args if isinstance(arg, bytes))


def _supposed(call: Script | Command) -> Any:
    """Say what a writing call is answered when the thread is as this client knows it."""
    return None if isinstance(call, Command) else list(call.supposed)


def _is_write(effect: Effect) -> bool:
    calls = effect.calls if isinstance(effect, Batch) else (effect,)
    return all(_may_be_collected(call) for call in calls)


def _may_be_collected(call: Any) -> bool:
    if isinstance(call, Script):
        return bool(call.supposed)
    return isinstance(call, Command) and bool(call.args[0] in ("ZADD", b"ZADD"))


def put_many(core: Core, thread_id: str, operations: Iterable[Operation]) -> Program[None]:
    """Store checkpoints and pending writes in the order given; turns are dated by their checkpoints, not by now.

    Not atomic: a crash leaves a beginning of the operations. Parents that are not the head are allowed whatever the
    saver's on_conflict says, since copies hold forks.

    Round trips: 1 for each `WINDOW_CALLS` calls or `WINDOW_BYTES` bytes, and those of the reads that `put` makes.
    """
    steady = replace(core, on_conflict="allow", now_ms=_Clock(core.now_ms))
    window = _Window()
    for operation in operations:
        if core.views.get(thread_id) is None:
            yield from _program(steady, thread_id, operation)
        else:
            window.operations.append(operation)
            yield from _run_ahead(steady, thread_id, operation, window)
        if window.is_full:
            yield from _send(steady, thread_id, window)
    name = thread_id.encode()
    window.collect(Batch((Command(("ZADD", core.layout.registry(core.layout.shard_of(name)), core.now_ms(), name)),)))
    yield from _send(steady, thread_id, window)


def _program(core: Core, thread_id: str, operation: Operation) -> Program[Any]:
    if isinstance(operation, WritesPut):
        return put_writes(
            core,
            thread_id,
            operation.checkpoint_ns,
            operation.checkpoint_id,
            writes=operation.writes,
            task_id=operation.task_id,
            task_path=operation.task_path,
        )
    if isinstance(core.now_ms, _Clock):
        core.now_ms.set(operation.checkpoint)
    return put(
        core,
        thread_id,
        operation.checkpoint_ns,
        operation.checkpoint,
        metadata=operation.metadata,
        new_versions=operation.checkpoint["channel_versions"],
        parent_id=operation.parent_id,
    )


class _Clock:
    """Shows the time of the checkpoint at hand, and real time where it has none."""

    def __init__(self, real: Callable[[], int]) -> None:
        self._real = real
        self._shown: int | None = None

    def set(self, checkpoint: Checkpoint) -> None:
        """Show the time of a checkpoint."""
        try:
            at = datetime.fromisoformat(checkpoint["ts"])
            self._shown = int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
        except (KeyError, TypeError, ValueError, OverflowError):
            self._shown = None

    def __call__(self) -> int:
        return self._real() if self._shown is None else self._shown


def _run_ahead(core: Core, thread_id: str, operation: Operation, window: _Window) -> Program[None]:
    program = _program(core, thread_id, operation)
    reply: Any = None
    while True:
        try:
            effect = program.send(reply)
        except StopIteration:
            return
        if _is_write(effect):
            assert isinstance(effect, Script | Batch)
            reply = window.collect(effect)
            continue
        if not (yield from _send(core, thread_id, window)):
            return  # this operation was among those done again
        window.operations = [operation]
        reply = yield effect


def _send(core: Core, thread_id: str, window: _Window) -> Program[bool]:
    """Send what was collected; False when all of it had to be done again, one call at a time."""
    if not window.calls:
        return True
    operations, supposed = window.operations, window.supposed
    replies = yield Batch(tuple(window.calls))
    window.clear()
    pairs = [(reply, meant) for reply, meant in zip(replies, supposed, strict=True) if meant is not None]
    if all(reply[0] == b"ok" and reply[-1] == meant[-1] for reply, meant in pairs):
        return True
    core.views.drop(thread_id)
    for operation in operations:
        yield from _program(core, thread_id, operation)
    return False


@dataclass(frozen=True, slots=True)
class ReadBack:
    """A checkpoint as it is stored, its values not yet decoded."""

    record: CheckpointRecord
    writes: Sequence[WriteRecord]
    decoder: Decoder


@beginning_anew
def read_back(
    core: Core, thread_id: str, places: Sequence[bytes], *, media: bool = True
) -> Program[dict[bytes, ReadBack]]:
    """Read checkpoints by place, without decoding their values. Two round trips, one more for media."""
    reply = yield Script("list", core.layout.thread(thread_id), (b"names", *places), writes=False)
    if len(reply) > 2 and reply[2] == b"broken" and not reply[0]:
        raise broken(thread_id)
    if not reply[0]:
        return {}
    view, where = core.view_of(reply[0], reply[1], thread_id), f"thread {thread_id!r}"
    rows = [
        (at, open_record(view, at, data, thread_id), load_writes(frames, place=at, secrets=view.secrets, where=where))
        for at, data, frames in zip(reply[2::3], reply[3::3], reply[4::3], strict=True)
    ]
    decoder = core.decoder(view, thread_id, {})
    refs = [ref for _, parsed, _ in rows for ref in parsed.refs]
    refs += [ref for _, _, writes in rows for write in writes for ref in write.entry.refs]
    yield from fetch_missing(core, view, thread_id, refs, decoder, media=media)
    return {at: ReadBack(read_record(core, parsed, decoder), writes, decoder) for at, parsed, writes in rows}
