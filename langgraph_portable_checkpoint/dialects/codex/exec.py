"""The stream of `codex exec --json` read as envelopes: each item in its last state, in the order of appearance.

The stream tells what happened, not what was sent: a command is a call of `shell` with its output as result. It does not
hold the prompt. A log may hold the streams of several runs, one behind the other: which event is of which item is
`runs.py`'s, what an item says `exec_items.py`'s.

Source: codex-rs exec_events (ThreadEvent, ThreadItem).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...envelope.model import ENVELOPE_VERSION, Block, MessageEnvelope, Origin
from ..base import ImportOptions
from ..jsonl import Line
from ..report import Report
from .exec_items import FAILED, read_call, read_result, read_said
from .runs import RUNS, Item, last_states

EVENTS: Final = (
    "thread.started",
    "turn.started",
    "turn.completed",
    "turn.failed",
    "item.added",
    "item.started",
    "item.updated",
    "item.completed",
)
"""Events that a stream is known by."""
_BEGINNINGS: Final = RUNS | {"turn.started"}


class ExecReader:
    """Reads the events of one stream, or of several that were written behind one another."""

    def __init__(self, options: ImportOptions, report: Report) -> None:
        self.report = report
        self.origin: Origin = {"provider": "openai", "api": "codex-exec"}
        if options.model:
            self.origin["model"] = options.model
        self.found: list[MessageEnvelope] = []
        self.turn = 0
        """Where the messages of the turn begin."""
        self.ids: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()

    def envelopes(self, lines: Sequence[Line]) -> list[MessageEnvelope]:
        """Read the lines of one file."""
        items = last_states(lines)
        self._without_prompt("")
        for line in lines:
            kind = str(line.value.get("type"))
            if not kind.startswith("item.") or not isinstance(line.value.get("item"), Mapping):
                self._event(kind, line)
            elif line.number in items:
                self._item(items[line.number], line)
        if self.skipped:
            listed = ", ".join(f"{name} {count}" for name, count in sorted(self.skipped.items()))
            self.report.add("CX2", "dropped", action="left out events that are not messages", detail=listed)
        return self.found

    def _without_prompt(self, path: str) -> None:
        detail = "a stream does not hold it"
        self.report.add("CX4", "unresolved", action="began without the prompt", path=path, detail=detail)

    def _event(self, kind: str, line: Line) -> None:
        usage, error = line.value.get("usage"), line.value.get("error")
        if kind == "turn.completed" and isinstance(usage, Mapping):
            self._usage(usage)
        elif kind in ("turn.failed", "error"):
            message = error.get("message") if isinstance(error, Mapping) else line.value.get("message")
            self._failed("the turn failed", message, line)
        else:
            self.skipped[kind[:40]] += 1
        if kind in _BEGINNINGS and len(self.found) > self.turn:
            self.turn = len(self.found)
            self._without_prompt(f"line {line.number}")

    def _failed(self, action: str, message: Any, line: Line) -> None:
        path = f"line {line.number}"
        self.report.add("CX4", "unresolved", action=action, path=path, detail=str(message)[:200])

    def _usage(self, usage: Item) -> None:
        """Give the turn's last answer the counts of the turn."""
        places = range(len(self.found) - 1, self.turn - 1, -1)
        answer = next((self.found[at] for at in places if self.found[at]["role"] == "assistant"), None)
        if answer is None:
            return
        put, out = _count(usage, "input_tokens"), _count(usage, "output_tokens")
        answer["usage"] = {"input_tokens": put, "output_tokens": out, "total_tokens": put + out}
        if cached := _count(usage, "cached_input_tokens"):
            answer["usage"]["input_token_details"] = {"cache_read": cached}
        if thought := _count(usage, "reasoning_output_tokens"):
            answer["usage"]["output_token_details"] = {"reasoning": thought}

    def _item(self, item: Item, line: Line) -> None:
        if item.get("type") == "error":
            self._failed("an error item", item.get("message"), line)
            return
        call = read_call(item)
        if call is None:
            self._answer().append(read_said(item))
            return
        call["id"] = self._own_id(str(item.get("id") or f"line_{line.number}"), line)
        self._answer().append(call)
        if call["type"] == "tool_call" and item.get("status") != "in_progress":
            self._result(item, call)

    def _own_id(self, found: str, line: Line) -> str:
        """Return an id for a call that none before it has: ids count anew in each run (CX6)."""
        own = found
        while own in self.ids:
            self.ids[found] += 1
            own = f"{found}_{self.ids[found]}"
        self.ids[own] = 1
        if own != found:
            path, detail = f"line {line.number}", f"{found} -> {own}"
            self.report.add("CX6", "re-keyed", action="a call got an id of its own", path=path, detail=detail)
        return own

    def _answer(self) -> list[Block]:
        if len(self.found) <= self.turn or self.found[-1]["role"] != "assistant":
            self.found.append({"v": ENVELOPE_VERSION, "role": "assistant", "content": [], "origin": {**self.origin}})
        return self.found[-1]["content"]

    def _result(self, item: Item, call: Block) -> None:
        content, artifact = read_result(item)
        failed = item.get("status") in FAILED or item.get("exit_code") not in (None, 0)
        envelope: MessageEnvelope = {
            "v": ENVELOPE_VERSION,
            "role": "tool",
            "content": content,
            "tool_call_id": call["id"],
            "name": call["name"],
            "status": "error" if failed else "success",
            "origin": {**self.origin},
        }
        if artifact:
            envelope["artifact"] = artifact
        self.found.append(envelope)


def _count(usage: Item, key: str) -> int:
    return value if isinstance(value := usage.get(key), int) else 0
