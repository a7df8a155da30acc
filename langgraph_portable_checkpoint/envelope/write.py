"""Neutral envelopes as LangChain messages, for importers.

The content is what the origin provider's own LangChain integration would have made where that is native content
(langchain-anthropic, langchain-openai; `spellings` has what else is particular), else LangChain's v1 standard blocks.
Calls stand in `.tool_calls` too, but for those of computers, which langchain-openai keeps out of them.
What a message has no place for goes into an overlay (see `overlay`), so that `read_message` gives the envelope back.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from langgraph_portable_checkpoint.envelope.fields import CALL_TYPES, OPENAI_ROLE, SIGNATURES
from langgraph_portable_checkpoint.envelope.given import is_rewritten, wire_of
from langgraph_portable_checkpoint.envelope.model import MessageEnvelope
from langgraph_portable_checkpoint.envelope.origins import write_metadata
from langgraph_portable_checkpoint.envelope.overlay import OVERLAY, difference, seal
from langgraph_portable_checkpoint.envelope.read import read_message, read_plain
from langgraph_portable_checkpoint.envelope.spellings import (
    converse_spells,
    gemini_spells,
    in_responses_content,
    is_computer_call,
    of_converse,
    of_gemini,
    of_responses_text,
    responses_output,
)

_Block = Mapping[str, Any]
_Content = str | list[Any]
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


def write_message(envelope: MessageEnvelope) -> BaseMessage:
    """Write an envelope as the LangChain message that `read_message` reads back as the same envelope.

    Args:
        envelope: Any envelope; `state` and `v` are not looked at.

    Raises:
        ormsgpack.MsgpackEncodeError: A value in it cannot be stored in a thread.
    """
    message = _ROLES[envelope["role"]](envelope, _content(envelope))
    if envelope.get("name") is not None:
        message.name = envelope["name"]
    if envelope.get("id") is not None:
        message.id = envelope["id"]
    overlay = _overlay(message, envelope)
    if overlay:
        message.additional_kwargs = {**message.additional_kwargs, OVERLAY: overlay}
    return message


def _overlay(message: BaseMessage, envelope: MessageEnvelope) -> dict[str, Any]:
    plain = read_plain(message)
    found = plain or read_message(message)
    changes = _changes(found, envelope)
    if not changes:
        return {}
    of = seal(message.__dict__ if plain else message.model_dump())
    wire = wire_of(found.get("origin"))
    if isinstance(message.content, list) and any(is_rewritten(block, wire) for block in message.content):
        # a message with an overlay is read as it stands, since it was made from an envelope and not by an integration
        message.additional_kwargs = {**message.additional_kwargs, OVERLAY: {"of": of}}
        changes = _changes(read_message(message), envelope)
    return {"of": of, **changes}


def _changes(found: MessageEnvelope, envelope: MessageEnvelope) -> dict[str, Any]:
    """Return what makes a read envelope the one that was written; empty where it is."""
    heads = {key: value for key, value in envelope.items() if key not in _NO_HEADS}
    theirs = {key: value for key, value in found.items() if key not in _NO_HEADS}
    if "raw_content" not in heads:
        theirs.pop("raw_content", None)
    changes = difference(theirs, heads) or {}
    blocks: list[Any] = []
    if len(found["content"]) == len(envelope["content"]):
        blocks = [difference(*pair) for pair in zip(found["content"], envelope["content"], strict=True)]
    else:
        changes.setdefault("set", {})["content"] = list(envelope["content"])
    return {
        **({"envelope": changes} if changes else {}),
        **({"blocks": blocks} if any(block is not None for block in blocks) else {}),
    }


_NO_HEADS: Final = ("v", "content", "state")


def _content(envelope: MessageEnvelope) -> _Content:
    """The message's content: a text where there is nothing but one, native blocks, or v1 blocks."""
    api, answers = _api(envelope), envelope["role"] == "assistant"
    blocks: list[_Block] = [block for block in envelope["content"] if not _beside(block, api, answers=answers)]
    if not blocks:
        return ""
    native = _NATIVE_CONTENT.get(api)
    only = blocks[0] if len(blocks) == 1 else {}
    if only.get("type") == "text" and set(only) <= {"type", "text", "raw"} and (native is None or "raw" not in only):
        return str(only["text"])
    spelled = _is_spelled(envelope)
    if spelled and api == "generate-content":
        return [of_gemini(block, _standard) for block in blocks]
    if api == "converse":
        return [part for block in blocks for part in of_converse(block, _standard, answers=answers, spelled=spelled)]
    return [(native or _standard)(block) for block in blocks]


def _is_spelled(envelope: MessageEnvelope) -> bool:
    """True for an answer without LangChain's v1 blocks: integrations drop parts of their own between those.

    In them langchain-google-genai sends no thought back that is not signed, and langchain-aws no citation.
    """
    if envelope["role"] != "assistant":
        return False
    spells = _SPELLERS.get(_api(envelope))
    return spells is not None and all(map(spells, envelope["content"]))


_SPELLERS: Final[dict[str, Callable[[_Block], bool]]] = {
    "generate-content": gemini_spells,
    "converse": converse_spells,
}


def _api(envelope: MessageEnvelope) -> str:
    return envelope.get("origin", {}).get("api", "")


def _beside(block: _Block, api: str, *, answers: bool) -> bool:
    """Tell whether a block stands in a field of its own and not in content."""
    if block["type"] in CALL_TYPES:
        return answers and not (
            in_responses_content(block) if api == "responses" else api == "messages" and "raw" in block
        )
    if api != "chat":
        return False
    thinks = block["type"] == "reasoning" and not _is_mistral_s(block)
    return thinks or block["type"] == "refusal" or (answers and _is_spoken(block))


def _is_mistral_s(block: _Block) -> bool:
    """True for a thought that stands among the parts of an answer."""
    return isinstance(block.get("raw"), dict) and block["raw"].get("type") == "thinking"


def _is_spoken(block: _Block) -> bool:
    """True for what a model spoke, which Chat Completions knows by its id."""
    return block["type"] == "audio" and isinstance(block.get("file_id"), str)


def _raw_or_standard(block: _Block) -> Any:
    return block["raw"] if isinstance(block.get("raw"), dict) and "type" in block["raw"] else _standard(block)


def _responses_block(block: _Block) -> Any:
    """langchain-openai rewrites texts and keeps every other item as it is."""
    if block["type"] in ("text", "refusal"):
        return of_responses_text(block, _standard(block))
    return _raw_or_standard(block)


_NATIVE_CONTENT: Final[dict[str, Callable[[_Block], Any]]] = {
    "messages": _raw_or_standard,
    "responses": _responses_block,
    "chat": _raw_or_standard,
}
"""The APIs whose integrations keep native blocks in content."""


def _standard(block: _Block) -> dict[str, Any]:
    keys = _STANDARD_KEYS.get(block["type"], ())
    found = {"type": block["type"], **{key: block[key] for key in keys if block.get(key) is not None}}
    if "data" in block:
        return {key: value for key, value in found.items() if key != "base64"} | {"base64": _base64(block["data"])}
    return found


def _write_assistant(envelope: MessageEnvelope, content: _Content) -> BaseMessage:
    blocks: list[_Block] = list(envelope["content"])
    calls = [
        {"type": "tool_call", "id": block.get("id"), "name": block.get("name") or "", "args": block.get("args") or {}}
        for block in blocks
        if block["type"] == "tool_call" and not is_computer_call(block, _api(envelope))
    ]
    invalid = [
        {"type": "invalid_tool_call", **{key: block.get(key) for key in ("id", "name", "args", "error")}}
        for block in blocks
        if block["type"] == "invalid_tool_call"
    ]
    return AIMessage(
        content,
        tool_calls=calls,
        invalid_tool_calls=invalid,
        additional_kwargs=_kwargs(envelope),
        response_metadata=_metadata(envelope, content),
        usage_metadata=_usage(envelope.get("usage")),
    )


def _kwargs(envelope: MessageEnvelope) -> dict[str, Any]:
    """What integrations keep beside content."""
    api = _api(envelope)
    return _signatures(envelope) if api == "generate-content" else _beside_chat(envelope) if api == "chat" else {}


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


def _metadata(envelope: MessageEnvelope, content: _Content) -> dict[str, Any]:
    v1 = isinstance(content, list) and _api(envelope) not in _NATIVE_CONTENT and not _is_spelled(envelope)
    return {**write_metadata(envelope), **({"output_version": "v1"} if v1 else {})}


def _usage(usage: Any) -> Any:
    needed = ("input_tokens", "output_tokens", "total_tokens")
    whole = isinstance(usage, dict) and all(type(usage.get(key)) is int for key in needed)
    return usage if whole else None


def _write_tool(envelope: MessageEnvelope, content: _Content) -> BaseMessage:
    kept = (envelope.get("extras") or {}).get("openai-responses") if _api(envelope) == "responses" else None
    content, kwargs = responses_output(kept, envelope["content"]) or (content, {})
    return ToolMessage(
        content,
        additional_kwargs=kwargs,
        tool_call_id=envelope.get("tool_call_id") or "",
        status="error" if envelope.get("status") == "error" else "success",
        artifact=envelope.get("artifact"),
        response_metadata=_metadata(envelope, content),
    )


def _write_system(envelope: MessageEnvelope, content: _Content) -> BaseMessage:
    detail = envelope.get("role_detail")
    kwargs = {OPENAI_ROLE: detail} if detail else {}
    return SystemMessage(content, additional_kwargs=kwargs, response_metadata=_metadata(envelope, content))


def _write_user(envelope: MessageEnvelope, content: _Content) -> BaseMessage:
    return HumanMessage(content, response_metadata=_metadata(envelope, content))


def _write_other(envelope: MessageEnvelope, content: _Content) -> BaseMessage:
    return ChatMessage(
        content=content, role=envelope.get("role_detail") or "other", response_metadata=_metadata(envelope, content)
    )


_ROLES: Final[dict[str, Callable[[MessageEnvelope, _Content], BaseMessage]]] = {
    "assistant": _write_assistant,
    "user": _write_user,
    "system": _write_system,
    "tool": _write_tool,
    "other": _write_other,
}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
