"""Hypothesis strategies for histories: of any origin, broken in the ways that real ones are."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
IDS = st.sampled_from(["call_1", "toolu_2", "functions.f:0", "call|3", "x" * 70, "ü", "c"])
NAMES = st.sampled_from(["search", "get-weather", "a.b", "ns:tool", "名", "t" * 80])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
ARGS = st.dictionaries(TEXTS, JSON, max_size=2)
ODD_ARGS = ARGS | st.sampled_from([{"x": float("nan")}, {"x": [float("-inf")]}, {"x": "\ud800"}, {"x": b"b"}])
"""Arguments that JSON cannot hold stand among them."""
ORIGINS = st.sampled_from(
    [
        {"provider": "openai", "api": "chat", "model": "gpt-4o"},
        {"provider": "openai", "api": "responses", "model": "gpt-5"},
        {"provider": "anthropic", "api": "messages", "model": "claude-sonnet-4-5"},
        {"provider": "google", "api": "generate-content", "model": "gemini-3-pro"},
        {"provider": "google-vertex", "api": "generate-content", "model": "gemini-2.5-pro"},
        {"provider": "bedrock", "api": "converse", "model": "anthropic.claude-sonnet-4-5-v1:0"},
        {"provider": "mistral", "api": "chat"},
        {},
    ]
)
EXTRAS = st.sampled_from([{}, {"signature": "c2ln"}, {"encrypted_content": "enc"}, {"redacted_data": "cmVk"}])
MIME = {
    "image": ["image/png", "image/jpeg", "image/tiff"],
    "audio": ["audio/wav", "audio/mpeg"],
    "video": ["video/mp4"],
    "file": ["application/pdf", "text/csv", "application/zip"],
}


def block(kind: str, **keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({"type": st.just(kind), **keys})


@st.composite
def media(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(sorted(MIME)))
    source = draw(
        st.sampled_from(
            [
                {"base64": base64.b64encode(b"\x89PNG").decode()},
                {"url": "https://example.com/a.bin"},
                {"url": "s3://bucket/key"},
                {"file_id": "file_1"},
                {"base64": "not base64"},
            ]
        )
    )
    named = draw(st.sampled_from([{}, {"filename": "a_b.pdf"}]))
    return {"type": kind, "mime_type": draw(st.sampled_from(MIME[kind])), **source, **named}


TEXT = block("text", text=TEXTS)
REASONING = block("reasoning", reasoning=TEXTS, extras=EXTRAS)
CALL = block("tool_call", id=IDS, name=NAMES, args=ARGS)
BAD_CALL = block("invalid_tool_call", id=IDS, name=NAMES, args=TEXTS)
SERVER = block("server_tool_call", id=IDS, name=st.just("code_execution"), args=ARGS)
SERVER_RESULT = block(
    "server_tool_result", tool_call_id=IDS, name=st.just("code_execution"), output=JSON, status=st.just("success")
)
ODD = block(
    "non_standard", value=st.dictionaries(TEXTS, JSON, max_size=2) | st.just({"type": "compaction", "content": "s"})
)
PLAIN = block("text-plain", text=TEXTS, mime_type=st.just("text/plain"))
REFUSAL = block("refusal", refusal=TEXTS)


def message(role: str, *blocks: st.SearchStrategy[Any], **keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    content = st.lists(st.one_of(*blocks), max_size=3)
    return st.fixed_dictionaries(
        {"v": st.just(1), "role": st.just(role), "content": content, "origin": ORIGINS, **keys}
    )


MESSAGES = st.one_of(
    message("user", TEXT, media(), PLAIN, ODD),
    message("assistant", TEXT, REASONING, CALL, BAD_CALL, SERVER, SERVER_RESULT, REFUSAL, ODD),
    message("tool", TEXT, media(), ODD, tool_call_id=IDS, status=st.sampled_from(["success", "error"])),
    message("system", TEXT),
    message("other", TEXT, role_detail=st.sampled_from(["critic", "user"])),
)
HISTORIES = st.lists(MESSAGES, max_size=8)
