"""The program: its commands, and how errors become one line and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.main import get_command

from . import exits
from .call import NAME, app
from .output import Output
from .settings import UsageError

COMMANDS: Final = (
    *("demo", "threads", "show", "checkpoints", "stats", "view"),
    *("delete", "copy", "prune", "truncate", "persist", "expire"),
    *("export", "import_", "convert", "lint"),
    *("save", "resume", "diff", "merge"),
    *("migrate", "backup", "restore", "verify", "repair", "gc"),
)
"""The modules of the commands, in the order of the help."""

_Wrong: Final[type[Exception]] = typer.BadParameter.__mro__[2]
"""The parser's own base class of all its complaints; typer gives it no public name."""

_SPELLED_HERE: Final = (
    ("Pass the serde= that it was written with.", "Say --encrypted, with the key in LANGGRAPH_AES_KEY."),
    ("use PortableRedisSaver.from_url(...)", "name it with --redis-url"),
    ("from_=", "--from"),
    ("prefix=", "--prefix"),
    ("media_store=", "--media"),
)
"""Advice of the library, and the same in words of the command line."""


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(NAME, version("langgraph-portable-checkpoint"))
        except PackageNotFoundError:
            print(NAME, "of an unknown version: the package is not installed")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Keep LangGraph conversations in plain Redis or Valkey, and take them elsewhere."""


def program() -> Any:
    """Return the program with all of its commands."""
    for name in COMMANDS:
        import_module(f"{__package__}.{name}")
    # Modules may have been imported, and their commands registered, in another order before.
    app.registered_commands.sort(key=lambda known: COMMANDS.index(_module_of(known.callback)))
    return get_command(app)


def _module_of(function: Any) -> str:
    return str(function.__module__).rpartition(".")[2]


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code. Never raises but for what ends the process."""
    _settle_streams()
    with suppress(ValueError):  # only the main thread may
        signal.signal(signal.SIGTERM, _terminate)
    output = Output()
    try:
        code = program()(arguments, prog_name=NAME, standalone_mode=False, obj=output)
        output.data.flush()
    except BrokenPipeError:
        code = exits.PIPE_CLOSED
    except (typer.Abort, KeyboardInterrupt):
        code = exits.INTERRUPTED
    except Exception as error:  # noqa: BLE001 (the one place that turns errors into words)
        code = _explain(error, output)
    _let_go_of_stdout(output)
    if code == exits.INTERRUPTED:
        output.insist("interrupted")
    return int(code or exits.DONE)


def _explain(error: Exception, output: Output) -> int:
    if isinstance(error, _Wrong):
        if type(error).__name__ != "NoArgsIsHelpError":
            output.insist(f"{NAME}: {error.format_message()} Try --help.")  # type: ignore[attr-defined]
        else:
            print(error.format_message(), file=sys.stderr)  # type: ignore[attr-defined]
        return exits.USAGE
    if output.debug:
        output.insist("".join(traceback.format_exception(error)).rstrip())
    code = exits.USAGE if isinstance(error, UsageError) else exits.code_of(error)
    text = " ".join(_words_of(error).split())
    for there, here in _SPELLED_HERE:
        text = text.replace(there, here)
    if code == exits.DEFECT:
        text = f"a defect of this program, {type(error).__name__}: {text}. --debug shows where; please report it."
    output.insist(f"{NAME}: {text}")
    return code if output.trouble is None else output.trouble


def _words_of(error: Exception) -> str:
    if isinstance(error, OSError) and type(error).__module__ == "builtins" and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, OSError) and type(error) is OSError and error.strerror:
        return f"the output cannot be written: {error.strerror}."
    return str(error)


def _settle_streams() -> None:
    """Make no character fail: what a stream cannot spell is escaped. A closed stream refuses what is written to it."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _let_go_of_stdout(output: Output) -> None:
    """If what is left in stdout's buffer cannot be written, drop it: the interpreter would complain at exit."""
    try:
        output.data.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, output.data.fileno())


def _terminate(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)
