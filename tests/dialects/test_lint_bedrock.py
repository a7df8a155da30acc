"""Every rule of Converse messages is found when it is broken, and a good history breaks none."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.lint.bedrock import RULES, lint_messages

TEXT = {"text": "x"}
USE = {"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}
RESULT = {"toolResult": {"toolUseId": "a", "content": [TEXT]}}
IMAGE = {"image": {"format": "png", "source": {"bytes": b"x"}}}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def document(name: Any) -> dict[str, Any]:
    return {"document": {"format": "pdf", "name": name, "source": {"bytes": b"x"}}}


def use(**fields: Any) -> dict[str, Any]:
    return {"toolUse": {**USE["toolUse"], **fields}}


def result(**fields: Any) -> dict[str, Any]:
    return {"toolResult": {**RESULT["toolResult"], **fields}}


GOOD = [user(TEXT, IMAGE, document("Q3 (a) [b]")), assistant(TEXT, USE), user(RESULT, TEXT), assistant(TEXT)]
BROKEN = {
    "B1": [[], None, {"messages": 3}],
    "B2": [[assistant(TEXT)]],
    "B3": [[user(TEXT), user(TEXT)], [{"role": "robot", "content": [TEXT]}]],
    "B4": [
        [user()],
        [{"role": "user", "content": "x"}],
        [user({"text": "x", "image": {}})],
        [user({"image": 3})],
        [user({"json": {}})],
        [user(TEXT), assistant(USE), user(result(content=[{"cachePoint": {"type": "default"}}]))],
        {"messages": [user(TEXT)], "system": [{"json": {}}]},
    ],
    "B5": [
        [user({"text": " "})],
        [user({"text": None})],
        [user(TEXT), assistant(USE), user(result(content=[{"text": ""}]))],
    ],
    "B6": [
        [user(document("x"))],
        [user(TEXT, document("a_b"))],
        [user(TEXT, document("a  b"))],
        [user(TEXT), assistant(IMAGE)],
        [user(TEXT, *[IMAGE] * 21)],
    ],
    "B7": [[user(USE)], [user(TEXT), assistant(RESULT)]],
    "B8": [[user(TEXT), assistant(USE)], [user(TEXT), assistant(USE), user(TEXT)]],
    "B9": [[user(RESULT)], [user(TEXT), assistant(USE), user(RESULT, RESULT)]],
    "B10": [
        [user(TEXT), assistant(use(toolUseId="a|b"))],
        [user(TEXT), assistant(use(name="a.b"))],
        [user(TEXT), assistant(USE, USE), user(RESULT)],
        [user(result(toolUseId="x" * 65))],
    ],
    "B11": [[user(TEXT), assistant(USE), user(result(status="error", content=[]))], [user(result(status="failed"))]],
    "B12": [
        [user(TEXT), assistant(use(input="x"))],
        [user(TEXT), assistant(use(input={"x": float("nan")}))],
        [user(TEXT), assistant({"reasoningContent": {"reasoningText": {"text": "x"}}})],
    ],
}


def test_a_good_history_breaks_no_rule() -> None:
    assert lint_messages(GOOD) == lint_messages({"messages": GOOD}) == []


@pytest.mark.parametrize(("rule", "messages"), [(rule, case) for rule, cases in BROKEN.items() for case in cases])
def test_a_broken_rule_is_named(rule: str, messages: Any) -> None:
    assert rule in {finding.rule for finding in lint_messages(messages)}


def test_every_rule_has_a_broken_example() -> None:
    assert {rule.id for rule in RULES} == set(BROKEN)


@pytest.mark.parametrize(
    "junk", [None, 1, "x", [1], [[]], [{}], [{1: 2}], [user({1: 2})], [user(None)], {"messages": {}}]
)
def test_junk_is_a_finding_not_an_exception(junk: Any) -> None:
    assert lint_messages(junk)
