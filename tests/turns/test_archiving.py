"""One thread as one JSON document: self-contained, whole or not at all, and exactly back."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_portable_checkpoint.envelope.archive import archive_from_json, archive_to_json
from langgraph_portable_checkpoint.errors import (
    CorruptRecordError,
    FutureVersionError,
    InvalidIdError,
    ThreadExistsError,
    ThreadNotFoundError,
)
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory, calls
from tests.turns.scenes import PNG, SCENES, Talk, answered, picture, play, thread_id_of
from tests.turns.shapes import outline

__all__ = ["calls"]


LARGE = PNG + b"!" * (4000 - len(PNG))


def exact(messages: list[Any]) -> bytes:
    return JsonPlusSerializer().dumps_typed(messages)[1]


@pytest.mark.parametrize("scene", SCENES)
def test_a_thread_made_of_an_archive_has_exactly_the_same_messages(saver: Any, calls: Calls, scene: str) -> None:
    talk = play(saver, [scene])[scene]
    text, before = calls.run(saver, "to_json", thread_id_of(scene)), exact(talk.messages)
    saver.delete_thread(thread_id_of(scene))
    archive = calls.run(saver, "from_json", text, thread_id="copy")
    copy = Talk(saver, "copy")
    assert exact(copy.messages) == before
    assert [len(texts) for _, texts in outline(saver, "copy")] == [turn.record["count"] for turn in archive.turns]
    copy.ask("one more", answered("sure"))
    assert outline(saver, "copy")[-1] == ("complete", ["one more", "sure"])


def test_media_are_in_the_archive_once_and_as_they_were(saver: Any, tmp_path: Path, make_saver: SaverFactory) -> None:
    kept = make_saver(media_store=tmp_path / "media")
    talk = Talk(kept, "t")
    talk.ask(picture("look", PNG), answered("a dot"))
    talk.ask(picture("again", PNG), answered("the same dot"))
    before = exact(talk.messages)
    text = kept.to_json("t")
    assert [entry["size_bytes"] for entry in json.loads(text)["media"]] == [len(PNG)]
    saver.from_json(text, thread_id="u")
    assert exact(Talk(saver, "u").messages) == before


def shown(data: bytes, text: str | None = None) -> dict[str, Any]:
    return {"type": "image", "mime_type": "image/png", "base64": text or base64.b64encode(data).decode()}


def put(calls: Calls, saver: Any, messages: list[Any]) -> Any:
    made = checkpoint({"said": messages, "messages": "another channel"})
    return calls.put(saver, config("t"), made, metadata(), made["channel_versions"])


def copied(calls: Calls, saver: Any, document: str) -> list[Any]:
    """Make thread u of an archive; return its conversation."""
    calls.run(saver, "from_json", document, thread_id="u")
    found = calls.get_tuple(saver, config("u"))
    assert found is not None
    messages: list[Any] = found.checkpoint["channel_values"]["said"]
    return messages


def test_media_that_are_small_or_oddly_spelled_stay_where_they_are(saver: Any, calls: Calls) -> None:
    text = base64.b64encode(LARGE).decode()
    assert text.endswith("==")
    odd = text[:-3] + chr(ord(text[-3]) + 1) + "=="  # the same bytes, spelled otherwise
    said = [HumanMessage([shown(LARGE), shown(LARGE[:300]), shown(LARGE, odd)], id="h")]
    put(calls, saver, said)
    document = calls.run(saver, "to_json", "t")
    assert [entry["size_bytes"] for entry in json.loads(document)["media"]] == [len(LARGE)]
    assert exact(copied(calls, saver, document)) == exact(said)


def test_a_picture_that_was_lost_is_missing_in_the_new_thread_and_nothing_else(
    saver: Any, calls: Calls, make_saver: SaverFactory
) -> None:
    said = [HumanMessage([shown(LARGE)], id="kept"), HumanMessage([shown(b"\x89PNG" + LARGE)], id="lost")]
    put(calls, saver, said)
    with make_saver.room.client() as client:
        key = saver._core.layout.thread("t")[6]
        [lost] = [ref for ref, data in client.hgetall(key).items() if data != LARGE]
        client.hdel(key, lost)
    kept, missing = copied(calls, make_saver(), calls.run(make_saver(), "to_json", "t"))
    assert exact([kept]) == exact(said[:1])
    assert missing.id == "lost"
    assert missing.content == [{"type": "text", "text": f"[image/png, {len(LARGE) + 4} B, not available on read]"}]


def test_an_archive_that_lacks_media_which_it_names_is_refused_whole(saver: Any, calls: Calls) -> None:
    put(calls, saver, [HumanMessage([shown(LARGE), shown(b"\x89PNG" + LARGE)], id="h")])
    document = json.loads(calls.run(saver, "to_json", "t"))
    gone = document["media"].pop()
    with pytest.raises(
        CorruptRecordError, match=f"1 media are named by messages but absent, the first is {gone['sha256']}"
    ):
        copied(calls, saver, json.dumps(document))
    assert calls.get_tuple(saver, config("u")) is None
    told = {"reason": "missing_blob", "detail": "gone", "message": "h", "turn": 0, "sha256": gone["sha256"]}
    [message] = copied(calls, saver, json.dumps({**document, "lost": [told]}))
    assert message.content[0] == shown(LARGE)


@pytest.mark.parametrize("lost", [[{"sha256": [1]}], [{"sha256": None, "medium": {}}], ["x"]])
def test_an_archive_that_tells_its_losses_oddly_is_refused(saver: Any, calls: Calls, lost: Any) -> None:
    put(calls, saver, [HumanMessage([shown(LARGE)], id="h")])
    document = json.loads(calls.run(saver, "to_json", "t"))
    document["media"].clear()
    with pytest.raises(CorruptRecordError):
        copied(calls, saver, json.dumps({**document, "lost": lost}))


def test_an_archive_may_say_that_its_bytes_stand_in_the_messages(saver: Any, calls: Calls) -> None:
    put(calls, saver, [HumanMessage([shown(LARGE)], id="h")])
    document = json.loads(calls.run(saver, "to_json", "t"))
    document["media"].clear()
    with pytest.raises(CorruptRecordError, match="1 media are named by messages but absent"):
        copied(calls, saver, json.dumps(document))
    inline = archive_from_json(json.dumps({**document, "inline": True}))
    assert json.loads(archive_to_json(inline))["inline"] is True
    [message] = copied(calls, saver, json.dumps({**document, "inline": True}))
    assert message.content[0]["base64"] == ""


def test_a_block_that_only_looks_as_if_its_bytes_were_elsewhere_stays_as_it_is(saver: Any, calls: Calls) -> None:
    put(calls, saver, [HumanMessage([shown(LARGE)], id="h")])
    document = json.loads(calls.run(saver, "to_json", "t"))
    document["messages"][0]["envelope"]["content"][0]["media"] = {}
    [message] = copied(calls, saver, json.dumps(document))
    assert message.content[0]["base64"] == ""


def test_an_archive_is_read_from_text_bytes_and_path(saver: Any, tmp_path: Path) -> None:
    play(saver, ["plain"])
    path = tmp_path / "thread.json"
    text = saver.to_json(thread_id_of("plain"), path)
    assert path.read_text() == text
    found = [saver.from_json(source) for source in (text, text.encode(), path, str(path), "\n " + text)]
    assert all(archive == found[0] for archive in found)
    assert found[0].thread_id == thread_id_of("plain")


def test_a_file_that_cannot_be_written_leaves_the_old_one(saver: Any, tmp_path: Path) -> None:
    play(saver, ["plain"])
    path = tmp_path / "thread.json"
    path.write_text("old")
    with pytest.raises(ThreadNotFoundError, match="never seen"):
        saver.to_json("never seen", path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_thread_that_is_there_is_not_written_over(saver: Any, calls: Calls) -> None:
    talk = play(saver, ["plain"])["plain"]
    text, before = saver.to_json(thread_id_of("plain")), talk.messages
    with pytest.raises(ThreadExistsError):
        calls.run(saver, "from_json", text, thread_id=thread_id_of("plain"))
    assert talk.messages == before


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"v": 2}, FutureVersionError),
        ({"format": "something else"}, CorruptRecordError),
        ({"messages": []}, CorruptRecordError),
        ({"turns": None}, CorruptRecordError),
    ],
)
def test_what_is_no_archive_is_refused_and_makes_no_thread(saver: Any, change: Any, error: Any) -> None:
    play(saver, ["plain"])
    document = {**json.loads(saver.to_json(thread_id_of("plain"))), **change}
    with pytest.raises(error):
        saver.from_json(json.dumps(document), thread_id="u")
    assert saver.thread_info("u") is None


def test_an_id_that_is_none_is_refused(saver: Any) -> None:
    with pytest.raises(InvalidIdError):
        saver.to_json(7)


def test_a_thread_without_a_conversation_is_an_archive_without_turns(saver: Any) -> None:
    play(saver, ["emptied"])
    archive = saver.from_json(saver.to_json("emptied"), thread_id="copy")
    assert (archive.turns, Talk(saver, "copy").messages) == ((), [])
