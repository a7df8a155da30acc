"""Writes the last section of docs/format.md: a small thread as it lies in the server.

`python -m tests.readers.dump` rewrites the page; a test compares it. Clock, random bytes and ids are fixed, and versions
are replaced by `...`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgpack
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint import PortableRedisSaver
from tests.servers import Server

PAGE = Path(__file__).resolve().parents[2] / "docs/format.md"
HEADING = "## 11. A thread, byte by byte\n"
START = "\n```text\n"
CLOCK_MS = 1_767_225_600_000
UUID = "00000000-0000-4000-8000-{:012d}"
CONVERSATION = [
    HumanMessage("What is the weather in Paris?", id="q-1"),
    AIMessage("", id=UUID.format(1), tool_calls=[{"name": "weather", "args": {"city": "Paris"}, "id": "call-1"}]),
    ToolMessage("18 degrees", id="t-1", tool_call_id="call-1"),
    AIMessage(
        "It is 18 degrees.",
        id=UUID.format(2),
        response_metadata={"model_provider": "openai", "model_name": "some-model"},
        usage_metadata={"input_tokens": 40, "output_tokens": 8, "total_tokens": 48},
    ),
]


def fill(saver: PortableRedisSaver, thread_id: str) -> None:
    """Put the conversation, one checkpoint per message."""
    config: Any = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
    for step in range(len(CONVERSATION)):
        saver._core.now_ms = lambda step=step: CLOCK_MS + 1000 * step  # type: ignore[misc]
        checkpoint: Any = {
            "v": 4,
            "id": f"1f0e6a00-0000-6000-8000-{step:012d}",
            "ts": f"2026-01-01T00:00:0{step}+00:00",
            "channel_values": {"messages": CONVERSATION[: step + 1]},
            "channel_versions": {"messages": step + 1},
            "versions_seen": {},
            "updated_channels": ["messages"],
        }
        metadata: Any = {"source": "loop", "step": step, "parents": {}, "run_id": "run-1"}
        config = saver.put(config, checkpoint, metadata, {"messages": step + 1})


def raw_hashes(server: Server, pattern: str) -> dict[str, dict[bytes, bytes]]:
    """Read the hashes of a thread as they are, by the last part of their keys."""
    with server.client() as client:
        keys = sorted(client.scan_iter(match=pattern, count=1000))
        return {key.decode().rpartition(":")[2]: client.hgetall(key) for key in keys if client.type(key) == b"hash"}


def notation(value: Any) -> str:
    """Write msgpack values down: JSON, with bytes as h'..'."""
    if isinstance(value, bytes):
        return f"h'{value.hex()}'"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{notation(key)}: {notation(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(notation, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "nil", True: "true", False: "false"}[value]
    return '"' + value.replace('"', '\\"') + '"' if isinstance(value, str) else str(value)


def _opened(data: bytes) -> Any:
    value = msgpack.unpackb(data, strict_map_key=False)
    if isinstance(value, dict) and "writer" in value:
        value["framework"]["version"] = value["writer"]["version"] = "..."
    return value


def _text(name: bytes) -> str:
    return f'"{name.decode()}"' if name.isascii() and name.decode().isprintable() else f"h'{name.hex()}'"


def dump() -> str:
    """Return the section's block."""
    with Server.start(tcp=True) as server, PortableRedisSaver.from_url(server.url) as saver:
        saver._core.random_bytes = lambda size: bytes(range(size))  # type: ignore[method-assign]
        fill(saver, "demo")
        hashes = raw_hashes(server, "lpc:1:{t:demo}:*")
        with server.client() as client:
            places = client.zrange("lpc:1:{t:demo}:index", 0, -1)
            left = sorted(key.decode() for key in client.scan_iter(match="lpc:1:{t:demo}:*"))
    lines = ["keys:", *(f"  {key}" for key in left), "", "index, in order:", *(f"  {_text(place)}" for place in places)]
    for part in ("meta", "turns", "items", "ckpts"):
        lines += ["", f"{part}:"]
        for name, data in sorted(hashes[part].items()):
            shown = _text(data) if part == "meta" else notation(_opened(data))
            lines += [f"  {_text(name)} ->", f"    {shown}"]
    return "\n".join(lines) + "\n"


def rewritten(page: str) -> str:
    """Return the page with its last block made anew."""
    before, heading, rest = page.partition(HEADING)
    about = rest.partition(START)[0].rstrip("\n")
    return f"{before}{heading}{about}\n{START}{dump()}```\n"


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text()))
