"""Real graphs leave the same states, histories and pending writes as with InMemorySaver."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent

from tests.saver.calls import AsyncCalls, Calls
from tests.saver.conftest import SaverFactory
from tests.saver.graphs import SCENARIOS, Play
from tests.saver.model import ModelSaver
from tests.saver.same import assert_same, comparable


class AlternatingCalls(Calls):
    """Each call on the other half of the saver than the one before."""

    def __init__(self, *halves: Calls) -> None:
        self._next = cycle(halves)

    def run(self, target: Any, name: str, *args: Any, **options: Any) -> Any:
        return next(self._next).run(target, name, *args, **options)

    def drain(self, target: Any, name: str, *args: Any, **options: Any) -> list[Any]:
        return next(self._next).drain(target, name, *args, **options)


def played(name: str, saver: Any, calls: Calls, durability: str, renew: Callable[[], Any] | None = None) -> list[Any]:
    """Play a scenario; return all that it noted, then its history, then what the saver lists of the root namespace."""
    play = Play(saver, calls, durability, renew=renew)
    SCENARIOS[name](play)
    found = [comparable(each) for each in calls.list(saver, {"configurable": {"thread_id": "t", "checkpoint_ns": ""}})]
    return [*play.notes, [play.plain(each) for each in reversed(found)]]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_graph_leaves_the_history_that_memory_keeps(
    saver: Any, oracle: ModelSaver, calls: Calls, name: str, durability: str
) -> None:
    assert_same(played(name, saver, calls, durability), played(name, oracle, calls, durability))


@pytest.mark.parametrize("name", SCENARIOS)
def test_graph_goes_on_after_a_restart_before_every_call(
    make_saver: SaverFactory, oracle: ModelSaver, calls: Calls, name: str
) -> None:
    ours = played(name, make_saver(), calls, "sync", renew=make_saver)
    assert_same(ours, played(name, oracle, calls, "sync"))


@pytest.mark.parametrize("name", SCENARIOS)
def test_blocking_and_asynchronous_calls_share_a_thread(saver: Any, oracle: ModelSaver, name: str) -> None:
    with asyncio.Runner() as runner:
        halves = Calls(), AsyncCalls(runner)
        ours = played(name, saver, AlternatingCalls(*halves), "async")
        assert_same(ours, played(name, oracle, AlternatingCalls(*halves), "async"))


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"3 C in {city}"


class ScriptedModel(FakeMessagesListChatModel):
    """Answers from a list, whatever tools it is given."""

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def agent(saver: Any) -> Any:
    """Return an agent that calls two tools at once and then answers, in each of three turns."""
    script = []
    for turn in range(3):
        wanted = [{"name": "weather", "args": {"city": city}, "id": f"c{turn}{city}"} for city in ("Oslo", "Rome")]
        script += [
            AIMessage("", tool_calls=wanted, id=f"a{turn}"),
            AIMessage(f"Cold, for the {turn}. time.", id=f"b{turn}"),
        ]
    return create_react_agent(ScriptedModel(responses=script), [weather], checkpointer=saver)


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
def test_agent_streams_and_keeps_what_memory_keeps(saver: Any, oracle: ModelSaver, calls: Calls) -> None:
    seen = []
    for each in (saver, oracle):
        graph, config, events = agent(each), {"configurable": {"thread_id": "t"}}, []
        for turn in range(3):
            question = {"messages": [HumanMessage("And now?", id=f"h{turn}")]}
            events += calls.drain(graph, "stream", question, config, stream_mode="values")
        history = [found.values for found in calls.drain(graph, "get_state_history", config)]
        seen.append([[_without_tool_ids(value) for value in values] for values in (events, history)])
    assert_same(*seen)


def _without_tool_ids(values: dict[str, Any]) -> list[Any]:
    return [message.model_copy(update={"id": None}) for message in values.get("messages", ())]


def _echo(saver: Any) -> Any:
    builder = StateGraph(MessagesState).add_node(
        "echo", lambda state: {"messages": [AIMessage(state["messages"][-1].content)]}
    )
    return builder.add_edge(START, "echo").compile(checkpointer=saver)


def _texts(graph: Any, thread_id: str) -> list[str]:
    found = graph.get_state({"configurable": {"thread_id": thread_id}}).values["messages"]
    return [message.content for message in found]


def test_one_saver_serves_many_operating_system_threads(saver: Any) -> None:
    graph = _echo(saver)

    def talk(number: int) -> None:
        for turn in range(5):
            graph.invoke(
                {"messages": [HumanMessage(f"{number}.{turn}")]}, {"configurable": {"thread_id": f"t{number}"}}
            )

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(talk, range(16)))
    for number in range(16):
        assert _texts(graph, f"t{number}") == [f"{number}.{turn}" for turn in range(5) for _ in range(2)]


def test_one_saver_serves_many_tasks_of_one_loop(saver: Any) -> None:
    graph = _echo(saver)

    async def talk(number: int) -> None:
        for turn in range(3):
            config = {"configurable": {"thread_id": f"t{number}"}}
            await graph.ainvoke({"messages": [HumanMessage(f"{number}.{turn}")]}, config)

    async def all_of() -> None:
        await asyncio.gather(*(talk(number) for number in range(40)))

    asyncio.run(all_of())
    for number in range(40):
        assert _texts(graph, f"t{number}") == [f"{number}.{turn}" for turn in range(3) for _ in range(2)]


@pytest.mark.filterwarnings("error")
def test_saver_built_outside_a_loop_serves_several_loops_one_after_the_other(saver: Any) -> None:
    graph = _echo(saver)
    for turn in range(4):
        asyncio.run(graph.ainvoke({"messages": [HumanMessage(str(turn))]}, {"configurable": {"thread_id": "t"}}))
        graph.invoke({"messages": [HumanMessage(str(turn))]}, {"configurable": {"thread_id": "t"}})
    assert _texts(graph, "t") == [str(turn) for turn in range(4) for _ in range(4)]


def test_loops_in_several_operating_system_threads_share_a_saver(saver: Any) -> None:
    graph = _echo(saver)

    def talk(number: int) -> None:
        for turn in range(3):
            question = {"messages": [HumanMessage(f"{number}.{turn}")]}
            asyncio.run(graph.ainvoke(question, {"configurable": {"thread_id": f"t{number}"}}))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(talk, range(6)))
    for number in range(6):
        assert _texts(graph, f"t{number}") == [f"{number}.{turn}" for turn in range(3) for _ in range(2)]


def test_cancelled_run_leaves_a_thread_that_goes_on(saver: Any) -> None:
    async def slow(state: MessagesState) -> Any:
        await asyncio.sleep(0.05 if len(state["messages"]) > 1 else 30)
        return {"messages": [AIMessage("late")]}

    graph = StateGraph(MessagesState).add_node("slow", slow).add_edge(START, "slow").compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}

    async def cancelled() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(graph.ainvoke({"messages": [HumanMessage("one")]}, config), 0.2)
        await graph.ainvoke({"messages": [HumanMessage("two")]}, config)

    asyncio.run(cancelled())
    assert _texts(graph, "t") == ["one", "two", "late"]
