"""A function response goes back with the name and the id of its call, and is told where it came with others."""

from __future__ import annotations

from typing import Any

from langgraph_portable_checkpoint import export_messages, import_messages, lint


def talk(calls: list[dict[str, Any]], answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    asked = [{"functionCall": {"args": {}, **call}, "thoughtSignature": "c2ln"} for call in calls]
    given = [{"functionResponse": {"response": {"output": "r"}, **answer}} for answer in answers]
    said = {"role": "user", "parts": [{"text": "x"}]}
    return [said, {"role": "model", "parts": asked}, {"role": "user", "parts": given}]


def back(calls: list[dict[str, Any]], answers: list[dict[str, Any]], **options: Any) -> tuple[Any, list[Any]]:
    export = export_messages(import_messages(talk(calls, answers), "google").messages, "google", **options)
    assert not lint(export.payload, "google")
    given = [part.get("functionResponse", part) for part in export.payload["contents"][2]["parts"]]
    return given, [(loss.rule, loss.kind, loss.detail) for loss in export.report]


def test_a_response_of_another_name_gets_that_of_its_call() -> None:
    given, told = back([{"name": "ok", "id": "1"}], [{"name": "other", "id": "1", "scheduling": "SILENT"}])
    assert given == [{"name": "ok", "id": "1", "response": {"output": "r"}, "scheduling": "SILENT"}]
    assert told == [("G2", "dropped", "other")]


def test_a_response_has_the_new_name_of_a_call_that_got_one() -> None:
    (given,), told = back([{"name": "a tool", "id": "1"}], [{"name": "a tool", "id": "1"}])
    assert given["name"] != "a tool"
    assert [(rule, kind) for rule, kind, _ in told] == [("G8", "re-keyed")]


def test_an_id_of_no_call_goes_where_other_calls_have_ids() -> None:
    calls = [{"name": "f", "id": "a"}, {"name": "f"}]
    given, told = back(calls, [{"name": "f", "id": "a"}, {"name": "f", "id": "zz"}])
    assert [answer.get("id") for answer in given] == ["a", None]
    assert told == [("G8", "dropped", "zz")]


def test_ids_of_responses_alone_go_back() -> None:
    given, told = back([{"name": "f"}], [{"name": "f", "id": "zz"}])
    assert (given[0]["id"], told) == ("zz", [])


def test_the_result_of_a_call_that_became_text_is_text() -> None:
    history = talk([{"name": "f", "id": "1"}], [{"name": "f", "id": "1"}])
    del history[1]["parts"][0]["thoughtSignature"]
    messages = import_messages(history, "google", model="gemini-3-pro-preview").messages
    export = export_messages(messages, "google", missing_signature="text", model="gemini-3-pro-preview")
    assert [list(part) for content in export.payload["contents"] for part in content["parts"]] == [["text"]] * 3
