"""Reads the turns of a thread with a Redis client and a msgpack library, from docs/format.md alone.

Usage: python reader.py URL PREFIX, then thread ids on stdin, one JSON string a line; prints one line per thread: a JSON
list of `{"record": ..., "messages": [...]}`, or `{"refused": why}`. `record` is null where the stored turns do not belong
to the head and the conversation was read from the head's checkpoint.
"""

from __future__ import annotations

import base64
import json
import math
import sys
from hashlib import blake2b
from typing import Any
from urllib.parse import quote
from uuid import UUID

import msgpack
import redis

MESSAGE, VALUE, LEAF, INNER, SHAPE, CHECKPOINT, SEALED = 1, 2, 3, 4, 5, 16, 64
BATCH = 500
SUMMARIES = {"summarization", "summary", "compaction", "compact", "isCompactSummary"}
OPAQUE: dict[str, Any] = {"v": 1, "role": "other", "content": []}


class Refused(Exception):
    """The thread cannot be read; says why."""


def unpack(data: bytes) -> Any:
    return msgpack.unpackb(data, strict_map_key=False, unicode_errors="surrogatepass")


def checked(what: str, envelope: dict[str, Any]) -> dict[str, Any]:
    if envelope["v"] != 1:
        raise Refused(f"{what} has version {envelope['v']}; this reader reads version 1")
    return envelope


class Reader:
    """One thread."""

    def __init__(self, client: redis.Redis, prefix: str, thread_id: str) -> None:
        self.client = client
        self.base = f"{prefix}:1:{{t:{quote(thread_id, safe='')}}}:"
        self.items: dict[bytes, list[Any]] = {}

    def turns(self) -> list[dict[str, Any]]:
        """Section 8, steps 2 to 5."""
        with self.client.pipeline(transaction=True) as pipe:
            pipe.hmget(self.base + "meta", "g", "k", "th", "tn")
            pipe.zrevrangebylex(self.base + "index", b"(\x01", b"[\x00", 0, 1)
            pipe.hgetall(self.base + "turns")
            (generation, key, place, count), heads, fields = pipe.execute()
        if generation is None:
            return []
        if key is not None:
            raise Refused("the thread is sealed")
        if not heads:
            return []
        if heads[0] != place:
            return [{"record": None, "messages": messages} for messages in cut(self.conversation(heads[0]))]
        records = [checked(f"turn {n}", unpack(fields[b"%d" % n])) for n in range(int(count or 0))]
        listed = [self.entries(record, fields) for record in records]
        self.fetch([entry[0] for entries in listed for entry in entries])
        return [
            {"record": as_record(record), "messages": [self.message(entry[0], entry[1]) for entry in entries]}
            for record, entries in zip(records, listed, strict=True)
        ]

    def entries(self, record: dict[str, Any], fields: dict[bytes, bytes]) -> list[list[Any]]:
        """All messages of a turn: those on pages, then its own."""
        found: list[list[Any]] = []
        for page in range(record.get("pages", 0)):
            found += checked("page", unpack(fields[b"%d:%d" % (record["turn"], page)]))["messages"]
        found += record["messages"]
        if len(found) != record["count"]:
            raise Refused(f"turn {record['turn']} has {len(found)} of {record['count']} messages")
        return found

    def fetch(self, refs: list[bytes]) -> None:
        """Section 6: read items and check their digests."""
        wanted = [ref for ref in dict.fromkeys(refs) if ref not in self.items]
        for at in range(0, len(wanted), BATCH):
            some = wanted[at : at + BATCH]
            for ref, data in zip(some, self.client.hmget(self.base + "items", some), strict=True):
                if data is None or blake2b(data, digest_size=16).digest() != ref:
                    raise Refused(f"item {ref.hex()} is missing or altered")
                self.items[ref] = unpack(data)

    def message(self, ref: bytes, message_id: str | None) -> dict[str, Any]:
        kind, _, body = self.items[ref]
        if kind == VALUE:
            return {**OPAQUE, "id": message_id}
        if kind != MESSAGE:
            raise Refused(f"item {ref.hex()} is of kind {kind}")
        return {**checked("message", body[0] if isinstance(body, list) else body), "id": message_id}

    def conversation(self, place: bytes) -> list[dict[str, Any]]:
        """Section 7: the messages of a checkpoint."""
        kind, refs, (_, _, wires) = unpack(self.client.hget(self.base + "ckpts", place) or b"")
        if kind != CHECKPOINT:
            raise Refused(f"the checkpoint record is of kind {kind}")
        refs = split(refs)
        self.fetch(refs[:1])
        channels = self.items[refs[0]][2][1]
        found: dict[str, list[tuple[Any, list[bytes]]]] = {}
        for channel, (wire, taken) in zip(channels, self.taken(wires, refs[1:]), strict=True):
            if isinstance(wire, list) and len(wire) == 3 and wire[1] == 0:
                found[channel] = self.sequence(wire, taken)
        talks = {name: entries for name, entries in found.items() if is_message(entries[0][0])}
        entries = talks.get("messages") or next(iter(talks.values()), [])
        self.fetch([taken[0] for _, taken in entries])
        return [self.message(taken[0], id_of(wire)) for wire, taken in entries]

    def taken(self, wires: list[Any], refs: list[bytes]) -> list[tuple[Any, list[bytes]]]:
        """Give each entry the refs it consumes."""
        given, at = [], 0
        for wire in wires:
            size = refs_of(wire)
            given.append((wire, refs[at : at + size]))
            at += size
        return given

    def sequence(self, wire: list[Any], refs: list[bytes]) -> list[tuple[Any, list[bytes]]]:
        size, _, loose = wire
        levels = levels_of(size)
        entries: list[tuple[Any, list[bytes]]] = []
        for ref in refs[: len(levels)]:
            entries += self.page(ref)
        entries += self.taken(loose, refs[len(levels) :])
        if len(entries) != size:
            raise Refused(f"a sequence has {len(entries)} of {size} entries")
        return entries

    def page(self, ref: bytes) -> list[tuple[Any, list[bytes]]]:
        self.fetch([ref])
        kind, refs, body = self.items[ref]
        if kind == LEAF:
            return self.taken(body, split(refs))
        self.fetch(split(refs))
        return [entry for child in split(refs) for entry in self.page(child)]


def split(refs: bytes) -> list[bytes]:
    return [refs[at : at + 16] for at in range(0, len(refs), 16)]


def levels_of(size: int) -> list[int]:
    """Of which level each page of a sequence is, in the order in which they are named."""
    counts = []
    while size >= 4:
        size //= 4
        counts.append(size)
    above = [*counts[1:], 0]
    return [level for level in range(len(counts), 0, -1) for _ in range(counts[level - 1] - 4 * above[level - 1])]


def refs_of(wire: Any) -> int:
    if not isinstance(wire, list):
        return 1
    return len(levels_of(wire[0])) + sum(map(refs_of, wire[2])) if len(wire) == 3 else 0


def is_message(wire: Any) -> bool:
    return wire is None or isinstance(wire, (str, bytes))


def id_of(wire: Any) -> str | None:
    return str(UUID(bytes=wire)) if isinstance(wire, bytes) else wire


def cut(messages: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Section 3: where turns begin."""
    turns: list[list[dict[str, Any]]] = []
    phase = ""
    for message in messages:
        told = {**message.get("state", {}), **message.get("extras", {})}
        kwargs = told.get("additional_kwargs")
        source = (kwargs if isinstance(kwargs, dict) else told).get("lc_source")
        source = source if isinstance(source, str) else None
        summary = source in SUMMARIES or told.get("isCompactSummary") is True
        typed = message["role"] == "user" and message.get("typed_by_user", True) and source is None and not summary
        if not turns or (typed and phase != "asked"):
            turns.append([])
            phase = "asked"
        turns[-1].append(message)
        if message["role"] == "assistant" and not summary:
            asks = any(block["type"] == "tool_call" for block in message["content"])
            phase = "working" if asks else "answered"
        elif message["role"] == "tool" and phase == "asked" and not summary:
            phase = "working"
    return turns


def as_record(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "messages": [[entry[0].hex(), *entry[1:]] for entry in record["messages"]]}


def as_json(value: Any) -> Any:
    """What JSON cannot say: bytes as base64, numbers that are not finite as null."""
    if isinstance(value, dict):
        return {str(key): as_json(part) for key, part in value.items()}
    if isinstance(value, list):
        return [as_json(part) for part in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def main(url: str, prefix: str) -> None:
    with redis.Redis.from_url(url) as client:
        for line in sys.stdin:
            try:
                answer: Any = Reader(client, prefix, json.loads(line)).turns()
            except Refused as refused:
                answer = {"refused": str(refused)}
            print(json.dumps(as_json(answer)))


if __name__ == "__main__":
    main(*sys.argv[1:])
