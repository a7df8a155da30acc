"""Reasoning behind reasoning in Responses items (R1): OpenAI refuses all but the last, xAI takes the run."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_portable_checkpoint import export_messages, import_messages, lint

ASKS = {"role": "user", "content": "hi"}
SAYS = {"role": "assistant", "content": "so"}


def sealed(number: int) -> dict[str, Any]:
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"sealed {number}"}


RUN = [ASKS, sealed(1), sealed(2), sealed(3), SAYS]


def findings(profile: str, items: list[Any]) -> list[tuple[str, str]]:
    return [(found.rule, found.path) for found in lint(items, "openai-responses", profile=profile)]


def test_the_linter_names_each_reasoning_that_openai_refuses() -> None:
    assert findings("openai", RUN) == [("R1", "input[1]"), ("R1", "input[2]")]
    assert findings("openai", [ASKS, sealed(1), sealed(2)]) == [("R1", "input[1]"), ("R1", "input[2]")]


def test_the_linter_takes_runs_under_xai_that_an_item_ends() -> None:
    assert findings("xai", RUN) == []
    assert findings("xai", [ASKS, sealed(1), sealed(2), ASKS]) == [("R1", "input[1]"), ("R1", "input[2]")]


@pytest.mark.parametrize(("profile", "left"), [("openai", ["rs_3"]), ("xai", ["rs_1", "rs_2", "rs_3"])])
def test_an_export_leaves_out_what_the_host_refuses_and_says_so(profile: str, left: list[str]) -> None:
    imported = import_messages(RUN, "openai-responses", profile=profile)
    export = export_messages(imported.envelopes, "openai-responses", profile=profile)
    items = export.payload["input"]
    assert [item["id"] for item in items if item.get("type") == "reasoning"] == left
    assert [(loss.rule, loss.kind, loss.message) for loss in export.report] == [("R1", "dropped", 1)] * (3 - len(left))
    assert findings(profile, items) == []


@pytest.mark.parametrize("spelled", [{"encrypted_content": "x"}, {"extras": {"encrypted_content": "x"}}])
def test_summaries_that_v1_blocks_tell_apart_go_back_as_one_item(spelled: dict[str, Any]) -> None:
    content: list[Any] = [
        {"type": "reasoning", "id": "rs_1", "reasoning": "a", **spelled},
        {"type": "reasoning", "id": "rs_1", "reasoning": "b"},
        {"type": "text", "id": "msg_1", "text": "so"},
    ]
    told = {"output_version": "v1", "model_provider": "openai", "model_name": "gpt-5", "id": "resp_1"}
    export = export_messages([HumanMessage("hi"), AIMessage(content, response_metadata=told)], "openai-responses")
    _, thought, answer = export.payload["input"]
    assert [part["text"] for part in thought["summary"]] == ["a", "b"]
    assert (thought["encrypted_content"], answer["id"]) == ("x", "msg_1")
    assert export.lossless


def test_two_sealed_items_of_one_id_stay_two() -> None:
    content: list[Any] = [{**sealed(1), "encrypted_content": "x"}, sealed(1), {"type": "text", "text": "so"}]
    told = {"object": "response", "model_provider": "xai", "model_name": "grok-4", "id": "resp_1"}
    said = AIMessage(content, response_metadata=told)
    items = export_messages([HumanMessage("hi"), said], "openai-responses", profile="xai").payload["input"]
    assert [item["encrypted_content"] for item in items[1:3]] == ["x", "sealed 1"]
