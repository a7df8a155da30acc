"""An export to LangChain's own JSON gives each message as its integration made it, not only what reads the same."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, messages_to_dict

from langgraph_portable_checkpoint.dialects.export import export_messages, read_messages
from langgraph_portable_checkpoint.envelope.overlay import OVERLAY
from langgraph_portable_checkpoint.envelope.write import write_message
from tests.envelope.integrations import ANSWERS

PIXEL = "iVBORw0KGgo="
APPLICATION: dict[str, Any] = {
    "a picture in LangChain's block": HumanMessage(
        [{"type": "text", "text": "what is it?"}, {"type": "image", "base64": PIXEL, "mime_type": "image/png"}], id="q"
    ),
    "a picture by its data URL": HumanMessage(
        [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}], id="q"
    ),
    "texts among parts": HumanMessage(["one", {"type": "text", "text": "two"}], id="q"),
    "parts of a result": ToolMessage([{"type": "text", "text": "done"}], tool_call_id="c", name="f", id="r"),
    "fields of the application": AIMessage(
        "hi", additional_kwargs={"route": "b"}, response_metadata={"score": 1, "model_name": "m"}, id="a"
    ),
}
OTHERWISE = {
    "openai responses v0": "reasoning and ids of items stand among the parts, where that integration reads them too",
    "mistral": "calls stand in `.tool_calls`, which that integration sends",
    "google": "so do they there",
    "google as v1": "so do they there",
}


def exported(message: Any) -> dict[str, Any]:
    export = export_messages([message], "langchain")
    assert export.lossless
    [found] = export.payload["messages"]
    return dict(found)


def without_empty(metadata: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if value is not None}


@pytest.mark.parametrize("name", list(APPLICATION))
def test_a_message_of_an_application_comes_out_as_langchain_writes_it(name: str) -> None:
    [expected] = messages_to_dict([APPLICATION[name]])
    assert exported(APPLICATION[name]) == expected


@pytest.mark.parametrize("name", [name for name in ANSWERS if not name.endswith("streamed")])
def test_an_answer_of_an_integration_comes_out_with_its_fields(name: str) -> None:
    answer = ANSWERS[name]()
    [expected] = messages_to_dict([answer])
    data, wanted = exported(answer)["data"], expected["data"]
    told = without_empty(wanted["response_metadata"])
    told.pop("model", None)  # the name stands under model_name
    assert {key: data["response_metadata"].get(key) for key in told} == told
    assert data["tool_calls"] == wanted["tool_calls"]
    assert data["usage_metadata"] == wanted["usage_metadata"]
    if name in OTHERWISE:
        return
    assert data["content"] == wanted["content"]
    assert data["additional_kwargs"] == wanted["additional_kwargs"]


def test_what_was_changed_since_is_not_told_as_it_was() -> None:
    [envelope] = read_messages([ANSWERS["anthropic as v1"]()])
    assert isinstance(envelope["raw_content"], list)
    at = next(at for at, block in enumerate(envelope["content"]) if block["type"] == "text")
    edited: Any = {**envelope, "content": [*envelope["content"]]}
    edited["content"][at] = {"type": "text", "text": "Something else."}
    message = write_message(edited)
    assert "Something else." in str(message.content)
    assert "Let me see." not in str(message.content)
    assert OVERLAY in message.additional_kwargs
    assert read_messages([message])[0]["content"] == edited["content"]


def test_the_version_of_parts_that_are_no_longer_there_is_not_told() -> None:
    [envelope] = read_messages([ANSWERS["anthropic as v1"]()])
    edited: Any = {key: value for key, value in envelope.items() if key != "raw_content"}
    message = write_message(edited)
    assert "output_version" not in message.response_metadata
    assert read_messages([message])[0].get("extras") == edited.get("extras")
