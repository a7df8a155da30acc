"""Threads as provider histories, and provider histories as threads.

Works on any checkpointer and any compiled graph through their public methods; on our own saver it can also leave media
unread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, cast
from uuid import uuid4

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.base.id import uuid6

from ..dialects.concerns import INVALID_ARGUMENTS
from ..dialects.export import export_messages, import_messages
from ..dialects.report import Export, Imported, Loss
from ..envelope.model import MessageEnvelope
from ..envelope.read import read_message
from ..errors import IncompatibleHistoryError, ThreadExistsError, ThreadNotFoundError
from ..saver import PortableRedisSaver
from ..storage.layout import checked_id
from ..storage.programs import reading

INTERRUPT: Final = "__interrupt__"
RECOVERED: Final = "recovered"
OnExisting = Literal["refuse", "overwrite"]


@dataclass(frozen=True, slots=True)
class _Found:
    """A conversation and the calls in it that wait for a human."""

    messages: list[BaseMessage | MessageEnvelope]
    pending: frozenset[str]


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
            the checkpoint; they carry `extras["recovered"]`.
        **options: As `export_messages` takes them: model, turns, max_tokens, incomplete, reasoning, resolve_media,
            strict, ...

    Raises:
        ThreadNotFoundError: there is no such checkpoint.
        IncompatibleHistoryError, LossyExportError, UnsupportedPartError, UnknownDialectError: as `export_messages`.
    """
    config = _config(checked_id("thread_id", thread_id), checkpoint_ns, checkpoint_id)
    if full:
        found = _recovered(source, config, channel)
    elif options.get("resolve_media") is False and isinstance(source, PortableRedisSaver):
        found = _unresolved(source, config)
    else:
        found = _current(source, config, channel)
    pending = frozenset(options.pop("pending", ())) | found.pending
    return export_messages(found.messages, to, pending=pending, **options)


def _config(thread_id: str, checkpoint_ns: str, checkpoint_id: str | None) -> RunnableConfig:
    named = {"thread_id": thread_id, "checkpoint_ns": checkpoint_ns}
    return {"configurable": named if checkpoint_id is None else {**named, "checkpoint_id": checkpoint_id}}


def _absent(config: RunnableConfig) -> ThreadNotFoundError:
    named = config["configurable"]
    at = f" with checkpoint {named['checkpoint_id']!r}" if "checkpoint_id" in named else ""
    return ThreadNotFoundError(f"there is no thread {named['thread_id']!r}{at} here. Check the id, prefix and server.")


def _current(source: Any, config: RunnableConfig, channel: str | None) -> _Found:
    if isinstance(source, BaseCheckpointSaver):
        found = source.get_tuple(config)
        if found is None:
            raise _absent(config)
        messages = _messages_of(found.checkpoint["channel_values"], channel)
        waits = any(name == INTERRUPT for _, name, _ in found.pending_writes or ())
    else:
        state = source.get_state(config)
        if state.metadata is None and not state.values:
            raise _absent(config)
        messages = _messages_of(state.values, channel)
        waits = bool(state.interrupts) or _stands_at_breakpoint(source, state.next)
    pending = _dangling(messages) if waits else frozenset()
    if isinstance(source, PortableRedisSaver) and messages:
        return _Found(_with_lost_media(source, config, list(messages)), pending)
    return _Found(list(messages), pending)


def _stands_at_breakpoint(graph: Any, upcoming: Sequence[str]) -> bool:
    """Tell whether a compiled graph stopped before its next nodes because it was compiled to."""
    before: Sequence[str] = getattr(graph, "interrupt_before_nodes", ())
    after: Sequence[str] = getattr(graph, "interrupt_after_nodes", ())
    named = before == "*" or not set(before).isdisjoint(upcoming)
    return bool(upcoming) and (named or bool(after))


def _with_lost_media(
    saver: PortableRedisSaver, config: RunnableConfig, messages: list[BaseMessage | MessageEnvelope]
) -> list[BaseMessage | MessageEnvelope]:
    """Give messages whose media could not be read as they are stored, so that the export tells what is missing."""
    named = config["configurable"]
    view = saver._core.views.get(named["thread_id"])
    if view is None or not view.lost:
        return messages
    program = reading.conversation(saver._core, named["thread_id"], named["checkpoint_ns"], named.get("checkpoint_id"))
    found = saver._run(program)
    if found is None or len(found.messages) != len(messages):
        return messages
    for position, message in enumerate(found.messages):
        if not view.lost.keys().isdisjoint(found.decoder.open(message.ref).media):
            messages[position] = reading.envelope_of(found.decoder, message.ref, message.id, media=False)
    return messages


def _messages_of(values: Any, channel: str | None) -> list[BaseMessage]:
    if not isinstance(values, dict):
        values = {"__root__": values}
    names = [channel] if channel is not None else ["messages", *values]
    for name in names:
        value = values.get(name)
        if isinstance(value, list) and value and all(isinstance(message, BaseMessage) for message in value):
            return value
    meant = values.get(channel or "messages")
    if meant:
        raise IncompatibleHistoryError(
            f"channel {channel or 'messages'!r} holds {_other(meant)}, not a list of messages",
            turn=None,
            fix="Name the conversation's channel (channel=...), or turn its entries into LangChain messages first.",
        )
    return []


def _other(value: Any) -> str:
    if not isinstance(value, list):
        return f"a {type(value).__name__}"
    kinds = {type(entry).__name__ for entry in value if not isinstance(entry, BaseMessage)}
    return f"values of type {', '.join(sorted(kinds))}"


def _dangling(messages: Sequence[BaseMessage]) -> frozenset[str]:
    """Name the calls of the last answer that nothing has answered."""
    answered = {getattr(message, "tool_call_id", None) for message in messages}
    for message in reversed(messages):
        calls = getattr(message, "tool_calls", None)
        if calls:
            return frozenset(call["id"] for call in calls if call["id"] and call["id"] not in answered)
    return frozenset()


def _unresolved(saver: PortableRedisSaver, config: RunnableConfig) -> _Found:
    """Read envelopes without their media."""
    named = config["configurable"]
    program = reading.conversation(saver._core, named["thread_id"], named["checkpoint_ns"], named.get("checkpoint_id"))
    found = saver._run(program)
    if found is None:
        raise _absent(config)
    messages: list[BaseMessage | MessageEnvelope] = [
        reading.envelope_of(found.decoder, message.ref, message.id, media=False) for message in found.messages
    ]
    waits = any(name == INTERRUPT for _, name, _ in found.writes)
    answered = {envelope.get("tool_call_id") for envelope in cast(list[MessageEnvelope], messages)}
    calls = [call for message in found.messages for call in message.fact.tool_calls if call and call not in answered]
    return _Found(messages, frozenset(calls) if waits else frozenset())


def _recovered(source: Any, config: RunnableConfig, channel: str | None) -> _Found:
    """Merge the messages of a checkpoint and all of its ancestors, oldest first."""
    present = _current(source, config, channel)
    merged: dict[str, BaseMessage] = {}
    order: list[str] = []
    for messages in _ancestry(source, config, channel):
        before: str | None = None
        for message in messages:
            if message.id is None or _is_summary(message):
                continue
            if message.id not in merged:
                order.insert(order.index(before) + 1 if before is not None else len(order), message.id)
            merged[message.id] = message
            before = message.id
    kept = {message.id for message in cast(list[BaseMessage], present.messages)}
    return _Found([_marked(merged[name], lost=name not in kept) for name in order], present.pending)


def _marked(message: BaseMessage, *, lost: bool) -> MessageEnvelope:
    envelope = read_message(message)
    if lost:
        envelope["extras"] = {**envelope.get("extras", {}), RECOVERED: True}
    return envelope


def _is_summary(message: BaseMessage) -> bool:
    return message.additional_kwargs.get("lc_source") == "summarization"


def _ancestry(source: Any, config: RunnableConfig, channel: str | None) -> Iterator[list[BaseMessage]]:
    """Yield the conversation of each ancestor, oldest first, the checkpoint itself last."""
    chain: list[list[BaseMessage]] = []
    at: RunnableConfig | None = config
    while at is not None:
        if isinstance(source, BaseCheckpointSaver):
            found = source.get_tuple(at)
            if found is None:
                break
            chain.append(_messages_of(found.checkpoint["channel_values"], channel))
            at = found.parent_config
        else:
            state = source.get_state(at)
            chain.append(_messages_of(state.values, channel))
            at = state.parent_config
    yield from reversed(chain)


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
        on_existing: "refuse" a thread that is there, or "overwrite" it (it is deleted first).
        metadata: Further metadata of the checkpoint.
        **options: As `import_messages` takes them: profile, model, account.

    Returns:
        What was read, with the report.

    Raises:
        ThreadExistsError: the thread is there and on_existing is "refuse".
        MalformedHistoryError, UnknownDialectError: as `import_messages`; nothing was stored.
    """
    config = _config(checked_id("thread_id", thread_id), "", None)
    imported = import_messages(payload, from_, **options)
    if saver.get_tuple(config) is not None:
        if on_existing == "refuse":
            raise ThreadExistsError(f"thread {thread_id!r} already exists. Choose another id, or overwrite it.")
        saver.delete_thread(thread_id)
    version = saver.get_next_version(None, None)
    checkpoint = _checkpoint(channel, with_ids(imported.messages), version)
    whole = cast(CheckpointMetadata, {"source": "update", "step": 0, "parents": {}, **(metadata or {})})
    saver.put(config, checkpoint, whole, {channel: version})
    return imported


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

    Args:
        messages: The conversation.
        to: Name of the dialect that the model speaks.
        **options: As `export_messages` takes them.

    >>> from langchain_core.messages import HumanMessage
    >>> adapt_messages([HumanMessage("hi")], "anthropic").messages[0].text
    'hi'
    """
    export = export_messages(messages, to, **options)
    profile = options.get("profile")
    back = import_messages(export.payload, to, profile=profile if isinstance(profile, str) else None)
    found = (loss for loss in back.report if loss.rule != INVALID_ARGUMENTS.rule)  # the call was invalid before
    return Adapted(back.messages, (*export.report, *found))
