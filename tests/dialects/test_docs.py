"""docs/dialects.md says what the code's tables say."""

from __future__ import annotations

from pathlib import Path

from langgraph_portable_checkpoint.dialects.docs import render
from langgraph_portable_checkpoint.dialects.registry import bundled_names

PAGE = Path(__file__).resolve().parents[2] / "docs/dialects.md"


def test_the_page_is_the_one_that_the_tables_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), (
        "run: python -m langgraph_portable_checkpoint.dialects.docs > docs/dialects.md"
    )


def test_every_bundled_dialect_has_its_section() -> None:
    page = render()
    assert all(f"\n## {name}\n" in page for name in bundled_names())
