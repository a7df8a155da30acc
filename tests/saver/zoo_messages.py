"""Messages of every class, with the native content that provider integrations really put into them.

Each entry is a function, so that every test gets objects of its own to mutate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
USAGE = {"input_tokens": 12, "output_tokens": 7, "total_tokens": 19, "input_token_details": {"cache_read": 0}}
CALL = {"name": "weather", "args": {"city": "Oslo", "days": 3}, "id": "call_1", "type": "tool_call"}


class BranchedMessage(HumanMessage):
    """A message class of the user's own."""

    branch: str = "main"


def anthropic() -> AIMessage:
    return AIMessage(
        content=[
            {"type": "thinking", "thinking": "First, the weather.", "signature": "EqoBCkgIARAB+/="},
            {"type": "redacted_thinking", "data": "EmwKAhgB"},
            {"type": "text", "text": "Let me look.", "citations": [{"type": "char_location", "start_char_index": 0}]},
            {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo", "days": 3}, "index": 3},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Oslo"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"encrypted_content": "Eo8B"}]},
        ],
        id="msg_01",
        tool_calls=[{**CALL, "id": "toolu_1"}],
        response_metadata={"model_name": "claude-sonnet-4-5", "model_provider": "anthropic", "stop_sequence": None},
        usage_metadata=USAGE,
    )


def openai_responses() -> AIMessage:
    return AIMessage(
        content=[
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Think."}]},
            {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gAAAAABo"},
            {"type": "text", "text": "Sunny.", "id": "msg_1", "annotations": [], "phase": "final"},
            {"type": "refusal", "refusal": "No."},
            {"type": "function_call", "name": "weather", "arguments": '{"city":  "Oslo"}', "call_id": "call_1"},
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
        ],
        id="resp_1",
        additional_kwargs={"__openai_function_call_ids__": {"call_1": "fc_1"}},
        tool_calls=[{**CALL, "args": {"city": "Oslo"}}],
        response_metadata={"id": "resp_1", "model_name": "gpt-5", "created_at": 1764000000.0, "status": "completed"},
    )


def openai_chat() -> AIMessage:
    function = {"name": "weather", "arguments": '{ "city":"Oslo", "days":3 }'}
    return AIMessage(
        content="",
        id="run--1-0",
        additional_kwargs={"tool_calls": [{"id": "call_1", "type": "function", "function": function}], "refusal": None},
        tool_calls=[CALL],
        invalid_tool_calls=[{"name": "x", "args": "{", "id": None, "error": None, "type": "invalid_tool_call"}],
        response_metadata={"token_usage": {"total_tokens": 19}, "logprobs": None, "finish_reason": "tool_calls"},
        usage_metadata=USAGE,
    )


def google() -> AIMessage:
    return AIMessage(
        content=[
            {"type": "thinking", "thinking": "Hm.", "signature": "CpQB"},
            "a plain string in the list",
            {"type": "executable_code", "executable_code": "print(1)", "language": 1},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        ],
        additional_kwargs={"__gemini_function_call_thought_signatures__": {"call_1": "CrAB"}},
        tool_calls=[CALL],
        response_metadata={"safety_ratings": [], "model_name": "gemini-2.5-pro", "finish_reason": "STOP"},
    )


def bedrock() -> AIMessage:
    return AIMessage(
        content=[
            {"type": "reasoning_content", "reasoning_content": {"text": "Hm.", "signature": "sig"}},
            {"type": "reasoning_content", "reasoning_content": {"redacted_content": b"\x00\xff"}},
            {"type": "tool_use", "name": "weather", "input": {"city": "Oslo"}, "id": "tooluse_1"},
        ],
        response_metadata={"ResponseMetadata": {"HTTPStatusCode": 200}, "metrics": {"latencyMs": [812]}},
    )


def deepseek() -> AIMessage:
    return AIMessage("Yes.", additional_kwargs={"reasoning_content": "Because.", "reasoning_details": [{"index": 0}]})


def merged_chunk() -> BaseMessage:
    first = AIMessageChunk(content="", tool_call_chunks=[{"name": "weather", "args": '{"ci', "id": "c1", "index": 0}])
    return first + AIMessageChunk(
        content="Hi", tool_call_chunks=[{"name": None, "args": 'ty": 1}', "id": None, "index": 0}]
    )


def human_with_media() -> HumanMessage:
    return HumanMessage(
        content=[
            {"type": "text", "text": "See.", "cache_control": {"type": "ephemeral"}},
            {"type": "image", "base64": PNG, "mime_type": "image/png", "id": "lc_1"},
            {"type": "image", "source_type": "base64", "data": PNG, "mime_type": "image/png"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}},
            {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
            {"type": "media", "mime_type": "video/mp4", "data": b"\x00\x01"},
            {"type": "image_url", "image_url": "https://example.com/x.png"},
        ],
        name="ada",
    )


def tool_result() -> ToolMessage:
    return ToolMessage(
        content=[{"type": "text", "text": "3 C"}, {"type": "image", "base64": PNG, "mime_type": "image/png"}],
        tool_call_id="call_1",
        name="weather",
        artifact={"raw": [1, 2.5, None], "bytes": b"\x00"},
        status="error",
    )


def odd_extras() -> AIMessage:
    extras = {"a": 1, "b": True, "c": 1.0, "d": (1, 2), "e": {3}, "f": {1: "x"}, "g": b"\x00", "h": float("nan")}
    return AIMessage(content=[], additional_kwargs=extras, response_metadata={"n": {"deep": [None, {"é": "\ud800"}]}})


MESSAGES: dict[str, Callable[[], BaseMessage]] = {
    "human": lambda: HumanMessage("hi"),
    "human with everything": lambda: HumanMessage("hi", id="h1", name="ada", additional_kwargs={"k": [1]}),
    "human with empty content": lambda: HumanMessage(""),
    "human with empty list": lambda: HumanMessage([]),
    "human with strings in a list": lambda: HumanMessage(["a", "b"]),
    "human with an extra field": lambda: HumanMessage("hi", tenant="acme"),
    "human with a numeric id": lambda: HumanMessage("hi", id=17),
    "human with an empty id": lambda: HumanMessage("hi", id=""),
    "human with media": human_with_media,
    "human with marker text": lambda: HumanMessage([{"type": "text", "text": '{"__send__": "x"}', "$media": "0" * 64}]),
    "example human": lambda: (
        HumanMessage("hi", example=True) if "example" in HumanMessage.model_fields else HumanMessage("hi")
    ),
    "system": lambda: SystemMessage("Be brief."),
    "developer": lambda: SystemMessage("Be brief.", additional_kwargs={"__openai_role__": "developer"}),
    "ai": lambda: AIMessage("hello", id="a1"),
    "ai without content": lambda: AIMessage(content=[]),
    "ai with a null in additional_kwargs": lambda: AIMessage("x", additional_kwargs={"refusal": None}),
    "ai with content from v1": lambda: AIMessage(content_blocks=[{"type": "text", "text": "hi"}, dict(CALL)]),
    "anthropic": anthropic,
    "openai responses": openai_responses,
    "openai chat": openai_chat,
    "google": google,
    "bedrock": bedrock,
    "deepseek": deepseek,
    "odd extras": odd_extras,
    "tool": lambda: ToolMessage("3 C", tool_call_id="call_1"),
    "tool with media and artifact": tool_result,
    "tool with an empty call id": lambda: ToolMessage("", tool_call_id=""),
    "function": lambda: FunctionMessage("3", name="f"),
    "chat": lambda: ChatMessage("ahoy", role="pirate"),
    "remove": lambda: RemoveMessage(id="h1"),
    "human chunk": lambda: HumanMessageChunk(content="h"),
    "system chunk": lambda: SystemMessageChunk(content="s"),
    "ai chunk": lambda: AIMessageChunk(content="a", chunk_position="last"),
    "ai chunk merged": merged_chunk,
    "tool chunk": lambda: ToolMessageChunk(content="t", tool_call_id="c1"),
    "function chunk": lambda: FunctionMessageChunk(content="f", name="f"),
    "chat chunk": lambda: ChatMessageChunk(content="c", role="pirate"),
    "user's own class": lambda: BranchedMessage("hi", branch="b2"),
    "long text": lambda: HumanMessage("Wort — 言葉 🙂\x00 " * 2000),
}


def conversation() -> list[AnyMessage]:
    """Return one message of every kind as a list, as a `messages` channel holds them."""
    made: list[Any] = [make() for make in MESSAGES.values()]
    return made
