"""`lint`: a history against its provider's rules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import exits
from .call import HISTORIES, Call, command
from .files import read_bytes
from .histories import From, Model, Profile


@command("lint", panel=HISTORIES, server="no")
def lint(
    call: Call,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A history of any dialect; - for stdin.")],
    from_: From = "auto",
    model: Model = None,
    profile: Profile = None,
) -> int:
    """Check a history against its provider's rules. Exit code 1 when one is broken."""
    from ..dialects.export import lint as check

    findings = check(read_bytes(file), from_, model=model, profile=profile)
    rows = [{"rule": one.rule, "path": one.path, "message": one.message} for one in findings]
    if rows or call.output.json:
        call.output.rows(("rule", "path", "message"), rows)
    call.output.say(f"{len(findings)} findings" if findings else "no rule is broken")
    return exits.FINDINGS if findings else exits.DONE
