"""What a block says beside its content: words of media, cache hints, and keys that only an application knows.

Owns what a renderer reports of it. A renderer names the keys that it has words for; the rest is left out and told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

from ..envelope.model import Block

MEDIA_PARTS: Final = frozenset({"image", "audio", "video", "file", "text-plain"})
UNSAID: Final = "what a part says beside its content was left out"
_WORDS: Final = ("title", "context", "detail", "transcript", "filename")
"""What a medium may say beside its bytes."""
_ASKED: Final = frozenset({*_WORDS, "file_id", "cache_hint", "extras"})
"""Keys of a block that may say something beside its content."""
_DETAILS: Final = frozenset({"auto", "low", "high", "original"})
"""How closely a model looks at an image. Source: openai-python, chat_completion_content_part_image_param.py."""
_SAYING: Final = MEDIA_PARTS | {"text", "tool_call", "invalid_tool_call"}
"""Blocks whose other keys are told; those that one provider alone knows go with their block."""
_FORMS: Final = """
type text refusal extras id call_id name input arguments args output content source url data mime_type base64 file_id
image_url video_url document_url document_name input_audio audio file_data file_url file image video
input_image input_file function custom toolUse toolResult document json inlineData inline_data fileData
functionCall function_call functionResponse function_response
"""
"""Keys that hold a native block's content."""
_KEPT_ELSEWHERE: Final = """
index logprobs item item_id status block_type field format thoughtSignature thought_signature cache_control
cachePoint annotations citations partial_json synthesized lengths
"""
"""Keys of what a provider only gives, or that become another block, a hint or citations."""
_KNOWN: Final = frozenset([*_FORMS.split(), *_KEPT_ELSEWHERE.split()])
_SOURCES: Final = frozenset({"base64", "data", "url"})
_DOCUMENTS: Final = frozenset({"file", "text-plain"})


def word_of(block: Block, key: str) -> str | None:
    """Return what a medium says under a key, also where LangChain's blocks keep it, among the extras."""
    found = block.get(key) or (block.get("extras") or {}).get(key)
    return found if isinstance(found, str) else None


def detail_of(block: Block) -> str | None:
    """Return how closely a model shall look at an image, where that is a word that providers know."""
    found = word_of(block, "detail")
    return found if found in _DETAILS else None


def unsaid(block: Block, *said: str, items: bool = False) -> str:
    """Name what a block says beside its content, but for the keys that a target has words for; "" if nothing.

    Args:
        block: The block.
        *said: Keys that the target has words for.
        items: It also takes the items of the Responses API, whole.
    """
    if block["type"] not in _SAYING or _ASKED.isdisjoint(block):
        return ""
    beside = _beside(block) if items else chain(_beside(block), _of_item(block))
    left = (key for key in beside if key not in said or (key == "detail" and not detail_of(block)))
    return ", ".join(dict.fromkeys(left))


def says_more(block: Block) -> bool:
    """True for a block that says more than its content, which no everyday text or call does."""
    return ("extras" in block or "cache_hint" in block) and bool(unsaid(block))


def keep_beside(block: Block, native: Mapping[str, Any]) -> None:
    """Put what a native block says beside its content under the extras of the block that was read from it."""
    if block["type"] not in _SAYING or native.keys() <= _KNOWN:
        return
    named = block["type"] in _DOCUMENTS  # whose readers know all words of media
    rest = {key: value for key, value in native.items() if value is not None and _is_own(key, named=named)}
    if rest:
        block["extras"] = rest | block.get("extras", {})


def _is_own(key: str, *, named: bool) -> bool:
    return key not in _KNOWN and not (named and key in _WORDS)


def omits_content(kept: Mapping[str, Any]) -> bool:
    """Tell whether a message that was read left its content out; what was not read by us may say anything."""
    omits = kept.get("omits")
    return isinstance(omits, (list, tuple)) and "content" in omits


def free_input(block: Block) -> str | None:
    """Return the input of a custom tool's call, a text that is no JSON; None for any other call."""
    args = block.get("args")
    said = args.get("__arg1") if isinstance(args, dict) and len(args) == 1 else None
    return said if isinstance(said, str) and _kind(block) in ("custom", "custom_tool_call") else None


def _kind(block: Block) -> str | None:
    """Return the native type of a call; None where it has none, or one that is no word."""
    extras = block.get("extras")
    item: Any = extras.get("item") if isinstance(extras, Mapping) else None
    told = extras.get("block_type") if isinstance(extras, Mapping) else None
    found = item.get("type") if isinstance(item, Mapping) else told
    return found if isinstance(found, str) else None


def _of_item(block: Block) -> Iterator[str]:
    """Name what a Responses item says beside its content; a call that is no function's is one everywhere else."""
    extras = block.get("extras")
    item: Any = extras.get("item") if isinstance(extras, Mapping) else None
    if block["type"] == "tool_call" and _kind(block) in _FREE_CALLS:
        yield str(_kind(block))
    if isinstance(item, Mapping):
        yield from (key for key, value in item.items() if value is not None and key not in _OF_ITEMS)


_FREE_CALLS: Final = frozenset(
    ("custom", "custom_tool_call", "shell_call", "local_shell_call", "apply_patch_call", "computer_call")
)
_OF_ITEMS: Final = _KNOWN | {"role", "action", "operation"}


def _beside(block: Block) -> Iterator[str]:
    media = block["type"] in MEDIA_PARTS
    if media:
        yield from (key for key in _WORDS if word_of(block, key) not in (None, "", "auto"))
        if block.get("file_id") and block.keys() & _SOURCES:
            yield "file_id"
    if block.get("cache_hint") is not None:
        yield "cache_hint"
    extras = block.get("extras")
    if isinstance(extras, Mapping):
        yield from (key for key, value in extras.items() if value is not None and _is_own(key, named=media))
