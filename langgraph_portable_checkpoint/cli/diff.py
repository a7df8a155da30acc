"""`diff`: two histories, files or threads."""

from __future__ import annotations

from typing import Annotated

import typer

from . import exits
from .call import FILES, Call, command
from .histories import AsThread, history_of
from .settings import UsageError


@command("diff", panel=FILES, trouble=exits.USAGE)
def diff(
    call: Call,
    a: Annotated[str, typer.Argument(metavar="A", help="A file of any dialect, or a thread.")],
    b: Annotated[str, typer.Argument(metavar="B", help="A file of any dialect, or a thread.")],
    form: Annotated[str, typer.Option("--format", "-f", metavar="text|json", help="How to say it.")] = "text",
    thread: AsThread = False,
) -> int:
    """Compare two histories by role, content, tool calls and results.

    Ignores times, providers, models and reasoning. Exit code 0: equal, 1: different, 2: any trouble.
    """
    from ..transfer.checkpoint_files import compare_histories

    if form not in ("text", "json"):
        raise UsageError(f"--format takes text or json, not {form!r}.")
    left, right = history_of(call, a, as_thread=thread), history_of(call, b, as_thread=thread)
    differences = compare_histories(left, right)
    if form == "json" or call.output.json:
        counts = {"identical": not differences, "a_turns": len(left), "b_turns": len(right)}
        found = {**counts, "differences": [one.to_wire() for one in differences]}
        call.output.write_json(found, indent=None if call.output.json else 2)
    else:
        call.output.write("different" if differences else "identical")
        for one in differences:
            call.output.write(str(one))
    return exits.FINDINGS if differences else exits.DONE
