"""Anthropic messages as the API joins them: consecutive messages of one role are one turn (A2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Placed = tuple[str, Mapping[str, Any]]
"""A block with its path."""


@dataclass
class Turn:
    """Consecutive messages of one role."""

    role: str
    path: str
    blocks: list[Placed] = field(default_factory=list)

    def of(self, *kinds: str) -> Iterator[Placed]:
        """Yield its blocks of some types."""
        return ((path, block) for path, block in self.blocks if block.get("type") in kinds)

    def only_results(self) -> bool:
        """True if it holds nothing but results of the client's tools."""
        return all(block.get("type") == "tool_result" for _, block in self.blocks)


def turns_of(messages: Sequence[Any]) -> list[Turn]:
    """Join messages; a message whose content is an empty text has no block (A3)."""
    turns: list[Turn] = []
    for at, message in enumerate(messages):
        if not isinstance(message, Mapping):
            continue
        role = str(message.get("role"))
        if not turns or turns[-1].role != role:
            turns.append(Turn(role, f"messages[{at}]"))
        content = message.get("content")
        turns[-1].blocks.extend(blocks_of(content, f"messages[{at}].content") if content != "" else ())
    return turns


def blocks_of(content: Any, path: str) -> Iterator[Placed]:
    """Yield the blocks of a content that are objects; a text is one block."""
    if isinstance(content, str):
        yield path, {"type": "text", "text": content}
    for at, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, Mapping):
            yield f"{path}[{at}]", block
