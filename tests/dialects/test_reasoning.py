"""Reasoning goes back only to the origin it belongs to, whole, and behind an unchanged prefix."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest
from langchain_anthropic import ChatAnthropic

from langgraph_portable_checkpoint.dialects.export import export_messages
from langgraph_portable_checkpoint.dialects.models import model_family, name_of_profile
from tests.dialects.histories import CLAUDE, OPENAI, RESPONSES, assistant, call, result, text, thought, user

BINDING = {**CLAUDE, "model": "claude-opus-5-5-20260901"}
SIGNED = thought("hm", signature="sig")


def thinks(history: list[Any], **options: Any) -> list[Any]:
    """Thinking blocks of an export to Anthropic."""
    payload = export_messages(history, "anthropic", **options).payload
    return [
        block
        for message in payload["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] in ("thinking", "redacted_thinking")
    ]


def history(origin: Any, *thoughts: Any) -> list[Any]:
    return [user("hi"), assistant(*(thoughts or [SIGNED]), "ok", origin=origin)]


@pytest.mark.parametrize(
    ("origin", "model", "kept"),
    [
        (CLAUDE, None, 1),
        (CLAUDE, "claude-sonnet-4-5", 1),
        (CLAUDE, "claude-sonnet-4-5-20250929", 1),
        (CLAUDE, "claude-opus-4-1", 0),
        ({**CLAUDE, "provider": "moonshot"}, None, 0),
        ({"provider": "google", "api": "generate-content", "model": "gemini-3-pro"}, None, 0),
        ({}, None, 0),
    ],
)
def test_thinking_goes_back_to_its_own_provider_and_model_family(origin: Any, model: str | None, kept: int) -> None:
    export = export_messages(history(origin), "anthropic", model=model)
    assert len(thinks(history(origin), model=model)) == kept
    assert export.lossless == bool(kept)


def test_thinking_of_another_account_stays_behind() -> None:
    ours = {**CLAUDE, "account": "org-1"}
    assert len(thinks(history(ours), account="org-1")) == 1
    assert thinks(history(ours), account="org-2") == []


def test_thinking_without_signature_stays_behind() -> None:
    assert thinks(history(CLAUDE, thought("hm"))) == []


def test_empty_thinking_with_a_signature_and_redacted_thinking_go_back() -> None:
    kept = thinks(history(CLAUDE, thought("", signature="s"), thought("", redacted_data="r")))
    assert kept == [
        {"type": "thinking", "thinking": "", "signature": "s"},
        {"type": "redacted_thinking", "data": "r"},
    ]


def test_raw_thinking_is_byte_exact() -> None:
    raw = {"signature": "s", "type": "thinking", "thinking": " spaces \n"}
    block = {**thought(" spaces \n", signature="s"), "raw": raw}
    (kept,) = thinks(history(CLAUDE, block))
    assert list(kept.items()) == list(raw.items())


def test_a_message_of_nothing_but_foreign_thinking_goes_as_a_whole() -> None:
    payload = export_messages([user("hi"), assistant(SIGNED, origin=OPENAI), user("well?")], "anthropic").payload
    assert [message["role"] for message in payload["messages"]] == ["user", "user"]


def changed(origin: Any) -> list[Any]:
    """A history whose first turn loses a call, so that the second turn's thinking stands behind a change."""
    first = [user("hi"), assistant(SIGNED, call("a"), "so", origin=origin), user("go on")]
    return [*first, assistant(SIGNED, "ok", origin=origin)]


def test_behind_a_change_nothing_is_replayed_to_a_model_that_binds_it() -> None:
    assert len(thinks(changed(BINDING))) == 1
    assert len(thinks(changed(CLAUDE))) == 2


def test_a_model_that_nobody_names_counts_as_one_that_binds() -> None:
    assert len(thinks(changed({"provider": "anthropic", "api": "messages"}))) == 1


def test_a_selection_breaks_the_prefix() -> None:
    whole = [*history(BINDING), user("more"), assistant(SIGNED, "ok", origin=BINDING)]
    assert len(thinks(whole)) == 2
    assert thinks(whole, turns=1) == []
    assert thinks(whole, prefix_intact=False) == []


def test_dropping_one_block_of_a_binding_model_drops_all_that_follow() -> None:
    mixed = [*history(CLAUDE), *history(BINDING)]
    assert thinks(mixed, model="claude-opus-5-5") == []
    assert len(thinks(mixed, model="claude-sonnet-4-5")) == 1


def test_an_open_tool_turn_without_its_thinking_says_what_to_do() -> None:
    open_turn = [user("hi"), assistant(thought(), call("a"), origin=CLAUDE), result("a")]
    (loss,) = export_messages(open_turn, "anthropic").report
    assert (loss.rule, "thinking_must_be_disabled" in loss.detail) == ("A12", True)
    (later,) = export_messages([*open_turn, assistant("ok")], "anthropic").report
    assert "thinking_must_be_disabled" not in later.detail
    for target in ("openai-responses", "openai-chat", "google", "mistral"):  # whose models ask for no thinking first
        details = [loss.detail for loss in export_messages(open_turn, target).report]
        assert details
        assert "thinking_must_be_disabled" not in str(details)


def test_reasoning_is_never_text_unless_asked() -> None:
    secret = [user("hi"), assistant(thought("the secret"), "ok", origin=CLAUDE)]
    for dialect in ("openai-chat", "openai-responses", "mistral"):
        assert "secret" not in str(export_messages(secret, dialect).payload)
        assert "the secret" in str(export_messages(secret, dialect, reasoning="text").payload)
        assert "secret" not in str(export_messages(secret, dialect, reasoning="drop").payload)


@pytest.mark.parametrize(
    ("profile", "provider", "field"),
    [
        ("deepseek", "deepseek", "reasoning_content"),
        ("moonshot", "moonshot", "reasoning_content"),
        ("fireworks", "fireworks", "reasoning_content"),
        ("groq", "groq", "reasoning"),
        ("vllm", "vllm", "reasoning"),
    ],
)
def test_hosts_get_their_own_reasoning_in_their_own_field(profile: str, provider: str, field: str) -> None:
    origin = {"provider": provider, "api": "chat"}
    step = [user("hi"), assistant(thought("hm"), call("a"), origin=origin), result("a")]
    own = export_messages(step, "openai-chat", profile=profile)
    assert own.payload["messages"][1][field] == "hm"
    assert own.lossless
    for other in ("openai", "groq", "deepseek"):
        if other != profile:
            assert "hm" not in str(export_messages(step, "openai-chat", profile=other).payload)


@pytest.mark.parametrize("profile", ["deepseek", "moonshot"])
def test_hosts_that_demand_reasoning_get_an_empty_one(profile: str) -> None:
    step = [user("hi"), assistant(call("a")), result("a"), assistant("ok")]
    messages = export_messages(step, "openai-chat", profile=profile).payload["messages"]
    assert messages[1]["reasoning_content"] == ""
    assert "reasoning_content" not in messages[3]


def test_openrouter_details_go_back_unmodified_and_in_order() -> None:
    details = [
        {"type": "reasoning.summary", "summary": "s", "format": "x", "index": 0},
        {"type": "reasoning.encrypted", "data": "d", "format": "x", "index": 1},
    ]
    blocks = [{**thought(), "raw": detail} for detail in details]
    origin = {"provider": "openrouter", "api": "chat", "model": "x-ai/grok-4"}
    message = export_messages(history(origin, *blocks), "openai-chat", profile="openrouter").payload["messages"][1]
    assert message["reasoning_details"] == details


def sealed(item_id: str, **keys: Any) -> Any:
    return {**thought("", encrypted_content="x"), "id": item_id, **keys}


def test_responses_ids_go_with_the_reasoning_they_came_with() -> None:
    """R1b: an item without its reasoning must be anonymous."""
    raw = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "search", "arguments": "{}"}
    step = [{**call("a"), "raw": raw, "extras": {"item_id": "fc_1"}}]
    kept = [user("hi"), assistant(sealed("rs_1"), *step, origin=RESPONSES), result("a")]
    items = export_messages(kept, "openai-responses").payload["input"]
    assert [item.get("id") for item in items] == [None, "rs_1", "fc_1", None]
    lost = [user("hi"), assistant(thought(), *step, text("ok", id="msg_1"), origin=RESPONSES), result("a")]
    items = export_messages(lost, "openai-responses").payload["input"]
    assert [item.get("id") for item in items] == [None] * 4
    assert items[2] == {"role": "assistant", "content": "ok"}


def test_reasoning_by_id_needs_a_server_that_stores() -> None:
    by_id = [user("hi"), assistant({**thought("s"), "id": "rs_1"}, "ok", origin=RESPONSES)]
    stored = export_messages(by_id, "openai-responses", store=True)
    assert stored.payload["input"][1]["id"] == "rs_1"
    assert stored.lossless
    assert [item.get("type") for item in export_messages(by_id, "openai-responses").payload["input"]] == [None, None]


def test_reasoning_stays_only_before_an_item_of_the_model() -> None:
    """R1: the call it belonged to had no result, so both go."""
    cut = [user("hi"), assistant(sealed("rs_1"), call("a"), origin=RESPONSES), user("well?"), assistant("so")]
    kinds = [item.get("type") or item["role"] for item in export_messages(cut, "openai-responses").payload["input"]]
    assert kinds == ["user", "user", "assistant"]


def test_several_summaries_stay_one_item() -> None:
    block = {**thought("a\n\nb", encrypted_content="x", summary=["a", "b"]), "id": "rs_1"}
    item = export_messages([user("hi"), assistant(block, "ok", origin=RESPONSES)], "openai-responses").payload["input"][
        1
    ]
    assert [part["text"] for part in item["summary"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("accounts/fireworks/models/deepseek-v3", "deepseek-v3"),
        ("mistral-large-latest", "mistral-large"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5-mini", "gpt-5-mini"),
    ],
)
def test_model_families(name: str, family: str) -> None:
    assert model_family(name) == family


PROFILES = {
    name: profile
    for package in ("anthropic", "google_genai", "openai", "aws")
    for name, profile in import_module(f"langchain_{package}.data._profiles")._PROFILES.items()
    if profile.get("name")
}


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_is_of_the_model_that_it_was_made_for_or_of_none_that_is_known(name: str) -> None:
    found = name_of_profile(PROFILES[name])
    bare, told = (re.sub("[-.]", "", model_family(each)) for each in (name, found or ""))
    assert told in bare
    if re.fullmatch(r"claude-(opus|sonnet|haiku|fable)-\d(-\d)?", name):
        assert found == name


def test_signed_reasoning_goes_back_to_a_model_that_is_named_by_its_profile() -> None:
    chat = ChatAnthropic(model="claude-sonnet-4-5", api_key="x")  # type: ignore[call-arg]  # pydantic's alias
    assert chat.profile
    assert len(thinks(history(CLAUDE), model=chat.profile)) == 1
    other = {**chat.profile, "name": "Claude Opus 4.1"}
    assert thinks(history(CLAUDE), model=other) == []
