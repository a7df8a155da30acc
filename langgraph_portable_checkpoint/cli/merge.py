"""`merge`: two checkpoints in one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .call import FILES, Call, command
from .files import read_bytes, write_text
from .histories import AsThread, history_of, read_history
from .losses import tell_losses
from .output import dump_json


@command("merge", panel=FILES)
def merge(
    call: Call,
    a: Annotated[str, typer.Argument(metavar="A", help="The checkpoint that comes first; a file or a thread.")],
    b: Annotated[str, typer.Argument(metavar="B", help="What to add; a file or a thread.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The checkpoint to write.", show_default=False)
    ],
    thread: AsThread = False,
) -> None:
    """Append to checkpoint A what B has beyond it, without duplicates, each line with its source.

    Of two different results for one call A's is written and the conflict reported. A call without result is left out.
    """
    from ..transfer.checkpoint_files import merge_checkpoints

    merged = merge_checkpoints(_lines(call, a, thread), _lines(call, b, thread))
    write_text(output, "".join(f"{dump_json(line)}\n" for line in merged.lines), call.output)
    call.output.say(f"Merged {merged.from_a} messages of {a} and {merged.from_b} new ones of {b} into {output}")
    for call_id in merged.conflicts:
        call.output.insist(f"warning: {a} and {b} have different results for call {call_id!r}; the first was taken")
    if merged.dropped:
        call.output.insist(f"warning: {merged.dropped} calls without result were left out")
    if call.output.json:
        counts: dict[str, Any] = {"output": str(output), "messages": len(merged.lines), "from_b": merged.from_b}
        call.output.write_json({**counts, "conflicts": merged.conflicts, "dropped": merged.dropped})


def _lines(call: Call, name: str, as_thread: bool) -> list[dict[str, Any]]:
    """Return a history as lines in one spelling, so that the same message is the same line.

    Lines that have that spelling already are returned as they are; for Claude Code the published tool writes another.
    """
    from ..dialects.export import export_messages
    from ..dialects.jsonl import Line, read_lines

    path = Path(name)
    if not as_thread and path.is_file() and read_history(path).dialect == "agent-checkpoint":
        lines = [line.value for line in read_lines(read_bytes(path)) if isinstance(line, Line)]
        if not any(line.get("provider") == "anthropic" for line in lines):
            return lines
    export = export_messages(history_of(call, name, as_thread=as_thread), "agent-checkpoint")
    tell_losses(export.report, call.output, report=None, strict=False)
    return list(export.payload["lines"])
