"""A Codex rollout read record by record: its response items, compactions and rollbacks as one history.

Items are those of the Responses API, once `items.py` has spelled them, and are read by `responses_read.py`.
Events repeat the items, and are left out. What a compaction replaced and what the user took back is left out and told.

What a line is, `records.py` tells; which compactions are taken back, `rollbacks.py`.

Source: codex-rs protocol (RolloutItem, RolloutLine).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...envelope.model import ENVELOPE_VERSION, MessageEnvelope, Origin
from ..base import ImportOptions
from ..jsonl import Line
from ..problems import Problems
from ..report import Report
from ..responses_items import API
from ..responses_read import ItemReader
from .items import NO_ITEMS, api_item, dress, own_blocks
from .records import item_of, record_of
from .rollbacks import taken_back, turns_of
from .turns import History, begins_turn, is_of_agent, is_summary

NAME: Final = "codex"


class RolloutReader:
    """Reads a rollout's records in order."""

    def __init__(self, options: ImportOptions, report: Report) -> None:
        self.report = report
        self.origin: Origin = {"provider": "openai", "api": API}
        if options.account:
            self.origin["account"] = options.account
        if options.model:
            self.origin["model"] = options.model
        self.history = History()
        self.session: Mapping[str, Any] | None = None
        self.skipped: Counter[str] = Counter()
        self.left: Counter[str] = Counter()
        self.taken: frozenset[int] = frozenset()
        """Numbers of the lines with compactions that the user took back."""

    def envelopes(self, lines: Sequence[Line]) -> list[MessageEnvelope]:
        """Read the lines of one file."""
        self.taken = taken_back(lines)
        for line in lines:
            self._record(line)
        self._tell("left out lines that are not messages", self.skipped)
        self._tell("left out keys that only Codex knows", self.left)
        return self.history.envelopes

    def _tell(self, action: str, counts: Counter[str]) -> None:
        if counts:
            listed = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
            self.report.add("CX2", "dropped", action=action, detail=listed)

    def _record(self, line: Line) -> None:
        kind, payload = record_of(line.value)
        if not isinstance(payload, Mapping):
            self.skipped[str(kind or line.value.get("record_type"))[:40]] += 1
        elif (item := item_of(kind, payload)) is not None:
            self._item(item, line)
        elif (turns := turns_of(kind, payload)) is not None:
            self._rolled_back(turns, line)
        elif kind == "compacted":
            self._compacted(payload, line)
        elif kind == "session_meta":
            self._session(payload, line)
        elif kind == "turn_context" and isinstance(payload.get("model"), str):
            self.origin["model"] = payload["model"]
            self.skipped["turn_context"] += 1
        else:
            self._skipped(str(kind), payload, line)

    def _skipped(self, kind: str, payload: Mapping[str, Any], line: Line) -> None:
        if payload.get("type") in ("turn_aborted", "error"):
            detail = str(payload.get("reason") or payload.get("message") or "")[:200]
            path = f"line {line.number}"
            self.report.add("CX4", "unresolved", action="the turn ended unfinished", path=path, detail=detail)
        self.skipped[kind[:40]] += 1

    def _session(self, payload: Mapping[str, Any], line: Line) -> None:
        """Take the first session's instructions, which the model saw, as a system message (CX7)."""
        self.skipped["session_meta"] += 1
        text = _instructions(payload)
        if self.session is not None:
            if text and text != _instructions(self.session):
                action, path = "left out the instructions of another session", f"line {line.number}"
                self.report.add("CX7", "dropped", action=action, path=path, detail=str(payload.get("id"))[:80])
            return
        self.session = payload
        if text:
            rest = {key: value for key, value in payload.items() if key not in ("base_instructions", "instructions")}
            self.history.session = {
                "v": ENVELOPE_VERSION,
                "role": "system",
                "content": [{"type": "text", "text": text}],
                "origin": {**self.origin},
                "extras": {NAME: rest},
            }
            self.history.add(self.history.session)

    def _item(self, item: Mapping[str, Any], line: Line) -> None:
        """Read one item with the model that answered; one that cannot be read is told, and leaves nothing behind."""
        problems = Problems(NAME)
        last = [] if is_of_agent(item) else self.history.envelopes[-1:]
        length = len(last[0]["content"]) if last else 0
        reader = ItemReader({**self.origin}, problems, [*last])
        reader.read(api_item(item, self.left), f"line {line.number}")
        if problems.found:
            detail, path = "; ".join(problems.found[:3]), f"line {line.number}"
            self.report.add("CX1", "dropped", action="skipped an item that cannot be read", path=path, detail=detail)
            if last:
                del last[0]["content"][length:]
            return
        if last:
            own_blocks(last[0], start=length)
        for envelope in reader.envelopes[len(last) :]:
            self._add(envelope, item, line)

    def _add(self, envelope: MessageEnvelope, item: Mapping[str, Any], line: Line) -> None:
        own_blocks(envelope)
        if isinstance(line.value.get("timestamp"), str):
            envelope["created_at"] = line.value["timestamp"]
        dress(envelope, item)
        begins = begins_turn(item, envelope)
        if envelope["role"] == "user" and (not begins or is_summary(envelope)):
            envelope["typed_by_user"] = False
        self.history.add(envelope, begins_turn=begins)

    def _compacted(self, payload: Mapping[str, Any], line: Line) -> None:
        """Put a compaction's history in the place of the one before, or what the session began with, the user's
        messages and its summary.
        """
        path = f"line {line.number}"
        if line.number in self.taken:
            action, detail = "left out a compaction that the user took back", "thread_rolled_back"
            self.report.add("CX5", "dropped", action=action, path=path, detail=detail)
            return
        history, summary = payload.get("replacement_history"), payload.get("message")
        items = history if isinstance(history, list) else []
        gone = self.history.compact(replaced=bool(items))
        self.report.add("CX3", "dropped", action=f"left out {gone} messages", path=path, detail="compacted")
        for item in items:
            if isinstance(item, Mapping) and item.get("type") not in NO_ITEMS:
                self._item(item, line)
        if not items and isinstance(summary, str):
            at = len(self.history.envelopes)
            self._item({"type": "message", "role": "user", "content": summary}, line)
            for envelope in self.history.envelopes[at:]:
                envelope["typed_by_user"] = False

    def _rolled_back(self, turns: int, line: Line) -> None:
        """Leave out the last turns, as Codex does when it goes on with the thread."""
        self.skipped["event_msg"] += 1
        gone = self.history.roll_back(turns)
        if gone:
            action, path = f"left out {gone} messages that the user took back", f"line {line.number}"
            self.report.add("CX5", "dropped", action=action, path=path, detail="thread_rolled_back")


def _instructions(payload: Mapping[str, Any]) -> str:
    base = payload.get("base_instructions")
    text = base.get("text") if isinstance(base, Mapping) else payload.get("instructions")
    return text if isinstance(text, str) else ""
