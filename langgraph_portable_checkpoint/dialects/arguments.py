"""Arguments of tool calls as JSON text, read strictly and written as they were."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

from ..envelope.model import Block, MessageEnvelope
from .concerns import INVALID_ARGUMENTS, REPEATED_KEY
from .jsonl import MAX_DEPTH, too_deep
from .number_limits import BEYOND_64_BITS, BROKEN_KEY, INT64, is_whole
from .plain_values import is_plain, plain_value
from .report import Placed, Report


class NotJsonError(TypeError):
    """Arguments hold a value that JSON in UTF-8 has no form for, such as bytes or half of a surrogate pair."""


def _no_form(value: Any) -> NoReturn:
    raise NotJsonError(type(value).__name__)


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, default=_no_form)
_SAMPLE: Final[dict[Any, Any]] = {
    "b": [1, 1.5, None, True, 'é"\n'],
    "a": {1: {}, None: []},
    "d": float("nan"),
}


def _ready_encoder() -> Callable[[Any, int], Iterable[str]] | None:
    """Return the part of `_ENCODER` that it makes anew for each text, which takes longer than a short text itself.

    None where this Python has none, or one that spells otherwise. It does not look for values that hold themselves.
    """
    make = getattr(json.encoder, "c_make_encoder", None)
    spell_text = getattr(json.encoder, "encode_basestring", None)
    if make is None or spell_text is None:
        return None
    try:
        made: Callable[[Any, int], Iterable[str]] = make(
            None, _no_form, spell_text, None, ": ", ", ", False, False, True
        )
        return made if "".join(made(_SAMPLE, 0)) == _ENCODER.encode(_SAMPLE) else None
    except TypeError:  # another Python may make it of something else
        return None


_READY: Final = _ready_encoder()


def _spell(value: Any) -> str:
    """Spell a value as `_ENCODER.encode` does."""
    try:
        return _ENCODER.encode(value) if _READY is None else "".join(_READY(value, 0))
    except RecursionError:
        return _ENCODER.encode(value)


def read_call(arguments: Any, *, call_id: Any, name: Any) -> Block:
    """Read a call whose arguments are JSON text, or an object that some logs hold in its place.

    An empty text means no arguments. Anything that is no JSON object becomes an invalid_tool_call with the text as it
    was, never an error.
    """
    if isinstance(arguments, dict):
        return {"type": "tool_call", "id": call_id, "name": name, "args": arguments}
    try:
        args = _parse(arguments) if arguments else {}
    except (ValueError, RecursionError) as error:
        reason = str(error) or type(error).__name__
        kept = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
        return {"type": "invalid_tool_call", "id": call_id, "name": name, "args": kept, "error": reason}
    return {"type": "tool_call", "id": call_id, "name": name, "args": args, "arguments": arguments or ""}


def read_object_call(arguments: Any, *, call_id: Any, name: Any) -> Block:
    """Read a call whose arguments are an object; with anything else it becomes an invalid_tool_call with a text."""
    if isinstance(arguments, dict):
        return {"type": "tool_call", "id": call_id, "name": name, "args": arguments}
    kept = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
    return {"type": "invalid_tool_call", "id": call_id, "name": name, "args": kept, "error": _no_object(arguments)}


def _no_object(arguments: Any) -> str:
    """Say why arguments are none; a text of an object that no checkpoint can hold is told as what it stands for."""
    try:
        args = _parse(arguments)
    except (ValueError, RecursionError) as error:
        reason = str(error)
        return reason if reason in (BEYOND_64_BITS, BROKEN_KEY) else f"arguments are a {type(arguments).__name__}"
    return f"arguments are the text of an object of {len(args)} keys, not an object"


def tell_invalid(envelopes: Sequence[MessageEnvelope], report: Report) -> None:
    """Report each call of an imported history whose arguments could only be kept as text."""
    for index, envelope in enumerate(envelopes):
        for at, block in enumerate(envelope["content"]):
            if block["type"] == "invalid_tool_call":
                report.add(
                    INVALID_ARGUMENTS.rule,
                    INVALID_ARGUMENTS.kind,
                    at=Placed(envelope, index),
                    path=f"content[{at}].args",
                    action="the call counts as invalid; its arguments are kept as text",
                    detail=f"call {block.get('id')}: {block.get('error')}",
                )


def tell_repeated(envelopes: Sequence[MessageEnvelope], report: Report) -> None:
    """Report each call of an imported history in the text of whose arguments a key stands twice."""
    for index, envelope in enumerate(envelopes):
        if envelope["role"] != "assistant":
            continue
        for at, block in enumerate(envelope["content"]):
            if block["type"] == "tool_call" and "arguments" in block and _repeats(block["arguments"], block["args"]):
                report.add(
                    REPEATED_KEY.rule,
                    REPEATED_KEY.kind,
                    at=Placed(envelope, index),
                    path=f"content[{at}].args",
                    action="a key stood twice in one object: its last value was kept",
                    detail=f"call {block.get('id')}",
                )


_KEY_ENDS: Final = re.compile(r'"\s*:').findall
"""Each pair of a JSON object has one; so may a text."""


def _repeats(text: str, args: Mapping[str, Any]) -> bool:
    """Tell whether a key stands twice in one object of the JSON that was read as `args`."""
    if len(_KEY_ENDS(text)) <= len(args):  # there are no more pairs than the ones that were kept
        return False
    found = False

    def pairs(items: list[tuple[str, Any]]) -> None:
        nonlocal found
        found = found or len(dict(items)) < len(items)

    try:
        json.loads(text, object_pairs_hook=pairs)
    except RecursionError:  # read before, but a frame less deep
        return False
    return found


def settled_call(block: Block) -> Block:
    """Return an invalid call as a valid one if its text is a JSON object all the same, as one with long integers."""
    text = block.get("args")
    if block["type"] != "invalid_tool_call" or not isinstance(text, str):
        return block
    try:
        args = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return block
    if not isinstance(args, dict):
        return block
    kept = {key: value for key, value in block.items() if key != "error"}
    return {**kept, "type": "tool_call", "args": args, "arguments": text}  # type: ignore[typeddict-item]  # built key by key


def write_arguments(block: Block) -> str:
    """Spell a call's arguments as JSON text: exactly as the provider did, where known; an empty text is none at all.

    Raises:
        NotJsonError: They hold a value that JSON has no form for; `plain_arguments` writes them.
    """
    if "arguments" in block:
        return block["arguments"] or "{}"
    args = block.get("args")
    if isinstance(args, str):
        return args or "{}"
    text = _spell({} if args is None else args)
    if not text.isascii() and not is_sendable(text):
        raise NotJsonError("a lone surrogate")
    return text


def plain_arguments(block: Block) -> str:
    """Spell a call's arguments as JSON text whatever they hold: bytes as base64."""
    try:
        return write_arguments(block)
    except NotJsonError:
        return json.dumps(plain_value(block.get("args")), ensure_ascii=False)


def is_sendable(value: Any) -> bool:
    """True if a request can hold the value: JSON without NaN, without lone surrogates, nested within reason."""
    try:
        return is_plain(value)
    except RecursionError:
        return False


def _parse(arguments: Any) -> dict[str, Any]:
    if not isinstance(arguments, str):
        raise ValueError(f"arguments are a {type(arguments).__name__}, not a text")
    args, end = _DECODER.raw_decode(arguments) if arguments.startswith("{") else (None, -1)
    if end != len(arguments):  # `decode` deals with what stands around an object, at twice the time
        args = json.loads(arguments) if arguments.startswith("\ufeff") else _DECODER.decode(arguments)
    if not isinstance(args, dict):
        raise ValueError(f"arguments are a JSON {type(args).__name__}, not an object")
    if arguments.count("{") + arguments.count("[") > MAX_DEPTH and too_deep(args):
        raise ValueError(f"arguments are nested deeper than {MAX_DEPTH} levels")
    if _SURROGATE.search(arguments) and not _has_plain_keys(args):
        raise ValueError(BROKEN_KEY)
    return args


_SURROGATE: Final = re.compile(r"[\ud800-\udfff]|\\u[dD][89abAB]")


def _has_plain_keys(value: Any) -> bool:
    """True if no key holds half of a surrogate pair."""
    if isinstance(value, dict):
        return all(map(is_whole, value)) and all(map(_has_plain_keys, value.values()))
    return all(map(_has_plain_keys, value)) if isinstance(value, list) else True


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _int64(text: str) -> int:
    number = int(text)
    if number not in INT64:
        raise ValueError(BEYOND_64_BITS)
    return number


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse, parse_int=_int64)
