"""LiteLLM's and openai-agents' converters read and write what we do; `EXPLAINED` says where they differ, and why.

Both are compared in one outline per target, which takes away exactly the differences that are explained.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else its import asks the network for prices

from agents.models.chatcmpl_converter import Converter
from litellm.litellm_core_utils.prompt_templates.factory import _bedrock_converse_messages_pt, anthropic_messages_pt
from litellm.llms.anthropic.messages.adapters.transformation import LiteLLMAnthropicMessagesAdapter
from litellm.llms.vertex_ai.gemini.transformation import _gemini_convert_messages_with_history

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages
from tests.dialects import oracle_google
from tests.dialects.made_native import NATIVE, turns
from tests.dialects.recorded import recorded

EXPLAINED: Final = {
    "ids": "ids used twice are refused (A11, C6); LiteLLM and openai-agents send them as they are",
    "joined": "consecutive messages of one role are one for Anthropic (A2), we keep them apart; openai-agents takes a text "
    "and the calls behind it apart",
    "blank": "LiteLLM sends blank texts, which Anthropic and Bedrock refuse (A4, B5)",
    "result key": "Google's docs name `output`; LiteLLM writes `content`, or a result's JSON itself",
    "reasoning": "LiteLLM sends another provider's reasoning to Gemini as a thought; we send it to its own provider only",
    "document name": "we keep a document's name, made to fit (B6); LiteLLM makes one of a digest, or leaves it out",
}
NETWORK: Final = "pa_tool_returns_two_images"
"""LiteLLM downloads the pictures of this recording for Bedrock."""
Outline = list[tuple[str, list[Any]]]


def _joined(messages: list[tuple[str, list[Any]]]) -> Outline:
    found: Outline = []
    for role, content in messages:
        if found and found[-1][0] == role:
            found[-1][1].extend(content)
        else:
            found.append((role, [*content]))
    return found


class Ids:
    """Ids by their occurrence: each call gets the next number, a result the number of the oldest open call of its id."""

    def __init__(self) -> None:
        self.open: dict[str, list[int]] = {}
        self.count = 0

    def call(self, name: Any) -> int:
        self.count += 1
        self.open.setdefault(str(name), []).append(self.count)
        return self.count

    def result(self, name: Any) -> int:
        return self.open[str(name)].pop(0)


def _texts(content: Any) -> list[Any]:
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    return [part for part in parts if part.get("text", "x").strip()]


def of_anthropic(messages: list[Any]) -> Outline:
    ids = Ids()

    def block(one: dict[str, Any]) -> Any:
        if one["type"] == "tool_use":
            return "call", ids.call(one["id"]), one["name"], one["input"]
        if one["type"] == "tool_result":
            return "result", ids.result(one["tool_use_id"]), _texts(one.get("content"))
        return one["type"], one.get("text"), one.get("source")

    return _joined([(one["role"], [block(part) for part in _texts(one["content"])]) for one in messages])


def of_bedrock(messages: list[Any]) -> Outline:
    ids = Ids()

    def block(one: dict[str, Any]) -> Any:
        if "toolUse" in one:
            return "call", ids.call(one["toolUse"]["toolUseId"]), one["toolUse"]["name"], one["toolUse"]["input"]
        if "toolResult" in one:
            return "result", ids.result(one["toolResult"]["toolUseId"]), _texts(one["toolResult"]["content"])
        if "document" in one:
            return "document", one["document"]["format"], one["document"]["source"]
        return one

    plain = oracle_google.plain([dict(one) for one in messages])
    return _joined([(one["role"], [block(part) for part in _texts(one["content"])]) for one in plain])


_CAMEL: Final = {
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "file_data": "fileData",
    "mime_type": "mimeType",
    "file_uri": "fileUri",
}


def of_google(contents: list[Any]) -> Outline:
    ids = Ids()

    def part(one: dict[str, Any]) -> Any:
        one = {_CAMEL.get(key, key): value for key, value in one.items() if key != "thoughtSignature"}
        if "functionCall" in one:
            return (
                "call",
                ids.call(one["functionCall"].get("id")),
                one["functionCall"]["name"],
                one["functionCall"]["args"],
            )
        if "functionResponse" in one:
            response = one["functionResponse"]["response"]
            said = response.get("output", response.get("content", response))
            return "result", ids.result(one["functionResponse"].get("id")), _parsed(said)
        return {key: _renamed(value) for key, value in one.items()}

    plain = oracle_google.plain([dict(one) for one in contents])
    return _joined(
        [(one["role"], [part(found) for found in _texts(one["parts"]) if not found.get("thought")]) for one in plain]
    )


def _renamed(value: Any) -> Any:
    return {_CAMEL.get(key, key): item for key, item in value.items()} if isinstance(value, dict) else value


def _parsed(said: Any) -> Any:
    try:
        found = json.loads(said) if isinstance(said, str) else said
    except ValueError:
        return said
    return found if isinstance(found, dict) else said


def of_chat(messages: list[Any]) -> Outline:
    ids = Ids()
    found: Outline = []
    for one in messages:
        if one["role"] == "tool":
            found.append(("tool", [ids.result(one["tool_call_id"]), *_told(one["content"])]))
            continue
        calls = [
            (ids.call(call["id"]), call["function"]["name"], json.loads(call["function"]["arguments"] or "{}"))
            for call in one.get("tool_calls") or ()
        ]
        found.append((one["role"], [*_told(one.get("content")), *calls]))
    return _joined(found)


def _told(content: Any) -> list[Any]:
    return [part.get("text") or part.get("image_url", {}).get("url") or part for part in _texts(content)]


THEIRS: Final[dict[str, tuple[str, Callable[[Any], Any], Callable[[Any], Outline]]]] = {
    "anthropic": (
        "claude-sonnet-4-5",
        lambda chat: anthropic_messages_pt(chat, model="claude-sonnet-4-5", llm_provider="anthropic"),
        of_anthropic,
    ),
    "bedrock": (
        "anthropic.claude-sonnet-4-5",
        lambda chat: _bedrock_converse_messages_pt(
            chat, model="anthropic.claude-sonnet-4-5", llm_provider="bedrock_converse"
        ),
        of_bedrock,
    ),
    "google": (
        "gemini-3-pro",
        lambda chat: _gemini_convert_messages_with_history(chat, model="gemini-3-pro"),
        of_google,
    ),
}


def both(target: str, chat: Any, **options: Any) -> tuple[Any, Any]:
    """Let both make a target's history of one of Chat Completions: ours, theirs."""
    model, convert, _ = THEIRS[target]
    envelopes = import_messages(chat, "openai-chat", **options).envelopes
    payload = export_messages(envelopes, target, model=model, incomplete="synthesize").payload
    theirs = convert(copy.deepcopy([one for one in chat if one["role"] not in ("system", "developer")]))
    return payload["contents" if target == "google" else "messages"], theirs


def compare(target: str, chat: Any, **options: Any) -> None:
    ours, theirs = both(target, chat, **options)
    outline = THEIRS[target][2]
    assert outline(ours) == outline(theirs)


ASKS: Final = {"role": "user", "content": "q"}


def _step(said: str = "r", **keys: Any) -> list[Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call], **keys}
    return [asked, {"role": "tool", "tool_call_id": "c1", "content": said}]


_PDF: Final = {"filename": "a_b.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"}
SHOWN: Final[dict[str, tuple[str, list[Any]]]] = {
    "ids": ("anthropic", [ASKS, *_step(), *_step()]),
    "joined": ("anthropic", [ASKS, *_step(), ASKS]),
    "blank": ("anthropic", [ASKS, *_step("")]),
    "result key": ("google", [ASKS, *_step()]),
    "reasoning": ("google", [ASKS, *_step(reasoning_content="hm")]),
    "document name": (
        "bedrock",
        [{"role": "user", "content": [{"type": "text", "text": "q"}, {"type": "file", "file": _PDF}]}],
    ),
}
"""A history for each difference that is explained."""


@pytest.mark.parametrize("name", EXPLAINED)
def test_each_difference_that_is_explained_is_there_and_is_the_only_one(name: str) -> None:
    target, chat = SHOWN[name]
    ours, theirs = both(target, chat, profile="deepseek")
    assert ours != theirs
    compare(target, chat, profile="deepseek")


@pytest.mark.parametrize("target", THEIRS)
def test_litellm_makes_the_same_of_recorded_chats(corpus: Path, target: str) -> None:
    compared = 0
    for one in recorded(corpus):
        asks = target == "bedrock" and one.name.startswith(NETWORK)
        if one.dialect == "openai-chat" and isinstance(one.payload, list) and not asks:
            compare(target, one.payload, profile=one.profile)
            compared += 1
    assert compared >= 15


@pytest.mark.parametrize("target", THEIRS)
@settings(max_examples=40)
@given(turns())
def test_litellm_makes_the_same_of_made_chats(target: str, made: list[dict[str, Any]]) -> None:
    compare(target, NATIVE["openai-chat"](made))


@settings(max_examples=40)
@given(turns())
def test_litellm_reads_what_we_write_for_anthropic(made: list[dict[str, Any]]) -> None:
    envelopes = import_messages(NATIVE["openai-chat"](made), "openai-chat").envelopes
    payload = export_messages(envelopes, "anthropic").payload
    read = LiteLLMAnthropicMessagesAdapter().translate_anthropic_messages_to_openai(copy.deepcopy(payload["messages"]))
    chat = export_messages(envelopes, "openai-chat").payload["messages"]
    assert of_chat(list(read)) == of_chat([one for one in chat if one["role"] != "system"])


@settings(max_examples=40)
@given(turns())
def test_openai_agents_reads_what_we_write_for_responses(made: list[dict[str, Any]]) -> None:
    envelopes = import_messages(NATIVE["openai-chat"](made), "openai-chat").envelopes
    payload = export_messages(envelopes, "openai-responses").payload
    read = Converter.items_to_messages(copy.deepcopy(payload["input"]))
    assert of_chat(list(read)) == of_chat(export_messages(envelopes, "openai-chat").payload["messages"])
