"""Whole threads in their stored form, a page at a time.

An outline names everything that a thread holds at one moment. Items and blobs never change; what may, has its SHA-1 in
the outline, so that a page which is not of that moment is noticed (`ThreadChangedError`), and its reader begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha1
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
        sizes, size = self.sizes[part], 0
        page: list[bytes] = []
        for name in sizes if names is None else names:
            if page and (size + sizes[name] > PAGE_BYTES or len(page) >= PAGE_FIELDS):
                yield page
                page, size = [], 0
            page.append(name)
            size += sizes[name]
        if page:
            yield page


def outline_thread(core: Core, thread_id: str) -> Program[Outline | None]:
    """Name everything that a thread holds; None when there is none. Two round trips.

    Raises:
        ThreadChangedError: the thread is written faster than its newest parts are read.
    """
    core.check_open()
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
    for part in ("writes", "turns"):
        newest = sorted(made.sizes[part], key=_age)[-HOT_FIELDS:]
        made.hot[part] = yield from read_page(core, made, part, newest)
    return made


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
    """Read some fields of a thread as they were when the outline was made. One round trip, none for what is known.

    Raises:
        ThreadChangedError: one of them is not there any more, or not as it was.
    """
    known = outline.hot.get(part, {})
    asked = [name for name in names if name not in known]
    if not asked:
        return {name: known[name] for name in names}
    key = core.layout.thread(outline.thread_id)[THREAD_PARTS.index(part)]
    (values,) = yield Batch((Command(("HMGET", key, *asked)),))
    found = dict(zip(asked, values, strict=True))
    for name, data in found.items():
        if data is None or _mark(part, data) != outline.marks[part][name]:
            raise ThreadChangedError(outline.thread_id)
    return {name: known[name] if name in known else found[name] for name in names}


def copy_thread(core: Core, source: str, target: str) -> Program[None]:
    """Copy a whole thread; readers of the target see nothing before all of it is there. Memory holds a few pages.

    Round trips: 6, and 2 for each page of each part.

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
    for part in PARTS:
        for names in outline.pages(part):
            page = yield from read_page(core, outline, part, names)
            yield from stage(core, load, {part: _renamed(view, page, source, target) if part == "turns" else page})
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
