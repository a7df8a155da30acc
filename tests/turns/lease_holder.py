"""A process that takes a thread for a turn and keeps it until it is killed: `python -m tests.turns.lease_holder URL PREFIX`."""

from __future__ import annotations

import sys
import time

from langgraph_portable_checkpoint import PortableRedisSaver
from tests.turns.scenes import Talk, answered


def main(url: str, prefix: str) -> None:
    saver = PortableRedisSaver.from_url(url, prefix=prefix)
    with saver.exclusive_turn("t", lease_seconds=1):
        Talk(saver, "t").ask("from the holder", answered("yes"))
        print("held", flush=True)
        time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
