"""What langchain-anthropic does to blocks of the Messages API. Source: langchain-anthropic 1.7, `_compat.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_Block = dict[str, Any]
_LOCATIONS: Final = (
    ("start_char_index", "char_location"),
    ("search_result_index", "search_result_location"),
    ("start_block_index", "content_block_location"),
    ("start_page_number", "page_location"),
)
"""The key that only one kind of citation has, and that kind."""
_TITLES: Final = {"web_search_result_location": "title", "search_result_location": "title"}


def touches(block: Mapping[str, Any]) -> bool:
    """True for a block that `undo` may change."""
    kind = block.get("type")
    if kind == "text":
        return "annotations" in block or ("citations" in block and "text" not in block) or _is_compaction(block)
    return kind in ("server_tool_call", "server_tool_result") or (kind in _USES and "partial_json" in block)


_USES: Final = ("server_tool_use", "mcp_tool_use")


def undo(block: _Block) -> _Block:
    """Return the block as the API gave it."""
    kind, extras = block["type"], block.get("extras")
    told: Mapping[str, Any] = extras if isinstance(extras, dict) else {}
    if kind == "text":
        return {"type": "compaction", **told} if _is_compaction(block) else _cited(block)
    if kind in _USES:
        return with_parsed_input(block)
    if kind == "server_tool_call":
        return _use(block, told)
    return _answer(block, told) if isinstance(told.get("block_type"), str) else block


def _is_compaction(block: Mapping[str, Any]) -> bool:
    """Tell a summary that a v1 stream left beside an empty text."""
    extras = block.get("extras")
    return not block.get("text") and isinstance(extras, dict) and isinstance(extras.get("content"), str)


def _cited(block: _Block) -> _Block:
    """Spell citations as the API does; a merged stream may leave a text block of citations alone."""
    notes = block.get("annotations")
    if not isinstance(notes, list):
        return block if "text" in block else {"text": "", **block}
    rest = {key: value for key, value in block.items() if key != "annotations"}
    return {**rest, "citations": [_citation(note) for note in notes]}


def _citation(note: Any) -> Any:
    if not isinstance(note, dict) or note.get("type") != "citation":
        return note["value"] if isinstance(note, dict) and "value" in note else note
    extras = note["extras"] if isinstance(note.get("extras"), dict) else {}
    kind = "web_search_result_location" if "url" in note else next((k for key, k in _LOCATIONS if key in extras), None)
    if kind is None:
        return note
    names = (("cited_text", "cited_text"), ("title", _TITLES.get(kind, "document_title")), ("url", "url"))
    told = {to: note.get(key) for key, to in names if key in note or key == "title"}
    return {"type": kind, **told, **{key: value for key, value in extras.items() if value is not None}}


def _use(block: _Block, extras: Mapping[str, Any]) -> _Block:
    name, kind = block.get("name"), "server_tool_use"
    if name == "code_interpreter":
        name = "code_execution"
    elif name == "remote_mcp":
        name, kind = extras.get("tool_name"), "mcp_tool_use"
    use = {"type": kind, "id": block.get("id"), "name": name, "input": block.get("args") or {}}
    use |= {key: value for key, value in extras.items() if key != "tool_name" and value is not None}
    return with_parsed_input(use) if "partial_json" in use else use


def with_parsed_input(block: _Block) -> _Block:
    """Read the arguments that a merged stream left as text."""
    rest = {key: value for key, value in block.items() if key != "partial_json"}
    try:
        parsed = json.loads(block["partial_json"] or "{}")
    except (TypeError, ValueError, RecursionError):
        return block
    return {**rest, "input": parsed} if isinstance(parsed, dict) and not rest.get("input") else block


def _answer(block: _Block, extras: Mapping[str, Any]) -> _Block:
    answer = {"type": extras["block_type"], "tool_use_id": block.get("tool_call_id"), "content": block.get("output")}
    if extras["block_type"] == "mcp_tool_result":
        answer["is_error"] = block.get("status") == "error"
    return answer | {key: value for key, value in extras.items() if key != "block_type" and value is not None}
