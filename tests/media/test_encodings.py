"""Decoding that can be undone exactly, and remembering what long leaves decode to."""

from __future__ import annotations

import base64
import gc
import random
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_portable_checkpoint.envelope.media_types import sniff
from langgraph_portable_checkpoint.media import encodings, walk
from langgraph_portable_checkpoint.media.encodings import decode, encode, measure
from langgraph_portable_checkpoint.media.leaves import KnownLeaves
from langgraph_portable_checkpoint.media.walk import punch

ALPHABET = string.ascii_letters + string.digits + "+/-_= \n\u00e9"


def canonical(text: str) -> bytes | None:
    """The standard library's answer, checked by encoding it again."""
    pairs: list[tuple[Any, Any]] = [
        (base64.b64decode, base64.b64encode),
        (base64.urlsafe_b64decode, base64.urlsafe_b64encode),
    ]
    for decoder, encoder in pairs:
        try:
            data = decoder(text)
        except ValueError:
            continue
        if encoder(data).decode() == text:
            return bytes(data)
    return None


@pytest.fixture(params=["pybase64", "pydantic", "binascii"])
def decoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ways to decode and encode: the fastest, the one without the extra, and the one for old versions."""
    pytest.importorskip("pybase64")
    decoders = {"pydantic": encodings._PYDANTIC.validate_strings, "binascii": encodings._decode_with_binascii}
    if request.param in decoders:
        monkeypatch.setattr(encodings, "_pybase64", None)
        monkeypatch.setattr(encodings, "_decode_strictly", decoders[request.param])
        monkeypatch.setattr(encodings, "_encode_base64", encodings._encode_with_binascii)


@pytest.mark.usefixtures("decoder")
def test_only_text_that_encoding_gives_back_is_decoded() -> None:
    chance = random.Random(1)
    decoded = 0
    for _ in range(20_000):
        size = chance.choice([0, 4, 4, 4, 8, 12, 5, 7])
        text = "".join(chance.choice(ALPHABET[:66] if chance.random() < 0.95 else ALPHABET) for _ in range(size))
        padding = chance.choice(["", "=", "=="])
        text = text[: len(text) - len(padding)] + padding
        assert decode(text, measure(text)) == canonical(text), text
        url = "data:image/png;base64," + text
        data = decode(url, measure(url))
        assert data == (None if "-" in text or "_" in text else canonical(text)), url
        decoded += canonical(text) is not None
    assert decoded > 5_000


@pytest.mark.usefixtures("decoder")
@pytest.mark.parametrize("first", ["", "+/", "-_"])
@pytest.mark.parametrize("last", ["", "+/", "-_"])
def test_an_alphabet_that_changes_far_into_a_text_is_noticed(first: str, last: str) -> None:
    text = first.ljust(4, "A") + "A" * 8192 + last.ljust(4, "A")
    assert decode(text, measure(text)) == canonical(text)
    assert (canonical(text) is None) == (first != last and "" not in (first, last))


@pytest.mark.usefixtures("decoder")
@pytest.mark.parametrize("encoding", ["base64", "base64url", "data-url", "bytes"])
def test_every_length_goes_there_and_back(encoding: str) -> None:
    prefix = "data:a/b;base64," if encoding == "data-url" else ""
    for size in (*range(1, 40), 1000, 100_001):
        data = random.Random(size).randbytes(size)
        value = encode(data, encoding, prefix)
        assert decode(value, measure(value)) == data
        assert measure(value).size_bytes == size


@given(st.text(max_size=40).map(lambda text: f"data:{text},QUJD"))
def test_odd_data_urls_keep_their_prefix_or_are_left_alone(text: str) -> None:
    encoded = measure(text)
    data = decode(text, encoded)
    assert data is None or encode(data, encoded.encoding, encoded.prefix) == text


@pytest.mark.parametrize(
    ("first", "mime_type"),
    [
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
        (b"RIFF\0\0\0\0XXXX", None),
        (b"\0\0\0\x20ftypisom", "video/mp4"),
        (b"\0\0\0\x20ftypavif", "image/avif"),
        (b"\x1aE\xdf\xa3", "video/webm"),
        (b"hello", None),
        (b"", None),
    ],
)
def test_files_are_known_by_their_first_bytes(first: bytes, mime_type: str | None) -> None:
    assert sniff(first) == mime_type


def test_a_long_leaf_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known = KnownLeaves()
    text = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20_000)).decode()

    def holes() -> Any:
        return punch([{"type": "image", "base64": text}], select=lambda size, mime: True, known=known).holes

    [first] = holes()
    monkeypatch.setattr(walk, "decode", None)
    [second] = holes()
    assert second == first
    assert second.data is first.data
    computed: list[bytes] = []
    for hole in (first, second):
        digest = hole.leaf.digest(b"key", lambda data, key: computed.append(key) or b"digest")  # type: ignore[func-returns-value]
        assert digest == b"digest"
    assert computed == [b"key"]


def test_equal_text_in_another_object_is_decoded_on_its_own() -> None:
    known = KnownLeaves()
    one, two = (base64.b64encode(bytes(20_000)).decode() for _ in range(2))
    known.add(one, b"1")
    assert known.get(two) is None


def test_leaves_are_forgotten_beyond_the_budget_and_identities_do_not_pass_on() -> None:
    known = KnownLeaves(budget_bytes=1000)
    for number in range(200):
        text = f"{number:0400d}"
        assert known.get(text) is None
        known.add(text, text.encode())
        assert known.size_bytes <= 1000
        del text
        gc.collect(0)
    large = "x" * 2000
    known.add(large, b"")
    assert known.get(large) is None
