"""`checkpoints`: a thread's tree of checkpoints, forks shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ThreadNotFoundError
from .call import THREADS, Call, ThreadId, command
from .output import Output, safe_line

if TYPE_CHECKING:
    from ..saver import PortableRedisSaver

Row = dict[str, Any]


@command("checkpoints", panel=THREADS)
def checkpoints(
    call: Call,
    thread_id: ThreadId,
    ns: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this namespace; the empty one is the root.")
    ] = None,
) -> None:
    """Show the tree of a thread's checkpoints: oldest first, each branch indented under the checkpoint it left."""
    found = [row for row in records_of(call.saver(), thread_id) if ns is None or row["ns"] == ns]
    if not found:
        where = "" if ns is None else f" in namespace {ns!r}"
        raise ThreadNotFoundError(f"thread {thread_id!r} has no checkpoints{where} here.")
    if call.output.json:
        for row in found:
            call.output.write_json(row)
        return
    for name in sorted({row["ns"] for row in found}):
        if name or ns is not None:
            call.output.write(f"namespace {safe_line(name)}")
        _write_tree(call.output, [row for row in found if row["ns"] == name])


def records_of(saver: PortableRedisSaver, thread_id: str) -> list[Row]:
    """Return what a thread's checkpoints say of themselves, without their values, in order of ids."""
    from ..storage.layout import split_place
    from ..storage.programs.threads import all_records

    found = saver._run(all_records(saver._core, thread_id))
    if found is None:
        return []
    _, records, written = found
    rows = []
    for place, record in sorted(records.items()):
        ns, checkpoint_id = split_place(place)
        rows.append(
            {
                "ns": ns,
                "checkpoint_id": checkpoint_id,
                "parent_id": record.parent_id,
                "step": record.metadata.get("step"),
                "source": record.metadata.get("source"),
                "ts": record.checkpoint.get("ts"),
                "run_id": record.metadata.get("run_id"),
                "writes": place in written,
                "head": False,
            }
        )
    for row in {row["ns"]: row for row in rows}.values():
        row["head"] = True
    return rows


def _write_tree(output: Output, rows: list[Row]) -> None:
    ids = {row["checkpoint_id"] for row in rows}
    children: dict[str | None, list[Row]] = {}
    for row in rows:
        parent = row["parent_id"] if row["parent_id"] in ids else None
        children.setdefault(parent, []).append(row)
    for depth, row in _walk(children):
        marked = ("  head" + ("  pending writes" if row["writes"] else "")) if row["head"] else ""
        step = "" if row["step"] is None else f"step {row['step']}"
        words = (row["checkpoint_id"], step, row["source"], (row["ts"] or "")[:19])
        output.write("  " * depth + "* " + "  ".join(safe_line(word) for word in words if word) + marked)


def _walk(children: dict[str | None, list[Row]]) -> Iterator[tuple[int, Row]]:
    """Yield each row with its depth: the oldest child goes on at its parent's depth, later ones are branches."""
    waiting = [(0, row) for row in reversed(children.get(None, ()))]
    while waiting:
        depth, row = waiting.pop()
        yield depth, row
        following = children.get(row["checkpoint_id"], [])
        waiting += [(depth, first) for first in following[:1]]
        waiting += [(depth + 1, branch) for branch in reversed(following[1:])]
