"""What other tests rely on: each server is what it says, and the proxy counts and breaks as told."""

from __future__ import annotations

import ssl

import pytest
import redis
from redis.sentinel import Sentinel

from tests.conftest import AclUser, TlsEndpoint
from tests.proxy import LOADING, Proxy, RequestReader
from tests.servers import AT_ONCE, BUILDS, Build, Cluster, Room, SentinelSetup, Server, command_counts


def test_every_build_runs_under_its_own_version(any_server: Room) -> None:
    with any_server.client() as client:
        info = client.info("server")
    version = info.get("valkey_version") or info["redis_version"]
    assert version.startswith(BUILDS[any_server.build].version)


def test_rooms_of_one_server_see_their_own_keys_only(server: Room) -> None:
    with server.client() as client:
        client.set(f"{server.prefix}:a", 1)
        client.set(f"other-{server.prefix}:b", 1)
    assert server.keys() == [f"{server.prefix}:a".encode()]


def test_a_stopped_server_leaves_no_process_and_no_folder() -> None:
    with Server.start() as own:
        pass
    assert own.process.poll() is not None
    assert not own.folder.exists()


def test_a_durable_server_keeps_its_data_over_a_crash(durable_server: Server) -> None:
    with durable_server.client() as client:
        client.set("k", "v")
    durable_server.kill()
    durable_server.restart()
    with durable_server.client() as client:
        assert client.get("k") == b"v"


def fill(client: redis.Redis) -> None:
    for number in range(100):
        client.set(f"filler{number}", b"x" * 100_000)


def test_a_full_server_refuses_writes_and_reads_on(full_server: Server) -> None:
    with full_server.client() as client:
        client.set("k", "v")
        with pytest.raises(redis.OutOfMemoryError):
            fill(client)
        assert client.get("k") == b"v"


def test_a_replica_refuses_writes(read_only_server: Server) -> None:
    with read_only_server.client() as client, pytest.raises(redis.ReadOnlyError):
        client.set("k", 1)


def test_the_cluster_spreads_keys_and_refuses_two_slots_at_once(cluster: Cluster) -> None:
    with cluster.client() as client:
        assert len({client.get_node_from_key(key).port for key in "abcdef"}) == 3
    with cluster.nodes[0].client() as node, pytest.raises(redis.ResponseError, match="same slot"):
        node.execute_command("EVAL", "return 1", 2, "a", "b")


def test_the_sentinel_names_the_master(sentinel: SentinelSetup) -> None:
    finder = Sentinel([(sentinel.host, sentinel.port)])
    assert finder.discover_master(sentinel.service_name)[1] == sentinel.master.port
    assert finder.discover_slaves(sentinel.service_name)[0][1] == sentinel.replica.port


def test_tls_needs_the_authority(tls_server: TlsEndpoint) -> None:
    with redis.Redis.from_url(tls_server.url, ssl_ca_certs=str(tls_server.ca_file)) as client:
        assert client.ping()
    with redis.Redis.from_url(tls_server.url) as stranger, pytest.raises((redis.ConnectionError, ssl.SSLError)):
        stranger.ping()


@pytest.mark.parametrize("command", ["KEYS *", "FLUSHALL", "CONFIG GET maxmemory", "SCAN 0"])
def test_the_acl_user_may_not_look_around(acl_user: AclUser, command: str) -> None:
    with redis.Redis.from_url(acl_user.url) as client:
        client.set(f"{acl_user.room.prefix}:k", 1)
        with pytest.raises(redis.exceptions.NoPermissionError):
            client.execute_command(*command.split())
        with pytest.raises(redis.exceptions.NoPermissionError):
            client.set("elsewhere", 1)


def test_the_proxy_counts_bytes_commands_and_round_trips(proxy: Proxy) -> None:
    with redis.Redis.from_url(proxy.url) as client:
        client.ping()
        proxy.reset()
        with client.pipeline(transaction=False) as pipeline:
            pipeline.echo(b"x" * 100_000).ping().execute()
        client.ping()
    traffic = proxy.traffic
    assert traffic.commands == ["ECHO", "PING", "PING"]
    assert traffic.round_trips == 2
    assert 100_000 < traffic.bytes_sent < 100_200
    assert 100_000 < traffic.bytes_received < 100_200


def test_requests_are_read_whatever_the_pieces() -> None:
    reader, request = RequestReader(), b"*2\r\n$4\r\nECHO\r\n$4\r\n\r\n*1\r\n*1\r\n$4\r\nping\r\n"
    assert [name for at in range(len(request)) for name in reader.feed(request[at : at + 1])] == ["ECHO", "PING"]


def test_a_dropped_reply_leaves_the_command_done(proxy: Proxy, server: Room) -> None:
    with redis.Redis.from_url(proxy.url, retry=AT_ONCE) as client, server.client() as direct:
        client.ping()
        proxy.fault.drop_replies = True
        with pytest.raises(redis.ConnectionError):
            client.set(f"{server.prefix}:k", 1)
        assert direct.get(f"{server.prefix}:k") == b"1"


def test_half_a_request_is_never_carried_out(proxy: Proxy, server: Room) -> None:
    with redis.Redis.from_url(proxy.url, retry=AT_ONCE) as client, server.client() as direct:
        client.ping()
        proxy.fault.cut_after_bytes = 20
        with pytest.raises(redis.ConnectionError):
            client.set(f"{server.prefix}:k", 1)
        assert direct.get(f"{server.prefix}:k") is None


def test_a_hanging_server_times_out(proxy: Proxy) -> None:
    with redis.Redis.from_url(proxy.url, retry=AT_ONCE, socket_timeout=0.2) as client:
        client.ping()
        proxy.fault.hang = True
        with pytest.raises(redis.TimeoutError):
            client.ping()


def test_the_proxy_can_answer_for_a_server_that_is_loading(proxy: Proxy) -> None:
    with redis.Redis.from_url(proxy.url, retry=AT_ONCE) as client:
        client.ping()
        proxy.fault.answer = LOADING
        with pytest.raises(redis.BusyLoadingError):
            client.ping()
        proxy.fault.answer = None
        assert client.ping()


def test_command_counts_see_into_scripts(own_server: Server) -> None:
    with own_server.client() as client:
        client.config_resetstat()
        client.eval("redis.call('SET', KEYS[1], 1); return redis.call('GET', KEYS[1])", 1, "k")
        counts = command_counts(client)
    assert (counts["eval"], counts["set"], counts["get"]) == (1, 1, 1)


def test_a_missing_build_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    build = Build("redis-0.1", "0.1", lambda: None, "nowhere")
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"no redis-0.1 server here: nowhere"):
        build.binary()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="needed in CI"):
        build.binary()
