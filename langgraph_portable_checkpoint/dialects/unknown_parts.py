"""Parts of an imported history that its dialect does not know: told one by one, or the whole payload refused.

A provider's new kind of block is kept as it came and told. A payload most of whose parts are unknown, some of them with
the words of another dialect, is not of this dialect: it was named wrongly, and is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..envelope.model import Block, MessageEnvelope
from ..errors import MalformedHistoryError
from .concerns import UNKNOWN_PART
from .native_parts import CONTENT_DOCUMENT, kind_of
from .report import Placed, Report
from .responses_items import USER_ITEMS

_KEYED: Final = frozenset({"google", "bedrock"})
"""Dialects whose parts say what they are by a key of their own; those of others do so by `type`."""
_OTEL: Final = "otel"
_CODEX: Final = "codex"
"""Name of the dialect, and the API of what it alone knows: that goes nowhere as it came."""
_KEPT: Final[Mapping[str, frozenset[str]]] = {
    "openai-responses": USER_ITEMS
    | {"compaction", "context_compaction", "mcp_list_tools", "mcp_approval_request", "program_output"},
    "anthropic": frozenset({"compaction", "container_upload", "search_result", "tool_reference", CONTENT_DOCUMENT}),
    "bedrock": frozenset({"cachePoint", "guardContent", "citationsContent", "toolAddition", "toolRemoval"}),
}
"""Kinds without a neutral place that a dialect knows all the same."""
_DIALECT_OF: Final = {
    "chat": "openai-chat",
    "responses": "openai-responses",
    "messages": "anthropic",
}
"""APIs whose parts of unknown type go back as they came, with their dialects."""
_FOREIGN_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "openai-chat": ("parts",),
    "mistral": ("parts",),
    "anthropic": ("parts", "tool_calls"),
    "openai-responses": ("parts", "tool_calls"),
    "bedrock": ("parts", "tool_calls"),
    "google": ("tool_calls",),
    "otel": (),
}
"""Keys of messages that hold content in other dialects."""
_WORDS: Final = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "document", "image", "server_tool_use"}
    | {"image_url", "input_audio", "input_text", "output_text", "input_image", "input_file", "refusal"}
    | {"function_call", "function_call_output", "reasoning", "tool_call", "tool_call_response", "blob", "uri"}
    | {"human", "ai", "tool", "system", "constructor"}
)
"""Types of parts, items and messages of the bundled dialects; unknown ones of these are another dialect's."""


@dataclass(frozen=True, kw_only=True)
class _Unknown:
    placed: Placed
    path: str
    kind: str
    foreign: bool


def tell_unknown(
    payload: Any, envelopes: Sequence[MessageEnvelope], dialect: str, *, kinds: Collection[str], report: Report
) -> None:
    """Report each part that the dialect does not know.

    Args:
        payload: What was read.
        envelopes: What was read from it.
        dialect: Name of the dialect.
        kinds: The types of their blocks.
        report: Is given the losses.

    Raises:
        MalformedHistoryError: The payload is of another dialect.
    """
    own = dialect in _FOREIGN_KEYS
    unknown = [*_foreign_keys(payload, dialect)] if own else []
    if "non_standard" in kinds:
        unknown += _parts(envelopes, dialect if own else "")
    if not unknown:
        return
    parts = sum(len(envelope["content"]) for envelope in envelopes)
    if own and len(unknown) * 2 > parts and any(one.foreign for one in unknown):
        problems = [f"message {one.placed.index} {one.path}: {one.kind} is not of this dialect" for one in unknown]
        raise MalformedHistoryError(dialect, problems)
    for one in unknown:
        action = "kept as it came what the dialect does not know"
        report.add(UNKNOWN_PART.rule, UNKNOWN_PART.kind, at=one.placed, path=one.path, action=action, detail=one.kind)


def _parts(envelopes: Sequence[MessageEnvelope], dialect: str) -> Iterator[_Unknown]:
    for index, envelope in enumerate(envelopes):
        for at, block in enumerate(envelope["content"]):
            if block["type"] != "non_standard" or (dialect == _OTEL and "raw" not in block):
                continue
            kind = kind_of(block.get("value"))
            known = dialect or _of_origin(block, envelope)
            if known and kind not in _KEPT.get(known, ()):
                foreign = _is_foreign(block, known)
                yield _Unknown(placed=Placed(envelope, index), path=f"content[{at}]", kind=kind, foreign=foreign)


def _of_origin(block: Block, envelope: MessageEnvelope) -> str:
    """Name the dialect that a part goes back to as it came, or that alone knows it; "" where there is none."""
    origin = block.get("origin") or envelope.get("origin") or {}
    if origin.get("api") == _CODEX:
        return _CODEX
    if "raw" not in block or "provider" not in origin:
        return ""
    return "mistral" if origin["provider"] == "mistral" else _DIALECT_OF.get(origin.get("api", ""), "")


def _is_foreign(block: Block, dialect: str) -> bool:
    value = block.get("value")
    kind = value.get("type") if isinstance(value, (dict, Mapping)) else None
    if dialect == _OTEL and isinstance(value, (dict, Mapping)):
        said = any(value[key] is not None for key in value if key != "type")
        return said and (kind in _WORDS or kind == "text")
    return kind is not None if dialect in _KEYED else not isinstance(kind, str) or kind in _WORDS


def _foreign_keys(payload: Any, dialect: str) -> Iterator[_Unknown]:
    keys = _FOREIGN_KEYS[dialect]
    without = frozenset(keys).isdisjoint
    for index, message in enumerate(_messages(payload)):
        if not isinstance(message, (dict, Mapping)) or without(message):
            continue
        for key in keys:
            if key in message and isinstance(message[key], list) and message[key]:
                placed = Placed({"v": 1, "role": "other", "content": []}, index)
                yield _Unknown(placed=placed, path=key, kind=key, foreign=True)


def _messages(payload: Any) -> Sequence[Any]:
    if isinstance(payload, (dict, Mapping)):
        payload = next((payload[key] for key in ("messages", "input", "contents") if key in payload), None)
    return payload if isinstance(payload, (list, tuple)) else ()
