"""Media in real threads: through the saver, on a real server, compared with InMemorySaver."""

from __future__ import annotations

import base64
import operator
import os
from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.types import Command, Send, interrupt

from langgraph_portable_checkpoint.media.policy import MediaPolicy
from langgraph_portable_checkpoint.saver import PortableRedisSaver
from tests.servers import Room

from .test_walk import PARTS, same

PNG = b"\x89PNG\r\n\x1a\n" + os.urandom(2**20 - 8)
TEXT = base64.b64encode(PNG).decode()
URL = f"data:image/png;base64,{TEXT}"


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    step: int
    shots: Annotated[list[Any], operator.add]


def append(old: list[Any] | None, writes: Any) -> list[Any]:
    return [*(old or []), *(item for write in writes for item in (write if isinstance(write, list) else [write]))]


class Delta(TypedDict):
    messages: Annotated[list[Any], DeltaChannel(append, snapshot_frequency=3)]
    step: int


@pytest.fixture
def saver(server: Room) -> Iterator[PortableRedisSaver]:
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as opened:
        yield opened


def stored(room: Room) -> dict[bytes, list[bytes]]:
    """All values of the thread, by key."""
    with room.client() as client:
        values = {}
        for key in sorted(room.keys()):
            kind = client.type(key)
            if kind == b"hash":
                values[key] = [value for pair in client.hgetall(key).items() for value in pair]
            elif kind == b"string":
                values[key] = [client.get(key)]
            else:
                values[key] = client.zrange(key, 0, -1)
        return values


def run_with_one_image(saver: Any, steps: int) -> Any:
    """One image, in a question, a tool's answer and artifact, a Send, and another channel."""

    def work(state: State) -> dict[str, Any]:
        step = state.get("step", 0) + 1
        if step == 3:
            part = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": TEXT}}
            call = {"name": "look", "args": {}, "id": "c"}
            answer = ToolMessage([part], tool_call_id="c", artifact={"raw": PNG}, id="t")
            return {"step": step, "messages": [AIMessage("", tool_calls=[call], id="a3"), answer]}
        return {"step": step, "messages": [AIMessage(f"step {step}", id=f"a{step}")]}

    def route(state: State) -> Any:
        if state["step"] == 5 and not state.get("shots"):
            return [Send("shoot", {"shot": URL, "messages": state["messages"]})]
        return END if state["step"] >= steps else "work"

    builder = StateGraph(State)
    builder.add_node("work", work)
    builder.add_node("shoot", lambda state: {"shots": [state["shot"], {"again": (PNG, state["messages"][0])}]})
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", route, ["work", "shoot", END])
    builder.add_edge("shoot", "work")
    graph = builder.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": 1000}
    question = HumanMessage([{"type": "image_url", "image_url": {"url": URL}}], id="q")
    graph.invoke({"messages": [question]}, config)
    return graph, config


def history(graph: Any, config: Any) -> list[Any]:
    return [(snapshot.values, snapshot.next) for snapshot in graph.get_state_history(config)]


PAGE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + os.urandom(3001)).decode()
CALL = {"name": "look", "args": {}, "id": "c", "type": "tool_call"}
ODD_MESSAGES = {
    "pages by number": HumanMessage([{"type": "x", "pages": {1: PAGE, 2: f"data:image/png;base64,{PAGE}"}}], id="h"),
    "pages in a tuple": ToolMessage([{"type": "x", "pages": (PAGE, (PAGE,))}], tool_call_id="c", id="h"),
    "both, and bytes": HumanMessage([{"type": "x", "pages": ({1: PAGE, (2, 3): [PAGE]}, PNG)}], id="h"),
    "a list as type": HumanMessage([{"type": ["image", "null"], "x": 1}], id="h"),
    "a list as type, with a page": ToolMessage([{"type": ["image"], "base64": PAGE}], tool_call_id="c", id="h"),
    "a map as type": AIMessage([{"type": {}, "text": {}}], id="h"),
    "a map as a call's id": AIMessage([{"type": "tool_use", "id": {}, "name": "n", "input": {}}], id="h"),
    "a list as a call's id": AIMessage([{"type": "tool_use", "id": ["a"], "name": "n"}], tool_calls=[CALL], id="h"),
}


@pytest.mark.parametrize("odd", ODD_MESSAGES)
def test_a_message_of_any_shape_comes_back_as_from_memory(saver: PortableRedisSaver, server: Room, odd: str) -> None:
    config: Any = {"configurable": {"thread_id": "t"}}
    builder = StateGraph(State).add_node("answer", lambda state: {"messages": [AIMessage("ok", id="a")]})
    builder.add_edge(START, "answer")
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as other:
        ours, fresh, oracle = (builder.compile(checkpointer=each) for each in (saver, other, InMemorySaver()))
        for graph in (ours, oracle):
            graph.invoke({"messages": [ODD_MESSAGES[odd]]}, config)
        for graph in (ours, fresh):
            for ours_, theirs in zip(history(graph, config), history(oracle, config), strict=True):
                assert repr(ours_) == repr(theirs)
                assert ours_ == theirs
    assert [turn.status for turn in saver.turns("t")] == ["complete"]


def test_an_image_is_stored_once_however_it_travels(saver: PortableRedisSaver, server: Room) -> None:
    graph, config = run_with_one_image(saver, 200)
    oracle_graph, oracle_config = run_with_one_image(InMemorySaver(), 200)
    assert graph.get_state(config).values == oracle_graph.get_state(oracle_config).values
    values = stored(server)
    flat = [value for parts in values.values() for value in parts]
    for sample in (TEXT[1000:1048], TEXT[-1048:-1000], TEXT[500_000:500_048]):
        assert not [value for value in flat if sample.encode() in value]
    holding = [value for value in flat if PNG[1000:1048] in value]
    assert len(holding) == 1
    assert len(holding[0]) <= 1.01 * len(PNG)
    assert sum(map(len, flat)) - len(holding[0]) < len(PNG) / 2


def test_a_history_with_media_reads_as_it_does_in_memory(saver: PortableRedisSaver, server: Room) -> None:
    graph, config = run_with_one_image(saver, 12)
    oracle_graph, oracle_config = run_with_one_image(InMemorySaver(), 12)
    expected = history(oracle_graph, oracle_config)
    assert history(graph, config) == expected
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as fresh:
        assert history(graph.builder.compile(checkpointer=fresh), config) == expected


def test_later_steps_move_none_of_the_bytes(saver: PortableRedisSaver, server: Room) -> None:
    def received() -> int:
        with server.client() as client:
            return int(client.info("stats")["total_net_input_bytes"])

    graph, config = run_with_one_image(saver, 10)
    before = received()
    graph.invoke({"messages": [HumanMessage("more", id="q2")], "step": 6}, config)
    assert received() - before < 200_000


@pytest.mark.parametrize("name", PARTS)
def test_every_part_shape_reads_back_equal_in_every_place(saver: PortableRedisSaver, name: str) -> None:
    part = PARTS[name]

    def work(state: State) -> Any:
        answer = interrupt({"look": part})
        message = ToolMessage([part], tool_call_id="c", artifact=[part], id="t")
        return Command(update={"messages": [message], "shots": [answer, {"deep": [(part,)]}]})

    builder = StateGraph(State).add_node("work", work).add_edge(START, "work")
    results = []
    for checkpointer in (saver, InMemorySaver()):
        graph = builder.compile(checkpointer=checkpointer)
        config = {"configurable": {"thread_id": name}}
        graph.invoke({"messages": [HumanMessage([part], id="q")]}, config)
        waiting = graph.get_state(config).interrupts[0].value
        graph.invoke(Command(resume={"answer": part}), config)
        values = graph.get_state(config).values
        fields = [message.model_dump() for message in values.pop("messages")]
        results.append((waiting, values, fields))
    assert same(results[0], results[1])


def test_stripping_leaves_the_running_graph_its_media(server: Room) -> None:
    seen = []

    def work(state: State) -> dict[str, Any]:
        seen.append(state["messages"][0].content)
        return {"messages": [AIMessage("ok", id="a")]}

    builder = StateGraph(State).add_node("work", work).add_edge(START, "work")
    policy = MediaPolicy(mode="strip")
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix, media_policy=policy) as saver:
        graph = builder.compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "s"}}
        content = [{"type": "image_url", "image_url": {"url": URL}}]
        graph.invoke({"messages": [HumanMessage(content, id="q")]}, config)
        assert seen == [content]
        placeholder = {"type": "text", "text": f"[image/png, {len(PNG)} B, removed on save]"}
        assert graph.get_state(config).values["messages"][0].content == [placeholder]
    assert not [value for parts in stored(server).values() for value in parts if PNG[1000:1048] in value]


def test_snapshots_of_a_delta_channel_share_the_bytes_too(saver: PortableRedisSaver, server: Room) -> None:
    builder = StateGraph(Delta)
    builder.add_node("work", lambda state: {"messages": [AIMessage("x")], "step": state.get("step", 0) + 1})
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", lambda state: END if state["step"] >= 12 else "work", ["work", END])
    graph = builder.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "d"}}
    question = HumanMessage([{"type": "image", "base64": TEXT}], id="q")
    graph.invoke({"messages": [question]}, config)
    assert graph.get_state(config).values["messages"][0] == question
    assert sum(len(value) for parts in stored(server).values() for value in parts) < 1.05 * len(PNG)


def test_results_of_functional_tasks_share_the_bytes_too(saver: PortableRedisSaver, server: Room) -> None:
    @task
    def shoot() -> dict[str, Any]:
        return {"image": [{"type": "image", "base64": TEXT}]}

    @entrypoint(checkpointer=saver)
    def flow(number: int, *, previous: Any = None) -> Any:
        shot = shoot().result()
        return entrypoint.final(value=shot, save=[shot, previous])

    config = {"configurable": {"thread_id": "f"}}
    results = [flow.invoke(number, config) for number in range(3)]
    assert results == [{"image": [{"type": "image", "base64": TEXT}]}] * 3
    assert sum(len(value) for parts in stored(server).values() for value in parts) < 1.05 * len(PNG)
