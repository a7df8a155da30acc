"""Codex rollouts and exec streams: what the model saw, and a word on everything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_portable_checkpoint.dialects.report import Report
from langgraph_portable_checkpoint.errors import DialectError, MalformedHistoryError
from tests.dialects import counting
from tests.dialects.codex_records import DIALECT, done, item, read, said, texts
from tests.dialects.made import JSON


def test_recorded_files_hold_what_their_lines_hold(corpus: Path) -> None:
    paths = sorted((corpus / "codex").glob("*.jsonl"))
    assert len(paths) == 10
    for path in paths:
        stream = "exec_json" in path.name
        expected = (counting.codex_exec if stream else counting.codex_rollout)(path)
        found = counting.of_envelopes(read(path.read_bytes())[0])
        for key in expected:
            assert found[key] == expected[key], (path.name, key)
        assert DIALECT.recognises(path.read_text()) > 0.9


def test_a_rollout_is_the_items_with_the_model_of_their_turn() -> None:
    envelopes, losses = read(
        [
            {"type": "session_meta", "payload": {"id": "s", "base_instructions": {"text": "You are Codex."}}},
            said("user", "<environment_context>...</environment_context>"),
            said("user", "list files"),
            {"type": "turn_context", "payload": {"model": "gpt-5-codex"}},
            {"type": "event_msg", "payload": {"type": "agent_message", "message": "I list."}},
            item(type="reasoning", summary=[], encrypted_content="gAAA"),
            item(type="function_call", name="shell", arguments='{"command":["ls"]}', call_id="c1"),
            item(type="function_call_output", call_id="c1", output={"content": "no", "success": False}),
            said("assistant", "Nothing."),
            item(type="ghost_snapshot", ghost_commit={}),
        ]
    )
    assert [one["role"] for one in envelopes] == ["system", "user", "user", "assistant", "tool", "assistant"]
    assert [one.get("typed_by_user", True) for one in envelopes[1:3]] == [False, True]
    assert envelopes[3]["origin"]["model"] == "gpt-5-codex"
    assert [block["type"] for block in envelopes[3]["content"]] == ["reasoning", "tool_call"]
    assert (envelopes[4]["status"], envelopes[4]["content"][0]["text"]) == ("error", "no")
    assert envelopes[5]["created_at"] == "2026-01-01T00:00:00Z"
    assert [loss.detail for loss in losses] == ["event_msg 1, response_item 1, session_meta 1, turn_context 1"]


def test_a_compaction_replaces_what_stands_before_it() -> None:
    old = [said("user", "old"), said("assistant", "old answer")]
    summary, losses = read([*old, {"type": "compacted", "payload": {"message": "Summary"}}, said("user", "new")])
    assert [(one["content"][0]["text"], one.get("typed_by_user", True)) for one in summary] == [
        ("old", True),
        ("Summary", False),
        ("new", True),
    ]
    assert [(loss.rule, loss.kind, loss.path) for loss in losses] == [("CX3", "dropped", "line 3")]
    history = [said("user", "kept")["payload"]]
    replaced, _ = read([*old, {"type": "compacted", "payload": {"message": "", "replacement_history": history}}])
    assert [one["content"][0]["text"] for one in replaced] == ["kept"]


def test_an_aborted_turn_is_told() -> None:
    _, losses = read(
        [said("user", "q"), {"type": "event_msg", "payload": {"type": "turn_aborted", "reason": "interrupted"}}]
    )
    assert ("CX4", "unresolved", "interrupted") in {(loss.rule, loss.kind, loss.detail) for loss in losses}


def test_items_of_a_stream_become_calls_with_results() -> None:
    envelopes, losses = read(
        [
            {"type": "thread.started", "thread_id": "t"},
            done(id="i0", type="reasoning", text="hm"),
            done(id="i1", type="command_execution", command="ls", aggregated_output="x", exit_code=2, status="failed"),
            done(
                id="i2",
                type="mcp_tool_call",
                server="fs",
                tool="read",
                arguments={"p": 1},
                result={"content": [{"type": "text", "text": "data"}]},
                status="completed",
            ),
            done(id="i3", type="file_change", changes=[{"path": "a", "kind": "add"}], status="completed"),
            done(id="i4", type="web_search", query="q"),
            done(id="i5", type="novelty"),
            done(id="i6", type="error", message="oops"),
            {
                "type": "item.started",
                "item": {"id": "i7", "type": "command_execution", "command": "sleep", "status": "in_progress"},
            },
            {"type": "turn.failed", "error": {"message": "killed"}},
        ]
    )
    calls = [
        (block["id"], block["name"]) for one in envelopes for block in one["content"] if block["type"] == "tool_call"
    ]
    assert calls == [("i1", "shell"), ("i2", "fs__read"), ("i3", "apply_patch"), ("i7", "shell")]
    results = [
        (one["tool_call_id"], one["status"], one["content"][0]["text"]) for one in envelopes if one["role"] == "tool"
    ]
    assert results == [("i1", "error", "x"), ("i2", "success", "data"), ("i3", "success", "completed")]
    assert [block["type"] for block in envelopes[-1]["content"]] == ["server_tool_call", "non_standard", "tool_call"]
    assert [loss.detail for loss in losses if loss.rule == "CX4"] == ["a stream does not hold it", "oops", "killed"]


def test_corrupt_lines_and_items_are_told_with_their_numbers() -> None:
    good = json.dumps(said("user", "q"))
    bad = json.dumps(item(type="function_call_output", output="x"))
    envelopes, losses = read("\n".join([good, '{"type":', bad, '{"type":"event_msg","payload":{"a":"\\ud800"}}']))
    assert len(envelopes) == 1
    assert [(loss.rule, loss.path) for loss in losses if loss.rule == "CX1"] == [
        ("CX1", "line 2"),
        ("CX1", "line 4"),
        ("CX1", "line 3"),
    ]


@pytest.mark.parametrize("payload", [None, 3, "", [], "not json", '{"type":"user"}', [1]])
def test_what_is_no_codex_file_is_refused(payload: Any) -> None:
    with pytest.raises(MalformedHistoryError):
        read(payload)


def test_these_files_are_only_read() -> None:
    with pytest.raises(DialectError):
        DIALECT.render([], None, Report())  # type: ignore[arg-type]


KINDS = ["message", "reasoning", "function_call", "function_call_output", "web_search_call", "x", "local_shell_call"]
KINDS += ["agent_message", "compaction_summary", "custom_tool_call_output", "ghost_snapshot"]
ITEMS = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS)},
    optional=dict.fromkeys(("role", "content", "call_id", "output", "arguments", "summary", "name", "id"), JSON),
)
STREAMED = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            [
                *("agent_message", "reasoning", "command_execution", "mcp_tool_call", "todo_list", "web_search", "x"),
                *("collab_tool_call", "file_change", "error"),
            ]
        )
    },
    optional=dict.fromkeys(
        ("id", "text", "command", "status", "exit_code", "result", "error", "arguments", "items", "item_type"), JSON
    ),
)
STARTED = st.fixed_dictionaries({"type": st.just("task_started")}, optional={"turn_id": JSON})
ROLLED_BACK = st.fixed_dictionaries({"type": st.just("thread_rolled_back"), "num_turns": JSON})
LINES = st.one_of(
    st.fixed_dictionaries({"type": st.just("event_msg"), "payload": ROLLED_BACK | STARTED}),
    ITEMS,
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["response_item", "event_msg", "session_meta", "compacted", "turn_context"]),
            "payload": ITEMS | JSON,
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                [
                    *("item.completed", "item.started", "item.added", "turn.completed", "turn.failed", "turn.started"),
                    *("thread.started", "session.created"),
                ]
            )
        },
        optional={"item": STREAMED | JSON, "usage": JSON, "error": JSON},
    ),
    JSON,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(LINES, max_size=6))
def test_any_lines_are_read_or_refused(lines: list[Any]) -> None:
    try:
        envelopes, _ = read(lines)
    except MalformedHistoryError:
        return
    blocks = [block for one in envelopes for block in one["content"]]
    assert all(isinstance(block["id"], str) for block in blocks if block["type"] == "tool_call")


SESSION = {"type": "session_meta", "payload": {"id": "s", "instructions": "Be brief."}}


def test_the_instructions_of_a_session_outlive_a_compaction() -> None:
    old = [SESSION, said("user", "one"), said("assistant", "1")]
    assert texts([*old, {"type": "compacted", "payload": {"message": "Sum"}}]) == ["Be brief.", "one", "Sum"]
    history = [said("user", "kept")["payload"]]
    replaced = {"type": "compacted", "payload": {"message": "", "replacement_history": history}}
    assert texts([*old, replaced]) == ["Be brief.", "kept"]


def test_what_a_session_began_with_outlives_a_compaction_without_a_history() -> None:
    begin = [
        said("developer", "Rules."),
        said("user", "# AGENTS.md instructions"),
        said("user", "<environment_context>"),
    ]
    later = said("user", "<environment_context> moved")
    compacted = [{"type": "compacted", "payload": {"message": text}} for text in ("Sum", "Sum of sums")]
    old = [*begin, said("user", "one"), said("assistant", "1"), later]
    kept = ["Rules.", "# AGENTS.md instructions", "<environment_context>", "one"]
    assert texts([*old, compacted[0]]) == [*kept, "Sum"]
    assert texts([*old, compacted[0], said("assistant", "2"), compacted[1]]) == [*kept, "Sum of sums"]


@pytest.mark.parametrize(
    ("turns", "left"),
    [(1, ["Be brief.", "<environment_context>", "one", "1"]), (2, ["Be brief.", "<environment_context>"]), (9, None)],
)
def test_turns_that_the_user_took_back_are_left_out(turns: int, left: list[str] | None) -> None:
    context = said("user", "<environment_context>")
    talk = [SESSION, context, said("user", "one"), said("assistant", "1"), said("user", "two"), said("assistant", "2")]
    back = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": turns}}
    left = left or ["Be brief.", "<environment_context>"]
    assert texts([*talk, back, said("user", "again")]) == [*left, "again"]
    _, losses = read([*talk, back])
    assert [loss.kind for loss in losses if loss.rule == "CX5"] == ["dropped"]
