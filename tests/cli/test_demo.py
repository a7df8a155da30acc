"""The demo does what it says, and says what it measured."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, process, start


def test_the_demo_survives_a_kill_and_runs_no_tool_twice(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    ran = process("demo", "--json", "--turns", "6", "--keep", kept)
    assert ran.code == 0, ran.err
    found = ran.json
    assert found["killed_by"] == "SIGKILL"
    assert found["killed_process"] != found["resumed_process"]
    assert found["tool_runs_before"] == found["tool_runs"] == 6
    assert found["tools_run_twice"] == 0
    assert found["statuses"] == ["complete"] * 6
    assert (kept / "ledger.txt").read_text().count(f"process {found['killed_process']}") == 6
    lines = [json.loads(line) for line in (kept / "conversation.jsonl").read_text().splitlines()]
    assert [line["role"] for line in lines] == ["user", "assistant", "tool", "assistant"] * 6
    assert lines[-1]["content"] == found["answer"]
    assert found["size_bytes"] > 0


def test_the_demo_is_printed_so_that_a_person_can_follow(tmp_path: Path) -> None:
    ran = process("demo", "--turns", "20", env={"TMPDIR": str(tmp_path), "COLUMNS": "80"})
    assert ran.code == 0, ran.err
    assert [line[0] for line in ran.out.splitlines() if line[:2] in ("1.", "2.", "3.", "4.", "5.")] == list("12345")
    assert "0 tools ran twice" in ran.out
    times = float(ran.out.partition("bytes alone: ")[2].split()[0])
    assert times > 5
    assert list(tmp_path.iterdir()) == []


def test_a_demo_that_is_broken_off_leaves_no_server_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "kept"
    with start("demo", "--turns", "3", "--keep", kept) as running:
        assert running.stdout is not None
        while "It died of" not in running.stdout.readline():
            assert running.poll() is None
        monkeypatch.chdir(kept)  # a full path may be longer than the name of a socket can be
        with socket.socket(socket.AF_UNIX) as client:
            client.connect("valkey.sock")
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=120)
    assert running.returncode == 130
    # Not its process id: a server that has ended keeps that until the system has collected its status.
    with socket.socket(socket.AF_UNIX) as client, pytest.raises((FileNotFoundError, ConnectionRefusedError)):
        client.connect("valkey.sock")


def test_the_demo_writes_into_no_folder_that_holds_something(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    ran = cli("demo", "--keep", tmp_path)
    assert ran.code == 2
    assert "Name a new one" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("turns", ["0", "501", "many"])
def test_the_demo_refuses_lengths_that_make_no_sense(cli: Cli, turns: str) -> None:
    assert cli("demo", "--turns", turns).code == 2
