"""Stores that other people wrote: slow, broken, lying or hanging, blocking and async."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from langgraph_portable_checkpoint.errors import (
    MediaDigestError,
    MediaError,
    MediaMissingError,
    MediaRefError,
    MediaStoreError,
)
from langgraph_portable_checkpoint.media import calls
from langgraph_portable_checkpoint.testing import sha256_of

DATA = b"bytes of a blob"
SHA = sha256_of(DATA)


class Scripted:
    """A store that answers what a test tells it to."""

    name = "scripted"

    def __init__(self, get: Callable[[str], Any] = lambda ref: DATA, put: Callable[[str], Any] = str) -> None:
        self._get = get
        self._put = put

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> Any:
        return self._put(sha256)

    def get(self, ref: str) -> Any:
        return self._get(ref)


class ScriptedAsync:
    """The same, async only."""

    name = "scripted"

    def __init__(self, inner: Scripted) -> None:
        self.inner = inner

    async def aput(self, sha256: str, mime_type: str | None, data: bytes) -> Any:
        await asyncio.sleep(0)
        return self.inner.put(sha256, mime_type, data)

    async def aget(self, ref: str) -> Any:
        await asyncio.sleep(0)
        return self.inner.get(ref)


def get(kind: str, store: Scripted, wanted: list[tuple[str, str]], **options: Any) -> list[bytes | MediaError]:
    if kind == "blocking":
        return calls.get_blobs(store, wanted, **options)
    chosen: Any = ScriptedAsync(store) if kind == "async" else store
    return asyncio.run(calls.aget_blobs(chosen, wanted, **options))


def put(kind: str, store: Scripted, blobs: list[Any], **options: Any) -> list[str]:
    if kind == "blocking":
        return calls.put_blobs(store, blobs, **options)
    chosen: Any = ScriptedAsync(store) if kind == "async" else store
    return asyncio.run(calls.aput_blobs(chosen, blobs, **options))


@pytest.fixture(params=["blocking", "async", "awaited on threads"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Speechless(Exception):
    """An error that cannot even say what it is."""

    def __str__(self) -> str:
        raise ZeroDivisionError


def raising(error: BaseException) -> Callable[[str], Any]:
    def call(ref: str) -> Any:
        raise error

    return call


def test_blobs_come_back_in_order(kind: str) -> None:
    store = Scripted(get=lambda ref: ref.encode())
    wanted = [(str(number), sha256_of(str(number).encode())) for number in range(50)]
    assert get(kind, store, wanted) == [ref.encode() for ref, _ in wanted]
    assert put(kind, store, [(str(number), None, b"") for number in range(50)]) == [ref for ref, _ in wanted]
    assert get(kind, store, []) == []


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (raising(KeyError("no")), MediaMissingError),
        (raising(FileNotFoundError("no")), MediaMissingError),
        (raising(RuntimeError("boom\nsecret traceback")), MediaStoreError),
        (raising(TimeoutError("own limit")), MediaStoreError),
        (raising(asyncio.CancelledError()), MediaStoreError),
        (raising(Speechless()), MediaStoreError),
        (raising(MediaRefError("bad ref")), MediaRefError),
        (lambda ref: None, MediaStoreError),
        (lambda ref: "text", MediaStoreError),
        (lambda ref: bytearray(DATA), MediaStoreError),
        (lambda ref: asyncio.sleep(0), MediaStoreError),
        (lambda ref: b"", MediaDigestError),
        (lambda ref: DATA + b"x", MediaDigestError),
    ],
)
def test_a_failing_blob_is_an_error_in_its_place(kind: str, answer: Any, error: type[MediaError]) -> None:
    store = Scripted(get=lambda ref: DATA if ref == "good" else answer(ref))
    first, second, third = get(kind, store, [("good", SHA), ("bad", SHA), ("good", SHA)])
    assert (first, third) == (DATA, DATA)
    assert type(second) is error
    assert "secret" not in str(second)


@pytest.mark.parametrize(
    "answer",
    [
        raising(ValueError("full")),
        raising(KeyError("no such folder")),
        raising(FileNotFoundError("no such folder")),
        raising(MediaMissingError("no such folder")),
        raising(asyncio.CancelledError()),
        raising(Speechless()),
        lambda ref: None,
        lambda ref: b"x",
        lambda ref: "",
        lambda ref: "r" * 2000,
        lambda ref: "\ud800",
    ],
)
def test_a_failing_put_fails_the_save(kind: str, answer: Any) -> None:
    with pytest.raises(MediaStoreError, match="scripted") as failed:
        put(kind, Scripted(put=answer), [(SHA, None, DATA)])
    assert type(failed.value) is MediaStoreError, "a blob that is put cannot be missing"


def test_a_store_that_hangs_costs_one_time_limit(kind: str) -> None:
    """However many blobs wait behind it; and the ones that came in time are not lost."""
    release = threading.Event()
    started: list[str] = []

    def hang(ref: str) -> Any:
        started.append(ref)
        if ref == "good":
            return DATA
        if kind == "async":
            raise AssertionError("replaced below")
        return DATA if release.wait(20) else None

    store: Any = Scripted(get=hang)
    if kind == "async":

        class Hanging(ScriptedAsync):
            async def aget(self, ref: str) -> Any:
                return DATA if ref == "good" else await asyncio.Event().wait()

        answers = asyncio.run(
            calls.aget_blobs(Hanging(store), [("good", SHA), *[("bad", SHA)] * 40], timeout_seconds=0.1)
        )
    else:
        answers = get(kind, store, [("good", SHA), *[("bad", SHA)] * 40], timeout_seconds=0.1)
    release.set()
    assert answers[0] == DATA
    assert all(type(answer) is MediaStoreError and "within 0.1 seconds" in str(answer) for answer in answers[1:])
    assert len(started) <= calls.PARALLEL_CALLS + 1


def test_a_few_calls_run_side_by_side(kind: str) -> None:
    if kind == "async":
        pytest.skip("a scripted async store does not wait")
    together = threading.Barrier(calls.PARALLEL_CALLS)
    store = Scripted(get=lambda ref: DATA if together.wait(10) >= 0 else None)
    assert get(kind, store, [("r", SHA)] * calls.PARALLEL_CALLS) == [DATA] * calls.PARALLEL_CALLS


def test_cancelling_a_read_cancels_what_it_waits_for() -> None:
    cancelled = []

    class Waiting(ScriptedAsync):
        async def aget(self, ref: str) -> Any:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(ref)
                raise

    async def main() -> None:
        task = asyncio.create_task(calls.aget_blobs(Waiting(Scripted()), [("a", SHA), ("b", SHA)]))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)

    asyncio.run(main())
    assert sorted(cancelled) == ["a", "b"]


def test_an_async_store_cannot_serve_a_blocking_call() -> None:
    store = ScriptedAsync(Scripted())
    with pytest.raises(MediaStoreError, match="async methods"):
        calls.get_blobs(store, [("r", SHA)])
    with pytest.raises(MediaStoreError, match="async methods"):
        calls.put_blobs(store, [(SHA, None, DATA)])


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), GeneratorExit()])
@pytest.mark.parametrize("kind", ["blocking", "awaited on threads"])
def test_a_store_that_ends_its_thread_fails_at_once(kind: str, error: BaseException) -> None:
    [answer] = get(kind, Scripted(get=raising(error)), [("r", SHA)], timeout_seconds=1000)
    assert type(answer) is MediaStoreError
    assert type(error).__name__ in str(answer)


def test_an_interrupt_from_the_keyboard_is_not_swallowed() -> None:
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(calls.aget_blobs(ScriptedAsync(Scripted(get=raising(KeyboardInterrupt()))), [("r", SHA)]))
