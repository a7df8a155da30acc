"""Where the media of a thread's conversation stand: in which message, and in which turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...envelope.turns import spans
from ..decoder import Decoder
from ..effects import Program
from .core import Core
from .reading import conversation


@dataclass(frozen=True, slots=True)
class MediaPlaces:
    """Places in the conversation of the head."""

    media: Mapping[bytes, tuple[str | int, int]] = field(default_factory=dict)
    """Ref -> the first message that holds it (its id, or its position where it has none), and the message's turn."""
    turns: Mapping[str, int] = field(default_factory=dict)
    """Message id -> turn."""


def media_places(core: Core, thread_id: str) -> Program[MediaPlaces]:
    """Look through the conversation of a thread's head, without its media. One or two round trips."""
    found = yield from conversation(core, thread_id, "", None)
    if found is None:
        return MediaPlaces()
    media: dict[bytes, tuple[str | int, int]] = {}
    turns: dict[str, int] = {}
    for turn, span in enumerate(spans([message.fact for message in found.messages])):
        for position in range(span.start, span.stop):
            message = found.messages[position]
            if message.id is not None:
                turns.setdefault(message.id, turn)
            for ref in _media_of(found.decoder, message.ref):
                media.setdefault(ref, (position if message.id is None else message.id, turn))
    return MediaPlaces(media, turns)


def _media_of(decoder: Decoder, ref: bytes) -> Iterator[bytes]:
    """List the media of an item and of those below it."""
    pending = [ref]
    while pending:
        opened = decoder.open(pending.pop())
        yield from opened.media
        pending += opened.refs
