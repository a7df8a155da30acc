"""One way to call a saver from a test, whichever of its two halves is meant.

A test body is written once against `Calls`; the fixture of that name runs it on the blocking methods and on the
asynchronous ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

Saver = BaseCheckpointSaver[Any]


class Calls:
    """The blocking half of any saver."""

    mode = "sync"

    def run(self, target: Any, name: str, *args: Any, **options: Any) -> Any:
        """Call `target.name`, or its asynchronous twin, and return the result."""
        return getattr(target, name)(*args, **options)

    def drain(self, target: Any, name: str, *args: Any, **options: Any) -> list[Any]:
        """Collect an iterator, or its asynchronous twin."""
        return list(getattr(target, name)(*args, **options))

    def put(self, saver: Saver, *args: Any) -> Any:
        return self.run(saver, "put", *args)

    def put_writes(self, saver: Saver, *args: Any) -> None:
        self.run(saver, "put_writes", *args)

    def get_tuple(self, saver: Saver, config: Any) -> CheckpointTuple | None:
        found: CheckpointTuple | None = self.run(saver, "get_tuple", config)
        return found

    def list(self, saver: Saver, config: Any, **options: Any) -> Sequence[CheckpointTuple]:
        return self.drain(saver, "list", config, **options)

    def gather(self, target: Any, name: str, argument_lists: Sequence[Sequence[Any]]) -> Sequence[Any]:
        """Call one method many times at once: in threads here, as tasks of one loop in the asynchronous half."""
        with ThreadPoolExecutor(len(argument_lists)) as pool:
            return list(pool.map(lambda args: getattr(target, name)(*args), argument_lists))


class AsyncCalls(Calls):
    """The asynchronous half, on one event loop for the life of a test."""

    mode = "async"

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner

    def run(self, target: Any, name: str, *args: Any, **options: Any) -> Any:
        return self._runner.run(getattr(target, f"a{name}")(*args, **options))

    def drain(self, target: Any, name: str, *args: Any, **options: Any) -> list[Any]:
        return self._runner.run(_collect(getattr(target, f"a{name}")(*args, **options)))

    def gather(self, target: Any, name: str, argument_lists: Sequence[Sequence[Any]]) -> Sequence[Any]:
        async def all_of() -> list[Any]:
            return list(await asyncio.gather(*(getattr(target, f"a{name}")(*args) for args in argument_lists)))

        return self._runner.run(all_of())


async def _collect(found: Any) -> list[Any]:
    return [entry async for entry in found]
