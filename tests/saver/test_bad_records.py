"""Stored bytes that are damaged, missing, from the future, moved, or forged: a typed error, never wrong data.

Every key and field of a small thread is spoilt in turn with a bare client, whatever it holds, so that no kind of record
can be forgotten here.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_portable_checkpoint import errors
from langgraph_portable_checkpoint.storage.codec import id_to_wire
from langgraph_portable_checkpoint.storage.items import WRITE, PlainSealer, Secrets, pack_record
from langgraph_portable_checkpoint.storage.layout import THREAD_PARTS, Layout
from langgraph_portable_checkpoint.storage.records import load_writes
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.same import comparable, difference

Field = tuple[bytes, bytes]
"""A key and a field of the hash that stands there."""


LAST_TURN: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "media": 1}}


def small_thread(saver: Any) -> Any:
    """Put two checkpoints with messages, a long list, a dict, plain values and writes; return the head's config."""
    place = config("t")
    for step in range(2):
        values = {
            "messages": [
                HumanMessage("hello", id="h"),
                AIMessage([{"type": "text", "text": f"answer {step}"}], id=f"a{step}"),
            ],
            "numbers": list(range(300)),
            "map": {f"key {number}": {"nested": [number]} for number in range(40)},
            "step": step,
            "odd": {1: {2}},
        }
        versions = dict.fromkeys(values, step + 1)
        place = saver.put(place, checkpoint(values, versions), metadata(step, run_id="r"), versions)
        saver.put_writes(place, [("messages", [AIMessage("pending")]), ("step", 7)], "task", "path")
    return place


@pytest.fixture
def thread(make_saver: SaverFactory) -> Any:
    """The head of a small thread on the default server."""
    return small_thread(make_saver())


def fields(factory: SaverFactory) -> Iterator[Field]:
    """Every field of every hash of the thread."""
    with factory.room.client() as client:
        for key in factory.stored():
            if client.type(key) == b"hash":
                yield from ((key, field) for field in sorted(client.hkeys(key)))


def views(saver: Any, place: Any) -> dict[str, Callable[[], Any]]:
    """What a caller may ask about the thread."""
    return {
        "by id": lambda: comparable(saver.get_tuple(place)),
        "head": lambda: comparable(saver.get_tuple(config("t"))),
        "head, media of a turn": lambda: comparable(saver.get_tuple(LAST_TURN)),
        "list, media of a turn": lambda: [comparable(found) for found in saver.list(LAST_TURN)],
        "list": lambda: [comparable(found) for found in saver.list(config("t"))],
        "list of all": lambda: [comparable(found) for found in saver.list(None)],
    }


def check(factory: SaverFactory, place: Any, expected: dict[str, Any], spoilt: object) -> int:
    """Each view is as it was, or fails with a typed error; return how many failed."""
    refused = 0
    for name, view in views(factory(), place).items():
        try:
            found = view()
        except errors.StorageError:
            refused += 1
        else:
            assert difference(found, expected[name]) is None, f"{spoilt} went unnoticed in {name}"
    return refused


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut in half": lambda data: data[: len(data) // 2],
    "last byte missing": lambda data: data[:-1],
    "something appended": lambda data: data + b"\x00",
    "text": lambda data: b"hello, world",
    "json": lambda data: b'{"v": 1}',
    "pickle": lambda data: pickle.dumps({"v": 1}),
    "zeros": lambda data: bytes(len(data)),
    "deep nesting": lambda data: b"\x91" * 100_000,
    "huge declared size": lambda data: b"\xdd\xff\xff\xff\xff" + data,
}


@pytest.mark.parametrize("how", SPOILT)
def test_spoilt_field_is_noticed(make_saver: SaverFactory, thread: Any, how: str) -> None:
    expected = {name: view() for name, view in views(make_saver(), thread).items()}
    refused = 0
    with make_saver.room.client() as client:
        for key, field in fields(make_saver):
            data = client.hget(key, field)
            client.hset(key, field, SPOILT[how](data))
            refused += check(make_saver, thread, expected, (key, field, how)) > 0
            client.hset(key, field, data)
    assert refused > 10, "hardly any field matters: the test does not reach what is read"


def test_missing_field_is_noticed(make_saver: SaverFactory, thread: Any) -> None:
    expected = {name: view() for name, view in views(make_saver(), thread).items()}
    with make_saver.room.client() as client:
        for key, field in fields(make_saver):
            if not key.endswith(b":writes"):  # no writes is what a checkpoint without writes has
                data = client.hget(key, field)
                client.hdel(key, field)
                check(make_saver, thread, expected, (key, field, "missing"))
                client.hset(key, field, data)


VITAL = ("meta", "items", "ckpts", "index")


@pytest.mark.parametrize("parts", [c for size in range(1, 5) for c in combinations((*VITAL, "writes"), size)], ids=str)
def test_evicted_keys_are_not_taken_for_an_empty_thread(
    make_saver: SaverFactory, thread: Any, parts: tuple[str, ...]
) -> None:
    """A server under an allkeys-* policy drops any of a thread's keys; what is left must not look like a new thread."""
    expected = {name: view() for name, view in views(make_saver(), thread).items()}
    with make_saver.room.client() as client:
        keys = dict(zip(THREAD_PARTS, Layout(make_saver.room.prefix).thread("t"), strict=True))
        assert client.delete(*(keys[part] for part in parts)) == len(parts)
    if parts == ("writes",):
        expected = {name: view() for name, view in views(make_saver(), thread).items()}  # as before any write
    check(make_saver, thread, expected, f"{parts} missing")
    if not set(VITAL).isdisjoint(parts):
        with pytest.raises(errors.CorruptRecordError, match="evict"):
            make_saver().put(config("t"), checkpoint({"n": 1}), metadata(), {"n": 1})


@pytest.mark.parametrize("had", ["a conversation", "a subgraph", "writes"])
def test_a_thread_of_which_only_meta_and_items_are_left_is_not_taken_for_an_empty_one(
    make_saver: SaverFactory, had: str
) -> None:
    saver, place = make_saver(), config("t", ns="sub:1" if had == "a subgraph" else "")
    if had == "writes":
        saver.put_writes(config("t", "1"), [("n", "1" * 1000)], "task")
    else:
        saver.put(place, checkpoint({"n": "1" * 1000}), metadata(), {"n": 1})
    with make_saver.room.client() as client:
        client.delete(*(key for key in make_saver.stored() if not key.endswith((b":meta", b":items", b":threads"))))
    for call in (
        lambda saver: saver.get_tuple(place),
        lambda saver: saver.put(place, checkpoint({"n": 1}), metadata(), {"n": 1}),
    ):
        with pytest.raises(errors.CorruptRecordError, match="evict"):
            call(make_saver())


def test_flipped_bit_of_an_item_is_noticed(make_saver: SaverFactory, thread: Any) -> None:
    expected = {name: view() for name, view in views(make_saver(), thread).items()}
    with make_saver.room.client() as client:
        for key, field in fields(make_saver):
            if key.endswith(b":items"):
                data = client.hget(key, field)
                for position in range(0, len(data), max(1, len(data) // 8)):
                    client.hset(key, field, data[:position] + bytes([data[position] ^ 4]) + data[position + 1 :])
                    check(make_saver, thread, expected, (key, field, position))
                client.hset(key, field, data)


def test_swapped_items_are_noticed(make_saver: SaverFactory, thread: Any) -> None:
    expected = {name: view() for name, view in views(make_saver(), thread).items()}
    with make_saver.room.client() as client:
        items = [(key, field, client.hget(key, field)) for key, field in fields(make_saver) if key.endswith(b":items")]
        for (key, field, data), (_, _, other) in zip(items, items[1:] + items[:1], strict=True):
            client.hset(key, field, other)
            check(make_saver, thread, expected, (key, field, "swapped"))
            client.hset(key, field, data)


@pytest.mark.parametrize("data", [b"\x93\x01\xc4", b"\x93\x01\xc5\x00", b"\x93\x01\xc6\x00\x00\x00"])
@pytest.mark.parametrize("part", ["items", "ckpts"])
def test_what_is_cut_off_in_its_header_is_corrupt(
    make_saver: SaverFactory, thread: Any, part: str, data: bytes
) -> None:
    with make_saver.room.client() as client:
        for key, field in fields(make_saver):
            if key.endswith(f":{part}".encode()):
                client.hset(key, field, data)
    with pytest.raises(errors.CorruptRecordError):
        make_saver().get_tuple(thread)
    with pytest.raises(errors.CorruptRecordError):
        make_saver().put(thread, checkpoint({"n": 1}), metadata(), {"n": 1})


@pytest.mark.parametrize("part", ["items", "ckpts"])
def test_record_of_a_newer_version_is_refused_by_name(make_saver: SaverFactory, thread: Any, part: str) -> None:
    with make_saver.room.client() as client:
        for key, field in fields(make_saver):
            if key.endswith(f":{part}".encode()):
                data = client.hget(key, field)
                client.hset(key, field, b"\x93\x3f" + data[2:])  # a kind that this version does not know
    with pytest.raises((errors.FutureVersionError, errors.CorruptRecordError)) as caught:
        make_saver().get_tuple(thread)
    assert part == "items" or isinstance(caught.value, errors.FutureVersionError)


@pytest.mark.parametrize("spoilt", [([1], "step", ""), (0, ["step"], ""), (0, "step", 7), ({}, None, None)])
def test_a_pending_write_whose_parts_are_of_other_types_is_corrupt(spoilt: tuple[Any, Any, Any]) -> None:
    secrets, place, key = Secrets(b"", PlainSealer()), b"\0c", b"task\x000"
    frames = b""
    for parts in ((0, "step", ""), spoilt):
        body = [id_to_wire("task"), *parts, [b"\x01"]]
        record = pack_record(WRITE, (), body, secrets=secrets, place=place + b"\0" + key)
        rest = len(key).to_bytes(2, "big") + key + record
        frames += len(rest).to_bytes(4, "big") + rest
    with pytest.raises(errors.CorruptRecordError, match="pending write"):
        load_writes(frames, place=place, secrets=secrets, where="a thread")


def test_older_checkpoints_stay_readable_beside_a_spoilt_one(make_saver: SaverFactory, thread: Any) -> None:
    head = thread["configurable"]["checkpoint_id"].encode()
    with make_saver.room.client() as client:
        for key, field in fields(make_saver):
            if key.endswith(b":ckpts") and head in field:
                client.hset(key, field, b"spoilt")
    saver = make_saver()
    with pytest.raises(errors.CorruptRecordError, match="t"):
        saver.get_tuple(config("t"))
    older = [found.checkpoint["channel_values"]["step"] for found in saver.list(config("t"), before=thread)]
    assert older == [0]


class ForgingSerializer(JsonPlusSerializer):
    """Stores what an attacker with write access would: chosen bytes under a chosen type."""

    def __init__(self, type_: str, data: bytes) -> None:
        super().__init__()
        self.forged = type_, data

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return self.forged if obj == "forge" else super().dumps_typed(obj)


class Marks:
    """Unpickled, it leaves a mark."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def _ext(code: int, *parts: Any) -> tuple[str, bytes]:
    return "msgpack", ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(parts)))


def _constructor(path: Path) -> tuple[str, bytes]:
    return "json", b'{"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["touch %s"]}' % bytes(path)


FORGERIES: dict[str, Callable[[Path], tuple[str, bytes]]] = {
    "os.system": lambda path: _ext(0, "os", "system", f"touch {path}"),
    "os.system by position": lambda path: _ext(1, "os", "system", [f"touch {path}"]),
    "subprocess": lambda path: _ext(2, "subprocess", "Popen", {"args": ["touch", str(path)]}),
    "eval": lambda path: _ext(0, "builtins", "eval", f"open({str(path)!r}, 'w')"),
    "method": lambda path: _ext(3, "pathlib", "Path", str(path), "touch"),
    "model": lambda path: _ext(5, "subprocess", "Popen", {"args": ["touch", str(path)]}, "model_validate_json"),
    "old model": lambda path: _ext(4, "subprocess", "Popen", {"args": ["touch", str(path)]}),
    "import": lambda path: _ext(0, "trap_module", "Anything", 1),
    "import of a model": lambda path: _ext(5, "trap_module", "Anything", {}, "model_validate_json"),
    "pickle": lambda path: ("pickle", pickle.dumps(Marks(path))),
    "json constructor": _constructor,
    "unknown type": lambda path: ("shell", f"touch {path}".encode()),
}


@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize("place", ["channel", "write", "nested"])
def test_forged_value_imports_and_calls_nothing(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgery: str, place: str
) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "trap_module.py").write_text("class Anything: pass")
    monkeypatch.syspath_prepend(tmp_path)
    forging = make_saver(serde=ForgingSerializer(*FORGERIES[forgery](mark)))
    made = checkpoint({"messages": ["forge"] if place == "nested" else "forge" if place == "channel" else 1})
    put = calls.put(forging, config("t"), made, {}, {"messages": 1})
    if place == "write":
        calls.put_writes(forging, put, [("messages", "forge")], "task")
    with suppress(errors.StorageError):
        calls.get_tuple(make_saver(), put)
    assert not mark.exists()
    assert "trap_module" not in sys.modules


@pytest.mark.parametrize("how", [*SPOILT, "flipped bit"])
def test_spoilt_media_is_never_passed_off_as_the_file(make_saver: SaverFactory, calls: Calls, how: str) -> None:
    """A file may become a placeholder; other bytes than those that were sent must not come back."""
    picture = b"\x89PNG" + bytes(range(256)) * 400
    block = {"type": "media", "mime_type": "image/png", "data": picture}
    values = {"messages": [HumanMessage([block])], "file": picture}
    put = calls.put(make_saver(), config("t"), checkpoint(values), metadata(), dict.fromkeys(values, 1))
    spoilt = 0
    with make_saver.room.client() as client:
        for key, field in list(fields(make_saver)):
            data = client.hget(key, field)
            if picture in data:
                spoilt += 1
                flipped = data[:5000] + bytes([data[5000] ^ 1]) + data[5001:]
                client.hset(key, field, flipped if how == "flipped bit" else SPOILT[how](data))
    assert spoilt == 1, "the file is stored once"
    with suppress(errors.StorageError):
        found = calls.get_tuple(make_saver(), put)
        assert found is not None
        held = found.checkpoint["channel_values"]
        for seen in (held["file"], held["messages"][0].content[0]):
            assert "not available" in str(seen)
