"""Keys of native blocks, parts and items that their API does not know: left out of what is sent, and named."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, Final

UNKNOWN_KEYS: Final = "left out keys that the API does not know"
"""What an export did with them."""
_OF_STREAMS: Final = frozenset({"index"})
"""Keys that say where a piece stood in a stream, which integrations leave in blocks."""
_MADE_ID: Final = "lc_"
"""What ids begin with that LangChain made."""


def only_known(native: Mapping[str, Any], known: Set[str]) -> Mapping[str, Any]:
    """Return a native form with the known ones of its keys; the same object if it has no others."""
    if native.keys() <= known:
        return native
    return {key: value for key, value in native.items() if key in known}


def left_out(native: Mapping[str, Any], known: Set[str]) -> str:
    """Name the keys of a native form that are not known, those of streams apart; "" if there are none.

    >>> left_out({"type": "text", "text": "x", "index": 0, "mine": None}, {"type", "text"})
    'mine'
    """
    return ", ".join(
        sorted(
            str(key)
            for key, value in native.items()
            if key not in known and key not in _OF_STREAMS and not (key == "id" and str(value).startswith(_MADE_ID))
        )
    )
