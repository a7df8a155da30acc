"""Media of threads that are copied: the target has them, or the report says which it has not, where and why."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_portable_checkpoint import DirectoryMediaStore, MediaPolicy
from langgraph_portable_checkpoint.errors import MediaTooLargeError
from langgraph_portable_checkpoint.storage.layout import THREAD_PARTS
from langgraph_portable_checkpoint.transfer.copying import acopy_threads, copy_threads
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.servers import Room
from tests.transfer.threads import OpenSaver, opened

URI = "https://generativelanguage.googleapis.com/v1beta/files/abc"
KEY = b"0123456789abcdef"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def image(seed: str) -> bytes:
    noise = b"".join(hashlib.sha256(f"{seed}.{i}".encode()).digest() for i in range(160))
    return b"\x89PNG\r\n\x1a\n" + noise


def part(data: bytes) -> dict[str, Any]:
    return {"type": "image", "base64": base64.b64encode(data).decode(), "mime_type": "image/png"}


ONE, TWO, SOUND = image("one"), image("two"), b"RIFF....WAVE" * 400
QUESTION = HumanMessage([part(ONE)], id="q1")


@pytest.fixture
def ours(server: Room) -> Iterator[OpenSaver]:
    """Opens savers of ours."""
    with opened(server) as make:
        yield make


def sealing() -> EncryptedSerializer:
    return EncryptedSerializer.from_pycryptodome_aes(key=KEY)


def put(saver: Any, thread_id: str = "t") -> None:
    """Put a checkpoint that holds two images, and one that holds the first of them."""
    both = {"messages": [QUESTION, AIMessage("seen", id="a1")], "extra": TWO}
    place = saver.put(config(thread_id), checkpoint(both), metadata(0), dict.fromkeys(both, 1))
    last = {"messages": [*both["messages"], HumanMessage("thanks", id="q2")]}
    saver.put(place, checkpoint(last, {"messages": 2}), metadata(1), {"messages": 2})


def images(saver: Any, thread_id: str = "t") -> list[Any]:
    """Read what stands where the images were, in each checkpoint, newest first."""
    found = [each.checkpoint["channel_values"] for each in saver.list(config(thread_id))]
    return [(values["messages"][0].content, values.get("extra")) for values in found]


WHOLE = [([part(ONE)], None), ([part(ONE)], TWO)]


def away(folder: Path) -> None:
    folder.rename(folder.with_name("away"))


def back(folder: Path) -> None:
    folder.with_name("away").rename(folder)


TARGETS = {
    "another folder": lambda folder: {"media_store": folder / "there"},
    "another store": lambda folder: {"media_store": DirectoryMediaStore(folder / "there", name="other")},
    "no store": lambda folder: {},
}


@pytest.mark.parametrize("serde", [None, sealing], ids=["plain", "encrypted"])
@pytest.mark.parametrize("target", TARGETS)
def test_bytes_of_a_store_go_along_to_where_the_target_keeps_media(
    ours: OpenSaver, tmp_path: Path, target: str, serde: Any
) -> None:
    options = {} if serde is None else {"serde": serde()}
    source = ours(media_store=tmp_path / "here", **options)
    put(source)
    report = copy_threads(source, ours("b", **TARGETS[target](tmp_path), **options))
    assert (report.copied, report.differences) == (1, [])
    away(tmp_path / "here")
    copy = ours("b", **TARGETS[target](tmp_path), **options)
    assert images(copy) == WHOLE
    assert copy.media_report("t") == []
    named = {"another folder": "directory", "another store": "other", "no store": "redis"}[target]
    assert {record.store for record in copy.media_table("t")} == {named}


def test_an_awaited_copy_takes_media_along_too(ours: OpenSaver, tmp_path: Path) -> None:
    source, target = ours(media_store=tmp_path / "here"), ours("b")
    put(source)
    assert asyncio.run(acopy_threads(source, target)).equal
    away(tmp_path / "here")
    assert images(ours("b")) == WHOLE


class Counting(DirectoryMediaStore):
    """A folder that counts what is put."""

    puts = 0

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        self.puts += 1
        return super().put(sha256, mime_type, data)


def test_what_both_savers_can_read_is_not_stored_again(ours: OpenSaver, tmp_path: Path) -> None:
    shared = Counting(tmp_path / "here")
    source, target = ours(media_store=shared), ours("b", media_store=shared)
    put(source)
    before = shared.puts
    assert copy_threads(source, target).equal
    assert shared.puts == before
    assert images(target) == WHOLE


class Forgetful(DirectoryMediaStore):
    """A store that says it has stored what it has not."""

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        ref = super().put(sha256, mime_type, data)
        self.delete(ref)
        return ref


def test_a_verified_copy_has_read_the_media_back(ours: OpenSaver, tmp_path: Path) -> None:
    source, target = ours(media_store=tmp_path / "here"), ours("b", media_store=Forgetful(tmp_path / "there"))
    put(source)
    assert len(copy_threads(source, target).differences) == 2


def test_between_savers_of_ours_a_medium_that_cannot_be_read_stays_named_and_is_reported(
    ours: OpenSaver, tmp_path: Path
) -> None:
    put(ours(media_store=tmp_path / "here"))
    away(tmp_path / "here")
    source, target = ours(media_store=tmp_path / "here"), ours("b", media_store=tmp_path / "here")
    report = copy_threads(source, target)
    places = [each.config["configurable"]["checkpoint_id"] for each in source.list(config("t"))]
    assert report.copied == 1
    assert {(one.thread_id, one.checkpoint_ns, one.checkpoint_id) for one in report.differences} == {
        ("t", "", places[-1])
    }
    first, second = sorted((one.detail for one in report.differences), key=lambda told: "extra" in told)
    assert f"image/png, {len(ONE)} B" in first
    assert "message 'q1', turn 0" in first
    assert str(tmp_path / "here") in first, "the store's own words"
    assert "channel 'extra'" in second
    back(tmp_path / "here")
    assert images(ours("b", media_store=tmp_path / "here")) == WHOLE


def test_no_text_is_copied_in_the_place_of_a_medium_to_savers_that_keep_values(ours: OpenSaver, tmp_path: Path) -> None:
    put(ours(media_store=tmp_path / "here"))
    put(ours(media_store=tmp_path / "here"), "u")
    away(tmp_path / "here")
    source, target = ours(media_store=tmp_path / "here"), InMemorySaver()
    report = copy_threads(source, target, ["t"])
    assert (report.copied, report.skipped, len(report.differences)) == (0, 1, 2)
    assert all(one.checkpoint_id and str(tmp_path / "here") in one.detail for one in report.differences)
    assert target.get_tuple(config("t")) is None
    back(tmp_path / "here")
    assert copy_threads(ours(media_store=tmp_path / "here"), target).equal
    assert images(target) == WHOLE


def test_a_thread_is_not_deleted_for_a_copy_that_would_lose_media(ours: OpenSaver, tmp_path: Path) -> None:
    put(ours(media_store=tmp_path / "here"))
    away(tmp_path / "here")
    for target in (InMemorySaver(), ours("b")):
        made = checkpoint({"messages": [HumanMessage("mine")]})
        target.put(config("t"), made, metadata(0), {"messages": 1})
        report = copy_threads(ours(media_store=tmp_path / "here"), target, on_existing="overwrite")
        assert (report.copied, report.skipped, len(report.differences)) == (0, 1, 2)
        assert [each.checkpoint["id"] for each in target.list(config("t"))] == [made["id"]]


class Failing(DirectoryMediaStore):
    """A store that fails from some get on."""

    left = 1000

    def get(self, ref: str) -> bytes:
        self.left -= 1
        if self.left < 0:
            raise TimeoutError("no answer")
        return super().get(ref)


class NoRoom:
    """A cache of media that keeps nothing."""

    def get(self, digest: bytes) -> bytes | None:
        return None

    def put(self, digest: bytes, data: bytes) -> None:
        pass


@pytest.mark.parametrize("gets", range(5))
def test_a_store_that_fails_in_the_middle_of_a_copy_leaves_no_text_behind(
    ours: OpenSaver, tmp_path: Path, gets: int
) -> None:
    store = Failing(tmp_path / "here")
    source, target = ours(media_store=store), InMemorySaver()
    put(source)
    source._core.blobs = NoRoom()
    store.left = gets
    report = copy_threads(source, target)
    assert (report.copied, bool(report.differences)) in {(0, True), (1, False)}
    assert images(target) in ([], WHOLE[1:], WHOLE)
    store.left = 1000
    assert copy_threads(source, target).equal
    assert images(target) == WHOLE


def test_a_second_copy_makes_good_what_could_not_be_read_at_the_first(ours: OpenSaver, tmp_path: Path) -> None:
    put(ours(media_store=tmp_path / "here"))
    away(tmp_path / "here")
    assert not copy_threads(ours(media_store=tmp_path / "here"), ours("b")).equal
    assert not copy_threads(ours(media_store=tmp_path / "here"), ours("b")).equal
    back(tmp_path / "here")
    assert copy_threads(ours(media_store=tmp_path / "here"), ours("b")).equal
    away(tmp_path / "here")
    assert images(ours("b")) == WHOLE
    assert ours("b").media_report("t") == []


@pytest.mark.parametrize("damage", ["gone", "altered"])
def test_a_medium_that_the_source_has_lost_itself_is_reported(server: Room, ours: OpenSaver, damage: str) -> None:
    source = ours()
    put(source)
    blobs = source._core.layout.thread("t")[THREAD_PARTS.index("blobs")]
    with server.client() as client:
        for name in client.hkeys(blobs):
            if damage == "gone":
                client.hdel(blobs, name)
            else:
                client.hset(blobs, name, b"other")
    for target in (ours("b"), InMemorySaver()):
        report = copy_threads(ours(), target)
        assert len(report.differences) == 2
        assert all("cannot be read" in one.detail and one.checkpoint_id for one in report.differences)


def record(saver: Any, **more: Any) -> None:
    """Record an upload whose bytes nobody else has, one whose bytes a message has, and one without bytes."""
    saver.record_upload("t", URI, data=SOUND, mime_type="audio/wav", expires_at=NOW, account="a")
    saver.record_upload("t", f"{URI}/image", data=ONE, mime_type="image/png")
    saver.record_upload("t", f"{URI}/unknown", mime_type="video/mp4", expires_at=NOW + timedelta(hours=1))


def uploads(saver: Any) -> list[Any]:
    return sorted(
        (each.uri, each.provider, each.account, each.uploaded_at, each.expires_at, one.mime_type, one.size_bytes)
        for one in saver.media_table("t")
        for each in one.uploads
    )


def renewed(saver: Any) -> list[bytes]:
    """Upload anew what has expired in a message that names all uploads; return the bytes that were uploaded."""
    names = [{"type": "media", "file_uri": uri, "mime_type": "audio/wav"} for uri in (URI, f"{URI}/image")]
    made = checkpoint({"messages": [HumanMessage(names, id="q3")]}, {"messages": 3})
    saver.put(config("t"), made, metadata(2), {"messages": 3})
    sent: list[bytes] = []
    saver.refresh_uploads("t", upload=lambda data, _: sent.append(data) or f"{URI}/{len(sent)}", recheck=True,
                          check=lambda _: False)  # fmt: skip
    return sorted(sent)


@pytest.mark.parametrize("sealed", [(True, False), (False, True), (False, False)], ids=["open", "seal", "as stored"])
@pytest.mark.parametrize("stores", [(True, False), (False, True), (False, False)], ids=["out", "in", "none"])
def test_recorded_uploads_travel_with_their_bytes(
    ours: OpenSaver, tmp_path: Path, sealed: tuple[bool, bool], stores: tuple[bool, bool]
) -> None:
    def open_(name: str, side: int) -> Any:
        options: dict[str, Any] = {"media_store": tmp_path / name} if stores[side] else {}
        return ours(name, **options, **({"serde": sealing()} if sealed[side] else {}))

    source = open_("a", 0)
    put(source)
    record(source)
    assert copy_threads(source, open_("b", 1)).equal
    assert copy_threads(open_("a", 0), open_("b", 1)).unchanged == 1
    assert uploads(open_("b", 1)) == uploads(source)
    assert len(uploads(source)) == 3
    source.delete_thread("t")
    if stores[0]:
        away(tmp_path / "a")
    assert renewed(open_("b", 1)) == sorted([ONE, SOUND])
    assert open_("b", 1).media_report("t")[0].reason == "expired_reuploaded"


def test_the_media_report_travels_from_encrypted_threads(ours: OpenSaver) -> None:
    source = ours(serde=sealing(), media_policy=MediaPolicy(rules={"image/*": "strip"}))
    put(source)
    copy_threads(source, ours("b"))
    told = [(one.reason, one.message, one.size_bytes) for one in ours("b").media_report("t")]
    assert told == [(one.reason, one.message, one.size_bytes) for one in source.media_report("t")]
    assert ("stripped", "q1", len(ONE)) in told


def test_uploads_follow_a_copy_that_was_stopped_before_them(ours: OpenSaver) -> None:
    source, target = ours(serde=sealing()), ours("b")
    put(source)
    assert copy_threads(source, target).equal
    record(source)
    assert copy_threads(ours(serde=sealing()), ours("b")).unchanged == 1
    assert uploads(ours("b")) == uploads(source)


def test_what_the_target_has_recorded_of_an_upload_since_stays(ours: OpenSaver) -> None:
    source, target = ours(serde=sealing()), ours("b")
    put(source)
    record(source)
    copy_threads(source, target)
    target.record_upload("t", URI, data=SOUND, mime_type="audio/wav", expires_at=NOW + timedelta(days=9))
    source.record_upload("t", f"{URI}/new", expires_at=NOW)
    assert copy_threads(source, ours("b")).unchanged == 1
    expiries = {each[0]: each[4] for each in uploads(ours("b"))}
    assert (expiries[URI], expiries[f"{URI}/new"]) == (NOW + timedelta(days=9), NOW)


def test_bytes_of_an_upload_that_cannot_be_read_are_reported(ours: OpenSaver, tmp_path: Path) -> None:
    source = ours(media_store=tmp_path / "here")
    put(source)
    source.record_upload("t", URI, data=SOUND, mime_type="audio/wav", expires_at=NOW)
    source.media_store.delete(next(one.ref for one in source.media_table("t") if one.uploads))
    report = copy_threads(source, ours("b"))
    assert [f"upload {URI}" in one.detail for one in report.differences] == [True]
    assert uploads(ours("b"))[0][0] == URI


def test_bytes_that_only_an_upload_names_keep_no_thread_from_a_saver_without_a_place_for_uploads(
    ours: OpenSaver, tmp_path: Path
) -> None:
    source = ours(media_store=tmp_path / "here")
    put(source)
    source.record_upload("t", URI, data=SOUND, mime_type="audio/wav", expires_at=NOW)
    source.media_store.delete(next(one.ref for one in source.media_table("t") if one.uploads))
    report = copy_threads(source, InMemorySaver())
    assert (report.copied, report.uploads_left_out, report.differences) == (1, 1, [])


def test_a_saver_without_a_place_for_uploads_is_told_of(ours: OpenSaver) -> None:
    source = ours()
    put(source)
    record(source)
    report = copy_threads(source, InMemorySaver())
    assert (report.copied, report.uploads_left_out, report.differences) == (1, 3, [])


SOURCES: dict[str, Any] = {
    "plain": {},
    "inline": {"media_policy": "inline"},
    "sealed": {"serde": sealing()},
    "another saver": None,
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("policy", ["strip", {"preserve_media": False}], ids=str)
def test_a_target_that_strips_media_strips_those_of_copies(
    ours: OpenSaver, source: str, sealed: bool, policy: Any
) -> None:
    options = SOURCES[source]
    origin: Any = InMemorySaver() if options is None else ours("a", **options)
    put(origin)
    serde = {"serde": sealing()} if sealed else {}
    target = ours("b", media_policy=policy, **serde)
    report = copy_threads(origin, target)
    assert (report.copied, report.stripped, report.differences) == (1, 1, [])
    assert copy_threads(origin, ours("b", media_policy=policy, **serde)).unchanged == 1
    found = [each.checkpoint["channel_values"]["messages"][0].content for each in ours("b", **serde).list(config("t"))]
    assert found == [[{"type": "text", "text": f"[image/png, {len(ONE)} B, removed on save]"}]] * 2
    assert ("stripped", len(ONE)) in {(one.reason, one.size_bytes) for one in target.media_report("t")}


def test_a_thread_is_overwritten_by_its_stripped_copy(ours: OpenSaver) -> None:
    origin, target = ours("a"), ours("b", media_policy="strip")
    put(origin)
    target.put(config("t"), checkpoint({"messages": []}), metadata(0), {"messages": 1})
    report = copy_threads(origin, target, on_existing="overwrite")
    assert (report.copied, report.skipped, report.stripped, report.differences) == (1, 0, 1, [])
    assert "removed on save" in str(target.get_tuple(config("t")).checkpoint["channel_values"])


def test_a_copy_takes_no_medium_that_is_too_large_for_the_target(ours: OpenSaver) -> None:
    origin, target = ours("a"), ours("b", media_policy=MediaPolicy(max_bytes=len(ONE) - 1))
    put(origin)
    with pytest.raises(MediaTooLargeError):
        copy_threads(origin, target)
    assert target.get_tuple(config("t")) is None


def test_a_copy_without_media_to_strip_tells_of_none(ours: OpenSaver) -> None:
    origin = ours("a")
    origin.put(config("t"), checkpoint({"messages": [AIMessage("x", id="a")]}), metadata(0), {"messages": 1})
    report = copy_threads(origin, ours("b", media_policy="strip"))
    assert (report.copied, report.stripped, report.differences) == (1, 0, [])
