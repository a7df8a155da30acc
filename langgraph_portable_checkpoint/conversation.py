"""Conversations as turns: what `PortableRedisSaver` offers beside the checkpointer's own methods.

Reads turn envelopes and message envelopes; needs neither the graph nor the serializer's types, except where a graph is
handed in to fold channels that are stored as deltas.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from langchain_core.runnables import RunnableConfig

from .archiving import ArchiveMethods
from .envelope.facts import fact_of_message
from .envelope.model import MessageEnvelope
from .envelope.read import read_message
from .envelope.turn_log import StoredTurn, derive_turns
from .envelope.turn_model import TurnMessage, TurnRecord
from .envelope.turn_pending import InterruptedTurn, interrupted_turn_record
from .errors import StorageError, TurnInProgressError
from .storage.layout import checked_id
from .storage.programs import lease, reading
from .storage.programs.reading import PAGE_TURNS, ThreadInfo
from .storage.programs.turns import stamp
from .truncating import TruncateMethods

if TYPE_CHECKING:
    from .storage.clients import Clients
    from .storage.effects import Program
    from .storage.programs.core import Core

T = TypeVar("T")
POLL_SECONDS: Final = 0.05
TOKENS: ContextVar[dict[tuple[int, int, str, str], bytes] | None] = ContextVar(
    "portable_checkpoint_leases", default=None
)
"""Tokens of the leases that this context holds, by process, connections, prefix and thread; inherited by the tasks and
threads that a graph run starts. A forked child inherits them, too, and is another client all the same."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation.

    Attributes:
        record: The turn envelope, as stored (see docs/format.md).
        messages: Its messages as envelopes, in order.
    """

    record: TurnRecord
    messages: list[MessageEnvelope]

    @property
    def turn(self) -> int:
        """Its number, from 0."""
        return self.record["turn"]

    @property
    def status(self) -> str:
        """open, complete, interrupted or failed."""
        return self.record["status"]


def _turn(pair: tuple[StoredTurn, list[MessageEnvelope]]) -> Turn:
    return Turn(pair[0].record, pair[1])


class Lease:
    """A held lease.

    Attributes:
        token: What the holder's writes carry.
        lost: Whether it could not be renewed in time; further writes are refused once another holder had it.
    """

    def __init__(self, thread_id: str, token: bytes) -> None:
        self.thread_id = thread_id
        self.token = token
        self.lost = False
        self._process_id = os.getpid()

    @property
    def is_ours(self) -> bool:
        """Whether this process took it, and not the one that this was forked from."""
        return self._process_id == os.getpid()


class ConversationMethods(ArchiveMethods, TruncateMethods):
    """Turns, threads and leases of a saver."""

    _core: Core
    _clients: Clients

    def _run(self, program: Program[T]) -> T:
        raise NotImplementedError

    async def _arun(self, program: Program[T]) -> T:
        raise NotImplementedError

    def turns(
        self,
        thread_id: str,
        *,
        start: int = 0,
        stop: int | None = None,
        reverse: bool = False,
        media: bool = True,
        checkpoint_id: str | None = None,
        checkpoint_ns: str = "",
        graph: Any = None,
    ) -> Iterator[Turn]:
        """Read a conversation turn by turn, lazily.

        Args:
            start: First turn; negative counts from the end.
            stop: The turn to stop before; negative counts from the end; None: to the end.
            reverse: From the last to the first.
            media: Whether media bytes are put into the blocks; else the blocks name them (`media`).
            checkpoint_id: Another checkpoint than the head: its turns are derived.
            checkpoint_ns: Another namespace than the root.
            graph: A compiled graph, for conversations in a DeltaChannel: its state is what counts.

        Round trips: 2 or 3 for each page of 50 turns.
        """
        thread_id = checked_id("thread_id", thread_id)
        if graph is not None:
            config = _config(thread_id, checkpoint_ns, checkpoint_id)
            yield from _slice(self._folded(thread_id, config, graph.get_state(config)), start, stop, reverse=reverse)
            return
        if checkpoint_id is not None or checkpoint_ns:
            program = reading.derived_turns(self._core, thread_id, checkpoint_ns, checkpoint_id, media=media)
            yield from _slice([_turn(pair) for pair in self._run(program)], start, stop, reverse=reverse)
            return
        walk = _Walk(start, stop, reverse=reverse)
        while (bounds := walk.next()) is not None:
            yield from walk.take(self._run(reading.turns_page(self._core, thread_id, *bounds, media=media)))

    async def aturns(
        self,
        thread_id: str,
        *,
        start: int = 0,
        stop: int | None = None,
        reverse: bool = False,
        media: bool = True,
        checkpoint_id: str | None = None,
        checkpoint_ns: str = "",
        graph: Any = None,
    ) -> AsyncIterator[Turn]:
        """Read a conversation turn by turn; see `turns`."""
        thread_id = checked_id("thread_id", thread_id)
        if graph is not None or checkpoint_id is not None or checkpoint_ns:
            config = _config(thread_id, checkpoint_ns, checkpoint_id)
            if graph is not None:
                found = self._folded(thread_id, config, await graph.aget_state(config))
            else:
                program = reading.derived_turns(self._core, thread_id, checkpoint_ns, checkpoint_id, media=media)
                found = [_turn(pair) for pair in await self._arun(program)]
            for turn in _slice(found, start, stop, reverse=reverse):
                yield turn
            return
        walk = _Walk(start, stop, reverse=reverse)
        while (bounds := walk.next()) is not None:
            for turn in walk.take(await self._arun(reading.turns_page(self._core, thread_id, *bounds, media=media))):
                yield turn

    def _folded(self, thread_id: str, config: RunnableConfig, state: Any) -> list[Turn]:
        """Derive the turns of a graph's state."""
        values = state.values if isinstance(state.values, dict) else {}
        channels = (*self._core.conversation_channels, *values)
        messages: list[Any] = next((values[name] for name in channels if _is_conversation(values.get(name))), [])
        named = [TurnMessage(b"", getattr(m, "id", None), fact_of_message(m)) for m in messages]
        checkpoint_id = state.config.get("configurable", {}).get("checkpoint_id", "")
        ns = config["configurable"].get("checkpoint_ns", "")
        turns = derive_turns(named, stamp=stamp(self._core, thread_id, ns, checkpoint_id))
        envelopes = iter([read_message(message) for message in messages])
        return [Turn(turn.record, [next(envelopes) for _ in turn.entries]) for turn in turns]

    def interrupted_turn(self, thread_id: str) -> InterruptedTurn | None:
        """Return the question of the last turn, ready to be sent again, if that turn failed or was interrupted.

        Round trips: 2. None once the next turn has started.
        """
        return _question(self._run(reading.last_turn(self._core, checked_id("thread_id", thread_id))))

    async def ainterrupted_turn(self, thread_id: str) -> InterruptedTurn | None:
        """Return the question of a turn that stopped; see `interrupted_turn`."""
        return _question(await self._arun(reading.last_turn(self._core, checked_id("thread_id", thread_id))))

    def thread_info(self, thread_id: str) -> ThreadInfo | None:
        """Describe a thread: checkpoints, turns, status, times, totals of tokens and media; None when there is none."""
        return self._run(reading.thread_info(self._core, checked_id("thread_id", thread_id)))

    async def athread_info(self, thread_id: str) -> ThreadInfo | None:
        """Describe a thread; see `thread_info`."""
        return await self._arun(reading.thread_info(self._core, checked_id("thread_id", thread_id)))

    def threads(self, *, page_size: int = 100) -> Iterator[ThreadInfo]:
        """List all threads, lazily, in no particular order, without totals."""
        for shard in reading.SHARD_NUMBERS:
            names = self._run(reading.registry_page(self._core, shard))
            for at in range(0, len(names), page_size):
                yield from self._run(reading.infos(self._core, names[at : at + page_size]))

    async def athreads(self, *, page_size: int = 100) -> AsyncIterator[ThreadInfo]:
        """List all threads; see `threads`."""
        for shard in reading.SHARD_NUMBERS:
            names = await self._arun(reading.registry_page(self._core, shard))
            for at in range(0, len(names), page_size):
                for info in await self._arun(reading.infos(self._core, names[at : at + page_size])):
                    yield info

    @contextmanager
    def exclusive_turn(
        self, config: RunnableConfig | str, *, wait: float | None = 0, lease_seconds: float = 30
    ) -> Iterator[Lease]:
        """Hold a thread for one turn: nobody else's writes are accepted meanwhile.

        The lease is renewed while held, freed on exit, and expires after a crash. An exception that leaves the block
        is recorded in the turn that was going on. A process forked in the block holds nothing.

        Args:
            config: A config or a thread id.
            wait: Seconds to wait for another holder; 0: not at all, None: for ever.
            lease_seconds: How long after a crash others have to wait.

        Raises:
            TurnInProgressError: someone else holds the thread.
        """
        held = self._new_lease(config)
        ttl_ms = max(100, int(lease_seconds * 1000))
        deadline = None if wait is None else time.monotonic() + wait
        while not self._run(lease.take_lease(self._core, held.thread_id, held.token, ttl_ms)):
            _check_deadline(held, deadline)
            time.sleep(POLL_SECONDS)
        stop = threading.Event()
        renewer = threading.Thread(target=self._renew, args=(held, ttl_ms, stop), daemon=True)
        renewer.start()
        outer = TOKENS.set({**(TOKENS.get() or {}), self._lease_name(held.thread_id): held.token})
        try:
            yield held
        except BaseException as error:
            if held.is_ours:
                with suppress(StorageError):
                    self._run(reading.fail_turn(self._core, held.thread_id, error))
            raise
        finally:
            TOKENS.reset(outer)
            stop.set()
            renewer.join()
            if held.is_ours:
                with suppress(StorageError):
                    self._run(lease.free_lease(self._core, held.thread_id, held.token))

    def _lease_name(self, thread_id: str) -> tuple[int, int, str, str]:
        return os.getpid(), id(self._clients), self._core.layout.prefix, thread_id

    def _token(self, thread_id: str) -> bytes:
        """Return what this context's writes to a thread show: the token of the lease that it took with this saver."""
        return (TOKENS.get() or {}).get(self._lease_name(thread_id), b"")

    def _new_lease(self, config: RunnableConfig | str) -> Lease:
        thread_id = config if isinstance(config, str) else config.get("configurable", {}).get("thread_id")
        return Lease(checked_id("thread_id", thread_id), secrets.token_hex(12).encode())

    def _renew(self, held: Lease, ttl_ms: int, stop: threading.Event) -> None:
        while not stop.wait(ttl_ms / 3000):
            with suppress(StorageError):
                held.lost = not self._run(lease.renew_lease(self._core, held.thread_id, held.token, ttl_ms))

    @asynccontextmanager
    async def aexclusive_turn(
        self, config: RunnableConfig | str, *, wait: float | None = 0, lease_seconds: float = 30
    ) -> AsyncIterator[Lease]:
        """Hold a thread for one turn; see `exclusive_turn`."""
        held = self._new_lease(config)
        ttl_ms = max(100, int(lease_seconds * 1000))
        deadline = None if wait is None else time.monotonic() + wait
        while not await self._arun(lease.take_lease(self._core, held.thread_id, held.token, ttl_ms)):
            _check_deadline(held, deadline)
            await asyncio.sleep(POLL_SECONDS)
        renewer = asyncio.create_task(self._arenew(held, ttl_ms))
        outer = TOKENS.set({**(TOKENS.get() or {}), self._lease_name(held.thread_id): held.token})
        try:
            yield held
        except BaseException as error:
            if held.is_ours:
                with suppress(StorageError):
                    await self._arun(reading.fail_turn(self._core, held.thread_id, error))
            raise
        finally:
            TOKENS.reset(outer)
            renewer.cancel()
            if held.is_ours:
                with suppress(StorageError):
                    await self._arun(lease.free_lease(self._core, held.thread_id, held.token))

    async def _arenew(self, held: Lease, ttl_ms: int) -> None:
        while True:
            await asyncio.sleep(ttl_ms / 3000)
            with suppress(StorageError):
                held.lost = not await self._arun(lease.renew_lease(self._core, held.thread_id, held.token, ttl_ms))


def _check_deadline(held: Lease, deadline: float | None) -> None:
    if deadline is not None and time.monotonic() >= deadline:
        raise TurnInProgressError(
            f"a turn is already in progress on thread {held.thread_id!r}. Wait for it (wait=seconds), or try again."
        )


def _config(thread_id: str, checkpoint_ns: str, checkpoint_id: str | None) -> RunnableConfig:
    named = {"thread_id": thread_id, "checkpoint_ns": checkpoint_ns}
    return {"configurable": named if checkpoint_id is None else {**named, "checkpoint_id": checkpoint_id}}


def _is_conversation(value: Any) -> bool:
    from langchain_core.messages import BaseMessage

    return isinstance(value, list) and bool(value) and all(isinstance(message, BaseMessage) for message in value)


def _question(found: tuple[TurnRecord, list[MessageEnvelope]] | None) -> InterruptedTurn | None:
    if found is None:
        return None
    record, messages = found
    return interrupted_turn_record(record, [messages[at] for at in record["question"] if at < len(messages)])


def _slice(turns: Sequence[Turn], start: int, stop: int | None, *, reverse: bool) -> Sequence[Turn]:
    chosen = turns[start:stop]
    return chosen[::-1] if reverse else chosen


class _Walk:
    """Pages through turns [start, stop) from either end."""

    def __init__(self, start: int, stop: int | None, *, reverse: bool) -> None:
        self._start, self._stop, self._reverse = start, stop, reverse
        self._known = start >= 0 and (stop is None or stop >= 0) and not reverse
        self._at = start
        self._done = False

    def next(self) -> tuple[int, int] | None:
        """Return first turn and count of the next page; None at the end. The first page may only learn the total."""
        if self._done:
            return None
        if not self._known:
            if self._start < 0 and self._stop is None and not self._reverse:
                return self._start, PAGE_TURNS
            return (-PAGE_TURNS, PAGE_TURNS) if self._reverse and self._stop is None else (0, 0)
        if self._reverse:
            first = max(self._start, self._at - PAGE_TURNS)
            return first, self._at - first
        left = PAGE_TURNS if self._stop is None else min(PAGE_TURNS, self._stop - self._at)
        return (self._at, left) if left > 0 else None

    def take(self, page: reading.TurnsPage) -> Iterator[Turn]:
        """Digest a page; give its turns in the order asked for."""
        turns = [_turn(pair) for pair in page.turns]
        if not self._known:
            self._settle(page.total)
            turns = [turn for turn in turns if self._start <= turn.turn < (self._stop or 0)]
        if self._reverse:
            self._at = min([self._at, *(turn.turn for turn in turns)])
            self._done = self._at <= self._start
            return iter(turns[::-1])
        self._at = page.first + len(page.turns) if turns else self._at
        self._done = self._at >= min(page.total, page.total if self._stop is None else self._stop)
        return iter(turns)

    def _settle(self, total: int) -> None:
        self._start = max(total + self._start, 0) if self._start < 0 else self._start
        stop = total if self._stop is None else total + self._stop if self._stop < 0 else self._stop
        self._stop = max(min(stop, total), self._start)
        self._at = self._stop if self._reverse else self._start
        self._known = True
