"""Savers full of threads, and the comparison of two savers by tests' own means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from langgraph_portable_checkpoint.saver import PortableRedisSaver
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.graphs import SCENARIOS, Play
from tests.saver.same import assert_same, comparable
from tests.saver.zoo import ZOO
from tests.servers import Room

OpenSaver = Callable[..., Any]


@contextmanager
def opened(room: Room) -> Iterator[OpenSaver]:
    """Open savers of ours under prefixes below the room's, closed at the end."""
    with ExitStack() as stack:

        def make(name: str = "a", **options: Any) -> PortableRedisSaver:
            saver = PortableRedisSaver.from_url(room.url, prefix=f"{room.prefix}-{name}", **options)
            return stack.enter_context(saver)

        yield make


def sqlite(path: str = ":memory:") -> SqliteSaver:
    """Open a SqliteSaver for the life of the test."""
    import sqlite3

    return SqliteSaver(sqlite3.connect(path, check_same_thread=False))


def play(saver: Any, names: list[str] | None = None) -> list[str]:
    """Play scenarios on a saver, each in a thread of its name; return the thread ids."""
    names = names or sorted(SCENARIOS)
    for name in names:
        SCENARIOS[name](Play(saver, Calls(), config={"configurable": {"thread_id": name}}))
    return names


def put_chain(saver: Any, thread_id: str, *, turns: int = 3, versions: Callable[[int], Any] = lambda n: n) -> None:
    """Put a chain of checkpoints with pending writes and a namespace of its own."""
    from langchain_core.messages import AIMessage, HumanMessage

    place, messages = config(thread_id), []
    for turn in range(turns):
        messages = [
            *messages,
            HumanMessage(f"question {turn}", id=f"h{turn}"),
            AIMessage(f"answer {turn}", id=f"a{turn}"),
        ]
        seen = {"messages": versions(turn + 1)}
        place = saver.put(place, checkpoint({"messages": messages}, seen), metadata(turn, run_id=f"r{turn}"), seen)
        saver.put_writes(place, [("messages", [HumanMessage("next")]), ("n", turn)], f"task-{turn}", f"~pull:{turn}")
    inner = saver.put(
        config(thread_id, ns="sub:1"), checkpoint({"n": 1}, {"n": versions(1)}), metadata(), {"n": versions(1)}
    )
    saver.put_writes(inner, [("__interrupt__", ["wait"])], "task-in")


def put_zoo(saver: Any, thread_id: str = "zoo") -> None:
    """Put a checkpoint for each value of the zoo, with the value as a pending write too."""
    place = config(thread_id)
    for step, make in enumerate(ZOO.values()):
        value = make()
        place = saver.put(place, checkpoint({"value": value}, {"value": step + 1}), metadata(step), {"value": step + 1})
        saver.put_writes(place, [("value", make())], f"t{step}")


def contents(saver: Any, thread_id: str) -> dict[tuple[str, str], Any]:
    """Read a whole thread, by namespace and checkpoint id, in the form in which savers are compared."""
    listed = list(saver.list({"configurable": {"thread_id": thread_id}}))
    found = {}
    for each in listed:
        made = comparable(each)
        assert made is not None
        made["writes"] = sorted(made["writes"], key=lambda write: write[0])
        made["config"]["thread_id"] = (made["parent"] or {})["thread_id"] = "-"
        found[made["config"]["checkpoint_ns"], made["config"]["checkpoint_id"]] = made
    return dict(sorted(found.items()))


def assert_same_thread(actual: Any, expected: Any, thread_id: str, actual_id: str | None = None) -> None:
    """Fail where a thread of two savers differs by value or type."""
    assert_same(contents(actual, actual_id or thread_id), contents(expected, thread_id))


def memory_with(*names: str) -> InMemorySaver:
    """Make an InMemorySaver with scenarios played."""
    saver = InMemorySaver()
    play(saver, list(names) or None)
    return saver
