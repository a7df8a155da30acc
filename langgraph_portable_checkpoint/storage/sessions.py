"""Connections kept between blocking calls, so that a call does not borrow from the pool.

redis-py asks the operating system at each loan whether the connection is still open. In a process whose other threads
compute, each such question waits for its turn: about a quarter of a short call. A connection used a moment ago is taken
to be open; when it is not, the call fails and is repeated on a new one, as one is whose connection breaks meanwhile.

Only a connection whose reply was read to its end is kept. A call that ends otherwise, by Ctrl-C or a time limit, may
leave its reply unread, and the next call would take it for its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

from redis.exceptions import ResponseError

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
            reply = session.execute_command(*args, **options)
        except ResponseError:  # a reply, too
            self._keep(session)
            raise
        except BaseException:
            _drop(session)
            raise
        self._keep(session)
        return reply

    def _take(self) -> Any:
        self._forget_parents()
        try:
            session, used = self._kept.pop()
        except IndexError:
            return self.client.client()
        if self._clock() - used < FRESH_SECONDS:
            return session
        session.close()
        return self.client.client()

    def _keep(self, session: Any) -> None:
        if len(self._kept) < self._limit:
            self._kept.append((session, self._clock()))
        else:
            session.close()

    def _forget_parents(self) -> None:
        """Let go of a parent process's connections, which it goes on using."""
        if self._process_id != os.getpid():
            self._process_id = os.getpid()
            self._kept = []

    def pipeline(self, **options: Any) -> Any:
        """Make a pipeline, which borrows from the pool."""
        return self.client.pipeline(**options)

    def close(self) -> None:
        """Give back what is kept."""
        self._forget_parents()
        kept, self._kept = self._kept, []
        for session, _ in kept:
            session.close()


def _drop(session: Any) -> None:
    """Cut a connection that may have a reply on its way, and give it back to the pool."""
    if session.connection is not None:
        session.connection.disconnect()
    session.close()
