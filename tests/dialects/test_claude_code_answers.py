"""Claude Code session files: which lines are one answer, and who said what a line holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from langgraph_portable_checkpoint import export_messages, import_messages, lint
from tests.dialects.claude_code_lines import answered, read, record, result, said, shape, text, use

TARGETS = ("anthropic", "openai-responses", "google", "openai-chat", "bedrock", "mistral")


def thinking(value: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": value, "signature": f"signed {value}"}


def check_exports(lines: list[dict[str, Any]]) -> None:
    """The main job: what is read can be sent on to every provider."""
    imported = import_messages("\n".join(map(json.dumps, lines)), "auto")
    assert imported.dialect == "claude-code"
    for target in TARGETS:
        assert lint(export_messages(imported.messages, target).payload, target) == [], target


def test_one_id_in_two_turns_is_two_answers_with_ids_of_their_own() -> None:
    lines = [
        said("u1", None, "Q1"),
        answered("a1", "u1", "chatcmpl-7", text("A1")),
        said("u2", "a1", "Q2"),
        answered("a2", "u2", "chatcmpl-7", text("A2")),
        said("u3", "a2", "Q3"),
    ]
    envelopes, losses = read(lines)
    assert [content for _, content in shape(envelopes)] == [["Q1"], ["A1"], ["Q2"], ["A2"], ["Q3"]]
    assert [one["id"] for one in envelopes] == ["u1", "chatcmpl-7", "u2", "a2", "u3"]
    assert losses == []
    check_exports(lines)


@pytest.mark.parametrize(
    "between",
    [
        [answered("x", "r1", "m2", text("other"))],
        [said("x", "r1", "and this")],
        [{"type": "attachment", "uuid": "x", "attachment": {"type": "queued_command", "prompt": "and this"}}],
        [record("assistant", "x", "r1", [text("API error")], message={"id": "m", "model": "<synthetic>"})],
    ],
    ids=["another answer", "a prompt", "a queued prompt", "an error"],
)
def test_an_answer_never_reaches_over_what_somebody_else_said(between: list[Any]) -> None:
    envelopes, _ = read(
        [
            said("u", None, "q"),
            answered("a1", "u", "m", use("t1")),
            said("r1", "a1", [result("t1")]),
            *[{**one, "parentUuid": "r1"} for one in between],
            answered("a2", "x", "m", use("t2")),
            said("r2", "a2", [result("t2")]),
        ]
    )
    contents = [content for role, content in shape(envelopes) if role == "assistant"]
    assert (contents[0], contents[-1]) == (["t1"], ["t2"])


def test_words_after_its_results_show_that_an_id_is_that_of_several_answers() -> None:
    lines = [
        said("u", None, "q"),
        answered("a1", "u", "m", thinking("x"), use("t1")),
        said("r1", "a1", [result("t1")]),
        answered("a2", "r1", "m", use("t2")),
        said("r2", "a2", [result("t2")]),
        answered("a3", "r2", "m", text("done")),
    ]
    envelopes, losses = read(lines)
    assert shape(envelopes)[1:] == [
        ("assistant", ["reasoning", "t1"]),
        ("tool", ["ok"]),
        ("assistant", ["t2"]),
        ("tool", ["ok"]),
        ("assistant", ["done"]),
    ]
    assert losses == []
    check_exports(lines)


PROGRESS = {"type": "progress", "uuid": "p", "parentUuid": "r1", "data": {}}
SKILL = said("p", "r1", "Skill text", isMeta=True, sourceToolUseID="t1")
SOMETHING = [PROGRESS, SKILL, {"type": "attachment", "uuid": "p", "parentUuid": "r1", "attachment": {"type": "x"}}]


@pytest.mark.parametrize("between", SOMETHING, ids=["progress", "a skill", "attachment"])
def test_an_answer_goes_on_after_results_that_came_while_the_model_still_talked(between: dict[str, Any]) -> None:
    envelopes, _ = read(
        [
            said("u", None, "q"),
            answered("a1", "u", "m", thinking("x")),
            answered("a2", "a1", "m", use("t1")),
            said("r1", "a2", [result("t1")]),
            between,
            answered("a3", "p", "m", use("t2")),
            said("r2", "a3", [result("t2")]),
            answered("a4", "r2", "m2", text("done")),
        ]
    )
    said_by_model = [content for role, content in shape(envelopes) if role == "assistant"]
    assert said_by_model == [["reasoning", "t1", "t2"], ["done"]]
    assert [one["tool_call_id"] for one in envelopes if one["role"] == "tool"] == ["t1", "t2"]


@pytest.mark.parametrize(
    ("first", "second", "answers"),
    [
        ({}, {}, [["t1", "t2"]]),
        ({"requestId": "r"}, {"requestId": "s"}, [["t1"], ["t2"]]),
        ({"requestId": "r", "stop": "tool_use"}, {"requestId": "r"}, [["t1", "t2"]]),
        ({"stop": "tool_use"}, {}, [["t1"], ["t2"]]),
    ],
)
def test_requests_and_reasons_to_stop_tell_answers_apart(first: Any, second: Any, answers: Any) -> None:
    first, stop = dict(first), first.get("stop")
    first.pop("stop", None)
    line = answered("a1", "u", "m", use("t1"), **first)
    line["message"]["stop_reason"] = stop
    envelopes, _ = read(
        [
            said("u", None, "q"),
            line,
            said("r1", "a1", [result("t1")]),
            answered("a2", "r1", "m", use("t2"), **second),
            said("r2", "a2", [result("t2")]),
        ]
    )
    assert [content for role, content in shape(envelopes) if role == "assistant"] == answers


def conversation(mark: str, answer: str = "A2") -> list[dict[str, Any]]:
    """A conversation with parallel calls whose first result lies beside the path; ids of messages stay, uuids differ."""
    return [
        said(f"u{mark}", None, "Q1"),
        answered(f"a1{mark}", f"u{mark}", "m1", thinking("x")),
        answered(f"a2{mark}", f"a1{mark}", "m1", use("t1")),
        answered(f"a3{mark}", f"a2{mark}", "m1", use("t2")),
        said(f"r1{mark}", f"a2{mark}", [result("t1", content=f"r1 of {mark}")]),
        said(f"r2{mark}", f"a3{mark}", [result("t2", content=f"r2 of {mark}")]),
        answered(f"b{mark}", f"r2{mark}", "m2", text(answer)),
    ]


def test_a_copy_of_the_conversation_in_the_same_file_doubles_nothing() -> None:
    fork = [*conversation("fork"), said("new", "bfork", "go on")]
    alone, _ = read(fork)
    envelopes, losses = read([*conversation("old"), *fork])
    assert [(one["role"], one["content"]) for one in envelopes] == [(one["role"], one["content"]) for one in alone]
    assert [(loss.rule, loss.action, loss.detail) for loss in losses] == [
        ("CC3", "left out 7 records", "an abandoned branch")
    ]
    check_exports([*conversation("old"), *fork])


def test_a_copy_behind_the_conversation_in_the_same_file_doubles_nothing() -> None:
    envelopes, _ = read([*conversation("fork"), *conversation("old")])
    assert [one["content"] for one in envelopes] == [one["content"] for one in read(conversation("old"))[0]]


def test_results_of_calls_of_one_id_in_several_turns_go_to_their_own() -> None:
    """Some models number calls anew in each turn; the results of parallel ones lie beside the path."""
    lines: list[dict[str, Any]] = []
    last = None
    for turn in ("one", "two"):
        lines += [
            said(f"u{turn}", last, turn),
            answered(f"a{turn}", f"u{turn}", turn, use("f:0")),
            answered(f"b{turn}", f"a{turn}", turn, use("f:1")),
            said(f"r{turn}", f"a{turn}", [result("f:0", content=f"0 of {turn}")]),
            said(f"s{turn}", f"b{turn}", [result("f:1", content=f"1 of {turn}")]),
        ]
        last = f"s{turn}"
    envelopes, losses = read(lines)
    told = [one["content"][0]["text"] for one in envelopes if one["role"] == "tool"]
    assert sorted(told) == ["0 of one", "0 of two", "1 of one", "1 of two"]
    assert told.index("0 of one") < 2
    assert losses == []


def test_the_order_of_the_path_wins_over_that_of_the_file() -> None:
    again = answered("a1", "u", "m", thinking("x"))
    lines = [
        said("u", None, "q"),
        again,
        answered("a2", "a1", "m", use("t1")),
        said("r1", "a2", [result("t1")]),
        again,
        answered("b", "r1", "m2", text("end")),
    ]
    envelopes, losses = read(lines)
    assert shape(envelopes)[1] == ("assistant", ["reasoning", "t1"])
    assert losses == []


def test_lines_in_any_order_give_the_order_of_the_path() -> None:
    lines = [answered(f"a{n}", f"a{n - 1}" if n else "u", "m", text(str(n))) for n in range(4)]
    envelopes, _ = read([said("u", None, "q"), *lines[2:], *lines[:2], said("v", "a3", "r")])
    assert shape(envelopes)[1] == ("assistant", ["0", "1", "2", "3"])


@pytest.mark.parametrize("named", ["uuid", "no uuid"])
def test_what_a_subagent_says_in_the_stream_of_the_sdk_is_left_out_and_told(named: str) -> None:
    def line(kind: str, uuid: str, content: Any, parent_call: str | None) -> dict[str, Any]:
        message = {"role": kind, "content": content, "model": "c", "id": f"m{uuid}"}
        place = {"uuid": uuid} if named == "uuid" else {}
        return {"type": kind, "session_id": "s", "message": message, "parent_tool_use_id": parent_call, **place}

    lines = [
        line("assistant", "a", [use("t1")], None),
        line("user", "b", [text("task")], "t1"),
        line("assistant", "c", [use("t2")], "t1"),
        line("user", "d", [result("t2")], "t1"),
        line("user", "e", [result("t1")], None),
        line("assistant", "f", [text("final")], None),
    ]
    envelopes, losses = read(lines)
    assert shape(envelopes) == [("assistant", ["t1"]), ("tool", ["ok"]), ("assistant", ["final"])]
    told = [(loss.rule, loss.path, loss.action, loss.detail) for loss in losses]
    assert told == [("CC3", "line 2", "left out 3 records", "a subagent's side conversation")]
    assert shape(read(lines[:4])[0]) == [("assistant", ["t1"])]
    assert shape(read(lines[1:4])[0]) == [("user", ["task"]), ("assistant", ["t2"]), ("tool", ["ok"])]
    check_exports(lines)


def queued(uuid: str, parent: str, prompt: Any, **more: Any) -> dict[str, Any]:
    attachment = {"type": "queued_command", "prompt": prompt, **more}
    return {"type": "attachment", "uuid": uuid, "parentUuid": parent, "attachment": attachment}


def test_the_last_words_of_a_session_that_was_killed_are_kept() -> None:
    turn = [said("u", None, "q"), answered("a", "u", "m", use("t")), said("r", "a", [result("t")])]
    lines = [*turn, queued("q", "r", "also do this")]
    envelopes, losses = read(lines)
    assert shape(envelopes)[-1] == ("user", ["also do this"])
    assert losses == []
    check_exports(lines)


def test_words_on_a_branch_that_was_left_are_no_last_words() -> None:
    lines = [said("u", None, "q"), queued("q", "u", "old"), answered("a", "u", "m", text("yes"))]
    envelopes, losses = read(lines)
    assert shape(envelopes) == [("user", ["q"]), ("assistant", ["yes"])]
    assert [loss.detail for loss in losses] == ["an abandoned branch"]


def test_what_the_program_alone_queued_is_no_branch() -> None:
    lines = [said("u", None, "q"), answered("a", "u", "m", text("yes"))]
    lines.append({**queued("q", "", "note", commandMode="task-notification"), "parentUuid": None})
    assert shape(read(lines)[0]) == [("user", ["q"]), ("assistant", ["yes"])]


@pytest.mark.parametrize(
    ("more", "typed"),
    [
        ({}, True),
        ({"commandMode": "prompt", "origin": {"kind": "human"}}, True),
        ({"commandMode": "task-notification"}, False),
        ({"commandMode": "prompt", "origin": {"kind": "peer"}}, False),
        ({"isMeta": True}, False),
    ],
)
def test_who_queued_a_prompt_is_told(more: dict[str, Any], typed: bool) -> None:
    envelopes, _ = read([said("u", None, "q"), queued("q", "u", "text", **more), answered("a", "q", "m", text("ok"))])
    assert envelopes[1].get("typed_by_user", True) is typed


@pytest.mark.parametrize(
    ("content", "typed"),
    [
        ("<local-command-stdout></local-command-stdout>", False),
        ("<local-command-stderr>no</local-command-stderr>", False),
        ("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>", False),
        ("<bash-stdout><b>a</bash-stdout>\n", False),
        ([text("<task-notification>\n<task-id>b</task-id>\n</task-notification>")], False),
        ('<teammate-message teammate_id="w">hi</teammate-message>', False),
        ([text("<system-reminder>a</system-reminder>"), text(" <system-reminder>b</system-reminder>")], False),
        ("<system-reminder>a</system-reminder>\nand do this", True),
        ([text("<system-reminder>a</system-reminder>"), text("do this")], True),
        ([text("<system-reminder>a</system-reminder>"), {"type": "image", "source": {}}], True),
        ("<bash-stdout>a", True),
        ("<command-name>/init</command-name>", True),
        ("<bash-input>ls</bash-input>", True),
        ("<b>bold</b>", True),
        ("<", True),
        ("", True),
        (" " * 100 + "x", True),
    ],
)
def test_what_the_program_writes_in_the_users_role_is_not_typed(content: Any, typed: bool) -> None:
    envelopes, _ = read([said("u", None, "q"), said("v", "u", content), answered("a", "v", "m", text("ok"))])
    assert envelopes[1].get("typed_by_user", True) is typed


@pytest.mark.parametrize("mark", [{"isSynthetic": True}, {"origin": {"kind": "task-notification"}}])
def test_a_line_that_says_itself_that_the_program_wrote_it_is_not_typed(mark: dict[str, Any]) -> None:
    envelopes, _ = read([said("u", None, "q"), said("v", "u", "text", **mark), answered("a", "v", "m", text("ok"))])
    assert envelopes[1]["typed_by_user"] is False


@pytest.mark.parametrize("wrong", ["x", 1, [True], {}])
@pytest.mark.parametrize("key", ["is_error", "cache_control"])
def test_a_value_of_a_result_that_its_api_does_not_take_is_told_when_it_is_sent(key: str, wrong: Any) -> None:
    lines = [
        said("u", None, "q"),
        answered("a", "u", "m", use("t")),
        said("r", "a", [result("t", **{key: wrong})]),
        answered("b", "r", "n", text("ok")),
    ]
    export = export_messages(import_messages("\n".join(map(json.dumps, lines)), "claude-code").messages, "anthropic")
    assert lint(export.payload, "anthropic") == []
    assert [(loss.rule, loss.kind, loss.message, loss.path) for loss in export.report] == [("A18", "dropped", 2, key)]


def test_recorded_sessions_can_be_sent_to_every_provider(corpus: Path) -> None:
    for path in sorted((corpus / "claude_code").glob("*.jsonl")):
        check_exports([json.loads(line) for line in path.read_text().splitlines() if line.strip()])
