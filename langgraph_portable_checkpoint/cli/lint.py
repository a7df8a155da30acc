"""`lint`: a history against its provider's rules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import exits
from .call import HISTORIES, Call, command
from .files import read_bytes
from .histories import From, Profile


@command("lint", panel=HISTORIES, server="no")
def lint(
    call: Call,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A history of any dialect; - for stdin.")],
    from_: From = "auto",
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="Model that it is for, where the file names none or another."),
    ] = None,
    profile: Profile = None,
    as_sent: Annotated[
        bool, typer.Option("--as-sent", help="It is sent as it is; else a user message will follow it.")
    ] = False,
    store: Annotated[
        bool, typer.Option("--store", help="Responses: the server keeps items, so that reasoning may go by its id.")
    ] = False,
) -> int:
    """Check a history against its provider's rules. Exit code 1 when one is broken."""
    from ..dialects.export import lint as check

    payload = read_bytes(file)
    followed = check(payload, from_, model=model, profile=profile, store=store)
    whole = check(payload, from_, model=model, profile=profile, store=store, for_next_turn=False)
    findings = whole if as_sent else followed
    rows = [{"rule": one.rule, "path": one.path, "message": one.message} for one in findings]
    if rows or call.output.json:
        call.output.rows(("rule", "path", "message"), rows)
    said = f"{len(findings)} findings" if findings else "no rule is broken"
    if whole != followed and not as_sent:
        said += f" if a user message follows; sent as it is there are {len(whole)} findings: --as-sent shows them"
    call.output.say(said)
    return exits.FINDINGS if findings else exits.DONE
