"""Which channel of a checkpoint has the messages whose uploads are to be renewed, and what it holds.

Owns that choice. Knows nothing of media tables or servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import CheckpointTuple

from .envelope.facts import fact_of_message
from .envelope.turns import spans
from .errors import MediaError

_ROOT: Final = "__root__"
_MAY_BE_NAMED: Final = (list, type(None), str, bytes, int, float)
"""Types of values of which all uploads are renewed: single values have none."""
_ENGINES_OWN: Final = ("__", "branch:", "join:")


def channel_of(head: CheckpointTuple, named: str | None, *, conversations: Sequence[str]) -> str | None:
    """Choose the channel to look into.

    Args:
        head: The checkpoint.
        named: The caller's choice.
        conversations: The channels that hold conversations, first choice first.

    Returns:
        What is named; else the channel that `turns()` reads, or if no channel is a list of messages, the first of the
        `conversations` that is there. None where there is none of these.

    Raises:
        MediaError: the checkpoint has no channel of that name, or what it holds is neither a list nor a single value.
    """
    values, known = head.checkpoint["channel_values"], _channels(head)
    if named is not None:
        if named not in known:
            raise _no_channel(head, named, known)
        if not _keeps_changes(head, named) and not isinstance(values.get(named), _MAY_BE_NAMED):
            raise _no_list(head, named)
        return named
    there = [name for name in conversations if name in known]
    talks = [name for name in there if _keeps_changes(head, name) or _is_conversation(values.get(name))]
    others = [name for name, value in values.items() if _is_conversation(value)]
    return next(iter((*talks, *others, *there)), None)


def elements_of(head: CheckpointTuple, channel: str | None) -> list[Any]:
    """List what a channel holds; nothing where it is no list.

    Raises:
        MediaError: it keeps changes only.
    """
    if channel is None:
        return []
    if _keeps_changes(head, channel):
        raise MediaError(
            f"channel {channel!r} of thread {_thread_of(head)!r} holds no list in its newest checkpoint: a "
            "DeltaChannel keeps changes only, and what it has written before cannot be renewed in place. Nothing was "
            "stored. Renew its messages with the graph's update_state, or use another kind of channel."
        )
    value = head.checkpoint["channel_values"].get(channel)
    return list(value) if isinstance(value, list) else []


def turns_of(elements: Sequence[Any]) -> list[int]:
    """Give each message of a conversation its turn; none where there is something else among them."""
    if not all(isinstance(message, BaseMessage) for message in elements):
        return []
    cut = spans([fact_of_message(message) for message in elements])
    return [turn for turn, span in enumerate(cut) for _ in range(span.start, span.stop)]


def _channels(head: CheckpointTuple) -> list[str]:
    checkpoint = head.checkpoint
    return [*dict.fromkeys((*checkpoint["channel_values"], *checkpoint["channel_versions"]))]


def _is_conversation(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(element, BaseMessage) for element in value)


def _keeps_changes(head: CheckpointTuple, channel: str) -> bool:
    value = head.checkpoint["channel_values"].get(channel)
    unsaid = value is None and channel in head.checkpoint["channel_versions"]
    return unsaid or type(value).__name__ == "_DeltaSnapshot"


def _no_channel(head: CheckpointTuple, named: str, known: Sequence[str]) -> MediaError:
    own = [name for name in known if name == _ROOT or not name.startswith(_ENGINES_OWN)]
    return MediaError(
        f"thread {_thread_of(head)!r} has no channel {named!r}; it has {', '.join(map(repr, own)) or 'none'}. Nothing "
        "was stored. Leave channel= out to renew the conversation's uploads, or name a channel that is there."
    )


def _no_list(head: CheckpointTuple, named: str) -> MediaError:
    kind = type(head.checkpoint["channel_values"][named]).__name__
    return MediaError(
        f"channel {named!r} of thread {_thread_of(head)!r} holds a value of type {kind}, and only messages in a list "
        "are renewed. Nothing was stored. Name a channel that holds a list, or renew this one with update_state."
    )


def _thread_of(head: CheckpointTuple) -> Any:
    return head.config["configurable"]["thread_id"]
