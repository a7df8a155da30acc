"""The command line, `portable-checkpoint`: thin over the library, one file per command.

`call.py` says what every command has in common, `app.py` which commands there are, `exits.py` what the exit codes mean,
`settings.py` where options come from, `output.py` what goes to stdout and what to stderr. Nothing here imports
LangGraph, a client or a template engine before a command runs that needs it.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final, NoReturn

_PACKAGES: Final = ("typer", "rich", "jinja2")
"""What the extra `cli` installs."""


def main() -> NoReturn:
    """Run the command that the process's arguments name, and end the process with its exit code."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise SystemExit(
            f"portable-checkpoint: {', '.join(missing)} is not installed. "
            "pip install 'langgraph-portable-checkpoint[cli]'"
        )
    from .app import run

    raise SystemExit(run())
