"""Numbers that a checkpoint and a JSON document can hold. Knows nothing else."""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

INT64: Final = range(-(2**63), 2**64)
"""What msgpack's integers hold, signed and unsigned."""
NOT_FINITE: Final = "holds NaN or an infinity, which is not JSON"
BEYOND_64_BITS: Final = "holds an integer beyond 64 bits, which no checkpoint can hold"


def unfit(value: Any) -> str:
    """Say why no checkpoint or request can hold a value: long integers, NaN, infinities; "" if it can. No recursion."""
    left = [value]
    while left:
        one = left.pop()
        if type(one) is str:
            continue
        if isinstance(one, dict):
            left.extend(one.values())
        elif isinstance(one, (list, tuple)):
            left.extend(one)
        elif isinstance(one, int) and one not in INT64:
            return BEYOND_64_BITS
        elif isinstance(one, float) and not isfinite(one):
            return NOT_FINITE
    return ""
