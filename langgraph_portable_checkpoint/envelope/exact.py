"""Prove it or wrap it: a framework message as a neutral envelope that gives the message back exactly.

LangGraph's serializer stores a message as its module, class name and `model_dump()`. `to_envelope` writes that triple
as an envelope whose neutral part any program can read, plus `state` with what the neutral part cannot say. Before it
returns, the envelope is written back and its msgpack bytes are compared with the message's own. What differs is kept
verbatim, as little as possible: the native block, else the field, else the whole message. So there are three forms of
`state`: absent, a residual map, or `{"whole": bytes}`.

Nothing here is guessed from the shape of user data: a dict that looks like a marker is only a dict, and what only the
framework's serializer can write (sets, decimals, objects, maps with other keys than strings) is bytes under
`state["bytes"]` or in the place of a block's entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer, _msgpack_enc

from langgraph_portable_checkpoint.envelope.classes import MODULES, STANDARD_CLASS, fields_of
from langgraph_portable_checkpoint.envelope.entries import UNPROVABLE, Entry
from langgraph_portable_checkpoint.envelope.fields import Reading, read_fields
from langgraph_portable_checkpoint.envelope.model import ENVELOPE_VERSION
from langgraph_portable_checkpoint.envelope.plain import PlainDump, plain_dump, plain_look
from langgraph_portable_checkpoint.envelope.rebuild import Loads, rebuild
from langgraph_portable_checkpoint.envelope.wire import dump_envelope

_STRICT: Final = JsonPlusSerializer(allowed_msgpack_modules=None)


def _strict_loads(data: bytes) -> Any:
    return _STRICT.loads_typed(("msgpack", data))


def to_envelope(message: BaseMessage) -> dict[str, Any]:
    """Write a message as an envelope that `from_envelope` brings back byte for byte.

    Args:
        message: Any message. It is not changed.

    Returns:
        A map of msgpack types without extension types. The id is left out: it is stored beside the item.

    Raises:
        ormsgpack.MsgpackEncodeError: LangGraph's serializer refuses the message.
    """
    cls = message.__class__
    return fields_to_envelope(cls.__module__, cls.__name__, message.model_dump())


def fields_to_envelope(module: str, name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Write a dumped message as an envelope; see `to_envelope`.

    Args:
        module: The message class's module.
        name: Its `__name__`.
        fields: Its `model_dump()`, possibly with media taken out.
    """
    given = dict(fields)
    given_id = given.get("id")
    if (given_id is None or isinstance(given_id, str)) and all(isinstance(key, str) for key in given):
        if "id" in given:
            given["id"] = None
        envelope = _residual(module, name, given)
        if envelope is not None:
            return envelope
    return _wrapped(module, name, given)


def from_envelope(
    envelope: Mapping[str, Any],
    *,
    id: str | None,  # noqa: A002 - LangChain's word
    loads: Loads = _strict_loads,
) -> tuple[str, str, dict[str, Any]]:
    """Bring a message back.

    Args:
        envelope: What `to_envelope` gave.
        id: The message's id.
        loads: Reads the framework's msgpack bytes; by default LangGraph's serializer with its strict allowlist.

    Returns:
        Module, class name and dump. Their `_msgpack_enc` bytes equal those of the original. Values are shared with the
        envelope and may stand in the dump twice: serialize or copy it before anyone changes it.
    """
    return rebuild(envelope, id=id, loads=loads)


def _residual(module: str, name: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """The envelope with at most a residual state, proven; None where only wrapping helps."""
    plain = plain_dump(given)
    try:
        envelope = _noted(read_fields(plain.view), module, name, plain=plain)
        if not _proven(envelope, module, name, truth=plain.truth):
            _patch(envelope, plain)
            if not _proven(envelope, module, name, truth=plain.truth):
                return None
        dump_envelope(envelope)
    except UNPROVABLE:
        return None
    return envelope


def _noted(reading: Reading, module: str, name: str, *, plain: PlainDump) -> dict[str, Any]:
    """The envelope of a reading, with all of its state notes."""
    envelope, state = reading.envelope, reading.state
    for index, data in plain.blocks.items():
        reading.entries[index] = data
    if "content" in state:
        state["content"] = _shortened(reading.entries, len(reading.blocks) - state.get("lead", 0))
    if "calls" in state:
        state["calls"] = _shortened(state["calls"], len(state["calls"]))
    if MODULES.get(name) != module:
        state["class"] = [module, name]
    elif STANDARD_CLASS.get(envelope["role"]) != name:
        state["class"] = name
    if "artifact" in plain.fields:
        del envelope["artifact"]  # the view of it is not what the tool returned
    for key, data in plain.fields.items():
        state.pop(key, None)
        state.setdefault("bytes", {})[key] = data
    _note_keys(state, list(plain.truth), truth=plain.truth, standard=fields_of(name, envelope["role"]))
    if state:
        envelope["state"] = state
    return envelope


def _shortened(entries: list[Entry], count: int) -> str | list[Entry]:
    """One word for all entries, where they agree and cover all `count` blocks."""
    first = entries[0] if entries else None
    if isinstance(first, str) and len(entries) == count and all(entry == first for entry in entries):
        return first
    return entries


def _note_keys(state: dict[str, Any], keys: list[str], *, truth: Mapping[str, Any], standard: tuple[str, ...]) -> None:
    extra = [key for key in keys if key not in standard and key not in state.get("bytes", ())]
    if extra:
        state["fields"] = {key: truth[key] for key in extra}
    if keys != [*standard, *extra]:
        state["order"] = keys


def _proven(envelope: dict[str, Any], module: str, name: str, *, truth: dict[str, Any]) -> bool:
    try:
        rebuilt = rebuild(envelope, id=None, loads=lambda data: data)
    except UNPROVABLE:
        return False
    # In the frame that reading puts around them: else values could be nested one level deeper than can be read.
    return _framed(*rebuilt) == _framed(module, name, truth)


def _framed(module: str, name: str, fields: dict[str, Any]) -> bytes:
    return bytes(_msgpack_enc((module, name, fields)))


def _patch(envelope: dict[str, Any], plain: PlainDump) -> None:
    """Keep verbatim, in `state["fields"]`, each field that the neutral part does not give back."""
    state = envelope.setdefault("state", {})
    fields = state.setdefault("fields", {})
    for key, value in plain.truth.items():
        if key not in fields and not _field_proven(envelope, key, value):
            fields[key] = value
            state.pop(key, None)
    if plain.blocks and "content" in fields:
        del fields["content"]
        plain.truth["content"] = state.setdefault("bytes", {})["content"] = plain.content


def _field_proven(envelope: dict[str, Any], key: str, value: Any) -> bool:
    alone = {**envelope, "state": {**envelope["state"], "order": [key]}}
    try:
        return bool(_msgpack_enc(rebuild(alone, id=None, loads=lambda data: data)[2][key]) == _msgpack_enc(value))
    except UNPROVABLE:
        return False


def _wrapped(module: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The whole message in `state`, and beside it as much of the neutral part as can be read."""
    whole = {"whole": _msgpack_enc([module, name, given])}
    try:
        envelope = {**read_fields(plain_look(given)[0]).envelope, "state": whole}
        dump_envelope(envelope)
    except UNPROVABLE:
        return {"v": ENVELOPE_VERSION, "role": "other", "content": [], "state": whole}
    return envelope
