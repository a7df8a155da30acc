"""Bedrock Converse: what goes in comes out unchanged, and what comes from elsewhere is what AWS describes."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.base import ExportOptions, ImportOptions
from langgraph_portable_checkpoint.dialects.bedrock import Bedrock
from langgraph_portable_checkpoint.dialects.report import Report
from langgraph_portable_checkpoint.errors import MalformedHistoryError
from tests.dialects.exporting import export
from tests.dialects.oracle_bedrock import complaints

DIALECT = Bedrock()
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20

NATIVE: dict[str, Any] = {
    "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"text": "What is in these?"},
                {"image": {"format": "png", "source": {"bytes": PNG}}},
                {"document": {"format": "pdf", "name": "Q3 report", "source": {"bytes": b"%PDF"}, "context": "c"}},
                {"document": {"format": "txt", "name": "notes", "source": {"s3Location": {"uri": "s3://bucket/key"}}}},
                {"cachePoint": {"type": "default"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
                {"reasoningContent": {"redactedContent": b"\0\1"}},
                {"text": "I look."},
                {"toolUse": {"toolUseId": "t.1:a", "name": "look", "input": {"a": [1, None]}}},
                {"toolUse": {"toolUseId": "t2", "name": "look", "input": {}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "t.1:a",
                        "content": [{"json": {"ok": True}}, {"text": "x"}],
                        "status": "success",
                    }
                },
                {"toolResult": {"toolUseId": "t2", "content": [{"text": "bad"}], "status": "error"}},
                {"guardContent": {"text": {"text": "go on", "qualifiers": ["query"]}}},
                {"searchResult": {"source": "s", "title": "t", "content": [{"text": "found"}]}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {
                    "citationsContent": {
                        "content": [{"text": "As it says."}],
                        "citations": [
                            {"title": "Q3", "location": {"documentPage": {"documentIndex": 0, "start": 1, "end": 2}}}
                        ],
                    }
                }
            ],
        },
    ],
}


def read(payload: Any) -> list[Any]:
    return DIALECT.parse(payload, ImportOptions(), Report())


def message(role: str, *content: Any, **more: Any) -> Any:
    return {"v": 1, "role": role, "content": list(content), **more}


def text(value: str) -> Any:
    return {"type": "text", "text": value}


def document(name: str) -> Any:
    return {"type": "file", "mime_type": "application/pdf", "data": b"%PDF", "filename": name}


def test_a_native_history_comes_back_as_it_went_in() -> None:
    assert complaints(NATIVE) == []
    payload, report = export(DIALECT, read(NATIVE))
    assert payload == NATIVE
    assert report.losses == ()


def test_recorded_base64_becomes_bytes() -> None:
    recorded = json.loads(json.dumps(NATIVE, default=lambda value: base64.b64encode(value).decode()))
    assert export(DIALECT, read(recorded))[0] == NATIVE


def test_a_history_that_lost_its_raw_form_says_the_same() -> None:
    envelopes = read(NATIVE)
    for envelope in envelopes:
        envelope.pop("raw_content", None)
        for block in envelope["content"]:
            block.pop("raw", None)
    payload, report = export(DIALECT, envelopes)
    expected = json.loads(json.dumps(NATIVE, default=lambda value: base64.b64encode(value).decode()))
    del expected["messages"][2]["content"][0]["toolResult"]["status"]
    assert json.loads(json.dumps(payload, default=lambda value: base64.b64encode(value).decode())) == expected
    assert report.losses == ()


def test_runs_are_merged_and_results_join_the_next_user_message() -> None:
    call = {"type": "tool_call", "id": "call|1", "name": "f", "args": {}}
    payload, report = export(
        DIALECT,
        [
            message("user", text("a")),
            message("user", text("b")),
            message("assistant", call, origin={"provider": "openai", "api": "chat"}),
            message("tool", text("1"), tool_call_id="call|1"),
            message("user", text("c")),
        ],
    )
    assert [one["role"] for one in payload["messages"]] == ["user", "assistant", "user"]
    assert [list(block) for block in payload["messages"][2]["content"]] == [["toolResult"], ["text"]]
    assert {(loss.rule, loss.kind) for loss in report} == {("B3", "merged"), ("B10", "re-keyed")}
    assert complaints(payload) == DIALECT.lint(payload, ExportOptions()) == []


def test_a_document_gets_a_text_beside_it_and_a_name_of_its_own() -> None:
    payload, report = export(DIALECT, [message("user", document("a_b.pdf"), document("a b pdf"))])
    content = payload["messages"][0]["content"]
    names = [block["document"]["name"] for block in content if "document" in block]
    assert len(set(names)) == 2
    assert "text" in content[-1]
    assert {(loss.rule, loss.kind) for loss in report} == {("B6", "re-keyed"), ("B6", "synthesized")}
    assert complaints(payload) == DIALECT.lint(payload, ExportOptions()) == []


def test_a_sixth_document_becomes_a_placeholder() -> None:
    payload, report = export(DIALECT, [message("user", text("q"), *(document(f"d{n}") for n in range(6)))])
    assert sum("document" in block for block in payload["messages"][0]["content"]) == 5
    assert [(loss.rule, loss.kind) for loss in report] == [("B6", "placeholder")]


def test_an_error_result_without_content_gets_a_text() -> None:
    call = {"type": "tool_call", "id": "c", "name": "f", "args": {}}
    payload, report = export(
        DIALECT,
        [message("user", text("q")), message("assistant", call), message("tool", tool_call_id="c", status="error")],
    )
    result = payload["messages"][2]["content"][0]["toolResult"]
    assert (result["status"], len(result["content"])) == ("error", 1)
    assert [(loss.rule, loss.kind) for loss in report] == [("B11", "synthesized")]


def test_models_that_know_no_status_get_none() -> None:
    call = {"type": "tool_call", "id": "c", "name": "f", "args": {}}
    history = [
        message("user", text("q")),
        message("assistant", call),
        message("tool", text("x"), tool_call_id="c", status="error"),
    ]
    payload, report = export(DIALECT, history, model="meta.llama4-maverick-17b-instruct-v1:0")
    assert [(loss.rule, loss.kind) for loss in report] == [("B11", "downgraded")]
    assert "status" not in payload["messages"][2]["content"][0]["toolResult"]


def test_arguments_with_nan_become_a_plain_document() -> None:
    call = {"type": "tool_call", "id": "c", "name": "f", "args": {"x": float("nan"), "y": b"b"}}
    payload, report = export(
        DIALECT, [message("user", text("q")), message("assistant", call), message("tool", text("r"), tool_call_id="c")]
    )
    assert complaints(payload) == DIALECT.lint(payload, ExportOptions()) == []
    assert [(loss.rule, loss.kind) for loss in report] == [("B12", "downgraded")]


def test_bytes_that_cannot_be_decoded_become_a_placeholder() -> None:
    image = {"type": "image", "mime_type": "image/png", "base64": "%%%"}
    payload, report = export(DIALECT, [message("user", image)])
    assert list(payload["messages"][0]["content"][0]) == ["text"]
    assert [(loss.rule, loss.kind) for loss in report] == [("B6", "unresolved")]


@pytest.mark.parametrize(
    ("payload", "where"),
    [
        ([], "messages"),
        ({"messages": "x"}, "messages"),
        ([{"role": "user", "content": "x"}], "messages[0].content"),
        ([{"role": "robot", "content": []}], "messages[0].role"),
        ([{"role": "user", "content": [3]}], "messages[0].content[0]"),
        (None, "messages"),
        ({"system": 3, "messages": []}, "system"),
    ],
)
def test_what_is_no_history_is_refused_with_its_place(payload: Any, where: str) -> None:
    with pytest.raises(MalformedHistoryError) as raised:
        read(payload)
    assert any(where in problem for problem in raised.value.problems)


def test_it_knows_its_own_and_not_anthropic_messages() -> None:
    assert DIALECT.recognises(NATIVE) > 0.8
    assert DIALECT.recognises([{"role": "user", "content": [{"type": "text", "text": "x"}]}]) == 0.0
    assert DIALECT.recognises([{"role": "user", "content": "x"}]) == 0.0


@pytest.mark.parametrize(
    "notes", [[{"type": "citation", "extras": {"bedrock": {"title": "t"}}}], [{"type": "citation"}]]
)
def test_a_picture_with_citations_keeps_the_picture(notes: list[Any]) -> None:
    picture = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png", "annotations": notes}
    payload, report = export(DIALECT, [message("user", picture)])
    (block,) = payload["messages"][0]["content"]
    assert list(block) == ["image"]
    assert [(loss.rule, loss.kind) for loss in report] == [("B4", "dropped")]
