"""Searches for tools that the client runs, of the Responses API: a call and its output go together.

They are no calls of a tool: nobody but the API and its client knows what they find. Knows plain items only.

Source: openai 3.57 ResponseToolSearchCall, ResponseToolSearchOutputItem; codex-rs, context_manager/normalize.rs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def lone_searches(items: Iterable[Mapping[str, Any]]) -> dict[int, str]:
    """Return the positions of such calls without an output, and of outputs without a call, each with its rule.

    >>> call = {"type": "tool_search_call", "call_id": "c", "execution": "client"}
    >>> lone_searches([call, {"type": "tool_search_output", "call_id": "d"}])
    {1: 'R4', 0: 'R3'}
    """
    lone: dict[int, str] = {}
    asked: dict[Any, int] = {}
    answered: set[Any] = set()
    for at, item in enumerate(items):
        kind = item.get("type")
        call_id = item.get("call_id") if kind in ("tool_search_call", "tool_search_output") else None
        if not isinstance(call_id, str):
            continue
        if kind == "tool_search_call":
            if item.get("execution") == "client":
                asked[call_id] = at
        elif item.get("execution") != "server":
            if call_id in asked:
                answered.add(call_id)
            else:
                lone[at] = "R4"
    return {**lone, **{at: "R3" for call_id, at in asked.items() if call_id not in answered}}
