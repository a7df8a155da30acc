"""Whole threads pass page by page: memory does not grow with their contents, and each is still of one moment."""

from __future__ import annotations

import base64
import io
import random
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_portable_checkpoint.saver import PortableRedisSaver
from langgraph_portable_checkpoint.storage.programs import bulk, paged, whole
from langgraph_portable_checkpoint.transfer.backup import backup
from langgraph_portable_checkpoint.transfer.checking import verify_thread
from langgraph_portable_checkpoint.transfer.copying import copy_threads
from langgraph_portable_checkpoint.transfer.restoring import restore
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.same import difference
from tests.servers import Room
from tests.transfer.threads import OpenSaver, assert_same_thread, contents, opened, put_chain

MEGABYTE = 1_000_000


@pytest.fixture
def ours(server: Room) -> Iterator[OpenSaver]:
    """Opens savers of ours."""
    with opened(server) as make:
        yield make


def _picture(number: int, size: int) -> HumanMessage:
    data = base64.b64encode(random.Random(number).randbytes(size)).decode()
    return HumanMessage([{"type": "image", "base64": data, "mime_type": "image/png"}], id=f"i{number}")


def put_pictures(saver: Any, thread_id: str, *, turns: int, size: int) -> None:
    """Put a conversation in which each turn shows a picture of its own."""
    place, messages = config(thread_id), []
    for turn in range(turns):
        messages = [*messages, HumanMessage(f"question {turn}", id=f"h{turn}"), AIMessage(f"{turn}", id=f"a{turn}")]
        versions = {"messages": turn + 1, "shown": turn + 1}
        made = checkpoint({"messages": messages, "shown": [_picture(turn, size)]}, versions)
        place = saver.put(place, made, metadata(turn, run_id=f"r{turn}"), versions)
        saver.put_writes(place, [("messages", messages[-1:])], f"task-{turn}")


def _peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("way", ["backup", "restore", "copy_threads", "copy_thread", "verify"])
def test_memory_does_not_hold_the_contents_of_a_thread(ours: OpenSaver, tmp_path: Path, way: str) -> None:
    put_pictures(ours("a"), "t", turns=60, size=MEGABYTE)
    source, target, file = ours("a"), ours("b"), tmp_path / "t.backup"
    backup(source, file)
    assert file.stat().st_size > 60 * MEGABYTE
    ways: dict[str, Callable[[], object]] = {
        "backup": lambda: backup(source, tmp_path / "again"),
        "restore": lambda: restore(target, file),
        "copy_threads": lambda: copy_threads(source, target),
        "copy_thread": lambda: source.copy_thread("t", "u"),
        "verify": lambda: verify_thread(source, "t"),
    }
    assert _peak(ways[way]) < 24 * MEGABYTE


def test_a_pruned_thread_is_no_heavier(ours: OpenSaver, tmp_path: Path) -> None:
    saver, messages = ours("a"), [_picture(number, MEGABYTE) for number in range(40)]
    saver.put(config("t"), checkpoint({"messages": messages}, {"messages": 1}), metadata(), {"messages": 1})
    del messages
    assert _peak(lambda: backup(ours("a"), tmp_path / "t.backup")) < 24 * MEGABYTE
    restore(ours("b"), tmp_path / "t.backup")
    assert_same_thread(ours("b"), saver, "t")


class _Busy:
    """Lets a graph go on while a thread is read: after each page of checkpoints, up to some number of times."""

    def __init__(self, saver: PortableRedisSaver, times: int) -> None:
        self.saver = saver
        self.times = times
        self.moments = [contents(saver, "t")]
        self._read_pages = paged.read_pages

    def read_pages(self, core: Any, outline: Any, wanted: Any) -> Any:
        if "ckpts" in wanted and self.times:
            self.times -= 1
            self._go_on()
        return (yield from self._read_pages(core, outline, wanted))

    def _go_on(self) -> None:
        head = self.saver.get_tuple(config("t"))
        assert head is not None
        self.saver.put_writes(head.config, [("n", self.times)], f"late-{self.times}")
        first = min(self.saver.list(config("t")), key=lambda each: each.checkpoint["id"])
        self.saver.put_writes(first.config, [("n", self.times)], f"later-{self.times}")
        self.saver.put(head.config, checkpoint({"n": self.times}, {"n": 99}), metadata(9), {"n": 99})
        self.moments.append(contents(self.saver, "t"))


@pytest.mark.parametrize("times", [1, 3, 1000], ids=["once", "three times", "always"])
@pytest.mark.parametrize("way", ["backup", "copy_threads", "copy_thread"])
def test_a_thread_at_work_is_read_as_it_was_at_one_moment(
    ours: OpenSaver, monkeypatch: pytest.MonkeyPatch, way: str, times: int
) -> None:
    source, target, file = ours("a"), ours("b"), io.BytesIO()
    put_chain(source, "t", turns=40)
    busy = _Busy(source, times)
    with monkeypatch.context() as patched:
        patched.setattr(paged, "PAGE_BYTES", 4000)
        patched.setattr(paged, "read_pages", busy.read_pages)
        if way == "backup":
            backup(source, file)
        elif way == "copy_threads":
            copy_threads(source, target)
        else:
            source.copy_thread("t", "u")
    if way == "backup":
        file.seek(0)
        assert restore(target, file).restored == 1
    copy = contents(source, "u") if way == "copy_thread" else contents(target, "t")
    assert len(busy.moments) > 1
    assert any(difference(copy, moment) is None for moment in busy.moments)
    saver, name = (source, "u") if way == "copy_thread" else (target, "t")
    assert [finding for finding in verify_thread(saver, name) if finding.severity == "error"] == []


def test_what_is_staged_is_seen_by_nobody(ours: OpenSaver) -> None:
    source, target = ours("a"), ours("b")
    put_chain(source, "t")
    places = [each.config for each in source.list(config("t"))]
    stored = source._run(whole.dump_thread(source._core, "t"))
    assert stored is not None
    load = target._run(whole.begin_load(target._core, "t", stored, key=b""))
    target._run(whole.stage(target._core, load, {part: stored.part(part) for part in whole.PARTS}))
    assert [target.get_tuple(place) for place in places] == [None] * len(places)
    assert list(target.list(config("t"))) == []
    assert target.thread_info("t") is None
    assert [each.thread_id for each in target.threads()] == []
    assert {finding.severity for finding in verify_thread(target, "t")} == {"note"}
    target._run(whole.commit(target._core, load))
    assert_same_thread(target, source, "t")
    assert verify_thread(target, "t") == []


def test_a_thread_of_many_runs_is_loaded(ours: OpenSaver) -> None:
    source, target = ours("a"), ours("b")
    put_chain(source, "t")
    stored = source._run(whole.dump_thread(source._core, "t"))
    assert stored is not None
    runs = tuple(number.to_bytes(16, "big") for number in range(20_000))
    target._run(whole.load_thread(target._core, "t", replace(stored, runs=runs), key=b""))
    copy = target._run(whole.dump_thread(target._core, "t"))
    assert copy is not None
    assert len(copy.runs) == 20_000


def test_media_that_the_server_lost_are_found_out_by_a_copy(
    ours: OpenSaver, server: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target, put_many = InMemorySaver(), ours("b"), bulk.put_many
    put_pictures(source, "t", turns=3, size=20_000)

    def forgetful(core: Any, thread_id: str, operations: Any) -> Any:
        yield from put_many(core, thread_id, operations)
        with server.client() as client:
            client.delete(f"{server.prefix}-b:1:{{t:t}}:blobs")

    monkeypatch.setattr(bulk, "put_many", forgetful)
    report = copy_threads(source, target)
    assert [each.detail.partition("[")[0] for each in report.differences] == ["channel 'shown'"] * 3
