"""Native chunks of Mistral.

Source: mistralai 3.7 ThinkChunk (`thinking` is a list of text chunks).
"""

from __future__ import annotations

from typing import Any, Final

from langgraph_portable_checkpoint.envelope.natives.kind import Kind, table_kind


def _joined(block: dict[str, Any]) -> dict[str, Any] | None:
    parts = block["reasoning"]
    if not isinstance(parts, list) or len(parts) != 1 or not isinstance(parts[0], dict):
        return None
    if list(parts[0]) != ["type", "text"] or parts[0]["type"] != "text" or not isinstance(parts[0]["text"], str):
        return None
    return {**block, "reasoning": parts[0]["text"]}


def _parts(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, "reasoning": [{"type": "text", "text": block["reasoning"]}]}


BY_TYPE: Final[dict[str, tuple[Kind, ...]]] = {
    "thinking": (
        table_kind(
            "think_chunk",
            "reasoning",
            constants={"type": "thinking"},
            fields={"thinking": "reasoning", "signature": "extras.signature"},
            after_read=_joined,
            before_write=_parts,
        ),
    ),
}
