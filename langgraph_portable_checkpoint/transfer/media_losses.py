"""What a copy, backup or restore says of media whose bytes cannot be had: which, where they stand, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..saver import PortableRedisSaver
from ..storage.layout import split_place
from ..storage.programs.carrying import LostMedium
from ..storage.programs.media_places import MediaPlaces, first_places, media_places
from ..storage.programs.media_table import UPLOAD, read_media
from .copy_report import Difference
from .steps import Moves, Place, Run

NOWHERE = Place("", "")


def told_losses(
    saver: PortableRedisSaver, thread_id: str, lost: Mapping[bytes, LostMedium]
) -> Moves[list[tuple[Place, str]]]:
    """Say of media of a thread where each stands and why it cannot be had; nothing is asked where none is lost."""
    if not lost:
        return []
    core = saver._core
    spoken = yield Run(saver, media_places(core, thread_id))
    places = yield Run(saver, first_places(core, thread_id, lost))
    stored = yield Run(saver, read_media(core, thread_id))
    records = stored.records if stored is not None else {}
    return list(
        _told({name: _with_uploads(one, records.get(UPLOAD + name)) for name, one in lost.items()}, spoken, places)
    )


def as_differences(
    saver: PortableRedisSaver, thread_id: str, lost: Mapping[bytes, LostMedium], *, opens: bool = True
) -> Moves[list[Difference]]:
    """Say the same as differences of the thread.

    Args:
        opens: Whether the saver can open the thread; else nothing is known of places.
    """
    nowhere = [(NOWHERE, f"media: {described(one)}") for one in lost.values()]
    told = (yield from told_losses(saver, thread_id, lost)) if opens else nowhere
    return [Difference(thread_id, place.checkpoint_ns, place.checkpoint_id, detail) for place, detail in told]


def _with_uploads(one: LostMedium, record: Mapping[str, Any] | None) -> LostMedium:
    return one if record is None else replace(one, record={**one.record, "uploads": record.get("uploads")})


def _told(
    lost: Mapping[bytes, LostMedium], spoken: MediaPlaces, places: Mapping[bytes, tuple[bytes, str]]
) -> Iterator[tuple[Place, str]]:
    for name, one in lost.items():
        at, channel = places.get(name, (None, None))
        ns, checkpoint_id = split_place(at) if at is not None else ("", "")
        where = [f"channel {channel!r}"] if channel is not None else []
        if name in spoken.media:
            message, turn = spoken.media[name]
            where += [f"message {message!r}", f"turn {turn}"]
        yield Place(checkpoint_id, ns), f"media: {described(one)}" + (f" ({', '.join(where)})" if where else "")


def described(one: LostMedium) -> str:
    """Say in one line what a medium is and why it cannot be had; never contents."""
    record = one.record
    uris = [each.get("uri") for each in record.get("uploads") or () if isinstance(each, Mapping)]
    facts = [record.get("mime_type"), f"{record['size_bytes']} B" if "size_bytes" in record else None]
    facts += [f"SHA-256 {record['sha256']}" if record.get("sha256") else None, *(f"upload {uri}" for uri in uris)]
    known = ", ".join(str(fact) for fact in facts if fact) or "one"
    return f"{known}: cannot be read: {one.cause}"
