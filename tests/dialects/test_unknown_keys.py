"""A key that an API does not know stays in a history that goes back to it, or a report names it; nothing else goes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_portable_checkpoint import export_messages, import_messages, lint
from tests.dialects.native_kinds import HOSTS, KINDS

LISTS = {"google": "contents", "openai-responses": "input"}
FREE = frozenset({"args", "input", "response", "json", "arguments", "env"})
"""Keys of values that are the tools' own."""
CASES = [(dialect, None, kind, payload) for dialect, kinds in KINDS.items() for kind, payload in kinds.items()]
CASES += [("openai-chat", host, host, payload) for host, payload in HOSTS.items()]
each_kind = pytest.mark.parametrize(
    ("dialect", "profile", "payload"), [pytest.param(d, p, one, id=f"{d}-{kind}") for d, p, kind, one in CASES]
)
each_source = pytest.mark.parametrize("source", ["envelopes", "messages"])
CITED = {"type": "url_citation", "url": "https://u", "title": "T", "start_index": 0, "end_index": 1}
NOTE = {"type": "char_location", "cited_text": "c", "document_index": 0, "document_title": "T"}
PLACED = {**NOTE, "start_char_index": 0, "end_char_index": 1}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every object of a history."""
    if isinstance(value, dict):
        yield path
        for key, item in value.items():
            if key not in FREE:
                yield from places(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from places(item, (*path, at))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def count(value: Any) -> int:
    if isinstance(value, dict):
        return ("xtra" in value) + sum(map(count, value.values()))
    return sum(map(count, value)) if isinstance(value, list) else 0


def back(payload: Any, dialect: str, source: str, profile: str | None) -> tuple[Any, list[str]]:
    """Return a history that went to and fro, in the form it had, and what the reports say."""
    imported = import_messages(payload, dialect, profile=profile)
    export = export_messages(getattr(imported, source), dialect, profile=profile, incomplete="trim")
    told = [str(loss) for loss in (*imported.report, *export.report)]
    return (export.payload if isinstance(payload, dict) else export.payload[LISTS.get(dialect, "messages")]), told


@each_kind
def test_each_kind_goes_back_as_it_came(dialect: str, profile: str | None, payload: Any) -> None:
    found, told = back(payload, dialect, "messages", profile)
    assert found == payload or "became its text" in str(told) or "a refusal became text" in str(told)
    assert not lint(found, dialect, profile=profile)


@each_kind
@each_source
def test_an_unknown_key_is_kept_or_named(dialect: str, profile: str | None, payload: Any, source: str) -> None:
    for path in places(payload):
        if path == () and isinstance(payload, dict):
            continue
        changed = copy.deepcopy(payload)
        at(changed, path)["xtra"] = "keep"
        found, told = back(changed, dialect, source, profile)
        named = [one for one in told if "xtra" in one]
        assert bool(count(found)) != bool(named), (path, told)
        if not named:
            assert at(found, path)["xtra"] == "keep", path


@each_kind
def test_what_goes_back_has_no_key_that_the_linter_refuses(dialect: str, profile: str | None, payload: Any) -> None:
    for path in places(payload):
        if path == () and isinstance(payload, dict):
            continue
        changed = copy.deepcopy(payload)
        at(changed, path)["xtra"] = None
        found, _ = back(changed, dialect, "messages", profile)
        assert "xtra" not in str(lint(found, dialect, profile=profile)), path


@pytest.mark.parametrize("value", ["keep", None])
def test_citations_of_the_responses_api_stay_beside_an_unknown_key(value: Any) -> None:
    part = {"type": "output_text", "text": "See T.", "annotations": [CITED], "logprobs": []}
    head = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    history = [{"role": "user", "content": "hi"}, {**head, "content": [{**part, "xtra": value}]}]
    found, told = back(history, "openai-responses", "messages", None)
    assert found[1]["content"] == [part]
    assert [one for one in told if "(xtra)" in one]


@pytest.mark.parametrize("keys", [{"xtra": 1}, {"index": 0}])
def test_citations_of_anthropic_stay_beside_an_unknown_key(keys: dict[str, Any]) -> None:
    part = {"type": "text", "text": "See T.", "citations": [PLACED]}
    said = {"role": "assistant", "content": [{**part, **keys}]}
    found, told = back([{"role": "user", "content": "hi"}, said], "anthropic", "messages", None)
    assert found[1]["content"] == [part]
    assert (
        told
        == ["[A18] dropped at message 1 content: left out keys that the API does not know (xtra)"][: "xtra" in keys]
    )


@pytest.mark.parametrize("item", [{"id": "msg_1"}, {}])
def test_an_application_key_of_a_text_is_told_with_and_without_the_id_of_its_item(item: dict[str, Any]) -> None:
    part = {"type": "text", "text": "t", "annotations": [], "xtra": "keep", **item}
    answer = AIMessage([part], response_metadata={"model_provider": "openai", "id": "resp_1"})
    report = export_messages([HumanMessage("a"), answer], "openai-responses").report
    assert [(loss.rule, loss.kind, loss.detail) for loss in report] == [("R12", "dropped", "xtra")]


@pytest.mark.parametrize("kind", ["function_call", "custom_tool_call"])
def test_an_unknown_key_of_a_call_that_gets_another_name_is_told(kind: str) -> None:
    asked = {"name": "a tool", **({"input": "raw"} if kind == "custom_tool_call" else {"arguments": "{}"})}
    call = {"type": kind, "id": "fc_1", "call_id": "c1", **asked, "xtra": "keep"}
    result = {"type": f"{kind}_output", "call_id": "c1", "output": "r"}
    found, told = back([{"role": "user", "content": "hi"}, call, result], "openai-responses", "envelopes", None)
    assert not count(found)
    assert len([one for one in told if "(xtra)" in one]) == 1


def test_keys_that_system_messages_of_anthropic_may_have_go_back() -> None:
    talk = [{"role": "user", "content": "hi"}, {"role": "system", "content": "s", "clear_at": "x"}]
    export = export_messages(import_messages(talk, "anthropic").messages, "anthropic", model="claude-opus-4-8")
    assert export.payload["messages"][1] == talk[1]


def test_a_response_in_a_history_tells_nothing_of_itself() -> None:
    of_itself = {"id": "msg_1", "type": "message", "model": "claude-x", "stop_reason": "end_turn", "usage": {}}
    said = {"role": "assistant", "content": [{"type": "text", "text": "x"}]}
    found, told = back([{"role": "user", "content": "hi"}, {**of_itself, **said}], "anthropic", "messages", None)
    assert (found[1], told) == (said, [])


@pytest.mark.parametrize("value", [True, False, 1, "keep"])
def test_an_unknown_key_of_claude_s_result_is_told_whatever_it_holds(value: Any) -> None:
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "r", "is_error": True, "xtra": value}
    history = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    export = export_messages(import_messages(history, "anthropic").messages, "anthropic")
    assert [(loss.rule, loss.path) for loss in export.report] == [("A18", "xtra")]
    assert export.payload["messages"][2]["content"][0]["is_error"] is True


def test_a_result_of_converse_that_is_spelled_anew_keeps_its_status_and_names_what_goes() -> None:
    image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG\r\n\x1a\n"}}, "mine": 1}
    answer = {"toolUseId": "t", "status": "success", "xtra": "keep", "content": [{"text": "r"}, image]}
    history = [
        {"role": "user", "content": [{"text": "q"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": answer}]},
    ]
    imported = import_messages({"messages": history}, "bedrock")
    export = export_messages(imported.messages, "bedrock")
    sent = export.payload["messages"][2]["content"][0]["toolResult"]
    assert sent["status"] == "success"
    assert "xtra" not in sent
    assert "xtra" in {loss.detail for loss in export.report}
