"""`demo`: the main job, on a real server, in a few seconds. Everything that it prints is measured in that run."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import exits
from .call import THREADS, Call, command
from .output import Output, safe_line, shortened, shown_bytes
from .settings import UsageError
from .show import text_of_message

if TYPE_CHECKING:
    from ..conversation import Turn
    from ..saver import PortableRedisSaver

_AGENT = f"{__package__}.demo_agent"
_LEDGER = "ledger.txt"
_WAITING = "waiting before the answer"


@dataclass
class Measured:
    """What one run of the demo found out."""

    turns: int
    killed_process: int = 0
    killed_by: str = ""
    tool_runs_before: int = 0
    resumed_process: int = 0
    answer: str = ""
    tool_runs: int = 0
    tools_run_twice: int = 0
    checkpoints: int = 0
    messages: int = 0
    size_bytes: int = 0
    full_copies_bytes: int = 0
    statuses: list[str] = field(default_factory=list)
    conversation: str = ""
    seconds: float = 0.0


@command("demo", panel=THREADS, server="no")
def demo(
    call: Call,
    turns: Annotated[int, typer.Option(min=1, max=500, help="Turns of the conversation.")] = 20,
    keep: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep the data and the conversation in this new folder.")
    ] = None,
) -> int:
    """Show what this package does: a crash in the middle of a turn, a resume, sizes, a neutral copy.

    Starts an embedded Valkey, needs no network and no key, and leaves nothing behind unless --keep is given.
    """
    out = call.output
    tell = (lambda text="": None) if out.json else out.write_now
    with _folder(keep) as folder:
        found = Measured(turns)
        started = time.perf_counter()
        _run_and_kill(folder, found, tell)
        _resume(folder, found, tell)
        _look_inside(folder, found, tell, out)
        found.seconds = round(time.perf_counter() - started, 2)
        if out.json:
            out.write_json(asdict(found))
        else:
            _sum_up(found, tell, keep)
    return exits.FINDINGS if found.tools_run_twice else exits.DONE


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="portable-checkpoint-demo-") as folder, _server_ended(Path(folder)):
            yield Path(folder)
        return
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise UsageError(f"{keep} is there and is no empty folder. Name a new one.")
    keep.mkdir(parents=True, exist_ok=True)
    with _server_ended(keep):
        yield keep


@contextmanager
def _server_ended(folder: Path) -> Iterator[None]:
    """End the server that a killed process leaves running, where nobody has joined it to the end."""
    try:
        yield
    finally:
        from ..storage.embedded import SOCKET_NAME, EmbeddedServer

        if (folder / SOCKET_NAME).exists():
            EmbeddedServer.open(folder).close()


def _agent(folder: Path, task: str, turns: int) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", _AGENT, str(folder), task, str(turns)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, encoding="utf-8")


def _run_and_kill(folder: Path, found: Measured, tell: Any) -> None:
    tell(f"1. A tool-calling graph talks for {found.turns} turns, saved by PortableRedisSaver in a real Valkey.")
    agent = _agent(folder, "ask", found.turns)
    from ..transfer import histories  # noqa: F401 (what is needed later is loaded while the agent talks)

    try:
        said = agent.stdout.readline().strip() if agent.stdout else ""
        if said != _WAITING:
            raise UsageError("the demo's first process ended early; its words are above.")
    finally:
        agent.kill()
        agent.communicate()
    found.killed_process, found.killed_by = agent.pid, signal.Signals(-agent.returncode).name
    found.tool_runs_before = len(_ledger(folder))
    tell(
        f"   In turn {found.turns} the tool has run and the answer is not there yet: process {agent.pid} gets SIGKILL."
    )
    tell(f"   It died of {found.killed_by}. The tools' ledger has {found.tool_runs_before} lines; the last one is")
    tell(f"     {_ledger(folder)[-1]}")
    tell()


def _resume(folder: Path, found: Measured, tell: Any) -> None:
    tell("2. Another process opens the thread and finishes the turn: graph.invoke(None, config).")
    agent = _agent(folder, "resume", found.turns)
    try:
        found.answer = agent.communicate()[0].strip()
    finally:
        agent.kill()
    if agent.returncode:
        raise UsageError(f"the resuming process ended with {agent.returncode}; its words are above.")
    found.resumed_process = agent.pid
    lines = _ledger(folder)
    works = [line.partition(" by ")[0] for line in lines]
    found.tool_runs, found.tools_run_twice = len(lines), len(works) - len(set(works))
    tell(f"   Process {agent.pid} says: {safe_line(found.answer)}")
    tell(f"   The ledger has {len(lines)} lines now; {found.tools_run_twice} tools ran twice.")
    tell()


def _look_inside(folder: Path, found: Measured, tell: Any, out: Output) -> None:
    from ..saver import PortableRedisSaver

    with PortableRedisSaver.embedded(folder) as saver:
        _list_turns(saver, found, tell, out)
        _weigh(saver, found, tell)
        _write_out(saver, folder, found, tell, out)


def _list_turns(saver: PortableRedisSaver, found: Measured, tell: Any, out: Output) -> None:
    turns = list(saver.turns("demo"))
    found.messages, found.statuses = sum(len(turn.messages) for turn in turns), [turn.status for turn in turns]
    tell(f"3. The thread's turns, as they stand in the server ({found.messages} messages):")
    for turn in turns[:2]:
        _tell_turn(turn, tell, out.width - 30)
    if len(turns) > 4:
        tell(f"      ... {len(turns) - 4} more ...")
    for turn in turns[2:][-2:]:
        _tell_turn(turn, tell, out.width - 30)
    tell()


def _tell_turn(turn: Turn, tell: Any, width: int) -> None:
    tell(f"   turn {turn.turn:>3}  {turn.status:<9} {len(turn.messages)} messages")
    for message in (turn.messages[0], turn.messages[-1]):
        tell(f"             {message['role']:<10} {shortened(safe_line(text_of_message(message)), width)}")


def _weigh(saver: PortableRedisSaver, found: Measured, tell: Any) -> None:
    """Weigh the thread, and what a saver writes that stores each checkpoint whole, with LangGraph's own serializer."""
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    from .sizes import thread_sizes

    whole = JsonPlusSerializer()
    for checkpoint in saver.list({"configurable": {"thread_id": "demo"}}):
        found.checkpoints += 1
        found.full_copies_bytes += len(whole.dumps_typed(checkpoint.checkpoint)[1])
    found.size_bytes = sum(thread_sizes(saver, "demo").values())
    times = found.full_copies_bytes / found.size_bytes
    here, copies = shown_bytes(found.size_bytes), shown_bytes(found.full_copies_bytes)
    tell(f"4. Its size, with all {found.checkpoints} checkpoints readable:")
    tell(f"   {here:>10}  here: memory of all of the thread's keys, as the server counts it")
    tell(f"   {copies:>10}  the same checkpoints as full copies, bytes alone: {times:.1f} times as much")
    tell()


def _write_out(saver: PortableRedisSaver, folder: Path, found: Measured, tell: Any, out: Output) -> None:
    from ..transfer.histories import export_thread

    export = export_thread(saver, "demo", "agent-checkpoint")
    lines = list(export.lines())
    path = folder / "conversation.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    found.conversation = str(path)
    tell(f"5. The conversation as neutral JSONL: {len(lines)} lines, {len(export.report)} losses. The last turn:")
    for line in lines[-4:]:
        parts = {key: value for key, value in json.loads(line).items() if value is not None}
        tell("   " + shortened(safe_line(json.dumps(parts, ensure_ascii=False)), out.width - 3))
    tell()


def _sum_up(found: Measured, tell: Any, keep: Path | None) -> None:
    tell(f"Done in {found.seconds:.1f} s. Everything above was measured in this run.")
    if keep is not None:
        tell(f"Kept in {keep}: portable-checkpoint show demo --data {keep}")


def _ledger(folder: Path) -> list[str]:
    path = folder / _LEDGER
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
