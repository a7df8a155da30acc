"""The same bytes go into a store once, however many saves of a moment bring them, and no put that fails is believed."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Lock
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_portable_checkpoint.errors import MediaStoreError
from langgraph_portable_checkpoint.media.calls import StoreCalls
from langgraph_portable_checkpoint.media.shared_puts import SharedPuts, for_one_call
from tests.saver.calls import Calls
from tests.saver.conftest import SaverFactory
from tests.saver.conftest import calls as calls
from tests.saver.conftest import make_saver as make_saver

DATA = b"\x89PNG\r\n\x1a\n" + b"x" * 400_000
BLOB = (hashlib.sha256(DATA).hexdigest(), "image/png", DATA)
OTHER = ("ab" * 32, None, b"other")
PARALLEL = 4


class Shelf:
    """A store that counts, and does what it is told before each put."""

    name = "shelf"

    def __init__(self, before: Callable[[int], None] = lambda _: None) -> None:
        self.before = before
        self.blobs: dict[str, bytes] = {}
        self.puts: list[str] = []
        self._lock = Lock()

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        with self._lock:
            self.puts.append(sha256)
            number = len(self.puts)
        self.before(number)
        self.blobs[sha256] = bytes(data)
        return sha256

    def get(self, ref: str) -> bytes:
        return self.blobs[ref]


def shared(shelf: Any, **options: Any) -> SharedPuts:
    return SharedPuts(StoreCalls(shelf), **options)


def put_once(puts: SharedPuts, *blobs: Any) -> list[str]:
    with for_one_call(puts) as call:
        assert call is not None
        return call.put_all(blobs)


async def aput_once(puts: SharedPuts, *blobs: Any) -> list[str]:
    with for_one_call(puts) as call:
        assert call is not None
        return await call.aput_all(blobs)


def side_by_side(puts: SharedPuts, blocking: bool, *batches: Any) -> list[Any]:
    """Put batches at once, each in a call of its own; return what each came to."""

    all_begun = Barrier(len(batches), timeout=30)

    def outcome(batch: Any) -> Any:
        with for_one_call(puts) as call:
            assert call is not None
            all_begun.wait()
            try:
                return call.put_all(batch)
            except MediaStoreError as error:
                return error

    async def all_of() -> list[Any]:
        return list(await asyncio.gather(*(aput_once(puts, *batch) for batch in batches), return_exceptions=True))

    if not blocking:
        return asyncio.run(all_of())
    with ThreadPoolExecutor(len(batches)) as pool:
        return list(pool.map(outcome, batches))


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_picture_is_put_once_in_its_first_turn(make_saver: SaverFactory, calls: Calls, durability: str) -> None:
    shelf = Shelf()
    saver = make_saver(media_store=shelf)
    builder = StateGraph(MessagesState).add_node("n", lambda _: {"messages": [AIMessage("ok")]})
    graph = builder.add_edge(START, "n").compile(checkpointer=saver)
    part = {"type": "image", "base64": base64.b64encode(DATA).decode(), "mime_type": "image/png"}
    config = {"configurable": {"thread_id": "t"}}
    calls.run(graph, "invoke", {"messages": [HumanMessage([part])]}, config, durability=durability)
    assert shelf.puts == [BLOB[0]]
    found = calls.run(make_saver(media_store=shelf), "get_tuple", config)
    assert found.checkpoint["channel_values"]["messages"][0].content == [part]


@pytest.mark.parametrize("blocking", [True, False], ids=["threads", "tasks"])
def test_calls_that_overlap_put_a_blob_once(blocking: bool) -> None:
    shelf = Shelf()
    batches = [(BLOB,), (BLOB, OTHER), (OTHER, BLOB), (BLOB, BLOB)]
    answers = side_by_side(shared(shelf), blocking, *batches)
    assert answers == [[sha256 for sha256, _, _ in batch] for batch in batches]
    assert sorted(shelf.puts) == sorted([BLOB[0], OTHER[0]])


@pytest.mark.parametrize("blocking", [True, False], ids=["threads", "tasks"])
def test_who_waited_for_a_put_that_failed_puts_by_itself(blocking: bool) -> None:
    def refuse_the_first(number: int) -> None:
        if number == 1:
            raise OSError("no space left")

    shelf = Shelf(refuse_the_first)
    answers = side_by_side(shared(shelf), blocking, *[(BLOB,)] * PARALLEL)
    assert [answer for answer in answers if not isinstance(answer, MediaStoreError)] == [[BLOB[0]]] * (PARALLEL - 1)
    assert shelf.blobs == {BLOB[0]: DATA}
    assert put_once(shared(shelf), BLOB) == [BLOB[0]]


def test_a_call_that_began_before_the_end_of_a_put_relies_on_it_and_a_later_one_does_not() -> None:
    shelf = Shelf()
    puts = shared(shelf)
    with for_one_call(puts) as early:
        assert early is not None
        put_once(puts, BLOB)
        early.put_all([BLOB])
        assert len(shelf.puts) == 1
    put_once(puts, BLOB)
    assert len(shelf.puts) == 2


def test_what_was_put_counts_no_longer_than_a_call_may_wait_whatever_goes_on() -> None:
    now = [0.0]
    shelf = Shelf()
    puts = shared(shelf, clock=lambda: now[0])
    with for_one_call(puts) as endless:
        assert endless is not None
        put_once(puts, BLOB)
        now[0] += puts.calls.timeout_seconds + 1
        put_once(puts, BLOB)
        put_once(puts, OTHER)
        now[0] += puts.calls.timeout_seconds + 1
        put_once(puts, ("cd" * 32, None, b"third"))
        assert list(puts._held) == [(None, "cd" * 32, None)]
    assert shelf.puts == [BLOB[0], BLOB[0], OTHER[0], "cd" * 32]
    assert (puts._held, puts._lingering, puts._going) == ({}, [], set())


def test_a_waiter_that_is_cancelled_leaves_the_put_to_the_others() -> None:
    async def scene() -> tuple[Any, ...]:
        started, go = asyncio.Event(), asyncio.Event()

        class Awaited(Shelf):
            async def aput(self, sha256: str, mime_type: str | None, data: bytes) -> str:
                started.set()
                await go.wait()
                return self.put(sha256, mime_type, data)

            async def aget(self, ref: str) -> bytes:
                return self.get(ref)

        shelf = Awaited()
        puts = shared(shelf)
        first = asyncio.create_task(aput_once(puts, BLOB))
        await started.wait()
        waiting, cancelled = (asyncio.create_task(aput_once(puts, BLOB)) for _ in range(2))
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        go.set()
        return await first, await waiting, cancelled.cancelled(), shelf.puts

    assert asyncio.run(scene()) == ([BLOB[0]], [BLOB[0]], True, [BLOB[0]])


def test_a_put_whose_task_is_cancelled_is_done_by_who_waited() -> None:
    async def scene() -> Any:
        started = asyncio.Event()

        class Hanging(Shelf):
            async def aput(self, sha256: str, mime_type: str | None, data: bytes) -> str:
                if not started.is_set():
                    started.set()
                    await asyncio.Event().wait()
                return self.put(sha256, mime_type, data)

            async def aget(self, ref: str) -> bytes:
                return self.get(ref)

        puts = shared(Hanging())
        first = asyncio.create_task(aput_once(puts, BLOB))
        await started.wait()
        waiting = asyncio.create_task(aput_once(puts, BLOB))
        await asyncio.sleep(0)
        first.cancel()
        return await waiting

    assert asyncio.run(scene()) == [BLOB[0]]


def test_threads_and_tasks_do_not_wait_for_each_other() -> None:
    """A blocking call within a loop would stop the loop that it waits for."""
    started, both = Event(), Barrier(2, timeout=30)

    def meet(_: int) -> None:
        started.set()
        both.wait()

    shelf = Shelf(meet)
    puts = shared(shelf)

    async def scene() -> list[str]:
        waiting = asyncio.create_task(aput_once(puts, BLOB))
        await asyncio.to_thread(started.wait)
        put_once(puts, BLOB)
        return await waiting

    assert asyncio.run(scene()) == [BLOB[0]]
    assert len(shelf.puts) == 2
