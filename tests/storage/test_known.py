"""What a client remembers of messages so that it need not encode them again."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint import MediaPolicy
from langgraph_portable_checkpoint.media.placing import PolicyWalk
from langgraph_portable_checkpoint.serde import DataSerializer
from langgraph_portable_checkpoint.storage import encoder as encoding
from langgraph_portable_checkpoint.storage.codec import ValueCodec
from langgraph_portable_checkpoint.storage.encoder import Encoder, Sink
from langgraph_portable_checkpoint.storage.items import Secrets
from langgraph_portable_checkpoint.storage.known import MAX_UNCONFIRMED, KnownMessages
from langgraph_portable_checkpoint.storage.messages import HEAVY_TEXT

CODEC = ValueCodec(DataSerializer(), PolicyWalk(MediaPolicy()))


class Sender:
    """Encodes messages as calls of one client do, and counts how often one is made into an envelope."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.known = KnownMessages()
        self.stored: set[bytes] = set()
        self.made = 0
        make = encoding.fields_to_envelope

        def counted(*args: Any) -> Any:
            self.made += 1
            return make(*args)

        monkeypatch.setattr(encoding, "fields_to_envelope", counted)

    def send(self, message: Any, sink: Sink | None = None) -> dict[bytes, bytes]:
        """Encode a message for one call; return the items that the call takes along."""
        sink = sink or Sink()
        secrets = Secrets(b"", CODEC.sealer)
        Encoder(CODEC, secrets, known=self.known, stored=self.stored, sink=sink).message(message)
        return sink.items

    def confirm(self, items: dict[bytes, bytes]) -> None:
        """Take in that the server has answered."""
        self.stored.update(items)
        self.known.confirm(items)


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch) -> Sender:
    return Sender(monkeypatch)


def test_message_sent_again_before_the_answer_is_made_once_and_goes_along_with_both_calls(sender: Sender) -> None:
    first = sender.send(AIMessage("hello"))
    assert sender.send(AIMessage("hello", id="given meanwhile")) == first != {}
    assert sender.made == 1


def test_message_that_is_stored_goes_along_no_more_and_is_forgotten_whole(sender: Sender) -> None:
    items = sender.send(AIMessage("hello"))
    sender.confirm(items)
    assert sender.send(AIMessage("hello")) == {}
    assert [sender.known.sent(digest) for digest in items] == [None]
    assert sender.made == 1


def test_few_messages_wait_for_an_answer_at_a_time_and_no_large_ones(sender: Sender) -> None:
    sent = [sender.send(HumanMessage(f"message {number}")) for number in range(MAX_UNCONFIRMED + 1)]
    kept = [digest for items in sent for digest in items if sender.known.sent(digest) is not None]
    assert kept == [digest for items in sent[1:] for digest in items]
    [large] = sender.send(HumanMessage("x" * HEAVY_TEXT))
    assert sender.known.sent(large) is None


def test_message_with_media_goes_along_with_its_media_each_time(sender: Sender) -> None:
    picture = {"type": "image", "mime_type": "image/png", "base64": base64.b64encode(b"\x89PNG" + bytes(9000)).decode()}
    for _ in range(2):
        sink = Sink()
        sender.send(ToolMessage("seen", tool_call_id="c", artifact=[picture]), sink)
        assert (len(sink.items), len(sink.media)) == (1, 1)
