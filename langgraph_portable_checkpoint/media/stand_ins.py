"""Texts and bytes in the place of media that were not read, which still stand for them when they are written again.

A graph goes on from what it read: it appends to the list that holds such a text, or hands the part on. So that the
medium is not lost by that, it is known of the very object what it stands for. The object counts, never its characters:
the same text typed by somebody is a text. It is a plain `str` or `bytes`, since LangChain's messages and pydantic's
models make plain ones of any other. Whatever makes a new text of it (JSON, words around it, a field that strips its
texts) makes one that is a text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from langgraph_portable_checkpoint.media.holes import Hole
from langgraph_portable_checkpoint.media.slots import said_in

_FIRST_SWEEP: Final = 4096


class Standing(NamedTuple):
    """What a text stands for."""

    home: bytes
    """The thread that has the medium, in its generation; elsewhere the text is a text."""
    part: Any
    """The part without its media, or None where the text stands for bytes alone."""
    holes: tuple[Hole, ...]
    """Where its media go, by their refs; paths begin at the part."""


class _InUse:
    """What stands for a medium, by identity.

    What nobody else holds any longer is forgotten, what is in use never: a run may wait for days with what it read.
    Each sweep leaves as much room as it found in use, so that a medium's share of all sweeps is constant.
    """

    def __init__(self) -> None:
        self.kept: dict[int, tuple[str | bytes, Standing]] = {}
        self._sweep_at = _FIRST_SWEEP

    def __len__(self) -> int:
        return len(self.kept)

    def keep(self, made: str | bytes, standing: Standing) -> None:
        if len(self.kept) >= self._sweep_at:
            self._sweep()
        self.kept[id(made)] = (made, standing)

    def find(self, leaf: str | bytes) -> Standing | None:
        kept = self.kept.get(id(leaf))
        return kept[1] if kept is not None and kept[0] is leaf else None

    def _sweep(self) -> None:
        for key, kept in list(self.kept.items()):
            if sys.getrefcount(kept[0]) <= _UNHELD:
                self.kept.pop(key, None)  # another thread may have been quicker
        self._sweep_at = max(_FIRST_SWEEP, 2 * len(self.kept))


_UNHELD: Final = next(sys.getrefcount(kept[0]) for kept in [(bytes([1, 2]), None)])
"""What the interpreter counts for bytes that only one tuple holds."""
_in_use: Final = _InUse()
_LEAVES: Final = (str, bytes)


def standing_text(text: str, standing: Standing) -> str:
    """Make a text that stands for a medium; it has more than one character, since those of one are shared."""
    made = text[:1] + text[1:]
    _in_use.keep(made, standing)
    return made


def standing_bytes(text: str, standing: Standing) -> bytes:
    """Make bytes that stand for a medium."""
    made = text.encode()
    _in_use.keep(made, standing)
    return made


def made_to_stand(said: str | bytes, standing: Standing) -> str | bytes:
    """Make a text or bytes that stand for a medium."""
    return standing_text(said, standing) if isinstance(said, str) else standing_bytes(said.decode(), standing)


def stands_for(leaf: Any) -> Standing | None:
    """Tell what a text or bytes stand for; None for any that are what they are."""
    return _in_use.find(leaf) if _in_use.kept and type(leaf) in _LEAVES else None


def any_stand() -> bool:
    """Tell at once whether anything in this process may stand for a medium; mostly nothing does."""
    return bool(_in_use.kept)


def part_behind(block: Mapping[Any, Any]) -> Standing | None:
    """Tell which part a block stands for; None for any other."""
    return next((standing for standing, _ in _parts_behind(block)), None) if _in_use.kept else None


def restored(block: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the part behind a block, without its media, and with what was added to the block since."""
    standing, own = next(_parts_behind(block))
    return {**standing.part, **{key: value for key, value in block.items() if key not in own}}


def _parts_behind(block: Mapping[Any, Any]) -> Iterator[tuple[Standing, frozenset[str]]]:
    """Yield what a block stands for, with the keys of the form that says so."""
    for said, own in said_in(block):
        standing = stands_for(said)
        if standing is not None and standing.part is not None:
            yield standing, own


def stood_for(value: Any) -> dict[str, Hole]:
    """List the texts in lists and maps of a value that stand for media, each with a medium that it stands for."""
    if type(value) is str:
        standing = stands_for(value)
        return {} if standing is None else {value: standing.holes[0]}
    below: Iterable[Any] = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {text: hole for each in below for text, hole in stood_for(each).items()}
