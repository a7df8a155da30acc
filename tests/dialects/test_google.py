"""Gemini contents: what goes in comes out unchanged, and what comes from elsewhere is what Gemini takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.genai import types
from langchain_core.messages import HumanMessage

from langgraph_portable_checkpoint.dialects.base import ExportOptions, ImportOptions
from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint
from langgraph_portable_checkpoint.dialects.google import Google
from langgraph_portable_checkpoint.dialects.report import Placed, Report
from langgraph_portable_checkpoint.envelope.model import MessageEnvelope
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError, MalformedHistoryError
from tests.dialects import counting

DIALECT = Google()
GEMINI_3 = ExportOptions(model="gemini-3-pro-preview")


def read(payload: Any, profile: str = "gemini") -> list[MessageEnvelope]:
    return DIALECT.parse(payload, ImportOptions(profile=profile), Report(target="google"))


def write(envelopes: list[MessageEnvelope], options: ExportOptions | None = None, report: Report | None = None) -> Any:
    placed = [Placed(envelope, index, 0) for index, envelope in enumerate(envelopes)]
    return DIALECT.render(placed, options or ExportOptions(), Report(target="google") if report is None else report)


def message(role: str, *content: dict[str, Any], **more: Any) -> Any:
    return {"v": 1, "role": role, "content": list(content), **more}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def call(name: str, call_id: str, **args: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "args": args}


STEP = [
    message("user", text("weather?")),
    message("assistant", call("weather", "c1", city="Oslo"), call("time", "c2"), origin={"provider": "openai"}),
    message("tool", text("rain"), tool_call_id="c1"),
    message("tool", text("no clock"), tool_call_id="c2", status="error"),
    message("assistant", text("It rains.")),
]


def histories(corpus: Path) -> list[tuple[str, Any]]:
    return [(path.name, json.loads(path.read_text())) for path in sorted((corpus / "gemini").glob("*.history.json"))]


def test_recorded_histories_come_back_as_they_went_in(corpus: Path) -> None:
    found = histories(corpus)
    assert len(found) == 8
    for name, payload in found:
        profile = "vertex" if "vertex" in name else "gemini"
        report = Report(target="google")
        exported = write(read(payload, profile), ExportOptions(profile=profile), report)
        assert json.dumps(exported["contents"]) == json.dumps(payload), name
        assert report.losses == (), name


def test_recorded_histories_hold_what_their_parts_hold(corpus: Path) -> None:
    for path in sorted((corpus / "gemini").glob("*.history.json")):
        found = counting.of_envelopes(read(json.loads(path.read_text())))
        expected = counting.gemini(path)
        assert {key: found[key] for key in expected} == expected, path.name


def test_chat_recordings_of_the_cli_are_read(corpus: Path) -> None:
    paths = sorted((corpus / "gemini_cli_sessions").glob("*.json"))
    assert len(paths) == 2
    for path in paths:
        envelopes = read(json.loads(path.read_text()))
        found = counting.of_envelopes(envelopes)
        expected = counting.gemini_cli(path)
        assert {key: found[key] for key in expected} == expected, path.name
        answers = [envelope for envelope in envelopes if envelope["role"] == "assistant"]
        assert {envelope["origin"].get("model") for envelope in answers} == {"gemini-2.5-pro"}
        assert all(envelope["usage"]["total_tokens"] > 0 for envelope in answers)


def test_recorded_calls_are_read_with_their_streams_joined(corpus: Path) -> None:
    text = (corpus / "gemini" / "geminicli_persistent_session.responses.jsonl").read_text()
    envelopes = read(text)
    assert len(envelopes) == len(text.splitlines())
    assert {envelope["role"] for envelope in envelopes} == {"assistant"}
    calls = text.count('"functionCall"')
    assert counting.of_envelopes(envelopes)["call"] == calls > 20


def test_responses_of_one_step_stand_in_one_content_and_errors_say_so() -> None:
    contents = write(STEP)["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user", "model"]
    answers = [part["functionResponse"] for part in contents[2]["parts"]]
    assert answers == [
        {"name": "weather", "response": {"output": "rain"}, "id": "c1"},
        {"name": "time", "response": {"error": "no clock"}, "id": "c2"},
    ]
    assert DIALECT.lint({"contents": contents}, GEMINI_3) == []


def test_vertex_gets_no_call_ids() -> None:
    report = Report(target="google")
    payload = write(STEP, ExportOptions(profile="vertex"), report)
    assert '"id"' not in json.dumps(payload)
    assert [loss.rule for loss in report if loss.kind == "dropped"] == ["G12", "G12"]


def test_only_the_first_foreign_call_of_a_step_gets_the_stand_in_signature() -> None:
    report = Report(target="google")
    parts = write(STEP, GEMINI_3, report)["contents"][1]["parts"]
    assert ["thoughtSignature" in part for part in parts] == [True, False]
    assert [(loss.rule, loss.kind) for loss in report] == [("G10", "synthesized")]


def test_calls_of_gemini_3_that_lost_their_signature_get_the_stand_in() -> None:
    step = message(
        "assistant", call("f", "c"), origin={"provider": "google", "api": "generate-content", "model": "gemini-3-pro"}
    )
    report = Report(target="google")
    payload = write(
        [message("user", text("q")), step, message("tool", text("r"), tool_call_id="c")], ExportOptions(), report
    )
    assert payload["contents"][1]["parts"][0]["thoughtSignature"]
    assert [(loss.rule, loss.kind) for loss in report] == [("G10", "synthesized")]


def test_gemini_2_gets_no_stand_in_signature() -> None:
    assert "thoughtSignature" not in json.dumps(write(STEP, ExportOptions(model="gemini-2.5-pro")))


def test_unsigned_calls_are_refused_on_request() -> None:
    with pytest.raises(IncompatibleHistoryError):
        write(STEP, ExportOptions(missing_signature="raise"))


def test_unsigned_calls_become_text_with_their_results_on_request() -> None:
    payload = write(STEP, ExportOptions(missing_signature="text"))
    assert "functionCall" not in json.dumps(payload)
    assert "functionResponse" not in json.dumps(payload)
    assert "rain" in json.dumps(payload)


def test_a_run_of_model_contents_becomes_one_where_its_last_calls_a_function() -> None:
    contents = [
        {"role": "user", "parts": [{"text": "q"}]},
        *({"role": "model", "parts": [{"text": text}]} for text in ("a", "b")),
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "1"}}}]},
    ]
    report = Report(target="google")
    written = write(read(contents), report=report)["contents"]
    assert [len(content["parts"]) for content in written] == [1, 3, 1]
    assert DIALECT.lint(written, ExportOptions()) == []
    assert [(loss.rule, loss.kind) for loss in report] == [("G6", "merged")]
    apart = write(read(contents[:3]))["contents"]
    assert apart == contents[:3]


def test_an_empty_text_keeps_its_signature() -> None:
    parts = [{"text": "a", "thoughtSignature": "QQ=="}, {"text": "", "thoughtSignature": "Qg=="}]
    contents = [{"role": "user", "parts": [{"text": "q"}]}, {"role": "model", "parts": parts}]
    envelopes = read(contents)
    for envelope in envelopes:
        for block in envelope["content"]:
            block.pop("raw")
    assert write(envelopes)["contents"] == contents


def test_a_signature_of_another_family_is_dropped_and_told() -> None:
    contents = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [{"text": "a", "thoughtSignature": "QQ=="}]},
    ]
    envelopes = DIALECT.parse(contents, ImportOptions(model="gemini-2.5-pro"), Report())
    report = Report(target="google")
    assert "QQ==" not in json.dumps(write(envelopes, GEMINI_3, report))
    assert [(loss.rule, loss.kind) for loss in report] == [("G10", "dropped")]


def test_responses_without_id_go_to_the_calls_of_their_name_in_order() -> None:
    contents = [
        {"role": "user", "parts": [{"text": "q"}]},
        {
            "role": "model",
            "parts": [{"functionCall": {"name": "f", "args": {}}}, {"functionCall": {"name": "f", "args": {}}}],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "f", "response": {"output": str(n)}}} for n in (1, 2)],
        },
    ]
    _, model, first, second = read(contents)
    assert [first["tool_call_id"], second["tool_call_id"]] == [block["id"] for block in model["content"]]
    assert first["content"][0]["text"] == "1"


def test_both_spellings_read_the_same() -> None:
    snake = {"role": "model", "parts": [{"function_call": {"name": "f", "args": {}}, "thought_signature": "QQ=="}]}
    block = read([snake])[0]["content"][0]
    assert (block["type"], block["extras"]["signature"]) == ("tool_call", "QQ==")


@pytest.mark.parametrize(
    ("payload", "where"),
    [
        ([], "no contents"),
        ([{"role": "user", "parts": "x"}], "[0].parts"),
        ([{"role": "user", "parts": [1]}], "[0].parts[0]"),
        ([{"role": "assistant", "parts": []}], "[0].role"),
        ({"contents": 3}, "contents"),
        (7, "payload"),
        ([None], "[0]"),
    ],
)
def test_what_is_no_contents_is_refused_with_its_place(payload: Any, where: str) -> None:
    with pytest.raises(MalformedHistoryError) as raised:
        read(payload)
    assert any(where in problem for problem in raised.value.problems)


def test_a_history_that_the_sdk_dumped_with_all_its_nulls_keeps_its_signatures() -> None:
    contents = [
        types.Content(role="user", parts=[types.Part(text="q")]),
        types.Content(
            role="model",
            parts=[types.Part(function_call=types.FunctionCall(name="f", args={}), thought_signature=b"signature")],
        ),
        types.Content(role="user", parts=[types.Part.from_function_response(name="f", response={"output": "r"})]),
    ]
    for mode in ("json", "python"):
        history = [content.model_dump(mode=mode) for content in contents]
        export = export_messages(import_messages({"contents": history}, "google").envelopes, "google")
        (part,) = export.payload["contents"][1]["parts"]
        assert part.get("thought_signature") in (b"signature", "c2lnbmF0dXJl")
        assert export.lossless


YOUTUBE = "https://www.youtube.com/watch?v=9hE5-98ZeCg"
UPLOAD = "https://generativelanguage.googleapis.com/v1beta/files/abc"


@pytest.mark.parametrize("uri", [YOUTUBE, "https://youtu.be/9hE5-98ZeCg", UPLOAD])
def test_a_file_whose_type_gemini_knows_needs_none(uri: str) -> None:
    history = {"contents": [{"role": "user", "parts": [{"fileData": {"fileUri": uri}}, {"text": "Summarise"}]}]}
    assert not lint(history, "google")
    imported = import_messages(history, "google")
    assert imported.report == ()
    [block, _] = imported.envelopes[0]["content"]
    assert "mime_type" not in block
    assert block["type"] == ("file" if uri == UPLOAD else "video")
    assert export_messages(imported.messages, "google").payload == history
    part = {"type": "media", "file_uri": uri}
    export = export_messages([HumanMessage([part, {"type": "text", "text": "Summarise"}])], "google")
    assert export.payload == history
    assert export.lossless


def test_vertex_is_told_the_type_of_a_file() -> None:
    history = {"contents": [{"role": "user", "parts": [{"fileData": {"fileUri": YOUTUBE}}, {"text": "Summarise"}]}]}
    assert [finding.rule for finding in lint(history, "google", profile="vertex")] == ["G14"]
    export = export_messages(import_messages(history, "google").messages, "google", profile="vertex")
    assert export.payload["contents"][0]["parts"][0]["fileData"] == {"fileUri": YOUTUBE, "mimeType": "video/mp4"}
    assert "G14" in [loss.rule for loss in export.report]
    assert not lint(export.payload, "google", profile="vertex")


@pytest.mark.parametrize("profile", ["gemini", "vertex"])
def test_bytes_of_no_known_type_are_not_sent(profile: str) -> None:
    unknown = {"type": "file", "base64": "AQIDaGVsbG8=", "mime_type": "application/octet-stream"}
    link = {"type": "file", "url": "https://example.org/a.csv", "mime_type": "application/octet-stream"}
    export = export_messages([HumanMessage([unknown, link])], "google", profile=profile)
    [text, file] = export.payload["contents"][0]["parts"]
    assert text == {"text": "[application/octet-stream: not available here]"}
    assert file == {"fileData": {"fileUri": "https://example.org/a.csv", "mimeType": "text/csv"}}
    assert [(loss.rule, loss.kind) for loss in export.report] == [("G14", "unresolved"), ("G14", "synthesized")]
    assert not lint(export.payload, "google", profile=profile)
    blob = {"inlineData": {"mimeType": "application/octet-stream", "data": "AQID"}}
    assert [finding.rule for finding in lint({"contents": [{"role": "user", "parts": [blob]}]}, "google")] == ["G14"]
