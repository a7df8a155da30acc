"""Native blocks of OpenAI Chat Completions and Responses, and of the hosts that speak Chat Completions.

Source: openai 3.57 types; langchain-openai 1.7; rules C11, C12, R2, R7, R12.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from langgraph_portable_checkpoint.envelope.natives.calls import call_kinds
from langgraph_portable_checkpoint.envelope.natives.kind import Kind, table_kind
from langgraph_portable_checkpoint.envelope.natives.standard import REFUSAL, reasoning_block, text_block

_DATA_URL: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,", re.ASCII)


def _split_data_url(block: dict[str, Any]) -> dict[str, Any] | None:
    url = block.get("url")
    if url is None:
        return block
    found = _DATA_URL.match(url) if isinstance(url, str) else None
    if found:
        del block["url"]
        block.update(mime_type=found[1], base64=url[found.end() :])
    return block if isinstance(url, str) else None


def _join_data_url(block: dict[str, Any]) -> dict[str, Any]:
    if "base64" in block:
        block["url"] = f"data:{block.pop('mime_type')};base64,{block.pop('base64')}"
    return block


def _media_kind(name: str, neutral: str, **table: Any) -> Kind:
    return table_kind(name, neutral, after_read=_split_data_url, before_write=_join_data_url, **table)


_AUDIO: Final = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_FORMATS: Final = {mime: name for name, mime in _AUDIO.items()}


def _audio_mime(block: dict[str, Any]) -> dict[str, Any] | None:
    spelled = block.get("mime_type")
    if not isinstance(spelled, str):
        return None
    return {**block, "mime_type": _AUDIO.get(spelled, f"audio/{spelled}")}


def _audio_format(block: dict[str, Any]) -> dict[str, Any]:
    mime = block["mime_type"]
    return {**block, "mime_type": _FORMATS.get(mime, mime.removeprefix("audio/"))}


FUNCTION_CALL: Final = call_kinds(
    "function_call",
    constants={"type": "function_call"},
    fields={"name": "name", "call_id": "id", "id": "extras.item_id", "status": "extras.status"},
    arguments="arguments",
)
CHAT_CALL: Final = call_kinds(
    "chat_call",
    constants={"type": "function"},
    fields={"function.name": "name", "id": "id"},
    arguments="function.arguments",
)
LEGACY_CALL: Final = call_kinds("legacy_call", constants={}, fields={"name": "name"}, arguments="arguments")
CUSTOM_CALL: Final = table_kind(
    "custom_call",
    "tool_call",
    constants={"type": "custom_tool_call"},
    fields={"input": "args.__arg1", "name": "name", "call_id": "id", "id": "extras.item_id"},
)


_SUMMARY_ORDERS: Final[dict[str, tuple[str, ...]]] = {
    "rs": ("type", "text"),
    "rs2": ("text", "type"),
    "rs.streamed": ("index", "type", "text"),
    "rs2.streamed": ("type", "text", "index"),
}
"""Key orders of a summary's parts; merged streams number them by `index`."""


def _read_summary(order: tuple[str, ...]) -> Callable[[dict[str, Any]], dict[str, Any] | None]:
    def after_read(block: dict[str, Any]) -> dict[str, Any] | None:
        parts = block["extras"].pop("summary")
        if not isinstance(parts, list) or any(not isinstance(part, dict) or tuple(part) != order for part in parts):
            return None
        texts = [part["text"] for part in parts]
        if any(not isinstance(text, str) for text in texts):
            return None
        if len(texts) > 1:
            block["extras"]["summary"] = texts
        rest = {key: value for key, value in block.items() if key != "extras" or value}
        return {**rest, "reasoning": "\n\n".join(texts)}

    return after_read


def _write_summary(order: tuple[str, ...]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def before_write(block: dict[str, Any]) -> dict[str, Any]:
        texts = block.get("extras", {}).get("summary")
        if texts is None:
            texts = [block["reasoning"]] if block["reasoning"] else []
        parts = [
            {key: {"type": "summary_text", "text": text, "index": index}[key] for key in order}
            for index, text in enumerate(texts)
        ]
        return {**block, "extras": {**block.get("extras", {}), "summary": parts}}

    return before_write


REASONING: Final = tuple(
    table_kind(
        name,
        "reasoning",
        constants={"type": "reasoning"},
        fields={"summary": "extras.summary", "id": "id", "encrypted_content": "extras.encrypted_content"},
        after_read=_read_summary(order),
        before_write=_write_summary(order),
    )
    for name, order in _SUMMARY_ORDERS.items()
)


def _no_text(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, "reasoning": ""}


def _hosted(tool: str, **fields: str) -> Kind:
    table = {"id": "id", **fields}
    constants = {"type": f"{tool}_call"}
    fixed = {} if "name" in fields else {"name": tool}
    return table_kind(f"{tool}_call", "server_tool_call", constants=constants, fields=table, fixed=fixed)


HOSTED: Final = (
    _hosted("web_search", action="args"),
    _hosted("file_search"),
    _hosted("code_interpreter"),
    _hosted("image_generation"),
    _hosted("mcp", name="name"),
)


AUDIO_OUTPUT: Final = table_kind(
    "audio_output",
    "audio",
    fields={"id": "file_id", "data": "base64"},
)
"""The `audio` of an assistant message; only its id may be sent back (C12)."""


def _detail_kind(part: str, fields: dict[str, str], **more: Any) -> Kind:
    constants = {"type": f"reasoning.{part}"}
    fixed = {"extras": {"field": "reasoning_details"}}
    return table_kind(f"detail.{part}", "reasoning", constants=constants, fields=fields, fixed=fixed, **more)


DETAILS: Final = (
    _detail_kind("text", {"text": "reasoning", "signature": "extras.signature"}, accepts=reasoning_block),
    _detail_kind("summary", {"summary": "reasoning"}, accepts=reasoning_block),
    _detail_kind("encrypted", {"data": "extras.encrypted_content"}, after_read=_no_text),
)
"""The entries of `reasoning_details`, as OpenRouter gives them."""


def _text_kind(native: str) -> Kind:
    return table_kind(native, "text", constants={"type": native}, fields={"text": "text"}, accepts=text_block)


IMAGE_URL: Final = _media_kind(
    "image_url",
    "image",
    constants={"type": "image_url"},
    fields={"image_url.url": "url", "image_url.detail": "detail", "extras.signature": "extras.signature"},
)
IMAGE_STRING: Final = _media_kind("image_string", "image", constants={"type": "image_url"}, fields={"image_url": "url"})
INPUT_AUDIO: Final = table_kind(
    "input_audio",
    "audio",
    constants={"type": "input_audio"},
    fields={"input_audio.data": "base64", "input_audio.format": "mime_type"},
    after_read=_audio_mime,
    before_write=_audio_format,
)
FILE_DATA: Final = _media_kind(
    "file_data",
    "file",
    constants={"type": "file"},
    fields={"file.file_data": "url", "file.filename": "filename"},
)
FILE_ID: Final = table_kind(
    "file_id",
    "file",
    constants={"type": "file"},
    fields={"file.file_id": "file_id", "file.filename": "filename"},
)
INPUT_IMAGE: Final = (
    _media_kind(
        "input_image",
        "image",
        constants={"type": "input_image"},
        fields={"image_url": "url", "detail": "detail"},
    ),
    table_kind(
        "input_image.id",
        "image",
        constants={"type": "input_image"},
        fields={"file_id": "file_id", "detail": "detail"},
    ),
)
INPUT_FILE: Final = (
    _media_kind(
        "input_file",
        "file",
        constants={"type": "input_file"},
        fields={"file_data": "url", "filename": "filename"},
    ),
    table_kind(
        "input_file.id",
        "file",
        constants={"type": "input_file"},
        fields={"file_id": "file_id", "filename": "filename"},
    ),
    table_kind(
        "input_file.url",
        "file",
        constants={"type": "input_file"},
        fields={"file_url": "url", "filename": "filename"},
    ),
)

BY_TYPE: Final[dict[str, tuple[Kind, ...]]] = {
    "refusal": (REFUSAL,),
    "function_call": FUNCTION_CALL,
    "function": CHAT_CALL,
    "custom_tool_call": (CUSTOM_CALL,),
    "reasoning": REASONING,
    "output_text": (_text_kind("output_text"),),
    "input_text": (_text_kind("input_text"),),
    "image_url": (IMAGE_URL, IMAGE_STRING),
    "input_audio": (INPUT_AUDIO,),
    "file": (FILE_DATA, FILE_ID),
    "input_image": INPUT_IMAGE,
    "input_file": INPUT_FILE,
    **{kind.name: (kind,) for kind in HOSTED},
    **{kind.name.replace("detail", "reasoning"): (kind,) for kind in DETAILS},
}
