"""What a saver tells of a thread's media, and does about uploads and garbage: on a real server, both halves."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.types import Send
from redis.exceptions import ResponseError

from langgraph_portable_checkpoint import MediaPolicy, PortableRedisSaver, thread_media
from langgraph_portable_checkpoint.errors import (
    CorruptRecordError,
    InvalidUploadError,
    MediaError,
    MediaTooLargeError,
    ThreadDeletedError,
    ThreadNotFoundError,
)
from langgraph_portable_checkpoint.media.table import MediaRecord, Upload
from langgraph_portable_checkpoint.storage.drivers import BlockingDriver
from langgraph_portable_checkpoint.storage.layout import THREAD_PARTS
from langgraph_portable_checkpoint.storage.programs.media_table import write_media
from tests.saver.calls import AsyncCalls, Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.conftest import calls as calls
from tests.saver.conftest import make_saver as make_saver

NOW = datetime(2026, 1, 1, tzinfo=UTC)
URI = "https://generativelanguage.googleapis.com/v1beta/files/abc"


def image(seed: str) -> bytes:
    noise = b"".join(hashlib.sha256(f"{seed}.{i}".encode()).digest() for i in range(160))
    return b"\x89PNG\r\n\x1a\n" + noise


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def part(data: bytes) -> dict[str, Any]:
    return {"type": "image", "base64": base64.b64encode(data).decode(), "mime_type": "image/png"}


ONE, TWO, ELSEWHERE = image("one"), image("two"), image("elsewhere")
CONVERSATION = [
    HumanMessage("hello", id="q0"),
    AIMessage("hello", id="a0"),
    HumanMessage([part(ONE)], id="q1"),
    AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}], id="a1"),
    ToolMessage("see", tool_call_id="c", artifact=[part(TWO)], id="t1"),
    AIMessage("seen", id="a2"),
    HumanMessage([part(ONE)], id="q2"),
]


def put(calls: Calls, saver: Any, messages: list[Any], **more: Any) -> Any:
    made = checkpoint({"messages": messages, **more})
    return calls.put(saver, config("t"), made, metadata(), dict.fromkeys(made["channel_values"], 1))


def blobs_of(factory: SaverFactory, saver: Any) -> tuple[Any, bytes]:
    return factory.room.client(), saver._core.layout.thread("t")[6]


def places(report: list[Any]) -> list[Any]:
    found = ((entry.reason, entry.message, entry.turn, entry.sha256, entry.size_bytes) for entry in report)
    return sorted(found, key=str)


def test_the_table_knows_each_medium_and_the_turn_that_brought_it(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    put(calls, saver, CONVERSATION, shots=[ELSEWHERE])
    records = {record.sha256: record for record in calls.run(saver, "media_table", "t")}
    assert {digest: record.first_turn for digest, record in records.items()} == {
        sha256(ONE): 1,
        sha256(TWO): 1,
        sha256(ELSEWHERE): None,
    }
    found = records[sha256(ONE)]
    assert (found.mime_type, found.size_bytes, found.store, found.ref) == ("image/png", len(ONE), "redis", None)


def test_media_of_a_message_within_a_message_came_with_its_turn(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    seen = ToolMessage("see", tool_call_id="c", artifact=Send("n", HumanMessage([part(TWO)])), id="t1")
    put(calls, saver, [*CONVERSATION[:4], seen])
    assert {record.sha256: record.first_turn for record in calls.run(saver, "media_table", "t")}[sha256(TWO)] == 1


def test_the_table_names_the_blobs_of_a_store(make_saver: SaverFactory, calls: Calls, tmp_path: Path) -> None:
    saver = make_saver(media_store=tmp_path)
    put(calls, saver, CONVERSATION)
    for record in calls.run(saver, "media_table", "t"):
        assert record.store == "directory"
        assert sha256(saver.media_store.get(record.ref)) == record.sha256


@pytest.mark.parametrize("damage", ["missing_blob", "corrupt_blob"])
def test_the_report_says_where_a_lost_medium_stood(make_saver: SaverFactory, calls: Calls, damage: str) -> None:
    saver = make_saver()
    put(calls, saver, CONVERSATION, shots=[ELSEWHERE])
    assert calls.run(saver, "media_report", "t") == []
    client, key = blobs_of(make_saver, saver)
    saved = client.hgetall(key)
    for ref in saved:
        client.hdel(key, ref) if damage == "missing_blob" else client.hset(key, ref, b"other bytes")
    for check in (True, False):
        report = calls.run(saver, "media_report", "t", check=check)
        assert {entry.mime_type for entry in report} == {"image/png"}
        assert places(report) == sorted(
            [
                (damage, "q1", 1, sha256(ONE), len(ONE)),
                (damage, "t1", 1, sha256(TWO), len(TWO)),
                (damage, None, None, sha256(ELSEWHERE), len(ELSEWHERE)),
            ],
            key=str,
        )
    client.hset(key, mapping=saved)
    assert calls.run(saver, "media_report", "t") == calls.run(saver, "media_report", "t", check=False) == []


def test_a_message_without_id_is_reported_by_its_position(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    put(calls, saver, [HumanMessage("hello"), AIMessage("hello"), HumanMessage([part(ONE)])])
    client, key = blobs_of(make_saver, saver)
    client.delete(key)
    [entry] = calls.run(saver, "media_report", "t")
    assert (entry.message, entry.turn) == (2, 1)


def test_what_a_policy_took_is_reported_once_with_its_message_and_turn(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver(media_policy=MediaPolicy(mode="strip"))
    without_ids = [message.model_copy(update={"id": None}) for message in CONVERSATION]
    place = put(calls, saver, without_ids[:3])
    calls.put_writes(saver, place, [("messages", without_ids[4])], "task")
    put(calls, saver, CONVERSATION)
    report = calls.run(saver, "media_report", "t")
    assert places(report) == [
        ("stripped", "q1", 1, sha256(ONE), len(ONE)),
        ("stripped", "q2", 2, sha256(ONE), len(ONE)),
        ("stripped", "t1", 1, sha256(TWO), len(TWO)),
    ]


def test_a_report_on_an_id_that_stands_twice_names_the_first_turn(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver(media_policy=MediaPolicy(mode="strip"))
    put(calls, saver, [HumanMessage([part(ONE)], id="q"), AIMessage("hello", id="a"), HumanMessage("again", id="q")])
    [entry] = calls.run(saver, "media_report", "t")
    assert (entry.message, entry.turn) == ("q", 0)


def test_the_report_travels_with_a_copy(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver(media_policy=MediaPolicy(mode="strip"))
    put(calls, saver, CONVERSATION)
    calls.run(saver, "copy_thread", "t", "u")
    assert calls.run(saver, "media_report", "u") == calls.run(saver, "media_report", "t") != []


TOO_LARGE = part(b"\x89PNG" + bytes(5000))


@pytest.mark.parametrize(
    "value",
    [
        TOO_LARGE,
        [TOO_LARGE],
        {"a": [b"\x89PNG" + bytes(5000)] * 3},
        [HumanMessage([TOO_LARGE])],
        [HumanMessage("look"), ToolMessage("seen", tool_call_id="c", artifact=[TOO_LARGE])],
    ],
    ids=["part", "list", "map", "message", "artifact"],
)
def test_medium_above_the_limit_is_refused_wherever_it_stands_and_nothing_is_stored(
    make_saver: SaverFactory, calls: Calls, value: Any
) -> None:
    saver = make_saver(media_policy=MediaPolicy(min_bytes=1000, max_inline_bytes=2000, max_bytes=4000))
    with pytest.raises(MediaTooLargeError):
        calls.put(saver, config("t"), checkpoint({"a": value}), metadata(), {"a": 1})
    with pytest.raises(MediaTooLargeError):
        calls.put_writes(saver, config("t", "1"), [("a", value)], "task")
    assert make_saver.stored() == []


def test_media_of_an_unknown_thread_are_not_found(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    for name in ("media_table", "media_report"):
        with pytest.raises(ThreadNotFoundError):
            calls.run(saver, name, "t")
    with pytest.raises(ThreadNotFoundError):
        calls.run(saver, "record_upload", "t", URI)
    with pytest.raises(ThreadNotFoundError):
        calls.run(saver, "refresh_uploads", "t", upload=lambda data, record: URI)


def test_a_thread_that_is_not_there_cannot_be_measured(make_saver: SaverFactory) -> None:
    with pytest.raises(ThreadNotFoundError):
        make_saver().persistence_report("t")


def test_a_media_table_that_cannot_be_read_is_an_error(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    put(calls, saver, CONVERSATION)
    with make_saver.room.client() as client:
        key = saver._core.layout.thread("t")[7]
        client.hset(key, client.hkeys(key)[0], b"\xc1")
    for name, args in (("media_table", ()), ("record_upload", (URI,))):
        with pytest.raises(CorruptRecordError):
            calls.run(saver, name, "t", *args)


def refers(uri: str) -> list[Any]:
    return [{"type": "file", "url": uri, "mime_type": "audio/wav"}]


@pytest.fixture(params=["thread", "store"])
def keeper(request: pytest.FixtureRequest, make_saver: SaverFactory, tmp_path: Path) -> Any:
    return make_saver(media_store=tmp_path if request.param == "store" else None)


def test_an_expired_upload_is_renewed_from_the_bytes_that_were_kept(keeper: Any, calls: Calls) -> None:
    data = b"RIFF\0\0\0\0WAVE" + image("sound")
    put(calls, keeper, [*CONVERSATION[:2], HumanMessage(refers(URI), id="q1")])
    kept = calls.run(keeper, "record_upload", "t", URI, data=data, mime_type="audio/wav", expires_at=NOW)
    assert kept.store == ("redis" if keeper.media_store is None else "directory")
    sent: list[tuple[bytes, MediaRecord]] = []

    def upload(data: bytes, record: MediaRecord) -> Upload:
        sent.append((data, record))
        return Upload(uri=URI + "2", expires_at=NOW + timedelta(days=9))

    later = NOW + timedelta(days=3)
    refreshed = calls.run(keeper, "refresh_uploads", "t", upload=upload, now=later)
    assert [data for data, _ in sent] == [data]
    assert refreshed.changed == (2,)
    head = calls.get_tuple(keeper, config("t"))
    assert head is not None
    assert head.checkpoint["channel_values"]["messages"][2].content == refers(URI + "2")
    [entry] = calls.run(keeper, "media_report", "t")
    assert (entry.reason, entry.message, entry.turn, entry.new_uri) == ("expired_reuploaded", "q1", 1, URI + "2")
    [record] = calls.run(keeper, "media_table", "t")
    assert [known.uri for known in record.uploads] == [URI, URI + "2"]
    assert calls.run(keeper, "refresh_uploads", "t", upload=upload, now=later).changed == ()
    assert len(sent) == 1


def test_an_upload_that_fails_takes_none_with_it_that_was_made_before(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    put(calls, saver, [HumanMessage([*refers(URI), *refers(URI + "b")], id="q0")])
    for uri, data in ((URI, ONE), (URI + "b", TWO)):
        calls.run(saver, "record_upload", "t", uri, data=data, mime_type="audio/wav", expires_at=NOW)
    sent: list[bytes] = []

    def upload(data: bytes, _: MediaRecord) -> str:
        if len(sent) == 1:
            raise RuntimeError("too many requests")
        sent.append(data)
        return f"{URI}new{len(sent)}"

    with pytest.raises(RuntimeError, match="too many requests"):
        calls.run(saver, "refresh_uploads", "t", upload=upload, now=NOW)
    assert [part["url"] for part in said_first(calls, saver)] == [URI, URI + "b"]
    renew = calls.run(saver, "refresh_uploads", "t", upload=lambda data, _: sent.append(data) or URI + "last", now=NOW)
    assert sent == [ONE, TWO]
    assert [report.new_uri for report in renew.reports] == [URI + "new1", URI + "last"]
    assert [part["url"] for part in said_first(calls, saver)] == [URI + "new1", URI + "last"]


def said_first(calls: Calls, saver: Any) -> Any:
    head = calls.get_tuple(saver, config("t"))
    assert head is not None
    return head.checkpoint["channel_values"]["messages"][0].content


def test_an_upload_is_of_the_account_that_it_was_made_for(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    put(calls, saver, [HumanMessage(refers(URI), id="q0")])
    later = NOW + timedelta(days=2)
    calls.run(saver, "record_upload", "t", URI, data=ONE, mime_type="audio/wav", expires_at=later, account="one")
    made: list[str] = []

    def upload(_: bytes, record: MediaRecord) -> Upload:
        made.append(f"{URI}{len(made)}")
        return Upload(uri=made[-1], expires_at=later)

    for account in ("one", "two", "one", "two"):
        calls.run(saver, "refresh_uploads", "t", upload=upload, now=NOW, account=account)
    [record] = calls.run(saver, "media_table", "t")
    assert [(known.uri, known.account) for known in record.uploads] == [(URI, "one"), (made[0], "two")]
    assert said_first(calls, saver)[0]["url"] == made[0]


def test_bytes_of_an_upload_that_the_thread_has_are_not_kept_twice(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    put(calls, saver, [HumanMessage([part(ONE), *refers(URI)], id="q0")])
    calls.run(saver, "record_upload", "t", URI, data=ONE, mime_type="image/png", expires_at=NOW)
    client, key = blobs_of(make_saver, saver)
    assert client.hlen(key) == 1
    [record] = calls.run(saver, "media_table", "t")
    assert (record.sha256, [known.uri for known in record.uploads]) == (sha256(ONE), [URI])
    sent: list[bytes] = []
    calls.run(saver, "refresh_uploads", "t", upload=lambda data, _: sent.append(data) or URI + "2", now=NOW)
    assert sent == [ONE]


def test_bytes_of_an_upload_of_a_sealed_thread_are_in_no_shared_store(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path
) -> None:
    """A shared store names blobs by what they hold."""
    saver = make_saver(media_store=tmp_path, serde=EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 32))
    put(calls, saver, [HumanMessage(refers(URI), id="q0")])
    kept = calls.run(saver, "record_upload", "t", URI, data=ONE, mime_type="image/png", expires_at=NOW)
    assert kept.store == "redis"
    assert list(saver.media_store.list()) == []
    client, key = blobs_of(make_saver, saver)
    assert not any(ONE in data for data in client.hvals(key))


def test_an_expired_upload_without_bytes_becomes_a_text(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    put(calls, saver, [HumanMessage(refers(URI), id="q0")])
    calls.run(saver, "record_upload", "t", URI, mime_type="audio/wav", expires_at=NOW)
    calls.run(saver, "refresh_uploads", "t", upload=lambda data, record: URI, now=NOW)
    head = calls.get_tuple(saver, config("t"))
    assert head is not None
    assert "expired at the provider" in str(head.checkpoint["channel_values"]["messages"][0].content)
    [entry] = calls.run(saver, "media_report", "t")
    assert (entry.reason, entry.message, entry.turn) == ("expired_no_bytes", "q0", 0)


def note(uri: str) -> dict[str, Any]:
    return {"role": "user", "content": refers(uri)}


def test_uploads_in_a_channel_of_other_things_are_renewed_where_they_are(
    make_saver: SaverFactory, calls: Calls
) -> None:
    saver = make_saver()
    made = checkpoint({"notes": [note(URI)], "n": 1}, {"notes": 3, "n": 7})
    told = {**metadata(4), "parents": {"": "outer"}}
    calls.put(saver, config("t"), made, told, made["channel_versions"])
    calls.run(saver, "record_upload", "t", URI, data=ONE, expires_at=NOW)
    calls.run(saver, "refresh_uploads", "t", upload=lambda data, record: URI + "2", now=NOW, channel="notes")
    head = calls.get_tuple(saver, config("t"))
    assert head is not None
    assert head.checkpoint["channel_values"] == {"notes": [note(URI + "2")], "n": 1}
    assert {**head.checkpoint, "channel_values": made["channel_values"]} == made
    assert head.metadata == told
    assert calls.run(saver, "refresh_uploads", "t", upload=lambda *_: URI, now=NOW, channel="n").changed == ()


def test_bytes_of_an_upload_that_were_lost_are_reported(keeper: Any, make_saver: SaverFactory, calls: Calls) -> None:
    put(calls, keeper, [HumanMessage(refers(URI), id="q0")])
    kept = calls.run(keeper, "record_upload", "t", URI, data=ONE, mime_type="image/png")
    assert calls.run(keeper, "media_report", "t") == []
    if keeper.media_store is None:
        client, key = blobs_of(make_saver, keeper)
        client.delete(key)
    else:
        keeper.media_store.delete(kept.ref)
    [entry] = calls.run(keeper, "media_report", "t")
    assert (entry.reason, entry.sha256) == ("missing_blob", sha256(ONE))


@pytest.mark.parametrize("in_message", [False, True])
def test_bytes_that_were_lost_are_kept_again_when_they_are_recorded_again(
    keeper: Any, make_saver: SaverFactory, calls: Calls, in_message: bool
) -> None:
    parts = [*refers(URI), part(ONE)] if in_message else refers(URI)
    put(calls, keeper, [HumanMessage(parts, id="q0")])
    kept = calls.run(keeper, "record_upload", "t", URI, data=ONE, mime_type="image/png", expires_at=NOW)
    if keeper.media_store is None:
        client, key = blobs_of(make_saver, keeper)
        client.delete(key)
    else:
        keeper.media_store.delete(kept.ref)
    assert calls.run(keeper, "refresh_uploads", "t", upload=lambda data, record: URI + "2").changed == ()
    again = calls.run(keeper, "record_upload", "t", URI, data=ONE, mime_type="image/png", expires_at=NOW)
    assert again.uploads[-1].uri == URI
    assert calls.run(keeper, "media_report", "t") == []
    sent: list[bytes] = []
    calls.run(keeper, "refresh_uploads", "t", upload=lambda data, record: sent.append(data) or URI + "2")
    assert sent == [ONE]
    assert len(list(calls.run(keeper, "media_table", "t"))) == 1


def test_uploads_are_renewed_with_an_async_client_alone(make_saver: SaverFactory) -> None:
    room = make_saver.room

    with asyncio.Runner() as runner:
        calls = AsyncCalls(runner)

        async def connect() -> Any:
            return room.async_client()

        client = runner.run(connect())
        saver = PortableRedisSaver(async_client=client, prefix=room.prefix)
        put(calls, saver, [HumanMessage(refers(URI), id="q0")])
        calls.run(saver, "record_upload", "t", URI, data=ONE, expires_at=NOW)

        async def upload(data: bytes, record: MediaRecord) -> str:
            return URI + "2"

        assert calls.run(saver, "refresh_uploads", "t", upload=upload, now=NOW).changed == (0,)
        assert calls.run(saver, "media_report", "t")[0].new_uri == URI + "2"
        runner.run(client.aclose())


WRONG: dict[str, Any] = {
    "uri": [None, "", "  ", 3, "\ud800", b"x"],
    "data": ["text", 3, [1]],
    "mime_type": [3, "\ud800", b"image/png"],
    "provider": [5, "\ud800"],
    "account": [3, "\ud800"],
    "uploaded_at": ["today", 1.5, datetime(2026, 1, 1)],
    "expires_at": ["tomorrow", NOW.timestamp(), 0, datetime(2026, 1, 1), timedelta(hours=48)],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_what_is_no_upload_is_not_recorded(make_saver: SaverFactory, calls: Calls, name: str, value: Any) -> None:
    saver = make_saver()
    put(calls, saver, [HumanMessage(refers(URI), id="q0")])
    before = calls.run(saver, "thread_info", "t")
    given = {"uri": URI, "data": ONE, name: value}
    with pytest.raises(InvalidUploadError, match=f"^{name} is ") as refused:
        calls.run(saver, "record_upload", "t", **given)
    assert refused.value.field == name
    assert list(calls.run(saver, "media_table", "t")) == []
    assert calls.run(saver, "thread_info", "t") == before


def test_bytes_of_an_upload_may_come_in_any_buffer(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    put(calls, saver, [HumanMessage(refers(URI), id="q0")])
    for data in (bytearray(ONE), memoryview(ONE)):
        assert calls.run(saver, "record_upload", "t", URI, data=data).sha256 == sha256(ONE)


def test_an_answer_that_is_no_upload_leaves_the_thread_as_it_was(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    put(calls, saver, [HumanMessage(refers(URI), id="q0")])
    calls.run(saver, "record_upload", "t", URI, data=ONE, expires_at=NOW)
    before = (list(calls.run(saver, "media_table", "t")), calls.get_tuple(saver, config("t")))
    odd = Upload(uri=URI + "2", expires_at=NOW.timestamp())  # type: ignore[arg-type]
    for answer in (None, "", odd):
        with pytest.raises(InvalidUploadError):
            calls.run(saver, "refresh_uploads", "t", upload=lambda data, record, answer=answer: answer)
    assert (list(calls.run(saver, "media_table", "t")), calls.get_tuple(saver, config("t"))) == before


@pytest.mark.parametrize(
    ("options", "channels"),
    [
        ({"conversation_channels": ("chat",)}, {"notes": "x"}),
        ({"conversation_channels": ("other", "chat")}, {"messages": [HumanMessage("x")]}),
        ({}, {"messages": [], "notes": [1]}),
        ({"conversation_channels": ()}, {}),
    ],
)
def test_uploads_are_looked_for_in_the_conversation_whatever_its_channel_is_called(
    make_saver: SaverFactory, calls: Calls, options: Any, channels: Any
) -> None:
    saver = make_saver(**options)
    made = checkpoint({**channels, "chat": [HumanMessage(refers(URI), id="q0")]})
    calls.put(saver, config("t"), made, metadata(), dict.fromkeys(made["channel_values"], 1))
    calls.run(saver, "record_upload", "t", URI, data=ONE, expires_at=NOW)
    refreshed = calls.run(saver, "refresh_uploads", "t", upload=lambda data, record: URI + "2")
    assert [entry.reason for entry in refreshed.reports] == ["expired_reuploaded"]
    assert calls.get_tuple(saver, config("t")).checkpoint["channel_values"]["chat"][0].content == refers(URI + "2")


def test_a_channel_that_the_thread_does_not_have_is_named(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    put(calls, saver, [HumanMessage(refers(URI), id="q0")])
    with pytest.raises(MediaError, match="no channel 'mesages'; it has 'messages'"):
        calls.run(saver, "refresh_uploads", "t", upload=lambda data, record: URI, channel="mesages")


@pytest.fixture
def shared(make_saver: SaverFactory, tmp_path: Path) -> Any:
    return make_saver(media_store=tmp_path)


def test_a_sweep_takes_what_no_thread_names_and_nothing_else(shared: Any, calls: Calls) -> None:
    put(calls, shared, CONVERSATION)
    calls.put(shared, config("u"), checkpoint({"messages": [HumanMessage([part(ONE)])]}), metadata(), {"messages": 1})
    calls.run(shared, "record_upload", "u", URI, data=ELSEWHERE, mime_type="image/png")
    calls.run(shared, "delete_thread", "t")
    soon = datetime.now(UTC) + timedelta(days=2)
    for days in (0, 2):
        report = calls.run(shared, "collect_media_garbage", dry_run=False, now=soon + timedelta(days=days))
        assert report.missing == ()
    assert {blob.ref.partition(".")[0] for blob in shared.media_store.list()} == {sha256(ONE), sha256(ELSEWHERE)}
    assert calls.run(shared, "media_report", "u") == []


def test_a_sweep_sees_a_thread_that_is_renamed_while_it_reads_the_threads(
    shared: Any, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(calls, shared, CONVERSATION)
    renamed = iter(["meanwhile"])
    real = thread_media.open_all

    def listing_before_a_rename(core: Any) -> Any:
        threads = yield from real(core)
        if next(renamed, None):
            shared.copy_thread("t", "moved")
            shared.delete_thread("t")
        return threads

    monkeypatch.setattr(thread_media, "open_all", listing_before_a_rename)
    soon = datetime.now(UTC) + timedelta(days=2)
    report = calls.run(shared, "collect_media_garbage", dry_run=False, now=soon)
    assert (report.actions, report.live) == ((), 2)


def test_a_saver_without_a_store_has_nothing_to_sweep(make_saver: SaverFactory, calls: Calls) -> None:
    with pytest.raises(MediaError):
        calls.run(make_saver(), "collect_media_garbage")


def test_what_is_noted_of_an_upload_expires_with_the_thread(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver(ttl_seconds=1000)
    put(calls, saver, [HumanMessage(refers(URI), id="q0")])
    calls.run(saver, "record_upload", "t", URI, data=ONE, expires_at=NOW)
    with make_saver.room.client() as client:
        keys = [key for key in saver._core.layout.thread("t")[:9] if client.exists(key)]
        assert saver._core.layout.thread("t")[6] in keys
        assert saver._core.layout.thread("t")[7] in keys
        assert all(client.pttl(key) > 0 for key in keys)


def test_an_upload_that_is_noted_late_does_not_bring_a_deleted_thread_back(
    make_saver: SaverFactory, calls: Calls
) -> None:
    saver, other = make_saver(), make_saver()
    put(calls, saver, [HumanMessage(refers(URI), id="q0")])
    calls.run(saver, "record_upload", "t", URI, data=ONE, expires_at=NOW)

    def upload(data: bytes, record: MediaRecord) -> str:
        other.delete_thread("t")
        return URI + "2"

    with pytest.raises(ThreadDeletedError):
        calls.run(saver, "refresh_uploads", "t", upload=upload, now=NOW)
    thread = set(saver._core.layout.thread("t")[:9])
    assert thread & set(make_saver.stored()) == set()


def test_a_note_that_meets_another_thread_of_the_name_stores_nothing(make_saver: SaverFactory) -> None:
    saver, other = make_saver(), make_saver()
    put(Calls(), saver, [HumanMessage(refers(URI), id="q0")])
    driver = BlockingDriver(saver._clients.blocking())
    program = write_media(saver._core, "t", records={b"upload:" + b"n" * 16: {"sha256": sha256(ONE)}})
    asked = driver._perform(next(program))
    other.delete_thread("t")
    put(Calls(), other, [HumanMessage("another", id="q0")])
    reply = driver._perform(program.send(asked))
    assert reply == [b"stale"]
    assert list(other.media_table("t")) == []


@pytest.mark.parametrize("part", ["media", "blobs", "runs", "lease"])
def test_a_note_that_meets_a_foreign_key_stores_nothing(make_saver: SaverFactory, part: str) -> None:
    saver = make_saver()
    put(Calls(), saver, [HumanMessage(refers(URI), id="q0")])
    keys = dict(zip(THREAD_PARTS, saver._core.layout.thread("t"), strict=True))
    driver = BlockingDriver(saver._clients.blocking())
    name = b"upload:" + b"n" * 16
    program = write_media(saver._core, "t", records={name: {"sha256": sha256(ONE)}}, blobs={name: ONE})
    asked = driver._perform(next(program))
    foreign = "set" if part in ("media", "blobs", "runs") else "hset"
    with make_saver.room.client() as client:
        client.set(keys[part], "x") if foreign == "set" else client.hset(keys[part], "x", "x")
        with pytest.raises(ResponseError, match="WRONGTYPE"):
            driver._perform(program.send(asked))
        client.delete(keys[part])
        assert client.exists(keys["media"], keys["blobs"]) == 0


def test_media_that_no_table_knows_are_reported(make_saver: SaverFactory, calls: Calls) -> None:
    """What was read without media stands for them in a thread of the same id that begins anew."""
    saver = make_saver()
    put(calls, saver, [HumanMessage([part(ONE)], id="q0")])
    bare: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "media": "none"}}
    head = calls.get_tuple(saver, bare)
    assert head is not None
    calls.run(saver, "delete_thread", "t")
    put(calls, saver, head.checkpoint["channel_values"]["messages"])
    [entry] = calls.run(saver, "media_report", "t")
    assert (entry.reason, entry.message, entry.turn) == ("missing_blob", "q0", 0)
    assert calls.run(saver, "media_report", "t", check=False) == []
