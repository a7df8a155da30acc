"""What langchain-aws does to blocks of Converse. Source: langchain-aws 1.9, `bedrock_converse.py` and `_compat.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_Block = dict[str, Any]
_ANSWERS: Final = ("tool_result", "server_tool_result")


def touches(block: Mapping[str, Any]) -> bool:
    """True for a block that `undo` may change."""
    kind = block.get("type")
    if kind == "reasoning":
        return "redacted_content" in (block.get("extras") or ())
    return kind == "server_tool_use" or (kind in _ANSWERS and "tool_use_id" in block) or _called_plainly(block)


def _called_plainly(block: Mapping[str, Any]) -> bool:
    """True for a call without arguments out of a merged stream."""
    return block.get("type") == "tool_use" and block.get("input") == ""


def undo(block: _Block) -> _Block:
    """Return the block in a form that is read as what the API gave."""
    kind = block["type"]
    if kind == "reasoning":
        return {"type": "reasoning_content", "reasoning_content": block["extras"]}
    if kind == "tool_use":
        return {**block, "input": {}}
    if kind == "server_tool_use":
        named = {"id": block.get("id"), "name": block.get("name")}
        return {"type": "server_tool_call", **named, "args": block.get("input")}
    status = "error" if block.get("is_error") else "success"
    told = {"tool_call_id": block["tool_use_id"], "status": status, "output": block.get("content")}
    return {"type": "server_tool_result", **told}
