"""agent-checkpoint files: interchange with the published package in both directions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agent_checkpoint import cli, diff, merge
from agent_checkpoint.adapters.openai_minimal import envelope_to_message
from agent_checkpoint.format import read_jsonl, write_jsonl
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_portable_checkpoint.dialects.agent_checkpoint import AgentCheckpoint
from langgraph_portable_checkpoint.dialects.anthropic import Anthropic
from langgraph_portable_checkpoint.dialects.base import ExportOptions, ImportOptions
from langgraph_portable_checkpoint.dialects.claude_code.dialect import ClaudeCode
from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages
from langgraph_portable_checkpoint.dialects.lint.agent_checkpoint import RULES, lint_lines
from langgraph_portable_checkpoint.dialects.openai_chat import OpenAIChat
from langgraph_portable_checkpoint.dialects.report import Report
from langgraph_portable_checkpoint.errors import MalformedHistoryError
from tests.dialects.exporting import export
from tests.dialects.made import HISTORIES, JSON

DIALECT = AgentCheckpoint()


def read(payload: Any) -> list[Any]:
    return DIALECT.parse(payload, ImportOptions(), Report())


def read_as(dialect: Any, payload: Any) -> list[Any]:
    return dialect.parse(payload, ImportOptions(), Report())


def chats(corpus: Path) -> list[Path]:
    return sorted((corpus / "openai_chat").glob("*.history.json"))


def saved(history: Path, tmp_path: Path) -> Path:
    """The checkpoint that the published tool saves of a transcript."""
    out = tmp_path / f"{history.stem}.jsonl"
    cli.main(["save", str(history), "-o", str(out)])
    return out


CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
TRANSCRIPT = [
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "1"},
    {"role": "assistant", "content": "done"},
]


def test_our_checkpoint_of_a_transcript_is_identical_to_the_tools_own(tmp_path: Path) -> None:
    transcript = tmp_path / "t.json"
    transcript.write_text(json.dumps(TRANSCRIPT))
    theirs, ours = saved(transcript, tmp_path), tmp_path / "ours.jsonl"
    payload, report = export(DIALECT, read_as(OpenAIChat(), TRANSCRIPT))
    write_jsonl(ours, payload["lines"])
    assert diff.main([str(ours), str(theirs)]) == diff.EXIT_IDENTICAL
    assert report.losses == ()


def test_the_reference_adapter_seeds_what_a_chat_export_gives(corpus: Path, tmp_path: Path) -> None:
    for path in chats(corpus):
        envelopes = read_as(OpenAIChat(), json.loads(path.read_text()))
        out = tmp_path / "c.jsonl"
        write_jsonl(out, export(DIALECT, envelopes)[0]["lines"])
        seeded = [envelope_to_message(line) for line in read_jsonl(out)]
        expected = export(OpenAIChat(), envelopes, reasoning="drop")[0]["messages"]
        for ours, theirs in zip(seeded, expected, strict=True):
            assert ours["role"] == theirs["role"]
            assert ours.get("tool_calls") == theirs.get("tool_calls"), path.name
            assert ours.get("tool_call_id") == theirs.get("tool_call_id"), path.name


def test_checkpoints_of_the_published_tool_are_read(corpus: Path, tmp_path: Path) -> None:
    for path in chats(corpus):
        native = json.loads(path.read_text())
        envelopes = read(saved(path, tmp_path).read_text())
        dropped = bool(native[-1].get("tool_calls"))
        assert len(envelopes) == len(native) - dropped, path.name
        assert sum(one["role"] == "tool" for one in envelopes) == sum(one["role"] == "tool" for one in native)


def test_checkpoints_of_claude_code_sessions_are_read(corpus: Path, tmp_path: Path) -> None:
    for name in ("dkimuson_init_command", "jn_tool_result_image"):
        path = corpus / "claude_code" / f"{name}.jsonl"
        envelopes = read(saved(path, tmp_path).read_text())
        direct = read_as(ClaudeCode(), path.read_text())
        assert [one["role"] for one in envelopes] == [one["role"] for one in direct]
        exported, _ = export(Anthropic(), envelopes)
        assert Anthropic().lint(exported, ExportOptions()) == []


def test_a_history_comes_back_with_ids_times_errors_and_origin() -> None:
    history: list[Any] = [
        {
            "v": 1,
            "role": "user",
            "content": [{"type": "text", "text": "q"}],
            "id": "m1",
            "name": "Ann",
            "created_at": "2026-01-01T00:00:00Z",
        },
        {
            "v": 1,
            "role": "assistant",
            "content": [{"type": "tool_call", "id": "c1", "name": "f", "args": {}}],
            "origin": {"provider": "anthropic", "api": "messages", "model": "claude"},
        },
        {"v": 1, "role": "tool", "content": [{"type": "text", "text": "bad"}], "tool_call_id": "c1", "status": "error"},
    ]
    payload, report = export(DIALECT, history)
    assert report.losses == ()
    again = read(payload)
    assert (again[0]["id"], again[0]["name"], again[0]["created_at"]) == ("m1", "Ann", "2026-01-01T00:00:00Z")
    assert again[1]["origin"] == history[1]["origin"]
    assert again[2]["status"] == "error"


def test_times_are_filled_only_on_request() -> None:
    user: Any = {"v": 1, "role": "user", "content": [{"type": "text", "text": "q"}]}
    assert export(DIALECT, [user])[0]["lines"][0]["ts"] is None
    assert (
        export(DIALECT, [user], extra={"saved_at": "2026-01-01T00:00:00Z"})[0]["lines"][0]["ts"]
        == "2026-01-01T00:00:00Z"
    )


def test_a_dangling_call_is_never_written() -> None:
    payload, _ = export(
        DIALECT, read_as(OpenAIChat(), [*TRANSCRIPT, {"role": "user", "content": "more"}, TRANSCRIPT[1]])
    )
    assert DIALECT.lint(payload, ExportOptions()) == []
    assert [line["role"] for line in payload["lines"]] == ["user", "assistant", "tool", "assistant"]


def test_keys_that_the_format_does_not_know_go_back_as_they_came() -> None:
    line = {"role": "user", "content": "hi", "tool_calls": None, "tool_results": None, "provider": "openai"}
    origin = {"provider": "openai", "api": "chat", "model": "m"}
    line |= {"model": "m", "ts": "2026", "_meta": {"source": "a", "recovered": True, "origin": origin}, "own": {"x": 1}}
    imported = import_messages({"lines": [line]}, "agent-checkpoint")
    assert imported.envelopes[0]["extras"]["recovered"] is True
    for messages in (imported.envelopes, imported.messages):
        assert export_messages(messages, "agent-checkpoint").payload == {"lines": [line]}


def test_merged_checkpoints_keep_their_provenance(tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "c.jsonl"]
    write_jsonl(paths[0], export(DIALECT, read_as(OpenAIChat(), TRANSCRIPT))[0]["lines"])
    write_jsonl(
        paths[1], export(DIALECT, read_as(OpenAIChat(), [*TRANSCRIPT, {"role": "user", "content": "z"}]))[0]["lines"]
    )
    assert merge.main([str(paths[0]), str(paths[1]), "-o", str(paths[2])]) == 0
    merged = read(paths[2].read_text())
    assert [one["extras"]["agent-checkpoint"]["_meta"]["source"] for one in merged] == ["a", "a", "a", "a", "b"]


@settings(max_examples=150, deadline=None)
@given(HISTORIES)
def test_any_history_is_written_as_valid_lines_and_read_again(history: list[Any]) -> None:
    try:
        payload, _ = export(DIALECT, history, incomplete="synthesize", orphans="text")
    except ValueError:
        return
    lines = json.loads(json.dumps(payload["lines"], allow_nan=False))
    if lines:
        assert [finding for finding in lint_lines(lines) if finding.rule != "AC5"] == []
        again = read(lines)
        assert [one["role"] for one in again] == [line["role"].replace("developer", "system") for line in lines]


BROKEN: dict[str, list[Any]] = {
    "AC1": [None, [], "", "x", [{"role": "user"}], [1]],
    "AC2": [[{"role": "robot", "content": "", "tool_calls": None, "tool_results": None}]],
    "AC3": [[{"role": "tool", "content": "", "tool_calls": None, "tool_results": [{"tool_call_id": "x"}]}]],
    "AC4": [[{"role": "assistant", "content": "", "tool_calls": [CALL], "tool_results": None}]],
    "AC5": [
        [{"role": "user", "content": "", "tool_calls": 3, "tool_results": None}],
        [{"role": "assistant", "content": None, "tool_calls": None, "tool_results": None}],
    ],
}


@pytest.mark.parametrize(("rule", "payload"), [(rule, case) for rule, cases in BROKEN.items() for case in cases])
def test_a_broken_rule_is_named(rule: str, payload: Any) -> None:
    assert rule in {finding.rule for finding in lint_lines(payload)}


def test_every_rule_of_lines_has_a_broken_example() -> None:
    assert {rule.id for rule in RULES} - set(BROKEN) == {"AC6"}


@pytest.mark.parametrize(
    ("payload", "where"),
    [
        ("", "no line"),
        ('{"role":\n', "line 1"),
        ([{"role": "user", "content": 1}], "line 1"),
        (None, "NoneType"),
        ([1], "line 1"),
    ],
)
def test_what_is_no_checkpoint_is_refused_with_its_line(payload: Any, where: str) -> None:
    with pytest.raises(MalformedHistoryError, match=where):
        read(payload)


LINES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "x"])},
    optional=dict.fromkeys(("content", "tool_calls", "tool_results", "provider", "model", "ts", "_meta"), JSON),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(LINES | JSON, max_size=5))
def test_any_lines_are_read_or_refused(lines: list[Any]) -> None:
    lint_lines(lines)
    try:
        read(lines)
    except MalformedHistoryError:
        return


def test_lines_of_another_api_are_spelled_anew_for_it() -> None:
    """Lines spell calls as Chat Completions do; the message that they keep may come from Anthropic."""
    asked = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}]}
    told = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}]}
    history = [{"role": "user", "content": "q"}, asked, told]
    lines = "\n".join(export_messages(import_messages(history, "anthropic").envelopes, "agent-checkpoint").lines())
    back = import_messages(lines, "agent-checkpoint").envelopes
    assert export_messages(back, "anthropic").payload == {"messages": history}


def test_a_result_that_is_no_object_is_refused_with_its_place() -> None:
    line = {"role": "tool", "content": None, "tool_calls": None, "tool_results": [[{"tool_call_id": "a"}]]}
    with pytest.raises(MalformedHistoryError, match=r"line 2 tool_results\[0\].*not an object"):
        read([{"role": "user", "content": "q", "tool_calls": None, "tool_results": None}, line])


@pytest.mark.parametrize("key", ["input", "args", "arguments", "parameters"])
@pytest.mark.parametrize("as_text", [False, True])
def test_a_call_that_says_its_name_itself_is_read(key: str, as_text: bool) -> None:
    args = {"x": 1}
    call = {"id": "1", "name": "f", key: json.dumps(args) if as_text else args}
    line = {"role": "assistant", "content": None, "tool_calls": [call], "tool_results": None}
    imported = import_messages(json.dumps({**line, "provider": "x", "model": None, "ts": None}), "agent-checkpoint")
    message: Any = imported.messages[0]
    assert message.tool_calls == [{"name": "f", "args": args, "id": "1", "type": "tool_call"}]


def test_what_a_result_says_in_keys_of_its_own_goes_back_with_it() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    result = {"tool_call_id": "a", "content": "r", "duration": 3, "name": "f", "is_error": True}
    rest: Any = {"provider": "openai", "model": None, "ts": None}
    lines = [
        {"role": "assistant", "content": None, "tool_calls": [call], "tool_results": None, **rest},
        {"role": "tool", "content": "r", "tool_calls": None, "tool_results": [result], **rest},
    ]
    imported = import_messages("\n".join(map(json.dumps, lines)), "agent-checkpoint")
    assert imported.messages[1].name == "f"
    [again] = export_messages(imported.messages, "agent-checkpoint").payload["lines"][1]["tool_results"]
    assert again == result
