"""Threads and runs that a client meets first: entered into the indexes with the write, or before it is sent.

So no checkpoint is stored of a thread that cannot be registered, for want of memory or of a right: listings would not
show it, and the caller would be told that the write had failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import ServerReadOnlyError, WrongServerError
from ..effects import Batch, Command, Program, Script
from ..layout import run_digest
from .core import Core
from .large import answer_of, forbids_slots, forbids_transactions, in_transaction, may_end_transactions


@dataclass(frozen=True, slots=True)
class Registering:
    """What a writing script enters into indexes, since this client meets the thread or the run first.

    Attributes:
        commands: What does so ahead of the script; empty where the script does it itself.
        keys: The index keys that the script takes behind the thread's own.
        now: When the thread is registered, as the script takes it.
        undo: What takes the thread's own registration back, unless someone has renewed it since.
    """

    commands: tuple[Command, ...] = ()
    keys: tuple[bytes, ...] = ()
    now: bytes = b""
    undo: tuple[Script, ...] = ()


def registering(core: Core, thread_id: str, run_id: str | None, *, fresh: bool) -> Registering:
    """Say what is to be registered before a write, and how."""
    calls: list[Command] = []
    name, now = thread_id.encode(), core.now_ms()
    shard = core.layout.registry(core.layout.shard_of(name))
    if fresh:
        calls.append(Command(("ZADD", shard, now, name)))
    if run_id is not None:
        digest = run_digest(run_id)
        calls.append(Command(("ZADD", core.layout.run_index(core.layout.shard_of(digest)), 0, digest + name)))
    if core.spans_slots:
        return Registering(keys=tuple(call.args[1] for call in calls), now=str(now).encode() if fresh else b"")
    undo = (Script("forget", (shard,), (now + 1, name)),) if fresh else ()
    return Registering(tuple(calls), undo=undo)


def registered(core: Core, script: Script, entry: Registering, *, large: Mapping[bytes, bytes]) -> Program[Any]:
    """Run a writing script; what this client meets first is registered with it, or is known to be before it is sent.

    Args:
        large: Blobs that go before the script, in one transaction with it.

    Returns:
        The script's reply; None where it has to be spelled anew, because this user may use no transactions or this
        server takes no script with keys of several slots.
    """
    if entry.commands:
        yield Batch(entry.commands)
    try:
        reply = yield from _sent(core, script, large)
    except WrongServerError as refusal:
        if not (entry.keys and forbids_slots(refusal)):
            raise
        core.spans_slots = False
        return None
    if entry.undo and reply is not None and reply[0] in (b"deleted", b"leased"):
        yield Batch(entry.undo)
    return reply


def _sent(core: Core, script: Script, large: Mapping[bytes, bytes]) -> Program[Any]:
    if not large:
        return (yield script)
    try:
        if core.transactions is None:
            yield from may_end_transactions()
        replies = yield Batch(in_transaction(script, large))
    except ServerReadOnlyError as refusal:
        if not forbids_transactions(refusal):
            raise
        core.transactions = False
        return None
    core.transactions = True
    return answer_of(replies)
