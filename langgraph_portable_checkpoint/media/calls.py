"""Call a media store that other people wrote: with a time limit, in a batch, trusting nothing that comes back.

Owns the boundary between stores and the rest. Whatever a store raises, returns or fails to return becomes bytes that
match their digest, a ref, or one of our errors. Blocking and async callers share the checks.

A blocking store is called on threads that do not keep the process alive, so that one that hangs costs a time limit
and nothing else.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Final

from langgraph_portable_checkpoint.errors import MediaError, MediaMissingError, MediaStoreError
from langgraph_portable_checkpoint.media.stores import (
    MAX_REF_CHARS,
    AsyncMediaStore,
    MediaStore,
    checked_bytes,
    store_name,
)

DEFAULT_TIMEOUT_SECONDS: Final = 30.0
PARALLEL_CALLS: Final = 8

Blob = tuple[str, str | None, bytes]
"""SHA-256 in hex, mime type, bytes."""
Wanted = tuple[str, str]
"""Ref, SHA-256 in hex."""
AnyStore = MediaStore | AsyncMediaStore


def put_blobs(store: AnyStore, blobs: Sequence[Blob], *, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS) -> list[str]:
    """Store blobs, several at a time.

    Returns:
        The refs, in order.

    Raises:
        MediaStoreError: a blob could not be stored, or not in time. Others of the call may have been stored.
    """
    put = _blocking(store, "put")
    answers = _call_all([_bound(put, blob) for blob in blobs], timeout_seconds)
    return [_ref_of(store, answer) for answer in answers]


async def aput_blobs(
    store: AnyStore, blobs: Sequence[Blob], *, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
) -> list[str]:
    """Store blobs without blocking; see `put_blobs`. A store without async methods is called on threads."""
    if isinstance(store, AsyncMediaStore):
        answers = await _await_all([_bound(store.aput, blob) for blob in blobs], timeout_seconds)
    else:
        answers = await _thread_all([_bound(_blocking(store, "put"), blob) for blob in blobs], timeout_seconds)
    return [_ref_of(store, answer) for answer in answers]


def get_blobs(
    store: AnyStore, wanted: Sequence[Wanted], *, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
) -> list[bytes | MediaError]:
    """Fetch blobs, several at a time, and check each against its digest.

    Returns:
        In order, the bytes, or why there are none: MediaMissingError, MediaDigestError, MediaRefError, or
        MediaStoreError. One blob's failure does not touch the others.
    """
    get = _blocking(store, "get")
    answers = _call_all([_bound(get, (ref,)) for ref, _ in wanted], timeout_seconds)
    return [_bytes_of(store, answer, want) for answer, want in zip(answers, wanted, strict=True)]


async def aget_blobs(
    store: AnyStore, wanted: Sequence[Wanted], *, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
) -> list[bytes | MediaError]:
    """Fetch blobs without blocking; see `get_blobs`."""
    if isinstance(store, AsyncMediaStore):
        answers = await _await_all([_bound(store.aget, (ref,)) for ref, _ in wanted], timeout_seconds)
    else:
        answers = await _thread_all([_bound(_blocking(store, "get"), (ref,)) for ref, _ in wanted], timeout_seconds)
    return [_bytes_of(store, answer, want) for answer, want in zip(answers, wanted, strict=True)]


class StoreCalls:
    """A store with its time limit, in the form that the drivers call it: batches in, answers out, in order."""

    def __init__(self, store: AnyStore, *, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS) -> None:
        self.store = store
        self.timeout_seconds = timeout_seconds

    def put_all(self, blobs: Sequence[Blob]) -> list[str]:
        """See `put_blobs`."""
        return put_blobs(self.store, blobs, timeout_seconds=self.timeout_seconds)

    def get_all(self, refs: Sequence[Wanted]) -> list[bytes | MediaError]:
        """See `get_blobs`."""
        return get_blobs(self.store, refs, timeout_seconds=self.timeout_seconds)

    async def aput_all(self, blobs: Sequence[Blob]) -> list[str]:
        """See `aput_blobs`."""
        return await aput_blobs(self.store, blobs, timeout_seconds=self.timeout_seconds)

    async def aget_all(self, refs: Sequence[Wanted]) -> list[bytes | MediaError]:
        """See `aget_blobs`."""
        return await aget_blobs(self.store, refs, timeout_seconds=self.timeout_seconds)


class _Outcome:
    """What a call came to. As a context it holds on to what other people's code raises, whatever that is.

    Attributes:
        value: What it returned.
        error: What it raised.
        holds: What passes through is anything else: on a thread of our own nothing may, since nobody would hear of it.
    """

    def __init__(self, holds: type[BaseException] = Exception) -> None:
        self.value: Any = None
        self.error: BaseException | None = None
        self.holds = holds

    def __enter__(self) -> _Outcome:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        self.error = error
        return isinstance(error, self.holds)


Call = Callable[[], Any]


def _bound(function: Callable[..., Any], arguments: Sequence[Any]) -> Call:
    return lambda: function(*arguments)


def _blocking(store: AnyStore, method: str) -> Callable[..., Any]:
    if isinstance(store, MediaStore):
        function: Callable[..., Any] = getattr(store, method)
        return function
    raise MediaStoreError(
        f"the media store {store_name(store)!r} has no blocking {method}(). "
        "Use the saver's async methods, or give the store put() and get()."
    )


def _start(calls: Sequence[Call]) -> list[Future[_Outcome]]:
    """Run calls on a few daemon threads; an idle one ends."""
    queue: SimpleQueue[tuple[Call, Future[_Outcome]]] = SimpleQueue()
    futures: list[Future[_Outcome]] = []
    for call in calls:
        futures.append(Future())
        queue.put((call, futures[-1]))
    for _ in range(min(len(calls), PARALLEL_CALLS)):
        threading.Thread(target=_work, args=(queue,), name="media-store", daemon=True).start()
    return futures


def _work(queue: SimpleQueue[tuple[Call, Future[_Outcome]]]) -> None:
    while True:
        try:
            call, future = queue.get_nowait()
        except Empty:
            return
        if future.set_running_or_notify_cancel():
            with _Outcome(BaseException) as outcome:
                outcome.value = call()
            future.set_result(outcome)


def _call_all(calls: Sequence[Call], timeout_seconds: float) -> list[_Outcome]:
    """Wait for all, but no longer than the limit without any of them coming back."""
    futures = _start(calls)
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout_seconds, FIRST_COMPLETED)
        if not done:
            break
    return [_give_up(future, timeout_seconds) if future in waiting else future.result() for future in futures]


async def _thread_all(calls: Sequence[Call], timeout_seconds: float) -> list[_Outcome]:
    return await _await_futures([asyncio.wrap_future(future) for future in _start(calls)], timeout_seconds)


async def _await_all(calls: Sequence[Call], timeout_seconds: float) -> list[_Outcome]:
    turns = asyncio.Semaphore(PARALLEL_CALLS)

    async def one(call: Call) -> _Outcome:
        async with turns:
            with _Outcome() as outcome:
                outcome.value = await _uncancelled(call)
            return outcome

    return await _await_futures([asyncio.ensure_future(one(call)) for call in calls], timeout_seconds)


async def _uncancelled(call: Call) -> Any:
    """Await a call; a store that raises CancelledError of its own has failed, nobody cancelled the caller."""
    try:
        return await call()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise MediaStoreError("it cancelled its own call") from error


async def _await_futures(futures: Sequence[asyncio.Future[_Outcome]], timeout_seconds: float) -> list[_Outcome]:
    waiting = set(futures)
    try:
        while waiting:
            done, waiting = await asyncio.wait(waiting, timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                break
        return [_give_up(future, timeout_seconds) if future in waiting else future.result() for future in futures]
    finally:
        for future in waiting:
            future.cancel()


def _give_up(future: Future[_Outcome] | asyncio.Future[_Outcome], timeout_seconds: float) -> _Outcome:
    future.cancel()
    return _timed_out(timeout_seconds)


def _timed_out(timeout_seconds: float) -> _Outcome:
    outcome = _Outcome()
    outcome.error = MediaStoreError(f"it did not answer within {timeout_seconds:g} seconds")
    return outcome


def _ref_of(store: AnyStore, outcome: _Outcome) -> str:
    ref = outcome.value
    if outcome.error is not None:
        raise _translated(store, "put", outcome.error) from outcome.error
    if isinstance(ref, str) and 0 < len(ref) <= MAX_REF_CHARS and ref == ref.encode("utf-8", "replace").decode():
        return ref
    raise _wrong_answer(store, "put", ref, f"a ref of 1 to {MAX_REF_CHARS} characters that UTF-8 can spell")


def _bytes_of(store: AnyStore, outcome: _Outcome, wanted: Wanted) -> bytes | MediaError:
    ref, sha256 = wanted
    if outcome.error is not None:
        return _translated(store, "get", outcome.error)
    if not isinstance(outcome.value, bytes):
        return _wrong_answer(store, "get", outcome.value, "bytes")
    try:
        return checked_bytes(outcome.value, sha256, what=f"blob {ref!r:.80} of the media store {store_name(store)!r}")
    except MediaError as mismatch:
        return mismatch


def _wrong_answer(store: AnyStore, method: str, answer: object, expected: str) -> MediaStoreError:
    if inspect.iscoroutine(answer):
        answer.close()
        expected += "; give async methods the names aput and aget"
    return MediaStoreError(
        f"the media store {store_name(store)!r} answered {method}() with {type(answer).__name__}, not {expected}"
    )


def _translated(store: AnyStore, method: str, error: BaseException) -> MediaError:
    missing = isinstance(error, LookupError | FileNotFoundError)
    if isinstance(error, MediaError) and type(error) is not MediaStoreError and not (missing and method == "put"):
        return error
    kind = MediaMissingError if missing and method == "get" else MediaStoreError
    with _Outcome() as said:
        said.value = str(error)
    first_line = (said.value or "it does not say why").partition("\n")[0]
    name = "" if type(error) is MediaStoreError else f"{type(error).__name__}: "
    return kind(f"the media store {store_name(store)!r} failed in {method}(): {name}{first_line:.500}")
