"""Streams of `codex exec --json`: every run's items, and what an item says beside its texts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from langgraph_portable_checkpoint import import_messages
from tests.dialects.codex_records import PNG, done, exports, read

STARTED = {"type": "thread.started", "thread_id": "t"}
TURN = {"type": "turn.started"}


def answer(text: str, number: int = 0) -> dict[str, Any]:
    return done(id=f"item_{number}", type="agent_message", text=text)


def command(number: int, output: str) -> dict[str, Any]:
    fields = {"command": "ls", "aggregated_output": output, "exit_code": 0, "status": "completed"}
    return done(id=f"item_{number}", type="command_execution", **fields)


def gist(payload: list[Any]) -> list[Any]:
    return [
        (one["role"], [block.get("text") or block.get("reasoning") or block.get("id") for block in one["content"]])
        for one in read(payload)[0]
    ]


def tool_result(result: Any, **more: Any) -> Any:
    stream = [STARTED, done(id="i", type="mcp_tool_call", server="s", tool="f", arguments={}, result=result, **more)]
    return read(stream)[0][1]


SECOND = [done(id="item_0", type="reasoning", text="hm"), answer("second", 1)]
BOTH = [
    ("assistant", ["first", "item_1"]),
    ("tool", ["out"]),
    ("assistant", ["end"]),
    ("assistant", ["hm", "second"]),
]


def test_each_run_of_a_log_has_items_of_its_own() -> None:
    first = [answer("first"), command(1, "out"), answer("end", 2)]
    assert gist([STARTED, TURN, *first, STARTED, TURN, *SECOND]) == BOTH
    assert gist([STARTED, TURN, *first, TURN, *SECOND]) == BOTH
    unmarked = gist([STARTED, TURN, *first, *SECOND])
    assert [said for _, each in unmarked for said in each] == ["first", "item_1", "out", "end", "hm", "second"]


def test_what_two_runs_say_in_the_same_words_was_said_twice() -> None:
    assert gist([STARTED, TURN, answer("Done."), STARTED, TURN, answer("Done.")]) == [("assistant", ["Done."])] * 2
    assert gist([TURN, answer("Done."), TURN, answer("Done.")]) == [("assistant", ["Done."])] * 2
    assert gist([TURN, answer("Done."), answer("Done.")]) == [("assistant", ["Done."])]


def test_an_item_that_a_killed_run_left_open_is_another_than_the_next_of_its_id() -> None:
    begun = {"type": "item.started", "item": {"id": "item_0", "type": "command_execution", "status": "in_progress"}}
    assert gist([TURN, begun, command(0, "out")]) == [("assistant", ["item_0"]), ("tool", ["out"])]
    assert gist([TURN, begun, TURN, begun, command(0, "out")]) == [
        ("assistant", ["item_0"]),
        ("assistant", ["item_0_2"]),
        ("tool", ["out"]),
    ]


def test_an_event_that_stands_there_twice_is_one() -> None:
    begun = {"type": "item.started", "item": {"id": "item_0", "type": "command_execution", "status": "in_progress"}}
    once = [STARTED, TURN, begun, command(0, "out"), answer("end", 1)]
    twice = [line for line in once for _ in range(2)]
    expected = [("assistant", ["item_0"]), ("tool", ["out"]), ("assistant", ["end"])]
    assert gist(twice) == expected
    assert gist([STARTED, begun, begun, command(0, "out"), answer("end", 1)]) == expected
    other = {"type": "item.started", "item": {**begun["item"], "command": "pwd"}}
    assert gist([STARTED, TURN, begun, other, command(0, "out")])[0] == ("assistant", ["item_0", "item_0_2"])


def of_first_versions(line: dict[str, Any]) -> dict[str, Any]:
    if "item" not in line:
        return line
    renamed = {"agent_message": "assistant_message"}
    held = {**line["item"]}
    kind = held.pop("type")
    return {**line, "item": {**held, "item_type": renamed.get(kind, kind)}}


RUN = [
    done(id="item_0", type="reasoning", text="hm"),
    {"type": "item.started", "item": {"id": "item_1", "type": "command_execution", "command": "ls"}},
    command(1, "out"),
    done(id="item_2", type="mcp_tool_call", server="s", tool="f", status="completed"),
    done(id="item_3", type="error", message="oops"),
    answer("end", 4),
]


@pytest.mark.parametrize("begin", [STARTED, {"type": "session.created", "session_id": "s"}])
def test_items_of_the_first_versions_are_read_as_those_of_later_ones(begin: dict[str, Any]) -> None:
    ended = {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 2}}
    later = [begin, TURN, *RUN, ended]
    first = [of_first_versions(line) for line in later]
    assert read(first) == read(later)
    imported = import_messages("\n".join(map(json.dumps, first)))
    assert imported.dialect == "codex"
    assert "unknown-part" not in {loss.rule for loss in imported.report}
    for payload in exports(first * 2).values():
        assert "item_type" not in json.dumps(payload)


@pytest.mark.parametrize("begin", ["thread.started", "session.created", "session.resumed"])
def test_every_run_begins_with_its_session(begin: str) -> None:
    run = [{"type": begin, "session_id": "s"}, answer("Done.")]
    assert gist(run * 2) == [("assistant", ["Done."])] * 2
    assert [loss.path for loss in read(run * 2)[1] if loss.rule == "CX4"] == ["", "line 3"]


def test_an_item_is_added_as_it_is_started() -> None:
    added = {"type": "item.added", "item": {"id": "item_0", "item_type": "command_execution", "status": "in_progress"}}
    run = [added, of_first_versions(command(0, "out"))]
    assert gist(run) == [("assistant", ["item_0"]), ("tool", ["out"])]
    assert gist([added, TURN, *run])[0] == ("assistant", ["item_0"])
    assert [one["role"] for one in read([added, TURN, *run])[0]] == ["assistant", "assistant", "tool"]
    assert import_messages(json.dumps(added)).dialect == "codex"


def test_a_run_that_failed_at_once_is_read() -> None:
    failed = [{"type": "session.created", "session_id": "s"}, {"type": "error", "message": "boom"}]
    envelopes, losses = read(failed)
    assert envelopes == []
    assert [loss.detail for loss in losses if loss.rule == "CX4"] == ["a stream does not hold it", "boom"]


def test_items_and_parts_of_unknown_type_are_kept_and_told() -> None:
    parts = [{"type": "novelty_part"}, {"type": "text", "text": "t"}]
    call = {"type": "mcp_tool_call", "server": "s", "tool": "f", "status": "completed"}
    stream = [STARTED, done(id="a", item_type="novelty"), done(id="b", **call, result={"content": parts}), answer("x")]
    imported = import_messages(stream, from_="codex")
    told = [(loss.detail, loss.message, loss.path) for loss in imported.report if loss.rule == "unknown-part"]
    assert told == [("novelty", 0, "content[0]"), ("novelty_part", 1, "content[0]")]
    assert imported.envelopes[0]["content"][0]["value"] == {"id": "a", "type": "novelty"}


def test_calls_of_several_runs_have_ids_of_their_own_and_each_turn_lacks_its_prompt() -> None:
    stream = [STARTED, TURN, command(0, "a"), STARTED, TURN, command(0, "b"), STARTED, TURN, command(0, "c")]
    envelopes, losses = read(stream)
    assert [one["tool_call_id"] for one in envelopes if one["role"] == "tool"] == ["item_0", "item_0_2", "item_0_3"]
    told = [(loss.rule, loss.path, loss.detail) for loss in losses]
    assert [one for one in told if one[0] == "CX6"] == [
        ("CX6", "line 6", "item_0 -> item_0_2"),
        ("CX6", "line 9", "item_0 -> item_0_3"),
    ]
    assert [path for rule, path, _ in told if rule == "CX4"] == ["", "line 4", "line 7"]


def test_the_counts_of_a_turn_are_those_of_its_own_answer() -> None:
    usage = {"input_tokens": 5, "cached_input_tokens": 2, "output_tokens": 3, "reasoning_output_tokens": 1}
    ended = {"type": "turn.completed", "usage": usage}
    envelopes, _ = read([STARTED, TURN, answer("a"), ended, TURN, {"type": "turn.completed", "usage": {}}])
    assert envelopes[0]["usage"] == {
        "input_tokens": 5,
        "output_tokens": 3,
        "total_tokens": 8,
        "input_token_details": {"cache_read": 2},
        "output_token_details": {"reasoning": 1},
    }


def test_media_that_a_tool_gave_are_media() -> None:
    parts = [
        {"type": "text", "text": "here"},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///d/a.pdf", "mimeType": "application/pdf", "blob": "JVBERi0="}},
        {"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "T"}},
        {"type": "resource_link", "uri": "file:///b", "name": "b"},
        {"type": "image", "data": f"data:image/png;base64,{PNG}"},
        {"type": "novelty", "k": 1},
    ]
    content = tool_result({"content": parts})["content"]
    assert [block["type"] for block in content] == [
        *("text", "image", "audio", "file", "text", "text", "image", "non_standard")
    ]
    assert [(block["mime_type"], block["base64"]) for block in (content[1], content[2], content[6])] == [
        ("image/png", PNG),
        ("audio/wav", "UklGRg=="),
        ("image/png", PNG),
    ]
    assert (content[3]["filename"], content[3]["extras"]) == ("a.pdf", {"uri": "file:///d/a.pdf"})
    assert (content[4]["text"], content[4]["extras"]["uri"]) == ("T", "file:///a.txt")
    assert json.loads(content[5]["text"])["uri"] == "file:///b"
    assert content[7]["value"] == {"type": "novelty", "k": 1}


def test_an_image_alone_is_no_text() -> None:
    result = tool_result({"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]})
    assert [block["type"] for block in result["content"]] == ["image"]


def test_structured_content_stays_beside_the_content_and_stands_for_it_where_there_is_none() -> None:
    beside = tool_result(
        {"content": [{"type": "text", "text": "x"}], "structured_content": {"k": 1}, "_meta": {"m": 2}}
    )
    assert (beside["content"][0]["text"], beside["artifact"]) == (
        "x",
        {"structured_content": {"k": 1}, "_meta": {"m": 2}},
    )
    alone = tool_result({"content": [], "structured_content": {"k": 1}})
    assert (alone["content"][0]["text"], alone["artifact"]) == ('{"k": 1}', {"structured_content": {"k": 1}})


@pytest.mark.parametrize(
    ("result", "error", "expected"),
    [
        (None, {"message": "boom"}, ["boom"]),
        ({"content": [{"type": "text", "text": "part"}]}, {"message": "boom"}, ["boom", "part"]),
        (None, {"code": 7}, ['{"code": 7}']),
        (None, None, ["failed"]),
    ],
)
def test_a_failed_call_tells_its_error_and_what_came_with_it(result: Any, error: Any, expected: list[str]) -> None:
    failed = tool_result(result, error=error, status="failed")
    assert ([block["text"] for block in failed["content"]], failed["status"]) == (expected, "error")


def test_no_field_of_an_item_is_lost() -> None:
    collab = {"tool": "spawn_agent", "sender_thread_id": "a", "receiver_thread_ids": ["b"], "prompt": "P"}
    envelopes, _ = read(
        [
            STARTED,
            done(id="i0", type="web_search", query="q", action={"type": "open_page", "url": "u"}, results=[1]),
            done(
                id="i1",
                type="collab_tool_call",
                **collab,
                agents_states={"b": {"status": "running"}},
                status="completed",
            ),
            done(
                id="i2",
                type="command_execution",
                command="ls",
                aggregated_output="o",
                exit_code=3,
                cwd="/",
                status="failed",
            ),
            done(id="i3", type="file_change", changes=[], note="n", status="completed"),
            done(id="i4", type="plan", text="first this"),
            done(id="i5", type="agent_message", text="ok", phase="final_answer"),
        ]
    )
    blocks = [block for one in envelopes if one["role"] == "assistant" for block in one["content"]]
    search, spawn, shell, patch, plan, text = blocks
    assert search["args"] == {"query": "q", "action": {"type": "open_page", "url": "u"}}
    assert search["extras"] == {"codex": {"results": [1]}}
    assert (spawn["name"], spawn["args"]) == ("spawn_agent", {key: collab[key] for key in collab if key != "tool"})
    assert (shell["args"], shell["extras"]) == ({"command": "ls"}, {"codex": {"cwd": "/"}})
    assert patch["extras"] == {"codex": {"note": "n"}}
    assert (plan["text"], text["extras"]) == ("first this", {"codex": {"phase": "final_answer"}})
    results = [one for one in envelopes if one["role"] == "tool"]
    assert [json.loads(results[0]["content"][0]["text"]), results[1]["artifact"]] == [
        {"b": {"status": "running"}},
        {"exit_code": 3},
    ]


def test_what_a_tool_gave_goes_to_every_provider() -> None:
    parts = [{"type": "image", "data": PNG, "mimeType": "image/png"}, {"type": "novelty"}]
    call = {"type": "mcp_tool_call", "server": "s", "tool": "f", "arguments": {}, "status": "completed"}
    runs = [STARTED, TURN, done(id="item_0", **call, result={"content": parts}), answer("a", 1)]
    for payload in exports(runs * 2).values():
        assert json.dumps(payload).count(PNG) == 2
