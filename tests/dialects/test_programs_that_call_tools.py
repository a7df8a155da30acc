"""A program that the provider runs may call the client's tools: its own result comes in a later answer of one turn."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint

PROGRAM: dict[str, Any] = {"type": "server_tool_use", "id": "srvtoolu_5", "name": "code_execution", "input": {}}
CALLER = {"type": "code_execution_20250825", "tool_id": "srvtoolu_5"}
CALL: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}, "caller": CALLER}
GIVEN = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"}
RAN = {
    "type": "code_execution_tool_result",
    "tool_use_id": "srvtoolu_5",
    "content": {"type": "code_execution_result", "stdout": "a", "stderr": "", "return_code": 0, "content": []},
}
DONE = {"type": "text", "text": "done"}
ASKED: dict[str, Any] = {"role": "user", "content": "q"}
CALLS: dict[str, Any] = {"role": "assistant", "content": [PROGRAM, CALL]}
AGAIN: dict[str, Any] = {"role": "assistant", "content": [{**CALL, "id": "toolu_2"}]}
ENDS: dict[str, Any] = {"role": "assistant", "content": [RAN, DONE]}


def gives(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


HISTORIES: dict[str, list[dict[str, Any]]] = {
    "still running": [ASKED, CALLS, gives(GIVEN)],
    "calls again": [ASKED, CALLS, gives(GIVEN), AGAIN, gives({**GIVEN, "tool_use_id": "toolu_2"})],
    "ended": [ASKED, CALLS, gives(GIVEN), ENDS, ASKED],
}


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_a_program_and_its_result_go_back_as_they_came(history: list[dict[str, Any]]) -> None:
    assert lint(history, "anthropic") == []
    for messages in (import_messages(history, "anthropic").envelopes, import_messages(history, "anthropic").messages):
        export = export_messages(messages, "anthropic")
        assert (export.payload["messages"], export.report) == (history, ())


BROKEN: dict[str, list[dict[str, Any]]] = {
    "a question stands between": [ASKED, CALLS, gives(GIVEN, DONE), ENDS, ASKED],
    "the answer is there without the result": [ASKED, CALLS, gives(GIVEN), {**ENDS, "content": [DONE]}, ASKED],
}


@pytest.mark.parametrize("history", BROKEN.values(), ids=BROKEN)
def test_a_program_without_result_is_left_out_and_so_is_who_names_it(history: list[dict[str, Any]]) -> None:
    assert "A13" in {finding.rule for finding in lint(history, "anthropic")}
    export = export_messages(import_messages(history, "anthropic").envelopes, "anthropic")
    assert lint(export.payload, "anthropic") == []
    bare = {key: value for key, value in CALL.items() if key != "caller"}
    assert export.payload["messages"][1]["content"] == [bare]
    told = [(loss.rule, loss.kind, loss.message) for loss in export.report if loss.message == 1]
    assert told == [("A13", "dropped", 1), ("A13", "dropped", 1)]


def test_an_id_of_an_earlier_turn_is_no_pair_in_a_later_one() -> None:
    history = [*HISTORIES["ended"], CALLS | {"content": [PROGRAM, {**CALL, "id": "toolu_9"}]}]
    history += [gives({**GIVEN, "tool_use_id": "toolu_9"}), ENDS, ASKED]
    export = export_messages(import_messages(history, "anthropic").envelopes, "anthropic")
    programs = [
        block["id"]
        for message in export.payload["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "server_tool_use"
    ]
    assert programs == ["srvtoolu_5"]
