"""The values of interrupts as turn records show them: none of the media that the policy strips or stores apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...envelope.turn_pending import INTERRUPT, shown
from ...errors import MediaTooLargeError
from ..codec import Walk


def without_stripped(
    walk: Walk, writes: Sequence[tuple[str, Any]], thread_id: str
) -> tuple[list[tuple[str, Any]], Callable[[object], bool]]:
    """Return pending writes whose interrupts are stripped as the policy says, and what tells that a value has media.

    Raises:
        MediaTooLargeError: a medium is larger than the policy allows.
    """
    home = thread_id.encode()

    def has_media(value: object) -> bool:
        return any(hole.kind == "media" for hole in walk.take_out(value, home).holes)

    told = [(name, walk.strip(value, home).value if name == INTERRUPT else value) for name, value in writes]
    return told, has_media


def told_again(walk: Walk, interrupts: Sequence[Mapping[str, Any]], thread_id: str) -> list[Mapping[str, Any]]:
    """Return the interrupts of another thread's record as a save of their values would have them told here."""
    return [_told_again(walk, each, thread_id) if "value" in each else each for each in interrupts]


def _told_again(walk: Walk, told: Mapping[str, Any], thread_id: str) -> Mapping[str, Any]:
    try:
        ((_, value),), has_media = without_stripped(walk, [(INTERRUPT, told["value"])], thread_id)
        entry = shown(value, has_media)
    except MediaTooLargeError:
        entry = {"omitted": type(told["value"]).__name__}
    return {**{name: part for name, part in told.items() if name != "value"}, **entry}
