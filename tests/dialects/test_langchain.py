"""LangChain messages as JSON: the three forms, chunks and recorded runs, and back without loss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)

from langgraph_portable_checkpoint.dialects.base import ExportOptions, ImportOptions
from langgraph_portable_checkpoint.dialects.langchain import LangChain
from langgraph_portable_checkpoint.dialects.report import Report
from langgraph_portable_checkpoint.envelope.read import read_message
from langgraph_portable_checkpoint.errors import MalformedHistoryError
from tests.dialects import counting
from tests.dialects.exporting import export
from tests.dialects.made import HISTORIES, JSON

DIALECT = LangChain()
MESSAGES = [
    SystemMessage("s"),
    HumanMessage("q", id="h", name="Ann"),
    AIMessage(
        "",
        id="a",
        tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c"}],
        response_metadata={"model_name": "gpt-4o", "model_provider": "openai"},
    ),
    ToolMessage("1", tool_call_id="c", status="error", artifact={"k": [1]}),
    ChatMessage("hm", role="critic"),
]


def read(payload: Any) -> tuple[list[Any], list[Any]]:
    report = Report(target="langchain")
    envelopes = DIALECT.parse(payload, ImportOptions(), report)
    assert {(loss.rule, loss.kind) for loss in report} <= {(loss.rule, loss.kind) for loss in DIALECT.LOSSES}
    return envelopes, list(report)


@pytest.mark.parametrize(
    "form",
    [messages_to_dict, lambda all_: [one.model_dump() for one in all_], lambda all_: [dumpd(one) for one in all_]],
)
def test_all_three_forms_read_as_the_messages_themselves(form: Any) -> None:
    payload = json.loads(json.dumps(form(MESSAGES)))
    assert read(payload)[0] == [read_message(message) for message in MESSAGES]
    assert DIALECT.recognises(payload) > 0.9
    assert DIALECT.lint(payload, ExportOptions()) == []


def stored(envelope: Any) -> Any:
    """An envelope without what is there in memory only."""
    return {"origin": {}} | {key: value for key, value in envelope.items() if key != "raw_content"}


@settings(max_examples=100, deadline=None)
@given(HISTORIES)
def test_any_history_comes_back_as_it_was(history: list[Any]) -> None:
    payload, report = export(DIALECT, history)
    assert report.losses == ()
    again = json.loads(json.dumps(payload))
    assert len(messages_from_dict(again["messages"])) == len(history)
    assert [stored(one) for one in read(again)[0]] == history


def test_recorded_files_hold_what_their_messages_hold(corpus: Path) -> None:
    paths = sorted((corpus / "langchain").glob("*.messages.json"))
    assert len(paths) == 2
    for path in paths:
        found = counting.of_envelopes(read(json.loads(path.read_text()))[0])
        expected = counting.langchain(path)
        assert {key: found[key] for key in expected} == expected, path.name


def test_the_last_state_of_a_recorded_run_counts(corpus: Path) -> None:
    folder = corpus / "langchain"
    events = json.loads((folder / "vercel_react_agent_tool_calling.events.json").read_text())
    state = json.loads((folder / "vercel_react_agent_tool_calling.messages.json").read_text())
    assert read(events)[0] == read(state)[0]


def test_recorded_chunks_become_messages(corpus: Path) -> None:
    chunks = json.loads((corpus / "langchain" / "langgraphjs_supervisor_chunks.json").read_text())
    envelopes, losses = read(chunks)
    assert len(envelopes) == len({chunk[1][0]["kwargs"]["id"] for chunk in chunks}) == 3
    assert sum(int(loss.action.split()[1]) for loss in losses) == len(chunks) == 34


def test_chunks_of_one_message_are_merged() -> None:
    chunks = [AIMessageChunk("Hel", id="a"), AIMessageChunk("x", id="b"), AIMessageChunk("lo", id="a")]
    envelopes, losses = read(messages_to_dict(chunks))
    assert [(one["id"], one["content"][0]["text"]) for one in envelopes] == [("a", "Hello"), ("b", "x")]
    assert [(loss.rule, loss.kind) for loss in losses] == [("L3", "merged")]


def test_a_command_to_remove_is_no_message() -> None:
    envelopes, losses = read(messages_to_dict([HumanMessage("q"), RemoveMessage(id="x")]))
    assert len(envelopes) == 1
    assert [(loss.rule, loss.kind, loss.path) for loss in losses] == [("L2", "dropped", "[1]")]


@pytest.mark.parametrize(
    ("payload", "where"),
    [
        (None, "list"),
        ([1], "[0]"),
        ([{"type": "human"}], "[0]"),
        ([{"type": "os.system", "data": {"content": "x"}}], "[0]"),
        ([{"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {}}], "[0]"),
        ([{"type": "tool", "content": "x"}], "[0]"),
        ([{"type": "ai", "content": "x", "usage_metadata": 3}], "[0]"),
        ([{"type": "human", "content": "x", "tool_calls": 1.5}], "[0]"),
    ],
)
def test_what_is_no_message_is_refused_with_its_place(payload: Any, where: str) -> None:
    with pytest.raises(MalformedHistoryError) as raised:
        read(payload)
    assert any(where in problem for problem in raised.value.problems)


NATIVES = st.fixed_dictionaries(
    {"type": st.sampled_from(["human", "ai", "tool", "system", "AIMessageChunk", "remove", "x"]), "content": JSON},
    optional=dict.fromkeys(
        (
            "id",
            "name",
            "tool_calls",
            "tool_call_id",
            "additional_kwargs",
            "response_metadata",
            "usage_metadata",
            "status",
            "data",
            "lc",
            "kwargs",
        ),
        JSON,
    ),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(NATIVES | JSON, max_size=4) | JSON)
def test_any_payload_is_read_or_refused(payload: Any) -> None:
    DIALECT.recognises(payload)
    DIALECT.lint(payload, ExportOptions())
    try:
        read(payload)
    except MalformedHistoryError:
        return
