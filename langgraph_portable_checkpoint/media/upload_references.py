"""Find what may expire of what a value names: uploads to providers, in messages and in messages within them.

Owns where is looked. What a model said in the arguments of a call is left alone: no provider opens links there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from langchain_core.messages import BaseMessage

from langgraph_portable_checkpoint.media.holes import Path
from langgraph_portable_checkpoint.media.references import Reference, find_references
from langgraph_portable_checkpoint.media.table import MediaTable
from langgraph_portable_checkpoint.media.walk import child_at, children

_CALLS: Final = frozenset(
    {"tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "server_tool_call", "tool_call_chunk"}
)
_CALLS_OF_GEMINI: Final = (("functionCall",), ("function_call",))
FIELDS: Final = ("content", "additional_kwargs", "response_metadata", "artifact")


def uploads_in(value: Any, table: MediaTable) -> Iterator[Reference]:
    """List the references that can expire: those of the table, Gemini's, then those of messages in it."""
    fields = fields_of(value) if isinstance(value, BaseMessage) else value
    yield from own_uploads(fields, table)
    for _, message in messages_in(fields):
        yield from uploads_in(message, table)


def own_uploads(value: Any, table: MediaTable) -> list[Reference]:
    """List those of a value, without those of messages in it."""
    return [
        found
        for found in find_references(value)
        if (found.kind == "google_file_uri" or table.by_uri(found.uri) is not None) and not _is_said(value, found.path)
    ]


def _is_said(node: Any, path: Path) -> bool:
    """Tell whether a path leads into the arguments of a call: a model said them, and no provider opens their links."""
    for at, step in enumerate(path):
        is_call = isinstance(node, Mapping) and (node.get("type") in _CALLS or path[at - 1 : at] in _CALLS_OF_GEMINI)
        if step == "tool_calls" or (is_call and step in ("args", "input")):
            return True
        node = child_at(node, step)
    return False


def messages_in(node: Any, path: Path = ()) -> Iterator[tuple[Path, BaseMessage]]:
    """List the messages that a value holds, without those in them."""
    for step, child in children(node):
        if isinstance(child, BaseMessage):
            yield (*path, step), child
        else:
            yield from messages_in(child, (*path, step))


def fields_of(message: BaseMessage) -> dict[str, Any]:
    """Return the fields of a message that may name uploads."""
    return {name: getattr(message, name) for name in FIELDS if hasattr(message, name)}
