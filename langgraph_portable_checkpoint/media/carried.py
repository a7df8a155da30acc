"""What a text carries where nobody has to put it back: bytes in any spelling that a reader of it may accept.

Owns the loose reading that stripping and size limits go by. What is stored apart goes by `encodings`, which takes only
what can be put back exactly; here the shape of the part decides, and a spelling that cannot be read is media as well,
of a size that is not known.

Source: RFC 2397 (data URLs), RFC 2045 section 6.8 (line breaks in base64), RFC 4648 (alphabets and padding).
"""

from __future__ import annotations

import binascii
import re
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from langgraph_portable_checkpoint.envelope.media_types import OCTET_STREAM, may_be_chance, sniff
from langgraph_portable_checkpoint.media.encodings import Encoded
from langgraph_portable_checkpoint.media.shapes import (
    UNNAMED_MIN_BYTES,
    URL_KEYS,
    Enclosing,
    declared_type,
    is_named,
)

_DATA_URL: Final = re.compile(r'\s*+data:([^",;/]*+/[^",;]*+)?(?:;(?:[^",;]++|"[^"]*+")*+)*+,', re.IGNORECASE)
_MAX_PREFIX_CHARS: Final = 2**16
_BASE64_SUFFIX: Final = re.compile(r";\s*base64\s*,$", re.IGNORECASE)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,4}")
_TO_STANDARD: Final = str.maketrans("-_", "+/")
_UNNAMED_MIN_CHARS: Final = UNNAMED_MIN_BYTES * 4 // 3
_TEXT: Final = Encoded("base64", "", 0)
_URL: Final = Encoded("data-url", "", 0)
_HEAD_CHARS: Final = 512
_SNIFFED_CHARS: Final = 64


class Carried(NamedTuple):
    """A medium as far as it can be told."""

    mime_type: str
    data: bytes | None
    """The bytes; None where the spelling cannot be read."""
    at_most_bytes: int
    """Their number, or where they cannot be read, what they cannot exceed."""


def carried(leaf: str | bytes, enclosing: Enclosing, *, in_part: bool) -> Carried | None:
    """Say what a leaf carries, or None for a text that is a text.

    Args:
        leaf: A leaf that is not stored apart.
        enclosing: The dicts around it.
        in_part: Whether one of them is a part that stands for a medium. There its word counts; elsewhere, in a call's
            arguments or a channel's own dict, a key such as "data" may hold a text, so the leaf has to look like bytes.
    """
    if isinstance(leaf, bytes) or leaf.isspace():
        return None
    if leaf[:5].lower() == "data:" or (leaf[:1].isspace() and leaf[:_HEAD_CHARS].lstrip()[:5].lower() == "data:"):
        return _of_data_url(leaf, enclosing, in_part=in_part)
    if is_named(_TEXT, enclosing):
        return _of_base64(leaf, enclosing) if in_part or _must_be_base64(leaf) else None
    if len(leaf) < _UNNAMED_MIN_CHARS:
        return None
    if in_part and enclosing[-1][0] in URL_KEYS and _looks_like_base64(leaf):
        return _of_base64(leaf, enclosing)
    seen = _sniffed(leaf)
    return _of_base64(leaf, (), seen) if seen and _looks_like_base64(leaf) else None


def _of_data_url(text: str, enclosing: Enclosing, *, in_part: bool) -> Carried | None:
    found = _DATA_URL.match(text, 0, _MAX_PREFIX_CHARS)
    prefix = "" if found is None else found[0].strip()
    is_base64 = _BASE64_SUFFIX.search(prefix) is not None
    mime_type = declared_type(prefix[:-1], ())
    announced = in_part and (is_named(_URL, enclosing) or is_named(_TEXT, enclosing))
    # What is neither announced nor base64 and calls itself a text may be one: "data:text/plain,see below".
    if not announced and not is_base64 and (mime_type is None or mime_type.startswith("text/")):
        return None
    payload = text[found.end() :] if found is not None else text
    if not payload.strip():
        return None
    data = _decoded(_unquoted(payload).decode("latin-1")) if is_base64 else _unquoted(payload) if prefix else None
    return _carried(payload, data, mime_type or declared_type("", enclosing))


def _of_base64(text: str, enclosing: Enclosing, seen: str | None = None) -> Carried:
    return _carried(text, _decoded(text), declared_type("", enclosing) or seen)


def _carried(text: str, data: bytes | None, mime_type: str | None) -> Carried:
    kind = mime_type or (data and sniff(data)) or OCTET_STREAM
    return Carried(kind, data, len(text) if data is None else len(data))


def _decoded(text: str) -> bytes | None:
    """Decode base64 of either alphabet or both, with line breaks and any padding; None when it is not base64."""
    compact = "".join(text.split())
    if not _BASE64.fullmatch(compact):
        return None
    digits = compact.rstrip("=").translate(_TO_STANDARD)
    if len(digits) % 4 == 1:
        return None
    return binascii.a2b_base64(digits + "=" * (-len(digits) % 4))


def _unquoted(payload: str) -> bytes:
    return unquote_to_bytes(payload.encode("utf-8", "surrogatepass"))


def _looks_like_base64(text: str) -> bool:
    """Say whether a text may be base64, perhaps in lines: words beside each other are a text."""
    return _BASE64.fullmatch("".join(line.strip() for line in text.splitlines())) is not None


def _must_be_base64(text: str) -> bool:
    """Say so of what looks like it and is longer than a word, or begins as a known file does."""
    return _looks_like_base64(text) and (len(text) >= _UNNAMED_MIN_CHARS or _sniffed(text) is not None)


def _sniffed(text: str) -> str | None:
    """Name the file type that the first bytes give away, unless chance may have made them."""
    first = "".join(text[:_HEAD_CHARS].split())[:_SNIFFED_CHARS]
    data = _decoded(first[: len(first) // 4 * 4])
    return sniff(data) if data and not may_be_chance(data) else None
