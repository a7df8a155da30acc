"""What langchain-anthropic and langchain-openai would send for the same messages: equal, or the difference is explained.

Compared where their payload passes the oracle and the linter and ours loses nothing. Where theirs does not pass, ours
must: that is counted too.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI

from langgraph_portable_checkpoint.dialects.export import export_messages, lint
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError
from tests.corpus_messages import corpus_histories
from tests.dialects import oracle_shapes

MODELS: dict[str, Any] = {
    "anthropic": ChatAnthropic(model_name="claude-sonnet-4-5", api_key="x", timeout=None, stop=None),  # type: ignore[arg-type]  # no secret
    "openai-chat": ChatOpenAI(model="gpt-4o", api_key="x"),  # type: ignore[arg-type]  # no secret
    "openai-responses": ChatOpenAI(model="gpt-5", api_key="x", use_responses_api=True, store=False),  # type: ignore[arg-type]  # no secret
}
LISTS = {"openai-responses": "input"}


def theirs(dialect: str, messages: list[Any]) -> list[Any] | None:
    """The integration's payload, or None where it fails on messages of another provider."""
    try:
        payload = MODELS[dialect]._get_request_payload([message.model_copy(deep=True) for message in messages])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    sent: list[Any] = json.loads(json.dumps(payload[LISTS.get(dialect, "messages")], default=repr))
    return sent


def is_good(dialect: str, sent: list[Any] | None) -> bool:
    return bool(sent) and not oracle_shapes.breaches(dialect, sent) and not lint(sent, dialect)


def plain(value: Any) -> Any:
    """A payload without differences of spelling that mean nothing to a provider.

    - a list of one text for a text: they spell content of lists as lists, we spell one plain text as a text
    - `is_error: false`: they always send it, we send what the history said
    - arguments: they parse and dump them again, we keep the bytes
    - consecutive user messages: they join them, the API joins them, we keep them apart so that exports only grow
    - null and absent content; a tool's empty content
    """
    if isinstance(value, list):
        return joined([plain(item) for item in value])
    if not isinstance(value, dict):
        return value
    found = {key: plain(item) for key, item in value.items() if item not in (None, "", [])}
    if found.get("is_error") is False:
        del found["is_error"]
    content = found.get("content")
    if isinstance(content, list) and len(content) == 1 and content[0].keys() == {"type", "text"}:
        found["content"] = content[0]["text"]
    if isinstance(found.get("arguments"), str):
        found["arguments"] = json.loads(found["arguments"])
    return found


def joined(items: list[Any]) -> list[Any]:
    """Join user messages that follow each other and hold tool results."""
    out: list[Any] = []
    for item in items:
        follows = bool(out) and isinstance(item, dict) and item.get("role") == "user" == out[-1].get("role")
        if follows and any("tool_use_id" in block for block in out[-1]["content"]):
            out[-1] = {**out[-1], "content": [*out[-1]["content"], *item["content"]]}
        else:
            out.append(item)
    return out


@pytest.mark.parametrize(("dialect", "least"), [("anthropic", 12), ("openai-chat", 11)])
def test_integrations_send_the_same_where_they_send_something_valid(dialect: str, least: int) -> None:
    """Responses are left out: the integration's assistant messages lack the id and status that the types demand (R7)."""
    compared, differences = 0, {}
    for name, messages in corpus_histories().items():
        sent = theirs(dialect, messages)
        try:
            export = export_messages(messages, dialect)
        except IncompatibleHistoryError:
            continue
        if is_good(dialect, sent) and export.lossless:
            compared += 1
            ours = plain(export.payload[LISTS.get(dialect, "messages")])
            if ours != plain(sent):
                differences[name] = next(
                    (pair for pair in zip(plain(sent), ours, strict=False) if pair[0] != pair[1]), None
                )
    assert not differences
    assert compared >= least


@pytest.mark.parametrize(("dialect", "least"), [("anthropic", 15), ("openai-chat", 25), ("openai-responses", 25)])
def test_where_the_integration_sends_something_invalid_ours_is_valid(dialect: str, least: int) -> None:
    helped = 0
    for name, messages in corpus_histories().items():
        if is_good(dialect, theirs(dialect, messages)):
            continue
        try:
            export = export_messages(messages, dialect)
        except IncompatibleHistoryError:
            continue
        helped += 1
        assert is_good(dialect, export.payload[LISTS.get(dialect, "messages")]), name
    assert helped >= least


def test_parts_that_only_anthropic_has_go_there_as_the_application_wrote_them() -> None:
    document = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "notes"},
        "title": "n",
        "citations": {"enabled": True},
    }
    parts = [{"type": "container_upload", "file_id": "file_1"}, document, {"type": "text", "text": "see"}]
    messages = [HumanMessage(parts)]  # type: ignore[arg-type]  # a list of dicts
    ours = export_messages(messages, "anthropic")
    assert ours.lossless
    assert ours.payload["messages"] == theirs("anthropic", messages)
    assert "container_upload: not available here" in str(export_messages(messages, "openai-chat").payload)
