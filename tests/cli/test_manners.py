"""How the program behaves towards shells, pipes, terminals, scripts and people who make mistakes."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import shlex
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from langgraph_portable_checkpoint.cli import exits
from langgraph_portable_checkpoint.cli.output import dump_json, safe_line, safe_text, shown_bytes
from langgraph_portable_checkpoint.cli.settings import Settings
from langgraph_portable_checkpoint.saver import PortableRedisSaver
from tests.cli.conftest import PROGRAM, ROOT, Cli, process, start
from tests.cli.threads import talk
from tests.servers import Room, Server

SECRET = "hunter2-%40-secret"
DOWN = "unix:///nowhere/at/all.sock"


def test_version_is_that_of_the_package(cli: Cli) -> None:
    try:
        expected = metadata.version("langgraph-portable-checkpoint")
    except metadata.PackageNotFoundError:
        expected = "of an unknown version: the package is not installed"
    assert cli("--version").out == f"portable-checkpoint {expected}\n"


def test_help_names_every_command_and_is_no_error(cli: Cli) -> None:
    ran = cli("--help")
    assert (ran.code, ran.err) == (0, "")
    for name in ("demo", "threads", "export", "import", "resume"):
        assert re.search(rf"^  {name} ", ran.out, re.MULTILINE)
    assert cli("threads", "-h").code == 0


def test_completion_is_offered_for_shells() -> None:
    shown = process(
        env={
            "_PORTABLE_CHECKPOINT_COMPLETE": "complete_bash",
            "COMP_WORDS": "portable-checkpoint th",
            "COMP_CWORD": "1",
        }
    )
    assert shown.out.split() == ["threads"]


@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("threads", "--nonsense"), ("show",), ("threads", "--limit", "x"), ("convert", "x"), ("copy", "a")],
)
def test_wrong_usage_is_one_line_and_exit_two(cli: Cli, arguments: tuple[str, ...]) -> None:
    ran = cli(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1
    assert "--help" in ran.err


def test_a_command_without_a_server_says_how_to_name_one(cli: Cli) -> None:
    ran = cli("threads")
    assert ran.code == 2
    assert "--redis-url" in ran.err
    assert "PORTABLE_CHECKPOINT_REDIS_URL" in ran.err


@pytest.mark.parametrize(
    "url", ["localhost:6379", "http://localhost", "redis://host:port", "redis://h/?db=x", "nonsense"]
)
def test_a_wrong_url_is_a_usage_error(cli: Cli, url: str) -> None:
    ran = cli("threads", "--redis-url", url)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1), ran.err


def test_a_server_that_is_down_is_one_line_and_exit_four(cli: Cli) -> None:
    ran = cli("threads", "--redis-url", DOWN)
    assert (ran.code, len(ran.err.splitlines()), ran.out) == (4, 1, "")
    assert "Traceback" not in ran.err


def test_the_traceback_is_shown_under_debug_only(cli: Cli) -> None:
    assert "Traceback" in cli("threads", "--redis-url", DOWN, "--debug").err


def test_a_wrong_password_is_refused_without_being_shown(cli: Cli, own_server: Server) -> None:
    with own_server.client() as admin:
        admin.config_set("requirepass", "right")
    for arguments in (("threads",), ("threads", "--debug"), ("stats", "--json")):
        ran = cli(*arguments, "--redis-url", f"redis://user:{SECRET}@127.0.0.1:{own_server.port}")
        assert ran.code == 4
        assert "password" in ran.err
        for spelling in (SECRET, "hunter2-@-secret"):
            assert spelling not in ran.out + ran.err


@pytest.mark.parametrize(
    "url", [f"redis://u:{SECRET}@h:x", f"http://u:{SECRET}@h", f"redis://h/?password={SECRET}&db=x"]
)
def test_a_password_in_a_wrong_url_is_not_shown_either(cli: Cli, url: str) -> None:
    ran = cli("threads", "--redis-url", url, "--debug")
    assert ran.code == 2
    assert "hunter2" not in ran.err


def test_option_wins_over_environment_over_config(
    cli: Cli, server: Room, saver: PortableRedisSaver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(saver, "t", "hi")
    config = tmp_path / "config.toml"
    config.write_text(f'redis_url = "{server.url}"\nprefix = "{server.prefix}"\n')
    assert cli("threads", "--json", "--config", config).lines[0]["thread_id"] == "t"
    monkeypatch.setenv("PORTABLE_CHECKPOINT_CONFIG", str(config))
    assert len(cli("threads", "--json").lines) == 1
    monkeypatch.setenv("PORTABLE_CHECKPOINT_PREFIX", f"{server.prefix}-other")
    assert cli("threads", "--json").lines == []
    assert len(cli("threads", "--json", "--prefix", server.prefix).lines) == 1
    monkeypatch.setenv("PORTABLE_CHECKPOINT_REDIS_URL", DOWN)
    assert cli("threads", "--json").code == 4
    assert len(cli("threads", "--redis-url", server.url, "--prefix", server.prefix, "--json").lines) == 1
    monkeypatch.delenv("PORTABLE_CHECKPOINT_PREFIX")
    monkeypatch.delenv("PORTABLE_CHECKPOINT_REDIS_URL")
    default = Path(os.environ["XDG_CONFIG_HOME"]) / "portable-checkpoint" / "config.toml"
    monkeypatch.delenv("PORTABLE_CHECKPOINT_CONFIG")
    default.parent.mkdir()
    config.rename(default)
    assert len(cli("threads", "--json").lines) == 1


@pytest.mark.parametrize("text", ["redis_url = 5", "colour = 'red'", "not toml at all", "data = 'a'\nredis_url = 'b'"])
def test_a_config_file_that_cannot_be_meant_is_refused(cli: Cli, tmp_path: Path, text: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(text)
    ran = cli("threads", "--config", config)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert cli("threads", "--config", tmp_path / "none.toml").code == 2


def test_two_servers_at_once_are_refused(cli: Cli, tmp_path: Path) -> None:
    ran = cli("threads", "--redis-url", DOWN, "--data", tmp_path)
    assert ran.code == 2
    assert "two servers" in ran.err


def test_an_embedded_folder_serves_and_is_left_shut_down(cli: Cli, tmp_path: Path) -> None:
    with PortableRedisSaver.embedded(tmp_path / "data") as saver:
        talk(saver, "t", "hi")
    assert [row["thread_id"] for row in cli("threads", "--data", tmp_path / "data", "--json").lines] == ["t"]
    assert not (tmp_path / "data" / "valkey.sock").exists()


@pytest.mark.parametrize("command", [("threads",), ("show", "t"), ("verify",), ("delete", "t", "-y"), ("repair", "-y")])
def test_a_data_folder_that_is_not_there_is_made_by_no_command_that_makes_no_thread(
    cli: Cli, tmp_path: Path, command: tuple[str, ...]
) -> None:
    ran = cli(*command, "--data", tmp_path / "none" / "here")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert "no folder" in ran.err
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif(os.name != "posix", reason="a shell that closes streams")
@pytest.mark.parametrize("command", [("threads",), ("show", "t"), ("export", "t", "--to", "otel")])
def test_a_closed_stdout_is_said_in_one_line(on_server: Cli, saver: Any, server: Any, command: tuple[str, ...]) -> None:
    talk(saver, "t", "hi")
    line = shlex.join([*PROGRAM, *command, "--redis-url", server.url, "--prefix", server.prefix])
    ran = subprocess.run(["sh", "-c", f"{line} >&-"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, len(ran.stderr.splitlines())) == (4, 1), ran.stderr
    assert "the output cannot be written" in ran.stderr


def test_a_file_where_a_data_folder_should_be_is_said_so(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = cli("threads", "--data", tmp_path / "file")
    assert (ran.code, len(ran.err.splitlines())) == (4, 1)


def test_encrypted_threads_need_their_key(
    cli: Cli, server: Room, saver: PortableRedisSaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = ("--redis-url", server.url, "--prefix", server.prefix)
    monkeypatch.delenv("LANGGRAPH_AES_KEY", raising=False)
    assert cli("threads", *place, "--encrypted").code == 2
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "0123456789abcdef")
    talk(saver, "open", "hi")
    ran = cli("show", "open", *place, "--encrypted")
    assert (ran.code, "0123456789abcdef" in ran.err) == (5, False)
    other = ("--redis-url", server.url, "--prefix", f"{server.prefix}-sealed")
    with Settings(redis_url=server.url, prefix=f"{server.prefix}-sealed", encrypted=True).open() as sealed:
        talk(sealed, "sealed", "hi")
    ran = cli("show", "sealed", *other)
    assert (ran.code, "--encrypted" in ran.err) == (5, True)
    assert cli("show", "sealed", *other, "--encrypted", "--json").json["messages"][0]["text"] == "hi"


def test_advice_names_options_and_not_arguments_of_functions(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text('{"name": "package"}')
    for name in ("lint", "convert"):
        ran = cli(name, tmp_path / "file", *(("--to", "otel") if name == "convert" else ()))
        assert "--from" in ran.err
        assert "from_" not in ran.err


def test_an_empty_place_is_said_to_be_empty(on_server: Cli) -> None:
    ran = on_server("threads")
    assert (ran.code, ran.out, ran.err) == (0, "", "no threads here\n")


def test_a_reader_that_goes_away_ends_the_program_quietly(server: Room, saver: PortableRedisSaver) -> None:
    talk(saver, "t", "x" * 300_000)
    arguments = ("show", "t", "--json", "--redis-url", server.url, "--prefix", server.prefix)
    with start(*arguments) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.wait(timeout=60) == exits.PIPE_CLOSED
        assert running.stderr.read() == ""


def test_ctrl_c_ends_the_program_without_a_traceback(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with start("convert", fifo, "--to", "otel") as running:
        writer = os.open(fifo, os.O_WRONLY)  # returns once the program is reading
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
        os.close(writer)
    assert (running.returncode, err) == (exits.INTERRUPTED, "interrupted\n")


def test_a_terminal_that_is_not_utf8_and_narrow_gets_a_table_it_can_show(
    server: Room, saver: PortableRedisSaver
) -> None:
    talk(saver, "thread-ü-中", "hi")
    plain = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "COLUMNS": "40", "TERM": "dumb"}
    controller, terminal = pty.openpty()
    argv = [*PROGRAM, "threads", "--redis-url", server.url, "--prefix", server.prefix]
    env = {**os.environ, **plain, "PYTHONPATH": str(ROOT)}
    running = subprocess.Popen(argv, stdin=terminal, stdout=terminal, stderr=terminal, env=env)
    os.close(terminal)
    shown = b""
    while chunk := _read(controller):
        shown += chunk
    assert running.wait(timeout=60) == 0
    lines = shown.decode("ascii").split("\r\n")
    assert "thread" in shown.decode("ascii")
    assert max(map(len, lines)) <= 40


def _read(controller: int) -> bytes:
    try:
        return os.read(controller, 4096)
    except OSError:  # the other side is closed
        return b""


@pytest.mark.parametrize(("answer", "left"), [("n", 1), ("", 1), ("y", 0)])
def test_a_person_at_a_terminal_is_asked_before_something_is_destroyed(
    server: Room, saver: PortableRedisSaver, answer: str, left: int
) -> None:
    talk(saver, "t", "hi")
    controller, terminal = pty.openpty()
    argv = [*PROGRAM, "delete", "t", "--redis-url", server.url, "--prefix", server.prefix]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = subprocess.Popen(argv, stdin=terminal, stdout=terminal, stderr=terminal, env=env)
    os.close(terminal)
    shown = b""
    while b"[y/N]" not in shown:
        shown += _read(controller)
    assert b"1 turns, 3 checkpoints" in shown
    os.write(controller, answer.encode() + b"\n")
    assert running.wait(timeout=60) == left
    os.close(controller)
    assert len(list(saver.threads())) == left


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_one_line_and_exit_four(tmp_path: Path) -> None:
    history = tmp_path / "h.json"
    history.write_text('[{"role": "user", "content": "hi"}]')
    with Path("/dev/full").open("w") as full:
        for ran in (
            process("convert", history, "--to", "otel", stdout=full),
            process("convert", history, "--to", "otel", "-o", "/dev/full"),
        ):
            assert (ran.code, len(ran.err.splitlines())) == (exits.SERVER, 1), ran.err
            assert "No space left" in ran.err


def test_a_disk_that_fills_up_while_writing_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    history, out = tmp_path / "h.json", tmp_path / "out.json"
    history.write_text(json.dumps([{"role": "user", "content": "x" * 100_000}]))
    out.write_text("old")
    ran = process("convert", history, "--to", "otel", "-o", out, preexec_fn=_small_files_only)
    assert (ran.code, len(ran.err.splitlines())) == (exits.SERVER, 1), ran.err
    assert str(out) in ran.err
    assert out.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == [history, out]


def _small_files_only() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))


def test_json_is_ascii_where_the_output_is_not_utf8(tmp_path: Path) -> None:
    history = tmp_path / "h.json"
    history.write_text('[{"role": "user", "content": "ü 中 😀"}]', encoding="utf-8")
    env = {"PYTHONIOENCODING": "ascii"}
    ran = process("convert", history, "--to", "openai-chat", env=env)
    assert ran.json == {"messages": [{"role": "user", "content": "ü 中 😀"}]}
    assert ran.out.isascii()


def test_quiet_says_nothing_but_errors(on_server: Cli, saver: PortableRedisSaver) -> None:
    talk(saver, "t", "hi")
    assert on_server("copy", "t", "u", "--quiet").err == ""
    assert on_server("copy", "t", "u", "--quiet").err != ""


def test_help_starts_without_anything_heavy() -> None:
    code = (
        "import sys; from langgraph_portable_checkpoint.cli.app import run; run(['--help']); print(sorted(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    loaded = {name.partition(".")[0] for name in re.findall(r"'([\w.]+)'", shown.splitlines()[-1])}
    assert (
        loaded & {"langgraph", "langchain_core", "redis", "msgpack", "pydantic", "rich", "jinja2", "asyncio"} == set()
    )


@pytest.mark.parametrize("package", ["typer", "rich", "jinja2"])
def test_without_the_extra_the_program_says_how_to_install_it(package: str) -> None:
    code = (
        "import importlib.util as u; found = u.find_spec\n"
        f"u.find_spec = lambda name: None if name == '{package}' else found(name)\n"
        "from langgraph_portable_checkpoint.cli import main; main()"
    )
    shown = subprocess.run([sys.executable, "-c", code, "--help"], cwd=ROOT, capture_output=True, text=True)
    assert (shown.returncode, shown.stdout) == (1, "")
    assert package in shown.stderr
    assert "langgraph-portable-checkpoint[cli]" in shown.stderr


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x1b[1m", "\\x1b[1m"),
        ("\u202ex", "\\u202ex"),
        ("\ud800", "\\ud800"),
        ("ü 中", "ü 中"),
    ],
)
def test_text_is_shown_and_never_obeyed(text: str, line: str) -> None:
    assert safe_line(text) == line
    assert "\x1b" not in safe_text(text)


def test_any_value_is_spelled_as_json() -> None:
    value = {"b": b"\x00\xff", "n": float("nan"), "i": float("inf"), "o": Path("x"), 1: {"t": (1, None)}, "s": "\ud800"}
    assert dump_json(value) == '{"b": "AP8=", "n": null, "i": null, "o": "x", "1": {"t": [1, null]}, "s": "\\ud800"}'


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2_200_000, "2.2 MB")])
def test_sizes_are_shown_with_a_unit(size: int, text: str) -> None:
    assert shown_bytes(size) == text
