"""One listing, page by page: which program to run next, and what of its answer counts.

A listing is lazy, and a program runs to its end, so what lasts from one page to the next is kept here.
"""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from ..effects import Program
from .core import Core
from .listing import (
    PAGE,
    AllThreads,
    Page,
    Query,
    all_places,
    open_all,
    page_of_all,
    page_of_namespace,
    page_of_places,
)


class Pages:
    """One listing.

    Args:
        thread_id: None for all threads.
        query: What to list within a thread.
        limit: At most so many checkpoints; None: all.
    """

    def __init__(self, core: Core, thread_id: str | None, *, query: Query, limit: int | None) -> None:
        self._core = core
        self._thread_id = thread_id
        self._query = query
        self._left = limit
        self._after: bytes | None = None
        self._places: list[bytes] | None = None
        self._all: AllThreads | None = None
        self._done = False

    def _count(self) -> int:
        if self._left is None or self._query.filter:
            return PAGE
        return min(PAGE, self._left)

    def next_program(self) -> Program[Any] | None:
        """Return the next program to run; None when the listing has ended."""
        if self._done or (self._left is not None and self._left <= 0):
            return None
        if self._thread_id is None:
            return self._next_of_all()
        if self._query.checkpoint_ns is not None:
            return page_of_namespace(self._core, self._thread_id, self._query, self._after, self._count())
        if self._places is None:
            return all_places(self._core, self._thread_id, self._query)
        if not self._places:
            return None
        count = self._count()
        places, self._places = self._places[:count], self._places[count:]
        return page_of_places(self._core, self._thread_id, self._query, places)

    def _next_of_all(self) -> Program[Any]:
        if self._all is None:
            return open_all(self._core)
        return page_of_all(self._core, self._all, self._query, self._count())

    def take(self, answer: Any) -> list[CheckpointTuple]:
        """Digest a program's value; return the tuples to hand out."""
        if isinstance(answer, AllThreads):
            self._all = answer
            return []
        if not isinstance(answer, Page):
            self._places = answer
            return []
        self._after = answer.after
        if self._thread_id is None:
            self._done = not answer.tuples
        elif self._places is None:
            self._done = answer.after is None
        else:
            self._places = [*answer.rest, *self._places]
        return self._counted(answer.tuples)

    def _counted(self, tuples: list[CheckpointTuple]) -> list[CheckpointTuple]:
        if self._left is None:
            return tuples
        taken = tuples[: self._left]
        self._left -= len(taken)
        return taken
