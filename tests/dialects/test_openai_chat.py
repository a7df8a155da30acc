"""Chat Completions: forms that real logs hold, both directions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.chat_hosts import HOSTS
from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint
from langgraph_portable_checkpoint.errors import MalformedHistoryError
from tests.dialects import oracle_shapes
from tests.dialects.histories import CLAUDE, OPENAI, assistant, call, message, result, system, text, user


def read(*messages: Any, **options: Any) -> list[Any]:
    return list(import_messages(list(messages), "openai-chat", **options).envelopes)


def write(envelopes: list[Any], **options: Any) -> list[Any]:
    messages: list[Any] = export_messages(envelopes, "openai-chat", **options).payload["messages"]
    if options.get("profile") in (None, "openai"):
        assert not oracle_shapes.breaches("openai-chat", messages)
    return messages


U = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    "answer",
    [
        {"role": "assistant", "content": "ok"},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": "ok", "refusal": None},
        {"role": "assistant", "content": None, "refusal": "I will not."},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        {"role": "assistant", "content": None, "audio": {"id": "audio_1"}},
        {"role": "assistant", "content": "ok", "name": "bob"},
    ],
)
def test_answers_come_back_as_they_were(answer: dict[str, Any]) -> None:
    assert write(read(U, answer)) == [U, answer]


@pytest.mark.parametrize("content", [{"content": None}, {"content": ""}, {}], ids=["null", "empty", "absent"])
def test_a_call_without_text_keeps_how_that_was_said(content: dict[str, Any]) -> None:
    calls = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}]
    asks = {"role": "assistant", **content, "tool_calls": calls}
    history = [U, asks, {"role": "tool", "tool_call_id": "a", "content": "1"}]
    assert write(read(*history)) == history


def test_custom_tool_calls_go_back() -> None:
    calls = [{"id": "a", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}]
    history = [
        U,
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
    ]
    envelopes = read(*history)
    assert envelopes[1]["content"][0]["args"] == {"__arg1": "SELECT 1"}
    assert write(envelopes) == history


CUSTOM = {"id": "call_1", "type": "custom", "custom": {"name": "run", "input": "ls"}}


@pytest.mark.parametrize("profile", [name for name, host in HOSTS.items() if host.tools])
def test_a_custom_call_is_a_function_s_where_the_host_knows_no_other(profile: str) -> None:
    calls = {"role": "assistant", "content": None, "tool_calls": [CUSTOM]}
    history = read(U, calls, {"role": "tool", "tool_call_id": "call_1", "content": "ok"}, U)
    export = export_messages(history, "openai-chat", profile=profile)
    kind = export.payload["messages"][1]["tool_calls"][0]["type"]
    assert kind == ("custom" if HOSTS[profile].custom_calls else "function")
    assert ("custom" in [loss.detail for loss in export.report]) == (kind == "function")
    assert lint(export.payload, "openai-chat", profile=profile) == []
    given = {"messages": [U, calls]}
    told = [finding.path for finding in lint(given, "openai-chat", profile=profile) if finding.rule == "C5"]
    assert told == ([] if HOSTS[profile].custom_calls else ["messages[1].tool_calls[0].type"])


@pytest.mark.parametrize("source", ["mistral", "openai-chat"])
def test_a_call_without_a_type_is_a_function_s(source: str) -> None:
    called = {"id": "abcdefghi", "function": {"name": "f", "arguments": '{"a":1}'}}
    calls = {"role": "assistant", "content": "", "tool_calls": [called]}
    history = [U, calls, {"role": "tool", "tool_call_id": "abcdefghi", "name": "f", "content": "ok"}, U]
    export = export_messages(import_messages(history, source).envelopes, "openai-chat")
    assert export.payload["messages"][1]["tool_calls"] == [{**called, "type": "function"}]
    assert lint(export.payload, "openai-chat") == []


def test_a_document_of_mistral_is_a_file_elsewhere() -> None:
    part = {"type": "document_url", "document_url": "https://e.example/a.pdf"}
    history = import_messages([{"role": "user", "content": [{"type": "text", "text": "x"}, part]}], "mistral").envelopes
    export = export_messages(history, "openai-chat", profile="openrouter")
    assert export.payload["messages"][0]["content"][1]["type"] == "file"
    assert lint(export.payload, "openai-chat", profile="openrouter") == []


def test_audio_by_its_id_goes_to_hosts_alone_that_know_it() -> None:
    said = {"role": "assistant", "content": "x", "reasoning_content": "r", "audio": {"id": "audio_1"}}
    export = export_messages(read(U, said, U), "openai-chat", profile="compatible")
    assert lint(export.payload, "openai-chat", profile="compatible") == []
    assert "placeholder" in [loss.kind for loss in export.report]


def test_a_legacy_function_call_becomes_a_tool_call() -> None:
    history = [
        U,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "assistant", "content": "ok"},
    ]
    written = write(read(*history))
    assert written[1]["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}
    assert written[2]["role"] == "tool"
    assert written[2]["tool_call_id"] == written[1]["tool_calls"][0]["id"]


def test_empty_arguments_are_none_at_all() -> None:
    calls = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]
    envelopes = read(
        U, {"role": "assistant", "tool_calls": calls}, {"role": "tool", "tool_call_id": "a", "content": "1"}
    )
    assert envelopes[1]["content"][0]["args"] == {}
    assert write(envelopes)[1]["tool_calls"] == calls
    assert export_messages(envelopes, "anthropic").payload["messages"][1]["content"][0]["input"] == {}


def test_the_spelling_of_arguments_is_kept_between_providers() -> None:
    odd = '{ "b":1,\n"a" : 2}'
    calls = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": odd}}]
    envelopes = read(
        U, {"role": "assistant", "tool_calls": calls}, {"role": "tool", "tool_call_id": "a", "content": "1"}
    )
    assert export_messages(envelopes, "openai-responses").payload["input"][1]["arguments"] == odd


def test_a_part_of_unknown_type_goes_back_to_its_own_api_only() -> None:
    part = {"type": "hologram", "data": 1}
    envelopes = read({"role": "user", "content": [{"type": "text", "text": "see"}, part]})
    assert export_messages(envelopes, "openai-chat").payload["messages"][0]["content"][1] == part
    export = export_messages(envelopes, "anthropic")
    assert "hologram: not available" in str(export.payload)
    assert [(loss.kind, loss.detail) for loss in export.report] == [("placeholder", "hologram")]


def test_cache_hints_go_back_where_they_came_from() -> None:
    part = {"type": "text", "text": "long", "cache_control": {"type": "ephemeral"}}
    history = [{"role": "user", "content": [part]}]
    assert write(read(*history, profile="openrouter"), profile="openrouter") == history
    anthropic = export_messages(read(*history), "anthropic").payload["messages"]
    assert anthropic == [{"role": "user", "content": [part]}]


def test_the_developer_role_is_system_where_the_host_does_not_know_it() -> None:
    history = [{"role": "developer", "content": "s"}, U]
    assert write(read(*history)) == history
    assert write(read(*history), profile="groq")[0]["role"] == "system"


@pytest.mark.parametrize(
    ("extra", "provider"),
    [
        ({}, "openai"),
        ({"reasoning_details": []}, "openrouter"),
        ({"reasoning_content": "hm"}, "unknown"),
    ],
)
def test_the_host_is_guessed_by_its_marks(extra: dict[str, Any], provider: str) -> None:
    envelopes = read(U, {"role": "assistant", "content": "ok", **extra})
    assert envelopes[1]["origin"]["provider"] == provider


def test_a_response_is_read_as_its_message() -> None:
    response = {
        "object": "chat.completion",
        "id": "chatcmpl-1",
        "model": "gpt-4o",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
    }
    (envelope,) = import_messages(response).envelopes
    assert envelope["origin"]["response_id"] == "chatcmpl-1"
    assert envelope["content"] == [text("ok")]


def test_kimi_ids_come_back_in_every_turn_to_kimi_only() -> None:
    history = [user("a"), assistant(call("functions.f:0")), result("functions.f:0")] * 2
    kimi = write(history, profile="moonshot")
    assert [one["tool_calls"][0]["id"] for one in kimi if "tool_calls" in one] == ["functions.f:0"] * 2
    assert lint(kimi, "openai-chat", profile="moonshot") == []
    elsewhere = write(history)
    assert len({one["tool_calls"][0]["id"] for one in elsewhere if "tool_calls" in one}) == 2


def test_texts_of_anthropic_stay_parts_or_become_one() -> None:
    history = [user("hi"), assistant("one ", "two", origin=CLAUDE)]
    assert write(history)[1]["content"] == [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]
    assert write(history, profile="deepseek")[1]["content"] == "one two"


def test_unknown_roles_become_user() -> None:
    assert write([message("other", "hm", role_detail="critic")]) == [{"role": "user", "content": "hm"}]


def test_system_messages_stay_where_they_are() -> None:
    history = [system("a"), user("b"), assistant("c", origin=OPENAI), system("d"), user("e")]
    assert [one["role"] for one in write(history)] == ["system", "user", "assistant", "system", "user"]


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
def test_arguments_that_a_log_holds_as_an_object_are_sent_as_text(dialect: str) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
    item = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": {"a": 1}}
    chat = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    logged = chat if dialect == "openai-chat" else [item]
    asked = [{"role": "user", "content": "q"}, *logged]
    export = export_messages(import_messages(asked, dialect).envelopes, dialect, incomplete="synthesize")
    assert not lint(export.payload, dialect)
    assert '{\\"a\\": 1}' in json.dumps(export.payload)


@pytest.mark.parametrize(
    "call", [{"id": "a", "name": "f", "args": {"x": 1}}, {"id": "a", "type": "function"}, {"id": "a", "function": "f"}]
)
def test_a_call_without_a_function_is_refused_with_its_place(call: Any) -> None:
    history = [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    with pytest.raises(MalformedHistoryError, match=r"\[1\]\.tool_calls\[0\]\.function: is"):
        import_messages(history, "openai-chat")


def test_results_without_ids_find_their_calls_by_the_name_of_their_tool() -> None:
    calls = [{"function": {"name": name, "arguments": "{}"}} for name in "fg"]
    results = [{"role": "tool", "tool_name": name, "content": name * 2} for name in "gf"]
    history = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "", "tool_calls": calls}, *results]
    imported = import_messages(history, "openai-chat")
    sent = export_messages(imported.messages, "anthropic").payload["messages"]
    uses = {part["id"]: part["name"] for part in sent[1]["content"]}
    answers = {uses[part["tool_use_id"]]: part["content"] for part in sent[2]["content"]}
    assert answers == {"f": "ff", "g": "gg"}
