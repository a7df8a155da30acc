"""The official clients send exported payloads to a local server that validates what arrives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError
from tests.dialects.histories import user
from tests.dialects.recorded import recorded
from tests.dialects.stub import Stub, serve


def payloads(corpus: Path, dialect: str) -> list[dict[str, Any]]:
    """Every recorded history, continued by a question."""
    found = []
    for one in recorded(corpus):
        envelopes = [*import_messages(one.payload, one.dialect, profile=one.profile).envelopes, user("Go on.")]
        try:
            found.append(export_messages(envelopes, dialect, incomplete="synthesize").payload)
        except IncompatibleHistoryError:
            continue
    assert len(found) == 39
    return found


def test_openai_client_sends_chat_completions(corpus: Path) -> None:
    import openai

    with serve() as stub, openai.OpenAI(api_key="x", base_url=f"{stub.url}/v1", max_retries=0) as client:
        for payload in payloads(corpus, "openai-chat"):
            assert client.chat.completions.create(model="m", **payload).choices[0].message.content == "ok"
            assert stub.bodies[-1]["messages"] == payload["messages"]


def test_openai_client_sends_responses(corpus: Path) -> None:
    import openai

    with serve() as stub, openai.OpenAI(api_key="x", base_url=f"{stub.url}/v1", max_retries=0) as client:
        for payload in payloads(corpus, "openai-responses"):
            assert client.responses.create(model="m", store=False, **payload).status == "completed"
            assert stub.bodies[-1]["input"] == payload["input"]


def test_anthropic_client_sends_messages(corpus: Path) -> None:
    import anthropic

    with serve() as stub, anthropic.Anthropic(api_key="x", base_url=stub.url, max_retries=0) as client:
        for payload in payloads(corpus, "anthropic"):
            assert client.messages.create(model="m", max_tokens=9, **payload).stop_reason == "end_turn"
            assert stub.bodies[-1]["messages"] == payload["messages"]
            assert stub.bodies[-1].get("system") == payload.get("system")


def test_mistral_client_sends_messages(corpus: Path) -> None:
    from mistralai.client import Mistral

    with serve(mistral=True) as stub, Mistral(api_key="x", server_url=stub.url) as client:
        for payload in payloads(corpus, "mistral"):
            answer = client.chat.complete(model="m", **payload)
            assert answer.choices[0].message.content == "ok"
            assert _plain(stub.bodies[-1]["messages"]) == _plain(payload["messages"])


def _plain(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages without what Mistral's client adds on its own: defaults and nulls."""
    added = {"prefix": False, "index": 0, "type": "function"}

    def strip(value: Any) -> Any:
        if isinstance(value, list):
            return [strip(item) for item in value]
        if isinstance(value, dict):
            said = {key: item for key, item in value.items() if item is not None and item != added.get(key, ...)}
            return {key: strip(item) for key, item in said.items()}
        return value

    return [strip(message) for message in messages]


@pytest.mark.parametrize("call", ["chat", "responses"])
def test_the_stub_refuses_what_is_wrong(call: str) -> None:
    import openai

    def send(stub: Stub, client: openai.OpenAI) -> Any:
        if call == "chat":
            return client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x", "extra": 1}])  # type: ignore[typeddict-unknown-key]  # wrong on purpose
        return client.responses.create(model="m", input=[{"role": "user", "content": "x", "extra": 1}])  # type: ignore[typeddict-unknown-key]  # wrong on purpose

    with serve() as stub, openai.OpenAI(api_key="x", base_url=f"{stub.url}/v1", max_retries=0) as client:
        with pytest.raises(openai.BadRequestError):
            send(stub, client)
