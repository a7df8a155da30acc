"""Start again from an earlier turn: a new head that ends with it. Nothing is destroyed."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from ..errors import ThreadNotFoundError
from ..saver import PortableRedisSaver
from ..thread_media import put_amended


def truncate_thread(saver: PortableRedisSaver, thread_id: str, turn: int) -> RunnableConfig | None:
    """Make a new head of a thread, whose conversation ends with a turn.

    The new head is the checkpoint at which that turn ended, all channels as they were then, put again as a branch.
    Where that checkpoint holds later turns as well (an imported history), the conversation is cut behind the turn. What
    came later stays reachable through its own checkpoints.

    Args:
        turn: The last turn to keep; negative counts from the end.

    Returns:
        The config of the new head; None when the turn is the last one already, and nothing was done.

    Raises:
        ThreadNotFoundError: there is no such thread or turn.
    """
    total = _count(saver, thread_id)
    last = total + turn if turn < 0 else turn
    if not 0 <= last < total:
        raise ThreadNotFoundError(f"thread {thread_id!r} has no turn {turn}; it has {total}. Nothing was changed.")
    if last == total - 1:
        return None
    base = saver.get_tuple(saver.checkpoint_of_turn(thread_id, last))
    if base is None:
        raise ThreadNotFoundError(
            f"the checkpoint at which turn {last} of thread {thread_id!r} ended is gone (pruned). Nothing was changed."
        )
    checkpoint_id = base.config["configurable"]["checkpoint_id"]
    kept = list(saver.turns(thread_id, stop=last + 1, media=False, checkpoint_id=checkpoint_id))
    stop = sum(kept_turn.record["count"] for kept_turn in kept)
    channel = kept[-1].record.get("channel", "messages")
    messages = base.checkpoint["channel_values"][channel]
    changes = {channel: messages[:stop]} if len(messages) > stop else {}
    return put_amended(saver, base, changes)


def _count(saver: PortableRedisSaver, thread_id: str) -> int:
    info = saver.thread_info(thread_id)
    if info is None:
        raise ThreadNotFoundError(f"there is no thread {thread_id!r} here. Check the id, the prefix and the server.")
    return info.turns
