"""Rules of OpenTelemetry GenAI messages (O1 to O5): the published JSON schema, and its strict reading.

Strict: only part types that the conventions define, and no key of one's own without a dot in it.

Source: open-telemetry/semantic-conventions-genai, gen-ai-input-messages.json (2026).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..base import Finding, Rule

_SCHEMA: Final = "semantic-conventions-genai, gen-ai-input-messages.json"
RULES: Final = (
    Rule(id="O1", text="a list of messages with a role and a list of parts", source=_SCHEMA),
    Rule(id="O2", text="a part has a type of the conventions", source=_SCHEMA),
    Rule(id="O3", text="a part has the keys that its type requires, of the right kind", source=_SCHEMA),
    Rule(id="O4", text="keys of one's own hold a dot", source="opentelemetry naming of attributes"),
    Rule(id="O5", text="details of server tools are objects with a type", source=_SCHEMA),
)

_MEDIA: Final = {"modality": str}
REQUIRED: Final[Mapping[str, Mapping[str, type]]] = {
    "text": {"content": str},
    "reasoning": {"content": str},
    "tool_call": {"name": str},
    "tool_call_response": {"response": object},
    "server_tool_call": {"name": str, "server_tool_call": Mapping},
    "server_tool_call_response": {"server_tool_call_response": Mapping},
    "blob": {**_MEDIA, "content": str},
    "uri": {**_MEDIA, "uri": str},
    "file": {**_MEDIA, "file_id": str},
    "compaction": {},
}
_OPTIONAL: Final = {
    "tool_call": {"id", "arguments"},
    "tool_call_response": {"id"},
    "server_tool_call": {"id"},
    "server_tool_call_response": {"id"},
    "blob": {"mime_type", "transcript"},
    "uri": {"mime_type", "transcript"},
    "file": {"mime_type", "transcript"},
    "compaction": {"id", "content"},
}
_MESSAGE: Final = frozenset({"role", "parts", "name", "finish_reason"})


def lint_otel(payload: Any) -> list[Finding]:
    """Return every breach of O1 to O5 in messages. Never raises."""
    messages = payload.get("messages") if isinstance(payload, Mapping) else payload
    if not isinstance(messages, list):
        return [Finding(rule="O1", path="messages", message="is not a list")]
    return [found for index, message in enumerate(messages) for found in _message(message, f"messages[{index}]")]


def _message(message: Any, path: str) -> Iterator[Finding]:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        yield Finding(rule="O1", path=path, message="is no message with a role")
        return
    yield from _own_keys(message, _MESSAGE, path)
    parts = message.get("parts")
    if not isinstance(parts, list):
        yield Finding(rule="O1", path=f"{path}.parts", message="is not a list")
        return
    for index, part in enumerate(parts):
        yield from _part(part, f"{path}.parts[{index}]")


def _part(part: Any, path: str) -> Iterator[Finding]:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if not isinstance(kind, str) or kind not in REQUIRED:
        yield Finding(rule="O2", path=f"{path}.type", message=f"{kind!r:.40} is no type of the conventions")
        return
    for key, wanted in REQUIRED[kind].items():
        if key not in part or not isinstance(part[key], wanted):
            yield Finding(rule="O3", path=f"{path}.{key}", message="is missing or of the wrong kind")
    for key in ("id", "mime_type"):
        if not isinstance(part.get(key), (str, type(None))):
            yield Finding(rule="O3", path=f"{path}.{key}", message="is not text")
    details = part.get(kind) if kind.startswith("server_tool") else None
    if isinstance(details, Mapping) and not isinstance(details.get("type"), str):
        yield Finding(rule="O5", path=f"{path}.{kind}.type", message="is missing")
    yield from _own_keys(part, {"type", *REQUIRED[kind], *_OPTIONAL.get(kind, ())}, path)


def _own_keys(value: Mapping[Any, Any], known: frozenset[str] | set[str], path: str) -> Iterator[Finding]:
    for key in value:
        if key not in known and "." not in str(key):
            yield Finding(rule="O4", path=f"{path}.{key}", message="is no key of the conventions and has no dot")
