"""Where an integration of LangChain keeps what an envelope says: among a message's parts, or beside them.

One form for each wire API, after what its integration makes of an answer and takes back; see `spellings` for parts that
it takes in a spelling of its own alone. What has no form stands in LangChain's v1 blocks.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from langgraph_portable_checkpoint.envelope.fields import CALL_TYPES, SIGNATURES
from langgraph_portable_checkpoint.envelope.model import MessageEnvelope
from langgraph_portable_checkpoint.envelope.spellings import (
    converse_spells,
    gemini_spells,
    in_responses_content,
    of_converse,
    of_gemini,
    of_responses_text,
)

_Block = Mapping[str, Any]
Content = str | list[Any]
_STANDARD_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "text": ("id", "text", "annotations", "extras"),
    "reasoning": ("id", "reasoning", "extras"),
    "refusal": ("id", "refusal", "extras"),
    "tool_call": ("id", "name", "args", "extras"),
    "invalid_tool_call": ("id", "name", "args", "error", "extras"),
    "text-plain": ("id", "mime_type", "text", "title", "context", "base64", "url", "file_id", "extras"),
    "server_tool_call": ("id", "name", "args", "extras"),
    "server_tool_result": ("id", "tool_call_id", "status", "output", "extras"),
    "non_standard": ("id", "value"),
    **dict.fromkeys(("image", "audio", "video"), ("id", "mime_type", "base64", "url", "file_id", "extras")),
    "file": ("id", "mime_type", "base64", "url", "file_id", "filename", "extras"),
}
"""The keys that LangChain's v1 blocks have; the rest of a block goes into the overlay."""


def api_of(envelope: MessageEnvelope) -> str:
    """Return our word for the wire API of a message, "" where it has none."""
    return envelope.get("origin", {}).get("api", "")


def keeps_native(envelope: MessageEnvelope) -> bool:
    """Tell whether the message's integration keeps native blocks in content."""
    return _form_of(envelope).native is not None


def content_of(envelope: MessageEnvelope) -> Content:
    """Return the message's content: a text where there is nothing but one, native blocks, or v1 blocks."""
    form, answers = _form_of(envelope), envelope["role"] == "assistant"
    blocks: list[_Block] = [block for block in envelope["content"] if not _is_beside(block, form, answers=answers)]
    if not blocks:
        return ""
    only = blocks[0] if len(blocks) == 1 else {}
    plain = only.get("type") == "text" and set(only) <= {"type", "text", "raw"}
    if plain and (form.native is None or "raw" not in only):
        return str(only["text"])
    if form.spell is not None:
        return form.spell(blocks, answers, is_spelled(envelope))
    return [(form.native or standard)(block) for block in blocks]


def fields_beside(envelope: MessageEnvelope) -> dict[str, Any]:
    """Return what the integration of an answer keeps in `additional_kwargs`."""
    return _form_of(envelope).kwargs(envelope)


def version_of(envelope: MessageEnvelope, content: Content) -> dict[str, Any]:
    """Name the version of content in response metadata: v1 where it is LangChain's blocks."""
    v1 = isinstance(content, list) and not keeps_native(envelope) and not is_spelled(envelope)
    return {OUTPUT_VERSION: "v1"} if v1 else {}


OUTPUT_VERSION: Final = "output_version"


def is_spelled(envelope: MessageEnvelope) -> bool:
    """True for an answer without LangChain's v1 blocks: integrations drop parts of their own between those.

    In them langchain-google-genai sends no thought back that is not signed, and langchain-aws no citation.
    """
    spells = _form_of(envelope).spells
    return spells is not None and envelope["role"] == "assistant" and all(map(spells, envelope["content"]))


def standard(block: _Block) -> dict[str, Any]:
    """Write a block as LangChain's v1 block."""
    keys = _STANDARD_KEYS.get(block["type"], ())
    found = {"type": block["type"], **{key: block[key] for key in keys if block.get(key) is not None}}
    if "data" in block:
        encoded = base64.b64encode(block["data"]).decode("ascii")
        return {key: value for key, value in found.items() if key != "base64"} | {"base64": encoded}
    return found


def _is_beside(block: _Block, form: _Form, *, answers: bool) -> bool:
    """Tell whether a block stands in a field of its own and not in content."""
    if block["type"] in CALL_TYPES:
        return answers and not form.holds_call(block)
    return form.beside(block, answers)


def _raw_or_standard(block: _Block) -> Any:
    return block["raw"] if isinstance(block.get("raw"), dict) and "type" in block["raw"] else standard(block)


def _responses_block(block: _Block) -> Any:
    """langchain-openai rewrites texts and keeps every other item as it is."""
    if block["type"] in ("text", "refusal"):
        return of_responses_text(block, standard(block))
    return _raw_or_standard(block)


def _gemini_content(blocks: list[_Block], _answers: bool, spelled: bool) -> list[Any]:
    return [of_gemini(block, standard) if spelled else standard(block) for block in blocks]


def _converse_content(blocks: list[_Block], answers: bool, spelled: bool) -> list[Any]:
    return [part for block in blocks for part in of_converse(block, standard, answers=answers, spelled=spelled)]


def _is_beside_chat(block: _Block, answers: bool) -> bool:
    thinks = block["type"] == "reasoning" and not _is_mistral_s(block)
    return thinks or block["type"] == "refusal" or (answers and _is_spoken(block))


def _is_mistral_s(block: _Block) -> bool:
    """True for a thought that stands among the parts of an answer."""
    return isinstance(block.get("raw"), dict) and block["raw"].get("type") == "thinking"


def _is_spoken(block: _Block) -> bool:
    """True for what a model spoke, which Chat Completions knows by its id."""
    return block["type"] == "audio" and isinstance(block.get("file_id"), str)


def _signatures(envelope: MessageEnvelope) -> dict[str, Any]:
    """Signatures of Gemini's calls, where langchain-google-genai has them."""
    asked = [block for block in envelope["content"] if block["type"] == "tool_call" and _is_key(block.get("id"))]
    signed = {block["id"]: told for block in asked if (told := (block.get("extras") or {}).get("signature"))}
    return {SIGNATURES: signed} if signed else {}


def _is_key(call_id: Any) -> bool:
    """True for a text that a stored mapping can have as its key: without lone surrogates."""
    return bool(call_id) and call_id == call_id.encode(errors="ignore").decode()


def _beside_chat(envelope: MessageEnvelope) -> dict[str, Any]:
    """Calls, reasoning, speech and refusal where Chat Completions has them."""
    calls = [block for block in envelope["content"] if block["type"] in CALL_TYPES]
    native = [block["raw"] for block in calls if isinstance(block.get("raw"), dict) and "function" in block["raw"]]
    kwargs: dict[str, Any] = {"tool_calls": native} if calls and len(native) == len(calls) else {}
    reasoning = [block for block in envelope["content"] if block["type"] == "reasoning" and not _is_mistral_s(block)]
    if reasoning and all(block.get("extras", {}).get("field") == "reasoning_details" for block in reasoning):
        kwargs["reasoning_details"] = [block.get("raw") for block in reasoning]
    elif reasoning:
        named = reasoning[0].get("extras", {}).get("field")
        field = "reasoning" if named == "reasoning" else "reasoning_content"
        kwargs[field] = "".join(block.get("reasoning", "") for block in reasoning)
    spoken: _Block | None = next((block for block in envelope["content"] if _is_spoken(block)), None)
    if spoken is not None:
        told = {"id": spoken["file_id"]} | ({"data": spoken["base64"]} if spoken.get("base64") else {})
        kwargs["audio"] = spoken["raw"] if isinstance(spoken.get("raw"), dict) else told
    refusals = [block["refusal"] for block in envelope["content"] if block["type"] == "refusal"]
    return {**kwargs, **({"refusal": "".join(refusals)} if refusals else {})}


@dataclass(frozen=True)
class _Form:
    """What is particular to the messages of one integration."""

    native: Callable[[_Block], Any] | None = None
    """How native blocks stand in content; None: they do not."""
    holds_call: Callable[[_Block], bool] = lambda _block: False
    """Whether a call stands in content."""
    beside: Callable[[_Block, bool], bool] = lambda _block, _answers: False
    """Whether another block stands in a field of its own; also told whether the model said it."""
    kwargs: Callable[[MessageEnvelope], dict[str, Any]] = lambda _envelope: {}
    spells: Callable[[_Block], bool] | None = None
    """Whether a part of an answer has a spelling of the integration's own, or needs none."""
    spell: Callable[[list[_Block], bool, bool], list[Any]] | None = None
    """Writes blocks so: told whether the model said them, and whether all have such a spelling."""


_FORMS: Final[Mapping[str, _Form]] = {
    "messages": _Form(_raw_or_standard, holds_call=lambda block: "raw" in block),
    "responses": _Form(_responses_block, holds_call=in_responses_content),
    "chat": _Form(_raw_or_standard, beside=_is_beside_chat, kwargs=_beside_chat),
    "generate-content": _Form(kwargs=_signatures, spells=gemini_spells, spell=_gemini_content),
    "converse": _Form(spells=converse_spells, spell=_converse_content),
}
_NONE: Final = _Form()


def _form_of(envelope: MessageEnvelope) -> _Form:
    return _FORMS.get(api_of(envelope), _NONE)
