"""What Google says contents are: the SDK's types, which refuse unknown fields, and the protobuf, which knows oneofs."""

from __future__ import annotations

import base64
import json
from typing import Any

from google.ai import generativelanguage_v1beta as gl
from google.genai import types
from google.protobuf import json_format
from pydantic import ValidationError

NEWER = ("toolCall", "toolResponse", "partMetadata", "mediaResolution")
"""Part fields that the SDK knows and the published protobuf does not."""


def complaints(payload: dict[str, Any]) -> list[str]:
    """Everything that the SDK's types or the protobuf find wrong with a request."""
    found: list[str] = []
    contents = [*payload["contents"]]
    if "system_instruction" in payload:
        contents.append(payload["system_instruction"])
    for index, content in enumerate(contents):
        found += sdk(content, index) + protobuf(content, index)
    return found


def sdk(content: Any, index: int) -> list[str]:
    try:
        read = types.Content.model_validate(content)
    except ValidationError as error:
        return [f"contents[{index}]: {problem['loc']} {problem['msg']}" for problem in error.errors()]
    return [] if read.parts else [f"contents[{index}]: no parts"]


def protobuf(content: Any, index: int) -> list[str]:
    if any(field in json.dumps(content, default=str) for field in NEWER):
        return []
    try:
        json_format.ParseDict(plain(content), gl.Content.pb(gl.Content()))
    except json_format.ParseError as error:
        return [f"contents[{index}]: {error}"]
    return []


def plain(value: Any) -> Any:
    """Bytes as base64, as the SDK sends them; ids of code executions, which only the newer protobuf has, left out."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        code = "code" in value or "outcome" in value
        return {key: plain(item) for key, item in value.items() if not (code and key == "id")}
    return [plain(item) for item in value] if isinstance(value, list) else value
