"""Which calls of a provider's own tools have their result: in one turn of the assistant, call first, once.

A turn of the assistant goes on behind the results of the client's tools: a program that the provider runs may call
them, and its own result comes with the next answer. Where a history ends with such results, it is yet to come. So it is
where the model paused, if its answer goes back as the last message.

Source: Anthropic, programmatic tool calling, pause_turn; A13 of the rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from ..envelope.model import Block
from .report import Placed


class Half(NamedTuple):
    """A call or a result of a server tool: the content that it stands in, by identity, and the id of the call."""

    content: int
    call_id: Any


def half_of(block: Block, content: Sequence[Block]) -> Half:
    """Return what tells a server tool's call or result from others."""
    return Half(id(content), block.get("id") if _is_call(block) else block.get("tool_call_id"))


def is_paused(placed: Placed, providers: Container[str]) -> bool:
    """Tell whether a message is an answer of one of the providers that goes on when it is sent back."""
    envelope = placed.envelope
    return envelope.get("stop_reason") == PAUSED and envelope.get("origin", {}).get("provider") in providers


PAUSED: Final = "pause_turn"


def paired_halves(
    conversation: Sequence[Placed], *, typed_results: str | None, resumes: bool = False
) -> frozenset[Half]:
    """Return the halves of whole pairs. An id that came back in a later turn is no other call's.

    Args:
        conversation: The history; the content of its messages must not be copied before the halves are looked up.
        typed_results: What the native types of results end with, where the target has several.
        resumes: The last message is a paused answer that goes back as it is.
    """
    found: set[Half] = set()
    served: set[Any] = set()
    runs = [list(run) for within, run in groupby(conversation, key=_within_turn) if within]
    for run in runs:
        calls, results = _halves(run, typed_results)
        asked, answered = Counter(half.call_id for half in calls), Counter(half.call_id for half in results)
        ends = bool(typed_results) and run[-1] is conversation[-1]
        goes_on = ends and (resumes or run[-1].envelope["role"] == "tool")
        once = {one for one, count in asked.items() if count == 1} - served
        whole = {one for one in once if answered[one] == 1 or (goes_on and not answered[one])}
        found.update(half for half in (*calls, *results) if half.call_id in whole)
        served.update(asked)
    return frozenset(found)


def _within_turn(placed: Placed) -> bool:
    return placed.envelope["role"] in ("assistant", "tool")


def _halves(run: Iterable[Placed], typed_results: str | None) -> tuple[list[Half], list[Half]]:
    """Return the calls that have a name, and the results behind their calls."""
    calls: list[Half] = []
    results: list[Half] = []
    asked: set[Any] = set()
    for block, content in _blocks(run):
        half = half_of(block, content)
        if _is_call(block):
            calls += [half] if block.get("name") else []
            asked.add(half.call_id)
        elif _is_whole(block, typed_results) and half.call_id in asked:
            results.append(half)
    return calls, results


def _blocks(run: Iterable[Placed]) -> Iterator[tuple[Block, list[Block]]]:
    for placed in run:
        content = placed.envelope["content"]
        for block in content if placed.envelope["role"] == "assistant" else ():
            if block["type"] in ("server_tool_call", "server_tool_result"):
                yield block, content


def _is_call(block: Block) -> bool:
    return block["type"] == "server_tool_call"


def _is_whole(block: Block, typed_results: str | None) -> bool:
    if typed_results is None:
        return True
    word, found = (block.get("extras") or {}).get("block_type"), block.get("output")
    typed = isinstance(word, str) and word.endswith(typed_results)
    return typed and all(map(_is_sealed, found if isinstance(found, list) else ()))


def _is_sealed(page: Any) -> bool:
    """Tell whether a page that a search found has what the provider wants back of it, its encrypted content."""
    found = isinstance(page, dict) and page.get("type") == "web_search_result"
    return not found or isinstance(page.get("encrypted_content"), str)
