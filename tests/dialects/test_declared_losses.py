"""Every loss that a dialect declares happens here once, and says where; and nothing is declared that cannot happen."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.base import ExportOptions
from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint
from langgraph_portable_checkpoint.dialects.lint.openai_responses import MAX_TEXT
from langgraph_portable_checkpoint.dialects.normalise import CONCERNS, PROFILE_LOSS, normaliser_losses
from langgraph_portable_checkpoint.dialects.registry import get_dialect
from langgraph_portable_checkpoint.dialects.report import LOSS_KINDS
from tests.dialects.histories import (
    CLAUDE,
    OPENAI,
    RESPONSES,
    assistant,
    call,
    image,
    message,
    result,
    system,
    text,
    thought,
    user,
)

GOOD = "call_1"
STEP = (user("hi"), assistant(call("abcdefghi")), result("abcdefghi"))
SERVER = {"type": "server_tool_call", "id": "srvtoolu_1", "name": "web_search", "args": {"query": "x"}}
ODD = {"type": "non_standard", "value": {"type": "new_thing"}}
FOUND = {"type": "non_standard", "value": {"type": "search_result", "content": [{"type": "text", "text": "found"}]}}
FILE = {"type": "file", "mime_type": "application/x-unknown", "base64": "AAAA"}


@dataclass(frozen=True)
class Case:
    """A history that leads to a loss, with the options that it takes."""

    history: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)


CASES: dict[tuple[str, str], Case] = {
    ("dangling_call", "dropped"): Case((*STEP, user("go"), assistant(call("b")), user("well?"))),
    ("dangling_call", "synthesized"): Case((user("hi"), assistant(call("b"))), {"incomplete": "synthesize"}),
    ("dangling_call", "unresolved"): Case(
        (user("hi"), assistant("ok"), user("pay"), assistant(call("b"))), {"pending": frozenset({"b"})}
    ),
    ("orphan_result", "dropped"): Case((user("hi"), result("b"), assistant("ok"))),
    ("orphan_result", "downgraded"): Case((user("hi"), result("b"), assistant("ok")), {"orphans": "text"}),
    ("duplicate_result", "dropped"): Case((*STEP, result("abcdefghi"))),
    ("late_result", "reordered"): Case(
        (user("hi"), assistant(call("abcdefghi")), user("?"), assistant(call("b")), result("abcdefghi"))
    ),
    ("result_order", "reordered"): Case((user("hi"), assistant(call("a"), call("b")), result("b"), result("a"))),
    ("call_id", "re-keyed"): Case((user("hi"), assistant(call("é" * 300)), result("é" * 300))),
    ("repeated_call_id", "re-keyed"): Case((*STEP, *STEP)),
    ("tool_name", "re-keyed"): Case((user("hi"), assistant(call("abcdefghi", "a tool")), result("abcdefghi"))),
    ("message_name", "re-keyed"): Case((user("hi", name="a name"),)),
    ("speaker", "dropped"): Case((user("hi", name="bob"),)),
    ("result_name", "dropped"): Case(
        (user("hi"), assistant(call("abcdefghi", "look")), result("abcdefghi", name="see"))
    ),
    ("message_keys", "dropped"): Case((user("hi", extras={"anthropic": {"mine": 1}, "mistral": {"mine": 1}}),)),
    ("role", "downgraded"): Case((message("other", "hm", role_detail="critic"),)),
    ("mid_system", "downgraded"): Case((user("hi"), assistant("ok"), system("be brief"))),
    ("blank_text", "dropped"): Case((user("hi", " \n"),)),
    ("broken_text", "downgraded"): Case((user("\ud800"),)),
    ("empty_message", "dropped"): Case((user("hi"), assistant())),
    ("reasoning", "dropped"): Case((user("hi"), assistant(thought(), "ok"))),
    ("reasoning", "downgraded"): Case((user("hi"), assistant(thought(), "ok")), {"reasoning": "text"}),
    ("reasoning_required", "synthesized"): Case(STEP),
    ("item_ids", "dropped"): Case((user("hi"), assistant(thought(), text("ok", id="msg_1"), origin=RESPONSES))),
    ("refusal", "downgraded"): Case((user("hi"), assistant({"type": "refusal", "refusal": "no"}))),
    ("invalid_arguments", "downgraded"): Case(
        (
            user("hi"),
            assistant({"type": "invalid_tool_call", "id": "abcdefghi", "name": "f", "args": "{", "error": "?"}),
            result("abcdefghi"),
        )
    ),
    ("server_tools", "dropped"): Case((user("hi"), assistant(SERVER, "ok"))),
    ("server_tools", "downgraded"): Case((user("hi"), assistant(SERVER, "ok")), {"server_tools": "text"}),
    ("non_standard", "dropped"): Case((user("hi"), assistant(ODD, "ok"))),
    ("non_standard", "placeholder"): Case((user(ODD),)),
    ("non_standard", "downgraded"): Case((user(FOUND),)),
    ("media", "placeholder"): Case((user({"type": "video", "mime_type": "video/mp4", "base64": "AAAA"}, FILE),)),
    ("media", "dropped"): Case(
        (user("hi", {"type": "video", "mime_type": "video/mp4", "file_id": "f"}),), {"on_unsupported_part": "drop"}
    ),
    ("media", "unresolved"): Case((user({"type": "image", "mime_type": "image/png", "media": {"sha256": "0"}}),)),
    ("media", "downgraded"): Case(
        (system({"type": "text-plain", "text": "notes", "mime_type": "text/plain"}), user("hi"))
    ),
    ("tool_media", "moved"): Case(
        (user("hi"), assistant(call("abcdefghi")), result("abcdefghi", image())),
        {"model": {"image_tool_message": False}},
    ),
    ("tool_status", "downgraded"): Case(
        (user("hi"), assistant(call("abcdefghi")), result("abcdefghi", status="error"))
    ),
    ("tools", "downgraded"): Case(STEP),
    ("text_with_calls", "moved"): Case((user("hi"), assistant("I look", call("abcdefghi")), result("abcdefghi"))),
    ("calls_last", "reordered"): Case((user("hi"), assistant(call("abcdefghi"), "see"), result("abcdefghi"))),
    ("first_role", "synthesized"): Case((assistant("hello"),)),
    ("last_role", "synthesized"): Case((user("hi"), assistant("hello")), {"for_next_turn": False}),
    ("alternation", "merged"): Case((user("hi"), user("there"))),
}
"""One history per concern of the normaliser and kind of loss."""

PROFILES = {
    "openai-chat": ("openai", "fireworks", "deepseek", "moonshot", "openrouter", "perplexity"),
    "openai-responses": ("openai",),
    "anthropic": (None, "bedrock"),
    "mistral": (None, "v15"),
}

CITED = text("as it says", annotations=[{"type": "citation", "url": "https://example.com"}], id="lc_1")
REFUSED = {"type": "refusal", "refusal": "no", "raw": {"type": "refusal", "refusal": "no"}}
SHELL = {
    "type": "tool_call",
    "id": "c1",
    "name": "shell",
    "args": {"commands": ["ls"]},
    "extras": {"item": {"type": "shell_call", "action": {"commands": ["ls"]}}, "item_id": "sh_1"},
}


def _sealed(item_id: str | None) -> Any:
    block = thought("", encrypted_content="sealed")
    return {**block, "id": item_id} if item_id else block


def _item(item_id: str, call_id: str) -> Any:
    raw = {"type": "function_call", "id": item_id, "call_id": call_id, "name": "search", "arguments": "{}"}
    return {**call(call_id), "raw": raw}


def _own(*content: Any) -> tuple[Any, ...]:
    return user("hi"), assistant(*content, origin=RESPONSES)


OWN_CASES: dict[tuple[str, str, str], Case] = {
    ("openai-chat", "C5", "dropped"): Case(
        (user("hi"), assistant("ok", origin=OPENAI, extras={"openai-chat": {"annotations": [{"type": "url"}]}}))
    ),
    ("openai-chat", "C9", "downgraded"): Case((user("hi"), assistant(call("a", x=b"b")), result("a"))),
    ("openai-chat", "C10", "dropped"): Case((user("hi", name="bob"),), {"profile": "fireworks"}),
    ("openai-chat", "C12", "dropped"): Case((user("hi"), assistant(CITED))),
    ("openai-chat", "C12", "merged"): Case((user("hi", "there"),), {"profile": "deepseek"}),
    ("openai-chat", "C12", "moved"): Case((user("hi"), assistant("partly", REFUSED))),
    ("openai-chat", "C13", "downgraded"): Case((system("s", role_detail="developer"), user("hi")), {"profile": "groq"}),
    ("openai-responses", "R1", "dropped"): Case((*_own(_sealed("rs_1"), call("a")), user("well?"))),
    ("openai-responses", "R3", "dropped"): Case(_own(SERVER, "ok")),
    ("openai-responses", "R3", "downgraded"): Case((*_own(SHELL), result("c1"))),
    ("openai-responses", "R5", "synthesized"): Case(_own(_sealed(None), "ok")),
    ("openai-responses", "R5", "re-keyed"): Case(_own(_sealed("tco_1"), "ok")),
    ("openai-responses", "R5", "dropped"): Case((*_own(_item("call_9", "a")), result("a"))),
    ("openai-responses", "R6", "re-keyed"): Case(_own(_sealed("rs_1"), "ok", _sealed("rs_1"), "so")),
    ("openai-responses", "R6", "dropped"): Case(
        (*_own(_item("fc_1", "a"), _item("fc_1", "b")), result("a"), result("b"))
    ),
    ("openai-responses", "R7", "dropped"): Case((user("hi"), assistant(CITED))),
    ("openai-responses", "R7", "downgraded"): Case((user("hi"), assistant({"type": "refusal", "refusal": "no"}))),
    ("openai-responses", "R7", "merged"): Case((user("hi"), assistant("one", "two"))),
    ("openai-responses", "R12", "downgraded"): Case((user("x" * (MAX_TEXT + 1)),)),
    ("openai-responses", "R12", "synthesized"): Case(
        (message("user", {**image(), "raw": {"type": "input_image", "image_url": "https://a.b/c"}}, origin=RESPONSES),)
    ),
    ("openai-responses", "R12", "dropped"): Case((user(text("hi", cache_hint={"type": "ephemeral"}), "x"),)),
    ("anthropic", "A8", "merged"): Case(
        (user("hi"), assistant(call("a"), call("b")), result("a", origin=CLAUDE), result("b", origin=CLAUDE))
    ),
    ("anthropic", "A13", "dropped"): Case((user("hi"), assistant(CITED))),
    ("anthropic", "A16", "dropped"): Case((user(text("hi", cache_hint={"type": "default"})),)),
    ("anthropic", "A18", "dropped"): Case(
        (user("hi"), assistant(call("a"), origin=CLAUDE), result("a", extras={"anthropic": {"agentId": "x"}}))
    ),
    ("mistral", "M8", "dropped"): Case((user("hi"), assistant(CITED))),
}
"""One history per loss that a dialect's own renderer declares."""


def _losses(dialect: str, case: Case, **more: Any) -> set[tuple[str, str]]:
    export = export_messages(case.history, dialect, **{**case.options, **more})
    assert all(loss.kind in LOSS_KINDS and loss.action for loss in export.report)
    return {(loss.rule, loss.kind) for loss in export.report}


def test_each_concern_has_a_history() -> None:
    assert CASES.keys() == {(concern, kind) for concern, kinds in CONCERNS.items() for kind in kinds}


@pytest.mark.parametrize("dialect", PROFILES)
def test_each_declared_loss_happens(dialect: str) -> None:
    known = get_dialect(dialect)
    missing = set()
    for (concern, kind), case in CASES.items():
        rule = known.target(ExportOptions()).rules.get(concern)
        if rule is not None and not any(
            (rule, kind) in _losses(dialect, case, profile=profile, integration=integration)
            for profile in PROFILES[dialect]
            for integration in (False, True)
        ):
            missing.add((concern, kind))
    assert not missing


@pytest.mark.parametrize(("dialect", "rule", "kind"), OWN_CASES)
def test_each_loss_of_a_renderer_happens(dialect: str, rule: str, kind: str) -> None:
    assert (rule, kind) in _losses(dialect, OWN_CASES[dialect, rule, kind])


def test_each_loss_that_a_renderer_declares_has_a_history() -> None:
    declared = {(name, loss.rule, loss.kind) for name in PROFILES for loss in get_dialect(name).LOSSES}
    assert declared == OWN_CASES.keys()


@pytest.mark.parametrize("dialect", PROFILES)
def test_each_rule_that_a_loss_names_is_documented(dialect: str) -> None:
    known = get_dialect(dialect)
    rules = {rule.id for rule in known.RULES}
    named = {loss.rule for loss in (*known.LOSSES, *normaliser_losses(known.target(ExportOptions())))}
    assert {rule.rstrip("bc") for rule in named} <= rules


@pytest.mark.parametrize("dialect", [*PROFILES, "google", "bedrock"])
def test_a_model_that_calls_no_tools_is_told_of_them(dialect: str) -> None:
    history = (user("hi"), assistant("I look", call("a", city="Bern")), result("a", "12 degrees", name="search"))
    export = export_messages(history, dialect, model={"tool_calling": False})
    assert '[search is called with {\\"city\\": \\"Bern\\"}]' in json.dumps(export.payload)
    assert "12 degrees" in str(export.payload)
    assert "abcdefghi" not in str(export.payload)
    assert {(loss.rule, loss.kind) for loss in export.report} >= {(PROFILE_LOSS.rule, PROFILE_LOSS.kind)}
    assert not lint(export.payload, dialect)
    assert not {"tool_calls", "tool_use", "toolUse", "functionCall", "function_call"} & _keys(export.payload)


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {*value, *(found for item in value.values() for found in _keys(item)), str(value.get("type"))}
    return {found for item in value for found in _keys(item)} if isinstance(value, list) else set()


def test_a_loss_says_where_it_happened() -> None:
    history = [
        user("hi"),
        assistant("ok"),
        user("again"),
        assistant(thought(), call("b c"), origin=CLAUDE),
        result("b c"),
    ]
    losses = {loss.kind: loss for loss in export_messages(history, "openai-responses").report}
    assert losses["dropped"].path == "content[0]"
    assert (losses["dropped"].turn, losses["dropped"].message) == (1, 3)
    assert losses["dropped"].origin == "anthropic"
    assert losses["dropped"].target == "openai-responses"
    assert str(losses["dropped"]).startswith("[R2] dropped at message 3 content[0]: reasoning was left out")


def test_importing_reports_repairs_too() -> None:
    imported = import_messages('[{"role": "user", "content": "\\ud800"}]', "openai-chat")
    assert [(loss.rule, loss.kind) for loss in imported.report] == [("json", "downgraded")]
    assert imported.envelopes[0]["content"][0]["text"] == "\ufffd"
