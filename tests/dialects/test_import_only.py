"""Dialects whose files are only read: they refuse to write, and their linter tells what an import refuses or reports."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_portable_checkpoint import export_messages, import_messages, lint
from langgraph_portable_checkpoint.dialects.base import ExportOptions
from langgraph_portable_checkpoint.dialects.registry import bundled_names, get_dialect
from langgraph_portable_checkpoint.dialects.report import Report
from langgraph_portable_checkpoint.errors import DialectError, MalformedHistoryError

SAID: dict[str, Any] = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]}
ASKED = {"type": "user", "uuid": "u", "parentUuid": None, "message": {"role": "user", "content": "q"}}
CASES: dict[str, tuple[str, Any, Any]] = {
    "claude-code": ("CC1", [{"type": "user"}], [ASKED, {"type": "odd"}]),
    "codex": ("CX1", [{"type": "odd"}], [{"type": "response_item", "payload": SAID}, {"type": "odd"}]),
    "session-envelope": ("S1", {"version": 2}, {"version": 2, "messages": [{"role": "user", "content": ""}], "odd": 1}),
}
"""For each its rule, a payload that cannot be read, and one of which something is told."""


def test_each_that_only_reads_is_looked_at() -> None:
    assert CASES.keys() == {name for name in bundled_names() if not get_dialect(name).writes}


@pytest.mark.parametrize("dialect", CASES)
def test_what_cannot_be_read_is_a_finding_and_what_is_told_too(dialect: str) -> None:
    rule, unreadable, told = CASES[dialect]
    with pytest.raises(MalformedHistoryError):
        import_messages(unreadable, dialect)
    assert {found.rule for found in lint(unreadable, dialect)} == {rule}
    report = [
        loss.rule for loss in import_messages(told, dialect).report if loss.rule not in ("partial", "unknown-part")
    ]
    assert [found.rule for found in lint(told, dialect)] == report
    with pytest.raises(DialectError, match="can only be imported"):
        export_messages(import_messages(told, dialect).envelopes, dialect)
    with pytest.raises(DialectError, match="can only be imported"):
        get_dialect(dialect).render([], ExportOptions(), Report(target=dialect))
