"""The conversation of a thread, from any checkpointer or compiled graph, through their public methods.

From our own saver everyday messages come as the envelopes that are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from ..dialects.base import UnreadMedium
from ..dialects.links import CALL_TYPES
from ..dialects.responses_read import lift_items
from ..envelope.model import MessageEnvelope
from ..errors import IncompatibleHistoryError, ThreadNotFoundError
from ..saver import PortableRedisSaver
from ..storage.programs.spoken import spoken_at
from .absent import absent, what_is_absent
from .recovering import Recovered, Recovering
from .steps import Ask, Moves, Run, drive
from .unfinished import finished_tasks, results, waits
from .unread_media import referring, take_unread

Messages = list[BaseMessage | MessageEnvelope]


@dataclass(frozen=True, slots=True)
class Found:
    """A conversation and the calls in it that wait for a human.

    `unread` has the media that messages hold elsewhere than in parts and that were not read, by position. `left_out`
    names summaries whose messages are there in their place. `as_seen` is False where the messages are not those of one
    state, so that no model has seen them so.
    """

    messages: Messages
    pending: frozenset[str]
    unread: Mapping[int, tuple[UnreadMedium, ...]]
    left_out: tuple[str, ...] = ()
    as_seen: bool = True


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The conversation of one checkpoint, whether the run waits there, and the checkpoint before.

    `results` are those of calls whose tasks have finished while others of their step have not. `whole` is False where
    such results were not looked for. `step` is the checkpoint's number in the course of the thread, where it is known;
    `channel` the one that the messages are of, None where there are none.
    """

    messages: Messages
    waits: bool
    parent: RunnableConfig | None
    results: Sequence[BaseMessage | MessageEnvelope] = ()
    whole: bool = True
    step: Any = None
    channel: str | None = None


_Read = Callable[[Any, RunnableConfig, str | None], Moves[_Snapshot]]


def read_conversation(
    source: Any, config: RunnableConfig, channel: str | None, *, full: bool, read_media: bool
) -> Found:
    """Read a thread's conversation with blocking methods; see `conversation`."""
    return drive(conversation(source, config, channel, full=full, read_media=read_media))


def conversation(
    source: Any, config: RunnableConfig, channel: str | None, *, full: bool, read_media: bool
) -> Moves[Found]:
    """Read a thread's conversation.

    Args:
        source: A checkpointer or a compiled graph.
        config: The thread, and perhaps a checkpoint.
        channel: The channel of the conversation; None: "messages", else the first list of messages.
        full: With messages that only ancestors of the checkpoint hold.
        read_media: False: no medium is read where the checkpointer is ours.

    Raises:
        ThreadNotFoundError: there is no such thread, namespace or checkpoint; says which.
        IncompatibleHistoryError: the channel holds no messages, or there is no such channel.
    """
    read: _Read = _read
    if isinstance(_saver_of(source), PortableRedisSaver):
        read = _read_without_media if not read_media else _read_spoken if _saver_of(source) is source else _read
    read = _told(read, read_media=read_media)
    try:
        head = yield from read(source, config, channel)
    except ThreadNotFoundError:
        raise (yield from what_is_absent(_saver_of(source), config)) from None
    answered = {_field(message, "tool_call_id") for message in head.results}
    open_calls = _open_calls(head.messages) if head.waits else ()
    pending = frozenset(call for call in open_calls if call and call not in answered)
    recovered = Recovered(head.messages, ())
    if full:
        recovered = yield from _recovered(source, head, channel, read)
    as_seen = len(recovered.messages) == len(head.messages) and not recovered.left_out
    messages = [*recovered.messages, *head.results]
    return Found(messages, pending, take_unread(messages), recovered.left_out, as_seen)


def _told(read: _Read, *, read_media: bool) -> _Read:
    """Return the same read with references for media that were not read, where the checkpointer is ours."""

    def told(source: Any, config: RunnableConfig, channel: str | None) -> Moves[_Snapshot]:
        found: _Snapshot = yield from read(source, config, channel)
        names = _unread_in(_saver_of(source), config, read_media=read_media)
        return replace(found, messages=referring(found.messages, names), results=referring(found.results, names))

    return told


def _unread_in(saver: Any, config: RunnableConfig, *, read_media: bool) -> Set[bytes] | None:
    """Name the media of a thread that could not be read; None where none was to be."""
    if not isinstance(saver, PortableRedisSaver):
        return frozenset()
    view = saver._core.views.get(config["configurable"]["thread_id"])
    return (view.lost.keys() if view is not None else frozenset()) if read_media else None


def _saver_of(source: Any) -> Any:
    saver = source if isinstance(source, BaseCheckpointSaver) else getattr(source, "checkpointer", None)
    return saver if isinstance(saver, BaseCheckpointSaver) else None


def config_of(thread_id: str, checkpoint_ns: str, checkpoint_id: str | None) -> RunnableConfig:
    """Name a checkpoint; None for the head."""
    named = {"thread_id": thread_id, "checkpoint_ns": checkpoint_ns}
    return {"configurable": named if checkpoint_id is None else {**named, "checkpoint_id": checkpoint_id}}


def _read(source: Any, config: RunnableConfig, channel: str | None) -> Moves[_Snapshot]:
    if isinstance(source, BaseCheckpointSaver):
        found = yield Ask(source, "get_tuple", (config,))
        if found is None:
            raise absent(config["configurable"]["thread_id"])
        writes, live = found.pending_writes or (), _is_head(config)
        known = found.checkpoint["channel_versions"]
        name, messages = _messages_of(found.checkpoint["channel_values"], channel, known=known)
        made = results(writes, name, _open_calls(messages)) if live else ()
        asks = waits([(task, written) for task, written, _ in writes], live=live)
        return _Snapshot(messages, asks, found.parent_config, made, step=_step_in(found.metadata), channel=name)
    if not hasattr(source, "get_state") and not hasattr(source, "aget_state"):
        raise TypeError(
            f"source is a {type(source).__name__}, neither a checkpointer nor a compiled graph; "
            "PortableRedisSaver.from_url(...) makes a checkpointer of a server's address"
        )
    state = yield Ask(source, "get_state", (config,))
    if state.metadata is None and not state.values:
        raise absent(config["configurable"]["thread_id"])
    asks = bool(state.interrupts) or _stands_at_breakpoint(source, state.next)
    name, messages = _messages_of(state.values, channel, known=getattr(source, "channels", ()))
    return _Snapshot(messages, asks, state.parent_config, step=_step_in(state.metadata), channel=name)


def _step_in(metadata: Mapping[str, Any] | None) -> Any:
    return (metadata or {}).get("step")


def _is_head(config: RunnableConfig) -> bool:
    """Tell whether a read is of a thread as it stands; one that names a checkpoint is of that step as it was."""
    return "checkpoint_id" not in config["configurable"]


def _read_spoken(source: Any, config: RunnableConfig, channel: str | None) -> Moves[_Snapshot]:
    """Read from our own saver; everyday messages come as the envelopes that are stored."""
    kind = type(source)
    ours = kind.get_tuple is PortableRedisSaver.get_tuple and kind.aget_tuple is PortableRedisSaver.aget_tuple
    found = (yield from _spoken(source, config, channel, media=True)) if ours else None
    return found if found is not None and found.whole else (yield from _read(source, config, channel))


def _spoken(
    saver: PortableRedisSaver, config: RunnableConfig, channel: str | None, *, media: bool
) -> Moves[_Snapshot | None]:
    """Read a stored list of messages; None where the conversation is none, as in a delta channel."""
    named = config["configurable"]
    thread_id, ns, at = named["thread_id"], named["checkpoint_ns"], named.get("checkpoint_id")
    found = yield Run(saver, spoken_at(saver._core, thread_id, ns, at, channel=channel, media=media))
    if found is None:
        raise absent(thread_id)
    if found.messages is None:
        return None
    parent = config_of(thread_id, ns, found.parent_id) if found.parent_id else None
    messages = [
        message if isinstance(message, BaseMessage) else lift_items(message)
        for message in cast(Messages, found.messages)
    ]
    live = _is_head(config)
    whole = not (live and finished_tasks(found.written))
    asks, step = waits(found.written, live=live), _step_in(found.metadata)
    return _Snapshot(messages, asks, parent, whole=whole, step=step, channel=found.channel)


def _stands_at_breakpoint(graph: Any, upcoming: Sequence[str]) -> bool:
    """Tell whether a compiled graph stopped before its next nodes because it was compiled to."""
    before: Sequence[str] = getattr(graph, "interrupt_before_nodes", ())
    after: Sequence[str] = getattr(graph, "interrupt_after_nodes", ())
    named = before == "*" or not set(before).isdisjoint(upcoming)
    return bool(upcoming) and (named or bool(after))


def _read_without_media(source: Any, config: RunnableConfig, channel: str | None) -> Moves[_Snapshot]:
    """Read messages with texts in the place of media."""
    found = None
    if _saver_of(source) is source:
        found = yield from _spoken(source, config, channel, media=False)
    if found is not None and found.whole:
        return found
    return (yield from _read(source, {"configurable": {**config["configurable"], "media": "none"}}, channel))


class _NoChannelError(IncompatibleHistoryError):
    """A checkpoint has no channel of the name that was asked for."""

    def __init__(self, channel: str, known: Iterable[str]) -> None:
        named = [name for name in known if name == _ROOT or not name.startswith(_INNER)]
        super().__init__(
            f"there is no channel {channel!r}; there are {', '.join(map(repr, named)) or 'none'}",
            turn=None,
            fix="Name the one that holds the conversation (channel=...), or none for the first list of messages.",
        )


_ROOT: Final = "__root__"
_INNER: Final = ("__", "branch:")
"""How the channels begin that LangGraph makes for itself."""


def _messages_of(values: Any, channel: str | None, *, known: Iterable[str]) -> tuple[str | None, Messages]:
    """Return a channel's name and messages; `known` names channels that may have no value yet."""
    if not isinstance(values, dict):
        values = {_ROOT: values}
    every = dict.fromkeys([*values, *known])
    if channel is not None and channel not in every:
        raise _NoChannelError(channel, every)
    names = [channel] if channel is not None else ["messages", *values]
    for name in names:
        value = values.get(name)
        if isinstance(value, list) and value and all(isinstance(message, BaseMessage) for message in value):
            return name, list(value)
    meant = values.get(channel or "messages")
    if meant:
        raise IncompatibleHistoryError(
            f"channel {channel or 'messages'!r} holds {_other(meant)}, not a list of messages",
            turn=None,
            fix="Name the conversation's channel (channel=...), or turn its entries into LangChain messages first.",
        )
    return None, []


def _other(value: Any) -> str:
    if not isinstance(value, list):
        return f"a {type(value).__name__}"
    kinds = {type(entry).__name__ for entry in value if not isinstance(entry, BaseMessage)}
    return f"values of type {', '.join(sorted(kinds))}"


def _open_calls(messages: Sequence[BaseMessage | MessageEnvelope]) -> list[str | None]:
    """Name the calls of the last answer that no message behind it answers."""
    answered: set[Any] = set()
    for message in reversed(messages):
        calls = _call_ids(message)
        if calls:
            return [call for call in calls if call not in answered]
        answered.add(_field(message, "tool_call_id"))
    return []


def _field(message: BaseMessage | MessageEnvelope, name: str) -> Any:
    # pydantic takes microseconds to say that a message has no such field
    return message.get(name) if isinstance(message, dict) else message.__dict__.get(name)


def _call_ids(message: BaseMessage | MessageEnvelope) -> list[str | None]:
    if isinstance(message, dict):
        return [block.get("id") for block in message["content"] if block["type"] in CALL_TYPES]
    return [call["id"] for call in _field(message, "tool_calls") or ()]


def _recovered(source: Any, head: _Snapshot, channel: str | None, read: _Read) -> Moves[Recovered]:
    """Read the conversation of a checkpoint and of all of its ancestors as one, of the same channel."""
    recovering = Recovering(head.messages, head.step)
    at = head
    while at.parent is not None:
        channel = channel or at.channel
        try:
            at = yield from read(source, at.parent, channel)
        except (ThreadNotFoundError, _NoChannelError):  # pruned, never stored, or from before the channel was
            break
        recovering.take(at.messages, at.step)
    return recovering.result()
