"""Finding parts that only refer to media, and measuring a conversation before it is saved."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_portable_checkpoint.media.references import MediaPart, find_references, persistence_report

GOOGLE = "https://generativelanguage.googleapis.com/v1beta/files/abc"


@pytest.mark.parametrize(
    ("part", "kind", "uri", "mime_type"),
    [
        ({"type": "media", "file_uri": GOOGLE, "mime_type": "audio/wav"}, "google_file_uri", GOOGLE, "audio/wav"),
        ({"fileData": {"fileUri": GOOGLE, "mimeType": "video/mp4"}}, "google_file_uri", GOOGLE, "video/mp4"),
        ({"file_data": {"file_uri": "gs://b/o"}}, "url", "gs://b/o", None),
        ({"type": "file", "file_id": GOOGLE}, "google_file_uri", GOOGLE, None),
        (
            {"type": "file", "file_id": "file-1", "mime_type": "application/pdf"},
            "provider_file",
            "file-1",
            "application/pdf",
        ),
        ({"type": "file", "file": {"file_id": "file-1"}}, "provider_file", "file-1", None),
        ({"type": "image", "source": {"type": "file", "file_id": "f"}}, "provider_file", "f", None),
        ({"type": "container_upload", "file_id": "f"}, "provider_file", "f", None),
        ({"type": "image", "source": {"type": "url", "url": "https://a/b"}}, "url", "https://a/b", None),
        ({"type": "input_image", "image_url": "https://a/b"}, "url", "https://a/b", None),
        ({"type": "image_url", "image_url": {"url": "http://a/b"}}, "url", "http://a/b", None),
        ({"type": "video", "url": "https://youtu.be/x"}, "url", "https://youtu.be/x", None),
        ({"document": {"format": "pdf", "source": {"s3Location": {"uri": "s3://b/k"}}}}, "url", "s3://b/k", None),
    ],
)
def test_every_way_to_refer_is_found(part: Any, kind: str, uri: str, mime_type: str | None) -> None:
    [found] = find_references({"content": [part, {"type": "text", "text": uri}]})
    assert (found.kind, found.uri, found.mime_type, found.part) == (kind, uri, mime_type, 2)


@pytest.mark.parametrize(
    ("value", "path", "part"),
    [
        ({"pic": {"type": "file", "file_id": "f"}}, ("pic", "file_id"), 1),
        (
            [{"type": "non_standard", "value": {"type": "file", "file": {"file_id": "f"}}}],
            (0, "value", "file", "file_id"),
            1,
        ),
        ({"fileData": {"fileUri": "f"}}, ("fileData", "fileUri"), 0),
        ([{"type": "image", "source_type": "id", "id": "f"}], (0, "id"), 1),
        ([{"type": "resource_link", "uri": "f"}], (0, "uri"), 1),
        (
            {"source": {"image": {"source": {"s3Location": {"uri": "f"}}}}},
            ("source", "image", "source", "s3Location", "uri"),
            1,
        ),
    ],
)
def test_references_are_found_wherever_their_part_stands(value: Any, path: Any, part: int) -> None:
    [found] = find_references(value)
    assert (found.path, found.part, found.uri) == (path, part, "f")


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "id": "block-1", "base64": ""},
        {"type": "text", "text": GOOGLE, "url": GOOGLE},
        {"type": "tool_call", "args": {"file_id": "f", "url": "https://a"}},
        {"type": "image", "url": "data:image/png;base64,QQ=="},
        {"type": "image", "url": ""},
    ],
)
def test_other_mentions_of_links_are_not_references(part: Any) -> None:
    assert find_references([part]) == []


def test_a_conversation_is_measured_part_by_part() -> None:
    image = base64.b64encode(b"\x89PNG" + b"\0" * 96).decode()
    state = {
        "messages": [
            HumanMessage([{"type": "image", "base64": image, "mime_type": "image/png"}], id="q"),
            AIMessage([{"type": "media", "file_uri": GOOGLE, "mime_type": "audio/wav"}]),
            ToolMessage("done", tool_call_id="t"),
        ]
    }
    report = persistence_report(state)
    assert report.messages == 3
    assert report.media == (
        MediaPart("base64", "q", "image/png", 100, None),
        MediaPart("google_file_uri", 1, "audio/wav", None, GOOGLE),
    )
    longer = persistence_report([*state["messages"], HumanMessage("é" * 50)])
    assert longer.size_bytes - report.size_bytes > 100
    assert report == persistence_report(state["messages"])
    assert image in repr(state)
