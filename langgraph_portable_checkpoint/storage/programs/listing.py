"""list: checkpoints newest first, of one thread or of all, in pages."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from langgraph.checkpoint.base import CheckpointTuple

from ..decoder import Decoder
from ..effects import Batch, Command, MediaGet, Program, Script
from ..items import Parsed
from ..layout import SHARDS, split_place, thread_of
from ..layout import place as spell_place
from ..records import WriteRecord, load_writes
from ..view import ThreadView
from .anew import beginning_anew
from .core import Core, OtherThreadError, broken, fetch_missing, foreign, open_record, read_record
from .read import Hydrate, asking_for_no_media, last_turns, tuple_of

PAGE: Final = 100
PAGE_MEDIA_BYTES: Final = 64 * 2**20
"""Media of a page's checkpoints, each counted once; those of one checkpoint may be more."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Query:
    """What to list, within one thread.

    Attributes:
        checkpoint_ns: None for all namespaces.
        checkpoint_id: Only this checkpoint, in whichever namespaces ask for it.
        before_id: Only checkpoints with smaller ids.
        filter: Metadata keys and the values they must equal.
        media: See `read.get_tuple`.
    """

    checkpoint_ns: str | None = None
    checkpoint_id: str | None = None
    before_id: str | None = None
    filter: dict[str, Any] = field(default_factory=dict)
    media: Hydrate = "all"

    def names(self, place: bytes) -> bool:
        """Tell whether a checkpoint is asked for, by its place alone."""
        ns, checkpoint_id = split_place(place)
        return (
            (self.checkpoint_ns is None or ns == self.checkpoint_ns)
            and (self.checkpoint_id is None or checkpoint_id == self.checkpoint_id)
            and (self.before_id is None or checkpoint_id < self.before_id)
        )

    def takes(self, metadata: Any) -> bool:
        """Tell whether a checkpoint's metadata has every filter value."""
        return all(metadata.get(key) == value for key, value in self.filter.items())


def all_places(core: Core, thread_id: str, query: Query) -> Program[list[bytes]]:
    """List the places of a thread's checkpoints that a query names, newest first. One round trip."""
    index = core.layout.thread(thread_id)[3]
    (members,) = yield Batch((Command(("ZRANGE", index, 0, -1)),))
    named = [place for place in members if query.names(place)]
    return sorted(named, key=lambda place: split_place(place)[::-1], reverse=True)


def range_args(query: Query, after: bytes | None, count: int) -> tuple[bytes | int, ...]:
    """Spell the next page of one namespace for the list script."""
    assert query.checkpoint_ns is not None
    ns = spell_place(query.checkpoint_ns, "")
    upper = after or (spell_place(query.checkpoint_ns, query.before_id) if query.before_id is not None else None)
    if query.checkpoint_id is not None:
        exact = spell_place(query.checkpoint_ns, query.checkpoint_id)
        return (b"names", exact) if after is None and query.names(exact) else (b"names",)
    return (b"range", b"(" + upper if upper else b"(" + ns[:-1] + b"\1", b"[" + ns, count)


@dataclass(frozen=True, slots=True)
class Page:
    """Tuples of one page, and what comes next.

    Attributes:
        tuples: Newest first.
        after: In one namespace, the checkpoint that the next page starts behind; None when this was the last one.
        rest: Checkpoints that were asked for and are not on the page, since their media would be too much for it.
    """

    tuples: list[CheckpointTuple]
    after: bytes | None = None
    rest: Sequence[bytes] = ()


@beginning_anew
def page_of_namespace(core: Core, thread_id: str, query: Query, after: bytes | None, count: int) -> Program[Page]:
    """Read the next page of one namespace. Two round trips at the most, one more for media."""
    args = range_args(query, after, count)
    reply = yield Script("list", core.layout.thread(thread_id), args, writes=False)
    rows = _rows(reply)
    page = yield from _page(core, thread_id, reply, rows, query)
    places = [place for place, _, _ in rows]
    if page.rest:
        return Page(page.tuples, places[places.index(page.rest[0]) - 1])
    more = args[0] == b"range" and len(rows) == count
    return Page(page.tuples, places[-1] if more else None)


@beginning_anew
def page_of_places(core: Core, thread_id: str, query: Query, places: Sequence[bytes]) -> Program[Page]:
    """Read the named checkpoints. Two round trips at the most, one more for media."""
    reply = yield Script("list", core.layout.thread(thread_id), (b"names", *places), writes=False)
    return (yield from _page(core, thread_id, reply, _rows(reply), query))


Row = tuple[bytes, bytes, bytes]


def _rows(reply: list[bytes]) -> list[Row]:
    flat = reply[2:]
    return list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))


@dataclass(slots=True)
class Room:
    """What a page holds of media.

    Attributes:
        first: The thread whose newest checkpoint is on the page, whatever it holds; None: any.
    """

    first: str | None = None
    size_bytes: int = 0

    def takes(self, size_bytes: int, *, first: bool) -> bool:
        """Tell whether media fit, and count them if they do; those of the page's first checkpoint always do."""
        fits = first or not size_bytes or self.size_bytes + size_bytes <= PAGE_MEDIA_BYTES
        self.size_bytes += size_bytes if fits else 0
        return fits


def _page(
    core: Core, thread_id: str, reply: list[bytes], rows: list[Row], query: Query, room: Room | None = None
) -> Program[Page]:
    if not rows:
        return Page([])
    if rows[0][0] == b"broken" and not reply[0]:
        raise broken(thread_id)
    view = core.view_of(reply[0], reply[1], thread_id)
    decoder = core.decoder(view, thread_id, {})
    opened = [_open(view, row, thread_id) for row in rows]
    if query.filter:
        yield from fetch_missing(core, view, thread_id, {parsed.refs[0] for _, _, parsed, _ in opened}, decoder)
        opened = [row for row in opened if query.takes(read_record(core, row[2], decoder).metadata)]
    yield from fetch_missing(core, view, thread_id, _refs(opened), decoder, media=False)
    wanted = yield from _wanted(core, view, opened, decoder, thread_id, query.media)
    decoder.hydrate = query.media != "none"
    if decoder.hydrate:
        room = Room() if room is None else room
        wanted = wanted[: _fitting([refs for _, refs in wanted], decoder, room, thread_id)]
        decoder.final = False
        yield from fetch_missing(core, view, thread_id, [ref for _, refs in wanted for ref in refs], decoder)
    tuples = [
        tuple_of(core, view, place, data, parsed, writes, decoder, thread_id, None, remember=False, late=late)
        for (place, data, parsed, writes), (late, _) in zip(opened, wanted, strict=False)
    ]
    rest = [place for place, *_ in opened[len(tuples) :]]
    return Page(tuples if decoder.hydrate else [asking_for_no_media(made) for made in tuples], rest=rest)


Wanted = tuple[Mapping[str, int], Sequence[bytes]]


def _wanted(
    core: Core, view: ThreadView, opened: list[Opened], decoder: Decoder, thread_id: str, media: Hydrate
) -> Program[list[Wanted]]:
    """Find, for each checkpoint, from where on its media are wanted, and the refs of all that is."""
    if not isinstance(media, int):
        return [({}, tuple(_refs([row]))) for row in opened]
    wanted: list[Wanted] = []
    for row in opened:
        wanted.append((yield from last_turns(core, view, row[2], tuple(_refs([row])), decoder, thread_id, media)))
    return wanted


def _fitting(refs_of_rows: Sequence[Sequence[bytes]], decoder: Decoder, room: Room, thread_id: str) -> int:
    """Count the checkpoints, from the first on, whose media fit on the page."""
    seen: set[bytes] = set()
    begins = room.first in (None, thread_id)
    for at, refs in enumerate(refs_of_rows):
        if not room.takes(decoder.new_media_bytes(refs, seen), first=begins and at == 0):
            return at
    return len(refs_of_rows)


Opened = tuple[bytes, bytes, Parsed, list[WriteRecord]]


def _open(view: ThreadView, row: Row, thread_id: str) -> Opened:
    place, data, writes = row
    where = f"thread {thread_id!r}"
    parsed = open_record(view, place, data, thread_id)
    return place, data, parsed, load_writes(writes, place=place, secrets=view.secrets, where=where)


def _refs(opened: list[Opened]) -> Iterator[bytes]:
    for _, _, parsed, writes in opened:
        yield from parsed.refs
        for write in writes:
            yield from write.entry.refs


REGISTRATION_GRACE_MS: Final = 3_600_000
LOAD: Final = 128


@dataclass(slots=True)
class AllThreads:
    """Where a listing over all threads stands.

    Attributes:
        waiting: (an upper bound of its checkpoint ids, thread id) of threads not looked into yet, highest last.
        open: A heap of (inverted order of the next checkpoint id, thread id, its places left, next one last).
    """

    waiting: list[tuple[str, str]]
    open: list[tuple[_Descending, str, list[bytes]]] = field(default_factory=list)


class _Descending(str):
    """Text that sorts in reverse, for heapq."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)


def open_all(core: Core) -> Program[AllThreads]:
    """Find all threads. Two round trips on a standalone server, plus one when registrations have gone stale."""
    shards = yield Batch(tuple(Command(("ZRANGE", core.layout.registry(shard), 0, -1)) for shard in range(SHARDS)))
    names = [name for shard in shards for name in shard]
    if not names:
        return AllThreads([])
    threads = [thread_of(name) for name in names]
    peeks = yield Batch(tuple(Script("peek", core.layout.thread(thread), (), writes=False) for thread in threads))
    for thread, (_, _, state) in zip(threads, peeks, strict=True):
        if state:
            raise foreign(thread) if state == b"foreign" else broken(thread)
    yield from forget_threads(core, [name for name, peek in zip(names, peeks, strict=True) if not peek[0]])
    known = [(top.decode(errors="replace"), thread) for thread, (g, top, _) in zip(threads, peeks, strict=True) if g]
    return AllThreads(sorted(known))


def forget_in_shard(core: Core, shard: int, names: Sequence[bytes]) -> Program[None]:
    """Drop registrations from the shard in which they were found; younger than an hour they stay."""
    yield Script("forget", (core.layout.registry(shard),), (core.now_ms() - REGISTRATION_GRACE_MS, *names))


def forget_threads(core: Core, names: Sequence[bytes]) -> Program[None]:
    """Drop registrations of threads that are no more; younger than an hour they stay, for a first put under way."""
    by_shard: dict[int, list[bytes]] = {}
    for name in names:
        by_shard.setdefault(core.layout.shard_of(name), []).append(name)
    cutoff = core.now_ms() - REGISTRATION_GRACE_MS
    if by_shard:
        yield Batch(
            tuple(
                Script("forget", (core.layout.registry(shard),), (cutoff, *stale)) for shard, stale in by_shard.items()
            )
        )


def page_of_all(core: Core, state: AllThreads, query: Query, count: int) -> Program[Page]:
    """Read the next page over all threads, newest first; empty only at the end.

    Three round trips at the most on a standalone server when the page's checkpoints come from up to 128 threads not
    looked into yet, one more for media.
    """
    tuples: list[CheckpointTuple] = []
    while not tuples:
        picked = yield from _pick(core, state, query, count)
        if not picked:
            break
        tuples, rest = yield from _tuples_of_threads(core, picked, query)
        for thread_id, place in rest:
            _keep_open(state, thread_id, [place])
    return Page(tuples)


def _pick(core: Core, state: AllThreads, query: Query, count: int) -> Program[list[tuple[str, bytes]]]:
    picked: list[tuple[str, bytes]] = []
    while len(picked) < count:
        if state.waiting and (not state.open or state.waiting[-1][0] >= state.open[0][0]):
            yield from _look_into(core, state, query)
        elif not state.open:
            return picked
        else:
            _, thread_id, places = heapq.heappop(state.open)
            picked.append((thread_id, places.pop()))
            _keep_open(state, thread_id, places)
    return picked


def _look_into(core: Core, state: AllThreads, query: Query) -> Program[None]:
    threads = [thread for _, thread in state.waiting[-LOAD:]]
    del state.waiting[-LOAD:]
    replies = yield Batch(tuple(Command(("ZRANGE", core.layout.thread(thread)[3], 0, -1)) for thread in threads))
    for thread, members in zip(threads, replies, strict=True):
        named = [place for place in members if query.names(place)]
        _keep_open(state, thread, sorted(named, key=lambda place: split_place(place)[::-1]))


def _keep_open(state: AllThreads, thread_id: str, places: list[bytes]) -> None:
    if places:
        heapq.heappush(state.open, (_Descending(split_place(places[-1])[1]), thread_id, places))


def _tuples_of_threads(
    core: Core, picked: list[tuple[str, bytes]], query: Query
) -> Program[tuple[list[CheckpointTuple], list[tuple[str, bytes]]]]:
    """Read checkpoints of several threads; return also what was left for the next page."""
    wanted: dict[str, list[bytes]] = {}
    for thread_id, place in picked:
        wanted.setdefault(thread_id, []).append(place)
    replies = yield Batch(
        tuple(Script("list", core.layout.thread(t), (b"names", *places), writes=False) for t, places in wanted.items())
    )
    room = Room(first=picked[0][0])
    calls = {t: _or_anew(core, t, reply, query, wanted[t], room) for t, reply in zip(wanted, replies, strict=True)}
    found = yield from together(calls)
    by_place = {
        (
            thread_id,
            spell_place(made.config["configurable"]["checkpoint_ns"], made.config["configurable"]["checkpoint_id"]),
        ): made
        for thread_id, page in found.items()
        for made in page.tuples
    }
    left = {(thread_id, place) for thread_id, page in found.items() for place in page.rest}
    end = next((at for at, one in enumerate(picked) if one in left), len(picked))
    return [by_place[one] for one in picked[:end] if one in by_place], picked[end:]


def _or_anew(
    core: Core, thread_id: str, reply: list[bytes], query: Query, places: Sequence[bytes], room: Room
) -> Program[Page]:
    """Go on from the first reply; when the thread has become another one since, ask anew."""
    try:
        return (yield from _page(core, thread_id, reply, _rows(reply), query, room))
    except OtherThreadError:
        core.forget(thread_id)
    return (yield from page_of_places(core, thread_id, query, places))


def together(programs: dict[str, Program[T]]) -> Program[dict[str, T]]:
    """Run programs side by side, joining what they ask for at the same time into one batch."""
    values: dict[str, T] = {}
    asked: dict[str, Script | Batch | MediaGet] = {}
    replies: dict[str, Any] = dict.fromkeys(programs)
    while replies:
        for name, reply in replies.items():
            try:
                asked[name] = programs[name].send(reply)  # type: ignore[assignment]
            except StopIteration as stop:
                values[name] = stop.value
        replies = (yield from _joined(asked)) if asked else {}
        asked = {}
    return values


def _joined(asked: Mapping[str, Script | Batch | MediaGet]) -> Program[dict[str, Any]]:
    media = {name: ask.refs for name, ask in asked.items() if isinstance(ask, MediaGet)}
    calls = {name: _calls_of(ask) for name, ask in asked.items() if not isinstance(ask, MediaGet)}
    replies: dict[str, Any] = {}
    if media:
        replies |= _parted(media, (yield MediaGet(tuple(ref for refs in media.values() for ref in refs))))
    if calls:
        replies |= _parted(calls, (yield Batch(tuple(call for group in calls.values() for call in group))))
    return {name: replies[name][0] if isinstance(ask, Script) else replies[name] for name, ask in asked.items()}


def _calls_of(ask: Script | Batch) -> Sequence[Script | Command]:
    return ask.calls if isinstance(ask, Batch) else (ask,)


def _parted(groups: Mapping[str, Sequence[Any]], flat: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """Part the replies to joined groups."""
    replies = iter(flat)
    return {name: [next(replies) for _ in group] for name, group in groups.items()}
