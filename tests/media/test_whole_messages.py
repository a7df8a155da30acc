"""Messages that have no envelope and are kept whole: stripped as any other, and what is reported is what was done."""

from __future__ import annotations

import base64
import pickle
import random
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Send

from langgraph_portable_checkpoint import PortableRedisSaver, copy_threads
from langgraph_portable_checkpoint.errors import MediaTooLargeError
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.servers import Room

BASE64 = base64.b64encode(b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(4000)).decode()
PART = {"type": "image", "base64": BASE64, "mime_type": "image/png"}
STRIPPED = [{"type": "text", "text": "[image/png, 4008 B, removed on save]"}]


class Mine(HumanMessage):
    """A class of an application's own."""

    extra: str = "e"


class Pickles:
    """A serializer that keeps every class."""

    def dumps_typed(self, value: Any) -> tuple[str, bytes]:
        return "p", pickle.dumps(value)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return pickle.loads(data[1])


MESSAGES: dict[str, BaseMessage] = {
    "half a pair in its id": HumanMessage([PART], id="h\ud800"),
    "half a pair in its name": HumanMessage([PART], id="h", name="h\ud800"),
    "an artifact": ToolMessage([PART], tool_call_id="c", artifact={"shots": [PART]}, id="h\udfff"),
    "of its own class": Mine([PART], id="h"),
    "standard": HumanMessage([PART], id="h"),
}
SERDES: dict[str, Any] = {"LangGraph's": None, "one's own": Pickles()}
POLICIES: list[Any] = ["strip", {"preserve_media": False}]


def opened(server: Room, **options: Any) -> PortableRedisSaver:
    return PortableRedisSaver.from_url(server.url, prefix=server.prefix, **options)


def base64_in(server: Room) -> list[bytes]:
    """List the keys in which the picture stands as text."""
    with server.client() as client:
        hashes = [key for key in list(server.keys()) if client.type(key) == b"hash"]
        return [key for key in hashes for value in client.hgetall(key).values() if BASE64[60:90].encode() in value]


def put(saver: PortableRedisSaver, message: BaseMessage) -> None:
    """Save a message wherever one may stand."""
    values = {"messages": [message], "one": message, "map": {"deep": [message]}}
    place = saver.put(config("t"), checkpoint(values), metadata(), dict.fromkeys(values, 1))
    saver.put_writes(place, [("messages", [message]), ("__pregel_tasks", Send("n", {"said": message}))], "task")


def read(saver: PortableRedisSaver) -> list[BaseMessage]:
    """Give the message back from each place."""
    found = saver.get_tuple(config("t"))
    values, (written, sent) = found.checkpoint["channel_values"], [value for _, _, value in found.pending_writes]
    return [values["messages"][0], values["one"], values["map"]["deep"][0], written[0], sent.arg["said"]]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("serde", SERDES)
@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_that_is_kept_whole_is_stripped(server: Room, message: str, serde: str, policy: Any) -> None:
    given = MESSAGES[message]
    with opened(server, media_policy=policy, serde=SERDES[serde]) as saver:
        put(saver, given)
    with opened(server, serde=SERDES[serde]) as saver:
        assert [each.content for each in read(saver)] == [STRIPPED] * 5
        assert {type(each) for each in read(saver)} <= {type(given), HumanMessage}
        assert BASE64 not in str(read(saver))
        assert {entry.reason for entry in saver.media_report("t")} == {"stripped"}
    assert base64_in(server) == []
    assert BASE64 in str(given.content), "what the graph holds is not touched"


@pytest.mark.parametrize("serde", SERDES)
@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_that_is_kept_whole_is_read_as_it_was(server: Room, message: str, serde: str) -> None:
    with opened(server, serde=SERDES[serde]) as saver:
        put(saver, MESSAGES[message])
    with opened(server, serde=SERDES[serde]) as saver:
        assert {each.content[0]["base64"] for each in read(saver)} == {BASE64}
        assert saver.media_report("t") == []


@pytest.mark.parametrize("serde", SERDES)
@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_that_is_kept_whole_has_no_medium_that_is_too_large(server: Room, message: str, serde: str) -> None:
    with opened(server, media_policy={"max_bytes": 3000}, serde=SERDES[serde]) as saver:
        with pytest.raises(MediaTooLargeError):
            saver.put(config("t"), checkpoint({"one": MESSAGES[message]}), metadata(), {"one": 1})
        assert saver.get_tuple(config("t")) is None


SENDS: list[Any] = [
    Send("n", {"part": PART, "said": HumanMessage([PART], id="h"), "raw": b"a" * 3000}),
    Send("n", "text"),
]


def old_checkpoint() -> Any:
    """Make a checkpoint as LangGraph before 1.0 did."""
    return {**checkpoint({"a": 1}), "v": 3, "pending_sends": SENDS}


@pytest.mark.parametrize("policy", POLICIES)
def test_tasks_in_checkpoints_of_older_versions_are_stripped(server: Room, policy: Any) -> None:
    source = InMemorySaver()
    source.put(config("t"), old_checkpoint(), metadata(), {"a": 1})
    with opened(server, media_policy=policy) as saver:
        report = copy_threads(source, saver)
        assert (report.stripped, report.differences) == (1, [])
        sent = saver.get_tuple(config("t")).checkpoint["pending_sends"]
        assert sent[0].arg["part"] == STRIPPED[0]
        assert sent[0].arg["said"].content == STRIPPED
        assert sent[0].arg["raw"] == b"a" * 3000
        assert sent[1] == Send("n", "text")
        assert {(entry.reason, entry.mime_type) for entry in saver.media_report("t")} == {("stripped", "image/png")}
    assert base64_in(server) == []


def test_tasks_in_checkpoints_of_older_versions_are_read_as_they_were(server: Room) -> None:
    with opened(server) as saver:
        saver.put(config("t"), old_checkpoint(), metadata(), {"a": 1})
        assert saver.get_tuple(config("t")).checkpoint["pending_sends"] == SENDS
    with opened(server, media_policy={"max_bytes": 3500}) as saver, pytest.raises(MediaTooLargeError):
        saver.put(config("u"), old_checkpoint(), metadata(), {"a": 1})
