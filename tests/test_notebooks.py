"""The notebooks run as they are, say what is true, and are stored with what they said."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
EXECUTE_SECONDS = 240
SIZES = re.compile(r"\d+ turns: (\d+) kB here, (\d+) kB in full copies")


def executed(path: Path, working_folder: Path) -> Any:
    """Run a notebook from its beginning, in a kernel of its own."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(working_folder)}}
    NotebookClient(notebook, timeout=EXECUTE_SECONDS, record_timing=False, resources=resources).execute()
    return notebook


@cache
def _ran(name: str) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        return said(executed(NOTEBOOKS / f"{name}.ipynb", ROOT))


def said(notebook: Any) -> list[str]:
    """What each code cell put out, in order; pictures as their mime type."""
    return ["".join(map(_text, cell.outputs)) for cell in notebook.cells if cell.cell_type == "code"]


def _text(output: Any) -> str:
    if "text" in output:
        return str(output.text)
    data = output.get("data", {})
    return "image/png" if "image/png" in data else str(data.get("text/markdown") or data.get("text/plain"))


def _stored(name: str) -> list[str]:
    return said(nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4))


def test_quickstart_survives_a_kill_between_the_tool_and_the_answer() -> None:
    crash, resume = _ran("quickstart")[2:4]
    assert crash.splitlines() == ["ended by signal 9", "next step: ('model',) - last message: seat 3 is booked"]
    assert resume == "Done: seat 3 is booked.\n['seat 1', 'seat 2', 'seat 3']"


def test_quickstart_shows_turns_and_an_export() -> None:
    shown = _ran("quickstart")[4]
    turns, _, messages = shown.partition("[{")
    assert re.findall(r"^(\d) (\w+)", turns, re.MULTILINE) == [("0", "complete"), ("1", "complete"), ("2", "complete")]
    called, answered, said_last = ast.literal_eval("[{" + messages)
    assert called["content"][0]["id"] == answered["content"][0]["tool_use_id"]
    assert said_last == {"role": "assistant", "content": "Done: seat 3 is booked."}


def test_quickstart_measures_less_than_a_tenth_of_full_copies() -> None:
    growth, plot = _ran("quickstart")[5:7]
    here, whole = map(int, SIZES.fullmatch(growth.strip()).groups())  # type: ignore[union-attr]
    assert 0 < here < whole / 10
    assert plot == "image/png"


def test_switch_provider_reports_what_each_dialect_cannot_take() -> None:
    table = _ran("switch_provider")[2].splitlines()[2:]
    changed = {row.split("|")[1].strip(" `"): row.split("|")[3].strip() for row in table}
    assert changed["anthropic"] == changed["otel"] == changed["langchain"] == "nothing"
    assert all("reasoning was left out" in changed[name] for name in ("bedrock", "google", "openai-chat", "mistral"))


def test_switch_provider_exports_keep_the_rules_of_their_dialects() -> None:
    problems = ast.literal_eval(_ran("switch_provider")[3])
    assert len(problems) == 9
    assert set(problems.values()) == {0}


def test_switch_provider_gets_the_same_facts_back() -> None:
    lines = _ran("switch_provider")[4].splitlines()
    assert [line.split()[0] for line in lines if "the same" not in line] == ["mistral"]
    assert ast.literal_eval(_ran("switch_provider")[5])[-3:] == ["human", "ai", "human"]


@pytest.mark.parametrize("name", ["quickstart", "switch_provider"])
def test_a_notebook_is_stored_with_what_it_says(name: str) -> None:
    def without_sizes(cells: list[str]) -> list[str]:
        return [SIZES.sub("sizes", cell) for cell in cells]

    again = "run jupyter execute --inplace notebooks/*.ipynb"
    assert without_sizes(_stored(name)) == without_sizes(_ran(name)), again


def test_stored_notebooks_name_no_folder_of_the_machine_that_ran_them() -> None:
    outputs = "".join(text for path in NOTEBOOKS.glob("*.ipynb") for text in _stored(path.stem))
    assert re.findall(r"/(?:tmp|home|root|var|Users)/", outputs) == []
