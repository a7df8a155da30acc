"""Parts that an application writes where their provider has no place for them: sent elsewhere, told, never refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_aws.chat_models.bedrock_converse import _messages_to_bedrock
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_portable_checkpoint import export_messages, import_messages, lint
from tests.dialects import oracle_bedrock, oracle_shapes

TEXT = {"type": "text", "text": "before"}
ASKED = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])
MARKER = {"cachePoint": {"type": "default"}}
ROLES = ("user", "tool", "assistant", "system")


def holding(role: str, *parts: Any) -> list[BaseMessage]:
    """A history in which a message of the role holds the parts."""
    content = [TEXT, *parts]
    return {
        "user": [HumanMessage(content)],
        "tool": [HumanMessage("q"), ASKED, ToolMessage(content, tool_call_id="c1"), AIMessage("ok")],
        "assistant": [HumanMessage("q"), AIMessage(content), HumanMessage("and?")],
        "system": [SystemMessage(content), HumanMessage("q")],
    }[role]


CONVERSE: dict[str, Any] = {
    "json": {"json": {"told": 1}},
    "typed json": {"type": "json", "json": {"told": 1}},
    "search result": {"searchResult": {"source": "s", "title": "told", "content": [{"text": "x"}]}},
    "guarded": {"guardContent": {"text": {"text": "told"}}},
    "marker": MARKER,
    "tools": {"toolAddition": {"tool": {"name": "f"}}},
}


@pytest.mark.parametrize("name", CONVERSE)
@pytest.mark.parametrize("role", ROLES)
def test_parts_of_converse_stand_where_aws_takes_them(role: str, name: str) -> None:
    export = export_messages(holding(role, CONVERSE[name]), "bedrock")
    assert oracle_bedrock.complaints(export.payload) == lint(export.payload, "bedrock") == []
    assert ("told" in json.dumps(export.payload)) is ("told" in json.dumps(CONVERSE[name]))


def test_a_cache_marker_of_a_result_stands_behind_it_as_aws_s_converter_has_it() -> None:
    for parts in ((MARKER,), (MARKER, MARKER)):
        history = holding("tool", *parts)
        theirs = _messages_to_bedrock(list(history))[0][2]["content"]
        ours = export_messages(history, "bedrock")
        assert ours.payload["messages"][2]["content"] == [
            {"toolResult": {"toolUseId": "c1", "content": [{"text": "before"}]}},
            MARKER,
        ]
        assert [list(block) for block in theirs[:2]] == [["toolResult"], ["cachePoint"]]
        assert ours.lossless


def test_what_a_part_of_converse_loses_where_it_has_no_place_is_told() -> None:
    guarded = export_messages(holding("tool", CONVERSE["guarded"]), "bedrock")
    assert [(loss.rule, loss.kind, loss.path) for loss in guarded.report] == [("B4", "downgraded", "content[1]")]
    assert export_messages(holding("user", CONVERSE["guarded"]), "bedrock").lossless


ANTHROPIC: dict[str, tuple[Any, tuple[str, ...]]] = {
    "search result": (
        {"type": "search_result", "source": "s", "title": "told", "content": [{"type": "text", "text": "x"}]},
        ("user", "tool", "assistant"),
    ),
    "upload": ({"type": "container_upload", "file_id": "file_1"}, ("user", "assistant")),
    "reference": ({"type": "tool_reference", "tool_name": "look"}, ("tool",)),
}


@pytest.mark.parametrize("name", ANTHROPIC)
@pytest.mark.parametrize("role", ROLES)
def test_parts_of_anthropic_stand_where_its_types_take_them(role: str, name: str) -> None:
    part, roles = ANTHROPIC[name]
    export = export_messages(holding(role, part), "anthropic")
    assert oracle_shapes.breaches("anthropic", export.payload["messages"]) == lint(export.payload, "anthropic") == []
    assert (json.dumps(part) in json.dumps(export.payload)) is (role in roles)
    assert export.lossless is (role in roles)
    assert "told" in json.dumps(export.payload) or name != "search result"


@pytest.mark.parametrize("name", ANTHROPIC)
@pytest.mark.parametrize("role", ["user", "tool"])
def test_the_linter_finds_parts_of_anthropic_out_of_place(role: str, name: str) -> None:
    part, roles = ANTHROPIC[name]
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [part]}
    asked = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [call]}]
    messages = (
        [*asked, {"role": "user", "content": [result]}] if role == "tool" else [{"role": role, "content": [part]}]
    )
    assert [finding.rule for finding in lint(messages, "anthropic")] == ([] if role in roles else ["A18"])


REFUSAL = {"type": "refusal", "refusal": "no"}
REFUSALS: dict[str, tuple[list[Any], Any, str, list[str]]] = {
    "alone": ([REFUSAL], [REFUSAL], "", []),
    "beside a text": ([TEXT, REFUSAL], [TEXT], "no", ["moved"]),
    "twice": ([REFUSAL, {**REFUSAL, "refusal": " way"}], None, "no way", ["merged"]),
    "twice beside a text": ([REFUSAL, TEXT, REFUSAL], [TEXT], "nono", ["merged"]),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_stand_alone_or_in_their_field(name: str) -> None:
    parts, content, refusal, kinds = REFUSALS[name]
    payload = [{"role": "user", "content": "q"}, {"role": "assistant", "content": parts}]
    read = import_messages(payload, "openai-chat").messages
    for history in ([HumanMessage("q"), AIMessage(parts)], read):
        export = export_messages(history, "openai-chat")
        found = export.payload["messages"]
        assert found[1]["content"] in (content, TEXT["text"] if content == [TEXT] else content)
        assert found[1].get("refusal", "") == refusal
        assert oracle_shapes.breaches("openai-chat", found) == lint(found, "openai-chat") == []
        assert [(loss.rule, loss.kind) for loss in export.report] == [("C12", kind) for kind in kinds]
