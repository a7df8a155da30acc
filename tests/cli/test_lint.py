"""lint: what it says is true of the history, however that goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli

U: dict[str, Any] = {"role": "user", "content": "q"}
PREFILL: dict[str, Any] = {"messages": [U, {"role": "assistant", "content": "a "}]}
ASKED: dict[str, Any] = {"messages": [U, {"role": "assistant", "content": "x"}]}


def written(path: Path, payload: Any) -> Path:
    file = path / "history.json"
    file.write_text(json.dumps(payload))
    return file


@pytest.mark.parametrize(("dialect", "payload", "rule"), [("anthropic", PREFILL, "A14"), ("mistral", ASKED, "M3")])
def test_how_a_history_ends_is_told_or_said_to_be_left_out(
    cli: Cli, tmp_path: Path, dialect: str, payload: Any, rule: str
) -> None:
    file = written(tmp_path, payload)
    ran = cli("lint", file, "--from", dialect)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == (
        "no rule is broken if a user message follows; sent as it is there are 1 findings: --as-sent shows them\n"
    )
    ran = cli("lint", file, "--from", dialect, "--as-sent")
    assert (ran.code, rule in ran.out, ran.err) == (1, True, "1 findings\n")


def test_a_history_that_may_go_on_either_way_breaks_no_rule(cli: Cli, tmp_path: Path) -> None:
    file = written(tmp_path, {"messages": [U]})
    for more in ((), ("--as-sent",)):
        ran = cli("lint", file, "--from", "anthropic", *more)
        assert (ran.code, ran.err) == (0, "no rule is broken\n")


def test_options_decide_about_rules(cli: Cli, tmp_path: Path) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    file = written(tmp_path, {"input": [U, thought, {"role": "assistant", "content": "x"}]})
    assert "R2" in cli("lint", file).out
    assert cli("lint", file, "--store").code == 0
    file = written(tmp_path, {"messages": [U, {"role": "system", "content": "s"}], "model": "claude-opus-4-8"})
    assert cli("lint", file, "--from", "anthropic").code == 0
    assert "A17" in cli("lint", file, "--from", "anthropic", "--model", "claude-sonnet-4-5").out
