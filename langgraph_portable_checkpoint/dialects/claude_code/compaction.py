"""What a compaction of a Claude Code session leaves in the conversation besides its summary.

A compaction writes a boundary without a parent, then a summary. Messages that it keeps stay where they stood in the
file, before the boundary; the boundary names them and the record that they follow: the summary, or itself where they
come before the summary. Here they are hung where they belong. Pure: records in, records out.

Source: `preservedMessages` and `preservedSegment` in files of Claude Code 2.1, `preserved_segment` in the SDK's stream;
the order agrees with the official SDK's `getSessionMessages`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from .records import Record, of_subagent

MAX_SUMMARIES: Final = 10
"""How many records may stand between a boundary and the record that what it keeps follows."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The uuids that a compaction keeps, in order, and the one that they follow."""

    anchor: str
    uuids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Relinked:
    """The records of a session in which what a compaction keeps hangs where it belongs."""

    records: list[Record]
    ends: list[Record]
    """Those in which the conversation can end."""
    replaced: frozenset[str]
    """The uuids of what stands between what is kept and the boundary: nothing of it belongs to what is kept."""


def keeps(boundary: Record) -> bool:
    """True if a boundary says that its compaction keeps messages."""
    listed = _entry(_entry(boundary.value, "compactMetadata"), "preservedMessages")
    return bool(_uuids(listed, "allUuids") or _uuids(listed, "uuids") or _segment(boundary))


def cut_stream(records: Sequence[Record]) -> list[Record]:
    """Let the conversation begin at boundaries of a stream, which names no parents, where the summary follows."""
    found = [*records]
    open_: dict[str, int] = {}
    for number, record in enumerate(records):
        speaker = str(record.value.get("parent_tool_use_id")) if of_subagent(record.value) else ""
        if record.is_boundary and "parentUuid" not in record.value:
            open_[speaker] = number
        elif record.said and (at := open_.pop(speaker, None)) is not None and record.by_program:
            found[at] = replace(records[at], parent=None)
    return found


def relink(records: Sequence[Record], boundary: Record) -> Relinked | None:
    """Hang what a compaction keeps on its anchor, and what hung there behind it.

    Returns:
        None where nothing is kept, or some of it is missing.
    """
    by_uuid = {record.uuid: record for record in records}
    place = {record.uuid: number for number, record in enumerate(records)}
    start = place[boundary.uuid]
    kept = _listed(boundary, by_uuid) or _walked(boundary, by_uuid)
    if kept is None or boundary.parent in by_uuid or not _leads_to(boundary, kept, by_uuid):
        return None
    parents = dict(zip(kept.uuids, (kept.anchor, *kept.uuids[:-1]), strict=True))
    behind = {one.uuid: kept.uuids[-1] for one in records if one.parent == kept.anchor and one.uuid not in parents}
    moved = {**behind, **parents}
    found = [replace(one, parent=moved[one.uuid]) if one.uuid in moved else one for one in records]
    ends = [one for number, one in enumerate(found) if number >= start or one.uuid in parents]
    last = max(place[uuid] for uuid in kept.uuids)
    return Relinked(found, ends, frozenset(one.uuid for one in found[last + 1 : start]))


def _listed(boundary: Record, by_uuid: Mapping[str, Record]) -> _Kept | None:
    """What the boundary lists; it may also list what only the program's memory held, but all of `uuids` is written."""
    listed = _entry(_entry(boundary.value, "compactMetadata"), "preservedMessages")
    written = _uuids(listed, "uuids")
    every = [uuid for uuid in _uuids(listed, "allUuids") if uuid in by_uuid]
    anchor = _text(listed, "anchorUuid")
    if not (written or every) or not all(uuid in by_uuid for uuid in written) or anchor is None:
        return None
    return _Kept(anchor, tuple(dict.fromkeys(every if {*written} <= {*every} else written)))


def _walked(boundary: Record, by_uuid: Mapping[str, Record]) -> _Kept | None:
    """What stands between the two ends that the boundary names, if one leads to the other."""
    metadata = _entry(boundary.value, "compactMetadata")
    listed, ends = _entry(metadata, "preservedMessages"), _segment(boundary)
    if isinstance(_get(listed, "uuids"), list) or ends is None:
        return None
    head, anchor, tail = ends
    found: dict[str, None] = {}
    at = by_uuid.get(tail)
    while at is not None and at.uuid not in found:
        found[at.uuid] = None
        if at.uuid == head:
            return _Kept(anchor, tuple(reversed(found)))
        at = by_uuid.get(at.parent or "")
    return None


def _leads_to(boundary: Record, kept: _Kept, by_uuid: Mapping[str, Record]) -> bool:
    """True if the anchor is the boundary, or stands right below it."""
    at = by_uuid.get(kept.anchor)
    for _ in range(MAX_SUMMARIES):
        if at is None or at.uuid == boundary.uuid:
            break
        at = by_uuid.get(at.parent or "")
    return at is not None and at.uuid == boundary.uuid


def _segment(boundary: Record) -> tuple[str, str, str] | None:
    segment = _entry(_entry(boundary.value, "compactMetadata"), "preservedSegment")
    head, anchor, tail = (_text(segment, key) for key in ("headUuid", "anchorUuid", "tailUuid"))
    return (head, anchor, tail) if head and anchor and tail else None


def _get(value: Mapping[str, Any], key: str) -> Any:
    """Look up a key, which the SDK's stream spells with underscores."""
    spelled = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)
    return value.get(key, value.get(spelled))


def _entry(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = _get(value, key)
    return found if isinstance(found, Mapping) else {}


def _text(value: Mapping[str, Any], key: str) -> str | None:
    found = _get(value, key)
    return found if isinstance(found, str) and found else None


def _uuids(value: Mapping[str, Any], key: str) -> list[str]:
    found = _get(value, key)
    return [uuid for uuid in found if isinstance(uuid, str)] if isinstance(found, list) else []
