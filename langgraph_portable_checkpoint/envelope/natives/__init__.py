"""The table of native block kinds: which ones a native block may be of, and each by its stored name.

A stored name never changes its meaning and is never reused.
"""

from __future__ import annotations

from typing import Any, Final

from langgraph_portable_checkpoint.envelope.model import BLOCK_TYPES
from langgraph_portable_checkpoint.envelope.natives import anthropic, bedrock, google, mistral, openai, standard
from langgraph_portable_checkpoint.envelope.natives.kind import Kind, order_code, reordered
from langgraph_portable_checkpoint.envelope.natives.standard import LOOSE, STANDARD, STRING, VERBATIM

_ROOMS: Final = (standard, anthropic, openai, google, bedrock, mistral)
_BY_TYPE: Final[dict[str, tuple[Kind, ...]]] = {}
for _room in _ROOMS:
    for _type, _found in _room.BY_TYPE.items():
        _BY_TYPE[_type] = (*_BY_TYPE.get(_type, ()), *_found)
_BY_KEY: Final[dict[str, tuple[Kind, ...]]] = {**google.BY_KEY, **bedrock.BY_KEY}
_OF_TYPE: Final = {
    block_type: (STANDARD, *_BY_TYPE.get(block_type, ()), LOOSE) if block_type in BLOCK_TYPES else _BY_TYPE[block_type]
    for block_type in (*_BY_TYPE, *BLOCK_TYPES)
}
_OTHERS: Final = (STANDARD, LOOSE, STRING, VERBATIM, openai.AUDIO_OUTPUT)
ALL_KINDS: Final = (*_BY_TYPE.values(), *_BY_KEY.values(), openai.LEGACY_CALL, _OTHERS)
KINDS: Final[dict[str, Kind]] = {kind.name: kind for kinds in ALL_KINDS for kind in kinds}
"""Every kind by its stored name."""


def kinds_of(native: Any) -> tuple[Kind, ...]:
    """The kinds that a native block may be of, most likely first. May be empty."""
    if isinstance(native, str):
        return (STRING,)
    if not isinstance(native, dict):
        return ()
    block_type = native.get("type")
    if isinstance(block_type, str):
        return _OF_TYPE.get(block_type, ())
    return next((_BY_KEY[key] for key in native if key in _BY_KEY), ())


__all__ = ["ALL_KINDS", "KINDS", "Kind", "kinds_of", "order_code", "reordered"]
