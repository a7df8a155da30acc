"""Clients: taken ready-made, or made from a URL by the client library's own parser, one async client per event loop.

Closes only what was opened here. Nothing connects before the first call.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from functools import cache, partial
from threading import Lock
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import redis
import redis.asyncio

from ..errors import ClientMissingError, SaverClosedError
from .sessions import Sessions

POOL_SIZE: Final = 64
"""Connections of a client made from a URL; more calls at once than this wait for one."""
POOL_WAIT_SECONDS: Final = 60

Make = Callable[[], Any]


def is_cluster(client: Any) -> bool:
    """Tell whether a client routes by slot, so that calls of several slots cannot share a pipeline."""
    kind: type = type(client)
    return _routes_by_slot(kind)


@cache
def _routes_by_slot(kind: type) -> bool:
    return any(base.__name__ in ("RedisCluster", "ValkeyCluster") for base in kind.__mro__)


class _Held(NamedTuple):
    client: Any
    guard: AsyncGenerator[None, None]


async def _until_loop_ends(client: Any) -> AsyncGenerator[None, None]:
    """Close a client when the event loop shuts its generators down, which it does before it closes."""
    try:
        yield
    finally:
        await _aclose(client)


class Clients:
    """Hands out the client to use right now.

    Args:
        client: A ready blocking client; the caller's to close.
        async_client: A ready asyncio client; the caller's to close.
        make: Makes a blocking client.
        make_async: Makes an asyncio client for the running event loop.
        cluster: Whether those that are made are a cluster's.
    """

    def __init__(
        self,
        *,
        client: Any = None,
        async_client: Any = None,
        make: Make | None = None,
        make_async: Make | None = None,
        cluster: bool = False,
    ) -> None:
        self.transacts = not (cluster or is_cluster(client) or is_cluster(async_client))
        """Whether all clients can send MULTI and EXEC."""
        self.closed = False
        """Whether a saver on these was closed, and with it all that share them."""
        self._client = client
        self._sessions: Sessions | None = None
        self._async_client = async_client
        self._make = make
        self._make_async = make_async
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _Held] = WeakKeyDictionary()
        self._lock = Lock()

    @classmethod
    def from_url(cls, url: str, *, cluster: bool = False) -> Clients:
        """Make clients from a URL, as redis-py parses it.

        Raises:
            ValueError: the URL is not one.
        """
        redis.connection.parse_url(url)  # type: ignore[no-untyped-call]
        if cluster:
            return cls(
                make=partial(redis.RedisCluster.from_url, url),
                make_async=partial(redis.asyncio.RedisCluster.from_url, url),
                cluster=True,
            )
        pool = {"max_connections": POOL_SIZE, "timeout": POOL_WAIT_SECONDS}
        return cls(
            make=lambda: redis.Redis.from_pool(redis.BlockingConnectionPool.from_url(url, **pool)),
            make_async=lambda: redis.asyncio.Redis.from_pool(
                redis.asyncio.BlockingConnectionPool.from_url(url, **pool)
            ),
        )

    @property
    def can_block(self) -> bool:
        """Whether blocking calls are possible."""
        return self._client is not None or self._make is not None

    @property
    def can_await(self) -> bool:
        """Whether there is an asyncio client, so that no thread is needed."""
        return self._async_client is not None or self._make_async is not None

    def blocking(self) -> Any:
        """Return the blocking client.

        Raises:
            ClientMissingError: the saver was built with an async client only.
            SaverClosedError: closed; a call that began just before makes no new client.
        """
        if self._client is None:
            if self._make is None:
                raise ClientMissingError(
                    "this saver has only an async client; use ainvoke and the a-methods, or pass client= as well."
                )
            with self._lock:
                if self.closed:
                    raise SaverClosedError
                if self._client is None:  # another thread may have been quicker
                    self._client = self._make()
        return self._client

    def calling(self) -> Any:
        """Return what runs blocking commands: the caller's own client, or sessions of the one made here.

        Raises:
            ClientMissingError, SaverClosedError: as `blocking`.
        """
        if self._sessions is None:
            client = self.blocking()
            if self._make is None or is_cluster(client):
                return client
            with self._lock:
                if self._sessions is None:  # another thread may have been quicker
                    self._sessions = Sessions(client)
        return self._sessions

    async def asynchronous(self) -> Any:
        """Return the asyncio client of the running event loop, made at the loop's first call and closed at its end."""
        if self._async_client is not None:
            return self._async_client
        loop = asyncio.get_running_loop()
        held = self._by_loop.get(loop)
        if held is None:
            if self.closed:
                raise SaverClosedError
            assert self._make_async is not None
            self._drop_dead_loops()
            client = self._make_async()
            held = self._by_loop[loop] = _Held(client, _until_loop_ends(client))
            await anext(held.guard)
        return held.client

    def _drop_dead_loops(self) -> None:
        for loop in [loop for loop in list(self._by_loop) if loop.is_closed()]:
            _abandon(self._by_loop.pop(loop).client)

    def close(self) -> None:
        """Close the clients made here. Async clients of a running loop are closed by `aclose`, or at its end."""
        if self._make is not None and self._client is not None:
            sessions, self._sessions = self._sessions, None
            if sessions is not None:
                sessions.close()
            self._client.close()
            self._client = None
        with self._lock:
            for loop in list(self._by_loop):
                client = self._by_loop.pop(loop).client
                if loop.is_running():
                    asyncio.run_coroutine_threadsafe(_aclose(client), loop)
                else:
                    _abandon(client)

    async def aclose(self) -> None:
        """Close the clients made here, the running loop's in good order."""
        held = self._by_loop.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held.guard.aclose()
        self.close()


async def _aclose(client: Any) -> None:
    closed = client.aclose() if hasattr(client, "aclose") else client.close()
    if inspect.isawaitable(closed):
        await closed


def _abandon(client: Any) -> None:
    """Let go of an async client whose loop no longer runs; its sockets cannot be closed politely any more."""
    pool = getattr(client, "connection_pool", None)
    for name in ("_available_connections", "_in_use_connections"):
        for connection in list(getattr(pool, name, ())):
            writer = getattr(connection, "_writer", None)
            transport: Any = getattr(writer, "transport", None)
            with suppress(RuntimeError, AttributeError, OSError):
                transport._sock.close()
            with suppress(RuntimeError, AttributeError):
                connection._writer = connection._reader = None
