"""How the tests run the program: in this process where that is enough, as a process of its own where manners count."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from langgraph_portable_checkpoint.cli.app import run
from langgraph_portable_checkpoint.saver import PortableRedisSaver
from tests.servers import Room

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, "-m", "langgraph_portable_checkpoint.cli"]


@dataclass(frozen=True)
class Ran:
    """What a run left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Cli = Callable[..., Ran]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in [name for name in os.environ if name.startswith(("PORTABLE_CHECKPOINT_", "AGENT_CHECKPOINT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs the program in this process."""

    def call(*arguments: object) -> Ran:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return call


def start(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Start the program as a process of its own, with pipes."""
    pipe = subprocess.PIPE
    settings: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe, "text": True, **options}
    settings["env"] = {**os.environ, "PYTHONPATH": str(ROOT), **settings.get("env", {})}
    # A runner that was started in the background ignores SIGINT, and what it starts would too.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen([*PROGRAM, *map(str, arguments)], **settings)
    finally:
        signal.signal(signal.SIGINT, before)


def process(*arguments: object, **options: Any) -> Ran:
    """Run the program as a process of its own to its end."""
    with start(*arguments, **options) as running:
        out, err = running.communicate(timeout=120)
    return Ran(running.returncode, out, err)


@pytest.fixture
def on_server(cli: Cli, server: Room) -> Cli:
    """Runs the program in this process, on the test's own prefix of the default server."""

    def call(name: str, *arguments: object) -> Ran:
        return cli(name, "--redis-url", server.url, "--prefix", server.prefix, *arguments)

    return call


@pytest.fixture
def saver(server: Room) -> Iterator[PortableRedisSaver]:
    """A saver on the same prefix."""
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as opened:
        yield opened
