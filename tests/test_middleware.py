"""Switching models inside create_agent: each request fits the model that is asked, and the thread keeps everything."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import logging
from typing import Any

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_aws import ChatBedrock, ChatBedrockConverse
from langchain_aws.chat_models.bedrock_converse import _messages_to_bedrock
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr

pytest.importorskip("langchain.agents.middleware", reason="the package langchain is not installed")

from langchain.agents import create_agent
from langchain.agents.middleware import ModelFallbackMiddleware, ModelRequest
from langchain.chat_models.base import _BUILTIN_PROVIDERS, init_chat_model

from langgraph_portable_checkpoint import export_messages, import_messages, middleware
from langgraph_portable_checkpoint.dialects.integrations import BY_CLASS, BY_WORD, INTEGRATIONS
from langgraph_portable_checkpoint.dialects.registry import get_dialect
from langgraph_portable_checkpoint.middleware import PortableHistoryMiddleware, dialect_of
from langgraph_portable_checkpoint.transfer.histories import adapt_messages


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


def _ask(model: Scripted, losses: list[Any], mode: str = "sync") -> list[BaseMessage]:
    """Ask a model to go on; `losses` gets a list for each report."""
    agent = create_agent(model, middleware=[PortableHistoryMiddleware(on_loss=losses.append)])
    state: Any = {"messages": [HumanMessage("hello"), _thought("claude-opus-4-5"), HumanMessage("go on")]}
    asyncio.run(agent.ainvoke(state)) if mode == "async" else agent.invoke(state)
    return model._asked[0]


def test_reasoning_goes_back_to_the_model_that_signed_it() -> None:
    losses: list[Any] = []
    asked = _ask(Scripted(provider="anthropic", name_="claude-opus-4-5"), losses)
    assert "signed by claude-opus-4-5" in str([message.content for message in asked])
    assert losses == []


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize(
    ("provider", "name"), [("anthropic", "claude-sonnet-4-5"), ("openai", "gpt-5"), ("google_genai", "gemini-3-pro")]
)
def test_reasoning_of_another_model_stays_behind_and_is_reported(provider: str, name: str, mode: str) -> None:
    reports: list[Any] = []
    asked = _ask(Scripted(provider=provider, name_=name), reports, mode)
    assert "signed by" not in str([message.content for message in asked])
    assert [message.text for message in asked] == ["hello", "hi", "go on"]
    assert [[loss.kind for loss in report] for report in reports] == [["dropped"]]


def test_losses_are_logged_where_nobody_listens(caplog: pytest.LogCaptureFixture) -> None:
    model = Scripted(provider="openai", name_="gpt-5")
    with caplog.at_level(logging.INFO):
        create_agent(model, middleware=[PortableHistoryMiddleware()]).invoke(
            {"messages": [_thought("claude-opus-4-5")]}
        )
    assert [record.levelname for record in caplog.records if "reasoning was left out" in record.getMessage()] == [
        "INFO"
    ]


@pytest.mark.parametrize(
    ("provider", "name", "options", "expected"),
    [
        ("deepseek", "deepseek-chat", {}, ("openai-chat", "deepseek", "deepseek-chat")),
        ("anthropic", "", {}, ("anthropic", None, None)),
        ("nowhere", "x", {"to": "openai-chat", "profile": "groq"}, ("openai-chat", "groq", "x")),
        ("nowhere", "x", {"to": "anthropic", "model": "claude-opus-4-5"}, ("anthropic", None, "claude-opus-4-5")),
    ],
)
def test_requests_are_written_for_the_host_and_model_that_are_asked(
    monkeypatch: pytest.MonkeyPatch, provider: str, name: str, options: Any, expected: Any
) -> None:
    written: list[Any] = []

    def adapt(messages: Any, to: str, **given: Any) -> Any:
        written.append((to, given["profile"], given["model"]))
        return adapt_messages(messages, to, **given)

    monkeypatch.setattr(middleware, "adapt_messages", adapt)
    agent = create_agent(Scripted(provider=provider, name_=name), middleware=[PortableHistoryMiddleware(**options)])
    agent.invoke({"messages": [HumanMessage("hello")]})
    assert written == [expected]


@pytest.mark.parametrize("word", sorted(_BUILTIN_PROVIDERS))
def test_each_provider_that_langchain_knows_has_a_dialect(word: str) -> None:
    _, class_name, _ = _BUILTIN_PROVIDERS[word]
    assert BY_WORD[word].dialect == BY_CLASS[class_name].dialect
    assert BY_WORD[word].profile == BY_CLASS[class_name].profile


@pytest.mark.parametrize("row", INTEGRATIONS, ids=lambda row: row.words[0])
def test_each_row_names_a_dialect_and_a_profile_of_it(row: Any) -> None:
    assert row.profile is None or row.profile in get_dialect(row.dialect).profiles
    assert row.responses in get_dialect("openai-responses").profiles


@pytest.mark.parametrize("word", sorted(BY_WORD))
def test_a_model_is_known_by_the_word_it_gives_itself(word: str) -> None:
    row = BY_WORD[word]
    assert dialect_of(Scripted(provider=word.upper(), name_="x")) == (row.dialect, row.profile)


def test_a_model_is_known_by_its_class_before_its_word() -> None:
    class ChatAnthropicVertex(Scripted):
        pass

    class Mine(ChatAnthropicVertex):
        pass

    assert dialect_of(ChatAnthropicVertex(provider="google_vertexai", name_="x")) == ("anthropic", "vertex")
    assert dialect_of(Mine(provider="mine", name_="x")) == ("anthropic", "vertex")


def test_openai_models_are_asked_as_their_client_will_ask() -> None:
    openai = pytest.importorskip("langchain_openai")

    def spoken(tools: Any = (), **keys: Any) -> Any:
        return dialect_of(openai.ChatOpenAI(model=keys.pop("model", "gpt-4o"), api_key="x", **keys), tools)

    assert spoken() == ("openai-chat", "openai")
    assert spoken(use_responses_api=True) == ("openai-responses", "openai")
    assert spoken(output_version="responses/v1") == ("openai-responses", "openai")
    assert spoken([{"type": "web_search"}]) == ("openai-responses", "openai")
    assert spoken([object()]) == ("openai-chat", "openai")
    assert spoken(base_url="https://api.deepseek.com/v1") == ("openai-chat", "deepseek")
    assert spoken(base_url="http://127.0.0.1:8000/v1") == ("openai-chat", "compatible")
    azure = openai.AzureChatOpenAI(model="x", api_key="x", azure_endpoint="https://x.openai.azure.com", api_version="1")
    assert dialect_of(azure) == ("openai-chat", "openai")


@pytest.mark.parametrize(
    ("name", "spoken"),
    [
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", ("anthropic", "bedrock")),
        ("amazon.nova-pro-v1:0", ("bedrock", None)),
        ("meta.llama3-70b-instruct-v1:0", ("openai-chat", "compatible")),
    ],
)
def test_a_bedrock_model_is_asked_by_the_wire_of_its_class(name: str, spoken: Any) -> None:
    aws = pytest.importorskip("langchain_aws")
    keys = {"model": name, "region_name": "us-east-1", "client": object(), "bedrock_client": object()}
    assert dialect_of(aws.ChatBedrock(**keys)) == spoken
    assert dialect_of(aws.ChatBedrockConverse(**keys)) == ("bedrock", None)


class InvokedClaude:
    """Answers InvokeModel with a signed thought and a call first, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def invoke_model(self, **request: Any) -> Any:
        self.asked.append(json.loads(request["body"]))
        thought = {"type": "thinking", "thinking": "call it", "signature": "c2ln"}
        content = [thought, {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"q": "tea"}}]
        content = content if len(self.asked) == 1 else [{"type": "text", "text": "done"}]
        reason = "tool_use" if len(self.asked) == 1 else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        body = {"id": "m", "type": "message", "role": "assistant", "content": content, "stop_reason": reason}
        return {
            "body": io.BytesIO(json.dumps({**body, "usage": usage}).encode()),
            "ResponseMetadata": {"HTTPHeaders": {}},
        }


def test_claude_behind_invoke_model_gets_back_what_it_signed_and_thinks_on() -> None:
    def look_up(q: str) -> str:
        """Look something up."""
        return q

    asked, losses = [], list[Any]()
    for more in ([], [PortableHistoryMiddleware(on_loss=losses.append)]):
        client = InvokedClaude()
        model = ChatBedrock(  # type: ignore[call-arg]
            model_id="us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            provider="anthropic",
            region_name="us-east-1",
            client=client,
            bedrock_client=object(),
            model_kwargs={"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096},
        )
        create_agent(model, [look_up], middleware=more).invoke({"messages": [HumanMessage("q")]})
        asked.append(client.asked[1])
    assert asked[0] == asked[1]
    assert asked[1]["messages"][1]["content"][0]["signature"] == "c2ln"
    assert losses == []


def test_what_claude_signed_on_another_platform_stays_behind() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    said = [HumanMessage("q"), AIMessage([thought, {"type": "text", "text": "a"}]), HumanMessage("z")]
    name = "claude-sonnet-4-5"
    for word, profile in (("bedrock", "bedrock"), ("google_anthropic_vertex", "vertex"), ("anthropic", None)):
        said[1].response_metadata = {"model_provider": word, "model_name": name, "stop_reason": "end_turn"}
        for asked in ("bedrock", "vertex", None):
            export = export_messages(said, "anthropic", model=name, profile=asked)
            thinks = [part["type"] for part in export.payload["messages"][1]["content"] if isinstance(part, dict)]
            assert ("thinking" in thinks) is (asked == profile), (word, asked)
            assert export.lossless is (asked == profile)


class Prompted(Scripted):
    """Is asked by create_agent with whatever tools."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


@pytest.mark.parametrize("provider", ["openai", "mistralai", "groq"])
def test_the_system_prompt_of_a_request_is_adapted_too(provider: str) -> None:
    mark = {"type": "ephemeral"}
    prompt = SystemMessage([{"type": "text", "text": "Be brief.", "cache_control": mark}])
    losses: list[Any] = []
    model = Prompted(provider=provider, name_="m")
    agent = create_agent(model, system_prompt=prompt, middleware=[PortableHistoryMiddleware(on_loss=losses.extend)])
    asked: Any = {
        "messages": [HumanMessage("hi"), HumanMessage([{"type": "text", "text": "x", "cache_control": mark}])]
    }
    agent.invoke(asked)
    ((first, *others),) = model._asked
    assert isinstance(first, SystemMessage)
    assert first.text == "Be brief."
    assert "cache_control" not in str(first.content)
    assert [message.text for message in others] == ["hi", "x"]
    assert [loss.message for loss in losses if "cache_hint" in f"{loss.detail}{loss.path}"] == [None, 1]


def test_claude_keeps_the_marks_of_its_system_prompt() -> None:
    prompt = SystemMessage([{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}])
    model = Prompted(provider="anthropic", name_="claude-sonnet-4-5")
    agent = create_agent(model, system_prompt=prompt, middleware=[PortableHistoryMiddleware()])
    agent.invoke({"messages": [HumanMessage("hi")]})
    assert model._asked[0][0].content == prompt.content


def test_a_fallback_before_the_middleware_is_adapted_for_the_model_that_is_asked() -> None:
    class Down(Scripted):
        def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
            raise RuntimeError("overloaded")

    gemini = {"model_provider": "google_genai", "model_name": "gemini-3-pro-preview"}
    call = {"name": "w", "args": {}, "id": "fc-1"}
    said = AIMessage([{"type": "thinking", "thinking": "hm"}], tool_calls=[call], response_metadata=gemini)
    spare = Scripted(provider="anthropic", name_="claude-sonnet-4-5")
    agent = create_agent(
        Down(provider="google_genai", name_="gemini-3-pro-preview"),
        middleware=[ModelFallbackMiddleware(spare), PortableHistoryMiddleware()],
    )
    agent.invoke({"messages": [HumanMessage("q"), said, ToolMessage("sunny", tool_call_id="fc-1")]})
    assert "thinking" not in str(spare._asked[0])


def test_unknown_provider_is_named_with_what_to_do() -> None:
    with pytest.raises(LookupError, match=r"'nowhere'.*Pass to="):
        dialect_of(Scripted(provider="nowhere", name_="x"))


def test_the_dialect_may_be_named() -> None:
    model = Scripted(provider="nowhere", name_="x")
    create_agent(model, middleware=[PortableHistoryMiddleware(to="openai-chat")]).invoke({"messages": [("user", "hi")]})
    assert [message.text for message in model._asked[0]] == ["hi"]


def test_profile_without_its_dialect_is_refused() -> None:
    with pytest.raises(TypeError, match="to="):
        PortableHistoryMiddleware(profile="fireworks")
    PortableHistoryMiddleware("openai-chat", profile="fireworks")


@pytest.mark.parametrize(
    ("profile", "kinds"), [({"image_inputs": False}, ["placeholder"]), ({"image_inputs": True}, [])]
)
def test_a_model_is_not_shown_what_its_profile_says_that_it_cannot_read(profile: Any, kinds: list[str]) -> None:
    image = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}
    losses: list[Any] = []
    model = Scripted(provider="groq", name_="llama-3.3-70b-versatile", profile=profile)
    agent = create_agent(model, middleware=[PortableHistoryMiddleware(on_loss=losses.append)])
    agent.invoke({"messages": [HumanMessage([{"type": "text", "text": "see"}, image])]})
    assert [loss.kind for report in losses for loss in report] == kinds
    assert ("iVBORw0KGgo" in str(model._asked[0])) == (not kinds)


def test_what_a_model_spoke_goes_back_to_it_by_its_id() -> None:
    audio = {"id": "audio_1", "data": "UklGRg==", "expires_at": 1, "transcript": "hi"}
    made = {"model_provider": "openai", "model_name": "gpt-4o-audio-preview"}
    spoken = AIMessage("", additional_kwargs={"audio": audio}, response_metadata=made)
    adapted = adapt_messages([HumanMessage("say"), spoken, HumanMessage("go on")], "openai-chat").messages[1]
    sent = ChatOpenAI(model="gpt-4o-audio-preview", api_key="x")._get_request_payload([adapted])["messages"][0]  # type: ignore[call-arg,arg-type]
    assert sent["audio"] == {"id": "audio_1"}


def test_gemini_gets_back_what_it_signed_and_thought() -> None:
    signature = base64.b64encode(b"sig").decode()
    parts = [{"text": "hm", "thought": True}, {"text": "I look."}]
    called = {"functionCall": {"name": "get", "args": {}, "id": "fc1"}, "thoughtSignature": signature}
    answer = {"functionResponse": {"name": "get", "response": {"output": "sun"}, "id": "fc1"}}
    history = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [*parts, called]},
        {"role": "user", "parts": [answer]},
    ]
    chat = ChatGoogleGenerativeAI(model="gemini-3-pro-preview", api_key="x")  # type: ignore[call-arg]  # pydantic's alias
    imported = import_messages({"contents": history}, "google", model="gemini-3-pro-preview").messages
    adapted = adapt_messages(imported, "google", model="gemini-3-pro-preview")
    assert adapted.report == ()
    for messages in (imported, adapted.messages):
        sent = chat._prepare_request(messages)["contents"][1]
        thought, said, call = sent.parts
        assert (thought.text, thought.thought, said.text) == ("hm", True, "I look.")
        assert (call.function_call.name, call.thought_signature) == ("get", b"sig")


CALL: Any = {"name": "look", "args": {}, "id": "call_1", "type": "tool_call"}
OPENAI: Any = {"model_provider": "openai", "model_name": "gpt-4o"}
CLAUDE: Any = {"model_provider": "anthropic", "model_name": "claude-sonnet-4-5"}
SIGNED: Any = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
USE: Any = {"type": "tool_use", "id": "call_1", "name": "look", "input": {}}
RESULT = ToolMessage("18", tool_call_id="call_1", name="look")


def _claude(**options: Any) -> ChatAnthropic:
    return ChatAnthropic(model="claude-sonnet-4-5", api_key="x", max_tokens=4000, **options)  # type: ignore[arg-type]


def _requested(model: BaseChatModel, messages: list[Any], **asked: Any) -> tuple[Any, list[Any]]:
    """Return the model and messages that a request goes out with, and the losses."""
    losses: list[Any] = []
    sent: list[Any] = []
    request: Any = ModelRequest(model=model, messages=messages, tools=[], state={"messages": []}, **asked)
    PortableHistoryMiddleware(on_loss=losses.extend).wrap_model_call(request, sent.append)  # type: ignore[arg-type]
    return sent[0], losses


@pytest.mark.parametrize(
    ("answer", "thinks"),
    [
        (AIMessage("I look", tool_calls=[CALL], response_metadata=OPENAI), False),
        (AIMessage([USE], tool_calls=[CALL], response_metadata=CLAUDE), False),
        (AIMessage([SIGNED, USE], tool_calls=[CALL], response_metadata=CLAUDE), True),
    ],
)
def test_a_turn_that_another_model_began_goes_on_without_thinking(answer: AIMessage, thinks: bool) -> None:
    model = _claude(thinking={"type": "enabled", "budget_tokens": 1024})
    request, losses = _requested(model, [HumanMessage("q"), answer, RESULT])
    payload = request.model._get_request_payload(request.messages)
    assert ("thinking" in payload) == thinks
    assert [loss.rule for loss in losses if loss.action == "thinking was off for this request"] == (
        [] if thinks else ["A12"]
    )
    assert model.thinking is not None


@pytest.mark.parametrize(
    ("thinking", "rest"),
    [
        ({"type": "enabled", "budget_tokens": 1024}, [HumanMessage("and now?")]),
        ({"type": "adaptive"}, []),
        (None, []),
    ],
)
def test_thinking_stays_as_it_is_where_no_turn_is_open_or_the_model_does_not_insist(thinking: Any, rest: Any) -> None:
    model = _claude(thinking=thinking)
    answer = AIMessage("I look", tool_calls=[CALL], response_metadata=OPENAI)
    request, losses = _requested(model, [HumanMessage("q"), answer, RESULT, *rest])
    assert request.model is model
    assert losses == []


def test_thinking_over_converse_is_off_too() -> None:
    fields = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "top_k": 5}
    model = ChatBedrockConverse(
        model="anthropic.claude-sonnet-4-5-20250929-v1:0",
        region_name="us-east-1",
        additional_model_request_fields=fields,
    )
    answer = AIMessage("I look", tool_calls=[CALL], response_metadata=OPENAI)
    request, losses = _requested(model, [HumanMessage("q"), answer, RESULT])
    assert request.model.additional_model_request_fields == {"top_k": 5}
    assert [(loss.rule, loss.target) for loss in losses] == [("A12", "bedrock")]
    signed = {"type": "reasoning_content", "reasoning_content": {"text": "hm", "signature": "c2ln"}}
    facts: Any = {"model_provider": "bedrock_converse", "model_name": "anthropic.claude-sonnet-4-5-20250929-v1:0"}
    own = AIMessage([signed, USE], tool_calls=[CALL], response_metadata=facts)
    request, losses = _requested(model, [HumanMessage("q"), own, RESULT])
    assert request.model is model
    assert losses == []


def test_thinking_that_a_request_or_its_model_s_own_settings_ask_for_is_off_too() -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    answer = AIMessage("I look", tool_calls=[CALL], response_metadata=OPENAI)
    history = [HumanMessage("q"), answer, RESULT]
    settings: list[dict[str, Any]] = [
        {"thinking": thinking, "top_k": 5},
        {"additional_model_request_fields": {"thinking": thinking, "top_k": 5}},
    ]
    for asked in settings:
        request, losses = _requested(_claude(), history, model_settings=asked)
        assert "thinking" not in str(request.model_settings)
        assert "top_k" in str(request.model_settings)
        assert [loss.rule for loss in losses] == ["A12"]
        assert "thinking" in str(asked)
    invoked = ChatBedrock(
        model="anthropic.claude-sonnet-4-5-20250929-v1:0",
        region="us-east-1",
        model_kwargs={"thinking": thinking, "top_k": 5},
    )
    request, losses = _requested(invoked, history)
    assert request.model.model_kwargs == {"top_k": 5}
    assert invoked.model_kwargs == {"thinking": thinking, "top_k": 5}
    assert [(loss.rule, loss.target) for loss in losses] == [("A12", "anthropic")]


@pytest.mark.parametrize("version", ["v0", "v1"])
def test_a_paused_answer_goes_back_as_it_is(version: str) -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    answer = AIMessage([SIGNED, search], response_metadata={**CLAUDE, "stop_reason": "pause_turn"})
    if version == "v1":
        answer = answer.model_copy(update={"content": answer.content_blocks})
        answer.response_metadata["output_version"] = "v1"
    model = _claude()
    request, losses = _requested(model, [HumanMessage("q"), answer])
    assert losses == []
    assert model._get_request_payload(request.messages)["messages"][-1] == {
        "role": "assistant",
        "content": [SIGNED, search],
    }
    request, losses = _requested(model, [HumanMessage("q"), answer, HumanMessage("never mind")])
    assert [(loss.rule, loss.kind) for loss in losses] == [("A13", "dropped")]


@pytest.mark.parametrize(
    ("kind", "told"),
    [("image", {"format": "png"}), ("video", {"format": "mp4"}), ("document", {"format": "pdf", "name": "report"})],
)
def test_media_in_s3_go_to_converse_as_they_are(kind: str, told: dict[str, Any]) -> None:
    native = {kind: {**told, "source": {"s3Location": {"uri": "s3://bucket/a"}}}}
    history = [
        {"role": "user", "content": [{"text": "look"}, native]},
        {"role": "assistant", "content": [{"text": "ok"}]},
    ]
    said = [HumanMessage([{"type": "text", "text": "look"}, native]), AIMessage("ok"), HumanMessage("more")]
    for messages in (import_messages(history, "bedrock").messages, adapt_messages(said, "bedrock").messages):
        sent, _ = _messages_to_bedrock(messages)
        assert native in sent[0]["content"]


@pytest.mark.parametrize("spelled", [base64.urlsafe_b64encode, base64.b64encode])
def test_signatures_of_gemini_go_back_as_the_bytes_that_they_are(spelled: Any) -> None:
    """The SDK's own objects spell them with the URL-safe alphabet, of which the integration knows nothing."""
    signature = bytes(range(240, 256)) * 3 + b"\xfb\xff"
    call = {"functionCall": {"name": "f", "args": {}, "id": "c"}, "thoughtSignature": spelled(signature).decode()}
    answer = {"functionResponse": {"name": "f", "id": "c", "response": {"output": "1"}}}
    contents = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [answer]},
    ]
    imported = import_messages({"contents": contents}, "google", model="gemini-3-pro-preview")
    adapted = adapt_messages(imported.messages, "google", model="gemini-3-pro-preview")
    model = ChatGoogleGenerativeAI(model="gemini-3-pro-preview", google_api_key="x")
    for messages in (imported.messages, adapted.messages):
        sent = model._prepare_request(messages)["contents"]
        assert sent[1].parts[0].thought_signature == signature
    assert export_messages(imported.messages, "google").payload["contents"] == contents


def test_a_model_that_is_not_chosen_yet_is_named_by_the_dialect() -> None:
    model: Any = init_chat_model(configurable_fields="any")
    with pytest.raises(LookupError, match=r"Pass to="):
        dialect_of(model)
    request: Any = ModelRequest(model=model, messages=[HumanMessage("hi")], tools=[], state={"messages": []})
    sent: list[Any] = []
    PortableHistoryMiddleware(to="anthropic").wrap_model_call(request, sent.append)  # type: ignore[arg-type]
    assert sent[0].messages[0].content == "hi"
