"""`prune`: old checkpoints of threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ThreadNotFoundError
from .call import THREADS, Call, DryRun, ThreadIds, Yes, command
from .output import safe_line

if TYPE_CHECKING:
    from ..saver import PortableRedisSaver


@command("prune", panel=THREADS)
def prune(call: Call, thread_ids: ThreadIds, yes: Yes = False, dry_run: DryRun = False) -> None:
    """Remove all checkpoints but the newest of each namespace, and what only they held.

    The conversation stays as it is at the head; time travel to earlier checkpoints is no longer possible.
    """
    saver = call.saver()
    doomed = {thread_id: _doomed(saver, thread_id) for thread_id in thread_ids}
    for thread_id, (removed, of) in doomed.items():
        word = "would remove" if dry_run else "remove"
        call.output.say(f"{word} {removed} of {of} checkpoints of {safe_line(thread_id)}")
    if not dry_run and any(removed for removed, _ in doomed.values()):
        call.confirm("Remove them for good?", yes=yes)
        saver.prune(list(doomed))
    if call.output.json:
        for thread_id, (removed, of) in doomed.items():
            row = {"thread_id": thread_id, "removed": removed, "kept": of - removed, "dry_run": dry_run}
            call.output.write_json(row)


def _doomed(saver: PortableRedisSaver, thread_id: str) -> tuple[int, int]:
    from ..storage.programs.threads import all_records, keep_latest

    found = saver._run(all_records(saver._core, thread_id))
    if found is None:
        raise ThreadNotFoundError(f"there is no thread {thread_id!r} here. Nothing was removed.")
    return len(keep_latest(found[1])), len(found[1])
