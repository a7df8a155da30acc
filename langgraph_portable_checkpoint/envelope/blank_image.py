"""An image of one white pixel with a text in its metadata, for places that take an image and nothing else.

It is no medium: a save leaves it where it is, and an export tells of what it stands for.

Source: PNG third edition, sections 11.2 (IHDR, IDAT, IEND) and 11.3.3.4 (iTXt).
"""

from __future__ import annotations

import base64
import zlib
from typing import Final

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_GRAY_PIXEL: Final = b"\0\0\0\1\0\0\0\1\x08\0\0\0\0"
_KEYWORD: Final = b"portable-checkpoint\0\0\0\0\0"
"""With flags for no compression, no language and no translation."""
_MAX_CHARS: Final = 4096


def blank_image(text: str) -> str:
    """Make the image as a data URL.

    >>> text_of_blank_image(blank_image("[image/png, 136 B, removed on save]"))
    '[image/png, 136 B, removed on save]'
    """
    chunks = (
        (b"IHDR", _GRAY_PIXEL),
        (b"iTXt", _KEYWORD + text.encode("utf-8", "replace")),
        (b"IDAT", zlib.compress(b"\0\xff")),
        (b"IEND", b""),
    )
    return _PREFIX + base64.b64encode(_SIGNATURE + b"".join(_chunk(*chunk) for chunk in chunks)).decode()


def text_of_blank_image(leaf: str | bytes) -> str | None:
    """Return the text of such an image; None for anything else."""
    if not isinstance(leaf, str) or len(leaf) > _MAX_CHARS or not leaf.startswith(_HEAD):
        return None
    try:
        data = base64.b64decode(leaf[len(_PREFIX) :], validate=True)
    except ValueError:
        return None
    start = len(_SIGNATURE) + 12 + len(_GRAY_PIXEL)
    size = int.from_bytes(data[start : start + 4], "big")
    said = data[start + 8 : start + 8 + size]
    return said[len(_KEYWORD) :].decode("utf-8", "replace") if said.startswith(_KEYWORD) else None


def _chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


_PREFIX: Final = "data:image/png;base64,"
_HEAD: Final = _PREFIX + base64.b64encode(_SIGNATURE + _chunk(b"IHDR", _GRAY_PIXEL)).decode()
