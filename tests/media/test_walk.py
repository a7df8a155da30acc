"""Taking media and nested messages out of values, and putting them back."""

from __future__ import annotations

import base64
import copy
import os
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Command, Interrupt, Overwrite, Send

from langgraph_portable_checkpoint.errors import CorruptRecordError
from langgraph_portable_checkpoint.media import walk
from langgraph_portable_checkpoint.media.holes import Hole, Missing, Unloaded
from langgraph_portable_checkpoint.media.walk import Punched, fill, punch

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 16
PDF = b"%PDF-1.7\n" + os.urandom(5000)
RAW = bytes(range(1, 250)) * 20


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def data_url(data: bytes, mime_type: str = "image/png") -> str:
    return f"data:{mime_type};base64,{b64(data)}"


def take_all(value: Any, min_bytes: int = 1024) -> Punched:
    return punch(value, select=lambda size, mime_type: True, min_bytes=min_bytes)


def give_back(hole: Hole) -> bytes | BaseMessage:
    content = hole.data if hole.kind == "media" else hole.message
    assert content is not None
    return content


def same(left: Any, right: Any) -> bool:
    """Equal by value and type, all the way down; NaN equals itself."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return [*map(repr, left)] == [*map(repr, right)] and all(
            same(a, b) for a, b in zip(left.values(), right.values(), strict=True)
        )
    if type(left) in (list, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return repr(left) == repr(right)


PARTS = {
    "chat image_url": {"type": "image_url", "image_url": {"url": data_url(RAW), "detail": "low"}},
    "image_url as text": {"type": "image_url", "image_url": data_url(RAW)},
    "responses input_image": {"type": "input_image", "image_url": data_url(RAW)},
    "responses input_file": {"type": "input_file", "filename": "a.pdf", "file_data": data_url(RAW, "application/pdf")},
    "chat file": {"type": "file", "file": {"filename": "a.pdf", "file_data": b64(RAW)}},
    "chat input_audio": {"type": "input_audio", "input_audio": {"data": b64(RAW), "format": "wav"}},
    "mistral input_audio": {"type": "input_audio", "input_audio": b64(RAW)},
    "mistral document_url": {"type": "document_url", "document_url": data_url(RAW, "application/pdf")},
    "anthropic image": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": b64(RAW)}},
    "anthropic document": {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": b64(RAW)},
    },
    "gemini inline_data": {"inline_data": {"mime_type": "image/png", "data": b64(RAW)}},
    "gemini inlineData": {"inlineData": {"mimeType": "video/mp4", "data": b64(RAW)}},
    "gemini media": {"type": "media", "mime_type": "audio/wav", "data": b64(RAW)},
    "gemini media bytes": {"type": "media", "mime_type": "audio/wav", "data": RAW},
    "bedrock image": {"image": {"format": "png", "source": {"bytes": RAW}}},
    "bedrock document": {"document": {"format": "pdf", "name": "a", "source": {"bytes": RAW}}},
    "v0 image": {"type": "image", "source_type": "base64", "data": b64(RAW), "mime_type": "image/png"},
    "v0 file": {"type": "file", "source_type": "base64", "data": b64(RAW), "mime_type": "application/pdf"},
    "v1 image": {"type": "image", "base64": b64(RAW), "mime_type": "image/png"},
    "v1 audio": {"type": "audio", "base64": b64(RAW)},
    "v1 video": {"type": "video", "base64": b64(RAW), "mime_type": "video/mp4"},
    "v1 file": {"type": "file", "base64": b64(RAW), "mime_type": "application/pdf"},
    "v1 text-plain": {"type": "text-plain", "base64": b64(RAW), "mime_type": "text/plain"},
    "v1 image url": {"type": "image", "url": data_url(RAW)},
    "generated image": {"type": "image_generation_call", "id": "ig_1", "result": b64(RAW)},
    "computer screenshot": {"type": "computer_screenshot", "image_url": data_url(RAW)},
    "mcp image": {"type": "image", "data": b64(RAW), "mimeType": "image/png"},
}


@pytest.mark.parametrize("name", PARTS)
def test_every_part_shape_gives_up_its_bytes_and_gets_them_back(name: str) -> None:
    fields = {"content": [{"type": "text", "text": "look"}, PARTS[name]], "id": "m1"}
    before = copy.deepcopy(fields)
    value, holes = take_all(fields)
    assert [hole.data for hole in holes] == [RAW]
    assert holes[0].part == 2
    assert holes[0].path[:2] == ("content", 1)
    assert b64(RAW)[:400] not in repr(value)
    assert repr(RAW)[:400] not in repr(value)
    assert same(fill(value, holes, give_back), before)
    assert same(fields, before)


@pytest.mark.parametrize("name", PARTS)
def test_every_part_shape_is_found_at_any_size_when_asked(name: str) -> None:
    small = eval(repr(PARTS[name]).replace(b64(RAW), "QUJD").replace(repr(RAW), "b'ABC'"))
    assert [hole.data for hole in take_all([small], min_bytes=1).holes] == [b"ABC"]


@pytest.mark.parametrize(
    ("name", "mime_type"),
    [
        ("chat image_url", "image/png"),
        ("chat input_audio", "audio/wav"),
        ("gemini inlineData", "video/mp4"),
        ("bedrock image", "image/png"),
        ("bedrock document", "application/pdf"),
        ("v1 audio", "application/octet-stream"),
    ],
)
def test_the_declared_type_is_recorded(name: str, mime_type: str) -> None:
    assert take_all([PARTS[name]]).holes[0].mime_type == mime_type


@pytest.mark.parametrize("data", [PNG, PDF, b"RIFF\0\0\0\0WAVEfmt " + RAW, b"PK\x03\x04" + RAW, b"\xff\xd8\xff" + RAW])
def test_a_long_string_is_media_when_it_decodes_to_a_known_file(data: bytes) -> None:
    for spelled in (b64(data), base64.urlsafe_b64encode(data).decode(), data_url(data)):
        value, holes = take_all({"result": spelled})
        assert [hole.data for hole in holes] == [data]
        assert holes[0].part is None
        assert fill(value, holes, give_back) == {"result": spelled}


LEFT_ALONE = {
    "long prose": "The quick brown fox. " * 500,
    "base64 of no known file": b64(RAW),
    "missing padding": b64(PNG + b"12").rstrip("=") if len(PNG + b"12") % 3 else "",
    "line breaks": base64.encodebytes(PNG).decode(),
    "stray bits": b64(PNG + b"1")[:-3] + "B==",
    "mixed alphabets": "iVBORw0KGgo+_" + "A" * 4003,
    "trailing space": b64(PNG) + " ",
    "too much padding": b64(PNG) + "====",
    "percent-encoded data URL": "data:image/svg+xml," + "%3Csvg%3E" * 400,
    "data URL without canonical payload": data_url(PNG) + "\n",
    "encrypted reasoning": {"type": "reasoning", "encrypted_content": b64(RAW)},
    "signature": {"type": "thinking", "thinking": "", "signature": b64(RAW)},
    "redacted thinking": {"type": "redacted_thinking", "data": b64(RAW)},
    "encrypted reasoning of a router": {"type": "reasoning.encrypted", "data": b64(RAW), "format": "anthropic-v1"},
    **{
        f"{name} that begins like {kind}": {**holder, key: b64(start + RAW)}
        for kind, start in {"a sound": b"\xff\xfb", "a bitmap": b"BM"}.items()
        for name, key, holder in (
            ("encrypted reasoning", "encrypted_content", {"type": "reasoning"}),
            ("redacted thinking", "data", {"type": "redacted_thinking"}),
            ("a call's signature", "call_1", {}),
        )
    },
    "unhashable format": {"data": b64(RAW), "format": ["png"]},
    "unhashable type": {"data": b64(RAW), "type": ["string", "null"]},
    "anthropic text document": {"type": "document", "source": {"type": "text", "data": b64(RAW)}},
    "marker text": {"$media": "0" * 64, "type": "text", "text": "$media:" + "0" * 4000},
    "small image": {"type": "image", "base64": "QUJD", "mime_type": "image/png"},
    "empty image": {"type": "image", "base64": "", "mime_type": "image/png"},
    "link": {"type": "image_url", "image_url": {"url": "https://example.com/" + "a" * 4000}},
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_is_not_exactly_media_comes_back_as_the_same_object(name: str) -> None:
    value = [LEFT_ALONE[name]]
    punched = take_all(value)
    assert punched.value is value
    assert punched.holes == ()


def test_nested_messages_are_taken_out_wherever_they_are() -> None:
    message = HumanMessage("hi", id="1")
    value = {
        "send": Send("node", {"state": {"messages": [message]}}),
        "command": Command(update={"messages": (message,)}, goto=[Send("n", message)], resume={"x": message}),
        "interrupt": (Interrupt({"ask": message}, id="i1"),),
        "overwrite": Overwrite([message]),
        "delta": _DeltaSnapshot([message]),
    }
    punched, holes = take_all(value)
    assert [hole.path for hole in holes] == [
        ("send", "arg", "state", "messages", 0),
        ("command", "update", "messages", 0),
        ("command", "resume", "x"),
        ("command", "goto", 0, "arg"),
        ("interrupt", 0, "value", "ask"),
        ("overwrite", "value", 0),
        ("delta", "value", 0),
    ]
    assert punched["send"] == Send("node", {"state": {"messages": [None]}})
    assert punched["interrupt"][0].id == "i1"
    assert same(fill(punched, holes, give_back), value)


def test_a_send_keeps_its_timeout() -> None:
    value = Send("node", HumanMessage("x"), timeout=3.0)
    punched, holes = take_all(value)
    assert punched.timeout == value.timeout
    assert fill(punched, holes, give_back) == value


def test_a_message_at_the_root_is_a_hole_at_the_empty_path() -> None:
    message = AIMessage("x")
    value, holes = take_all(message)
    assert value is None
    assert holes[0].path == ()
    assert fill(value, holes, give_back) is message


def test_keys_that_are_not_text_are_reached_by_position() -> None:
    value = {1: "a", (2, 3): {"x": PNG}, b"k": [PNG], "\ud800": PNG, True and 7: PNG, None: (PNG,)}
    punched, holes = take_all(value)
    assert [hole.path[0] for hole in holes] == [(1,), (2,), (3,), (4,), (5,)]
    wires = msgpack.unpackb(msgpack.packb([hole.to_wire("r") for hole in holes]))
    assert same(fill(punched, [Hole.from_wire(wire) for wire in wires], lambda hole: PNG), value)


def test_shared_parts_of_a_value_are_not_copied() -> None:
    untouched = {"a": [1, 2, 3]}
    value = {"x": untouched, "y": [PNG]}
    punched, holes = take_all(value)
    assert punched["x"] is untouched
    assert value["y"][0] is PNG
    filled = fill(punched, holes, give_back)
    assert filled["x"] is untouched
    assert punched["y"] == [None]


class _Text(str):
    pass


class _Record(dict):  # type: ignore[type-arg]
    pass


@pytest.mark.parametrize("value", [_Text(b64(PNG)), _Record(a=PNG), {PNG}, bytearray(PNG)])
def test_subclasses_and_other_containers_are_left_alone(value: Any) -> None:
    punched = take_all([value])
    assert punched.value[0] is value
    assert punched.holes == ()


def test_a_value_inside_itself_or_too_deep_is_left_to_the_serializer() -> None:
    loop: list[Any] = [PNG]
    loop.insert(0, loop)
    deep: Any = PNG
    for _ in range(5000):
        deep = [deep]
    for value in (loop, deep):
        assert take_all(value).value is value


def test_the_policy_decides_by_decoded_size_and_type() -> None:
    asked: list[tuple[int, str | None]] = []

    def refuse(size: int, mime_type: str | None) -> bool:
        asked.append((size, mime_type))
        return False

    value = [data_url(PNG), b64(PDF), RAW, b64(PNG + b"1")]
    assert punch(value, select=refuse, min_bytes=1024).value is value
    assert asked == [
        (len(PNG), "image/png"),
        (len(PDF), "application/pdf"),
        (len(RAW), None),
        (len(PNG) + 1, "image/png"),
    ]


def test_a_policy_that_raises_refuses_the_whole_value() -> None:
    def refuse(size: int, mime_type: str | None) -> bool:
        raise OverflowError

    with pytest.raises(OverflowError):
        punch([PNG], select=refuse)


@pytest.mark.parametrize(
    ("part", "placeholder"),
    [
        (PARTS["anthropic image"], {"type": "text", "text": "gone"}),
        (PARTS["responses input_image"], {"type": "input_text", "text": "gone"}),
        (PARTS["gemini inlineData"], {"text": "gone"}),
        (PARTS["bedrock image"], {"text": "gone"}),
        (RAW, b"gone"),
        (b64(PNG), "gone"),
        ({"image": {"url": data_url(PNG)}, "type": "mine"}, {"image": {"url": "gone"}, "type": "mine"}),
        (
            {"type": "tool_use", "input": {"source": {"data": b64(RAW), "media_type": "image/png"}}},
            {"type": "tool_use", "input": {"source": {"data": "gone", "media_type": "image/png"}}},
        ),
    ],
)
def test_missing_media_become_a_placeholder_of_the_same_kind(part: Any, placeholder: Any) -> None:
    value, holes = take_all({"content": ["a", part]})
    assert fill(value, holes, lambda hole: Missing("gone")) == {"content": ["a", placeholder]}


def test_media_that_are_not_loaded_become_references() -> None:
    value, holes = take_all({"content": [PARTS["anthropic image"], PARTS["bedrock document"]], "own": RAW})
    ref = {"sha256": "ab"}
    assert fill(value, holes, lambda hole: Unloaded(ref)) == {
        "content": [
            {"type": "image", "mime_type": "image/png", "media": ref},
            {"type": "file", "mime_type": "application/pdf", "media": ref},
        ],
        "own": ref,
    }


def test_one_placeholder_stands_for_a_part_with_two_media() -> None:
    part = {
        "type": "video",
        "base64": b64(RAW),
        "mime_type": "video/mp4",
        "extras": {"data": b64(PNG), "format": "png"},
    }
    value, holes = take_all([part])
    assert [hole.part for hole in holes] == [1, 1]
    for order in (holes, holes[::-1]):
        assert fill(value, order, lambda hole: Missing("gone")) == [{"type": "text", "text": "gone"}]
        lost = fill(value, order, lambda hole: Missing("gone") if hole.mime_type == "image/png" else RAW)
        assert lost == [{"type": "text", "text": "gone"}]


def test_an_image_inside_a_tool_result_is_replaced_alone() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": [PARTS["anthropic image"], {"type": "text"}]}
    value, holes = take_all([result])
    filled = fill(value, holes, lambda hole: Missing("gone"))
    assert filled == [{**result, "content": [{"type": "text", "text": "gone"}, {"type": "text"}]}]


@pytest.mark.parametrize(
    "wire",
    [
        None,
        [],
        ["media", [], b"r"],
        ["blob", [], b"r"],
        ["message", "abc", b"r"],
        ["message", [-1], b"r"],
        ["message", [True], b"r"],
        ["message", [[1, 2]], b"r"],
        ["message", [{}], b"r"],
        ["message", [], 5],
        ["media", ["a"], b"r", "pickle", "", None, 1, None],
        ["media", ["a"], b"r", "bytes", "", None, 1, 1],
        ["media", ["a"], b"r", "bytes", "", 7, 1, None],
        ["media", ["a"], b"r", "bytes", "", None, -1, None],
    ],
)
def test_holes_that_were_altered_are_refused(wire: Any) -> None:
    with pytest.raises(CorruptRecordError):
        Hole.from_wire(wire)


@pytest.mark.parametrize("path", [("x",), (0, 0), (9,), ((0,),), (0, "arg"), (1, "node"), (2, "b"), (2, (4,))])
def test_paths_that_do_not_fit_the_value_are_refused(path: Any) -> None:
    with pytest.raises(CorruptRecordError):
        fill(["text", Send("n", None), {"a": None}], [Hole("media", path)], lambda hole: PNG)


def test_a_resolver_that_answers_the_wrong_kind_is_refused() -> None:
    with pytest.raises(TypeError):
        fill([None], [Hole("media", (0,))], lambda hole: HumanMessage("x"))


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=40),
    st.binary(max_size=40),
    st.binary(min_size=1, max_size=200).map(b64),
    st.binary(min_size=1, max_size=200).map(lambda data: data_url(data, "a/b")),
    st.binary(max_size=200).map(lambda data: b64(PNG[:16] + data)),
    st.binary(max_size=200).map(lambda data: base64.urlsafe_b64encode(PNG[:16] + data).decode()),
    st.sampled_from(["$media:0", "media", "__hole__", b64(PNG)[:-1], "data:;base64,QQ==", "data:;base64,QR=="]),
    st.builds(HumanMessage, st.text(max_size=5)),
    st.builds(ToolMessage, st.text(max_size=5), tool_call_id=st.just("t")),
)
keys = st.one_of(
    st.sampled_from(["data", "base64", "source", "type", "url", "mime_type", "format", "bytes"]),
    st.text(max_size=3),
    st.integers(),
    st.binary(max_size=2),
    st.tuples(st.integers()),
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
        st.sampled_from(list(PARTS.values())),
        st.builds(Send, st.text(max_size=3), inner),
        st.builds(Interrupt, inner),
        st.builds(Overwrite, inner),
        st.builds(_DeltaSnapshot, inner),
        st.builds(lambda update, resume: Command(update=update, resume=resume), inner, inner),
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(values, st.integers(1, 100), st.booleans())
def test_filling_what_was_punched_gives_the_value_back(value: Any, min_bytes: int, picky: bool) -> None:
    before = copy.deepcopy(value)
    punched, holes = punch(value, select=lambda size, mime: not picky or size % 2 == 0, min_bytes=min_bytes)
    assert same(value, before)
    contents = [give_back(hole) for hole in holes]
    wires = msgpack.unpackb(msgpack.packb([hole.to_wire(str(index)) for index, hole in enumerate(holes)]))
    read = [Hole.from_wire(wire) for wire in wires]
    assert same(fill(punched, read, lambda hole: contents[int(hole.ref)]), before)
    if not holes:
        assert punched is value


def test_short_texts_are_never_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    message = AIMessage("x" * 400, id="m", response_metadata={"model_name": "m", "token_usage": {"a": 1, "b": 2}})
    monkeypatch.setattr(walk, "_Walk", None)
    assert take_all(dict(message.__dict__)).holes == ()


wires = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 9), st.text(max_size=3), st.binary(max_size=3), st.floats()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=2), inner, max_size=2)),
    max_leaves=8,
)
hole_wires = st.one_of(
    wires,
    st.lists(wires, min_size=3, max_size=3).map(lambda parts: ["message", *parts[:1], b"r"]),
    st.tuples(st.lists(wires, max_size=3), wires, wires, wires, wires, wires).map(
        lambda parts: ["media", parts[0], b"r", "bytes", "", *parts[3:]]
    ),
)


@settings(max_examples=300, deadline=None)
@given(hole_wires, values)
def test_hostile_holes_give_a_typed_error_or_a_value(wire: Any, value: Any) -> None:
    try:
        hole = Hole.from_wire(wire)
        assert Hole.from_wire(hole.to_wire(hole.ref)) == hole
        fill(value, [hole], lambda hole: PNG if hole.kind == "media" else HumanMessage("x"))
    except CorruptRecordError:
        pass


@pytest.mark.parametrize(
    "value",
    [{"pic": PARTS["v1 image"], "n": 1}, PARTS["v1 image"], [{"type": "non_standard", "value": PARTS["v1 image"]}]],
)
def test_a_part_that_was_not_read_goes_back_where_it_stood_and_stays_a_part(value: Any) -> None:
    bare, holes = take_all(value)
    unread = fill(bare, holes, lambda hole: Missing("[not read]", b"thread"))
    assert b64(RAW)[:400] not in repr(unread)
    assert "base64" not in repr(unread)
    again, put_again = punch(unread, select=lambda size, mime_type: True, home=b"thread")
    assert [(hole.path, hole.part) for hole in put_again] == [(hole.path, hole.part) for hole in holes]
    assert same(fill(again, put_again, lambda hole: RAW), value)
