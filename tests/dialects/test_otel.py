"""OpenTelemetry GenAI messages: neutral both ways, and valid by the published schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_portable_checkpoint import export_messages, import_messages
from langgraph_portable_checkpoint.dialects.base import ExportOptions, ImportOptions
from langgraph_portable_checkpoint.dialects.bedrock import Bedrock
from langgraph_portable_checkpoint.dialects.google import Google
from langgraph_portable_checkpoint.dialects.lint.otel import RULES, lint_otel
from langgraph_portable_checkpoint.dialects.otel import OTel
from langgraph_portable_checkpoint.dialects.report import Report
from langgraph_portable_checkpoint.errors import IncompatibleHistoryError, MalformedHistoryError, UnknownDialectError
from tests.dialects.exporting import export
from tests.dialects.histories import CLAUDE
from tests.dialects.made import HISTORIES, JSON
from tests.dialects.oracle_otel import complaints
from tests.dialects.oracle_otel import (
    test_the_schema_knows_the_keys_of_the_official_types as test_the_schema_knows_the_keys_of_the_official_types,
)

DIALECT = OTel()


def read(payload: Any) -> list[Any]:
    return DIALECT.parse(payload, ImportOptions(), Report())


@settings(max_examples=200, deadline=None)
@given(HISTORIES)
def test_any_history_comes_back_as_it_was_and_is_valid(history: list[Any]) -> None:
    payload, report = export(DIALECT, history)
    assert report.losses == ()
    again = json.loads(json.dumps(payload, allow_nan=False))
    assert complaints(again["messages"]) == [] == DIALECT.lint(again, ExportOptions())
    assert read(again) == history


def test_attributes_of_a_span_are_read_also_as_json_text() -> None:
    user = {"role": "user", "parts": [{"type": "text", "content": "q"}]}
    answer = {"role": "assistant", "parts": [{"type": "text", "content": "a"}], "finish_reason": "stop"}
    envelopes = read(
        {
            "gen_ai.system_instructions": [{"type": "text", "content": "s"}],
            "gen_ai.input.messages": json.dumps([user]),
            "gen_ai.output.messages": [answer],
        }
    )
    assert [(one["role"], one["content"][0]["text"]) for one in envelopes] == [
        ("system", "s"),
        ("user", "q"),
        ("assistant", "a"),
    ]
    assert envelopes[2]["extras"] == {"otel": {"finish_reason": "stop"}}
    assert export_messages(envelopes, "otel").lossless


def test_spellings_in_the_wild_are_read() -> None:
    parts = [{"type": "thinking", "content": "hm"}, {"type": "tool_call", "id": "1", "name": "f", "arguments": "{bad"}]
    message, answer = read(
        [
            {"role": "assistant", "parts": parts},
            {"role": "user", "parts": [{"type": "tool_call_response", "id": "1", "result": {"a": 1}}]},
        ]
    )
    assert [block["type"] for block in message["content"]] == ["reasoning", "invalid_tool_call"]
    assert (answer["role"], answer["tool_call_id"], answer["content"][0]["text"]) == ("tool", "1", '{"a": 1}')


@pytest.mark.parametrize(
    ("payload", "where"),
    [
        ({}, "gen_ai.input.messages"),
        ({"messages": "x"}, "messages"),
        ([1], "messages[0]"),
        ([{"role": "user"}], "messages[0]"),
        ([{"role": "user", "parts": [1]}], "messages[0].parts[0]"),
        (None, "messages"),
        (
            [{"role": "user", "parts": [{"type": "text", "content": "", "portable_checkpoint.extras": 3}]}],
            "parts[0].portable",
        ),
        (
            [{"role": "user", "parts": [{"type": "text", "content": "", "portable_checkpoint.raw": {}}]}],
            "portable_checkpoint.raw",
        ),
        ([{"role": "user", "parts": [], "portable_checkpoint.origin": {"api": 1}}], "portable_checkpoint.origin"),
        (
            [
                {
                    "role": "tool",
                    "parts": [
                        {
                            "type": "tool_call_response",
                            "response": [{"type": "text", "content": "", "portable_checkpoint.annotations": [1]}],
                        }
                    ],
                }
            ],
            "response[0]",
        ),
    ],
)
def test_what_is_no_history_is_refused_with_its_place(payload: Any, where: str) -> None:
    with pytest.raises(MalformedHistoryError) as raised:
        read(payload)
    assert any(where in problem for problem in raised.value.problems)


BROKEN = {
    "O1": [None, [1], [{"parts": []}], [{"role": "user", "parts": 1}]],
    "O2": [[{"role": "user", "parts": [{"type": "thing"}]}], [{"role": "user", "parts": [{}]}]],
    "O3": [
        [{"role": "user", "parts": [{"type": "text"}]}],
        [{"role": "user", "parts": [{"type": "blob", "content": "x"}]}],
    ],
    "O4": [
        [{"role": "user", "parts": [], "extra": 1}],
        [{"role": "user", "parts": [{"type": "text", "content": "", "x": 1}]}],
    ],
    "O5": [[{"role": "user", "parts": [{"type": "server_tool_call", "name": "f", "server_tool_call": {}}]}]],
}


@pytest.mark.parametrize(("rule", "payload"), [(rule, case) for rule, cases in BROKEN.items() for case in cases])
def test_a_broken_rule_is_named(rule: str, payload: Any) -> None:
    assert rule in {finding.rule for finding in lint_otel(payload)}


def test_every_rule_has_a_broken_example() -> None:
    assert {rule.id for rule in RULES} == set(BROKEN)


OWN = st.dictionaries(
    st.sampled_from(
        [
            f"portable_checkpoint.{key}"
            for key in (
                "extras",
                "origin",
                "annotations",
                "id",
                "status",
                "usage",
                "type",
                "role",
                "artifact",
                "raw",
                "value",
                "media",
            )
        ]
    ),
    JSON | st.just({"api": "generate-content"}),
    max_size=2,
)
PARTS = st.builds(
    lambda part, own: {**part, **own},
    st.sampled_from(
        [
            {"type": "text", "content": "x"},
            {"type": "tool_call", "name": "f", "arguments": {}},
            {"type": "blob", "modality": "image", "content": "QQ=="},
            {"type": "tool_call_response", "id": "1", "response": "r"},
            {"type": "reasoning", "content": "hm"},
        ]
    ),
    OWN,
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.builds(
            lambda role, parts, own: {"role": role, "parts": parts, **own},
            st.sampled_from(["user", "assistant", "tool"]),
            st.lists(PARTS, max_size=3),
            OWN,
        ),
        max_size=3,
    )
)
def test_keys_of_ours_in_other_hands_are_refused_or_harmless(messages: list[Any]) -> None:
    try:
        envelopes = read(messages)
    except MalformedHistoryError:
        return
    for dialect in (Google(), Bedrock(), DIALECT):
        try:
            export(dialect, envelopes)
        except IncompatibleHistoryError:
            continue


@pytest.mark.parametrize(
    "response",
    [
        "tea",
        {"ok": True},
        {},
        1,
        2.5,
        True,
        False,
        [1, "a"],
        [{"a": 1}],
        [{"type": "text", "text": "as MCP has it"}],
        {"é": [None, {"x": 1}]},
    ],
)
def test_a_history_of_somebody_else_comes_back_as_it_was(response: Any) -> None:
    call = {"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": 1}}
    payload = {
        "messages": [
            {"role": "user", "parts": [{"type": "text", "content": "hi"}], "own": {"x": 1}},
            {"role": "assistant", "parts": [{"type": "text", "content": "yo"}, call], "finish_reason": "tool_call"},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": response}]},
            {"role": "assistant", "parts": [{"type": "text", "content": "done"}], "finish_reason": "stop"},
        ]
    }
    imported = import_messages(payload, "otel")
    said: Any = imported.messages
    assert export_messages(imported.envelopes, "otel").payload == payload
    assert export_messages(said, "otel").payload == payload


def test_parts_of_other_forms_of_messages_are_not_taken_for_parts() -> None:
    said: Any = [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "My name is Ada"}]}]
    with pytest.raises(MalformedHistoryError, match="text is not of this dialect"):
        import_messages(said, "otel")
    for part in (said[0]["parts"][0], {"type": {}}, {"type": []}):
        with pytest.raises(UnknownDialectError):
            import_messages([{"role": "user", "parts": [part]}])


def test_a_part_that_cannot_be_read_is_told_and_goes_back_as_it_came() -> None:
    parts = [{"type": "text", "content": "hi"}, {"type": "text"}, {"type": "own.thing", "x": 1}]
    payload = {"messages": [{"role": "user", "parts": parts, "portable_checkpoint.origin": CLAUDE}]}
    imported = import_messages(payload, "otel")
    assert [(loss.rule, loss.path, loss.detail) for loss in imported.report] == [
        ("unknown-part", "content[1]", "text"),
        ("unknown-part", "content[2]", "own.thing"),
    ]
    assert export_messages(imported.messages, "otel").payload == payload
    assert "own.thing" not in str(export_messages(imported.messages, "anthropic", on_unsupported_part="drop").payload)


def test_a_call_without_a_name_is_told_and_gets_one() -> None:
    imported = import_messages([{"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "arguments": {}}]}])
    assert [(loss.rule, loss.kind, loss.path) for loss in imported.report] == [("O3", "unresolved", "content[0].name")]
    back = export_messages(imported.envelopes, "otel")
    assert [(loss.rule, loss.kind) for loss in back.report] == [("O3", "re-keyed")]
    assert lint_otel(back.payload) == []


@pytest.mark.parametrize("key", ["output_token_details", "input_token_details"])
def test_a_usage_that_counts_nothing_is_kept_beside_the_message(key: str) -> None:
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, key: -1}
    payload = {"messages": [{"role": "assistant", "parts": [], "portable_checkpoint.usage": usage}]}
    imported = import_messages(payload, "otel")
    (message,) = imported.messages
    assert isinstance(message, AIMessage)
    assert message.usage_metadata == {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    assert export_messages([message], "otel").payload == payload


def test_keys_of_somebody_else_take_no_place_of_ours() -> None:
    extras = {"otel": {"role": "system", "finish_reason": "stop"}, "own": 1}
    said: Any = {"v": 1, "role": "user", "content": [{"type": "text", "text": "hi"}], "extras": extras}
    (message,) = export_messages([said], "otel").payload["messages"]
    assert message["role"] == "user"
    (back,) = import_messages({"messages": [message]}, "otel").envelopes
    assert back["extras"] == extras


def test_what_only_a_provider_s_own_form_says_is_told() -> None:
    chunk = {
        "type": "thinking",
        "thinking": [{"type": "text", "text": "t"}, {"type": "reference", "reference_ids": [7]}],
    }
    detail = {"type": "reasoning.text", "text": "t", "id": "r-9", "format": "anthropic-claude-v1"}
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    document = {"type": "document", "source": source, "citations": {"enabled": True}}
    asked = {"role": "user", "content": "q"}
    cases: list[tuple[str, list[Any], str]] = [
        ("mistral", [asked, {"role": "assistant", "content": [chunk, {"type": "text", "text": "a"}]}], "reference_ids"),
        ("openai-chat", [asked, {"role": "assistant", "content": "a", "reasoning_details": [detail]}], "id"),
        ("anthropic", [{"role": "user", "content": [document, {"type": "text", "text": "q"}]}], "enabled"),
    ]
    for dialect, history, key in cases:
        export = export_messages(import_messages(history, dialect).envelopes, "otel")
        assert [(loss.rule, loss.kind, loss.detail) for loss in export.report] == [("O3", "dropped", key)], dialect


def test_an_id_that_was_made_for_a_call_of_gemini_s_does_not_go_back_to_it() -> None:
    called = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
    answer = {"functionResponse": {"name": "f", "response": {"output": "r"}}, "partMetadata": {"k": "v"}}
    history = [{"role": "user", "parts": [{"text": "q"}]}, called, {"role": "user", "parts": [answer]}]
    told = export_messages(import_messages({"contents": history}, "google").envelopes, "otel")
    back = export_messages(import_messages(told.payload, "otel").envelopes, "google", model="gemini-2.5-pro")
    assert back.payload["contents"] == history
    assert told.lossless


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "source_type": "base64", "data": "iVBORw0KGgo=", "mime_type": "image/png"},
        {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
    ],
)
def test_ordinary_parts_of_langchain_are_told_whole(part: dict[str, Any]) -> None:
    assert export_messages([HumanMessage([{"type": "text", "text": "see"}, part])], "otel").lossless


@pytest.mark.parametrize(
    ("arguments", "args"), [('{"city":"Paris"}', {"city": "Paris"}), ("", {}), (None, {}), ({"a": 1}, {"a": 1})]
)
def test_arguments_are_read_also_as_the_text_that_they_came_as(arguments: Any, args: Any) -> None:
    part = {"type": "tool_call", "id": "c", "name": "f", "arguments": arguments}
    imported = import_messages([{"role": "assistant", "parts": [part]}], "otel")
    message: Any = imported.messages[0]
    assert imported.report == ()
    assert message.tool_calls == [{"name": "f", "args": args, "id": "c", "type": "tool_call"}]


@pytest.mark.parametrize("arguments", ["{bad", "[1]", [1], 7])
def test_arguments_that_are_no_object_are_told(arguments: Any) -> None:
    part = {"type": "tool_call", "id": "c", "name": "f", "arguments": arguments}
    imported = import_messages([{"role": "assistant", "parts": [part]}], "otel")
    told = [(loss.rule, loss.kind, loss.path) for loss in imported.report]
    assert told == [("arguments", "unresolved", "content[0].args")]
    history = [HumanMessage("q"), *imported.messages]
    again = import_messages(export_messages(history, "otel", incomplete="synthesize").payload)
    assert "arguments" not in [loss.rule for loss in again.report]


def test_what_a_part_says_in_keys_of_its_own_goes_back_with_it() -> None:
    history: list[Any] = [
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "r", "signature": "S"},
                {"type": "text", "content": "t", "annotations": [1]},
                {"type": "tool_call", "id": "c", "name": "f", "arguments": {}, "thought_signature": "S"},
                {"type": "uri", "mime_type": "image/png", "modality": "image", "uri": "https://x.org/a.png", "more": 1},
            ],
        },
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "c", "response": "no", "is_error": True, "took": 3}],
        },
    ]
    imported = import_messages(history, "otel")
    assert imported.envelopes[1]["status"] == "error"
    back = export_messages(imported.messages, "otel").payload["messages"]
    assert [one["parts"] for one in back] == [one["parts"] for one in history]
    elsewhere = export_messages(imported.messages, "openai-chat")
    assert any("beside" in loss.action and "otel" in loss.detail for loss in elsewhere.report)
