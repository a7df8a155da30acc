"""Words for types of parts and items, by API: what has the word of another one is no part of a type yet unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .lint.anthropic_shapes import BLOCKS
from .lint.openai_chat import PARTS as CHAT_PARTS
from .lint.responses_shapes import ITEMS, PARTS
from .lint.shapes import words

_WORDS: Final[Mapping[str, frozenset[str]]] = {
    "anthropic": BLOCKS,
    "openai-responses": frozenset({*ITEMS, *PARTS}),
    "openai-chat": frozenset(CHAT_PARTS),
    "mistral": words("text image_url document_url input_audio file reference thinking"),
    "langchain": words(
        "text reasoning reasoning_content tool_call tool_call_chunk invalid_tool_call server_tool_call "
        "server_tool_call_chunk server_tool_result text-plain image audio video file non_standard media "
        "executable_code code_execution_result function_call_signature guard_content"
    ),
}


def words_of_others(dialect: str) -> frozenset[str]:
    """Return the types that an API does not know and another, or LangChain itself, does.

    >>> sorted({"tool_use", "function_call", "a_new_one"} & words_of_others("anthropic"))
    ['function_call']
    """
    return frozenset().union(*_WORDS.values()) - _WORDS[dialect]
