"""What recorded histories hold, counted without any of the package's readers: straight from the JSON.

Each function returns a Counter of user messages, answers, calls, results and media.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Counts = Counter[str]


def rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def dicts(value: Any) -> Iterator[dict[str, Any]]:
    """Every object anywhere inside a value."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from dicts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from dicts(inner)


def claude_code(path: Path) -> Counts:
    """Main-chain records of files that have no abandoned branches."""
    found: Counts = Counter()
    answers, calls, results = set(), set(), set()
    for row in rows(path):
        if row["type"] not in ("user", "assistant") or row.get("isSidechain"):
            continue
        content = row["message"]["content"]
        blocks = content if isinstance(content, list) else [{"type": "text"}]
        if row["type"] == "assistant":
            answers.add(row["message"]["id"])
            calls |= {block["id"] for block in blocks if block["type"] == "tool_use"}
        else:
            results |= {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
            found["user"] += any(block["type"] != "tool_result" for block in blocks)
        found["media"] += sum(one.get("type") in ("image", "document") and "source" in one for one in dicts(blocks))
    return found + Counter(answer=len(answers), call=len(calls), result=len(results))


def gemini(path: Path) -> Counts:
    """Contents, in either spelling."""
    found: Counts = Counter()
    for content in json.loads(path.read_text()):
        parts = content["parts"]
        keys = [key for part in parts for key in part]
        answers = [key for key in keys if key in ("functionResponse", "function_response")]
        found["result"] += len(answers)
        found["call"] += sum(key in ("functionCall", "function_call") for key in keys)
        found["media"] += sum(key in ("inlineData", "inline_data") for key in keys)
        if content.get("role") == "model":
            found["answer"] += 1
        else:
            found["user"] += len(answers) < len(parts)
    return found


def codex_rollout(path: Path) -> Counts:
    found: Counts = Counter()
    for row in rows(path):
        payload = row["payload"]
        if row["type"] == "response_item":
            found["call"] += payload["type"].endswith("_call")
            found["result"] += payload["type"].endswith("_output")
            found["reasoning"] += payload["type"] == "reasoning"
    return found


def codex_exec(path: Path) -> Counts:
    found: Counts = Counter()
    for row in rows(path):
        if row["type"] == "item.completed":
            kind = row["item"]["type"]
            found["text"] += kind == "agent_message"
            found["reasoning"] += kind == "reasoning"
            found["call"] += kind == "command_execution"
            found["result"] += kind == "command_execution"
    return found


def gemini_cli(path: Path) -> Counts:
    found: Counts = Counter()
    for message in json.loads(path.read_text())["messages"]:
        calls = message.get("toolCalls", [])
        found["user"] += message["type"] == "user"
        found["call"] += len(calls)
        found["result"] += sum(bool(call.get("result")) for call in calls)
        found["reasoning"] += len(message.get("thoughts", []))
    return found


def langchain(path: Path) -> Counts:
    found: Counts = Counter()
    for message in json.loads(path.read_text()):
        kwargs = message.get("kwargs", message)
        kind = message["id"][-1] if "lc" in message else message["type"]
        found["user"] += kind in ("HumanMessage", "human")
        found["answer"] += kind in ("AIMessage", "AIMessageChunk", "ai")
        found["result"] += kind in ("ToolMessage", "tool")
        found["call"] += len(kwargs.get("tool_calls") or [])
    return found


def of_envelopes(envelopes: Any) -> Counts:
    """The same counts of imported envelopes."""
    found: Counts = Counter()
    for envelope in envelopes:
        kinds = [block["type"] for block in envelope["content"]]
        found["user"] += envelope["role"] == "user"
        found["answer"] += envelope["role"] == "assistant"
        found["result"] += envelope["role"] == "tool"
        found["call"] += sum(kind in ("tool_call", "invalid_tool_call") for kind in kinds)
        found["media"] += sum(kind in ("image", "audio", "video", "file") for kind in kinds)
        found["reasoning"] += kinds.count("reasoning")
        found["text"] += kinds.count("text") * (envelope["role"] == "assistant")
    return found
