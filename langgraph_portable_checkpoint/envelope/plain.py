"""A message's dump reduced to what LangGraph's encoder makes of it: plain values, and bytes where that is not all.

Plain are str-keyed maps, lists, text, bytes, numbers, booleans and null. What the encoder turns into an extension type
(sets, decimals, objects) or what has other keys is kept as the encoder's bytes, with a plain look at it for readers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ormsgpack
from langgraph.checkpoint.serde.jsonplus import _msgpack_enc, _msgpack_ext_hook_to_json


@dataclass(slots=True)
class PlainDump:
    """A dump reduced to what its bytes say."""

    truth: dict[str, Any]
    """Plain values; bytes in the place of a field or content block that is not plain."""
    view: dict[str, Any]
    """The same with a plain look at what is not plain, to read the neutral part from."""
    fields: dict[str, bytes] = field(default_factory=dict)
    blocks: dict[int, bytes] = field(default_factory=dict)
    content: bytes = b""
    """All of a content list some of whose blocks are not plain."""


def plain_dump(given: dict[str, Any]) -> PlainDump:
    """Reduce a dump to plain values.

    Raises:
        ormsgpack.MsgpackEncodeError: LangGraph's encoder refuses a value.
    """
    try:
        truth = ormsgpack.unpackb(_msgpack_enc(given))
    except ValueError:
        return _partlyplain_dump(given)
    return PlainDump(truth, truth)


def _partlyplain_dump(given: dict[str, Any]) -> PlainDump:
    plain = PlainDump({}, {})
    for key, value in given.items():
        if key == "content" and isinstance(value, list):
            looks = [plain_look(block) for block in value]
            plain.blocks = {index: data for index, (_, data) in enumerate(looks) if data is not None}
            plain.content = _msgpack_enc(value) if plain.blocks else b""
            plain.view[key] = [view for view, _ in looks]
            plain.truth[key] = [view if data is None else data for view, data in looks]
            continue
        plain.view[key], data = plain_look(value)
        plain.truth[key] = plain.view[key]
        if data is not None:
            plain.fields[key] = plain.truth[key] = data
    return plain


def plain_look(value: Any) -> tuple[Any, bytes | None]:
    """A plain view of a value, and its bytes where the view is not all of it."""
    data = _msgpack_enc(value)
    try:
        return ormsgpack.unpackb(data), None
    except ValueError:
        seen = ormsgpack.unpackb(data, ext_hook=_msgpack_ext_hook_to_json, option=ormsgpack.OPT_NON_STR_KEYS)
        try:
            return _simplified(seen), data
        except RecursionError:
            return None, data


def _simplified(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _simplified(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_simplified(item) for item in value]
    return value if isinstance(value, str | bytes | int | float | None) else str(value)
