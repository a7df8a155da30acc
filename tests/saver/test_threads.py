"""Whole threads: copied, pruned, thinned by runs, brought from other savers; the graph goes on as if nothing happened."""

from __future__ import annotations

import operator
from contextlib import suppress
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from langgraph_portable_checkpoint import errors
from tests.saver.calls import Calls
from tests.saver.checkpoints import chain, checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.graphs import SCENARIOS, Play
from tests.saver.model import ModelSaver
from tests.saver.same import assert_same, comparable
from tests.saver.zoo import Point


class Log(TypedDict):
    log: Annotated[list[Any], operator.add]


def three_questions(saver: Any, ran: list[str]) -> Any:
    """Return a graph of three parallel nodes that note when they begin and end, and ask in between."""
    builder = StateGraph(Log)
    for name in "abc":

        def ask(state: Log, name: str = name) -> Log:
            answer = interrupt(f"ask {name}")
            ran.append(f"{name} went on with {answer}")
            return {"log": [name]}

        builder.add_node(name, ask).add_edge(START, name)
    return builder.compile(checkpointer=saver)


def test_prune_between_answers_runs_no_tool_twice(saver: Any, calls: Calls) -> None:
    """What finished parallel tasks wrote may stand on an earlier checkpoint than the head."""
    ran: list[str] = []
    graph = three_questions(saver, ran)
    calls.run(graph, "invoke", {"log": []}, config("t"))
    for name in "abc":
        asked = {each.value: each.id for each in calls.run(graph, "get_state", config("t")).interrupts}
        calls.run(graph, "invoke", Command(resume={asked[f"ask {name}"]: f"yes {name}"}), config("t"))
        calls.run(saver, "prune", ["t"])
    assert ran == [f"{name} went on with yes {name}" for name in "abc"]
    assert sorted(calls.run(graph, "get_state", config("t")).values["log"]) == ["a", "b", "c"]


def _gather(state: list[Any], writes: Any) -> list[Any]:
    return [*state, *(each for write in writes for each in write)]


class Delta(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(_gather, snapshot_frequency=7)]


def delta_graph(saver: Any) -> Any:
    """Return a graph whose conversation is rebuilt from writes of earlier checkpoints."""
    builder = StateGraph(Delta).add_node(
        "echo", lambda state: {"messages": [HumanMessage(str(len(state["messages"])))]}
    )
    return builder.add_edge(START, "echo").compile(checkpointer=saver)


@pytest.mark.parametrize("turns", [1, 3, 5, 8])
def test_prune_and_copy_keep_what_a_delta_channel_needs(
    saver: Any, make_saver: SaverFactory, calls: Calls, turns: int
) -> None:
    graph = delta_graph(saver)
    for turn in range(turns):
        calls.run(graph, "invoke", {"messages": [HumanMessage(f"q{turn}")]}, config("t"))
    before = calls.run(graph, "get_state", config("t")).values
    calls.run(saver, "copy_thread", "t", "copy")
    for thread_id in ("t", "copy"):
        calls.run(saver, "prune", [thread_id])
        fresh = delta_graph(make_saver())
        assert_same(calls.run(fresh, "get_state", config(thread_id)).values, before)
        calls.run(fresh, "invoke", {"messages": [HumanMessage("more")]}, config(thread_id))
        assert len(calls.run(fresh, "get_state", config(thread_id)).values["messages"]) == len(before["messages"]) + 2


def test_prune_of_a_delta_channel_whose_beginning_is_gone(saver: Any, make_saver: SaverFactory, calls: Calls) -> None:
    """Its runs were deleted: what can be told of the channel is what is left of it, before and after."""
    graph = delta_graph(saver)
    for turn in range(3):
        named = {**config("t"), "metadata": {"run_id": f"r{turn}"}}
        calls.run(graph, "invoke", {"messages": [HumanMessage(f"q{turn}")]}, named)
    calls.run(saver, "delete_for_runs", ["r0", "r1"])
    before = calls.run(graph, "get_state", config("t")).values
    calls.run(saver, "prune", ["t"])
    assert_same(calls.run(delta_graph(make_saver()), "get_state", config("t")).values, before)


@pytest.mark.parametrize("name", ["conversation", "subgraph", "parallel_interrupts", "delta_channel", "time_travel"])
def test_copy_has_the_whole_history_and_its_own_life(saver: Any, calls: Calls, name: str) -> None:
    SCENARIOS[name](Play(saver, calls))
    calls.run(saver, "copy_thread", "t", "copy:{1}")
    views = []
    for thread_id in ("t", "copy:{1}"):
        found = [comparable(each) for each in calls.list(saver, config(thread_id, ns=None))]
        for each in found:
            assert each is not None
            each["config"]["thread_id"] = "any"
            if each["parent"]:
                each["parent"]["thread_id"] = "any"
        views.append(found)
    assert_same(*views)
    calls.run(saver, "delete_thread", "t")
    assert len(calls.list(saver, config("copy:{1}", ns=None))) == len(views[0])


def test_copy_of_an_unknown_thread_makes_none(saver: Any, make_saver: SaverFactory, calls: Calls) -> None:
    with suppress(errors.ThreadNotFoundError):
        calls.run(saver, "copy_thread", "unknown", "copy")
    assert calls.list(saver, None) == []


def test_pruned_thread_gives_its_memory_back(saver: Any, make_saver: SaverFactory, calls: Calls) -> None:
    place = config("t")
    for step in range(30):
        messages = [HumanMessage(f"{step}.{number} " * 50) for number in range(20)]
        place = calls.put(saver, place, checkpoint({"messages": messages}), metadata(step), {"messages": step + 1})
    before = _memory(make_saver)
    calls.run(saver, "prune", ["t"])
    assert _memory(make_saver) < before / 5
    found = calls.get_tuple(make_saver(), config("t"))
    assert found is not None
    assert found.checkpoint["channel_values"]["messages"] == messages
    calls.put(saver, place, checkpoint({"messages": [*messages, HumanMessage("x")]}), metadata(31), {"messages": 99})
    assert len(calls.list(make_saver(), config("t"))) == 2


def _memory(factory: SaverFactory) -> int:
    with factory.room.client() as client:
        return sum(client.memory_usage(key, samples=0) for key in factory.stored())


def test_deleting_a_run_keeps_what_other_runs_share_with_it(saver: Any, make_saver: SaverFactory, calls: Calls) -> None:
    shared = [HumanMessage("shared by all " * 20, id="s")]
    for thread_id in ("t", "u"):
        place = config(thread_id)
        for step, run_id in enumerate(["run-a", "run-b", "run-a", "run-c"]):
            messages = [*shared, HumanMessage(f"{thread_id} {step}", id=f"{step}")]
            made = checkpoint({"messages": messages}, {"messages": step + 1})
            place = calls.put(saver, place, made, metadata(step, run_id=run_id), {"messages": step + 1})
            calls.put_writes(saver, place, [("messages", shared)], "task")
    calls.run(make_saver(), "delete_for_runs", ["run-a", "unknown"])
    for thread_id in ("t", "u"):
        found = calls.list(make_saver(), config(thread_id))
        assert [each.metadata["run_id"] for each in found] == ["run-c", "run-b"]
        assert [each.checkpoint["channel_values"]["messages"][1].content for each in found] == [
            f"{thread_id} 3",
            f"{thread_id} 1",
        ]
        assert [each.checkpoint["channel_values"]["messages"][0].content for each in found] == [
            "shared by all " * 20
        ] * 2
    calls.run(make_saver(), "delete_for_runs", ["run-b", "run-c"])
    assert calls.list(make_saver(), None) == []


def test_unknown_prune_strategy_is_refused(saver: Any, calls: Calls) -> None:
    chain(calls, saver, "t", 2)
    with pytest.raises(ValueError, match="strategy"):
        calls.run(saver, "prune", ["t"], strategy="keep_none")
    assert len(calls.list(saver, config("t"))) == 2


@pytest.mark.parametrize("channel", ["messages", "unknown"])
def test_delta_history_is_the_one_of_memory(saver: Any, oracle: ModelSaver, calls: Calls, channel: str) -> None:
    for each in (saver, oracle):
        place = config("t")
        for step in range(6):
            values = {"messages": ["seed"]} if step == 1 else {}
            made = checkpoint(values, {"messages": step + 1}, checkpoint_id=f"{step}")
            place = calls.put(each, place, made, metadata(step), {"messages": step + 1} if step < 2 else {})
            for task_id, path in (("b", "1"), ("a", "2"), ("c", "0")):
                calls.put_writes(each, place, [("messages", (step, task_id)), ("n", 1)], task_id, path)
    for asked in (config("t"), config("t", "3"), config("t", "0"), config("t", "unknown")):
        ours = calls.run(saver, "get_delta_channel_history", config=asked, channels=[channel, "n"])
        assert_same(dict(ours), dict(oracle.get_delta_channel_history(config=asked, channels=[channel, "n"])))


class FloatSaver(InMemorySaver):
    """A saver that counts channel versions in floats, as old ones did."""

    def get_next_version(self, current: Any, channel: None) -> Any:
        return 1.0 if current is None else current + 1.0


@pytest.mark.parametrize("source", [InMemorySaver, FloatSaver])
def test_thread_that_came_from_another_saver_goes_on(saver: Any, calls: Calls, source: Any) -> None:
    """String and float channel versions continue in kind."""
    other = source()
    graph = three_questions(other, [])
    graph.invoke({"log": ["in"]}, config("t"))
    for found in reversed(list(other.list(config("t")))):
        place = found.parent_config or config("t")
        put = calls.put(saver, place, found.checkpoint, found.metadata, found.checkpoint["channel_versions"])
        for task_id, channel, value in found.pending_writes or ():
            calls.put_writes(saver, put, [(channel, value)], task_id)
    graph.checkpointer = saver
    asked = {each.value: each.id for each in calls.run(graph, "get_state", config("t")).interrupts}
    answers = {asked[f"ask {name}"]: name for name in "abc"}
    assert calls.run(graph, "invoke", Command(resume=answers), config("t"))["log"] == ["in", "a", "b", "c"]
    versions = calls.list(saver, config("t"), limit=1)[0].checkpoint["channel_versions"].values()
    assert {type(version) for version in versions} == {float if source is FloatSaver else str}


def test_allowlist_makes_a_saver_on_the_same_data(saver: Any, make_saver: SaverFactory, calls: Calls) -> None:
    strict = make_saver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    put = calls.put(strict, config("t"), checkpoint({"point": Point(1)}), metadata(), {"point": 1})
    widened = strict.with_allowlist([("tests.saver.zoo", "Point")])
    found = calls.get_tuple(widened, put)
    assert found is not None
    assert found.checkpoint["channel_values"]["point"] == Point(1)
    assert type(widened) is type(strict)


@pytest.mark.parametrize("order", ["writes first", "checkpoint first"])
def test_writes_and_their_checkpoint_may_come_in_any_order(
    saver: Any, make_saver: SaverFactory, calls: Calls, order: str
) -> None:
    made = checkpoint({"n": 1})
    steps = [
        lambda: calls.put_writes(saver, config("t", made["id"]), [("n", 2)], "task"),
        lambda: calls.put(saver, config("t"), made, metadata(), {"n": 1}),
    ]
    for step in steps if order == "writes first" else reversed(steps):
        step()
    found = calls.get_tuple(make_saver(), config("t"))
    assert found is not None
    assert found.pending_writes == [("task", "n", 2)]
