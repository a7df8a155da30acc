"""Items of Codex rollouts that the Responses API spells otherwise, does not know, or that cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from langgraph_portable_checkpoint import import_messages
from tests.dialects.codex_records import DIALECT, PNG, exports, item, read, said

CALL = item(type="function_call", name="f", arguments="{}", call_id="c")
IMAGE = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}
SEALED = {"type": "encrypted_content", "encrypted_content": "E"}


def answered(output: Any, **more: Any) -> list[Any]:
    call = item(type="function_call_output", call_id="c", output=output, **more)
    return [said("user", "q"), CALL, call, said("assistant", "a")]


def sent(records: list[Any]) -> list[Any]:
    items: list[Any] = exports(records)["openai-responses"]["input"]
    return items


def test_an_item_that_cannot_be_read_leaves_nothing_behind() -> None:
    thought = item(type="reasoning", summary=[], encrypted_content="E")
    nameless = item(type="function_call", name="x", arguments="{}")
    envelopes, losses = read([said("user", "q"), thought, nameless, said("assistant", "a")])
    assert [block["type"] for block in envelopes[1]["content"]] == ["reasoning", "text"]
    assert [(loss.rule, loss.path) for loss in losses] == [("CX1", "line 3")]
    halves = item(type="message", role="assistant", content=[{"type": "output_text", "text": "half"}, "?"])
    envelopes, losses = read([said("user", "q"), thought, halves, said("assistant", "a")])
    assert [block.get("text") for block in envelopes[1]["content"]] == [None, "a"]
    assert [(loss.rule, loss.path) for loss in losses] == [("CX1", "line 3")]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"content": None, "success": True}, []),
        ({"content": "t", "success": True}, ["t"]),
        ({"content": "t", "metadata": {"exit_code": 1}}, ["t"]),
        ({"content": '[{"type": "input_text"}]', "content_items": [{"type": "input_text", "text": "i"}]}, ["i"]),
        ({"content": "beside", "content_items": [{"type": "input_text", "text": "i"}]}, ["beside", "i"]),
        ({"content": [{"type": "text", "text": "p"}]}, ["p"]),
        ({"foo": 1}, ['{"foo": 1}']),
        ({"content": {"foo": 1}}, ['{"foo": 1}']),
        (None, []),
    ],
)
def test_an_output_that_is_an_object_is_read(output: Any, expected: list[str]) -> None:
    records = answered(output)
    envelopes, _ = read(records)
    assert [block["text"] for block in envelopes[2]["content"] if block["text"]] == expected
    assert isinstance(sent(records)[2]["output"], (str, list))


def test_images_of_an_output_are_images() -> None:
    native = {"type": "image", "data": PNG, "mimeType": "image/png"}
    for output in (
        {"content": "[{}]", "content_items": [IMAGE], "success": True},
        [IMAGE],
        [native],
        {"content": [native]},
    ):
        records = answered(output)
        assert [block["type"] for block in read(records)[0][2]["content"]] == ["image"]
        assert all(PNG in json.dumps(payload) for payload in exports(records).values())


def test_what_an_output_says_beside_its_content_is_kept() -> None:
    failed = read(answered({"content": "t", "metadata": {"exit_code": 1}, "success": False}))[0][2]
    assert (failed["status"], failed["artifact"]) == ("error", {"metadata": {"exit_code": 1}})


def test_a_compaction_has_one_name() -> None:
    history = [said("user", "q")["payload"], {"type": "compaction_summary", "encrypted_content": "E"}]
    compacted = {"type": "compacted", "payload": {"message": "", "replacement_history": history}}
    assert sent([compacted, said("user", "on"), said("assistant", "a")])[1] == {
        "type": "compaction",
        "encrypted_content": "E",
    }


def test_messages_between_agents_are_messages() -> None:
    by_agent = {"author": "/lead", "recipient": "/lead/w"}
    message = item(type="agent_message", **by_agent, content=[{"type": "input_text", "text": "do"}, SEALED])
    apart = {"type": "inter_agent_communication", "payload": {**by_agent, "content": "more", "trigger_turn": True}}
    records = [said("user", "q"), said("assistant", "a"), message, apart, said("assistant", "b")]
    envelopes, _ = read(records)
    assert [(one["role"], one.get("typed_by_user"), one["content"][0]["text"]) for one in envelopes[2:4]] == [
        ("user", False, "do"),
        ("user", False, "more"),
    ]
    assert envelopes[2]["extras"] == {"codex": by_agent}
    assert '"E"' not in json.dumps(sent(records))
    back = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 2}}
    assert len(read([*records, back])[0]) == 2


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "novelty", "text": "x"},
        {"type": "context_compaction", "encrypted_content": "E"},
        {"type": "compaction"},
        {"type": "compaction_trigger"},
        {"type": "ghost_snapshot", "ghost_commit": {}},
        {"type": "message", "role": "user", "content": [SEALED, {"type": "input_text", "text": "t"}]},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_audio", "audio_url": "data:audio/wav;base64,UklGRg=="}],
        },
    ],
)
def test_what_the_api_does_not_know_is_not_sent_and_told(odd: dict[str, Any]) -> None:
    records = [said("user", "q"), item(**odd), said("assistant", "a"), said("user", "r"), said("assistant", "b")]
    kinds = {part.get("type") for one in sent(records) for part in [one, *one["content"]] if isinstance(part, dict)}
    assert kinds <= {"message", None, "input_text"}
    told = import_messages("\n".join(map(json.dumps, records)), from_="codex").report
    assert told or "audio_url" in json.dumps(odd)


def test_keys_of_codex_alone_are_left_out_and_told_once() -> None:
    own = {"internal_chat_message_metadata_passthrough": {"turn_id": "t"}}
    records = [
        said("user", "q", **own),
        item(type="web_search_call", id="ws_1", status="completed", action={"type": "search", "query": "q"}, **own),
        item(type="custom_tool_call", name="p", input="x", call_id="c", status="completed"),
        item(type="custom_tool_call_output", call_id="c", name="p", output="y", **own),
        said("assistant", "a", id="msg_1", end_turn=True, **own),
    ]
    assert "passthrough" not in json.dumps(sent(records))
    detail = "end_turn 1, internal_chat_message_metadata_passthrough 4, name 1"
    assert [(loss.rule, loss.detail) for loss in read(records)[1]] == [("CX2", detail)]


BARE = [
    {"id": "u", "timestamp": "2025-05-01T00:00:00Z", "instructions": "Be brief."},
    {"record_type": "state"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"},
    {
        "type": "local_shell_call",
        "id": "l",
        "call_id": "c1",
        "status": "completed",
        "action": {"type": "exec", "command": []},
    },
    {"type": "function_call_output", "call_id": "c1", "output": {"content": "x", "success": True}},
    {"type": "custom_tool_call", "call_id": "c2", "name": "p", "input": "P"},
    {"type": "custom_tool_call_output", "call_id": "c2", "output": "ok"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
]


def test_lines_of_the_first_versions_are_read_as_items() -> None:
    envelopes, losses = read(BARE)
    assert [(one["role"], [block["type"] for block in one["content"]]) for one in envelopes] == [
        ("system", ["text"]),
        ("user", ["text"]),
        ("assistant", ["reasoning", "tool_call"]),
        ("tool", ["text"]),
        ("assistant", ["tool_call"]),
        ("tool", ["text"]),
        ("assistant", ["server_tool_call", "text"]),
    ]
    assert envelopes[0]["content"][0]["text"] == "Be brief."
    assert [loss.detail for loss in losses] == ["session_meta 1, state 1"]
    exports(BARE)


def test_lines_of_the_first_versions_are_recognised_by_their_first() -> None:
    assert DIALECT.recognises(BARE) > 0.97
    assert DIALECT.recognises(BARE[2:]) == 0.0
    assert import_messages(BARE, from_="auto").dialect == "codex"
    assert import_messages(BARE[2:], from_="auto").dialect == "openai-responses"
