"""Messages as langchain-google-genai and langchain-aws make them export to what those providers take.

Their converters are compared with ours where both keep everything; where they differ, the test says why.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from google.genai import types
from langchain_aws.chat_models.bedrock_converse import _messages_to_bedrock, _parse_response
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_google_genai.chat_models import _parse_chat_history, _parse_response_candidate

from langgraph_portable_checkpoint.dialects.export import export_messages
from tests.dialects import oracle_bedrock, oracle_google

HISTORY = [
    SystemMessage("Be brief."),
    HumanMessage("hi"),
    AIMessage(
        "I look", tool_calls=[{"name": "f", "args": {"a": 1}, "id": "c1"}, {"name": "g", "args": {}, "id": "c2"}]
    ),
    ToolMessage("one", tool_call_id="c1", name="f"),
    ToolMessage("bad", tool_call_id="c2", name="g", status="error"),
    AIMessage("done"),
]


def as_langchain(contents: list[dict[str, Any]]) -> list[Any]:
    """A recorded Gemini history as the integration would have put it into a thread."""
    messages: list[Any] = []
    for content in contents:
        parts = content["parts"]
        if content.get("role") == "model":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                messages.append(
                    _parse_response_candidate(types.Candidate(content=types.Content.model_validate(content)))
                )
            messages[-1].response_metadata |= {"model_provider": "google_genai", "model_name": "gemini-3-pro-preview"}
            continue
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        calls = messages[-1].tool_calls if answers else []
        messages += [
            ToolMessage(json.dumps(one["response"]), tool_call_id=call["id"])
            for one, call in zip(answers, calls, strict=True)
        ]
        messages += [HumanMessage(part["text"] or "?") for part in parts if "text" in part]
    return messages


def outline(content: dict[str, Any]) -> Any:
    return content.get("role"), [
        (sorted(part), str(part.get("thoughtSignature", "")).replace("-", "+").replace("_", "/"))
        for part in content["parts"]
    ]


@pytest.mark.parametrize(
    "name",
    [
        "rl_thought_signature_tool_call",
        "pa_seven_calls_three_parallel",
        "pa_thinking_part",
        "fa_multi_tool_gemini25pro",
    ],
)
def test_signatures_come_back_on_the_parts_they_came_on(corpus: Path, name: str) -> None:
    native = json.loads((corpus / "gemini" / f"{name}.history.json").read_text())
    export = export_messages(as_langchain(native), "google", model="gemini-3-pro-preview", incomplete="trim")
    contents = export.payload["contents"]
    assert oracle_google.complaints(export.payload) == []
    assert [outline(content) for content in contents] == [outline(content) for content in native[: len(contents)]]
    assert not [loss for loss in export.report if loss.rule == "G10"]


@pytest.mark.parametrize(
    "answer",
    [
        {"content": "", "additional_kwargs": {"__gemini_function_call_thought_signatures__": {"c1": "QUJD"}}},
        {
            "content": [{"type": "tool_call", "name": "f", "args": {}, "id": "c1", "extras": {"signature": "QUJD"}}],
            "response_metadata": {"output_version": "v1"},
        },
    ],
    ids=["by call id", "v1 block"],
)
def test_signatures_are_found_wherever_the_integration_keeps_them(answer: dict[str, Any]) -> None:
    metadata = {"model_provider": "google_genai", "model_name": "gemini-3-pro", **answer.pop("response_metadata", {})}
    message = AIMessage(**answer, tool_calls=[{"name": "f", "args": {}, "id": "c1"}], response_metadata=metadata)
    history = [HumanMessage("q"), message, ToolMessage("r", tool_call_id="c1")]
    export = export_messages(history, "google", model="gemini-3-pro")
    assert export.payload["contents"][1]["parts"] == [
        {"functionCall": {"name": "f", "args": {}, "id": "c1"}, "thoughtSignature": "QUJD"}
    ]
    assert export.lossless
    assert "QUJD" not in json.dumps(export_messages(history, "google", model="gemini-2.5-pro").payload)
    assert "QUJD" not in str(export_messages(history, "bedrock").payload)


@pytest.mark.parametrize("target", ["google", "bedrock", "agent-checkpoint"])
def test_reasoning_of_another_provider_never_becomes_visible(target: str) -> None:
    thought = {"type": "thinking", "thinking": "SECRET", "signature": "SIGNED"}
    answer = AIMessage(
        [thought, {"type": "text", "text": "ok"}],
        response_metadata={"model_provider": "anthropic", "model_name": "claude-sonnet-4-5"},
    )
    export = export_messages([HumanMessage("q"), answer], target)
    assert "SECRET" not in str(export.payload)
    assert "SIGNED" not in str(export.payload)
    assert [loss.kind for loss in export.report] == ["dropped"]
    asked = export_messages([HumanMessage("q"), answer], target, reasoning="text")
    assert "SECRET" in str(asked.payload)


def test_code_runs_come_back_though_the_integration_lost_their_signatures(corpus: Path) -> None:
    native = json.loads((corpus / "gemini" / "pa_code_execution.history.json").read_text())
    export = export_messages(as_langchain(native), "google", model="gemini-3-pro-preview")
    assert oracle_google.complaints(export.payload) == []
    fields = [[key for part in content["parts"] for key in part if key != "thoughtSignature"] for content in native]
    assert [
        [key for part in content["parts"] for key in part if key != "thoughtSignature"]
        for content in export.payload["contents"]
    ] == fields


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # it makes signatures text that are bytes
def test_googles_converter_agrees_but_for_what_it_loses() -> None:
    system, contents = _parse_chat_history(HISTORY, model="gemini-3-pro-preview")
    theirs = [json.loads(content.model_dump_json(exclude_none=True, by_alias=True)) for content in contents]
    ours = export_messages(HISTORY, "google", model="gemini-3-pro-preview").payload
    assert ours["system_instruction"] == json.loads(
        system.model_dump_json(exclude_none=True, by_alias=True, include={"parts"})
    )
    for content in ours["contents"]:
        for part in content["parts"]:
            part.get("functionCall", {}).pop("id", None)
            part.get("functionResponse", {}).pop("id", None)
    answers = ours["contents"][2]["parts"]
    assert answers[1]["functionResponse"]["response"] == {"error": "bad"}
    answers[1]["functionResponse"]["response"] = {"output": "bad"}
    for content in theirs:
        content["parts"] = [
            {key: "dummy" if key == "thoughtSignature" else value for key, value in part.items()}
            for part in content["parts"]
        ]
    for content in ours["contents"]:
        content["parts"] = [
            {key: "dummy" if key == "thoughtSignature" else value for key, value in part.items()}
            for part in content["parts"]
        ]
    assert ours["contents"] == theirs


def test_awss_converter_agrees_but_for_the_success_flag() -> None:
    messages, system = _messages_to_bedrock(list(HISTORY))
    del messages[2]["content"][0]["toolResult"]["status"]
    assert export_messages(HISTORY, "bedrock").payload == {"system": system, "messages": messages}


def test_converse_answers_come_back_unchanged() -> None:
    content = [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
        {"text": "I look."},
        {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"a": [1]}}},
    ]
    response = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "ResponseMetadata": {},
    }
    answer = _parse_response(response)
    answer.response_metadata |= {"model_provider": "bedrock_converse", "model_name": "anthropic.claude-sonnet-4-5-v1:0"}
    export = export_messages(
        [HumanMessage("q"), answer, ToolMessage("seen", tool_call_id="t1")],
        "bedrock",
        model="anthropic.claude-sonnet-4-5-v1:0",
        prefix_intact=True,
    )
    assert oracle_bedrock.complaints(export.payload) == []
    assert export.payload["messages"][1]["content"] == content
    assert export.lossless
