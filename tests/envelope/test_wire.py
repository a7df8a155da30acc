"""The bytes of an envelope: plain msgpack, refused with a typed error where they are not one."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from langgraph_portable_checkpoint.envelope.wire import dump_envelope, load_envelope
from langgraph_portable_checkpoint.errors import CorruptRecordError, FutureVersionError

ENVELOPE: dict[str, Any] = {"v": 1, "role": "user", "content": [{"type": "text", "text": "hi"}]}


def test_a_plain_msgpack_library_reads_the_bytes() -> None:
    assert msgpack.unpackb(dump_envelope({**ENVELOPE, "state": {"whole": b"\x00"}})) == {
        **ENVELOPE,
        "state": {"whole": b"\x00"},
    }


def test_unknown_optional_fields_survive() -> None:
    envelope = {**ENVELOPE, "mood": {"of": ["tomorrow", 1.5, None]}}
    assert load_envelope(dump_envelope(envelope), where="x") == envelope


def test_equal_maps_give_equal_bytes() -> None:
    assert dump_envelope(load_envelope(dump_envelope(ENVELOPE), where="x")) == dump_envelope(ENVELOPE)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        dump_envelope(ENVELOPE)[:-1],
        dump_envelope(ENVELOPE) + b"\x00",
        msgpack.packb([1]),
        msgpack.packb({"role": "user", "content": []}),
        msgpack.packb({"v": True, "role": "user", "content": []}),
        msgpack.packb({"v": 0, "role": "user", "content": []}),
        msgpack.packb({"v": 1, "content": []}),
        msgpack.packb({"v": 1, "role": "user", "content": "hi"}),
        msgpack.packb({"v": 1, "role": "user", "content": [msgpack.ExtType(5, b"")]}),
        b"\x91" * 2000 + b"\x00",
    ],
)
def test_bytes_that_are_no_envelope_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptRecordError, match="item 7"):
        load_envelope(data, where="item 7")


def test_an_envelope_from_the_future_is_refused_by_version() -> None:
    with pytest.raises(FutureVersionError) as caught:
        load_envelope(msgpack.packb({"v": 2, "anything": 1}), where="item 7")
    assert (caught.value.found, caught.value.supported) == (2, 1)
