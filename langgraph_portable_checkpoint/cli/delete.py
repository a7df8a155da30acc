"""`delete`: threads, with everything in them."""

from __future__ import annotations

from dataclasses import asdict

from ..errors import ThreadNotFoundError
from .call import THREADS, Call, DryRun, ThreadIds, Yes, command
from .output import safe_line, shown_bytes


@command("delete", panel=THREADS)
def delete(call: Call, thread_ids: ThreadIds, yes: Yes = False, dry_run: DryRun = False) -> None:
    """Delete threads with everything in them. A run still going on cannot bring them back."""
    saver = call.saver()
    found = {thread_id: saver.thread_info(thread_id) for thread_id in thread_ids}
    missing = [thread_id for thread_id, info in found.items() if info is None]
    if missing:
        raise ThreadNotFoundError(f"there is no thread {', '.join(map(repr, missing))} here. Nothing was deleted.")
    for thread_id, info in found.items():
        assert info is not None
        holds = f"{info.turns} turns, {info.checkpoints} checkpoints, changed {info.updated_at}"
        call.output.say(f"{'would delete' if dry_run else 'delete'} {safe_line(thread_id)}: {holds}")
    if dry_run:
        return
    call.confirm(f"Delete {len(found)} threads for good?", yes=yes)
    for thread_id in found:
        gone = saver.delete(thread_id)
        call.output.say(f"deleted {safe_line(thread_id)}: {gone.checkpoints} checkpoints, {shown_bytes(gone.bytes)}")
        if call.output.json:
            call.output.write_json(asdict(gone))
