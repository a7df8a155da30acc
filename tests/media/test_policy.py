"""What a policy decides, what it refuses to be, and what stripping leaves in a value."""

from __future__ import annotations

import base64
import copy
import hashlib
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_portable_checkpoint import PortableRedisSaver
from langgraph_portable_checkpoint.errors import MediaTooLargeError
from langgraph_portable_checkpoint.media.policy import MediaPolicy, removed_text, unavailable_text
from langgraph_portable_checkpoint.media.strip import take_out
from tests.saver.checkpoints import checkpoint
from tests.servers import Room

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 128
IMAGE = {"type": "image", "base64": base64.b64encode(PNG).decode(), "mime_type": "image/png"}
REMOVED = {"type": "text", "text": "[image/png, 136 B, removed on save]"}


@pytest.mark.parametrize(
    ("policy", "size", "mime_type", "decision"),
    [
        (MediaPolicy(), 2048, "image/png", "externalize"),
        (MediaPolicy(), 2047, "image/png", "inline"),
        (MediaPolicy(), 10_000, None, "externalize"),
        (MediaPolicy(mode="inline"), 10_000, "image/png", "inline"),
        (MediaPolicy(mode="inline", max_inline_bytes=9_999), 10_000, "image/png", "externalize"),
        (MediaPolicy(mode="inline", max_inline_bytes=None), 10**8, "image/png", "inline"),
        (MediaPolicy(mode="strip"), 1, "image/png", "strip"),
        (MediaPolicy(mode="strip"), 10_000, None, "externalize"),
        (MediaPolicy(preserve_media=False, rules={"*/*": "inline"}), 1, "image/png", "strip"),
        (MediaPolicy(rules={"image/*": "strip", "image/png": "inline"}), 10_000, "image/png", "inline"),
        (MediaPolicy(rules={"image/*": "strip", "image/png": "inline"}), 10_000, "image/gif", "strip"),
        (MediaPolicy(mode="strip", rules={"*/*": "auto"}), 10_000, "video/mp4", "externalize"),
        (MediaPolicy(rules={"image/jpeg": "strip"}), 10_000, "image/jpg", "strip"),
        (MediaPolicy(rules={"image/jpg": "strip"}), 10_000, "image/jpeg", "strip"),
        (MediaPolicy(rules={"audio/mpeg": "strip"}), 10_000, "audio/mp3", "strip"),
        (MediaPolicy(rules={"image/jpeg": "strip", "image/jpg": "inline"}), 10_000, "image/jpg", "inline"),
        (MediaPolicy(rules={"image/jpg": "strip", "image/jpeg": "inline"}), 10_000, "image/jpeg", "inline"),
    ],
)
def test_the_most_specific_rule_decides(policy: MediaPolicy, size: int, mime_type: str | None, decision: str) -> None:
    assert policy.decide(size, mime_type) == decision


def test_media_above_the_limit_are_refused_unless_they_are_stripped() -> None:
    with pytest.raises(MediaTooLargeError, match="max_bytes is 4096"):
        MediaPolicy(max_bytes=4096).decide(4097, "image/png")
    assert MediaPolicy(max_bytes=4096, mode="strip").decide(4097, "image/png") == "strip"


@pytest.mark.parametrize(
    "fields",
    [
        {"mode": "external"},
        {"mode": None},
        {"min_bytes": -1},
        {"min_bytes": "2 kB"},
        {"max_bytes": None},
        {"max_bytes": True},
        {"max_inline_bytes": 1.5},
        {"min_bytes": 10, "max_bytes": 9},
        {"rules": {"png": "inline"}},
        {"rules": {"image/*": "keep"}},
        {"rules": {"*/png": "inline"}},
    ],
)
def test_a_policy_that_makes_no_sense_cannot_be_built(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(fields))):
        MediaPolicy(**fields)


def test_all_problems_of_a_policy_are_named_at_once() -> None:
    with pytest.raises(ValueError, match=r"mode.*min_bytes.*rules"):
        MediaPolicy(mode="x", min_bytes=-1, rules={"y": "inline"})  # type: ignore[arg-type]


def test_one_call_may_override_the_policy() -> None:
    policy = MediaPolicy(min_bytes=7)
    other = MediaPolicy(mode="strip")
    assert policy.override(None) is policy
    assert policy.override(other) is other
    assert policy.override("inline") == MediaPolicy(mode="inline", min_bytes=7)
    assert policy.override({"max_bytes": 9}) == MediaPolicy(min_bytes=7, max_bytes=9)
    for wrong in ({"size": 1}, 5, "external"):
        with pytest.raises(ValueError):
            policy.override(wrong)


def test_placeholders_say_what_was_there() -> None:
    assert removed_text("image/png", 136) == "[image/png, 136 B, removed on save]"
    assert unavailable_text("image/png", 136) == "[image/png, 136 B, not available on read]"
    assert unavailable_text(None, None) == "[data, not available on read]"


def test_stripping_leaves_texts_and_reports_each() -> None:
    value = {"content": [IMAGE, {"type": "text", "text": "see"}], "id": "1"}
    before = copy.deepcopy(value)
    taken = take_out(value, MediaPolicy(mode="strip"))
    assert taken.value == {"content": [REMOVED, {"type": "text", "text": "see"}], "id": "1"}
    assert [report.to_wire() for report in taken.reports] == [
        {"reason": "stripped", "mime_type": "image/png", "size_bytes": 136, "sha256": hashlib.sha256(PNG).hexdigest()}
    ]
    assert taken.holes == ()
    assert value == before


def test_stripping_leaves_a_channels_own_bytes_and_nested_messages_for_the_store() -> None:
    message = HumanMessage("hi")
    taken = take_out({"index": b"\x01" * 4000, "m": [message], "i": [IMAGE], "b": b"1"}, MediaPolicy(mode="strip"))
    assert [(hole.kind, hole.path) for hole in taken.holes] == [("media", ("index",)), ("message", ("m", 0))]
    assert taken.value == {"index": None, "m": [None], "i": [REMOVED], "b": b"1"}


def test_not_preserving_media_removes_references_too() -> None:
    parts = [
        IMAGE,
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "media", "file_uri": "https://generativelanguage.googleapis.com/v1beta/files/a", "mime_type": "a/b"},
        {"fileData": {"fileUri": "https://generativelanguage.googleapis.com/v1beta/files/a", "mimeType": "a/b"}},
        {"type": "file", "file_id": "file-1"},
        {"type": "text", "text": "https://example.com/"},
        {"type": "tool_call", "args": {"url": "https://example.com/"}},
    ]
    taken = take_out({"content": parts}, MediaPolicy(preserve_media=False))
    texts = [part.get("text") for part in taken.value["content"]]
    gone = "[a/b, removed on save]"
    assert texts == [REMOVED["text"], "[data, removed on save]", gone, gone, "[data, removed on save]", *texts[5:]]
    assert taken.value["content"][5:] == parts[5:]
    assert [report.source for report in taken.reports] == ["preserve_media"] * 5


def test_large_inline_media_are_reported_and_stored_apart() -> None:
    taken = take_out([IMAGE], MediaPolicy(mode="inline", min_bytes=1, max_inline_bytes=135))
    assert [report.reason for report in taken.reports] == ["over_inline_threshold"]
    assert [hole.data for hole in taken.holes] == [PNG]


def test_inline_media_stay_where_they_are() -> None:
    value = [IMAGE]
    taken = take_out(value, MediaPolicy(mode="inline", min_bytes=1))
    assert taken == (value, (), ())
    assert taken.value is value


@pytest.mark.parametrize("declared", ["application/octet-stream", None])
def test_a_rule_counts_for_what_bytes_show_where_nothing_is_declared(server: Room, declared: str | None) -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
    part = {"type": "image", "base64": base64.b64encode(png).decode(), **({"mime_type": declared} if declared else {})}
    url = {"type": "image_url", "image_url": {"url": f"data:{declared or ''};base64,{part['base64']}"}}
    policy = MediaPolicy(rules={"image/*": "strip"})
    with PortableRedisSaver.from_url(server.url, prefix=server.prefix, media_policy=policy) as saver:
        where: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        saver.put(where, checkpoint({"messages": [HumanMessage([part, url], id="h")]}), {}, {"messages": 1})
        assert {report.reason for report in saver.media_report("t")} == {"stripped"}
        found = saver.get_tuple(where)
    assert found is not None
    assert "base64" not in str(found.checkpoint["channel_values"])
