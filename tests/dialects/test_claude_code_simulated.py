"""Claude Code session files as a program writes them: what its model has seen is read, once and in order."""

from __future__ import annotations

from itertools import groupby
from random import Random
from typing import Any

import pytest

from langgraph_portable_checkpoint import export_messages, import_messages, lint
from tests.dialects.claude_code_lines import read
from tests.dialects.claude_code_simulator import Program

SEEDS = range(150)


def groups(envelopes: list[Any]) -> list[tuple[list[str], set[str]]]:
    """Each prompt, summary or answer with the results and texts behind it."""
    found: list[tuple[list[str], set[str]]] = []
    for one in envelopes:
        uuids = one["extras"]["claude-code"]["uuids"]
        if uuids[0][0] in "rx":
            found[-1][1].update(uuids)
        else:
            found.append((uuids, set()))
    return found


def turns(found: list[tuple[list[str], set[str]]]) -> list[list[str]]:
    """What stands between prompts and summaries, in any order."""
    parted = groupby(found, key=lambda group: group[0][0][0] in "uc")
    return [sorted(uuid for said, behind in part for uuid in (*said, *behind)) for _, part in parted]


@pytest.mark.parametrize("ids", ["own", "requests", "stops"])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_model_has_seen_is_read_once_and_in_order(seed: int, ids: str) -> None:
    program = Program(Random(f"{seed} {ids}"), ids).run()
    envelopes, losses = read(program.lines)
    uuids = [uuid for one in envelopes for uuid in one["extras"]["claude-code"]["uuids"]]
    assert len(uuids) == len(set(uuids))
    found, expected = groups(envelopes), program.expected()
    if ids == "stops":
        assert turns(found) == turns(expected)
    else:
        assert found == expected
    told = [int(loss.action.split()[2]) for loss in losses if loss.rule == "CC3"]
    assert sum(told) == program.left_out()


@pytest.mark.parametrize("seed", SEEDS[:10])
def test_what_the_model_has_seen_can_be_sent_on(seed: int) -> None:
    messages = import_messages(Program(Random(seed)).run().lines, "claude-code").messages
    for target in ("anthropic", "openai-chat", "google"):
        assert lint(export_messages(messages, target).payload, target) == []
