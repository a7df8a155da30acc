"""One answer (reasoning, a text, a call) as each LangChain integration makes it from its provider's response.

The integrations' own converters run, on responses written here in the provider's shape. Private functions of pinned
versions; no network, no keys.
"""

from __future__ import annotations

import base64
import importlib
from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import pytest
from langchain_core.language_models._utils import _update_message_content_to_blocks
from langchain_core.messages import AIMessage

ARGS = {"city": "Paris", "days": 2}
JSON_ARGS = '{"city": "Paris", "days": 2}'
SIGNATURE = base64.b64encode(b"signature").decode()
CHAT_CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": JSON_ARGS}}
CHAT: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "model-1",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": "Let me see.", "tool_calls": [CHAT_CALL]},
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
}
ANTHROPIC: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-1",
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 4},
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": SIGNATURE},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "call_1", "name": "weather", "input": ARGS},
    ],
}
RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-1",
    "status": "completed",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "encrypted_content": "ZW5j",
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Let me see.", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "weather",
            "arguments": JSON_ARGS,
            "status": "completed",
        },
    ],
}
GEMINI: dict[str, Any] = {
    "model_version": "gemini-3-pro",
    "candidates": [
        {
            "finish_reason": "STOP",
            "content": {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True},
                    {"text": "Let me see."},
                    {
                        "function_call": {"id": "call_1", "name": "weather", "args": ARGS},
                        "thought_signature": SIGNATURE,
                    },
                ],
            },
        }
    ],
    "usage_metadata": {"prompt_token_count": 3, "candidates_token_count": 4, "total_token_count": 7},
}
CONVERSE_BLOCKS: list[Any] = [
    {"reasoningContent": {"reasoningText": {"text": "hm", "signature": SIGNATURE}}},
    {"text": "Let me see."},
    {"toolUse": {"toolUseId": "call_1", "name": "weather", "input": ARGS}},
]
CONVERSE_EVENTS: list[Any] = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "hm"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": SIGNATURE}}}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "Let me "}}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "see."}}},
    {"contentBlockStart": {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "call_1", "name": "weather"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": JSON_ARGS[:9]}}}},
    {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": JSON_ARGS[9:]}}}},
    {"messageStop": {"stopReason": "tool_use"}},
]
ANTHROPIC_EVENTS: list[Any] = [
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": SIGNATURE}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Let me see."}},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "call_1", "name": "weather", "input": {}},
    },
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": JSON_ARGS[:9]}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": JSON_ARGS[9:]}},
]


def _chat(module: str, name: str, *, response: dict[str, Any] | None = None, **options: Any) -> AIMessage:
    model = getattr(pytest.importorskip(module), name)(api_key="x", **options)
    more = ({},) if name == "ChatGroq" else ()
    result = model._create_chat_result(response or CHAT, *more)
    message = result.generations[0].message
    message.response_metadata = {**(result.llm_output or {}), **message.response_metadata}
    return _ai(message)


def _ai(message: Any) -> AIMessage:
    assert isinstance(message, AIMessage)
    return message


def _with_message(**more: Any) -> dict[str, Any]:
    (choice,) = CHAT["choices"]
    return {**CHAT, "choices": [{**choice, "message": {**choice["message"], **more}}]}


def _responses(output_version: str) -> AIMessage:
    base = pytest.importorskip("langchain_openai.chat_models.base")
    response = importlib.import_module("openai.types.responses").Response.model_validate(RESPONSE)
    result = base._construct_lc_result_from_responses_api(response, output_version=output_version)
    return _ai(result.generations[0].message)


def _anthropic() -> AIMessage:
    model = pytest.importorskip("langchain_anthropic").ChatAnthropic(api_key="x", model="claude-1")
    data = importlib.import_module("anthropic.types").Message.model_validate(ANTHROPIC)
    result = model._format_output(data)
    message = result.generations[0].message
    message.response_metadata = {**result.llm_output, **message.response_metadata}
    return _ai(message)


def _anthropic_stream() -> AIMessage:
    model = pytest.importorskip("langchain_anthropic").ChatAnthropic(api_key="x", model="claude-1")
    types = importlib.import_module("anthropic.types")
    classes = {
        "content_block_start": types.RawContentBlockStartEvent,
        "content_block_delta": types.RawContentBlockDeltaEvent,
    }
    chunks, started = [], None
    for event in ANTHROPIC_EVENTS:
        chunk, started = model._make_message_chunk_from_anthropic_event(
            classes[event["type"]].model_validate(event), coerce_content_to_string=False, block_start_event=started
        )
        chunks += [chunk] if chunk is not None else []
    merged = reduce(add, chunks)
    merged.response_metadata = {"model_provider": "anthropic", "model_name": "claude-1", "stop_reason": "tool_use"}
    return _ai(merged)


def _gemini() -> AIMessage:
    models = pytest.importorskip("langchain_google_genai.chat_models")
    response = importlib.import_module("google.genai.types").GenerateContentResponse.model_validate(GEMINI)
    message = models._response_to_result(response).generations[0].message
    return _ai(message)


def _converse() -> AIMessage:
    aws = pytest.importorskip("langchain_aws.chat_models.bedrock_converse")
    response = {
        "output": {"message": {"role": "assistant", "content": CONVERSE_BLOCKS}},
        "stopReason": "tool_use",
        "usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7},
    }
    message = aws._parse_response(response)
    message.response_metadata |= {"model_provider": "bedrock_converse", "model_name": "anthropic.claude-1"}
    return _ai(message)


def _converse_stream() -> AIMessage:
    aws = pytest.importorskip("langchain_aws.chat_models.bedrock_converse")
    merged = reduce(add, [aws._parse_stream_event(event) for event in CONVERSE_EVENTS])
    merged.response_metadata |= {"model_provider": "bedrock_converse", "model_name": "anthropic.claude-1"}
    return _ai(merged)


def _v1(make: Callable[[], AIMessage]) -> Callable[[], AIMessage]:
    return lambda: _update_message_content_to_blocks(make(), "v1")


ANSWERS: dict[str, Callable[[], AIMessage]] = {
    "openai chat": lambda: _chat("langchain_openai", "ChatOpenAI"),
    "openai responses": lambda: _responses("responses/v1"),
    "openai responses v0": lambda: _responses("v0"),
    "anthropic": _anthropic,
    "anthropic streamed": _anthropic_stream,
    "google": _gemini,
    "converse": _converse,
    "converse streamed": _converse_stream,
    "mistral": lambda: _chat("langchain_mistralai", "ChatMistralAI"),
    "groq": lambda: _chat("langchain_groq", "ChatGroq", model="m", response=_with_message(reasoning="hm")),
    "fireworks": lambda: _chat(
        "langchain_fireworks", "ChatFireworks", model="m", response=_with_message(reasoning_content="hm")
    ),
}
ANSWERS |= {
    f"{name} as v1": _v1(ANSWERS[name])
    for name in ("openai chat", "openai responses", "anthropic", "google", "converse")
}
