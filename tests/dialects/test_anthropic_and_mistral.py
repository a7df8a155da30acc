"""Anthropic and Mistral: forms that real histories hold, both directions."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint
from tests.dialects import oracle_mistral, oracle_shapes
from tests.dialects.histories import CLAUDE, OPENAI, assistant, call, image, result, system, text, thought, user


def back(payload: Any, **options: Any) -> Any:
    """Through LangChain messages, as a thread would hold them."""
    imported = import_messages(payload, "anthropic")
    export = export_messages(imported.messages, "anthropic", **options)
    assert export.lossless, export.report
    assert not oracle_shapes.breaches("anthropic", export.payload["messages"])
    assert not lint(export.payload, "anthropic")
    return export.payload if isinstance(payload, dict) else export.payload["messages"]


def turn(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


U = {"role": "user", "content": "hi"}
T = {"type": "text", "text": "x"}


@pytest.mark.parametrize(
    "system_form",
    ["Be brief.", [{"type": "text", "text": "Be brief."}], [T, {**T, "cache_control": {"type": "ephemeral"}}]],
)
def test_the_system_parameter_comes_back_in_its_form(system_form: Any) -> None:
    payload = {"system": system_form, "messages": [U]}
    assert back(payload) == payload


USE = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}}


@pytest.mark.parametrize(
    "gives",
    [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok", "is_error": False},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "bad", "is_error": True},
        {"type": "tool_result", "tool_use_id": "toolu_1"},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": ""},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": [T, T]},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": [T], "cache_control": {"type": "ephemeral"}},
    ],
)
def test_results_come_back_in_their_form(gives: dict[str, Any]) -> None:
    messages = [U, turn("assistant", T, USE), turn("user", gives), turn("assistant", T)]
    assert back(messages) == messages


def test_text_behind_results_stays_in_their_message_or_in_its_own() -> None:
    gives = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
    together = [U, turn("assistant", USE), turn("user", gives, T), turn("assistant", T)]
    apart = [U, turn("assistant", USE), turn("user", gives), turn("user", T), turn("assistant", T)]
    assert back(together) == together
    assert back(apart) == apart


@pytest.mark.parametrize(
    "blocks",
    [
        [{"type": "thinking", "thinking": "", "signature": "s"}, T],
        [{"type": "redacted_thinking", "data": "x"}, T],
        [{**T, "citations": None}],
        [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            T,
        ],
        [
            {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "f", "server_name": "s", "input": {}},
            {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": [T]},
            T,
        ],
        [{"type": "compaction", "content": "so far"}, T],
        [T, T],
    ],
    ids=["empty thinking", "redacted", "null citations", "web search", "mcp", "compaction", "two texts"],
)
def test_assistant_blocks_come_back_byte_for_byte(blocks: list[Any]) -> None:
    messages = [U, turn("assistant", *blocks), U]
    assert back(messages) == messages


def test_half_a_pair_of_a_server_tool_is_left_out() -> None:
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    export = export_messages(import_messages([U, turn("assistant", use, T), U], "anthropic").envelopes, "anthropic")
    assert export.payload["messages"][1]["content"] == [T]
    assert [(loss.rule, loss.kind) for loss in export.report] == [("A13", "dropped")]


def test_foreign_content_stands_before_the_calls() -> None:
    """J8: Gemini thinks, calls, thinks; Anthropic wants nothing behind the last call."""
    history = [user("hi"), assistant("a", call("x"), "b", call("y"), origin=OPENAI), result("x"), result("y")]
    kinds = [one["type"] for one in export_messages(history, "anthropic").payload["messages"][1]["content"]]
    assert kinds == ["text", "text", "tool_use", "tool_use"]


def test_a_later_system_message_is_one_where_the_model_knows_it() -> None:
    history = [system("a"), user("b"), system("c"), assistant("d")]
    known = export_messages(history, "anthropic", model="claude-opus-4-8").payload
    assert [one["role"] for one in known["messages"]] == ["user", "system", "assistant"]
    old = export_messages(history, "anthropic", model="claude-opus-4-1")
    assert [one["role"] for one in old.payload["messages"]] == ["user", "user", "assistant"]
    assert old.payload["system"] == "a"


def test_at_most_four_cache_hints_are_kept_the_latest() -> None:
    history = [user(text(str(number), cache_hint={"type": "ephemeral"})) for number in range(6)]
    messages = export_messages(history, "anthropic").payload["messages"]
    assert ["cache_control" in one["content"][0] for one in messages] == [False, False, True, True, True, True]


def test_a_response_is_read_with_its_usage() -> None:
    response = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [T],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    (envelope,) = import_messages(response).envelopes
    assert envelope["origin"] == {**CLAUDE, "response_id": "msg_1"}
    assert envelope["usage"] == {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    assert envelope["stop_reason"] == "end_turn"


def mistral(history: list[Any], **options: Any) -> list[Any]:
    messages: list[Any] = export_messages(history, "mistral", **options).payload["messages"]
    for version in [options["profile"]] if options.get("profile") else oracle_mistral.VERSIONS[2:]:
        assert not oracle_mistral.breaches([*messages, {"role": "user", "content": "go"}], version)
    return messages


def test_text_and_calls_of_others_are_two_messages_for_old_tokenizers() -> None:
    history = [user("hi"), assistant("I look", call("a")), result("a"), assistant("ok")]
    assert [sorted(one.keys() - {"role"}) for one in mistral(history)][1:3] == [["content"], ["tool_calls"]]
    assert sorted(mistral(history, profile="v13")[1].keys()) == ["content", "role", "tool_calls"]


def test_mistrals_own_thinking_goes_back_to_it() -> None:
    chunk = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    payload = [U, {"role": "assistant", "content": [chunk, T]}]
    imported = import_messages(payload)
    assert imported.dialect == "mistral"
    assert export_messages(imported.messages, "mistral").payload["messages"] == payload
    assert "hm" not in str(mistral(list(imported.envelopes), profile="v7"))


def test_thinking_of_others_does_not_become_mistrals() -> None:
    assert mistral([user("hi"), assistant(thought("secret", signature="s"), "ok", origin=CLAUDE)])[1] == {
        "role": "assistant",
        "content": "ok",
    }


def test_a_system_message_behind_a_result_becomes_a_user_message() -> None:
    history = [user("hi"), assistant(call("a")), result("a"), system("be brief"), assistant("ok")]
    assert [one["role"] for one in mistral(history)] == ["user", "assistant", "tool", "user", "assistant"]


def test_the_oldest_tokenizers_get_no_images() -> None:
    assert "image" not in {part["type"] for part in mistral([user("see", image())], profile="v1")[0]["content"]}


def test_a_payload_that_is_sent_as_it_is_ends_with_the_user() -> None:
    messages = export_messages([user("hi"), assistant("ok")], "mistral", for_next_turn=False).payload["messages"]
    assert messages[-1] == {"role": "user", "content": "Continue."}
    assert not oracle_mistral.breaches(messages, "v13")
