"""Media: each target's own shape for the same bytes, and a word on what it cannot take."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint
from langgraph_portable_checkpoint.errors import UnsupportedPartError
from tests.dialects.histories import CLAUDE, OPENAI, PNG, assistant, call, image, result, user

DATA_URL = f"data:image/png;base64,{PNG}"
PDF = {"type": "file", "mime_type": "application/pdf", "base64": "JVBERg==", "filename": "a.pdf"}
SHAPES = {
    "openai-chat": {"type": "image_url", "image_url": {"url": DATA_URL}},
    "openai-responses": {"type": "input_image", "image_url": DATA_URL, "detail": "auto"},
    "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    "mistral": {"type": "image_url", "image_url": DATA_URL},
}


def parts(dialect: str, *content: Any, **options: Any) -> list[Any]:
    export = export_messages([user("look", *content)], dialect, **options)
    return (export.payload.get("messages") or export.payload["input"])[0]["content"][1:]


@pytest.mark.parametrize("dialect", SHAPES)
@pytest.mark.parametrize(
    "block",
    [
        image(base64=PNG),
        image(data=base64.b64decode(PNG)),
        {"type": "image", "url": DATA_URL},
        image(media={"sha256": "abc"}),
    ],
    ids=["base64", "bytes", "data URL", "reference"],
)
def test_the_same_image_has_one_shape_per_target(dialect: str, block: Any) -> None:
    loaded = parts(dialect, block, load_media=lambda ref: base64.b64decode(PNG))
    assert loaded == [SHAPES[dialect]]


@pytest.mark.parametrize("source", SHAPES)
@pytest.mark.parametrize("target", SHAPES)
def test_images_cross_from_any_shape_to_any(source: str, target: str) -> None:
    text = {"openai-responses": "input_text"}.get(source, "text")
    payload = [{"role": "user", "content": [{"type": text, "text": "look"}, SHAPES[source]]}]
    export = export_messages(import_messages(payload, source).envelopes, target)
    content = (export.payload.get("messages") or export.payload["input"])[0]["content"]
    if source == "openai-responses" and target == "openai-chat":
        assert content[1]["image_url"].pop("detail") == "auto"
    assert content[1] == SHAPES[target]
    assert export.lossless


@pytest.mark.parametrize("dialect", SHAPES)
def test_a_url_stays_a_url(dialect: str) -> None:
    assert "https://example.com/a.png" in str(parts(dialect, image(url="https://example.com/a.png")))


@pytest.mark.parametrize("dialect", SHAPES)
def test_a_url_that_no_provider_fetches_is_replaced(dialect: str) -> None:
    (part,) = parts(dialect, image(url="file:///etc/passwd"))
    assert "passwd" not in str(part)
    assert part["text"] == "[image/png: not available here]"


@pytest.mark.parametrize(("dialect", "origin"), [("anthropic", OPENAI), ("openai-responses", CLAUDE)])
def test_a_file_id_belongs_to_its_provider(dialect: str, origin: Any) -> None:
    assert "file_1" not in str(parts(dialect, {**image(file_id="file_1"), "origin": origin}))
    own = {**image(file_id="file_1"), "origin": {"provider": "anthropic" if dialect == "anthropic" else "openai"}}
    assert "file_1" in str(parts(dialect, own))


def test_documents() -> None:
    assert parts("openai-chat", PDF) == [
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}}
    ]
    assert parts("openai-responses", PDF) == [
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}
    ]
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}
    assert parts("anthropic", PDF) == [{"type": "document", "source": source, "title": "a.pdf"}]
    assert parts("mistral", PDF) == [{"type": "text", "text": "[application/pdf a.pdf: not available here]"}]


def test_a_docx_keeps_its_type() -> None:
    docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    assert docx in str(parts("openai-chat", {**PDF, "mime_type": docx}))
    assert "not available here" in str(parts("anthropic", {**PDF, "mime_type": docx}))


def test_audio_has_the_names_that_openai_knows() -> None:
    sound = {"type": "audio", "mime_type": "audio/mpeg", "base64": "AAAA"}
    assert parts("openai-chat", sound) == [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}]
    assert "not available" in str(parts("openai-chat", {**sound, "mime_type": "audio/ogg"}))
    assert parts("mistral", sound, model="voxtral-small") == [{"type": "input_audio", "input_audio": "AAAA"}]


def test_video_where_the_host_takes_it() -> None:
    video = {"type": "video", "mime_type": "video/mp4", "url": "https://example.com/a.mp4"}
    assert parts("openai-chat", video, profile="fireworks")[0]["type"] == "video_url"
    assert parts("openai-chat", video)[0]["type"] == "text"


def test_a_model_profile_narrows_what_is_sent() -> None:
    assert parts("anthropic", image(), model={"image_inputs": False})[0]["type"] == "text"
    assert parts("anthropic", image(), model={"image_inputs": True}) == [SHAPES["anthropic"]]


def test_a_loss_names_what_the_profile_lacks() -> None:
    for profile, word in (({"image_inputs": False}, "image_inputs"), ({"image_url_inputs": False}, "image_url_inputs")):
        (loss,) = export_messages([user("x", image(url="https://a.b/c.png"))], "anthropic", model=profile).report
        assert loss.detail == f"image/png: the model's profile says {word}: False"
    (loss,) = export_messages(
        [user("x", {**image(), "type": "video"})], "anthropic", model={"video_inputs": True}
    ).report
    assert loss.detail == "image/png: anthropic takes no video in user messages"


@pytest.mark.parametrize("dialect", SHAPES)
def test_a_model_that_fetches_no_pictures_gets_those_at_hand(dialect: str) -> None:
    profile = {"image_inputs": True, "image_url_inputs": False}
    assert parts(dialect, image(url="https://a.b/c.png"), model=profile)[0]["text"] == "[image/png: not available here]"
    assert parts(dialect, {"type": "image", "url": DATA_URL}, model=profile) == [SHAPES[dialect]]
    assert parts(dialect, {**image(base64=PNG), "url": "https://a.b/c.png"}, model=profile) == [SHAPES[dialect]]


def tool_step(*content: Any) -> list[Any]:
    return [user("hi"), assistant(call("a"), call("b")), result("a", *content), result("b", "B"), assistant("ok")]


def test_media_of_a_result_stay_there_where_the_target_takes_them() -> None:
    step = tool_step("see", image())
    blocks = export_messages(step, "anthropic").payload["messages"][2]["content"]
    assert blocks[0]["content"][1] == SHAPES["anthropic"]
    assert export_messages(step, "openai-responses").payload["input"][3]["output"][1] == SHAPES["openai-responses"]


@pytest.mark.parametrize("dialect", ["openai-chat", "mistral"])
def test_media_of_a_result_go_behind_all_results_elsewhere(dialect: str) -> None:
    export = export_messages(tool_step(image()), dialect)
    messages = export.payload["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert messages[2]["content"] == "[image/png: see the next user message]"
    assert messages[4]["content"][1] == SHAPES[dialect]
    assert [(loss.kind, loss.path) for loss in export.report if loss.kind == "moved"] == [("moved", "content[0]")]


def test_an_image_only_message_never_disappears() -> None:
    payload = export_messages([user(image())], "openai-chat", profile="deepseek").payload
    assert payload["messages"] == [{"role": "user", "content": "[image/png: not available here]"}]


def test_raise_names_message_and_part() -> None:
    with pytest.raises(UnsupportedPartError, match=r"message 0, content\[1\]: video/mp4 cannot be exported"):
        parts("anthropic", {"type": "video", "mime_type": "video/mp4", "base64": "AAAA"}, on_unsupported_part="raise")


def test_no_blob_is_read_when_media_are_not_wanted() -> None:
    def load(ref: Any) -> bytes:
        raise AssertionError("a blob was read")

    (part,) = parts("anthropic", image(media={"sha256": "abc"}), load_media=load, resolve_media=False)
    assert part["type"] == "text"


def test_a_plain_text_document_is_a_document_or_text() -> None:
    notes = {"type": "text-plain", "text": "notes", "mime_type": "text/plain", "title": "n"}
    source = {"type": "text", "media_type": "text/plain", "data": "notes"}
    assert parts("anthropic", notes) == [{"type": "document", "source": source, "title": "n"}]
    assert parts("openai-chat", notes) == [{"type": "text", "text": "notes"}]


@pytest.mark.parametrize("target", ["mistral", "anthropic", "openai-chat"])
def test_a_blank_document_is_no_blank_text(target: str) -> None:
    blank = {"type": "text-plain", "text": "\r", "mime_type": "text/plain"}
    export = export_messages([{"v": 1, "role": "user", "content": [{"type": "text", "text": "see"}, blank]}], target)
    assert not lint(export.payload, target)
    assert target != "mistral" or [loss.kind for loss in export.report] == ["downgraded", "dropped"]


@pytest.mark.parametrize(
    "target", ["anthropic", "openai-chat", "openai-responses", "mistral", "google", "google gemini-3-pro", "bedrock"]
)
def test_a_picture_that_a_model_does_not_read_in_results_follows_them(target: str) -> None:
    name, _, model = target.partition(" ")
    profile = {"image_tool_message": False, "name": model}
    history = [user("q"), assistant(call("abcdefghi")), result("abcdefghi", "seen", image()), assistant("ok")]
    export = export_messages(history, name, model=profile)
    written = str(export.payload)
    assert "not available" not in written
    assert written.index("see the next user message") < written.index("From the result of")
    assert [loss.kind for loss in export.report if loss.kind != "synthesized"] == ["moved"]
    assert not lint(export.payload, name, model=profile)
    assert export_messages(history, "anthropic").lossless
