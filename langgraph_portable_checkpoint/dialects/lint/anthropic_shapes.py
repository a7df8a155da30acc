"""Keys and words of Anthropic messages, blocks, sources and citations: tables.

Source: anthropic 2.14, types and beta types.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from typing import Final

from .shapes import Shape, shape, words

MID_SYSTEM: Final = re.compile(r"opus-(4-[89]|[5-9])|(sonnet|haiku|fable)-[5-9]")
"""Models that know role system inside messages (A17)."""
NO_PREFILL: Final = re.compile(r"fable|mythos|(opus|sonnet|haiku)-(4-[6-9]|[5-9])")
"""Models that take no history that ends with the assistant (A14)."""
RESULT_BLOCKS: Final = words("text image search_result document tool_reference browser_state")
"""Types of blocks that the result of a tool may hold."""
BLOCK_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "text": frozenset({"type", "text", "citations", "cache_control"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "tool_use": frozenset({"type", "id", "name", "input", "cache_control", "caller", "toolset_name"}),
    "server_tool_use": frozenset({"type", "id", "name", "input", "cache_control", "caller"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"}),
    "image": frozenset({"type", "source", "cache_control", "transformations"}),
    "document": frozenset({"type", "source", "cache_control", "title", "context", "citations"}),
}
"""Keys of blocks as requests take them. A native block with others, such as a stream's index, is spelled anew."""
CITATIONS: Final[Mapping[str, Shape]] = {
    kind: shape(f"type! cited_text! {keys}", cited_text=str)
    for kind, keys in {
        "char_location": "document_index! document_title! start_char_index! end_char_index!",
        "page_location": "document_index! document_title! start_page_number! end_page_number!",
        "content_block_location": "document_index! document_title! start_block_index! end_block_index!",
        "search_result_location": "search_result_index! source! title! start_block_index! end_block_index!",
        "web_search_result_location": "encrypted_index! title! url!",
    }.items()
}
CITATION_KEYS: Final[Mapping[str, frozenset[str]]] = {kind: known.keys for kind, known in CITATIONS.items()}
"""Keys of citations as requests take them; answers have more. Source: anthropic 2.14, text_citation_param.py."""
PART_ROLES: Final[Mapping[str, frozenset[str]]] = {
    "container_upload": frozenset({"user", "assistant"}),
    "search_result": frozenset({"user", "assistant", "tool"}),
    "tool_reference": frozenset({"tool"}),
    "browser_state": frozenset({"tool"}),
}
"""Parts that may not stand everywhere, with the roles whose content may hold them; "tool" is a tool_result's."""
_DATA: Final = (str, os.PathLike, io.IOBase)
"""The SDK encodes open files and paths."""
_BY_REFERENCE: Final = {"url": shape("type! url!", url=str), "file": shape("type! file_id!", file_id=str)}
SOURCES: Final[Mapping[str, Mapping[str, Shape]]] = {
    "image": {
        "base64": shape(
            "type! data! media_type!", data=_DATA, media_type=words("image/jpeg image/png image/gif image/webp")
        ),
        **_BY_REFERENCE,
    },
    "document": {
        "base64": shape("type! data! media_type!", data=_DATA, media_type=words("application/pdf")),
        "text": shape("type! data! media_type!", data=str, media_type=words("text/plain")),
        "content": shape("type! content!", content=(str, list)),
        **_BY_REFERENCE,
    },
}
"""Sources by block type and their own. Source: anthropic 2.14, base64_image_source_param.py and its neighbours."""
CACHE_MARK: Final = shape("type! ttl", type=words("ephemeral"), ttl=words("5m 1h"))
MESSAGE_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "user": words("role content"),
    "assistant": words("role content"),
    "system": words("role content clear_at output_config"),
}
SERVER_RESULTS: Final[Mapping[str, str]] = {
    **{
        name: f"{name}_tool_result"
        for name in words(
            "advisor web_search web_fetch code_execution bash_code_execution text_editor_code_execution mcp"
        )
    },
    "tool_search_tool_regex": "tool_search_tool_result",
    "tool_search_tool_bm25": "tool_search_tool_result",
}
"""Type of the result by server tool. Source: anthropic 2.14, beta types, named after their tools."""
BLOCKS: Final = frozenset({*BLOCK_KEYS, *SERVER_RESULTS.values(), *RESULT_BLOCKS}) | words(
    "container_upload mcp_tool_use mcp_tool_listing compaction fallback tool_addition tool_removal"
)
"""Types of blocks that a history may hold. Source: anthropic 2.14, ContentBlockParam and BetaContentBlockParam."""
