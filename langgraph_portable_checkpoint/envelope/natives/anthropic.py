"""Native blocks of Anthropic Messages, as the API and langchain-anthropic give them.

Source: anthropic 2.14 types; langchain-anthropic 1.7; rules A12b, A13 (thinking and server tools are opaque).
"""

from __future__ import annotations

from typing import Any, Final

from langgraph_portable_checkpoint.envelope.natives.calls import call_kinds
from langgraph_portable_checkpoint.envelope.natives.kind import Kind, Native, table_kind
from langgraph_portable_checkpoint.envelope.natives.standard import call_block, reasoning_block, text_block

THINKING: Final = table_kind(
    "thinking",
    "reasoning",
    constants={"type": "thinking"},
    fields={"thinking": "reasoning", "signature": "extras.signature"},
    accepts=reasoning_block,
)
REDACTED: Final = table_kind(
    "redacted",
    "reasoning",
    constants={"type": "redacted_thinking"},
    fields={"data": "extras.redacted_data"},
    fixed={"reasoning": ""},
)
TOOL_USE: Final = table_kind(
    "tool_use",
    "tool_call",
    constants={"type": "tool_use"},
    fields={"id": "id", "name": "name", "input": "args"},
    accepts=call_block,
)
STREAMED_USE: Final = call_kinds(
    "tool_use.streamed",
    constants={"type": "tool_use", "input": {}},
    fields={"id": "id", "name": "name"},
    arguments="partial_json",
)
"""langchain-anthropic's merged stream: the arguments stand in `partial_json`, `input` stays empty."""
STRING_USE: Final = call_kinds(
    "tool_use.string", constants={"type": "tool_use"}, fields={"id": "id", "name": "name"}, arguments="input"
)
"""langchain-aws's merged stream: `input` is the JSON text."""
SERVER_USE: Final = table_kind(
    "server_use",
    "server_tool_call",
    constants={"type": "server_tool_use"},
    fields={"id": "id", "name": "name", "input": "args"},
)
MCP_USE: Final = table_kind(
    "mcp_use",
    "server_tool_call",
    constants={"type": "mcp_tool_use"},
    fields={"id": "id", "name": "name", "input": "args"},
)


def _result(block: dict[str, Any]) -> dict[str, Any] | None:
    kind = block["extras"]["block_type"]
    return block if isinstance(kind, str) and kind.endswith("_tool_result") else None


SERVER_RESULT: Final = table_kind(
    "server_result",
    "server_tool_result",
    fields={"tool_use_id": "tool_call_id", "type": "extras.block_type", "content": "output"},
    after_read=_result,
)


def _source_kinds(native: str, neutral: str) -> tuple[Kind, ...]:
    names = {"title": "title", "context": "context"} if native == "document" else {}

    def kind(source: str, fields: dict[str, str], *, to: str = neutral) -> Kind:
        constants = {"type": native, "source.type": source}
        return table_kind(f"{native}.{source}", to, constants=constants, fields={**fields, **names})

    both = (
        kind("base64", {"source.media_type": "mime_type", "source.data": "base64"}),
        kind("url", {"source.url": "url"}),
        kind("file", {"source.file_id": "file_id"}),
    )
    text = {"source.media_type": "mime_type", "source.data": "text"}
    return both if native != "document" else (*both, kind("text", text, to="text-plain"))


def _joined_texts(block: dict[str, Any]) -> dict[str, Any] | None:
    """Join the texts of a document; `extras.lengths` tells where each ends. Parts that say more are no texts."""
    parts = block["extras"]["lengths"]
    if not isinstance(parts, list) or not parts or not all(map(_is_bare_text, parts)):
        return None
    lengths = [len(part["text"]) for part in parts]
    text = PART_BREAK.join([part["text"] for part in parts])
    return {**block, "text": text, "extras": {**block["extras"], "lengths": lengths}}


def _is_bare_text(part: Any) -> bool:
    bare = isinstance(part, dict) and part.keys() == {"type", "text"}
    return bare and part["type"] == "text" and isinstance(part["text"], str)


def _parted_texts(block: dict[str, Any]) -> dict[str, Any]:
    parts: list[dict[str, str]] = []
    start = 0
    for length in block["extras"]["lengths"]:
        parts.append({"type": "text", "text": block["text"][start : start + length]})
        start += length + len(PART_BREAK)
    return {**block, "extras": {**block["extras"], "lengths": parts}}


PART_BREAK: Final = "\n"
"""What stands between the texts of a document where they are read as one."""
_OF_CONTENT: Final = {"type": "document", "source.type": "content"}
_PLAIN: Final = {"mime_type": "text/plain"}
TEXT_CONTENT: Final = table_kind(
    "document.content",
    "text-plain",
    constants=_OF_CONTENT,
    fields={"source.content": "text", "title": "title", "context": "context"},
    fixed=_PLAIN,
    accepts=text_block,
)
PARTED_CONTENT: Final = table_kind(
    "document.parts",
    "text-plain",
    constants=_OF_CONTENT,
    fields={"source.content": "extras.lengths", "title": "title", "context": "context"},
    fixed=_PLAIN,
    after_read=_joined_texts,
    before_write=_parted_texts,
)
"""A document of several texts, each of which a citation may name."""


def _nested_only(kind: Kind) -> Kind:
    """Refuse a source with keys beside the ones of its kind: `write` could not bring them back."""

    def read(native: Native) -> dict[str, Any] | None:
        known = {"type", "media_type", "data", "url", "file_id", "content"}
        return kind.read(native) if set(native.get("source", ())) <= known else None

    return Kind(kind.name, read, kind.write, kind.tree)


BY_TYPE: Final[dict[str, tuple[Kind, ...]]] = {
    "thinking": (THINKING,),
    "redacted_thinking": (REDACTED,),
    "tool_use": (*STREAMED_USE, TOOL_USE, *STRING_USE),
    "server_tool_use": (SERVER_USE,),
    "mcp_tool_use": (MCP_USE,),
    "image": tuple(_nested_only(kind) for kind in _source_kinds("image", "image")),
    "video": tuple(_nested_only(kind) for kind in _source_kinds("video", "video")),
    "document": tuple(
        _nested_only(kind) for kind in (*_source_kinds("document", "file"), TEXT_CONTENT, PARTED_CONTENT)
    ),
    **{
        f"{tool}_tool_result": (SERVER_RESULT,)
        for tool in (
            "web_search",
            "web_fetch",
            "code_execution",
            "bash_code_execution",
            "text_editor_code_execution",
            "tool_search",
            "advisor",
            "mcp",
        )
    },
}
