"""Chat recordings of the Gemini CLI as contents: what its model said, the tools' answers, and the user's prompts.

Source: gemini-cli ChatRecordingService, session files of 2025 (`messages` with `type` user or gemini).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Content = dict[str, Any]


def is_recording(keys: Mapping[str, Any]) -> bool:
    """Tell a recording by its own keys."""
    return isinstance(keys.get("messages"), list) and "sessionId" in keys and "role" not in keys


def contents_of(message: Any) -> Iterator[tuple[str, Content, dict[str, Any]]]:
    """Yield the contents of one recorded message: a path inside it, the content, and the facts of the response.

    Nothing is yielded for what is no part of the conversation (messages of type info, warning, error).
    """
    if not isinstance(message, Mapping):
        return
    kind, content = message.get("type"), message.get("content")
    if kind == "user":
        yield ".content", {"role": "user", "parts": _parts(content)}, {}
    elif kind == "gemini":
        calls = [call for call in _list(message.get("toolCalls")) if isinstance(call, Mapping)]
        yield (
            "",
            {"role": "model", "parts": [*_thoughts(message), *_parts(content), *map(_call, calls)]},
            _facts(message),
        )
        answers = [part for call in calls for part in _list(call.get("result")) if isinstance(part, Mapping)]
        if answers:
            yield ".toolCalls", {"role": "user", "parts": answers}, {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _parts(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"text": content}] if content else []
    return [{"text": part} if isinstance(part, str) else part for part in _list(content)]


def _thoughts(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for thought in _list(message.get("thoughts")):
        if isinstance(thought, Mapping):
            texts = [str(thought[key]) for key in ("subject", "description") if thought.get(key)]
            yield {"text": "\n\n".join(texts), "thought": True}


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    fields = {key: call[key] for key in ("id", "name", "args") if key in call}
    return {"functionCall": fields}


def _facts(message: Mapping[str, Any]) -> dict[str, Any]:
    tokens = message.get("tokens")
    counts = tokens if isinstance(tokens, Mapping) else {}
    usage = {
        "promptTokenCount": counts.get("input"),
        "candidatesTokenCount": counts.get("output"),
        "thoughtsTokenCount": counts.get("thoughts"),
        "totalTokenCount": counts.get("total"),
    }
    return {"modelVersion": message.get("model"), **({"usageMetadata": usage} if counts else {})}
