"""Recorded histories of real providers, replayed message by message: states and histories as with InMemorySaver.

The corpus is not part of the project; where it is absent, the tests skip, and fail in CI.
"""

from __future__ import annotations

import copy
import multiprocessing
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.graph import START, MessagesState, StateGraph

from tests.corpus_messages import corpus_histories
from tests.saver.calls import Calls
from tests.saver.conftest import SaverFactory
from tests.saver.model import ModelSaver
from tests.saver.same import assert_same

CONFIG: Any = {"configurable": {"thread_id": "t"}}
LONGEST = 20
"""Messages of one history that are replayed; the histories beyond repeat what is in these."""


@pytest.fixture(scope="module")
def histories() -> dict[str, list[BaseMessage]]:
    """All histories, each message with an id of its own, so that two replays are alike."""
    found = corpus_histories()
    for name, messages in found.items():
        found[name] = [_with_id(message, f"{number}") for number, message in enumerate(messages[:LONGEST])]
    return found


def _with_id(message: BaseMessage, number: str) -> BaseMessage:
    return message.model_copy(update={"id": f"{message.id or 'm'}-{number}"})


def echo(saver: Any) -> Any:
    """Return a graph that takes one message a run, and whose second node changes no message."""
    builder = (
        StateGraph(MessagesState).add_node("take", lambda state: {"messages": []}).add_node("rest", lambda state: {})
    )
    return builder.add_edge(START, "take").add_edge("take", "rest").compile(checkpointer=saver)


def replay(calls: Calls, saver: Any, messages: list[BaseMessage]) -> None:
    """Run the graph once for each message."""
    graph = echo(saver)
    for message in messages:
        calls.run(graph, "invoke", {"messages": [copy.deepcopy(message)]}, CONFIG, durability="exit")


def seen(calls: Calls, saver: Any) -> list[Any]:
    """Return the state and all of its history."""
    graph = echo(saver)
    states = [calls.run(graph, "get_state", CONFIG), *calls.drain(graph, "get_state_history", CONFIG)]
    return [(state.values, state.next, state.metadata) for state in states]


def test_every_history_comes_back_after_a_restart_in_the_middle(
    make_saver: SaverFactory, histories: dict[str, list[BaseMessage]], calls: Calls
) -> None:
    for name, messages in histories.items():
        memory, prefix, middle = ModelSaver(), f"{make_saver.room.prefix}:{name}", len(messages) // 2
        for part in (messages[:middle], messages[middle:]):
            replay(calls, make_saver(prefix=prefix.replace("{", "").replace("}", "")), part)
            replay(calls, memory, part)
        found = seen(calls, make_saver(prefix=prefix.replace("{", "").replace("}", "")))
        assert_same([name, found], [name, seen(calls, memory)])


def test_all_histories_as_one_channel(
    make_saver: SaverFactory, oracle: ModelSaver, histories: dict[str, list[BaseMessage]], calls: Calls
) -> None:
    """Everything at once, ids as they were recorded where a message has one."""
    every = [message for messages in corpus_histories().values() for message in messages]
    for number, message in enumerate(every):
        message.id = message.id or f"m{number}"
    saver = make_saver()
    for each in (saver, oracle):
        calls.run(echo(each), "invoke", {"messages": copy.deepcopy(every)}, CONFIG)
    assert_same(seen(calls, make_saver()), seen(calls, oracle))


def _continue(url: str, prefix: str, messages: list[BaseMessage], conn: Any) -> None:
    from langgraph_portable_checkpoint import PortableRedisSaver

    saver = PortableRedisSaver.from_url(url, prefix=prefix)
    before = seen(Calls(), saver)
    replay(Calls(), saver, messages)
    conn.send((before, seen(Calls(), saver)))


def test_another_process_goes_on(
    make_saver: SaverFactory, oracle: ModelSaver, histories: dict[str, list[BaseMessage]]
) -> None:
    """A real process that imports everything anew reads what this one wrote, and this one what that one wrote."""
    messages = max(histories.values(), key=len)
    middle = len(messages) // 2
    for each in (make_saver(), oracle):
        replay(Calls(), each, messages[:middle])
    before = seen(Calls(), oracle)
    replay(Calls(), oracle, messages[middle:])
    receiver, sender = multiprocessing.get_context("spawn").Pipe(duplex=False)
    args = (make_saver.room.url, make_saver.room.prefix, messages[middle:], sender)
    child = multiprocessing.get_context("spawn").Process(target=_continue, args=args)
    child.start()
    assert receiver.poll(60)
    assert_same(receiver.recv(), (before, seen(Calls(), oracle)))
    child.join()
    assert_same(seen(Calls(), make_saver()), seen(Calls(), oracle))
