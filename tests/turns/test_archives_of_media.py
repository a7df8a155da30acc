"""What an archive says of media that could not be read, and of uploads to providers."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_portable_checkpoint import export_thread
from langgraph_portable_checkpoint.errors import CorruptRecordError, MediaMissingError
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory, calls
from tests.turns.scenes import PNG

__all__ = ["calls"]

KEPT, LOST, SOUND = PNG + b"!" * 4000, PNG + b"?" * 5000, b"RIFF....WAVE" * 400
URI = "https://generativelanguage.googleapis.com/v1beta/files/abc"
SAID = "not available"
ABSENT = f"[image/png, {len(LOST)} B, not available on read]"


def text_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def image(data: bytes) -> dict[str, Any]:
    return {"type": "image", "base64": text_of(data), "mime_type": "image/png"}


def linked(data: bytes) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": "data:image/png;base64," + text_of(data)}}


def said(of: Any) -> list[Any]:
    """A conversation in which one medium stands in the content, in an artifact, and in a message within one."""
    nested = HumanMessage([image(of), image(KEPT)], id="nested")
    return [
        HumanMessage([image(KEPT), image(of)], id="q0"),
        AIMessage("seen", id="a0"),
        HumanMessage([linked(of), {"type": "text", "text": "and this"}], id="q1"),
        AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}], id="a1"),
        ToolMessage("see", tool_call_id="c", artifact={"of": [image(of), KEPT, nested]}, id="t1"),
    ]


def exact(messages: list[Any]) -> bytes:
    return JsonPlusSerializer().dumps_typed(messages)[1]


def put(calls: Calls, saver: Any) -> None:
    made = checkpoint({"messages": said(LOST)})
    calls.put(saver, config("t"), made, metadata(), made["channel_versions"])


def lose(make_saver: SaverFactory, saver: Any) -> None:
    """Delete one medium from the server."""
    key = saver._core.layout.thread("t")[6]
    with make_saver.room.client() as client:
        (ref,) = (ref for ref, data in client.hgetall(key).items() if data == LOST)
        client.hdel(key, ref)


def messages(calls: Calls, saver: Any, thread_id: str) -> list[Any]:
    found: list[Any] = calls.get_tuple(saver, config(thread_id)).checkpoint["channel_values"]["messages"]
    return found


PLACES = [("q0", 0), ("q1", 1), ("t1", 1)]


def test_a_medium_that_cannot_be_read_is_missing_in_the_new_thread_as_in_the_old_one(
    make_saver: SaverFactory, calls: Calls
) -> None:
    put(calls, make_saver())
    lose(make_saver, make_saver())
    document = calls.run(make_saver(), "to_json", "t")
    assert SAID not in document
    told = json.loads(document)["lost"]
    refs = {one["ref"] for one in json.loads(document)["messages"]}
    assert [(one["reason"], one["message"], one["turn"], one["size_bytes"]) for one in told] == [
        ("missing_blob", message, turn, len(LOST)) for message, turn in PLACES
    ]
    assert all(one["detail"] == "its bytes are not with the thread any more" and one["ref"] in refs for one in told)
    saver = make_saver()
    archive = calls.run(saver, "from_json", document, thread_id="copy")
    assert [one["message"] for one in archive.lost] == [message for message, _ in PLACES]
    assert exact(messages(calls, saver, "copy")) == exact(messages(calls, make_saver(), "t"))
    report = calls.run(saver, "media_report", "copy")
    assert report == calls.run(make_saver(), "media_report", "t")
    assert [(one.reason, one.message, one.turn) for one in report] == [("missing_blob", *PLACES[0])]
    losses = export_thread(saver, "copy", "anthropic").report
    assert losses == export_thread(make_saver(), "t", "anthropic").report
    assert sum(loss.kind == "unresolved" for loss in losses) == 2


def test_a_strict_archive_is_not_written_without_a_medium(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path
) -> None:
    put(calls, make_saver())
    calls.run(make_saver(), "to_json", "t", strict=True)
    lose(make_saver, make_saver())
    with pytest.raises(MediaMissingError, match=r"3 media of thread 't' .* image/png of message 'q0'"):
        calls.run(make_saver(), "to_json", "t", tmp_path / "t.json", strict=True)
    assert list(tmp_path.iterdir()) == []


class Broken:
    """A store that fails on reads."""

    name = "broken"

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        return sha256

    def get(self, ref: str) -> bytes:
        raise TimeoutError("no answer from the bucket")


@pytest.mark.parametrize("serde", [None, lambda: EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")])
def test_the_cause_is_what_the_store_says(make_saver: SaverFactory, calls: Calls, serde: Any) -> None:
    options = {"media_store": Broken(), **({} if serde is None else {"serde": serde()})}
    put(calls, make_saver(**options))
    told = json.loads(calls.run(make_saver(**options), "to_json", "t"))["lost"]
    assert len(told) == 5
    assert all("no answer from the bucket" in one["detail"] for one in told)
    assert {"sha256" in one for one in told} == {serde is None}, "of encrypted bytes the digest tells nothing"


@pytest.mark.parametrize("serde", [None, lambda: EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")])
@pytest.mark.parametrize("store", [False, True], ids=["with the thread", "in a store"])
def test_uploads_are_in_the_archive_with_their_bytes(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path, serde: Any, store: bool
) -> None:
    options = {"media_store": tmp_path / "media"} if store else {}
    options |= {} if serde is None else {"serde": serde()}
    saver = make_saver(**options)
    put(calls, saver)
    expiry = datetime(2026, 1, 1, tzinfo=UTC)
    facts = {"mime_type": "audio/wav", "expires_at": expiry, "account": "a"}
    calls.run(saver, "record_upload", "t", URI, data=SOUND, **facts)
    calls.run(saver, "record_upload", "t", f"{URI}/image", data=KEPT, mime_type="image/png")
    calls.run(saver, "record_upload", "t", f"{URI}/unknown", mime_type="video/mp4")
    document = calls.run(make_saver(**options), "to_json", "t")
    saver = make_saver()
    calls.run(saver, "from_json", document, thread_id="copy")
    here, there = (
        calls.run(each, "media_table", name) for each, name in ((saver, "copy"), (make_saver(**options), "t"))
    )
    assert uploads(here) == uploads(there)
    assert uploads(here)[0][1:] == ("google", "a", expiry, "audio/wav", len(SOUND))
    link = {"type": "media", "file_uri": URI, "mime_type": "audio/wav"}
    made = checkpoint({"messages": [HumanMessage([link], id="q9")]}, {"messages": 2})
    calls.put(saver, config("copy"), made, metadata(), {"messages": 2})
    sent: list[bytes] = []
    calls.run(saver, "refresh_uploads", "copy", upload=lambda data, _: sent.append(data) or f"{URI}/2")
    assert sent == [SOUND]


def uploads(table: Any) -> list[Any]:
    return sorted(
        (each.uri, each.provider, each.account, each.expires_at, one.mime_type, one.size_bytes)
        for one in table
        for each in one.uploads
    )


def test_bytes_of_an_upload_that_cannot_be_read_are_reported(make_saver: SaverFactory, calls: Calls) -> None:
    saver = make_saver()
    put(calls, saver)
    calls.run(saver, "record_upload", "t", URI, data=SOUND * 2, mime_type="audio/wav")
    with make_saver.room.client() as client:
        key = saver._core.layout.thread("t")[6]
        client.hdel(key, next(ref for ref, data in client.hgetall(key).items() if data == SOUND * 2))
    document = json.loads(calls.run(make_saver(), "to_json", "t"))
    assert [(one["uri"], one["reason"]) for one in document["lost"]] == [(URI, "missing_blob")]
    assert [one["uploads"][0]["uri"] for one in document["uploads"]] == [URI]


def left_to_a_store(calls: Calls, saver: Any, said: list[Any]) -> tuple[str, str]:
    """Write an archive that names one medium and does not hold it; return it with the medium's digest."""
    made = checkpoint({"messages": said})
    calls.put(saver, config("t"), made, metadata(), made["channel_versions"])
    document = json.loads(calls.run(saver, "to_json", "t"))
    entry = next(one for one in document["media"] if one["size_bytes"] == len(LOST))
    del entry["base64"]
    entry |= {"store": "directory", "ref": f"{entry['sha256']}.png"}
    return json.dumps(document), entry["sha256"]


def test_bytes_that_an_archive_leaves_to_a_store_are_reported(make_saver: SaverFactory, calls: Calls) -> None:
    document, digest = left_to_a_store(calls, make_saver(), said(LOST)[:3])
    saver = make_saver()
    calls.run(saver, "from_json", document, thread_id="copy")
    report = calls.run(saver, "media_report", "copy")
    assert ("missing_blob", "q0", 0, digest) in [(r.reason, r.message, r.turn, r.sha256) for r in report]
    assert messages(calls, saver, "copy")[0].content[1] == {"type": "text", "text": ABSENT}


def test_bytes_that_an_archive_leaves_to_a_store_are_read_from_it(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path
) -> None:
    document, digest = left_to_a_store(calls, make_saver(), said(LOST)[:3])
    saver = make_saver(media_store=tmp_path)
    (tmp_path / f"{digest}.png").write_bytes(LOST)
    calls.run(saver, "from_json", document, thread_id="copy")
    assert exact(messages(calls, saver, "copy")) == exact(said(LOST)[:3])


def test_bytes_that_an_archive_has_elsewhere_are_not_lost(make_saver: SaverFactory, calls: Calls) -> None:
    document, _ = left_to_a_store(calls, make_saver(), said(LOST))
    saver = make_saver()
    calls.run(saver, "from_json", document, thread_id="copy")
    assert exact(messages(calls, make_saver(), "copy")) == exact(said(LOST)), "the artifact has them"
    assert not [one for one in calls.run(saver, "media_report", "copy") if one.reason == "missing_blob"]


def test_an_archive_without_losses_and_uploads_is_what_it_always_was(make_saver: SaverFactory, calls: Calls) -> None:
    put(calls, make_saver())
    document = json.loads(calls.run(make_saver(), "to_json", "t"))
    assert list(document) == ["format", "v", "thread_id", "saved_at", "writer", "turns", "messages", "media"]


@pytest.mark.parametrize(
    "change",
    [
        {"lost": {}},
        {"lost": [1]},
        {"lost": [{"reason": "no such"}]},
        {"uploads": [1]},
        {"uploads": [{"uploads": 1}]},
        {"uploads": [{"uploads": [{"uri": 3}]}]},
        {"uploads": [{"mime_type": 3, "uploads": []}]},
    ],
)
def test_fields_that_are_not_what_they_should_be_make_no_thread(
    make_saver: SaverFactory, calls: Calls, change: Any
) -> None:
    saver = make_saver()
    put(calls, saver)
    document = {**json.loads(calls.run(saver, "to_json", "t")), **change}
    with pytest.raises(CorruptRecordError):
        calls.run(saver, "from_json", json.dumps(document), thread_id="u")
    assert calls.run(saver, "thread_info", "u") is None


def altered(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Copy a document with another value at one place."""
    if not path:
        return value
    twin = dict(node) if isinstance(node, dict) else list(node)
    twin[path[0]] = altered(node[path[0]], path[1:], value)
    return twin


CONTENT = ("messages", 0, "envelope", "content")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((*CONTENT, 0), "x"),
        ((*CONTENT, 0), {"a": 1}),
        ((*CONTENT, 0, "type"), ["image"]),
        ((*CONTENT, 0, "media", "sha256"), {}),
        ((*CONTENT, 0, "media", "sha256"), []),
        (("messages", 0, "envelope", "state"), 7),
        (("messages", 0, "envelope", "role"), "robot"),
        (("media", 0, "sha256"), {}),
        (("media", 0, "size_bytes"), "7"),
        (("uploads", 0, "uploads", 0, "uri"), None),
        (("uploads", 0, "uploads", 0, "uri"), ""),
    ],
    ids=str,
)
def test_an_altered_archive_makes_no_thread(
    make_saver: SaverFactory, calls: Calls, path: tuple[Any, ...], value: Any
) -> None:
    saver = make_saver()
    put(calls, saver)
    calls.run(saver, "record_upload", "t", URI, data=SOUND)
    document = altered(json.loads(calls.run(saver, "to_json", "t")), path, value)
    with pytest.raises(CorruptRecordError):
        calls.run(saver, "from_json", json.dumps(document), thread_id="u")
    assert calls.run(saver, "thread_info", "u") is None
