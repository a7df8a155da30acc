"""Histories with objects of the providers' SDKs, as the loops in the providers' documentation append them."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint
from langgraph_portable_checkpoint.dialects.sdk_objects import plain_objects
from langgraph_portable_checkpoint.errors import MalformedHistoryError

U: Any = {"role": "user", "content": "q"}
CHAT: Any = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
        }
    ],
}


def openai_chat() -> Any:
    from openai.types.chat import ChatCompletion

    message = ChatCompletion.model_validate(CHAT).choices[0].message
    return [U, message, {"role": "tool", "tool_call_id": "c", "content": "ok"}], [1, CHAT["choices"][0]["message"]]


def openai_responses() -> Any:
    from openai.types.responses import ResponseFunctionToolCall, ResponseReasoningItem

    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e", "content": None}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "id": "fc_1"}
    items = [ResponseReasoningItem.model_validate(thought), ResponseFunctionToolCall.model_validate(call)]
    return [U, *items, {"type": "function_call_output", "call_id": "c", "output": "ok"}], [1, thought]


def anthropic() -> Any:
    from anthropic.types import Message

    content = [
        {"type": "text", "text": "a", "citations": None},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
    ]
    answer = Message.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-4-6",
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
            "content": content,
        }
    )
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}
    return [U, {"role": "assistant", "content": answer.content}, result], [
        1,
        {"role": "assistant", "content": content},
    ]


def google() -> Any:
    from google.genai import types

    call = types.Part(function_call=types.FunctionCall(name="f", args={"a": 1}), thought_signature=b"sig")
    picture = types.Part.from_bytes(data=b"\x00\x01", mime_type="image/png")
    contents = [
        types.Content(role="user", parts=[types.Part.from_text(text="q"), picture]),
        types.Content(role="model", parts=[call]),
        types.Content(role="user", parts=[types.Part.from_function_response(name="f", response={"output": "ok"})]),
    ]
    return contents, [
        1,
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "c2ln"}]},
    ]


def mistral() -> Any:
    from mistralai.client import models

    function = models.FunctionCall(name="f", arguments='{"a": 1}')
    message = models.AssistantMessage(content="", tool_calls=[models.ToolCall(function=function, id="abcdefghi")])
    result = models.ToolMessage(content="ok", tool_call_id="abcdefghi", name="f")
    told = {
        "role": "assistant",
        "content": "",
        "prefix": False,
        "tool_calls": [
            {
                "id": "abcdefghi",
                "type": "function",
                "index": 0,
                "function": {"name": "f", "arguments": '{"a": 1}'},
            }
        ],
    }
    return [U, message, result], [1, told]


MADE = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "google": google,
    "mistral": mistral,
}


@pytest.mark.parametrize("dialect", MADE)
def test_objects_are_read_as_what_their_sdk_sends(dialect: str) -> None:
    history, (at, expected) = MADE[dialect]()
    assert plain_objects(history)[at] == expected
    assert lint(history, dialect) == []
    found = import_messages(history, dialect)
    assert [call["name"] for message in found.messages for call in getattr(message, "tool_calls", [])] == ["f"]
    assert import_messages(history).dialect == dialect
    assert lint(export_messages(found.messages, dialect).payload, dialect) == []


def test_objects_of_google_are_read_without_nulls() -> None:
    history, _ = google()
    data = {"data": "AAE=", "mimeType": "image/png"}
    assert plain_objects(history)[0] == {"role": "user", "parts": [{"text": "q"}, {"inlineData": data}]}


def test_a_whole_response_is_read() -> None:
    from openai.types.chat import ChatCompletion

    found = import_messages(ChatCompletion.model_validate(CHAT))
    assert (found.dialect, found.messages[0].response_metadata["model_name"]) == ("openai-chat", "gpt-4o")


def test_what_the_sdk_keeps_for_itself_is_left_out() -> None:
    from openai.types.responses import ParsedResponseFunctionToolCall

    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    parsed = ParsedResponseFunctionToolCall.model_validate({**call, "parsed_arguments": {"a": 1}})
    assert plain_objects([parsed]) == [call]


def test_a_history_without_objects_stays_the_one_that_it_is() -> None:
    history = {"messages": [U, {"role": "assistant", "content": [{"type": "text", "text": "x"}]}]}
    assert plain_objects(history) is history
    messages = [HumanMessage("q"), AIMessage("a")]
    assert plain_objects(messages) is messages


def test_a_history_that_holds_itself_is_walked_once() -> None:
    history: list[Any] = [U]
    history += [history] * 1000
    assert plain_objects(history) is history


def test_an_object_that_cannot_be_written_is_told_of_where_it_is() -> None:
    class Broken:
        def model_dump(self, **_: Any) -> Any:
            raise ValueError("no")

    history = [U, {"role": "assistant", "content": [Broken()]}]
    with pytest.raises(MalformedHistoryError, match=r"messages\[1\].*Broken"):
        import_messages({"messages": history}, "anthropic")
    assert [(found.rule, found.path) for found in lint(history, "anthropic")] == [("A18", "messages[1].content[0]")]


class Raising:
    def model_dump(self, **_options: Any) -> Any:
        raise RuntimeError("boom")


class Asked:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


@pytest.mark.parametrize("kind", [Raising, Asked])
def test_an_object_that_does_odd_things_is_refused_with_its_place(kind: Any) -> None:
    odd = kind()
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [odd]}, odd]
    for dialect in ("openai-chat", "anthropic", "openai-responses"):
        with pytest.raises(MalformedHistoryError, match=r"\[2\]"):
            import_messages(history, dialect)
        assert lint(history, dialect)
