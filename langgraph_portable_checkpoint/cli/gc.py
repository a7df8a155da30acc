"""`gc`: blobs of a shared media store that no thread names any more."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from .call import MOVING, Call, DryRun, Yes, command
from .output import shown_bytes
from .settings import UsageError


@command("gc", panel=MOVING)
def gc(
    call: Call,
    grace_hours: Annotated[float, typer.Option("--grace-hours", min=1, help="Blobs younger than this stay.")] = 24,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Sweep the shared media store (--media FOLDER): blobs that no thread of this server and prefix names.

    Threads of other servers and prefixes are not seen: never sweep a store that they share. A blob is set aside first,
    and deleted by a sweep one grace period later.
    """
    if call.settings().media is None:
        raise UsageError("gc needs --media FOLDER, the shared store. Media in Redis are deleted with their threads.")
    saver, grace = call.saver(), timedelta(hours=grace_hours)
    with call.output.progress("media") as progress:
        planned = saver.collect_media_garbage(grace=grace, progress=lambda step, count: progress.at(count))
    say = call.output.say
    say(f"{planned.blobs} blobs, {planned.live} named by threads, {planned.young} too young to tell")
    for name in planned.missing:
        call.output.insist(f"warning: threads name {name}, which the store does not hold")
    columns = ("action", "ref", "size_bytes", "modified_at")
    found = planned
    if planned.actions and not dry_run:
        size = sum(blob.size_bytes for _, blob in planned.actions)
        call.confirm(f"Sweep {len(planned.actions)} blobs of {shown_bytes(size)}?", yes=yes)
        found = saver.collect_media_garbage(grace=grace, dry_run=False)
        say(f"freed {shown_bytes(found.freed_bytes)}")
    call.output.rows(
        columns,
        (
            {
                "action": action,
                "ref": blob.ref,
                "size_bytes": blob.size_bytes,
                "modified_at": blob.modified_at.isoformat(timespec="seconds"),
            }
            for action, blob in found.actions
        ),
    )
