"""Uploads of bytes that messages carry as well: one medium, which stays as long as a message or a URI names it."""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_portable_checkpoint import MediaPolicy, copy_threads
from langgraph_portable_checkpoint.errors import (
    ConflictError,
    CorruptRecordError,
    MediaError,
    ThreadDeletedError,
    ThreadNotFoundError,
)
from langgraph_portable_checkpoint.media.table import Upload
from langgraph_portable_checkpoint.storage.drivers import BlockingDriver
from langgraph_portable_checkpoint.storage.items import media_ref, pack
from langgraph_portable_checkpoint.storage.programs import write
from langgraph_portable_checkpoint.storage.programs.blobs import open_media_record, seal_media_record
from tests.media.test_thread_media import ONE, TWO, part, sha256
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.conftest import calls as calls
from tests.saver.conftest import make_saver as make_saver

URI = "https://generativelanguage.googleapis.com/v1beta/files/"
PAST = datetime.now(UTC) - timedelta(days=1)
SOUND = b"RIFF\0\0\0\0WAVE" + TWO


def link(name: str, mime_type: str = "image/png") -> dict[str, Any]:
    return {"type": "file", "url": URI + name, "mime_type": mime_type}


@pytest.fixture(params=["thread", "store", "sealed", "sealed store"])
def make(request: pytest.FixtureRequest, make_saver: SaverFactory, tmp_path: Path) -> Callable[..., Any]:
    """Makes savers that keep media in each of the places."""
    options: dict[str, Any] = {"media_store": tmp_path} if "store" in request.param else {}
    if "sealed" in request.param:
        options["serde"] = EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 32)
    return lambda **more: make_saver(**options, **more)


def say(calls: Calls, saver: Any, *parts: Any) -> Any:
    """Put a checkpoint whose one message has these parts."""
    head = calls.get_tuple(saver, config("t"))
    made = checkpoint({"messages": [HumanMessage(list(parts), id="q")]})
    where = config("t") if head is None else {"configurable": {**head.config["configurable"]}}
    return calls.put(saver, where, made, metadata(), {"messages": 1 if head is None else 2})


def record(calls: Calls, saver: Any, name: str, data: bytes | None, **more: Any) -> Any:
    told = {"data": data, "mime_type": "audio/wav" if data == SOUND else "image/png", "expires_at": PAST, **more}
    return calls.run(saver, "record_upload", "t", URI + name, **told)


def renew(calls: Calls, saver: Any, answer: Callable[[bytes], str], **more: Any) -> tuple[list[bytes], list[Any], Any]:
    """Refresh; return the bytes that were uploaded, the reasons told, and what the head's message is then."""
    sent: list[bytes] = []

    async def upload(data: bytes, record: Any) -> str:
        sent.append(data)
        return answer(data)

    def upload_blocking(data: bytes, record: Any) -> str:
        sent.append(data)
        return answer(data)

    how = upload_blocking if calls.mode == "sync" else upload
    refreshed = calls.run(saver, "refresh_uploads", "t", upload=how, **more)
    head = calls.get_tuple(saver, config("t"))
    assert head is not None
    content = head.checkpoint["channel_values"]["messages"][0].content
    return sent, [report.reason for report in refreshed.reports], content


def uris(calls: Calls, saver: Any) -> dict[str | None, list[str]]:
    return {
        one.mime_type: [upload.uri.removeprefix(URI) for upload in one.uploads]
        for one in calls.run(saver, "media_table", "t")
        if one.uploads
    }


def sealed(saver: Any) -> bool:
    """Tell whether bytes of uploads are kept in the thread whatever store there is."""
    return bool(saver._core.codec.sealer.sealed)


def blobs(make_saver: SaverFactory, saver: Any) -> list[bytes]:
    with make_saver.room.client() as client:
        return sorted(client.hkeys(saver._core.layout.thread("t")[6]))


@pytest.mark.parametrize("order", ["message first", "upload first"])
def test_bytes_that_only_an_upload_names_any_more_outlive_a_prune(
    make: Callable[..., Any], calls: Calls, order: str
) -> None:
    saver = make()
    if order == "message first":
        say(calls, saver, part(ONE))
        record(calls, saver, "c", ONE)
    else:
        say(calls, saver, link("c"))
        record(calls, saver, "c", ONE)
        say(calls, saver, part(ONE))
    say(calls, saver, link("c"))
    calls.run(saver, "prune", ["t"], strategy="keep_latest")
    for reader in (saver, make()):
        assert uris(calls, reader) == {"image/png": ["c"]}
        assert calls.run(reader, "media_report", "t") == []
    assert renew(calls, make(), lambda _: URI + "d") == ([ONE], ["expired_reuploaded"], [link("d")])


def test_bytes_of_an_upload_outlive_the_deletion_of_the_run_that_brought_them(
    make: Callable[..., Any], calls: Calls
) -> None:
    saver = make()
    made = checkpoint({"messages": [HumanMessage([part(ONE)], id="q")]})
    calls.put(saver, config("t"), made, {**metadata(), "run_id": "r1"}, {"messages": 1})
    record(calls, saver, "c", ONE)
    say(calls, saver, link("c"))
    calls.run(saver, "delete_for_runs", ["r1"])
    assert renew(calls, make(), lambda _: URI + "d") == ([ONE], ["expired_reuploaded"], [link("d")])


def test_bytes_that_neither_a_message_nor_a_uri_names_go_with_a_prune(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    say(calls, saver, part(ONE))
    record(calls, saver, "c", ONE)
    record(calls, saver, "c", TWO)
    say(calls, saver, link("c"))
    calls.run(saver, "prune", ["t"], strategy="keep_latest")
    assert [one.sha256 for one in calls.run(saver, "media_table", "t")] == [sha256(TWO)]
    assert len(blobs(make_saver, saver)) == 1


def test_a_sweep_leaves_what_only_an_upload_names(make_saver: SaverFactory, calls: Calls, tmp_path: Path) -> None:
    saver = make_saver(media_store=tmp_path)
    say(calls, saver, part(ONE))
    record(calls, saver, "c", ONE)
    say(calls, saver, link("c"))
    calls.run(saver, "prune", ["t"], strategy="keep_latest")
    later = datetime.now(UTC) + timedelta(days=9)
    assert calls.run(saver, "collect_media_garbage", dry_run=False, now=later).actions == ()


@pytest.mark.parametrize("order", ["message first", "upload first"])
def test_a_medium_of_messages_and_uploads_is_one(
    make_saver: SaverFactory, make: Callable[..., Any], calls: Calls, order: str
) -> None:
    saver = make()
    if order == "message first":
        say(calls, saver, part(ONE), link("c"))
        record(calls, saver, "c", ONE)
    else:
        say(calls, saver, link("c"))
        record(calls, saver, "c", ONE)
        say(calls, saver, part(ONE), link("c"))
    other = make()
    say(calls, other, part(ONE), link("c"), {"type": "text", "text": "again"})
    [one] = calls.run(other, "media_table", "t")
    assert (one.sha256, one.first_turn, [upload.uri for upload in one.uploads]) == (sha256(ONE), 0, [URI + "c"])
    assert len(blobs(make_saver, saver)) == (1 if saver.media_store is None or sealed(saver) else 0)
    sent, reasons, content = renew(calls, other, lambda _: URI + "d")
    assert (sent, reasons, content[:2]) == ([ONE], ["expired_reuploaded"], [part(ONE), link("d")])


def test_a_put_by_another_process_leaves_the_uploads_of_a_medium(make: Callable[..., Any], calls: Calls) -> None:
    first, second = make(), make()
    say(calls, first, link("c"))
    say(calls, second, link("c"), {"type": "text", "text": "more"})
    say(calls, first, part(ONE))
    record(calls, first, "c", ONE)
    say(calls, second, part(ONE), link("c"))
    assert uris(calls, make()) == {"image/png": ["c"]}


def test_bytes_that_become_known_are_those_of_a_uri_recorded_without_them(
    make: Callable[..., Any], calls: Calls
) -> None:
    saver = make()
    say(calls, saver, part(ONE), link("c"))
    record(calls, saver, "b", ONE)
    record(calls, saver, "c", None)
    record(calls, saver, "c", ONE)
    assert uris(calls, saver) == {"image/png": ["b", "c"]}
    assert renew(calls, saver, lambda _: URI + "d")[:2] == ([ONE], ["expired_reuploaded"])


def test_a_uri_that_a_refresh_is_answered_is_no_other_medium_s_any_more(make: Callable[..., Any], calls: Calls) -> None:
    saver = make()
    say(calls, saver, link("a"), link("b", "audio/wav"))
    record(calls, saver, "a", ONE)
    record(calls, saver, "b", SOUND)
    answers = {ONE: URI + "b", SOUND: URI + "c"}
    content = renew(calls, saver, answers.__getitem__)[2]
    assert content == [link("b"), link("c", "audio/wav")]
    assert uris(calls, make()) == {"image/png": ["a", "b"], "audio/wav": ["c"]}
    answers = {ONE: URI + "e", SOUND: URI + "f"}
    found = renew(calls, make(), answers.__getitem__, now=datetime.now(UTC) + timedelta(days=9), recheck=True)
    assert found[2] == [link("b"), link("c", "audio/wav")]


def test_uploads_of_one_medium_that_are_recorded_at_once_are_all_kept(make: Callable[..., Any], calls: Calls) -> None:
    saver = make()
    say(calls, saver, link("0"))
    names = [str(number) for number in range(12)]

    class Many:
        def record(self, name: str) -> Any:
            return saver.record_upload("t", URI + name, data=ONE, mime_type="image/png", expires_at=PAST)

        async def arecord(self, name: str) -> Any:
            return await saver.arecord_upload("t", URI + name, data=ONE, mime_type="image/png", expires_at=PAST)

    calls.gather(Many(), "record", [[name] for name in names])
    assert {kind: sorted(found) for kind, found in uris(calls, make()).items()} == {"image/png": sorted(names)}


def test_an_upload_that_is_recorded_during_a_refresh_is_kept(make: Callable[..., Any], calls: Calls) -> None:
    saver, other = make(), make()
    say(calls, saver, link("c"))
    record(calls, saver, "c", ONE)

    def answer(data: bytes) -> str:
        other.record_upload("t", URI + "beside", data=ONE, mime_type="image/png")
        return URI + "d"

    renew(calls, saver, answer)
    assert sorted(uris(calls, make())["image/png"]) == ["beside", "c", "d"]


def test_a_refresh_after_whose_read_the_thread_was_pruned_keeps_its_uploads(
    make: Callable[..., Any], calls: Calls
) -> None:
    saver, other = make(), make()
    say(calls, saver, part(ONE))
    record(calls, saver, "c", ONE)
    say(calls, saver, link("c"))

    def answer(data: bytes) -> str:
        other.prune(["t"], strategy="keep_latest")
        return URI + "d"

    assert renew(calls, saver, answer)[2] == [link("d")]
    assert uris(calls, make()) == {"image/png": ["c", "d"]}


def test_an_upload_of_a_thread_that_is_deleted_meanwhile_is_not_said_to_be_kept(make_saver: SaverFactory) -> None:
    saver, other = make_saver(), make_saver()
    say(Calls(), saver, link("c"))
    steps = saver._record("t", Upload(uri=URI + "c", expires_at=PAST), ONE, "image/png")
    driver = BlockingDriver(saver._clients.blocking())
    answer = driver._perform(next(steps))
    other.delete_thread("t")
    with pytest.raises(ThreadNotFoundError):
        _finish(driver, steps, answer)


def _finish(driver: BlockingDriver, steps: Any, answer: Any) -> None:
    while True:
        answer = driver._perform(steps.send(answer))


def test_no_report_tells_of_bytes_that_the_thread_has_all_the_same(make: Callable[..., Any], calls: Calls) -> None:
    say(calls, make(), part(ONE))
    saver = make(media_policy=MediaPolicy(max_inline_bytes=3000))
    record(calls, saver, "c", ONE)
    assert calls.run(saver, "media_report", "t") == []
    say(calls, saver, link("c"))
    calls.run(saver, "prune", ["t"], strategy="keep_latest")
    assert renew(calls, make(), lambda _: URI + "d")[:2] == ([ONE], ["expired_reuploaded"])


def test_bytes_that_a_policy_stripped_are_kept_once_it_lets_them(make_saver: SaverFactory, calls: Calls) -> None:
    say(calls, make_saver(), link("c"))
    record(calls, make_saver(media_policy="strip"), "c", ONE)
    saver = make_saver()
    record(calls, saver, "c", ONE)
    assert renew(calls, saver, lambda _: URI + "d")[:2] == ([ONE], ["expired_reuploaded"])


def test_an_upload_under_a_policy_that_strips_keeps_no_bytes_beyond_their_message(
    make_saver: SaverFactory, calls: Calls
) -> None:
    say(calls, make_saver(), part(ONE))
    saver = make_saver(media_policy="strip")
    record(calls, saver, "c", ONE)
    say(calls, saver, link("other"))
    calls.run(saver, "prune", ["t"], strategy="keep_latest")
    assert blobs(make_saver, saver) == []


@pytest.mark.parametrize("target", ["thread", "store"])
def test_a_copy_has_the_bytes_of_uploads_once(
    make_saver: SaverFactory, make: Callable[..., Any], calls: Calls, tmp_path: Path, target: str
) -> None:
    saver = make()
    say(calls, saver, part(ONE))
    record(calls, saver, "c", ONE)
    say(calls, saver, link("c"))
    calls.run(saver, "prune", ["t"], strategy="keep_latest")
    options = {"media_store": tmp_path / "copy"} if target == "store" else {}
    there = make_saver(prefix=f"{make_saver.room.prefix}-copy", serde=saver.serde, **options)
    report = copy_threads(saver, there)
    assert report.differences == []
    assert uris(calls, there) == {"image/png": ["c"]}
    assert calls.run(there, "media_report", "t") == []
    assert renew(calls, there, lambda _: URI + "d")[:2] == ([ONE], ["expired_reuploaded"])


def test_an_archive_has_the_bytes_of_uploads(make: Callable[..., Any], make_saver: SaverFactory, calls: Calls) -> None:
    saver = make()
    say(calls, saver, link("c"))
    record(calls, saver, "c", ONE)
    document = calls.run(saver, "to_json", "t")
    calls.run(saver, "delete_thread", "t")
    there = make_saver()
    calls.run(there, "from_json", document, thread_id="t")
    assert renew(calls, there, lambda _: URI + "d")[:2] == ([ONE], ["expired_reuploaded"])


def _earlier_record(name: str, data: bytes, **more: Any) -> bytes:
    told = {"uri": URI + name, "uploaded_at": "2026-01-01T00:00:00Z", "expires_at": "2026-01-03T00:00:00Z"}
    return pack({"sha256": sha256(data), "mime_type": "image/png", "size_bytes": len(data), "uploads": [told], **more})


def test_uploads_within_the_record_of_a_medium_as_earlier_versions_wrote_them_outlive_a_prune(
    make_saver: SaverFactory, calls: Calls
) -> None:
    saver = make_saver()
    say(calls, saver, part(ONE))
    ref = hashlib.sha256(ONE).digest()[:16]
    with make_saver.room.client() as client:
        client.hset(saver._core.layout.thread("t")[7], ref, _earlier_record("c", ONE, store="redis"))
    say(calls, saver, link("c"))
    calls.run(saver, "prune", ["t"], strategy="keep_latest")
    assert uris(calls, saver) == {"image/png": ["c"]}
    assert renew(calls, make_saver(), lambda _: URI + "d")[:2] == ([ONE], ["expired_reuploaded"])
    say(calls, saver, link("d"))
    calls.run(saver, "prune", ["t"], strategy="keep_latest")
    assert uris(calls, make_saver()) == {"image/png": ["c", "d"]}


def test_bytes_of_uploads_are_read_where_earlier_versions_kept_them(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    say(calls, saver, link("c"))
    name = b"upload:" + hashlib.sha256(ONE).digest()[:16]
    with make_saver.room.client() as client:
        keys = saver._core.layout.thread("t")
        client.hset(keys[7], name, _earlier_record("c", ONE, store="redis"))
        client.hset(keys[6], name, ONE)
    say(calls, saver, part(ONE), link("c"))
    [one] = calls.run(saver, "media_table", "t")
    assert [upload.uri for upload in one.uploads] == [URI + "c"]
    say(calls, saver, link("c"))
    calls.run(saver, "prune", ["t"], strategy="keep_latest")
    assert renew(calls, make_saver(), lambda _: URI + "d")[:2] == ([ONE], ["expired_reuploaded"])
    record(calls, saver, "e", ONE)
    assert uris(calls, make_saver()) == {"image/png": ["c", "d", "e"]}


def test_bytes_that_were_lost_where_earlier_versions_kept_them_are_kept_anew(
    make_saver: SaverFactory, calls: Calls
) -> None:
    saver = make_saver()
    say(calls, saver, link("c"))
    name = b"upload:" + hashlib.sha256(ONE).digest()[:16]
    with make_saver.room.client() as client:
        client.hset(saver._core.layout.thread("t")[7], name, _earlier_record("c", ONE, store="redis"))
    assert [one.reason for one in calls.run(saver, "media_report", "t")] == ["missing_blob"]
    record(calls, saver, "c", ONE)
    assert calls.run(make_saver(), "media_report", "t") == []
    assert renew(calls, make_saver(), lambda _: URI + "d")[:2] == ([ONE], ["expired_reuploaded"])


def _tell_of_uploads_as_before(make_saver: SaverFactory, saver: Any, name: str, data: bytes) -> None:
    """Write an upload into the record of its medium, as earlier versions did."""
    view, field = saver._core.views.get("t"), saver._core.layout.thread("t")[7]
    ref = media_ref(hashlib.sha256(data).digest(), view.secrets.key)
    told = {"uri": URI + name, "uploaded_at": "2026-01-01T00:00:00Z", "expires_at": "2026-01-03T00:00:00Z"}
    with make_saver.room.client() as client:
        known = open_media_record(view, ref, client.hget(field, ref), where="t")
        client.hset(field, ref, seal_media_record(view, ref, {**known, "uploads": [told]}))


@pytest.mark.parametrize("how", ["put", "writes"])
@pytest.mark.parametrize("size", ["small", "large"])
def test_a_save_of_the_same_bytes_leaves_uploads_that_earlier_versions_wrote(
    make_saver: SaverFactory, make: Callable[..., Any], calls: Calls, how: str, size: str
) -> None:
    saver, data = make(), ONE if size == "small" else ONE + TWO * 80
    say(calls, saver, part(data))
    _tell_of_uploads_as_before(make_saver, saver, "c", data)
    where = say(calls, saver, link("c"))
    if how == "put":
        say(calls, make(), part(data), link("c"))
    else:
        calls.put_writes(make(), where, [("messages", HumanMessage([part(data)]))], "task")
    assert uris(calls, make()) == {"image/png": ["c"]}
    say(calls, saver, link("c"))
    calls.run(saver, "prune", ["t"], strategy="keep_latest")
    assert uris(calls, make()) == {"image/png": ["c"]}
    assert calls.run(make(), "media_report", "t") == []
    assert renew(calls, make(), lambda _: URI + "d")[0] == [data]


def test_bytes_that_an_upload_has_in_the_thread_stay_there_when_a_message_brings_them(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path
) -> None:
    options = {"media_store": tmp_path, "serde": EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 32)}
    saver = make_saver(**options)
    say(calls, saver, link("c"))
    record(calls, saver, "c", ONE)
    say(calls, make_saver(**options), part(ONE), link("c"))
    assert [one.store for one in calls.run(make_saver(**options), "media_table", "t")] == ["redis"]
    assert len(blobs(make_saver, saver)) == 1
    later = datetime.now(UTC) + timedelta(days=9)
    calls.run(saver, "collect_media_garbage", dry_run=False, now=later)
    swept = calls.run(saver, "collect_media_garbage", dry_run=False, now=later + timedelta(days=9))
    assert (swept.live, swept.missing, [path for path in tmp_path.rglob("*") if path.is_file()]) == (0, (), [])
    assert calls.run(make_saver(**options), "media_report", "t") == []


def test_media_of_a_thread_that_got_a_store_since_are_kept_once(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path
) -> None:
    say(calls, make_saver(), part(ONE))
    saver = make_saver(media_store=tmp_path)
    calls.put(saver, config("t"), checkpoint({"messages": [HumanMessage([part(ONE)])]}), metadata(), {"messages": 2})
    assert [one.store for one in calls.run(saver, "media_table", "t")] == ["redis"]
    assert len(blobs(make_saver, saver)) == 1


def test_an_upload_that_a_policy_strips_leaves_those_of_before_with_their_bytes(
    make_saver: SaverFactory, calls: Calls
) -> None:
    saver = make_saver()
    say(calls, saver, part(ONE))
    _tell_of_uploads_as_before(make_saver, saver, "c", ONE)
    record(calls, make_saver(media_policy="strip"), "d", ONE)
    say(calls, saver, link("c"), link("d"))
    calls.run(saver, "prune", ["t"], strategy="keep_latest")
    assert uris(calls, make_saver()) == {"image/png": ["c", "d"]}
    assert renew(calls, make_saver(), lambda _: URI + "e")[0] == [ONE]


def test_an_upload_that_a_policy_strips_has_the_bytes_of_a_message_while_it_is_there(
    make: Callable[..., Any], calls: Calls
) -> None:
    saver = make()
    say(calls, saver, part(ONE), link("c"))
    record(calls, make(media_policy="strip"), "c", ONE)
    [one] = calls.run(make(), "media_table", "t")
    assert (one.sha256, one.first_turn, len(one.uploads)) == (sha256(ONE), 0, 1)
    sent, reasons, content = renew(calls, make(), lambda _: URI + "d")
    assert (sent, reasons, content) == ([ONE], ["expired_reuploaded"], [part(ONE), link("d")])


def test_a_refresh_under_a_policy_that_strips_keeps_no_bytes_beyond_their_message(
    make_saver: SaverFactory, make: Callable[..., Any], calls: Calls
) -> None:
    saver = make()
    say(calls, saver, part(ONE), link("c"))
    strict = make(media_policy="strip")
    record(calls, strict, "c", ONE)
    assert renew(calls, strict, lambda _: URI + "d")[0] == [ONE]
    say(calls, saver, link("d"))
    calls.run(saver, "prune", ["t"], strategy="keep_latest")
    assert blobs(make_saver, saver) == []
    assert uris(calls, make()) == {"image/png": ["c", "d"]}


def _uri_records(make_saver: SaverFactory, saver: Any, name: str) -> int:
    """Count the records that have a URI."""
    keys = saver._core.layout.thread("t")
    with make_saver.room.client() as client:
        view = saver._core.views.get("t")
        found = [open_media_record(view, field, data, where="t") for field, data in client.hgetall(keys[7]).items()]
    return sum(one["uri"] == URI + name for each in found for one in each.get("uploads", []))


@pytest.mark.parametrize("others", [(), ("other",)])
def test_a_uri_that_is_recorded_with_two_media_at_once_is_one_medium_s(
    make: Callable[..., Any], make_saver: SaverFactory, others: tuple[str, ...]
) -> None:
    saver, other, sync = make(), make(), Calls()
    say(sync, saver, link("c"))
    for name in others:
        record(sync, saver, name, TWO)
    plain_read, met = saver._read, []

    def read(thread_id: str) -> Any:
        found = yield from plain_read(thread_id)
        if not met:
            met.append(record(sync, other, "c", TWO))
        return found

    saver._read = read
    record(sync, saver, "c", ONE, uploaded_at=PAST)
    del saver._read
    assert _uri_records(make_saver, saver, "c") == 1
    owner = sync.run(make(), "media_table", "t").by_uri(URI + "c")
    assert owner.sha256 == sha256(TWO)


def test_a_damaged_blob_is_put_back_by_recording_the_upload_once_more(
    make_saver: SaverFactory, make: Callable[..., Any], calls: Calls
) -> None:
    saver = make()
    say(calls, saver, link("c"))
    record(calls, saver, "c", ONE)
    view, keys = saver._core.views.get("t"), saver._core.layout.thread("t")
    with make_saver.room.client() as client:
        client.hset(keys[6], media_ref(hashlib.sha256(ONE).digest(), view.secrets.key), b"other bytes")
    assert [one.reason for one in calls.run(make(), "media_report", "t")] == ["corrupt_blob"]
    record(calls, make(), "c", ONE)
    assert calls.run(make(), "media_report", "t") == []
    assert renew(calls, make(), lambda _: URI + "d")[0] == [ONE]


def test_a_refresh_whose_checkpoint_is_pruned_meanwhile_says_that_the_thread_went_on(
    make: Callable[..., Any], calls: Calls
) -> None:
    saver, other = make(), make()
    say(calls, saver, link("c"))
    record(calls, saver, "c", ONE)

    def answer(data: bytes) -> str:
        say(Calls(), other, link("c"), {"type": "text", "text": "more"})
        other.prune(["t"], strategy="keep_latest")
        return URI + "d"

    with pytest.raises(ConflictError):
        renew(calls, saver, answer)
    assert uris(calls, make()) == {"image/png": ["c", "d"]}


def test_uploads_of_a_thread_that_is_deleted_meanwhile_are_not_its_successor_s(
    make: Callable[..., Any], calls: Calls
) -> None:
    saver, other = make(), make()
    say(calls, saver, link("c"))
    record(calls, saver, "c", ONE)

    def answer(data: bytes) -> str:
        other.delete_thread("t")
        say(Calls(), other, link("x"))
        return URI + "d"

    with pytest.raises(ThreadDeletedError):
        renew(calls, saver, answer)
    assert uris(calls, make()) == {}


def test_bytes_that_earlier_versions_kept_a_second_time_go_with_the_next_note(
    make_saver: SaverFactory, calls: Calls
) -> None:
    saver = make_saver()
    say(calls, saver, part(ONE), link("c"))
    name = b"upload:" + hashlib.sha256(ONE).digest()[:16]
    with make_saver.room.client() as client:
        keys = saver._core.layout.thread("t")
        client.hset(keys[7], name, _earlier_record("c", ONE, store="redis"))
        client.hset(keys[6], name, ONE)
    record(calls, saver, "d", ONE)
    assert blobs(make_saver, saver) == [name.removeprefix(b"upload:")]
    assert calls.run(make_saver(), "media_report", "t") == []
    assert uris(calls, make_saver()) == {"image/png": ["c", "d"]}


def test_bytes_that_earlier_versions_kept_for_a_uri_of_other_bytes_by_now_are_freed(
    make_saver: SaverFactory, calls: Calls
) -> None:
    saver = make_saver()
    say(calls, saver, link("c"))
    name = b"upload:" + hashlib.sha256(ONE).digest()[:16]
    with make_saver.room.client() as client:
        keys = saver._core.layout.thread("t")
        client.hset(keys[7], name, _earlier_record("c", ONE, store="redis"))
        client.hset(keys[6], mapping={name: ONE, b"upload:left by others": ONE, b"unknown": b""})
    record(calls, saver, "c", TWO)
    say(calls, saver, link("c"))
    calls.run(saver, "prune", ["t"], strategy="keep_latest")
    assert blobs(make_saver, saver) == sorted([hashlib.sha256(TWO).digest()[:16], b"unknown"])


def _sealing(key: bytes) -> EncryptedSerializer:
    return EncryptedSerializer.from_pycryptodome_aes(key=key * 32)


def _another(make_saver: SaverFactory, **options: Any) -> Any:
    """A saver elsewhere, with another key: no thread can go there as it is stored."""
    return make_saver(prefix=f"{make_saver.room.prefix}-copy", serde=_sealing(b"o"), **options)


@pytest.mark.parametrize("way", ["copy", "archive"])
def test_an_upload_that_a_policy_stripped_has_its_medium_in_copies_and_archives(
    make_saver: SaverFactory, make: Callable[..., Any], calls: Calls, way: str
) -> None:
    saver = make()
    say(calls, saver, part(ONE), link("c"))
    record(calls, make(media_policy="strip"), "c", ONE)
    there = _another(make_saver)
    if way == "copy":
        assert copy_threads(make(), there).differences == []
    else:
        calls.run(there, "from_json", calls.run(make(), "to_json", "t"), thread_id="t")
    assert renew(calls, there, lambda _: URI + "d")[:2] == ([ONE], ["expired_reuploaded"])


@pytest.mark.parametrize("way", ["copy", "archive"])
@pytest.mark.parametrize("last", [ONE, TWO], ids=["one", "two"])
def test_a_uri_in_two_records_is_the_same_medium_s_in_copies_and_archives(
    make_saver: SaverFactory, calls: Calls, way: str, last: bytes
) -> None:
    saver = make_saver()
    say(calls, saver, link("c"))
    record(calls, saver, "of one", ONE)
    record(calls, saver, "of two", TWO)
    with make_saver.room.client() as client:
        field = saver._core.layout.thread("t")[7]
        for data in (ONE, TWO):
            name = b"upload:" + hashlib.sha256(data).digest()[:16]
            at = datetime(2026, 2 if data is last else 1, 1, tzinfo=UTC)
            made = Upload(uri=URI + "c", uploaded_at=at, expires_at=PAST).to_wire()
            client.hset(field, name, pack({"sha256": sha256(data), "mime_type": "image/png", "uploads": [made]}))
    assert renewed_in_copy(make_saver, saver, calls, way) == [last]
    assert renew(calls, saver, lambda _: URI + "d")[0] == [last]


def renewed_in_copy(make_saver: SaverFactory, saver: Any, calls: Calls, way: str) -> list[bytes]:
    there = _another(make_saver)
    if way == "copy":
        assert copy_threads(saver, there).differences == []
    else:
        calls.run(there, "from_json", calls.run(saver, "to_json", "t"), thread_id="t")
    return renew(calls, there, lambda _: URI + "d")[0]


@pytest.mark.parametrize("uploads", ["abc", [1], [{"uri": ["a"]}], [{}]])
def test_a_copy_or_archive_of_damaged_uploads_is_refused_by_name(
    make_saver: SaverFactory, calls: Calls, uploads: Any
) -> None:
    saver = make_saver()
    say(calls, saver, link("c"))
    with make_saver.room.client() as client:
        client.hset(saver._core.layout.thread("t")[7], b"upload:" + b"n" * 16, pack({"uploads": uploads}))
    with pytest.raises(CorruptRecordError):
        copy_threads(saver, _another(make_saver))
    with pytest.raises(CorruptRecordError):
        calls.run(saver, "to_json", "t")


@pytest.mark.parametrize("in_message", [False, True])
def test_bytes_of_an_upload_that_a_store_had_not_when_it_was_archived_come_back(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path, in_message: bool
) -> None:
    saver = make_saver(media_store=tmp_path / "media")
    say(calls, saver, link("c"), *([part(ONE)] if in_message else []))
    record(calls, saver, "c", ONE)
    (tmp_path / "media").rename(tmp_path / "away")
    document = calls.run(make_saver(media_store=tmp_path / "media"), "to_json", "t")
    calls.run(saver, "delete_thread", "t")
    there = make_saver(media_store=tmp_path / "media")
    calls.run(there, "from_json", document, thread_id="t")
    assert {one.reason for one in calls.run(there, "media_report", "t")} == {"missing_blob"}
    shutil.rmtree(tmp_path / "media", ignore_errors=True)
    (tmp_path / "away").rename(tmp_path / "media")
    there = make_saver(media_store=tmp_path / "media")
    assert renew(calls, there, lambda _: URI + "d")[:2] == ([ONE], ["expired_reuploaded"])
    assert [one.reason for one in calls.run(there, "media_report", "t")] == ["expired_reuploaded"]


def test_a_copy_of_bytes_in_the_thread_names_no_store_that_has_them_as_well(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path
) -> None:
    options = {"media_store": tmp_path / "one", "serde": _sealing(b"k")}
    saver = make_saver(**options)
    say(calls, saver, part(ONE))
    [path] = [each for each in (tmp_path / "one").rglob("*") if each.is_file() and not each.name.startswith(".")]
    with make_saver.room.client() as client:
        view, keys = saver._core.views.get("t"), saver._core.layout.thread("t")
        ref = media_ref(hashlib.sha256(ONE).digest(), view.secrets.key)
        client.hset(keys[6], ref, path.read_bytes())
    there = make_saver(prefix=f"{make_saver.room.prefix}-copy", serde=_sealing(b"k"), media_store=tmp_path / "two")
    assert copy_threads(saver, there, verify=True).differences == []
    assert calls.run(there, "collect_media_garbage").missing == ()
    assert [one.store for one in calls.run(there, "media_table", "t")] == ["redis"]
    assert calls.run(there, "media_report", "t") == []


@pytest.mark.parametrize("policy", ["strip", MediaPolicy(max_inline_bytes=3000)])
def test_no_report_tells_of_bytes_that_are_kept_later(make_saver: SaverFactory, calls: Calls, policy: Any) -> None:
    say(calls, make_saver(), link("c"))
    record(calls, make_saver(media_policy=policy), "c", ONE)
    assert len(calls.run(make_saver(), "media_report", "t")) == 1
    record(calls, make_saver(), "c", ONE)
    assert calls.run(make_saver(), "media_report", "t") == []
    assert calls.run(make_saver(), "media_report", "t", check=False) == []


def test_a_report_of_stripped_bytes_stays_while_only_a_message_has_them(make: Callable[..., Any], calls: Calls) -> None:
    say(calls, make(), part(ONE), link("c"))
    record(calls, make(media_policy="strip"), "c", ONE)
    assert [one.reason for one in calls.run(make(), "media_report", "t")] == ["stripped"]


@pytest.mark.parametrize("held", [{"x": [link("c")]}, HumanMessage([link("c")]), link("c")])
def test_a_named_channel_without_a_list_is_refused(make_saver: SaverFactory, calls: Calls, held: Any) -> None:
    saver = make_saver()
    made = checkpoint({"messages": [HumanMessage([link("c")], id="q")], "other": held})
    calls.put(saver, config("t"), made, metadata(), {"messages": 1, "other": 1})
    record(calls, saver, "c", ONE)
    with pytest.raises(MediaError, match="'other' of thread 't' holds a value of type"):
        renew(calls, saver, lambda _: URI + "d", channel="other")


def test_bytes_that_were_lost_are_put_back_by_a_save_that_leaves_uploads_of_before(
    make_saver: SaverFactory, make: Callable[..., Any], calls: Calls, tmp_path: Path
) -> None:
    saver = make()
    say(calls, saver, part(ONE))
    _tell_of_uploads_as_before(make_saver, saver, "c", ONE)
    with make_saver.room.client() as client:
        client.delete(saver._core.layout.thread("t")[6])
    for path in [each for each in tmp_path.rglob("*") if each.is_file()]:
        path.unlink()
    made = checkpoint({"messages": [HumanMessage([part(ONE), link("c")], id="q")]})
    calls.put(make(), config("t"), made, metadata(), {"messages": 2})
    assert uris(calls, make()) == {"image/png": ["c"]}
    assert calls.run(make(), "media_report", "t") == []
    assert renew(calls, make(), lambda _: URI + "d")[0] == [ONE]


def test_a_uri_that_goes_to_other_bytes_leaves_the_others_of_its_stripped_medium(make_saver: SaverFactory) -> None:
    saver = make_saver(media_policy="strip")
    saver.put(config("t"), checkpoint({"messages": [HumanMessage("q")]}), metadata(), {"messages": 1})
    for name, data in (("1", b"one" * 500), ("2", b"one" * 500), ("2", b"two" * 500)):
        saver.record_upload("t", f"https://files.example/{name}", data=data, mime_type="image/png")
    table = [[upload.uri[-1] for upload in record.uploads] for record in saver.media_table("t")]
    assert sorted(table) == [["1"], ["2"]]


def test_many_savers_may_bring_the_same_picture_to_an_encrypted_thread_at_once(make_saver: SaverFactory) -> None:
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 16)
    first = make_saver(serde=serde)
    head = first.put(config("t"), checkpoint({"messages": [HumanMessage("q")]}), metadata(), {"messages": 1})
    savers = [make_saver(serde=serde) for _ in range(12)]
    for saver in savers:
        saver.get_tuple(config("t"))
    start, failed = threading.Barrier(len(savers)), list[BaseException]()

    def go(number: int) -> None:
        start.wait()
        try:
            savers[number].put_writes(
                head, [("messages", [HumanMessage([part(ONE)], id=f"m{number}")])], f"task{number}"
            )
        except ConflictError as error:
            failed.append(error)

    threads = [threading.Thread(target=go, args=(number,)) for number in range(len(savers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    read = make_saver(serde=serde).get_tuple(config("t"))
    assert [write[2][0].content for write in read.pending_writes] == [[part(ONE)]] * len(savers)


@pytest.mark.parametrize("place", ["thread", "store"])
def test_what_says_that_nobody_has_bytes_takes_no_place_of_what_says_where_they_are(
    make_saver: SaverFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    options: dict[str, Any] = {"media_store": tmp_path} if place == "store" else {}
    blocks = [part(ONE)]

    def put(saver: Any, content: Any, number: int) -> None:
        made = checkpoint({"messages": [HumanMessage(content, id=f"q{number}")]})
        saver.put(config("t"), made, metadata(), {"messages": number})

    put(make_saver(**options), blocks, 1)
    reader = make_saver(**options)
    where = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "media": "none"}}
    referring = reader.get_tuple(where).checkpoint["channel_values"]["messages"][0].content
    put(make_saver(**options), "bye", 2)
    make_saver(**options).prune(["t"], strategy="keep_latest")
    found = write.absent_media

    def meanwhile(*arguments: Any) -> Any:
        absent = yield from found(*arguments)
        monkeypatch.setattr(write, "absent_media", found)
        put(make_saver(**options), blocks, 3)
        return absent

    monkeypatch.setattr(write, "absent_media", meanwhile)
    put(reader, referring, 4)
    fresh = make_saver(**options)
    shown = [found.checkpoint["channel_values"]["messages"][0].content for found in fresh.list(config("t"))]
    assert blocks in shown
    assert [entry.reason for entry in fresh.media_report("t")] == []
