"""Content that an integration has rewritten, as the provider's API gave it.

LangChain's v1 output wraps what only one provider knows, renames server tools, splits items in two and spells citations
anew; merged streams leave arguments as text. Undone, such blocks read as the API's own and can go back to it. Only for
reading: what is stored is the message as it is. One file per integration, after its own way back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from langgraph_portable_checkpoint.envelope.given import anthropic, aws, google, openai

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
    "converse": _Way(aws.touches, aws.undo),
    "generate-content": _Way(google.touches, google.undo),
}
"""By our word for the wire API of a message."""


def is_rewritten(block: Any, api: str | None) -> bool:
    """True for a block that `as_given` may change."""
    if type(block) is not dict:
        return False
    way = _WAYS.get(api or "")
    return way is not None and (block.get("type") == "non_standard" or way.touches(block))


def as_given(content: Any, api: str | None) -> list[Any] | None:
    """Return content with rewritten blocks as the API gave them; None where nothing is rewritten.

    Args:
        content: A message's content.
        api: Our word for the wire API of the message.
    """
    if type(content) is not list or not any(is_rewritten(block, api) for block in content):
        return None
    way = _WAYS[api or ""]
    found = [_undone(block, way, api) for block in way.join(content)]
    return None if found == content else found


def _undone(block: Any, way: _Way, api: str | None) -> Any:
    bare = _unwrapped(block) if is_rewritten(block, api) else block
    return way.undo(bare) if type(bare) is dict and way.touches(bare) else bare


def _unwrapped(block: dict[str, Any]) -> dict[str, Any]:
    """Take a block that one provider alone knows out of its wrap, without keys that its SDK had nothing for."""
    value = block.get("value")
    if block.get("type") != "non_standard" or not isinstance(value, dict) or not block.keys() <= _WRAP:
        return block
    return {key: one for key, one in value.items() if one is not None or key not in _SDK_NULLS}
