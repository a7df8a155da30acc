"""Media in backups: what a store has goes along and comes back; what does not is missed, with place and cause."""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_portable_checkpoint import DirectoryMediaStore
from langgraph_portable_checkpoint.storage.layout import THREAD_PARTS
from langgraph_portable_checkpoint.transfer.backup import backup
from langgraph_portable_checkpoint.transfer.frames import FrameReader, FrameWriter
from langgraph_portable_checkpoint.transfer.restoring import restore
from tests.cli.conftest import Cli
from tests.cli.conftest import cli as cli
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.servers import Room
from tests.transfer.threads import OpenSaver, opened

SOUND = b"RIFF....WAVE" * 400
URI = "https://generativelanguage.googleapis.com/v1beta/files/abc"


def image(seed: str) -> bytes:
    noise = b"".join(hashlib.sha256(f"{seed}.{i}".encode()).digest() for i in range(160))
    return b"\x89PNG\r\n\x1a\n" + noise


def part(data: bytes) -> dict[str, Any]:
    return {"type": "image", "base64": base64.b64encode(data).decode(), "mime_type": "image/png"}


ONE, TWO = image("one"), image("two")
WHOLE = ([part(ONE)], TWO)


@pytest.fixture
def ours(server: Room) -> Iterator[OpenSaver]:
    """Opens savers of ours."""
    with opened(server) as make:
        yield make


@pytest.fixture
def sealing() -> EncryptedSerializer:
    return EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")


def put(saver: Any) -> None:
    values = {"messages": [HumanMessage([part(ONE)], id="q0")], "extra": TWO}
    saver.put(config("t"), checkpoint(values), metadata(), dict.fromkeys(values, 1))
    saver.record_upload("t", URI, data=SOUND, mime_type="audio/wav")


def media(saver: Any) -> Any:
    values = saver.get_tuple(config("t")).checkpoint["channel_values"]
    return values["messages"][0].content, values["extra"]


def saved(saver: Any, **options: Any) -> tuple[io.BytesIO, Any]:
    file = io.BytesIO()
    report = backup(saver, file, **options)
    file.seek(0)
    return file, report


TARGETS = {
    "directory": lambda folder: {"media_store": folder / "there"},
    "other": lambda folder: {"media_store": DirectoryMediaStore(folder / "there", name="other")},
    "redis": lambda folder: {},
}


def lose(server: Room, saver: Any) -> None:
    """Lose all media of the thread, with the thread or in the folder."""
    with server.client() as client:
        client.delete(saver._core.layout.thread("t")[THREAD_PARTS.index("blobs")])
    if isinstance(saver.media_store, DirectoryMediaStore):
        for ref in [blob.ref for blob in saver.media_store.list()]:
            saver.media_store.delete(ref)


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
@pytest.mark.parametrize("store", TARGETS)
@pytest.mark.parametrize("gone_on", [False, True], ids=["the same", "gone on"])
def test_a_restore_puts_back_media_that_a_thread_which_stays_has_lost(
    server: Room,
    ours: OpenSaver,
    sealing: EncryptedSerializer,
    tmp_path: Path,
    store: str,
    *,
    encrypted: bool,
    gone_on: bool,
) -> None:
    options = {**TARGETS[store](tmp_path), "serde": sealing if encrypted else None}
    put(ours(**options))
    file, _ = saved(ours(**options))
    if gone_on:
        saver = ours(**options)
        saver.put(saver.get_tuple(config("t")).config, checkpoint({}), metadata(1), {})
    lose(server, ours(**options))
    assert len(ours(**options).media_report("t")) == 3
    report = restore(ours(**options), file, on_existing="skip")
    assert (report.unchanged, report.skipped) == ((0, 1) if gone_on else (1, 0))
    assert (report.media_mended, report.lost) == (3, [])
    assert ours(**options).media_report("t") == []
    found = list(ours(**options).list(config("t")))[-1].checkpoint["channel_values"]
    assert (found["messages"][0].content, found["extra"]) == WHOLE


def test_a_restore_tells_of_media_that_neither_the_thread_nor_the_backup_has(
    server: Room, ours: OpenSaver, tmp_path: Path
) -> None:
    put(ours(media_store=tmp_path / "here"))
    file, _ = saved(ours(media_store=tmp_path / "here"), media="reference")
    lose(server, ours(media_store=tmp_path / "here"))
    report = restore(ours(media_store=tmp_path / "here"), file)
    assert (report.unchanged, report.media_mended, len(report.lost)) == (1, 0, 3)


def test_another_thread_of_that_id_that_cannot_be_opened_is_skipped(
    ours: OpenSaver, sealing: EncryptedSerializer
) -> None:
    put(ours())
    file, _ = saved(ours())
    ours().delete_thread("t")
    ours(serde=sealing).put(config("t"), checkpoint({"extra": "other"}), metadata(), {"extra": 1})
    assert restore(ours(), file, on_existing="skip").skipped == 1


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
@pytest.mark.parametrize("store", TARGETS)
@pytest.mark.parametrize("over", [False, True], ids=["new", "overwrites"])
def test_a_backup_holds_what_a_store_has(
    ours: OpenSaver, tmp_path: Path, sealing: Any, store: str, encrypted: bool, over: bool
) -> None:
    serde = {"serde": sealing} if encrypted else {}
    source = ours(media_store=tmp_path / "here", **serde)
    put(source)
    file, report = saved(source)
    shutil.rmtree(tmp_path / "here")
    target = ours("b", **TARGETS[store](tmp_path), **serde)
    if over:
        target.put(config("t"), checkpoint({"messages": [HumanMessage("mine")]}), metadata(), {"messages": 1})
    restored = restore(target, file, on_existing="overwrite" if over else "refuse")
    assert (report.lost, restored.restored, restored.lost, restored.blobs_left_out) == ((), 1, [], 0)
    copy = ours("b", **TARGETS[store](tmp_path), **serde)
    assert media(copy) == WHOLE
    assert copy.media_report("t") == []
    uploaded = {record.store for record in copy.media_table("t") if record.uploads}
    assert {record.store for record in copy.media_table("t") if not record.uploads} == {store}
    assert uploaded == ({"redis"} if encrypted else {store})


@pytest.mark.parametrize("mode", ["own", "reference"])
def test_what_is_left_out_is_missed_only_where_it_cannot_be_read(ours: OpenSaver, tmp_path: Path, mode: Any) -> None:
    source = ours(media_store=tmp_path / "here")
    put(source)
    file, report = saved(source, media=mode)
    assert report.lost == ()
    shared = restore(ours("b", media_store=tmp_path / "here"), file)
    assert (shared.blobs_left_out, shared.lost) == (3, [])
    file.seek(0)
    alone = restore(ours("c"), file)
    (first,) = (one for one in alone.lost if "message 'q0', turn 0" in one.detail)
    assert first.checkpoint_id == source.get_tuple(config("t")).checkpoint["id"]
    assert "media store 'directory', which this saver does not have" in first.detail
    assert len(alone.lost) == 3


@pytest.mark.parametrize("store", [False, True], ids=["with the thread", "in a store"])
def test_a_medium_that_cannot_be_read_is_told_by_backup_and_restore(
    server: Room, ours: OpenSaver, tmp_path: Path, store: bool
) -> None:
    source = ours(**({"media_store": tmp_path / "here"} if store else {}))
    put(source)
    if store:
        shutil.rmtree(tmp_path / "here")
    else:
        with server.client() as client:
            client.delete(source._core.layout.thread("t")[THREAD_PARTS.index("blobs")])
    file, report = saved(source)
    restored = restore(ours("b"), file)
    assert [len(report.lost), len(restored.lost)] == [3, 3]
    assert all("cannot be read" in one.detail and one.thread_id == "t" for one in (*report.lost, *restored.lost))
    assert restored.restored == 1


def test_a_thread_that_is_sealed_with_another_key_is_saved_as_it_is_and_its_media_are_missed(
    ours: OpenSaver, tmp_path: Path, sealing: Any
) -> None:
    put(ours(media_store=tmp_path / "here", serde=sealing))
    file, report = saved(ours(media_store=tmp_path / "here"))
    assert [one.detail for one in report.lost] == [
        "media: one: cannot be read: its media table record cannot be read"
    ] * 2
    restored = restore(ours("b", media_store=tmp_path / "here", serde=sealing), file)
    assert (restored.restored, restored.lost) == (1, [])


def rewritten(file: io.BytesIO, change: Callable[[list[Any]], list[Any]]) -> io.BytesIO:
    """Write a backup anew, with its parts changed."""
    out = io.BytesIO()
    writer = FrameWriter(out)
    writer.write(b"H", {"format": 1, "layout": 1, "media": "include", "created_at": ""})
    for frame in FrameReader(file, "given"):
        writer.write(frame.type, change(frame.value) if frame.type == b"D" else frame.value)
    out.seek(0)
    return out


def test_the_order_of_parts_that_earlier_versions_wrote_is_read(ours: OpenSaver, tmp_path: Path) -> None:
    source = ours(media_store=tmp_path / "here")
    put(source)
    order = ["blobs", "items", "media", "ckpts", "writes", "turns"]
    file = rewritten(saved(source)[0], lambda parts: sorted(parts, key=lambda one: order.index(one[0])))
    restored = restore(ours("b"), file)
    assert (restored.restored, restored.lost) == (1, [])
    assert media(ours("b")) == WHOLE


def test_bytes_that_are_not_what_a_record_says_reach_no_store(ours: OpenSaver, tmp_path: Path) -> None:
    source = ours(media_store=tmp_path / "here")
    put(source)
    forged = rewritten(saved(source)[0], lambda parts: [[name, _forged(name, flat)] for name, flat in parts])
    target = ours("b", media_store=tmp_path / "there")
    restore(target, forged)
    stored = {file.read_bytes() for file in (tmp_path / "there").glob("*") if file.is_file()}
    assert b"forged" not in stored
    assert {entry.reason for entry in ours("b", media_store=tmp_path / "there").media_report("t")} == {"corrupt_blob"}


def _forged(name: str, flat: list[Any]) -> list[Any]:
    return [b"forged" if name == "blobs" and at % 2 else value for at, value in enumerate(flat)]


def test_the_commands_tell_of_media_that_are_not_there(server: Room, ours: OpenSaver, cli: Cli, tmp_path: Path) -> None:
    put(ours(media_store=tmp_path / "here"))
    here = ("--redis-url", server.url, "--prefix", f"{server.prefix}-a")
    there = ("--redis-url", server.url, "--prefix", f"{server.prefix}-b")
    whole, partial, none = (tmp_path / name for name in ("whole", "partial", "none"))
    assert cli("backup", whole, *here, "--media", tmp_path / "here").code == 0
    missing = cli("backup", partial, *here)
    assert missing.code == 1
    assert "3 media" in missing.err
    assert "which this saver does not have" in missing.out
    assert cli("backup", none, *here, "--stores-by-reference").code == 0
    lacking = cli("restore", none, *there)
    assert lacking.code == 1
    assert "which this saver does not have" in lacking.out
    assert cli("restore", whole, *there, "--on-existing", "as-new").code == 0
    assert len(cli("backup", partial, *here, "--json").json["lost"]) == 3
