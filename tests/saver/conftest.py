"""Savers for the tests of this folder: ours on a real server, InMemorySaver as the oracle."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from langgraph_portable_checkpoint import PortableRedisSaver
from tests.saver.calls import AsyncCalls, Calls
from tests.saver.model import ModelSaver
from tests.servers import Room


class SaverFactory:
    """Makes savers on a room's server and prefix, and closes them at the end of the test."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self._made: list[Any] = []

    def __call__(self, url: str | None = None, **options: Any) -> Any:
        """Return a new saver; those made without `prefix` see the same data."""
        saver = PortableRedisSaver.from_url(url or self.room.url, **{"prefix": self.room.prefix, **options})
        self._made.append(saver)
        return saver

    def stored(self) -> list[bytes]:
        """Return all keys under the prefix of this test."""
        return self.room.keys()

    def close(self) -> None:
        for saver in self._made:
            saver.close()


@pytest.fixture
def make_saver(server: Room) -> Iterator[SaverFactory]:
    """Makes savers on the default server; all of one test share a prefix."""
    factory = SaverFactory(server)
    yield factory
    factory.close()


@pytest.fixture
def make_any_saver(any_server: Room) -> Iterator[SaverFactory]:
    """The same on each server build in turn."""
    factory = SaverFactory(any_server)
    yield factory
    factory.close()


@pytest.fixture
def saver(make_saver: SaverFactory) -> Any:
    """One saver on the default server."""
    return make_saver()


@pytest.fixture
def oracle() -> ModelSaver:
    """What every result is compared with."""
    return ModelSaver()


@pytest.fixture(params=["sync", "async"])
def calls(request: pytest.FixtureRequest) -> Iterator[Calls]:
    """The blocking and the asynchronous half of the saver, in turn."""
    if request.param == "sync":
        yield Calls()
        return
    with asyncio.Runner() as runner:
        yield AsyncCalls(runner)
