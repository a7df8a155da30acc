"""Savers for the tests of turns: all of one test share a prefix on the default server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.saver.conftest import SaverFactory
from tests.servers import Room


@pytest.fixture
def make_saver(server: Room) -> Iterator[SaverFactory]:
    factory = SaverFactory(server)
    yield factory
    factory.close()


@pytest.fixture
def saver(make_saver: SaverFactory) -> Any:
    return make_saver()
