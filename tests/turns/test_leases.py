"""One turn at a time: a lease that others see, that is renewed, given back, and lost."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from langgraph_portable_checkpoint.errors import ThreadDeletedError, TurnInProgressError
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.turns.scenes import Talk, answered, calling
from tests.turns.shapes import outline

CONFIG: Any = {"configurable": {"thread_id": "t"}}


@pytest.fixture
def other(make_saver: SaverFactory) -> Any:
    """Another process's saver."""
    return make_saver()


def test_the_holder_works_and_the_second_is_refused(saver: Any, other: Any) -> None:
    with saver.exclusive_turn(CONFIG):
        Talk(saver, "t").ask("one", answered("1"))
        with pytest.raises(TurnInProgressError, match="'t'"), other.exclusive_turn("t"):
            raise AssertionError("it must not be given twice")
    assert outline(saver, "t") == [("complete", ["one", "1"])]


def test_a_turn_in_progress_is_a_runtime_error(saver: Any, other: Any) -> None:
    with saver.exclusive_turn("t"), pytest.raises(RuntimeError), other.exclusive_turn("t"):
        pass


def test_puts_of_anyone_else_are_refused_while_it_is_held(saver: Any, other: Any) -> None:
    with saver.exclusive_turn("t"):
        Talk(saver, "t").ask("one", answered("1"))
        with pytest.raises(TurnInProgressError):
            Talk(other, "t").ask("two", answered("2"))
    Talk(other, "t").ask("three", answered("3"))
    assert [texts for _, texts in outline(saver, "t")] == [["one", "1"], ["three", "3"]]


def test_writes_and_prunes_of_anyone_else_are_refused_while_it_is_held(saver: Any, other: Any) -> None:
    for question in ("one", "two"):
        Talk(saver, "t").ask(question, answered(question))
    head = saver.get_tuple(CONFIG)
    kept = len(list(saver.list(CONFIG)))
    with saver.exclusive_turn("t"):
        with pytest.raises(TurnInProgressError):
            other.put_writes(head.config, [("note", 1)], "task")
        with pytest.raises(TurnInProgressError):
            other.prune(["t"])
        assert saver.get_tuple(CONFIG).pending_writes == head.pending_writes
        assert len(list(saver.list(CONFIG))) == kept
        saver.put_writes(head.config, [("note", 1)], "task")
    other.prune(["t"])
    assert [found.pending_writes for found in saver.list(CONFIG)] == [[("task", "note", 1)]]


def test_the_holder_may_prune_and_delete_runs(saver: Any, other: Any) -> None:
    with saver.exclusive_turn("t"):
        for number in range(3):
            Talk(saver, "t").ask(str(number), answered("a"), config={**CONFIG, "metadata": {"run_id": f"r{number}"}})
        runs = len(list(saver.list(CONFIG)))
        with pytest.raises(TurnInProgressError):
            other.delete_for_runs(["r0"])
        assert len(list(saver.list(CONFIG))) == runs
        saver.delete_for_runs(["r0"])
        assert len(list(saver.list(CONFIG))) < runs
        saver.prune(["t"])
        assert len(list(saver.list(CONFIG))) == 1


async def test_the_holder_may_prune_and_delete_runs_asynchronously(saver: Any) -> None:
    async with saver.aexclusive_turn("t"):
        for number in range(3):
            Talk(saver, "t").ask(str(number), answered("a"), config={**CONFIG, "metadata": {"run_id": f"r{number}"}})
        await saver.adelete_for_runs(["r0"])
        await saver.aprune(["t"])
    assert len(list(saver.list(CONFIG))) == 1


def test_a_delete_asks_nobody_and_takes_the_lease_along(saver: Any, other: Any) -> None:
    place = saver.put(config("t"), checkpoint({"n": 1}), metadata(), {"n": 1})
    with saver.exclusive_turn("t"):
        other.delete_thread("t")
        with pytest.raises(ThreadDeletedError):
            saver.put(place, checkpoint({"n": 2}, {"n": 2}), metadata(1), {"n": 2})
        with other.exclusive_turn("t"), pytest.raises(TurnInProgressError):
            saver.put(config("t"), checkpoint({"n": 1}), metadata(), {"n": 1})
    assert other.get_tuple(config("t")) is None


def test_others_of_the_same_process_are_refused_too(saver: Any) -> None:
    refused: list[type[BaseException]] = []

    def intrude() -> None:
        try:
            Talk(saver, "t").ask("two", answered("2"))
        except TurnInProgressError as error:
            refused.append(type(error))

    with saver.exclusive_turn("t"):
        intruder = threading.Thread(target=intrude)
        intruder.start()
        intruder.join()
    assert refused == [TurnInProgressError]


@pytest.mark.parametrize("lease_seconds", [0, 0.0001])
def test_a_lease_may_be_asked_for_no_time_at_all(saver: Any, lease_seconds: float) -> None:
    with saver.exclusive_turn("t", lease_seconds=lease_seconds):
        pass


def test_other_threads_are_free(saver: Any, other: Any) -> None:
    with saver.exclusive_turn("t"), other.exclusive_turn("u"):
        Talk(other, "u").ask("one", answered("1"))
    assert len(outline(saver, "u")) == 1


def test_it_is_free_again_after_the_turn_and_after_an_error(saver: Any, other: Any) -> None:
    with pytest.raises(ZeroDivisionError), saver.exclusive_turn("t"):
        raise ZeroDivisionError
    with other.exclusive_turn("t"):
        pass


def test_who_waits_gets_it_when_it_is_given_back(saver: Any, other: Any) -> None:
    given = threading.Event()

    def hold() -> None:
        with saver.exclusive_turn("t"):
            given.set()
            time.sleep(0.3)

    holder = threading.Thread(target=hold)
    holder.start()
    given.wait()
    with other.exclusive_turn("t", wait=30) as lease:
        assert not holder.is_alive() or lease.token
    holder.join()


def test_who_waits_in_vain_is_refused(saver: Any, other: Any) -> None:
    with saver.exclusive_turn("t"), pytest.raises(TurnInProgressError), other.exclusive_turn("t", wait=0.2):
        pass


def test_it_is_renewed_for_as_long_as_it_is_held(saver: Any, other: Any) -> None:
    with saver.exclusive_turn("t", lease_seconds=0.5) as lease:
        time.sleep(1.5)
        with pytest.raises(TurnInProgressError), other.exclusive_turn("t"):
            pass
        assert not lease.lost
        Talk(saver, "t").ask("one", answered("1"))


def test_a_holder_that_was_killed_holds_it_no_longer_than_the_lease(make_saver: SaverFactory, other: Any) -> None:
    room = make_saver.room
    argv = [sys.executable, "-m", "tests.turns.lease_holder", room.url, room.prefix]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(TurnInProgressError), other.exclusive_turn("t"):
            pass
        holder.kill()
    with other.exclusive_turn("t", wait=60):
        Talk(other, "t").ask("after the crash", answered("still here"))
    assert [texts[0] for _, texts in outline(other, "t")] == ["from the holder", "after the crash"]


def test_a_holder_that_lost_it_to_another_is_refused_even_when_it_is_free_again(saver: Any, other: Any) -> None:
    talk = Talk(saver, "t")
    with saver.exclusive_turn("t"):
        talk.ask("one", answered("1"))
        with saver._clients.blocking() as client:
            client.delete(f"{saver._core.layout.prefix}:1:{{t:t}}:lease")
        with other.exclusive_turn("t"):
            Talk(other, "t").ask("two", answered("2"))
        with pytest.raises(TurnInProgressError):
            talk.ask("three", answered("3"))
    assert [texts for _, texts in outline(other, "t")] == [["one", "1"], ["two", "2"]]


@pytest.mark.parametrize("begins", ["put", "put_writes"])
def test_a_holder_that_lost_it_to_another_who_began_the_thread_is_refused(
    make_saver: SaverFactory, saver: Any, other: Any, begins: str
) -> None:
    def write(writer: Any) -> None:
        if begins == "put":
            writer.put(CONFIG, checkpoint({"n": 1}), metadata(), {"n": 1})
        else:
            writer.put_writes(config("t", "1"), [("n", 1)], "task")

    with saver.exclusive_turn("t"):
        with make_saver.room.client() as client:
            client.delete(saver._core.layout.thread("t")[10])  # as when it ran out
        with other.exclusive_turn("t"):
            write(other)
        with pytest.raises(TurnInProgressError):
            write(saver)
    write(saver)


def test_a_holder_that_lost_it_can_tell(saver: Any) -> None:
    with saver.exclusive_turn("t", lease_seconds=0.3) as lease:
        with saver._clients.blocking() as client:
            client.set(f"{saver._core.layout.prefix}:1:{{t:t}}:lease", "someone else", px=60_000)
        deadline = time.monotonic() + 30
        while not lease.lost and time.monotonic() < deadline:
            time.sleep(0.02)
        assert lease.lost


def _ask_and_time_out(saver: Any, answer: Any) -> None:
    with suppress(TimeoutError), saver.exclusive_turn("t"):
        Talk(saver, "t").ask("look", answer)
        raise TimeoutError("the model took too long")


def _as_child(act: Callable[[], str]) -> str:
    """Return what `act` returns in a forked child, or the name of what it raises there."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, act().encode())
        except BaseException as error:  # noqa: BLE001  # the child must end here, whatever happens
            os.write(writer, type(error).__name__.encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader) as told:
        return told.read()


def test_a_forked_child_is_another_client(saver: Any) -> None:
    def put() -> str:
        Talk(saver, "t").ask("from the child", answered("2"))
        return "stored"

    def hold() -> str:
        with saver.exclusive_turn("t"):
            return "held"

    with saver.exclusive_turn("t"):
        Talk(saver, "t").ask("one", answered("1"))
        assert (_as_child(put), _as_child(hold)) == ("TurnInProgressError", "TurnInProgressError")
        Talk(saver, "t").ask("two", answered("2"))
    assert _as_child(hold) == "held"
    assert [texts for _, texts in outline(saver, "t")] == [["one", "1"], ["two", "2"]]


@pytest.mark.parametrize("error", [None, ZeroDivisionError()])
def test_a_forked_child_that_leaves_the_block_ends_nothing(saver: Any, other: Any, error: Any) -> None:
    def leave() -> str:
        return str(block.__exit__(error and type(error), error, None))

    block = saver.exclusive_turn("t")
    with block:
        Talk(saver, "t").ask("look", calling("look"))
        assert _as_child(leave) == "False"
        with pytest.raises(TurnInProgressError), other.exclusive_turn("t"):
            pass
        assert [status for status, _ in outline(saver, "t")] == ["open"]


@pytest.mark.parametrize("error", [None, ZeroDivisionError()])
async def test_a_task_in_a_forked_child_ends_nothing(saver: Any, other: Any, error: Any) -> None:
    Talk(saver, "t").ask("look", calling("look"))
    with pytest.MonkeyPatch.context() as child, suppress(ZeroDivisionError):
        async with saver.aexclusive_turn("t"):
            child.setattr(os, "getpid", lambda: -1)
            if error is not None:
                raise error
    with pytest.raises(TurnInProgressError):
        async with other.aexclusive_turn("t"):
            pass
    assert [turn.status async for turn in saver.aturns("t")] == ["open"]


def test_an_error_outside_the_graph_is_recorded_in_the_turn(saver: Any) -> None:
    _ask_and_time_out(saver, calling("look"))
    (turn,) = saver.turns("t")
    assert turn.status == "failed"
    assert (turn.record["error"]["type"], turn.record["error"]["message"]) == (
        "TimeoutError",
        "the model took too long",
    )
    assert saver.interrupted_turn("t")["error_type"] == "TimeoutError"


def test_an_error_after_the_answer_leaves_the_turn_complete(saver: Any) -> None:
    _ask_and_time_out(saver, answered("seen"))
    assert [turn.status for turn in saver.turns("t")] == ["complete"]


async def test_it_holds_for_asynchronous_runs(saver: Any, other: Any) -> None:
    talk = Talk(saver, "t")
    async with saver.aexclusive_turn("t"):
        talk.script = [answered("1")]
        await talk.graph.ainvoke({"messages": [("user", "one")]}, talk.config)
        with pytest.raises(TurnInProgressError):
            async with other.aexclusive_turn("t"):
                pass
        intruder = Talk(other, "t")
        intruder.script = [answered("2")]
        with pytest.raises(TurnInProgressError):
            await intruder.graph.ainvoke({"messages": [("user", "two")]}, talk.config)
    assert [turn.status async for turn in saver.aturns("t")] == ["complete"]


async def test_tasks_take_turns(saver: Any) -> None:
    order: list[str] = []

    async def turn(name: str) -> None:
        async with saver.aexclusive_turn("t", wait=60):
            order.append(f"{name} in")
            await asyncio.sleep(0.05)
            order.append(f"{name} out")

    await asyncio.gather(*[turn(name) for name in "abcd"])
    assert [entry.split()[1] for entry in order] == ["in", "out"] * 4
    assert [order[at].split()[0] == order[at + 1].split()[0] for at in range(0, 8, 2)] == [True] * 4


async def test_it_is_renewed_while_a_task_holds_it(saver: Any, other: Any) -> None:
    async with saver.aexclusive_turn("t", lease_seconds=0.5) as lease:
        await asyncio.sleep(1.2)
        with pytest.raises(TurnInProgressError):
            async with other.aexclusive_turn("t"):
                pass
        assert not lease.lost
