"""Copies from a SQLite file to a server, to be killed at any moment: `python -m tests.transfer.copying_process FILE URL PREFIX`."""

from __future__ import annotations

import sys

from langgraph_portable_checkpoint.saver import PortableRedisSaver
from langgraph_portable_checkpoint.transfer.copying import copy_threads
from tests.transfer.threads import sqlite


def main(path: str, url: str, prefix: str) -> None:
    """Say "ready", wait for a line, copy, say what was done."""
    source, target = sqlite(path), PortableRedisSaver.from_url(url, prefix=prefix)
    print("ready", flush=True)
    sys.stdin.readline()
    report = copy_threads(source, target)
    print(f"done {report.threads} {len(report.differences)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
