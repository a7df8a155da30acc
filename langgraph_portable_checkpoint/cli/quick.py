"""A page of `threads` without the weight of a client library and of LangGraph, which take longer than the answer.

Speaks just enough of the Redis protocol to run the library's own `info` script: a plain connection by TCP or unix
socket, a login, a database number. Whatever goes beyond that (TLS, clusters, options in the URL, an embedded server,
sealed threads, any error at all) is left to the saver: `quick_threads` returns None, and nothing has been changed.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, BinaryIO, Final
from urllib.parse import unquote, urlsplit

from ..storage.layout import SHARDS, Layout, split_place, thread_of
from ..storage.scripts import load_script
from .settings import Settings

TIMEOUT_SECONDS: Final = 5.0
PAGE: Final = 50
DEFAULT_PREFIX: Final = "lpc"
Row = dict[str, Any]
Words = Sequence[str | bytes | int]


class NotPlainError(Exception):
    """The answer is beyond what is understood here."""


class Wire:
    """A connection that sends commands in one batch and reads their replies."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._replies: BinaryIO = link.makefile("rb")

    def ask(self, *commands: Words) -> list[Any]:
        """Send commands together and return their replies in order.

        Raises:
            NotPlainError: one of the replies is an error. OSError.
        """
        self._link.sendall(b"".join(map(_spelled, commands)))
        return [self._reply() for _ in commands]

    def _reply(self) -> Any:
        line = self._replies.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self._replies.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self._reply() for _ in range(int(rest))]
        raise NotPlainError(line[:100])

    def close(self) -> None:
        """Close the connection."""
        self._replies.close()
        self._link.close()


def _spelled(command: Words) -> bytes:
    words = [word if isinstance(word, bytes) else str(word).encode() for word in command]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def quick_threads(settings: Settings, take: Callable[[Iterator[Row]], list[Row]]) -> list[Row] | None:
    """Return what `take` takes of all threads, or None if this must be left to the saver.

    Args:
        settings: Which server.
        take: Chooses from the threads, which come lazily and in no particular order.
    """
    try:
        wire = _connected(settings)
        if wire is None:
            return None
        with closing(wire):
            return take(_rows(wire, Layout(settings.prefix or DEFAULT_PREFIX)))
    except (OSError, ValueError, NotPlainError):
        return None


def _connected(settings: Settings) -> Wire | None:
    if settings.redis_url is None or settings.cluster or settings.encrypted:
        return None
    parts = urlsplit(settings.redis_url)
    if parts.query or parts.scheme not in ("redis", "unix"):
        return None
    if parts.scheme == "unix":
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(TIMEOUT_SECONDS)
        link.connect(unquote(parts.path))
        database = ""
    else:
        link = socket.create_connection((parts.hostname or "localhost", parts.port or 6379), TIMEOUT_SECONDS)
        database = parts.path.strip("/")
    wire = Wire(link)
    user, password = (unquote(word) if word else None for word in (parts.username, parts.password))
    if password is not None:
        wire.ask(("AUTH", user, password) if user else ("AUTH", password))
    if database:
        wire.ask(("SELECT", int(database)))
    return wire


def _rows(wire: Wire, layout: Layout) -> Iterator[Row]:
    info = load_script("info")
    wire.ask(("SCRIPT", "LOAD", info.source))
    for shard in range(SHARDS):
        (names,) = wire.ask(("ZRANGE", layout.registry(shard), 0, -1))
        ids = sorted(thread_of(name) for name in names)
        for at in range(0, len(ids), PAGE):
            page = ids[at : at + PAGE]
            keys = [layout.thread(thread_id) for thread_id in page]
            calls: list[Words] = [("EVALSHA", info.sha, len(of), *of) for of in keys]
            replies = wire.ask(*calls)
            yield from (row for name, reply in zip(page, replies, strict=True) if (row := _row(name, reply)))


def _row(thread_id: str, reply: list[Any]) -> Row | None:
    """Read what the info script says, as `storage.programs.reading.info_of` does; None for a thread that is gone."""
    if not reply[0]:
        return None
    if reply[0] == b"broken" or reply[1] or (reply[12] and reply[2] != reply[12]):
        raise NotPlainError(thread_id)
    first, last = _record(reply[10]), _record(reply[11])
    return {
        "thread_id": thread_id,
        "checkpoints": reply[6],
        "turns": reply[3],
        "status": last.get("status"),
        "started_at": first.get("started_at"),
        "updated_at": last.get("updated_at"),
        "head": split_place(reply[12])[1] if reply[12] else None,
        "items": reply[7],
        "media": reply[9],
        "ttl_seconds": reply[5] / 1000 if reply[5] >= 0 else None,
        "persistent": reply[4] == b"0",
    }


def _record(data: bytes) -> dict[str, Any]:
    import msgpack

    if not data:
        return {}
    record = msgpack.unpackb(data, unicode_errors="surrogatepass")
    if not isinstance(record, dict) or record.get("v") != 1:
        raise NotPlainError
    return record
