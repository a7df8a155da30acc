"""A program that writes Claude Code session files as the real one does, and remembers what its model has seen.

Lines are streamed: one per block, each behind the last one written; a result hangs on its own call's line, and the
text that a tool adds on its result. So what the model saw lies beside the path wherever calls are parallel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.dialects.claude_code_lines import answered, result, said, text, use

ONE_ID = "gen-1"


@dataclass
class Seen:
    """One prompt, summary or answer that the model has seen, with what it led to."""

    said: list[str]
    """uuids of its lines, in order."""
    behind: list[str] = field(default_factory=list)
    """uuids of its results and their texts."""
    written: list[str] = field(default_factory=list)
    """All these as written."""
    prompt: bool = False


@dataclass
class Program:
    """One session; `ids` is "own" where answers have ids of their own, "requests" or "stops" where all have one."""

    random: Random
    ids: str = "own"
    lines: list[dict[str, Any]] = field(default_factory=list)
    memory: list[Seen] = field(default_factory=list)
    last: str | None = None
    compacted: int = 0
    """How many things in memory stood there when it was last compacted."""

    def run(self) -> Program:
        """Write a whole session."""
        for _ in range(self.random.randint(1, 6)):
            chance = self.random.random()
            if chance < 0.2:
                self._rewind()
            elif chance < 0.45 and len(self.memory) > 2:
                self._compact()
            self._turn()
        if self.random.random() < 0.1:
            self._compact()
        return self

    def expected(self) -> list[tuple[list[str], set[str]]]:
        return [(seen.said, set(seen.behind)) for seen in self.memory]

    def left_out(self) -> int:
        """How many lines say something that the model sees no more."""
        kept = {uuid for seen in self.memory for uuid in seen.written}
        spoken = [line for line in self.lines if line["type"] in ("user", "assistant")]
        return sum(line["uuid"] not in kept for line in spoken)

    def _turn(self) -> None:
        prompt = Seen([self._name("u")], prompt=True)
        self._write(said(prompt.said[0], self.last, f"prompt {prompt.said[0]}"), prompt)
        self.memory.append(prompt)
        for _ in range(self.random.randint(0, 3)):
            self._answer(self.random.choice([1, 1, 2, 3, 4]))
        self._answer(0)

    def _answer(self, calls: int) -> None:
        answer = Seen([])
        self.memory.append(answer)
        name = self._name("m")
        open_calls: list[tuple[str, str]] = []
        blocks = [*([text(f"words {name}")] if not calls or self.random.random() < 0.4 else [])]
        blocks += [use(f"{name}:{number}") for number in range(calls)]
        for block in blocks:
            uuid = self._name("a")
            answer.said.append(uuid)
            self._write(self._line(uuid, name, block), answer)
            if "id" in block:
                open_calls.append((uuid, block["id"]))
            while open_calls and self.random.random() < 0.3:
                self._finish(answer, open_calls)
            self._noise(0.1)
        while open_calls:
            self._finish(answer, open_calls)
        self._noise(0.3)

    def _line(self, uuid: str, name: str, block: dict[str, Any]) -> dict[str, Any]:
        line = answered(uuid, self.last, name if self.ids == "own" else ONE_ID, block)
        if self.ids != "stops":
            line["requestId"] = f"request {name}"
        line["message"]["stop_reason"] = "tool_use" if self.ids == "stops" else None
        return line

    def _finish(self, answer: Seen, open_calls: list[tuple[str, str]]) -> None:
        line, call = open_calls.pop(self.random.randrange(len(open_calls)))
        self._noise(0.2)
        uuid = self._name("r")
        answer.behind.append(uuid)
        self._write(said(uuid, line, [result(call)], sourceToolAssistantUUID=line), answer)
        source = {"sourceToolUseID": call} if self.random.random() < 0.5 else {}
        for _ in range(self.random.choice([0, 0, 0, 1, 2])):
            uuid = self._name("x")
            answer.behind.append(uuid)
            self._write(said(uuid, self.last, [text(f"text {uuid}")], isMeta=True, **source), answer)

    def _noise(self, chance: float) -> None:
        """Write a line that holds no message, or one of a subagent, which stands in no one's way."""
        if self.random.random() < chance:
            kind = self.random.choice(["progress", "attachment", "system"])
            hook = {"type": kind, "uuid": self._name("n"), "parentUuid": self.last, "attachment": {"type": "hook"}}
            self._write(hook, self.memory[-1] if self.memory else None)
        if self.random.random() < chance:
            self.lines.append(said(self._name("s"), None, "task", isSidechain=True))

    def _rewind(self) -> None:
        """Put a prompt again, behind what stood before it; never the first of what a compaction left."""
        prompts = [number for number, seen in enumerate(self.memory) if seen.prompt and number > 1]
        if prompts:
            at = self.random.choice(prompts)
            self.last = self.memory[at - 1].written[-1]
            del self.memory[at:]
            self.compacted = min(self.compacted, at)

    def _compact(self) -> None:
        boundary, summary = self._name("b"), Seen([self._name("c")])
        kept, anchor = self._kept(boundary, summary.said[0])
        metadata = self._metadata(kept, anchor) if kept else {}
        fixed = {"type": "system", "subtype": "compact_boundary", "parentUuid": None, "logicalParentUuid": self.last}
        self._write({**fixed, "uuid": boundary, "compactMetadata": {"trigger": "auto", **metadata}})
        self._write(said(summary.said[0], boundary, "Summary", isCompactSummary=True), summary)
        self.memory = [*kept, summary] if anchor == boundary else [summary, *kept]
        self.compacted = len(self.memory)
        self._noise(0.3)

    def _kept(self, boundary: str, summary: str) -> tuple[list[Seen], str]:
        if not self.memory or self.random.random() < 0.3:
            return [], summary
        at = self.random.randrange(len(self.memory))
        if self.random.random() < 0.3:
            return self.memory[: at + 1], boundary
        return self.memory[at:], summary

    def _metadata(self, kept: list[Seen], anchor: str) -> dict[str, Any]:
        uuids = [uuid for seen in kept for uuid in seen.written]
        ends = {"headUuid": uuids[0], "anchorUuid": anchor, "tailUuid": uuids[-1]}
        listed = {"anchorUuid": anchor, "uuids": uuids, "allUuids": [*uuids, "never written"]}
        unbroken = not self.compacted or kept[0] in self.memory[self.compacted :]
        if unbroken and self.random.random() < 0.5:
            return {"preservedSegment": ends}
        return {"preservedSegment": ends, "preservedMessages": listed}

    def _write(self, line: dict[str, Any], seen: Seen | None = None) -> None:
        self.lines.append(line)
        self.last = line["uuid"]
        if seen:
            seen.written.append(line["uuid"])

    def _name(self, kind: str) -> str:
        return f"{kind}{len(self.lines)}"
