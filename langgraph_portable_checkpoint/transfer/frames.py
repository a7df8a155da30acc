"""Backup files as frames: one header, any number of frames, one trailer.

    file    = magic (8 bytes), frame, frame, ...
    frame   = type (1 byte), stored length (u32), plain length (u32), checksum (8 bytes), stored bytes
    stored  = zlib of the plain bytes; the plain bytes are one msgpack value
    checksum= BLAKE2b-8 over the checksum of the frame before (8 zero bytes for the first), type, both lengths and
              stored bytes

| type | frame | plain value |
|---|---|---|
| `H` | header | map: format, created_at, writer, layout, media |
| `T` | a thread begins | map: thread_id, key, ttl, log_place, log_turns, runs |
| `D` | some of its fields | [part, [field, value, field, value, ...]] |
| `E` | it ends | map: fields, how many it had |
| `Z` | trailer, the last one | map: threads, frames |

Each checksum covers the one before, so frames cannot be left out or swapped unnoticed. Lengths are checked before
anything is read or unpacked.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, BinaryIO, Final

import msgpack

from ..errors import CorruptRecordError, FutureVersionError
from ..storage.items import pack, unpack

MAGIC: Final = b"\x89LPCB\r\n\x1a"
FORMAT: Final = 1
HEADER, THREAD, DATA, THREAD_END, TRAILER = b"H", b"T", b"D", b"E", b"Z"
HEAD_BYTES: Final = 1 + 4 + 4 + 8
MAX_FRAME_BYTES: Final = 600 * 1024 * 1024
"""Above the largest value that a server holds."""
LEVEL: Final = 6


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame, opened."""

    type: bytes
    value: Any


def _checksum(before: bytes, head: bytes, stored: bytes) -> bytes:
    return blake2b(before + head + stored, digest_size=8).digest()


class FrameWriter:
    """Writes frames to a binary file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._before = bytes(8)
        self.frames = 0
        self.size_bytes = file.write(MAGIC)

    def write(self, kind: bytes, value: Any) -> None:
        """Write one frame."""
        plain = pack(value)
        stored = zlib.compress(plain, LEVEL)
        head = kind + len(stored).to_bytes(4, "big") + len(plain).to_bytes(4, "big")
        self._before = _checksum(self._before, head, stored)
        self._file.write(head + self._before)
        self._file.write(stored)
        self.frames += 1
        self.size_bytes += HEAD_BYTES + len(stored)


class FrameReader:
    """Reads frames from a binary file, from its present position, and refuses whatever is not as it was written.

    Args:
        file: The file.
        name: What error messages call it.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._before = bytes(8)
        self.frames = 0

    def __iter__(self) -> Iterator[Frame]:
        """Yield all frames after the header, the trailer included.

        Raises:
            CorruptRecordError: not a backup, cut off, altered, or with something behind its end.
            FutureVersionError: of a later version.
        """
        self._check_header()
        while True:
            frame = self._next()
            if frame.type == TRAILER:
                self._check_end(frame.value)
                yield frame
                return
            yield frame

    def _check_header(self) -> None:
        if self._file.read(len(MAGIC)) != MAGIC:
            raise self._corrupt("it does not start like one", fix="Check that this is the file that backup wrote.")
        header = self._next()
        found = header.value.get("format") if isinstance(header.value, dict) else None
        if header.type != HEADER or not isinstance(found, int):
            raise self._corrupt("its header is not one")
        if found > FORMAT:
            raise FutureVersionError("backup", where=f"file {self._name!r}", found=found, supported=FORMAT)

    def _check_end(self, trailer: Any) -> None:
        if not isinstance(trailer, dict) or trailer.get("frames") != self.frames - 1:
            raise self._corrupt("its trailer counts other frames than it has")
        if self._file.read(1):
            raise self._corrupt("something follows its end")

    def _next(self) -> Frame:
        head = self._read(HEAD_BYTES)
        kind, size, plain_size = head[:1], int.from_bytes(head[1:5], "big"), int.from_bytes(head[5:9], "big")
        if size > MAX_FRAME_BYTES or plain_size > MAX_FRAME_BYTES:
            raise self._corrupt(f"frame {self.frames} says that it has {max(size, plain_size)} bytes")
        stored = self._read(size)
        self._before = _checksum(self._before, head[:9], stored)
        if head[9:] != self._before:
            raise self._corrupt(f"frame {self.frames} does not match its checksum")
        self.frames += 1
        return Frame(kind, self._opened(stored, plain_size))

    def _opened(self, stored: bytes, plain_size: int) -> Any:
        inflate = zlib.decompressobj()
        try:
            plain = inflate.decompress(stored, plain_size or 1)
            if len(plain) != plain_size or not inflate.eof:
                raise self._corrupt(f"frame {self.frames} unpacks to another size")
            return unpack(plain)
        except (zlib.error, ValueError, msgpack.UnpackException, RecursionError) as error:
            if isinstance(error, CorruptRecordError):
                raise
            raise self._corrupt(f"frame {self.frames} does not unpack ({type(error).__name__})") from error

    def _read(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) != size:
            raise self._corrupt(f"it is cut off after {self.frames} frames", fix="Make the backup again.")
        return data

    def _corrupt(
        self, reason: str, *, fix: str = "Nothing was restored from here on. Use another backup."
    ) -> CorruptRecordError:
        return CorruptRecordError("backup", where=f"file {self._name!r}", reason=reason, fix=fix)
