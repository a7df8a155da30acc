"""What integrations send of an adapted conversation: the same as of their own, where the provider stays."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from langchain_aws.chat_models.bedrock_converse import _messages_to_bedrock
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_mistralai import ChatMistralAI
from langchain_openai import ChatOpenAI

from langgraph_portable_checkpoint import export_messages, import_messages, lint
from langgraph_portable_checkpoint.envelope.model import MessageEnvelope
from langgraph_portable_checkpoint.envelope.read import read_message
from langgraph_portable_checkpoint.envelope.write import write_message
from langgraph_portable_checkpoint.transfer.histories import adapt_messages

PNG = "iVBORw0KGgo="
MODELS = {
    "openai-responses": "gpt-5",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "google": "gemini-3-pro-preview",
    "mistral": "magistral-medium-latest",
}
MADE: dict[str, dict[str, Any]] = {
    "openai-responses": {"model_provider": "openai", "model_name": "gpt-5", "id": "resp_1", "object": "response"},
    "bedrock": {"model_provider": "bedrock_converse", "model_name": MODELS["bedrock"]},
    "google": {"model_provider": "google_genai", "model_name": MODELS["google"]},
    "mistral": {"model_provider": "mistralai", "model_name": MODELS["mistral"]},
}
SCREEN = {"type": "computer_call", "id": "cu_1", "call_id": "c1", "action": {"type": "screenshot"}}
CUSTOM = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "sql", "input": "SELECT 1"}
SHOT = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}
CITED = {
    "type": "text",
    "text": "a",
    "citations": [
        {"title": "t", "source_content": [{"text": "c"}], "location": {"web": {"url": "https://u", "domain": "u"}}}
    ],
}
CALL = {"type": "tool_call", "name": "sql", "args": {"__arg1": "SELECT 1"}, "id": "c1"}
THOUGHT = {"type": "reasoning_content", "reasoning_content": {"text": "hm", "signature": "sig"}}
CACHED: list[Any] = [{"type": "text", "text": "s"}, {"cachePoint": {"type": "default"}}]
DOCUMENT = {"format": "pdf", "name": "d", "citations": {"enabled": True}, "source": {"bytes": b"%PDF-"}}
CODE: list[dict[str, Any]] = [
    {"type": "executable_code", "executable_code": "x", "language": "PYTHON"},
    {"type": "code_execution_result", "code_execution_result": "1", "outcome": 1},
]
SIGNED = {"signature": base64.b64encode(b"sig").decode()}
PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}, "extras": SIGNED}


def said(dialect: str, *parts: dict[str, Any], calls: tuple[dict[str, Any], ...] = ()) -> AIMessage:
    return AIMessage(list(parts), tool_calls=list(calls), response_metadata=MADE[dialect])


def talk(dialect: str, *parts: dict[str, Any]) -> list[BaseMessage]:
    return [HumanMessage("q"), said(dialect, *parts), HumanMessage("z")]


THREADS: dict[str, tuple[str, list[BaseMessage]]] = {
    "a computer's screen": (
        "openai-responses",
        [
            HumanMessage("q"),
            said("openai-responses", SCREEN),
            ToolMessage([SHOT], tool_call_id="c1", additional_kwargs={"type": "computer_call_output"}),
        ],
    ),
    "a custom tool": (
        "openai-responses",
        [
            HumanMessage("q"),
            said("openai-responses", CUSTOM, calls=(CALL,)),
            ToolMessage([{"type": "custom_tool_call_output", "output": "1"}], tool_call_id="c1"),
        ],
    ),
    "a phase": (
        "openai-responses",
        talk(
            "openai-responses",
            {"type": "text", "text": "a", "id": "msg_1", "annotations": [], "phase": "final_answer"},
        ),
    ),
    "citations of Converse": ("bedrock", talk("bedrock", THOUGHT, {"type": "text", "text": "pre"}, CITED)),
    "cache points": (
        "bedrock",
        [
            SystemMessage(CACHED),
            HumanMessage(CACHED),
            said("bedrock", {"type": "text", "text": "a"}),
            HumanMessage("z"),
        ],
    ),
    "a document to cite": (
        "bedrock",
        [
            HumanMessage([{"type": "text", "text": "q"}, {"type": "document", "document": DOCUMENT}]),
            *talk("bedrock", {"type": "text", "text": "a"})[1:],
        ],
    ),
    "code that Gemini ran": ("google", talk("google", *CODE, {"type": "text", "text": "a"})),
    "a picture that Gemini signed": ("google", talk("google", {"type": "text", "text": "a"}, PICTURE)),
    "a thought of Magistral": (
        "mistral",
        talk(
            "mistral", {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "a"}
        ),
    ),
}


def sent(dialect: str, messages: list[BaseMessage]) -> Any:
    """What the integration puts into its request."""
    model = MODELS[dialect]
    if dialect == "openai-responses":
        chat = ChatOpenAI(model=model, api_key="x", use_responses_api=True)  # type: ignore[call-arg,arg-type]
        return chat._get_request_payload(messages)["input"]
    if dialect == "google":
        gemini = ChatGoogleGenerativeAI(model=model, api_key="x")  # type: ignore[call-arg]
        return [part.model_dump(mode="json") for part in gemini._prepare_request(messages)["contents"]]
    if dialect == "mistral":
        return ChatMistralAI(model=model, api_key="x")._create_message_dicts(messages, None)[0]  # type: ignore[call-arg,arg-type]
    found, system = _messages_to_bedrock(messages)
    return json.loads(json.dumps([found, system], default=repr))


@pytest.mark.parametrize("thread", THREADS)
def test_own_threads_are_sent_as_they_were(thread: str) -> None:
    dialect, messages = THREADS[thread]
    adapted = adapt_messages(messages, dialect, model=MODELS[dialect])
    assert adapted.report == ()
    assert sent(dialect, adapted.messages) == sent(dialect, messages)


@pytest.mark.parametrize("thread", THREADS)
def test_imported_threads_are_sent_as_they_were(thread: str) -> None:
    dialect, messages = THREADS[thread]
    payload = export_messages(messages, dialect, model=MODELS[dialect]).payload
    imported = import_messages(payload, dialect, model=MODELS[dialect])
    assert sent(dialect, imported.messages) == sent(dialect, messages)
    assert export_messages(imported.messages, dialect, model=MODELS[dialect]).payload == payload


def test_a_cited_text_is_read_as_one() -> None:
    dialect, messages = THREADS["citations of Converse"]
    adapted = adapt_messages(messages, dialect, model=MODELS[dialect])
    assert adapted.messages[1].text == "prea"


@pytest.mark.parametrize("call", [SCREEN, CUSTOM])
def test_a_call_whose_item_alone_has_an_id_is_read_as_imported(call: dict[str, Any]) -> None:
    imported = import_messages({"input": [{**call, "call_id": None}]}, "openai-responses")
    assert [(block["type"], block["id"]) for block in read_message(imported.messages[0])["content"]] == [
        ("tool_call", call["id"])
    ]


LINK = {"type": "image", "url": "https://a/b.png", "extras": {"signature": "c2ln"}}
ODD_RESULT = {"type": "server_tool_result", "tool_call_id": "1", "output": "odd"}
ODD_HINT = {"type": "text", "text": "a", "cache_hint": "odd", "raw": {"citationsContent": []}}
ODD_PHASE = {"type": "text", "text": "a", "extras": {"item": {"phase": ["x"]}}}


@pytest.mark.parametrize(
    ("api", "block", "written"),
    [
        ("responses", ODD_PHASE, [{"type": "text", "text": "a", "extras": ODD_PHASE["extras"]}]),
        ("converse", ODD_HINT, [{"type": "text", "text": "a"}]),
        ("generate-content", ODD_RESULT, [ODD_RESULT]),
        ("generate-content", LINK, [LINK]),
    ],
)
def test_what_an_integration_would_not_spell_so_is_a_standard_block(api: str, block: Any, written: Any) -> None:
    origin: Any = {"provider": "p", "api": api}
    envelope: MessageEnvelope = {"v": 1, "role": "assistant", "content": [block], "origin": origin}
    message = write_message(envelope)
    assert message.content == written
    read = read_message(message)
    assert (read["role"], read["content"], read["origin"]) == ("assistant", [block], origin)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "a", "extras": {"item": "odd"}},
        {"type": "tool_call", "id": "c", "name": "f", "args": {}, "raw": {"type": []}},
    ],
)
def test_envelopes_that_no_reader_makes_are_written_all_the_same(block: Any) -> None:
    envelope: MessageEnvelope = {"v": 1, "role": "assistant", "content": [block], "origin": {"api": "responses"}}
    assert read_message(write_message(envelope))["content"][0]["type"] == block["type"]


def test_a_signed_call_whose_id_no_mapping_can_hold_is_written() -> None:
    call: Any = {"type": "tool_call", "id": "\ud800", "name": "f", "args": {}, "extras": {"signature": "c2ln"}}
    origin: Any = {"provider": "google", "api": "generate-content"}
    message = write_message({"v": 1, "role": "assistant", "content": [call], "origin": origin})
    assert "__gemini_function_call_thought_signatures__" not in message.additional_kwargs


def turn(who: dict[str, Any], city: str, answer: str) -> list[BaseMessage]:
    """A turn whose call has the id that its model gives to the first call of every turn."""
    call = {"name": "ask", "args": {"q": city}, "id": "functions.ask:0"}
    return [
        HumanMessage(f"{city}?"),
        AIMessage("", tool_calls=[call], response_metadata=who),
        ToolMessage(answer, tool_call_id=call["id"], name="ask"),
        AIMessage(f"{answer}.", response_metadata=who),
    ]


@pytest.mark.parametrize("who", [{"model_provider": "fireworks", "model_name": "kimi-k2-thinking"}, MADE["google"]])
@pytest.mark.parametrize("dialect", ["google", "mistral", "openai-responses", "bedrock"])
def test_each_call_keeps_its_own_result_where_ids_come_again(dialect: str, who: dict[str, Any]) -> None:
    messages = [*turn(who, "Rome", "SUN"), *turn(who, "Oslo", "SNOW"), HumanMessage("sum up")]
    adapted = adapt_messages(messages, dialect, model=MODELS[dialect])
    (_, _), (second, answer) = [
        (at, message) for at, message in enumerate(adapted.messages) if isinstance(message, ToolMessage)
    ]
    calls = [call for message in adapted.messages if isinstance(message, AIMessage) for call in message.tool_calls]
    assert len({call["id"] for call in calls}) == 2
    assert (calls[1]["id"], calls[1]["args"]) == (answer.tool_call_id, {"q": "Oslo"})
    assert second > 4
    said = json.dumps(sent(dialect, adapted.messages), default=repr)
    assert said.index("Rome") < said.index("SUN") < said.index("Oslo") < said.index("SNOW")
    assert any(loss.kind == "re-keyed" and loss.path.endswith(".id") for loss in adapted.report)


@pytest.mark.parametrize(
    "content",
    [
        "PLAN",
        [{"type": "thinking", "thinking": [{"type": "text", "text": "HM"}]}, {"type": "text", "text": "PLAN"}],
    ],
)
def test_what_mistral_said_beside_its_calls_is_sent(content: Any) -> None:
    """langchain-mistralai leaves the content out of any message that has calls."""
    call = {"name": "f", "args": {}, "id": "Abc123456"}
    answer = AIMessage(content, tool_calls=[call], response_metadata=MADE["mistral"])
    messages = [HumanMessage("q"), answer, ToolMessage("R", tool_call_id="Abc123456", name="f")]
    adapted = adapt_messages(messages, "mistral", model=MODELS["mistral"])
    told, asked = (message for message in sent("mistral", adapted.messages) if message["role"] == "assistant")
    assert "PLAN" in json.dumps(told["content"])
    assert ("HM" in json.dumps(told["content"])) is (content != "PLAN")
    assert [one["id"] for one in asked["tool_calls"]] == ["Abc123456"]
    assert [(loss.rule, loss.kind) for loss in adapted.report] == [("M5", "moved")]
    whole = export_messages(messages, "mistral", model=MODELS["mistral"])
    assert whole.lossless
    assert len(whole.payload["messages"]) == 3


def test_what_openai_refused_is_sent_as_text() -> None:
    """langchain-openai does not send the refusal of a chat completion."""
    made = {"model_provider": "openai", "model_name": "gpt-4o"}
    refusing = AIMessage("", additional_kwargs={"refusal": "I can't."}, response_metadata=made)
    messages = [HumanMessage("q"), refusing, HumanMessage("z")]
    adapted = adapt_messages(messages, "openai-chat", model="gpt-4o")
    chat = ChatOpenAI(model="gpt-4o", api_key="x")  # type: ignore[call-arg,arg-type]
    assert chat._get_request_payload(adapted.messages)["messages"][1]["content"] == "I can't."
    assert [loss.kind for loss in adapted.report] == ["downgraded"]
    assert export_messages(messages, "openai-chat").payload["messages"][1] == {
        "role": "assistant",
        "refusal": "I can't.",
        "content": None,
    }


def test_error_flags_that_an_integration_does_not_send_are_told() -> None:
    claude = {"model_provider": "bedrock", "model_name": "claude-sonnet-4-5"}
    for dialect, profile, who, rule in (
        ("google", None, MADE["google"], "G8"),
        ("anthropic", "bedrock", claude, "A18"),
        ("anthropic", None, {**claude, "model_provider": "anthropic"}, None),
    ):
        call = AIMessage("", tool_calls=[CALL], response_metadata=who)
        messages = [HumanMessage("q"), call, ToolMessage("no", tool_call_id="c1", name="sql", status="error")]
        adapted = adapt_messages(messages, dialect, profile=profile)
        told = [loss.rule for loss in adapted.report if loss.action == "the error flag was lost; the text stays"]
        assert told == ([rule] if rule else [])
        direct = export_messages(messages, dialect, profile=profile)
        assert not [loss for loss in direct.report if loss.path == "status"]
        assert "error" in json.dumps(direct.payload["contents" if dialect == "google" else "messages"][-1])


MALFORMED = {
    "anthropic": ("anthropic", ("function_call", "image_url", "reasoning_content", "tool_result", "tool_use")),
    "openai-responses": ("openai", ("message", "function_call", "tool_use", "function_call_output", "image_url")),
    "openai-chat": ("openai", ("function_call", "tool_use", "thinking")),
    "mistral": ("mistralai", ("tool_use", "image_url")),
}


@pytest.mark.parametrize("dialect", MALFORMED)
def test_a_malformed_part_of_a_known_type_is_left_out_and_told(dialect: str) -> None:
    provider, kinds = MALFORMED[dialect]
    made = {"model_provider": provider, **({"id": "resp_1"} if dialect == "openai-responses" else {})}
    for kind in kinds:
        parts: list[Any] = [{"type": "text", "text": "T"}, {"type": kind}]
        messages = [HumanMessage("q"), AIMessage(parts, response_metadata=made), HumanMessage("z")]
        exported = export_messages(messages, dialect)
        assert lint(exported.payload, dialect) == [], kind
        assert any(loss.kind in ("dropped", "downgraded") for loss in exported.report), kind
        assert any(message.text == "T" for message in adapt_messages(messages, dialect).messages)
