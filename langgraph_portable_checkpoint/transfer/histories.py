"""Threads as provider histories, and provider histories as threads.

What a thread holds is read by `conversations.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, cast, get_args
from uuid import uuid4

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.base.id import uuid6

from ..dialects.concerns import INVALID_ARGUMENTS, SUMMARY
from ..dialects.export import export_messages, import_messages
from ..dialects.report import Export, Imported, Loss
from ..dialects.server_pairs import PAUSED
from ..errors import LossyExportError, MalformedHistoryError, ThreadExistsError
from ..media.stand_ins import any_stand
from ..saver import PortableRedisSaver
from ..storage.layout import checked_id
from .conversations import Found, config_of, conversation
from .overwriting import Overwriting
from .steps import Ask, Compute, Moves, Run, adrive, drive
from .unread_media import referring, take_unread

OnExisting = Literal["refuse", "overwrite"]


def export_thread(
    source: Any,
    thread_id: str,
    to: str,
    *,
    checkpoint_id: str | None = None,
    checkpoint_ns: str = "",
    channel: str | None = None,
    full: bool = False,
    **options: Any,
) -> Export:
    """Write a thread as a history that a provider accepts on the first request.

    Args:
        source: Any BaseCheckpointSaver, or a compiled graph that has one (which also folds delta channels).
        thread_id: The thread.
        to: Name of the dialect, for example "anthropic".
        checkpoint_id: Another checkpoint than the head; its branch is exported.
        checkpoint_ns: Another namespace than the root.
        channel: The channel of the conversation; by default "messages", else the first list of messages.
        full: Also recover messages that the state has since lost (summarised, trimmed, removed) from the ancestors of
            the checkpoint; they carry `extras["recovered"]`. The state's own messages stay as they are, in their order,
            and each recovered one goes behind the one that it followed. A summary is left out, and the report says so,
            where all that it stands for is there; see docs/dialects.md, "Recovered messages".
        **options: As `export_messages` takes them: model, turns, max_tokens, incomplete, reasoning, resolve_media,
            strict, ...

    Raises:
        ThreadNotFoundError: there is no such thread, namespace or checkpoint; says which.
        IncompatibleHistoryError, LossyExportError, UnsupportedPartError, UnknownDialectError: as `export_messages`.
    """
    config = config_of(checked_id("thread_id", thread_id), checkpoint_ns, checkpoint_id)
    return drive(_exported(source, config, to, channel=channel, full=full, options=options))


async def aexport_thread(
    source: Any,
    thread_id: str,
    to: str,
    *,
    checkpoint_id: str | None = None,
    checkpoint_ns: str = "",
    channel: str | None = None,
    full: bool = False,
    **options: Any,
) -> Export:
    """Write a thread as a provider's history; see `export_thread`. Reads are awaited; writing runs in a thread."""
    config = config_of(checked_id("thread_id", thread_id), checkpoint_ns, checkpoint_id)
    return await adrive(_exported(source, config, to, channel=channel, full=full, options=options))


def _exported(
    source: Any, config: RunnableConfig, to: str, *, channel: str | None, full: bool, options: dict[str, Any]
) -> Moves[Export]:
    read_media = options.get("resolve_media") is not False
    found = yield from conversation(source, config, channel, full=full, read_media=read_media)
    options = {**options, "pending": frozenset(options.get("pending", ())) | found.pending}
    if found.unread:
        options["unread_media"] = found.unread
    if not found.as_seen:
        options["prefix_intact"] = False
    made = yield Compute(lambda: _written(found, to, options))
    return cast(Export, made)


def _written(found: Found, to: str, options: dict[str, Any]) -> Export:
    """Write a conversation, and tell of the summaries that are not in it."""
    told = tuple(_left_out(summary, to) for summary in found.left_out)
    try:
        export = export_messages(found.messages, to, **options)
    except LossyExportError as error:
        raise LossyExportError((*told, *error.report)) from None
    if told and options.get("strict"):
        raise LossyExportError(told)
    return replace(export, report=(*told, *export.report))


def _left_out(summary: str, to: str) -> Loss:
    action = "a summary was left out: the messages that it stands for are there"
    return Loss(rule=SUMMARY.rule, kind=SUMMARY.kind, action=action, detail=f"message {summary!r}", target=to)


def import_thread(
    saver: BaseCheckpointSaver[Any],
    thread_id: str,
    payload: Any,
    from_: str = "auto",
    *,
    channel: str = "messages",
    on_existing: OnExisting = "refuse",
    metadata: dict[str, Any] | None = None,
    **options: Any,
) -> Imported:
    """Make a thread of a provider's history; a graph with a `messages` channel goes on from it.

    Args:
        saver: Any checkpointer.
        payload: As `import_messages` takes it.
        from_: Name of the dialect, or "auto".
        channel: The graph's channel for the conversation.
        on_existing: "refuse" a thread that is there, or "overwrite" it. On a saver of ours the thread is made at once,
            and of several imports at once one makes it; on others it is looked for, and deleted, first.
        metadata: Further metadata of the checkpoint.
        **options: As `import_messages` takes them: profile, model, account.

    Returns:
        What was read, with the report.

    Raises:
        ThreadExistsError: the thread is there and on_existing is "refuse".
        ThreadExistsError, TurnInProgressError: on a saver of ours, the thread was made or written meanwhile, or
            someone else holds it; it was left alone.
        MalformedHistoryError, UnknownDialectError: as `import_messages`, or the thread would be overwritten with
            nothing; nothing was stored.
        ValueError: on_existing is another word; nothing was stored.
    """
    config = config_of(checked_id("thread_id", thread_id), "", None)
    read = _Reading(payload, from_, options)
    return drive(_imported(saver, config, read, channel=channel, on_existing=on_existing, metadata=metadata))


async def aimport_thread(
    saver: BaseCheckpointSaver[Any],
    thread_id: str,
    payload: Any,
    from_: str = "auto",
    *,
    channel: str = "messages",
    on_existing: OnExisting = "refuse",
    metadata: dict[str, Any] | None = None,
    **options: Any,
) -> Imported:
    """Make a thread of a provider's history; see `import_thread`. Calls are awaited; reading runs in a thread."""
    config = config_of(checked_id("thread_id", thread_id), "", None)
    read = _Reading(payload, from_, options)
    return await adrive(_imported(saver, config, read, channel=channel, on_existing=on_existing, metadata=metadata))


@dataclass(frozen=True, slots=True)
class _Reading:
    """A payload to be imported, and how."""

    payload: Any
    dialect: str
    options: dict[str, Any]

    def __call__(self) -> tuple[Imported, list[BaseMessage]]:
        imported = import_messages(self.payload, self.dialect, **self.options)
        return imported, with_ids(imported.messages)


def _imported(
    saver: BaseCheckpointSaver[Any],
    config: RunnableConfig,
    read: _Reading,
    *,
    channel: str,
    on_existing: OnExisting,
    metadata: dict[str, Any] | None,
) -> Moves[Imported]:
    if on_existing not in get_args(OnExisting):
        raise ValueError(f"on_existing is {on_existing!r}; use one of {', '.join(get_args(OnExisting))}")
    imported, messages = yield Compute(read)
    version = saver.get_next_version(None, None)
    whole = cast(CheckpointMetadata, {"source": "update", "step": 0, "parents": {}, **(metadata or {})})
    args = (config, _checkpoint(channel, messages, version), whole, {channel: version})
    thread_id = cast(str, config["configurable"]["thread_id"])
    if isinstance(saver, PortableRedisSaver):
        over = Overwriting.of(saver, thread_id)
        before = yield Run(saver, over.begin())
        _check_existing(thread_id, on_existing, imported, there=before.there)
        yield Ask(over.staged, "put", args)
        yield Run(saver, over.swap(before, checkpoints=1))
        return cast(Imported, imported)
    there = (yield Ask(saver, "get_tuple", (config,))) is not None
    _check_existing(thread_id, on_existing, imported, there=there)
    if there:
        yield Ask(saver, "delete_thread", (thread_id,))
    yield Ask(saver, "put", args)
    return cast(Imported, imported)


def _check_existing(thread_id: str, on_existing: OnExisting, imported: Imported, *, there: bool) -> None:
    """Raise where there is a thread that is not to be overwritten, or not with nothing."""
    if on_existing == "refuse" and there:
        raise ThreadExistsError(f"thread {thread_id!r} already exists. Choose another id, or overwrite it.")
    if there and not imported.envelopes:
        raise MalformedHistoryError(
            imported.dialect, ["it has no message; the thread was not overwritten with nothing"]
        )


def _checkpoint(channel: str, messages: list[BaseMessage], version: Any) -> Checkpoint:
    return {
        "v": 4,
        "id": str(uuid6(clock_seq=-1)),
        "ts": datetime.now(UTC).isoformat(),
        "channel_values": {channel: messages},
        "channel_versions": {channel: version},
        "versions_seen": {},
        "updated_channels": [channel],
    }


def with_ids(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Give an id to every message without one, and a fresh one to those whose id came before."""
    seen: set[str] = set()
    named: list[BaseMessage] = []
    for message in messages:
        if message.id is None or message.id in seen:
            message = message.model_copy(update={"id": str(uuid4())})
        seen.add(cast(str, message.id))
        named.append(message)
    return named


@dataclass(frozen=True, slots=True)
class Adapted:
    """Messages made fit for another model, and what that cost."""

    messages: list[BaseMessage]
    report: tuple[Loss, ...]


def adapt_messages(messages: Sequence[BaseMessage], to: str, **options: Any) -> Adapted:
    """Make a conversation fit for the LangChain chat model of another provider.

    The messages go through the dialect's own history and back, so what they hold after is what that provider takes.
    Texts that stand for media that were not read, or are gone, are told as such.

    Args:
        messages: The conversation.
        to: Name of the dialect that the model speaks.
        **options: As `export_messages` takes them.

    >>> from langchain_core.messages import HumanMessage
    >>> adapt_messages([HumanMessage("hi")], "anthropic").messages[0].text
    'hi'
    """
    told = referring(messages, None) if any_stand() else messages
    if unread := take_unread(told):
        options = {**options, "unread_media": unread}
    if told and getattr(told[-1], "response_metadata", {}).get("stop_reason") == PAUSED:
        options = {"for_next_turn": False, **options}  # the model goes on when it is sent back
    export = export_messages(told, to, **{"integration": True, **options})
    profile = options.get("profile")
    back = import_messages(export.payload, to, profile=profile if isinstance(profile, str) else None)
    found = (loss for loss in back.report if loss.rule != INVALID_ARGUMENTS.rule)  # the call was invalid before
    return Adapted(back.messages, (*export.report, *found))
