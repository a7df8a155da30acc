"""Content that an integration has rewritten, as the provider's API gave it.

LangChain's v1 output wraps what only one provider knows, renames server tools, splits items in two and spells citations
anew; merged streams leave arguments as text. Undone, such blocks read as the API's own and can go back to it. Only for
reading: what is stored is the message as it is. One file per integration, after its own way back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from langgraph_portable_checkpoint.envelope.given import anthropic, aws, google, mistral, openai

_WRAP: Final = frozenset({"type", "value", "id", "index"})
_SDK_NULLS: Final = frozenset({"text", "caller", "toolset_name", "index"})


class _Way(NamedTuple):
    """How to undo what one integration does."""

    touches: Callable[[Mapping[str, Any]], bool]
    undo: Callable[[dict[str, Any]], Any]
    join: Callable[[list[Any]], Iterator[Any]] = iter


_WAYS: Final[Mapping[str, _Way]] = {
    "messages": _Way(anthropic.touches, anthropic.undo),
    "responses": _Way(openai.touches, openai.undo, openai.joined),
    "converse": _Way(aws.touches, aws.undo, aws.joined),
    "generate-content": _Way(google.touches, google.undo),
    "mistral": _Way(mistral.touches, mistral.undo),
}
"""By `wire_of` a message."""


def wire_of(origin: Mapping[str, Any] | None) -> str:
    """Return our word for the wire API of a message, for a provider's that has one alone the provider's."""
    return str((origin or {}).get("api") or (origin or {}).get("provider") or "")


def is_rewritten(block: Any, wire: str) -> bool:
    """True for a block that `as_given` may change."""
    if type(block) is not dict or type(block.get("type")) is not str:
        return False
    if "extras" in block and not isinstance(block["extras"], (dict, type(None))):
        return False
    way = _WAYS.get(wire)
    return way is not None and (block.get("type") == "non_standard" or way.touches(block))


def as_given(content: Any, wire: str) -> list[Any] | None:
    """Return content with rewritten blocks as the API gave them; None where nothing is rewritten.

    Args:
        content: A message's content.
        wire: What `wire_of` says of the message.
    """
    if type(content) is not list or not any(is_rewritten(block, wire) for block in content):
        return None
    way = _WAYS[wire]
    found = [_undone(block, way, wire) for block in way.join(content)]
    return None if found == content else found


def _undone(block: Any, way: _Way, wire: str) -> Any:
    bare = _unwrapped(block) if is_rewritten(block, wire) else block
    return way.undo(bare) if type(bare) is dict and way.touches(bare) else bare


def _unwrapped(block: dict[str, Any]) -> dict[str, Any]:
    """Take a block that one provider alone knows out of its wrap, without keys that its SDK had nothing for."""
    value = block.get("value")
    if block.get("type") != "non_standard" or not isinstance(value, dict) or not block.keys() <= _WRAP:
        return block
    return {key: one for key, one in value.items() if one is not None or key not in _SDK_NULLS}
