"""Entries that no encoder makes, as in a record that was altered: a typed error, never wrong data."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_portable_checkpoint import MediaPolicy
from langgraph_portable_checkpoint.errors import CorruptRecordError
from langgraph_portable_checkpoint.media.cache import BlobCache
from langgraph_portable_checkpoint.media.placing import PolicyWalk
from langgraph_portable_checkpoint.serde import DataSerializer
from langgraph_portable_checkpoint.storage.codec import BLOB_WIRE, DICT, LIST, ValueCodec
from langgraph_portable_checkpoint.storage.decoder import Decoder, Items
from langgraph_portable_checkpoint.storage.encoder import Encoder, Sink
from langgraph_portable_checkpoint.storage.items import Secrets
from langgraph_portable_checkpoint.storage.known import KnownMessages
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
