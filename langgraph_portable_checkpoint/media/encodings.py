"""Bytes as they stand in values: base64, data URLs, plain bytes; and which file type bytes are.

Owns decoding that can be undone exactly. Knows nothing of blocks, paths or stores. `decode` answers only when
`encode` of the answer gives the very same value back; everything else is not media, however much it looks like it.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from pydantic import ConfigDict, TypeAdapter

_MAX_PREFIX: Final = 256
_URLSAFE_TO_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_STANDARD_TO_URLSAFE: Final = bytes.maketrans(b"+/", b"-_")
_HEAD_CHARS: Final = 64
_ALPHABET_CHARS: Final = 4096
"""Among so many characters of base64, one tells the alphabets apart, nearly always."""

_pybase64: Final[Any] = import_module("pybase64") if find_spec("pybase64") else None
"""Of the extra "speed": ten to twenty times as fast as the standard library, in both directions."""


class Encoded(NamedTuple):
    """How bytes stand in a value, before they are decoded."""

    encoding: str
    """One of "bytes", "base64", "base64url", "data-url"."""
    prefix: str
    """Of a data URL, everything up to and including the comma, exactly."""
    size_bytes: int
    """Size once decoded; an upper bound until `decode` has answered."""


def split_data_url(text: str) -> str | None:
    """Return the prefix of a base64 data URL, comma included, or None.

    Source: RFC 2397. Scheme and ";base64" are matched without regard to case; the prefix is kept as written.
    """
    if text[:5].lower() != "data:":
        return None
    comma = text.find(",", 5, _MAX_PREFIX)
    prefix = text[: comma + 1]
    return prefix if prefix[-8:].lower() == ";base64," and prefix.isascii() else None


def measure(value: str | bytes) -> Encoded:
    """Say how a value would encode bytes, without looking at more of it than it takes to see the alphabet in use."""
    if isinstance(value, bytes):
        return Encoded("bytes", "", len(value))
    prefix = split_data_url(value)
    if prefix is not None:
        return Encoded("data-url", prefix, _decoded_size(value, len(prefix)))
    return Encoded("base64url" if _is_urlsafe(value) else "base64", "", _decoded_size(value, 0))


def decode(value: str | bytes, encoded: Encoded) -> bytes | None:
    """Decode a value, or return None when encoding the result would not give the same value back."""
    if isinstance(value, bytes):
        return value
    payload = value[len(encoded.prefix) :] if encoded.prefix else value
    if encoded.encoding == "data-url" and _is_urlsafe(payload):
        return None  # RFC 2397 knows the standard alphabet alone, and so does `encode`
    return _decode_canonical(payload, urlsafe=encoded.encoding == "base64url")


def encode(data: bytes, encoding: str, prefix: str = "") -> str | bytes:
    """Put bytes back the way `decode` found them.

    Raises:
        KeyError: the encoding is not one of ours.
    """
    return _ENCODERS[encoding](data, prefix)


def head(value: str | bytes, encoded: Encoded) -> bytes:
    """Decode the first bytes only, enough for `sniff`; b"" when they are not base64."""
    if isinstance(value, bytes):
        return value[:_HEAD_CHARS]
    start = len(encoded.prefix)
    text = value[start : start + _HEAD_CHARS]
    return _decode_canonical(text, urlsafe=encoded.encoding == "base64url") or b""


def _is_urlsafe(text: str) -> bool:
    first = text[:_ALPHABET_CHARS]
    if "-" in first or "_" in first:
        return True
    return not ("+" in first or "/" in first or len(text) == len(first)) and ("-" in text or "_" in text)


def _decoded_size(text: str, start: int) -> int:
    return (len(text) - start) // 4 * 3 - text[-2:].count("=")


def _decode_canonical(text: str, *, urlsafe: bool) -> bytes | None:
    """Decode only what encoding gives back: no gaps, no other alphabet, no stray bits, exact padding."""
    if len(text) % 4 or not text.isascii():
        return None
    try:
        data = _decode_strictly(text)
    except ValueError:
        return None
    # Strict decoding is one-to-one except, in some versions, for the unused bits of the last four characters.
    last = _encode_base64(data[(len(data) - 1) // 3 * 3 :]) if data else ""
    return data if text.endswith(last if not urlsafe else last.replace("+", "-").replace("/", "_")) else None


def _decode_with_binascii(text: str) -> bytes:
    if not _is_urlsafe(text):
        return binascii.a2b_base64(text, strict_mode=True)
    _refuse_both_alphabets(text)
    return binascii.a2b_base64(text.encode("ascii").translate(_URLSAFE_TO_STANDARD), strict_mode=True)


def _decode_with_pybase64(text: str) -> bytes:
    if not _is_urlsafe(text):
        return bytes(_pybase64.b64decode(text, validate=True))
    _refuse_both_alphabets(text)
    return bytes(_pybase64.b64decode(text, altchars=b"-_", validate=True))


def _refuse_both_alphabets(text: str) -> None:
    if "+" in text or "/" in text:
        raise ValueError("both alphabets in one text")


_PYDANTIC: Final = TypeAdapter(bytes, config=ConfigDict(val_json_bytes="base64"))
"""Decodes four times as fast as binascii, both alphabets, as strictly; older versions do not know the option."""


def _fastest_decoder() -> Callable[[str], bytes]:
    if _pybase64 is not None:
        return _decode_with_pybase64
    knows_the_option = _PYDANTIC.validate_strings("+/+/") == b"\xfb\xff\xbf"
    return _PYDANTIC.validate_strings if knows_the_option else _decode_with_binascii


_decode_strictly: Final[Callable[[str], bytes]] = _fastest_decoder()


def _encode_with_binascii(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode("ascii")


_encode_base64: Final[Callable[[bytes], str]] = (
    _encode_with_binascii if _pybase64 is None else _pybase64.b64encode_as_string
)


def _encode_urlsafe(data: bytes) -> str:
    if _pybase64 is not None:
        return str(_pybase64.b64encode_as_string(data, altchars=b"-_"))
    return binascii.b2a_base64(data, newline=False).translate(_STANDARD_TO_URLSAFE).decode("ascii")


_ENCODERS: Final[dict[str, Callable[[bytes, str], str | bytes]]] = {
    "bytes": lambda data, prefix: data,
    "base64": lambda data, prefix: _encode_base64(data),
    "base64url": lambda data, prefix: _encode_urlsafe(data),
    "data-url": lambda data, prefix: prefix + _encode_base64(data),
}
ENCODINGS: Final = frozenset(_ENCODERS)
