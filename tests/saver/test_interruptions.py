"""What happens between any two calls of an operation: the client dies, scripts are flushed, memory runs out.

Each operation runs on a thread with a conversation, branches, writes, an interrupt and media; it is cut at each of its
calls in turn. A thread is only ever seen as it was before or as it is after, and the operation can be repeated.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import Interrupt

from langgraph_portable_checkpoint import PortableRedisSaver, errors
from tests.saver.between import Between
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.servers import BUILDS, Server

PREFIX: Final = "cut"
IMAGE: Final = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40).decode()


def conversation(turns: int) -> list[Any]:
    """Return `turns` turns; the first has an image."""
    made: list[Any] = []
    for turn in range(turns):
        parts: list[Any] = [{"type": "text", "text": f"question {turn}"}]
        parts += [{"type": "image_url", "image_url": {"url": IMAGE}}] if turn == 0 else []
        made += [HumanMessage(parts, id=f"h{turn}"), AIMessage(f"answer {turn} " * 20, id=f"a{turn}")]
    return made


def values_of(step: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the state after a step, and its versions."""
    values = {"messages": conversation(step + 1), "numbers": list(range(300)), "step": step}
    return values, dict.fromkeys(values, step + 1)


def made(saver: Any, thread_id: str = "t") -> None:
    """Put a thread of three steps by three runs, with writes, an interrupt at the head and a branch."""
    place: Any = config(thread_id)
    for step in range(3):
        values, versions = values_of(step)
        put = checkpoint(values, versions, checkpoint_id=f"{step:04}")
        place = saver.put(place, put, metadata(step, run_id=f"run-{step}"), versions)
        saver.put_writes(place, [("messages", [AIMessage(f"pending {step}")]), ("step", 7)], "task", "path")
    saver.put(config(thread_id, "0000"), checkpoint({"step": 9}, checkpoint_id="0000x"), metadata(9), {"step": 9})
    saver.put_writes(place, [("__interrupt__", [Interrupt("why?", id="i")])], "asking")


def _put(saver: Any) -> None:
    values, versions = values_of(3)
    put = checkpoint(values, versions, checkpoint_id="0003")
    saver.put(config("t", "0002"), put, metadata(3, run_id="run-3"), versions)


def _put_first(saver: Any) -> None:
    values, versions = values_of(1)
    saver.put(config("copy"), checkpoint(values, versions, checkpoint_id="0001"), metadata(1, run_id="r"), versions)


def _put_writes(saver: Any) -> None:
    saver.put_writes(config("t", "0002"), [("messages", conversation(1)), ("step", 8)], "other task")


def _interrupt(saver: Any) -> None:
    saver.put_writes(config("t", "0002"), [("__interrupt__", [Interrupt("and why?", id="j")])], "other task")


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "put": _put,
    "first put": _put_first,
    "put_writes": _put_writes,
    "put_writes of an interrupt": _interrupt,
    "copy_thread": lambda saver: saver.copy_thread("t", "copy"),
    "delete_thread": lambda saver: saver.delete_thread("t"),
    "prune": lambda saver: saver.prune(["t"]),
    "prune of everything": lambda saver: saver.prune(["t"], strategy="delete"),
    "delete_for_runs": lambda saver: saver.delete_for_runs(["run-1"]),
    "delete_for_runs of the head": lambda saver: saver.delete_for_runs(["run-2"]),
    "truncate_to_turn": lambda saver: saver.truncate_to_turn("t", 1),
    "expire": lambda saver: saver.expire("t", 3600),
}


def seen(saver: Any) -> dict[str, Any]:
    """Describe what a reader sees of both threads; ids that an operation makes up are left out."""
    return {thread_id: _seen(saver, thread_id) for thread_id in ("t", "copy")} | {
        "threads": sorted(info.thread_id for info in saver.threads()),
        "all": len(list(saver.list(None))),
    }


def _seen(saver: Any, thread_id: str) -> Any:
    found = list(saver.list(config(thread_id)))
    states = [(each.checkpoint["channel_values"], each.metadata["step"], each.pending_writes) for each in found]
    turns = [(turn.turn, turn.status, [m["content"] for m in turn.messages]) for turn in saver.turns(thread_id)]
    info = saver.thread_info(thread_id)
    return states, turns, info and (info.checkpoints, info.turns, info.status)


@pytest.fixture
def cutting(own_server: Server) -> Iterator[Cutting]:
    """A server of this test's own, with a client that can be cut."""
    with own_server.client() as client:
        yield Cutting(client)


class Cutting:
    """Runs operations on fresh threads, with something happening ahead of a chosen call."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def saver(self, before: Callable[[int], None] = lambda _: None) -> Any:
        """Return a new saver whose calls are announced."""
        self.between = Between(self.client, before)
        return PortableRedisSaver(client=self.between, prefix=PREFIX)

    def anew(self) -> None:
        """Make the thread again, on an empty server."""
        self.client.config_set("maxmemory", 0)
        self.client.flushall()
        made(self.saver())

    def expected(self, operation: Callable[[Any], Any]) -> tuple[Any, Any]:
        """Return what is seen before and after an undisturbed operation."""
        self.anew()
        before = seen(self.saver())
        operation(self.saver())
        return before, seen(self.saver())

    def repeat(self, name: str, saver: Any, *, found: Any, after: Any) -> None:
        """Run the operation again after it was cut and left `found`; the thread is as it should be then."""
        if found == after and name in ("copy_thread", "truncate_to_turn"):
            return  # those are done, and a second time they would do something else
        OPERATIONS[name](saver)
        assert seen(self.saver()) == after


class Died(BaseException):
    """The client is no more: nothing after this runs."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_client_that_dies_between_two_calls_leaves_the_thread_as_before_or_as_after(
    cutting: Cutting, name: str
) -> None:
    operation = OPERATIONS[name]
    before, after = cutting.expected(operation)
    for moment in range(100):
        cutting.anew()
        try:
            operation(cutting.saver(_dying_at(moment)))
        except Died:
            found = seen(cutting.saver())
        else:
            break
        assert found in (before, after), f"half done when cut before call {moment}"
        cutting.repeat(name, cutting.saver(), found=found, after=after)
    assert moment > 0


def _dying_at(moment: int) -> Callable[[int], None]:
    def die(call: int) -> None:
        if call == moment:
            raise Died

    return die


@pytest.mark.parametrize("name", OPERATIONS)
def test_scripts_flushed_between_any_two_calls_change_nothing(cutting: Cutting, name: str) -> None:
    operation = OPERATIONS[name]
    _, after = cutting.expected(operation)
    cutting.anew()
    operation(cutting.saver(lambda _: cutting.client.script_flush()))
    assert seen(cutting.saver(lambda _: cutting.client.script_flush())) == after


@pytest.mark.parametrize("build", sorted(BUILDS))
@pytest.mark.parametrize("name", OPERATIONS)
def test_memory_that_runs_out_before_any_call_is_a_typed_error_and_leaves_the_thread_whole(
    name: str, build: str
) -> None:
    operation = OPERATIONS[name]
    with Server.start(build) as server, server.client() as client:
        cutting = Cutting(client)
        before, after = cutting.expected(operation)
        refused = 0
        for moment in range(9):
            cutting.anew()
            saver = cutting.saver(lambda call, moment=moment: call == moment and client.config_set("maxmemory", 1))
            try:
                operation(saver)
            except errors.ServerFullError:
                refused += 1
            cutting.between.before = lambda _: None
            found = seen(cutting.saver())
            assert found in (before, after), f"half done when memory ran out before call {moment}"
            client.config_set("maxmemory", 0)
            cutting.repeat(name, saver, found=found, after=after)
        assert refused or name in FREEING


FREEING: Final = ("delete_thread", "prune", "prune of everything", "delete_for_runs", "delete_for_runs of the head")
"""What must work on a full server, too: it gives memory back."""
