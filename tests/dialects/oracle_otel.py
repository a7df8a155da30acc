"""The messages schema of the OpenTelemetry GenAI conventions, written anew in its shape, read strictly.

Strict: no GenericPart (which would let any part pass), and keys of one's own must hold a dot.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from jsonschema import Draft202012Validator
from opentelemetry.util.genai import types

TEXT = {"type": "string"}
MAYBE = {"type": ["string", "null"]}
TYPED = {"type": "object", "properties": {"type": TEXT}, "required": ["type"]}
PARTS: dict[str, dict[str, Any]] = {
    "text": {"content": TEXT},
    "reasoning": {"content": TEXT},
    "tool_call": {"id": MAYBE, "name": TEXT, "arguments": {}},
    "tool_call_response": {"id": MAYBE, "response": {}},
    "server_tool_call": {"id": MAYBE, "name": TEXT, "server_tool_call": TYPED},
    "server_tool_call_response": {"id": MAYBE, "server_tool_call_response": TYPED},
    "blob": {"mime_type": MAYBE, "modality": TEXT, "content": TEXT},
    "uri": {"mime_type": MAYBE, "modality": TEXT, "uri": TEXT},
    "file": {"mime_type": MAYBE, "modality": TEXT, "file_id": TEXT},
    "compaction": {"id": MAYBE, "content": MAYBE},
}
OPTIONAL = {"id", "mime_type", "arguments", "content of compaction"}


def part_schema(kind: str) -> dict[str, Any]:
    keys = PARTS[kind]
    required = [] if kind == "compaction" else [key for key in keys if key not in OPTIONAL]
    return {
        "type": "object",
        "properties": {"type": {"const": kind}, **keys},
        "patternProperties": {r"\.": {}},
        "required": ["type", *required],
        "additionalProperties": False,
    }


VALIDATOR = Draft202012Validator(
    {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "role": TEXT,
                "name": MAYBE,
                "parts": {"type": "array", "items": {"oneOf": [part_schema(kind) for kind in PARTS]}},
            },
            "patternProperties": {r"\.": {}},
            "required": ["role", "parts"],
            "additionalProperties": False,
        },
    }
)
CLASSES = {
    "text": types.TextPart,
    "reasoning": types.ReasoningPart,
    "tool_call": types.ToolCallRequestPart,
    "tool_call_response": types.ToolCallResponsePart,
    "server_tool_call": types.ServerToolCallPart,
    "server_tool_call_response": types.ServerToolCallResponsePart,
    "blob": types.BlobPart,
    "uri": types.UriPart,
    "file": types.FilePart,
    "compaction": types.CompactionPart,
}


def complaints(messages: Any) -> list[str]:
    """Everything that the schema finds wrong, and every part that the official Python types cannot be built from."""
    found = [f"{list(error.absolute_path)}: {error.message[:80]}" for error in VALIDATOR.iter_errors(messages)]
    for message in messages if not found else ():
        for part in message["parts"]:
            CLASSES[part["type"]](**{key: value for key, value in part.items() if "." not in key})
    return found


def test_the_schema_knows_the_keys_of_the_official_types() -> None:
    for kind, known in CLASSES.items():
        assert {field.name for field in fields(known)} == {"type", *PARTS[kind]}, kind
