"""Switching models inside create_agent: each request fits the model that is asked, and the thread keeps everything."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

pytest.importorskip("langchain.agents.middleware", reason="the package langchain is not installed")

from langchain.agents import create_agent

from langgraph_portable_checkpoint.middleware import (
    DIALECT_OF_PROVIDER,
    PortableHistoryMiddleware,
    dialect_of,
)


class Scripted(BaseChatModel):
    """A chat model that notes what it is asked and says who it is like its provider's integration does."""

    provider: str
    name_: str
    _asked: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {"ls_provider": self.provider, "ls_model_name": self.name_, "ls_model_type": "chat"}

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self._asked.append(messages)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("ok"))])


def _thought(model: str) -> AIMessage:
    blocks = [{"type": "thinking", "thinking": "hm", "signature": f"signed by {model}"}, {"type": "text", "text": "hi"}]
    return AIMessage(blocks, response_metadata={"model_provider": "anthropic", "model_name": model})


def _ask(model: Scripted, losses: list[Any]) -> list[BaseMessage]:
    agent = create_agent(model, middleware=[PortableHistoryMiddleware(on_loss=losses.extend)])
    agent.invoke({"messages": [HumanMessage("hello"), _thought("claude-opus-4-5"), HumanMessage("go on")]})
    return model._asked[0]


def test_reasoning_goes_back_to_the_model_that_signed_it() -> None:
    losses: list[Any] = []
    asked = _ask(Scripted(provider="anthropic", name_="claude-opus-4-5"), losses)
    assert "signed by claude-opus-4-5" in str([message.content for message in asked])
    assert losses == []


@pytest.mark.parametrize(
    ("provider", "name"), [("anthropic", "claude-sonnet-4-5"), ("openai", "gpt-5"), ("google_genai", "gemini-3-pro")]
)
def test_reasoning_of_another_model_stays_behind_and_is_reported(provider: str, name: str) -> None:
    losses: list[Any] = []
    asked = _ask(Scripted(provider=provider, name_=name), losses)
    assert "signed by" not in str([message.content for message in asked])
    assert [message.text for message in asked] == ["hello", "hi", "go on"]
    assert [loss.kind for loss in losses] == ["dropped"]


@pytest.mark.parametrize("provider", sorted(DIALECT_OF_PROVIDER))
def test_each_known_provider_has_a_dialect(provider: str) -> None:
    assert dialect_of(Scripted(provider=provider, name_="x")) == DIALECT_OF_PROVIDER[provider]


def test_unknown_provider_is_named_with_what_to_do() -> None:
    with pytest.raises(LookupError, match=r"'nowhere'.*Pass to="):
        dialect_of(Scripted(provider="nowhere", name_="x"))


def test_the_dialect_may_be_named() -> None:
    model = Scripted(provider="nowhere", name_="x")
    create_agent(model, middleware=[PortableHistoryMiddleware(to="openai-chat")]).invoke({"messages": [("user", "hi")]})
    assert [message.text for message in model._asked[0]] == ["hi"]
