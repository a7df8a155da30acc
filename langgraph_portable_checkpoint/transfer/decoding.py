"""A saver that decodes each message once, for reading whole threads.

A saver that stores full copies gives every message of a conversation again with every checkpoint. Where it uses
LangGraph's own serializer, equal bytes stand for equal messages, so the message made of them before is given out again.
What is read this way is shared between checkpoints: it is for looking at and storing, never for handing out.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ..saver import PortableRedisSaver
from ..storage.messages import STANDARD

MAX_MESSAGES: Final = 5_000


class _Once:
    """An ext hook that remembers the messages it made; forgets all of them beyond a limit."""

    def __init__(self, hook: Callable[[int, bytes], Any]) -> None:
        self._hook = hook
        self._made: dict[bytes, Any] = {}

    def __call__(self, code: int, data: bytes) -> Any:
        known = self._made.get(data)
        if known is not None and known[0] == code:
            return known[1]
        value = self._hook(code, data)
        if type(value) in STANDARD:
            if len(self._made) >= MAX_MESSAGES:
                self._made.clear()
            self._made[data] = (code, value)
        return value


def decoding_once(saver: BaseCheckpointSaver[Any]) -> BaseCheckpointSaver[Any]:
    """Return a twin of a saver, on the same connections, that decodes equal messages once; itself where that cannot be.

    Our own saver does so anyway.
    """
    serde = getattr(saver, "serde", None)
    if isinstance(saver, PortableRedisSaver) or type(serde) is not JsonPlusSerializer:
        return saver
    twin, reader = copy.copy(saver), copy.copy(serde)
    reader._unpack_ext_hook = _Once(reader._unpack_ext_hook)
    twin.serde = reader
    return twin
