"""Whatever integration made an answer, in whatever output format, the same facts are read from it."""

from __future__ import annotations

import pytest
from langgraph.checkpoint.serde.jsonplus import _msgpack_enc

from langgraph_portable_checkpoint.envelope.exact import from_envelope, to_envelope
from langgraph_portable_checkpoint.envelope.read import read_message
from langgraph_portable_checkpoint.envelope.write import write_message
from tests.envelope import integrations
from tests.envelope.integrations import ANSWERS, ARGS, SIGNATURE

SILENT = ("openai chat", "mistral", "openai chat as v1")
"""Answers whose API gives no reasoning."""
ORIGINS = {
    "openai chat": ("openai", "chat"),
    "openai responses": ("openai", "responses"),
    "anthropic": ("anthropic", "messages"),
    "google": ("google", "generate-content"),
    "converse": ("bedrock", "converse"),
    "mistral": ("mistral", None),
    "groq": ("groq", "chat"),
    "fireworks": ("fireworks", "chat"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_text_call_and_reasoning_are_read(name: str) -> None:
    content = read_message(ANSWERS[name]())["content"]
    types = ["text", "tool_call"] if name in SILENT else ["reasoning", "text", "tool_call"]
    assert [block["type"] for block in content] == types
    assert content[-2]["text"] == "Let me see."
    assert {key: content[-1].get(key) for key in ("id", "name", "args")} == {
        "id": "call_1",
        "name": "weather",
        "args": ARGS,
    }
    assert name in SILENT or content[0]["reasoning"] == "hm"


@pytest.mark.parametrize("name", ANSWERS)
def test_the_origin_is_read(name: str) -> None:
    origin = read_message(ANSWERS[name]())["origin"]
    wanted = next(ORIGINS[key] for key in sorted(ORIGINS, key=len, reverse=True) if name.startswith(key))
    assert (origin.get("provider"), origin.get("api")) == wanted


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.startswith(("anthropic", "converse"))])
def test_the_signature_stays_with_its_reasoning(name: str) -> None:
    assert read_message(ANSWERS[name]())["content"][0]["extras"]["signature"] == SIGNATURE


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.startswith("google")])
def test_a_gemini_signature_stays_with_its_call(name: str) -> None:
    assert read_message(ANSWERS[name]())["content"][-1]["extras"]["signature"] == SIGNATURE


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.startswith("openai responses")])
def test_encrypted_reasoning_and_item_ids_of_responses_are_read(name: str) -> None:
    reasoning, _, call = read_message(ANSWERS[name]())["content"]
    assert (reasoning["id"], reasoning["extras"]["encrypted_content"]) == ("rs_1", "ZW5j")
    assert call["extras"]["item_id"] == "fc_1"


@pytest.mark.parametrize("name", ["anthropic", "anthropic streamed"])
def test_native_blocks_of_anthropic_go_back_as_the_api_gave_them(name: str) -> None:
    raws = [block["raw"] for block in read_message(ANSWERS[name]())["content"]]
    assert raws == integrations.ANTHROPIC["content"]


@pytest.mark.parametrize("name", ANSWERS)
def test_the_message_is_stored_exactly_and_small(name: str) -> None:
    message = ANSWERS[name]()
    envelope = to_envelope(message)
    assert _msgpack_enc(from_envelope(envelope, id=message.id)[2]) == _msgpack_enc(message.model_dump())
    assert "whole" not in envelope["state"]
    assert len(_msgpack_enc(envelope)) < 1.1 * len(_msgpack_enc(message))


@pytest.mark.parametrize("name", ANSWERS)
def test_the_envelope_survives_being_a_message_again(name: str) -> None:
    envelope = read_message(ANSWERS[name]())
    assert read_message(write_message(envelope)) == envelope
