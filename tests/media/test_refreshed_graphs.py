"""Uploads renewed while a turn is not finished: graphs go on exactly as they would have without it."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import wraps
from threading import Event
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.channels import EphemeralValue, LastValue
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel import NodeBuilder, Pregel
from langgraph.types import Command, Send, interrupt

from langgraph_portable_checkpoint.errors import MediaError
from tests.media.test_thread_media import ONE, part
from tests.saver.calls import Calls
from tests.saver.conftest import SaverFactory
from tests.saver.conftest import calls as calls
from tests.saver.conftest import make_saver as make_saver

FILES = "https://generativelanguage.googleapis.com/v1beta/files/"
OLD, NEW = FILES + "old", FILES + "new"
PAST = datetime.now(UTC) - timedelta(days=1)
CONFIG: Any = {"configurable": {"thread_id": "t"}}
RANDOM_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}")
RESUME: Any = Command(resume="yes")


def question() -> HumanMessage:
    return HumanMessage([{"type": "media", "file_uri": OLD, "mime_type": "audio/wav"}, part(ONE)], id="q")


class State(MessagesState):
    done: Annotated[list[str], operator.add]


class Ran(list[str]):
    """What has run, and whether a task has come to its end and its writes are stored."""

    def __init__(self) -> None:
        super().__init__()
        self.written = Event()

    def watch(self, saver: Any) -> Any:
        """Let a saver tell when writes are stored."""
        put_writes, aput_writes = saver.put_writes, saver.aput_writes

        @wraps(put_writes)
        def put(config: Any, writes: Any, *args: Any) -> None:
            put_writes(config, writes, *args)
            self._hear(writes)

        @wraps(aput_writes)
        async def aput(config: Any, writes: Any, *args: Any) -> None:
            await aput_writes(config, writes, *args)
            self._hear(writes)

        saver.put_writes, saver.aput_writes = put, aput
        return saver

    def _hear(self, writes: Any) -> None:
        if any(channel == "done" for channel, _ in writes):
            self.written.set()


@dataclass
class Case:
    """A graph that stops on its way, and what it is told to go on with."""

    build: Callable[[Ran], Any]
    """Makes the graph, which notes in the list what has run."""
    inputs: tuple[Any, ...] = (None,)
    compile: dict[str, Any] = field(default_factory=dict)
    given: Any = field(default_factory=lambda: {"messages": [question()]})


def step(
    ran: Ran, name: str, *, asks: bool = False, crashes: bool = False, waits: bool = False
) -> Callable[[Any], Any]:
    def node(state: Any) -> Any:
        assert not waits or ran.written.wait(60)
        ran.append(name)
        if crashes and ran.count(name) == 1:
            raise RuntimeError("no luck")
        answer = interrupt(f"{name}?") if asks else ""
        return {"messages": [AIMessage(f"{name} {answer}", id=name)], "done": [name]}

    return node


def one(**how: bool) -> Callable[[Ran], Any]:
    def build(ran: Ran) -> Any:
        builder = StateGraph(State)
        builder.add_node("ask", step(ran, "ask", **how))
        builder.add_node("after", step(ran, "after"))
        builder.add_edge(START, "ask")
        builder.add_edge("ask", "after")
        return builder

    return build


def two(**how: bool) -> Callable[[Ran], Any]:
    def build(ran: Ran) -> Any:
        builder = StateGraph(State)
        builder.add_node("charge", step(ran, "charge"))
        builder.add_node("ask", step(ran, "ask", waits=True, **how))
        builder.add_edge(START, "charge")
        builder.add_edge(START, "ask")
        builder.add_node("join", step(ran, "join"))
        builder.add_edge(["charge", "ask"], "join")
        return builder

    return build


def nested(ran: Ran) -> Any:
    inner = StateGraph(State)
    inner.add_node("first", step(ran, "first"))
    inner.add_node("ask", step(ran, "ask", asks=True))
    inner.add_edge(START, "first")
    inner.add_edge("first", "ask")
    builder = StateGraph(State)
    builder.add_node("inner", inner.compile())
    builder.add_node("after", step(ran, "after"))
    builder.add_edge(START, "inner")
    builder.add_edge("inner", "after")
    return builder


def fanned(ran: Ran) -> Any:
    def visit(arg: str) -> Any:
        ran.append(arg)
        return {"done": [f"{arg} {interrupt(arg)}"] if arg != "b" else ["b"]}

    builder = StateGraph(State)
    builder.add_node("fan", step(ran, "fan"))
    builder.add_node("visit", visit)
    builder.add_edge(START, "fan")
    builder.add_conditional_edges("fan", lambda _: [Send("visit", arg) for arg in "abc"])
    return builder


def with_tools(ran: Ran) -> Any:
    @tool
    def pay() -> str:
        """Pay."""
        ran.append("pay")
        return f"paid {interrupt('pay?')}"

    @tool
    def look() -> str:
        """Look."""
        ran.append("look")
        return "seen"

    def model(state: Any) -> Any:
        ran.append("model")
        wanted = [{"name": name, "args": {}, "id": name} for name in ("pay", "look")]
        return {
            "messages": [
                AIMessage("", id="calls", tool_calls=wanted)
                if len(state["messages"]) == 1
                else AIMessage("done", id="a")
            ]
        }

    builder = StateGraph(State)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode([pay, look]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    builder.add_edge("tools", "model")
    return builder


CASES = {
    "an interrupt": Case(one(asks=True), (RESUME,)),
    "an interrupt, and no answer": Case(one(asks=True), (None, RESUME)),
    "a crash": Case(one(crashes=True)),
    "an interrupt beside a node that has finished": Case(two(asks=True), (RESUME,)),
    "a crash beside a node that has finished": Case(two(crashes=True)),
    "a stop before a node": Case(one(), compile={"interrupt_before": ["after"]}),
    "a stop after a node": Case(one(), compile={"interrupt_after": ["ask"]}),
    "an interrupt in a subgraph": Case(nested, (RESUME,)),
    "interrupts of sent tasks": Case(fanned, ("by id", "by id")),
    "an interrupt in a tool": Case(with_tools, (RESUME,)),
    "a finished turn": Case(one(), ({"messages": [HumanMessage("more", id="q2")]},)),
    "a finished turn, and nothing new": Case(one()),
    "new input at an interrupt": Case(two(asks=True), ({"messages": [HumanMessage("more", id="q2")]},)),
}


def plain(value: Any) -> Any:
    """Take out what two runs differ in anyway, and the refresh."""
    return json.loads(RANDOM_ID.sub("some id", json.dumps(value, default=repr).replace(OLD, NEW)))


def standing(calls: Calls, graph: Any) -> Any:
    """What a graph says of where it stands, but for ids and times."""
    state = calls.run(graph, "get_state", CONFIG)
    asked = sorted(str(each.value) for each in state.interrupts)
    tasks = [(task.name, str(task.error), task.result, len(task.interrupts)) for task in state.tasks]
    return plain([state.values, state.next, asked, tasks, {**state.metadata, "run_id": None}])


def turns(calls: Calls, saver: Any) -> list[Any]:
    varying = ("updated_at", "messages")
    return [
        plain({key: value for key, value in turn.record.items() if key not in varying})
        for turn in calls.drain(saver, "turns", "t")
    ]


def refresh(calls: Calls, saver: Any, **options: Any) -> Any:
    calls.run(saver, "record_upload", "t", OLD, data=b"RIFF....WAVE", mime_type="audio/wav", expires_at=PAST)
    return calls.run(saver, "refresh_uploads", "t", upload=lambda data, record: NEW, **options)


def run(calls: Calls, make: Callable[[], Any], case: Case, *, refreshed: bool) -> list[Any]:
    ran = Ran()
    builder, told = case.build(ran), []
    saver = ran.watch(make())
    graph = builder.compile(checkpointer=saver, **case.compile)

    def go(given: Any) -> None:
        try:
            calls.run(graph, "invoke", given, CONFIG)
        except RuntimeError:
            ran.append("crash")

    go(case.given)
    for given in case.inputs:
        if refreshed:
            before = (standing(calls, graph), turns(calls, saver))
            dead = OLD in str(calls.get_tuple(saver, CONFIG))
            assert refresh(calls, saver).changed == ((0,) if dead else ())
            assert (standing(calls, graph), turns(calls, saver)) == before
            assert OLD not in str(calls.run(graph, "get_state", CONFIG).values)
        told.append(standing(calls, graph))
        if given == "by id":
            asked = calls.run(graph, "get_state", CONFIG).interrupts
            given = Command(resume={asked[0].id: f"yes to {asked[0].value}"})
        go(given)
        saver = make()
        graph = builder.compile(checkpointer=saver, **case.compile)
    steps = [(each.metadata["source"], each.metadata["step"]) for each in calls.list(saver, CONFIG)]
    statuses = [turn.status for turn in calls.drain(saver, "turns", "t")]
    return [sorted(ran), told, standing(calls, graph), steps, statuses]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_turn_goes_on_as_without_the_refresh(make_saver: SaverFactory, calls: Calls, case: Case) -> None:
    outcomes = []
    for refreshed in (False, True):
        name = f"{make_saver.room.prefix}{refreshed}"
        outcomes.append(run(calls, lambda name=name: make_saver(prefix=name), case, refreshed=refreshed))
    assert outcomes[0] == outcomes[1]


def test_a_node_that_listens_to_messages_is_not_woken(make_saver: SaverFactory, calls: Calls) -> None:
    """A new version of the channel would be a reason to run it."""
    ran: list[Any] = []
    saver = make_saver()
    node = NodeBuilder().subscribe_only("messages").do(ran.append).write_to("answer")
    channels = {"messages": LastValue(list), "answer": EphemeralValue(str)}
    graph = Pregel(
        nodes={"n": node}, channels=channels, input_channels="messages", output_channels="answer", checkpointer=saver
    )
    calls.run(graph, "invoke", [question()], CONFIG)
    assert refresh(calls, saver).changed == (0,)
    assert calls.run(graph, "get_state", CONFIG).next == ()
    calls.run(graph, "invoke", None, CONFIG)
    assert len(ran) == 1


def test_messages_that_are_kept_as_changes_are_not_passed_over_in_silence(
    make_saver: SaverFactory, calls: Calls
) -> None:
    def added(known: list[Any] | None, writes: Any) -> list[Any]:
        return [*(known or []), *(message for write in writes for message in write)]

    state = TypedDict("state", {"messages": Annotated[list[Any], DeltaChannel(added)]})  # noqa: UP013
    builder = StateGraph(state)
    builder.add_node("n", lambda _: {"messages": [AIMessage("ok", id="a")]})
    builder.add_edge(START, "n")
    saver = make_saver()
    graph = builder.compile(checkpointer=saver)
    calls.run(graph, "invoke", {"messages": [question()]}, CONFIG)
    with pytest.raises(MediaError, match="'messages' of thread 't'"):
        refresh(calls, saver)
    assert OLD in str(calls.run(graph, "get_state", CONFIG).values)
