"""Files that are no histories, and records that are not of this version: one line, the right exit code, nothing done."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path

import msgpack
import pytest

from langgraph_portable_checkpoint.saver import PortableRedisSaver
from tests.cli.conftest import Cli
from tests.cli.threads import PNG, talk
from tests.servers import Room

FOREIGN = {
    "empty": b"",
    "blank": b" \n\n",
    "image": b64decode(PNG),
    "not UTF-8": b'[{"role": "user", "content": "\xff\xfe"}]',
    "half": b'[{"role": "user", "content": "hi"}, {"role": "assis',
    "number": b"42",
    "null": b"null",
    "other JSON": b'{"name": "package", "version": "1.0.0"}',
    "deep": b"[" * 100_000,
    "NaN": b'[{"role": "user", "content": NaN}]',
    "lines of nothing": b"{}\n{}\n",
    "prose": b"Dear diary,\n",
}
WAYS = {
    "convert": lambda file, out: ("convert", file, "--to", "anthropic", "-o", out),
    "save": lambda file, out: ("save", file, "-o", out),
    "lint": lambda file, out: ("lint", file),
    "diff": lambda file, out: ("diff", file, file),
    "merge": lambda file, out: ("merge", file, file, "-o", out),
    "resume": lambda file, out: ("resume", file, "--", "touch", out),
}


@pytest.mark.parametrize("what", FOREIGN)
@pytest.mark.parametrize("way", WAYS)
def test_other_peoples_files_are_refused_in_one_line(cli: Cli, tmp_path: Path, what: str, way: str) -> None:
    file, out = tmp_path / "file", tmp_path / "out"
    file.write_bytes(FOREIGN[what])
    ran = cli(*WAYS[way](file, out))
    assert (ran.code, len(ran.err.splitlines()), ran.out) == (2, 1, ""), (ran.err, ran.out)
    assert not out.exists()


@pytest.mark.parametrize("what", FOREIGN)
def test_an_import_of_other_peoples_files_makes_no_thread(
    on_server: Cli, saver: PortableRedisSaver, tmp_path: Path, what: str
) -> None:
    (tmp_path / "file").write_bytes(FOREIGN[what])
    ran = on_server("import", tmp_path / "file", "--thread", "t")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1), ran.err
    assert list(saver.threads()) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_missing_file_is_named(cli: Cli, tmp_path: Path, way: str) -> None:
    ran = cli(*WAYS[way](tmp_path / "missing.json", tmp_path / "out"))
    assert (ran.code, len(ran.err.splitlines())) == (2, 1), ran.err
    assert "missing.json" in ran.err


@pytest.mark.parametrize("dialect", ["nonsense", "claude-code"])
def test_a_dialect_that_cannot_be_written_is_a_usage_error(cli: Cli, tmp_path: Path, dialect: str) -> None:
    (tmp_path / "h.json").write_text('[{"role": "user", "content": "hi"}]')
    ran = cli("convert", tmp_path / "h.json", "--to", dialect)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1), ran.err


def test_records_of_the_future_are_refused_by_name_and_left_alone(
    on_server: Cli, server: Room, saver: PortableRedisSaver
) -> None:
    talk(saver, "t", "hi")
    key = saver._core.layout.thread("t")[5]
    with server.client() as client:
        record = msgpack.unpackb(client.hget(key, "0"))
        future = msgpack.packb({**record, "v": 99})
        client.hset(key, "0", future)
        for arguments in (("show", "t"), ("threads",), ("view", "t")):
            ran = on_server(*arguments)
            assert (ran.code, len(ran.err.splitlines()), ran.out) == (5, 1, ""), ran.err
            assert "99" in ran.err
        assert client.hget(key, "0") == future
