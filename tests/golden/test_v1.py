"""What version 1 wrote is read exactly, whatever version reads it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_portable_checkpoint import PortableRedisSaver, errors
from langgraph_portable_checkpoint.envelope.archive import archive_from_json, archive_to_json
from langgraph_portable_checkpoint.envelope.turn_wire import (
    dump_turn,
    load_page,
    load_turn,
    turn_from_json,
    turn_to_json,
)
from langgraph_portable_checkpoint.envelope.wire import dump_envelope, json_view, load_envelope
from langgraph_portable_checkpoint.storage.items import PlainSealer, Secrets, digest_of, parse_item
from tests.golden.make_v1 import turns_of
from tests.servers import Room
from tests.turns.scenes import Talk, answered

FOLDER = Path(__file__).parent / "v1"
THREADS = sorted((FOLDER / "threads").glob("*.json"))


def loaded(name: str) -> Any:
    return json.loads((FOLDER / name).read_text())


def data_of(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def restore(room: Room, golden: Any) -> None:
    """Put a thread's keys into the server as they were."""
    base = f"{room.prefix}:1:{{t:{quote(golden['thread_id'], safe='')}}}:"
    with room.client() as client:
        for name, pairs in golden["hashes"].items():
            client.hset(base + name, mapping={data_of(field): data_of(value) for field, value in pairs})
        for name, members in golden["sorted sets"].items():
            client.zadd(base + name, {data_of(member): 0 for member in members})
        for name, members in golden["sets"].items():
            client.sadd(base + name, *map(data_of, members))


@pytest.fixture(params=THREADS, ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest) -> Any:
    return json.loads(request.param.read_text())


@pytest.fixture
def saver(server: Room, golden: Any) -> Iterator[PortableRedisSaver]:
    restore(server, golden)
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix) as made:
        yield made


def test_there_are_golden_threads() -> None:
    assert len(THREADS) >= 6


def test_a_threads_turns_are_read_as_they_were(saver: PortableRedisSaver, golden: Any) -> None:
    assert turns_of(saver, golden["thread_id"]) == golden["turns"]


def test_a_threads_messages_are_read_as_they_were(saver: PortableRedisSaver, golden: Any) -> None:
    kind, data = golden["messages"]
    expected = JsonPlusSerializer(allowed_msgpack_modules=None).loads_typed((kind, data_of(data)))
    assert Talk(saver, golden["thread_id"]).messages == expected


def test_every_checkpoint_of_a_thread_is_read(saver: PortableRedisSaver, golden: Any) -> None:
    found = list(saver.list({"configurable": {"thread_id": golden["thread_id"]}}))
    assert len(found) == len(golden["sorted sets"]["index"])


def test_a_thread_goes_on(saver: PortableRedisSaver, golden: Any) -> None:
    talk = Talk(saver, golden["thread_id"])
    before = len(golden["turns"])
    talk.ask("one more", answered("of course"))
    turns = list(saver.turns(golden["thread_id"]))
    assert len(turns) == before + 1
    assert [turn.record["messages"] for turn in turns[:-2]] == [
        turn_from_json(turn["record"], where="golden")["messages"] for turn in golden["turns"][:-1]
    ]


def test_message_envelopes_are_read_and_written_as_they_were() -> None:
    rows = loaded("messages.json")
    assert rows
    for row in rows:
        envelope = load_envelope(data_of(row["msgpack"]), where="golden")
        assert json_view(envelope) == row["json"]
        assert dump_envelope(envelope) == data_of(row["msgpack"])


def test_turn_envelopes_are_read_and_written_as_they_were() -> None:
    rows = loaded("turns.json")
    assert rows
    for row in rows:
        record = load_turn(data_of(row["msgpack"]), where="golden")
        assert json.loads(json.dumps(turn_to_json(record))) == row["json"]
        assert dump_turn(record) == data_of(row["msgpack"])


def test_the_archive_is_read_and_written_as_it_was() -> None:
    text = (FOLDER / "archive.json").read_text()
    assert archive_to_json(archive_from_json(text)) == text


def test_fields_of_the_archive_that_are_not_known_survive() -> None:
    document = loaded("archive.json")
    document["later"] = {"field": [1, None]}
    document["turns"][0]["mood"] = "good"
    document["messages"][0]["envelope"]["weight"] = 2.5
    document["messages"][0]["envelope"]["content"][0]["colour"] = "red"
    assert json.loads(archive_to_json(archive_from_json(json.dumps(document)))) == document


def _item(data: bytes) -> Any:
    whole = digest_of(data, b"")
    altered = digest_of(data[:-1] + bytes([data[-1] ^ 1]), b"")
    secrets = Secrets(b"", PlainSealer())
    return parse_item(whole if data[1] == 12 else altered, data, secrets=secrets, where="golden")


READ: dict[str, Callable[[Any], Any]] = {
    "turn": lambda data: load_turn(data, where="golden"),
    "page": lambda data: load_page(data, where="golden"),
    "message": lambda data: load_envelope(data, where="golden"),
    "item": _item,
    "archive": archive_from_json,
}


@pytest.mark.parametrize("row", loaded("refused.json"), ids=lambda row: f"{row['what']} {row['name']}")
def test_what_is_damaged_or_from_the_future_is_refused_by_name(row: Any) -> None:
    given = row["text"] if "text" in row else data_of(row["bytes"])
    with pytest.raises(getattr(errors, row["error"])) as refused:
        READ[row["what"]](given)
    assert type(refused.value).__name__ == row["error"]
    assert row["says"] in str(refused.value)
