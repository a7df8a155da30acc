"""What every command has in common: its shared options, its output, its saver, and how it is registered.

A command is a function of a `Call` and its own options. `command` registers it, adds the shared options, and turns what
it returns into the exit code (None is done).
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

import typer

from . import exits
from .output import Output
from .settings import VARIABLES, Settings, UsageError, hide_secrets, resolve

if TYPE_CHECKING:
    from ..saver import PortableRedisSaver

T = TypeVar("T")
NAME: Final = "portable-checkpoint"
THREADS: Final = "Threads"
HISTORIES: Final = "Histories"
FILES: Final = "agent-checkpoint"
MOVING: Final = "Moving and keeping"

app = typer.Typer(
    name=NAME,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_Json = Annotated[bool, typer.Option("--json", help="Write JSON: one document, or one per line for lists.")]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on stderr but errors and questions.")]
_Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
_Url = Annotated[
    str | None,
    typer.Option(
        "--redis-url", metavar="URL", help=f"redis://, rediss:// or unix:// URL. [env: {VARIABLES['redis_url']}]"
    ),
]
_Data = Annotated[
    str | None,
    typer.Option("--data", metavar="FOLDER", help=f"Folder of an embedded server. [env: {VARIABLES['data']}]"),
]
_Prefix = Annotated[
    str | None,
    typer.Option("--prefix", metavar="TEXT", help=f"Prefix of the keys; lpc by default. [env: {VARIABLES['prefix']}]"),
]
_Media = Annotated[
    str | None,
    typer.Option("--media", metavar="FOLDER", help=f"Folder of a shared media store. [env: {VARIABLES['media']}]"),
]
_Cluster = Annotated[bool | None, typer.Option("--cluster/--no-cluster", help="The URL names a node of a cluster.")]
_Encrypted = Annotated[
    bool | None,
    typer.Option("--encrypted/--not-encrypted", help="Threads are encrypted with the key in LANGGRAPH_AES_KEY."),
]
_Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Config file (TOML). [env: PORTABLE_CHECKPOINT_CONFIG]"),
]

_FOR_ALL: Final = {"json": (_Json, False), "quiet": (_Quiet, False), "debug": (_Debug, False)}
_FOR_SERVERS: Final = {
    "redis_url": (_Url, None),
    "data": (_Data, None),
    "prefix": (_Prefix, None),
    "media": (_Media, None),
    "cluster": (_Cluster, None),
    "encrypted": (_Encrypted, None),
}
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
ThreadId = Annotated[str, typer.Argument(metavar="THREAD", help="Id of the thread.", show_default=False)]

ThreadIds = Annotated[list[str], typer.Argument(metavar="THREAD", help="Ids of threads.", show_default=False)]


class Call:
    """One run of one command.

    Args:
        output: Where it writes.
        given: The shared options as given, by name.
        config: The config file asked for.
    """

    def __init__(self, output: Output, given: dict[str, Any], config: Path | None) -> None:
        self.output = output
        self._given = given
        self._config = config
        self._opened = ExitStack()
        self._saver: PortableRedisSaver | None = None

    def settings(self) -> Settings:
        """Return which server is meant.

        Raises:
            UsageError: none is named, or two.
        """
        settings = resolve(self._given, config=self._config, environ=os.environ)
        hide_secrets(self.output, settings.redis_url)
        return settings

    def saver_options(self) -> dict[str, Any]:
        """Return the options of savers of ours that are named in another way than by the settings."""
        return resolve(self._given, config=self._config, environ=os.environ, server=False).options()

    def names_server(self) -> bool:
        """Whether any place names a server."""
        try:
            self.settings()
        except UsageError:
            return any(self._given.get(name) for name in ("redis_url", "data"))
        return True

    def saver(self, *, makes: bool = False) -> PortableRedisSaver:
        """Return the saver, opened at the first call and closed at the end of the command.

        Args:
            makes: Whether the command makes threads, and so the folder of an embedded server.
        """
        if self._saver is None:
            self._saver = self._opened.enter_context(self.settings().open(makes=makes))
        return self._saver

    def until_end(self, opened: AbstractContextManager[T]) -> T:
        """Keep something open until the command has ended."""
        return self._opened.enter_context(opened)

    def confirm(self, question: str, *, yes: bool) -> None:
        """Ask before something is destroyed.

        Raises:
            UsageError: nobody can be asked, and `--yes` was not given.
            typer.Exit: the answer was no.
        """
        if yes:
            return
        if not (sys.stdin.isatty() and self.output.words.isatty()):
            raise UsageError(f"{question} Nothing was done. Say --yes to do it without being asked.")
        self.output.insist(f"{question} [y/N]")
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            self.output.insist("Nothing was done.")
            raise typer.Exit(exits.FINDINGS)

    def close(self) -> None:
        """Close what was opened."""
        self._opened.close()


Command = Callable[..., int | None]


def command(
    name: str, *, panel: str, server: Literal["yes", "no"] = "yes", trouble: int | None = None, **settings: Any
) -> Callable[[Command], Command]:
    """Register a command.

    Args:
        name: What the user types.
        panel: The heading under which it is listed.
        server: Whether it needs a server, and takes the options that name one.
        trouble: The exit code of every error; by default each kind has its own.
        settings: As typer's `command` takes them.
    """

    def register(function: Command) -> Command:
        shared = {**(_FOR_SERVERS if server == "yes" else {}), **_FOR_ALL}

        @wraps(function)
        def run(ctx: typer.Context, **values: Any) -> None:
            output = ctx.obj or Output()
            output.trouble = trouble
            _run(function, output, values, shared=shared.keys())

        run.__signature__ = _signature(function, shared, server)  # type: ignore[attr-defined]  # inspect reads it
        run.__annotations__ = {
            parameter.name: parameter.annotation
            for parameter in run.__signature__.parameters.values()  # type: ignore[attr-defined]  # set above
        }
        first_line = (function.__doc__ or "").partition("\n")[0]
        app.command(name, rich_help_panel=panel, short_help=first_line, **settings)(run)
        return function

    return register


def _signature(function: Command, shared: dict[str, Any], server: str) -> inspect.Signature:
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    if server == "yes":
        shared = {**shared, "config": (_Config, None)}
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, (kind, default) in shared.items()
    ]
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    return inspect.Signature([context, *keyword_only, *added])


def _run(function: Command, output: Output, values: dict[str, Any], *, shared: Any) -> None:
    config = values.pop("config", None)
    given = {name: values.pop(name) for name in shared}
    output.json, output.quiet, output.debug = given.pop("json"), given.pop("quiet"), given.pop("debug")
    call = Call(output, given, config)
    try:
        hide_secrets(output, given.get("redis_url"), os.environ.get(VARIABLES["redis_url"]))
        code = function(call, **values)
        output.data.flush()
    except BrokenPipeError:
        raise typer.Exit(exits.PIPE_CLOSED) from None
    finally:
        call.close()
    raise typer.Exit(code or exits.DONE)
