"""What a renewal of uploads leaves of the values and media beside them, whatever cannot be had just then."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.types import Interrupt

from langgraph_portable_checkpoint import verify_thread
from langgraph_portable_checkpoint.errors import ConflictError
from langgraph_portable_checkpoint.media.hooks import MediaHooks
from langgraph_portable_checkpoint.media.table import MediaTable, Upload
from langgraph_portable_checkpoint.media.uploads import Renewal
from langgraph_portable_checkpoint.storage.codec import native_encode
from langgraph_portable_checkpoint.storage.drivers import BlockingDriver
from langgraph_portable_checkpoint.storage.layout import place
from langgraph_portable_checkpoint.storage.programs.amend import amend
from langgraph_portable_checkpoint.storage.programs.core import NoBlobs
from tests.media.test_refreshed_graphs import CONFIG, FILES, NEW, OLD, PAST, refresh
from tests.media.test_thread_media import ONE, part
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.conftest import calls as calls
from tests.saver.conftest import make_saver as make_saver
from tests.saver.zoo_messages import MESSAGES


def upload_part(uri: str) -> dict[str, Any]:
    return {"type": "file", "url": uri, "mime_type": "audio/wav"}


LONG = "so much text " * 300
VALUES: dict[str, Callable[[str], Any]] = {
    "messages": lambda uri: [HumanMessage([part(ONE), upload_part(uri)], id="q")],
    "a message without an id": lambda uri: [HumanMessage([part(ONE), upload_part(uri)])],
    "an artifact": lambda uri: [ToolMessage([upload_part(uri)], artifact=[part(ONE)], tool_call_id="c", id="t")],
    "a part of its own": lambda uri: [HumanMessage([upload_part(uri)], additional_kwargs={"shot": part(ONE)}, id="q")],
    "one note": lambda uri: [{"content": [part(ONE), upload_part(uri)]}],
    "notes": lambda uri: [{"content": [part(ONE), upload_part(uri)]}, {"content": LONG}],
    "long notes": lambda uri: [{"text": LONG, "content": [part(ONE), upload_part(uri)]}, {"text": LONG}],
    "notes of many parts": lambda uri: [{"text": LONG, "content": [part(ONE), upload_part(uri), {"text": LONG}] * 9}],
    "notes with messages": lambda uri: [
        {"text": LONG, "content": [upload_part(uri)], "said": [HumanMessage([part(ONE)], id="m")]},
        HumanMessage("seen", id="q"),
    ],
}


@pytest.fixture(params=[False, True], ids=["plain", "sealed"])
def serde(request: pytest.FixtureRequest) -> Any:
    return EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 32) if request.param else None


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_other_media_that_cannot_be_had_during_a_refresh_are_not_lost(
    make_saver: SaverFactory, tmp_path: Path, value: Callable[[str], Any], warm: bool, serde: Any
) -> None:
    folder, away = tmp_path / "media", tmp_path / "away"
    saver = make_saver(media_store=folder, serde=serde)
    made = checkpoint({"notes": value(OLD), "other": [part(ONE)]})
    saver.put(CONFIG, made, metadata(), made["channel_versions"])
    saver.record_upload("t", OLD, mime_type="audio/wav", expires_at=PAST)
    saver.record_upload("t", FILES + "alive", expires_at=datetime.now(UTC) + timedelta(days=1))
    saver._core.blobs = NoBlobs()
    folder.rename(away)
    renewing = saver if warm else make_saver(media_store=folder, serde=serde)
    refreshed = renewing.refresh_uploads("t", upload=lambda data, record: NEW, channel="notes")
    assert [report.reason for report in refreshed.reports] == ["expired_no_bytes"] * len(refreshed.reports)
    assert refreshed.changed == (0,)
    shutil.rmtree(folder, ignore_errors=True)
    away.rename(folder)
    for reader in (renewing, make_saver(media_store=folder, serde=serde)):
        head = reader.get_tuple(CONFIG)
        wanted = str(value(OLD)).replace(
            str(upload_part(OLD)), "{'type': 'text', 'text': '[audio/wav, expired at the provider]'}"
        )
        assert str(head.checkpoint["channel_values"]["notes"]) == wanted
        assert head.checkpoint["channel_values"]["other"] == [part(ONE)]


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_what_is_refreshed_equals_what_would_have_been_saved(
    make_saver: SaverFactory, calls: Calls, value: Callable[[str], Any], serde: Any
) -> None:
    saver = make_saver(serde=serde)
    made = checkpoint({"notes": value(OLD)})
    calls.put(saver, CONFIG, made, metadata(), made["channel_versions"])
    assert refresh(calls, saver, channel="notes").changed == (0,)
    for reader in (saver, make_saver(serde=serde)):
        head = calls.get_tuple(reader, CONFIG)
        assert head is not None
        assert head.checkpoint["channel_values"]["notes"] == value(NEW)
    assert {finding.kind for finding in verify_thread(saver, "t")} == {"orphan items"}


def test_bytes_that_are_away_for_a_moment_are_uploaded_the_next_time(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path
) -> None:
    folder, away = tmp_path / "media", tmp_path / "away"
    heard: list[Any] = []
    saver = make_saver(media_store=folder, media_hooks=MediaHooks(on_missing=heard.append))
    made = checkpoint({"messages": VALUES["messages"](OLD)})
    calls.put(saver, CONFIG, made, metadata(), made["channel_versions"])
    calls.run(saver, "record_upload", "t", OLD, data=b"RIFF....WAVE", mime_type="audio/wav", expires_at=PAST)
    folder.rename(away)
    refreshed = calls.run(saver, "refresh_uploads", "t", upload=lambda data, record: NEW)
    assert refreshed.changed == ()
    [report] = refreshed.reports
    assert (report.reason, report.uri, report.message) == ("missing_blob", OLD, "q")
    assert report.detail
    assert report in heard
    shutil.rmtree(folder, ignore_errors=True)
    away.rename(folder)
    assert calls.run(saver, "media_report", "t") == []
    again = calls.run(saver, "refresh_uploads", "t", upload=lambda data, record: NEW)
    assert [report.reason for report in again.reports] == ["expired_reuploaded"]
    head = calls.get_tuple(saver, CONFIG)
    assert head is not None
    assert head.checkpoint["channel_values"]["messages"] == VALUES["messages"](NEW)


def test_bytes_in_a_store_that_this_saver_does_not_have_are_not_given_up(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path
) -> None:
    saver = make_saver(media_store=tmp_path)
    made = checkpoint({"messages": VALUES["messages"](OLD)})
    calls.put(saver, CONFIG, made, metadata(), made["channel_versions"])
    calls.run(saver, "record_upload", "t", OLD, data=b"RIFF....WAVE", mime_type="audio/wav", expires_at=PAST)
    refreshed = calls.run(make_saver(), "refresh_uploads", "t", upload=lambda data, record: NEW)
    assert [(report.reason, "'directory'" in report.detail) for report in refreshed.reports] == [("missing_blob", True)]
    assert refreshed.changed == ()


def test_bytes_that_the_thread_has_lost_are_not_given_up(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    made = checkpoint({"messages": [HumanMessage([upload_part(OLD)], id="q")]})
    calls.put(saver, CONFIG, made, metadata(), made["channel_versions"])
    calls.run(saver, "record_upload", "t", OLD, data=b"RIFF....WAVE", mime_type="audio/wav", expires_at=PAST)
    with make_saver.room.client() as client:
        key = saver._core.layout.thread("t")[6]
        name = client.hkeys(key)[0]
        client.hset(key, name, b"something else")
        [report] = calls.run(saver, "refresh_uploads", "t", upload=lambda data, record: NEW).reports
        assert report.reason == "corrupt_blob"
        client.delete(key)
    [report] = calls.run(saver, "refresh_uploads", "t", upload=lambda data, record: NEW).reports
    assert (report.reason, "not in the thread" in report.detail) == ("missing_blob", True)


def test_a_thread_that_goes_on_during_a_refresh_is_left_as_it_is(make_saver: SaverFactory, calls: Calls) -> None:
    saver, other = make_saver(), make_saver()
    made = checkpoint({"messages": VALUES["messages"](OLD)})
    calls.put(saver, CONFIG, made, metadata(), made["channel_versions"])

    def upload(data: bytes, record: Any) -> str:
        following = checkpoint({"messages": [HumanMessage("later", id="q2")]})
        other.put(
            {"configurable": {**CONFIG["configurable"], "checkpoint_ns": "", "checkpoint_id": made["id"]}},
            following,
            metadata(),
            {"messages": 1},
        )
        return NEW

    calls.run(saver, "record_upload", "t", OLD, data=b"RIFF....WAVE", mime_type="audio/wav", expires_at=PAST)
    with pytest.raises(ConflictError, match="went on from checkpoint"):
        calls.run(saver, "refresh_uploads", "t", upload=upload)
    assert [str(each.checkpoint["channel_values"]["messages"]).count(NEW) for each in calls.list(saver, CONFIG)] == [
        0,
        0,
    ]
    [record] = [each for each in calls.run(saver, "media_table", "t") if each.uploads]
    assert [known.uri for known in record.uploads] == [OLD, NEW]


def test_a_refresh_keeps_what_another_client_writes_to_the_head_meanwhile(
    make_saver: SaverFactory, calls: Calls
) -> None:
    saver, other = make_saver(), make_saver()
    made = checkpoint({"messages": VALUES["messages"](OLD), "n": 1})
    calls.put(saver, CONFIG, made, metadata(), made["channel_versions"])
    at = calls.get_tuple(other, CONFIG).config

    def upload(data: bytes, record: Any) -> str:
        other.put_writes(at, [("n", 2), ("__interrupt__", [Interrupt("sure?", id="i")])], "task")
        return NEW

    calls.run(saver, "record_upload", "t", OLD, data=b"RIFF....WAVE", mime_type="audio/wav", expires_at=PAST)
    assert calls.run(saver, "refresh_uploads", "t", upload=upload).changed == (0,)
    head = calls.get_tuple(other, CONFIG)
    assert [write[1] for write in head.pending_writes] == ["__interrupt__", "n"]
    assert head.checkpoint["channel_values"]["messages"] == VALUES["messages"](NEW)
    following = checkpoint(
        {"messages": [*head.checkpoint["channel_values"]["messages"], AIMessage("ok", id="a")], "n": 1}
    )
    calls.put(other, head.config, following, metadata(1), {"messages": 2})
    for reader in (saver, other, make_saver()):
        assert calls.get_tuple(reader, CONFIG).checkpoint["channel_values"] == following["channel_values"]


def test_a_refresh_of_two_uploads_sends_no_media_and_two_round_trips_for_the_messages(make_saver: SaverFactory) -> None:
    saver = make_saver()
    made = checkpoint({"messages": VALUES["messages"](OLD)})
    saver.put(CONFIG, made, metadata(), made["channel_versions"])
    saver.get_tuple(CONFIG)
    renewal = Renewal({OLD: Upload(uri=NEW)}, MediaTable())
    program = amend(saver._core, "t", made["id"], "messages", positions=[0], renewal=renewal)
    driver = BlockingDriver(saver._clients.blocking())
    sent = []
    with suppress(StopIteration):
        effect = next(program)
        while True:
            sent.append(effect)
            effect = program.send(driver._perform(effect))
    assert [getattr(effect, "name", "batch") for effect in sent] == ["read", "batch", "put"]
    assert sum(len(argument) for argument in sent[-1].args if isinstance(argument, bytes)) < 1500


@pytest.mark.parametrize("make", MESSAGES.values(), ids=MESSAGES)
def test_a_renewed_message_is_stored_as_if_it_had_been_saved_so(
    make_saver: SaverFactory, make: Callable[[], Any]
) -> None:
    """So the next save of it costs nothing, and it reads back to the last byte as the serializer would give it."""

    def with_upload(uri: str) -> Any:
        message = make()
        return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, "up": [upload_part(uri)]}})

    saver, other = make_saver(), make_saver()
    made = checkpoint({"messages": [with_upload(OLD), AIMessage("ok", id="a")]})
    saver.put(CONFIG, made, metadata(), made["channel_versions"])
    refresh(Calls(), saver)
    head = other.get_tuple(CONFIG)
    [renewed, _] = head.checkpoint["channel_values"]["messages"]
    saved = checkpoint({"messages": [with_upload(NEW), AIMessage("ok", id="a")]})
    other.put({"configurable": {"thread_id": "u", "checkpoint_ns": ""}}, saved, metadata(), saved["channel_versions"])
    [wanted, _] = other.get_tuple({"configurable": {"thread_id": "u"}}).checkpoint["channel_values"]["messages"]
    assert native_encode(renewed) == native_encode(wanted)
    following = checkpoint({"messages": head.checkpoint["channel_values"]["messages"]}, {"messages": 2})
    other.put(head.config, following, metadata(1), {"messages": 2})
    held = other._core.views.get("t").records
    assert held[place("", following["id"])].values == held[place("", made["id"])].values


def test_two_refreshes_of_one_head_at_once_both_count(make_saver: SaverFactory) -> None:
    saver, other = make_saver(), make_saver()
    made = checkpoint({"messages": [HumanMessage([upload_part(OLD), upload_part(FILES + "x")], id="q")]})
    saver.put(CONFIG, made, metadata(), made["channel_versions"])

    def renewing(which: Any, uri: str, successor: str) -> Any:
        renewal = Renewal({uri: Upload(uri=successor)}, MediaTable())
        return amend(which._core, "t", made["id"], "messages", positions=[0], renewal=renewal)

    driver, program = BlockingDriver(saver._clients.blocking()), renewing(saver, OLD, NEW)
    effect = next(program)
    while getattr(effect, "name", "") != "put":
        effect = program.send(driver._perform(effect))
    other._run(renewing(other, FILES + "x", FILES + "y"))
    with suppress(StopIteration):
        while True:
            effect = program.send(driver._perform(effect))
    head = make_saver().get_tuple(CONFIG)
    assert head.checkpoint["channel_values"]["messages"][0].content == [upload_part(NEW), upload_part(FILES + "y")]
