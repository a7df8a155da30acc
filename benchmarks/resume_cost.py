"""What resuming saves against running again: ``python -m benchmarks.resume_cost [--saver NAME] [--turns 10,50,200]``.

A thread breaks in its last turn, between the tool and the answer. *Resuming* opens a new saver and graph on what was stored and
finishes the turn. *Running again* is what is left without a checkpointer: all questions once more, from the first on. Both are
run and counted; the scripted model takes no time, so the seconds are those of the engine and the saver alone, and the calls and the
text the model has to read say what a real one would add.
"""

import argparse
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.conversation import MESSAGES_PER_TURN, Graph, compile_graph, question
from benchmarks.lanes import open_lane
from benchmarks.meters import counting_clients
from benchmarks.savers import CONTENDERS, OURS, Place


class BrokenOffError(RuntimeError):
    """Stands for whatever ended the process in the middle of a turn."""


class Tally(BaseCallbackHandler):
    """Counts calls of the model and of the tool, and the text the model reads; breaks off at one model call if asked to."""

    raise_error = True  # else the callbacks swallow BrokenOffError

    def __init__(self, *, break_at_call: int | None = None) -> None:
        self.model_calls = self.tool_calls = self.read_bytes = 0
        self._break_at_call = break_at_call

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Count one model call."""
        self.model_calls += 1
        if self.model_calls == self._break_at_call:
            raise BrokenOffError
        self.read_bytes += sum(len(str(message.content)) for batch in messages for message in batch)

    def on_tool_start(self, serialized: dict[str, Any], input_str: str, *, run_id: UUID, **kwargs: Any) -> None:
        """Count one tool call."""
        self.tool_calls += 1


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What it took to get the last answer."""

    way: str
    seconds: float
    model_calls: int
    tool_calls: int
    read_bytes: int


def costs_after(turns: int, *, saver: str) -> list[Cost]:
    """Break a thread of `turns` turns in its last one, and get the answer in both ways."""
    contender = next(contender for contender in CONTENDERS if contender.name == saver)
    with ExitStack() as stack:
        traffic = stack.enter_context(counting_clients())
        lane = stack.enter_context(open_lane(contender, traffic=traffic))
        break_off(lane.graph, turns, config=lane.config)
        if contender.server != "none":  # what is in this process's memory can only be read by the saver that wrote it
            lane.saver = contender.opened(Place(location=lane.place.location, loop=None, stack=stack))
        resumed = _cost("resume", turns, act=lambda tally: _finish(compile_graph(lane.saver), lane.config, tally))
    return [resumed, _cost("run again", turns, act=lambda tally: _run_again(turns, tally))]


def break_off(graph: Graph, turns: int, *, config: RunnableConfig) -> None:
    """Run all turns and stop before the last answer, after its tool."""
    tally = Tally(break_at_call=2 * turns)
    try:
        _ask(graph, turns, config=config, tally=tally)
    except BrokenOffError:
        return
    raise AssertionError("the thread ended, though it was to break off")


def _ask(graph: Graph, turns: int, *, config: RunnableConfig, tally: Tally) -> int:
    for turn in range(turns):
        state = graph.invoke({"messages": [question(turn)]}, {**config, "callbacks": [tally]})
    return len(state["messages"])


def _finish(graph: Graph, config: RunnableConfig, tally: Tally) -> int:
    return len(graph.invoke(None, {**config, "callbacks": [tally]})["messages"])


def _run_again(turns: int, tally: Tally) -> int:
    return _ask(compile_graph(InMemorySaver()), turns, config={"configurable": {"thread_id": "again"}}, tally=tally)


def _cost(way: str, turns: int, *, act: Callable[[Tally], int]) -> Cost:
    tally, started = Tally(), time.perf_counter()
    messages = act(tally)
    seconds = time.perf_counter() - started
    if messages != MESSAGES_PER_TURN * turns:
        raise AssertionError(f"{way}: {messages} messages after {turns} turns")
    return Cost(
        way=way,
        seconds=seconds,
        model_calls=tally.model_calls,
        tool_calls=tally.tool_calls,
        read_bytes=tally.read_bytes,
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Print the costs of both ways for each length."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.resume_cost", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--saver", default=OURS, choices=[contender.name for contender in CONTENDERS])
    parser.add_argument("--turns", default="10,50,200", help="thread lengths (default 10,50,200)")
    arguments = parser.parse_args(argv)
    logging.getLogger("langchain_core.callbacks.manager").setLevel(logging.ERROR)  # it warns of the break that is meant
    print("| turns | way | seconds | model calls | tool calls | text read by the model, kB |")
    print("| ---: | --- | ---: | ---: | ---: | ---: |")
    for turns in map(int, arguments.turns.split(",")):
        for cost in costs_after(turns, saver=arguments.saver):
            counts = f"{cost.model_calls} | {cost.tool_calls} | {cost.read_bytes / 1e3:,.1f}"
            print(f"| {turns} | {cost.way} | {cost.seconds:.3f} | {counts} |")


if __name__ == "__main__":
    main()
