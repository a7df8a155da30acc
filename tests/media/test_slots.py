"""Where an API takes only certain shapes, what stands for a medium is of such a shape, and still stands for it."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_aws.chat_models.bedrock_converse import _messages_to_bedrock
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_google_genai.chat_models import _parse_chat_history
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_portable_checkpoint import (
    MediaPolicy,
    PortableRedisSaver,
    export_messages,
    export_thread,
    lint,
)
from langgraph_portable_checkpoint.envelope.blank_image import blank_image, text_of_blank_image
from langgraph_portable_checkpoint.errors import LossyExportError
from langgraph_portable_checkpoint.media.holes import Missing
from langgraph_portable_checkpoint.media.strip import take_out
from langgraph_portable_checkpoint.media.walk import fill, punch
from tests.dialects import oracle_bedrock, oracle_google, oracle_shapes
from tests.media.test_walk import same
from tests.servers import Room

NOISE = bytes(range(1, 250)) * 20
PNG = b"\x89PNG\r\n\x1a\n" + NOISE
PDF = b"%PDF-1.7\n" + NOISE
WAV = b"RIFF\0\0\0\0WAVE" + NOISE
URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()},
}
DOCUMENT = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(PDF).decode()},
    "title": "T",
}
CLAUDE: Any = {"model_provider": "anthropic"}
GPT: Any = {"model_provider": "openai", "model_name": "gpt-5", "id": "resp_1"}


def as_v1(message: AIMessage) -> AIMessage:
    """Write a message as an integration does that was asked for LangChain's v1 output."""
    metadata = {**message.response_metadata, "output_version": "v1"}
    return message.model_copy(update={"content": message.content_blocks, "response_metadata": metadata})


def fetched(page: dict[str, Any]) -> AIMessage:
    result = {"type": "web_fetch_result", "url": "https://u.example", "content": page, "retrieved_at": None}
    return served("web_fetch", result)


def served(tool: str, result: dict[str, Any]) -> AIMessage:
    content: list[Any] = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": tool, "input": {}},
        {"type": f"{tool}_tool_result", "tool_use_id": "srvtoolu_1", "content": result},
        {"type": "text", "text": "a"},
    ]
    return AIMessage(content, response_metadata=CLAUDE)


ASKED = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "call_1"}])
VIEWED = {
    "type": "text_editor_code_execution_view_result",
    "file_type": "image",
    "content": base64.b64encode(PNG).decode(),
}
ANTHROPIC: dict[str, list[BaseMessage]] = {
    "a fetched page": [fetched(DOCUMENT)],
    "a fetched page, v1": [as_v1(fetched(DOCUMENT))],
    "a viewed file": [served("text_editor_code_execution", VIEWED)],
    "a result": [ASKED, ToolMessage([IMAGE, DOCUMENT], tool_call_id="call_1")],
    "parts of a document": [HumanMessage([{**DOCUMENT, "source": {"type": "content", "content": [IMAGE]}}])],
}
INTERPRETED: dict[str, Any] = {
    "type": "code_interpreter_call",
    "id": "ci_1",
    "code": "x",
    "container_id": "c",
    "outputs": [{"type": "image", "url": URL}, {"type": "logs", "logs": "hi"}],
    "status": "completed",
}
RAN = AIMessage([INTERPRETED], response_metadata=GPT)
LOOKED = AIMessage(
    [
        {
            "type": "computer_call",
            "id": "cu_1",
            "call_id": "call_1",
            "action": {"type": "screenshot"},
            "status": "completed",
            "pending_safety_checks": [],
        }
    ],
    response_metadata=GPT,
)
SCREEN = {"type": "computer_screenshot", "image_url": URL}
OUTPUT = {"type": "computer_call_output", "call_id": "call_1", "output": SCREEN}
MARKED: Any = {"tool_call_id": "call_1", "additional_kwargs": {"type": "computer_call_output"}}
RESPONSES: dict[str, list[BaseMessage]] = {
    "code": [RAN],
    "code, v1": [as_v1(RAN)],
    "code, v0": [
        AIMessage(
            [{"type": "text", "text": "a"}],
            additional_kwargs={"tool_outputs": [INTERPRETED]},
            response_metadata=GPT,
            id="msg_1",
        )
    ],
    "a marked screenshot": [LOOKED, ToolMessage([{"type": "input_image", "image_url": URL}], **MARKED)],
    "a screenshot that is a text": [LOOKED, ToolMessage(URL, **MARKED)],
    "a native screenshot": [LOOKED, ToolMessage([{"type": "non_standard", "value": OUTPUT}], tool_call_id="call_1")],
    "a result": [ASKED, ToolMessage([{"type": "input_image", "image_url": URL}], tool_call_id="call_1")],
}
PICTURE = {"image": {"format": "png", "source": {"bytes": PNG}}}
BEDROCK: dict[str, list[BaseMessage]] = {
    "parts": [HumanMessage([PICTURE, {"text": "q"}])],
    "a guarded image": [HumanMessage([{"guardContent": PICTURE}, {"text": "q"}])],
    "a result": [ASKED, ToolMessage([PICTURE, {"json": {"a": 1}}], tool_call_id="call_1")],
}
GOOGLE: dict[str, list[BaseMessage]] = {
    "parts": [HumanMessage([{"type": "media", "mime_type": "image/png", "data": base64.b64encode(PNG).decode()}])],
    "a result": [ASKED, ToolMessage([{"type": "image_url", "image_url": {"url": URL}}], tool_call_id="call_1")],
}


_KEY: Any = "x"
_CLAUDE: Any = ChatAnthropic(model="claude-sonnet-4-5", api_key=_KEY)  # type: ignore[call-arg]  # pydantic's alias
_GPT: Any = ChatOpenAI(model="gpt-5", api_key=_KEY, use_responses_api=True)


def to_claude(history: list[BaseMessage]) -> tuple[Any, list[str]]:
    sent = _CLAUDE._get_request_payload(history)["messages"]
    return sent, oracle_shapes.breaches("anthropic", sent) + list(map(str, lint({"messages": sent}, "anthropic")))


def to_gpt(history: list[BaseMessage]) -> tuple[Any, list[str]]:
    sent = _GPT._get_request_payload(history)["input"]
    return sent, oracle_shapes.breaches("openai-responses", sent) + list(
        map(str, lint({"input": sent}, "openai-responses"))
    )


def to_bedrock(history: list[BaseMessage]) -> tuple[Any, list[str]]:
    sent, _ = _messages_to_bedrock(history)
    return sent, oracle_bedrock.complaints({"messages": sent})


def to_gemini(history: list[BaseMessage]) -> tuple[Any, list[str]]:
    _, contents = _parse_chat_history(history, model="gemini-2.5-pro")
    sent = [content.model_dump(mode="json", exclude_none=True) for content in contents]
    return sent, oracle_google.complaints({"contents": sent})


SENT = [
    pytest.param(send, said, id=f"{send.__name__}: {name}")
    for send, cases in ((to_claude, ANTHROPIC), (to_gpt, RESPONSES), (to_bedrock, BEDROCK), (to_gemini, GOOGLE))
    for name, said in cases.items()
]
HOME = b"home"
ABSENT = "[image/png, 9 B, not available on read]"


def stripped(fields: Any) -> Any:
    return take_out(fields, MediaPolicy(mode="strip")).value


def without_any(fields: Any) -> Any:
    return take_out(fields, MediaPolicy(preserve_media=False)).value


def not_read(fields: Any) -> Any:
    value, holes = punch(fields, select=lambda size, mime_type: True)
    return fill(value, holes, lambda hole: Missing(ABSENT, HOME))


def changed(message: BaseMessage, change: Callable[[Any], Any]) -> BaseMessage:
    return message.model_copy(update=change(dict(message.__dict__)))


def texts_in(value: Any) -> str:
    """Join all texts of a value, those in blank images among them."""
    if isinstance(value, dict):
        return " ".join(map(texts_in, value.values()))
    if isinstance(value, list):
        return " ".join(map(texts_in, value))
    return text_of_blank_image(value) or value if isinstance(value, str) else ""


@pytest.mark.parametrize("change", [stripped, without_any, not_read])
@pytest.mark.parametrize(("send", "said"), SENT)
def test_an_integration_sends_no_other_shape_than_with_the_bytes(send: Any, said: list[Any], change: Any) -> None:
    ask, more = HumanMessage("q"), HumanMessage("z")
    _, with_bytes = send([ask, *said, more])
    sent, without = send([ask, *(changed(message, change) for message in said), more])
    assert without == with_bytes
    assert ("not available on read" if change is not_read else "removed on save") in texts_in(sent)
    assert base64.b64encode(NOISE[300:600]).decode()[4:-4] not in repr(sent)


@pytest.mark.parametrize("said", [param.values[1] for param in SENT], ids=[param.id or "" for param in SENT])
def test_what_was_not_read_stands_for_its_medium_in_any_shape(said: Any) -> None:
    for message in said:
        before = dict(message.__dict__)
        value, holes = punch(before, select=lambda size, mime_type: True)
        read = not_read(before)
        again, found = punch(read, select=lambda size, mime_type: True, home=HOME)
        assert same(again, value)
        assert [(hole.path, hole.encoding, hole.part) for hole in found] == [
            (hole.path, hole.encoding, hole.part) for hole in holes
        ]
        elsewhere, none = punch(read, select=lambda size, mime_type: True, home=b"other")
        assert same(elsewhere, read)
        assert none == ()


INPUT: list[Any] = [
    {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": URL, "detail": "auto"}]},
    INTERPRETED,
    {"type": "image_generation_call", "id": "ig_1", "result": base64.b64encode(PNG).decode(), "status": "completed"},
    *LOOKED.content,
    OUTPUT,
]
TAKEN = {"functionCall": {"name": "f", "args": {}}}
SHOT = {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(PNG).decode()}}
CONTENTS: list[Any] = [
    {"role": "user", "parts": [{"text": "q"}, SHOT]},
    {"role": "model", "parts": [TAKEN]},
    {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"a": 1}, "parts": [SHOT, SHOT]}}]},
]


@pytest.mark.parametrize("change", [stripped, not_read])
def test_what_an_application_keeps_for_an_api_is_still_taken_by_it(change: Any) -> None:
    state = change({"input": INPUT, "contents": CONTENTS})
    assert oracle_shapes.breaches("openai-responses", state["input"]) == []
    assert lint({"input": state["input"]}, "openai-responses") == []
    assert oracle_google.complaints({"contents": state["contents"]}) == []
    assert lint({"contents": state["contents"]}, "google") == []
    assert base64.b64encode(NOISE[300:600]).decode()[4:-4] not in repr(state)
    assert take_out(state, MediaPolicy(mode="strip")).reports == ()
    value, holes = punch({"input": INPUT, "contents": CONTENTS}, select=lambda size, mime_type: True)
    again, found = punch(not_read({"input": INPUT, "contents": CONTENTS}), select=lambda *_: True, home=HOME)
    assert same(again, value)
    assert [hole.path for hole in found] == [hole.path for hole in holes]


def test_what_is_added_to_a_part_that_was_not_read_is_kept() -> None:
    message = fetched(DOCUMENT)
    read = not_read({"content": message.content})
    page = read["content"][1]["content"]["content"]
    assert page["title"] == "T"
    page["title"], page["cache_control"] = "U", {"type": "ephemeral"}
    (again, _) = punch(read, select=lambda size, mime_type: True, home=HOME)
    kept = again["content"][1]["content"]["content"]
    assert kept == {
        **DOCUMENT,
        "source": {"type": "base64", "media_type": "application/pdf", "data": None},
        "title": "U",
        "cache_control": {"type": "ephemeral"},
    }


@pytest.mark.parametrize("source", [{"type": "url", "url": "https://u.example"}, {"type": "file", "file_id": "file_1"}])
def test_a_document_that_is_only_referred_to_stays_a_document(source: dict[str, str]) -> None:
    left = without_any({"content": fetched({"type": "document", "source": source}).content})
    page = left["content"][1]["content"]["content"]
    assert (page["type"], page["source"]["type"], page["source"]["media_type"]) == ("document", "text", "text/plain")


@pytest.mark.parametrize(
    "policy", [MediaPolicy(mode="strip"), MediaPolicy(preserve_media=False), MediaPolicy(min_bytes=1)]
)
def test_an_image_that_says_what_is_missing_is_no_medium(policy: MediaPolicy) -> None:
    value = {"content": [{"type": "image_url", "image_url": {"url": blank_image("[image/png, 1 B, removed on save]")}}]}
    assert take_out(value, policy) == (value, (), ())


def test_an_image_that_says_what_is_missing_is_a_whole_png() -> None:
    data = base64.b64decode(blank_image("[image/png, über]").removeprefix("data:image/png;base64,"), validate=True)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    kinds, at = list[bytes](), 8
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        body, sum_ = data[at + 4 : at + 8 + size], data[at + 8 + size : at + 12 + size]
        assert zlib.crc32(body).to_bytes(4, "big") == sum_
        kinds.append(body[:4])
        at += 12 + size
    assert kinds == [b"IHDR", b"iTXt", b"IDAT", b"IEND"]


@pytest.mark.parametrize("text", ["", "data:image/png;base64,", URL, blank_image("x")[:-8] + "!!!!", "x" * 9000])
def test_other_texts_are_no_such_image(text: str) -> None:
    assert text_of_blank_image(text) is None


SPOKEN = AIMessage("", additional_kwargs={"audio": WAV}, response_metadata={"model_provider": "google_genai"}, id="m")
OLD = SPOKEN.model_copy(update={"additional_kwargs": {"audio": b"[audio/wav, 4992 B, removed on save]"}})
OPENAI_SOUND = {
    "id": "audio_1",
    "data": "[audio/wav, 4992 B, removed on save]",
    "transcript": "Hello.",
    "expires_at": 1,
}
SAID = AIMessage("", additional_kwargs={"audio": OPENAI_SOUND}, response_metadata=GPT, id="m")
SHOWN = changed(RESPONSES["a marked screenshot"][1], stripped)
DIALECTS = [
    "agent-checkpoint", "anthropic", "bedrock", "google", "langchain", "mistral", "openai-chat", "openai-responses", "otel",
]  # fmt: skip
GONE_SOUND = {"stripped": changed(SPOKEN, stripped), "not read": changed(SPOKEN, not_read), "stored before": OLD}


def test_sound_that_was_stripped_is_no_sound_to_langchain() -> None:
    assert isinstance(GONE_SOUND["stripped"].additional_kwargs["audio"], str)
    assert [block["type"] for block in GONE_SOUND["stripped"].content_blocks] == []


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", GONE_SOUND)
def test_sound_that_is_gone_is_a_text_in_every_export_and_told(name: str, dialect: str) -> None:
    history: list[Any] = [HumanMessage("q", id="q"), GONE_SOUND[name], HumanMessage("z", id="z")]
    export = export_messages(history, dialect)
    assert "/wav: not available here]" in str(export.payload) or "/png: not available here]" in str(export.payload)
    assert "removed" not in str(export.payload)
    assert base64.b64encode(b"[audio/wav")[:12].decode() not in str(export.payload)
    assert [loss.kind for loss in export.report if loss.message == 1] == ["unresolved"]
    with pytest.raises(LossyExportError):
        export_messages(history, dialect, strict=True)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_in_sound_keeps_its_id_and_transcript_and_no_text_for_bytes(dialect: str) -> None:
    export = export_messages([HumanMessage("q", id="q"), SAID, HumanMessage("z", id="z")], dialect)
    assert "removed on save" not in str(export.payload)
    assert "Hello." in str(export.payload) or "audio_1" in str(export.payload)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_screenshot_that_is_gone_is_told_and_is_no_picture(dialect: str) -> None:
    export = export_messages([HumanMessage("q", id="q"), LOOKED, SHOWN, HumanMessage("z", id="z")], dialect)
    assert "[image/png: not available here]" in str(export.payload)
    assert "iVBORw0KGgo" not in str(export.payload)
    assert "unresolved" in [loss.kind for loss in export.report]


PLACEHOLDER = {"type": "text", "text": "[application/pdf, 9 B, removed on save]"}
RAN_BEFORE = {**INTERPRETED, "outputs": [PLACEHOLDER, {"type": "logs", "logs": "hi"}]}
BEFORE = {
    "anthropic": fetched(PLACEHOLDER),
    "anthropic, v1": as_v1(fetched(PLACEHOLDER)),
    "openai-responses": AIMessage([RAN_BEFORE], response_metadata=GPT),
    "openai-responses, v1": as_v1(AIMessage([RAN_BEFORE], response_metadata=GPT)),
}


@pytest.mark.parametrize("name", BEFORE)
def test_texts_that_were_stored_before_in_places_of_other_shapes_are_exported_in_these(name: str) -> None:
    dialect = name.partition(",")[0]
    payload = export_messages([HumanMessage("q"), BEFORE[name], HumanMessage("z")], dialect).payload
    sent = payload.get("messages") or payload["input"]
    assert lint(payload, dialect) == oracle_shapes.breaches(dialect, sent) == []
    assert "removed on save" in str(sent)


@pytest.mark.parametrize("how", ["strip", "gone", "none"])
def test_threads_are_read_with_shapes_that_their_apis_take(server: Room, tmp_path: Any, how: str) -> None:
    said: list[AnyMessage] = [HumanMessage("q", id="q"), fetched(DOCUMENT), HumanMessage("z", id="z")]
    options: dict[str, Any] = {"prefix": server.prefix, "media_store": tmp_path}
    builder = StateGraph(MessagesState).add_node("n", lambda _state: {}).add_edge(START, "n")
    config: Any = {"configurable": {"thread_id": "t", **({"media": "none"} if how == "none" else {})}}
    with PortableRedisSaver.from_url(server.url, **options, media_policy="strip" if how == "strip" else None) as saver:
        builder.compile(checkpointer=saver).invoke({"messages": said}, {"configurable": {"thread_id": "t"}})
    for file in tmp_path.iterdir() if how == "gone" else ():
        file.unlink()
    with PortableRedisSaver.from_url(server.url, **options) as saver:
        messages = builder.compile(checkpointer=saver).get_state(config).values["messages"]
        _, wrong = to_claude(messages)
        export = export_thread(saver, "t", to="anthropic") if how == "strip" else None
    assert wrong == []
    assert export is None or oracle_shapes.breaches("anthropic", export.payload["messages"]) == []
