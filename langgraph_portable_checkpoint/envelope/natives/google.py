"""Native parts of Gemini, as the API gives them and as langchain-google-genai does.

Source: google-genai 3.6 types.Part; langchain-google-genai 4.4; rules G10, G11, G13.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from langgraph_portable_checkpoint.envelope.natives.kind import Kind, table_kind
from langgraph_portable_checkpoint.envelope.natives.standard import call_block, reasoning_block, text_block


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)


def _media_type(block: dict[str, Any]) -> dict[str, Any] | None:
    mime_type = block.get("mime_type")
    if mime_type is not None and not isinstance(mime_type, str):
        return None
    kind = (mime_type or "").partition("/")[0]
    return {**block, "type": kind if kind in ("image", "audio", "video") else "file"}


def _uploaded(block: dict[str, Any]) -> dict[str, Any] | None:
    """A Files API upload is bound to its key and expires; it is a file id, not a URL."""
    uri = block.get("url")
    if not isinstance(uri, str):
        return None
    if uri.startswith("files/") or ("generativelanguage.googleapis.com" in uri and "/files/" in uri):
        block = {**block, "file_id": uri}
        del block["url"]
    return _media_type(block)


def _uri_again(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, "url": block["file_id"]} if "file_id" in block else block


def _outcome(block: dict[str, Any]) -> dict[str, Any]:
    outcome = block["output"].get("outcome", 1) if isinstance(block.get("output"), dict) else 1
    return {**block, "status": "success" if outcome in (1, "OUTCOME_OK", "OUTCOME_UNSPECIFIED") else "error"}


class _Parts:
    """The kinds of parts in one spelling of the keys."""

    def __init__(self, suffix: str, spell: Callable[[str], str]) -> None:
        self.suffix = suffix
        self.spell = spell

    def kinds(self) -> dict[str, tuple[Kind, ...]]:
        found: dict[str, tuple[Kind, ...]] = {"text": (self.thought(), self.text())}
        for key, kind in (
            ("function_call", self.call()),
            ("inline_data", self.inline()),
            ("file_data", self.uri()),
            ("executable_code", self.code()),
            ("code_execution_result", self.result()),
        ):
            found[self.spell(key)] = (kind,)
        return found

    def kind(self, name: str, neutral: str, fields: dict[str, str], **more: Any) -> Kind:
        signed = {**fields, self.spell("thought_signature"): "extras.signature"}
        return table_kind(f"{name}{self.suffix}", neutral, fields=signed, **more)

    def inside(self, field: str, keys: dict[str, str]) -> dict[str, str]:
        return {f"{self.spell(field)}.{self.spell(key)}": to for key, to in keys.items()}

    def thought(self) -> Kind:
        fields = {"text": "reasoning"}
        return self.kind("thought", "reasoning", fields, constants={"thought": True}, accepts=reasoning_block)

    def text(self) -> Kind:
        return self.kind("part", "text", {"text": "text"}, accepts=text_block)

    def call(self) -> Kind:
        fields = self.inside("function_call", {"args": "args", "name": "name", "id": "id"})
        return self.kind("call", "tool_call", fields, accepts=call_block)

    def inline(self) -> Kind:
        fields = self.inside("inline_data", {"data": "base64", "mime_type": "mime_type", "display_name": "filename"})
        return self.kind("inline", "file", fields, after_read=_media_type)

    def uri(self) -> Kind:
        fields = self.inside("file_data", {"file_uri": "url", "mime_type": "mime_type", "display_name": "filename"})
        return self.kind("uri", "file", fields, after_read=_uploaded, before_write=_uri_again)

    def code(self) -> Kind:
        fields = self.inside("executable_code", {"code": "args.code", "language": "args.language", "id": "id"})
        return self.kind("code", "server_tool_call", fields, fixed={"name": "code_execution"})

    def result(self) -> Kind:
        keys = {"output": "output.output", "outcome": "output.outcome", "id": "tool_call_id"}
        fields = self.inside("code_execution_result", keys)
        return self.kind("code_result", "server_tool_result", fields, after_read=_outcome)


_CAMEL: Final = _Parts("", _camel).kinds()
_SNAKE: Final = _Parts("_", str).kinds()
BY_KEY: Final[dict[str, tuple[Kind, ...]]] = {
    key: (*_CAMEL.get(key, ()), *_SNAKE.get(key, ())) for key in {**_CAMEL, **_SNAKE}
}
"""Parts have no `type`; the key that holds the data names the kind."""

BY_TYPE: Final[dict[str, tuple[Kind, ...]]] = {
    "media": (
        table_kind(
            "media",
            "file",
            constants={"type": "media"},
            fields={"data": "base64", "mime_type": "mime_type"},
            after_read=_media_type,
        ),
        table_kind(
            "media.uri",
            "file",
            constants={"type": "media"},
            fields={"file_uri": "url", "mime_type": "mime_type"},
            after_read=_uploaded,
            before_write=_uri_again,
        ),
    ),
    "executable_code": (
        table_kind(
            "executable_code",
            "server_tool_call",
            constants={"type": "executable_code"},
            fields={"executable_code": "args.code", "language": "args.language", "id": "id"},
            fixed={"name": "code_execution"},
        ),
    ),
    "code_execution_result": (
        table_kind(
            "code_execution_result",
            "server_tool_result",
            constants={"type": "code_execution_result"},
            fields={
                "code_execution_result": "output.output",
                "outcome": "output.outcome",
                "tool_call_id": "tool_call_id",
            },
            after_read=_outcome,
        ),
    ),
}
