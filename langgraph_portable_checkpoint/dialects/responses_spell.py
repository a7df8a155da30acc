"""Neutral blocks spelled as parts and items of the Responses API, one by one.

What concerns a message or a history as a whole is `responses_write`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ..envelope.given.openai import annotation
from ..envelope.model import Block
from .arguments import write_arguments
from .beside import detail_of
from .chat_hosts import PART_KEYS
from .links import CALL_TYPES
from .media_parts import data_url_of
from .reasoning import open_texts
from .responses_items import CALLS
from .responses_keys import NATIVE_KEYS, known_item, output_form


def output_part(block: Block) -> dict[str, Any]:
    """Spell a part of an output message anew."""
    if block["type"] == "non_standard":
        return dict(known_item(block["value"]))
    if block["type"] == "refusal":
        return {"type": "refusal", "refusal": block["refusal"]}
    return {"type": "output_text", "text": block["text"], "annotations": list(filter(is_whole, notes_of([block])))}


def notes_of(blocks: Sequence[Block]) -> Iterator[Any]:
    """Spell the citations of texts that do not go back as they came."""
    cited = [block for block in blocks if block.get("annotations") and output_form(block) is None]
    return (annotation(note) for block in cited for note in block["annotations"])


def is_whole(note: Any) -> bool:
    """True for an annotation with the keys that the API demands."""
    return isinstance(note, Mapping) and note.keys() >= _NOTES.get(str(note.get("type")), {"?"})


_NOTES: Final[Mapping[str, frozenset[str]]] = {
    "url_citation": frozenset({"type", "url", "title", "start_index", "end_index"}),
    "file_citation": frozenset({"type", "file_id", "filename", "index"}),
    "container_file_citation": frozenset({"type", "container_id", "file_id", "filename", "start_index", "end_index"}),
    "file_path": frozenset({"type", "file_id", "index"}),
}
"""Keys of annotations. Source: openai 3.57, response_output_text_param.py."""


def reasoning_item(block: Block) -> dict[str, Any]:
    extras = block.get("extras") or {}
    said = open_texts(extras.get("content"))
    spoken = block.get("reasoning") if block.get("reasoning") != "\n\n".join(said) else ""
    texts = extras.get("summary") or ([spoken] if spoken else [])
    item: dict[str, Any] = {"type": "reasoning", "id": block.get("id")}
    item["summary"] = [{"type": "summary_text", "text": text} for text in texts if isinstance(text, str)]
    item["summary"] += [dict(part) for part in texts if isinstance(part, Mapping)]
    if said:
        item["content"] = [{"type": "reasoning_text", "text": text} for text in said]
    return item | ({"encrypted_content": extras["encrypted_content"]} if extras.get("encrypted_content") else {})


def call_item(block: Block, *, own: bool) -> dict[str, Any]:
    extras = block.get("extras") or {}
    head = extras.get("item")
    if own and isinstance(head, Mapping) and str(head.get("type")) in CALLS:
        known = NATIVE_KEYS.get(head["type"], head.keys())
        call: dict[str, Any] = {key: value for key, value in head.items() if key in known} | {
            "call_id": block.get("id")
        }
        asked = block.get("args")
        return call | ({"input": (asked or {}).get("__arg1")} if head["type"] == "custom_tool_call" else {})
    call = {"type": "function_call", "call_id": block.get("id"), "name": block.get("name")}
    call["arguments"] = write_arguments(block)
    if own and str(extras.get("item_id")).startswith("fc_"):
        call["id"] = extras["item_id"]
    known = NATIVE_KEYS["function_call"] if own else frozenset[str]()
    return call | {key: value for key, value in extras.items() if key in known and key not in (*call, "id", "type")}


def _image(block: Block) -> dict[str, Any]:
    url = data_url_of(block) or block.get("url")
    source = {"image_url": url} if url else {"file_id": block.get("file_id")}
    return {"type": "input_image", **source, "detail": detail_of(block) or "auto"}


def hints_of(block: Block) -> dict[str, Any]:
    """Return the hints that parts of the input may have."""
    return {key: value for key, value in (block.get("extras") or {}).items() if key in PART_KEYS}


def said_of(block: Block) -> tuple[str, ...]:
    """Name what a part says here beside its content."""
    hints = PART_KEYS if block["type"] not in CALL_TYPES else ()
    if block["type"] == "image":
        return ("detail", *hints)
    return ("filename", *hints) if block["type"] == "file" and data_url_of(block) is not None else hints


def _file(block: Block) -> dict[str, Any]:
    data = data_url_of(block)
    name = block.get("filename") or f"file.{(block.get('mime_type') or 'application/pdf').rpartition('/')[2]}"
    if data is not None:
        return {"type": "input_file", "filename": name, "file_data": data}
    if block.get("url"):
        return {"type": "input_file", "file_url": block["url"]}
    return {"type": "input_file", "file_id": block.get("file_id")}


PARTS: Final[Mapping[str, Callable[[Block], dict[str, Any]]]] = {
    "text": lambda block: {"type": "input_text", "text": block["text"]},
    "image": _image,
    "file": _file,
}
