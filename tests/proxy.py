"""A proxy between a client and a server that counts what passes, and breaks on demand.

It stands on a unix socket (or on a loopback port, with TLS if wished) and copies bytes both ways. Counters are
exact once the client has its reply: requests are counted before they go on to the server.
"""

from __future__ import annotations

import shutil
import socket
import ssl
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.servers import Server


@dataclass
class Traffic:
    """What passed since the last `reset`."""

    bytes_sent: int = 0
    """Bytes from the client to the server."""
    bytes_received: int = 0
    round_trips: int = 0
    """How often a client, after reading a reply, turned to sending again; a pipeline is one."""
    commands: list[str] = field(default_factory=list)
    """Names of the commands that clients sent, upper case, in order. What a script calls is not here."""


@dataclass
class Fault:
    """What goes wrong from now on. All at rest: nothing."""

    delay_seconds: float = 0.0
    """Waited before each piece of a request goes on."""
    refuse: bool = False
    """New connections are closed at once."""
    drop_replies: bool = False
    """The server gets the request and acts on it; the client gets a closed connection instead of the reply."""
    hang: bool = False
    """Requests are swallowed; the connection stays open."""
    answer: bytes | None = None
    """Each request gets these bytes from the proxy and never reaches the server, e.g. `LOADING`."""
    cut_after_bytes: int | None = None
    """So many more request bytes pass (over all connections), then every connection is cut: half a request."""


LOADING = b"-LOADING Valkey is loading the dataset in memory\r\n"
NOT_REDIS = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
READ_ONLY = b"-READONLY You can't write against a read only replica.\r\n"
MISCONF = b"-MISCONF Errors writing to the AOF file: No space left on device\r\n"


class RequestReader:
    """Finds command names in a stream of RESP requests, in whatever pieces it comes."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, data: bytes) -> list[str]:
        """Take the next bytes; return the names of the commands that they complete."""
        self._buffer += data
        names = []
        while (command := self._take()) is not None:
            names.append(command)
        return names

    @property
    def within_request(self) -> bool:
        """Whether the bytes so far end within a command."""
        return bool(self._buffer)

    def _take(self) -> str | None:
        header, found, _ = self._buffer.partition(b"\r\n")
        if not found:
            return None
        at, words = len(header) + 2, []
        for _ in range(int(header[1:])):
            end = self._buffer.find(b"\r\n", at)
            if end < 0:
                return None
            size = int(self._buffer[at + 1 : end])
            at = end + 2 + size + 2
            words.append(self._buffer[end + 2 : end + 2 + size])
        if at > len(self._buffer):
            return None
        self._buffer = self._buffer[at:]
        return words[0].decode().upper()


class Proxy:
    """Copies bytes between clients and one server. Use as a context manager, or call `stop`.

    Attributes:
        traffic: What passed.
        fault: Set its fields to break things; set them back to heal.
    """

    def __init__(self, server: Server, *, tcp: bool = False, tls: ssl.SSLContext | None = None) -> None:
        self.traffic = Traffic()
        self.fault = Fault()
        self._target = str(server.socket_path)
        self._tls = tls
        self._folder = Path(tempfile.mkdtemp(prefix="lpc-"))
        self._lock = threading.Lock()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listener = self._listen(tcp or tls is not None)
        threading.Thread(target=self._accept, daemon=True).start()

    def _listen(self, tcp: bool) -> socket.socket:
        if tcp:
            listener = socket.create_server(("127.0.0.1", 0))
            scheme = "rediss" if self._tls else "redis"
            self.port = listener.getsockname()[1]
            self.url = f"{scheme}://127.0.0.1:{self.port}"
            return listener
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self._folder / "p"))
        listener.listen()
        self.url = f"unix://{self._folder / 'p'}"
        return listener

    def reset(self) -> None:
        """Start counting from zero."""
        self.traffic = Traffic()

    def cut(self) -> None:
        """Cut all connections that are open now; new ones work."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                _close(end)

    def stop(self) -> None:
        """Stop listening and cut all connections."""
        _close(self._listener)
        self.cut()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.fault.refuse:
                client.close()
            else:
                threading.Thread(target=self._open, args=(client,), daemon=True).start()

    def _open(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        try:
            client = self._tls.wrap_socket(client, server_side=True) if self._tls else client
            server.connect(self._target)
        except OSError:
            client.close()
            return
        with self._lock:
            self._pairs.append((client, server))
        link = _Link(self, client, server)
        threading.Thread(target=link.requests, daemon=True).start()
        link.replies()


class _Link:
    """One connection: a thread for each direction."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self.proxy, self.client, self.server = proxy, client, server
        self.reader = RequestReader()
        self.answered = True

    def requests(self) -> None:
        while data := _receive(self.client):
            fault = self.proxy.fault
            time.sleep(fault.delay_seconds)
            if fault.hang:
                continue
            if fault.answer is not None:
                _send(self.client, fault.answer * len(self.reader.feed(data)))
                continue
            data, cut = self._allowed(data, fault)
            self._count(data)
            if not _send(self.server, data) or cut:
                break
        self._end()

    def _allowed(self, data: bytes, fault: Fault) -> tuple[bytes, bool]:
        left = fault.cut_after_bytes
        if left is None:
            return data, False
        fault.cut_after_bytes = max(0, left - len(data))
        return data[:left], left < len(data)

    def _count(self, data: bytes) -> None:
        traffic = self.proxy.traffic
        with self.proxy._lock:
            traffic.bytes_sent += len(data)
            # Replies may overtake the rest of a long request; the client did not wait for them.
            traffic.round_trips += self.answered and not self.reader.within_request
            traffic.commands += self.reader.feed(data)
            self.answered = False

    def replies(self) -> None:
        while data := _receive(self.server):
            if self.proxy.fault.drop_replies:
                break
            with self.proxy._lock:
                self.proxy.traffic.bytes_received += len(data)
                self.answered = True
            if not _send(self.client, data):
                break
        self._end()

    def _end(self) -> None:
        _close(self.client)
        _close(self.server)


def _receive(end: socket.socket) -> bytes:
    try:
        return end.recv(1 << 16)
    except OSError:
        return b""


def _send(end: socket.socket, data: bytes) -> bool:
    try:
        end.sendall(data)
    except OSError:
        return False
    return True


def _close(end: socket.socket) -> None:
    with suppress(OSError):  # already cut by the other side
        end.shutdown(socket.SHUT_RDWR)
    end.close()
