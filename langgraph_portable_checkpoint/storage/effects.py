"""What a program may ask of the outside world, as frozen values.

A program is a generator: it yields an effect, is sent the reply, and returns its value. It imports no client and no
asyncio and reads no clock. Each `Batch` is one round trip on a standalone server (one per slot's node on a cluster);
replies come in the order of the calls.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Script:
    """Run a named Lua script on the keys of one slot."""

    name: str
    keys: tuple[bytes, ...]
    args: tuple[bytes | int, ...]
    writes: bool = True
    supposed: tuple[bytes, ...] = ()
    """What it is answered when the thread is as this client knows it; only of scripts that store."""
    by_source: bool = False
    """Whether it is sent whole, not named by its SHA-1: within a transaction it cannot be sent again."""


@dataclass(frozen=True, slots=True)
class Command:
    """Run one core command; `args[0]` is its name, `args[1]` its key."""

    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """Send calls together, in order, without a transaction. The reply is the list of replies."""

    calls: tuple[Script | Command, ...]


@dataclass(frozen=True, slots=True)
class MediaPut:
    """Store blobs in the external media store. The reply is the list of refs, in order."""

    blobs: tuple[tuple[str, str | None, bytes], ...]
    """(sha256 hex, mime type, bytes)."""


@dataclass(frozen=True, slots=True)
class MediaGet:
    """Fetch blobs from the external media store. The reply holds bytes, or the error, per ref, in order."""

    refs: tuple[tuple[str, str], ...]
    """(ref, sha256 hex)."""


Effect = Script | Batch | MediaPut | MediaGet
Program = Generator[Effect, Any, T]
