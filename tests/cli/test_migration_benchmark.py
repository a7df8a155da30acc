"""The benchmark of migrations measures what it says, killed and gone on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.migration import measure, report
from tests.servers import Server


def test_the_benchmark_migrates_and_is_killed_and_compares_all(own_server: Server, tmp_path: Path) -> None:
    pytest.importorskip("langgraph.checkpoint.sqlite")
    found = measure(tmp_path, own_server.url, threads=4, turns=2, rounds=1, kills=2)
    assert (found.checkpoints, len(found.ratios)) == (4 * 2 * 5, 1)
    assert (found.lacking, found.differing) == (0, 0)
    assert 1 <= found.kills <= 2
    assert "4 threads of 2 turns: 40 checkpoints, 10 each" in report(found)
