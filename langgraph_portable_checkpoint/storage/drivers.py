"""Two drivers that run programs: one blocking, one async.

They alone talk to clients. Replies are always bytes, whatever the client decodes. Every effect may be sent twice: all
scripts are idempotent, so a call is repeated once when its connection breaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeVar, cast

from ..errors import MediaStoreError
from .clients import is_cluster
from .effects import Batch, Command, Effect, MediaPut, Program, Script
from .failures import is_no_script, may_retry, translate
from .scripts import load_script

T = TypeVar("T")
RAW: Final = {"NEVER_DECODE": True}


class Media(Protocol):
    """The external media store, both ways of calling it. A get answers bytes, or the error, per ref, in order."""

    def put_all(self, blobs: Sequence[tuple[str, str | None, bytes]]) -> list[str]: ...

    def get_all(self, refs: Sequence[tuple[str, str]]) -> list[Any]: ...

    async def aput_all(self, blobs: Sequence[tuple[str, str | None, bytes]]) -> list[str]: ...

    async def aget_all(self, refs: Sequence[tuple[str, str]]) -> list[Any]: ...


def evalsha(script: Script) -> tuple[Any, ...]:
    """Spell a script call by its SHA-1."""
    return ("EVALSHA", load_script(script.name).sha, len(script.keys), *script.keys, *script.args)


def evaluate(script: Script) -> tuple[Any, ...]:
    """Spell a script call with its source, for a server that does not know it."""
    return ("EVAL", load_script(script.name).source, len(script.keys), *script.keys, *script.args)


def keys_of(effect: Effect) -> list[bytes]:
    """Return a key of each call of an effect."""
    calls = effect.calls if isinstance(effect, Batch) else (effect,)
    scripts = [call.keys[0] for call in calls if isinstance(call, Script)]
    return scripts + [call.args[1] for call in calls if isinstance(call, Command) and len(call.args) > 1]


def _spell(call: Script | Command) -> tuple[Any, ...]:
    if isinstance(call, Script):
        return evaluate(call) if call.by_source else evalsha(call)
    return call.args


class BlockingDriver:
    """Runs programs on a blocking client.

    Args:
        client: Any redis-py or valkey-py client, or anything with `execute_command` and `pipeline`.
        media: The external media store, if the saver has one.
    """

    def __init__(self, client: Any, media: Media | None = None) -> None:
        self.client = client
        self.media = media
        self._batches = not is_cluster(client)

    def run(self, program: Program[T]) -> T:
        """Run a program to its end and return its value."""
        try:
            effect = next(program)
            while True:
                try:
                    reply = self._perform(effect)
                except Exception as error:  # noqa: BLE001  # the program decides, and lets through what it does not know
                    effect = program.throw(translate(error, keys_of(effect)) or error)
                else:
                    effect = program.send(reply)
        except StopIteration as stop:
            return cast(T, stop.value)

    def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Script):
            return self._call(effect)
        if isinstance(effect, Batch):
            return self._batch(effect)
        if self.media is None:
            raise MediaStoreError("this saver has no external media store; pass media_store=")
        if isinstance(effect, MediaPut):
            return self.media.put_all(effect.blobs)
        return self.media.get_all(effect.refs)

    def _call(self, call: Script | Command) -> Any:
        try:
            return self._send(_spell(call))
        except Exception as error:
            if isinstance(call, Script) and is_no_script(error):
                return self._send(evaluate(call))
            raise

    def _send(self, args: tuple[Any, ...]) -> Any:
        try:
            return self.client.execute_command(*args, **RAW)
        except Exception as error:
            if not may_retry(error):
                raise
        return self.client.execute_command(*args, **RAW)

    def _batch(self, batch: Batch) -> list[Any]:
        if len(batch.calls) == 1 or not self._batches:
            return [self._call(call) for call in batch.calls]
        try:
            replies = self._pipeline(batch)
        except Exception as error:
            if not may_retry(error):
                raise
            replies = self._pipeline(batch)
        return [self._settled(call, reply) for call, reply in zip(batch.calls, replies, strict=True)]

    def _pipeline(self, batch: Batch) -> list[Any]:
        pipeline = self.client.pipeline(transaction=False)
        for call in batch.calls:
            pipeline.execute_command(*_spell(call), **RAW)
        return cast(list[Any], pipeline.execute(raise_on_error=False))

    def _settled(self, call: Script | Command, reply: Any) -> Any:
        if not isinstance(reply, Exception):
            return reply
        if isinstance(call, Script) and is_no_script(reply):
            return self._send(evaluate(call))
        raise reply


class AsyncDriver:
    """Runs programs on an asyncio client; the twin of `BlockingDriver`."""

    def __init__(self, client: Any, media: Media | None = None) -> None:
        self.client = client
        self.media = media
        self._batches = not is_cluster(client)

    async def run(self, program: Program[T]) -> T:
        """Run a program to its end and return its value."""
        try:
            effect = next(program)
            while True:
                try:
                    reply = await self._perform(effect)
                except Exception as error:  # noqa: BLE001  # the program decides, and lets through what it does not know
                    effect = program.throw(translate(error, keys_of(effect)) or error)
                else:
                    effect = program.send(reply)
        except StopIteration as stop:
            return cast(T, stop.value)

    async def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Script):
            return await self._call(effect)
        if isinstance(effect, Batch):
            return await self._batch(effect)
        if self.media is None:
            raise MediaStoreError("this saver has no external media store; pass media_store=")
        if isinstance(effect, MediaPut):
            return await self.media.aput_all(effect.blobs)
        return await self.media.aget_all(effect.refs)

    async def _call(self, call: Script | Command) -> Any:
        try:
            return await self._send(_spell(call))
        except Exception as error:
            if isinstance(call, Script) and is_no_script(error):
                return await self._send(evaluate(call))
            raise

    async def _send(self, args: tuple[Any, ...]) -> Any:
        try:
            return await self.client.execute_command(*args, **RAW)
        except Exception as error:
            if not may_retry(error):
                raise
        return await self.client.execute_command(*args, **RAW)

    async def _batch(self, batch: Batch) -> list[Any]:
        if len(batch.calls) == 1 or not self._batches:
            return [await self._call(call) for call in batch.calls]
        try:
            replies = await self._pipeline(batch)
        except Exception as error:
            if not may_retry(error):
                raise
            replies = await self._pipeline(batch)
        return [await self._settled(call, reply) for call, reply in zip(batch.calls, replies, strict=True)]

    async def _pipeline(self, batch: Batch) -> list[Any]:
        pipeline = self.client.pipeline(transaction=False)
        for call in batch.calls:
            pipeline.execute_command(*_spell(call), **RAW)
        return cast(list[Any], await pipeline.execute(raise_on_error=False))

    async def _settled(self, call: Script | Command, reply: Any) -> Any:
        if not isinstance(reply, Exception):
            return reply
        if isinstance(call, Script) and is_no_script(reply):
            return await self._send(evaluate(call))
        raise reply
