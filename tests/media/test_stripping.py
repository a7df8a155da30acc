"""Stripping goes by a part's shape: whatever spelling its bytes have, none stays, and each is reported."""

from __future__ import annotations

import base64
import copy
import hashlib
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Command, Send

from langgraph_portable_checkpoint import MediaPolicy, export_thread
from langgraph_portable_checkpoint.envelope.blank_image import blank_image
from langgraph_portable_checkpoint.errors import MediaTooLargeError
from langgraph_portable_checkpoint.media.carried import Carried, carried
from langgraph_portable_checkpoint.media.references import find_references
from langgraph_portable_checkpoint.media.shapes import native_part
from langgraph_portable_checkpoint.media.strip import take_out
from tests.saver.calls import Calls
from tests.saver.checkpoints import checkpoint, config, metadata
from tests.saver.conftest import SaverFactory
from tests.saver.conftest import calls as calls
from tests.saver.conftest import make_saver as make_saver

PNG = b"\x89PNG\r\n\x1a\n" + b"".join(hashlib.sha256(bytes([n])).digest() for n in range(100)) + b"\xfb\xff\xbf1"
TEXT = base64.b64encode(PNG).decode()
NAMED = f"[image/png, {len(PNG)} B, removed on save]"
TO_URLSAFE = str.maketrans("+/", "-_")
STRIP, NOT_PRESERVED = MediaPolicy(mode="strip"), MediaPolicy(preserve_media=False)

SPELLINGS = {
    "canonical": TEXT,
    "lines of 76": base64.encodebytes(PNG).decode(),
    "lines of 20 that end in CRLF": "\r\n".join(TEXT[i : i + 20] for i in range(0, len(TEXT), 20)),
    "indented lines": "\n".join("    " + TEXT[i : i + 60] for i in range(0, len(TEXT), 60)),
    "no padding": TEXT.rstrip("="),
    "too much padding": TEXT + "==",
    "trailing newline": TEXT + "\n",
    "leading space": " " + TEXT,
    "two alphabets": TEXT.replace("+", "-"),
    "URL-safe without padding": base64.urlsafe_b64encode(PNG).decode().rstrip("="),
}
assert len({*SPELLINGS.values()}) == len(SPELLINGS)
PREFIXES = {
    "plain": "data:image/png;base64,",
    "long": "data:image/png;name=" + "x" * 400 + ";base64,",
    "quoted comma": 'data:image/png;name="a,b";base64,',
    "capitals": "DATA:IMAGE/PNG;BASE64,",
    "space before": "  data:image/png;base64,",
}


def image(text: Any) -> dict[str, Any]:
    return {"type": "image", "base64": text, "mime_type": "image/png"}


def image_url(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def stripped(value: Any, policy: MediaPolicy = STRIP) -> tuple[Any, list[tuple[Any, ...]]]:
    before = copy.deepcopy(value)
    taken = take_out(value, policy)
    assert value == before
    assert taken.holes == ()
    return taken.value, [
        (report.reason, report.mime_type, report.size_bytes, report.sha256) for report in taken.reports
    ]


ENTRY = ("stripped", "image/png", len(PNG), hashlib.sha256(PNG).hexdigest())


@pytest.mark.parametrize("policy", [STRIP, NOT_PRESERVED, MediaPolicy(rules={"image/*": "strip"})])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_any_spelling_of_base64_in_a_part_is_stripped(spelling: str, policy: MediaPolicy) -> None:
    assert stripped([image(SPELLINGS[spelling])], policy) == ([{"type": "text", "text": NAMED}], [ENTRY])


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("spelling", ["canonical", "lines of 76", "no padding"])
def test_any_spelling_of_a_data_url_is_stripped(spelling: str, prefix: str) -> None:
    value, reports = stripped([image_url(PREFIXES[prefix] + SPELLINGS[spelling])])
    assert (value, reports) == ([{"type": "text", "text": NAMED}], [ENTRY])


@pytest.mark.parametrize(
    ("url", "mime_type", "data"),
    [
        ("data:image/svg+xml,%3Csvg%3E%3C/svg%3E", "image/svg+xml", b"<svg></svg>"),
        ("data:image/svg+xml;utf8,<svg>é</svg>", "image/svg+xml", "<svg>é</svg>".encode()),
        ("data:text/plain;charset=utf-8,hello", "text/plain", b"hello"),
        ("data:image/svg+xml,\ud800", "image/svg+xml", b"\xed\xa0\x80"),
        ("data:,hello", "application/octet-stream", b"hello"),
        ("data:image/png;base64,iVBORw0KGgo%3D", "image/png", PNG[:8]),
    ],
)
@pytest.mark.parametrize("part", [image_url, lambda url: {"type": "image", "base64": url}])
def test_percent_encoded_data_urls_are_stripped(part: Any, url: str, mime_type: str, data: bytes) -> None:
    value, reports = stripped([part(url)])
    assert reports == [("stripped", mime_type, len(data), hashlib.sha256(data).hexdigest())]
    assert value == [{"type": "text", "text": f"[{mime_type}, {len(data)} B, removed on save]"}]


@pytest.mark.parametrize("part", [image("!" * 50), image("A"), image("AAAAA"), image(TEXT + "=" + TEXT)])
def test_what_cannot_be_read_is_stripped_and_reported_with_what_is_known(part: Any) -> None:
    value, reports = stripped([part])
    assert value == [{"type": "text", "text": "[image/png, removed on save]"}]
    assert reports == [("stripped", "image/png", None, None)]


def test_a_data_url_that_breaks_off_is_stripped_with_what_its_part_says() -> None:
    part = {"type": "file", "url": "data:application/pdf;base64", "mime_type": "application/pdf"}
    assert stripped([part])[0] == [{"type": "text", "text": "[application/pdf, removed on save]"}]


@pytest.mark.parametrize("spelling", ["canonical", "lines of 76", "no padding", "two alphabets"])
@pytest.mark.parametrize("place", [lambda text: text, lambda text: {"shot": text}, lambda text: {"url": [text]}])
def test_a_file_that_no_part_announces_is_stripped_by_its_first_bytes(spelling: str, place: Any) -> None:
    assert stripped(place(SPELLINGS[spelling])) == (place(NAMED), [ENTRY])


@given(data=st.binary(min_size=1, max_size=300), how=st.data())
def test_every_spelling_gives_the_bytes(data: bytes, how: st.DataObject) -> None:
    digits = base64.b64encode(data).decode().rstrip("=")
    swapped = how.draw(st.lists(st.sampled_from([{}, TO_URLSAFE]), min_size=len(digits), max_size=len(digits)))
    spaces = how.draw(
        st.lists(st.sampled_from(["", "", "", "\n", "\r\n", " ", "\t"]), min_size=len(digits), max_size=len(digits))
    )
    text = "".join(digit.translate(table) + space for digit, table, space in zip(digits, swapped, spaces, strict=True))
    found = carried(text + "=" * how.draw(st.integers(0, 4)), [("base64", image(text))], in_part=True)
    assert found == Carried("image/png", data, len(data))
    url = "data:image/png;base64," + quote(text, safe="") + "\n"
    assert carried(url, [("url", {"type": "image"})], in_part=True) == found


@pytest.mark.parametrize("text", ["data:" + ";" * 10**6, 'data:a/b;"' + "x" * 10**6, "data:a/b;base64" + "A" * 10**6])
def test_a_data_url_without_end_is_looked_at_once(text: str) -> None:
    found = carried(text, [("url", {"type": "image"})], in_part=True)
    assert found is not None
    assert found.at_most_bytes == len(text)


TEXTS: dict[str, Any] = {
    "prose that begins like a file": "iVBORw0KGgo is how every PNG begins in base64. " * 20,
    "words that begin like a file": "iVBORw0KGgo and then some words " * 20,
    "a text that calls itself one": "data:text/plain,see below",
    "a line of an event stream": {"data": "data: [DONE]"},
    "data of a call": {"type": "tool_call", "args": {"filename": "a.txt", "data": "Dear all, here we go."}},
    "a document of text": {
        "type": "document",
        "source": {"type": "text", "data": "Dear all", "media_type": "text/plain"},
    },
    "a link inside a text": {"type": "text", "text": f"![x](data:image/png;base64,{TEXT})"},
    "a signature": {"type": "thinking", "thinking": "", "signature": TEXT[20:]},
    "what a provider sealed, of a chance beginning": {
        "type": "reasoning",
        "encrypted_content": base64.b64encode(b"\xff\xfb" + bytes(range(256))).decode(),
    },
    "base64 of no known file": "QUJD" * 200 + "\n",
    "an empty part": image(""),
    "a part of spaces": image("  \n"),
    "an empty data URL": image_url("data:image/png;base64,"),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("policy", [STRIP, NOT_PRESERVED])
def test_texts_stay(name: str, policy: MediaPolicy) -> None:
    value = {"content": [TEXTS[name]]}
    assert stripped(value, policy) == (value, [])


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_is_stored_is_never_respelled(spelling: str) -> None:
    value = [image(SPELLINGS[spelling])]
    taken = take_out(value, MediaPolicy())
    assert taken.reports == ()
    assert taken.value == value if spelling != "canonical" else taken.holes[0].data == PNG


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("prefix", [None, *PREFIXES])
def test_a_size_limit_holds_for_any_spelling(spelling: str, prefix: str | None) -> None:
    text = SPELLINGS[spelling]
    part = image(text) if prefix is None else image_url(PREFIXES[prefix] + text)
    with pytest.raises(MediaTooLargeError, match="max_bytes"):
        take_out([part], MediaPolicy(max_bytes=len(PNG) - 300, min_bytes=0))
    assert take_out([part], MediaPolicy(max_bytes=len(PNG) + 3, min_bytes=0)).reports == ()


def test_a_size_limit_holds_for_a_percent_encoded_data_url() -> None:
    with pytest.raises(MediaTooLargeError):
        take_out([image_url("data:image/svg+xml," + "é" * 1500)], MediaPolicy(max_bytes=2999, min_bytes=0))


GONE = {"type": "text", "text": NAMED}
BEDROCK = {"image": {"format": "png", "source": {"bytes": PNG}}}


@pytest.mark.parametrize(
    ("value", "left"),
    [
        (image(TEXT), GONE),
        ({"pic": image(TEXT), "n": 1}, {"pic": GONE, "n": 1}),
        ([{"type": "non_standard", "value": image(TEXT)}], [GONE]),
        ([{"type": "non_standard", "value": BEDROCK}], [GONE]),
        (
            [{"type": "tool_call", "name": "draw", "args": {"image": image(TEXT), "size": 3}}],
            [{"type": "tool_call", "name": "draw", "args": {"image": GONE, "size": 3}}],
        ),
        (
            [
                {
                    "type": "computer_call_output",
                    "output": {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{TEXT}"},
                }
            ],
            [
                {
                    "type": "computer_call_output",
                    "output": {"type": "computer_screenshot", "image_url": blank_image(NAMED)},
                }
            ],
        ),
        (
            {"pic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": TEXT}}},
            {"pic": GONE},
        ),
        ({"pic": {"source": {"type": "base64", "media_type": "image/png", "data": TEXT}}}, {"pic": {"source": GONE}}),
        ({"pic": BEDROCK}, {"pic": {"text": NAMED}}),
        ({"pic": {"inline_data": {"mime_type": "image/png", "data": TEXT}}}, {"pic": {"text": NAMED}}),
        ({"image": image(SPELLINGS["lines of 76"])}, {"image": GONE}),
        ({1: image(TEXT)}, {1: GONE}),
    ],
)
def test_no_part_is_left_with_a_text_in_the_place_of_its_bytes(value: Any, left: Any) -> None:
    assert stripped(value) == (left, [ENTRY])


def test_what_is_said_of_a_medium_beside_it_stays() -> None:
    answer = {"id": "audio_1", "data": TEXT, "transcript": "Hello.", "expires_at": 1}
    for kept in ({"audio": answer}, {"audio": answer, "refusal": None}):
        value, reports = stripped({"additional_kwargs": kept})
        assert value == {"additional_kwargs": {**kept, "audio": {**answer, "data": NAMED}}}
        assert reports == [ENTRY]


def test_a_part_with_two_media_becomes_one_text_and_both_are_reported() -> None:
    part = {**image(TEXT), "extras": {"thumbnail": SPELLINGS["no padding"]}}
    value, reports = stripped([part])
    assert value == [GONE]
    assert reports == [ENTRY, ENTRY]


def test_wrappers_of_langgraph_are_looked_into() -> None:
    loose = image(SPELLINGS["lines of 76"])
    value, reports = stripped([Send("n", {"a": loose}), Command(update={"a": loose}, resume=loose)])
    assert (value[0].arg, value[1].update, value[1].resume) == ({"a": GONE}, {"a": GONE}, GONE)
    assert reports == [ENTRY] * 3


REFERENCES: dict[str, tuple[Any, str]] = {
    "v0 id": ({"type": "image", "source_type": "id", "id": "file-1"}, "file-1"),
    "MCP link": ({"type": "resource_link", "uri": "file:///a.png", "mimeType": "image/png"}, "file:///a.png"),
    "no scheme": ({"type": "image", "url": "//host/a.png"}, "//host/a.png"),
    "a path": ({"type": "image_url", "image_url": {"url": "/static/a.png"}}, "/static/a.png"),
    "in a native block": ({"type": "non_standard", "value": {"type": "file", "file_id": "file-1"}}, "file-1"),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_what_only_refers_to_a_medium_goes_when_media_are_not_preserved(name: str) -> None:
    part, uri = REFERENCES[name]
    taken = take_out({"content": [part]}, NOT_PRESERVED)
    assert uri not in repr(taken.value)
    assert [(report.reason, report.uri, report.source) for report in taken.reports] == [
        ("stripped", uri, "preserve_media")
    ]
    assert take_out({"content": [part]}, STRIP) == ({"content": [part]}, (), ())


def test_references_are_found_outside_of_lists_too() -> None:
    link = {"type": "image", "url": "https://h/a.png"}
    value, reports = stripped({"pic": link, "args": {"image": "https://h/b.png", "url": "https://h/c"}}, NOT_PRESERVED)
    assert value == {
        "pic": {"type": "text", "text": "[data, removed on save]"},
        "args": {"image": "https://h/b.png", "url": "https://h/c"},
    }
    assert len(reports) == 1


def test_base64_in_the_place_of_a_link_is_a_medium_and_no_link() -> None:
    part = {"type": "image_url", "image_url": "Q0ND" * 900 + "\n"}
    assert find_references([part]) == []
    value, reports = stripped([part], NOT_PRESERVED)
    assert value == [{"type": "text", "text": "[application/octet-stream, 2700 B, removed on save]"}]
    assert len(reports) == 1


RAW = PNG[8:]
LOOSE, CANONICAL = base64.encodebytes(RAW).decode(), base64.b64encode(RAW).decode()
CHANNELS: dict[str, Any] = {
    "part": image(LOOSE),
    "part with much beside it": {**image(LOOSE), "notes": ["some note"] * 2000},
    "no part, with much beside it": {"mime_type": "image/png", "data": LOOSE, "notes": ["some note"] * 2000},
    "canonical, with much beside it": {"mime_type": "image/png", "data": CANONICAL, "notes": ["some note"] * 2000},
    "its key far away": {"input_audio": {"data": CANONICAL, "notes": ["some note"] * 2000}, "mime_type": "image/png"},
    "part among much": {"pic": image(LOOSE), "notes": ["some note"] * 2000},
    "Bedrock part among much": [{"image": {"format": "png", "source": {"bytes": RAW}}, "cachePoint": "x" * 9000}] * 2,
    "parts among many": [image(LOOSE), *({"type": "text", "text": "x" * 3000} for _ in range(20))],
}


@pytest.mark.parametrize("policy", [STRIP, NOT_PRESERVED])
@pytest.mark.parametrize("name", CHANNELS)
def test_no_value_of_the_server_holds_what_was_stripped(
    make_saver: SaverFactory, calls: Calls, name: str, policy: MediaPolicy
) -> None:
    saver = make_saver(media_policy=policy)
    value = CHANNELS[name]
    loose = [
        HumanMessage([image(LOOSE)], id="q"),
        AIMessage("ok"),
        ToolMessage([image(LOOSE)], tool_call_id="c", artifact=value),
    ]
    made = checkpoint({"messages": loose, "other": value})
    stored = calls.put(saver, config("t"), made, metadata(), {"messages": 1, "other": 1})
    calls.put_writes(saver, stored, [("other", value)], "task")
    kept = contents(make_saver)
    assert b"removed on save" in kept
    assert LOOSE[40:70].encode() not in kept
    assert RAW[40:70] not in kept
    entries = calls.run(saver, "media_report", "t")
    assert {(entry.reason, entry.mime_type, entry.size_bytes) for entry in entries} == {
        ("stripped", "image/png", len(RAW))
    }
    assert LOOSE[:60] not in str(export_thread(saver, "t", to="openai-chat").payload)


def contents(make_saver: SaverFactory) -> bytes:
    with make_saver.room.client() as client:
        hashes = [client.hgetall(key) for key in make_saver.stored() if client.type(key) in (b"hash", "hash")]
    return b"".join(bytes(value) for found in hashes for value in found.values())


@pytest.mark.parametrize("policy", ["strip", {"preserve_media": False}, {"rules": {"image/*": "strip"}}], ids=str)
@pytest.mark.parametrize(
    "message",
    [
        AIMessage("", additional_kwargs={"audio": {"id": "a", "data": TEXT, "transcript": "hello"}}, id="m"),
        AIMessage("x", response_metadata={"shot": image(TEXT)}, id="m"),
        AIMessage("", tool_calls=[{"name": "n", "args": {"shot": image(TEXT)}, "id": "c"}], id="m"),
        HumanMessage("data:image/png;base64," + TEXT, id="m"),
        HumanMessage("x", name=TEXT, id="m"),
    ],
    ids=["kwargs", "metadata", "arguments", "text", "name"],
)
def test_who_stripped_a_medium_reads_what_others_read(
    make_saver: SaverFactory, calls: Calls, message: Any, policy: Any
) -> None:
    saver = make_saver(media_policy=policy)
    calls.put(saver, config("t"), checkpoint({"messages": [message]}), metadata(), {"messages": 1})
    own, others = (calls.get_tuple(each, config("t")).checkpoint for each in (saver, make_saver()))
    assert own == others
    assert TEXT not in repr(own)


SAID: dict[str, Any] = {
    "MCP": [{"type": "resource", "resource": {"uri": "file:///notes", "mimeType": "text/plain", "text": "said"}}],
    "MCP, wrapped": [
        {"type": "non_standard", "value": {"type": "resource", "resource": {"uri": "x:", "text": "said"}}}
    ],
    "a record that names a picture": [{"name": "chair", "image": "chair.png", "url": "https://shop.org/1"}],
    "a record with a picture's link": [{"name": "chair", "image": {"url": "https://shop.org/1.png"}, "price": 3}],
    "a search hit": [{"type": "document", "url": "https://e.org", "snippet": "said"}],
    "a search hit with a text": [{"type": "document", "url": "https://e.org", "text": "said"}],
    "a task with a file": {"tasks": [{"type": "file", "url": "https://e.org/f", "todo": "said"}]},
    "a film with a title": [{"type": "video", "url": "https://e.org/1", "title": "said"}],
    "a film by itself": {"film": {"type": "video", "url": "https://e.org/1", "title": "said"}},
    "a record with a file": [{"file_data": {"uri": "https://e.org/f"}, "note": "said"}],
    "a hit in an answer's metadata": {"response_metadata": {"hits": [{"type": "image", "url": "x:", "alt": "said"}]}},
    "a word in a form": {"filename": "a.txt", "data": "THETEXT"},
    "a word of eight letters": {"filename": "a.txt", "data": "THETEXTS"},
    "a word in a call": {"format": "csv", "data": "name"},
}


@pytest.mark.parametrize("policy", [STRIP, NOT_PRESERVED], ids=["strip", "not preserved"])
@pytest.mark.parametrize("name", SAID)
def test_what_is_said_is_no_medium_wherever_it_was_found(name: str, policy: MediaPolicy) -> None:
    taken = take_out(SAID[name], policy)
    assert (taken.value, taken.holes, taken.reports) == (SAID[name], (), ())


def test_a_short_file_that_begins_as_one_goes_outside_of_parts_too() -> None:
    short = base64.b64encode(PNG[:60]).decode()
    for spelling in (short, short[:40] + "\n" + short[40:]):
        assert short[:40] not in repr(take_out({"filename": "a.png", "data": spelling}, STRIP).value)


TEXT_PARTS: dict[str, Any] = {
    "v1 with a link": {"type": "text-plain", "text": "said", "url": "https://e.org/a", "mime_type": "text/plain"},
    "v1 with a file's id": {"type": "text-plain", "text": "said", "file_id": "f1", "title": "t"},
    "both": {"type": "text-plain", "text": "said", "url": "https://e.org/a", "file_id": "f1"},
    "v0": {"type": "file", "source_type": "text", "text": "said", "url": "https://e.org/a"},
    "wrapped": {"type": "non_standard", "value": {"type": "text-plain", "text": "said", "file_id": "f1"}},
}


@pytest.mark.parametrize("name", TEXT_PARTS)
def test_a_text_stays_and_the_file_that_it_was_found_in_goes(name: str) -> None:
    value = {"content": [TEXT_PARTS[name]]}
    assert stripped(value, STRIP) == (value, [])
    left, reports = stripped(value, NOT_PRESERVED)
    inner = native_part(TEXT_PARTS[name])
    kept = {key: word for key, word in inner.items() if key not in ("url", "file_id")}
    assert left == {"content": [kept if inner is TEXT_PARTS[name] else {"type": "non_standard", "value": kept}]}
    assert len(reports) == len(inner) - len(kept)


@pytest.mark.parametrize("record", [{"type": "image", "url": "x:", "alt": "a"}, {"image": {"url": "x:"}, "alt": "a"}])
def test_what_stands_in_a_message_is_a_part_whatever_it_says_more(record: Any) -> None:
    for value in ({"content": [record]}, [{"role": "user", "content": [record]}]):
        left, reports = stripped(value, NOT_PRESERVED)
        assert "x:" not in repr(left)
        assert len(reports) == 1


def test_a_record_loses_the_bytes_alone() -> None:
    record = {"type": "document", "base64": TEXT, "summary": "said"}
    assert stripped([record]) == ([{**record, "base64": NAMED}], [ENTRY])
