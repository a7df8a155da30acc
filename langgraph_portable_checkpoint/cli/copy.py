"""`copy`: a thread under another id."""

from __future__ import annotations

from typing import Annotated

import typer

from .call import THREADS, Call, ThreadId, command
from .output import safe_line


@command("copy", panel=THREADS)
def copy(
    call: Call,
    thread_id: ThreadId,
    target: Annotated[str, typer.Argument(metavar="NEW", help="Id of the copy; must not exist.")],
) -> None:
    """Copy a thread with all of its checkpoints, writes and media, under another id."""
    call.saver().copy_thread(thread_id, target)
    call.output.say(f"copied {safe_line(thread_id)} to {safe_line(target)}")
    if call.output.json:
        call.output.write_json({"thread_id": thread_id, "copy": target})
