"""Texts that begin with a byte-order mark, as files have it that some editors and shells write."""

from __future__ import annotations

import json
from typing import Any

import pytest

from langgraph_portable_checkpoint import import_messages, lint
from langgraph_portable_checkpoint.errors import MalformedHistoryError

MARK = "\ufeff"
CHAT = json.dumps([{"role": "user", "content": "q"}])
LINE = {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item"}
ROLLOUT = "\n".join(
    json.dumps({**LINE, "payload": {"type": "message", "role": role, "content": [{"type": kind, "text": "q"}]}})
    for role, kind in (("user", "input_text"), ("assistant", "output_text"))
)
TALK = "\n".join(
    json.dumps({"type": role, "uuid": role, "parentUuid": before, "sessionId": "s", "message": said})
    for role, before, said in (
        ("user", None, {"role": "user", "content": "q"}),
        ("assistant", "user", {"role": "assistant", "content": [{"type": "text", "text": "q"}]}),
    )
)
PAYLOADS = [("openai-chat", CHAT), ("anthropic", CHAT), ("codex", ROLLOUT), ("claude-code", TALK)]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(("dialect", "payload"), PAYLOADS)
def test_it_is_taken_away(dialect: str, payload: str, named: bool) -> None:
    def read(marked: Any) -> Any:
        found = import_messages(marked, dialect if named else "auto")
        return found.dialect, found.envelopes, found.report

    plain = read(payload)
    assert read(MARK + payload) == plain
    assert read((MARK + payload).encode()) == plain


def test_a_linter_takes_it_away() -> None:
    assert lint(MARK + CHAT, "openai-chat") == []


def test_only_the_first_is_none_of_the_text() -> None:
    said = import_messages(
        MARK + json.dumps([{"role": "user", "content": MARK + "q"}], ensure_ascii=False), "openai-chat"
    )
    assert said.messages[0].content == MARK + "q"
    with pytest.raises(MalformedHistoryError):
        import_messages(MARK + MARK + CHAT, "openai-chat")
