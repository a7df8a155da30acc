"""put and put_writes: one checkpoint, or the pending writes of one task."""

from __future__ import annotations

import warnings
from collections.abc import Container, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import WRITES_IDX_MAP, ChannelVersions, Checkpoint

from ...envelope.turn_pending import is_finished
from ...errors import BranchWarning, ConflictError
from ..codec import ValueCodec
from ..effects import Program, Script
from ..encoder import Encoder, Sink
from ..items import refs_of
from ..known import Flat
from ..layout import place as spell_place
from ..layout import run_digest, split_place
from ..records import WriteRecord, dump_checkpoint, dump_write, task_name, write_key
from ..sequences import Entry, Sequenced
from ..view import HeldRecord, ThreadView, ToldRecord
from .core import (
    Core,
    OtherThreadError,
    absent_media,
    broken,
    media_args,
    open_record,
    packed,
    pairs,
    read_record,
    refuse,
    unpair,
)
from .large import MediaArgs
from .read import stood_in
from .registering import Registering, registered, registering
from .stops import mark_stop, settle_stop, stopped
from .turns import Tail, TurnWrite, all_messages, conversation_of, is_list, plan, turn_field

MOST_ATTEMPTS: Final = 100
"""Of those who bring one new medium to an encrypted thread at once, the last goes on when all others are done."""
WAS_DELETED: Final = b"deleted"
"""A generation that no thread has: what a client expects of a thread that it has deleted itself."""


def put(
    core: Core,
    thread_id: str,
    checkpoint_ns: str,
    checkpoint: Checkpoint,
    *,
    metadata: Mapping[str, Any],
    new_versions: ChannelVersions,
    parent_id: str | None,
    token: bytes = b"",
    codec: ValueCodec | None = None,
) -> Program[bytes]:
    """Store a checkpoint, atomically.

    Channels outside `new_versions` keep the value that the parent's record names.

    Round trips: 1. One more when this client has not read or written the parent, and one or two more each time that the
    thread was deleted or pruned since. One more for media of which a record is there that may tell of uploads and that
    this client has not read: one of an earlier version, or any in an encrypted thread. On a cluster, the first put of a
    thread takes one more for the registry.

    Returns:
        The place of the head before, b"" if there was none.
    """
    absent: set[bytes] = set()
    for _ in range(MOST_ATTEMPTS):
        view, fresh, parent = yield from _parent(core, thread_id, checkpoint_ns, parent_id)
        call = _Put(core, view, thread_id, checkpoint_ns, checkpoint, parent_id, codec, absent)
        values = call.encode(new_versions, parent)
        turns = None
        if checkpoint_ns == "":
            try:
                turns = yield from call.turns(values, run_id=metadata.get("run_id"), fresh=fresh)
            except OtherThreadError:
                core.forget(thread_id)
                continue
        media = yield from media_args(core, view, thread_id, call.sink)
        run_id = _new_run(view, metadata)
        entry = registering(core, thread_id, run_id, fresh=fresh)
        script = call.script(metadata, values, turns, media, entry, parent=parent, fresh=fresh, token=token)
        reply = yield from registered(core, script, entry, large=media.large)
        if reply is None:
            continue
        refuse(reply, thread_id)
        if reply[0] == b"conflict":
            raise ConflictError(
                f"the head of thread {thread_id!r} is {split_place(reply[1])[1]!r}, not the parent {parent_id!r} of "
                'this put, and on_conflict is "raise". Nothing was stored; read the head again and redo the step.'
            )
        if reply[0] == b"ok":
            core.views.deleted.pop(thread_id, None)
            call.done(reply[2], run_id)
            if core.on_conflict == "warn":
                _warn_of_branch(thread_id, head=reply[2], parent_id=parent_id, place=call.place)
            view.turn_log = turns.tail if turns is not None and reply[3] == b"1" else None
            if (thread_id, call.place) in core.views.stops:
                core.views.stops.pop((thread_id, call.place), None)
                yield from settle_stop(core, thread_id, call.place)
            return reply[2]  # type: ignore[no-any-return]
        absent |= yield from _adopted(core, reply, thread_id, view, call.sink)
    raise _restless(thread_id)


def _warn_of_branch(thread_id: str, *, head: bytes, parent_id: str | None, place: bytes) -> None:
    """Say that a put opened a branch: its parent was not the head that it found."""
    ns, head_id = split_place(head) if head else ("", None)
    if head and head != place and head_id != parent_id:
        warnings.warn(
            f"a put on thread {thread_id!r} (namespace {ns!r}) has the parent {parent_id!r}, and the head was "
            f"{head_id!r}: the conversation branches. This is right for time travel; otherwise two runs write to the "
            "thread at once, which exclusive_turn() prevents.",
            BranchWarning,
            stacklevel=2,
        )


def _restless(thread_id: str) -> ConflictError:
    return ConflictError(
        f"thread {thread_id!r} was deleted, pruned, or given media that this write has too, {MOST_ATTEMPTS} times "
        "during one write. Nothing was stored; try again."
    )


def _adopted(core: Core, reply: list[bytes], thread_id: str, view: ThreadView, sink: Sink) -> Program[set[bytes]]:
    """Take over an answer as `adopt` does; return the media that the call names and the thread has lost."""
    adopt(core, reply, thread_id, view)
    return (yield from absent_media(core, thread_id, sink.stood_for)) if reply[0] == b"lost" else set()


def adopt(core: Core, reply: list[bytes], thread_id: str, view: ThreadView) -> None:
    """Take over what a "stale" answer says of the thread; after "lost", rely on nothing that was known of it.

    After "told", what stands where media table records were to be written.
    """
    if reply[0] == b"told":
        told = zip(reply[1::3], reply[2::3], reply[3::3], strict=True)
        view.told.update({name: ToldRecord(data, kept == b"1") for name, data, kept in told})
        return
    core.views.deleted.pop(thread_id, None)
    if reply[0] == b"lost":
        core.flats.drop(view.generation)  # the present view may be another caller's already
        core.forget(thread_id)
    elif reply[1]:
        core.view_of(reply[1], reply[2], thread_id)
    else:
        core.views.drop(thread_id)


def _new_run(view: ThreadView, metadata: Mapping[str, Any]) -> str | None:
    run_id = metadata.get("run_id")
    return run_id if isinstance(run_id, str) and run_digest(run_id) not in view.runs else None


def _parent(
    core: Core, thread_id: str, ns: str, parent_id: str | None
) -> Program[tuple[ThreadView, bool, HeldRecord | None]]:
    """Find the parent's record: held, or read with one call.

    Returns:
        The view, whether the thread is unknown to this client, and the parent's record if there is one.
    """
    view = core.views.get(thread_id)
    place = spell_place(ns, parent_id or "")
    held = view.records.get(place) if view and parent_id else None
    if parent_id and held is None:
        place_ns, place_id = place.split(b"\0")
        args = (place_ns, place_id, b"", b"", b"0", b"0")
        reply = yield Script("read", core.layout.thread(thread_id), args, writes=False)
        if reply[2] == b"broken":
            raise broken(thread_id)
        if reply[0]:
            view = core.view_of(reply[0], reply[1], thread_id)
        if reply[2]:
            assert view is not None
            parsed = open_record(view, place, reply[3], thread_id)
            decoder = core.decoder(view, thread_id, unpair(reply[8:]))
            decoder.final = True
            record = read_record(core, parsed, decoder)
            held = HeldRecord(reply[3], record.versions, record.values)
            view.hold(place, held)
    return view or core.fresh_view(thread_id), view is None, held


class _Put:
    """One attempt at a put."""

    def __init__(
        self,
        core: Core,
        view: ThreadView,
        thread_id: str,
        ns: str,
        checkpoint: Checkpoint,
        parent_id: str | None,
        codec: ValueCodec | None,
        absent: Container[bytes],
    ) -> None:
        self.core = core
        self.view = view
        self.thread_id = thread_id
        self.ns = ns
        self.checkpoint = checkpoint
        self.parent_id = parent_id
        self.place = spell_place(ns, checkpoint["id"])
        self.sink = Sink()
        self.encoder = core.encoder(view, thread_id, self.sink, codec=codec, absent=absent)
        self.own_codec = codec is not None
        self.sequences: dict[str, Sequenced] = {}
        self.flats: dict[str, tuple[Flat, list[Entry]]] = {}
        self.stood: dict[str, Mapping[Any, Any]] = {}
        self.rest: dict[str, Any] = {}

    def script(
        self,
        metadata: Mapping[str, Any],
        values: dict[str, Entry],
        turns: TurnWrite | None,
        media: MediaArgs,
        entry: Registering,
        *,
        parent: HeldRecord | None,
        fresh: bool,
        token: bytes,
    ) -> Script:
        data, refs = dump_checkpoint(
            parent_id=self.parent_id,
            rest=self.rest,
            metadata=metadata,
            values=values,
            place=self.place,
            secrets=self.view.secrets,
            dump=self._dump_rest,
            add_item=self.encoder.add_item,
        )
        self.held = HeldRecord(data, dict(self.checkpoint["channel_versions"]), values)
        run_id = metadata.get("run_id")
        ns, checkpoint_id = self.place.split(b"\0")
        parent_place = spell_place(self.ns, self.parent_id) if self.parent_id else b""
        head: list[bytes | int] = [
            b"" if fresh else self.view.generation,
            self.view.generation,
            self.view.sealed_key,
            self.thread_id.encode(),
            ns,
            checkpoint_id,
            parent_place,
            data,
            self.core.ttl_arg,
            token,
            run_digest(run_id) if isinstance(run_id, str) else b"",
            self.core.on_conflict.encode(),
            turns.extends if turns else b"",
            media.sent,
            parent.sha1_hex if parent else b"",
            self.sink.builds_on(refs, refs_of(parent.data, where="a held record") if parent else ()),
            entry.now,
        ]
        args = packed(head, media, self.sink.items, turn_args(turns))
        keys = (*self.core.layout.thread(self.thread_id), *entry.keys)
        supposed = (b"ok", self.view.generation, b"", b"0" if turns is None else b"1")
        return Script("put", keys, args, supposed=supposed)

    def _dump_rest(self, value: Any) -> tuple[str, bytes]:
        return self.encoder.dump_named("checkpoint metadata", value)

    def turns(self, values: Mapping[str, Entry], *, run_id: Any, fresh: bool) -> Program[TurnWrite | None]:
        """Work out what this put writes of the turn log."""
        held = self.view.sequences
        sequences = {name: self.sequences.get(name) or held.get((self.ns, name)) for name in values}
        channel = conversation_of(self.core, values, sequences)
        if channel is None and any(sequences[name] is None and is_list(entry) for name, entry in values.items()):
            return None  # a list that this client has not read may be the conversation
        if channel in self.sequences and channel not in self.flats:
            channel = channel if all_messages(self.checkpoint["channel_values"][channel]) else None
        made = sequences.get(channel) if channel is not None else None
        given = self.checkpoint["channel_values"]
        entries = made.entries if made is not None else []
        carried = channel is not None and channel not in self.sequences
        return (
            yield from plan(
                self.core,
                self.view,
                self.thread_id,
                checkpoint=(self.place, self.checkpoint["id"]),
                parent=spell_place(self.ns, self.parent_id) if self.parent_id else b"",
                entries=entries,
                messages=None if carried else given[channel] if channel is not None else [],
                channel=channel or "messages",
                run_id=run_id,
                finished=is_finished(given),
                starting="__start__" in given,
                fresh=fresh and not self.parent_id,
                decoder=lambda: self.core.decoder(self.view, self.thread_id, self.sink.items),
            )
        )

    def encode(self, new_versions: ChannelVersions, parent: HeldRecord | None) -> dict[str, Entry]:
        """Encode the channels; those outside `new_versions` keep what the parent's record names."""
        given = self.checkpoint["channel_values"]
        self.rest = self.encoder.whole.rest(self.checkpoint)
        stood = self.view.stood.get(spell_place(self.ns, self.parent_id or ""), {})
        values: dict[str, Entry] = {}
        for channel, version in self.checkpoint["channel_versions"].items():
            if channel not in new_versions and parent is not None and parent.versions.get(channel) == version:
                if channel in parent.values:
                    values[channel] = parent.values[channel]
                    self.stood[channel] = stood.get(channel, {})
            elif channel in given:
                value = self.core.codec.walk.stand_again(given[channel], stood.get(channel, {}))
                values[channel] = self._encode(channel, value)
                if self.sink.stood_for:
                    self.stood.update(stood_in(self.core, {channel: value}))
        return values

    def _encode(self, channel: str, value: Any) -> Entry:
        previous = self.view.sequences.get((self.ns, channel))
        if type(value) is list and value and isinstance(value[0], BaseMessage):
            flats = self.core.flats
            known = None if self.own_codec else flats.get(self.view.generation, self.ns, channel)
            entry, made, flat = self.encoder.conversation(channel, value, previous, known)
            if made is not None and flat is not None and not self.own_codec:
                self.flats[channel] = (flat, made.entries)
        else:
            entry, made = self.encoder.channel(channel, value, previous)
        if made is not None:
            self.sequences[channel] = made
        return entry

    def done(self, head: bytes, run_id: str | None) -> None:
        """Remember what is stored now."""
        view = self.view
        self.core.stored(view, self.sink)
        for channel, made in self.sequences.items():
            view.sequences[self.ns, channel] = made
        for channel, (flat, entries) in self.flats.items():
            self.core.flats.put(view.generation, self.ns, channel, flat=flat, entries=entries)
        view.hold(self.place, self.held)
        view.note_stood(self.place, {channel: places for channel, places in self.stood.items() if places})
        view.heads[self.ns] = max(self.place, head)
        if run_id is not None:
            view.runs.add(run_digest(run_id))
        self.core.views.put(self.thread_id, view)


def turn_args(turns: TurnWrite | None) -> list[bytes | int]:
    if turns is None:
        return [-1]
    return [*pairs(turns.sets), len(turns.drops), *turns.drops, turns.tail.turns]


def put_writes(
    core: Core,
    thread_id: str,
    checkpoint_ns: str,
    checkpoint_id: str,
    *,
    writes: Sequence[tuple[str, Any]],
    task_id: str,
    task_path: str,
    token: bytes = b"",
    codec: ValueCodec | None = None,
) -> Program[None]:
    """Store the pending writes of a task, atomically.

    A write is named by (task_id, idx). A plain one that is already there stays; those to the special channels (error,
    interrupt, resume, scheduled) replace the one before. The checkpoint need not be there yet.

    Round trips: 1, as for `put`; none when there are no writes.
    """
    if not writes:
        return
    place = spell_place(checkpoint_ns, checkpoint_id)
    stop = checkpoint_ns == "" and stopped(writes)
    absent: set[bytes] = set()
    for _ in range(MOST_ATTEMPTS):
        view = core.views.get(thread_id)
        fresh = view is None
        view = view or core.fresh_view(thread_id)
        sink = Sink()
        encoder = core.encoder(view, thread_id, sink, codec=codec, absent=absent)
        stood = view.stood.get(place, {})
        again = [(name, core.codec.walk.stand_again(value, stood.get(name, {}))) for name, value in writes]
        frames = _frames(encoder, again, task_id, task_path)
        if stop:
            core.views.note_stop(thread_id, place)
        marked = (
            mark_stop(core, view, thread_id, place, task_id=task_id, writes=again, codec=codec or core.codec)
            if stop
            else None
        )
        media = yield from media_args(core, view, thread_id, sink)
        entry = registering(core, thread_id, None, fresh=fresh)
        refs = sink.builds_on(ref for frame in frames.values() for ref in frame.entry.refs)
        head = _head_of_writes(core, view, thread_id, place, fresh=fresh, token=token)
        head += (task_name(task_id, view.secrets), media.sent, refs, entry.now)
        args = packed(head, media, sink.items, [*_frame_args(view, place, frames), *_marked_args(place, marked)])
        keys = (*core.layout.thread(thread_id), *entry.keys)
        supposed = (b"ok", view.generation, b"1" if marked else b"0")
        script = Script("write", keys, args, supposed=supposed)
        reply = yield from registered(core, script, entry, large=media.large)
        if reply is None:
            continue
        refuse(reply, thread_id)
        if reply[0] == b"ok":
            core.stored(view, sink)
            core.views.put(thread_id, view)
            if marked is not None and reply[2] == b"1":
                view.turn_log = marked[0]
                core.views.stops.pop((thread_id, place), None)
            elif stop:
                yield from settle_stop(core, thread_id, place)
            return
        absent |= yield from _adopted(core, reply, thread_id, view, sink)
    raise _restless(thread_id)


def _frames(
    encoder: Encoder, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
) -> dict[int, WriteRecord]:
    """Encode writes by their index; of two special writes of a kind in one call, the later one counts."""
    records: dict[int, WriteRecord] = {}
    for position, (channel, value) in enumerate(writes):
        idx = WRITES_IDX_MAP.get(channel, position)
        if idx < 0 or idx not in records:
            entry, _ = encoder.channel(channel, value)
            records[idx] = WriteRecord(task_id, idx, channel, task_path, entry)
    return records


def _head_of_writes(
    core: Core, view: ThreadView, thread_id: str, place: bytes, *, fresh: bool, token: bytes
) -> list[bytes | int]:
    place_ns, place_id = place.split(b"\0")
    unknown = WAS_DELETED if thread_id in core.views.deleted else b""
    return [
        unknown if fresh else view.generation,
        view.generation,
        view.sealed_key,
        thread_id.encode(),
        place_ns,
        place_id,
        core.ttl_arg,
        token,
    ]


def _frame_args(view: ThreadView, place: bytes, writes: Mapping[int, WriteRecord]) -> list[bytes | int]:
    args: list[bytes | int] = [len(writes)]
    for idx, write in writes.items():
        frame = dump_write(write, place=place, secrets=view.secrets)
        args += (write_key(write.task_id, idx, view.secrets), b"set" if idx < 0 else b"keep", frame)
    return args


def _marked_args(place: bytes, marked: tuple[Tail, bytes, bytes] | None) -> tuple[bytes, ...]:
    return (b"",) if marked is None else (place, turn_field(marked[0].turns - 1), *marked[1:])
