"""`persist` and `expire`: how long threads live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ThreadNotFoundError
from .call import THREADS, Call, ThreadIds, command
from .output import safe_line
from .settings import UsageError

if TYPE_CHECKING:
    from ..saver import PortableRedisSaver


@command("persist", panel=THREADS)
def persist(call: Call, thread_ids: ThreadIds) -> None:
    """Keep threads for ever, whatever the saver's ttl_seconds says."""
    saver = call.saver()
    _check(saver, thread_ids)
    for thread_id in thread_ids:
        saver.persist(thread_id)
        _tell(call, thread_id, "is kept for ever", ttl_seconds=None)


@command("expire", panel=THREADS)
def expire(
    call: Call,
    thread_ids: ThreadIds,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.001, help="Seconds from now, and each write.")
    ] = None,
    default: Annotated[bool, typer.Option("--default", help="As the saver's ttl_seconds says again.")] = False,
) -> None:
    """Let threads expire some time after their last write."""
    if (seconds is None) != default:
        raise UsageError("say either --seconds N or --default.")
    saver = call.saver()
    _check(saver, thread_ids)
    for thread_id in thread_ids:
        saver.expire(thread_id, seconds)
        _tell(call, thread_id, "expires by default" if default else f"expires in {seconds:g} s", ttl_seconds=seconds)


def _check(saver: PortableRedisSaver, thread_ids: list[str]) -> None:
    missing = [thread_id for thread_id in thread_ids if saver.thread_info(thread_id) is None]
    if missing:
        raise ThreadNotFoundError(f"there is no thread {', '.join(map(repr, missing))} here. Nothing was changed.")


def _tell(call: Call, thread_id: str, what: str, **facts: Any) -> None:
    call.output.say(f"{safe_line(thread_id)} {what}")
    if call.output.json:
        call.output.write_json({"thread_id": thread_id, **facts})
