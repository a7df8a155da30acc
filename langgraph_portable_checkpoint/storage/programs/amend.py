"""amend: elements of a list in the head checkpoint exchanged, in place.

The checkpoint keeps its id, its channel versions and its metadata, so tasks that wait at it keep their ids, and with
them their pending writes, their interrupts and the namespaces of their subgraphs. Elements are exchanged as they are
stored: their media stay where they are and need not be had.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from ...envelope.turn_model import TurnRecord
from ...envelope.turn_pending import is_finished, pending_of
from ...envelope.turns import Pending
from ...errors import ConflictError, ThreadDeletedError
from ..decoder import Decoder
from ..effects import Program, Script
from ..encoder import Sink
from ..items import refs_of
from ..records import CheckpointRecord, WriteRecord, dump_checkpoint, load_writes
from ..renewing import Renewal, Renewing
from ..sequences import Sequenced
from ..view import HeldRecord
from .anew import beginning_anew
from .core import MAX_ATTEMPTS, Core, fetch_missing, media_args, open_record, packed, read_record, refuse
from .media_table import was_deleted
from .read import Found, read_found
from .registering import registered, registering
from .stops import STOPS, settle_stop, with_known_error
from .turns import TurnWrite, conversation_of, is_list, messages_of, only_messages, opened, rewritten, stamp
from .write import adopt, turn_args


@beginning_anew
def amend(
    core: Core,
    thread_id: str,
    checkpoint_id: str,
    channel: str,
    *,
    positions: Collection[int],
    renewal: Renewal,
    token: bytes = b"",
) -> Program[None]:
    """Renew elements of a channel of the head of the root namespace, atomically. Two round trips when warm.

    Raises:
        ConflictError: the thread has gone on to another checkpoint meanwhile, or the checkpoint was pruned.
        ThreadDeletedError: the thread was deleted meanwhile.
    """
    for _ in range(MAX_ATTEMPTS):
        answer = yield from read_found(core, thread_id, "", checkpoint_id)
        if answer is None:
            if (yield from was_deleted(core, thread_id, checkpoint_id)):
                raise ThreadDeletedError(thread_id)
            break
        call = _Amending(core, thread_id, *answer)
        yield from call.fetch()
        call.renew(channel, frozenset(positions), renewal)
        turns = yield from call.turns(channel)
        reply = yield from call.send(turns, token=token)
        if reply is None:
            continue
        refuse(reply, thread_id)
        if reply[0] == b"conflict":
            break
        if reply[0] == b"ok":
            call.done(turns if reply[3] == b"1" else None)
            if (thread_id, call.place) in core.views.stops:
                core.views.stops.pop((thread_id, call.place), None)
                yield from settle_stop(core, thread_id, call.place)
            return
        adopt(core, reply, thread_id, call.view)
    raise ConflictError(
        f"thread {thread_id!r} went on from checkpoint {checkpoint_id!r} while that was to be amended. It was left as "
        "it is; do it again for what is the head now."
    )


class _Amending:
    """One attempt."""

    def __init__(self, core: Core, thread_id: str, found: Found, data: bytes) -> None:
        self.core, self.thread_id, self.found, self.data = core, thread_id, found, data
        self.view, self.place = found.view, found.place
        self.decoder = core.decoder(self.view, thread_id, found.fetched)
        self.decoder.hydrate = False
        self.parsed = open_record(self.view, self.place, data, thread_id)
        where = self.decoder.where
        self.writes = load_writes(found.writes, place=self.place, secrets=self.view.secrets, where=where)
        self.sink = Sink()
        self.encoder = Renewing(
            core.codec, self.view.secrets, known=self.view.known, stored=self.view.stored, sink=self.sink
        )

    def fetch(self) -> Program[None]:
        refs = (*self.parsed.refs, *(ref for write in self.writes for ref in write.entry.refs))
        yield from fetch_missing(self.core, self.view, self.thread_id, refs, self.decoder, media=False)

    def renew(self, channel: str, positions: Collection[int], renewal: Renewal) -> None:
        self.record: CheckpointRecord = read_record(self.core, self.parsed, self.decoder)
        entry, made = self.encoder.renewed(
            channel, self.record.values[channel], self.decoder, positions=positions, renewal=renewal
        )
        self.values = {**self.record.values, channel: entry}
        self.decoder.fetched.update(self.sink.items)
        self.sequences: dict[str, Sequenced | None] = {
            name: self.decoder.sequenced(value) if is_list(value) else None for name, value in self.values.items()
        }
        if made is not None:
            self.sequences[channel] = made

    def turns(self, channel: str) -> Program[TurnWrite | None]:
        """Work out what becomes of the turn log: that of another channel stays as it is."""
        tail = self.found.tail
        made = self.sequences[channel]
        conversation = conversation_of(self.core, self.values, self.sequences)
        if made is None or conversation != channel or not only_messages(self.decoder, made.entries):
            return TurnWrite(self.place, tail) if tail.place == self.place else None
        checkpoint_id = self.record.checkpoint["id"]
        run_id = self.record.metadata.get("run_id")
        mark = stamp(self.core, self.thread_id, "", checkpoint_id, run_id=run_id, channel=channel)
        last = opened(self.view, tail, self.thread_id) if tail.place == self.place else None
        pending = _as_logged(_pending(self.record, self.writes, self.decoder, mark.at), last)
        messages = messages_of(self.decoder, made.entries)
        return (
            yield from rewritten(
                self.core, self.view, self.thread_id, self.place, made.entries, messages, mark, pending
            )
        )

    def send(self, turns: TurnWrite | None, *, token: bytes) -> Program[Any]:
        data, refs = dump_checkpoint(
            parent_id=self.record.parent_id,
            rest=self.record.checkpoint,
            metadata=self.record.metadata,
            values=self.values,
            place=self.place,
            secrets=self.view.secrets,
            dump=lambda value: self.encoder.dump_named("checkpoint metadata", value),
            add_item=self.encoder.add_item,
        )
        self.held = HeldRecord(data, self.record.versions, self.values)
        media = yield from media_args(self.core, self.view, self.thread_id, self.sink)
        entry = registering(self.core, self.thread_id, None, fresh=False)
        ns, checkpoint_id = self.place.split(b"\0")
        built_on = HeldRecord(self.data, {}, {})
        head: list[bytes | int] = [
            self.view.generation,
            self.view.generation,
            self.view.sealed_key,
            self.thread_id.encode(),
            ns,
            checkpoint_id,
            self.place,  # it builds on itself, and must be the head still
            data,
            self.core.ttl_arg,
            token,
            b"",
            b"raise",
            turns.extends if turns else b"",
            media.sent,
            built_on.sha1_hex,
            self.sink.builds_on(refs, refs_of(self.data, where="a record that was just read")),
            entry.now,
        ]
        args = packed(head, media, self.sink.items, turn_args(turns))
        keys = (*self.core.layout.thread(self.thread_id), *entry.keys)
        supposed = (b"ok", self.view.generation, b"", b"0" if turns is None else b"1")
        script = Script("put", keys, args, supposed=supposed)
        return (yield from registered(self.core, script, entry, large=media.large))

    def done(self, turns: TurnWrite | None) -> None:
        """Remember what is stored now."""
        view = self.view
        self.core.stored(view, self.sink)
        for name, made in self.sequences.items():
            if made is not None:
                view.sequences["", name] = made
        view.hold(self.place, self.held)
        view.turn_log = turns.tail if turns is not None else None


def _pending(record: CheckpointRecord, writes: Sequence[WriteRecord], decoder: Decoder, at: Any) -> Pending:
    """Say what is pending at a checkpoint, as the turn log has it."""
    stops = [
        (write.task_id, write.channel, decoder.without_media(write.entry)) for write in writes if write.channel in STOPS
    ]
    done = [(write.task_id, write.channel, None) for write in writes if write.channel not in STOPS]
    tasks = ("join:", "__pregel_tasks")
    values = {name: decoder.value(entry) if name.startswith(tasks) else None for name, entry in record.values.items()}
    pending = pending_of([*done, *stops], failed_at=at, has_media=decoder.codec.walk.holds_stand_in)
    return replace(pending, finished=is_finished(values))


def _as_logged(pending: Pending, last: TurnRecord | None) -> Pending:
    """Take from the log what it knows better: when an error happened, and the order in which interrupts came."""
    if last is None:
        return pending
    order = {interrupt.get("id"): position for position, interrupt in enumerate(last["interrupts"])}
    came = sorted(pending.interrupts, key=lambda interrupt: order.get(interrupt.get("id"), len(order)))
    return with_known_error(replace(pending, interrupts=tuple(came)), [last["error"]])
