"""Who can write to the server but has no key moves ciphertexts about: nothing is read, or written, under a wrong one."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_portable_checkpoint import errors
from langgraph_portable_checkpoint.storage.layout import Layout
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.test_interruptions import made

SERDE = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
REFUSED = (errors.CorruptRecordError, errors.PlaintextRecordError)


def keys_of(factory: SaverFactory, thread_id: str) -> tuple[bytes, ...]:
    return Layout(factory.room.prefix).thread(thread_id)


def use(saver: Any, thread_id: str) -> None:
    """Read and write a thread; each must be refused."""
    place = config(thread_id)
    for attempt in (
        lambda: saver.get_tuple(place),
        lambda: saver.get_tuple(config(thread_id, "0001")),
        lambda: list(saver.list(place)),
        lambda: list(saver.turns(thread_id)),
        lambda: saver.copy_thread(thread_id, "another"),
        lambda: saver.put(config(thread_id, "0002"), checkpoint({"n": 1}), metadata(), {"n": 1}),
    ):
        with pytest.raises(REFUSED):
            attempt()


def test_a_whole_thread_moved_to_another_id_is_refused(make_saver: SaverFactory) -> None:
    made(make_saver(serde=SERDE))
    with make_saver.room.client() as client:
        for source, target in zip(keys_of(make_saver, "t"), keys_of(make_saver, "victim"), strict=True):
            client.copy(source, target)
    use(make_saver(serde=SERDE), "victim")


@pytest.mark.parametrize("planted", ["key of another thread", "chosen key", "cut key", "open key", "none"])
def test_a_thread_begun_with_a_planted_key_takes_no_write(make_saver: SaverFactory, planted: str) -> None:
    """Whoever knows the digest key can tell equal contents; it must be one that this thread's writer drew."""
    made(make_saver(serde=SERDE))
    with make_saver.room.client() as client:
        key = {
            "key of another thread": client.hget(keys_of(make_saver, "t")[0], "k"),
            "chosen key": msgpack.packb(list(SERDE.dumps_typed(b"x" * 40 + b"victim"))),
            "cut key": msgpack.packb(list(SERDE.dumps_typed(b"lpc-key:" + b"x" * 20 + b"victim"))),
            "open key": msgpack.packb(["bytes", b"lpc-key:" + b"x" * 32 + b"victim"]),
            "none": None,
        }[planted]
        meta = {"g": b"generation", "t": b"victim"} | ({} if key is None else {"k": key})
        client.hset(keys_of(make_saver, "victim")[0], mapping=meta)
        before = client.hgetall(keys_of(make_saver, "victim")[0])
        for saver in (make_saver(serde=SERDE), make_saver(serde=SERDE)):
            with pytest.raises(REFUSED):
                saver.put(config("victim"), checkpoint({"n": 1}), metadata(), {"n": 1})
            with pytest.raises(REFUSED):
                saver.put_writes(config("victim", "1"), [("n", 1)], "task")
        assert client.hgetall(keys_of(make_saver, "victim")[0]) == before


@pytest.mark.parametrize("part", [2, 4, 5, 7])
def test_records_moved_between_places_and_threads_are_refused(make_saver: SaverFactory, part: int) -> None:
    """The same user may own both; a record says where it belongs, and under which key."""
    for thread_id in ("t", "other"):
        made(make_saver(serde=SERDE), thread_id)
    with make_saver.room.client() as client:
        own, other = (keys_of(make_saver, thread_id)[part] for thread_id in ("t", "other"))
        fields = sorted(client.hkeys(own))
        values = client.hmget(own, fields)
        for moved in (values[1:] + values[:1], client.hmget(other, fields)):
            for field, value, was in zip(fields, moved, values, strict=True):
                if value is not None and value != was:
                    client.hset(own, field, value)
                    with pytest.raises(REFUSED):
                        look(make_saver(serde=SERDE), part)
                    client.hset(own, field, was)
    look(make_saver(serde=SERDE), part)


def look(saver: Any, part: int) -> None:
    """Read what stands in a part of the thread."""
    if part == 5:
        list(saver.turns("t"))
    elif part == 7:
        if any(entry.reason for entry in saver.media_report("t")):
            raise errors.CorruptRecordError("media", where="t", reason="told in the report")
    else:
        list(saver.list(config("t")))


def cut(data: bytes) -> tuple[bytes, bytes, bytes]:
    """Cut a record into its kind, its refs with their header, and its body."""
    width = {0xC4: 1, 0xC5: 2}[data[2]]
    stop = 3 + width + int.from_bytes(data[3 : 3 + width], "big")
    return data[1:2], data[2:stop], data[stop:]


def spliced(kind: bytes, refs: bytes, body: bytes) -> bytes:
    return b"\x93" + kind + refs + body


def test_refs_of_one_checkpoint_under_the_body_of_another_are_refused(make_saver: SaverFactory) -> None:
    """Refs stand in the open, so that the server can follow them; the sealed body tells which they were."""
    saver = make_saver(serde=SERDE)
    for number in ("1", "2"):
        values = {"text": f"text of checkpoint {number} " * 20}
        saver.put(config("t"), checkpoint(values, checkpoint_id=number), metadata(), {"text": 1})
    with make_saver.room.client() as client:
        key = keys_of(make_saver, "t")[2]
        places = sorted(client.hkeys(key))
        records = client.hgetall(key)
        for place, other in zip(places, places[1:] + places[:1], strict=True):
            (kind, refs, body), (_, foreign, _) = cut(records[place]), cut(records[other])
            assert refs != foreign
            client.hset(key, place, spliced(kind, foreign, body))
            with pytest.raises(REFUSED):
                list(make_saver(serde=SERDE).list(config("t")))
            client.hset(key, place, records[place])


def test_an_open_body_over_the_refs_of_a_sealed_checkpoint_is_refused(make_saver: SaverFactory) -> None:
    """The items are genuine, the metadata and the parent forged."""
    made(make_saver(serde=SERDE))
    with make_saver.room.client() as client:
        key = keys_of(make_saver, "t")[2]
        sealed = client.hgetall(key)
        plain = make_saver(prefix=f"{make_saver.room.prefix}:plain")
        made(plain)
        open_records = client.hgetall(Layout(f"{make_saver.room.prefix}:plain").thread("t")[2])
        for place, data in sealed.items():
            kind, _, body = cut(open_records[place])
            client.hset(key, place, spliced(kind, cut(data)[1], body))
        for attempt in (lambda s: s.get_tuple(config("t")), lambda s: list(s.list(config("t")))):
            with pytest.raises(errors.PlaintextRecordError):
                attempt(make_saver(serde=SERDE))
