"""Claude Code session files: what a compaction keeps, and what hangs beside the path but was seen by the model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from langgraph_portable_checkpoint import import_messages
from langgraph_portable_checkpoint.dialects.claude_code.records import Record
from langgraph_portable_checkpoint.dialects.claude_code.tree import _Above
from langgraph_portable_checkpoint.dialects.jsonl import Line
from tests.dialects.claude_code_lines import answered, read, result, said, shape, text, use
from tests.dialects.test_claude_code_answers import check_exports

KEPT = ["u2", "a2", "r1", "a3"]


def boundary(uuid: str, metadata: dict[str, Any], **more: Any) -> dict[str, Any]:
    fixed = {"type": "system", "subtype": "compact_boundary", "parentUuid": None, "logicalParentUuid": "a3"}
    return {**fixed, "uuid": uuid, "compactMetadata": metadata, **more}


def segment(anchor: str, head: str = "u2", tail: str = "a3") -> dict[str, Any]:
    return {"preservedSegment": {"headUuid": head, "anchorUuid": anchor, "tailUuid": tail}}


def listed(anchor: str, *uuids: str, unwritten: tuple[str, ...] = ()) -> dict[str, Any]:
    every = {"allUuids": [*uuids, *unwritten]} if unwritten else {}
    return {"preservedMessages": {"anchorUuid": anchor, "uuids": list(uuids), **every}}


def before() -> list[dict[str, Any]]:
    return [
        said("u1", None, "old question"),
        answered("a1", "u1", "m1", text("old answer")),
        said("u2", "a1", "recent question"),
        answered("a2", "u2", "m2", use("t1")),
        said("r1", "a2", [result("t1")]),
        answered("a3", "r1", "m3", text("recent answer")),
    ]


def after() -> list[dict[str, Any]]:
    return [said("u3", "s1", "next question"), answered("a4", "u3", "m4", text("next answer"))]


def summary(uuid: str = "s1", parent: str | None = "b", **more: Any) -> dict[str, Any]:
    return said(uuid, parent, "Summary", isCompactSummary=True, **more)


def uuids(envelopes: list[Any]) -> list[str]:
    return [uuid for one in envelopes for uuid in one["extras"]["claude-code"]["uuids"]]


FORMS = {
    "segment": segment("s1"),
    "list": listed("s1", *KEPT),
    "list with what was never written": listed("s1", *KEPT, unwritten=("memory",)),
    "list of all alone": {"preservedMessages": {"anchorUuid": "s1", "allUuids": KEPT}},
    "both": {**segment("s1"), **listed("s1", *KEPT)},
    "list that goes before a broken segment": {**segment("s1", head="gone"), **listed("s1", *KEPT)},
}


@pytest.mark.parametrize("metadata", FORMS.values(), ids=FORMS.keys())
def test_what_a_compaction_keeps_stands_behind_its_summary(metadata: dict[str, Any]) -> None:
    lines = [*before(), boundary("b", metadata), summary(), *after()]
    envelopes, losses = read(lines)
    assert uuids(envelopes) == ["s1", *KEPT, "u3", "a4"]
    told = [(loss.rule, loss.action, loss.detail) for loss in losses if loss.rule == "CC3"]
    assert told == [("CC3", "left out 2 records", "replaced by the summary of a compaction")]
    check_exports(lines)


def test_what_a_compaction_keeps_as_a_prefix_stands_before_its_summary() -> None:
    lines = [*before(), boundary("b", segment("b", "u1", "a1")), summary(), *after()]
    assert uuids(read(lines)[0]) == ["u1", "a1", "s1", "u3", "a4"]


def test_a_file_that_ends_with_the_compaction_holds_what_it_keeps() -> None:
    left = [said("old", "u1", "left"), answered("older", "old", "m0", text("branch"))]
    for metadata in (segment("s1"), listed("s1", *KEPT)):
        envelopes, _ = read([*before(), *left, boundary("b", metadata), summary()])
        assert uuids(envelopes) == ["s1", *KEPT]


def test_results_beside_what_a_compaction_keeps_come_along() -> None:
    lines = [
        *before()[:3],
        answered("a0", "u2", "m2", use("t0")),
        answered("a2", "a0", "m2", use("t1")),
        said("r0", "a0", [result("t0")]),
        said("r1", "a2", [result("t1")]),
        answered("a3", "r1", "m3", text("recent answer")),
        boundary("b", segment("s1")),
        summary(),
        *after(),
    ]
    envelopes, losses = read(lines)
    assert uuids(envelopes) == ["s1", "u2", "a0", "a2", "r0", "r1", "a3", "u3", "a4"]
    assert [loss.action for loss in losses if loss.rule == "CC3"] == ["left out 2 records"]


def test_of_two_compactions_the_last_alone_says_what_is_kept() -> None:
    first = [*before(), boundary("b", segment("s1")), summary(), *after()]
    second = [boundary("c", {}), summary("s2", "c"), said("u5", "s2", "go on")]
    assert uuids(read([*first, *second])[0]) == ["s2", "u5"]
    second[0] = boundary("c", listed("s2", "a3", "u3", "a4"))
    assert uuids(read([*first, *second])[0]) == ["s2", "a3", "u3", "a4", "u5"]


def test_a_prompt_put_again_after_a_compaction_hangs_on_what_it_kept() -> None:
    lines = [*before(), boundary("b", segment("s1")), summary(), *after(), said("v", "r1", "other")]
    assert uuids(read(lines)[0]) == ["s1", "u2", "a2", "r1", "v"]


def test_a_prompt_put_again_before_a_second_compaction_hangs_on_what_the_first_kept() -> None:
    second = [boundary("c", {}), summary("s2", "c"), said("u5", "s2", "go on")]
    again = said("v", "u3", "other")
    lines = [*before(), boundary("b", segment("s1")), summary(), *after(), *second, again]
    assert uuids(read(lines)[0]) == ["s1", *KEPT, "u3", "v"]


def test_a_compaction_of_a_subagent_is_none_of_the_conversation() -> None:
    side = [boundary("c", {}, isSidechain=True), summary("s2", "c", isSidechain=True)]
    lines = [*before(), boundary("b", segment("s1")), summary(), *after(), *side, said("v", "r1", "other")]
    assert uuids(read(lines)[0]) == ["s1", "u2", "a2", "r1", "v"]


@pytest.mark.parametrize(
    "metadata",
    [
        segment("s1", head="gone"),
        segment("s1", tail="gone"),
        segment("gone"),
        segment("s1", head="a3", tail="u2"),
        segment("u2"),
        segment("s1", tail="u3"),
        listed("s1", "u2", "gone", "a3"),
        listed("s1", "u2", "s1"),
        listed("b", "u2", "b"),
        listed("b", "b"),
    ],
)
def test_what_a_compaction_keeps_is_told_where_it_cannot_be_found(metadata: dict[str, Any]) -> None:
    envelopes, losses = read([*before(), boundary("b", metadata), summary(), *after()])
    assert uuids(envelopes) == ["s1", "u3", "a4"]
    assert [(loss.path, loss.kind) for loss in losses if loss.rule == "CC4"] == [("line 7", "unresolved")]


@pytest.mark.parametrize("metadata", [None, 1, [], {"preservedSegment": 1}, {"preservedMessages": {"uuids": [1]}}])
def test_a_compaction_that_keeps_nothing_readable_keeps_nothing(metadata: Any) -> None:
    envelopes, losses = read([*before(), boundary("b", metadata), summary(), *after()])
    assert uuids(envelopes) == ["s1", "u3", "a4"]
    assert [loss.rule for loss in losses] == ["CC3", "CC5"]


def streamed(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lines as the SDK's stream has them: no parents, and marks of its own."""
    shown = [{key: value for key, value in line.items() if not key.endswith("arentUuid")} for line in lines]
    return [{**line, "session_id": "s", "isSynthetic": "isCompactSummary" in line} for line in shown]


def test_in_a_stream_the_summary_of_a_compaction_stands_for_what_came_before() -> None:
    cut = boundary("b", {})
    envelopes, losses = read(streamed([*before(), cut, summary(), *after()]))
    assert uuids(envelopes) == ["s1", "u3", "a4"]
    assert "replaced by the summary of a compaction" in {loss.detail for loss in losses}
    names = {"head_uuid": "u2", "anchor_uuid": "s1", "tail_uuid": "a3"}
    cut = {**boundary("b", {}), "compact_metadata": {"preserved_segment": names}}
    del cut["compactMetadata"]
    assert uuids(read(streamed([*before(), cut, summary(), *after()]))[0]) == ["s1", *KEPT, "u3", "a4"]


def test_in_a_stream_without_the_summary_nothing_is_cut() -> None:
    envelopes, _ = read(streamed([*before(), boundary("b", {}), *after()]))
    assert uuids(envelopes) == ["u1", "a1", *KEPT, "u3", "a4"]


def call(uuid: str, parent: str, message_id: str, name: str, **more: Any) -> dict[str, Any]:
    return answered(uuid, parent, message_id, use(name), **more)


def meta(uuid: str, parent: str, words: str, **more: Any) -> dict[str, Any]:
    return said(uuid, parent, [text(words)], isMeta=True, **more)


@pytest.mark.parametrize("source", [{"sourceToolUseID": "t1"}, {}])
def test_a_text_of_the_program_between_two_lines_of_an_answer_parts_nothing(source: dict[str, Any]) -> None:
    lines = [
        said("u1", None, "look"),
        call("a0", "u1", "m1", "t0"),
        call("a1", "a0", "m1", "t1"),
        said("r1", "a1", [result("t1")]),
        meta("x1", "r1", "[Image]", **source),
        call("a2", "x1", "m1", "t2"),
        said("r2", "a2", [result("t2")]),
    ]
    beside = [said("r0", "a0", [result("t0")]), answered("z", "r0", "m2", text("done"))]
    envelopes, losses = read([*lines, *beside])
    assert uuids(envelopes) == ["u1", "a0", "a1", "a2", "r1", "r2", "r0", "x1", "z"]
    assert [one["role"] for one in envelopes] == ["user", "assistant", *["tool"] * 3, "user", "assistant"]
    assert losses == []
    check_exports([*lines, *beside])
    on_path = [*lines, said("r0", "a0", [result("t0")]), answered("z", "r2", "m2", text("done"))]
    envelopes, losses = read(on_path)
    assert shape(envelopes)[1] == ("assistant", ["t0", "t1", "t2"])
    assert (len(envelopes), losses) == (7, [])
    check_exports(on_path)


@pytest.mark.parametrize("source", [True, False])
def test_texts_of_parallel_calls_beside_the_path_are_kept_behind_the_results(source: bool) -> None:
    names = [{"sourceToolUseID": name} if source else {} for name in ("t1", "t2")]
    lines = [
        said("u", None, "go"),
        call("a1", "u", "m1", "t1"),
        call("a2", "a1", "m1", "t2"),
        said("r1", "a1", [result("t1")]),
        meta("x1", "r1", "Skill one", **names[0]),
        meta("y1", "x1", "Skill one goes on", **names[0]),
        said("r2", "a2", [result("t2")]),
        meta("x2", "r2", "Skill two", **names[1]),
        answered("z", "x2", "m2", text("done")),
    ]
    envelopes, losses = read(lines)
    assert uuids(envelopes) == ["u", "a1", "a2", "r1", "r2", "x1", "y1", "x2", "z"]
    assert losses == []
    check_exports(lines)


@pytest.mark.parametrize(
    "beside",
    [
        [meta("x", "u", "no call's")],
        [meta("x", "a", "hangs on the line")],
        [meta("x", "a", "of another call", sourceToolUseID="t9")],
        [meta("x", "r1", "of another call", sourceToolUseID="t9")],
        [said("r1 again", "a", [result("t1")]), meta("x", "r1 again", "of a copy")],
        [said("r1 again", "a", [result("t1")]), meta("x", "r1 again", "of a copy", sourceToolUseID="t1")],
        [answered("o", "u", "old", text("old")), meta("x", "o", "of a branch", sourceToolUseID="t1")],
    ],
)
def test_texts_of_the_program_that_belong_to_no_call_of_the_path_stay_left_out(beside: list[dict[str, Any]]) -> None:
    lines = [
        said("u", None, "go"),
        call("a", "u", "m1", "t1"),
        call("b", "a", "m1", "t2"),
        said("r1", "a", [result("t1")]),
        *beside,
        said("r2", "b", [result("t2")]),
        answered("z", "r2", "m2", text("done")),
    ]
    envelopes, losses = read(lines)
    assert uuids(envelopes) == ["u", "a", "b", "r1", "r2", "z"]
    assert [(loss.rule, loss.detail) for loss in losses] == [("CC3", "an abandoned branch")]


def turns_of_one_id(*, requests: bool, stops: bool, hook: bool = False) -> list[dict[str, Any]]:
    first, second, third = ({"requestId": name} if requests else {} for name in ("q1", "q2", "q3"))
    lines = [
        said("u1", None, "go"),
        answered("a0", "u1", "gen-1", text("hello"), **first),
        said("u2", "a0", "more"),
        call("b0", "u2", "gen-1", "t0", **second),
        *([{"type": "attachment", "uuid": "h", "parentUuid": "b0", "attachment": {"type": "hook"}}] if hook else []),
        call("b1", "h" if hook else "b0", "gen-1", "t1", **second),
        said("r1", "b1", [result("t1")]),
        call("b2", "r1", "gen-1", "t2", **second),
        said("r2", "b2", [result("t2")]),
        said("r0", "b0", [result("t0")]),
        answered("z", "r0", "gen-1", text("done"), **third),
    ]
    for line in lines:
        if stops and line["type"] == "assistant":
            line["message"]["stop_reason"] = "tool_use"
    return lines


@pytest.mark.parametrize("hook", [False, True])
@pytest.mark.parametrize(("requests", "stops"), [(True, False), (True, True), (False, True), (False, False)])
def test_lines_beside_the_path_of_an_id_of_many_answers_are_kept(requests: bool, stops: bool, hook: bool) -> None:
    lines = turns_of_one_id(requests=requests, stops=stops, hook=hook)
    envelopes, losses = read(lines)
    assert uuids(envelopes) == ["u1", "a0", "u2", "b0", "b1", "b2", "r1", "r2", "r0", "z"]
    assert [loss.rule for loss in losses] == []
    check_exports(lines)


def test_one_request_proves_that_a_line_belongs_to_an_answer_whose_results_are_written() -> None:
    lines = turns_of_one_id(requests=True, stops=True)
    lines.insert(5, lines.pop(9 - 1))
    assert [line["uuid"] for line in lines[3:9]] == ["b0", "b1", "r0", "r1", "b2", "r2"]
    envelopes, losses = read(lines)
    assert sorted(uuids(envelopes)) == sorted(line["uuid"] for line in lines)
    assert losses == []


@pytest.mark.parametrize("again", [[], [said("again", "b0", [result("t0")])]], ids=["once", "a result written twice"])
def test_an_answer_behind_the_last_result_is_another_one_where_an_id_is_that_of_many(again: list[Any]) -> None:
    lines = [
        said("u1", None, "go"),
        answered("a0", "u1", "gen-1", text("hello")),
        said("u2", "a0", "more"),
        call("b0", "u2", "gen-1", "t0"),
        said("r0", "b0", [result("t0")]),
        call("old", "r0", "gen-1", "t9"),
        *again,
        answered("z", "r0", "gen-1", text("done")),
    ]
    envelopes, losses = read(lines)
    assert uuids(envelopes) == ["u1", "a0", "u2", "b0", "r0", "z"]
    assert [loss.detail for loss in losses] == ["an abandoned branch"]


def test_a_line_before_the_first_result_of_a_call_belongs_to_its_answer_whatever_its_id_says_elsewhere() -> None:
    """An answer ends before the next one, which has all its results; so a line before these is no other answer."""
    lines = [
        *turns_of_one_id(requests=False, stops=True)[:3],
        call("b0", "u2", "gen-1", "t0"),
        call("b1", "b0", "gen-1", "t1"),
        said("r0", "b0", [result("t0")]),
        call("b2", "r0", "gen-1", "t2"),
        said("r1", "b1", [result("t1")]),
        said("r2", "b2", [result("t2")]),
        answered("z", "r2", "gen-1", text("done")),
    ]
    for line in lines:
        if line["type"] == "assistant":
            line["message"]["stop_reason"] = "tool_use"
    envelopes, losses = read(lines)
    assert uuids(envelopes) == ["u1", "a0", "u2", "b0", "b1", "b2", "r0", "r1", "r2", "z"]
    assert shape(envelopes)[3] == ("assistant", ["t0", "t1", "t2"])
    assert losses == []


def test_what_a_summary_replaces_behind_what_is_kept_stays_left_out_though_it_has_the_same_id() -> None:
    lines = [
        said("u", None, "go"),
        call("a", "u", "gen-1", "t1"),
        said("r", "a", [result("t1")]),
        meta("x", "r", "Skill"),
        call("old", "x", "gen-1", "t2"),
        said("older", "old", [result("t2")]),
        boundary("b", segment("b", "u", "x")),
        summary(),
        *after(),
    ]
    envelopes, losses = read(lines)
    assert uuids(envelopes) == ["u", "a", "r", "x", "s1", "u3", "a4"]
    assert "left out 2 records" in {loss.action for loss in losses}


SNAPSHOT = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": False}
INIT = {"type": "system", "subtype": "init", "session_id": "s", "uuid": "i", "tools": []}
PART = {"type": "stream_event", "event": {"type": "x"}, "session_id": "s", "parent_tool_use_id": None, "uuid": "e"}
MODE = {"type": "mode", "mode": "plan", "sessionId": "s"}


@pytest.mark.parametrize(
    "head", [[SNAPSHOT] * 30, [SNAPSHOT] * 500, [INIT, *[PART] * 30], [PART] * 500, [INIT] * 21, [MODE] * 100]
)
def test_files_that_begin_with_many_other_lines_are_recognised(head: list[dict[str, Any]]) -> None:
    lines = [*head, said("u", None, "q"), answered("a", "u", "m", text("yes"))]
    for payload in (lines, "\n".join(map(json.dumps, lines))):
        imported = import_messages(payload, "auto")
        assert (imported.dialect, len(imported.messages)) == ("claude-code", 2)


def test_finding_the_leaf_walks_past_each_line_once() -> None:
    lines: list[dict[str, Any]] = [
        {"type": "user", "uuid": "u", "parentUuid": None, "message": {"role": "user", "content": "q"}}
    ]
    for at in range(2000):
        above = lines[-2]["uuid"] if at else "u"
        said = {"role": "user", "content": "m"}
        lines.append({"type": "user", "isMeta": True, "uuid": f"m{at}", "parentUuid": above, "message": said})
        lines.append({"type": "progress", "uuid": f"p{at}", "parentUuid": f"m{at}"})
    looked = 0

    class Counted(dict[str, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            nonlocal looked
            looked += 1
            return super().get(key, default)

    records = [Record.of(Line(at, line, ()), line["uuid"], line["parentUuid"]) for at, line in enumerate(lines)]
    above_all = _Above(Counted({record.uuid: record for record in records}))
    for record in records:
        above_all.says_more(record)
        above_all.nearest_said(record)
    assert looked < 3 * len(records)


def test_the_structured_result_of_the_sdk_s_stream_is_the_artifact() -> None:
    lines: list[Any] = [
        {"type": "assistant", "uuid": "a", "message": {"id": "m", "role": "assistant", "content": [
            {"type": "tool_use", "id": "t", "name": "Read", "input": {}}]}},
        {"type": "user", "uuid": "b", "tool_use_result": {"n": 1}, "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": "x"}]}},
    ]  # fmt: skip
    (_, result) = import_messages(lines, "claude-code").messages
    assert getattr(result, "artifact", None) == {"n": 1}
