"""LangChain messages as neutral envelopes, total: whatever an integration made, nothing crashes and nothing is dropped.

Works from `message.content` and the message's own fields, never from `content_blocks`, which loses much and depends on
what was imported. A block that no kind knows is `non_standard` with the verbatim value. Where the envelope's own API
takes a block as it is, the block has it under `raw`.

The neutral part is the one that `exact` stores, with three differences for readers in memory: citations are v1
`annotations`, traces of streaming (`index`) are gone, and what says that a medium is missing, where a medium would be
looked for, is a part without bytes (`placeholders`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage

from langgraph_portable_checkpoint.envelope.cut_calls import with_whole_calls
from langgraph_portable_checkpoint.envelope.everyday import (
    EVERYDAY_CLASSES,
    left,
    packed_view,
    read_parts,
    read_said,
    read_text,
)
from langgraph_portable_checkpoint.envelope.fields import Reading, read_fields
from langgraph_portable_checkpoint.envelope.given import as_given, wire_of
from langgraph_portable_checkpoint.envelope.model import MessageEnvelope
from langgraph_portable_checkpoint.envelope.overlay import overlaid, overlay_of
from langgraph_portable_checkpoint.envelope.parts import finished
from langgraph_portable_checkpoint.envelope.placeholders import mended, sound_of, without_placeholder
from langgraph_portable_checkpoint.envelope.plain import plain_dump

_PLACES: Final = ("additional_kwargs", "response_metadata")


def read_message(message: BaseMessage) -> MessageEnvelope:
    """Read one message.

    Args:
        message: Any message. It is not changed; the envelope shares nothing with it.

    Returns:
        The envelope, without `state`, with `id`, `raw` per block and `raw_content` where the native content is not
        the list of raws. `extras` holds what of additional_kwargs and response_metadata has no neutral place.

    Raises:
        ormsgpack.MsgpackEncodeError: A value in it has no serialized form, for LangGraph either.
    """
    return read_plain(message) or _read_view(plain_dump(message.model_dump()).view)


def read_plain(message: BaseMessage) -> MessageEnvelope | None:
    """Read a message as `read_message` does, if it is of LangChain's own classes and holds nothing but plain values.

    Returns:
        None for any other; also where a text is none that UTF-8 can hold.
    """
    said = read_said(message)
    if said is not None:
        return cast(MessageEnvelope, said)
    view = packed_view(message)
    return None if view is None else _read_view(view)


def read_fields_of(kind: type[BaseMessage], fields: dict[str, Any]) -> MessageEnvelope | None:
    """Read the fields of a message without the message, if `read_plain` would read it.

    Args:
        kind: The message's class.
        fields: Its fields, plain values that UTF-8 can hold. The envelope shares them.

    Returns:
        None for classes that are not LangChain's own.
    """
    return _read_view(fields) if kind in EVERYDAY_CLASSES else None


def _read_view(view: Mapping[str, Any]) -> MessageEnvelope:
    view = with_whole_calls(_with_mended_results(view))
    said = read_text(view) or read_parts(view)
    return _read_any_view(view) if said is None else cast(MessageEnvelope, said)


def _read_any_view(view: Mapping[str, Any]) -> MessageEnvelope:
    overlay = overlay_of(view) if view.get("additional_kwargs") else None
    view = _with_legacy_call(view)
    reading = read_fields(view)
    told = view.get("content")
    given = as_given(told, wire_of(reading.envelope.get("origin"))) if not overlay else None
    if given is not None:
        view = {**view, "content": given}
        reading = read_fields(view)
    _repair_calls(reading, view)
    reading.blocks = _in_order(reading, view)
    _drop_stale_texts(reading)
    for block, extra, value in reading.beside:
        block["extras"] = {**block.get("extras", {}), extra: value}
    api = reading.envelope.get("origin", {}).get("api")
    natives = [reading.natives.get(id(block), (None, None)) for block in reading.blocks]
    content = [finished(block, *native, api=api) for block, native in zip(reading.blocks, natives, strict=True)]
    content = [without_placeholder(block) for block in content]
    extras = _extras(reading)
    content += _sound_beside(extras)
    envelope = {**reading.envelope, "content": content}
    if isinstance(view.get("id"), str):
        envelope["id"] = view["id"]
    if told != [block.get("raw") for block in content]:
        envelope["raw_content"] = told
    if extras:
        envelope["extras"] = extras
    return cast(MessageEnvelope, overlaid(envelope, overlay) if overlay else envelope)


def _with_mended_results(view: Mapping[str, Any]) -> Mapping[str, Any]:
    content = view.get("content")
    if type(content) is not list:
        return view
    found = [mended(native) for native in content]
    return view if all(new is old for new, old in zip(found, content, strict=True)) else {**view, "content": found}


def _with_legacy_call(view: Mapping[str, Any]) -> Mapping[str, Any]:
    """List the call that older messages have beside content, and that no `.tool_calls` names."""
    call = (view.get("additional_kwargs") or {}).get("function_call")
    if view.get("tool_calls") or view.get("invalid_tool_calls") or not isinstance(call, dict):
        return view
    name, text = call.get("name"), call.get("arguments")
    try:
        args = json.loads(text) if text else {}
    except (TypeError, ValueError, RecursionError):
        args = None
    if isinstance(args, dict):
        return {**view, "tool_calls": [{"type": "tool_call", "name": name, "args": args, "id": None}]}
    broken = {"type": "invalid_tool_call", "name": name, "args": text, "id": None, "error": "no JSON object"}
    return {**view, "invalid_tool_calls": [broken]}


def _repair_calls(reading: Reading, view: Mapping[str, Any]) -> None:
    """Take a call's name and arguments from `.tool_calls`, which say what ran, where content has others.

    Calls that share an id, or have none, are each other's in their order.
    """
    calls = view.get("tool_calls")
    if not calls:
        return
    parsed: dict[str, list[Any]] = {}
    for call in calls:
        if isinstance(call, dict):
            parsed.setdefault(repr(call.get("id")), []).append(call)
    for block in reading.blocks:
        same = parsed.get(repr(block.get("id"))) if block["type"] == "tool_call" else None
        ran = same.pop(0) if same else {}
        args, name = ran.get("args"), ran.get("name")
        if isinstance(args, dict) and args != block.get("args"):
            block["args"] = args
            block.pop("arguments", None)
            reading.natives.pop(id(block), None)
        if isinstance(name, str) and name and name != block.get("name"):
            block["name"] = name
            reading.natives.pop(id(block), None)


def _in_order(reading: Reading, view: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Put a call that content lost before the call in content that `.tool_calls` names next."""
    asked = [call.get("id") for call in view.get("tool_calls") or () if isinstance(call, dict)]
    calls = [block for block in reading.blocks if block["type"] == "tool_call"]
    within = {block.get("id"): block for block in calls if id(block) in reading.natives}
    lost = [block for block in calls if id(block) not in reading.natives and block.get("id") in asked]
    if not within or not lost or len({*asked}) < len(asked):
        return reading.blocks
    before: dict[Any, list[dict[str, Any]]] = {}
    for call in lost:
        for following in asked[asked.index(call.get("id")) :]:
            if following in within:
                before.setdefault(following, []).append(call)
                break
    moved = {id(call) for some in before.values() for call in some}
    blocks: list[dict[str, Any]] = []
    for block in reading.blocks:
        if block is within.get(block.get("id")):
            blocks += before.get(block.get("id"), ())
        if id(block) not in moved:
            blocks.append(block)
    return blocks


def _drop_stale_texts(reading: Reading) -> None:
    """Leave out how a call's arguments were spelled where they have been changed since, as a human's edit does."""
    for block in reading.blocks:
        text = block.get("arguments") if block["type"] == "tool_call" else None
        if isinstance(text, str) and not _says(text, block.get("args")):
            del block["arguments"]
            reading.natives.pop(id(block), None)


def _says(text: str, args: Any) -> bool:
    try:
        return bool((json.loads(text) if text else {}) == args)
    except (ValueError, RecursionError):
        return False


def _extras(reading: Reading) -> dict[str, Any]:
    found = {place: _told(reading.state.get(place)) for place in _PLACES}
    return {place: rest for place, rest in found.items() if rest}


def _sound_beside(extras: dict[str, Any]) -> list[dict[str, Any]]:
    """Take the text of a sound that is gone out of what has no neutral place, and return its part."""
    kwargs = extras.get("additional_kwargs", {})
    sound = sound_of(kwargs.get("audio"))
    if sound is None:
        return []
    rest = {key: value for key, value in kwargs.items() if key != "audio"}
    extras.update(additional_kwargs=rest) if rest else extras.pop("additional_kwargs")
    return [sound]


def _told(rest: Any) -> dict[str, Any]:
    return left(rest) if isinstance(rest, dict) else {}
