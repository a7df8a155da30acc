"""`expire`: threads that live for some time."""

from __future__ import annotations

from typing import Annotated

import typer

from .call import THREADS, Call, ThreadIds, command
from .persist import check_threads, tell_lifetime
from .settings import UsageError


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
    check_threads(saver, thread_ids)
    for thread_id in thread_ids:
        saver.expire(thread_id, seconds)
        tell_lifetime(
            call, thread_id, "expires by default" if default else f"expires in {seconds:g} s", ttl_seconds=seconds
        )
