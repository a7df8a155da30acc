"""Blocks that are already neutral (LangChain's v1 standard blocks), plain strings, and the last resort.

Source: langchain_core.messages.content, langchain-core 1.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langgraph_portable_checkpoint.envelope.natives.kind import Kind, Native, table_kind

_MEDIA_KEYS: Final = frozenset(
    {"type", "id", "mime_type", "base64", "url", "file_id", "index", "extras", "cache_control"}
)
_KEYS: Final[dict[str, frozenset[str]]] = {
    "text": frozenset({"type", "id", "text", "extras", "cache_control", "index"}),
    "reasoning": frozenset({"type", "id", "reasoning", "extras", "index"}),
    "refusal": frozenset({"type", "id", "refusal", "extras", "index"}),
    "tool_call": frozenset({"type", "id", "name", "args", "extras", "index", "cache_control"}),
    "invalid_tool_call": frozenset({"type", "id", "name", "args", "error", "extras", "index"}),
    "image": _MEDIA_KEYS,
    "audio": _MEDIA_KEYS,
    "video": _MEDIA_KEYS,
    "file": _MEDIA_KEYS | {"filename"},
    "text-plain": _MEDIA_KEYS | {"text", "title", "context"},
    "server_tool_call": frozenset({"type", "id", "name", "args", "extras", "index"}),
    "server_tool_result": frozenset({"type", "id", "tool_call_id", "status", "output", "extras", "index"}),
    "non_standard": frozenset({"type", "id", "value", "index"}),
}
_REQUIRED: Final[dict[str, tuple[str, type]]] = {
    "text": ("text", str),
    "reasoning": ("reasoning", str),
    "refusal": ("refusal", str),
    "tool_call": ("args", dict),
    "server_tool_call": ("name", str),
    "server_tool_result": ("tool_call_id", str),
    "non_standard": ("value", object),
}


def _read_standard(native: Native) -> dict[str, Any] | None:
    if not isinstance(native, dict) or not native.keys() <= _KEYS.get(native["type"], frozenset()):
        return None
    key, wanted = _REQUIRED.get(native["type"], ("type", str))
    if not isinstance(native.get(key), wanted) or not isinstance(native.get("extras", {}), dict):
        return None
    return {("cache_hint" if key == "cache_control" else key): value for key, value in native.items()}


def _write_standard(block: Mapping[str, Any]) -> Native:
    return {("cache_control" if key == "cache_hint" else key): value for key, value in block.items()}


def _read_string(native: Native) -> dict[str, Any] | None:
    return {"type": "text", "text": native} if isinstance(native, str) else None


STANDARD: Final = Kind("v1", _read_standard, _write_standard, exact=True, by_keys=True)
STRING: Final = Kind("str", _read_string, lambda block: block["text"], exact=True)
VERBATIM: Final = Kind("any", lambda native: {"type": "non_standard", "value": native}, lambda block: block["value"])


def text_block(block: dict[str, Any]) -> bool:
    """Accept a block whose `text` is a string."""
    return isinstance(block.get("text"), str)


def reasoning_block(block: dict[str, Any]) -> bool:
    """Accept a block whose `reasoning` is a string."""
    return isinstance(block.get("reasoning"), str)


def call_block(block: dict[str, Any]) -> bool:
    """Accept a tool call whose arguments are a map."""
    return isinstance(block.get("args"), dict)


TEXT: Final = table_kind(
    "text", "text", constants={"type": "text"}, fields={"text": "text", "id": "id"}, accepts=text_block
)
REFUSAL: Final = table_kind("refusal", "refusal", constants={"type": "refusal"}, fields={"refusal": "refusal"})


def _read_loosely(native: Native) -> dict[str, Any] | None:
    """Read a standard block with keys of its maker's own; they go under `extras`. Nothing is proven by this kind."""
    keys = _KEYS.get(native["type"], frozenset())
    extras = native.get("extras")
    silent = {"reasoning": ""} if native["type"] == "reasoning" else {}
    known = _read_standard({**silent, **{key: value for key, value in native.items() if key in keys}})
    rest = {key: value for key, value in native.items() if key not in keys}
    if known is None:
        return None
    return {**known, "extras": {**(extras if isinstance(extras, dict) else {}), **rest}}


def _no_summary(block: dict[str, Any]) -> bool:
    """Leave Responses items, whose text is their summary, to their own kind."""
    return "summary" not in block.get("extras", {})


LOOSE: Final = Kind("v1.loose", _read_loosely, _write_standard)
V1_REASONING: Final = table_kind(
    "v1.reasoning",
    "reasoning",
    constants={"type": "reasoning"},
    fields={
        "reasoning": "reasoning",
        "id": "id",
        "encrypted_content": "extras.encrypted_content",
        "extras.signature": "extras.signature",
    },
    accepts=reasoning_block,
)
"""langchain-core puts `encrypted_content` beside `extras`, not into it."""
V1_SILENT: Final = tuple(
    table_kind(
        f"v1.{opaque}",
        "reasoning",
        constants={"type": "reasoning"},
        fields={opaque: opaque if "." in opaque else f"extras.{opaque}", "id": "id"},
        fixed={"reasoning": ""},
        accepts=_no_summary,
    )
    for opaque in ("extras.signature", "extras.encrypted_content", "encrypted_content")
)
"""Standard reasoning without a text."""


def _v0_kinds(media: str) -> tuple[Kind, ...]:
    sources = (("base64", "data", "base64"), ("url", "url", "url"), ("id", "id", "file_id"), ("text", "text", "text"))
    return tuple(
        table_kind(
            f"v0.{media}.{source}",
            "text-plain" if source == "text" else media,
            constants={"type": media, "source_type": source},
            fields={key: to, "mime_type": "mime_type", "filename": "filename"},
        )
        for source, key, to in sources
    )


BY_TYPE: Final[dict[str, tuple[Kind, ...]]] = {
    "text": (TEXT,),
    "reasoning": (V1_REASONING, *V1_SILENT),
    **{media: _v0_kinds(media) for media in ("image", "audio", "video", "file")},
}
