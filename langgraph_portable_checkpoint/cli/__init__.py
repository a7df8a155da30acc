"""The command line, `portable-checkpoint`: thin over the library, one file per command.

`call.py` says what every command has in common, `app.py` which commands there are, `exits.py` what the exit codes mean,
`settings.py` where options come from, `output.py` what goes to stdout and what to stderr. Nothing here imports
LangGraph, a client or a template engine before a command runs that needs it.
"""

from __future__ import annotations

from typing import NoReturn


def main() -> NoReturn:
    """Run the command that the process's arguments name, and end the process with its exit code."""
    try:
        from .app import run
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich", "jinja2"}:
            raise
        raise SystemExit(
            f"portable-checkpoint: {error.name} is not installed. pip install 'langgraph-portable-checkpoint[cli]'"
        ) from None
    raise SystemExit(run())
