"""Where the media of a thread stand: in which message and turn of its conversation, or in which checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from ...envelope.turns import spans
from ..decoder import Decoder
from ..effects import Program
from ..sequences import Entry
from .bulk import ReadBack, read_back
from .core import Core
from .reading import conversation
from .whole import places_of

PLACES_AT_ONCE: Final = 64


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
            for ref in media_below(found.decoder, message.ref):
                media.setdefault(ref, (position if message.id is None else message.id, turn))
    return MediaPlaces(media, turns)


def media_below(decoder: Decoder, ref: bytes) -> Iterator[bytes]:
    """List the media of an item and of those below it."""
    pending = [ref]
    while pending:
        opened = decoder.open(pending.pop())
        yield from opened.media
        pending += opened.refs


def first_places(core: Core, thread_id: str, names: Collection[bytes]) -> Program[dict[bytes, tuple[bytes, str]]]:
    """Find the oldest checkpoint that holds each of some media, and the channel that holds it there.

    Media that no checkpoint holds are left out. One round trip, two or three more for each `PLACES_AT_ONCE`
    checkpoints until all are found; each item is looked at once.
    """
    places = sorted((yield from places_of(core, thread_id)), key=_age)
    found: dict[bytes, tuple[bytes, str]] = {}
    seen: set[bytes] = set()
    for start in range(0, len(places), PLACES_AT_ONCE):
        some = places[start : start + PLACES_AT_ONCE]
        read = yield from read_back(core, thread_id, some, media=False)
        for place in (at for at in some if at in read):
            for channel, entry in _entries_of(read[place]):
                for name in _unseen_media(read[place].decoder, entry, seen):
                    found.setdefault(name, (place, channel))
        if found.keys() >= set(names):
            break
    return {name: found[name] for name in names if name in found}


def _age(place: bytes) -> bytes:
    return place.rpartition(b"\0")[2]


def _entries_of(read: ReadBack) -> Iterator[tuple[str, Entry]]:
    yield from read.record.values.items()
    yield from ((write.channel, write.entry) for write in read.writes)


def _unseen_media(decoder: Decoder, entry: Entry, seen: set[bytes]) -> Iterator[bytes]:
    """List the media below an entry, but for items that were looked at before."""
    pending = list(entry.refs)
    while pending:
        ref = pending.pop()
        if ref not in seen:
            seen.add(ref)
            opened = decoder.open(ref)
            yield from opened.media
            pending += opened.refs
