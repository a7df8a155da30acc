"""Whole threads in their stored form, a page at a time.

An outline names everything that a thread holds at one moment. Items and blobs never change; what may, has its SHA-1 in
the outline, so that a page which is not of that moment is noticed (`ThreadChangedError`), and its reader begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha1
from itertools import islice
from typing import Any, Final

from ...envelope.turn_wire import dump_turn, load_turn
from ...errors import ThreadNotFoundError
from ..effects import Batch, Command, Program, Script
from ..layout import THREAD_PARTS
from ..view import ThreadView
from .core import Core
from .turns import seal, unseal
from .whole import PARTS, StoredThread, begin_load, commit, dump_thread, stage

PAGE_BYTES: Final = 1024 * 1024
PAGE_FIELDS: Final = 512
HOT_FIELDS: Final = 32
"""How many of the newest writes and turns are read at once: a graph at work changes those."""
STAGED: Final = b"staged:"
"""Starts the fields of records that wait among the items for the commit of a load."""
_REPLIED: Final = ("items", "blobs", "media", "ckpts", "writes", "turns")


class ThreadChangedError(Exception):
    """What was to be read is not there as it was when the outline was made."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What a thread holds, by name.

    Attributes:
        head: The thread without its hashes.
        sizes: Part -> field -> bytes of the value.
        marks: Part -> field -> SHA-1 of the value, b"" for items and blobs.
        hot: Values read together with the outline, by part.
    """

    thread_id: str
    head: StoredThread
    sizes: Mapping[str, Mapping[bytes, int]]
    marks: Mapping[str, Mapping[bytes, bytes]]
    hot: dict[str, dict[bytes, bytes]] = field(default_factory=dict)

    def pages(self, part: str, names: Iterable[bytes] | None = None) -> Iterator[list[bytes]]:
        """Cut fields of a part into pages by their sizes; a page may hold one large value."""
        return (
            page[part] for page in self._cut((part, name) for name in (self.sizes[part] if names is None else names))
        )

    def steps(self, parts: Iterable[str] = PARTS) -> Iterator[dict[str, list[bytes]]]:
        """Cut several parts into pages, one after the other; a page may hold fields of some of them."""
        return self._cut((part, name) for part in parts for name in self.sizes[part])

    def _cut(self, fields: Iterable[tuple[str, bytes]]) -> Iterator[dict[str, list[bytes]]]:
        page: dict[str, list[bytes]] = {}
        size = count = 0
        for part, name in fields:
            if page and (size + self.sizes[part][name] > PAGE_BYTES or count >= PAGE_FIELDS):
                yield page
                page, size, count = {}, 0, 0
            page.setdefault(part, []).append(name)
            size, count = size + self.sizes[part][name], count + 1
        if page:
            yield page


def outline_thread(core: Core, thread_id: str) -> Program[Outline | None]:
    """Name everything that a thread holds; None when there is none. Two round trips.

    Raises:
        ThreadChangedError: the thread is written faster than its newest parts are read.
    """
    reply = yield Script("outline", core.layout.thread(thread_id), (), writes=False)
    if not reply[0] and not (reply[6] or reply[9] or reply[10]):
        return None
    head = StoredThread(reply[0], reply[1], reply[2], reply[3], reply[4], runs=tuple(sorted(reply[5])))
    parts = dict(zip(_REPLIED, map(_named, reply[6:12]), strict=True))
    made = Outline(
        thread_id,
        head,
        {part: {name: size for name, (size, _) in parts[part].items()} for part in PARTS},
        {part: {name: mark for name, (_, mark) in parts[part].items()} for part in PARTS},
    )
    made.hot.update((yield from read_pages(core, made, _hot(made))))
    return made


def _hot(outline: Outline) -> Mapping[str, Sequence[bytes]]:
    """Choose what is read together with the outline: all of a small thread, and what a graph at work changes."""
    steps = list(islice(outline.steps(), 2))
    if len(steps) < 2:
        return steps[0] if steps else {}
    return {part: sorted(outline.sizes[part], key=_age)[-HOT_FIELDS:] for part in ("writes", "turns")}


def nothing(thread_id: str) -> Outline:
    """Outline a thread that holds nothing."""
    empty = StoredThread(b"", b"", b"", b"", b"")
    return Outline(thread_id, empty, {part: {} for part in PARTS}, {part: {} for part in PARTS})


def _named(flat: Sequence[Any]) -> dict[bytes, tuple[int, bytes]]:
    rows = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
    return {name: (size, mark) for name, size, mark in rows if not name.startswith(STAGED)}


def held_thread(core: Core, thread_id: str) -> Program[Outline | None]:
    """Read a thread whole, and name what it holds: for one that is written all the time. One round trip."""
    stored = yield from dump_thread(core, thread_id)
    if stored is None:
        return None
    hot = {part: dict(stored.part(part)) for part in PARTS}
    hot["items"] = {name: data for name, data in hot["items"].items() if not name.startswith(STAGED)}
    sizes = {part: {name: len(data) for name, data in values.items()} for part, values in hot.items()}
    head = replace(stored, items={}, blobs={}, media={}, ckpts={}, writes={}, turns={})
    marks = {part: {name: _mark(part, data) for name, data in values.items()} for part, values in hot.items()}
    return Outline(thread_id, head, sizes, marks, hot)


def _mark(part: str, data: bytes) -> bytes:
    unchanging = part in ("items", "blobs")
    return b"" if unchanging else sha1(data, usedforsecurity=False).hexdigest().encode()


OUTLINES: Final[tuple[Callable[[Core, str], Program[Outline | None]], ...]] = (*[outline_thread] * 4, held_thread)
"""How to read a thread, one after the other, until it has not changed meanwhile: the last one holds it whole."""


def _age(name: bytes) -> tuple[int, bytes]:
    """Sort places by checkpoint id and turns by number."""
    place = name.rpartition(b"\0")
    return (0, place[2]) if place[1] else (len(name.partition(b":")[0]), name)


def read_page(core: Core, outline: Outline, part: str, names: Sequence[bytes]) -> Program[dict[bytes, bytes]]:
    """Read some fields of one part; see `read_pages`."""
    return (yield from read_pages(core, outline, {part: names}))[part]


def read_pages(
    core: Core, outline: Outline, wanted: Mapping[str, Sequence[bytes]]
) -> Program[dict[str, dict[bytes, bytes]]]:
    """Read some fields of a thread as they were when the outline was made. One round trip, none for what is known.

    Raises:
        ThreadChangedError: one of them is not there any more, or not as it was.
    """
    keys, hot = core.layout.thread(outline.thread_id), outline.hot
    asked = {part: [name for name in names if name not in hot.get(part, {})] for part, names in wanted.items()}
    asked = {part: names for part, names in asked.items() if names}
    calls = tuple(Command(("HMGET", keys[THREAD_PARTS.index(part)], *names)) for part, names in asked.items())
    replies = (yield Batch(calls)) if calls else ()
    read: dict[str, dict[bytes, Any]] = {
        part: dict(zip(names, values, strict=True))
        for (part, names), values in zip(asked.items(), replies, strict=True)
    }
    for part, values in read.items():
        if any(data is None or _mark(part, data) != outline.marks[part][name] for name, data in values.items()):
            raise ThreadChangedError(outline.thread_id)
    return {part: {name: _either(name, read.get(part), hot.get(part)) for name in wanted[part]} for part in wanted}


def _either(name: bytes, read: Mapping[bytes, bytes] | None, hot: Mapping[bytes, bytes] | None) -> bytes:
    return read[name] if read is not None and name in read else (hot or {})[name]


def copy_thread(core: Core, source: str, target: str) -> Program[None]:
    """Copy a whole thread; readers of the target see nothing before all of it is there. Memory holds a few pages.

    Round trips: 6, and 2 for each further page.

    Raises:
        ThreadNotFoundError: the source does not exist.
        ThreadExistsError: the target has data.
    """
    for outline_of in OUTLINES:
        with suppress(ThreadChangedError):
            outline = yield from outline_of(core, source)
            if outline is None:
                raise ThreadNotFoundError(f"thread {source!r} does not exist, so it cannot be copied to {target!r}.")
            yield from _copy_outlined(core, outline, target)
            return


def _copy_outlined(core: Core, outline: Outline, target: str) -> Program[None]:
    source, head = outline.thread_id, outline.head
    view = core.view_of(head.generation, head.key, source)
    load = yield from begin_load(core, target, head, key=core.reseal_key(head.key, source, target))
    for wanted in outline.steps():
        page = yield from read_pages(core, outline, wanted)
        if "turns" in page:
            page["turns"] = _renamed(view, page["turns"], source, target)
        yield from stage(core, load, page)
    yield from commit(core, load)


def _renamed(view: ThreadView, turns: Mapping[bytes, bytes], source: str, target: str) -> dict[bytes, bytes]:
    """Let a turn log name another thread. Its seals hold, for a copy keeps the thread's key."""
    renamed = dict(turns)
    for name, data in turns.items():
        if b":" not in name:
            where = f"turn {name.decode(errors='replace')} of thread {source!r}"
            record = load_turn(unseal(view, name, data, where=where), where=where)
            renamed[name] = seal(view, name, dump_turn({**record, "thread_id": target}))
    return renamed
