"""Rules of Anthropic messages that depend on what else a request says: thinking, tools, model (A12, A16, A17).

Source: platform.claude.com extended thinking, prompt caching, mid-conversation system messages; anthropic 2.14
message_create_params.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from ..base import Finding
from ..models import model_family
from .anthropic_shapes import CACHE_MARK, MID_SYSTEM
from .anthropic_turns import Placed, Turn, blocks_of

_MAX_MARKS: Final = 4
_THINKING: Final = ("thinking", "redacted_thinking")


def lint_request(turns: Sequence[Turn], request: Mapping[str, Any], model: str | None) -> Iterator[Finding]:
    """Check turns against the rest of their request.

    Args:
        turns: The messages, joined.
        request: The request with its parameters; empty where only messages are known.
        model: Name of the model that they are for.
    """
    yield from _cache(turns, request)
    yield from _leading_thinking(turns, request.get("thinking"))
    yield from _known_system(turns, model)


def _leading_thinking(turns: Sequence[Turn], thinking: Any) -> Iterator[Finding]:
    """A12. Adaptive thinking asks for nothing: the model may have thought about nothing."""
    if not isinstance(thinking, Mapping) or thinking.get("type") != "enabled":
        return
    start = max((at for at, turn in enumerate(turns) if turn.role == "user" and not turn.only_results()), default=-1)
    first = next((turn for turn in turns[start + 1 :] if turn.role == "assistant"), None)
    if first is not None and any(first.of("tool_use")) and first.blocks[0][1].get("type") not in _THINKING:
        yield Finding(
            rule="A12",
            path=first.blocks[0][0],
            message="thinking is enabled, and the turn that calls tools does not begin with it",
        )


def _known_system(turns: Sequence[Turn], model: str | None) -> Iterator[Finding]:
    """A17. Nothing is known of models under names of their own."""
    if model is None or MID_SYSTEM.search(model) or not model_family(model).startswith("claude-"):
        return
    for turn in turns:
        if turn.role == "system":
            yield Finding(rule="A17", path=turn.path, message=f"{model:.80} knows no role system in messages")


def _cache(turns: Sequence[Turn], request: Mapping[str, Any]) -> Iterator[Finding]:
    """A16, in the order in which the API reads a request."""
    tools = request.get("tools")
    blocks = chain(
        blocks_of(tools if isinstance(tools, list) else None, "tools"),
        blocks_of(request.get("system"), "system"),
        chain.from_iterable(turn.blocks for turn in turns),
    )
    marked = [placed for outer in blocks for placed in _marked(*outer)]
    last = turns[-1].blocks[-1][1] if turns and turns[-1].blocks else {}
    if request.get("cache_control") is not None and last.get("cache_control") is None:
        marked.append(("", request["cache_control"]))
    for path, mark in marked:
        for key, wrong in CACHE_MARK.misfits(mark):
            yield Finding(rule="A16", path=f"{path}.cache_control{key}".lstrip("."), message=wrong)
    for path, _ in marked[_MAX_MARKS:]:
        yield Finding(rule="A16", path=path or "cache_control", message=f"more than {_MAX_MARKS} cache_control marks")


def _marked(path: str, block: Mapping[str, Any], *, levels: int = 3) -> Iterator[Placed | tuple[str, Any]]:
    """Yield the marks of a block, those of what it holds first: a result may hold documents, these hold texts."""
    source = block.get("source")
    for at, holder in (("", block), (".source", source)):
        content = holder.get("content") if isinstance(holder, Mapping) and levels else None
        for inner, part in blocks_of(content, f"{path}{at}.content"):
            yield from _marked(inner, part, levels=levels - 1)
    if block.get("cache_control") is not None:
        yield path, block["cache_control"]
