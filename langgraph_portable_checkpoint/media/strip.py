"""Take media out of a value under a policy: the one call that a save makes.

Owns what "strip" does to a value. Knows nothing of stores. `take_out` is `walk.punch` with the policy's decision, then
placeholders where the policy strips.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from langgraph_portable_checkpoint.media.holes import Hole, Missing, Path
from langgraph_portable_checkpoint.media.leaves import KnownLeaves
from langgraph_portable_checkpoint.media.policy import MediaPolicy, removed_text
from langgraph_portable_checkpoint.media.references import find_references
from langgraph_portable_checkpoint.media.shapes import placeholder_part
from langgraph_portable_checkpoint.media.table import MediaReport
from langgraph_portable_checkpoint.media.walk import fill, punch, replace_at


class Taken(NamedTuple):
    """A value as it is to be stored."""

    value: Any
    holes: tuple[Hole, ...]
    """What is stored apart."""
    reports: tuple[MediaReport, ...]
    """What was stripped, or was too large to stay inline; `message` is the caller's to add."""


def take_out(value: Any, policy: MediaPolicy, *, known: KnownLeaves | None = None, home: bytes | None = None) -> Taken:
    """Take media and nested messages out of a value as the policy says, without changing it.

    Args:
        value: See `walk.punch`.
        policy: What to do with each medium.
        known: See `walk.punch`.
        home: See `walk.punch`.

    Raises:
        MediaTooLargeError: a medium exceeds the policy's max_bytes.
    """
    punched, holes = punch(value, select=policy.select, min_bytes=policy.look_from_bytes, known=known, home=home)
    reports = tuple(_report(hole, policy) for hole in holes if _reason(hole, policy))
    stripped = [hole for hole in holes if _reason(hole, policy) == "stripped"]
    if stripped:
        punched = fill(punched, stripped, lambda hole: Missing(removed_text(hole.mime_type, hole.size_bytes)))
        holes = _outside(holes, stripped)
    if not policy.preserve_media:
        punched, more = strip_references(punched)
        reports += more
    return Taken(punched, holes, reports)


def strip_references(value: Any) -> tuple[Any, tuple[MediaReport, ...]]:
    """Replace every part that only refers to a medium (a URL, a provider's file) by a text."""
    references = [reference for reference in find_references(value) if reference.part is not None]
    if not references:
        return value, ()
    places = {
        reference.path[: reference.part]: removed_text(reference.mime_type, reference.size_bytes)
        for reference in references
    }
    stripped = replace_at(value, {path: partial(placeholder_part, text=text) for path, text in places.items()})
    return stripped, tuple(
        MediaReport(
            reason="stripped", mime_type=reference.mime_type, size_bytes=reference.size_bytes, uri=reference.uri,
            source="preserve_media",
        )
        for reference in references
    )  # fmt: skip


def _reason(hole: Hole, policy: MediaPolicy) -> Any:
    return policy.reason(hole.size_bytes, hole.mime_type) if hole.kind == "media" else None


def _report(hole: Hole, policy: MediaPolicy) -> MediaReport:
    reason = _reason(hole, policy)
    source = "preserve_media" if reason == "stripped" and not policy.preserve_media else None
    return MediaReport(
        reason=reason,
        mime_type=hole.mime_type,
        size_bytes=hole.size_bytes,
        sha256=hole.sha256().hex() if hole.data is not None else None,
        source=source,
    )


def _outside(holes: tuple[Hole, ...], stripped: list[Hole]) -> tuple[Hole, ...]:
    """Keep the holes that no placeholder has covered."""
    covered: list[Path] = [hole.path[: hole.part] for hole in stripped]
    return tuple(hole for hole in holes if not any(hole.path[: len(path)] == path for path in covered))
