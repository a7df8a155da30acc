"""Every rule of Gemini contents is found when it is broken, and a good history breaks none."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_portable_checkpoint.dialects.lint.google import RULES, lint_contents

USER = {"role": "user", "parts": [{"text": "q"}]}
CALL = {"functionCall": {"name": "f", "args": {}}}
ANSWER = {"functionResponse": {"name": "f", "response": {"output": "1"}}}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


GOOD = [USER, model({**CALL, "thoughtSignature": "QQ=="}, CALL), user(ANSWER, ANSWER), model({"text": "a"})]

BROKEN = {
    "G1": [[], None, {"contents": []}],
    "G2": [[{"role": "assistant", "parts": [{"text": "x"}]}]],
    "G3": [[{"role": "user", "parts": []}], [{"role": "user"}]],
    "G4": [
        [user({"text": "x", "inlineData": {"mimeType": "a/b", "data": "QQ=="}})],
        [user({})],
        [user({"thought": True})],
    ],
    "G5": [[user(CALL), user(ANSWER)], [USER, model(CALL), model(ANSWER)]],
    "G6": [[model(CALL), user(ANSWER)], [USER, model({"text": "a"}), model(CALL), user(ANSWER)]],
    "G7": [[USER, model(CALL, CALL), user(ANSWER)], [USER, model(CALL)], [USER, model(CALL), USER], [user(ANSWER)]],
    "G8": [
        [USER, model(CALL), user({"functionResponse": {"name": "f", "response": "x"}})],
        [USER, model(CALL), user({"functionResponse": {"name": "g", "response": {}}})],
        [USER, model({"functionCall": {"args": {}}}), user(ANSWER)],
    ],
    "G9": [[USER, model(CALL), user({"functionResponse": {"name": "f", "response": {}, "parts": [{"text": "x"}]}})]],
    "G10": [
        [USER, model(CALL), user(ANSWER)],
        [USER, model(CALL, {**CALL, "thoughtSignature": "QQ=="}), user(ANSWER, ANSWER)],
    ],
    "G12": [[USER, model({"functionCall": {"name": "f", "args": {}, "id": "1"}}), user(ANSWER)]],
    "G13": [[user({"executableCode": {"code": "1"}})]],
    "G14": [
        [user({"inlineData": {"data": "QQ=="}})],
        [user({"inlineData": {"mimeType": "image/png", "data": "not base64!"}})],
        [user({"fileData": {"fileUri": "gs://x"}})],
        [{"role": "system", "parts": [{"text": "x"}]}],
    ],
}


def test_a_good_history_breaks_no_rule() -> None:
    assert lint_contents(GOOD, vertex=True, generation=3.0) == []
    assert lint_contents({"contents": GOOD}) == []


@pytest.mark.parametrize(("rule", "contents"), [(rule, case) for rule, cases in BROKEN.items() for case in cases])
def test_a_broken_rule_is_named(rule: str, contents: Any) -> None:
    assert rule in {finding.rule for finding in lint_contents(contents, vertex=True, generation=3.0)}


def test_every_rule_that_a_history_alone_can_break_has_a_broken_example() -> None:
    assert {rule.id for rule in RULES} - set(BROKEN) == {"G11"}


@pytest.mark.parametrize(
    "junk", [None, 1, "x", [1], [[]], [{}], [{1: 2}], [{"parts": [{1: 2}]}], {"contents": {"a": 1}}]
)
def test_junk_is_a_finding_not_an_exception(junk: Any) -> None:
    assert lint_contents(junk)
