"""Backup files as frames: one header, any number of frames, one trailer.

    file    = magic (8 bytes), frame, frame, ...
    frame   = type (1 byte), packing (1 byte), stored length (u32), plain length (u32), checksum (8 bytes), stored bytes
    checksum= BLAKE2b-8 over the checksum of the frame before (8 zero bytes for the first), type, packing, both lengths
              and stored bytes

The plain bytes are one msgpack value. Packings: `0` the plain bytes themselves, `x` raw LZMA2, dictionary of 1 MiB.

| type | frame | plain value |
|---|---|---|
| `H` | header | map: format, created_at, layout, media |
| `T` | a thread begins | map: thread_id, key, ttl, log_place, log_turns, runs |
| `D` | some of its fields | [[part, [field, value, field, value, ...]], ...], values as in `compact` |
| `E` | it ends | map: fields, how many it had, and blobs, how many media it has |
| `Z` | trailer, the last one | map: threads, frames |

Each checksum covers the one before, so frames cannot be left out or swapped unnoticed. Lengths are checked before
anything is read or unpacked.
"""

from __future__ import annotations

import lzma
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, BinaryIO, Final, cast

import msgpack

from ..errors import CorruptRecordError, FutureVersionError
from ..storage.items import pack, unpack

MAGIC: Final = b"\x89LPCB\r\n\x1a"
FORMAT: Final = 1
HEADER, THREAD, DATA, THREAD_END, TRAILER = b"H", b"T", b"D", b"E", b"Z"
HEAD_BYTES: Final = 1 + 1 + 4 + 4 + 8
SPOOL_BYTES: Final = 4 * 1024 * 1024
"""What is written whole waits in memory up to this size, and in a temporary file beyond it."""
MAX_FRAME_BYTES: Final = 600 * 1024 * 1024
"""Above the largest value that a server holds."""
PLAIN, LZMA2 = b"0", b"x"
_DICTIONARY_BYTES: Final = 1024 * 1024
_TINY_BYTES: Final = 512
_SAMPLE_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame, opened."""

    type: bytes
    value: Any


def _checksum(before: bytes, head: bytes, stored: bytes) -> bytes:
    return blake2b(before + head + stored, digest_size=8).digest()


def _packed(plain: bytes) -> tuple[bytes, bytes]:
    """Compress what lets itself be compressed; a glance tells media, which do not."""
    if len(plain) < _TINY_BYTES:
        return PLAIN, plain
    sample = plain[-_SAMPLE_BYTES:]
    if len(zlib.compress(sample, 1)) > 0.95 * len(sample):
        return PLAIN, plain
    # To make a large dictionary ready takes longer than to compress a small frame.
    filters = _filters(min(_DICTIONARY_BYTES, max(4096, len(plain))))
    return LZMA2, lzma.compress(plain, format=lzma.FORMAT_RAW, filters=filters)


def _filters(dictionary_bytes: int) -> list[dict[str, int]]:
    return [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": dictionary_bytes}]


class FrameWriter:
    """Writes frames to a binary file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._before = bytes(8)
        self.frames = 0
        self.size_bytes = file.write(MAGIC)

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Let what is written within arrive whole, or, when it ends by an exception, not at all."""
        out, before = self._file, (self._before, self.frames, self.size_bytes)
        with tempfile.SpooledTemporaryFile(SPOOL_BYTES) as spool:
            self._file = cast(BinaryIO, spool)
            try:
                yield
            except BaseException:
                self._before, self.frames, self.size_bytes = before
                raise
            finally:
                self._file = out
            spool.seek(0)
            shutil.copyfileobj(spool, out)

    def write(self, kind: bytes, value: Any) -> None:
        """Write one frame."""
        plain = pack(value)
        packing, stored = _packed(plain)
        head = kind + packing + len(stored).to_bytes(4, "big") + len(plain).to_bytes(4, "big")
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
        size, plain_size = int.from_bytes(head[2:6], "big"), int.from_bytes(head[6:10], "big")
        if size > MAX_FRAME_BYTES or plain_size > MAX_FRAME_BYTES:
            raise self._corrupt(f"frame {self.frames} says that it has {max(size, plain_size)} bytes")
        stored = self._read(size)
        self._before = _checksum(self._before, head[:10], stored)
        if head[10:] != self._before:
            raise self._corrupt(f"frame {self.frames} does not match its checksum")
        self.frames += 1
        return Frame(head[:1], self._opened(head[1:2], stored, plain_size))

    def _opened(self, packing: bytes, stored: bytes, plain_size: int) -> Any:
        try:
            plain = stored if packing == PLAIN else self._unpacked(packing, stored, plain_size)
            if len(plain) != plain_size:
                raise ValueError("it has another size than it says")
            return unpack(plain)
        except (lzma.LZMAError, ValueError, msgpack.UnpackException, RecursionError) as error:
            raise self._corrupt(f"frame {self.frames} does not unpack ({error})") from error

    def _unpacked(self, packing: bytes, stored: bytes, plain_size: int) -> bytes:
        if packing != LZMA2:
            raise FutureVersionError("frame", where=f"file {self._name!r}", found=packing, supported=FORMAT)
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=_filters(_DICTIONARY_BYTES)).decompress(
            stored, plain_size + 1
        )

    def _read(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) != size:
            raise self._corrupt(f"it is cut off after {self.frames} frames", fix="Make the backup again.")
        return data

    def _corrupt(
        self, reason: str, *, fix: str = "Nothing was restored from here on. Use another backup."
    ) -> CorruptRecordError:
        return CorruptRecordError("backup", where=f"file {self._name!r}", reason=reason, fix=fix)
