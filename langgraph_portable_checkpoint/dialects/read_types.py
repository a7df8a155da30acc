"""Whether a parser's envelopes hold what the format says, key by key: the last gate of every import.

Parsers look at what they need; a foreign file may hold anything elsewhere: a number for a name, a list for an id. What
passes here can be written, paired and exported without looking again. Shapes that passed once are remembered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..envelope.model import MessageEnvelope
from ..envelope.typed import NESTING, well_typed, wrong_heads, wrong_within
from ..errors import MalformedHistoryError
from .number_limits import INT64
from .plain_values import is_plain

_ROLES: Final = frozenset({"system", "user", "assistant", "tool", "other"})
_GOOD: Final[dict[tuple[Any, ...], bool]] = {}
"""Shapes that passed; True for those whose values are to be looked into all the same."""
_MOST_SHAPES: Final = 4_096


def check_types(envelopes: Sequence[MessageEnvelope], dialect: str) -> frozenset[str]:
    """Refuse envelopes of which a key holds a value of another type than the format says.

    Returns:
        The types of their blocks.

    Raises:
        MalformedHistoryError: Names each message and block.
    """
    kinds: set[str] = set()
    if _all_known(envelopes, kinds):
        return frozenset(kinds)
    found = [problem for index, envelope in enumerate(envelopes) for problem in _message(envelope, index)]
    if found:
        raise MalformedHistoryError(dialect, found)
    return frozenset([block["type"] for envelope in envelopes for block in envelope["content"]])


def _all_known(envelopes: Sequence[MessageEnvelope], kinds: set[str]) -> bool:
    """True if the shapes of all messages and blocks have passed before. One loop: it runs over every import.

    Args:
        kinds: Is given the types of the blocks.
    """
    origin: Any = None
    for envelope in envelopes:
        if ("", *envelope, *map(type, envelope.values())) not in _GOOD or envelope["role"] not in _ROLES:
            return False
        if "origin" in envelope and envelope["origin"] is not origin:
            origin = envelope["origin"]
            if not _texts(origin):
                return False
        if "usage" in envelope and not _counts(envelope["usage"]):
            return False
        for block in envelope["content"]:
            kind = block.get("type") if type(block) is dict else None
            if type(kind) is not str:
                return False
            plain = kind == "text" and type(block.get("text")) is str and len(block) == 2 + ("raw" in block)
            if not plain:
                nested = _GOOD.get((kind, *block, *map(type, block.values())))
                if nested is None or (nested and wrong_within(block)):
                    return False
            kinds.add(kind)
    return True


def _texts(origin: Mapping[str, Any]) -> bool:
    for value in origin.values():  # noqa: SIM110 - all() over a generator takes three times as long
        if type(value) is not str or not (value.isascii() or is_plain(value)):
            return False
    return True


def _counts(usage: Mapping[str, Any]) -> bool:
    """True if usage holds numbers that a checkpoint can hold, or tables of them."""
    return all(
        _is_count(one) or (type(one) is dict and all(_is_count(inner) for inner in one.values()))
        for one in usage.values()
    )


def _is_count(value: Any) -> bool:
    return type(value) is int and value in INT64


def _shape(value: Mapping[str, Any], kind: str = "") -> tuple[Any, ...]:
    return (kind, *value, *map(type, value.values()))


def _message(envelope: Mapping[str, Any], index: int) -> Iterator[str]:
    wrong = wrong_heads(envelope)
    if wrong:
        yield from (f"message {index} {key}: is {type(envelope[key]).__name__}" for key in wrong)
        return
    _remember(_shape(envelope))
    if not _counts(envelope.get("usage", {})):
        yield f"message {index} usage: holds what is no number of tokens, or one beyond 64 bits"
    if not _texts(envelope.get("origin", {})):
        yield f"message {index} origin: holds what is no text that UTF-8 has"
    if envelope["role"] not in _ROLES:
        yield f"message {index} role: {envelope['role']!r:.80} is none"
    for at, block in enumerate(envelope["content"]):
        yield from _block(block, f"message {index} content[{at}]")


def _block(block: Any, path: str) -> Iterator[str]:
    kind = block.get("type") if isinstance(block, dict) else None
    if type(kind) is not str:
        yield f"{path}: is no block"
    elif well_typed(block):
        _remember(_shape(block, kind), nested=not block.keys().isdisjoint(NESTING))
    elif wrong := wrong_within(block):
        yield f"{path}.{wrong}: is of a wrong type"
    else:
        yield f"{path}: a {kind} holds a value of a wrong type"


def _remember(shape: tuple[Any, ...], *, nested: bool = False) -> None:
    if len(_GOOD) < _MOST_SHAPES:
        _GOOD[shape] = nested
