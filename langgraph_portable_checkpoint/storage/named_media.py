"""Media named in the neutral blocks of a message, for readers without LangChain.

The holes of a message say exactly where its media were. The names say it once more, in the blocks that such readers
look at, and are taken out again before the message is rebuilt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def _blocks_with_media(envelope: Mapping[str, Any], wires: Sequence[Any]) -> dict[int, list[Any]]:
    """Say which neutral blocks have media that are stored elsewhere: block -> wire forms of its holes."""
    lead = (envelope.get("state") or {}).get("lead", 0)
    found: dict[int, list[Any]] = {}
    for wire, _ in wires:
        kind, path = wire[:2]
        if kind == "media" and len(path) > 1 and path[0] == "content" and type(path[1]) is int:
            found.setdefault(path[1] + lead, []).append(wire)
    return found


def with_names(envelope: Mapping[str, Any], wires: Sequence[Any]) -> dict[str, Any]:
    """Say in the neutral blocks which blob belongs where, for readers without LangChain."""
    blocks = [dict(block) for block in envelope["content"]]
    for at, holes in _blocks_with_media(envelope, wires).items():
        if at < len(blocks) and "media" not in blocks[at]:
            _, _, ref, _, _, mime_type, size_bytes, _ = holes[0]
            blocks[at]["media"] = {"ref": ref, "mime_type": mime_type, "size_bytes": size_bytes}
    return {**envelope, "content": blocks}


def without_names(envelope: Mapping[str, Any], wires: Sequence[Any]) -> Mapping[str, Any]:
    """Invert `with_names`: where a name may stand is known from the holes, never from the block."""
    blocks = list(envelope["content"])
    for at, holes in _blocks_with_media(envelope, wires).items():
        media = blocks[at].get("media") if at < len(blocks) else None
        if isinstance(media, dict) and media.get("ref") in [hole[2] for hole in holes]:
            blocks[at] = {key: value for key, value in blocks[at].items() if key != "media"}
    return {**envelope, "content": blocks}
