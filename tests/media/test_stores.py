"""The bundled stores: the public contract, and what goes wrong on disks and networks."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import stat
import subprocess
import threading
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3
import obstore
import pytest

from langgraph_portable_checkpoint.errors import (
    MediaDigestError,
    MediaMissingError,
    MediaRefError,
    MediaStoreError,
    MediaTooLargeError,
)
from langgraph_portable_checkpoint.media.directory import DirectoryMediaStore
from langgraph_portable_checkpoint.media.objects import ObjectMediaStore
from langgraph_portable_checkpoint.media.stores import (
    AsyncMediaStore,
    CondemnsBlobs,
    MediaStore,
    PresignsBlobs,
    StreamsBlobs,
    store_name,
)
from langgraph_portable_checkpoint.testing import HOSTILE_REFS, MediaStoreTests, sha256_of

from .conftest import KEYS, open_bucket

DATA = os.urandom(4096)
SHA = sha256_of(DATA)
SOON = datetime.now(UTC) + timedelta(days=1)


class Awaited(ObjectMediaStore):
    """An object store of which only the awaited ways in are used."""

    def __init__(self, opened: ObjectMediaStore) -> None:
        super().__init__(opened.store)

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        return asyncio.run(self.aput(sha256, mime_type, data))

    def get(self, ref: str) -> bytes:
        return asyncio.run(self.aget(ref))


class TestDirectory(MediaStoreTests):
    @pytest.fixture
    def store(self, tmp_path: Path) -> MediaStore:
        return DirectoryMediaStore(tmp_path / "media")

    def damage(self, store: DirectoryMediaStore, ref: str, data: bytes, *, condemned: bool) -> bool:
        (store.path / (ref + condemned * ".condemned")).write_bytes(data)
        return True


class TestObjects(MediaStoreTests):
    @pytest.fixture
    def store(self, object_store: ObjectMediaStore) -> MediaStore:
        return object_store

    def damage(self, store: ObjectMediaStore, ref: str, data: bytes, *, condemned: bool) -> bool:
        obstore.put(store.store, store.prefix + condemned * "condemned/" + ref, data)
        return True


class TestAwaitedObjects(TestObjects):
    """The same by `aput` and `aget`."""

    @pytest.fixture
    def store(self, object_store: ObjectMediaStore) -> MediaStore:
        return Awaited(object_store)


class TestObjectsWithoutPrefix(TestObjects):
    @pytest.fixture
    def store(self, bucket: tuple[str, str]) -> MediaStore:
        store = open_bucket(*bucket)
        return ObjectMediaStore(store.store, prefix="")


@pytest.fixture
def folder(tmp_path: Path) -> DirectoryMediaStore:
    return DirectoryMediaStore(tmp_path)


def test_the_bundled_stores_say_what_they_can_do(folder: DirectoryMediaStore, object_store: ObjectMediaStore) -> None:
    for store in (folder, object_store):
        assert isinstance(store, MediaStore)
        assert isinstance(store, CondemnsBlobs)
        assert isinstance(store, StreamsBlobs)
    assert isinstance(object_store, AsyncMediaStore)
    assert isinstance(object_store, PresignsBlobs)
    assert not isinstance(folder, AsyncMediaStore)
    assert [store_name(folder), store_name(object_store)] == ["directory", "object"]


def test_a_file_is_named_by_digest_and_type(folder: DirectoryMediaStore) -> None:
    assert folder.put(SHA, "audio/wav", DATA) == f"{SHA}.wav"
    assert [file.name for file in folder.path.iterdir()] == [f"{SHA}.wav"]
    assert stat.S_IMODE((folder.path / f"{SHA}.wav").stat().st_mode) == 0o600


def test_a_blob_of_many_names_is_one_file(folder: DirectoryMediaStore) -> None:
    refs = {folder.put(SHA, mime_type, DATA) for mime_type in ("audio/wav", "image/png", None, "x/y")}
    assert refs == {f"{SHA}.wav"}
    assert len(list(folder.path.iterdir())) == 1


@pytest.mark.parametrize("damage", [b"", DATA[:-1], bytes(len(DATA)), DATA + b"x"])
def test_a_damaged_file_is_never_read_and_is_healed_by_the_next_put(folder: DirectoryMediaStore, damage: bytes) -> None:
    ref = folder.put(SHA, "image/png", DATA)
    (folder.path / ref).write_bytes(damage)
    with pytest.raises(MediaDigestError, match=ref):
        folder.get(ref)
    assert folder.put(SHA, "image/png", DATA) == ref
    assert folder.get(ref) == DATA


def test_links_and_pipes_in_the_folder_are_not_followed(folder: DirectoryMediaStore, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(DATA)
    ref = f"{SHA}.png"
    (folder.path / ref).symlink_to(secret)
    with pytest.raises(MediaStoreError):
        folder.get(ref)
    assert folder.put(SHA, "image/png", DATA) == ref
    assert not (folder.path / ref).is_symlink()
    (folder.path / ref).unlink()
    os.mkfifo(folder.path / ref)
    with pytest.raises(MediaStoreError):
        folder.get(ref)


def test_a_blob_that_would_not_be_read_back_is_refused(tmp_path: Path, object_store: ObjectMediaStore) -> None:
    object_store.max_bytes = len(DATA) - 1
    for store in (DirectoryMediaStore(tmp_path, max_bytes=len(DATA) - 1), object_store, Awaited(object_store)):
        store.max_bytes = len(DATA) - 1
        with pytest.raises(MediaTooLargeError, match=rf"{len(DATA)} bytes.* no more than {len(DATA) - 1}"):
            store.put(SHA, None, DATA)
        assert list(store.list()) == []
        store.max_bytes = len(DATA)
        assert store.get(store.put(SHA, None, DATA)) == DATA
        store.delete(next(store.list()).ref)


@pytest.mark.parametrize("calls", [["restore"], ["restore", "restore"], ["put", "restore"], ["restore", "put"]])
def test_a_set_aside_file_that_is_damaged_gives_way_to_the_good_one(
    folder: DirectoryMediaStore, calls: list[str]
) -> None:
    ref = folder.put(SHA, None, DATA)
    (folder.path / f"{ref}.condemned").write_bytes(DATA[:-1] + b"!")
    for call in calls:
        folder.put(SHA, None, DATA) if call == "put" else folder.restore(ref)
    assert [(file.name, file.read_bytes()) for file in folder.path.iterdir()] == [(ref, DATA)]


def test_files_too_large_for_any_policy_are_not_loaded(tmp_path: Path) -> None:
    store = DirectoryMediaStore(tmp_path, max_bytes=DATA.__len__())
    ref = store.put(SHA, None, DATA)
    assert store.get(ref) == DATA
    with (tmp_path / ref).open("ab") as file:
        file.truncate(2**40)
    with pytest.raises(MediaStoreError, match="at most"):
        store.get(ref)


def test_other_files_of_the_folder_are_never_touched(folder: DirectoryMediaStore) -> None:
    (folder.path / "notes.txt").write_text("mine")
    (folder.path / f"{SHA}.exe").write_bytes(DATA)
    for ref in ("notes.txt", f"{SHA}.exe"):
        with pytest.raises(MediaRefError):
            folder.get(ref)
        with pytest.raises(MediaRefError):
            folder.delete(ref)
    assert [blob.ref for blob in folder.list() if "exe" not in blob.ref] == []


def test_wrong_bytes_are_not_written(folder: DirectoryMediaStore, object_store: ObjectMediaStore) -> None:
    for store in (folder, object_store):
        with pytest.raises(MediaDigestError):
            store.put(SHA, None, DATA + b"x")
        assert list(store.list()) == []


def test_a_folder_that_may_not_be_written_says_so(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    for path in (blocked, blocked / "media"):
        with pytest.raises(MediaStoreError, match="cannot be written"):
            DirectoryMediaStore(path).put(SHA, None, DATA)


@pytest.mark.parametrize("where", ["/proc/nothing/media", "/dev/null/media"])
def test_a_folder_that_cannot_be_made_is_no_missing_blob(where: str) -> None:
    with pytest.raises(MediaStoreError, match=rf"cannot be written in {where}: .* Check free space") as failed:
        DirectoryMediaStore(where).put(SHA, None, DATA)
    assert not isinstance(failed.value, MediaMissingError)


def test_missing_permission_is_told(folder: DirectoryMediaStore) -> None:
    if os.geteuid() == 0:
        pytest.skip("permissions do not bind root")
    ref = folder.put(SHA, None, DATA)
    (folder.path / ref).chmod(0)
    with pytest.raises(MediaStoreError, match=r"[Pp]ermission"):
        folder.get(ref)


def test_permissions_bind_an_ordinary_user(tmp_path: Path) -> None:
    """As another user where the tests run as root: a child process gives its rights up first."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    store = DirectoryMediaStore(tmp_path)
    ref = store.put(SHA, None, DATA)
    for parent in (tmp_path, *list(tmp_path.parents)[:-2]):
        parent.chmod(0o755)
    child = os.fork()
    if child == 0:
        os.setuid(65534)
        codes = []
        for call in (lambda: store.get(ref), lambda: store.put(sha256_of(b"x"), None, b"x")):
            try:
                call()
            except MediaMissingError:
                codes.append(2)
            except MediaStoreError as failed:
                codes.append(0 if "ermission" in str(failed) else 3)
        os._exit(sum(codes) if len(codes) == 2 else 9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [file.name for file in tmp_path.iterdir()] == [ref]


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    """A file size limit fails the write in the middle, as a full disk does."""
    store = DirectoryMediaStore(tmp_path)
    small = store.put(sha256_of(b"small"), None, b"small")
    large = os.urandom(200_000)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            store.put(sha256_of(large), None, large)
        except MediaStoreError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert [file.name for file in tmp_path.iterdir()] == [small]
    ref = store.put(sha256_of(large), None, large)
    assert store.get(ref) == large


def _write_until_killed(folder: Path, acknowledge: int) -> None:
    store = DirectoryMediaStore(folder)
    while True:
        data = os.urandom(300_000)
        os.write(acknowledge, store.put(sha256_of(data), "image/png", data).encode() + b"\n")


def test_killed_writers_leave_only_whole_blobs(tmp_path: Path) -> None:
    store = DirectoryMediaStore(tmp_path)
    acknowledged: list[str] = []
    for number in range(20):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            _write_until_killed(tmp_path, write)
        os.close(write)
        with os.fdopen(read) as lines:
            acknowledged.append(lines.readline().strip())
            threading.Event().wait(number / 5000)
            os.kill(child, signal.SIGKILL)
            acknowledged += [line.strip() for line in lines if line.endswith("\n")]
        os.waitpid(child, 0)
    listed = [blob.ref for blob in store.list()]
    assert set(acknowledged) <= set(listed)
    assert all(len(store.get(ref)) == 300_000 for ref in listed)
    left = [file for file in tmp_path.iterdir() if file.name not in listed]
    assert store.purge_unfinished(before=SOON) == len(left)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(listed)


def _sweep_until_killed(folder: Path, ref: str, data: bytes) -> None:
    store = DirectoryMediaStore(folder)
    while True:
        store.condemn(ref, unless_put_since=SOON)
        store.put(sha256_of(data), None, data)
        (folder / f"{ref}.condemned").write_bytes(data[:-1] + b"!")
        store.restore(ref)


def test_a_sweep_killed_while_it_takes_a_blob_back_leaves_the_blob(tmp_path: Path) -> None:
    """Beside a set aside file that is damaged: the good one may never be the one that goes."""
    store, data = DirectoryMediaStore(tmp_path), os.urandom(100_000)
    ref = store.put(sha256_of(data), None, data)
    for number in range(30):
        child = os.fork()
        if child == 0:
            _sweep_until_killed(tmp_path, ref, data)
        threading.Event().wait(0.002 + number / 5000)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert store.get(ref) == data
        store.restore(ref)
        assert store.get(ref) == data


def test_writers_in_many_processes_never_show_half_a_blob(tmp_path: Path) -> None:
    data = os.urandom(2_000_000)
    store = DirectoryMediaStore(tmp_path)
    ref = f"{sha256_of(data)}.png"
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            for _ in range(10):
                store.put(sha256_of(data), "image/png", data)
            os._exit(0)
        children.append(child)
    seen = 0
    while any(os.waitpid(child, os.WNOHANG) == (0, 0) for child in children[-1:]):
        try:
            seen += store.get(ref) == data
        except MediaMissingError:
            assert seen == 0
    for child in children[:-1]:
        os.waitpid(child, 0)
    assert store.get(ref) == data
    assert [file.name for file in tmp_path.iterdir()] == [ref]


def test_a_device_without_space_is_told_and_left_as_it_was(tmp_path: Path) -> None:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "media", str(tmp_path)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("this user may not mount a file system; a file size limit is tested instead")
    try:
        store = DirectoryMediaStore(tmp_path)
        small, large = os.urandom(500_000), os.urandom(800_000)
        ref = store.put(sha256_of(small), None, small)
        with pytest.raises(MediaStoreError, match="No space left"):
            store.put(sha256_of(large), None, large)
        assert [file.name for file in tmp_path.iterdir()] == [ref]
        assert store.get(ref) == small
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_unfinished_writes_of_others_are_left_alone(folder: DirectoryMediaStore) -> None:
    (folder.path / ".abc.tmp").write_bytes(b"half")
    assert folder.purge_unfinished(before=datetime.now(UTC) - timedelta(hours=1)) == 0
    assert folder.purge_unfinished(before=SOON) == 1


def test_a_blob_condemned_while_it_is_put_is_never_out_of_reach(folder: DirectoryMediaStore) -> None:
    ref = folder.put(SHA, None, DATA)
    for _ in range(300):
        os.utime(folder.path / ref, (0, 0))
        start = threading.Barrier(2)

        def sweep(start: threading.Barrier = start) -> None:
            start.wait()
            folder.condemn(ref, unless_put_since=datetime.now(UTC) - timedelta(hours=1))

        sweeper = threading.Thread(target=sweep)
        sweeper.start()
        start.wait()
        assert folder.put(SHA, None, DATA) == ref
        assert folder.get(ref) == DATA
        sweeper.join()
        assert (ref, False) in [(blob.ref, blob.condemned) for blob in folder.list()]
        folder.purge(ref)


def test_a_blob_that_a_sweep_renames_while_it_is_touched_is_written_anew(folder: DirectoryMediaStore) -> None:
    ref = folder.put(SHA, None, DATA)
    real = os.utime

    def renamed_meanwhile(path: Any, *times: Any) -> None:
        real(path, *times)
        if path == folder.path / ref:  # as when the name was looked up before the sweep, and the time set after it
            path.rename(f"{path}.condemned")

    with patch.object(os, "utime", renamed_meanwhile):
        assert folder.put(SHA, None, DATA) == ref
    assert (ref, False) in [(blob.ref, blob.condemned) for blob in folder.list()]


def test_objects_carry_their_type_and_nothing_of_it_in_the_key(
    bucket: tuple[str, str], object_store: ObjectMediaStore
) -> None:
    url, name = bucket
    assert object_store.put(SHA, "audio/wav", DATA) == SHA
    found = boto3.client("s3", endpoint_url=url, region_name="us-east-1", **KEYS).get_object(
        Bucket=name, Key=f"media/{SHA}"
    )
    assert (found["ContentType"], found["Body"].read()) == ("audio/wav", DATA)


def test_a_presigned_link_needs_no_key(object_store: ObjectMediaStore) -> None:
    object_store.put(SHA, None, DATA)
    link = object_store.presigned_url(SHA, expires_seconds=60)
    with urllib.request.urlopen(link) as answer:
        assert answer.read() == DATA


async def test_objects_stream_without_blocking(object_store: ObjectMediaStore) -> None:
    await object_store.aput(SHA, None, DATA)
    await object_store.aput(SHA, None, DATA)
    assert b"".join([piece async for piece in object_store.astream(SHA)]) == DATA
    assert await object_store.aget(SHA) == DATA


def test_an_exchanged_object_is_refused(bucket: tuple[str, str], object_store: ObjectMediaStore) -> None:
    url, name = bucket
    object_store.put(SHA, None, DATA)
    client = boto3.client("s3", endpoint_url=url, region_name="us-east-1", **KEYS)
    client.put_object(Bucket=name, Key=f"media/{SHA}", Body=bytes(len(DATA)))
    with pytest.raises(MediaDigestError):
        object_store.get(SHA)


@pytest.mark.parametrize("size_bytes", [0, 1000, 5 * 2**20, 5 * 2**20 + 1, 11 * 2**20])
async def test_an_object_that_stands_with_these_bytes_is_not_sent_again(
    object_store: ObjectMediaStore, size_bytes: int
) -> None:
    data, sent = os.urandom(size_bytes), []
    sha256 = sha256_of(data)
    with (
        patch.object(obstore, "put", side_effect=lambda *a, _put=obstore.put, **o: sent.append(_put(*a, **o))),
        patch.object(obstore, "put_async", side_effect=AssertionError("it was sent again")),
    ):
        object_store.put(sha256, None, data)
        object_store.put(sha256, None, data)
        await object_store.aput(sha256, None, data)
    assert len(sent) == 1


def test_an_object_that_is_restored_while_another_sweep_takes_it_is_there(object_store: ObjectMediaStore) -> None:
    ref = object_store.put(SHA, "image/png", DATA)
    assert object_store.condemn(ref, unless_put_since=SOON)

    def both(store: Any, key: str, _delete: Any = obstore.delete) -> None:
        _delete(store, key)
        _delete(store, f"media/{ref}")

    with patch.object(obstore, "delete", both):
        object_store.restore(ref)
    assert [(blob.ref, blob.condemned) for blob in object_store.list()] == [(ref, False)]
    assert object_store.get(ref) == DATA
    assert obstore.get(object_store.store, f"media/{ref}").attributes == {"Content-Type": "image/png"}


@pytest.mark.parametrize(
    ("url", "options", "told"),
    [
        ("s3://", {}, "Unable to recognise URL"),
        ("ftp://host/x", {}, "Unable to recognise URL"),
        ("bucket", {}, "relative URL"),
        ("", {}, "relative URL"),
        ("az://container", {}, "Account must be specified"),
        ("file:///etc", {}, "use DirectoryMediaStore"),
        ("s3://bucket", {"foo": 1}, "'foo' is not valid"),
        ("s3://bucket", {"region": None}, "not an instance of 'str'"),
        ("s3://bucket", {"timeout": "1s"}, "client_options"),
        ("s3://bucket", {"client_options": {"timeout": "x"}}, "as Duration"),
        ("s3://bucket", {"retry_config": {"max_retries": -1}}, "negative"),
        (None, {}, "instance of 'str'"),
    ],
)
def test_a_url_that_is_no_object_store_is_refused(url: Any, options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told) as refused:
        ObjectMediaStore.from_url(url, **options)
    assert "\n" not in str(refused.value)


def test_what_is_secret_in_a_url_is_not_told() -> None:
    with pytest.raises(ValueError, match="ftp://host/x cannot be opened") as refused:
        ObjectMediaStore.from_url("ftp://me:password@host/x?key=token")
    assert "password" not in str(refused.value)
    assert "token" not in str(refused.value)


async def test_objects_too_large_for_any_policy_are_not_loaded(object_store: ObjectMediaStore) -> None:
    object_store.put(SHA, None, DATA)
    object_store.max_bytes = len(DATA) - 1
    with pytest.raises(MediaStoreError, match="more than"):
        object_store.get(SHA)
    with pytest.raises(MediaStoreError, match="more than"):
        await object_store.aget(SHA)


def test_an_upload_cut_off_in_the_middle_is_never_read(bucket: tuple[str, str], object_store: ObjectMediaStore) -> None:
    """As a client does that is killed: the head of a request, part of the body, and silence."""
    url, name = bucket
    host, port = url.removeprefix("http://").split(":")
    for size in (len(DATA) * 2, len(DATA)):
        with socket.create_connection((host, int(port))) as cut:
            head = f"PUT /{name}/media/{SHA} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {size}\r\n\r\n"
            cut.sendall(head.encode() + DATA[:-1])
        with pytest.raises((MediaMissingError, MediaDigestError)):
            object_store.get(SHA)
    object_store.put(SHA, None, DATA)
    assert object_store.get(SHA) == DATA


def test_a_bucket_that_is_not_there_is_told(s3_url: str) -> None:
    store = open_bucket(s3_url, "no-such-bucket")
    for put in (store.put, Awaited(store).put):
        with pytest.raises(MediaStoreError, match=r"put of media object .* is the bucket there\? .*404") as failed:
            put(SHA, None, DATA)
        assert not isinstance(failed.value, MediaMissingError)
    with pytest.raises(MediaStoreError):
        store.get(SHA)
    with pytest.raises(MediaStoreError):
        list(store.list())


async def test_a_server_that_is_down_is_told() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    store = open_bucket(f"http://127.0.0.1:{port}", "bucket", retries=0)
    for call in (lambda: store.put(SHA, None, DATA), lambda: store.get(SHA), lambda: store.exists(SHA)):
        with pytest.raises(MediaStoreError) as failed:
            call()
        assert not isinstance(failed.value, MediaMissingError)
    with pytest.raises(MediaStoreError):
        await store.aget(SHA)


def test_a_server_that_never_answers_is_given_up(bucket: tuple[str, str]) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        store = open_bucket(f"http://127.0.0.1:{silent.getsockname()[1]}", "bucket", timeout="200ms", retries=0)
        with pytest.raises(MediaStoreError):
            store.get(SHA)


OF_A_FILE = {
    "get": lambda store, ref: store.get(ref),
    "exists": lambda store, ref: store.exists(ref),
    "stream": lambda store, ref: list(store.stream(ref)),
    "delete": lambda store, ref: store.delete(ref),
    "condemn": lambda store, ref: store.condemn(ref, unless_put_since=SOON),
    "restore": lambda store, ref: store.restore(ref),
    "purge": lambda store, ref: store.purge(ref),
}


@pytest.mark.parametrize("name", OF_A_FILE)
def test_a_folder_is_never_left_by_a_ref_that_is_none_of_ours(tmp_path: Path, name: str) -> None:
    store = DirectoryMediaStore(tmp_path / "store")
    store.put(SHA, "image/png", DATA)
    for beside in ("outside", "outside.condemned", "store/inside", "store/inside.condemned"):
        (tmp_path / beside).write_bytes(b"not media")
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in tmp_path.rglob("*") if file.is_file()}
    for ref in (*HOSTILE_REFS, "../outside", str(tmp_path / "outside"), "inside"):
        with pytest.raises(MediaRefError):
            OF_A_FILE[name](store, ref)
    assert {f: (f.read_bytes(), f.stat().st_mtime_ns) for f in tmp_path.rglob("*") if f.is_file()} == before


@pytest.mark.parametrize(("later_seconds", "condemned"), [(-1, False), (0, False), (1, True)])
def test_a_file_that_a_put_has_touched_since_is_not_condemned(
    tmp_path: Path, later_seconds: int, condemned: bool
) -> None:
    store, touched = DirectoryMediaStore(tmp_path), datetime(2026, 1, 2, tzinfo=UTC)
    ref = store.put(SHA, "image/png", DATA)
    os.utime(tmp_path / ref, (touched.timestamp(), touched.timestamp()))
    assert store.condemn(ref, unless_put_since=touched + timedelta(seconds=later_seconds)) is condemned
    assert (tmp_path / ref).exists() is not condemned
    assert condemned or (tmp_path / ref).stat().st_mtime == touched.timestamp(), "it was taken away for a moment"
    assert store.get(ref) == DATA
