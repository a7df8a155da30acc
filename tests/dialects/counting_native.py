"""What recorded OpenAI and Anthropic histories hold, counted straight from the JSON, without any reader."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.dialects.counting import dicts

Counts = Counter[str]


def openai_chat(messages: list[dict[str, Any]]) -> Counts:
    found: Counts = Counter()
    for message in messages:
        found[{"developer": "system", "tool": "result"}.get(message["role"], message["role"])] += 1
        found["call"] += len(message.get("tool_calls") or [])
        parts = message["content"] if isinstance(message.get("content"), list) else []
        found["media"] += sum(part["type"] in ("image_url", "file", "input_audio") for part in parts)
    return +found


def anthropic(payload: Any) -> Counts:
    found: Counts = Counter()
    for message in payload if isinstance(payload, list) else [payload]:
        content = message["content"]
        blocks = content if isinstance(content, list) else [{"type": "text"}]
        kinds = [block["type"] for block in blocks]
        found["result"] += kinds.count("tool_result")
        found["call"] += kinds.count("tool_use")
        found["reasoning"] += kinds.count("thinking") + kinds.count("redacted_thinking")
        found["server"] += sum(kind == "server_tool_use" or kind.endswith("_tool_result") for kind in kinds)
        ours = [block for block in blocks if block["type"] == "tool_result" or not block["type"].endswith("_result")]
        found["media"] += sum(one.get("type") in ("image", "document") and "source" in one for one in dicts(ours))
        if any(kind != "tool_result" for kind in kinds):
            found[message["role"]] += 1
    return +found


def openai_responses(payload: Any) -> Counts:
    found: Counts = Counter()
    items = payload if isinstance(payload, list) else payload["output"]
    models_before = False
    for item in items:
        kind = item.get("type", "message")
        client = kind.endswith("_output") or item.get("role") in ("user", "system", "developer")
        found["result"] += kind.endswith("_output")
        found["call"] += kind in ("function_call", "custom_tool_call", "shell_call", "apply_patch_call")
        found["reasoning"] += kind == "reasoning"
        found["server"] += kind == "web_search_call"
        found["user"] += item.get("role") == "user"
        found["media"] += sum(one.get("type") == "input_image" for one in dicts(item))
        found["assistant"] += not client and not models_before
        models_before = not client
    return +found


def of_envelopes(envelopes: Any) -> Counts:
    """The same counts of imported envelopes."""
    found: Counts = Counter()
    for envelope in envelopes:
        kinds = [block["type"] for block in envelope["content"]]
        found["result" if envelope["role"] == "tool" else envelope["role"]] += 1
        found["call"] += kinds.count("tool_call") + kinds.count("invalid_tool_call")
        found["reasoning"] += kinds.count("reasoning")
        found["server"] += kinds.count("server_tool_call") + kinds.count("server_tool_result")
        found["media"] += sum(kind in ("image", "audio", "file", "video") for kind in kinds)
    return +found
