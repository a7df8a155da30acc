"""What a request says beside its messages counts for its rules, and what the server holds counts as there."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint

U: Any = {"role": "user", "content": "q"}
A: Any = {"role": "assistant", "content": "a"}
OUT: Any = {"type": "function_call_output", "call_id": "c", "output": "ok"}
CALL: Any = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
REFERENCE: Any = {"type": "item_reference", "id": "fc_1"}
THOUGHT: Any = {"type": "thinking", "thinking": "x", "signature": "s"}
USE: Any = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
GIVES: Any = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "ok"}]}
MARK: Any = {"cache_control": {"type": "ephemeral"}}
TEXT: Any = {"type": "text", "text": "x"}
TOOL: Any = {"name": "f", "input_schema": {"type": "object"}}
RESULT = "web_search_tool_result"
SEARCH: Any = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}


def told(payload: Any, dialect: str, **options: Any) -> list[tuple[str, str]]:
    return [(found.rule, found.path) for found in lint(payload, dialect, **options)]


def asked(*blocks: Any) -> Any:
    return {"role": "user", "content": list(blocks)}


def answered(*blocks: Any) -> Any:
    return {"role": "assistant", "content": list(blocks)}


def found_pages(**keys: Any) -> Any:
    page = {"type": "web_search_result", "title": "t", "url": "https://a", **keys}
    return [
        U,
        answered(SEARCH, {"type": RESULT, "tool_use_id": "s", "content": [page]}, TEXT),
    ]


@pytest.mark.parametrize(
    "request_",
    [
        {"input": [OUT], "previous_response_id": "resp_1"},
        {"input": [OUT], "conversation": "conv_1"},
        {"input": [OUT], "conversation": {"id": "conv_1"}},
        {"input": [U, REFERENCE, OUT]},
        {"input": [U, CALL, REFERENCE]},
    ],
)
def test_a_call_or_an_output_may_be_at_the_server(request_: Any) -> None:
    assert told(request_, "openai-responses") == []


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"input": [OUT], "previous_response_id": None, "conversation": ""}, [("R4", "input[0]")]),
        ({"input": [U, OUT, REFERENCE]}, [("R4", "input[1]")]),
        ({"input": [OUT, OUT], "conversation": "conv_1"}, [("R8", "input[1]")]),
        ({"input": [CALL], "previous_response_id": "resp_1"}, [("R3", "input[0]")]),
        ({"input": [REFERENCE, CALL]}, [("R3", "input[1]")]),
        (
            {"input": [CALL, {**OUT, "type": "custom_tool_call_output"}], "conversation": "conv_1"},
            [("R3", "input[1]")],
        ),
    ],
)
def test_what_the_server_holds_excuses_nothing_else(request_: Any, expected: Any) -> None:
    assert told(request_, "openai-responses") == expected


def test_a_request_says_itself_whether_it_is_stored() -> None:
    items = [U, {"type": "reasoning", "id": "rs_1", "summary": []}, CALL, OUT]
    assert told({"input": items, "store": True}, "openai-responses") == []
    assert told({"input": items, "store": False}, "openai-responses", store=True) == [("R2", "input[1]")]
    assert told({"input": items}, "openai-responses", store=True) == []


def test_what_langchain_sends_to_responses_breaks_no_rule() -> None:
    from langchain_openai.chat_models.base import _construct_responses_api_input

    picture = {"type": "image", "url": "https://a/b.png"}
    sent = _construct_responses_api_input(
        [HumanMessage([{"type": "text", "text": "q"}, picture]), AIMessage("a"), HumanMessage("q")]
    )
    assert told({"input": sent}, "openai-responses") == []


@pytest.mark.parametrize(
    ("dialect", "payload", "old", "rule"),
    [
        (
            "anthropic",
            {"messages": [U, {"role": "system", "content": "s"}, A]},
            ("claude-sonnet-4-5", "claude-opus-4-1-20250805", "claude-3-7-sonnet-latest"),
            ("A17", "messages[1]"),
        ),
        (
            "google",
            {
                "contents": [
                    {"role": "user", "parts": [{"text": "q"}]},
                    {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
                    {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
                ]
            },
            ("gemini-3-pro-preview", "models/gemini-3-flash"),
            ("G10", "contents[1]"),
        ),
    ],
)
def test_the_model_of_a_request_decides_unless_another_is_given(
    dialect: str, payload: Any, old: tuple[str, ...], rule: Any
) -> None:
    other = {"anthropic": "claude-opus-4-8", "google": "gemini-2.5-pro"}[dialect]
    for model in old:
        assert told({**payload, "model": model}, dialect) == [rule]
        assert told(payload, dialect, model=model) == [rule]
        assert told({**payload, "model": model}, dialect, model=other) == []
    assert told(payload, dialect) == told({**payload, "model": "my-own"}, dialect) == []


def test_a_system_message_may_stand_behind_what_a_server_tool_gave() -> None:
    system = {"role": "system", "content": "s"}
    pages = found_pages(encrypted_content="e")
    history = [U, answered(*pages[1]["content"][:2]), system, A]
    assert told(history, "anthropic") == []
    assert told([U, A, system, A], "anthropic") == [("A17", "messages[2]")]


@pytest.mark.parametrize(
    ("thinking", "messages", "expected"),
    [
        ("enabled", [U, answered(USE), GIVES], [("A12", "messages[1].content[0]")]),
        ("enabled", [U, answered(TEXT, USE), GIVES], [("A12", "messages[1].content[0]")]),
        ("enabled", [U, answered(THOUGHT, USE), GIVES], []),
        ("enabled", [U, answered({"type": "redacted_thinking", "data": "x"}, USE), GIVES], []),
        ("enabled", [U, answered(THOUGHT, USE), GIVES, answered({**USE, "id": "b"}), asked(*GIVES["content"])], None),
        ("enabled", [U, answered(USE), GIVES, A, U], []),
        ("enabled", [U, A], []),
        ("adaptive", [U, answered(USE), GIVES], []),
        ("disabled", [U, answered(USE), GIVES], []),
    ],
)
def test_enabled_thinking_leads_the_turn_that_calls_tools(thinking: str, messages: Any, expected: Any) -> None:
    found = told({"messages": messages, "thinking": {"type": thinking, "budget_tokens": 2000}}, "anthropic")
    assert [one for one in found if one[0] == "A12"] == (expected or [])


def test_pages_that_a_search_found_have_their_encrypted_content() -> None:
    assert told(found_pages(encrypted_content="e"), "anthropic") == []
    path = "messages[1].content[1].content[0].encrypted_content"
    assert told(found_pages(), "anthropic") == told(found_pages(encrypted_content=None), "anthropic") == [("A13", path)]


@pytest.mark.parametrize(
    ("keys", "marks", "expected"),
    [
        ({"tools": [{**TOOL, **MARK}]}, 4, ["messages[0].content[3]"]),
        ({"tools": [{**TOOL, **MARK}], "system": [{**TEXT, **MARK}]}, 3, ["messages[0].content[2]"]),
        ({"tools": [TOOL]}, 4, []),
        ({"tools": [{**TOOL, "cache_control": {"type": "x"}}]}, 0, ["tools[0].cache_control.type"]),
        ({**MARK, "tools": [{**TOOL, **MARK}]}, 3, ["cache_control"]),
        ({**MARK}, 3, []),
        ({"cache_control": {"type": "ephemeral", "ttl": "2h"}}, 0, ["cache_control.ttl"]),
    ],
)
def test_marks_count_wherever_a_request_has_them(keys: Any, marks: int, expected: list[str]) -> None:
    last = [] if expected[:1] == ["messages[0].content[3]"] or marks == 4 else [TEXT]
    payload = {**keys, "messages": [asked(*[{**TEXT, **MARK}] * marks, *last)]}
    assert told(payload, "anthropic") == [("A16", path) for path in expected]


def test_the_mark_of_a_request_is_that_of_a_last_block_which_has_one() -> None:
    assert told({**MARK, "messages": [asked(*[{**TEXT, **MARK}] * 4)]}, "anthropic") == []


def test_an_empty_answer_may_end_a_request_that_is_sent_as_it_is() -> None:
    for content in ("", []):
        history = [U, {"role": "assistant", "content": content}]
        assert told(history, "anthropic", for_next_turn=False) == []
        assert told(history, "anthropic") == [("A3", "messages[1].content")]
    assert told([U, answered({"type": "text", "text": ""})], "anthropic", for_next_turn=False) == [
        ("A4", "messages[1].content[0]")
    ]


def test_openai_takes_the_name_of_a_tool_and_annotations_of_an_answer() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history = [
        U,
        {"role": "assistant", "content": None, "annotations": [], "refusal": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "name": "f", "content": "ok"},
    ]
    assert told(history, "openai-chat") == []
    assert told(history, "openai-chat", profile="groq")[0] == ("C5", "messages[1].annotations")
    assert told([{**U, "annotations": []}], "openai-chat") == [("C5", "messages[0].annotations")]


@pytest.mark.parametrize(
    ("dialect", "payload", "expected"),
    [
        (
            "google",
            [
                {"role": "user", "parts": [{"text": "q"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
            ],
            [("G7", "contents[1]")],
        ),
        (
            "bedrock",
            [
                {"role": "user", "content": [{"text": "q"}]},
                {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}]},
            ],
            [("B8", "messages[1].content")],
        ),
    ],
)
def test_a_last_call_without_result_is_found_where_it_is(dialect: str, payload: Any, expected: Any) -> None:
    assert told(payload, dialect) == expected


def test_an_export_leaves_a_search_out_whose_pages_cannot_go_back() -> None:
    for keys, kinds in (({}, ["text"]), ({"encrypted_content": "e"}, [SEARCH["type"], RESULT, "text"])):
        export = export_messages(import_messages(found_pages(**keys), "anthropic").envelopes, "anthropic")
        assert [block["type"] for block in export.payload["messages"][1]["content"]] == kinds
        assert {loss.rule for loss in export.report} == ({"A13"} if kinds == ["text"] else set())
        assert lint(export.payload, "anthropic") == []
