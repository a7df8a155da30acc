"""An archive is data: whatever stands in it is refused by a typed error or read, and no half-made thread is left."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint import DirectoryMediaStore
from langgraph_portable_checkpoint.errors import CorruptRecordError, MediaStoreError, PortableCheckpointError
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.conftest import calls as calls
from tests.saver.conftest import make_saver as make_saver

URI = "https://generativelanguage.googleapis.com/v1beta/files/x"
SHOT = {"type": "image", "base64": "QUJD" * 1000, "mime_type": "image/png"}
MESSAGES = [
    HumanMessage([{"type": "text", "text": "look"}, SHOT], id="q"),
    AIMessage(
        [{"type": "text", "text": "so"}, {"type": "tool_use", "id": "c", "name": "see", "input": {"a": 1}}],
        tool_calls=[{"name": "see", "args": {"a": 1}, "id": "c"}],
        id="a",
    ),
    ToolMessage("ok", tool_call_id="c", id="r"),
]
LOST = {
    "reason": "missing_blob",
    "mime_type": "image/png",
    "size_bytes": 3,
    "detail": "gone",
    "message": "q",
    "turn": 0,
}


@pytest.fixture
def document(make_saver: SaverFactory) -> dict[str, Any]:
    saver = make_saver()
    made = checkpoint({"messages": MESSAGES})
    saver.put(config("t"), made, metadata(), made["channel_versions"])
    saver.record_upload("t", URI, data=b"RIFF0000WAVE", expires_at=datetime.now(UTC))
    found: dict[str, Any] = json.loads(saver.to_json("t"))
    return {**found, "lost": [LOST]}


Path = tuple[Any, ...]
ENVELOPE: Path = ("messages", 0, "envelope")
UPLOAD: Path = ("uploads", 0, "uploads", 0)
ALTERED: list[tuple[Path, Any]] = [
    ((*ENVELOPE, "role"), "robot"),
    ((*ENVELOPE, "role"), []),
    ((*ENVELOPE, "state"), 7),
    ((*ENVELOPE, "state"), {"content": ["no such kind"]}),
    ((*ENVELOPE, "state"), {"content": 7}),
    ((*ENVELOPE, "state"), {"class": "NoSuchMessage"}),
    ((*ENVELOPE, "state"), {"whole": "no msgpack"}),
    ((*ENVELOPE, "name"), []),
    ((*ENVELOPE, "origin"), "openai"),
    ((*ENVELOPE, "content", 0), "a text"),
    ((*ENVELOPE, "content", 0), {"a": 1}),
    ((*ENVELOPE, "content", 0, "type"), []),
    ((*ENVELOPE, "content", 0, "text"), 2**70),
    ((*ENVELOPE, "content", 1, "media"), []),
    (("messages", 1, "envelope", "content", 1, "id"), []),
    (("messages", 1, "envelope", "content", 1, "args"), {"a": 2**70}),
    (("turns", 0, "turn"), 2**70),
    (("turns", 0, "usage"), {"input_tokens": 2**70}),
    ((*UPLOAD, "uri"), None),
    ((*UPLOAD, "uri"), " "),
    ((*UPLOAD, "uri"), "\ud800"),
    ((*UPLOAD, "expires_at"), "0001-01-01T00:00:00+12:00"),
    ((*UPLOAD, "more"), 2**70),
    (("uploads", 0, "mime_type"), "\ud800"),
    (("lost", 0, "reason"), []),
    (("lost", 0, "size_bytes"), 2**70),
]


def altered(node: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    twin = node.copy()
    twin[path[0]] = altered(node[path[0]] if isinstance(node, list) else node.get(path[0]), path[1:], value)
    return twin


def places(node: Any, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    for step in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        yield from places(node[step], (*path, step))


@pytest.mark.parametrize(("path", "value"), ALTERED, ids=[f"{path[-2:]} {value!r:.20}" for path, value in ALTERED])
def test_what_no_archive_says_is_refused_and_nothing_is_stored(
    make_saver: SaverFactory, calls: Calls, document: dict[str, Any], path: Path, value: Any
) -> None:
    saver = make_saver()
    calls.run(saver, "from_json", json.dumps(document), thread_id="sound")
    with pytest.raises(CorruptRecordError):
        calls.run(saver, "from_json", json.dumps(altered(document, path, value)), thread_id="u")
    assert calls.get_tuple(saver, config("u")) is None


READS: list[Callable[[Any], Any]] = [
    lambda saver: saver.get_tuple(config("u")),
    lambda saver: list(saver.turns("u")),
    lambda saver: saver.media_report("u"),
    lambda saver: saver.media_table("u"),
    lambda saver: saver.to_json("u"),
]


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("value", [None, 7, True, [], {}, "x", "\ud800", [[]], {"a": 1}, 2**70], ids=repr)
def test_an_altered_archive_is_read_or_refused_wherever_it_is_altered(
    make_saver: SaverFactory, document: dict[str, Any], value: Any
) -> None:
    saver = make_saver()
    for path in places(document):
        try:
            saver.from_json(json.dumps(altered(document, path, value)), thread_id="u")
            for read in READS:
                read(saver)
        except PortableCheckpointError:
            continue
        finally:
            saver.delete_thread("u")


class FullStore(DirectoryMediaStore):
    """A folder that takes nothing."""

    def put(self, sha256: str, mime_type: str | None, data: bytes) -> str:
        raise OSError("no space left")


def test_a_thread_is_made_whole_or_not_at_all(
    make_saver: SaverFactory, calls: Calls, document: dict[str, Any], tmp_path: Any
) -> None:
    text = json.dumps(altered(document, (*ENVELOPE, "content"), [{"type": "text", "text": "look"}]))
    full, good = make_saver(media_store=FullStore(tmp_path)), make_saver(media_store=tmp_path)
    with pytest.raises(MediaStoreError):
        calls.run(full, "from_json", text, thread_id="u")
    assert calls.get_tuple(good, config("u")) is None
    calls.run(good, "from_json", text, thread_id="u")
    assert [upload.uri for record in good.media_table("u") for upload in record.uploads] == [URI]
