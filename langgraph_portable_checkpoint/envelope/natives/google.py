"""Native parts of Gemini, as the API gives them and as langchain-google-genai does.

Source: google-genai 3.6 types.Part; langchain-google-genai 4.4; rules G10, G11, G13.
"""

from __future__ import annotations

from typing import Any, Final

from langgraph_portable_checkpoint.envelope.natives.kind import Kind, table_kind
from langgraph_portable_checkpoint.envelope.natives.standard import call_block, reasoning_block, text_block


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)


def _kinds(suffix: str, *, spell: Any) -> dict[str, tuple[Kind, ...]]:
    call, inline, file = spell("function_call"), spell("inline_data"), spell("file_data")
    mime, signature = spell("mime_type"), {spell("thought_signature"): "extras.signature"}
    thought = table_kind(
        f"thought{suffix}",
        "reasoning",
        constants={"thought": True},
        fields={"text": "reasoning", **signature},
        after_read=reasoning_block,
    )
    text = table_kind(f"part{suffix}", "text", fields={"text": "text", **signature}, after_read=text_block)
    return {
        "text": (thought, text),
        call: (
            table_kind(
                f"call{suffix}",
                "tool_call",
                fields={
                    f"{call}.args": "args",
                    f"{call}.name": "name",
                    f"{call}.id": "id",
                    **signature,
                },
                after_read=call_block,
            ),
        ),
        inline: (
            table_kind(f"inline{suffix}", "file", fields={f"{inline}.data": "base64", f"{inline}.{mime}": "mime_type"}),
        ),
        file: (
            table_kind(
                f"uri{suffix}", "file", fields={f"{file}.{spell('file_uri')}": "url", f"{file}.{mime}": "mime_type"}
            ),
        ),
    }


_CAMEL: Final = _kinds("", spell=_camel)
_SNAKE: Final = _kinds("_", spell=str)
BY_KEY: Final[dict[str, tuple[Kind, ...]]] = {
    key: (*_CAMEL.get(key, ()), *_SNAKE.get(key, ())) for key in {**_CAMEL, **_SNAKE}
}
"""Parts have no `type`; the key that holds the data names the kind."""

BY_TYPE: Final[dict[str, tuple[Kind, ...]]] = {
    "media": (
        table_kind("media", "file", constants={"type": "media"}, fields={"data": "base64", "mime_type": "mime_type"}),
        table_kind(
            "media.uri", "file", constants={"type": "media"}, fields={"file_uri": "url", "mime_type": "mime_type"}
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
}
