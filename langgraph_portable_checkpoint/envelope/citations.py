"""Citations as LangChain's v1 annotations.

Stored blocks keep citations as the provider spelled them, under `extras`; read ones carry `annotations`. What has no
place in a v1 citation, its native type included, stays under the annotation's `extras`.

Source: langchain_core.messages.content.Citation; openai 3.57 annotation types; anthropic 2.14 citation types.
"""

from __future__ import annotations

from typing import Any, Final

_NEUTRAL: Final[dict[str, str]] = {
    "url": "url",
    "title": "title",
    "document_title": "title",
    "filename": "title",
    "cited_text": "cited_text",
}
_SPANS: Final = ("start_index", "end_index")
_KEYS: Final = ("annotations", "citations")
_V1_TYPES: Final = ("citation", "non_standard_annotation")


def with_annotations(block: dict[str, Any]) -> dict[str, Any]:
    """Return a text block with its citations as `annotations`; the same object where it has none."""
    extras = block.get("extras")
    if not extras or block["type"] != "text" or not any(key in extras for key in _KEYS):
        return block
    found = [one for key in _KEYS if isinstance(extras.get(key), list) for one in extras[key]]
    rest = {key: value for key, value in extras.items() if key not in _KEYS}
    if isinstance(inner := rest.get("extras"), dict):  # LangChain's block, whose own extras stand beside its citations
        rest = {**inner, **{key: value for key, value in rest.items() if key != "extras"}}
    unread = {key: extras[key] for key in _KEYS if extras.get(key) and not isinstance(extras[key], list)}
    block = {key: value for key, value in block.items() if key != "extras"}
    if found:
        block["annotations"] = [_annotation(one) for one in found]
    if rest or unread:
        block["extras"] = {**rest, **unread}
    return block


def _annotation(native: Any) -> dict[str, Any]:
    if not isinstance(native, dict) or not isinstance(native.get("extras", {}), dict):
        return {"type": "non_standard_annotation", "value": native}
    if native.get("type") in _V1_TYPES:
        return native
    # OpenRouter and Chat Completions nest the citation under the name of its type.
    inner = native.get(str(native.get("type")))
    flat = {"type": native["type"], **inner} if isinstance(inner, dict) else native
    spanned = flat.get("type") == "url_citation"
    citation: dict[str, Any] = {"type": "citation"}
    rest: dict[str, Any] = {}
    for key, value in flat.items():
        if key in _NEUTRAL and isinstance(value, str) and _NEUTRAL[key] not in citation:
            citation[_NEUTRAL[key]] = value
        elif spanned and key in _SPANS:
            citation[key] = value
        elif value is not None:
            rest[key] = value
    if len(citation) == 1:
        return {"type": "non_standard_annotation", "value": native}
    return {**citation, "extras": rest} if rest else citation
