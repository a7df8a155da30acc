"""`persist`: threads that live for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ThreadNotFoundError
from .call import THREADS, Call, ThreadIds, command
from .output import safe_line

if TYPE_CHECKING:
    from ..saver import PortableRedisSaver


@command("persist", panel=THREADS)
def persist(call: Call, thread_ids: ThreadIds) -> None:
    """Keep threads for ever, whatever the saver's ttl_seconds says."""
    saver = call.saver()
    check_threads(saver, thread_ids)
    for thread_id in thread_ids:
        saver.persist(thread_id)
        tell_lifetime(call, thread_id, "is kept for ever", ttl_seconds=None)


def check_threads(saver: PortableRedisSaver, thread_ids: list[str]) -> None:
    """Make sure that all threads are there, before any is changed.

    Raises:
        ThreadNotFoundError: one is not.
    """
    missing = [thread_id for thread_id in thread_ids if saver.thread_info(thread_id) is None]
    if missing:
        raise ThreadNotFoundError(f"there is no thread {', '.join(map(repr, missing))} here. Nothing was changed.")


def tell_lifetime(call: Call, thread_id: str, what: str, **facts: Any) -> None:
    """Say how long a thread lives now."""
    call.output.say(f"{safe_line(thread_id)} {what}")
    if call.output.json:
        call.output.write_json({"thread_id": thread_id, **facts})
