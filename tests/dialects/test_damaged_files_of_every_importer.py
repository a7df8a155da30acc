"""Files and payloads with a place or four of them damaged: a typed error, or messages that every target can be asked for."""

from __future__ import annotations

import copy
import json
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint
from langgraph_portable_checkpoint.dialects.registry import bundled_names, get_dialect
from langgraph_portable_checkpoint.errors import DialectError, IncompatibleHistoryError, MalformedHistoryError
from tests.dialects.made_native import NATIVE, turns
from tests.dialects.test_made_histories import _damage

WRITTEN = [name for name in bundled_names() if get_dialect(name).writes]
JUNK = st.sampled_from(
    [
        *(None, True, 0, -1.5, float("nan"), 2**70, "", "x", "\ud800", "data:image/png;base64,@@@"),
        *([], {}, [[]], [None], {"type": 1}, {"a": {}}, {"text": 5}, {"url": {}}, [{"type": []}]),
        *({"type": "text"}, {"type": "tool_use"}),
    ]
)
CHANGES = st.lists(
    st.tuples(st.integers(0, 10_000), st.sampled_from(["replace", "replace", "delete", "repeat", "wrap"]), JUNK),
    min_size=1,
    max_size=4,
)


def read(payload: Any, dialect: str) -> Any:
    """Read a damaged payload; None where it is refused. What is read can be made messages, and linted as it was."""
    for name in bundled_names():
        assert 0.0 <= get_dialect(name).recognises(payload) <= 1.0
    try:
        imported = import_messages(payload, dialect)
    except MalformedHistoryError:
        return None
    assert len(imported.messages) == len(imported.envelopes)
    return imported


def ask(imported: Any, target: str) -> None:
    for source in (imported.envelopes, imported.messages):
        try:
            export_messages(source, target, incomplete="synthesize")
        except IncompatibleHistoryError:
            continue


@pytest.mark.parametrize("dialect", WRITTEN)
@settings(max_examples=60)
@given(turns(), CHANGES, st.sampled_from(WRITTEN))
def test_a_damaged_payload_is_refused_or_read(
    dialect: str, made: list[dict[str, Any]], changes: list[Any], target: str
) -> None:
    whole = export_messages(import_messages(NATIVE["anthropic"](made), "anthropic").envelopes, dialect).payload
    payload = copy.deepcopy(whole)
    for change in changes:
        _damage(payload, *change)
    for name in WRITTEN:
        try:
            lint(payload, name)
        except DialectError:
            continue
    imported = read(payload, dialect)
    if imported is not None:
        ask(imported, target)


def claude_code(made: Any) -> list[dict[str, Any]]:
    """A session file's lines: one per message, each the child of the one before."""
    lines: list[dict[str, Any]] = []
    for at, message in enumerate(cast(Any, NATIVE["anthropic"](made))["messages"]):
        head = {"type": message["role"], "uuid": f"u{at}", "parentUuid": f"u{at - 1}" if at else None}
        lines.append(
            {**head, "timestamp": "2026-01-01T00:00:00Z", "sessionId": "s", "message": {**message, "id": f"m{at}"}}
        )
    return lines


def codex(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    head = {"timestamp": "2026-01-01T00:00:00Z"}
    items = [{**head, "type": "response_item", "payload": item} for item in NATIVE["openai-responses"](made)]
    return [{**head, "type": "session_meta", "payload": {"id": "s", "cli_version": "1"}}, *items]


FILES = {"claude-code": claude_code, "codex": codex}


@pytest.mark.parametrize("dialect", FILES)
@settings(max_examples=60)
@given(turns(), CHANGES, st.sampled_from(WRITTEN), st.integers(0, 10_000))
def test_a_damaged_file_is_refused_or_read(
    dialect: str, made: list[dict[str, Any]], changes: list[Any], target: str, cut: int
) -> None:
    lines = FILES[dialect](made)
    assert import_messages("\n".join(map(json.dumps, lines))).dialect == dialect
    for change in changes:
        _damage(lines, *change)
    text = "\n".join(json.dumps(line) for line in lines)
    imported = read(text[: max(1, len(text) - cut % 97)], dialect)
    if imported is not None:
        ask(imported, target)


@pytest.mark.parametrize(
    ("dialect", "payload", "said"),
    [
        (
            "anthropic",
            [{"role": "assistant", "content": [{"type": "tool_use", "id": ["a"], "name": "f"}]}],
            "needs an id",
        ),
        ("google", {"system_instruction": {"parts": True}, "contents": []}, "parts: is bool"),
        ("otel", [{"role": "user", "parts": [{"type": "text", "content": float("nan")}]}], "NaN"),
        ("google", [{"role": "user", "parts": [{"text": "q", "x": float("inf")}]}], "infinity"),
        ("bedrock", [{"role": "user", "content": [{"json": {"a": float("nan")}}]}], "NaN"),
        ("langchain", [{"type": "human", "data": {"content": "q", "name": "n", "x": 2**70}}], "64 bits"),
    ],
)
def test_values_of_a_wrong_kind_are_refused_with_their_place(dialect: str, payload: Any, said: str) -> None:
    with pytest.raises(MalformedHistoryError, match=said) as error:
        import_messages(payload, dialect)
    assert "[0]" in str(error.value) or isinstance(payload, dict)


def test_a_line_with_an_integer_that_no_checkpoint_holds_is_named() -> None:
    line = json.dumps({"timestamp": "t", "type": "response_item", "payload": {"type": "reasoning", "id": 2**70}})
    with pytest.raises(MalformedHistoryError, match="line 1: holds an integer beyond 64 bits"):
        import_messages(line, "codex")


def test_a_call_in_a_user_message_is_told_and_not_sent_as_one() -> None:
    contents = [
        {"role": "user", "parts": [{"text": "q"}, {"functionCall": {"name": "f", "args": {"a": 1}, "id": "c"}}]}
    ]
    for target in sorted({*WRITTEN} - {"otel", "langchain"}):
        export = export_messages(import_messages(contents, "google").envelopes, target)
        assert [(loss.kind, loss.path) for loss in export.report] == [("placeholder", "content[1]")], target
        assert not lint(export.payload, target)
