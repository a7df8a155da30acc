"""Contract tests for people who write a media store of their own.

    # test_my_store.py, run by pytest
    import pytest
    from langgraph_portable_checkpoint.testing import MediaStoreTests

    class TestMyStore(MediaStoreTests):
        @pytest.fixture
        def store(self):
            return MyStore(...)

Every test takes the fixture `store`: a store that is empty, or holds only what earlier tests have put. What a store
implements beyond `put` and `get` is tested too; what it does not implement is skipped. Override `damage` as well, so
that tests can alter what the store holds. This module needs no test framework itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar

from langgraph_portable_checkpoint.media.stores import (
    MAX_REF_CHARS,
    THREADS_OWN,
    AsyncMediaStore,
    ChecksBlobs,
    CondemnsBlobs,
    DeletesBlobs,
    ListsBlobs,
    MediaStore,
    StreamsBlobs,
    store_name,
)

T = TypeVar("T")

_SHA256: Final = hashlib.sha256(b"never put").hexdigest()
HOSTILE_REFS: Final = (
    "", ".", "..", "/", "\\", "../etc/passwd", "/etc/passwd", "C:\\x", "a/../b", f"../{_SHA256}.png", f"/{_SHA256}.png",
    f"{_SHA256}/../x", f"{_SHA256}.png/..", f"{_SHA256}.png\0", f"{_SHA256}.png\n", f" {_SHA256}", "%2e%2e%2f",
    "http://127.0.0.1/x", "file:///etc/passwd", f"file:{_SHA256}", "*", f"{_SHA256[:-1]}*", "$HOME", "a" * 5000,
    "caf\N{LATIN SMALL LETTER E WITH ACUTE}", "\ud800",
)  # fmt: skip


def sha256_of(data: bytes) -> str:
    """Return the digest that `put` is told."""
    return hashlib.sha256(data).hexdigest()


class MediaStoreTests:
    """Inherit, and give the fixture `store`; override `damage` where something else can write to what it holds."""

    def damage(self, store: Any, ref: str, data: bytes, *, condemned: bool) -> bool:
        """Put other bytes in a blob's place, past the store, and return True. As it is, such tests test nothing.

        Args:
            condemned: Whether the blob is one that has been set aside.
        """
        return False

    def test_what_was_put_comes_back(self, store: MediaStore) -> None:
        for data in _samples():
            assert store.get(_put(store, data)) == data

    def test_the_name_is_one_that_the_media_table_can_say(self, store: MediaStore) -> None:
        name = store_name(store)
        assert name.encode() not in (b"", THREADS_OWN.encode())

    def test_the_ref_is_short_text(self, store: MediaStore) -> None:
        ref = _put(store, b"ref")
        assert isinstance(ref, str)
        assert 0 < len(ref) <= MAX_REF_CHARS

    def test_bytes_come_back_as_bytes(self, store: MediaStore) -> None:
        assert type(store.get(_put(store, b"type"))) is bytes

    def test_putting_the_same_bytes_again_is_harmless(self, store: MediaStore) -> None:
        data = os.urandom(1000)
        refs = {_put(store, data, mime_type) for mime_type in ("image/png", "image/png", None, "text/plain")}
        assert [store.get(ref) for ref in refs] == [data] * len(refs)

    def test_any_mime_type_is_taken(self, store: MediaStore) -> None:
        for mime_type in (None, "", "image/png", "application/x-../../etc", "a" * 300, "x/y; charset=utf-8"):
            data = os.urandom(20)
            assert store.get(_put(store, data, mime_type)) == data

    def test_blobs_do_not_disturb_each_other(self, store: MediaStore) -> None:
        blobs = [os.urandom(50) for _ in range(20)]
        refs = [_put(store, data) for data in blobs]
        assert [store.get(ref) for ref in refs] == blobs

    def test_a_blob_that_is_not_there_raises(self, store: MediaStore) -> None:
        known = _put(store, b"there")
        absent = known.replace(sha256_of(b"there"), _SHA256)
        assert absent != known, "a ref should hold the digest, so that it cannot name other bytes"
        assert _raised(lambda: store.get(absent))

    def test_refs_that_put_never_returns_are_refused(self, store: MediaStore) -> None:
        for ref in HOSTILE_REFS:
            assert _raised(partial(store.get, ref)), f"get({ref!r:.60}) did not raise"

    def test_digests_that_are_none_are_refused(self, store: MediaStore) -> None:
        for digest in (*HOSTILE_REFS, _SHA256.upper(), _SHA256 + "0"):
            assert _raised(partial(store.put, digest, "image/png", b"x")), f"put({digest!r:.60}, ...)"

    def test_many_writers_of_one_blob_agree(self, store: MediaStore) -> None:
        data = os.urandom(200_000)
        refs = _together(8, lambda: _put(store, data))
        assert len(refs) == 8
        assert all(store.get(ref) == data for ref in refs)

    def test_readers_see_a_blob_whole_or_not_at_all(self, store: MediaStore) -> None:
        data = os.urandom(500_000)
        ref = _put(store, data)
        seen = _together(8, lambda: (_put(store, data), store.get(ref))[1])
        assert seen == [data] * 8

    def test_awaiting_gives_the_same(self, store: MediaStore) -> None:
        if isinstance(store, AsyncMediaStore):
            data = os.urandom(1000)
            ref = _run(store.aput, sha256_of(data), "image/png", data)
            assert _run(store.aget, ref) == store.get(ref) == data
            for hostile in HOSTILE_REFS:
                assert _raised(partial(_run, store.aget, hostile)), hostile

    def test_existence_is_told(self, store: MediaStore) -> None:
        if isinstance(store, ChecksBlobs):
            ref = _put(store, b"exists")
            assert store.exists(ref) is True
            assert store.exists(ref.replace(sha256_of(b"exists"), _SHA256)) is False

    def test_deleted_blobs_are_gone_and_can_be_put_again(self, store: MediaStore) -> None:
        if isinstance(store, DeletesBlobs):
            ref = _put(store, b"deleted")
            store.delete(ref)
            store.delete(ref)
            assert _raised(lambda: store.get(ref))
            assert store.get(_put(store, b"deleted")) == b"deleted"
            assert all(_raised(partial(store.delete, hostile)) for hostile in HOSTILE_REFS)

    def test_blobs_are_listed_with_size_and_time(self, store: MediaStore) -> None:
        if isinstance(store, ListsBlobs):
            data = os.urandom(777)
            ref = _put(store, data)
            [found] = [blob for blob in store.list() if blob.ref == ref]
            assert (found.size_bytes, found.condemned) == (777, False)
            assert abs(datetime.now(UTC) - found.modified_at) < timedelta(minutes=5)

    def test_condemned_blobs_can_still_be_read_and_come_back_when_they_are_put(self, store: MediaStore) -> None:
        if isinstance(store, CondemnsBlobs):
            data = os.urandom(100)
            ref = _put(store, data)
            long_ago, soon = datetime.now(UTC) - timedelta(days=1), datetime.now(UTC) + timedelta(days=1)
            assert store.condemn(ref, unless_put_since=long_ago) is False
            assert store.condemn(ref, unless_put_since=soon) is True
            assert store.get(ref) == data
            _put(store, data)
            store.purge(ref)
            assert store.get(ref) == data
            assert store.condemn(ref, unless_put_since=soon) is True
            store.restore(ref)
            store.purge(ref)
            assert store.get(ref) == data
            assert store.condemn(ref, unless_put_since=soon) is True
            store.purge(ref)
            assert _raised(lambda: store.get(ref))
            assert store.condemn(ref, unless_put_since=soon) is False

    def test_a_put_is_read_although_other_bytes_stood_in_its_place(self, store: MediaStore) -> None:
        data = os.urandom(1000)
        ref = _put(store, data)
        for wrong in (os.urandom(1000), data[:-1], b""):
            if self.damage(store, ref, wrong, condemned=False):
                assert store.get(_put(store, data)) == data

    def test_a_condemned_blob_that_is_damaged_never_replaces_a_good_one(self, store: MediaStore) -> None:
        if isinstance(store, CondemnsBlobs):
            data = os.urandom(1000)
            ref = _put(store, data)
            assert store.condemn(ref, unless_put_since=datetime.now(UTC) + timedelta(days=1)) is True
            if self.damage(store, ref, os.urandom(1000), condemned=True):
                for _ in range(2):
                    assert store.get(_put(store, data)) == data
                store.restore(ref)
                assert store.get(ref) == data
                store.purge(ref)
                assert store.get(ref) == data

    def test_streams_give_the_bytes_in_order(self, store: MediaStore) -> None:
        if isinstance(store, StreamsBlobs):
            data = os.urandom(300_000)
            assert b"".join(store.stream(_put(store, data), chunk_bytes=100_000)) == data


def _samples() -> Iterable[bytes]:
    return (b"", b"\0", b"text", bytes(range(256)), os.urandom(2**20))


def _put(store: MediaStore, data: bytes, mime_type: str | None = "image/png") -> str:
    return store.put(sha256_of(data), mime_type, data)


def _run(function: Callable[..., Any], *arguments: Any) -> Any:
    async def once() -> Any:
        return await function(*arguments)

    return asyncio.run(once())


class _Noted:
    """Note that a call raised, whatever the store's own kind of error is."""

    raised = False

    def __enter__(self) -> _Noted:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self.raised = isinstance(error, Exception)
        return self.raised


def _raised(call: Callable[[], object]) -> bool:
    with _Noted() as noted:
        call()
    return noted.raised


def _together(count: int, call: Callable[[], T]) -> list[T]:
    """Run a call on several threads at once; a call that fails leaves no result."""
    results: list[T] = []
    start = threading.Barrier(count)

    def run() -> None:
        start.wait()
        results.append(call())

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
