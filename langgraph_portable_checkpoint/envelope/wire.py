"""The bytes of a message envelope: plain msgpack, readable in any language.

Owns the wire form only. A map is packed with the `bin` type for bytes and no extension types; keys keep their
order, so equal maps give equal bytes. Knows nothing of LangChain or Redis.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Any, Final

import msgpack

from langgraph_portable_checkpoint.envelope.model import ENVELOPE_VERSION
from langgraph_portable_checkpoint.errors import CorruptRecordError, FutureVersionError

_WHAT: Final = "message envelope"
_UNREADABLE: Final = (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException)


def dump_envelope(envelope: Mapping[str, Any]) -> bytes:
    """Pack an envelope.

    Args:
        envelope: A map of JSON types and bytes, as `to_envelope` makes it.

    Returns:
        Msgpack bytes without extension types.

    Raises:
        ValueError: A value has no msgpack form (lone surrogates, integers beyond 64 bit, nesting beyond 511).
        TypeError: A value is not of a plain type.
    """
    return bytes(msgpack.packb(envelope, use_bin_type=True))


def load_envelope(data: bytes, *, where: str) -> dict[str, Any]:
    """Unpack an envelope. Unknown optional fields are kept.

    Args:
        data: What `dump_envelope` returned.
        where: Names the record in errors, for example "item 0f3a.. of thread 't1'".

    Raises:
        CorruptRecordError: The bytes are not one envelope.
        FutureVersionError: The envelope has a newer version.
    """
    try:
        envelope = msgpack.unpackb(data, raw=False, strict_map_key=False, ext_hook=_refuse_extension)
    except _UNREADABLE as error:
        raise CorruptRecordError(_WHAT, where=where, reason=f"not msgpack ({type(error).__name__})") from error
    return _checked(envelope, where=where)


def json_view(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """The published part of an envelope in JSON's own types, as `schemas/message-envelope.schema.json` describes it.

    Bytes become base64 text (standard alphabet, padded), numbers that JSON has no form for become null, and what exists
    in memory only (`raw`, `raw_content`) is left out. A view for readers: an archive keeps such values exactly.
    """
    published = {key: value for key, value in envelope.items() if key != "raw_content"}
    published["content"] = [{key: block[key] for key in block if key != "raw"} for block in envelope["content"]]
    view: dict[str, Any] = _jsonable(published)
    return view


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_jsonable(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _refuse_extension(code: int, data: bytes) -> Any:
    raise ValueError(f"extension type {code} has no place in an envelope")


def _checked(envelope: Any, *, where: str) -> dict[str, Any]:
    if not isinstance(envelope, dict):
        raise CorruptRecordError(_WHAT, where=where, reason=f"a {type(envelope).__name__} instead of a map")
    version = envelope.get("v")
    if type(version) is not int or version < 1:
        raise CorruptRecordError(_WHAT, where=where, reason="it carries no version")
    if version > ENVELOPE_VERSION:
        raise FutureVersionError(_WHAT, where=where, found=version, supported=ENVELOPE_VERSION)
    if not isinstance(envelope.get("role"), str) or not isinstance(envelope.get("content"), list):
        raise CorruptRecordError(_WHAT, where=where, reason="role or content is missing")
    return envelope
