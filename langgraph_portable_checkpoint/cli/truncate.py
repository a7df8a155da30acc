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
        int, typer.Option(help="The turn to start again, from 0; negative counts from the end.", show_default=False)
    ],
    yes: Yes = False,
) -> None:
    """Make a new head of a thread that ends before a turn. What came later stays reachable by checkpoint."""
    saver = call.saver()
    info = saver.thread_info(thread_id)
    if info is not None and -info.turns <= turn < info.turns:
        first = turn % info.turns
        call.confirm(f"Take turns {first} to {info.turns - 1} out of {safe_line(thread_id)}?", yes=yes)
    config = saver.truncate_to_turn(thread_id, turn)
    head = config["configurable"]["checkpoint_id"]
    left = sum(1 for _ in saver.turns(thread_id, media=False))
    call.output.say(f"{safe_line(thread_id)} has {left} turns now; its head is {head}")
    if call.output.json:
        call.output.write_json({"thread_id": thread_id, "turns": left, "head": head})
