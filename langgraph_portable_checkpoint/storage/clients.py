"""Clients: taken ready-made, or made from a URL by the client library's own parser, one async client per event loop.

Closes only what was opened here. Nothing connects before the first call.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from ..errors import ClientMissingError

Make = Callable[[], Any]


class Clients:
    """Hands out the client to use right now.

    Args:
        blocking: A ready blocking client, or a maker of one.
        asynchronous: A ready asyncio client, or a maker of one per event loop.
        owned: Whether the makers' clients are ours to close.
    """

    def __init__(
        self,
        *,
        client: Any = None,
        async_client: Any = None,
        make: Make | None = None,
        make_async: Make | None = None,
    ) -> None:
        self._client = client
        self._async_client = async_client
        self._make = make
        self._make_async = make_async
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        self._lock = Lock()

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
        """
        if self._client is None:
            if self._make is None:
                raise ClientMissingError(
                    "this saver has only an async client; use ainvoke and the a-methods, or pass client= as well."
                )
            with self._lock:
                self._client = self._client or self._make()
        return self._client

    def asynchronous(self) -> Any:
        """Return the asyncio client of the running event loop."""
        if self._async_client is not None:
            return self._async_client
        loop = asyncio.get_running_loop()
        client = self._by_loop.get(loop)
        if client is None:
            assert self._make_async is not None
            with self._lock:
                self._drop_dead_loops()
                client = self._by_loop[loop] = self._make_async()
        return client

    def _drop_dead_loops(self) -> None:
        for loop in [loop for loop in list(self._by_loop) if loop.is_closed()]:
            _abandon(self._by_loop.pop(loop))

    def close(self) -> None:
        """Close the clients made here. Async clients of a loop that still runs are closed by `aclose`, or by its end."""
        if self._make is not None and self._client is not None:
            self._client.close()
            self._client = None
        with self._lock:
            for loop in list(self._by_loop):
                client = self._by_loop.pop(loop)
                if loop.is_running():
                    asyncio.run_coroutine_threadsafe(_aclose(client), loop)
                else:
                    _abandon(client)

    async def aclose(self) -> None:
        """Close the clients made here, the running loop's in good order."""
        client = self._by_loop.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await _aclose(client)
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
            transport = getattr(writer, "transport", None)
            with suppress(RuntimeError, AttributeError, OSError):
                transport._sock.close()
            with suppress(RuntimeError, AttributeError):
                connection._writer = connection._reader = None
