"""A client in front of a real one that lets something happen ahead of a chosen call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Between:
    """Calls `before(n)` ahead of its n-th call, counted from 0; a pipeline is one call.

    What `before` raises reaches the caller, and the call never reaches the server.
    """

    def __init__(self, client: Any, before: Callable[[int], None]) -> None:
        self.client = client
        self.before = before
        self.calls = 0

    def _next(self) -> None:
        self.calls += 1
        self.before(self.calls - 1)

    def execute_command(self, *args: Any, **options: Any) -> Any:
        self._next()
        return self.client.execute_command(*args, **options)

    def pipeline(self, **options: Any) -> Any:
        return _Pipeline(self, self.client.pipeline(**options))


class _Pipeline:
    def __init__(self, owner: Between, pipeline: Any) -> None:
        self._owner = owner
        self._pipeline = pipeline

    def execute_command(self, *args: Any, **options: Any) -> Any:
        return self._pipeline.execute_command(*args, **options)

    def execute(self, **options: Any) -> Any:
        self._owner._next()
        return self._pipeline.execute(**options)


class AsyncBetween(Between):
    """The same in front of an asyncio client."""

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        self._next()
        return await self.client.execute_command(*args, **options)

    def pipeline(self, **options: Any) -> Any:
        return _AsyncPipeline(self, self.client.pipeline(**options))


class _AsyncPipeline(_Pipeline):
    async def execute(self, **options: Any) -> Any:
        self._owner._next()
        return await self._pipeline.execute(**options)
