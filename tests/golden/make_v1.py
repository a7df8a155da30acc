"""Wrote the golden files of version 1. They are never changed: a later version gets a folder and a maker of its own."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_portable_checkpoint import PortableRedisSaver
from langgraph_portable_checkpoint.envelope.exact import to_envelope
from langgraph_portable_checkpoint.envelope.turn_wire import dump_page, dump_turn, turn_to_json
from langgraph_portable_checkpoint.envelope.wire import dump_envelope, json_view
from langgraph_portable_checkpoint.storage.items import MESSAGE, PlainSealer, Secrets, pack, pack_item
from tests.servers import Server
from tests.turns.scenes import Talk, play

FOLDER = Path(__file__).parent / "v1"
PREFIX = "golden"
THREADS = ("odd", "media", "long", "forked", "after failure", "interrupted")
OPEN = Secrets(b"", PlainSealer())


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _keys(server: Server, thread_id: str) -> dict[str, Any]:
    """The thread's keys as they are, by the last part of their names."""
    found: dict[str, Any] = {"hashes": {}, "sorted sets": {}, "sets": {}}
    with server.client() as client:
        for key in client.scan_iter(match=f"{PREFIX}:1:{{t:*", count=1000):
            name = key.decode().rpartition(":")[2]
            if client.hget(key.rpartition(b":")[0] + b":meta", "t") != thread_id.encode():
                continue
            kind = client.type(key)
            if kind == b"hash":
                found["hashes"][name] = [[text(f), text(v)] for f, v in sorted(client.hgetall(key).items())]
            elif kind == b"zset":
                found["sorted sets"][name] = [text(member) for member in client.zrange(key, 0, -1)]
            elif kind == b"set":
                found["sets"][name] = sorted(text(member) for member in client.smembers(key))
    return found


def turns_of(saver: PortableRedisSaver, thread_id: str) -> list[Any]:
    """All turns as JSON, media by reference."""
    found = saver.turns(thread_id, media=False)
    shown = [{"record": turn_to_json(t.record), "messages": [json_view(m) for m in t.messages]} for t in found]
    return json.loads(json.dumps(shown))  # type: ignore[no-any-return]


def _threads(server: Server) -> None:
    with PortableRedisSaver.from_url(server.url, prefix=PREFIX) as saver:
        for scene, talk in play(saver, THREADS).items():
            thread_id = talk.config["configurable"]["thread_id"]
            kind, state = JsonPlusSerializer().dumps_typed(talk.messages)
            made = {
                "thread_id": thread_id,
                **_keys(server, thread_id),
                "turns": turns_of(saver, thread_id),
                "messages": [kind, text(state)],
            }
            _write(f"threads/{scene}.json", made)
            if scene == "media":
                saver.to_json(thread_id, FOLDER / "archive.json")


def _envelopes(server: Server) -> None:
    with PortableRedisSaver.from_url(server.url, prefix="envelopes") as saver:
        talks = play(saver, ["odd", "long"])
        envelopes = [to_envelope(message) for message in talks["odd"].messages]
        _write("messages.json", [{"msgpack": text(dump_envelope(e)), "json": json_view(e)} for e in envelopes])
        records = [turn.record for talk in talks for turn in saver.turns(talk)]
        _write("turns.json", [{"msgpack": text(dump_turn(r)), "json": turn_to_json(r)} for r in records])
        _refused(talks["odd"], records, (FOLDER / "archive.json").read_text())


def _refused(talk: Talk, records: list[Any], archive: str) -> None:
    """What must not be read: damaged, foreign, or from the future. Each with the error and words of its message."""
    record, envelope = records[0], to_envelope(talk.messages[0])
    page: Any = {"v": 1, "turn": 0, "page": 0, "messages": [record["messages"][0]] * 64, "media": []}
    whole, broken = dump_turn(record), "CorruptRecordError"
    future, item = "FutureVersionError", pack_item(MESSAGE, (), envelope, OPEN)[1]
    document = json.loads(archive)

    def turn(**changes: Any) -> bytes:
        return dump_turn({**record, **changes})

    cases: list[tuple[str, str, bytes | str, str, str]] = [
        ("turn", "from the future", turn(v=2), future, "version 2"),
        ("turn", "cut short", whole[:-3], broken, "not msgpack"),
        ("turn", "empty", b"", broken, "not msgpack"),
        ("turn", "a list", pack([1, 2]), broken, "list"),
        ("turn", "without a version", dump_turn({k: v for k, v in record.items() if k != "v"}), broken, "v"),
        ("turn", "of an unknown status", turn(status="paused"), broken, "status"),
        ("turn", "with a negative number", turn(turn=-1), broken, "turn"),
        ("turn", "with messages that are none", turn(messages=[["text", None]]), broken, "messages"),
        ("page", "from the future", dump_page({**page, "v": 7}), future, "version 7"),
        ("page", "one message short", dump_page({**page, "messages": page["messages"][1:]}), broken, "messages"),
        ("message", "from the future", dump_envelope({**envelope, "v": 3}), future, "version 3"),
        ("message", "without content", dump_envelope({"v": 1, "role": "user"}), broken, "content"),
        ("message", "cut short", dump_envelope(envelope)[:-1], broken, "not msgpack"),
        ("message", "an extension type", b"\xd4\x05\x00", broken, "not msgpack"),
        ("item", "of a kind from the future", b"\x93\x0c" + item[2:], future, "kind 12"),
        ("item", "altered", item[:-1] + bytes([item[-1] ^ 1]), broken, "digest"),
        ("item", "cut short", item[:4], broken, "start"),
        ("archive", "from the future", json.dumps({**document, "v": 2}), future, "version 2"),
        ("archive", "something else", json.dumps({"format": "other"}), broken, "format"),
        ("archive", "cut short", archive[:-20], broken, "not JSON"),
        ("archive", "without its messages", json.dumps({**document, "messages": []}), broken, "absent"),
        ("archive", "with other media", archive.replace('"base64": "', '"base64": "AAAA'), broken, "digest"),
    ]
    cases.append(("turn", "v is true", turn(v=True), broken, "v"))
    rows = [
        {"what": what, "name": name, "error": error, "says": says}
        | ({"text": data} if isinstance(data, str) else {"bytes": text(data)})
        for what, name, data, error, says in cases
    ]
    _write("refused.json", rows)


def _write(name: str, value: Any) -> None:
    (FOLDER / name).write_text(json.dumps(value, indent=1, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    with Server.start(tcp=True) as running:
        _threads(running)
        _envelopes(running)
