"""Mime types told from bytes. Knows nothing else."""

from __future__ import annotations

from typing import Final

OCTET_STREAM: Final = "application/octet-stream"
"""Bytes of any kind: the type of what has none."""
_RIFF: Final = {b"WAVE": "audio/wav", b"WEBP": "image/webp", b"AVI ": "video/x-msvideo"}
_MAGIC: Final = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"RIFF", ""),
    (0, b"%PDF-", "application/pdf"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"\xff\xf3", "audio/mpeg"),
    (0, b"\xff\xf2", "audio/mpeg"),
    (0, b"\xff\xf1", "audio/aac"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (4, b"ftypM4A", "audio/mp4"),
    (4, b"ftypqt", "video/quicktime"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftyp", "video/mp4"),
    (0, b"FORM", "audio/aiff"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (0, b"BM", "image/bmp"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"\x1f\x8b\x08", "application/gzip"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
)

ALIASES: Final = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "application/x-pdf": "application/pdf",
    "audio/mp3": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
}
"""Names that people write for types that have another."""


def sniff(first: bytes) -> str | None:
    """Name the mime type that the first bytes of a file give away, or None.

    Source: https://mimesniff.spec.whatwg.org/#matching-a-mime-type-pattern, and the formats' own specifications.
    """
    for offset, magic, mime_type in _MAGIC:
        if first.startswith(magic, offset):
            return mime_type if offset or magic != b"RIFF" else _RIFF.get(first[8:12])
    return None


def may_be_chance(first: bytes) -> bool:
    """True where the mime type was told from two bytes alone, which one in ten thousand random values start with."""
    return any(len(magic) == 2 and first.startswith(magic) for _, magic, _ in _MAGIC)
