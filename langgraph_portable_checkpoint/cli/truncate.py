"""`truncate`: start a thread again from an earlier turn."""

from __future__ import annotations

from typing import Annotated

import typer

from .call import THREADS, Call, ThreadId, Yes, command
from .output import safe_line


@command("truncate", panel=THREADS)
def truncate(
    call: Call,
    thread_id: ThreadId,
    turn: Annotated[
        int, typer.Option(help="The last turn to keep, from 0; negative counts from the end.", show_default=False)
    ],
    yes: Yes = False,
) -> None:
    """Make a new head of a thread that ends with a turn. What came later stays reachable by checkpoint."""
    from ..transfer.truncating import truncate_thread

    saver = call.saver()
    info = saver.thread_info(thread_id)
    if info is not None and info.turns > 1:
        call.confirm(f"Start {safe_line(thread_id)} ({info.turns} turns) again from the end of turn {turn}?", yes=yes)
    config = truncate_thread(saver, thread_id, turn)
    if config is None:
        call.output.say(f"turn {turn} is the last one of {safe_line(thread_id)}; nothing to do")
    else:
        call.output.say(f"{safe_line(thread_id)} ends with turn {turn} now")
    if call.output.json:
        head = None if config is None else config["configurable"]["checkpoint_id"]
        call.output.write_json({"thread_id": thread_id, "turn": turn, "head": head})
