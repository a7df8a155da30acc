"""Which wire API takes which native block kinds as they are.

Integrations keep some blocks as the provider spelled them and rewrite others. Only a block of the first sort may be
sent back verbatim, so only such a block is offered as `raw`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

_RESPONSES: Final = (
    "output_text input_text refusal function_call function_call.invalid custom_call rs rs2 web_search_call "
    "file_search_call code_interpreter_call image_generation_call mcp_call input_image input_image.id input_file "
    "input_file.id input_file.url"
)
_MESSAGES: Final = (
    "text thinking redacted tool_use server_use mcp_use server_result image.base64 image.url image.file "
    "document.base64 document.url document.file document.text"
)
_CHAT: Final = (
    "text refusal image_url input_audio file_data file_id chat_call chat_call.invalid audio_output think_chunk "
    "detail.text detail.summary detail.encrypted"
)
_CONVERSE: Final = (
    "part toolUse reasoningContent redactedContent image.bytes_bedrock video.bytes_bedrock audio.bytes_bedrock "
    "document.bytes_bedrock image.uri_bedrock video.uri_bedrock audio.uri_bedrock document.uri_bedrock"
)
_PARTS: Final = ("thought", "part", "call", "inline", "uri", "code", "code_result")
_KINDS: Final[dict[str, frozenset[str]]] = {
    "responses": frozenset(_RESPONSES.split()),
    "messages": frozenset(_MESSAGES.split()),
    "chat": frozenset(_CHAT.split()),
    "converse": frozenset(_CONVERSE.split()),
    "generate-content": frozenset((*_PARTS, *(f"{part}_" for part in _PARTS))),
}
_PLAIN_TEXT: Final = frozenset({"messages", "chat"})


def is_native(entry: Any, native: Any, api: str | None) -> bool:
    """Tell whether `api` takes a native block as it is. Where no API is known, the block is what it came as.

    Args:
        entry: The block's entry; a dict where it is of a known type but in a shape that no kind can write.
        native: The block.
        api: Our word for the wire API.
    """
    if isinstance(entry, dict) or api is None:
        return not isinstance(native, str) and (api is None or not _is_standard(native))
    kind = _kind_of(str(entry))
    if kind == "v1":
        return api in _PLAIN_TEXT and native.get("type") == "text" and "extras" not in native
    return kind == "any" or kind in _KINDS.get(api, ())


def _is_standard(native: Any) -> bool:
    """Tell one of LangChain's standard blocks, which no API takes, also with keys that LangChain does not know."""
    kind = native.get("type") if isinstance(native, dict) else None
    if kind == "reasoning":
        return "reasoning" in native
    return kind in _ONLY_STANDARD or (kind in _STANDARD_MEDIA and not _STANDARD_SOURCES.isdisjoint(native))


_ONLY_STANDARD: Final = (
    "tool_call",
    "tool_call_chunk",
    "invalid_tool_call",
    "server_tool_call",
    "server_tool_call_chunk",
    "server_tool_result",
    "non_standard",
    "text-plain",
)
_STANDARD_MEDIA: Final = ("image", "audio", "video", "file")
_STANDARD_SOURCES: Final = frozenset({"base64", "url", "file_id", "source_type"})


@lru_cache(maxsize=4096)
def _kind_of(entry: str) -> str:
    return entry.partition("/")[0].partition("~")[0]
