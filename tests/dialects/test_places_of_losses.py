"""A loss names the message and the block of the source, whatever was dropped, moved or merged before it was found."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.export import export_messages
from tests.dialects.histories import PNG, assistant, call, image, result, text, thought, user

LONELY = [user("q"), assistant(call("x"), thought(), call("a b!"), "t"), result("a b!"), user("go")]
PDF = {"type": "file", "mime_type": "application/pdf", "base64": "JVBERi0xLjQK", "filename": "a_b.pdf"}


def places(history: list[Any], target: str, **options: Any) -> dict[str, tuple[int | None, str]]:
    report = export_messages(history, target, **options).report
    return {f"{loss.rule} {loss.kind}": (loss.message, loss.path) for loss in report}


@pytest.mark.parametrize(
    ("target", "rule"), [("anthropic", "A12"), ("openai-chat", "H2"), ("bedrock", "B12"), ("mistral", "M6")]
)
def test_a_part_behind_a_call_that_was_dropped(target: str, rule: str) -> None:
    assert places(LONELY, target)[f"{rule} dropped"] == (1, "content[1]")


@pytest.mark.parametrize(("target", "rule"), [("anthropic", "A10"), ("bedrock", "B10"), ("mistral", "M1")])
def test_an_id_behind_a_call_that_was_dropped(target: str, rule: str) -> None:
    assert places(LONELY, target)[f"{rule} re-keyed"] == (1, "content[2].id")


def test_a_call_that_the_renderer_signs() -> None:
    assert places(LONELY, "google")["G10 synthesized"] == (1, "content[2]")


def test_a_document_of_a_message_that_was_merged_into_the_one_before() -> None:
    assert places([user("q"), user("see", PDF)], "bedrock")["B6 re-keyed"] == (1, "content[1]")


def test_a_picture_that_was_moved_out_of_a_result() -> None:
    shot = image(base64=PNG, mime_type="image/tiff")
    history = [user("q"), assistant(call("abcdefghi")), result("abcdefghi", text("t"), shot)]
    assert places(history, "openai-chat")["C13 placeholder"] == (2, "content[1]")


def test_a_result_that_became_a_user_message() -> None:
    history = [user("q"), result("x", text("t"), PDF), assistant("ok")]
    found = places(history, "mistral", orphans="text")
    assert found["M6 placeholder"] == (1, "content[1]")


@pytest.mark.parametrize("target", ["anthropic", "bedrock", "google", "mistral", "openai-responses"])
def test_a_speaker_whose_name_is_left_out(target: str) -> None:
    said = [user("q", name="bob"), assistant("I look", call("abcdefghi"), name="scout")]
    said += [result("abcdefghi", name="search"), assistant("ok", name="scout")]
    lost = [loss for loss in export_messages(said, target, model="gemini-2.5-pro").report if loss.kind == "dropped"]
    assert [(loss.message, loss.path) for loss in lost] == [(0, "name"), (1, "name"), (3, "name")]
    assert not [loss for loss in export_messages(said, "openai-chat").report if loss.kind == "dropped"]
