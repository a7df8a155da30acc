"""The loss report of an export or import: words on stderr, or JSON Lines in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from .files import write_text
from .output import Output, dump_json

if TYPE_CHECKING:
    from ..dialects.report import Loss

MOST_SHOWN: Final = 20
Strict = Annotated[bool, typer.Option("--strict", help="Write nothing and exit 1 if anything would be lost.")]
ReportFile = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write every loss to FILE as JSON Lines.")
]


def tell_losses(losses: Sequence[Loss], output: Output, *, report: Path | None, strict: bool) -> None:
    """Report losses.

    Raises:
        LossyExportError: `strict`, and there are some.
    """
    from ..errors import LossyExportError

    if report is not None:
        write_text(report, "".join(f"{dump_json(asdict(loss))}\n" for loss in losses), output)
    if strict and losses:
        raise LossyExportError(losses)
    if not losses:
        return
    output.say(f"{len(losses)} losses:" if len(losses) > 1 else "1 loss:")
    for loss in losses[:MOST_SHOWN]:
        output.say(f"  {loss}")
    if len(losses) > MOST_SHOWN:
        output.say(f"  ... and {len(losses) - MOST_SHOWN} more; --report FILE writes all.")
