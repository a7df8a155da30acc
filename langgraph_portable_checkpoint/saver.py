"""PortableRedisSaver: the checkpointer, blocking and async on the same programs."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeVar, cast, get_args

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol, maybe_add_typed_methods

from .conversation import ConversationMethods
from .errors import InvalidIdError, PortableCheckpointError, SaverClosedError, ServerUnavailableError
from .media.cache import BlobCache
from .media.calls import DEFAULT_TIMEOUT_SECONDS, StoreCalls
from .media.hooks import MediaHooks, tell
from .media.options import hooks_from, policy_from, seconds_from, store_from
from .media.placing import PolicyWalk
from .media.policy import MediaPolicy, Mode
from .media.shared_puts import SharedPuts, for_one_call
from .media.stores import store_name
from .media.table import MediaRecord, MediaReport
from .serde import DataSerializer
from .storage.clients import Clients
from .storage.codec import ValueCodec
from .storage.drivers import AsyncDriver, BlockingDriver
from .storage.effects import Program
from .storage.layout import MAX_TASK_ID_BYTES, Layout, checked_id
from .storage.programs import read, write
from .storage.programs.core import Core
from .storage.programs.listing import Query
from .storage.programs.pages import Pages
from .thread_life import ThreadMethods
from .thread_media import MediaMethods

T = TypeVar("T")
Version = int | float | str
OnConflict = Literal["allow", "warn", "raise"]
DEFAULT_PREFIX: Final = "lpc"
CLOSED_MEANWHILE: Final = "this saver was closed in the middle of the call, which may have been carried out or not"


class PortableRedisSaver(ThreadMethods, ConversationMethods, MediaMethods, BaseCheckpointSaver[Any]):
    """A LangGraph checkpointer on plain Redis (6.2 or newer) and Valkey (7.2 or newer).

    Stores conversations as vendor-neutral envelopes and everything else through the serializer, unchanged. One object
    serves `invoke` and `ainvoke`, many threads of execution, and several event loops one after the other. It connects
    at the first call; `with` and `setup()` are optional.

    Args:
        client: A ready blocking client (redis-py or valkey-py; standalone, cluster, or a Sentinel's master). Stays the
            caller's to close.
        async_client: A ready asyncio client, bound to the caller's loop. Without one, async calls run the blocking
            client in a thread.
        prefix: Starts every key; savers with different prefixes share a server without seeing each other.
        serde: A serializer; by default LangGraph's own, reading back data types only (see `DataSerializer`). With an
            EncryptedSerializer everything but ids of threads, namespaces and checkpoints is encrypted.
        ttl_seconds: Every write makes the thread's keys expire this long after it; None: never.
        media_policy: What a save does with media: a policy, a mode such as "strip", or some fields as a map.
        media_store: Where media bytes go instead of the thread's own keys: a MediaStore, or the path of a folder ("~"
            is the user's). A bucket is an ObjectMediaStore.
        media_timeout_seconds: How long a save or read waits for the media store while nothing of it comes back.
        media_hooks: Callables that hear of media stored, missing or expired.
        conversation_channels: The channels that hold conversations, first choice first; failing these, any list of
            messages is taken for one.
        on_conflict: What to do about a put whose parent is not the head of its namespace: "allow", "warn" or "raise".

    Example:
        >>> saver = PortableRedisSaver.from_url("redis://localhost:6379")
        >>> saver.close()
    """

    def __init__(
        self,
        client: Any = None,
        async_client: Any = None,
        *,
        prefix: str = DEFAULT_PREFIX,
        serde: SerializerProtocol | None = None,
        ttl_seconds: float | None = None,
        media_policy: MediaPolicy | Mode | Mapping[str, Any] | None = None,
        media_store: Any = None,
        media_timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        media_hooks: MediaHooks | None = None,
        conversation_channels: Sequence[str] = ("messages",),
        on_conflict: OnConflict = "allow",
        _clients: Clients | None = None,
        _on_close: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(serde=serde or DataSerializer())
        if client is None and async_client is None and _clients is None:
            raise TypeError("PortableRedisSaver needs client= or async_client=, or use from_url(...) or embedded(...)")
        if on_conflict not in get_args(OnConflict):
            raise ValueError(f"on_conflict is {on_conflict!r}; use one of {', '.join(get_args(OnConflict))}")
        if ttl_seconds is not None and ttl_seconds <= 0:
            raise ValueError(f"ttl_seconds is {ttl_seconds!r}; it must be positive, or None for never")
        self._clients = _clients or Clients(client=client, async_client=async_client)
        self._on_close = _on_close
        self.media_policy = policy_from(media_policy)
        self.media_store = store = store_from(media_store)
        self.media_hooks = hooks_from(media_hooks)
        timeout_seconds = seconds_from(media_timeout_seconds)
        calls = None if store is None else StoreCalls(store, timeout_seconds=timeout_seconds)
        self._store_puts = None if calls is None else SharedPuts(calls)
        self._core = Core(
            layout=Layout(prefix),
            codec=self._codec(self.serde),
            random_bytes=os.urandom,
            now_ms=lambda: time.time_ns() // 1_000_000,
            ttl_ms=None if ttl_seconds is None else max(1, int(ttl_seconds * 1000)),
            on_conflict=on_conflict,
            transactions=None if self._clients.transacts else False,
            spans_slots=self._clients.transacts,
            conversation_channels=tuple(conversation_channels),
            blobs=BlobCache(),
            store=None if store is None else store_name(store),
            on_stored=_hook(self.media_hooks.on_externalize, MediaRecord),
            on_lost=_hook(self.media_hooks.on_missing, MediaReport),
        )

    def _codec_for(self, config: RunnableConfig) -> ValueCodec | None:
        """Return a codec under the config's own media policy, if it has one; see `MediaPolicy.override`."""
        policy = (config.get("configurable") or {}).get("media_policy")
        if policy is None:
            return None
        return ValueCodec(self.serde, PolicyWalk(self.media_policy.override(policy)))

    def _codec(self, serde: SerializerProtocol) -> ValueCodec:
        return ValueCodec(serde, PolicyWalk(self.media_policy))

    @classmethod
    def from_url(cls, url: str, *, cluster: bool = False, **options: Any) -> Self:
        """Connect by URL: redis://, rediss:// or unix://, with the client library's own options in the query.

        Args:
            url: As `redis.Redis.from_url` takes it.
            cluster: Whether the URL names a node of a cluster.
            options: As the constructor takes them.

        Raises:
            ValueError: the URL is not one.
        """
        return cls(_clients=Clients.from_url(url, cluster=cluster), **options)

    @classmethod
    def embedded(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Open a data folder that is served by a real Valkey of its own (extra `embedded`).

        Several processes may open the same folder at once; the last to close shuts the server down.

        Raises:
            EmbeddedServerError: the server cannot be started or joined here; says what to do instead.
        """
        from .storage.embedded import EmbeddedServer

        server = EmbeddedServer.open(Path(path))
        try:
            saver = cls.from_url(server.url, **options)
        except BaseException:
            server.close()
            raise
        saver._on_close = server.close
        return saver

    def setup(self) -> None:
        """Do nothing; there is nothing to set up."""

    async def asetup(self) -> None:
        """Do nothing; there is nothing to set up."""

    def close(self) -> None:
        """Close what this saver opened; further calls, and those that this cuts off, raise SaverClosedError."""
        if self._shut():
            self._let_go()

    async def aclose(self) -> None:
        """Close what this saver opened, the running loop's client in good order."""
        if self._shut():
            try:
                await self._clients.aclose()
            finally:
                self._let_go()

    def _shut(self) -> bool:
        """Refuse calls from now on, here and on savers that share the connections; False if that was so before."""
        was_open = not self._clients.closed
        self._clients.closed = True
        return was_open

    def _let_go(self) -> None:
        self._clients.close()
        if self._on_close is not None:
            self._on_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _run(self, program: Program[T]) -> T:
        with self._open(), for_one_call(self._store_puts) as media:
            return BlockingDriver(self._clients.calling(), media).run(program)

    async def _arun(self, program: Program[T]) -> T:
        with self._open():
            if not self._clients.can_await:
                return await asyncio.to_thread(self._run, program)
            with for_one_call(self._store_puts) as media:
                return await AsyncDriver(await self._clients.asynchronous(), media).run(program)

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Refuse a call on a closed saver, and name the reason where one fails because the saver is closed meanwhile.

        A client library whose connections are taken away in the middle of a call raises all sorts of errors.
        """
        if self._clients.closed:
            raise SaverClosedError
        try:
            yield
        except Exception as error:
            told = isinstance(error, PortableCheckpointError) and not isinstance(error, ServerUnavailableError)
            if told or not self._clients.closed:
                raise
            raise SaverClosedError(CLOSED_MEANWHILE) from error

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint: the one named in the config, or the head of its namespace.

        Round trips: 1 when warm, at most 3 cold.

        Returns:
            None only when there is no such checkpoint.

        Raises:
            InvalidIdError, ServerUnavailableError, CorruptRecordError, FutureVersionError, BlockedTypeError.
        """
        return self._run(self._get(config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint; see `get_tuple`."""
        return await self._arun(self._get(config))

    def _get(self, config: RunnableConfig) -> Program[CheckpointTuple | None]:
        thread_id, ns, checkpoint_id = ids_of(config)
        media = _hydrate(config)
        named = config if checkpoint_id is not None else None
        return read.get_tuple(self._core, thread_id, ns, checkpoint_id, config=named, media=media)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint, atomically: all of it or nothing.

        Round trips: 1 (see `storage.programs.write.put`).

        Returns:
            The config that names it.

        Raises:
            UnserializableValueError: names the channel. ThreadDeletedError: the thread was deleted since the run began.
            ServerFullError, ServerReadOnlyError, ServerUnavailableError.
        """
        program, stored = self._put(config, checkpoint, metadata, new_versions)
        self._run(program)
        return stored

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; see `put`."""
        program, stored = self._put(config, checkpoint, metadata, new_versions)
        await self._arun(program)
        return stored

    def _put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> tuple[Program[bytes], RunnableConfig]:
        thread_id, ns, parent_id = ids_of(config)
        checkpoint_id = checked_id('checkpoint["id"]', checkpoint.get("id"))
        program = write.put(
            self._core,
            thread_id,
            ns,
            checkpoint,
            metadata=get_checkpoint_metadata(config, metadata),
            new_versions=new_versions,
            parent_id=parent_id,
            token=self._token(thread_id),
            codec=self._codec_for(config),
        )
        return program, read.config_of(thread_id, ns, checkpoint_id)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the pending writes of a task, atomically; the checkpoint need not be there yet.

        Round trips: 1.

        Raises:
            As `put`.
        """
        self._run(self._put_writes(config, writes, task_id, task_path))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the pending writes of a task; see `put_writes`."""
        await self._arun(self._put_writes(config, writes, task_id, task_path))

    def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> Program[None]:
        thread_id, ns, checkpoint_id = ids_of(config)
        return write.put_writes(
            self._core,
            thread_id,
            ns,
            checked_id("checkpoint_id", checkpoint_id),
            writes=writes,
            task_id=checked_id("task_id", task_id, max_bytes=MAX_TASK_ID_BYTES),
            task_path=checked_id("task_path", task_path, empty_ok=True),
            token=self._token(thread_id),
            codec=self._codec_for(config),
        )

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """List checkpoints, newest first, lazily, in pages.

        Args:
            config: Thread, and optionally namespace ("" is the root; missing: all) and checkpoint id. None: all
                threads.
            filter: Metadata keys and the values they must equal; a key that is not there does not match.
            before: Only checkpoints with a smaller id than this config's.
            limit: At most so many.

        Round trips: at most 3 a page.
        """
        pages = self._pages(config, filter, before, limit)
        while (program := pages.next_program()) is not None:
            yield from pages.take(self._run(program))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """List checkpoints; see `list`."""
        pages = self._pages(config, filter, before, limit)
        while (program := pages.next_program()) is not None:
            for found in pages.take(await self._arun(program)):
                yield found

    def _pages(
        self,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Pages:
        thread_id = ns = checkpoint_id = None
        if config is not None:
            thread_id, _, checkpoint_id = ids_of(config)
            ns = config["configurable"].get("checkpoint_ns")
        before_id = (before or {}).get("configurable", {}).get("checkpoint_id") or None
        if before_id is not None:
            checked_id("before checkpoint_id", before_id)
        query = Query(ns, checkpoint_id, before_id, dict(filter or {}), _hydrate(config or {}))
        return Pages(self._core, thread_id, query=query, limit=limit)

    def get_next_version(self, current: Version | None, channel: None) -> Version:
        """Return the version after `current`: 1, 2, 3, ...; a thread that came with text or floats goes on in kind."""
        if current is None:
            return 1
        if isinstance(current, str):
            return _next_text_version(current)
        return current + 1

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BaseCheckpointSaver[Any]:
        """Return a saver on the same connections, closed with this one, that may also read back these types."""
        clone = cast(PortableRedisSaver, super().with_allowlist(extra_allowlist))
        if clone is not self:
            clone.serde = maybe_add_typed_methods(clone.serde)
            clone._core = self._core.with_codec(clone._codec(clone.serde))
        return clone


def _hydrate(config: RunnableConfig) -> read.Hydrate:
    """Read which media a config asks for."""
    media = (config.get("configurable") or {}).get("media", "all")
    if media not in ("all", "none") and not (type(media) is int and media >= 0):
        raise ValueError(f'config "media" is {media!r}; it may be "all", "none" or a number of turns')
    return cast(read.Hydrate, media)


def _hook(hear: Callable[[Any], None] | None, kind: type[MediaRecord] | type[MediaReport]) -> Any:
    """Make what storage calls of what the host gave: storage knows wire forms only."""
    return None if hear is None else lambda wire: tell(hear, kind.from_wire(wire))


def _next_text_version(current: str) -> str:
    """Continue the versions of savers that use text: "<32 digits>.<random digits>"."""
    whole, dot, rest = current.partition(".")
    if not whole.isdecimal():
        raise ValueError(f"channel version {current!r} does not start with a number, so it has no successor")
    return f"{int(whole) + 1:0{len(whole)}}{dot}{rest}"


def ids_of(config: RunnableConfig) -> tuple[str, str, str | None]:
    """Return thread id, namespace and checkpoint id of a config, checked.

    Raises:
        InvalidIdError: one of them is missing or is not a string.
    """
    configurable = config.get("configurable") or {}
    if "thread_id" not in configurable:
        raise InvalidIdError("thread_id", None, fix='Pass config={"configurable": {"thread_id": "..."}}.')
    thread_id = checked_id("thread_id", configurable["thread_id"])
    ns = configurable.get("checkpoint_ns")
    ns = checked_id("checkpoint_ns", "" if ns is None else ns, empty_ok=True)
    checkpoint_id = configurable.get("checkpoint_id")
    return thread_id, ns, checked_id("checkpoint_id", checkpoint_id) if checkpoint_id not in (None, "") else None
