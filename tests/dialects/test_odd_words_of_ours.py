"""Words of ours in files that others wrote: any value under them is read or refused, never an error from inside."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, messages_to_dict

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages
from langgraph_portable_checkpoint.envelope.overlay import OVERLAY, seal
from langgraph_portable_checkpoint.envelope.read import read_message
from langgraph_portable_checkpoint.errors import DialectError, IncompatibleHistoryError
from tests.dialects.histories import assistant, call, result, user

APIS = {
    "anthropic": {"provider": "anthropic", "api": "messages"},
    "bedrock": {"provider": "bedrock", "api": "converse"},
    "google": {"provider": "google", "api": "generate-content"},
    "mistral": {"provider": "mistral", "api": "mistral"},
    "openai-chat": {"provider": "openai", "api": "chat"},
    "openai-responses": {"provider": "openai", "api": "responses"},
}
WORDS = [
    "additional_kwargs",
    "anthropic",
    "bedrock",
    "block_type",
    "bucketOwner",
    "citations",
    "content",
    "context",
    "encrypted_content",
    "field",
    "google",
    "guardContent",
    "id",
    "item",
    "item_id",
    "joined",
    "json",
    "metadata",
    "mistral",
    "name",
    "namespace",
    "omits",
    "openai-chat",
    "openai-responses",
    "otel",
    "phase",
    "reasoning",
    "redacted_data",
    "searchResult",
    "server_name",
    "signature",
    "status",
    "summary",
    "tool_calls",
    "transcript",
    "videoMetadata",
]
ODD: tuple[Any, ...] = ("odd", "\ud800", 5, [1], {"a": 1})
BLOCKS: tuple[dict[str, Any], ...] = (
    {"type": "text", "text": "a"},
    {"type": "text", "text": "a", "annotations": [{"type": "citation"}]},
    {"type": "reasoning", "reasoning": "r"},
    {"type": "refusal", "refusal": "no"},
    {"type": "server_tool_call", "id": "s", "name": "web_search", "args": {}},
    {"type": "server_tool_result", "tool_call_id": "s", "output": {"a": 1}},
    {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"},
    {"type": "audio", "base64": "aGk=", "mime_type": "audio/wav"},
    {"type": "file", "base64": "aGk=", "mime_type": "application/pdf"},
)


def histories(word: str, odd: Any) -> Any:
    """Histories with an odd value under a word in a message, a block, a note of one."""
    words = {word: odd}
    for block in BLOCKS:
        yield [user("q"), assistant({**block, "extras": words}, call("c")), result("c"), assistant("ok")]
        yield [user("q"), assistant(block, call("c"), extras=words), result("c", extras=words), assistant("ok")]
        for note in [{"type": "citation", "extras": words}, {"type": "citation", "extras": odd}]:
            if "annotations" in block:
                yield [user("q"), assistant({**block, "annotations": [note]}), user("more"), assistant("ok")]


@pytest.mark.parametrize("target", APIS)
def test_any_value_under_a_word_of_ours_is_exported_or_refused(target: str) -> None:
    for word in WORDS:
        for odd in ODD:
            for history in histories(word, odd):
                made = [{**message, "origin": APIS[target]} for message in history]
                export_messages(made, target)


@pytest.mark.parametrize("word", ["annotations", "additional_kwargs", "field", "item", "signature", "summary"])
def test_any_value_under_a_word_of_ours_is_imported_or_refused(word: str) -> None:
    for odd in ODD:
        for history in histories(word, odd):
            made = [{**message, "origin": APIS["openai-chat"]} for message in history]
            try:
                messages = import_messages(export_messages(made, "otel").payload, "otel").messages
            except DialectError:
                continue
            assert len(messages) == len(history)


OVERLAYS: tuple[dict[str, Any], ...] = (
    *({"envelope": {"set": {"content": odd}}} for odd in (*ODD, None, [None], [{"type": 1}], [{"type": "text"}])),
    *({"envelope": {"set": {key: odd}}} for key in ("role", "origin", "extras", "usage", "name") for odd in ODD),
    *({"envelope": {"unset": [key]}} for key in ("content", "role", "v", "origin")),
    *({"blocks": [{"set": {key: odd}}]} for key in ("type", "text", "extras", "annotations") for odd in ODD),
    {"blocks": [{"unset": ["type"]}]},
    {"blocks": [{"unset": ["text"]}]},
    {"envelope": {"set": {"content": ["x"]}}, "blocks": [{"set": {"id": "a"}}]},
)


@pytest.mark.parametrize("overlay", OVERLAYS, ids=str)
@pytest.mark.parametrize("message", [HumanMessage("x"), AIMessage("x"), ToolMessage("x", tool_call_id="c")], ids=repr)
def test_a_made_up_overlay_makes_an_envelope_or_is_ignored(message: Any, overlay: dict[str, Any]) -> None:
    plain = read_message(message)
    made = message.model_copy(update={"additional_kwargs": {}})
    made.additional_kwargs[OVERLAY] = {"of": seal(made.model_dump()), **overlay}
    assert {*plain} - {"origin", "usage"} <= {*read_message(made)}
    try:
        imported = import_messages(messages_to_dict([made]), "langchain")
    except DialectError:
        return
    for target in ("anthropic", "bedrock", "openai-responses"):
        for history in (imported.envelopes, imported.messages):
            try:
                export_messages(history, target)
            except IncompatibleHistoryError:
                continue


def test_an_item_whose_name_is_no_text_stays_an_item() -> None:
    item = {"type": "function_call", "call_id": "c", "name": {"a": 1}, "arguments": "{}"}
    other = {**item, "name": "f"}
    message = AIMessage([item, other], response_metadata={"model_provider": "openai", "object": "response"})
    history = [HumanMessage("q"), message, ToolMessage("r", tool_call_id="c"), AIMessage("ok")]
    assert export_messages(history, "bedrock").payload["messages"]
