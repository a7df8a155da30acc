"""Interrupts and errors of the last turn, put into its record as they are written.

A task that stops writes why to its checkpoint's pending writes, and the turn's record must say so at once: in the same
atomic step where this client knows the record, else by reading what is pending and marking it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ...envelope.turn_pending import pending_of
from ...envelope.turn_record import mark_turn
from ...envelope.turn_wire import dump_turn
from ...envelope.turns import Pending
from ..codec import ValueCodec
from ..effects import Program, Script
from ..records import load_writes
from ..view import ThreadView
from .core import Core, unpair
from .interrupts import without_stripped
from .turns import Tail, mark_of, opened, seal, stamp, turn_field

STOPS: Final = ("__interrupt__", "__error__")
MAX_ENCOUNTERS: Final = 200


def stopped(writes: Sequence[tuple[str, Any]]) -> bool:
    """Tell whether pending writes say why a turn stopped."""
    return any(channel in STOPS for channel, _ in writes)


def mark_stop(
    core: Core,
    view: ThreadView,
    thread_id: str,
    place: bytes,
    *,
    task_id: str,
    writes: Sequence[tuple[str, Any]],
    codec: ValueCodec,
) -> tuple[Tail, bytes, bytes] | None:
    """Work out the last turn's record with an interrupt or error at its checkpoint, if this client knows the record.

    Returns:
        The new tail, the record as stored, and the mark of the one that it replaces; None when the log does not belong
        to that checkpoint as far as known.
    """
    tail: Tail | None = view.turn_log
    if tail is None or tail.place != place or tail.as_stored is None:
        return None
    last = opened(view, tail, thread_id)
    if last is None:
        return None
    mark = stamp(core, thread_id, "", last["checkpoint"].get("id", ""), channel=last.get("channel", "messages"))
    told, has_media = without_stripped(codec.walk, writes, thread_id)
    pending = pending_of([(task_id, *write) for write in told], failed_at=mark.at, has_media=has_media)
    record = mark_turn(last, stamp=mark, pending=pending)
    data = seal(view, turn_field(record["turn"]), dump_turn(record))
    return Tail(place, tail.turns, record, tail.entries, data), data, mark_of(tail.as_stored)


def settle_stop(core: Core, thread_id: str, place: bytes) -> Program[None]:
    """Bring the last turn's record up to date with what is pending at the head, from what is stored.

    Tasks that stop at the same time each do so; a record that another one has replaced meanwhile is read again, so
    none is lost. Two round trips, two more for each such encounter.
    """
    for _ in range(MAX_ENCOUNTERS):
        place_ns, place_id = place.split(b"\0")
        args = (place_ns, place_id, b"", b"", b"1", b"1")
        reply = yield Script("read", core.layout.thread(thread_id), args, writes=False)
        if not reply[0] or reply[5] != place or not reply[7]:
            return
        view = core.view_of(reply[0], reply[1], thread_id)
        tail, data = _settled_tail(core, view, thread_id, place, reply)
        change = (view.generation, place, turn_field(tail.turns - 1), data, mark_of(reply[7]))
        written = yield Script("mark", core.layout.thread(thread_id), change)
        if written >= 0:
            known = view.turn_log
            if written and known is not None and known.place == place:
                view.turn_log = replace(tail, entries=known.entries)
            return


def _settled_tail(core: Core, view: ThreadView, thread_id: str, place: bytes, reply: Any) -> tuple[Tail, bytes]:
    decoder = core.decoder(view, thread_id, unpair(reply[8:]))
    decoder.final = True
    last = opened(view, Tail(place, int(reply[6]), reply[7], None), thread_id)
    assert last is not None
    writes = load_writes(reply[4], place=place, secrets=view.secrets, where=decoder.where)
    values = [
        (write.task_id, write.channel, decoder.without_media(write.entry)) for write in writes if write.channel in STOPS
    ]
    done = [(write.task_id, write.channel, None) for write in writes if write.channel not in STOPS]
    mark = stamp(core, thread_id, "", last["checkpoint"].get("id", ""), channel=last.get("channel", "messages"))
    has_media = core.codec.walk.holds_stand_in
    pending = pending_of([*done, *values], failed_at=mark.at, has_media=has_media)
    pending = with_known_error(pending, [last["error"]])
    record = mark_turn(last, stamp=mark, pending=pending)
    data = seal(view, turn_field(record["turn"]), dump_turn(record))
    return Tail(place, int(reply[6]), record, None, data), data


def with_known_error(pending: Pending, known: Iterable[Mapping[str, Any] | None]) -> Pending:
    """Take the record of an error from the log, which knows when it happened, where it is the same error."""
    found = pending.error
    same = [
        error for error in known if found and error and all(error[key] == found[key] for key in ("type", "message"))
    ]
    return replace(pending, error=same[-1]) if same else pending
