"""A dumped LangChain message read as the neutral part of its envelope, with the notes that bring it back.

Owns the reading direction on plain dumps (`message.model_dump()` reduced to msgpack types). `Reading.state` holds
only what the neutral part cannot say. Shared by `exact` (storage) and `read` (everything else).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from langgraph_portable_checkpoint.envelope import origins
from langgraph_portable_checkpoint.envelope.classes import role_of
from langgraph_portable_checkpoint.envelope.entries import Entry, prove, read_block
from langgraph_portable_checkpoint.envelope.model import ENVELOPE_VERSION
from langgraph_portable_checkpoint.envelope.natives import KINDS
from langgraph_portable_checkpoint.envelope.typed import well_typed

SIGNATURES: Final = "__gemini_function_call_thought_signatures__"
CALL_IDS: Final = "__openai_function_call_ids__"
OPENAI_ROLE: Final = "__openai_role__"
CALL_TYPES: Final = ("tool_call", "invalid_tool_call")


@dataclass(slots=True)
class Reading:
    """A message as it is being read: the envelope, the raw native per block, and the state notes."""

    envelope: dict[str, Any]
    blocks: list[dict[str, Any]] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    natives: dict[int, tuple[Any, Entry]] = field(default_factory=dict)
    """Native block and its entry, per `id()` of the neutral block read from it."""
    beside: list[tuple[dict[str, Any], str, Any]] = field(default_factory=list)
    """Extras of blocks in content that stand elsewhere in the message; added where a block is only read."""
    state: dict[str, Any] = field(default_factory=dict)
    kwargs: dict[str, Any] = field(default_factory=dict)
    """What of additional_kwargs the neutral part does not say; None under a key that it does."""

    def add(self, block: dict[str, Any], native: Any, entry: Entry) -> None:
        """Append a neutral block with the native one that it was read from."""
        self.blocks.append(block)
        self.natives[id(block)] = (native, entry)


def read_fields(fields: Mapping[str, Any]) -> Reading:
    """Read a plain dump. Total: every dict with LangChain's field names gives an envelope.

    Args:
        fields: Plain values only (str-keyed dicts, lists, str, bytes, numbers, bool, None).
    """
    kwargs, metadata = _map(fields, "additional_kwargs"), _map(fields, "response_metadata")
    reading = Reading(_head(fields, kwargs, metadata), kwargs=dict(kwargs))
    if kwargs:
        _read_leading(reading, kwargs, fields.get("content"))
    if reading.blocks:
        reading.state["lead"] = len(reading.blocks)
    _read_content(reading, fields.get("content"))
    _read_calls(reading, fields)
    if kwargs:
        _read_trailing(reading, kwargs)
        _note_kwargs(reading, kwargs)
    if metadata:
        reading.state["response_metadata"] = origins.told_metadata(reading.envelope, metadata)
    reading.envelope["content"] = reading.blocks
    return reading


def _map(fields: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = fields.get(key)
    return value if isinstance(value, dict) else {}


def _head(fields: Mapping[str, Any], kwargs: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    role, detail = role_of(fields)
    head: dict[str, Any] = {"v": ENVELOPE_VERSION, "role": role, "content": []}
    add_facts(head, fields, metadata)
    developer = kwargs.get(OPENAI_ROLE)
    if isinstance(developer, str) or detail is not None:
        head["role_detail"] = developer if isinstance(developer, str) else detail
    if role == "user" and isinstance(kwargs.get("lc_source"), str):
        head["typed_by_user"] = False
    return head


def add_facts(envelope: dict[str, Any], fields: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """Add what a message's fields beside its content say: names, status, origin, usage, why it stopped, artifact."""
    for key in ("name", "tool_call_id"):
        if isinstance(fields.get(key), str):
            envelope[key] = fields[key]
    if fields.get("status") in ("success", "error"):
        envelope["status"] = fields["status"]
    if metadata and (origin := origins.read_origin(metadata)):
        envelope["origin"] = origin
    usage = fields.get("usage_metadata")
    if isinstance(usage, dict) and usage:
        envelope["usage"] = usage
    if metadata and (reason := origins.read_stop_reason(metadata)) is not None:
        envelope["stop_reason"] = reason
    if fields.get("artifact") is not None:
        envelope["artifact"] = fields["artifact"]


def _read_leading(reading: Reading, kwargs: dict[str, Any], content: Any) -> None:
    """Add what integrations keep beside content but the model said before it: reasoning, then hosted tools."""
    details = kwargs.get("reasoning_details")
    if isinstance(details, list) and details:
        reading.state["reasoning_details"] = [_read_native(reading, detail) for detail in details]
        reading.kwargs["reasoning_details"] = None
        if kwargs.get("reasoning") == joined_reasoning(reading.blocks):
            reading.kwargs["reasoning"] = None
    elif not _thinks_in(content, kwargs):
        _read_reasoning(reading, kwargs)
    outputs = kwargs.get("tool_outputs")
    if isinstance(outputs, list) and outputs:
        reading.state["tool_outputs"] = [_read_native(reading, output) for output in outputs]
        reading.kwargs["tool_outputs"] = None


def _read_reasoning(reading: Reading, kwargs: dict[str, Any]) -> None:
    for key in ("reasoning_content", "reasoning"):
        value = kwargs.get(key)
        if isinstance(value, str):
            reading.blocks.append({"type": "reasoning", "reasoning": value, "extras": {"field": key}})
            reading.kwargs[key] = None
            return
    if isinstance(kwargs.get("reasoning"), dict) and read_block(kwargs["reasoning"])[0]["type"] == "reasoning":
        reading.state["reasoning"] = _read_native(reading, kwargs["reasoning"])
        reading.kwargs["reasoning"] = None


def _thinks_in(content: Any, kwargs: Mapping[str, Any]) -> bool:
    """True where content holds the reasoning that stands beside it too, as LangChain's v1 output leaves it."""
    if type(content) is not list:
        return False
    said = [part.get("reasoning") for part in content if isinstance(part, dict) and part.get("type") == "reasoning"]
    told = next((kwargs[key] for key in ("reasoning_content", "reasoning") if isinstance(kwargs.get(key), str)), None)
    return bool(said) and told == "".join(text for text in said if isinstance(text, str))


def _read_native(reading: Reading, native: Any) -> Entry:
    block, entry = read_block(native)
    reading.add(block, native, entry)
    return entry


def joined_reasoning(blocks: list[dict[str, Any]]) -> str:
    """The text of all reasoning blocks, as hosts repeat it beside `reasoning_details`."""
    return "".join(block.get("reasoning", "") for block in blocks if block["type"] == "reasoning")


def _read_content(reading: Reading, content: Any) -> None:
    if isinstance(content, str):
        if content:
            reading.blocks.append({"type": "text", "text": content})
    elif isinstance(content, list):
        for native in content:
            reading.entries.append(_read_native(reading, native))
        reading.state["content"] = reading.entries


def _read_calls(reading: Reading, fields: Mapping[str, Any]) -> None:
    """Add the calls that stand only in `.tool_calls` or `.invalid_tool_calls`."""
    known = [block.get("id") for block in reading.blocks if block["type"] in CALL_TYPES]
    for field_name in ("tool_calls", "invalid_tool_calls"):
        for call in fields.get(field_name) or ():
            if not isinstance(call, dict):
                continue
            if call.get("id") in known:
                known.remove(call.get("id"))
            else:
                block = _call_block(call, field_name)
                reading.blocks.append(block if well_typed(block) else {"type": "non_standard", "value": call})


def _call_block(call: dict[str, Any], field_name: str) -> dict[str, Any]:
    block = {"type": "invalid_tool_call" if field_name.startswith("invalid") else "tool_call", **call}
    block["type"] = "invalid_tool_call" if field_name.startswith("invalid") else "tool_call"
    return {key: value for key, value in block.items() if value is not None or key == "name"}


def _read_trailing(reading: Reading, kwargs: dict[str, Any]) -> None:
    refusal, audio = kwargs.get("refusal"), kwargs.get("audio")
    if isinstance(refusal, str):
        reading.blocks.append({"type": "refusal", "refusal": refusal})
        reading.kwargs["refusal"] = None
    if isinstance(audio, bytes):
        reading.blocks.append({"type": "audio", "mime_type": "audio/wav", "data": audio})
        reading.kwargs["audio"] = None
    elif isinstance(audio, dict) and isinstance(audio.get("id"), str):
        _read_audio(reading, audio)


def _read_audio(reading: Reading, audio: dict[str, Any]) -> None:
    kind = KINDS["audio_output"]
    block = kind.read(audio)
    entry = None if block is None else prove(kind, block, audio)
    if block is not None and entry is not None:
        reading.add(block, audio, entry)
        reading.state["audio"] = entry
        reading.kwargs["audio"] = None


def calls_of(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls among blocks, valid and invalid, in order."""
    return [block for block in blocks if block["type"] in CALL_TYPES]


def _note_kwargs(reading: Reading, kwargs: dict[str, Any]) -> None:
    calls = calls_of(reading.blocks)
    _note_signatures(reading, calls, SIGNATURES, extra="signature")
    _note_signatures(reading, calls, CALL_IDS, extra="item_id")
    native = kwargs.get("tool_calls")
    if isinstance(native, list) and native and len(native) == len(calls):
        entries = [_match_call(reading, call, one, kind="chat_call") for call, one in zip(calls, native, strict=True)]
        if all(entry is not None for entry in entries):
            reading.state["calls"] = entries
            reading.kwargs["tool_calls"] = None
            for call, one, entry in zip(calls, native, entries, strict=True):
                reading.natives.setdefault(id(call), (one, entry or ""))
    if isinstance(kwargs.get("function_call"), dict) and calls:
        entry = _match_call(reading, calls[-1], kwargs["function_call"], kind="legacy_call")
        if entry is not None:
            reading.state["function_call"] = entry
            reading.kwargs["function_call"] = None
    if OPENAI_ROLE in kwargs and kwargs[OPENAI_ROLE] == reading.envelope.get("role_detail"):
        reading.kwargs[OPENAI_ROLE] = None
    if reading.kwargs:
        reading.state["additional_kwargs"] = reading.kwargs


def _note_signatures(reading: Reading, calls: list[dict[str, Any]], key: str, *, extra: str) -> None:
    values = reading.kwargs.get(key)
    if not isinstance(values, dict) or not values:
        return
    owners = [call for call in calls if call.get("id") in values and extra not in call.get("extras", {})]
    for call in owners:
        if id(call) in reading.natives:  # the block in content does not say it, and must come back as it is
            reading.beside.append((call, extra, values[call["id"]]))
        else:
            call["extras"] = {**call.get("extras", {}), extra: values[call["id"]]}
    if [call["id"] for call in owners if id(call) not in reading.natives] == list(values):
        reading.kwargs[key] = None


def bare_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """A call without what other places say about it: signatures, item ids, cache marks."""
    return {key: value for key, value in call.items() if key not in ("extras", "cache_hint")}


def _match_call(reading: Reading, call: dict[str, Any], native: Any, *, kind: str) -> str | None:
    """Prove that a native call is the one of a neutral block. Notes an unusual spelling of its arguments there."""
    wanted = KINDS[kind if call["type"] == "tool_call" else f"{kind}.invalid"]
    function = native.get("function", native) if isinstance(native, dict) else None
    spelled = function.get("arguments") if isinstance(function, dict) else None
    bare = bare_call(call)
    if call["type"] == "tool_call":
        if not isinstance(spelled, str):
            return None
        bare["arguments"] = spelled
    entry = prove(wanted, bare, native)
    if entry is None or "arguments" not in bare or call.get("arguments") == bare["arguments"]:
        return entry
    if id(call) in reading.natives or "arguments" in call:
        return None
    call["arguments"] = bare["arguments"]
    return entry
