"""What this client knows of the threads it has touched. Only ever an optimisation.

Everything here is bound to a thread's generation: the server refuses to let a client rely on knowledge of another
generation, so a view may be dropped, or be out of date, at any moment without harm. Views are shared by threads of
execution; each change is one atomic dict or set operation, or replaces a whole value.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha1
from threading import Lock
from typing import Any, Final, NamedTuple

from .items import Secrets
from .known import KnownMessages
from .sequences import Entry, Sequenced

MAX_RECORDS: Final = 64
MAX_DELETED: Final = 4096
MAX_STOPS: Final = 4096
MAX_STORED: Final = 200_000
MAX_TOLD: Final = 4096


@dataclass(frozen=True, slots=True)
class HeldRecord:
    """A record as this client read or wrote it."""

    data: bytes
    versions: Mapping[str, Any]
    values: Mapping[str, Entry]

    @property
    def sha1_hex(self) -> bytes:
        """Name the record's bytes the way a script can."""
        return sha1(self.data, usedforsecurity=False).hexdigest().encode()


class Lost(NamedTuple):
    """Why a read could not get a medium."""

    reason: str
    """As the media report has it."""
    detail: str
    """The cause, in one line."""
    gone: bool = True
    """False when nobody knows, since the store failed: the bytes may still be there."""


class ToldRecord(NamedTuple):
    """A media table record that stands where this client was to write one."""

    data: bytes
    in_thread: bool
    """Whether the bytes are in the thread's own keys."""


StoodIn = Mapping[str, Mapping[Any, Any]]
"""Channel -> what a media walk found in its value that stands for media."""


@dataclass(slots=True)
class ThreadView:
    """One thread, in one generation."""

    generation: bytes
    secrets: Secrets
    sealed_key: bytes
    stored: set[bytes] = field(default_factory=set)
    """Digests of items and blobs known to be in the server."""
    known: KnownMessages = field(default_factory=KnownMessages)
    records: OrderedDict[bytes, HeldRecord] = field(default_factory=OrderedDict)
    heads: dict[str, bytes] = field(default_factory=dict)
    """Namespace -> place of the head this client saw last."""
    sequences: dict[tuple[str, str], Sequenced] = field(default_factory=dict)
    """(namespace, channel) -> the sequence read or written last."""
    runs: set[bytes] = field(default_factory=set)
    """Digests of runs already in the run index."""
    turn_log: Any = None
    """A `programs.turns.Tail`."""
    lost: dict[bytes, Lost] = field(default_factory=dict)
    """Media that a read could not get, and why."""
    away: set[bytes] = field(default_factory=set)
    """Media of which a read learned that nobody has them, in this thread or, of a store, in another: sent anew."""

    told: dict[bytes, ToldRecord] = field(default_factory=dict)
    """Media table records that the server would not have a call of this client write over unread."""

    stood: OrderedDict[bytes, StoodIn] = field(default_factory=OrderedDict)
    """Place -> what stood for media in the values of that checkpoint when this client read or wrote it."""

    def note_stood(self, place: bytes, stood: StoodIn) -> None:
        """Remember what stands for media in a checkpoint, or that nothing does, forgetting the oldest ones."""
        if stood:
            self.stood[place] = stood
        else:
            self.stood.pop(place, None)
        while len(self.stood) > MAX_RECORDS:
            try:
                self.stood.popitem(last=False)
            except KeyError:  # another thread was quicker
                return

    def hold(self, place: bytes, held: HeldRecord) -> None:
        """Remember a record, forgetting the oldest ones."""
        self.records[place] = held
        while len(self.records) > MAX_RECORDS:
            try:
                self.records.popitem(last=False)
            except KeyError:  # another thread was quicker
                return

    def confirm(self, digests: Iterable[bytes]) -> None:
        """Note that items are in the server."""
        if len(self.stored) > MAX_STORED:
            self.stored = set()
        self.stored.update(digests)


class Views:
    """The views of a saver, least recently used dropped first."""

    def __init__(self, limit: int = 512) -> None:
        self.limit = limit
        self._views: OrderedDict[str, ThreadView] = OrderedDict()
        self._lock = Lock()
        self.deleted: dict[str, None] = {}
        """Threads deleted through here and not read or begun anew since; the oldest are forgotten."""
        self.stops: dict[tuple[str, bytes], None] = {}
        """(thread, place) at which an interrupt or error was written that the turn log may not show yet.

        Not part of a view: a put and a put_writes that begin a thread side by side have a view each.
        """
        self._told: dict[tuple[bytes, bytes], None] = {}

    def get(self, thread_id: str) -> ThreadView | None:
        """Return the view of a thread, marking it as used."""
        with self._lock:
            view = self._views.get(thread_id)
            if view is not None:
                self._views.move_to_end(thread_id)
            return view

    def note_away(self, refs: Collection[bytes]) -> None:
        """Note that a store which threads share does not have these media."""
        with self._lock:
            for view in self._views.values():
                view.away.update(ref for ref in refs if ref in view.stored)

    def put(self, thread_id: str, view: ThreadView) -> None:
        """Replace the view of a thread."""
        with self._lock:
            self._views[thread_id] = view
            self._views.move_to_end(thread_id)
            while len(self._views) > self.limit:
                self._views.popitem(last=False)

    def note_deleted(self, thread_id: str) -> None:
        """Forget a thread, and remember that it was deleted: a run that goes on must not bring it back."""
        with self._lock:
            self._views.pop(thread_id, None)
            self.deleted[thread_id] = None
            if len(self.deleted) > MAX_DELETED:
                del self.deleted[next(iter(self.deleted))]

    def is_news(self, generation: bytes, ref: bytes) -> bool:
        """Tell whether a medium of a thread is met here first: two calls side by side may both have stored it."""
        with self._lock:
            news = (generation, ref) not in self._told
            self._told[generation, ref] = None
            if len(self._told) > MAX_TOLD:
                del self._told[next(iter(self._told))]
        return news

    def note_stop(self, thread_id: str, place: bytes) -> None:
        """Remember that an interrupt or error is being written; the put of its checkpoint may come after it."""
        with self._lock:
            self.stops[thread_id, place] = None
            if len(self.stops) > MAX_STOPS:
                del self.stops[next(iter(self.stops))]

    def drop(self, thread_id: str) -> None:
        """Forget a thread."""
        with self._lock:
            self._views.pop(thread_id, None)
