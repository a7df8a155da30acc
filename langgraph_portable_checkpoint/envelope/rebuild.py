"""An envelope written back as the dump of the LangChain message that it was made from.

Owns the writing direction: one writer per message field, each from the neutral part and `state`. Class and module names
are data here; nothing is imported by them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from langgraph_portable_checkpoint.envelope.classes import MODULES, STANDARD_CLASS, fields_of, type_of
from langgraph_portable_checkpoint.envelope.entries import Entry, write_block
from langgraph_portable_checkpoint.envelope.fields import (
    CALL_IDS,
    OPENAI_ROLE,
    SIGNATURES,
    bare_call,
    calls_of,
    joined_reasoning,
)
from langgraph_portable_checkpoint.envelope.origins import DERIVED_METADATA

Loads: TypeAlias = Callable[[bytes], Any]


@dataclass(frozen=True, slots=True)
class _Source:
    """What a field writer may look at."""

    envelope: Mapping[str, Any]
    state: Mapping[str, Any]
    class_name: str
    id: str | None
    loads: Loads

    @property
    def blocks(self) -> list[dict[str, Any]]:
        content: list[dict[str, Any]] = self.envelope["content"]
        return content


def rebuild(
    envelope: Mapping[str, Any],
    *,
    id: str | None,  # noqa: A002 - LangChain's word
    loads: Loads,
) -> tuple[str, str, dict[str, Any]]:
    """Write an envelope back.

    Args:
        envelope: What `to_envelope` gave.
        id: The message id, which is stored beside the item.
        loads: The framework's serializer, for what only it can read.

    Returns:
        Module, class name and the dump, its keys in their original order.
    """
    state = envelope.get("state") or {}
    if "whole" in state:
        return _whole(state["whole"], message_id=id, loads=loads)
    module, name = _class_of(envelope["role"], state.get("class"))
    source = _Source(envelope, state, name, id, loads)
    order = state.get("order") or dict.fromkeys((*fields_of(name, envelope["role"]), *state.get("fields", ())))
    if "bytes" in state or "fields" in state:
        return module, name, {key: _write_field(source, key) for key in order}
    writers = _WRITERS
    return module, name, {key: writers[key](source) if key in writers else None for key in order}


def _whole(data: bytes, *, message_id: str | None, loads: Loads) -> tuple[str, str, dict[str, Any]]:
    module, name, fields = loads(data)
    if "id" in fields and fields["id"] is None:
        fields["id"] = message_id
    return module, name, fields


def _class_of(role: str, noted: Any) -> tuple[str, str]:
    if isinstance(noted, list):
        return noted[0], noted[1]
    name = noted or STANDARD_CLASS[role]
    return MODULES[name], name


def _write_field(source: _Source, key: str) -> Any:
    state = source.state
    if key in state.get("bytes", ()):
        return source.loads(state["bytes"][key])
    if key in state.get("fields", ()):
        return state["fields"][key]
    writer = _WRITERS.get(key)
    return None if writer is None else writer(source)


def _write_content(source: _Source) -> Any:
    entries: str | list[Entry] | None = source.state.get("content")
    blocks = source.blocks[source.state.get("lead", 0) :]
    if entries is None:
        return blocks[0]["text"] if blocks and blocks[0]["type"] == "text" else ""
    if isinstance(entries, str):
        return [write_block(block, entries, loads=source.loads) for block in blocks]
    return [
        write_block(block, entry, loads=source.loads)
        for block, entry in zip(blocks[: len(entries)], entries, strict=True)
    ]


def _write_kwargs(source: _Source) -> dict[str, Any]:
    noted = source.state.get("additional_kwargs", {})
    return {
        key: _DERIVED_KWARGS[key](source) if value is None and key in _DERIVED_KWARGS else value
        for key, value in noted.items()
    }


def _write_metadata(source: _Source) -> dict[str, Any]:
    noted = source.state.get("response_metadata", {})
    return {
        key: DERIVED_METADATA[key](source.envelope) if value is None and key in DERIVED_METADATA else value
        for key, value in noted.items()
    }


def _write_calls(source: _Source) -> list[dict[str, Any]]:
    return [
        {"name": block.get("name"), "args": block.get("args"), "id": block.get("id"), "type": "tool_call"}
        for block in source.blocks
        if block["type"] == "tool_call"
    ]


def _write_invalid_calls(source: _Source) -> list[dict[str, Any]]:
    return [
        {"type": block["type"], **{key: block.get(key) for key in ("id", "name", "args", "error")}}
        for block in source.blocks
        if block["type"] == "invalid_tool_call"
    ]


def _write_native_calls(source: _Source) -> list[Any] | None:
    entries = source.state.get("calls")
    if entries is None:
        return None
    calls = calls_of(source.blocks)
    each = [entries] * len(calls) if isinstance(entries, str) else entries
    return [_native_call(source, call, entry) for call, entry in zip(calls, each, strict=True)]


def _native_call(source: _Source, call: dict[str, Any], entry: Entry) -> Any:
    return write_block(bare_call(call), entry, loads=source.loads)


def _write_legacy_call(source: _Source) -> Any:
    entry = source.state.get("function_call")
    return None if entry is None else _native_call(source, calls_of(source.blocks)[-1], entry)


def _write_reasoning(source: _Source) -> Any:
    if not source.state.get("lead"):
        return None
    if "reasoning_details" in source.state:
        return joined_reasoning(source.blocks[: len(source.state["reasoning_details"])])
    entry, block = source.state.get("reasoning"), source.blocks[0]
    return block["reasoning"] if entry is None else write_block(block, entry, loads=source.loads)


def _write_details(source: _Source) -> Any:
    return _write_natives(source, "reasoning_details", start=0)


def _write_outputs(source: _Source) -> Any:
    entries = source.state.get("tool_outputs", ())
    return _write_natives(source, "tool_outputs", start=source.state.get("lead", 0) - len(entries))


def _write_natives(source: _Source, key: str, *, start: int) -> Any:
    entries = source.state.get(key)
    if entries is None:
        return None
    blocks = source.blocks[start : start + len(entries)]
    return [write_block(block, one, loads=source.loads) for block, one in zip(blocks, entries, strict=True)]


def _write_audio(source: _Source) -> Any:
    entry, block = source.state.get("audio"), source.blocks[-1] if source.blocks else None
    if block is None or block["type"] != "audio":
        return None
    return block.get("data") if entry is None else write_block(block, entry, loads=source.loads)


def _write_refusal(source: _Source) -> Any:
    return next((block["refusal"] for block in reversed(source.blocks) if block["type"] == "refusal"), None)


def _write_per_call(extra: str) -> Callable[[_Source], Any]:
    def write(source: _Source) -> Any:
        calls = calls_of(source.blocks)
        return {call["id"]: call["extras"][extra] for call in calls if extra in call.get("extras", {})} or None

    return write


_DERIVED_KWARGS: Final[dict[str, Callable[[_Source], Any]]] = {
    "tool_calls": _write_native_calls,
    "function_call": _write_legacy_call,
    "reasoning_content": _write_reasoning,
    "reasoning": _write_reasoning,
    "reasoning_details": _write_details,
    "tool_outputs": _write_outputs,
    "audio": _write_audio,
    "refusal": _write_refusal,
    OPENAI_ROLE: lambda source: source.envelope.get("role_detail"),
    SIGNATURES: _write_per_call("signature"),
    CALL_IDS: _write_per_call("item_id"),
}

_WRITERS: Final[dict[str, Callable[[_Source], Any]]] = {
    "content": _write_content,
    "additional_kwargs": _write_kwargs,
    "response_metadata": _write_metadata,
    "type": lambda source: type_of(source.class_name, source.envelope["role"]),
    "name": lambda source: source.envelope.get("name"),
    "id": lambda source: source.id,
    "tool_calls": _write_calls,
    "invalid_tool_calls": _write_invalid_calls,
    "usage_metadata": lambda source: source.envelope.get("usage"),
    "tool_call_id": lambda source: source.envelope.get("tool_call_id"),
    "artifact": lambda source: source.envelope.get("artifact"),
    "status": lambda source: source.envelope.get("status"),
    "role": lambda source: source.envelope.get("role_detail"),
    "tool_call_chunks": lambda source: [],
}
"""How each field is written where `state` does not hold it. A field without a writer is None then."""
