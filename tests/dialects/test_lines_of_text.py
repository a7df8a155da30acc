"""Texts of line-delimited JSON: a line that is cut, broken or no JSON is told, wherever it stands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.export import import_messages, lint
from langgraph_portable_checkpoint.errors import MalformedHistoryError

SESSION: list[dict[str, Any]] = [
    {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "s", "message": {"role": "user", "content": "hi"}},
    {
        "type": "assistant",
        "uuid": "a",
        "parentUuid": "u",
        "sessionId": "s",
        "message": {"id": "m", "role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": "ok"}]},
    },
]
ROLLOUT = [
    {"type": "response_item", "payload": {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}}
    for role, kind, text in (("user", "input_text", "hi"), ("assistant", "output_text", "ok"))
]
FILES = {"claude-code": [*map(json.dumps, SESSION)], "codex": [*map(json.dumps, ROLLOUT)]}
BAD = ('half of a line"}', '{"type": "user", "uui', "Loading the settings", '{"a": NaN}', "[" * 100_000, "[]", "7")


@pytest.mark.parametrize("from_", ["named", "auto"])
@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad[:20])
@pytest.mark.parametrize("dialect", FILES)
def test_a_first_line_that_cannot_be_read_is_skipped_and_told(dialect: str, bad: str, from_: str) -> None:
    text = "\n".join([bad, *FILES[dialect]])
    imported = import_messages(text.encode(), dialect if from_ == "named" else from_)
    assert imported.dialect == dialect
    assert [str(message.text) for message in imported.messages] == ["hi", "ok"]
    assert [(loss.kind, loss.path) for loss in imported.report if "skipped" in loss.action] == [("dropped", "line 1")]


@pytest.mark.parametrize("dialect", FILES)
def test_a_repeated_key_in_the_first_line_is_mended_and_told(dialect: str) -> None:
    first, *more = FILES[dialect]
    imported = import_messages("\n".join([first.replace("{", '{"type": "x", ', 1), *more]), dialect)
    assert [str(message.text) for message in imported.messages] == ["hi", "ok"]
    assert [loss.action for loss in imported.report if loss.kind == "downgraded"] == ["mended a line"]


def test_lines_of_a_log_before_the_stream_are_skipped_and_told() -> None:
    text = "\n".join(["Reading the prompt", "", "warning: no sandbox", *FILES["codex"]])
    paths = [loss.path for loss in import_messages(text).report if "skipped" in loss.action]
    assert paths == ["line 1", "line 3"]


def test_a_checkpoint_file_is_refused_with_its_bad_first_line() -> None:
    line = {"role": "user", "content": "hi", "tool_calls": None, "tool_results": None}
    with pytest.raises(MalformedHistoryError, match="line 1: not JSON at column 1") as caught:
        import_messages("half a line\n" + json.dumps(line))
    assert caught.value.dialect == "agent-checkpoint"
    assert [finding.path for finding in lint("half a line\n" + json.dumps(line))] == ["line 1"]


@pytest.mark.parametrize(
    "text",
    [
        '[\n{"role": "user", "content": "hi"},\n{"role": "user", "content": "ho"}\n}',
        '{"messages": [\n{"role": "user", "content": "hi"},\n{"role": "user", "content": "ho"}\n',
        '{"messages":\n[{"role": "user", "content": "hi"},\n{"role": "user", "content": "ho"}\n',
        json.dumps({"messages": SESSION}, indent=2)[:-5],
    ],
)
def test_a_broken_document_over_several_lines_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(MalformedHistoryError, match=r"line \d+ column \d+: "):
        import_messages(text)
