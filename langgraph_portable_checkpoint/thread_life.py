"""Whole threads: what `PortableRedisSaver` offers to delete, copy and prune them, and to say how long they live."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from .storage.layout import checked_id
from .storage.programs import paged, threads
from .storage.programs.threads import Deleted

if TYPE_CHECKING:
    from .storage.effects import Program
    from .storage.programs.core import Core

T = TypeVar("T")


class ThreadMethods:
    """Deleting, copying, pruning and expiry of a saver's threads."""

    _core: Core
    _token: Callable[[str], bytes]

    def _run(self, program: Program[T]) -> T:
        raise NotImplementedError

    async def _arun(self, program: Program[T]) -> T:
        raise NotImplementedError

    def delete_thread(self, thread_id: str) -> None:
        """Delete everything of a thread at once; see `delete`."""
        self.delete(thread_id)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete everything of a thread at once; see `delete`."""
        await self.adelete(thread_id)

    def delete(self, thread_id: str) -> Deleted:
        """Delete everything of a thread at once and say what went.

        A tombstone stays for an hour, so that a run still going on cannot bring the thread back. A turn
        that someone holds by `exclusive_turn` does not hinder a delete: its further writes are refused.
        """
        return self._run(threads.delete_thread(self._core, checked_id("thread_id", thread_id)))

    async def adelete(self, thread_id: str) -> Deleted:
        """Delete everything of a thread; see `delete`."""
        return await self._arun(threads.delete_thread(self._core, checked_id("thread_id", thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made (metadata `run_id`), with their writes, in all threads."""
        self._run(threads.delete_for_runs(self._core, run_ids, self._token))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made; see `delete_for_runs`."""
        await self._arun(threads.delete_for_runs(self._core, run_ids, self._token))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a whole thread, all of its checkpoints, writes and media, under another id.

        Raises:
            ThreadNotFoundError, ThreadExistsError.
        """
        self._run(self._copy(source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a whole thread; see `copy_thread`."""
        await self._arun(self._copy(source_thread_id, target_thread_id))

    def _copy(self, source: str, target: str) -> Program[None]:
        source, target = checked_id("source_thread_id", source), checked_id("target_thread_id", target)
        return paged.copy_thread(self._core, source, target)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Prune threads.

        Args:
            strategy: "keep_latest" keeps the head of each namespace, and what delta channels need to be rebuilt;
                "delete" deletes the threads.
        """
        for thread_id in thread_ids:
            self._run(self._prune(thread_id, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Prune threads; see `prune`."""
        for thread_id in thread_ids:
            await self._arun(self._prune(thread_id, strategy))

    def _prune(self, thread_id: str, strategy: str) -> Program[int]:
        token = self._token(checked_id("thread_id", thread_id))
        return threads.prune(self._core, thread_id, strategy, token)

    def persist(self, thread_id: str) -> bool:
        """Keep a thread for ever, whatever ttl_seconds says; False when it does not exist."""
        return self._run(self._set_expiry(thread_id, 0))

    async def apersist(self, thread_id: str) -> bool:
        """Keep a thread for ever; see `persist`."""
        return await self._arun(self._set_expiry(thread_id, 0))

    def expire(self, thread_id: str, ttl_seconds: float | None) -> bool:
        """Give a thread its own time to live, counted from now and from each write; None: the saver's again."""
        return self._run(self._set_expiry(thread_id, _in_ms(ttl_seconds)))

    async def aexpire(self, thread_id: str, ttl_seconds: float | None) -> bool:
        """Give a thread its own time to live; see `expire`."""
        return await self._arun(self._set_expiry(thread_id, _in_ms(ttl_seconds)))

    def _set_expiry(self, thread_id: str, ttl_ms: int | None) -> Program[bool]:
        return threads.set_expiry(self._core, checked_id("thread_id", thread_id), ttl_ms)


def _in_ms(ttl_seconds: float | None) -> int | None:
    return None if ttl_seconds is None else max(1, int(ttl_seconds * 1000))
