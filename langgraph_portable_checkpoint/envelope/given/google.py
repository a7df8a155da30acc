"""What langchain-google-genai does to parts of Google's own tools. Source: langchain-google-genai 4.4, `_compat.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_Block = dict[str, Any]
_CODE: Final = ("code_interpreter", "code_execution")
_NOT_SENT_BACK: Final = "media_processing"
"""Steps of Gemini's own that its API refuses when they come back."""
_MADE_IDS: Final[Mapping[Any, str]] = {"executable_code": "id", "code_execution_result": "tool_call_id"}
"""Ids that the integration makes up, by the type of its block."""
_OUTCOMES: Final[Mapping[Any, str]] = {1: "OUTCOME_OK", 2: "OUTCOME_FAILED", 3: "OUTCOME_DEADLINE_EXCEEDED"}


def touches(block: Mapping[str, Any]) -> bool:
    """True for a block that `undo` may change."""
    kind = block.get("type")
    if kind in ("server_tool_call", "server_tool_result"):
        return True
    return isinstance(kind, str) and _MADE_IDS.get(kind) in block


def undo(block: _Block) -> _Block:
    """Return the part as the API gave it."""
    made = _MADE_IDS.get(block["type"])
    if made is not None:
        return {key: value for key, value in block.items() if key != made}
    extras = block.get("extras") if isinstance(block.get("extras"), dict) else {}
    call = block["type"] == "server_tool_call"
    tool = block.get("name") if call else (extras or {}).get("block_type")
    if not isinstance(tool, str) or tool == _NOT_SENT_BACK:
        return block
    return _call(block, tool) if call else _answer(block, tool, extras or {})


def _call(block: _Block, tool: str) -> _Block:
    args = block.get("args")
    if tool in _CODE and isinstance(args, dict):
        return {"executableCode": {"code": args.get("code", ""), "language": args.get("language") or "PYTHON"}}
    return {"toolCall": {"id": block.get("id"), "toolType": tool.upper(), "args": args or {}}}


def _answer(block: _Block, tool: str, extras: Mapping[str, Any]) -> _Block:
    output = block.get("output")
    if tool == "code_execution_result":
        outcome = extras.get("outcome")
        outcome = _OUTCOMES.get(outcome, "OUTCOME_UNSPECIFIED") if isinstance(outcome, int) else outcome or "OUTCOME_OK"
        return {"codeExecutionResult": {"outcome": outcome, "output": output or ""}}
    return {"toolResponse": {"id": block.get("tool_call_id"), "toolType": tool.upper(), "response": output}}
