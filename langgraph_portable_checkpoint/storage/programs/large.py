"""Large blobs: taken to the server as plain commands, in one transaction with the script that names them.

A script's argument is copied three times on its way into a key, each time into fresh memory; a plain command's once.
The blobs stand before the script, which takes them back when it refuses the call. See docs/decisions.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ...errors import ServerReadOnlyError, StorageError
from ..effects import Batch, Command, Program, Script
from ..failures import translate

LARGE_BYTES: Final = 256 * 1024
"""From here on, what is saved in copies is more than three further commands cost."""


class MediaArgs(NamedTuple):
    """What a call stores of media."""

    large: Mapping[bytes, bytes]
    """Blobs that go before the script."""
    blobs: Mapping[bytes, bytes]
    """The other blobs: further arguments of the script."""
    records: Mapping[bytes, bytes]
    """Media table records."""
    read: bytes = b""
    """The names of records that these were made of, each with the SHA-1 in hex of what was read there."""

    @property
    def sent(self) -> bytes:
        """The concatenated refs of what goes before."""
        return b"".join(self.large)


def large_of(blobs: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Pick the blobs that are better stored by plain commands."""
    return {ref: data for ref, data in blobs.items() if len(data) >= LARGE_BYTES}


def in_transaction(script: Script, large: Mapping[bytes, bytes]) -> tuple[Command | Script, ...]:
    """Spell a script with its large blobs, all or nothing, to stand at the end of a batch."""
    pairs = [part for blob in large.items() for part in blob]
    blobs = script.keys[6]
    take_back = (Command((name, blobs, b"")) for name in ("HEXISTS", "HDEL"))  # who may not is refused, with all of it
    store = Command(("HSET", blobs, *pairs))
    return (Command(("MULTI",)), *take_back, store, replace(script, by_source=True), Command(("EXEC",)))


def may_end_transactions() -> Program[None]:
    """Make sure that this user may send EXEC; else the connection would stay within the first transaction. One call.

    Raises:
        ServerReadOnlyError: as the server says it.
    """
    try:
        yield Batch((Command(("EXEC",)),))
    except ServerReadOnlyError:
        raise
    except StorageError:
        return  # EXEC without MULTI, which is all that may be said


def answer_of(replies: Sequence[Any]) -> Any:
    """Return the script's reply of a batch that ends in `in_transaction`; raise what went wrong inside."""
    for reply in replies[-1]:
        if isinstance(reply, Exception):
            raise translate(reply) or reply
    return replies[-1][-1]


def forbids_transactions(refusal: StorageError) -> bool:
    """Tell whether this user may not start a transaction, or not end one."""
    return any(name in str(refusal).lower() for name in ("'multi'", "'exec'"))


def forbids_slots(refusal: StorageError) -> bool:
    """Tell whether a server refused a script because its keys are in several slots. Nothing was done."""
    return any(words in str(refusal) for words in ("CROSSSLOT", "same slot"))
