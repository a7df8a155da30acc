"""docs/cli.md names every command and every option, and is what the program makes."""

from __future__ import annotations

from langgraph_portable_checkpoint.cli import exits
from langgraph_portable_checkpoint.cli.app import COMMANDS, program
from langgraph_portable_checkpoint.cli.reference import page
from tests.cli.conftest import ROOT

PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")


def test_the_page_is_what_the_program_makes() -> None:
    assert page() == PAGE, "make it again: python -m langgraph_portable_checkpoint.cli.reference > docs/cli.md"


def test_every_command_and_option_is_on_the_page() -> None:
    root = program()
    assert len(root.commands) >= len(COMMANDS)
    for name, command in root.commands.items():
        part = PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        missing = [option for parameter in command.params for option in parameter.opts if option.startswith("-")]
        assert [option for option in missing if f"`{option}`" not in part] == [], name


def test_every_command_says_what_it_does_and_every_option_too() -> None:
    for name, command in program().commands.items():
        assert command.help, name
        assert [p.name for p in command.params if not p.help and p.name != "help"] == [], name


def test_every_exit_code_that_errors_give_is_on_the_page() -> None:
    codes = {value for key, value in vars(exits).items() if key.isupper() and isinstance(value, int)}
    assert codes == set(exits.MEANINGS)
    assert [code for code in codes if f"| {code} |" not in PAGE] == []
