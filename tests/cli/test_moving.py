"""backup, restore, migrate, verify, repair and gc from the command line."""

from __future__ import annotations

import os
import resource
import sqlite3
import stat
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from langgraph_portable_checkpoint.saver import PortableRedisSaver
from langgraph_portable_checkpoint.transfer.restoring import restore
from tests.cli.conftest import PROGRAM, ROOT, Cli, process, start
from tests.cli.threads import PNG, talk
from tests.servers import Room


@pytest.fixture
def two_threads(saver: PortableRedisSaver) -> PortableRedisSaver:
    talk(saver, "t", "one", [{"type": "image", "base64": PNG, "mime_type": "image/png"}])
    talk(saver, "u", "three")
    return saver


def test_a_backup_comes_back_elsewhere(
    on_server: Cli, cli: Cli, server: Room, two_threads: PortableRedisSaver, tmp_path: Path
) -> None:
    file = tmp_path / "all.backup"
    ran = on_server("backup", file, "--json")
    assert ran.code == 0, ran.err
    assert (ran.json["threads"], ran.json["size_bytes"]) == (2, file.stat().st_size)
    other = ("--redis-url", server.url, "--prefix", f"{server.prefix}-other")
    assert cli("restore", file, *other, "--json").json["restored"] == 2
    assert cli("restore", file, *other, "--json").json["unchanged"] == 2
    for name in ("t", "u"):
        here, there = (cli("export", name, "--to", "otel", *place).out for place in (_here(server), other))
        assert here == there != ""


def _here(server: Room) -> tuple[str, ...]:
    return ("--redis-url", server.url, "--prefix", server.prefix)


def test_a_backup_goes_through_a_pipe(server: Room, two_threads: PortableRedisSaver, tmp_path: Path) -> None:
    argv = [*PROGRAM, "backup", "-", *_here(server), "--thread", "t", "--json"]
    ran = subprocess.run(argv, cwd=ROOT, capture_output=True, check=True)
    (tmp_path / "one.backup").write_bytes(ran.stdout)
    argv = [
        *PROGRAM,
        "restore",
        str(tmp_path / "one.backup"),
        "--redis-url",
        server.url,
        "--prefix",
        f"{server.prefix}-p",
    ]
    assert b"restored 1 threads" in subprocess.run(argv, cwd=ROOT, capture_output=True, check=True).stderr


def test_half_a_backup_restores_nothing(
    on_server: Cli, cli: Cli, server: Room, two_threads: PortableRedisSaver, tmp_path: Path
) -> None:
    file = tmp_path / "all.backup"
    on_server("backup", file)
    whole = file.read_bytes()
    other = ("--redis-url", server.url, "--prefix", f"{server.prefix}-other")
    for broken in (whole[: len(whole) // 2], whole[:-1], whole[:200] + b"x" + whole[201:], b"", b"not a backup"):
        file.write_bytes(broken)
        ran = cli("restore", file, *other)
        assert (ran.code, len(ran.err.splitlines())) == (5, 1), ran.err
        assert cli("threads", *other, "--json").lines == []


def test_a_restore_refuses_skips_or_renames_what_is_there(
    on_server: Cli, two_threads: PortableRedisSaver, tmp_path: Path
) -> None:
    file = tmp_path / "all.backup"
    on_server("backup", file)
    talk(two_threads, "t", "more")
    assert on_server("restore", file).code == 6
    assert on_server("restore", file, "--on-existing", "skip", "--json").json["skipped"] == 1
    assert on_server("restore", file, "--on-existing", "as-new", "--json").json["renamed"] == {"t": "t-copy"}
    assert on_server("restore", file, "--on-existing", "never").code == 2


def test_a_backup_of_a_missing_thread_leaves_no_file(
    on_server: Cli, two_threads: PortableRedisSaver, tmp_path: Path
) -> None:
    assert on_server("backup", tmp_path / "x", "--thread", "nobody").code == 3
    assert list(tmp_path.iterdir()) == []
    assert on_server("backup", tmp_path / "no" / "folder").code in (2, 4)
    assert on_server("restore", tmp_path / "nothing").code == 2


def test_gc_sets_aside_what_no_thread_names(on_server: Cli, server: Room, tmp_path: Path) -> None:
    folder = tmp_path / "media"
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix, media_store=folder) as saver:
        talk(saver, "t", [{"type": "image", "base64": PNG, "mime_type": "image/png"}])
    assert on_server("gc").code == 2
    ran = on_server("gc", "--media", folder)
    assert (ran.code, ran.out) == (0, "")
    assert "1 blobs, 1 named by threads" in ran.err
    assert on_server("gc", "--media", folder, "--grace-hours", "0.1").code == 2


def test_a_media_folder_that_is_a_url_is_refused(on_server: Cli) -> None:
    ran = on_server("gc", "--media", "s3://bucket/media")
    assert ran.code == 2
    assert "--media does not name a folder" in ran.err


def test_verify_finds_what_is_wrong_and_nothing_else(
    on_server: Cli, server: Room, two_threads: PortableRedisSaver
) -> None:
    ran = on_server("verify")
    assert (ran.code, ran.out) == (0, ""), ran.out
    assert "2 threads looked at, 0 errors" in ran.err
    items = two_threads._core.layout.thread("t")[1]
    with server.client() as client:
        digest, data = next(iter(client.hgetall(items).items()))
        client.hset(items, digest, data[:-1] + bytes([data[-1] ^ 1]))
    ran = on_server("verify", "--json")
    assert ran.code == 1
    assert {row["thread_id"] for row in ran.lines if row["severity"] == "error"} == {"t"}
    assert on_server("verify", "u").code == 0
    assert on_server("verify", "nobody").code == 3


@pytest.fixture(name="sqlite")
def sqlite_url(tmp_path: Path) -> str:
    """Threads in SqliteSaver."""
    file = tmp_path / "threads.sqlite"
    with SqliteSaver.from_conn_string(str(file)) as source:
        for number in range(3):
            talk(source, f"s{number}", "one", "two")
    return f"sqlite:///{file}"


def test_threads_move_from_sqlite_and_a_graph_goes_on(
    on_server: Cli, server: Room, saver: PortableRedisSaver, sqlite: str, tmp_path: Path
) -> None:
    ran = on_server("migrate", "--from", sqlite, "--json")
    assert ran.code == 0, ran.err
    assert (ran.json["copied"], ran.json["checkpoints"], ran.json["differences"]) == (3, 18, [])
    talk(saver, "s0", "three")
    assert [turn.turn for turn in saver.turns("s0")] == [0, 1, 2]
    assert on_server("migrate", "--from", sqlite, "--thread", "s1", "--json").json["unchanged"] == 1
    back = f"sqlite:///{tmp_path}/back.sqlite"
    ours = ("--from", server.url, "--from-prefix", server.prefix, "--to", back)
    assert on_server("migrate", *ours, "--json").json["copied"] == 3


def test_a_migration_finds_the_media_of_its_source_or_says_which_it_did_not(
    cli: Cli, server: Room, tmp_path: Path
) -> None:
    here, there = tmp_path / "here", ("--redis-url", server.url, "--prefix", f"{server.prefix}-there")
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix, media_store=here) as source:
        talk(source, "t", "one", [{"type": "image", "base64": PNG, "mime_type": "image/png"}])
    memory = ("--from", server.url, "--from-prefix", server.prefix, "--to", f"sqlite:///{tmp_path}/copy.sqlite")
    ran = cli("migrate", *memory)
    assert ran.code == 1
    assert "1 skipped" in ran.err
    assert "media store 'directory', which this saver does not have" in ran.out
    assert cli("migrate", *memory, "--from-media", here, "--json").json["copied"] == 1
    ours = ("--from", server.url, "--from-prefix", server.prefix, "--from-media", here, *there)
    assert cli("migrate", *ours).code == 0
    assert PNG in cli("export", "t", "--to", "anthropic", *there).out


def test_a_migration_that_is_stopped_goes_on(
    on_server: Cli, server: Room, sqlite: str, saver: PortableRedisSaver
) -> None:
    with start("migrate", "--from", sqlite, *_here(server)) as running:
        running.terminate()
        running.communicate(timeout=60)
    ran = on_server("migrate", "--from", sqlite, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["copied"] + ran.json["completed"] + ran.json["unchanged"] == 3
    assert {info.thread_id for info in saver.threads()} == {"s0", "s1", "s2"}


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("sqlite:///nowhere/at/all.sqlite", 2),
        ("mysql://host", 2),
        ("nonsense", 2),
        ("no_such_module:factory", 2),
        ("json:loads", 2),
        ("os:getcwd", 2),
        ("postgresql://u:hunter2@%zz", 2),
        ("redisjson+redis://u:hunter2@127.0.0.1:x", 2),
        ("redisjson+redis://u:hunter2@127.0.0.1:1", 4),
        ("valkey-aws://u:hunter2@127.0.0.1:x", 2),
        ("valkey-aws://u:hunter2@127.0.0.1:1", 4),
        ("postgresql://u:hunter2@127.0.0.1:1/x", 4),
        ("redis://u:hunter2@127.0.0.1:1", 4),
    ],
)
def test_a_source_that_is_none_is_said_in_one_line(on_server: Cli, source: str, code: int) -> None:
    ran = on_server("migrate", "--from", source)
    if "not installed" in ran.err or "nstall langgraph-checkpoint" in ran.err:
        pytest.skip(ran.err)
    assert (ran.code, len(ran.err.splitlines())) == (code, 1), ran.err
    assert "hunter2" not in ran.err


@pytest.mark.parametrize("content", ["text", "empty", "another database"])
def test_a_file_without_threads_is_said_so_and_left_as_it_is(on_server: Cli, tmp_path: Path, content: str) -> None:
    file = tmp_path / "x"
    file.write_text("not a database" * 100 if content == "text" else "")
    if content == "another database":
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("CREATE TABLE checkpoints (number)")
    before = file.read_bytes()
    ran = on_server("migrate", "--from", f"sqlite:///{file}")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1), ran.err
    assert (str(file) in ran.err, file.read_bytes()) == (True, before)
    assert list(tmp_path.iterdir()) == [file]


def test_a_factory_that_fails_is_no_defect_of_the_program(
    on_server: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("broken_a", "def make(): raise KeyError('x')"),
        ("broken_b", "1 / 0"),
        ("broken_c", "make make"),
    ):
        (tmp_path / f"{name}.py").write_text(text)
        ran = on_server("migrate", "--from", f"{name}:make")
        assert (ran.code, len(ran.err.splitlines())) == (2, 1), ran.err
        assert "defect" not in ran.err


def test_a_backup_goes_into_a_pipe_and_does_not_take_its_place(
    server: Room, two_threads: PortableRedisSaver, tmp_path: Path
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with start("backup", fifo, *_here(server)) as running:
        (tmp_path / "copy").write_bytes(fifo.read_bytes())
        assert running.wait(timeout=60) == 0
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    with PortableRedisSaver.from_url(server.url, prefix=f"{server.prefix}-pipe") as target:
        assert restore(target, tmp_path / "copy").restored == 2


def test_a_disk_that_fills_up_during_a_backup_leaves_the_old_file_and_nothing_else(
    server: Room, two_threads: PortableRedisSaver, tmp_path: Path
) -> None:
    file = tmp_path / "all.backup"
    file.write_text("old")
    limit = (2000, 2000)
    ran = process("backup", file, *_here(server), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
    assert (ran.code, len(ran.err.splitlines())) == (4, 1), ran.err
    assert str(file) in ran.err
    assert (file.read_text(), list(tmp_path.iterdir())) == ("old", [file])


def test_a_restore_needs_a_file(on_server: Cli) -> None:
    ran = on_server("restore", "-")
    assert (ran.code, "twice" in ran.err) == (2, True)


def test_repair_says_what_it_would_mend_and_mends_it(
    on_server: Cli, server: Room, two_threads: PortableRedisSaver
) -> None:
    assert on_server("repair").out == ""
    layout = two_threads._core.layout
    with server.client() as client:
        client.zrem(layout.registry(layout.shard_of(b"t")), b"t")
    assert [row["thread_id"] for row in on_server("threads", "--json").lines] == ["u"]
    dry = on_server("repair", "--dry-run", "--json")
    assert [(row["thread_id"], row["kind"], row["done"]) for row in dry.lines] == [("t", "register thread", False)]
    assert on_server("repair").code == 2
    assert [row["thread_id"] for row in on_server("threads", "--json").lines] == ["u"]
    assert [row["done"] for row in on_server("repair", "--yes", "--json").lines] == [True]
    assert {row["thread_id"] for row in on_server("threads", "--json").lines} == {"t", "u"}
    assert on_server("verify").code == 0
