"""`docs/cli.md`, made from the commands themselves: `python -m langgraph_portable_checkpoint.cli.reference`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any, Final

from . import exits
from .app import program
from .call import NAME
from .settings import VARIABLES

_HEAD: Final = """# The command line

This page is made from the program: `python -m langgraph_portable_checkpoint.cli.reference > docs/cli.md`.

Data goes to stdout, words and progress to stderr. On a terminal lists are tables; in a pipe they are tab-separated
lines with a header, and with `--json` JSON Lines. Whatever a conversation holds, no control character of it reaches a
terminal. Commands that destroy something say what they are about to do and ask; where nobody can be asked they need
`--yes`.

## Which server

An option wins over the environment, the environment over the config file. A command takes `--redis-url URL` or `--data
FOLDER` (a real Valkey of its own, started when needed). Passwords are shown nowhere; give them in the environment or
the config file, as other users of a machine can see the arguments of a process.
"""
_CONFIG: Final = """
The config file is `$XDG_CONFIG_HOME/portable-checkpoint/config.toml` (usually `~/.config/...`), or what `--config` or
`PORTABLE_CHECKPOINT_CONFIG` names:

```toml
redis_url = "redis://user:password@host:6379/0"   # or: data = "/var/lib/conversations"
prefix = "lpc"
media = "/var/lib/media"                          # a shared media store, where there is one
cluster = false
encrypted = false                                 # true: with the key in LANGGRAPH_AES_KEY
```
"""

_RESUMING: Final = """
## Making an agent resumable

`resume` sets one variable, `AGENT_CHECKPOINT_INIT`, to the absolute path of an agent-checkpoint file. An agent that
seeds its messages from there can go on from any conversation, of any tool that writes the format. Two adapters of under
50 lines show all of it: [examples/seed_openai.py](../examples/seed_openai.py) seeds an OpenAI-style message list,
[examples/seed_langgraph.py](../examples/seed_langgraph.py) a LangGraph thread.

    portable-checkpoint save session.jsonl -o checkpoint.jsonl
    portable-checkpoint resume checkpoint.jsonl -- python examples/seed_openai.py "And Italy?" --print-request

What that saves against running the conversation again: `python -m benchmarks.resume_cost`. How long the commands take
to start: `python -m benchmarks.command_line`.
"""


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    yield from _table(("setting", "variable"), [(name, f"`{variable}`") for name, variable in VARIABLES.items()])
    yield _CONFIG
    yield "## Exit codes\n"
    yield from _table(("code", "meaning"), [(str(code), text) for code, text in exits.MEANINGS.items()])
    yield _RESUMING
    yield "## The program\n"
    root = program()
    yield from _options(root)
    yield f"\nShell completion: `{NAME} --install-completion`."
    for name, command in root.commands.items():
        yield f"\n## {name}\n"
        yield inspect.cleandoc(command.help or "")
        yield f"\n    {NAME} {name} {' '.join(_usage(command))}\n"
        yield from _options(command)


def _usage(command: Any) -> Iterator[str]:
    yield "[OPTIONS]"
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            word = parameter.metavar or str(parameter.name).upper()
            word += "..." if parameter.nargs == -1 and not word.endswith("...") else ""
            yield word if parameter.required else f"[{word}]"


def _options(command: Any) -> Iterator[str]:
    rows = [_row(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
    if rows:
        yield from _table(("option", "what it does"), rows)


def _row(parameter: Any) -> tuple[str, str]:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or str(parameter.name).upper()}`", parameter.help or ""
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    default = parameter.default
    given = "" if default in (None, False, True, ()) or callable(default) else f" Default: `{default}`."
    return names, f"{parameter.help or ''}{given}"


def _table(head: tuple[str, str], rows: list[tuple[str, str]]) -> Iterator[str]:
    yield f"| {head[0]} | {head[1]} |"
    yield "| --- | --- |"
    for left, right in rows:
        yield f"| {left} | {right.replace('|', chr(92) + '|')} |"


if __name__ == "__main__":
    sys.stdout.write(page())
