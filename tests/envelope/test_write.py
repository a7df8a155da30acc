"""An envelope written as a LangChain message reads back as the same envelope."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint.envelope.exact import to_envelope
from langgraph_portable_checkpoint.envelope.model import MessageEnvelope
from langgraph_portable_checkpoint.envelope.overlay import OVERLAY
from langgraph_portable_checkpoint.envelope.read import read_message
from langgraph_portable_checkpoint.envelope.wire import dump_envelope
from langgraph_portable_checkpoint.envelope.write import write_message
from tests.corpus_messages import corpus_histories

TEXT = {"type": "text", "text": "hi", "raw": {"type": "text", "text": "hi"}}
THINKING = {
    "type": "reasoning",
    "reasoning": "hm",
    "extras": {"signature": "c2ln"},
    "raw": {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
}
CALL = {"type": "tool_call", "id": "c", "name": "f", "args": {"a": 1}}
NATIVE_CALLS: dict[str, Any] = {
    "messages": {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
    "responses": {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": '{"a":1}'},
    "chat": {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
    "generate-content": {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
    "converse": {"toolUse": {"toolUseId": "c", "name": "f", "input": {"a": 1}}},
}
PROVIDERS = {
    "messages": "anthropic",
    "responses": "openai",
    "chat": "openai",
    "generate-content": "google",
    "converse": "bedrock",
}


def _envelope(role: str, content: list[Any], **more: Any) -> MessageEnvelope:
    return cast(MessageEnvelope, {"v": 1, "role": role, "content": content, **more})


def _read_back(envelope: MessageEnvelope) -> dict[str, Any]:
    """What reading the written message gives; `raw_content` only where the envelope had one."""
    found = dict(read_message(write_message(envelope)))
    if "raw_content" not in envelope:
        found.pop("raw_content", None)
    return found


def test_every_recorded_message_survives() -> None:
    for name, messages in corpus_histories().items():
        for message in messages:
            envelope = read_message(message)
            assert _read_back(envelope) == dict(envelope), name


@pytest.mark.parametrize("api", PROVIDERS)
def test_an_answer_of_each_api_survives_with_its_native_blocks(api: str) -> None:
    origin = {"provider": PROVIDERS[api], "api": api, "model": "m", "response_id": "resp_1"}
    envelope = _envelope(
        "assistant",
        [THINKING, TEXT, {**CALL, "raw": NATIVE_CALLS[api]}],
        id="x",
        origin=origin,
        usage={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        stop_reason="done",
        extras={"some-dialect": {"omits": ["content"]}},
    )
    assert _read_back(envelope) == dict(envelope)
    message = write_message(envelope)
    assert isinstance(message, AIMessage)
    assert [call["args"] for call in message.tool_calls] == [{"a": 1}]


@pytest.mark.parametrize("api", ["messages", "responses"])
def test_native_content_is_what_the_integration_itself_would_hold(api: str) -> None:
    origin = {"provider": PROVIDERS[api], "api": api}
    message = write_message(_envelope("assistant", [{**CALL, "raw": NATIVE_CALLS[api]}], origin=origin))
    assert message.content == [NATIVE_CALLS[api]]


def test_foreign_content_is_standard_and_says_so() -> None:
    origin = {"provider": "ollama", "api": "ollama"}
    message = write_message(_envelope("assistant", [THINKING, TEXT], origin=origin))
    assert message.response_metadata["output_version"] == "v1"
    assert message.content == [
        {"type": "reasoning", "reasoning": "hm", "extras": {"signature": "c2ln"}},
        {"type": "text", "text": "hi"},
    ]


def test_a_plain_conversation_needs_no_overlay() -> None:
    envelopes = [
        _envelope("system", [{"type": "text", "text": "be brief"}]),
        _envelope("user", [{"type": "text", "text": "hi"}]),
        _envelope("assistant", [{"type": "text", "text": "hi"}, CALL]),
        _envelope("tool", [{"type": "text", "text": "1"}], tool_call_id="c", status="success"),
    ]
    assert not [one for one in map(write_message, envelopes) if OVERLAY in one.additional_kwargs]


def test_bytes_become_base64_content_and_come_back_as_bytes() -> None:
    envelope = _envelope("user", [{"type": "image", "mime_type": "image/png", "data": b"\x89PNG"}])
    message = write_message(envelope)
    assert isinstance(message, HumanMessage)
    assert message.content == [{"type": "image", "mime_type": "image/png", "base64": "iVBORw=="}]
    assert _read_back(envelope) == dict(envelope)


def test_an_edited_message_is_read_as_edited() -> None:
    origin = {"provider": "google", "api": "generate-content"}
    message = write_message(_envelope("assistant", [{**TEXT, "raw": {"text": "hi"}}], origin=origin))
    assert read_message(message)["content"][0]["raw"] == {"text": "hi"}
    message.content = "something else"
    assert read_message(message)["content"] == [{"type": "text", "text": "something else"}]


@pytest.mark.parametrize("overlay", [7, {"of": 1}, {"blocks": 3}, {"blocks": [7], "envelope": []}])
def test_a_made_up_overlay_changes_nothing(overlay: Any) -> None:
    message = ToolMessage("x", tool_call_id="1", additional_kwargs={OVERLAY: overlay})
    assert read_message(message)["content"] == [{"type": "text", "text": "x"}]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5), lambda x: st.lists(x, max_size=2)
)
_MAPS = st.dictionaries(st.text(max_size=5), _JSON, max_size=2)
_IDS = st.none() | st.text(max_size=5)
_BLOCKS = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": st.text()}, optional={"extras": _MAPS, "raw": _MAPS}),
    st.fixed_dictionaries(
        {"type": st.just("reasoning"), "reasoning": st.text()}, optional={"id": _IDS, "extras": _MAPS}
    ),
    st.fixed_dictionaries({"type": st.just("tool_call"), "id": _IDS, "name": st.text(), "args": _MAPS}),
    st.fixed_dictionaries({"type": st.just("invalid_tool_call"), "name": st.text(), "args": st.text()}),
    st.fixed_dictionaries(
        {"type": st.just("image"), "url": st.text()}, optional={"detail": st.text(), "cache_hint": _MAPS}
    ),
    st.fixed_dictionaries({"type": st.just("server_tool_call"), "id": _IDS, "name": st.text(), "args": _JSON}),
    st.fixed_dictionaries({"type": st.just("non_standard"), "value": _JSON | _MAPS}, optional={"raw": _MAPS}),
)
_ENVELOPES = st.fixed_dictionaries(
    {
        "v": st.just(1),
        "role": st.sampled_from(["system", "user", "assistant", "tool", "other"]),
        "content": st.lists(_BLOCKS, max_size=4),
    },
    optional={
        "origin": st.fixed_dictionaries(
            {"provider": st.sampled_from(["anthropic", "openai", "google", "bedrock", "x"])},
            optional={"api": st.sampled_from(["chat", "responses", "messages", "converse"]), "model": st.text()},
        ),
        "extras": _MAPS,
        "created_at": st.just("2026-01-01T00:00:00Z"),
        "typed_by_user": st.booleans(),
        "stop_reason": _IDS,
        "tool_call_id": st.text(),
        "role_detail": st.text(),
    },
)


@settings(max_examples=150, deadline=None)
@given(_ENVELOPES)
def test_any_envelope_survives_and_can_be_stored(envelope: dict[str, Any]) -> None:
    message = write_message(cast(MessageEnvelope, envelope))
    found = dict(read_message(message))
    if "raw_content" not in envelope:
        found.pop("raw_content", None)
    assert found == envelope
    assert dump_envelope(to_envelope(message))
