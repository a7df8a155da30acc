"""Exports with `full=True`: of our saver, another one and their graphs, of threads that lost messages in every way."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import count
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langgraph_portable_checkpoint import export_thread
from langgraph_portable_checkpoint.dialects.concerns import SUMMARY
from langgraph_portable_checkpoint.errors import LossyExportError
from tests.saver.conftest import SaverFactory, make_saver
from tests.turns.scenes import Talk

__all__ = ["make_saver"]

ANEW = RemoveMessage(id=REMOVE_ALL_MESSAGES)
KINDS = ("ours", "other", "graph of ours", "graph of another")


@pytest.fixture(params=KINDS)
def source_of(request: Any, make_saver: SaverFactory) -> Callable[[Callable[[Talk], None]], Any]:
    """Makes a thread "t" by a course of a talk, and returns what to export it from."""

    def made(course: Callable[[Talk], None]) -> Any:
        talk = Talk(make_saver() if "ours" in request.param else InMemorySaver(), "t")
        course(talk)
        return talk.graph if "graph" in request.param else talk.graph.checkpointer

    return made


def said(source: Any, to: str = "openai-chat", **options: Any) -> tuple[list[str], list[tuple[str, str]]]:
    """Export a thread whole; return its texts and what the report says."""
    export = export_thread(source, "t", to, full=True, **options)
    return [message["content"] for message in export.payload["messages"]], [
        (loss.rule, loss.kind) for loss in export.report
    ]


def summarised(talk: Talk, summary: Any = None, kept: int = 2) -> None:
    """Put a summary in the place of all but the last messages, as SummarizationMiddleware does."""
    summary = summary or HumanMessage("so far", additional_kwargs={"lc_source": "summarization"})
    talk.update(ANEW, summary, *talk.messages[-kept:])


def two_turns(talk: Talk) -> None:
    talk.ask("one", AIMessage("1"))
    talk.ask("two", AIMessage("2"))


def test_a_summary_whose_messages_are_there_is_left_out_and_told(source_of: Any) -> None:
    def course(talk: Talk) -> None:
        two_turns(talk)
        summarised(talk)
        talk.ask("three", AIMessage("3"))

    texts, report = said(source_of(course))
    assert texts == ["one", "1", "two", "2", "three", "3"]
    assert report == [(SUMMARY.rule, SUMMARY.kind)]


def test_a_summary_that_is_left_out_is_a_loss_under_strict(source_of: Any) -> None:
    def course(talk: Talk) -> None:
        two_turns(talk)
        summarised(talk)

    source = source_of(course)
    with pytest.raises(LossyExportError) as caught:
        export_thread(source, "t", "openai-chat", full=True, strict=True)
    assert [loss.rule for loss in caught.value.report] == [SUMMARY.rule]
    with pytest.raises(LossyExportError) as caught:
        export_thread(source, "t", "openai-chat", full=True, strict=True, turns=1)
    assert [loss.rule for loss in caught.value.report] == [SUMMARY.rule]


@pytest.mark.parametrize(
    ("kept", "texts", "rules"),
    [(1, ["so far", "two", "2"], []), (2, ["one", "1", "two", "2"], [SUMMARY.rule])],
    ids=["without its messages", "with them"],
)
def test_a_summary_stays_where_older_checkpoints_are_gone(kept: int, texts: list[str], rules: list[str]) -> None:
    saver = InMemorySaver()
    talk = Talk(saver, "t")
    two_turns(talk)
    summarised(talk)
    stored = saver.storage["t"][""]
    for name in sorted(stored)[:-kept]:
        del stored[name]
    found, report = said(saver)
    assert found == texts
    assert [rule for rule, _ in report] == rules


def test_a_summary_stays_in_a_run_that_saves_at_its_end_only() -> None:
    def work(state: MessagesState) -> Any:
        return {"messages": [AIMessage(f"step {len(state['messages'])}")]}

    def sum_up(state: MessagesState) -> Any:
        summary = HumanMessage("so far", additional_kwargs={"lc_source": "summarization"})
        return {"messages": [ANEW, summary, state["messages"][-1]]}

    saver = InMemorySaver()
    builder = StateGraph(MessagesState).add_sequence([("first", work), ("second", work), ("sum_up", sum_up)])
    graph = builder.add_edge(START, "first").compile(checkpointer=saver)
    graph.update_state({"configurable": {"thread_id": "t"}}, {"messages": [HumanMessage("hi")]}, as_node="sum_up")
    graph.invoke({"messages": [HumanMessage("go")]}, {"configurable": {"thread_id": "t"}}, durability="exit")
    assert said(saver) == (["hi", "so far", "step 3"], [])


@pytest.mark.parametrize(
    ("course", "texts"),
    [
        pytest.param(
            lambda talk: summarised(talk, HumanMessage("note")), ["one", "1", "note", "two", "2"], id="unmarked summary"
        ),
        pytest.param(
            lambda talk: summarised(talk, SystemMessage("note")), ["note", "one", "1", "two", "2"], id="system message"
        ),
        pytest.param(
            lambda talk: summarised(talk, HumanMessage("Two?"), kept=1),
            ["one", "1", "two", "Two?", "2"],
            id="rewritten question",
        ),
        pytest.param(
            lambda talk: talk.update(*[RemoveMessage(id=message.id) for message in talk.messages[:2]]),
            ["one", "1", "two", "2"],
            id="trimmed",
        ),
        pytest.param(
            lambda talk: talk.update(HumanMessage("Two!", id=talk.messages[2].id)),
            ["one", "1", "Two!", "2"],
            id="rewritten under its id",
        ),
        pytest.param(
            lambda talk: talk.update(ANEW, *talk.messages[2:], *talk.messages[:2]), ["two", "2", "one", "1"], id="moved"
        ),
    ],
)
def test_the_state_keeps_its_order(source_of: Any, course: Callable[[Talk], None], texts: list[str]) -> None:
    def whole(talk: Talk) -> None:
        two_turns(talk)
        course(talk)

    assert said(source_of(whole)) == (texts, [])


class Listed(TypedDict):
    messages: Annotated[list[AnyMessage], operator.add]


@pytest.mark.parametrize("ours", [True, False])
def test_messages_without_ids_are_there(make_saver: SaverFactory, ours: bool) -> None:
    saver = make_saver() if ours else InMemorySaver()
    graph = StateGraph(Listed).add_node("say", lambda _: {"messages": [AIMessage("yes")]}).add_edge(START, "say")
    compiled = graph.compile(checkpointer=saver)
    for text in ("one", "one", "two"):
        compiled.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "t"}})
    texts = ["one", "yes", "one", "yes", "two", "yes"]
    assert said(saver) == (texts, [])
    assert said(saver, resolve_media=False) == (texts, [])
    assert said(compiled) == (texts, [])


def test_reasoning_that_is_bound_to_its_prefix_is_left_out_behind_what_was_recovered(source_of: Any) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    told = {"model_provider": "anthropic", "model_name": "claude-opus-5-5"}

    def course(talk: Talk) -> None:
        two_turns(talk)
        talk.update(*[RemoveMessage(id=message.id) for message in talk.messages[:2]])
        talk.ask("three", AIMessage([thought, {"type": "text", "text": "3"}], response_metadata=told))

    source = source_of(course)
    assert "signature" in str(export_thread(source, "t", "anthropic").payload)
    whole = export_thread(source, "t", "anthropic", full=True)
    assert "signature" not in str(whole.payload)
    assert [loss.kind for loss in whole.report] == ["dropped"]


def test_a_recovered_call_keeps_the_result_that_the_state_has(source_of: Any) -> None:
    def course(talk: Talk) -> None:
        call = AIMessage("", tool_calls=[{"id": "c", "name": "look", "args": {}}])
        talk.ask("one", call, ToolMessage("found", tool_call_id="c"), AIMessage("1"))
        summarised(talk, HumanMessage("note"))

    export = export_thread(source_of(course), "t", "openai-chat", full=True)
    assert [message["role"] for message in export.payload["messages"]] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]
    assert [loss.kind for loss in export.report] == ["reordered"]


def model(word: str) -> GenericFakeChatModel:
    """Make a model that counts its answers."""
    return GenericFakeChatModel(messages=(AIMessage(f"{word}{number}") for number in count()))


def test_summaries_of_langchains_own_middleware_are_known() -> None:
    talking, summing = model("a"), model("sum")
    sums_up = SummarizationMiddleware(model=summing, trigger=("messages", 6), keep=("messages", 2))
    agent: Any = create_agent(talking, tools=[], middleware=[sums_up], checkpointer=InMemorySaver())
    for number in range(8):
        agent.invoke({"messages": [HumanMessage(f"q{number}")]}, {"configurable": {"thread_id": "t"}})
    texts = [f"{word}{number}" for number in range(8) for word in ("q", "a")]
    assert said(agent) == (texts, [(SUMMARY.rule, SUMMARY.kind)] * 3)
