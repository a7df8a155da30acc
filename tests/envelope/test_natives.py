"""Each native block kind has one stored name, reads its block and writes it back."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_portable_checkpoint.envelope import natives
from langgraph_portable_checkpoint.envelope.entries import read_block, write_block
from langgraph_portable_checkpoint.envelope.model import BLOCK_TYPES

SIGNED = {"signature": "c2ln"}
PNG, MP4 = b"\x89PNG\r\n\x1a\n", b"\0\0\0\x20ftypisom"
KNOWN: dict[str, tuple[Any, dict[str, Any]]] = {
    "typed image of converse": (
        {"type": "image", "image": {"source": {"bytes": PNG}, "format": "png"}},
        {"type": "image", "data": PNG, "mime_type": "image/png"},
    ),
    "typed video of converse": (
        {"type": "video", "video": {"source": {"bytes": MP4}, "format": "mp4"}},
        {"type": "video", "data": MP4, "mime_type": "video/mp4"},
    ),
    "str": ("hi", {"type": "text", "text": "hi"}),
    "text": ({"type": "text", "text": "hi", "citations": None}, {"type": "text", "extras": {"citations": None}}),
    "cached text": (
        {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "hi", "cache_hint": {"type": "ephemeral"}},
    ),
    "thinking": ({"type": "thinking", "thinking": "hm", **SIGNED}, {"reasoning": "hm", "extras": SIGNED}),
    "redacted": ({"type": "redacted_thinking", "data": "eA"}, {"reasoning": "", "extras": {"redacted_data": "eA"}}),
    "tool_use": (
        {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}},
        {"type": "tool_call", "id": "1", "name": "f", "args": {"a": 1}},
    ),
    "streamed tool_use": (
        {"type": "tool_use", "id": "1", "name": "f", "input": {}, "partial_json": '{"a": 1}', "index": 2},
        {"type": "tool_call", "id": "1", "name": "f", "args": {"a": 1}},
    ),
    "broken streamed tool_use": (
        {"type": "tool_use", "id": "1", "name": "f", "input": {}, "partial_json": '{"a": '},
        {"type": "invalid_tool_call", "id": "1", "name": "f", "args": '{"a": '},
    ),
    "search result": (
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {"type": "server_tool_result", "tool_call_id": "s", "output": []},
    ),
    "image": (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "image", "mime_type": "image/png", "base64": "AAAA"},
    ),
    "image file": (
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "image", "file_id": "file_1"},
    ),
    "text document": (
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hi"}, "title": "t"},
        {"type": "text-plain", "text": "hi", "mime_type": "text/plain", "title": "t"},
    ),
    "document of a text": (
        {
            "type": "document",
            "source": {"type": "content", "content": "hi"},
            "title": "t",
            "citations": {"enabled": True},
        },
        {"type": "text-plain", "text": "hi", "mime_type": "text/plain", "title": "t"},
    ),
    "document of texts": (
        {
            "type": "document",
            "source": {
                "type": "content",
                "content": [
                    {"type": "text", "text": "a\nb"},
                    {"type": "text", "text": ""},
                    {"type": "text", "text": "ç"},
                ],
            },
            "context": "c",
        },
        {"type": "text-plain", "text": "a\nb\n\nç", "mime_type": "text/plain", "context": "c"},
    ),
    "data URL": (
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
        {"type": "image", "mime_type": "image/png", "base64": "AAAA", "detail": "low"},
    ),
    "URL as a string": (
        {"type": "image_url", "image_url": "https://x/y.png"},
        {"type": "image", "url": "https://x/y.png"},
    ),
    "input_audio": (
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
        {"type": "audio", "base64": "AAAA", "mime_type": "audio/mpeg"},
    ),
    "docx file": (
        {"type": "file", "file": {"file_data": "data:application/msword;base64,AAAA", "filename": "a.doc"}},
        {"type": "file", "mime_type": "application/msword", "base64": "AAAA", "filename": "a.doc"},
    ),
    "reasoning item": (
        {
            "id": "rs_1",
            "summary": [{"text": "a", "type": "summary_text"}],
            "type": "reasoning",
            "encrypted_content": "eA",
        },
        {"type": "reasoning", "id": "rs_1", "reasoning": "a", "extras": {"encrypted_content": "eA"}},
    ),
    "reasoning item of two": (
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": t} for t in "ab"]},
        {"type": "reasoning", "reasoning": "a\n\nb", "extras": {"summary": ["a", "b"]}},
    ),
    "function_call": (
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": '{"a":1}'},
        {"type": "tool_call", "id": "c", "name": "f", "args": {"a": 1}, "extras": {"item_id": "fc_1"}},
    ),
    "oddly spelled function_call": (
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{ "a" :1}'},
        {"type": "tool_call", "args": {"a": 1}, "arguments": '{ "a" :1}'},
    ),
    "broken function_call": (
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{"},
        {"type": "invalid_tool_call", "id": "c", "args": "{"},
    ),
    "web search": (
        {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"query": "x"}},
        {"type": "server_tool_call", "id": "ws", "name": "web_search", "args": {"query": "x"}},
    ),
    "gemini thought": ({"text": "hm", "thought": True}, {"type": "reasoning", "reasoning": "hm"}),
    "gemini signed text": ({"text": "", "thoughtSignature": "c2ln"}, {"type": "text", "text": "", "extras": SIGNED}),
    "gemini call": (
        {"function_call": {"name": "f", "args": {"a": 1}}, "thought_signature": "c2ln"},
        {"type": "tool_call", "name": "f", "args": {"a": 1}, "extras": SIGNED},
    ),
    "gemini audio": (
        {"inlineData": {"mimeType": "audio/mpeg", "data": "AAAA"}},
        {"type": "audio", "mime_type": "audio/mpeg", "base64": "AAAA"},
    ),
    "gemini upload": (
        {"fileData": {"mimeType": "application/pdf", "fileUri": "files/abc"}},
        {"type": "file", "file_id": "files/abc"},
    ),
    "gemini code result": (
        {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no"}},
        {"type": "server_tool_result", "status": "error"},
    ),
    "converse toolUse": (
        {"toolUse": {"toolUseId": "t", "name": "f", "input": {"a": 1}}},
        {"type": "tool_call", "id": "t", "name": "f", "args": {"a": 1}},
    ),
    "converse reasoning": (
        {"type": "reasoning_content", "reasoning_content": {"text": "hm", "signature": "c2ln"}},
        {"type": "reasoning", "reasoning": "hm", "extras": SIGNED},
    ),
    "converse document": (
        {"document": {"format": "pdf", "name": "a", "source": {"bytes": b"%PDF"}}},
        {"type": "file", "mime_type": "application/pdf", "filename": "a", "data": b"%PDF"},
    ),
    "mistral thinking": (
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "reasoning", "reasoning": "hm"},
    ),
    "version 0 image": (
        {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": "AAAA"},
        {"type": "image", "mime_type": "image/png", "base64": "AAAA"},
    ),
    "unknown": ({"type": "hologram"}, {"type": "non_standard", "value": {"type": "hologram"}}),
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_native_block_reads_as_its_neutral_block(name: str) -> None:
    native, expected = KNOWN[name]
    block, _ = read_block(native)
    assert {key: block.get(key) for key in expected} == expected
    assert block["type"] in BLOCK_TYPES


@pytest.mark.parametrize("name", KNOWN)
def test_a_native_block_comes_back_without_a_second_copy(name: str) -> None:
    native, _ = KNOWN[name]
    block, entry = read_block(native)
    assert isinstance(entry, str)
    assert len(entry) < 60
    back = write_block(block, entry, loads=lambda data: data)
    assert back == native
    assert list(back) == list(native)


def test_no_stored_name_means_two_kinds() -> None:
    kinds = {id(kind): kind for found in natives.ALL_KINDS for kind in found}
    assert len(natives.KINDS) == len(kinds)


def test_no_stored_name_holds_a_sign_of_the_entry_grammar() -> None:
    assert not [name for name in natives.KINDS if "/" in name or "~" in name]


def test_written_blocks_do_not_share_their_constants() -> None:
    native, _ = KNOWN["streamed tool_use"]
    block, entry = read_block(native)
    write_block(block, entry, loads=lambda data: data)["input"]["spoiled"] = True
    assert write_block(block, entry, loads=lambda data: data) == native
