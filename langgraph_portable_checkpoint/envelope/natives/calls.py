"""Calls whose arguments are a JSON text: how the text is parsed, and how its exact spelling comes back.

The neutral block holds the parsed `args`. The text is one of the usual spellings of them nearly always; then a stored
entry holds the spelling's number only. Else the block keeps the text as `arguments`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from langgraph_portable_checkpoint.envelope.natives.kind import Kind, table_kind

_INT64: Final = range(-(2**63), 2**64)


def _int64(text: str) -> int:
    number = int(text)
    if number not in _INT64:
        raise ValueError("an integer beyond 64 bit has no wire form")
    return number


def parse_arguments(arguments: Any) -> dict[str, Any] | None:
    """Read the JSON object of a call's `arguments`; None where it is not one. An empty text means no arguments."""
    if not isinstance(arguments, str):
        return None
    try:
        args = json.loads(arguments, parse_int=_int64) if arguments else {}
        if "\\u" in arguments:
            SPELLINGS[0](args).encode()  # a lone surrogate has no wire form
    except (ValueError, RecursionError):
        return None
    return args if isinstance(args, dict) else None


SPELLINGS: Final[tuple[Callable[[Any], str], ...]] = (
    json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode,
    json.JSONEncoder(ensure_ascii=False).encode,
    json.JSONEncoder(separators=(",", ":")).encode,
    json.JSONEncoder().encode,
)
"""The usual ways to spell a JSON object; a stored call notes the number of the one that gives its bytes."""


def spelling_of(args: Any, arguments: str) -> int | None:
    """Find the usual spelling that gives exactly `arguments`."""
    try:
        return next((number for number, spell in enumerate(SPELLINGS) if spell(args) == arguments), None)
    except (TypeError, ValueError, RecursionError):  # arguments that are not JSON were never spelled so
        return None


def _valid(block: dict[str, Any]) -> dict[str, Any] | None:
    args = parse_arguments(block["arguments"])
    return None if args is None else {**block, "args": args}


def _invalid(block: dict[str, Any]) -> dict[str, Any] | None:
    wrong = isinstance(block["args"], str) and parse_arguments(block["args"]) is None
    return block if wrong else None


def call_kinds(name: str, *, constants: dict[str, Any], fields: dict[str, str], arguments: str) -> tuple[Kind, Kind]:
    """Declare a call and its invalid twin; `arguments` is the native path of the JSON text."""
    valid = {arguments: "arguments", **fields}
    invalid = {arguments: "args", **fields}
    return (
        table_kind(name, "tool_call", constants=constants, fields=valid, after_read=_valid),
        table_kind(f"{name}.invalid", "invalid_tool_call", constants=constants, fields=invalid, after_read=_invalid),
    )
