"""Lists as shared structure: a sequence is a run of whole pages plus a few loose entries.

Pages have a fixed fan-out of `FANOUT`. A leaf page holds FANOUT entries; an inner page names FANOUT pages of the level
below. A sequence of n entries is written like the number n in base FANOUT, most significant digit first: for each
level the pages that are whole at that level and not part of a larger one, then the loose entries. The top level may
hold any number of pages below FANOUT. Appending one entry therefore writes at most one page per level, and two
sequences with a common beginning share all of its whole pages. Pure: knows entries, digests and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final, NamedTuple

FANOUT: Final = 4


class Entry(NamedTuple):
    """One encoded value: what is written for it, and the refs that this consumes, in order."""

    wire: Any
    refs: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Sequenced:
    """A sequence with all of its pages named.

    Attributes:
        entries: All entries.
        pages: Per level from 1 up, the refs of every whole page of that level.
        compound: Whether some entry is more than a message or a reference to a blob: its wire form is a list.
    """

    entries: list[Entry]
    pages: list[list[bytes]]
    compound: bool

    def node(self) -> tuple[list[Entry], tuple[bytes, ...]]:
        """Return the loose entries and, before them in order, the refs of the pages."""
        size = len(self.entries)
        refs: list[bytes] = []
        for level in range(len(self.pages), 0, -1):
            whole = len(self.pages[level - 1])
            taken = len(self.pages[level]) * FANOUT if level < len(self.pages) else 0
            refs += self.pages[level - 1][taken:whole]
        return self.entries[size - size % FANOUT :], tuple(refs)

    def is_named(self, entry: Entry) -> bool:
        """Tell whether an entry names this very sequence."""
        if entry.wire[0] != len(self.entries):
            return False
        loose, refs = self.node()
        return entry.wire[2] == [e.wire for e in loose] and entry.refs == refs + tuple(r for e in loose for r in e.refs)


EMPTY: Final = Sequenced([], [], compound=False)
_WIRE: Final = itemgetter(0)


def has_compound(entries: Sequence[Entry]) -> bool:
    """Tell whether the wire form of some entry is a list."""
    return list in map(type, map(_WIRE, entries))


def common_prefix(old: Sequence[Entry], new: Sequence[Entry]) -> int:
    """Count the leading entries that are equal."""
    limit = min(len(old), len(new))
    if old[:limit] == new[:limit]:
        return limit
    return next(i for i in range(limit) if old[i] != new[i])


def sequence(
    entries: list[Entry],
    previous: Sequenced,
    *,
    leaf: Callable[[Sequence[Entry]], bytes],
    inner: Callable[[Sequence[bytes]], bytes],
) -> Sequenced:
    """Name the pages of `entries`, reusing those of `previous` for the common beginning.

    Args:
        entries: All entries of the new sequence.
        previous: A sequence that probably begins alike.
        leaf: Makes a leaf page of FANOUT entries, returns its digest.
        inner: Makes an inner page of FANOUT refs, returns its digest.
    """
    kept = common_prefix(previous.entries, entries)
    compound = has_compound(entries if previous.compound else entries[kept:])
    pages: list[list[bytes]] = []
    below: Sequence[Any] = entries
    level = 0
    while len(below) >= FANOUT:
        kept //= FANOUT
        known = previous.pages[level][:kept] if level < len(previous.pages) else []
        make: Callable[[Any], bytes] = leaf if level == 0 else inner
        start = len(known) * FANOUT
        stop = len(below) - len(below) % FANOUT
        fresh = [make(below[i : i + FANOUT]) for i in range(start, stop, FANOUT)]
        pages.append([*known, *fresh])
        below = pages[-1]
        level += 1
    return Sequenced(entries, pages, compound)


def levels_of(size: int) -> list[int]:
    """Say of which level each page ref of a node of `size` entries is, in order (1: leaf page)."""
    counts: list[int] = []
    whole = size // FANOUT
    while whole:
        counts.append(whole)
        whole //= FANOUT
    levels: list[int] = []
    for level in range(len(counts), 0, -1):
        taken = counts[level] * FANOUT if level < len(counts) else 0
        levels += [level] * (counts[level - 1] - taken)
    return levels
