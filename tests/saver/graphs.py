"""Real graphs and what is done with them, one function each, to be played on any saver.

A scenario gets a `Play`, makes its graph with `play.saver` as checkpointer, and drives it. `Play` notes every answer.
Ids and times that LangGraph makes at random are replaced by the order of their first appearance, and InMemorySaver's
text versions by the number in them, so that two plays of one scenario must note the same.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.channels import DeltaChannel
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Interrupt, Send, StateSnapshot, interrupt

from tests.saver.calls import Calls

TEXT_VERSION = re.compile(r"(\d{32})\.[\d.e-]+")
RANDOM = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b|\d{4}-\d\d-\d\dT[\d:.]+\+00:00"
)


@dataclass
class Play:
    """One run of a scenario on one saver."""

    saver: Any
    calls: Calls
    durability: str = "async"
    renew: Callable[[], Any] | None = None
    """Makes a new saver before every call, as if the process had been restarted."""
    config: Any = field(default_factory=lambda: {"configurable": {"thread_id": "t"}})
    notes: list[Any] = field(default_factory=list)
    _seen: dict[str, str] = field(default_factory=dict)

    def invoke(self, graph: Any, value: Any, config: Any = None, **options: Any) -> Any:
        """Run the graph, note and return the result."""
        options = {"durability": self.durability, **options}
        if self.renew:
            graph.checkpointer = self.renew()
        result = self.calls.run(graph, "invoke", value, config or self.config, **options)
        self.notes.append(self.plain(result))
        return result

    def update(self, graph: Any, *args: Any, config: Any = None, **options: Any) -> Any:
        """Update the state; return the new config."""
        return self.calls.run(graph, "update_state", config or self.config, *args, **options)

    def state(self, graph: Any, config: Any = None) -> StateSnapshot:
        """Note and return the state with those of subgraphs."""
        found: StateSnapshot = self.calls.run(graph, "get_state", config or self.config, subgraphs=True)
        self.notes.append(self.plain(found))
        return found

    def history(self, graph: Any, config: Any = None) -> list[StateSnapshot]:
        """Note and return the whole history, newest first."""
        found: list[StateSnapshot] = self.calls.drain(graph, "get_state_history", config or self.config)
        self.notes.append([self.plain(each) for each in reversed(found)])
        return found

    def plain(self, value: Any) -> Any:
        """Replace what is random by the order of its first appearance; leave messages and the user's objects alone."""
        if isinstance(value, str):
            if version := TEXT_VERSION.fullmatch(value):
                return int(version[1])
            return RANDOM.sub(lambda found: self._seen.setdefault(found[0], f"#{len(self._seen)}"), value)
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            return {name: self.plain(each) for name, each in value._asdict().items() if name != "created_at"}
        if type(value) in (list, tuple):
            if value and all(isinstance(each, Interrupt) for each in value):
                value = type(value)(sorted(value, key=lambda each: repr(each.value)))  # parallel tasks end in any order
            return type(value)(self.plain(each) for each in value)
        if type(value) is dict:
            return {self.plain(key): self.plain(each) for key, each in value.items()}
        if isinstance(value, Interrupt):
            return {"interrupt": value.value, "id": self.plain(value.id)}
        return value


class Chat(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


class Log(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    text: str
    items: list[Any]


def _ai(text: str, number: int, **more: Any) -> AIMessage:
    return AIMessage(text, id=f"a{number}", **more)


def _answer(state: Any) -> Any:
    return {"messages": [_ai(f"answer to {state['messages'][-1].content}", len(state["messages"]))]}


def _chat(saver: Any) -> Any:
    builder = StateGraph(Chat).add_node("answer", _answer).add_node("rest", lambda state: {"messages": []})
    return builder.add_edge(START, "answer").add_edge("answer", "rest").compile(checkpointer=saver)


def _line(saver: Any, *nodes: Any, **options: Any) -> Any:
    builder = StateGraph(Log).add_sequence(list(nodes))
    return builder.add_edge(START, nodes[0][0]).compile(checkpointer=saver, **options)


def _logs(word: Any) -> Callable[[Log], Log]:
    return lambda state: {"log": [word]}


def conversation(play: Play) -> None:
    graph = _chat(play.saver)
    for turn in range(5):
        play.invoke(graph, {"messages": [HumanMessage(f"question {turn}", id=f"h{turn}")]})
    play.update(graph, {"messages": [RemoveMessage(id="h1"), AIMessage("changed", id="a1")]}, as_node="answer")
    play.invoke(graph, {"messages": [HumanMessage("question 5", id="h5"), RemoveMessage(id="h2")]})
    play.invoke(graph, {"messages": [RemoveMessage(id="__remove_all__"), HumanMessage("anew", id="h6")]})


def static_interrupts(play: Play) -> None:
    graph = _line(
        play.saver,
        ("a", _logs("a")),
        ("b", _logs("b")),
        ("c", _logs("c")),
        interrupt_before=["b"],
        interrupt_after=["b"],
    )
    play.invoke(graph, {"log": ["in"]})
    play.update(graph, {"log": ["by hand"]})
    play.state(graph)
    play.invoke(graph, None)
    play.invoke(graph, None)


def interrupts_in_one_node(play: Play) -> None:
    def ask(state: Log) -> Log:
        first = interrupt({"ask": "first", "amount": Decimal("1.10")})
        second = interrupt(("second", {1}))
        return {"log": [first, second, interrupt(None)]}

    graph = _line(play.saver, ("before", _logs("before")), ("ask", ask), ("after", _logs("after")))
    play.invoke(graph, {"log": []})
    for answer in ("one", {"two": 2}, False):
        play.state(graph)
        play.invoke(graph, Command(resume=answer))


def parallel_interrupts(play: Play) -> None:
    builder = StateGraph(Log)
    for name in "abc":
        builder.add_node(name, lambda state, name=name: {"log": [(name, interrupt(f"ask {name}"))]})
        builder.add_edge(START, name)
    builder.add_node("fast", _logs("fast")).add_edge(START, "fast")
    graph = builder.compile(checkpointer=play.saver)
    play.invoke(graph, {"log": []})
    asked = {each.value: each.id for each in play.state(graph).interrupts}
    play.invoke(graph, Command(resume={asked["ask b"]: "yes b"}))
    play.state(graph)
    play.invoke(graph, Command(resume={asked["ask a"]: "yes a", asked["ask c"]: "yes c"}))


def map_reduce(play: Play) -> None:
    def spread(state: Log) -> Any:
        return [Send("work", {"text": item, "log": [HumanMessage(item)]}) for item in state["items"]]

    builder = StateGraph(Log).add_node("work", lambda state: {"log": [state["text"] * 2, *state["log"]]})
    builder.add_node("sum", lambda state: {"text": str(len(state["log"]))}).add_edge("work", "sum")
    graph = builder.add_conditional_edges(START, spread, ["work"]).compile(
        checkpointer=play.saver, interrupt_before=["sum"]
    )
    play.invoke(graph, {"items": [f"i{number}" for number in range(12)]})
    play.state(graph)
    play.invoke(graph, None)


def commands(play: Play) -> None:
    def decide(state: Log) -> Command[Any]:
        if len(state["log"]) > 4:
            return Command(goto=END, update={"text": "done"})
        return Command(goto=["left", Send("right", {"text": "sent"})], update={"log": ["decide"]})

    def leave(state: Log) -> Command[Any]:
        return Command(graph=Command.PARENT, goto="decide", update={"log": ["from the subgraph"]})

    inner = StateGraph(Log).add_node("leave", leave).add_edge(START, "leave").compile()
    builder = StateGraph(Log).add_node("decide", decide, destinations=("left", "right")).add_node("left", inner)
    builder.add_node("right", lambda state: {"log": [state.get("text")]})
    graph = builder.add_edge(START, "decide").compile(checkpointer=play.saver)
    play.invoke(graph, {"log": ["in"]})
    play.invoke(graph, Command(update={"log": ["updated"]}, goto="right"))


def _asking_subgraph(**options: Any) -> Any:
    builder = StateGraph(Log).add_node("first", _logs("sub first"))
    builder.add_node("ask", lambda state: {"log": [interrupt("inner?")]})
    return builder.add_edge(START, "first").add_edge("first", "ask").compile(**options)


def subgraph(play: Play) -> None:
    middle = StateGraph(Log).add_node("inner", _asking_subgraph()).add_edge(START, "inner").compile()
    graph = _line(play.saver, ("outer", _logs("outer")), ("middle", middle), ("end", _logs("end")))
    play.invoke(graph, {"log": []})
    found = play.state(graph)
    nested = found.tasks[0].state.tasks[0].state  # type: ignore[union-attr]  # asked for with subgraphs=True
    play.history(graph, nested.config)  # type: ignore[union-attr]
    play.update(graph, {"log": ["by hand"]}, config=nested.config)  # type: ignore[union-attr]
    play.state(graph)
    play.invoke(graph, Command(resume="inner!"))
    play.invoke(graph, {"log": ["again"]})
    play.invoke(graph, Command(resume="inner again!"))


def subgraph_with_memory(play: Play) -> None:
    inner = StateGraph(Log).add_node("count", lambda state: {"log": [f"{len(state['log'])} so far"]})
    remembering = inner.add_edge(START, "count").compile(checkpointer=True)
    graph = _line(play.saver, ("call", lambda state: {"text": str(remembering.invoke({"log": ["x"]})["log"])}))
    for _ in range(3):
        play.invoke(graph, {"log": []})


def _time_travel(play: Play, graph: Any) -> None:
    past = play.history(graph)
    middle = past[len(past) // 2]
    play.state(graph, middle.config)
    play.invoke(graph, None, middle.config)
    fork = play.update(graph, {"messages": [HumanMessage("another way", id="f1")]}, config=middle.config)
    play.history(graph)
    play.invoke(graph, None, fork)
    play.invoke(graph, {"messages": [HumanMessage("on the fork", id="f2")]})
    play.state(graph, past[1].config)
    play.state(graph, past[-1].config)


def time_travel(play: Play) -> None:
    graph = _chat(play.saver)
    for turn in range(3):
        play.invoke(graph, {"messages": [HumanMessage(f"question {turn}", id=f"h{turn}")]})
    _time_travel(play, graph)


def crash_and_resume(play: Play) -> None:
    ran: list[str] = []

    def fragile(state: Log) -> Log:
        ran.append("fragile")
        if len(ran) == 1:
            raise RuntimeError("power cut")
        return {"log": ["fragile"]}

    def sound(state: Log) -> Log:
        ran.append("sound")
        return {"log": ["sound"]}

    builder = StateGraph(Log).add_node("fragile", fragile).add_node("sound", sound).add_node("last", _logs("last"))
    builder.add_edge(START, "sound").add_edge("sound", "fragile").add_edge("fragile", "last")
    graph = builder.compile(checkpointer=play.saver)
    try:
        play.invoke(graph, {"log": ["in"]})
    except RuntimeError as error:
        play.notes.append(repr(error))
    play.state(graph)
    play.invoke(graph, None)
    play.notes.append(ran)


def functional(play: Play) -> None:
    ran: list[int] = []

    @task
    def double(number: int) -> int:
        ran.append(number)
        return number * 2

    @entrypoint(checkpointer=play.saver)
    def flow(numbers: list[int], *, previous: Any = None) -> Any:
        doubled = [each.result() for each in [double(number) for number in numbers]]
        answer = interrupt({"doubled": doubled})
        return entrypoint.final(value=(doubled, answer), save={"previous": previous, "sum": sum(doubled)})

    for _ in range(2):
        play.invoke(flow, [1, 2, 3])
        play.invoke(flow, Command(resume="go on"))
    play.notes.append(sorted(ran))
    play.state(flow)
    play.history(flow)


def _gather(state: list[Any], writes: Any) -> list[Any]:
    return [*state, *(each for write in writes for each in write)]


class Delta(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(_gather, snapshot_frequency=4)]


def delta_channel(play: Play) -> None:
    builder = StateGraph(Delta).add_node("answer", _answer).add_node("more", _answer)
    graph = builder.add_edge(START, "answer").add_edge("answer", "more").compile(checkpointer=play.saver)
    for turn in range(6):
        play.invoke(graph, {"messages": [HumanMessage(f"question {turn}", id=f"h{turn}")]})
    _time_travel(play, graph)


def tool_loop(play: Play) -> None:
    def model(state: Chat) -> Any:
        number = len(state["messages"])
        if isinstance(state["messages"][-1], ToolMessage):
            return {"messages": [_ai("It is cold.", number)]}
        names = ("Oslo", "Bergen")
        calls = [
            {"name": "weather", "args": {"city": city}, "id": f"c{number}{city}", "type": "tool_call"} for city in names
        ]
        return {"messages": [_ai("", number, tool_calls=calls)]}

    def route(state: Chat) -> Any:
        last = state["messages"][-1]
        return [Send("tool", call) for call in getattr(last, "tool_calls", ())] or END

    def tool(call: Any) -> Any:
        content = [{"type": "text", "text": f"3 C in {call['args']['city']}"}]
        return {"messages": [ToolMessage(content, tool_call_id=call["id"], id=f"r-{call['id']}", artifact={1: (2,)})]}

    builder = StateGraph(Chat).add_node("model", model).add_node("tool", tool).add_edge(START, "model")
    builder.add_conditional_edges("model", route, ["tool", END]).add_edge("tool", "model")
    graph = builder.compile(checkpointer=play.saver)
    for turn in range(4):
        play.invoke(
            graph, {"messages": [HumanMessage("And now?", id=f"h{turn}")]}, {**play.config, "metadata": {"user": "ada"}}
        )


def joins_and_bulk_updates(play: Play) -> None:
    builder = StateGraph(Log)
    for name in "abc":
        builder.add_node(name, _logs(name)).add_edge(START, name)
    builder.add_node("join", _logs("join")).add_edge(["a", "b"], "join")
    builder.add_node("late", _logs("late"), defer=True).add_edge("join", "late").add_edge("c", "late")
    graph = builder.compile(checkpointer=play.saver)
    play.invoke(graph, {"log": ["in"], "text": "x", "items": [{"k": {1, 2}}]})
    play.update(graph, None)
    play.update(graph, {"text": "y"}, as_node="a")
    play.invoke(graph, None)
    play.update(graph, None, as_node=END)


SCENARIOS: dict[str, Callable[[Play], None]] = {
    scenario.__name__: scenario
    for scenario in (
        *(conversation, static_interrupts, interrupts_in_one_node, parallel_interrupts, map_reduce, commands, subgraph),
        *(
            subgraph_with_memory,
            time_travel,
            crash_and_resume,
            functional,
            delta_channel,
            tool_loop,
            joins_and_bulk_updates,
        ),
    )
}
