"""Filling decoded messages, and describing what a thread holds."""

from __future__ import annotations

import base64
import os
import tracemalloc
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_portable_checkpoint.errors import MediaDigestError, MediaMissingError, MediaStoreError
from langgraph_portable_checkpoint.media.holes import Hole
from langgraph_portable_checkpoint.media.placing import PolicyWalk
from langgraph_portable_checkpoint.media.policy import MediaPolicy
from langgraph_portable_checkpoint.media.table import failure_report, new_record
from langgraph_portable_checkpoint.testing import sha256_of

from .test_walk import PARTS, PNG, RAW, b64, give_back, same

SERDE = JsonPlusSerializer()


def decoded_without_media(message: BaseMessage, walk: PolicyWalk) -> tuple[Any, Any]:
    fields, holes, _ = walk.take_out(dict(message.__dict__))
    bare = message.model_copy()
    bare.__dict__.update(fields)
    return SERDE.loads_typed(SERDE.dumps_typed(bare)), holes


@pytest.mark.parametrize("name", PARTS)
def test_filling_a_decoded_message_equals_decoding_a_whole_one(name: str) -> None:
    walk = PolicyWalk(MediaPolicy(min_bytes=100))
    part = PARTS[name]
    for message in (
        HumanMessage([{"type": "text", "text": "x"}, part], id="1"),
        ToolMessage(["text", part], tool_call_id="t", artifact={"raw": [part]}),
        AIMessage(
            "ok", tool_calls=[{"name": "n", "args": {"shot": part}, "id": "c"}], additional_kwargs={"audio": part}
        ),
    ):
        bare, holes = decoded_without_media(message, walk)
        assert holes
        before = repr(bare)
        filled = walk.fill_message(bare, holes, give_back)
        whole = SERDE.loads_typed(SERDE.dumps_typed(message))
        assert filled is not None
        assert type(filled) is type(whole)
        assert same(dict(filled.__dict__), dict(whole.__dict__))
        assert filled == whole
        assert filled.model_fields_set == whole.model_fields_set
        assert repr(bare) == before


CALL = {"name": "n", "args": {}, "id": "c", "type": "tool_call"}


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage(b64(PNG)),
        HumanMessage([b64(PNG)]),
        ToolMessage("x", tool_call_id="t", artifact=PNG),
        HumanMessage("x").model_copy(update={"content": [(b64(PNG),)]}),
        AIMessage("").model_copy(update={"tool_calls": [{**CALL, "type": b64(PNG)}]}),
        AIMessageChunk("").model_copy(update={"tool_calls": [{**CALL, "args": {"shot": b64(PNG)}}]}),
    ],
)
def test_holes_where_validation_looks_are_left_to_the_long_way(message: BaseMessage) -> None:
    walk = PolicyWalk(MediaPolicy(min_bytes=100))
    holes = walk.take_out(dict(message.__dict__)).holes
    assert len(holes) == 1
    assert walk.fill_message(message, holes, give_back) is None


def test_missing_media_are_named_in_the_placeholder() -> None:
    walk = PolicyWalk(MediaPolicy())
    hole = Hole("media", ("a",), mime_type="image/png", size_bytes=136)
    assert walk.placeholder(hole).text == "[image/png, 136 B, not available on read]"


def test_what_is_stored_is_described() -> None:
    described = PolicyWalk(MediaPolicy()).describe(PNG, "image/png", sha256=sha256_of(PNG), store="redis", ref=None)
    assert described == {"sha256": sha256_of(PNG), "mime_type": "image/png", "size_bytes": len(PNG), "store": "redis"}


@pytest.mark.parametrize(
    ("data", "declared", "recognised"),
    [
        (PNG, "image/png", None),
        (PNG, "image/gif", "image/png"),
        (PNG, "application/pdf", "image/png"),
        (b"\xff\xd8\xff", "image/jpg", None),
        (b"ID3\x03", "audio/mp3", None),
        (b"\0\0\0\x20ftypisom", "audio/mp4", None),
        (b"PK\x03\x04", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", None),
        (RAW, "image/png", "application/octet-stream"),
        (RAW, "application/pdf", None),
        (PNG, "application/octet-stream", None),
        (PNG, "image/PNG; q=1", None),
        (PNG, "text/plain", "image/png"),
        (b"BM is a text", "text/plain", None),
        (PNG, None, None),
        (b"", "image/png", None),
    ],
)
def test_types_that_the_bytes_contradict_are_noted(data: bytes, declared: str | None, recognised: str | None) -> None:
    record = new_record(data, declared, store="redis", first_turn=2)
    assert (record.mime_type, record.recognised_as) == (declared, recognised)
    assert (record.sha256, record.size_bytes, record.first_turn) == (sha256_of(data), len(data), 2)
    assert type(record).from_wire(record.to_wire()) == record


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MediaMissingError("m"), "missing_blob"),
        (MediaStoreError("down"), "missing_blob"),
        (MediaDigestError("other bytes"), "corrupt_blob"),
    ],
)
def test_what_cannot_be_read_is_reported_with_its_cause(error: Any, reason: str) -> None:
    report = failure_report(error, mime_type="image/png", size_bytes=5, message="q", turn=1)
    assert report.to_wire() == {
        "reason": reason, "mime_type": "image/png", "size_bytes": 5, "message": "q", "turn": 1, "detail": str(error),
    }  # fmt: skip


def test_a_large_part_is_decoded_within_three_times_its_size() -> None:
    """Memory, not time: the bytes, and once more while they are cut out of the text."""
    data = b"\x89PNG\r\n\x1a\n" + os.urandom(4 * 2**20)
    text = "data:image/png;base64," + base64.b64encode(data).decode()
    tracemalloc.start()
    try:
        walk = PolicyWalk(MediaPolicy())
        value, holes, _ = walk.take_out([{"type": "image_url", "image_url": {"url": text}}])
        assert tracemalloc.get_traced_memory()[1] < 3 * len(data)
        tracemalloc.reset_peak()
        base = tracemalloc.get_traced_memory()[0]
        walk.fill(value, holes, give_back)
        assert tracemalloc.get_traced_memory()[1] - base < 3 * len(data)
    finally:
        tracemalloc.stop()
