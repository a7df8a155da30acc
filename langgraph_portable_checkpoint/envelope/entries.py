"""One native block and the short entry that brings it back from its neutral block.

An entry is what `state` keeps per native block: a kind's name with `~n` where call arguments are spelled in the n-th
usual way and `/...` where keys stand in another order; `{"native": ...}` where the block cannot be derived and is
kept verbatim; bytes where it holds values that only the framework's serializer can write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from langgraph.checkpoint.serde.jsonplus import _msgpack_enc

from langgraph_portable_checkpoint.envelope.natives import KINDS, Kind, kinds_of, order_code, reordered
from langgraph_portable_checkpoint.envelope.natives.calls import SPELLINGS, spelling_of
from langgraph_portable_checkpoint.envelope.natives.standard import VERBATIM
from langgraph_portable_checkpoint.envelope.typed import well_typed

Entry: TypeAlias = str | dict[str, Any] | bytes

UNPROVABLE: Final = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)
"""What a reader or a writer may raise on a shape that it was not made for. It then counts as not proven."""


def read_block(native: Any) -> tuple[dict[str, Any], Entry]:
    """Read one native block. Total: what no kind knows becomes `non_standard` with the verbatim value.

    Returns:
        The neutral block and its entry. The entry is proven: writing gives the native block's own bytes.
    """
    known: dict[str, Any] | None = None
    for kind in kinds_of(native):
        block = _read(kind, native)
        if block is None:
            continue
        entry = kind.name if kind.exact else prove(kind, block, native)
        if entry is not None:
            return block, entry
        known = known or block
    if known is not None:
        return known, {"native": native}
    return {"type": "non_standard", "value": native}, VERBATIM.name


def _read(kind: Kind, native: Any) -> dict[str, Any] | None:
    try:
        block = kind.read(native)
    except UNPROVABLE:
        return None
    return block if block is None or well_typed(block) else None


def prove(kind: Kind, block: dict[str, Any], native: Any) -> str | None:
    """Find the entry under which `kind` writes `native` from `block`, or None.

    A usual spelling of call arguments is taken off the block, since the entry then carries it.
    """
    known = kind.code_of(native) if isinstance(native, dict) else None
    if known is not None:
        return f"{kind.name}{known}"
    try:
        written = kind.write(block)
        code = order_code(written, native, kind.tree)
        if code is None or _msgpack_enc(reordered(written, code, kind.tree)) != _msgpack_enc(native):
            return None
    except UNPROVABLE:
        return None
    return f"{kind.name}{_take_spelling(block)}{code}"


def _take_spelling(block: dict[str, Any]) -> str:
    if "arguments" not in block:
        return ""
    number = spelling_of(block["args"], block["arguments"])
    if number is None:
        return ""
    del block["arguments"]
    return f"~{number}"


def write_block(block: Mapping[str, Any], entry: Entry, *, loads: Callable[[bytes], Any]) -> Any:
    """Write the native block that `entry` was made for.

    Args:
        block: The neutral block.
        entry: Its entry.
        loads: The framework's serializer, for entries that are bytes.
    """
    if isinstance(entry, bytes):
        return loads(entry)
    if isinstance(entry, dict):
        return entry["native"]
    kind, spelling, code = _parsed(entry)
    if spelling is not None:
        block = {**block, "arguments": SPELLINGS[spelling](block["args"])}
    return reordered(kind.write(block), code, kind.tree)


def spelled_arguments(block: Mapping[str, Any], entry: str) -> dict[str, str]:
    """The `arguments` of a call whose entry notes how they are spelled; empty where it notes nothing."""
    spelling = _parsed(entry)[1]
    return {} if spelling is None else {"arguments": SPELLINGS[spelling](block["args"])}


@lru_cache(maxsize=4096)
def _parsed(entry: str) -> tuple[Kind, int | None, str]:
    head, slash, code = entry.partition("/")
    name, _, spelling = head.partition("~")
    return KINDS[name], int(spelling) if spelling else None, slash + code
