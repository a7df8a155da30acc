"""The pages say what is true: their examples run, their tables are those of the code, their links lead somewhere."""

from __future__ import annotations

import contextlib
import io
import re
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.readme import with_figures
from langgraph_portable_checkpoint import import_messages
from langgraph_portable_checkpoint.dialects import registry
from langgraph_portable_checkpoint.errors import MalformedHistoryError
from tests.papers import Example, examples, with_error_table
from tests.servers import ACL_COMMANDS, Server, acl_rules
from tests.test_notebooks import _stored

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", "CONTRIBUTING.md", "docs/operations.md", "docs/decisions.md", "docs/media.md"]
LOCAL_URL = "redis://localhost:6379"


def _read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def _golden_file() -> str:
    return re.search(r"^```json\n(.*?)^```$", _read("CONTRIBUTING.md"), re.MULTILINE | re.DOTALL)[1]  # type: ignore[index]


@pytest.fixture
def plain_chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the dialect of CONTRIBUTING.md as a package of its own, with its golden file."""
    dialect, *_ = examples("CONTRIBUTING.md", _read("CONTRIBUTING.md"))
    info = tmp_path / "plain_chat-1.0.dist-info"
    info.mkdir()
    (tmp_path / "plain_chat.py").write_text(dialect.code)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plain-chat\nVersion: 1.0\n")
    named = tomllib.loads(re.search(r"```toml\n(.*?)```", _read("CONTRIBUTING.md"), re.DOTALL)[1])  # type: ignore[index]
    ((group, points),) = named["project"]["entry-points"].items()
    (info / "entry_points.txt").write_text(f"[{group}]\n" + "".join(f"{n} = {where}\n" for n, where in points.items()))
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden" / "tool_call.json").write_text(_golden_file())
    monkeypatch.syspath_prepend(str(tmp_path))
    for cached in (registry._third_parties, registry._load):
        cached.cache_clear()
    yield
    for cached in (registry._third_parties, registry._load):
        cached.cache_clear()


def _run(example: Example, server: Server) -> None:
    """Run an example on a server; what it prints is what the page says, if the page says it."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(example.code.replace(LOCAL_URL, server.url), {"__name__": example.page})
    assert example.output is None or printed.getvalue() == example.output, str(example)


EXAMPLES = [example for page in PAGES for example in examples(page, _read(page))]


@pytest.mark.usefixtures("plain_chat")
@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_every_example_runs_and_prints_what_the_page_says(
    example: Example, own_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _run(example, own_server)


@pytest.mark.usefixtures("plain_chat")
@pytest.mark.parametrize("page", PAGES[1:])  # the README's only example goes on with its conversation
def test_a_page_can_be_followed_from_top_to_bottom_and_again(
    page: str, own_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for example in 2 * list(examples(page, _read(page))):
        _run(example, own_server)


def _store_tests() -> type:
    """The class of the media page that tests the store of the media page."""
    *_, store, its_tests = examples("docs/media.md", _read("docs/media.md"))
    page: dict[str, type] = {}
    exec(store.code + its_tests.code, page)
    return page["TestSqliteMediaStore"]


TestStoreOfTheMediaPage = _store_tests()


@pytest.mark.usefixtures("plain_chat")
def test_the_dialect_of_contributing_is_recognised_and_refuses_what_is_none() -> None:
    assert import_messages({"lines": ["user: hi", "assistant: hello"]}).dialect == "plain-chat"
    with pytest.raises(MalformedHistoryError, match=r"lines\[0\]"):
        import_messages({"lines": ["hi"]}, "plain-chat")


def test_the_readme_has_an_example_of_twelve_lines() -> None:
    (example,) = examples("README.md", _read("README.md"))
    assert len([line for line in example.code.splitlines() if line.strip()]) == 12
    assert example.output


def test_the_readmes_losses_are_those_of_the_notebook() -> None:
    table = next(output for output in _stored("switch_provider") if output.startswith("| dialect"))
    assert table in _read("README.md"), "copy the table of notebooks/switch_provider.ipynb"


def test_the_readmes_figures_are_those_of_the_benchmark() -> None:
    readme = _read("README.md")
    assert with_figures(readme, _read("docs/benchmark.md")) == readme, "run python -m benchmarks.readme"
    assert "| PortableRedisSaver |" in readme


def test_the_table_of_errors_is_that_of_the_code() -> None:
    operations = _read("docs/operations.md")
    assert with_error_table(operations) == operations, "run python -m tests.papers"
    assert "| `CorruptRecordError` |" in operations


def test_the_published_rights_are_those_that_tests_run_under() -> None:
    published = re.search(r"^    ACL SETUSER saver (.*?)\n\n", _read("docs/operations.md"), re.MULTILINE | re.DOTALL)
    assert published is not None
    rules = published[1].split()
    assert [rule for rule in acl_rules("lpc", password="secret") if rule not in ("-@admin", "-@dangerous")] == rules
    assert len(rules) > len(ACL_COMMANDS)


@pytest.mark.parametrize("page", [*PAGES, "CHANGELOG.md", "docs/format.md", "docs/cli.md"])
def test_links_to_files_of_the_project_lead_somewhere(page: str) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", _read(page))
    assert [target for target in targets if not (ROOT / page).parent.joinpath(target).exists()] == []


def test_examples_are_found_with_the_output_that_follows_directly() -> None:
    page = textwrap.dedent("""
        ```python
        a
        ```

        ```text
        b
        ```

        ```python
        c
        ```
        Not its output:
        ```text
        d
        ```
    """)
    assert [(e.code, e.output) for e in examples("p", page)] == [("a\n", "b\n"), ("c\n", None)]
