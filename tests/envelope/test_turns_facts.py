"""What turn logic sees of a message is the same whether it looks at the message or at its envelope."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    add_notification_metadata,
)

from langgraph_portable_checkpoint.envelope.exact import to_envelope
from langgraph_portable_checkpoint.envelope.facts import MediaFact, MessageFact, fact_of_envelope, fact_of_message
from langgraph_portable_checkpoint.envelope.turns import spans
from langgraph_portable_checkpoint.envelope.wire import dump_envelope, load_envelope
from tests.corpus_messages import corpus_histories
from tests.envelope.zoo import hard_messages, plain_messages

ZOO = {**plain_messages(), **hard_messages()}
CALL: Any = {"id": "c1", "name": "f", "args": {}}


def both(message: BaseMessage) -> MessageFact:
    """Return the fact, after making sure that both ways to it agree."""
    stored: Any = load_envelope(dump_envelope(to_envelope(message)), where="a test")
    fact = fact_of_message(message)
    assert fact == fact_of_envelope(stored)
    return fact


@pytest.mark.parametrize("name", ZOO)
def test_both_ways_agree_on_every_kind_of_message(name: str) -> None:
    both(ZOO[name])


def test_both_ways_agree_on_recorded_histories() -> None:
    for name, history in corpus_histories().items():
        facts = [both(message) for message in history]
        covered = [at for span in spans(facts) for at in range(span.start, span.stop)]
        assert covered == list(range(len(history))), name


@pytest.mark.parametrize(
    ("message", "role"),
    [
        (HumanMessage("x"), "user"),
        (AIMessage("x"), "assistant"),
        (AIMessageChunk("x"), "assistant"),
        (SystemMessage("x"), "system"),
        (ToolMessage("x", tool_call_id="c1"), "tool"),
        (FunctionMessage("x", name="f"), "tool"),
        (ChatMessage("x", role="developer"), "system"),
        (ChatMessage("x", role="user"), "user"),
        (ChatMessage("x", role="narrator"), "other"),
        (RemoveMessage(id="m1"), "other"),
    ],
)
def test_roles(message: BaseMessage, role: str) -> None:
    assert both(message).role == role


def test_a_message_that_a_framework_wrote_is_not_typed_by_the_user() -> None:
    assert both(HumanMessage("x")).typed_by_user
    assert not both(add_notification_metadata(HumanMessage("x"), source="async_subagent")).typed_by_user
    assert not both(AIMessage("x")).typed_by_user
    assert both(HumanMessage("x", additional_kwargs={"lc_source": 3})).typed_by_user


def test_a_summary_is_known_as_one() -> None:
    summary = both(HumanMessage("x", additional_kwargs={"lc_source": "summarization"}))
    assert summary.summary
    assert not summary.typed_by_user
    assert both(AIMessage("x", additional_kwargs={"lc_source": "summarization"})).summary
    assert not both(HumanMessage("x", additional_kwargs={"lc_source": "async_subagent"})).summary


def test_an_envelope_says_itself_who_typed_a_message() -> None:
    envelope: Any = {
        "v": 1,
        "role": "user",
        "content": [],
        "typed_by_user": False,
        "extras": {"isCompactSummary": True},
    }
    fact = fact_of_envelope(envelope)
    assert (fact.typed_by_user, fact.summary) == (False, True)


def test_only_calls_that_a_client_answers_are_calls() -> None:
    assert both(AIMessage("", tool_calls=[CALL])).tool_calls == ("c1",)
    invalid: Any = {"id": "c1", "name": "f", "args": "{", "error": "x", "type": "invalid_tool_call"}
    assert both(AIMessage("", invalid_tool_calls=[invalid])).tool_calls == ()
    server = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    assert both(AIMessage([server], response_metadata={"model_provider": "anthropic"})).tool_calls == ()


def test_a_call_in_content_and_in_tool_calls_is_one_call() -> None:
    native = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    assert both(AIMessage([native], tool_calls=[CALL])).tool_calls == ("c1",)
    assert both(AIMessage([native])).tool_calls == ("c1",)


def test_who_answered_and_what_it_used() -> None:
    usage: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    metadata = {"model_provider": "google_genai", "model_name": "gemini-3", "id": "r1"}
    fact = both(AIMessage("x", usage_metadata=usage, response_metadata=metadata))
    assert (fact.provider, fact.model, fact.response_id, fact.usage) == ("google", "gemini-3", "r1", usage)


@pytest.mark.parametrize(
    ("metadata", "cost"),
    [
        ({"token_usage": {"cost": 0.25}}, 0.25),
        ({"cost": 2}, 2.0),
        ({"usage": {"total_cost": 0.5}}, 0.5),
        ({"cost": "free"}, None),
        ({"cost": True}, None),
        ({"cost": float("nan")}, None),
        ({"cost": 0}, 0.0),
        ({}, None),
    ],
)
def test_a_cost_is_read_where_integrations_put_it(metadata: dict[str, Any], cost: float | None) -> None:
    assert both(AIMessage("x", response_metadata=metadata)).cost == cost


@pytest.mark.parametrize(
    ("block", "media"),
    [
        ({"type": "image", "base64": "AAAA", "mime_type": "image/png"}, MediaFact(None, "image/png", 3)),
        ({"type": "image", "base64": "AA==", "mime_type": "image/png"}, MediaFact(None, "image/png", 1)),
        ({"type": "image", "url": " \n data:image/png;base64,AAAA"}, MediaFact(None, "image/png", 3)),
        ({"type": "image", "url": "DATA:image/png;base64,AAAA"}, MediaFact(None, "image/png", 3)),
        ({"type": "image", "url": "https://x/y.png"}, MediaFact("https://x/y.png", None, None)),
        ({"type": "file", "file_id": "f1", "mime_type": "application/pdf"}, MediaFact("f1", "application/pdf", None)),
    ],
)
def test_media_of_a_message(block: dict[str, Any], media: MediaFact) -> None:
    assert both(HumanMessage([{"type": "text", "text": "look"}, block])).media == (media,)


def test_a_data_url_is_inline_media() -> None:
    block = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    (media,) = both(HumanMessage([block])).media
    assert (media.ref, media.mime_type, media.size_bytes) == (None, "image/png", 3)


def test_stored_media_is_named_by_its_digest() -> None:
    block = {"type": "image", "mime_type": "image/png", "media": {"sha256": "ab", "size_bytes": 7, "ref": "ab.png"}}
    envelope: Any = {"v": 1, "role": "user", "content": [block]}
    assert fact_of_envelope(envelope).media == (MediaFact("ab", "image/png", 7),)


def test_twenty_megabytes_in_a_message_leave_a_small_fact() -> None:
    huge = "A" * (20 * 2**20)
    assert both(HumanMessage(huge)) == MessageFact("user", typed_by_user=True)
    (media,) = both(HumanMessage([{"type": "image", "base64": huge, "mime_type": "image/png"}])).media
    assert media == MediaFact(None, "image/png", 15 * 2**20)
