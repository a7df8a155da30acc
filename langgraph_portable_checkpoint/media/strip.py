"""Take media out of a value under a policy: the one call that a save makes.

Owns what "strip" does to a value. Knows nothing of stores. `take_out` is `walk.punch` with the policy's decision, then
placeholders where the policy strips. What a placeholder replaces need not be put back, so any spelling of bytes is a
medium to it (`carried`), also where the walk leaves it in place because it could not be put back exactly.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final, NamedTuple, Self

from langgraph_portable_checkpoint.media.carried import Carried, carried
from langgraph_portable_checkpoint.media.holes import Hole, Path
from langgraph_portable_checkpoint.media.leaves import KnownLeaves
from langgraph_portable_checkpoint.media.policy import MediaPolicy, removed_text
from langgraph_portable_checkpoint.media.references import find_references
from langgraph_portable_checkpoint.media.shapes import Enclosing, part_around
from langgraph_portable_checkpoint.media.slots import LeafText, PartText
from langgraph_portable_checkpoint.media.table import MediaReport
from langgraph_portable_checkpoint.media.walk import punch, replace_at

_MOST_BYTES_PER_CHAR: Final = 4
"""In UTF-8; a data URL may spell any text."""


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
    found = _look(value, policy, known, home)
    punched, more = found.without_media(found.value)
    reports = tuple(_report(hole, policy) for hole in found.holes if _reason(hole, policy) == "over_inline_threshold")
    return Taken(punched, found.outside(), reports + more)


def strip(value: Any, policy: MediaPolicy, *, known: KnownLeaves | None = None, home: bytes | None = None) -> Taken:
    """Strip a value and leave the rest in place, without changing it: for a value that is then stored in pieces.

    A piece does not say what the dicts around it say, so a medium may not be known by it.

    Args:
        value: See `walk.punch`.
        policy: What to do with each medium.
        known: See `walk.punch`.
        home: See `walk.punch`.
    """
    if not policy.strips:
        return Taken(value, (), ())
    stripped, reports = _look(value, policy, known, home).without_media(value)
    return Taken(stripped, (), reports)


class _Look(NamedTuple):
    """What there is in a value, and the value without it."""

    value: Any
    holes: tuple[Hole, ...]
    stripped: tuple[_Stripped, ...]
    policy: MediaPolicy

    def outside(self) -> tuple[Hole, ...]:
        """List the holes that no text covers."""
        covered = {leaf.place for leaf in self.stripped}
        if not covered:
            return self.holes
        return tuple(hole for hole in self.holes if covered.isdisjoint(_above(hole.path)))

    def without_media(self, value: Any) -> tuple[Any, tuple[MediaReport, ...]]:
        """Put texts where the policy strips, into the value that was looked at or the one without its holes."""
        if self.stripped:
            value = replace_at(value, {leaf.place: leaf.filling() for leaf in self.stripped})
        reports = tuple(leaf.report(self.policy) for leaf in self.stripped)
        if self.policy.preserve_media:
            return value, reports
        value, more = strip_references(value)
        return value, reports + more


def _look(value: Any, policy: MediaPolicy, known: KnownLeaves | None, home: bytes | None) -> _Look:
    rest = _Rest(policy)
    punched, holes = punch(
        value, select=rest.select, min_bytes=policy.look_from_bytes, known=known, home=home, stays=rest.look_at
    )
    for hole in holes:
        if hole.size_bytes > policy.max_bytes and hole.data is not None:
            policy.decide(hole.size_bytes, hole.mime_type)
    stripped = [_Stripped.of_hole(hole) for hole in holes if _reason(hole, policy) == "stripped"]
    return _Look(punched, holes, (*stripped, *rest.stripped), policy)


class _Stripped(NamedTuple):
    """A medium that a text replaces."""

    place: Path
    """Of the part around it, or of the leaf where there is none."""
    in_part: bool
    mime_type: str | None
    size_bytes: int | None
    sha256: str | None
    is_bytes: bool

    @classmethod
    def of_hole(cls, hole: Hole) -> Self:
        return cls(
            hole.path[: hole.part], hole.part is not None, hole.mime_type, hole.size_bytes, _digest(hole),
            hole.encoding == "bytes",
        )  # fmt: skip

    @classmethod
    def of_rest(cls, found: Carried, path: Path, part: int | None) -> Self:
        size, digest = (None, None) if found.data is None else (len(found.data), sha256(found.data).hexdigest())
        return cls(path[:part], part is not None, found.mime_type, size, digest, is_bytes=False)

    def report(self, policy: MediaPolicy) -> MediaReport:
        return MediaReport(
            reason="stripped",
            mime_type=self.mime_type,
            size_bytes=self.size_bytes,
            sha256=self.sha256,
            source=None if policy.preserve_media else "preserve_media",
        )

    def filling(self) -> PartText | LeafText:
        text = removed_text(self.mime_type, self.size_bytes)
        return PartText(text) if self.in_part else LeafText(text, is_bytes=self.is_bytes)


class _Rest:
    """Looks at the leaves that stay in place, for media that have to go or are too large all the same."""

    def __init__(self, policy: MediaPolicy) -> None:
        self.policy = policy
        self.strips = policy.strips
        self.longest = policy.max_bytes // _MOST_BYTES_PER_CHAR
        self.stripped: list[_Stripped] = []

    def select(self, size_bytes: int, mime_type: str | None) -> bool:
        """Decide as the policy does, but refuse nothing by a size that is measured before line breaks are known of."""
        return size_bytes > self.policy.max_bytes or self.policy.select(size_bytes, mime_type)

    def look_at(self, leaf: str | bytes, path: Path, enclosing: Enclosing) -> None:
        if not self.strips and len(leaf) <= self.longest:
            return
        part = part_around(path, enclosing)
        found = carried(leaf, enclosing, in_part=part is not None)
        if found is not None and self.policy.decide(found.at_most_bytes, found.mime_type) == "strip":
            self.stripped.append(_Stripped.of_rest(found, path, part))


def strip_references(value: Any) -> tuple[Any, tuple[MediaReport, ...]]:
    """Replace every part that only refers to a medium (a URL, a provider's file) by a text, or leave it its own."""
    references = [reference for reference in find_references(value) if reference.part is not None]
    if not references:
        return value, ()
    changes = dict(found.removal(removed_text(found.mime_type, found.size_bytes)) for found in references)
    stripped = replace_at(value, changes)
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
    return MediaReport(
        reason=_reason(hole, policy), mime_type=hole.mime_type, size_bytes=hole.size_bytes, sha256=_digest(hole)
    )


def _digest(hole: Hole) -> str | None:
    """Name the bytes, where it is they that were sent, and not what stands for them."""
    return None if hole.data is None else hole.sha256().hex()


def _above(path: Path) -> list[Path]:
    return [path[:end] for end in range(len(path) + 1)]
