"""What backup, restore and migrate have in common: threads that are there already, and telling how far it is."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from .output import Output, Progress
from .settings import UsageError

if TYPE_CHECKING:
    from ..transfer.copy_report import Difference
    from ..transfer.copying import Progress as Done

OnExisting = Literal["refuse", "skip", "overwrite", "as-new"]
POLICIES = ("refuse", "skip", "overwrite", "as-new")
ExistingOption = Annotated[
    str, typer.Option("--on-existing", metavar="HOW", help=f"Threads that are there: {', '.join(POLICIES)}.")
]


def checked_policy(on_existing: str) -> OnExisting:
    """Return what to do about threads that are there.

    Raises:
        UsageError: the word is none of those known.
    """
    if on_existing not in POLICIES:
        raise UsageError(f"--on-existing takes {', '.join(POLICIES)}, not {on_existing!r}.")
    return cast(OnExisting, on_existing)


def counting(progress: Progress) -> Callable[[Done], None]:
    """Return a callback that shows how far it is."""
    return lambda done: progress.at(done.done, done.total)


def tell_lost_media(lost: Sequence[Difference], output: Output, *, rows: bool = True) -> None:
    """Say which media cannot be read.

    Args:
        rows: Whether they are data of the command, one row each; stdout may hold something else.
    """
    if lost:
        output.insist(f"warning: {len(lost)} media cannot be read")
    if lost and rows and not output.json:
        output.rows(("thread_id", "checkpoint_ns", "checkpoint_id", "detail"), [asdict(one) for one in lost])


def settle_memory() -> None:
    """Let the collector of cycles look at what comes from now on, and less often: a fifth of a long move went there."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
