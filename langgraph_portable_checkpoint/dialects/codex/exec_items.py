"""What one item of a `codex exec --json` stream says: words of the model, or a call with its result.

Tables by item type. What an item says beside what is read is kept under the extras of its block.

Source: codex-rs exec_events (ThreadItemDetails).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from ...envelope.model import Block
from .content import OWN, as_text, read_content, with_rest
from .runs import Item

FAILED: Final = ("failed", "declined", "error")
_HEAD: Final = ("type", "id", "status")


def read_said(item: Item) -> Block:
    """Read what the model said or thought; an item of unknown type is kept as it came."""
    kind = item.get("type")
    if kind in ("agent_message", "plan"):
        return _with_rest({"type": "text", "text": _said(item.get("text"))}, item, "text")
    if kind == "reasoning":
        return _with_rest({"type": "reasoning", "reasoning": _said(item.get("text"))}, item, "text")
    return {"type": "non_standard", "value": dict(item), "origin": {**OWN}}


def read_call(item: Item) -> Block | None:
    """Read the call that an item tells of, without its id; None where it tells of none."""
    read = _CALLS.get(str(item.get("type")))
    return read(item) if read else None


def read_result(item: Item) -> tuple[list[Block], dict[str, Any]]:
    """Read the content of a call's result, and what the tool gave beside it."""
    read = _RESULTS.get(str(item["type"]))
    return read(item) if read else ([as_text(_said(item.get("status") or "completed"))], {})


def _said(value: Any) -> str:
    """Return a text; what is none as its JSON."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _with_rest(block: Block, item: Item, *used: str) -> Block:
    beside: Block = with_rest({"type": block["type"]}, item, *_HEAD, *used)
    return {**block, "extras": {"codex": beside["extras"]}} if "extras" in beside else block


def _call(name: str, *keys: str, result: tuple[str, ...] = ()) -> Callable[[Item], Block]:
    def read(item: Item) -> Block:
        block: Block = {"type": "tool_call", "name": name, "args": {key: item[key] for key in keys if key in item}}
        return _with_rest(block, item, *keys, *result)

    return read


def _mcp(item: Item) -> Block:
    arguments = item.get("arguments")
    args = arguments if isinstance(arguments, dict) else {} if arguments is None else {"arguments": arguments}
    block: Block = {"type": "tool_call", "name": f"{item.get('server')}__{item.get('tool')}", "args": args}
    return _with_rest(block, item, "server", "tool", "arguments", "result", "error")


def _collab(item: Item) -> Block:
    keys = ("sender_thread_id", "receiver_thread_ids", "prompt")
    args = {key: item[key] for key in keys if item.get(key) is not None}
    block: Block = {"type": "tool_call", "name": _said(item.get("tool")) or "collab", "args": args}
    return _with_rest(block, item, "tool", "agents_states", *keys)


def _search(item: Item) -> Block:
    args = {key: item[key] for key in ("query", "action") if item.get(key) is not None}
    return _with_rest({"type": "server_tool_call", "name": "web_search", "args": args}, item, "query", "action")


def _command_result(item: Item) -> tuple[list[Block], dict[str, Any]]:
    code = item.get("exit_code")
    return [as_text(_said(item.get("aggregated_output")))], {} if code is None else {"exit_code": code}


def _mcp_result(item: Item) -> tuple[list[Block], dict[str, Any]]:
    """Read an error and the result beside it. The structured content is what the model read where there is no other."""
    error, result = item.get("error"), item.get("result")
    blocks = [] if error is None else [as_text(_message(error))]
    if not isinstance(result, Mapping):
        told = blocks or ([as_text(_said(item.get("status")))] if result is None else [])
        return told or [as_text(result)], {}
    blocks += read_content(result.get("content"))
    artifact = {key: value for key, value in result.items() if key != "content" and value is not None}
    if not blocks:
        blocks = [as_text(_said(artifact.get("structured_content")))]
    return blocks, artifact


def _message(error: Any) -> str:
    message = error.get("message") if isinstance(error, Mapping) else error
    return _said(error if message is None else message)


def _collab_result(item: Item) -> tuple[list[Block], dict[str, Any]]:
    states = item.get("agents_states")
    return ([as_text(states)], {"agents_states": states}) if states else ([as_text(_said(item.get("status")))], {})


_CALLS: Final[Mapping[str, Callable[[Item], Block]]] = {
    "command_execution": _call("shell", "command", result=("aggregated_output", "exit_code")),
    "file_change": _call("apply_patch", "changes"),
    "todo_list": _call("update_plan", "items"),
    "mcp_tool_call": _mcp,
    "collab_tool_call": _collab,
    "web_search": _search,
}
_RESULTS: Final[Mapping[str, Callable[[Item], tuple[list[Block], dict[str, Any]]]]] = {
    "command_execution": _command_result,
    "mcp_tool_call": _mcp_result,
    "collab_tool_call": _collab_result,
}
