"""Messages that are hard to bring back, each under the name of what is hard about it."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from pathlib import Path
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import BaseModel


class ReviewedMessage(AIMessage):
    """A user's own class with a field of its own."""

    reviewer: str = "nobody"


class MemoMessage(BaseMessage):
    """A user's own class and type."""

    type: str = "memo"
    weight: decimal.Decimal = decimal.Decimal("1.5")


class Colour(enum.Enum):
    RED = "red"


class Point(BaseModel):
    x: int
    when: datetime.datetime | None = None


CALL: dict[str, Any] = {"type": "tool_call", "id": "call_1", "name": "search", "args": {"q": "tea", "n": 1}}
BAD_CALL: dict[str, Any] = {
    "type": "invalid_tool_call",
    "id": "call_2",
    "name": "search",
    "args": '{"q": ',
    "error": "not JSON",
}
CHAT_CALL = {"id": "call_1", "function": {"arguments": '{"q":"tea","n":1}', "name": "search"}, "type": "function"}
MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def plain_messages() -> dict[str, BaseMessage]:
    """Everyday messages: none of them needs more than an empty or tiny `state`."""
    return {
        "human": HumanMessage("hi", id="m1"),
        "human empty": HumanMessage(""),
        "human named": HumanMessage("hi", name="Ada"),
        "system": SystemMessage("be brief"),
        "ai": AIMessage("hello"),
        "ai call": AIMessage("", tool_calls=[CALL]),
        "ai text and calls": AIMessage("let me see", tool_calls=[CALL, {**CALL, "id": "call_9"}]),
        "ai invalid call": AIMessage("", invalid_tool_calls=[BAD_CALL]),
        "ai both calls": AIMessage("", tool_calls=[CALL], invalid_tool_calls=[BAD_CALL]),
        "ai usage": AIMessage("x", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
        "tool": ToolMessage("42", tool_call_id="call_1"),
        "tool error": ToolMessage("no", tool_call_id="call_1", status="error", name="search"),
        "tool artifact": ToolMessage("42", tool_call_id="call_1", artifact={"rows": [1, 2]}),
    }


def hard_messages() -> dict[str, BaseMessage]:
    """Messages with values, shapes or classes that no neutral block can say."""
    return {
        **_hard_values(),
        **_hard_shapes(),
        **_hard_classes(),
    }


def spoken_messages() -> dict[str, BaseMessage]:
    """Answers with audio beside content."""
    return {
        "audio answer": AIMessage(
            "", additional_kwargs={"audio": {"id": "audio_1", "data": "AAAA", "transcript": "x"}}
        ),
        "audio bytes": AIMessage("x", additional_kwargs={"audio": b"RIFF"}),
    }


def _hard_values() -> dict[str, BaseMessage]:
    values: dict[str, Any] = {
        "decimal": decimal.Decimal("1.10"),
        "datetime": MOMENT,
        "uuid": uuid.UUID(int=7),
        "bytes": b"\x00\xff",
        "tuple": (1, 2),
        "set": {1},
        "int keys": {1: "a", "1": "b"},
        "nan": float("nan"),
        "infinity": float("-inf"),
        "minus zero": -0.0,
        "true and one": [True, 1, 1.0],
        "path": Path("folder/file.txt"),
        "enum": Colour.RED,
        "pydantic": Point(x=1, when=MOMENT),
        "big": 2**64 - 1,
        "small": -(2**63),
        "surrogate": "a\ud800b",
        "nul": "a\x00b",
        "send marker": {"__send__": ["node", 1]},
        "constructor marker": {"lc": 2, "type": "constructor", "id": ["builtins", "set"], "args": [[1]]},
        "media marker": {"$media": "0" * 64},
        "state marker": {"whole": b"x", "state": None, "bytes": {}},
        "message": HumanMessage("nested"),
        "deep": _deep(200),
    }
    found: dict[str, BaseMessage] = {}
    for name, value in values.items():
        found[f"{name} in additional_kwargs"] = HumanMessage("x", additional_kwargs={"k": value})
        found[f"{name} in response_metadata"] = AIMessage("x", response_metadata={"k": value})
        found[f"{name} as artifact"] = ToolMessage("x", tool_call_id="1", artifact=value)
        found[f"{name} in a block"] = HumanMessage(["s", {"type": "text", "text": "t", "k": value}])
        found[f"{name} in call args"] = AIMessage("", tool_calls=[{**CALL, "args": {"k": value}}])
        found[f"{name} as an extra field"] = AIMessage("x", extra=value)
    return found


def _hard_shapes() -> dict[str, BaseMessage]:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    return {
        "empty list": AIMessage([]),
        "strings in a list": AIMessage(["a", {"type": "text", "text": "b"}, "c"]),
        "keys in another order": AIMessage([{"signature": "c2ln", "thinking": "hm", "type": "thinking", "index": 0}]),
        "call only in content": AIMessage([thinking, {"type": "tool_use", "id": "1", "name": "f", "input": {}}]),
        "call with other args in content": AIMessage(
            [{"type": "tool_use", "id": "call_1", "name": "search", "input": {"q": 1}}], tool_calls=[CALL]
        ),
        "two calls with one id": AIMessage("", tool_calls=[CALL, {**CALL, "args": {"q": "milk"}}]),
        "call without id": AIMessage("", tool_calls=[{**CALL, "id": None}]),
        "chat call": AIMessage("", tool_calls=[CALL], additional_kwargs={"tool_calls": [CHAT_CALL]}),
        "chat call that differs": AIMessage("", tool_calls=[], additional_kwargs={"tool_calls": [CHAT_CALL]}),
        "text and reasoning": AIMessage("x", additional_kwargs={"reasoning_content": "hm", "refusal": None}),
        "both reasonings": AIMessage("x", additional_kwargs={"reasoning_content": "hm", "reasoning": "so"}),
        "empty reasoning": AIMessage("", tool_calls=[CALL], additional_kwargs={"reasoning_content": ""}),
        "reasoning details": AIMessage(
            "x",
            additional_kwargs={
                "reasoning": "hm",
                "reasoning_details": [
                    {"type": "reasoning.text", "text": "hm", "signature": "c2ln", "format": "anthropic-claude-v1"},
                    {"type": "reasoning.encrypted", "data": "ZW5j", "id": "rs_1", "index": 1},
                ],
            },
        ),
        "tool outputs": AIMessage(
            [{"type": "text", "text": "x"}],
            additional_kwargs={
                "reasoning": {"id": "rs_1", "summary": [], "type": "reasoning"},
                "tool_outputs": [{"type": "web_search_call", "id": "ws_1", "status": "completed"}],
            },
        ),
        "streamed call": AIMessage(
            [{"type": "tool_use", "id": "call_1", "name": "search", "input": {}, "partial_json": '{"q":"tea","n":1}'}],
            tool_calls=[CALL],
        ),
        "gemini call": AIMessage(
            "",
            tool_calls=[CALL],
            additional_kwargs={
                "function_call": {"name": "search", "arguments": '{"q": "tea", "n": 1}'},
                "__gemini_function_call_thought_signatures__": {"call_1": "c2ln"},
            },
            response_metadata={"model_provider": "google_genai", "model_name": "gemini-3", "finish_reason": "STOP"},
        ),
        "refusal": AIMessage("", additional_kwargs={"refusal": "no"}),
        "block that looks like an entry": HumanMessage([{"native": {"type": "text"}}, {"type": "any"}]),
        "block without type": HumanMessage([{"text": 1}, {"functionCall": None}, {"toolUse": {"name": "f"}}]),
        "types that are not strings": HumanMessage([{"type": 1}, {"type": None}, {"type": ["text"]}]),
        "null where text belongs": HumanMessage([{"type": "text", "text": None}, {"type": "image_url"}]),
        "unknown block": AIMessage([{"type": "hologram", "beam": {"a": 1}}]),
        "non_standard block": AIMessage([{"type": "non_standard", "value": {"type": "text", "text": "x"}}]),
        "reserved keys": HumanMessage([{"type": "text", "text": "x", "raw": 1, "origin": {}, "cache_hint": 2}]),
        "image with odd source": HumanMessage([{"type": "image", "source": {"type": "base64", "data": "AA", "x": 1}}]),
        "opaque block beside a call with other args": AIMessage(
            [
                {"type": "text", "text": "x", "index": {1: 2}},
                {"type": "tool_call", "id": "call_1", "name": "search", "args": {"q": 1}},
            ],
            tool_calls=[CALL],
            additional_kwargs={"__gemini_function_call_thought_signatures__": {"call_1": "c2ln"}},
        ),
        "standard call with a signature elsewhere": AIMessage(
            [CALL],
            tool_calls=[CALL],
            additional_kwargs={"__gemini_function_call_thought_signatures__": {"call_1": "c2ln"}},
        ),
        "standard call with its text elsewhere": AIMessage(
            [CALL],
            tool_calls=[CALL],
            additional_kwargs={"function_call": {"name": "search", "arguments": '{ "q":"tea","n":1}'}},
        ),
        "summary with unknown keys": AIMessage(
            [{"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm", "x": 1}]}]
        ),
        "silent standard reasoning": AIMessage([{"type": "reasoning", "extras": {"signature": "c2ln"}}]),
        "names that are not strings": AIMessage([{"type": "tool_use", "id": 7, "name": ["f"], "input": {}}]),
        "broken arguments in content": AIMessage(
            [{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{"}]
        ),
        "big integer in arguments": AIMessage(
            [{"type": "function_call", "call_id": "call_1", "name": "f", "arguments": f'{{"n": {10**30}}}'}]
        ),
        "surrogate in arguments": AIMessage(
            [{"type": "function_call", "call_id": "call_1", "name": "f", "arguments": '{"n": "\\ud800"}'}]
        ),
    }


def _hard_classes() -> dict[str, BaseMessage]:
    swapped = AIMessage("x")
    object.__setattr__(swapped, "content", None)
    return {
        "chunk": AIMessageChunk("par", id="c1"),
        "chunk with call": AIMessageChunk(
            "", tool_call_chunks=[{"name": "f", "args": '{"a": 1}', "id": "1", "index": 0, "type": "tool_call_chunk"}]
        ),
        "human chunk": HumanMessageChunk("par"),
        "remove": RemoveMessage(id="m1"),
        "function": FunctionMessage("42", name="f"),
        "chat": ChatMessage("x", role="critic"),
        "chat as user": ChatMessage("x", role="user"),
        "own field": ReviewedMessage("x", reviewer="Ada"),
        "own type": MemoMessage(content="x"),
        "extra fields": HumanMessage("x", example=True, note={"a": [1]}),
        "content is None": swapped,
    }
