"""Places of a value that hold a medium's part without its bytes, as archives have them.

Which places are those of media is for `walk` to say, of a copy that holds bytes there.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from langgraph_portable_checkpoint.errors import CorruptRecordError
from langgraph_portable_checkpoint.media.encodings import encode, split_data_url
from langgraph_portable_checkpoint.media.holes import Hole, Path
from langgraph_portable_checkpoint.media.walk import child_at, children, punch, replace_at

_SAMPLE: Final = b"\x01" * 384
"""Bytes of no known file, so that a text is taken for a medium by its place alone; too many for a word."""
_SAMPLE_TEXT: Final = base64.b64encode(_SAMPLE).decode()


def is_empty_at(value: Any, hole: Hole) -> bool:
    """Tell whether a value holds no bytes where a hole says that it holds a medium."""
    try:
        for step in hole.path:
            value = child_at(value, step)
    except CorruptRecordError:
        return False
    empty = encode(b"", hole.encoding, hole.prefix)
    return type(value) is type(empty) and bool(value == empty)


def empty_places(value: Any) -> list[Hole]:
    """List the places of a value that hold no bytes and can be nothing but those of media, in the walk's order.

    An empty text that no part announces may be an empty text, and stays.
    """
    samples = dict(_empties(value, ()))
    if not samples:
        return []
    full = replace_at(value, {path: _putting(sample) for path, sample in samples.items()})
    found = punch(full, select=lambda size, mime_type: True, min_bytes=1).holes
    return [replace(hole, data=None, leaf=None, size_bytes=0) for hole in found if hole.path in samples]


def _putting(sample: str | bytes) -> Any:
    return lambda _: sample


def _empties(node: Any, path: Path) -> Iterator[tuple[Path, str | bytes]]:
    if isinstance(node, str | bytes):
        sample = _sample_of(node)
        if sample is not None:
            yield path, sample
        return
    for step, child in children(node):
        yield from _empties(child, (*path, step))


def _sample_of(leaf: str | bytes) -> str | bytes | None:
    if isinstance(leaf, bytes):
        return _SAMPLE if not leaf else None
    if not leaf:
        return _SAMPLE_TEXT
    return leaf + _SAMPLE_TEXT if split_data_url(leaf) == leaf else None
