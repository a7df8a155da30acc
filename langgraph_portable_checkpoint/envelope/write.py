"""Neutral envelopes as LangChain messages, for importers.

The content is what the origin provider's own LangChain integration would have made where that is native content
(langchain-anthropic, langchain-openai; `spellings` has what else is particular), else LangChain's v1 standard blocks.
Calls stand in `.tool_calls` too, but for those of computers, which langchain-openai keeps out of them.
What a message has no place for goes into an overlay (see `overlay`), so that `read_message` gives the envelope back.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from langgraph_portable_checkpoint.envelope.everyday import read_parts
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
from langgraph_portable_checkpoint.envelope.typed import is_sum

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
    given = _given(envelope)
    if given is not None:
        message = _made(envelope, given, version=None)
        if not _overlay(message, envelope):
            return message
    content = _content(envelope)
    message = _made(envelope, content, version=_version(envelope, content))
    overlay = _overlay(message, envelope)
    if overlay:
        message.additional_kwargs = {**message.additional_kwargs, OVERLAY: overlay}
    return message


def write_parts(envelope: MessageEnvelope) -> dict[str, Any] | None:
    """Write the fields of the message that `write_message` makes, without the message, where its parts say all of it.

    Returns:
        What `model_dump` gives for the message, sharing values with the envelope; None where that may be another.
    """
    kind, api = _KINDS.get(envelope["role"]), _api(envelope)
    parts = [block.get("raw") for block in envelope["content"]]
    if not parts or kind is None or api not in ("", "messages") or not all(map(_is_langchain_s, parts)):
        return None
    if not _OF_PARTS.issuperset(envelope):
        return None
    fields: dict[str, Any] = {
        "content": parts,
        "additional_kwargs": {},
        "response_metadata": {**_rest(envelope, "response_metadata"), **write_metadata(envelope)},
        "type": kind,
        "name": envelope.get("name"),
        "id": envelope.get("id"),
    }
    if kind == "tool":
        fields |= {key: envelope.get(key) for key in ("tool_call_id", "artifact", "status")}
    elif kind == "ai":
        usage = envelope.get("usage")
        if usage is not None and not is_sum(usage):
            return None
        fields |= {"tool_calls": _calls(envelope), "invalid_tool_calls": [], "usage_metadata": usage}
    found = read_parts(fields)
    return fields if found is not None and not _changes(cast(MessageEnvelope, found), envelope) else None


_KINDS: Final = {"user": "human", "assistant": "ai", "system": "system", "tool": "tool"}
_HEADS: Final = ("v", "state", "role", "content", "id", "name", "origin", "usage", "stop_reason", "extras")
_OF_PARTS: Final = frozenset({*_HEADS, "tool_call_id", "artifact", "status"})
"""What an envelope may have whose parts say all."""


def _given(envelope: MessageEnvelope) -> list[Any] | None:
    """Return the parts that an integration, or an application, put into the message; None where none are known."""
    parts = envelope.get("raw_content")
    if parts is None and _api(envelope) not in _NATIVE_CONTENT:
        within = [block for block in envelope["content"] if "raw" in block or block["type"] not in CALL_TYPES]
        parts = [block.get("raw") for block in within]
    return parts if isinstance(parts, list) and parts and all(map(_is_langchain_s, parts)) else None


def _is_langchain_s(part: Any) -> bool:
    return isinstance(part, str) or (isinstance(part, dict) and isinstance(part.get("type"), str))


def _made(envelope: MessageEnvelope, content: _Content, *, version: Mapping[str, Any] | None) -> BaseMessage:
    """Make a message, with what the source had in fields of which the envelope holds the rest.

    Args:
        envelope: What it says.
        content: Its content.
        version: What names the version of the content; None: the source says it.
    """
    rest = _rest(envelope, "response_metadata")
    if version is not None:
        rest.pop(_VERSION, None)
    message = _ROLES[envelope["role"]](envelope, content)
    message.response_metadata = {**rest, **write_metadata(envelope), **(version or {})}
    message.additional_kwargs = {**_rest(envelope, "additional_kwargs"), **message.additional_kwargs}
    if envelope.get("name") is not None:
        message.name = envelope["name"]
    if envelope.get("id") is not None:
        message.id = envelope["id"]
    return message


def _rest(envelope: MessageEnvelope, field: str) -> dict[str, Any]:
    rest = (envelope.get("extras") or {}).get(field)
    return {**rest} if isinstance(rest, dict) else {}


_VERSION: Final = "output_version"


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
    invalid = [
        {"type": "invalid_tool_call", **{key: block.get(key) for key in ("id", "name", "args", "error")}}
        for block in blocks
        if block["type"] == "invalid_tool_call"
    ]
    return AIMessage(
        content,
        tool_calls=_calls(envelope),
        invalid_tool_calls=invalid,
        additional_kwargs=_kwargs(envelope),
        usage_metadata=_usage(envelope.get("usage")),
    )


def _calls(envelope: MessageEnvelope) -> list[dict[str, Any]]:
    """What stands in `.tool_calls`."""
    return [
        {"name": block.get("name") or "", "args": block.get("args") or {}, "id": block.get("id"), "type": "tool_call"}
        for block in envelope["content"]
        if block["type"] == "tool_call" and not is_computer_call(block, _api(envelope))
    ]


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


def _version(envelope: MessageEnvelope, content: _Content) -> dict[str, Any]:
    v1 = isinstance(content, list) and _api(envelope) not in _NATIVE_CONTENT and not _is_spelled(envelope)
    return {_VERSION: "v1"} if v1 else {}


def _usage(usage: Any) -> Any:
    """Return what of a usage LangChain's message takes; the overlay keeps the rest."""
    if not isinstance(usage, dict) or not all(type(usage.get(key)) is int for key in _COUNTS):
        return None
    return {key: value for key, value in usage.items() if key not in _DETAILS or _are_counts(value)}


def _are_counts(details: Any) -> bool:
    return isinstance(details, dict) and all(type(count) is int for count in details.values())


_COUNTS: Final = {"input_tokens", "output_tokens", "total_tokens"}
_DETAILS: Final = {"input_token_details", "output_token_details"}


def _write_tool(envelope: MessageEnvelope, content: _Content) -> BaseMessage:
    kept = (envelope.get("extras") or {}).get("openai-responses") if _api(envelope) == "responses" else None
    content, kwargs = responses_output(kept, envelope["content"]) or (content, {})
    return ToolMessage(
        content,
        additional_kwargs=kwargs,
        tool_call_id=envelope.get("tool_call_id") or "",
        status="error" if envelope.get("status") == "error" else "success",
        artifact=envelope.get("artifact"),
    )


def _write_system(envelope: MessageEnvelope, content: _Content) -> BaseMessage:
    detail = envelope.get("role_detail")
    kwargs = {OPENAI_ROLE: detail} if detail else {}
    return SystemMessage(content, additional_kwargs=kwargs)


def _write_user(envelope: MessageEnvelope, content: _Content) -> BaseMessage:
    return HumanMessage(content)


def _write_other(envelope: MessageEnvelope, content: _Content) -> BaseMessage:
    return ChatMessage(content=content, role=envelope.get("role_detail") or "other")


_ROLES: Final[dict[str, Callable[[MessageEnvelope, _Content], BaseMessage]]] = {
    "assistant": _write_assistant,
    "user": _write_user,
    "system": _write_system,
    "tool": _write_tool,
    "other": _write_other,
}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
