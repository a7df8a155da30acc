"""A thread that was copied while media could not be read is completed by copying again, wherever they stand in it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_portable_checkpoint.transfer.copying import acopy_threads, copy_threads
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.servers import Room
from tests.transfer.test_copied_media import NOW, QUESTION, SOUND, TARGETS, TWO, URI, away, back, sealing
from tests.transfer.threads import OpenSaver, opened


@pytest.fixture
def ours(server: Room) -> Iterator[OpenSaver]:
    """Opens savers of ours."""
    with opened(server) as make:
        yield make


def put(saver: Any) -> None:
    """Put a checkpoint with a picture and one among its pending writes, and a last one without any."""
    first = {"messages": [QUESTION]}
    place = saver.put(config("t"), checkpoint(first), metadata(0), dict.fromkeys(first, 1))
    saver.put_writes(place, [("extra", TWO)], "task")
    last = {"messages": [HumanMessage("never mind", id="q1")]}
    saver.put(place, checkpoint(last, {"messages": 2}), metadata(1), {"messages": 2})


def held(saver: Any) -> list[Any]:
    """Give what each checkpoint holds, newest first."""
    found = [(each.checkpoint["channel_values"], each.pending_writes) for each in saver.list(config("t"))]
    return [(values["messages"], writes) for values, writes in found]


def copied(source: Any, target: Any, *, awaited: bool, **options: Any) -> Any:
    if awaited:
        return asyncio.run(acopy_threads(source, target, **options))
    return copy_threads(source, target, **options)


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("serde", [None, sealing], ids=["plain", "encrypted"])
@pytest.mark.parametrize("target", TARGETS)
def test_media_of_older_checkpoints_are_brought_once_they_can_be_read(
    ours: OpenSaver, tmp_path: Path, target: str, serde: Any, *, awaited: bool
) -> None:
    def savers() -> tuple[Any, Any]:
        sealed = {} if serde is None else {"serde": serde()}
        options = {**TARGETS[target](tmp_path), **sealed}
        return ours(media_store=tmp_path / "here", **sealed), ours("b", **options)

    put(savers()[0])
    away(tmp_path / "here")
    assert len(copied(*savers(), awaited=awaited).differences) == 2
    report = copied(*savers(), awaited=awaited)
    assert (report.unchanged, len(report.differences)) == (1, 2), "what is still away is told again"
    back(tmp_path / "here")
    report = copied(*savers(), awaited=awaited)
    assert (report.completed, report.differences) == (1, [])
    report = copied(*savers(), awaited=awaited)
    assert (report.unchanged, report.differences) == (1, [])
    whole = held(savers()[0])
    away(tmp_path / "here")
    assert held(savers()[1]) == whole
    assert savers()[1].media_report("t") == []


@pytest.mark.parametrize("before", [False, True], ids=["with the thread", "after it"])
@pytest.mark.parametrize("target", TARGETS)
def test_bytes_of_uploads_are_brought_once_they_can_be_read(
    ours: OpenSaver, tmp_path: Path, target: str, *, before: bool
) -> None:
    def copy() -> Any:
        return copy_threads(ours(media_store=tmp_path / "here"), ours("b", **TARGETS[target](tmp_path)))

    put(ours(media_store=tmp_path / "here"))
    if before:
        assert copy().equal
    ours(media_store=tmp_path / "here").record_upload("t", URI, data=SOUND, mime_type="audio/wav", expires_at=NOW)
    away(tmp_path / "here")
    assert not copy().equal
    assert not copy().equal
    back(tmp_path / "here")
    assert copy().equal
    away(tmp_path / "here")
    saver = ours("b", **TARGETS[target](tmp_path))
    (kept,) = [each for each in saver.media_table("t") if each.uploads and each.store is not None]
    assert kept.sha256 == hashlib.sha256(SOUND).hexdigest()
    assert saver.media_report("t") == []


def test_a_medium_that_is_gone_on_both_sides_is_told_with_its_place_each_time(ours: OpenSaver, tmp_path: Path) -> None:
    put(ours(media_store=tmp_path / "here"))
    away(tmp_path / "here")
    for _ in range(2):
        report = copy_threads(ours(media_store=tmp_path / "here"), ours("b", media_store=tmp_path / "there"))
    oldest = [each.config["configurable"]["checkpoint_id"] for each in ours("b").list(config("t"))][-1]
    assert oldest in {one.checkpoint_id for one in report.differences}
    assert all("cannot be read" in one.detail for one in report.differences)


def test_without_verify_a_thread_that_is_there_is_not_looked_through(ours: OpenSaver, tmp_path: Path) -> None:
    put(ours(media_store=tmp_path / "here"))
    away(tmp_path / "here")
    for _ in range(2):
        report = copy_threads(ours(media_store=tmp_path / "here"), ours("b"), verify=False)
    assert (report.unchanged, report.differences) == (1, [])
