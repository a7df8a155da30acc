"""Turn records as bytes and as JSON, checked on the way in; the published schema."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import jsonschema
import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_portable_checkpoint.envelope.facts import MediaFact, MessageFact
from langgraph_portable_checkpoint.envelope.turn_log import StoredTurn, derive_turns
from langgraph_portable_checkpoint.envelope.turn_model import Stamp, TurnMessage
from langgraph_portable_checkpoint.envelope.turn_pending import error_entry
from langgraph_portable_checkpoint.envelope.turn_record import mark_turn
from langgraph_portable_checkpoint.envelope.turn_wire import (
    dump_page,
    dump_turn,
    load_page,
    load_turn,
    turn_from_json,
    turn_to_json,
)
from langgraph_portable_checkpoint.envelope.turns import Pending
from langgraph_portable_checkpoint.errors import CorruptRecordError, FutureVersionError

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
STAMP = Stamp("t1", NOON, "c1", ("langgraph", "1.2"), ("langgraph-portable-checkpoint", "1"), run_id="r1")
SCHEMA = json.loads((files("langgraph_portable_checkpoint.envelope") / "schemas/turn-envelope.schema.json").read_text())
USER = MessageFact("user", typed_by_user=True, media=(MediaFact(None, "image/png", None),))
ASK = MessageFact(
    "assistant", tool_calls=("c1", None), provider="p", usage={"input_tokens": 1, "d": {"x": 1.5}}, cost=1
)
RESULT = MessageFact("tool", tool_call_id="c1")
ANSWER = MessageFact("assistant", response_id="r")


def log_of(*facts: MessageFact, stamp: Stamp = STAMP) -> list[StoredTurn]:
    return derive_turns([TurnMessage(bytes([n % 256]) * 16, None, fact) for n, fact in enumerate(facts)], stamp=stamp)


def a_record() -> Any:
    record = log_of(USER, ASK, RESULT)[0].record
    pending = Pending(interrupts=({"id": "i", "value": {"a": [1, None]}},), error=error_entry("E('x')", failed_at=NOON))
    return mark_turn(mark_turn(record, stamp=STAMP, pending=pending), stamp=STAMP, pending=pending)


def validate(value: object, definition: str | None = None) -> None:
    schema = SCHEMA if definition is None else {"$ref": f"#/$defs/{definition}", "$defs": SCHEMA["$defs"]}
    jsonschema.Draft202012Validator(schema).validate(value)


def test_a_record_comes_back_as_it_was() -> None:
    assert load_turn(dump_turn(a_record()), where="turn 0") == a_record()
    assert turn_from_json(json.loads(json.dumps(turn_to_json(a_record()))), where="turn 0") == a_record()


def test_a_page_comes_back_as_it_was() -> None:
    page = log_of(USER, *[ASK, RESULT] * 40)[0].pages[0]
    assert load_page(dump_page(page), where="page") == page
    validate(turn_to_json(page), "page")


def test_the_bytes_are_msgpack_with_bin_refs_and_no_extension_types() -> None:
    def refuse(code: int, data: bytes) -> None:
        raise AssertionError(f"extension type {code}")

    plain = msgpack.unpackb(dump_turn(a_record()), ext_hook=refuse)
    assert plain["messages"][0] == [b"\0" * 16, None]


facts = st.lists(st.sampled_from((USER, ASK, RESULT, ANSWER, MessageFact("system"), MessageFact("other"))), max_size=90)


@given(facts)
def test_every_record_obeys_the_published_schema(history: list[MessageFact]) -> None:
    for turn in log_of(*history):
        validate(turn_to_json(turn.record))
        assert load_turn(dump_turn(turn.record), where="") == turn.record
        for page in turn.pages:
            validate(turn_to_json(page), "page")


def test_failed_records_and_other_channels_obey_the_published_schema() -> None:
    validate(turn_to_json(a_record()))
    other = log_of(USER, stamp=Stamp("t", NOON, "c", ("a", "1"), ("b", "1"), channel="talk"))[0].record
    assert other["channel"] == "talk"
    validate(turn_to_json(other))


@pytest.mark.parametrize("name", SCHEMA["required"])
def test_a_record_without_a_field_is_neither_valid_nor_loaded(name: str) -> None:
    record = a_record()
    del record[name]
    broken = turn_to_json(record) if name != "messages" else record
    with pytest.raises(jsonschema.ValidationError):
        validate(broken)
    with pytest.raises(CorruptRecordError, match=rf"\b{name}\b"):
        load_turn(msgpack.packb(record), where="turn 0")


MAPS = ("usage", "checkpoint", "framework", "writer")
WRONG = [
    (name, wrong)
    for name in SCHEMA["properties"]
    for wrong in (3.5, [3.5], {"a": 3.5}, b"x", True)
    if not (name == "cost" and wrong == 3.5) and not (name in MAPS and isinstance(wrong, dict))
]


@pytest.mark.parametrize(("name", "wrong"), WRONG)
def test_a_field_of_a_wrong_type_is_refused(name: str, wrong: object) -> None:
    with pytest.raises(CorruptRecordError, match=rf"\b{name}\b"):
        load_turn(msgpack.packb({**a_record(), name: wrong}), where="turn 0")


def test_a_newer_version_is_refused_by_name() -> None:
    with pytest.raises(FutureVersionError, match=r"turn 7 of thread 't'.*version 2"):
        load_turn(msgpack.packb({**a_record(), "v": 2}), where="turn 7 of thread 't'")
    with pytest.raises(FutureVersionError):
        load_turn(msgpack.packb({"v": 99}), where="")


def test_unknown_fields_survive() -> None:
    record = {**a_record(), "later": {"deep": [1, b"x"]}}
    assert load_turn(dump_turn(record), where="") == record
    validate({**turn_to_json(a_record()), "later": 1})


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x93", b"\x01", b"\xc0", b"not msgpack at all", dump_turn(a_record())[:-1]]
)
def test_what_is_no_record_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptRecordError):
        load_turn(data, where="turn 0")


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with pytest.raises(CorruptRecordError):
        load_turn(data, where="turn 0")


@pytest.mark.parametrize("text", ["\ud800", "\0", "ü" * 5000, "{t:x}", ""])
def test_ids_may_hold_any_character(text: str) -> None:
    record = derive_turns(
        [TurnMessage(b"x" * 16, text, USER)], stamp=Stamp(text, NOON, text, (text, text), (text, text), run_id=text)
    )[0].record
    assert load_turn(dump_turn(record), where="") == record


@pytest.mark.parametrize("messages", [[["zz", None]], [[]], [None], [{}], [["aa"]], "aabb"])
def test_malformed_messages_in_json_are_refused(messages: object) -> None:
    with pytest.raises(CorruptRecordError):
        turn_from_json({**turn_to_json(a_record()), "messages": messages}, where="turn 0")
