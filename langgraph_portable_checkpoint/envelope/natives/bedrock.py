"""Native blocks of Bedrock Converse, as the API gives them and as langchain-aws does.

Source: botocore 1.44 bedrock-runtime service model, ContentBlock; langchain-aws 1.9; rule B12.
"""

from __future__ import annotations

from typing import Any, Final

from langgraph_portable_checkpoint.envelope.natives.kind import Kind, table_kind
from langgraph_portable_checkpoint.envelope.natives.standard import call_block, reasoning_block

_DOCUMENTS: Final[dict[str, str]] = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
}
_OF_DOCUMENTS: Final = {f"document.{word}": f"extras.{word}" for word in ("context", "citations")}
_FORMATS: Final = {mime: name for name, mime in _DOCUMENTS.items()}


def _mime(block: dict[str, Any]) -> dict[str, Any] | None:
    spelled, kind = block.get("mime_type"), block["type"]
    if not isinstance(spelled, str):
        return None
    if isinstance(block.get("data"), str):  # a history that went through JSON
        block["base64"] = block.pop("data")
    return {**block, "mime_type": _DOCUMENTS.get(spelled, spelled) if kind == "file" else f"{kind}/{spelled}"}


def _format(block: dict[str, Any]) -> dict[str, Any]:
    mime = block["mime_type"]
    if "base64" in block:
        block["data"] = block.pop("base64")
    return {**block, "mime_type": _FORMATS.get(mime, mime) if block["type"] == "file" else mime.partition("/")[2]}


def _media_kind(native: str, neutral: str, source: str, *, typed: bool) -> Kind:
    place = {"bytes": "data", "text": "text", "uri": "url"}[source]
    path = {"uri": "s3Location.uri"}.get(source, source)
    return table_kind(
        f"{native}.{source}{'.typed' if typed else ''}_bedrock",
        neutral,
        constants={"type": native} if typed else {},
        fields={
            f"{native}.source.{path}": place,
            f"{native}.format": "mime_type",
            f"{native}.name": "filename",
            **(_OF_DOCUMENTS if native == "document" else {}),
        },
        after_read=_mime,
        before_write=_format,
    )


BY_TYPE: Final[dict[str, tuple[Kind, ...]]] = {
    "reasoning_content": (
        table_kind(
            "reasoning_content",
            "reasoning",
            constants={"type": "reasoning_content"},
            fields={"reasoning_content.text": "reasoning", "reasoning_content.signature": "extras.signature"},
            accepts=reasoning_block,
        ),
        table_kind(
            "reasoning_content.redacted",
            "reasoning",
            constants={"type": "reasoning_content"},
            fields={"reasoning_content.redacted_content": "extras.redacted_data"},
            fixed={"reasoning": ""},
        ),
    ),
    "document": (_media_kind("document", "file", "bytes", typed=True),),
    "image": (_media_kind("image", "image", "bytes", typed=True),),
    "video": (_media_kind("video", "video", "bytes", typed=True),),
}
BY_KEY: Final[dict[str, tuple[Kind, ...]]] = {
    "toolUse": (
        table_kind(
            "toolUse",
            "tool_call",
            fields={"toolUse.toolUseId": "id", "toolUse.name": "name", "toolUse.input": "args"},
            accepts=call_block,
        ),
    ),
    "reasoningContent": (
        table_kind(
            "reasoningContent",
            "reasoning",
            fields={
                "reasoningContent.reasoningText.text": "reasoning",
                "reasoningContent.reasoningText.signature": "extras.signature",
            },
            accepts=reasoning_block,
        ),
        table_kind(
            "redactedContent",
            "reasoning",
            fields={"reasoningContent.redactedContent": "extras.redacted_data"},
            fixed={"reasoning": ""},
        ),
    ),
    **{
        native: tuple(_media_kind(native, neutral, source, typed=False) for source in ("bytes", "uri"))
        for native, neutral in (("image", "image"), ("video", "video"), ("audio", "audio"), ("document", "file"))
    },
}
