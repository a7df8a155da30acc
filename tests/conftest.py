"""Fixtures that every test may use. Servers start on first use and live as long as the test run."""

from __future__ import annotations

import os
import re
import ssl
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme
from hypothesis import HealthCheck, settings

from tests import servers
from tests.proxy import Proxy
from tests.servers import BUILDS, DEFAULT_BUILD, Cluster, Room, SentinelSetup, Server

# Machines that run tests are slow and shared: seconds tell nothing here. CI draws the same examples each time.
settings.register_profile(
    "shared",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("shared")

CORPUS = Path(__file__).resolve().parents[1] / "../shared/corpus"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of recorded provider histories, which is not part of the project."""
    if not CORPUS.is_dir():
        servers.skip_or_fail("no corpus of recorded histories in ../shared/corpus")
    return CORPUS.resolve()


@pytest.fixture(scope="session")
def running() -> Iterator[dict[str, Server]]:
    """Servers started so far, by build."""
    started: dict[str, Server] = {}
    yield started
    for server in started.values():
        server.stop()


def _room(build: str, running: dict[str, Server], request: pytest.FixtureRequest) -> Room:
    if build not in running:
        running[build] = Server.start(build, tcp=True)
    name = re.sub(r"\W+", "-", request.node.name)[:40]
    return Room(running[build], f"{name}-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def server(running: dict[str, Server], request: pytest.FixtureRequest) -> Room:
    """The default server, with a key prefix of this test's own."""
    return _room(DEFAULT_BUILD, running, request)


@pytest.fixture(params=sorted(BUILDS))
def any_server(running: dict[str, Server], request: pytest.FixtureRequest) -> Room:
    """Each server build in turn: for contract tests."""
    return _room(request.param, running, request)


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A default server for this test alone: it may be flushed, filled, killed and restarted."""
    with Server.start(tcp=True) as own:
        yield own


@pytest.fixture
def durable_server() -> Iterator[Server]:
    """A server for this test alone that has on disk whatever it acknowledged."""
    with Server.start(DEFAULT_BUILD, "--appendonly", "yes", "--appendfsync", "always", tcp=True) as own:
        yield own


@pytest.fixture
def full_server() -> Iterator[Server]:
    """A server with a few megabytes of memory that refuses writes when they are used up."""
    with Server.start(DEFAULT_BUILD, "--maxmemory", "4mb", "--maxmemory-policy", "noeviction", tcp=True) as own:
        yield own


@pytest.fixture
def read_only_server() -> Iterator[Server]:
    """A replica, which refuses writes."""
    with Server.start(tcp=True) as master, servers.replica(master) as second:
        yield second


@pytest.fixture
def proxy(server: Room) -> Iterator[Proxy]:
    """A counting, breakable proxy in front of `server`."""
    with Proxy(server.server) as between:
        yield between


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Three masters in cluster mode."""
    with servers.cluster() as nodes:
        yield nodes


@pytest.fixture(scope="session")
def sentinel() -> Iterator[SentinelSetup]:
    """A sentinel with a master and a replica. A test that fails it over must leave it in order."""
    with servers.sentinel() as setup:
        yield setup


@dataclass(frozen=True)
class TlsEndpoint:
    """A server behind TLS: `url` is rediss://, `ca_file` is what the client must trust."""

    url: str
    ca_file: Path


@pytest.fixture
def tls_server(server: Room, tmp_path: Path) -> Iterator[TlsEndpoint]:
    """The default server behind TLS on loopback, with a certificate of the test's own authority."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    with Proxy(server.server, tls=context) as between:
        yield TlsEndpoint(between.url, tmp_path / "ca.pem")


@dataclass(frozen=True)
class AclUser:
    """A user that may use the saver's commands under one key prefix."""

    room: Room
    url: str


@pytest.fixture
def acl_user(any_server: Room) -> Iterator[AclUser]:
    """On each build, a user restricted to `servers.ACL_COMMANDS` and to this test's prefix."""
    name, password = f"app-{uuid.uuid4().hex[:8]}", "pass-word"
    with any_server.client() as admin:
        admin.execute_command("ACL SETUSER", name, *servers.acl_rules(any_server.prefix, password=password))
        yield AclUser(any_server, f"redis://{name}:{password}@127.0.0.1:{any_server.server.port}")
        admin.acl_deluser(name)
