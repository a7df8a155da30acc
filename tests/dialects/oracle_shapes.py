"""The SDKs' own request types as strict JSON Schemas.

A TypeAdapter over the SDKs' TypedDicts checks almost nothing: nested `Iterable` becomes a lazy iterator, unknown keys
pass, and unions hold response models that take anything. So: `List`, extra="forbid", branches of response models and
of open files removed, and jsonschema as the judge.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema
from pydantic import ConfigDict, TypeAdapter


def _types(name: str) -> Any:
    if name == "openai-chat":
        from openai.types.chat import ChatCompletionMessageParam

        return ChatCompletionMessageParam
    if name == "openai-responses":
        from openai.types.responses import ResponseInputItemParam

        return ResponseInputItemParam
    if name == "anthropic":
        from anthropic.types.beta import BetaMessageParam

        return BetaMessageParam
    if name == "groq":
        from groq.types.chat import ChatCompletionMessageParam as GroqMessageParam

        return GroqMessageParam
    raise LookupError(name)


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    """Return the strict validator of a list of messages or items."""
    adapter: TypeAdapter[Any] = TypeAdapter(list[_types(name)], config=ConfigDict(extra="forbid"))  # type: ignore[misc]  # a computed type
    schema = adapter.json_schema()
    open_models = {key for key, found in schema["$defs"].items() if found.get("additionalProperties") is True}
    return jsonschema.Draft202012Validator(_without(schema, {f"#/$defs/{key}" for key in open_models}))


def _without(node: Any, refs: set[str]) -> Any:
    """Copy a schema without branches that are response models or paths."""
    if isinstance(node, list):
        return [_without(item, refs) for item in node]
    if not isinstance(node, dict):
        return node
    copy = {key: _without(value, refs) for key, value in node.items()}
    for key in ("anyOf", "oneOf"):
        if key in copy:
            copy[key] = [branch for branch in copy[key] if not _is_open(branch, refs)]
    return copy


def _is_open(branch: Any, refs: set[str]) -> bool:
    return isinstance(branch, dict) and (branch.get("$ref") in refs or branch.get("format") in ("path", "binary"))


def breaches(name: str, messages: Any) -> list[str]:
    """Return what is wrong with messages; empty if they fit."""
    plain = json.loads(json.dumps(messages, allow_nan=False))
    found = []
    for error in validator(name).iter_errors(plain):
        best = jsonschema.exceptions.best_match([error])
        found.append(f"{error.json_path}: {best.message[:300]}")
    return found
