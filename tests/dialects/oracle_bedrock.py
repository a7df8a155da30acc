"""What AWS says a Converse request is: botocore's validator, and its service model walked for what that leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.session
from botocore.validate import ParamValidator


@cache
def converse_shape() -> Any:
    """The input of the Converse operation."""
    return botocore.session.get_session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape


def complaints(payload: dict[str, Any]) -> list[str]:
    """Everything that AWS's own description of the request finds wrong."""
    request = {"modelId": "anthropic.claude-sonnet-4-5", **payload}
    report = ParamValidator().validate(request, converse_shape())
    found = [report.generate_report()] if report.has_errors() else []
    return found + [
        problem for key, value in payload.items() for problem in walk(value, converse_shape().members[key], key)
    ]


def walk(value: Any, shape: Any, path: str) -> Iterator[str]:
    """Check enums, patterns, lengths and unions, which botocore's validator does not."""
    if shape.type_name == "structure":
        if getattr(shape, "is_document_type", False):
            yield from plain(value, path)
            return
        if getattr(shape, "is_tagged_union", False) and len(value) != 1:
            yield f"{path}: {len(value)} members of a union"
        for key, inner in value.items():
            yield from (
                walk(inner, shape.members[key], f"{path}.{key}") if key in shape.members else [f"{path}.{key}: unknown"]
            )
    elif shape.type_name == "list":
        for index, inner in enumerate(value):
            yield from walk(inner, shape.member, f"{path}[{index}]")
    else:
        yield from scalar(value, shape, path)


def scalar(value: Any, shape: Any, path: str) -> Iterator[str]:
    limits, enum = shape.metadata, getattr(shape, "enum", None)
    if enum and value not in enum:
        yield f"{path}: {value!r} is not in {enum}"
    if "pattern" in limits and not re.fullmatch(limits["pattern"], value):
        yield f"{path}: does not match {limits['pattern']}"
    if hasattr(value, "__len__") and not limits.get("min", 0) <= len(value) <= limits.get("max", 10**9):
        yield f"{path}: length {len(value)}"
    if shape.type_name == "blob" and not isinstance(value, bytes):
        yield f"{path}: is {type(value).__name__}, not bytes"


def plain(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, float) and value != value:
        yield f"{path}: NaN"
    if isinstance(value, bytes):
        yield f"{path}: bytes in a document"
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from plain(inner, f"{path}.{key}")
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from plain(inner, f"{path}[{index}]")
