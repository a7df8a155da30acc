"""The linters of OpenAI Chat and Responses, Anthropic and Mistral: each rule finds its breach, with the path."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.export import lint
from langgraph_portable_checkpoint.dialects.registry import get_dialect

U = {"role": "user", "content": "hi"}


def chat_call(call_id: Any = "a", name: str = "f", arguments: Any = "{}") -> Any:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls: Any, **keys: Any) -> Any:
    return {"role": "assistant", "content": None, "tool_calls": list(calls or [chat_call()]), **keys}


def says(call_id: str = "a", **keys: Any) -> Any:
    return {"role": "tool", "tool_call_id": call_id, "content": "ok", **keys}


CHAT: dict[str, tuple[list[Any], str, dict[str, Any]]] = {
    "C1": ([U, asks(), U], "messages[1].tool_calls[0]", {}),
    "C2": ([U, says()], "messages[1]", {}),
    "C3": ([U, asks(), says(), says()], "messages[3]", {}),
    "C4": ([U, {"role": "assistant", "content": "x", "tool_calls": []}], "messages[1].tool_calls", {}),
    "C5": ([{"role": "user", "content": []}], "messages[0].content", {}),
    "C6": ([U, asks(), says(), asks(), says()], "messages[3].tool_calls[0].id", {}),
    "C7": ([U, asks(chat_call("x" * 41)), says("x" * 41)], "messages[1].tool_calls[0].id", {}),
    "C8": ([U, asks(chat_call(name="a b")), says()], "messages[1].tool_calls[0].function.name", {}),
    "C9": (
        [U, asks(chat_call(arguments="{")), says()],
        "messages[1].tool_calls[0].function.arguments",
        {"profile": "groq"},
    ),
    "C10": ([{**U, "name": "a b"}], "messages[0].name", {}),
    "C11": (
        [U, asks(), says(content=[{"type": "image_url", "image_url": {"url": "x"}}])],
        "messages[2].content[0]",
        {},
    ),
    "C12": ([U, {"role": "assistant", "content": [{"type": "image_url"}]}], "messages[1].content[0]", {}),
    "C13": ([{"role": "critic", "content": "x"}], "messages[0].role", {}),
    "H1": ([U, asks(), says()], "messages[1].reasoning_content", {"profile": "deepseek"}),
    "H2": ([U, {"role": "assistant", "content": "x", "reasoning": "y"}], "messages[1].reasoning", {}),
    "H3": ([U, U], "messages[1].role", {"profile": "perplexity"}),
    "H4": ([U, asks(), says()], "messages[1]", {"profile": "perplexity"}),
}


def use(call_id: str = "a", **keys: Any) -> Any:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {}, **keys}


def gives(call_id: str = "a", **keys: Any) -> Any:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "ok", **keys}


def turn(role: str, *blocks: Any) -> Any:
    return {"role": role, "content": list(blocks)}


TEXT = {"type": "text", "text": "x"}
MARK = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
SENT = {"for_next_turn": False}
ANTHROPIC: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "A1": ([], "messages", {}),
    "A2": ([{"role": "assistant", "content": "x"}], "messages[0].role", {}),
    "A3": ([{"role": "user", "content": ""}], "messages[0].content", {}),
    "A4": (
        [U, turn("assistant", use()), turn("user", gives(content=[{"type": "text", "text": " "}]))],
        "messages[2].content[0].content[0]",
        {},
    ),
    "A5": ([turn("user", use())], "messages[0].content[0]", {}),
    "A6": ([U, turn("assistant", use()), U], "messages[1].content[0]", {}),
    "A7": ([turn("user", gives())], "messages[0].content[0]", {}),
    "A8": ([U, turn("assistant", use()), turn("user", gives(), gives())], "messages[2].content[1]", {}),
    "A9": ([U, turn("assistant", use()), turn("user", TEXT, gives())], "messages[2].content[1]", {}),
    "A10": ([U, turn("assistant", use("a:b")), turn("user", gives("a:b"))], "messages[1].content[0].id", {}),
    "A11": ([U, turn("assistant", use(), use()), turn("user", gives())], "messages[1].content[1].id", {}),
    "A12": ([U, turn("assistant", {"type": "thinking", "thinking": "x"}, TEXT)], "messages[1].content[0]", {}),
    "A13": ([U, turn("assistant", SEARCH, TEXT), U], "messages[1].content[0]", {}),
    "A14": ([U, {"role": "assistant", "content": "x "}], "messages[1].content", SENT),
    "A15": ([U, turn("assistant", TEXT, {"type": "redacted_thinking", "data": "x"})], "messages[1].content[1]", SENT),
    "A16": ([turn("user", *[MARK] * 5)], "messages[0].content[4]", {}),
    "A17": ([U, turn("assistant", TEXT), {"role": "system", "content": "x"}], "messages[2]", {}),
    "A18": ([turn("user", {"type": "image", "source": {"type": "disk"}})], "messages[0].content[0].source", {}),
}


@pytest.mark.parametrize("model", ["claude-opus-4-6", "us.anthropic.claude-sonnet-5-v1:0", "claude-fable-5-1"])
def test_models_that_refuse_to_go_on_from_the_assistant_want_a_user_last(model: str) -> None:
    ends = [U, turn("assistant", TEXT)]
    assert [(one.rule, one.path) for one in lint(ends, "anthropic", model=model, **SENT)] == [
        ("A14", "messages[1].content[0]")
    ]
    assert lint(ends, "anthropic", model=model) == []
    paused = [U, turn("assistant", TEXT, SEARCH)]
    assert not [one for one in lint(paused, "anthropic", model=model, **SENT) if one.rule == "A14"]
    for older in ("claude-opus-4-5", "claude-haiku-4-5-20251001", "claude-sonnet-4-20250514", None):
        assert lint(ends, "anthropic", model=older, **SENT) == []


def fc(call_id: Any = "a", **keys: Any) -> Any:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}", **keys}


def out(call_id: Any = "a", **keys: Any) -> Any:
    return {"type": "function_call_output", "call_id": call_id, "output": "ok", **keys}


SEALED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
RESPONSES: dict[str, tuple[list[Any], str, dict[str, Any]]] = {
    "R1": ([U, SEALED, U], "input[1]", {}),
    "R2": ([U, {"type": "reasoning", "id": "rs_1", "summary": []}, fc(), out()], "input[1]", {}),
    "R3": ([U, fc()], "input[1]", {}),
    "R4": ([U, out()], "input[1]", {}),
    "R5": ([U, fc(id="call_1"), out()], "input[1].id", {}),
    "R6": ([U, fc(id="fc_1"), fc("b", id="fc_1"), out(), out("b")], "input[2].id", {}),
    "R7": ([U, {"role": "assistant", "content": []}], "input[1].content", {}),
    "R8": ([U, fc(), out(), out()], "input[3]", {}),
    "R9": ([U, fc("x" * 65), out("x" * 65)], "input[1].call_id", {}),
    "R11": ([U, {"role": "assistant", "content": "x", "phase": "aside"}], "input[1].phase", {}),
    "R12": ([{"role": "user", "content": [{"type": "input_image", "detail": "auto"}]}], "input[0].content[0]", {}),
    "R13": ([U, {"type": "compaction"}], "input[1]", {}),
    "R14": ([{**U, "name": "bob"}], "input[0].name", {}),
}

M_CALL = chat_call("abcdefghi")
M_SAYS = says("abcdefghi")
MISTRAL: dict[str, tuple[list[Any], str, dict[str, Any]]] = {
    "M1": ([U, asks(chat_call("toolu_1")), says("toolu_1")], "messages[1].tool_calls[0].id", {}),
    "M2": ([U, {"role": "assistant", "content": "x"}, {"role": "system", "content": "y"}], "messages[2]", {}),
    "M3": ([U, {"role": "assistant", "content": "x"}], "messages[1]", SENT),
    "M4": ([U, asks(M_CALL), {"role": "assistant", "content": "x"}], "messages[1].tool_calls[0]", {}),
    "M5": ([U, {**asks(M_CALL), "content": "x"}, M_SAYS], "messages[1]", {"profile": "v3"}),
    "M6": ([{"role": "user", "content": [{"type": "document_url"}]}], "messages[0].content[0]", {"profile": "v15"}),
    "M7": ([U, asks(chat_call("abcdefghi", "a b")), M_SAYS], "messages[1].tool_calls[0].function.name", {}),
    "M8": ([{**U, "name": "bob"}], "messages[0].name", {}),
    "M9": (
        [U, asks(chat_call("abcdefghi", arguments="[")), M_SAYS],
        "messages[1].tool_calls[0].function.arguments",
        {},
    ),
}
ALL = {"openai-chat": CHAT, "openai-responses": RESPONSES, "anthropic": ANTHROPIC, "mistral": MISTRAL}
CASES = [(dialect, rule) for dialect, cases in ALL.items() for rule in cases]


@pytest.mark.parametrize(("dialect", "rule"), CASES)
def test_a_breach_is_found_where_it_is(dialect: str, rule: str) -> None:
    payload, path, options = ALL[dialect][rule]
    assert (rule, path) in {(found.rule, found.path) for found in lint(payload, dialect, **options)}


@pytest.mark.parametrize("dialect", ALL)
def test_every_rule_has_a_breach_that_shows_it(dialect: str) -> None:
    assert {rule.id for rule in get_dialect(dialect).RULES} == ALL[dialect].keys()


@pytest.mark.parametrize(
    ("dialect", "payload"),
    [
        (
            "openai-chat",
            [U, asks(chat_call(), chat_call("b")), says("b"), says(), {"role": "assistant", "content": "x"}],
        ),
        ("anthropic", [U, turn("assistant", use(), use("b")), turn("user", gives("b"), gives(), TEXT), U]),
        ("openai-responses", [U, SEALED, fc(id="fc_1"), fc("b"), out("b"), U, out()]),
        ("openai-responses", [U, {"role": "assistant", "content": [{"type": "output_text", "text": "x"}]}, U]),
        ("openai-responses", [{"role": "user", "content": [{"type": "input_image", "image_url": "u"}]}]),
        (
            "mistral",
            [{"role": "system", "content": "s"}, U, {"role": "system", "content": "s"}, asks(M_CALL), M_SAYS, U],
        ),
    ],
)
def test_unusual_but_legal_histories_pass(dialect: str, payload: list[Any]) -> None:
    assert lint(payload, dialect) == []


def test_findings_read_as_one_line() -> None:
    assert [str(found) for found in lint([U, says()], "openai-chat")] == ["[C2] messages[1]: no call 'a' before it"]


def test_a_payload_is_linted_as_the_dialect_that_it_is() -> None:
    assert [found.rule for found in lint({"messages": [U, turn("assistant", use())], "system": "s"})] == ["A6"]


def test_json_text_is_linted_too() -> None:
    assert [found.rule for found in lint('[{"role": "user", "content": []}]', "openai-chat")] == ["C5"]


@pytest.mark.parametrize(("dialect", "rule"), [("openai-chat", "C1"), ("mistral", "M4")])
def test_a_call_without_result_is_named_by_its_place_among_all_entries(dialect: str, rule: str) -> None:
    history = [U, {"role": "assistant", "content": None, "tool_calls": ["?", M_CALL]}, U]
    assert (rule, "messages[1].tool_calls[1]") in {(found.rule, found.path) for found in lint(history, dialect)}


@pytest.mark.parametrize(
    ("history", "path"),
    [
        ([{"role": "assistant", "content": "x"}, U], "messages[0].role"),
        ([U, {"role": "assistant", "content": "x"}, {"role": "system", "content": "y"}], "messages[2].role"),
        ([U, {"role": "assistant", "content": "x"}], "messages[1].role"),
    ],
)
def test_perplexity_wants_user_and_assistant_in_turns(history: list[Any], path: str) -> None:
    found = lint(history, "openai-chat", profile="perplexity", for_next_turn=False)
    assert [(one.rule, one.path) for one in found] == [("H3", path)]
    good = [{"role": "system", "content": "s"}, U, {"role": "assistant", "content": "x"}, U]
    assert lint(good, "openai-chat", profile="perplexity", for_next_turn=False) == []


@pytest.mark.parametrize(
    "item",
    [
        {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "image_generation_call", "status": "completed", "result": "QQ=="},
        {"type": "local_shell_call", "call_id": "a", "status": "completed", "action": {"type": "exec"}},
    ],
)
def test_items_of_hosted_tools_have_their_ids(item: dict[str, Any]) -> None:
    answer = [{"type": "local_shell_call_output", "id": "a", "output": "x"}] * (item["type"] == "local_shell_call")
    found = lint([U, item, *answer], "openai-responses")
    assert [(one.rule, one.path) for one in found] == [("R5", "input[1]")]


def test_mistral_takes_no_two_calls_of_one_id() -> None:
    history = [U, asks(M_CALL, M_CALL), M_SAYS]
    assert [(found.rule, found.path) for found in lint(history, "mistral")] == [("M4", "messages[1].tool_calls[1].id")]
