"""What the fan-out of sequence pages costs: ``python -m benchmarks.fanout [--turns 200]``, the table of docs/decisions.md.

Each fan-out gets a process and an embedded server of its own, so that nothing of the one before is left.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

FANOUTS = (2, 4, 8, 16, 32)
LAST_TURNS = 10


def measure(fanout: int, turns: int) -> str:
    """Drive the thread and return a row of the table."""
    import redis

    from benchmarks.conversation import compile_graph, question
    from langgraph_portable_checkpoint import PortableRedisSaver
    from langgraph_portable_checkpoint.storage import decoder, sequences
    from langgraph_portable_checkpoint.storage.embedded import SOCKET_NAME

    sequences.FANOUT = decoder.FANOUT = fanout  # type: ignore[misc]  # to see what another one would cost
    with tempfile.TemporaryDirectory() as folder, PortableRedisSaver.embedded(folder) as saver:
        graph = compile_graph(saver)
        server = redis.Redis(unix_socket_path=str(Path(folder) / SOCKET_NAME))
        before = 0
        for turn in range(turns):
            if turn == turns - LAST_TURNS:
                before = server.info("stats")["total_net_input_bytes"]
            graph.invoke({"messages": [question(turn)]}, {"configurable": {"thread_id": "t"}})
        sent = (server.info("stats")["total_net_input_bytes"] - before) / LAST_TURNS
        keys = saver._core.layout.thread("t")
        size = sum(server.memory_usage(key, samples=0) or 0 for key in keys)
        items = server.hlen(keys[1])
        server.close()
    return f"| {fanout} | {size / 1e6:.2f} MB | {items:,} | {sent / 1e3:.1f} kB |"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fanout", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--only", type=int, metavar="FANOUT", help="one fan-out, in this process")
    arguments = parser.parse_args(argv)
    if arguments.only is not None:
        print(measure(arguments.only, arguments.turns), flush=True)
        return
    print("| fan-out | thread in the server | items | sent per turn |\n| ---: | ---: | ---: | ---: |", flush=True)
    for fanout in FANOUTS:
        own = [sys.executable, "-m", "benchmarks.fanout", "--only", str(fanout), "--turns", str(arguments.turns)]
        subprocess.run(own, check=True)


if __name__ == "__main__":
    main()
