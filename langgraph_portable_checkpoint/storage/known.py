"""What this client can tell of messages without serializing each again.

Two means, both exact (see `messages`): the flat form of a whole conversation, whose beginning tells in one comparison
that the messages so far are unchanged; and the digests of single messages by what they are but for their id, because a
message is often written before it is given an id.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from threading import Lock
from typing import Any, Final

from ormsgpack import packb

from .messages import HEAVY_TEXT, OPTIONS, STANDARD, is_heavy
from .sequences import Entry

MAX_DIGESTS: Final = 4096
MAX_UNCONFIRMED: Final = 16
FLAT_BUDGET_BYTES: Final = 64 * 1024 * 1024
_EXTRA: Final = attrgetter("__pydantic_extra__")
_FIELDS: Final = attrgetter("__dict__")


class KnownMessages:
    """Digests of a thread's messages, by what they are; forgets the oldest beyond its limit."""

    def __init__(self) -> None:
        self._digests: dict[bytes, bytes] = {}
        self._unconfirmed: dict[bytes, bytes] = {}
        self.told: dict[bytes, list[dict[str, Any]]] = {}
        """What the media policy could not keep of a message, by its digest: to be said again once it has an id."""

    def get(self, name: bytes) -> bytes | None:
        """Find the digest of a message by its name."""
        return self._digests.get(name)

    def add(self, name: bytes, digest: bytes) -> None:
        """Remember a message."""
        self._digests[name] = digest
        _trim(self._digests, MAX_DIGESTS)

    def tell(self, digest: bytes, reports: list[dict[str, Any]]) -> None:
        """Remember what is to be said of a message."""
        self.told[digest] = reports
        _trim(self.told, MAX_DIGESTS)

    def send(self, digest: bytes, data: bytes) -> None:
        """Remember an item that is being sent: the same message may be sent again before the server has answered."""
        if len(data) <= HEAVY_TEXT:
            self._unconfirmed[digest] = data
            _trim(self._unconfirmed, MAX_UNCONFIRMED)

    def sent(self, digest: bytes) -> bytes | None:
        """Find an item that is being sent."""
        return self._unconfirmed.get(digest)

    def confirm(self, digests: Iterable[bytes]) -> None:
        """Forget items that the server has."""
        for digest in digests:
            self._unconfirmed.pop(digest, None)


def _trim(table: dict[bytes, Any], limit: int) -> None:
    if len(table) > limit:
        with suppress(KeyError, RuntimeError, StopIteration):  # another thread was quicker
            del table[next(iter(table))]


@dataclass(frozen=True, slots=True)
class Flat:
    """A conversation as LangGraph's encoder flattens it.

    Attributes:
        kinds: The messages' classes.
        packed: Their fields, as one msgpack array.
        light: Whether each stands there itself, none by its name.
    """

    kinds: list[type]
    packed: bytes
    light: bool = True

    def begins(self, other: Flat) -> bool:
        """Tell whether `other` begins with this conversation, unchanged."""
        own, start = (_array_header_bytes(len(each.kinds)) for each in (self, other))
        same = other.packed.startswith(memoryview(self.packed)[own:], start)
        return same and other.kinds[: len(self.kinds)] == self.kinds


def flatten_all(
    messages: Sequence[Any],
    name_heavy: Callable[[Any], bytes | None],
    *,
    known_light: int = 0,
    stands: Callable[[Any], bool] | None = None,
) -> Flat | None:
    """Flatten a conversation of standard messages; None when it, or a value in it, is something else.

    Args:
        messages: The conversation.
        name_heavy: Names a heavy message; its name stands in the place of its fields.
        known_light: So many messages from the beginning are not heavy unless they have changed.
        stands: Tells whether something in a message stands for a medium; None where nothing does.
    """
    kinds = list(map(type, messages))
    if not STANDARD.issuperset(kinds) or any(map(_EXTRA, messages)):
        return None
    fields: list[Any] = list(map(_FIELDS, messages))
    heavy: list[int] = []
    try:
        if stands is not None or _may_be_heavy([each.get("content") for each in fields[known_light:]]):
            heavy = [i for i, each in enumerate(messages) if is_heavy(each) or (stands is not None and stands(each))]
        for position in heavy:
            name = name_heavy(messages[position])
            if name is None:
                return None
            fields[position] = [name, messages[position].id]
        return Flat(kinds, packb(fields, None, OPTIONS), not heavy)
    except TypeError:  # a content without a length, or a value that LangGraph's encoder cannot take
        return None


def _may_be_heavy(contents: list[Any]) -> bool:
    """Tell whether one of these contents is worth a look by itself. Without a loop: most conversations are light."""
    return list in map(type, contents) or max(map(len, contents), default=0) > HEAVY_TEXT


def _array_header_bytes(count: int) -> int:
    """Length of msgpack's array header, which differs with the count."""
    return 1 if count < 16 else 3 if count < 65536 else 5


class Flats:
    """The flat forms of conversations, each with the entries that it stands for; least recently used dropped first."""

    def __init__(self, budget_bytes: int = FLAT_BUDGET_BYTES) -> None:
        self.budget_bytes = budget_bytes
        self._flats: OrderedDict[tuple[bytes, str, str], tuple[Flat, list[Entry]]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, generation: bytes, ns: str, channel: str) -> tuple[Flat, list[Entry]] | None:
        """Find the flat form of a channel of the thread with this generation."""
        return self._flats.get((generation, ns, channel))

    def drop(self, generation: bytes) -> None:
        """Forget the conversations of the thread with this generation."""
        with self._lock:
            for key in [key for key in self._flats if key[0] == generation]:
                self._bytes -= len(self._flats.pop(key)[0].packed)

    def put(self, generation: bytes, ns: str, channel: str, *, flat: Flat, entries: list[Entry]) -> None:
        """Replace the flat form of a channel."""
        key = (generation, ns, channel)
        with self._lock:
            old = self._flats.pop(key, None)
            self._flats[key] = (flat, entries)
            self._bytes += len(flat.packed) - (len(old[0].packed) if old else 0)
            while self._bytes > self.budget_bytes and len(self._flats) > 1:
                _, (dropped, _) = self._flats.popitem(last=False)
                self._bytes -= len(dropped.packed)
