"""Keys with half of a surrogate pair, which no checkpoint can hold: refused with their place, kept as text, or mended."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint
from langgraph_portable_checkpoint.dialects.number_limits import BROKEN_KEY, ODD_KEY
from langgraph_portable_checkpoint.dialects.registry import bundled_names, get_dialect
from langgraph_portable_checkpoint.errors import MalformedHistoryError
from tests.dialects.test_values_beyond_checkpoints import SPELLING, history_of

WRITTEN = [name for name in bundled_names() if get_dialect(name).writes]
NOTE = {"type": "citation", "title": "t", "extras": {"k": "v"}}
HISTORY = [
    SystemMessage("s"),
    HumanMessage(
        [
            {"type": "text", "text": "q", "extras": {"field": "f", "z": {"y": "x"}}},
            {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"},
        ],
        name="n",
        id="i",
    ),
    AIMessage(
        [
            {"type": "reasoning", "reasoning": "r", "extras": {"signature": "sig"}},
            {"type": "text", "text": "a", "annotations": [NOTE]},
        ],
        tool_calls=[{"id": "c", "name": "f", "args": {"a": "b", "c": {"d": ["e"]}}}],
        response_metadata={"model_provider": "anthropic", "model_name": "m"},
    ),
    ToolMessage("r", tool_call_id="c", artifact={"a": "b"}),
    AIMessage("done"),
]


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a payload below its own."""
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item
        yield from objects(item)


@pytest.mark.parametrize("dialect", WRITTEN)
def test_a_broken_key_anywhere_is_refused_with_its_place_or_read(dialect: str) -> None:
    whole = export_messages(HISTORY, dialect).payload
    refused: list[str] = []
    for at in range(len(list(objects(whole)))):
        payload = copy.deepcopy(whole)
        list(objects(payload))[at]["broken\ud800"] = "x"
        try:
            imported = import_messages(payload, dialect)
        except MalformedHistoryError as error:
            refused += error.problems
            continue
        assert imported.messages
        export_messages(imported.messages, dialect, incomplete="synthesize")
    assert refused
    assert all(re.fullmatch(rf"(line \d+|system\S*|\S*\[\d+\]\S*): {BROKEN_KEY}", problem) for problem in refused)


@pytest.mark.parametrize("dialect", SPELLING)
def test_arguments_with_one_are_kept_as_text_and_told(dialect: str) -> None:
    payload = json.loads(json.dumps(history_of(dialect, 1)).replace('"n"', '"n\\ud800"'))
    imported = import_messages(payload, dialect)
    (call,) = imported.messages[0].invalid_tool_calls  # type: ignore[attr-defined]
    assert json.loads(call["args"]) == {"n\ud800": 1}
    assert [(one.rule, one.kind, one.path, one.detail.partition(": ")[2]) for one in imported.report] == [
        ("arguments", "unresolved", "content[0].args", BROKEN_KEY)
    ]


@pytest.mark.parametrize("dialect", WRITTEN)
def test_keys_in_other_scripts_are_keys(dialect: str) -> None:
    whole = export_messages(HISTORY, dialect).payload
    plain = import_messages(whole, dialect).messages
    for at in range(len(list(objects(whole)))):
        payload = copy.deepcopy(whole)
        list(objects(payload))[at]["ключ"] = "x"
        assert len(import_messages(payload, dialect).messages) == len(plain)


@pytest.mark.parametrize("key", [1, None, (1, 2), 2.5, b"k"])
@pytest.mark.parametrize("dialect", WRITTEN)
def test_a_key_that_is_no_text_is_refused_with_its_place_or_read(dialect: str, key: Any) -> None:
    whole = export_messages(HISTORY, dialect).payload
    refused: list[str] = []
    for at in range(len(list(objects(whole)))):
        payload = copy.deepcopy(whole)
        list(objects(payload))[at][key] = "x"
        lint(payload, dialect)
        try:
            imported = import_messages(payload, dialect)
        except MalformedHistoryError as error:
            refused += error.problems
            continue
        assert len(imported.messages) == len(HISTORY)
    assert refused
    assert all(problem.endswith(ODD_KEY) for problem in refused)
