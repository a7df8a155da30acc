"""Neutral envelopes as LangChain messages, for importers.

The content is what the origin provider's own LangChain integration would have made where that is native content
(langchain-anthropic, langchain-openai; `contents` has what is particular to each), else LangChain's v1 standard blocks.
Calls stand in `.tool_calls` too, but for those of computers, which langchain-openai keeps out of them.
What a message has no place for goes into an overlay (see `overlay`), so that `read_message` gives the envelope back.
"""

from __future__ import annotations

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

from langgraph_portable_checkpoint.envelope.contents import (
    OUTPUT_VERSION,
    Content,
    api_of,
    content_of,
    fields_beside,
    keeps_native,
    version_of,
)
from langgraph_portable_checkpoint.envelope.everyday import read_parts
from langgraph_portable_checkpoint.envelope.fields import CALL_TYPES, OPENAI_ROLE
from langgraph_portable_checkpoint.envelope.given import is_rewritten, wire_of
from langgraph_portable_checkpoint.envelope.model import MessageEnvelope
from langgraph_portable_checkpoint.envelope.origins import write_metadata
from langgraph_portable_checkpoint.envelope.overlay import OVERLAY, difference, is_same, seal
from langgraph_portable_checkpoint.envelope.read import read_message, read_plain
from langgraph_portable_checkpoint.envelope.spellings import is_computer_call, responses_output
from langgraph_portable_checkpoint.envelope.typed import is_sum

_Block = Mapping[str, Any]


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
    content = content_of(envelope)
    message = _made(envelope, content, version=version_of(envelope, content))
    overlay = _overlay(message, envelope)
    if overlay:
        message.additional_kwargs = {**message.additional_kwargs, OVERLAY: overlay}
    return message


def write_parts(envelope: MessageEnvelope) -> dict[str, Any] | None:
    """Write the fields of the message that `write_message` makes, without the message, where its parts say all of it.

    Returns:
        What `model_dump` gives for the message, sharing values with the envelope; None where that may be another.
    """
    kind, api = _KINDS.get(envelope["role"]), api_of(envelope)
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
    if parts is None and not keeps_native(envelope):
        within = [block for block in envelope["content"] if "raw" in block or block["type"] not in CALL_TYPES]
        parts = [block.get("raw") for block in within]
    return parts if isinstance(parts, list) and parts and all(map(_is_langchain_s, parts)) else None


def _is_langchain_s(part: Any) -> bool:
    return isinstance(part, str) or (isinstance(part, dict) and isinstance(part.get("type"), str))


def _made(envelope: MessageEnvelope, content: Content, *, version: Mapping[str, Any] | None) -> BaseMessage:
    """Make a message, with what the source had in fields of which the envelope holds the rest.

    Args:
        envelope: What it says.
        content: Its content.
        version: What names the version of the content; None: the source says it.
    """
    rest = _rest(envelope, "response_metadata")
    if version is not None:
        rest.pop(OUTPUT_VERSION, None)
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
    if is_same(found, envelope):
        return {}
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


def _write_assistant(envelope: MessageEnvelope, content: Content) -> BaseMessage:
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
        additional_kwargs=fields_beside(envelope),
        usage_metadata=_usage(envelope.get("usage")),
    )


def _calls(envelope: MessageEnvelope) -> list[dict[str, Any]]:
    """What stands in `.tool_calls`."""
    return [
        {"name": block.get("name") or "", "args": block.get("args") or {}, "id": block.get("id"), "type": "tool_call"}
        for block in envelope["content"]
        if block["type"] == "tool_call" and not is_computer_call(block, api_of(envelope))
    ]


def _usage(usage: Any) -> Any:
    """Return what of a usage LangChain's message takes; the overlay keeps the rest."""
    if not isinstance(usage, dict) or not all(type(usage.get(key)) is int for key in _COUNTS):
        return None
    return {key: value for key, value in usage.items() if key not in _DETAILS or _are_counts(value)}


def _are_counts(details: Any) -> bool:
    return isinstance(details, dict) and all(type(count) is int for count in details.values())


_COUNTS: Final = {"input_tokens", "output_tokens", "total_tokens"}
_DETAILS: Final = {"input_token_details", "output_token_details"}


def _write_tool(envelope: MessageEnvelope, content: Content) -> BaseMessage:
    kept = (envelope.get("extras") or {}).get("openai-responses") if api_of(envelope) == "responses" else None
    content, kwargs = responses_output(kept, envelope["content"]) or (content, {})
    return ToolMessage(
        content,
        additional_kwargs=kwargs,
        tool_call_id=envelope.get("tool_call_id") or "",
        status="error" if envelope.get("status") == "error" else "success",
        artifact=envelope.get("artifact"),
    )


def _write_system(envelope: MessageEnvelope, content: Content) -> BaseMessage:
    detail = envelope.get("role_detail")
    kwargs = {OPENAI_ROLE: detail} if detail else {}
    return SystemMessage(content, additional_kwargs=kwargs)


def _write_user(envelope: MessageEnvelope, content: Content) -> BaseMessage:
    return HumanMessage(content)


def _write_other(envelope: MessageEnvelope, content: Content) -> BaseMessage:
    return ChatMessage(content=content, role=envelope.get("role_detail") or "other")


_ROLES: Final[dict[str, Callable[[MessageEnvelope, Content], BaseMessage]]] = {
    "assistant": _write_assistant,
    "user": _write_user,
    "system": _write_system,
    "tool": _write_tool,
    "other": _write_other,
}
