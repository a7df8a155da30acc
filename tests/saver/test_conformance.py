"""The official conformance suite of LangGraph: all eight capabilities, both halves, every server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability

from tests.saver.conftest import SaverFactory


class BlockingHalf(BaseCheckpointSaver[Any]):
    """Offers the blocking methods of a saver under their asynchronous names, which is all that the suite calls."""

    def __init__(self, saver: Any) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver

    async def aget_tuple(self, config: Any) -> Any:
        return self._saver.get_tuple(config)

    async def alist(self, config: Any, **options: Any) -> AsyncIterator[Any]:
        for found in self._saver.list(config, **options):
            yield found

    async def aput(self, *args: Any) -> Any:
        return self._saver.put(*args)

    async def aput_writes(self, *args: Any, **options: Any) -> None:
        self._saver.put_writes(*args, **options)

    async def adelete_thread(self, thread_id: str) -> None:
        self._saver.delete_thread(thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        self._saver.delete_for_runs(run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self._saver.copy_thread(source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self._saver.prune(thread_ids, strategy=strategy)


@pytest.mark.parametrize("half", ["async", "sync"])
def test_official_suite_finds_full_conformance(make_any_saver: SaverFactory, half: str) -> None:
    @checkpointer_test(name=f"PortableRedisSaver {half}")
    async def registered() -> AsyncIterator[Any]:
        saver = make_any_saver(prefix=f"{make_any_saver.room.prefix}-{next(numbers)}")
        yield saver if half == "async" else BlockingHalf(saver)

    numbers: Iterator[int] = iter(range(100))
    report = asyncio.run(validate(registered)).to_dict()["results"]
    assert {name: result["failures"] for name, result in report.items()} == {cap.value: [] for cap in Capability}
    assert all(result["passed"] for result in report.values())
