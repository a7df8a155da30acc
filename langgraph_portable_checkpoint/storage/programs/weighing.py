"""What a thread takes, field by field, weighed in the server: names and sizes come, values stay there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..effects import Batch, Command, Program, Script
from ..layout import THREAD_PARTS
from .core import Core
from .paged import STAGED
from .whole import PARTS

NAMES_AT_ONCE: Final = 1000


@dataclass(frozen=True, slots=True)
class Names:
    """The names of what a thread holds.

    Attributes:
        parts: The fields of each of its hashes; what a load has staged is left out.
        runs: How many runs it has.
    """

    parts: Mapping[str, Sequence[bytes]]
    runs: int


def names_of(core: Core, thread_id: str) -> Program[Names | None]:
    """Name what a thread holds; None when there is none. One round trip on a standalone server."""
    keys = dict(zip(THREAD_PARTS, core.layout.thread(thread_id), strict=True))
    calls = [Command(("HKEYS", keys[part])) for part in PARTS]
    generation, runs, *named = yield Batch(
        (Command(("HGET", keys["meta"], b"g")), Command(("SCARD", keys["runs"])), *calls)
    )
    parts = {part: [n for n in names if not n.startswith(STAGED)] for part, names in zip(PARTS, named, strict=True)}
    if generation is None and not (parts["items"] or parts["ckpts"] or parts["writes"]):
        return None
    return Names(parts, int(runs))


def weigh(
    core: Core, thread_id: str, part: str, names: Sequence[bytes], *, kinds: bool = False
) -> Program[list[tuple[int, int]]]:
    """Say the bytes of each value, in order, and the kind of each item; what is gone meanwhile weighs 0.

    Round trips: 1 for each `NAMES_AT_ONCE` names.

    Args:
        kinds: Whether to tell kinds; they are -1 otherwise, and where there is none.
    """
    weighed: list[tuple[int, int]] = []
    head = (THREAD_PARTS.index(part) + 1, b"1" if kinds else b"0")
    for at in range(0, len(names), NAMES_AT_ONCE):
        page = names[at : at + NAMES_AT_ONCE]
        sizes, told = yield Script("weigh", core.layout.thread(thread_id), (*head, *page), writes=False)
        weighed += zip(sizes, told or [-1] * len(sizes), strict=True)
    return weighed
