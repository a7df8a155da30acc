"""What an imported message carries beside itself, so that reading it gives the envelope it was made from.

`write_message` keeps in `additional_kwargs[OVERLAY]` what LangChain's message has no place for: native blocks, item
origins, the source's own fields. It only changes how the message is *read*: storage keeps it like any other value. It
counts for the very content it was made for; when that was edited, it is ignored. So is what nobody wrote who knows the
format: a change that leaves a block or an envelope with values of wrong types, or with a native form that says another
thing than its block.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

from langgraph.checkpoint.serde.jsonplus import _msgpack_enc

from langgraph_portable_checkpoint.envelope.typed import well_typed_message

OVERLAY: Final = "portable_checkpoint"
_SEALED: Final = ("content", "tool_calls", "invalid_tool_calls", "tool_call_id")


def seal(fields: Mapping[str, Any]) -> str:
    """Name the content that an overlay belongs to."""
    return blake2b(_msgpack_enc([fields.get(key) for key in _SEALED]), digest_size=12).hexdigest()


def overlay_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the overlay of a dumped message; empty where there is none, or where it is of other content."""
    kwargs = fields.get("additional_kwargs")
    found = kwargs.get(OVERLAY) if isinstance(kwargs, dict) else None
    if not isinstance(found, dict) or not isinstance(found.get("blocks", []), list):
        return {}
    return found if found.get("of") == seal(fields) else {}


def overlaid(envelope: dict[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """Apply an overlay to a read envelope; one that makes no envelope of it is ignored: files of others hold any."""
    changes, blocks = overlay.get("envelope"), overlay.get("blocks")
    found = _changed(envelope, changes) if isinstance(changes, dict) else envelope
    content = found.get("content")
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        return envelope
    if isinstance(blocks, list) and len(blocks) == len(content):
        pairs = zip(content, blocks, strict=True)
        content = [_changed(block, change) if isinstance(change, dict) else block for block, change in pairs]
    found = {**found, "content": content}
    return found if well_typed_message(found) and all(map(_is_sound, content)) else envelope


def _is_sound(block: Mapping[str, Any]) -> bool:
    """True unless a text or a call has a native form that says another thing."""
    return "raw" not in block or block["type"] not in _SAYING or _agrees(block, block["raw"])


_SAYING: Final = ("text", "tool_call")
_WRAPPED: Final = ("toolUse", "functionCall", "function_call", "function")
"""Keys under which a native call has its fields."""
_SAME: Final = {"text": "text", "name": "name", "call_id": "id", "toolUseId": "id"}
"""Keys of native texts and calls that hold what their block has, with the block's own."""


def _agrees(block: Mapping[str, Any], raw: Any) -> bool:
    """Tell whether the native form of a text or a call says what its block says, where it says it."""
    if not isinstance(raw, dict) or not isinstance(raw.get("type", ""), str):
        return False
    inner = next((raw[key] for key in _WRAPPED if key in raw), raw)
    if not isinstance(inner, dict) or not isinstance(inner.get("type", ""), str):
        return False
    if inner is not raw and not inner.keys() >= ({"toolUseId", "name"} if "toolUse" in raw else {"name"}):
        return False
    if any(inner.get(key) not in (None, block.get(ours)) for key, ours in _SAME.items() if ours in block):
        return False
    own_id = block["type"] != "tool_call" or "call_id" in raw or raw.get("id") in (None, block.get("id"))
    freely = raw.get("type") == "custom_tool_call"
    return own_id and (freely or all(isinstance(inner.get(key) or {}, dict) for key in ("input", "args")))


def _changed(value: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    gone = changes.get("unset")
    kept = {key: item for key, item in value.items() if not isinstance(gone, list) or key not in gone}
    sets = changes.get("set")
    return {**kept, **sets} if isinstance(sets, dict) else kept


def difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any] | None:
    """The changes that make `found` equal `wanted`; None where it does."""
    sets = {key: value for key, value in wanted.items() if key not in found or not is_same(found[key], value)}
    unset = [key for key in found if key not in wanted]
    if not sets and not unset:
        return None
    return {**({"set": sets} if sets else {}), **({"unset": unset} if unset else {})}


def is_same(left: Any, right: Any) -> bool:
    """Tell whether values are equal, types and the order of keys included: a reader sees no difference."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    return bool(left == right) if type(left) is str else bool(_msgpack_enc(left) == _msgpack_enc(right))
