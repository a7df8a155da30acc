"""`resume`: run a command that goes on from a checkpoint."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from .call import FILES, Call, command
from .histories import AsThread, read_history, text_of, thread_envelopes
from .losses import tell_losses
from .settings import UsageError

VARIABLE: Final = "AGENT_CHECKPOINT_INIT"
NOT_EXECUTABLE, NO_COMMAND = 126, 127
_PASSED_ON: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_FROM_TERMINAL: Final = ("SIGINT", "SIGQUIT")


@command("resume", panel=FILES)
def resume(
    call: Call,
    checkpoint: Annotated[str, typer.Argument(metavar="CHECKPOINT", help="An agent-checkpoint file, or a thread.")],
    argv: Annotated[list[str], typer.Argument(metavar="-- COMMAND", help="The command and its arguments.")],
    thread: AsThread = False,
) -> int:
    """Run a command with AGENT_CHECKPOINT_INIT naming the checkpoint; signals and the exit code are passed on.

    A thread is written to a checkpoint file for as long as the command runs. The exit code is the command's own, 128
    and the signal if one ended it, 127 if there is no such command, 126 if it cannot be run.
    """
    with _checkpoint_file(call, checkpoint, as_thread=thread) as path:
        return run_with(path, argv, call)


@contextmanager
def _checkpoint_file(call: Call, name: str, *, as_thread: bool) -> Iterator[Path]:
    path = Path(name)
    if not as_thread and path.exists():
        _check(path)
        yield path.absolute()
        return
    if not as_thread and not call.names_server():
        raise UsageError(
            f"there is no file {name}. To take it for a thread, name its server with --redis-url or --data."
        )
    from ..dialects.export import export_messages

    export = export_messages(thread_envelopes(call, name), "agent-checkpoint")
    tell_losses(export.report, call.output, report=None, strict=False)
    with tempfile.TemporaryDirectory(prefix="portable-checkpoint-") as folder:
        path = Path(folder) / "checkpoint.jsonl"
        path.write_text(text_of(export), encoding="utf-8")
        yield path


def _check(path: Path) -> None:
    """Refuse what a command could not seed from: anything but lines in the format."""
    if path.is_file() and path.read_bytes()[:100].lstrip()[:1] == b"[":
        raise UsageError(f"{path} is a transcript, no checkpoint. Make one: portable-checkpoint save {path} -o FILE.")
    read_history(path, dialect="agent-checkpoint")


def run_with(path: Path, argv: Sequence[str], call: Call) -> int:
    """Run a command with the checkpoint in its environment; return its exit code."""
    try:
        child = subprocess.Popen(argv, env={**os.environ, VARIABLE: str(path)})
    except FileNotFoundError:
        call.output.insist(f"portable-checkpoint: there is no command {argv[0]}.")
        return NO_COMMAND
    except OSError as error:
        call.output.insist(f"portable-checkpoint: {argv[0]} cannot be run: {error.strerror}.")
        return NOT_EXECUTABLE
    with _passing_signals_to(child):
        code = child.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def _passing_signals_to(child: subprocess.Popen[Any]) -> Iterator[None]:
    def pass_on(number: int, frame: object) -> None:
        # What is typed at a terminal reaches every process in its foreground by itself, the child too.
        if signal.Signals(number).name not in _FROM_TERMINAL or not _in_foreground():
            with suppress(ProcessLookupError):
                child.send_signal(number)

    numbers = [getattr(signal, name) for name in _PASSED_ON if hasattr(signal, name)]
    before = {number: signal.signal(number, pass_on) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
