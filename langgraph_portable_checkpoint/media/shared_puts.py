"""Saves that overlap put the same bytes into a media store once: whoever comes later waits for the one at work.

Owns who puts what. Knows nothing of threads or servers. A graph saves its input, its tasks' writes and its first steps
almost at once, each with the same picture, and none can know yet what the others have stored.

What one call of a saver has put counts until that call has ended, and all that were going on at its end: they looked
into what is stored before that. Calls that begin later see it in the thread's own records. It never counts for longer
than a call may wait for the store, whatever else goes on: a store may lose what it was given. A put that fails is not
shared: each that waited for it puts by itself. Threads wait for threads, and tasks for tasks of their own loop,
since a loop that is blocked by a wait would not go on with what is waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any

from langgraph_portable_checkpoint.errors import MediaError
from langgraph_portable_checkpoint.media.calls import Blob, StoreCalls, Wanted

_Key = tuple[Any, str, str | None]
"""The loop, if there is one; digest and mime type."""


@dataclass(slots=True, eq=False)
class _Claim:
    """One call's word that it puts a blob."""

    ref: Future[str | None] = field(default_factory=Future)
    """None where the put failed."""
    put_at: float | None = None

    def __post_init__(self) -> None:
        self.ref.set_running_or_notify_cancel()  # so that a waiter that is cancelled does not cancel it


_Claims = dict[_Key, _Claim]


class SharedPuts:
    """A media store for all calls of a saver."""

    def __init__(self, calls: StoreCalls, *, clock: Callable[[], float] = monotonic) -> None:
        self.calls = calls
        self.clock = clock
        self._held: _Claims = {}
        self._going: set[OneCall] = set()
        self._lingering: list[tuple[_Claims, set[OneCall]]] = []
        """What ended calls have put, with the calls that may not know of it yet."""
        self._lock = Lock()

    def begin(self, call: OneCall) -> None:
        """Note that a call goes on."""
        with self._lock:
            self._going.add(call)

    def claim(self, key: _Key) -> tuple[_Claim, bool]:
        """Return who puts a blob, and whether that is the caller."""
        with self._lock:
            held = self._held.get(key)
            if held is not None and not self._is_old(held):
                return held, False
            made = self._held[key] = _Claim()
            return made, True

    def drop(self, claims: _Claims) -> None:
        """Let the next one put these blobs again."""
        with self._lock:
            self._drop(claims)

    def end(self, call: OneCall, claims: _Claims) -> None:
        """Note that a call has ended, and what it has put."""
        with self._lock:
            self._going.discard(call)
            if claims:
                self._lingering.append((claims, set(self._going)))
            for put, unaware in self._lingering:
                unaware.discard(call)
                if any(map(self._is_old, put.values())):
                    unaware.clear()
                if not unaware:
                    self._drop(put)
            self._lingering = [each for each in self._lingering if each[1]]

    def _is_old(self, claim: _Claim) -> bool:
        return claim.put_at is not None and self.clock() - claim.put_at > self.calls.timeout_seconds

    def _drop(self, claims: _Claims) -> None:
        for key, claim in claims.items():
            if self._held.get(key) is claim:
                del self._held[key]


@contextmanager
def for_one_call(shared: SharedPuts | None) -> Iterator[OneCall | None]:
    """Give the store to one call of a saver; None where the saver has none."""
    if shared is None:
        yield None
        return
    call = OneCall(shared)
    shared.begin(call)
    try:
        yield call
    finally:
        shared.end(call, call.claims)


@dataclass(slots=True)
class _Plan:
    """Who puts each blob of a batch."""

    own: dict[_Key, Blob] = field(default_factory=dict)
    awaited: dict[_Key, Blob] = field(default_factory=dict)
    claims: _Claims = field(default_factory=dict)
    failed: dict[_Key, Blob] = field(default_factory=dict)
    """What others could not put."""
    refs: dict[_Key, str] = field(default_factory=dict)

    def take(self, put: Iterable[_Key], refs: Iterable[str]) -> None:
        """Note where blobs are."""
        self.refs.update(zip(put, refs, strict=True))

    def take_awaited(self) -> None:
        """Note where blobs are that others put, waiting for them."""
        for key, blob in self.awaited.items():
            ref = self.claims[key].ref.result()
            if ref is None:
                self.failed[key] = blob
            else:
                self.refs[key] = ref


class OneCall:
    """The store during one call of a saver; for how it answers see `StoreCalls`."""

    def __init__(self, shared: SharedPuts) -> None:
        self._shared = shared
        self._calls = shared.calls
        self.claims: _Claims = {}

    def put_all(self, blobs: Sequence[Blob]) -> list[str]:
        """See `calls.put_blobs`."""
        plan = self._plan(None, blobs)
        with self._settling(plan) as refs:
            refs += self._calls.put_all(list(plan.own.values())) if plan.own else ()
        plan.take_awaited()
        plan.take(plan.failed, self._calls.put_all(list(plan.failed.values())))
        return [plan.refs[key] for key in _keys(None, blobs)]

    async def aput_all(self, blobs: Sequence[Blob]) -> list[str]:
        """See `calls.aput_blobs`."""
        loop = asyncio.get_running_loop()
        plan = self._plan(loop, blobs)
        with self._settling(plan) as refs:
            refs += (await self._calls.aput_all(list(plan.own.values()))) if plan.own else ()
        if plan.awaited:
            await asyncio.wait([asyncio.wrap_future(plan.claims[key].ref) for key in plan.awaited])
        plan.take_awaited()
        plan.take(plan.failed, await self._calls.aput_all(list(plan.failed.values())))
        return [plan.refs[key] for key in _keys(loop, blobs)]

    def get_all(self, refs: Sequence[Wanted]) -> list[bytes | MediaError]:
        """See `calls.get_blobs`."""
        return self._calls.get_all(refs)

    async def aget_all(self, refs: Sequence[Wanted]) -> list[bytes | MediaError]:
        """See `calls.aget_blobs`."""
        return await self._calls.aget_all(refs)

    def _plan(self, loop: Any, blobs: Sequence[Blob]) -> _Plan:
        plan = _Plan()
        for key, blob in zip(_keys(loop, blobs), blobs, strict=True):
            if key in plan.claims:
                continue
            plan.claims[key], is_own = self._shared.claim(key)
            if is_own:
                self.claims[key] = plan.claims[key]
            (plan.own if is_own else plan.awaited)[key] = blob
        return plan

    @contextmanager
    def _settling(self, plan: _Plan) -> Iterator[list[str]]:
        """Tell those who wait what came of the caller's own puts, whatever that is: nobody waits for ever."""
        refs: list[str] = []
        try:
            yield refs
            plan.take(plan.own, refs)
        finally:
            failed = {key: self.claims.pop(key) for key in plan.own if key not in plan.refs}
            self._shared.drop(failed)
            for key in plan.own:
                plan.claims[key].put_at = self._shared.clock()
                plan.claims[key].ref.set_result(plan.refs.get(key))


def _keys(loop: Any, blobs: Sequence[Blob]) -> list[_Key]:
    return [(loop, sha256, mime_type) for sha256, mime_type, _ in blobs]
