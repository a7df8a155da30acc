"""Lone surrogates, which no request can hold, become U+FFFD and are told, wherever they stand in a message."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint.dialects.base import ExportOptions
from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages
from langgraph_portable_checkpoint.dialects.registry import bundled_names, get_dialect
from langgraph_portable_checkpoint.errors import PortableCheckpointError
from tests.dialects.histories import CLAUDE, assistant, thought, user
from tests.dialects.native_kinds import KINDS

CALL = AIMessage("", tool_calls=[{"name": "f", "args": {"a": "x\ud800y"}, "id": "c"}])
ASKED = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c"}])
HISTORIES: dict[str, list[BaseMessage]] = {
    "text": [HumanMessage("x\ud800y")],
    "part": [HumanMessage([{"type": "text", "text": "x\ud800y"}])],
    "arguments": [HumanMessage("hi"), CALL, ToolMessage("found", tool_call_id="c")],
    "result": [HumanMessage("hi"), ASKED, ToolMessage("x\udfffy", tool_call_id="c")],
}


WRITTEN = [name for name in bundled_names() if get_dialect(name).writes]


@pytest.mark.parametrize("dialect", WRITTEN)
@pytest.mark.parametrize("place", HISTORIES)
def test_a_lone_surrogate_is_mended_and_told(place: str, dialect: str) -> None:
    export = export_messages(HISTORIES[place], dialect)
    written = str(export.payload).replace("\\ufffd", "\ufffd")
    assert "x\ufffdy" in written
    assert "x?y" not in written
    at = next(index for index, message in enumerate(HISTORIES[place]) if "\\ud" in ascii(message))
    rule = get_dialect(dialect).target(ExportOptions()).rule("broken_text")
    assert (rule, "downgraded", at) in [(loss.rule, loss.kind, loss.message) for loss in export.report]


def test_the_message_itself_is_not_changed() -> None:
    message = HumanMessage("x\ud800y")
    export_messages([message], "anthropic")
    assert message.content == "x\ud800y"


def test_reasoning_that_is_left_out_is_told_once_and_mended_where_it_becomes_a_text() -> None:
    history = [user("hi"), assistant(thought("x\ud800y", signature="sig"), "ok", origin=CLAUDE)]
    assert [loss.kind for loss in export_messages(history, "mistral").report] == ["dropped"]
    as_text = export_messages(history, "mistral", reasoning="text")
    assert "x\ufffdy" in str(as_text.payload)
    assert [loss.kind for loss in as_text.report] == ["downgraded", "downgraded"]
    kept = export_messages(history, "anthropic")
    assert "x\ufffdy" in str(kept.payload)
    assert [loss.kind for loss in kept.report] == ["downgraded"]


def texts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every text of a history that is no word of its API."""
    if isinstance(value, str):
        if path[-1] not in ("type", "role"):
            yield path
    elif isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from texts(item, (*path, key))


def broken(payload: Any, path: tuple[Any, ...]) -> Any:
    """Return a history with half of a surrogate pair in one of its texts, in JSON inside a text of its own."""
    found = held = copy.deepcopy(payload)
    for key in path[:-1]:
        held = held[key]
    text = held[path[-1]]
    held[path[-1]] = text.replace("1}", '"\ud83d"}') if text.endswith("1}") else text + "\ud83d"
    return found


@pytest.mark.parametrize(("read", "kind"), [(read, kind) for read, kinds in KINDS.items() for kind in kinds])
def test_no_lone_surrogate_of_a_native_history_gets_into_an_export(read: str, kind: str) -> None:
    for path in texts(KINDS[read][kind]):
        try:
            imported = import_messages(broken(KINDS[read][kind], path), read)
        except PortableCheckpointError:
            continue
        for dialect in WRITTEN:
            try:
                export = export_messages(imported.envelopes, dialect, incomplete="trim")
            except PortableCheckpointError:
                continue
            assert "\\ud83d" not in ascii(export.payload), (path, dialect)
            assert "\\ufffd" not in ascii(export.payload) or export.report, (path, dialect)


@pytest.mark.parametrize("to", ["openai-responses", "openai-chat", "mistral"])
def test_arguments_of_which_no_text_is_known_are_mended_and_told(to: str) -> None:
    asked = assistant({"type": "tool_call", "id": "abcdefghi", "name": "f", "args": {"a": "x\ud83dy"}})
    answer: Any = {"v": 1, "role": "tool", "content": [], "tool_call_id": "abcdefghi", "status": "success"}
    export = export_messages([user("hi"), asked, answer], to)
    assert "ufffd" in ascii(export.payload)
    assert "downgraded" in [loss.kind for loss in export.report]


def test_citations_stay_where_a_text_is_mended() -> None:
    note = {"type": "web_search_result_location", "cited_text": "c", "encrypted_index": "e", "title": "T", "url": "u"}
    said = {"role": "assistant", "content": [{"type": "text", "text": "x\ud800y", "citations": [note]}]}
    history = import_messages([{"role": "user", "content": "hi"}, said], "anthropic").envelopes
    export = export_messages(history, "anthropic")
    assert export.payload["messages"][1]["content"] == [{"type": "text", "text": "x\ufffdy", "citations": [note]}]
    assert [(loss.rule, loss.kind) for loss in export.report] == [("A4", "downgraded")]


BROKEN_CALLS: dict[str, tuple[str | None, Any]] = {
    "google": (
        None,
        [
            {"role": "user", "parts": [{"text": "q"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "id": "a", "args": {"x": "v\ud83d"}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "id": "a", "response": {"output": "r"}}}]},
        ],
    ),
    "bedrock": (
        None,
        [
            {"role": "user", "content": [{"text": "q"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "f", "input": {"a": "\ud83d"}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": [{"text": "r"}]}}]},
        ],
    ),
    "openai-chat": (
        "openrouter",
        [
            {"role": "user", "content": "q"},
            {
                "role": "assistant",
                "content": "a",
                "reasoning": "hm\ud83d",
                "reasoning_details": [{"type": "reasoning.text", "text": "hm\ud83d", "index": 0}],
            },
        ],
    ),
}


@pytest.mark.parametrize("dialect", BROKEN_CALLS)
def test_native_calls_and_reasoning_of_imported_envelopes_are_mended_and_told(dialect: str) -> None:
    profile, history = BROKEN_CALLS[dialect]
    payload: Any = {"messages": history} if dialect == "bedrock" else history
    imported = import_messages(payload, dialect, profile=profile)
    export = export_messages(imported.envelopes, dialect, profile=profile)
    json.dumps(export.payload, ensure_ascii=False).encode()
    assert "downgraded" in {loss.kind for loss in export.report}
