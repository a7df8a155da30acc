"""Entries that no encoder makes, as in a record that was altered: a typed error, never wrong data."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_portable_checkpoint import MediaPolicy
from langgraph_portable_checkpoint.errors import CorruptRecordError
from langgraph_portable_checkpoint.media.cache import BlobCache
from langgraph_portable_checkpoint.media.placing import PolicyWalk
from langgraph_portable_checkpoint.serde import DataSerializer
from langgraph_portable_checkpoint.storage.codec import BLOB_WIRE, DICT, LIST, ValueCodec
from langgraph_portable_checkpoint.storage.decoder import Decoder
from langgraph_portable_checkpoint.storage.encoder import Encoder, Sink
from langgraph_portable_checkpoint.storage.items import Secrets
from langgraph_portable_checkpoint.storage.known import KnownMessages
from langgraph_portable_checkpoint.storage.opened import Items, Opened
from langgraph_portable_checkpoint.storage.sequences import Entry

CODEC = ValueCodec(DataSerializer(), PolicyWalk(MediaPolicy()))
SECRETS = Secrets(b"", CODEC.sealer)


@pytest.fixture
def made() -> tuple[Entry, Entry, Decoder]:
    """A message, a blob, and what decodes them."""
    sink = Sink()
    encoder = Encoder(CODEC, SECRETS, known=KnownMessages(), stored=set(), sink=sink)
    message, blob = encoder.message(HumanMessage("hello")), encoder.channel("a", "text " * 100)[0]
    decoder = Decoder(CODEC, SECRETS, items=Items(10**6), fetched=sink.items, blobs=BlobCache(), where="thread 't'")
    decoder.final = True
    return message, blob, decoder


def test_what_the_encoder_made_is_decoded(made: Any) -> None:
    message, blob, decoder = made
    assert (decoder.value(message), decoder.value(blob)) == (HumanMessage("hello"), "text " * 100)


def _lists(text_id: str, uuid_id: str) -> list[list[Any]]:
    """Lists of messages, of messages and other values, and of the same messages under other ids."""
    call = {"name": "f", "args": {"a": [1]}, "id": "c", "type": "tool_call"}
    messages = [HumanMessage("hello", id=text_id), AIMessage("", tool_calls=[call], id=uuid_id), HumanMessage("x")]
    return [
        messages,
        [message.model_copy(update={"id": f"other {place}"}) for place, message in enumerate(messages)],
        [*messages, "text", None, [messages[0], "text"], [messages[1]]],
        [messages[2], [messages[1]], [messages[0], "text"]],
        [[messages[1]], {"a": messages[0]}],
        messages[:1],
        [],
    ]


def test_lists_read_again_are_equal_and_share_nothing() -> None:
    sink = Sink()
    encoder = Encoder(CODEC, SECRETS, known=KnownMessages(), stored=set(), sink=sink)
    lists = _lists("text id", "0195d4f0-7a1c-7000-8000-00000000000a")
    entries = [encoder.channel("a", value)[0] for value in lists]
    decoder = Decoder(CODEC, SECRETS, items=Items(10**6), fetched=sink.items, blobs=BlobCache(), where="thread 't'")
    decoder.final = True
    for _ in range(3):
        for entry, value in zip(entries, lists, strict=True):
            read = decoder.channel(entry)[0]
            assert read == value
            for element in read:
                if isinstance(element, AIMessage):
                    element.tool_calls[0]["args"]["a"].append(2)
                    element.additional_kwargs["changed"] = True
                    element.content = "changed"


def test_opened_item_is_not_replaced_by_its_bytes(made: Any) -> None:
    message, _, decoder = made
    decoder.value(message)
    (digest,) = message.refs
    opened = decoder.items.get(digest)
    assert isinstance(opened, Opened)
    decoder.items.add(digest, decoder.fetched[digest])
    assert decoder.items.get(digest) is opened


ALTERED = [
    [1, 2, 3, 4],
    7,
    {},
    [1, 99, [[]]],
    [2, LIST, [[]]],
    [1, LIST, [[], []]],
    [1, DICT, [[]]],
    [2, DICT, [[b"\x91\x01"], []]],  # a list for a key
]


@pytest.mark.parametrize("wire", ALTERED, ids=repr)
@pytest.mark.parametrize("name", ["value", "channel"])
def test_entry_of_an_unknown_form_is_corrupt(made: Any, wire: Any, name: str) -> None:
    with pytest.raises(CorruptRecordError):
        getattr(made[2], name)(Entry(wire, ()))


def test_item_of_another_kind_than_its_entry_says_is_corrupt(made: Any) -> None:
    message, blob, decoder = made
    for entry in (Entry(BLOB_WIRE, message.refs), Entry(message.wire, blob.refs)):
        with pytest.raises(CorruptRecordError, match="kind"):
            decoder.value(entry)


@pytest.mark.parametrize("form", [LIST, DICT])
@pytest.mark.parametrize("size", [4, 16])
def test_page_that_is_none_is_corrupt(made: Any, form: int, size: int) -> None:
    for entry in made[:2]:
        with pytest.raises(CorruptRecordError):
            made[2].value(Entry([size, form, []], entry.refs))
