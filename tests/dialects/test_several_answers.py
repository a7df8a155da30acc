"""Responses that hold several answers: the first is read whole, and the import tells of the others."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_portable_checkpoint import import_messages
from langgraph_portable_checkpoint.dialects.concerns import OTHER_ANSWERS

CHOICES = {
    "object": "chat.completion",
    "id": "c",
    "model": "m",
    "choices": [{"index": at, "message": {"role": "assistant", "content": text}} for at, text in enumerate("ABC")],
}


def candidate(text: str, **more: Any) -> dict[str, Any]:
    return {"content": {"role": "model", "parts": [{"text": text}]}, **more}


def told(payload: Any, dialect: str) -> tuple[list[Any], list[tuple[str, str, str, str]]]:
    imported = import_messages(payload, dialect)
    losses = [(loss.rule, loss.kind, loss.path, loss.detail) for loss in imported.report]
    return [message.text for message in imported.messages], losses


@pytest.mark.parametrize(
    ("dialect", "payload", "path"),
    [
        ("openai-chat", CHOICES, "choices"),
        ("mistral", CHOICES, "choices"),
        ("google", {"candidates": [candidate("A"), candidate("B"), candidate("C")]}, "candidates"),
        ("google", [{"candidates": [candidate("A"), candidate("B"), candidate("C")]}], "[0].candidates"),
    ],
)
def test_the_first_is_read_and_the_others_are_told(dialect: str, payload: Any, path: str) -> None:
    assert told(payload, dialect) == (["A"], [(OTHER_ANSWERS.rule, OTHER_ANSWERS.kind, path, "2 more")])


@pytest.mark.parametrize(
    ("dialect", "payload"),
    [
        ("openai-chat", {**CHOICES, "choices": CHOICES["choices"][:1]}),
        ("mistral", {**CHOICES, "choices": CHOICES["choices"][:1]}),
        ("google", {"candidates": [candidate("A")]}),
    ],
)
def test_a_single_answer_has_nothing_to_tell(dialect: str, payload: Any) -> None:
    assert told(payload, dialect) == (["A"], [])


def test_streamed_chunks_of_several_answers_are_not_joined_into_one() -> None:
    chunks = [
        {"candidates": [candidate("b1", index=1)]},
        {"candidates": [candidate("a1"), candidate("b2", index=1, finishReason="MAX_TOKENS")]},
        {"candidates": [candidate("a2", index=0, finishReason="STOP")]},
    ]
    call = {"method": "generateContentStream", "response": chunks}
    assert told(call, "google") == (
        ["a1a2"],
        [(OTHER_ANSWERS.rule, OTHER_ANSWERS.kind, "response.candidates", "1 more")],
    )
    assert import_messages(call, "google").envelopes[0]["stop_reason"] == "STOP"


def test_a_last_chunk_that_counts_tokens_only_repeats_no_text() -> None:
    chunks = [{"candidates": [candidate("a")]}, {"usageMetadata": {"promptTokenCount": 3}}]
    imported = import_messages({"method": "generateContentStream", "response": chunks}, "google")
    assert [block["text"] for block in imported.envelopes[0]["content"]] == ["a"]
    assert imported.envelopes[0]["usage"]["input_tokens"] == 3
