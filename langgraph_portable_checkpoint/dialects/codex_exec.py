"""The stream of `codex exec --json` read as envelopes: each item in its last state, in the order of appearance.

The stream tells what happened, not what was sent: a command is a call of `shell` with its output as result. It does not
hold the prompt.

Source: codex-rs exec_events (ThreadEvent, ThreadItem).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ..envelope.model import ENVELOPE_VERSION, Block, MessageEnvelope, Origin
from .base import ImportOptions
from .jsonl import Line
from .report import Report

EVENTS: Final = (
    "thread.started",
    "turn.started",
    "turn.completed",
    "turn.failed",
    "item.started",
    "item.updated",
    "item.completed",
)
_FAILED: Final = ("failed", "declined", "error")
Item = Mapping[str, Any]


class ExecReader:
    """Reads the events of one stream."""

    def __init__(self, options: ImportOptions, report: Report) -> None:
        self.report = report
        self.origin: Origin = {"provider": "openai", "api": "codex-exec"}
        if options.model:
            self.origin["model"] = options.model
        self.found: list[MessageEnvelope] = []
        self.skipped: Counter[str] = Counter()

    def envelopes(self, lines: Sequence[Line]) -> list[MessageEnvelope]:
        last = _last_states(lines)
        seen: set[str] = set()
        self.report.add("CX4", "unresolved", action="began without the prompt", detail="a stream does not hold it")
        for line in lines:
            kind, item = str(line.value.get("type")), line.value.get("item")
            if not kind.startswith("item.") or not isinstance(item, Mapping):
                self._event(kind, line)
            elif _key(item, line) not in seen:
                seen.add(_key(item, line))
                self._item(last[_key(item, line)], line)
        if self.skipped:
            listed = ", ".join(f"{name} {count}" for name, count in sorted(self.skipped.items()))
            self.report.add("CX2", "dropped", action="left out events that are not messages", detail=listed)
        return self.found

    def _event(self, kind: str, line: Line) -> None:
        usage, error = line.value.get("usage"), line.value.get("error")
        if kind == "turn.completed" and isinstance(usage, Mapping):
            self._usage(usage)
        elif kind in ("turn.failed", "error"):
            message = error.get("message") if isinstance(error, Mapping) else line.value.get("message")
            path = f"line {line.number}"
            self.report.add("CX4", "unresolved", action="the turn failed", path=path, detail=str(message)[:200])
        else:
            self.skipped[kind[:40]] += 1

    def _usage(self, usage: Item) -> None:
        answers = [envelope for envelope in self.found if envelope["role"] == "assistant"]
        put, out = (
            value if isinstance(value := usage.get(key), int) else 0 for key in ("input_tokens", "output_tokens")
        )
        if answers:
            answers[-1]["usage"] = {"input_tokens": put, "output_tokens": out, "total_tokens": put + out}

    def _item(self, item: Item, line: Line) -> None:
        kind = str(item.get("type"))
        if kind == "error":
            path = f"line {line.number}"
            self.report.add(
                "CX4", "unresolved", action="an error item", path=path, detail=str(item.get("message"))[:200]
            )
            return
        make = _BLOCKS.get(kind)
        if make is None:
            self._answer().append({"type": "non_standard", "value": dict(item)})
            return
        block = make(item)
        self._answer().append(block)
        if block["type"] == "tool_call":
            block["id"] = str(item.get("id") or f"line_{line.number}")
            self._result(item, block)

    def _answer(self) -> list[Block]:
        if not self.found or self.found[-1]["role"] != "assistant":
            self.found.append({"v": ENVELOPE_VERSION, "role": "assistant", "content": [], "origin": {**self.origin}})
        return self.found[-1]["content"]

    def _result(self, item: Item, call: Block) -> None:
        """Add the result, unless the item was still going on when the stream ended."""
        if item.get("status") == "in_progress":
            return
        text = _RESULTS.get(str(item["type"]), _status)(item)
        failed = item.get("status") in _FAILED or item.get("exit_code") not in (None, 0)
        self.found.append(
            {
                "v": ENVELOPE_VERSION,
                "role": "tool",
                "content": [{"type": "text", "text": text}],
                "tool_call_id": call["id"],
                "name": call["name"],
                "status": "error" if failed else "success",
                "origin": {**self.origin},
            }
        )


def _status(item: Item) -> str:
    return str(item.get("status") or "completed")


def _key(item: Item, line: Line) -> str:
    return str(item.get("id") or f"line {line.number}")


def _last_states(lines: Sequence[Line]) -> dict[str, Item]:
    items = [(line, line.value["item"]) for line in lines if isinstance(line.value.get("item"), Mapping)]
    return {_key(item, line): item for line, item in items}


def _call(name: str, *keys: str) -> Callable[[Item], Block]:
    return lambda item: {"type": "tool_call", "name": name, "args": {key: item[key] for key in keys if key in item}}


def _mcp(item: Item) -> Block:
    arguments = item.get("arguments")
    args = arguments if isinstance(arguments, dict) else {} if arguments is None else {"arguments": arguments}
    return {"type": "tool_call", "name": f"{item.get('server')}__{item.get('tool')}", "args": args}


def _mcp_result(item: Item) -> str:
    error, result = item.get("error"), item.get("result")
    if isinstance(error, Mapping):
        return str(error.get("message"))
    content = result.get("content") if isinstance(result, Mapping) else None
    texts = [part["text"] for part in content or () if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
    return "\n".join(texts) if texts else json.dumps(result, ensure_ascii=False)


_BLOCKS: Final[Mapping[str, Callable[[Item], Block]]] = {
    "agent_message": lambda item: {"type": "text", "text": str(item.get("text") or "")},
    "reasoning": lambda item: {"type": "reasoning", "reasoning": str(item.get("text") or "")},
    "command_execution": _call("shell", "command"),
    "file_change": _call("apply_patch", "changes"),
    "todo_list": _call("update_plan", "items"),
    "mcp_tool_call": _mcp,
    "web_search": lambda item: {
        "type": "server_tool_call",
        "id": str(item.get("id")),
        "name": "web_search",
        "args": {"query": item.get("query")},
    },
}
_RESULTS: Final[Mapping[str, Callable[[Item], str]]] = {
    "command_execution": lambda item: str(item.get("aggregated_output") or ""),
    "mcp_tool_call": _mcp_result,
}
