"""The README's figures, taken from ``docs/benchmark.md``: ``python -m benchmarks.readme`` writes them into README.md."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TURNS = 200
BEGIN, END = "<!-- begin: made by python -m benchmarks.readme -->", "<!-- end -->"
COLUMNS = {
    "memory, MB": "memory, MB",
    "sent, MB": "sent, MB",
    "round trips": "round trips",
    "wall time, s": "wall time, s",
    "get_state, ms": "get_state, ms",
}
"""Heading of the benchmark's tables -> heading in the README."""


def rows_of(report: str, turns: int) -> Mapping[str, Mapping[str, str]]:
    """Read the two tables of a thread's length: saver -> heading -> figure. The whole thread's figure comes first."""
    section = next(part for part in report.split("\n## ") if part.startswith(f"A thread of {turns} turns"))
    found: dict[str, dict[str, str]] = {}
    headings: Sequence[str] = ()
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and cells[0] == "saver":
            headings = cells
        elif cells and not cells[0].startswith("-"):
            known = found.setdefault(cells[0], {})
            known |= {heading: cell for heading, cell in zip(headings, cells, strict=True) if heading not in known}
    return found


def table(report: str, turns: int = TURNS) -> str:
    """Make the README's table."""
    lines = [f"| saver | {' | '.join(COLUMNS.values())} |", f"| --- |{' ---: |' * len(COLUMNS)}"]
    for saver, figures in rows_of(report, turns).items():
        lines.append(f"| {saver} | {' | '.join(figures[heading] for heading in COLUMNS)} |")
    return "\n".join(lines)


def with_figures(readme: str, report: str) -> str:
    """Return the README with the report's figures in it."""
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    return pattern.sub(lambda _: f"{BEGIN}\n\n{table(report)}\n\n{END}", readme)


if __name__ == "__main__":
    page = ROOT / "README.md"
    page.write_text(with_figures(page.read_text(encoding="utf-8"), (ROOT / "docs/benchmark.md").read_text("utf-8")))
