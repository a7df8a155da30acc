"""The shape of the project: which way imports go, what is imported where, what the wheel holds."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

import pytest

from tests.servers import ACL_COMMANDS

ROOT = Path(__file__).resolve().parents[1]
NAME = "langgraph_portable_checkpoint"
PACKAGE = ROOT / NAME

# Each room, and the rooms that it may import from. `__init__` at the top gives out names of all rooms, lazily.
BELOW_SAVER = {"errors", "serde", "envelope", "media", "dialects", "storage"}
MAY_IMPORT = {
    "errors": set(),
    "serde": {"errors"},
    "envelope": {"errors"},
    "media": {"errors", "envelope"},
    "dialects": {"errors", "envelope"},
    "storage": {"errors", "envelope"},
    "testing": {"errors", "envelope", "media"},
    "archived_uploads": {*BELOW_SAVER, "upload_notes"},
    "archived_losses": {*BELOW_SAVER, "archived_uploads"},
    "archiving": {*BELOW_SAVER, "archived_losses", "archived_uploads"},
    "truncating": BELOW_SAVER,
    "conversation": {*BELOW_SAVER, "archiving", "truncating"},
    "upload_channels": BELOW_SAVER,
    "upload_notes": BELOW_SAVER,
    "thread_uploads": {*BELOW_SAVER, "upload_channels", "upload_notes"},
    "thread_media": {*BELOW_SAVER, "thread_uploads"},
    "thread_life": BELOW_SAVER,
    "saver": {*BELOW_SAVER, "conversation", "thread_life", "thread_media"},
    "transfer": {*BELOW_SAVER, "saver", "upload_notes"},
    "middleware": {*BELOW_SAVER, "saver", "transfer"},
    "cli": {*BELOW_SAVER, "saver", "transfer", "middleware"},
}
EVERYWHERE = {"langgraph", "langchain_core", "msgpack"}
ONLY_IN = {
    "redis": ("storage/drivers", "storage/clients", "storage/embedded", "storage/sessions"),
    "valkey": ("storage/drivers", "storage/clients"),
    "typer": ("cli/",),
    "rich": ("cli/",),
    "jinja2": ("cli/",),
    "obstore": ("media/",),
    "langchain": ("middleware",),
    "Crypto": ("storage/",),
    # These two come with langgraph; its serializer's bytes are made with the one and name classes of the other.
    "ormsgpack": ("storage/", "envelope/", "serde", "transfer/"),
    "pydantic": ("storage/", "envelope/", "media/", "dialects/", "serde"),
}


def _modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _runtime_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING`, which no interpreter imports."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        yield child
        yield from _runtime_nodes(child)


def _imports(path: Path) -> Iterator[str]:
    """The absolute names of all modules that a file imports when it runs, inside functions too."""
    package = _dotted(path) if path.name == "__init__.py" else _dotted(path).rpartition(".")[0]
    for node in _runtime_nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module or ""
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _room(dotted: str) -> str | None:
    parts = dotted.split(".")
    return parts[1] if parts[0] == NAME and len(parts) > 1 and parts[1] in MAY_IMPORT else None


@pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(path: Path) -> None:
    room = _room(_dotted(path))
    if room is None:
        assert path == PACKAGE / "__init__.py", "a new room must be added to MAY_IMPORT"
        return
    against = {name for name in _imports(path) if _room(name) not in {None, room, *MAY_IMPORT[room]}}
    assert not against


@pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_what_is_declared_and_where_it_belongs(path: Path) -> None:
    place = path.relative_to(PACKAGE).as_posix()
    others = {name.partition(".")[0] for name in _imports(path)} - set(sys.stdlib_module_names) - EVERYWHERE - {NAME}
    assert {top for top in others if not place.startswith(ONLY_IN.get(top, ()))} == set()


def test_the_import_rules_see_a_module_that_breaks_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    bad = tmp_path / NAME / "envelope" / "bad.py"
    bad.parent.mkdir(parents=True)
    bad.write_text("def f():\n    from ..storage import layout\n    import openai.types\n")
    assert list(_imports(bad)) == [f"{NAME}.storage.layout", "openai.types"]


def _loaded_by(code: str) -> set[str]:
    shown = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nimport json; print('\\n' + json.dumps(list(sys.modules)))"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.partition(".")[0] for name in json.loads(shown.stdout.splitlines()[-1])}


def _commands_sent() -> set[str]:
    lua = "".join(path.read_text() for path in (PACKAGE / "storage").rglob("*.lua"))
    python = "".join(path.read_text() for path in (PACKAGE / "storage").rglob("*.py"))
    inside = re.findall(r"redis\.p?call\(\s*['\"](\w+)['\"]", lua)
    return {name.lower() for name in [*inside, *re.findall(r"Command\(\s*\(\s*b?\"([A-Z]+)\"", python)]}


def test_every_command_that_is_sent_is_in_the_published_list() -> None:
    sent = _commands_sent()
    assert len(sent) > 10
    assert sent - set(ACL_COMMANDS) == set()


HEAVY = {"langgraph", "langchain_core", "redis", "msgpack", "pydantic", "asyncio", "jinja2"}


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert _loaded_by(f"import {NAME}, {NAME}.errors") & HEAVY == set()


def test_help_loads_nothing_heavy() -> None:
    if not list((PACKAGE / "cli").glob("[!_]*.py")):
        pytest.skip("there is no command line yet")
    run = f"sys.argv = ['portable-checkpoint', '--help']\ntry:\n    from {NAME}.cli import main; main()\n"
    assert _loaded_by(run + "except SystemExit: pass") & (HEAVY - {"asyncio"}) == set()


def _tracked() -> list[Path]:
    shown = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in shown.split("\0") if name and (ROOT / name).is_file()]


# Spelled in two halves, so that this file does not find itself.
FORBIDDEN = [
    re.compile("|".join(map("".join, halves)))
    for halves in (
        [("/wo", "rk/"), ("/tmp/scr", "atch"), ("/ro", "ot/"), ("/opt/py", "pi"), ("/home/[a-z]", "+/")],
        [("pypi", r"\.org"), ("pythonhost", r"ed\.org"), ("npmjs", r"\.(org|com)/"), ("deb\\.deb", r"ian\.org")],
    )
]


def test_the_project_names_no_place_of_one_machine() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in _tracked()
        if path.suffix not in {".png", ".rdb", ".bin"}
        for pattern in FORBIDDEN
        if (match := pattern.search(path.read_text(errors="replace")))
    }
    assert found == set()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    expected = {path.relative_to(ROOT).as_posix() for path in _tracked() if path.is_relative_to(PACKAGE)}
    assert inside >= expected
    assert not {name for name in inside if not name.startswith(f"{NAME}/")}
    assert f"{NAME}/py.typed" in inside


def test_the_wheel_needs_the_four_runtime_dependencies_only(wheel: zipfile.ZipFile) -> None:
    metadata = next(wheel.read(name).decode() for name in wheel.namelist() if name.endswith("METADATA"))
    required = re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", metadata, re.MULTILINE)
    assert sorted(required) == ["langchain-core", "langgraph", "msgpack", "redis"]


def test_every_test_dependency_is_pinned() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    named = [entry for entries in groups.values() for entry in entries if isinstance(entry, str)]
    assert [entry for entry in named if "==" not in entry] == []
