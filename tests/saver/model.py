"""InMemorySaver with the three operations it lacks, written in the plainest way: the oracle of these tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver

Place = tuple[str, str, str]
"""Thread id, checkpoint namespace, checkpoint id."""


class ModelSaver(InMemorySaver):
    """What every operation is compared with."""

    def places(self) -> list[Place]:
        """Return where checkpoints are, newest first."""
        found = [
            (thread_id, ns, checkpoint_id)
            for thread_id, by_ns in self.storage.items()
            for ns, by_id in by_ns.items()
            for checkpoint_id in by_id
        ]
        return sorted(found, key=lambda place: place[2], reverse=True)

    def list(self, config: Any, *, limit: int | None = None, **options: Any) -> Iterator[CheckpointTuple]:
        """InMemorySaver goes thread by thread; the contract says newest first."""
        found = sorted(super().list(config, **options), key=lambda each: each.checkpoint["id"], reverse=True)
        yield from found[: None if limit is None else max(limit, 0)]

    def drop(self, place: Place) -> None:
        """Forget one checkpoint and its writes; blobs may stay, since nothing names them."""
        thread_id, ns, checkpoint_id = place
        del self.storage[thread_id][ns][checkpoint_id]
        self.writes.pop(place, None)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        for place in self.places():
            metadata = self.serde.loads_typed(self.storage[place[0]][place[1]][place[2]][1])
            if metadata.get("run_id") in run_ids:
                self.drop(place)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        for ns, by_id in list(self.storage.get(source_thread_id, {}).items()):
            self.storage[target_thread_id][ns].update(by_id)
        for table in (self.blobs, self.writes):
            for key, value in list(table.items()):
                if key[0] == source_thread_id:
                    table[(target_thread_id, *key[1:])] = dict(value) if isinstance(value, dict) else value

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        for thread_id in thread_ids:
            if strategy == "delete":
                self.delete_thread(thread_id)
                continue
            for ns, by_id in self.storage.get(thread_id, {}).items():
                for checkpoint_id in sorted(by_id)[:-1]:
                    self.drop((thread_id, ns, checkpoint_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.delete_for_runs(run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.copy_thread(source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.prune(thread_ids, strategy=strategy)


def config_of(place: Place) -> Any:
    """Return the config that names a checkpoint."""
    return {"configurable": dict(zip(("thread_id", "checkpoint_ns", "checkpoint_id"), place, strict=True))}
