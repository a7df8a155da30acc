"""The recorded histories of the corpus as LangChain messages, by the simplest faithful conversion.

Native content is kept: content lists stay lists of native blocks, calls also stand in `.tool_calls`, what a chat message
has beside content stands in `additional_kwargs`. These are not the package's importers; tests compare against them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

CORPUS = Path(__file__).resolve().parents[1] / "../shared/corpus"
Block = dict[str, Any]


def corpus_histories() -> dict[str, list[BaseMessage]]:
    """All histories by "folder/file"; skips where the corpus is absent, but fails under CI."""
    if not CORPUS.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"the corpus is missing: {CORPUS}")
        pytest.skip(f"the corpus is not here: {CORPUS}")
    found = dict(_histories())
    assert found, "the corpus folder holds no history"
    return found


def _histories() -> Iterator[tuple[str, list[BaseMessage]]]:
    for folder, read in _FOLDERS.items():
        for path in sorted((CORPUS / folder).iterdir()):
            if path.is_file() and ".exchanges." not in path.name:
                for name, messages in read(path):
                    if messages:
                        yield f"{folder}/{path.name}{name}", messages


def _one(read: Callable[[Any], list[BaseMessage]]) -> Callable[[Path], Iterator[tuple[str, list[BaseMessage]]]]:
    def load_file(path: Path) -> Iterator[tuple[str, list[BaseMessage]]]:
        text = path.read_text(encoding="utf-8")
        lines = path.suffix == ".jsonl"
        payload = [json.loads(line) for line in text.splitlines() if line.strip()] if lines else json.loads(text)
        yield "", read(payload)

    return load_file


def _args(arguments: Any) -> dict[str, Any] | None:
    try:
        args = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return None
    return args if isinstance(args, dict) else None


def _calls(found: list[tuple[Any, Any, Any]]) -> dict[str, Any]:
    """`tool_calls` and `invalid_tool_calls` of (id, name, arguments) triples."""
    valid = [
        {"type": "tool_call", "id": call_id, "name": name, "args": _args(args)}
        for call_id, name, args in found
        if _args(args) is not None
    ]
    invalid = [
        {"type": "invalid_tool_call", "id": call_id, "name": name, "args": args, "error": None}
        for call_id, name, args in found
        if _args(args) is None
    ]
    return {"tool_calls": valid, "invalid_tool_calls": invalid}


# Anthropic Messages


def anthropic_messages(payload: Any) -> list[BaseMessage]:
    if isinstance(payload, dict):
        return [anthropic_response(payload)]
    return [message for turn in payload for message in anthropic_turn(turn)]


def anthropic_response(response: dict[str, Any]) -> AIMessage:
    keys = ("id", "model", "stop_reason", "stop_sequence", "usage")
    metadata = {key: response.get(key) for key in keys}
    usage = response["usage"]
    counts = {"input_tokens": usage["input_tokens"], "output_tokens": usage["output_tokens"]}
    return AIMessage(
        response["content"],
        response_metadata={**metadata, "model_name": response["model"], "model_provider": "anthropic"},
        usage_metadata={**counts, "total_tokens": sum(counts.values())},
        **_calls(_anthropic_calls(response["content"])),
    )


def _anthropic_calls(content: list[Block]) -> list[tuple[Any, Any, Any]]:
    return [(block["id"], block["name"], block["input"]) for block in content if block.get("type") == "tool_use"]


def anthropic_turn(turn: dict[str, Any]) -> list[BaseMessage]:
    content = turn["content"]
    if turn["role"] == "assistant":
        blocks = content if isinstance(content, list) else []
        return [AIMessage(content, **_calls(_anthropic_calls(blocks)))]
    if isinstance(content, str):
        return [HumanMessage(content)]
    results = [_anthropic_result(block) for block in content if block["type"] == "tool_result"]
    rest = [block for block in content if block["type"] != "tool_result"]
    return [*results, *([HumanMessage(rest)] if rest else [])]


def _anthropic_result(block: Block) -> BaseMessage:
    status = "error" if block.get("is_error") else "success"
    return ToolMessage(block.get("content") or "", tool_call_id=block["tool_use_id"], status=status)


def claude_code_messages(records: list[dict[str, Any]]) -> list[BaseMessage]:
    turns = [record["message"] for record in records if record.get("type") in ("user", "assistant")]
    return [message for turn in turns for message in anthropic_turn(turn)]


# OpenAI Chat Completions


def chat_file(path: Path) -> Iterator[tuple[str, list[BaseMessage]]]:
    payload = json.loads(path.read_text(encoding="utf-8"))
    if "traj" not in payload[0]:
        yield "", [chat_message(message) for message in payload]
        return
    for number, record in enumerate(payload):
        yield f"#{number}", [chat_message(message) for message in record["traj"]]


def chat_message(message: dict[str, Any]) -> BaseMessage:
    role, content = message["role"], message.get("content")
    if role == "tool":
        return ToolMessage(content, tool_call_id=message["tool_call_id"], name=message.get("name"))
    if role == "user":
        return HumanMessage(content)
    if role in ("system", "developer"):
        return SystemMessage(content, additional_kwargs={"__openai_role__": role} if role == "developer" else {})
    kwargs = {key: value for key, value in message.items() if key not in ("role", "content")}
    calls = [
        (call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    ]
    return AIMessage(content or "", additional_kwargs=kwargs, **_calls(calls))


# OpenAI Responses


def responses_messages(payload: Any) -> list[BaseMessage]:
    if isinstance(payload, dict):
        message = _responses_answer(payload["output"])
        message.response_metadata = {
            **{key: payload.get(key) for key in ("id", "created_at", "model", "object", "status")},
            "model_provider": "openai",
            "model_name": payload["model"],
        }
        return [message]
    messages: list[BaseMessage] = []
    answer: list[Block] = []
    for item in payload:
        theirs = _responses_input(item)
        if theirs is None:
            answer.append(item)
            continue
        messages += [*([_responses_answer(answer)] if answer else []), theirs]
        answer = []
    return [*messages, *([_responses_answer(answer)] if answer else [])]


def _responses_input(item: Block) -> BaseMessage | None:
    kind = item.get("type", "message")
    if kind.endswith("_output"):
        return ToolMessage(item["output"], tool_call_id=item["call_id"])
    if kind != "message" or item["role"] == "assistant":
        return None
    return (HumanMessage if item["role"] == "user" else SystemMessage)(item["content"])


def _responses_answer(items: list[Block]) -> AIMessage:
    content: list[Any] = []
    for item in items:
        if item.get("type", "message") != "message":
            content.append(item)
        elif isinstance(item["content"], str):
            content.append({"type": "text", "text": item["content"]})
        else:
            content += [{**part, "id": item["id"]} if "id" in item else part for part in item["content"]]
    calls = [
        (item["call_id"], item["name"], item["arguments"]) for item in items if item.get("type") == "function_call"
    ]
    return AIMessage(content, **_calls(calls))


def codex_messages(records: list[dict[str, Any]]) -> list[BaseMessage]:
    items = [record["payload"] for record in records if record.get("type") == "response_item"]
    return responses_messages(items)


# Gemini


def gemini_messages(payload: Any) -> list[BaseMessage]:
    if payload and "response" in payload[0]:
        return [message for record in payload for message in _gemini_recorded(record["response"])]
    return [message for content in payload for message in gemini_content(content)]


def _gemini_recorded(response: Any) -> list[BaseMessage]:
    parts = response if isinstance(response, list) else [response]
    contents = [
        candidate["content"]
        for part in parts
        for candidate in part.get("candidates") or ()
        if (candidate.get("content") or {}).get("parts")
    ]
    return [message for content in contents for message in gemini_content(content)]


def gemini_content(content: dict[str, Any]) -> list[BaseMessage]:
    parts = content["parts"]
    if content.get("role") == "model":
        found = [part.get("functionCall") or part.get("function_call") for part in parts]
        calls = [(call.get("id"), call["name"], call.get("args") or {}) for call in found if call]
        return [AIMessage(parts, **_calls(calls))]
    results = [part.get("functionResponse") or part.get("function_response") for part in parts]
    answers = [
        ToolMessage(json.dumps(result["response"]), name=result["name"], tool_call_id=result.get("id") or "")
        for result in results
        if result
    ]
    rest = [part for part, result in zip(parts, results, strict=True) if not result]
    return [*answers, *([HumanMessage(rest)] if rest else [])]


def gemini_cli_messages(session: dict[str, Any]) -> list[BaseMessage]:
    messages: list[BaseMessage] = []
    for record in session["messages"]:
        if record["type"] == "user":
            messages.append(HumanMessage(record["content"]))
            continue
        calls = record.get("toolCalls") or []
        found = [(call["id"], call["name"], call["args"]) for call in calls]
        kwargs = {key: record[key] for key in ("thoughts", "tokens", "model") if key in record}
        messages.append(AIMessage(record["content"], additional_kwargs=kwargs, **_calls(found)))
        messages += [ToolMessage(json.dumps(call["result"]), tool_call_id=call["id"]) for call in calls]
    return messages


# LangChain dumps


def langchain_messages(payload: Any) -> list[BaseMessage]:
    if not isinstance(payload, list):
        return []
    if payload and isinstance(payload[0], list):
        return _merged_chunks(payload) if isinstance(payload[0][0], list) else []
    return [langchain_message(record) for record in payload if isinstance(record, dict)]


_CLASSES: dict[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "ai": AIMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
    "HumanMessage": HumanMessage,
    "AIMessage": AIMessage,
    "AIMessageChunk": AIMessageChunk,
    "SystemMessage": SystemMessage,
    "ToolMessage": ToolMessage,
}


def langchain_message(record: dict[str, Any]) -> BaseMessage:
    if "lc" not in record:
        return _CLASSES[record["type"]].model_validate(record)
    name, fields = record["id"][-1], dict(record["kwargs"])
    if name == "AIMessageChunk":
        derived = ("tool_calls", "invalid_tool_calls") if fields.get("tool_call_chunks") else ()
        fields = {key: value for key, value in fields.items() if key not in derived}
        chunks = fields.get("tool_call_chunks") or []
        blank = {"name": None, "args": None, "id": None, "index": None}
        fields["tool_call_chunks"] = [{**blank, **chunk} for chunk in chunks]
    return _CLASSES[name].model_validate(fields)


def _merged_chunks(payload: list[Any]) -> list[BaseMessage]:
    merged: dict[str | None, AIMessageChunk] = {}
    for _, (record, _metadata) in payload:
        chunk = langchain_message(record)
        if isinstance(chunk, AIMessageChunk):
            merged[chunk.id] = merged[chunk.id] + chunk if chunk.id in merged else chunk
    return list(merged.values())


_FOLDERS: dict[str, Callable[[Path], Iterator[tuple[str, list[BaseMessage]]]]] = {
    "anthropic": _one(anthropic_messages),
    "claude_code": _one(claude_code_messages),
    "openai_chat": chat_file,
    "openai_responses": _one(responses_messages),
    "codex": _one(codex_messages),
    "gemini": _one(gemini_messages),
    "gemini_cli_sessions": _one(gemini_cli_messages),
    "langchain": _one(langchain_messages),
}
