"""Sweeping a shared store: what goes, what stays, and what saves that go on meanwhile may count on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from langgraph_portable_checkpoint.errors import MediaMissingError, MediaStoreError
from langgraph_portable_checkpoint.media import garbage
from langgraph_portable_checkpoint.media.directory import DirectoryMediaStore
from langgraph_portable_checkpoint.media.garbage import GarbageReport, acollect_garbage, collect_garbage
from langgraph_portable_checkpoint.media.objects import ObjectMediaStore
from langgraph_portable_checkpoint.media.stores import StoredBlob
from langgraph_portable_checkpoint.testing import sha256_of

DAY = timedelta(days=1)
METHODS = ("list", "condemn", "restore", "purge", "delete")


def awaited_only(store: Any) -> Any:
    """Return a store that has the async methods alone, of those that a store has."""

    def twin(name: str) -> Any:
        async def call(_: Any, *args: Any, **options: Any) -> Any:
            await asyncio.sleep(0)
            return getattr(store, name)(*args, **options)

        async def listing(_: Any) -> Any:
            for blob in store.list():
                yield blob

        return listing if name == "list" else call

    return type("Awaited", (), {f"a{name}": twin(name) for name in METHODS if hasattr(store, name)})()


@pytest.fixture(autouse=True, params=["blocking", "awaited", "awaited store"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tests of this file sweep by each way in turn."""

    def awaited(store: Any, live_refs: Any, **options: Any) -> GarbageReport:
        async def live() -> Any:
            for ref in live_refs():
                yield ref

        swept = awaited_only(store) if request.param == "awaited store" else store
        return asyncio.run(acollect_garbage(swept, live, **options))

    if request.param != "blocking":
        monkeypatch.setitem(globals(), "collect_garbage", awaited)


def later(days: float) -> datetime:
    return datetime.now(UTC) + days * DAY


@pytest.fixture(params=["directory", "objects"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> DirectoryMediaStore | ObjectMediaStore:
    if request.param == "directory":
        return DirectoryMediaStore(tmp_path)
    found: ObjectMediaStore = request.getfixturevalue("object_store")
    return found


def put(store: Any, text: bytes) -> str:
    ref: str = store.put(sha256_of(text), None, text)
    return ref


def sweep(store: Any, live: Any, days: float, **options: Any) -> GarbageReport:
    return collect_garbage(store, lambda: live, now=later(days), dry_run=False, **options)


def actions(report: GarbageReport) -> list[tuple[str, str]]:
    return sorted((action, blob.ref) for action, blob in report.actions)


def test_a_dry_run_changes_nothing_and_says_what_a_run_does(store: Any) -> None:
    live, dead = put(store, b"live"), put(store, b"dead")
    before = sorted(store.list())
    report = collect_garbage(store, lambda: [live], now=later(2))
    assert report.dry_run
    assert (report.blobs, report.live, report.young) == (2, 1, 0)
    assert actions(report) == [("condemn", dead)]
    assert sorted(store.list()) == before
    assert actions(sweep(store, [live], 2)) == actions(report)


def test_what_nobody_names_goes_in_two_sweeps(store: Any) -> None:
    live, dead = put(store, b"live"), put(store, b"dead")
    assert sweep(store, [live], 2).freed_bytes == 0
    assert store.get(dead) == b"dead"
    report = sweep(store, [live], 4)
    assert (actions(report), report.freed_bytes) == ([("purge", dead)], 4)
    with pytest.raises(MediaMissingError):
        store.get(dead)
    assert store.get(live) == b"live"
    assert actions(sweep(store, [live], 6)) == []


def test_what_was_put_within_the_grace_period_stays(store: Any) -> None:
    put(store, b"new")
    report = sweep(store, [], 0.5)
    assert (report.actions, report.young) == ((), 1)


def test_what_is_named_again_comes_back(store: Any) -> None:
    ref = put(store, b"again")
    sweep(store, [], 2)
    assert actions(sweep(store, [ref], 4)) == [("restore", ref)]
    assert [(blob.ref, blob.condemned) for blob in store.list()] == [(ref, False)]


def test_a_put_saves_a_condemned_blob(store: Any) -> None:
    ref = put(store, b"saved")
    sweep(store, [], 2)
    assert put(store, b"saved") == ref
    report = collect_garbage(store, list, now=later(0.5), dry_run=False)
    assert store.get(ref) == b"saved"
    assert all(blob.condemned for _, blob in report.actions)


def test_a_blob_put_after_the_listing_is_not_condemned(tmp_path: Path) -> None:
    store = DirectoryMediaStore(tmp_path)
    ref = put(store, b"x")
    os.utime(tmp_path / ref, (0, 0))

    def saving_meanwhile() -> Iterator[str]:
        put(store, b"x")
        yield from ()

    report = collect_garbage(store, saving_meanwhile, now=datetime.now(UTC), dry_run=False)
    assert report.actions == ()
    assert [blob.condemned for blob in store.list()] == [False]


def test_nothing_is_deleted_when_marking_fails(store: Any) -> None:
    ref = put(store, b"kept")

    def failing() -> Iterator[str]:
        yield from ()
        raise ConnectionError("the server went away")

    with pytest.raises(ConnectionError):
        collect_garbage(store, failing, now=later(9), dry_run=False)
    assert [(blob.ref, blob.condemned) for blob in store.list()] == [(ref, False)]


def test_blobs_that_threads_name_and_the_store_lacks_are_told(store: Any) -> None:
    assert sweep(store, ["gone", put(store, b"here")], 2).missing == ("gone",)


def test_a_sweep_counts_what_it_leaves_alone(store: Any) -> None:
    live, _ = put(store, b"live"), put(store, b"young")
    report = sweep(store, [live, "gone"], 0)
    assert (report.blobs, report.live, report.young, report.actions) == (2, 1, 1, ())


def test_progress_is_told(store: Any) -> None:
    refs = [put(store, bytes([number])) for number in range(3)]
    told: list[tuple[str, int]] = []
    sweep(store, refs[:1], 2, progress=lambda step, count: told.append((step, count)))
    assert told[:4] == [("list", 1), ("list", 2), ("list", 3), ("mark", 1)]
    assert [step for step, _ in told[4:]] == ["condemn", "condemn"]


def test_a_grace_period_too_short_to_be_safe_is_refused(store: Any) -> None:
    with pytest.raises(ValueError, match="least"):
        collect_garbage(store, list, now=later(0), grace=timedelta(minutes=1))
    assert collect_garbage(store, list, now=later(0), grace=garbage.MIN_GRACE).blobs == 0


class Plain:
    """A store with list and delete, as other people may write it."""

    def __init__(self) -> None:
        self.blobs: dict[str, datetime] = {}

    def list(self) -> Iterator[StoredBlob]:
        return iter([StoredBlob(ref, 1, moment) for ref, moment in self.blobs.items()])

    def delete(self, ref: str) -> None:
        del self.blobs[ref]


def test_a_blob_that_is_exactly_as_old_as_the_grace_period_stays() -> None:
    store, now = Plain(), later(0)
    store.blobs = {"edge": now - DAY, "beyond": now - DAY - timedelta(microseconds=1)}
    report = collect_garbage(store, list, now=now, grace=DAY, dry_run=False, saves_stopped=True)
    assert (list(store.blobs), report.young, report.freed_bytes) == (["edge"], 1, 1)


def test_a_store_that_can_only_delete_is_swept_at_once_where_nobody_saves() -> None:
    store = Plain()
    store.blobs = {"old": later(-2), "live": later(-2), "new": later(0)}
    report = collect_garbage(store, lambda: ["live"], now=later(0), dry_run=False, saves_stopped=True)
    assert (actions(report), report.freed_bytes, sorted(store.blobs)) == ([("delete", "old")], 1, ["live", "new"])


def test_a_store_that_can_only_delete_is_not_swept_while_saves_may_go_on() -> None:
    store = Plain()
    store.blobs = {"old": later(-2)}
    with pytest.raises(MediaStoreError, match="saves_stopped=True"):
        collect_garbage(store, list, now=later(0), dry_run=False)
    assert sorted(store.blobs) == ["old"]
    assert actions(collect_garbage(store, list, now=later(0))) == [("delete", "old")]


def test_a_store_that_cannot_list_is_not_swept() -> None:
    with pytest.raises(MediaStoreError, match="cannot be swept"):
        collect_garbage(object(), list, now=later(0))


def test_random_lives_of_threads_never_lose_a_blob_that_is_named(tmp_path: Path) -> None:
    """Threads come, share blobs, go; sweeps run in between, and some are killed half way."""
    chance = random.Random(7)
    store = DirectoryMediaStore(tmp_path)
    threads: dict[int, set[str]] = {}
    contents: dict[str, bytes] = {}

    def age(by_hours: float) -> None:
        for file in tmp_path.iterdir():
            moment = file.stat().st_mtime - by_hours * 3600
            os.utime(file, (moment, moment))

    def killed_half_way(step: str, count: int) -> None:
        if step not in ("list", "mark") and chance.random() < 0.3:
            raise KeyboardInterrupt

    for _ in range(600):
        roll = chance.random()
        if roll < 0.5:
            data = b"%d" % chance.randrange(12)
            ref = put(store, data)
            contents[ref] = data
            threads.setdefault(chance.randrange(6), set()).add(ref)
        elif roll < 0.7:
            threads.pop(chance.randrange(6), None)
        elif roll < 0.85:
            age(chance.randrange(40))
        else:
            with contextlib.suppress(KeyboardInterrupt):
                collect_garbage(
                    store,
                    lambda: (ref for refs in threads.values() for ref in refs),
                    now=datetime.now(UTC),
                    dry_run=False,
                    progress=killed_half_way,
                )
        for refs in threads.values():
            assert all(store.get(ref) == contents[ref] for ref in refs)
    for _ in range(2):
        age(48)
        collect_garbage(store, list, now=datetime.now(UTC), dry_run=False)
    assert list(store.list()) == []


def test_an_awaited_store_is_not_swept_by_the_blocking_way() -> None:
    store = awaited_only(Plain())
    with pytest.raises(MediaStoreError, match="acollect_media_garbage"):
        garbage.collect_garbage(store, list, now=later(0))
