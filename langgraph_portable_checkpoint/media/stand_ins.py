"""Texts in the place of media that were not read, which still stand for them when they are written again.

A graph goes on from what it read: it appends to the list that holds such a text, or hands the part on. So that the
medium is not lost by that, the text is an object that knows what it stands for. It is the object that counts, never its
characters: the same text typed by somebody is a text. Whatever makes a new text of it (JSON, formatting, a text field
of a model) makes a plain one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from langgraph_portable_checkpoint.media.holes import Hole

_MAX_BYTES_KEPT: Final = 4096
_PART_KEYS: Final = frozenset({"type", "text"})


class Standing(NamedTuple):
    """What a text stands for."""

    home: bytes
    """The thread that has the medium, in its generation; elsewhere the text is a text."""
    part: Any
    """The part without its media, or None where the text stands for bytes alone."""
    holes: tuple[Hole, ...]
    """Where its media go, by their refs; paths begin at the part."""


class StandIn(str):
    """A text that stands for a medium. Copies of values keep it; serializers write the text."""

    __slots__ = ("standing",)
    standing: Standing

    def __new__(cls, text: str, standing: Standing) -> StandIn:
        made = super().__new__(cls, text)
        made.standing = standing
        return made

    def __copy__(self) -> StandIn:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> StandIn:
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str.__str__(self),)


_bytes: OrderedDict[int, tuple[bytes, Standing]] = OrderedDict()
"""Bytes that stand for a medium, by identity: serializers take no class of their own. The oldest are forgotten."""


def standing_bytes(text: str, standing: Standing) -> bytes:
    """Make bytes that stand for a medium."""
    made = text.encode()
    _bytes[id(made)] = (made, standing)
    while len(_bytes) > _MAX_BYTES_KEPT:
        with suppress(KeyError):  # another thread was quicker
            _bytes.popitem(last=False)
    return made


def stands_for(leaf: Any) -> Standing | None:
    """Tell what a text or bytes stand for; None for any that are what they are."""
    if type(leaf) is StandIn:
        return leaf.standing
    if type(leaf) is bytes and _bytes:
        kept = _bytes.get(id(leaf))
        return kept[1] if kept is not None and kept[0] is leaf else None
    return None


def part_behind(block: Mapping[Any, Any]) -> Standing | None:
    """Tell which part a block stands for; None for any other."""
    text = block.get("text")
    return text.standing if type(text) is StandIn and text.standing.part is not None else None


def restored(block: Mapping[Any, Any], standing: Standing) -> dict[Any, Any]:
    """Return the part behind a block, without its media, and with what was added to the block since."""
    return {**standing.part, **{key: value for key, value in block.items() if key not in _PART_KEYS}}


def stood_for(value: Any) -> dict[str, Hole]:
    """List the texts in lists and maps of a value that stand for media, each with a medium that it stands for."""
    if type(value) is StandIn:
        return {str(value): value.standing.holes[0]}
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {text: hole for each in below for text, hole in stood_for(each).items()}
