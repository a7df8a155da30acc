"""Calls in LangChain's v1 content that a stream left in pieces: it was cut, or their arguments are no JSON.

Source: `AIMessageChunk.init_tool_calls` and `init_server_tool_calls` of langchain-core, which leave such a piece where
it stands, with its arguments as a text. What `.tool_calls` and `.invalid_tool_calls` say of it counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_CLIENT: Final = "tool_call_chunk"
_SERVER: Final = "server_tool_call_chunk"


def with_whole_calls(view: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read the pieces among a message's parts as the calls that they are; the same object if there are none."""
    content = view.get("content")
    if type(content) is not list or not any(map(_is_piece, content)):
        return view
    return {**view, "content": [_whole(part, view) if _is_piece(part) else part for part in content]}


def _is_piece(part: Any) -> bool:
    return type(part) is dict and part.get("type") in (_CLIENT, _SERVER)


def _whole(piece: Mapping[str, Any], view: Mapping[str, Any]) -> dict[str, Any]:
    args = _arguments(piece.get("args"))
    rest = {key: value for key, value in piece.items() if key not in ("type", "args") and value is not None}
    if piece["type"] == _SERVER:
        return {"type": "server_tool_call", **rest, "name": rest.get("name") or "", "args": args or {}}
    call_id = piece.get("id")
    ran = _names(view.get("tool_calls"), call_id)
    if ran or (args is not None and not _names(view.get("invalid_tool_calls"), call_id)):
        return {"type": "tool_call", **rest, "name": rest.get("name") or "", "args": args or {}}
    return {"type": "invalid_tool_call", **rest, "args": piece.get("args"), "error": "the arguments are no JSON object"}


def _names(calls: Any, call_id: Any) -> bool:
    return isinstance(calls, list) and any(isinstance(call, dict) and call.get("id") == call_id for call in calls)


def _arguments(text: Any) -> dict[str, Any] | None:
    if isinstance(text, dict):
        return text
    try:
        found = json.loads(text) if text else {}
    except (TypeError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
