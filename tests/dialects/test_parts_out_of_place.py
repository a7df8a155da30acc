"""Parts that an application writes where their provider has no place for them: sent elsewhere, told, never refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_aws.chat_models.bedrock_converse import _messages_to_bedrock
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_portable_checkpoint import export_messages, lint
from tests.dialects import oracle_bedrock

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
