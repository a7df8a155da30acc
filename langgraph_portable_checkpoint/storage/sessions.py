"""Connections kept between blocking calls, so that a call does not borrow from the pool.

redis-py asks the operating system at each loan whether the connection is still open. In a process whose other threads
compute, each such question waits for its turn: about a quarter of a short call. A connection used a moment ago is taken
to be open; when it is not, the call fails and is repeated on a new one, as one is whose connection breaks meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

MAX_KEPT: Final = 8
FRESH_SECONDS: Final = 1.0
"""A connection unused for longer goes back to the pool, which asks whether it is open when it lends it again."""


class Sessions:
    """Runs commands on connections of a redis-py client's pool, one call at a time on each.

    The connection used last is used next. At least one of the pool's is never kept, for pipelines and other calls.

    Args:
        client: A client that nobody else uses or closes.
        clock: Seconds that only grow.
    """

    def __init__(self, client: Any, *, clock: Callable[[], float] = monotonic) -> None:
        self.client = client
        self._clock = clock
        self._kept: list[tuple[Any, float]] = []
        self._limit = min(MAX_KEPT, client.connection_pool.max_connections - 1)
        self._process_id = os.getpid()

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """Run one command; raises what the client raises."""
        session = self._take()
        try:
            return session.execute_command(*args, **options)
        finally:
            if len(self._kept) < self._limit:
                self._kept.append((session, self._clock()))
            else:
                session.close()

    def _take(self) -> Any:
        if self._process_id != os.getpid():  # a fork: the parent goes on using these connections
            self._process_id = os.getpid()
            self._kept = []
        try:
            session, used = self._kept.pop()
        except IndexError:
            return self.client.client()
        if self._clock() - used < FRESH_SECONDS:
            return session
        session.close()
        return self.client.client()

    def pipeline(self, **options: Any) -> Any:
        """Make a pipeline, which borrows from the pool."""
        return self.client.pipeline(**options)

    def close(self) -> None:
        """Give back what is kept."""
        kept, self._kept = self._kept, []
        for session, _ in kept:
            session.close()
