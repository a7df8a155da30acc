"""A rollout's response items in the words of the Responses API, and marks on what the API does not know.

Codex writes its items with keys and types of its own, and earlier versions wrote some in other forms. What is left of
an item here is what the API takes back; parts and items without such a form get an origin that no provider shares.

Source: codex-rs protocol models.rs (ResponseItem, FunctionCallOutputPayload), versions 0.1 to 0.65 and later.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from ...envelope.model import Block, MessageEnvelope
from ..lint.responses_shapes import ITEMS, OUTPUT_PARTS, PARTS
from ..native_parts import kind_of
from ..responses_items import CALLS, HOSTED, OUTPUTS
from .content import OWN, medium, read_part

NO_ITEMS: Final = ("ghost_snapshot", "other", "compaction_trigger")
"""Types that a model is not sent."""
BARE: Final = frozenset({"message", "reasoning", *CALLS, *OUTPUTS, *HOSTED, "compaction"})
"""Types of items as the first versions wrote them, each as a line of its own."""
_ALIASES: Final = {"compaction_summary": "compaction"}
_OUTPUTS: Final = ("function_call_output", "custom_tool_call_output")
_BODY: Final = frozenset({"content", "content_items", "success"})
"""Keys of an output that is an object."""


def api_item(item: Mapping[str, Any], left: Counter[str]) -> dict[str, Any]:
    """Return an item as the API spells it; keys that it does not know are counted in `left`."""
    kind = str(item.get("type", "message"))
    kind = _ALIASES.get(kind, kind)
    if kind == "agent_message":
        return {"type": "message", "role": "user", "content": item.get("content")}
    known = ITEMS.get(kind)
    odd = [key for key in item if known and key not in known.keys and key != "status"]
    left.update(odd)
    spelled = {key: value for key, value in item.items() if key not in odd}
    if "type" in item:
        spelled["type"] = kind
    return {**spelled, "output": _output(item.get("output"))} if kind in _OUTPUTS else spelled


def _output(output: Any) -> Any:
    """Return an output as a text or a list of parts; older versions wrap it in an object with its success."""
    if isinstance(output, (str, list)):
        return output
    if not isinstance(output, Mapping):
        return "" if output is None else json.dumps(output)
    said, parts = output.get("content"), output.get("content_items")
    if isinstance(parts, list) and parts:
        return [*_unsaid(said, parts), *parts]
    if isinstance(said, (str, list)):
        return said
    rest = output if said is None and not output.keys() & _BODY else said
    return "" if rest is None else json.dumps(rest, ensure_ascii=False)


def _unsaid(said: Any, parts: list[Any]) -> list[dict[str, Any]]:
    """Return the text beside an output's parts, unless it is these parts again, as JSON or as their texts."""
    if not isinstance(said, str) or not said.strip() or said.lstrip().startswith(("[{", "[ {")):
        return []
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return [] if said in texts else [{"type": "input_text", "text": said}]


def dress(envelope: MessageEnvelope, item: Mapping[str, Any]) -> None:
    """Add what an item says of its message: who said it, whether a tool failed, what it gave beside its content."""
    if item.get("type") == "agent_message":
        envelope["typed_by_user"] = False
        said = {key: value for key, value in item.items() if key not in ("type", "content") and value is not None}
        envelope["extras"] = {"codex": said}
    output = item.get("output")
    if envelope["role"] != "tool" or not isinstance(output, Mapping):
        return
    rest = {key: value for key, value in output.items() if key not in _BODY}
    if rest and output.keys() & _BODY:
        envelope["artifact"] = rest
    if output.get("success") is False:
        envelope["status"] = "error"


def own_blocks(envelope: MessageEnvelope, *, start: int = 0) -> None:
    """Give blocks from `start` on a neutral form, or Codex's own origin, where the API does not know their item."""
    content = envelope["content"]
    for at in range(start, len(content)):
        block = content[at]
        if block["type"] == "non_standard" and not _is_known(block.get("value"), envelope["role"]):
            content[at] = _neutral(block)


def _is_known(value: Any, role: str) -> bool:
    if not isinstance(value, Mapping):
        return False
    kind = kind_of(value)
    if role == "tool":
        return kind in OUTPUT_PARTS
    if kind == "compaction":
        return bool(value.get("encrypted_content"))
    return kind in (ITEMS.keys() - {"message"} | PARTS.keys()) and not isinstance(value.get("audio_url"), str)


def _neutral(block: Block) -> Block:
    value = block.get("value")
    if isinstance(value, Mapping) and isinstance(value.get("audio_url"), str):
        return medium("audio", value["audio_url"], None)
    found = read_part(value)
    return {**block, "origin": {**OWN}} if found["type"] == "non_standard" else found
