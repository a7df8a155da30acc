"""A thread that is made of an archive lacks media as the first one does: no provider is sent empty bytes for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_portable_checkpoint import export_thread
from langgraph_portable_checkpoint.errors import CorruptRecordError, PortableCheckpointError
from langgraph_portable_checkpoint.media.empty_places import empty_places
from tests.media.test_slots import DIALECTS, IMAGE, INTERPRETED, SENT, SPOKEN
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.conftest import calls as calls
from tests.saver.conftest import make_saver as make_saver
from tests.transfer.test_exports_of_lost_media import ELSEWHERE, PICTURE
from tests.turns.test_archives_of_media import exact, messages

SYNC = Calls()
Change = Callable[[dict[str, Any]], dict[str, Any]]


def as_it_is(document: dict[str, Any]) -> dict[str, Any]:
    return document


def as_before(document: dict[str, Any]) -> dict[str, Any]:
    """Return the archive as versions wrote it that did not say where media had stood."""
    new = {"medium", "places", "store", "store_ref"}
    lost = [{key: value for key, value in one.items() if key not in new} for one in document["lost"]]
    assert lost != document["lost"]
    return {**document, "lost": lost}


def encrypted() -> dict[str, Any]:
    return {"serde": EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")}


def put(calls: Calls, saver: Any, said: list[Any]) -> None:
    made = checkpoint({"messages": said})
    calls.put(saver, config("t"), made, metadata(), made["channel_versions"])


def lost(calls: Calls, make_saver: SaverFactory, said: list[Any], folder: Path, **options: Any) -> dict[Path, bytes]:
    """Save a conversation and delete its media from the store; return what was in it."""
    put(calls, make_saver(media_store=folder, **options), said)
    blobs = {file: file.read_bytes() for file in folder.iterdir()}
    assert blobs
    for file in blobs:
        file.unlink()
    return blobs


def copied(
    calls: Calls, make_saver: SaverFactory, change: Change, source: dict[str, Any], target: dict[str, Any]
) -> list[Any]:
    """Make thread copy of an archive of thread t; return its conversation, as another saver reads it."""
    document = change(json.loads(calls.run(make_saver(**source), "to_json", "t")))
    calls.run(make_saver(**target), "from_json", json.dumps(document), thread_id="copy")
    return messages(calls, make_saver(**target), "copy")


def empties(value: Any) -> Iterator[Any]:
    """List the places of a value that hold no bytes."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from empties(each)
            if each == b"" or (each == "" and key in ("data", "base64", "result", "url", "bytes", "file")):
                yield key
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from empties(each)
    elif isinstance(value, str) and value.endswith(";base64,"):
        yield value


@pytest.mark.parametrize("change", [as_it_is, as_before])
@pytest.mark.parametrize(("send", "said"), SENT)
def test_an_integration_sends_no_other_shape_than_with_the_bytes(
    make_saver: SaverFactory, tmp_path: Path, send: Any, said: list[Any], change: Change
) -> None:
    whole = [HumanMessage("q"), *said, HumanMessage("z")]
    _, with_bytes = send(whole)
    lost(SYNC, make_saver, whole, tmp_path)
    found = copied(SYNC, make_saver, change, {"media_store": tmp_path}, {"media_store": tmp_path})
    assert list(empties([message.model_dump() for message in found])) == []
    sent, without = send(found)
    assert without == with_bytes
    assert list(empties(sent)) == []
    if change is as_it_is:
        assert exact(found) == exact(messages(SYNC, make_saver(media_store=tmp_path), "t"))


@pytest.mark.parametrize("change", [as_it_is, as_before])
@pytest.mark.parametrize("place", ["an item", "an output of code", "a result of a server's tool", "spoken by GPT"])
def test_a_medium_that_stands_in_no_part_is_a_text_too(
    make_saver: SaverFactory, tmp_path: Path, place: str, change: Change
) -> None:
    lost(SYNC, make_saver, [HumanMessage("q"), *ELSEWHERE[place][1], HumanMessage("z")], tmp_path)
    options = {"media_store": tmp_path}
    found = copied(SYNC, make_saver, change, options, options)
    assert exact(found) == exact(messages(SYNC, make_saver(**options), "t"))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("place", ELSEWHERE)
def test_an_export_tells_of_the_same_losses_as_one_of_the_first_thread(
    make_saver: SaverFactory, tmp_path: Path, place: str, dialect: str
) -> None:
    lost(SYNC, make_saver, [HumanMessage("q"), *ELSEWHERE[place][1], HumanMessage("z")], tmp_path)
    options = {"media_store": tmp_path}
    copied(SYNC, make_saver, as_it_is, options, options)
    first, second = (export_thread(make_saver(**options), name, dialect) for name in ("t", "copy"))
    assert second.report == first.report
    assert [loss.kind for loss in second.report if loss.message == 1].count("unresolved") == 1


@pytest.mark.parametrize("change", [as_it_is, as_before])
@pytest.mark.parametrize("source", [dict, encrypted])
@pytest.mark.parametrize("target", [dict, encrypted])
def test_encrypted_threads_lack_what_was_lost_as_others_do(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path, source: Any, target: Any, change: Change
) -> None:
    said = [HumanMessage([IMAGE, {"type": "text", "text": "see"}], id="q"), AIMessage([INTERPRETED], id="a")]
    lost(calls, make_saver, said, tmp_path, **source())
    options = {"media_store": tmp_path}
    found = copied(calls, make_saver, change, {**options, **source()}, target())
    assert exact(found) == exact(messages(calls, make_saver(**options, **source()), "t"))
    report = calls.run(make_saver(**target()), "media_report", "copy")
    knows_them_apart = change is as_it_is or source is dict
    assert {(one.reason, one.turn) for one in report} == {("missing_blob", 0)}
    assert sorted(str(one.message) for one in report) == (["q"] if knows_them_apart else ["a", "q"])
    export = export_thread(make_saver(**target()), "copy", "anthropic")
    assert {loss.message for loss in export.report if loss.kind == "unresolved"} >= {0}


@pytest.mark.parametrize("change", [as_it_is, as_before])
def test_a_medium_that_a_later_message_brings_is_there_again(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path, change: Change
) -> None:
    said = [HumanMessage([IMAGE], id="q")]
    lost(calls, make_saver, said, tmp_path)
    copied(calls, make_saver, change, {"media_store": tmp_path}, {})
    saver = make_saver()
    found = messages(calls, saver, "copy")
    made = checkpoint({"messages": [*found, HumanMessage([IMAGE], id="q2")]}, {"messages": 2})
    calls.put(saver, config("copy"), made, metadata(), {"messages": 2})
    assert [message.content for message in messages(calls, make_saver(), "copy")] == [[IMAGE], [IMAGE]]
    assert calls.run(make_saver(), "media_report", "copy") == []


def test_a_medium_that_the_store_has_again_is_read_from_it(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path
) -> None:
    said = [HumanMessage([IMAGE], id="q"), SPOKEN]
    blobs = lost(calls, make_saver, said, tmp_path)
    options = {"media_store": tmp_path}
    copied(calls, make_saver, as_it_is, options, options)
    for file, data in blobs.items():
        file.write_bytes(data)
    assert exact(messages(calls, make_saver(**options), "copy")) == exact(said)
    assert calls.run(make_saver(**options), "media_report", "copy") == []


def test_an_archive_of_an_archive_says_the_same_of_what_is_lost(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path
) -> None:
    lost(calls, make_saver, [HumanMessage([IMAGE], id="q")], tmp_path)
    options = {"media_store": tmp_path}
    copied(calls, make_saver, as_it_is, options, options)
    first, second = (json.loads(calls.run(make_saver(**options), "to_json", name)) for name in ("t", "copy"))
    assert second["lost"] == first["lost"]
    assert second["messages"] == first["messages"]


def test_media_of_which_an_older_archive_does_not_say_which_is_where_are_texts(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path
) -> None:
    other = {"type": "image", "base64": PICTURE, "mime_type": "image/png"}
    lost(calls, make_saver, [HumanMessage([IMAGE, other, IMAGE], id="q")], tmp_path)
    [found] = copied(calls, make_saver, as_before, {"media_store": tmp_path}, {})
    assert found.content == [{"type": "text", "text": "[image/png, not available on read]"}] * 3
    report = calls.run(make_saver(), "media_report", "copy")
    assert [(one.reason, one.message) for one in report] == [("missing_blob", "q")] * 2


def test_an_empty_text_that_no_part_announces_is_an_empty_text() -> None:
    value = {
        "content": [{"type": "text", "text": ""}, {"type": "image", "base64": "", "mime_type": "image/png"}],
        "additional_kwargs": {"audio": b"", "note": "", "link": "data:text/plain;base64,"},
        "tool_calls": [{"name": "f", "args": {"data": "", "path": ""}, "id": "c"}],
    }
    places = [hole.path for hole in empty_places(value)]
    audio, link = ("additional_kwargs", "audio"), ("additional_kwargs", "link")
    assert places == [("content", 1, "base64"), audio, link]
    assert [hole.data for hole in empty_places(value)] == [None] * 3


ALTERED: list[dict[str, Any]] = [
    {"places": 1},
    {"places": [1]},
    {"places": [[]]},
    {"places": [[["content"]]]},
    {"places": [[["content", 0], "base64", "", None, -1, 1]]},
    {"places": [[["content", 0], "base32", "", None, 1, 1]]},
    {"places": [[["content", 0], "base64", "", None, 2**70, 1]]},
    {"medium": 1},
    {"store": []},
    {"store_ref": {}},
    {"sha256": "\ud800"},
]
ODD: list[dict[str, Any]] = [
    {"places": [[["content", 7, "source"], "base64", "", None, 1, 1]]},
    {"places": [[["no such field"], "base64", "", None, 1, None]]},
    {"medium": "no hex"},
    {"medium": ""},
    {"ref": 7},
    {"ref": "ab"},
    {"store": "redis", "store_ref": "../../etc/passwd"},
    {"store": "directory", "store_ref": "../../etc/passwd"},
]


PATH = ["content", 0, "source", "data"]
TOLD = ["base64", "", "image/png", 9]
READS: list[Callable[[Any], Any]] = [
    lambda saver: saver.get_tuple(config("u")),
    lambda saver: list(saver.turns("u")),
    lambda saver: saver.media_report("u"),
    lambda saver: saver.media_table("u"),
    lambda saver: saver.to_json("u"),
    lambda saver: export_thread(saver, "u", "anthropic"),
]


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("part", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("encoding", ["base64", "base64url", "bytes"])
def test_a_place_that_no_medium_has_is_read_or_refused(
    make_saver: SaverFactory, tmp_path: Path, part: int | None, encoding: str
) -> None:
    lost(SYNC, make_saver, [HumanMessage([IMAGE], id="q")], tmp_path)
    document = json.loads(SYNC.run(make_saver(media_store=tmp_path), "to_json", "t"))
    assert document["lost"][0]["places"][0][0] == PATH
    document["lost"][0]["places"] = [[PATH, encoding, *TOLD[1:], part]]
    saver = make_saver(media_store=tmp_path)
    try:
        SYNC.run(saver, "from_json", json.dumps(document), thread_id="u")
        for read in READS:
            read(make_saver(media_store=tmp_path))
    except PortableCheckpointError:
        pass


@pytest.mark.parametrize("change", [*ALTERED, *ODD], ids=str)
def test_what_no_archive_says_of_its_losses_is_refused_or_harms_nothing(
    make_saver: SaverFactory, calls: Calls, tmp_path: Path, change: dict[str, Any]
) -> None:
    lost(calls, make_saver, [HumanMessage([IMAGE], id="q")], tmp_path)
    document = json.loads(calls.run(make_saver(media_store=tmp_path), "to_json", "t"))
    document["lost"][0] |= change
    saver = make_saver(media_store=tmp_path)
    if change in ALTERED:
        with pytest.raises(CorruptRecordError):
            calls.run(saver, "from_json", json.dumps(document), thread_id="u")
        assert calls.get_tuple(saver, config("u")) is None
    else:
        calls.run(saver, "from_json", json.dumps(document), thread_id="u")
        assert [message.id for message in messages(calls, make_saver(media_store=tmp_path), "u")] == ["q"]
        assert any(one.reason == "missing_blob" for one in calls.run(saver, "media_report", "u"))
