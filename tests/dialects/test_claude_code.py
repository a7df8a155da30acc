"""Claude Code session files: the conversation that the model last saw, and a word on everything else."""

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
from tests.dialects.claude_code_lines import DIALECT, answered, read, record, result, said, shape, text, use
from tests.dialects.made import JSON


def test_recorded_sessions_hold_what_their_lines_hold(corpus: Path) -> None:
    paths = sorted((corpus / "claude_code").glob("*.jsonl"))
    assert len(paths) == 8
    for path in paths:
        envelopes, _ = read(path.read_bytes())
        expected = counting.claude_code(path)
        found = counting.of_envelopes(envelopes)
        assert {key: found[key] for key in ("user", "answer", "call", "result", "media")} == {
            key: expected[key] for key in ("user", "answer", "call", "result", "media")
        }, path.name


def test_lines_of_one_message_become_one_and_its_last_line_has_the_usage() -> None:
    envelopes, losses = read(
        [
            said("u", None, "q"),
            answered("a1", "u", "m", text("I look.")),
            answered("a2", "a1", "m", use("t1")) | {"timestamp": "2026-01-01T00:00:00Z"},
            said("r", "a2", [result("t1")], toolUseResult={"stdout": "ok"}),
            answered("a3", "r", "m2", text("Done.")),
        ]
    )
    assert shape(envelopes) == [
        ("user", ["q"]),
        ("assistant", ["I look.", "t1"]),
        ("tool", ["ok"]),
        ("assistant", ["Done."]),
    ]
    assert envelopes[1]["id"] == "m"
    assert envelopes[2]["artifact"] == {"stdout": "ok"}
    assert losses == []


def test_results_of_parallel_calls_that_hang_beside_the_path_are_found() -> None:
    envelopes, losses = read(
        [
            said("u", None, "q"),
            answered("a1", "u", "m", use("t1")),
            answered("a2", "a1", "m", use("t2")),
            answered("a3", "a1", "m", use("t3")),
            said("r1", "a1", [result("t1")]),
            said("r3", "a3", [result("t3")]),
            said("r2", "a2", [result("t2")]),
            answered("b", "r2", "m2", text("Done.")),
        ]
    )
    assert [one["role"] for one in envelopes] == ["user", "assistant", "tool", "tool", "tool", "assistant"]
    assert {one["tool_call_id"] for one in envelopes[2:5]} == {"t1", "t2", "t3"}
    assert losses == []


def test_a_result_beside_the_path_that_is_written_twice_counts_once() -> None:
    envelopes, losses = read(
        [
            said("u", None, "q"),
            answered("a1", "u", "m", use("t1")),
            answered("a2", "a1", "m", use("t2")),
            said("r1", "a1", [result("t1")]),
            said("r1 again", "a1", [result("t1", content="other")]),
            said("r2", "a2", [result("t2")]),
        ]
    )
    assert [one.get("tool_call_id") for one in envelopes] == [None, None, "t1", "t2"]
    assert [(loss.rule, loss.kind) for loss in losses] == [("CC3", "dropped")]


def test_an_abandoned_branch_is_left_out_and_told() -> None:
    envelopes, losses = read(
        [
            said("u1", None, "first try"),
            answered("a1", "u1", "m1", use("t1")),
            said("r1", "a1", [result("t1")]),
            said("u2", None, "second try"),
            answered("a2", "u2", "m2", text("yes")),
        ]
    )
    assert shape(envelopes) == [("user", ["second try"]), ("assistant", ["yes"])]
    assert [(loss.rule, loss.kind, loss.detail) for loss in losses] == [("CC3", "dropped", "an abandoned branch")]


def test_what_was_typed_on_an_abandoned_branch_while_the_model_worked_is_told() -> None:
    prompt = {"type": "queued_command", "prompt": "and this"}
    typed = {"type": "attachment", "uuid": "q", "parentUuid": "u1", "attachment": prompt}
    _, losses = read([said("u1", None, "first"), typed, said("u2", None, "second")])
    assert [(loss.rule, loss.action) for loss in losses] == [("CC3", "left out 2 records")]


@pytest.mark.parametrize("again", [said("u", None, "second"), answered("u", None, "m", text("second"))])
def test_of_records_with_one_uuid_the_last_is_read_and_the_others_are_told(again: dict[str, Any]) -> None:
    envelopes, losses = read([said("u", None, "first"), again, answered("a", "u", "n", text("ok"))])
    assert shape(envelopes) == [(again["type"], ["second"]), ("assistant", ["ok"])]
    assert [(loss.rule, loss.kind, loss.path) for loss in losses] == [("CC3", "dropped", "line 1")]
    assert losses[0].detail == "line 2 has the same uuid"


def test_a_record_that_is_written_twice_is_no_loss() -> None:
    envelopes, losses = read([said("u", None, "q"), said("u", None, "q"), answered("a", "u", "m", text("ok"))])
    assert (shape(envelopes), losses) == ([("user", ["q"]), ("assistant", ["ok"])], [])


def test_two_calls_of_one_id_in_a_message_are_one_and_told_if_they_differ() -> None:
    other = {**use("t"), "name": "Write"}
    lines = [said("u", None, "q"), answered("a", "u", "m", use("t")), answered("b", "a", "m", use("t"), other)]
    envelopes, losses = read(lines)
    assert [block["name"] for block in envelopes[1]["content"]] == ["Read"]
    assert [(loss.rule, loss.kind, loss.path, loss.detail) for loss in losses] == [
        ("CC6", "dropped", "line 3", "call t")
    ]


def test_a_compaction_starts_anew_and_says_what_it_replaced() -> None:
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "s",
        "parentUuid": None,
        "logicalParentUuid": "a1",
    }
    envelopes, losses = read(
        [
            said("u1", None, "old"),
            answered("a1", "u1", "m1", text("old answer")),
            boundary,
            said("u2", "s", "Summary: ...", isCompactSummary=True),
            said("u3", "u2", "new"),
        ]
    )
    assert shape(envelopes) == [("user", ["Summary: ..."]), ("user", ["new"])]
    assert [one.get("typed_by_user", True) for one in envelopes] == [False, True]
    assert {loss.detail for loss in losses if loss.rule == "CC3"} == {"replaced by the summary of a compaction"}


def test_what_no_person_typed_and_no_model_said_is_marked_or_left_out() -> None:
    envelopes, losses = read(
        [
            said("u1", None, "Caveat", isMeta=True),
            said("u2", "u1", "q"),
            record("assistant", "a", "u2", [text("API Error")], message={"id": "x", "model": "<synthetic>"}),
            said("u3", "a", [text("[Request interrupted by user]")]),
            {
                "type": "attachment",
                "uuid": "q",
                "parentUuid": "u3",
                "attachment": {"type": "queued_command", "prompt": "and this"},
            },
            said("u4", "q", "go on"),
        ]
    )
    assert [(one["content"][0]["text"], one.get("typed_by_user", True)) for one in envelopes] == [
        ("Caveat", False),
        ("q", True),
        ("[Request interrupted by user]", False),
        ("and this", True),
        ("go on", True),
    ]
    assert [(loss.rule, loss.kind) for loss in losses] == [("CC5", "dropped")]


@pytest.mark.parametrize(
    ("mark", "why"),
    [({"teamName": "T"}, "a team member's conversation"), ({"isSidechain": True}, "a subagent's side conversation")],
)
def test_what_others_say_at_the_end_of_the_main_conversation_is_left_out_and_told(mark: Any, why: str) -> None:
    lines = [said("a", None, "go"), answered("b", "a", "m1", text("x"))]
    lines += [said("c", "b", "to the team", **mark), answered("d", "c", "m2", text("from it"), **mark)]
    envelopes, losses = read(lines)
    assert shape(envelopes) == shape(read(lines[:2])[0])
    assert [(loss.rule, loss.kind, loss.path, loss.detail) for loss in losses] == [("CC3", "dropped", "line 3", why)]


def test_a_subagents_own_file_is_its_conversation() -> None:
    envelopes, losses = read(
        [said("u", None, "task", isSidechain=True), answered("a", "u", "m", text("done"), isSidechain=True)]
    )
    assert shape(envelopes) == [("user", ["task"]), ("assistant", ["done"])]
    assert losses == []


def test_corrupt_lines_are_told_with_their_numbers() -> None:
    good = json.dumps(said("u", None, "q"))
    lines = [
        good,
        '{"type":"user","uuid":',
        "[1]",
        '{"a": NaN}',
        "[" * 100_000,
        '{"type":"summary","summary":"\\ud800"}',
        '{"a":1,"a":2}',
    ]
    envelopes, losses = read("\n".join(lines))
    assert shape(envelopes) == [("user", ["q"])]
    assert {loss.path for loss in losses if loss.rule == "CC1"} == {f"line {n}" for n in (2, 3, 4, 5, 6, 7)}


def test_a_message_that_cannot_be_read_is_told_with_its_line() -> None:
    bad = {"type": "assistant", "uuid": "a", "parentUuid": "u", "message": {"id": "m", "content": [{"no": "type"}]}}
    envelopes, losses = read([said("u", None, "q"), bad, said("u2", "a", "r")])
    assert shape(envelopes) == [("user", ["q"]), ("user", ["r"])]
    assert [(loss.rule, loss.path) for loss in losses] == [("CC1", "line 2")]


def test_a_circle_ends_the_walk_or_is_refused() -> None:
    envelopes, losses = read([said("u1", "u2", "a"), said("u2", "u1", "b"), said("u3", "u2", "c")])
    assert shape(envelopes) == [("user", ["a"]), ("user", ["b"]), ("user", ["c"])]
    assert [loss.rule for loss in losses] == ["CC4"]
    with pytest.raises(MalformedHistoryError, match="circle"):
        read([said("u1", "u2", "a"), said("u2", "u1", "b")])


def test_lines_without_uuid_follow_one_another() -> None:
    lines = [
        {"type": "user", "message": {"role": "user", "content": "q"}},
        {"type": "assistant", "message": {"id": "m", "content": [text("a")]}},
    ]
    assert shape(read(lines)[0]) == [("user", ["q"]), ("assistant", ["a"])]


def test_a_line_of_100_megabytes_is_told_not_parsed() -> None:
    long = b'{"type":"user","uuid":"v","message":{"role":"user","content":"' + b"x" * 100_000_000 + b'"}}'
    _, losses = read(json.dumps(said("u", None, "q")).encode() + b"\n" + long)
    assert [(loss.rule, loss.path) for loss in losses] == [("CC1", "line 2")]


@pytest.mark.parametrize("payload", [None, 3, "", b"", [], "not json", '{"type":"summary"}', [1], b"\xff\xfe"])
def test_what_holds_no_message_is_refused(payload: Any) -> None:
    with pytest.raises(MalformedHistoryError):
        read(payload)


def test_these_files_are_only_read() -> None:
    with pytest.raises(DialectError):
        DIALECT.render([], None, Report())  # type: ignore[arg-type]


UUIDS = st.sampled_from(["a", "b", "c", "d", ""])
RECORDS = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "summary", "attachment"])},
    optional={
        "uuid": UUIDS | JSON,
        "parentUuid": UUIDS | JSON,
        "isSidechain": st.booleans(),
        "isMeta": st.booleans(),
        "attachment": JSON,
        "message": st.fixed_dictionaries(
            {},
            optional={
                "id": UUIDS | JSON,
                "role": JSON,
                "model": JSON,
                "usage": JSON,
                "content": JSON
                | st.lists(
                    st.fixed_dictionaries(
                        {"type": st.sampled_from(["text", "tool_use", "tool_result", "image", "x"])},
                        optional={
                            "text": JSON,
                            "id": UUIDS,
                            "tool_use_id": UUIDS,
                            "content": JSON,
                            "input": JSON,
                            "name": JSON,
                            "source": JSON,
                        },
                    ),
                    max_size=3,
                ),
            },
        ),
    },
)


@settings(max_examples=300, deadline=None)
@given(st.lists(RECORDS | JSON, max_size=6))
def test_any_lines_are_read_or_refused(lines: list[Any]) -> None:
    try:
        envelopes, _ = read(lines)
    except MalformedHistoryError:
        return
    assert envelopes


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 4000), st.binary(max_size=3))
def test_a_damaged_file_is_read_with_a_report_or_refused(at: int, damage: bytes) -> None:
    whole = "\n".join(
        json.dumps(row)
        for row in [said("u", None, "q"), answered("a", "u", "m", use("t")), said("r", "a", [result("t")])]
    ).encode()
    at %= len(whole)
    try:
        read(whole[:at] + damage)
    except MalformedHistoryError:
        return


@pytest.mark.parametrize("program", ["skill", "image", "nothing"])
def test_a_conversation_that_ends_in_what_the_program_said_is_whole(program: str) -> None:
    """A result of parallel calls is a leaf too, and earlier; what the program said stands where it stood."""
    spoken = {
        "skill": [said("k", "u2", "Skill text", isMeta=True)],
        "image": [said("k", "u2", "[Image: source]", isMeta=True), said("k2", "k", "Caveat", isMeta=True)],
        "nothing": [],
    }[program]
    envelopes, losses = read(
        [
            said("u1", None, "q"),
            answered("a1", "u1", "m1", use("c1")),
            answered("a2", "a1", "m1", use("c2")),
            said("r1", "a1", [result("c1")]),
            said("r2", "a2", [result("c2")]),
            answered("a3", "r2", "m2", text("done")),
            said("u2", "a3", "more"),
            *spoken,
        ]
    )
    ends = [("user", [one["message"]["content"]]) for one in spoken]
    assert [one["role"] for one in envelopes][:4] == ["user", "assistant", "tool", "tool"]
    assert shape(envelopes)[4:] == [("assistant", ["done"]), ("user", ["more"]), *ends]
    assert losses == []


def test_the_branch_that_a_user_went_on_with_is_read_though_it_ends_in_what_the_program_said() -> None:
    envelopes, losses = read(
        [
            said("a", None, "hi"),
            answered("b", "a", "m1", text("old")),
            said("c", "a", "rephrased"),
            answered("d", "c", "m2", text("new")),
            said("e", "d", "Stop hook feedback", isMeta=True),
        ]
    )
    assert shape(envelopes) == [
        ("user", ["hi"]),
        ("user", ["rephrased"]),
        ("assistant", ["new"]),
        ("user", ["Stop hook feedback"]),
    ]
    assert {loss.rule for loss in losses} == {"CC3"}


def test_what_the_program_alone_said_is_no_branch() -> None:
    conversation = [said("u1", None, "q"), answered("a1", "u1", "m1", text("yes"))]
    envelopes, _ = read([*conversation, said("k", None, "Caveat", isMeta=True)])
    assert shape(envelopes) == [("user", ["q"]), ("assistant", ["yes"])]
