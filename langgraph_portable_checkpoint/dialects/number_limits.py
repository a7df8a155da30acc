"""Values that a checkpoint and a JSON document can hold: numbers and keys above all. Knows nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any, Final

INT64: Final = range(-(2**63), 2**64)
"""What msgpack's integers hold, signed and unsigned."""
NOT_FINITE: Final = "holds NaN or an infinity, which is not JSON"
BEYOND_64_BITS: Final = "holds an integer beyond 64 bits, which no checkpoint can hold"
ODD_KEY: Final = "has a key that is not a text"
BROKEN_KEY: Final = "has a key with half of a surrogate pair, which no checkpoint can hold"


LEAVES: Final = frozenset({str, bool, type(None)})
"""Types of values that are plain whatever they are; looked up here, since most values are of them."""


LEAVES_OR_BYTES: Final = LEAVES | {bytes}
"""The same where media stand as bytes, as boto3 has them."""


def made_of_json(value: Any, depth: int, leaves: frozenset[object] = LEAVES) -> bool:
    """True for what is made of JSON's own types, within limits, nested at most `depth` deep; False says nothing.

    Keys are plain if they are ASCII, as those of providers are. One function, since it sees every value of an import.
    """
    kind = type(value)
    if kind is dict:
        for key in value:
            if type(key) is not str or not key.isascii():
                return False
        items: Iterable[Any] = value.values()
    elif kind is list:
        items = value
    elif kind is int:
        return value in INT64
    else:
        return kind is float and isfinite(value)
    if depth == 0:
        return False
    for item in items:  # noqa: SIM110 - all() over a generator takes twice as long
        if type(item) not in leaves and not made_of_json(item, depth - 1, leaves):
            return False
    return True


def unfit(value: Any) -> str:
    """Say why no checkpoint or request can hold a value: long integers, NaN, infinities, broken keys; "" if it can.

    No recursion, and each container is looked at once, so that one that holds itself has an end.
    """
    left = [value]
    seen: set[int] = set()
    while left:
        one = left.pop()
        if type(one) is str:
            continue
        if isinstance(one, (dict, list, tuple)):
            if id(one) not in seen:
                seen.add(id(one))
                if isinstance(one, dict) and not all(map(is_whole, one)):
                    return BROKEN_KEY
                if isinstance(one, dict) and not all(isinstance(key, str) for key in one):
                    return ODD_KEY
                left.extend(one.values() if isinstance(one, dict) else one)
        elif isinstance(one, int) and one not in INT64:
            return BEYOND_64_BITS
        elif isinstance(one, float) and not isfinite(one):
            return NOT_FINITE
    return ""


def is_whole(key: object) -> bool:
    """True if a key holds no half of a surrogate pair; keys that are no texts are for others to refuse."""
    if not isinstance(key, str) or key.isascii():
        return True
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True
