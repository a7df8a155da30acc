"""Media that lie, are altered in the server or the store, or declare what cannot be: reported, and the thread is read."""

from __future__ import annotations

import base64
import copy
import hashlib
import threading
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_portable_checkpoint import MediaHooks, MediaPolicy, export_thread
from langgraph_portable_checkpoint.errors import LossyExportError, MediaStoreError, UnserializableValueError
from langgraph_portable_checkpoint.storage.items import pack
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.conftest import calls as calls
from tests.saver.conftest import make_saver as make_saver

PNG = b"\x89PNG\r\n\x1a\n" + b"".join(hashlib.sha256(bytes([n])).digest() for n in range(200))
OTHER = b"%PDF-1.7" + PNG
TEXT = base64.b64encode(PNG).decode()


def part(data: bytes, mime_type: Any = "image/png") -> dict[str, Any]:
    return {"type": "image", "base64": base64.b64encode(data).decode(), "mime_type": mime_type}


def put(calls: Calls, saver: Any, *parts: Any) -> Any:
    messages = [
        message for n, one in enumerate(parts) for message in (HumanMessage([one], id=f"q{n}"), AIMessage("ok"))
    ]
    made = checkpoint({"messages": messages, "shots": [one for one in parts if "base64" in one]})
    return calls.put(saver, config("t"), made, metadata(), {"messages": 1, "shots": 1})


def contents(calls: Calls, saver: Any) -> list[Any]:
    """What every way to read gives for the questions; they have to agree."""
    found = calls.get_tuple(saver, config("t"))
    [listed] = calls.list(saver, config("t"))
    assert found is not None
    assert listed.checkpoint == found.checkpoint
    list(saver.turns("t"))
    export_thread(saver, "t", to="anthropic")
    return [message.content[0] for message in found.checkpoint["channel_values"]["messages"][::2]]


@pytest.mark.parametrize(("data", "declared"), [(PNG, "image/jpeg"), (PNG, "text/plain"), (b"x" * 5000, "image/png")])
def test_a_lying_type_is_reported_and_nothing_is_changed(
    make_saver: SaverFactory, calls: Calls, data: bytes, declared: str
) -> None:
    saver = make_saver()
    put(calls, saver, part(data, declared))
    assert contents(calls, make_saver()) == [part(data, declared)]
    [entry] = calls.run(saver, "media_report", "t")
    assert (entry.reason, entry.mime_type, entry.message, entry.turn) == ("mime_mismatch", declared, "q0", 0)
    assert (entry.size_bytes, entry.sha256) == (len(data), hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize("size_bytes", [2**63, 10**30, -1])
@pytest.mark.parametrize("mode", [MediaPolicy(), MediaPolicy(mode="strip"), MediaPolicy(preserve_media=False)])
def test_sizes_that_cannot_be_are_not_believed(make_saver: SaverFactory, mode: MediaPolicy, size_bytes: int) -> None:
    reference = {"type": "file", "url": "https://h/a.pdf", "mime_type": "application/pdf", "size_bytes": size_bytes}
    saver = make_saver(media_policy=mode)
    if mode.preserve_media and size_bytes > 2**64:
        with pytest.raises(UnserializableValueError):
            put(Calls(), saver, reference)
        return
    put(Calls(), saver, reference)
    kept = contents(Calls(), make_saver())
    assert kept == ([reference] if mode.preserve_media else [{"type": "text", "text": kept[0]["text"]}])
    assert [entry.size_bytes for entry in saver.media_report("t")] == ([] if mode.preserve_media else [None])


def test_a_link_that_utf8_cannot_spell_is_stripped_and_reported(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver(media_policy=MediaPolicy(preserve_media=False))
    put(calls, saver, {"type": "file", "url": "https://h/\ud800", "mime_type": "application/pdf"})
    [entry] = calls.run(saver, "media_report", "t")
    assert (entry.reason, entry.uri) == ("stripped", "https://h/\\ud800")


@pytest.mark.parametrize("empty", [b"", "", "data:image/png;base64,"])
@pytest.mark.parametrize("mode", ["auto", "inline", "strip", "externalize"])
def test_empty_media_are_left_alone(make_saver: SaverFactory, calls: Calls, empty: Any, mode: Any) -> None:
    saver = make_saver(media_policy=MediaPolicy(mode=mode, min_bytes=0))
    nothing = {"type": "image", "base64": empty, "mime_type": "image/png"}
    put(calls, saver, nothing)
    assert contents(calls, make_saver()) == [nothing]
    assert calls.run(saver, "media_report", "t") == []


def test_blobs_that_were_swapped_are_refused_by_their_digests(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    put(calls, saver, part(PNG), part(OTHER, "application/pdf"))
    key = saver._core.layout.thread("t")[6]
    with make_saver.room.client() as client:
        one, two = client.hgetall(key).items()
        client.hset(key, mapping={one[0]: two[1], two[0]: one[1]})
    fresh = make_saver()
    assert ["not available" in str(content) for content in contents(calls, fresh)] == [True, True]
    report = calls.run(fresh, "media_report", "t")
    assert [(e.reason, e.message, e.turn) for e in sorted(report, key=lambda e: e.message)] == [
        ("corrupt_blob", "q0", 0),
        ("corrupt_blob", "q1", 1),
    ]
    with pytest.raises(LossyExportError):
        export_thread(fresh, "t", to="anthropic", strict=True)


def test_blobs_that_were_swapped_in_a_folder_are_refused(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path
) -> None:
    saver = make_saver(media_store=tmp_path)
    put(calls, saver, part(PNG), part(OTHER, "application/pdf"))
    one, two = sorted(path for path in tmp_path.rglob("*") if path.is_file() and path.suffix in (".png", ".pdf"))
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    fresh = make_saver(media_store=tmp_path)
    assert ["not available" in str(content) for content in contents(calls, fresh)] == [True, True]
    assert {entry.reason for entry in calls.run(fresh, "media_report", "t")} == {"corrupt_blob"}


class Moody:
    """A store that keeps blobs until it is told to misbehave."""

    name = "moody"

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.mood: Any = None

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> Any:
        if self.mood is not None:
            return self.mood()
        self.blobs[sha256] = data
        return sha256

    def get(self, ref: str) -> Any:
        return self.blobs[ref] if self.mood is None else self.mood()


def _fail() -> Any:
    raise RuntimeError("out of order")


def _hang() -> Any:
    threading.Event().wait(30)


@pytest.mark.parametrize("mood", [_fail, _hang, lambda: None, lambda: b"other bytes"])
def test_a_store_in_a_mood_fails_the_save_and_no_read(make_saver: SaverFactory, calls: Calls, mood: Any) -> None:
    store = Moody()
    limited = {"media_store": store, "media_timeout_seconds": 0.1}
    saver = make_saver(**limited)
    place = put(calls, saver, part(PNG))
    store.mood = mood
    with pytest.raises(MediaStoreError):
        put(calls, saver, part(PNG), part(OTHER))
    with pytest.raises(MediaStoreError):
        calls.put_writes(saver, place, [("shot", OTHER)], "task")
    fresh = make_saver(**limited)
    assert ["not available" in str(content) for content in contents(calls, fresh)] == [True]
    assert len(calls.run(fresh, "media_report", "t")) == 1
    store.mood = None
    assert contents(calls, make_saver(**limited)) == [part(PNG)]


HOSTILE_RECORDS = {
    "no map": b"\xc3",
    "no msgpack": b"\xc1\xff",
    "empty": b"",
    "other digest": pack({"sha256": "0" * 64, "store": "directory", "ref": "0" * 64 + ".png"}),
    "path": pack({"sha256": hashlib.sha256(PNG).hexdigest(), "store": "directory", "ref": "../../etc/passwd"}),
    "url": pack({"sha256": hashlib.sha256(PNG).hexdigest(), "store": "directory", "ref": "http://127.0.0.1:1/x"}),
    "long": pack({"sha256": hashlib.sha256(PNG).hexdigest(), "store": "directory", "ref": "a" * 10**6}),
    "other types": pack({"sha256": 5, "store": ["directory"], "ref": None, "size_bytes": "huge"}),
    "other store": pack({"sha256": hashlib.sha256(PNG).hexdigest(), "store": "elsewhere", "ref": "x"}),
}


@pytest.mark.parametrize("record", HOSTILE_RECORDS.values(), ids=HOSTILE_RECORDS)
def test_an_altered_media_table_leads_nowhere_and_the_thread_is_read(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path, record: bytes
) -> None:
    saver = make_saver(media_store=tmp_path)
    put(calls, saver, part(PNG))
    key = saver._core.layout.thread("t")[7]
    with make_saver.room.client() as client:
        [name] = client.hkeys(key)
        client.hset(key, name, record)
    fresh = make_saver(media_store=tmp_path)
    [content] = contents(calls, fresh)
    assert "not available" in str(content)
    heard: list[Any] = []
    listening = make_saver(media_store=tmp_path, media_hooks=MediaHooks(on_missing=heard.append))
    contents(calls, listening)
    assert [entry.reason for entry in heard] == ["missing_blob"]
    reasons = {entry.reason for entry in calls.run(fresh, "media_report", "t")}
    assert "missing_blob" in reasons
    assert reasons <= {"missing_blob", "corrupt_blob"}
    with make_saver.room.client() as client:
        stays = client.hget(key, name)
    assert stays == record


def test_a_placeholder_in_the_users_own_words_is_text(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    words = {"type": "text", "text": "[image/png, 136 B, not available on read]"}
    put(calls, saver, copy.deepcopy(words))
    assert contents(calls, make_saver()) == [words]
    assert calls.run(saver, "media_report", "t") == []
