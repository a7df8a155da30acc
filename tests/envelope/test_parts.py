"""What the make of a native block tells is what reading that very block gives, whatever values it holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_portable_checkpoint.envelope import parts
from langgraph_portable_checkpoint.envelope.entries import _read, read_block
from langgraph_portable_checkpoint.envelope.natives import ALL_KINDS, kinds_of
from langgraph_portable_checkpoint.envelope.parts import finished, read_quickly
from tests.corpus_messages import corpus_histories

APIS = [None, "responses", "messages", "chat", "converse", "generate-content", "own"]
KEYS = sorted({key for kinds in ALL_KINDS for kind in kinds for key in (*kind.flat, *kind.needs)} - {"type"})
TYPES = ["text", "reasoning", "refusal", "image", "audio", "video", "file", "text-plain", "tool_call", "non_standard"]
TYPES += ["server_tool_call", "server_tool_result", "invalid_tool_call", "thinking", "redacted_thinking", "tool_use"]
TYPES += ["document", "server_tool_use", "mcp_tool_use", "web_search_tool_result", "function_call", "custom_tool_call"]
TYPES += ["output_text", "input_text", "web_search_call", "mcp_call", "reasoning.text", "reasoning.encrypted"]
TYPES += ["image_url", "input_image", "input_file", "reasoning_content", "executable_code", "media", "own"]
TEXTS = st.sampled_from(["", "a", "text", "base64", "{}", "[]", "data:image/png;base64,AA==", "\ud800", "\x000"])
MAPS = st.dictionaries(st.sampled_from(["type", "url", "data", "signature", "citations"]), TEXTS, max_size=2)
OF_TYPE: dict[type, st.SearchStrategy[Any]] = {
    str: TEXTS,
    dict: MAPS,
    list: st.lists(TEXTS | MAPS, max_size=2),
    bytes: st.binary(max_size=2),
    int: st.integers(0, 1),
    bool: st.booleans(),
    type(None): st.none(),
}
OTHER_KEYS = ["extras", "annotations", "citations", "index", "caller", "cache_control", "own"]
ALIKE = {
    "tool_use": {"id": str, "name": str, "input": dict},
    "thinking": {"thinking": str, "signature": str},
    "text": {"text": str},
    "image": {"base64": str, "mime_type": str},
}
"""Makes that integrations give, so that some of what is drawn is read quickly."""


def generally(native: dict[str, Any], api: str | None) -> dict[str, Any]:
    """Read and finish a block without looking at its make."""
    block, entry = read_block(native)
    return finished(block, native, entry, api=api)


@st.composite
def of_one_make(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw blocks with the same keys, in the same order, and values of the same types."""
    type_ = draw(st.sampled_from(TYPES))
    chosen = draw(st.lists(st.sampled_from([*KEYS, *OTHER_KEYS]), unique=True, max_size=4))
    made = {**ALIKE.get(type_, {}), **{key: draw(st.sampled_from([*OF_TYPE])) for key in chosen}}
    keys = draw(st.permutations(["type", *made]))
    return [{key: type_ if key == "type" else draw(OF_TYPE[made[key]]) for key in keys} for _ in range(3)]


@given(of_one_make(), st.sampled_from(APIS))
def test_blocks_of_one_make_are_read_as_each_is_alone(natives: list[dict[str, Any]], api: str | None) -> None:
    for native in natives:
        found = read_quickly(native, api)
        assert found is None or repr(found) == repr(generally(native, api))


def test_recorded_blocks_are_read_alike_and_mostly_by_their_make() -> None:
    contents = [message.content for messages in corpus_histories().values() for message in messages]
    natives = [native for content in contents if isinstance(content, list) for native in content]
    known = [(native, api) for native in natives if isinstance(native, dict) for api in APIS]
    found = [(read_quickly(native, api), native, api) for native, api in known]
    assert all(block is None or repr(block) == repr(generally(native, api)) for block, native, api in found)
    assert sum(block is not None for block, *_ in found) > len(found) / 2


@pytest.mark.parametrize(
    ("native", "api"),
    [
        ({"type": "thinking", "thinking": "a", "signature": "s"}, "messages"),
        ({"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}}, "messages"),
        ({"text": "a", "type": "text"}, "chat"),
        ({"type": "image", "base64": "AA==", "mime_type": "image/png"}, None),
        ({"type": "text", "text": "a", "index": "b", "own": "c"}, "messages"),
        ({"type": "document", "own": "a", "type_": "b"}, "messages"),
    ],
)
def test_a_make_is_looked_at_once(native: dict[str, Any], api: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read_quickly(native, api)
    monkeypatch.setattr(parts, "read_block", None)
    assert read_quickly({**native}, api) == first


def test_a_block_that_is_read_by_its_make_shares_no_map_of_its_own_with_another() -> None:
    native = {"type": "thinking", "thinking": "a", "signature": "s"}
    one, other = read_quickly(native, "messages"), read_quickly(native, "messages")
    assert one is not None
    assert other is not None
    one["extras"]["signature"] = one["raw"]["signature"] = one["type"] = "changed"
    assert other == generally(native, "messages")


def test_makes_are_not_kept_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_MAX_MAKES", 3)
    for number in range(10):
        assert read_quickly({"type": "text", "text": "a", f"own{number}": "b"}, "own") is not None
        assert len(parts._makes) <= 3


@pytest.mark.parametrize(
    "native", ["a", None, [], {"type": []}, {"type": {}, "text": "a"}, {"type": None}, {"text": "a"}]
)
def test_what_has_no_type_is_left_to_the_general_way(native: Any) -> None:
    assert read_quickly(native, None) is None


def test_a_block_of_many_keys_is_left_to_the_general_way() -> None:
    assert read_quickly({"type": "text", "text": "a", **{f"own{n}": "b" for n in range(20)}}, None) is None


@given(of_one_make())
def test_a_kind_reads_no_block_without_the_keys_it_needs(natives: list[dict[str, Any]]) -> None:
    for kind in kinds_of(natives[0]):
        for native in natives:
            assert kind.needs <= native.keys() or _read(kind, native) is None
