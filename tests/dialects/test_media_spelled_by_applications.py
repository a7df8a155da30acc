"""Media as applications write them: stored stubs without bytes, odd mime types and base64, uploads of a provider."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from langchain_aws.chat_models.bedrock_converse import _messages_to_bedrock
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_portable_checkpoint import (
    PortableRedisSaver,
    adapt_messages,
    export_messages,
    export_thread,
    import_messages,
    lint,
)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(5000)
ENCODED = base64.b64encode(PNG).decode()
URL = f"data:image/png;base64,{ENCODED}"
TARGETS = ("anthropic", "openai-chat", "openai-responses", "mistral", "google", "bedrock", "otel")
SHAPES = {
    "v1": {"type": "image", "base64": ENCODED, "mime_type": "image/png"},
    "v0": {"type": "image", "source_type": "base64", "data": ENCODED, "mime_type": "image/png"},
    "chat": {"type": "image_url", "image_url": {"url": URL}},
    "responses": {"type": "input_image", "image_url": URL},
    "messages": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ENCODED}},
    "generate-content": {"type": "media", "mime_type": "image/png", "data": ENCODED},
    "converse": {"image": {"format": "png", "source": {"bytes": PNG}}},
}
SIGNED = AIMessage(
    [{"type": "thinking", "thinking": "hm", "signature": "SIGNED"}, {"type": "text", "text": "ok"}],
    response_metadata={"model_provider": "anthropic", "model_name": "claude-opus-5-5"},
)


def first(export: Any) -> str:
    return json.dumps(next(iter(export.payload.values()))[0], default=repr)


def parts(target: str, part: Any, **options: Any) -> str:
    return first(export_messages([HumanMessage([{"type": "text", "text": "see"}, part])], target, **options))


@pytest.fixture(params=SHAPES)
def stored(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    with PortableRedisSaver.embedded(tmp_path) as saver:
        graph = StateGraph(MessagesState)
        graph.add_node("answer", lambda state: {"messages": []})
        graph.add_edge(START, "answer")
        said = [HumanMessage([{"type": "text", "text": "see"}, SHAPES[request.param]])]
        graph.compile(checkpointer=saver).invoke({"messages": said}, {"configurable": {"thread_id": "t"}})
        yield saver


def test_media_that_are_not_read_are_told_to_every_target(stored: PortableRedisSaver) -> None:
    for target in TARGETS:
        export = export_thread(stored, "t", target, resolve_media=False)
        assert "not available here" in first(export), target
        assert [(loss.kind, loss.path) for loss in export.report] == [("unresolved", "content[1]")], target


def test_nothing_signed_is_replayed_behind_a_part_that_went() -> None:
    video = {"type": "video", "base64": "AAAA", "mime_type": "video/mp4"}
    for part, replayed in ((SHAPES["v1"], True), (video, False), ({"type": "new_part"}, False)):
        said = [HumanMessage([{"type": "text", "text": "see"}, part]), SIGNED, HumanMessage("go on")]
        payload = export_messages(said, "anthropic", model="claude-opus-5-5").payload
        assert ("SIGNED" in json.dumps(payload)) is replayed


UPLOADS = {
    "openai-responses": {"type": "input_file", "file_id": "file-abc"},
    "openai-chat": {"type": "file", "file": {"file_id": "file-abc"}},
    "anthropic": {"type": "document", "source": {"type": "file", "file_id": "file_abc"}},
    "google": {"fileData": {"fileUri": "https://generativelanguage.googleapis.com/v1beta/files/abc"}},
}


@pytest.mark.parametrize("source", UPLOADS)
@pytest.mark.parametrize("target", UPLOADS)
def test_an_upload_goes_to_its_own_provider_only(source: str, target: str) -> None:
    own = source.partition("-")[0] == target.partition("-")[0]
    assert ("abc" in parts(target, UPLOADS[source])) is own


@pytest.mark.parametrize(
    ("file_id", "target"), [("file-abc", "openai-chat"), ("file_abc", "anthropic"), ("files/abc", "google")]
)
def test_an_upload_in_the_neutral_shape_is_told_by_its_id(file_id: str, target: str) -> None:
    part = {"type": "file", "file_id": file_id, "mime_type": "application/pdf"}
    for other in ("openai-chat", "anthropic", "google"):
        assert (file_id in parts(other, part)) is (other == target)


JPEG = {"type": "image", "base64": "/9j/4A=="}
SPELLINGS = {
    "wrong name": {**JPEG, "mime_type": "image/jpg"},
    "capitals": {**JPEG, "mime_type": "IMAGE/JPEG"},
    "none": JPEG,
    "octets": {**JPEG, "mime_type": "application/octet-stream"},
    "parameters": {**JPEG, "mime_type": "image/jpeg; charset=binary"},
    "url-safe": {"type": "image", "base64": "_9j_4A", "mime_type": "image/jpeg"},
    "lines": {"type": "image", "base64": "/9j/\n4A==", "mime_type": "image/jpeg"},
    "data URL": {"type": "image_url", "image_url": {"url": "DATA:image/jpg;charset=x;base64,/9j/4A=="}},
    "data URL without type": {"type": "image_url", "image_url": "data:;base64,/9j/4A=="},
    "percent": {"type": "image_url", "image_url": "data:image/jpeg,%FF%D8%FF%E0"},
}


@pytest.mark.parametrize("spelled", SPELLINGS)
@pytest.mark.parametrize("target", ["anthropic", "openai-chat", "openai-responses", "mistral", "google"])
def test_mime_type_and_base64_reach_providers_as_they_want_them(target: str, spelled: str) -> None:
    export = export_messages([HumanMessage([SPELLINGS[spelled]])], target)
    assert first(export) == first(export_messages([HumanMessage([{**JPEG, "mime_type": "image/jpeg"}])], target))
    assert export.lossless
    assert "/9j/4A==" in first(export)
    assert not lint(export.payload, target)


@pytest.mark.parametrize("encoded", ["", "!!!not base64", "AAAAA"])
@pytest.mark.parametrize("target", ["anthropic", "openai-chat", "openai-responses", "mistral", "google", "bedrock"])
def test_bytes_that_cannot_be_decoded_are_told(target: str, encoded: str) -> None:
    export = export_messages([HumanMessage([{"type": "image", "base64": encoded, "mime_type": "image/png"}])], target)
    assert "[image/png: not available here]" in first(export)
    assert [loss.kind for loss in export.report] == ["unresolved"]


def test_a_transcript_stands_for_audio_elsewhere() -> None:
    audio = {"id": "audio_1", "data": "AAAA", "expires_at": 1, "transcript": "what was said"}
    spoken = AIMessage("", additional_kwargs={"audio": audio}, response_metadata={"model_provider": "openai"})
    for target in ("anthropic", "mistral", "openai-responses", "bedrock"):
        export = export_messages([HumanMessage("hi"), spoken, HumanMessage("and?")], target)
        assert "what was said" in json.dumps(export.payload)
        assert "not available" not in json.dumps(export.payload)
        assert [loss.kind for loss in export.report] == ["downgraded"]
    own = export_messages([HumanMessage("hi"), spoken, HumanMessage("and?")], "openai-chat").payload
    assert own["messages"][1]["audio"] == {"id": "audio_1"}


@pytest.mark.parametrize(
    ("part", "target", "kind"),
    [
        ({"type": "media", "mime_type": "video/mp4", "data": b"\0\0\0\x20ftypisom"}, "google", "inlineData"),
        ({"type": "input_audio", "input_audio": "UklGRgAAAABXQVZF"}, "google", "inlineData"),
        ({"type": "document_url", "document_url": "data:application/pdf;base64,JVBERi0="}, "anthropic", "document"),
        ({"type": "document_url", "document_url": "data:application/pdf;base64,JVBERi0="}, "mistral", "document_url"),
    ],
)
def test_parts_of_one_integration_are_media_everywhere(part: dict[str, Any], target: str, kind: str) -> None:
    export = export_messages([HumanMessage([{"type": "text", "text": "see"}, part])], target)
    message = (export.payload.get("contents") or export.payload["messages"])[0]
    found = (message.get("parts") or message["content"])[1]
    assert found.get("type", next(iter(found))) == kind
    assert export.lossless
    assert lint(export.payload, target) == []


NOTES = base64.b64encode("Läs: a,b\n1,2".encode()).decode()


@pytest.mark.parametrize(("mime_type", "kinds"), [("text/plain", []), ("text/csv", ["downgraded"])])
def test_a_file_of_text_is_a_document_or_its_text(mime_type: str, kinds: list[str]) -> None:
    part = {"type": "file", "base64": NOTES, "mime_type": mime_type}
    asked = HumanMessage([{"type": "text", "text": "read"}, part])
    export = export_messages([asked], "anthropic")
    source = {"type": "text", "media_type": "text/plain", "data": "Läs: a,b\n1,2"}
    assert export.payload["messages"][0]["content"][1] == {"type": "document", "source": source}
    assert [loss.kind for loss in export.report] == kinds
    told = export_messages([asked], "mistral")
    assert "Läs: a,b" in json.dumps(told.payload, ensure_ascii=False)
    assert [loss.kind for loss in told.report] == ["downgraded"]
    for target in ("google", "bedrock", "openai-responses"):
        assert "Läs" not in json.dumps(export_messages([asked], target).payload, default=repr, ensure_ascii=False)
    broken = HumanMessage([{"type": "text", "text": "read"}, {**part, "base64": "/////w=="}])
    assert [loss.kind for loss in export_messages([broken], "anthropic").report] == ["placeholder"]


def test_a_picture_of_the_responses_api_says_how_closely_to_look() -> None:
    image = {"type": "input_image", "image_url": "https://e.example/a.png"}
    history = [{"role": "user", "content": [{"type": "input_text", "text": "see"}, image]}]
    export = export_messages(import_messages(history, "openai-responses").envelopes, "openai-responses")
    assert export.payload["input"][0]["content"][1] == {**image, "detail": "auto"}
    assert lint(export.payload, "openai-responses") == []


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "image": {"format": "png", "source": {"bytes": b"\x89PNG\r\n\x1a\n"}}},
        {"type": "video", "video": {"format": "mp4", "source": {"bytes": b"\0\0\0\x20ftypisom"}}},
    ],
    ids=lambda part: str(part["type"]),
)
def test_parts_as_langchain_aws_types_them_are_media(part: dict[str, Any]) -> None:
    kind = part["type"]
    export = export_messages([HumanMessage([{"type": "text", "text": "see"}, part])], "bedrock")
    assert export.payload["messages"][0]["content"][1] == {kind: part[kind]}
    assert export.lossless


def test_what_langchain_aws_takes_only_as_converse_spells_it_is_adapted_so() -> None:
    sealed = {"type": "reasoning_content", "reasoning_content": {"redacted_content": b"RED"}}
    made = {"model_provider": "bedrock_converse", "model_name": "anthropic.claude-sonnet-4-5"}
    guarded = {"guardContent": {"text": {"text": "secret"}}}
    sound = {"type": "audio", "base64": "UklGRgAAAABXQVZF", "mime_type": "audio/wav"}
    asked: list[Any] = [guarded, {"type": "text", "text": "q"}, sound]
    history = [HumanMessage(asked), AIMessage([sealed, {"type": "text", "text": "a"}], response_metadata=made)]
    adapted = adapt_messages([*history, HumanMessage("z")], "bedrock")
    sent, _ = _messages_to_bedrock(adapted.messages)
    assert sent[0]["content"][0] == guarded
    assert "audio" in sent[0]["content"][2]
    assert sent[1]["content"][0] == {"reasoningContent": {"redactedContent": b"RED"}}
    assert adapted.report == ()
