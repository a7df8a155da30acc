"""Short histories as envelopes, to say in one line what a test is about."""

from __future__ import annotations

from typing import Any

PNG = "iVBORw0KGgo="
OPENAI = {"provider": "openai", "api": "chat", "model": "gpt-4o"}
RESPONSES = {"provider": "openai", "api": "responses", "model": "gpt-5"}
CLAUDE = {"provider": "anthropic", "api": "messages", "model": "claude-sonnet-4-5"}


def message(role: str, *content: Any, **keys: Any) -> Any:
    blocks = [text(block) if isinstance(block, str) else block for block in content]
    return {"v": 1, "role": role, "content": blocks, **keys}


def user(*content: Any, **keys: Any) -> Any:
    return message("user", *content, **keys)


def assistant(*content: Any, **keys: Any) -> Any:
    return message("assistant", *content, **keys)


def system(*content: Any, **keys: Any) -> Any:
    return message("system", *content, **keys)


def result(call_id: str | None, *content: Any, **keys: Any) -> Any:
    return message("tool", *(content or ("done",)), tool_call_id=call_id, status=keys.pop("status", "success"), **keys)


def text(words: str, **keys: Any) -> Any:
    return {"type": "text", "text": words, **keys}


def call(call_id: str | None, name: str = "search", **args: Any) -> Any:
    return {"type": "tool_call", "id": call_id, "name": name, "args": args}


def thought(words: str = "hm", **extras: Any) -> Any:
    return {"type": "reasoning", "reasoning": words, **({"extras": extras} if extras else {})}


def image(**keys: Any) -> Any:
    return {"type": "image", "mime_type": "image/png", **(keys or {"base64": PNG})}
