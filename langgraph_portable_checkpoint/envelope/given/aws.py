"""What langchain-aws does to blocks of Converse. Source: langchain-aws 1.9, `bedrock_converse.py` and `_compat.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
    return block.get("type") == "tool_use" and not block.get("input", "")


def undo(block: _Block) -> _Block:
    """Return the block in a form that is read as what the API gave."""
    kind = block["type"]
    if kind == "reasoning":
        return {"type": "reasoning_content", "reasoning_content": block["extras"]}
    if kind == "tool_use":
        return {**block, "input": {}}
    if kind == "server_tool_use":
        named = {"id": block.get("id"), "name": block.get("name")}
        return {"type": "server_tool_call", **named, "args": _input(block.get("input"))}
    status = "error" if block.get("is_error") else "success"
    told = {
        "tool_call_id": block["tool_use_id"],
        "status": status,
        "output": _parts(block.get("content") or _streamed(block)),
    }
    word = {"extras": {"block_type": block[_WORD]}} if _WORD in block else {}
    return {"type": "server_tool_result", **told, **word}


def joined(content: list[Any]) -> Iterator[Any]:
    """Yield content in which the results of Nova's tools have their type, which langchain-aws leaves out.

    Source: Amazon Nova: results of `nova_grounding`, `nova_code_interpreter` are named for them, with `_result` behind.
    """
    names: dict[str, str] = {}
    for block in content:
        wrapped = block.get("value", block) if isinstance(block, dict) else None
        bare: _Block = wrapped if isinstance(wrapped, dict) else {}
        if bare.get("type") == "server_tool_use" and str(bare.get("name")).startswith("nova_"):
            names[str(bare.get("id"))] = bare["name"]
        elif bare.get("type") in _ANSWERS and (name := names.get(str(bare.get("tool_use_id")))):
            block = {**bare, _WORD: f"{name}_result"}
        yield block


_WORD: Final = "type of the result"


def _input(given: Any) -> Any:
    """Read the input of a merged stream, a text, which is empty where there is none."""
    try:
        return json.loads(given or "{}") if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return given


def _streamed(block: _Block) -> Any:
    """Return the parts of a result that a merged stream left beside its content."""
    return [{key: block[key]} for key in ("json", "text") if key in block] or block.get("content")


def _parts(content: Any) -> Any:
    """Return a result's parts as the API has them: named by their key alone."""
    if not isinstance(content, list):
        return content
    return [
        {key: value for key, value in part.items() if key != "type"}
        if isinstance(part, dict) and part.get("type") in ("json", "text")
        else part
        for part in content
    ]
