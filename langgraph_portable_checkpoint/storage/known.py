"""Which messages a thread already holds, by what they are."""

from __future__ import annotations

from typing import Final

from langchain_core.messages import BaseMessage
from ormsgpack import packb

from .messages import LONGEST_NAME, OPTIONS, STANDARD, fingerprint, flatten, shortened
from .sequences import Entry

MAX_BYTES: Final = 16 * 1024 * 1024


class KnownMessages:
    """Entries of messages encoded before, found by the fields that they have now.

    A message changed in place is not found. Two tables: one by all fields, for the entry; one by all fields but the
    id, for the digest, because a message is often written before it is given an id. Forgets all when it grows too big.
    """

    def __init__(self) -> None:
        self._entries: dict[type, dict[bytes, Entry]] = {kind: {} for kind in STANDARD}
        self._digests: dict[type, dict[bytes, bytes]] = {kind: {} for kind in STANDARD}
        self._bytes = 0

    def find(self, value: object) -> Entry | None:
        """Find the entry of a message by all of its fields; None for whatever is not known."""
        table = self._entries.get(type(value))
        if table is None or value.__pydantic_extra__:  # type: ignore[attr-defined]  # a message, by its type
            return None
        try:
            flat = packb(value.__dict__, None, OPTIONS)
        except TypeError:
            return None
        return table.get(flat if len(flat) <= LONGEST_NAME else shortened(flat))

    def add_entry(self, message: BaseMessage, entry: Entry) -> None:
        """Remember the entry of a message."""
        name = flatten(message, message.__dict__) if type(message) in STANDARD else None
        if name is not None:
            self._grow(len(name))
            self._entries[type(message)][name] = entry

    def digest(self, message: BaseMessage) -> tuple[bytes | None, bytes | None]:
        """Find the digest of a message whatever its id, and the name under which to add it when there is none."""
        table = self._digests.get(type(message))
        name = None if table is None else fingerprint(message)
        return (None if name is None or table is None else table.get(name)), name

    def add_digest(self, message: BaseMessage, name: bytes, digest: bytes) -> None:
        """Remember the digest of a message."""
        self._grow(len(name))
        self._digests[type(message)][name] = digest

    def _grow(self, more: int) -> None:
        self._bytes += more + 200
        if self._bytes > MAX_BYTES:
            fresh = KnownMessages()
            self._entries, self._digests, self._bytes = fresh._entries, fresh._digests, more
