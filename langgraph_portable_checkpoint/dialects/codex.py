"""Codex files, import only: rollouts (`~/.codex/sessions`) and the stream of `codex exec --json`.

A rollout's response items are those of the Responses API and are read by `responses_read.py`; the stream's items are
read by `codex_exec.py`. Events repeat the items, and are left out. What a compaction replaced is left out and told.

Source: codex-rs protocol (RolloutItem, ResponseItem) and exec_events, versions 0.40 to 0.65.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

from ..envelope.model import ENVELOPE_VERSION, MessageEnvelope, Origin
from ..errors import DialectError, MalformedHistoryError
from .arguments import tell_repeated
from .base import DeclaredLoss, ExportOptions, Field, Finding, ImportOptions, Rule, Target
from .codex_exec import EVENTS, ExecReader
from .jsonl import BadLine, Line, first_objects, read_lines
from .problems import Problems
from .report import Placed, Report
from .responses_items import API
from .responses_read import ItemReader

NAME: Final = "codex"
ROLLOUT: Final = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_NOT_TYPED: Final = ("<environment_context>", "<user_instructions>", "<permissions", "<turn_aborted>", "# AGENTS.md")
_NO_ITEMS: Final = ("ghost_snapshot", "other")
_SOURCE: Final = "codex-rs protocol"


class Codex:
    """The dialect; see the module docstring."""

    name = NAME
    title = "Codex rollouts and exec streams"
    providers = ("openai",)
    profiles: tuple[str, ...] = ()
    writes = False
    RULES: tuple[Rule, ...] = (
        Rule(id="CX1", text="a line that is no JSON object, or no readable item, is skipped", source=_SOURCE),
        Rule(id="CX2", text="events, contexts and metadata are no messages", source=_SOURCE),
        Rule(
            id="CX3",
            text="a compacted record replaces the history before it by its own, or else by the session's beginning, "
            "the user's messages and a summary; a session's instructions stay",
            source=_SOURCE,
        ),
        Rule(id="CX4", text="a turn may be aborted or fail; an exec stream does not hold its prompt", source=_SOURCE),
        Rule(id="CX5", text="thread_rolled_back takes the last turns of the user back", source=_SOURCE),
        Rule(
            id="CX6",
            text="the items of an exec stream count anew in each run, and a completed item is final",
            source="codex-rs exec_events",
        ),
    )
    FIELD_MAP: tuple[Field, ...] = (
        Field(neutral="messages", native="response_item payloads, as in OpenAI Responses"),
        Field(neutral="origin.model", native="turn_context.model"),
        Field(neutral="created_at", native="timestamp"),
        Field(neutral="typed_by_user: false", native="environment, instructions and summaries in the user's role"),
        Field(neutral="extras.codex", native="keys of an exec stream's items"),
        Field(neutral="artifact", native="exit_code, structured_content, agents_states"),
        Field(neutral="tool_call shell, tool message", native="item command_execution", note="exec stream"),
        Field(
            neutral="tool_call apply_patch, update_plan, <server>__<tool>, spawn_agent, ...",
            native="file_change, todo_list, mcp_tool_call, collab_tool_call",
        ),
        Field(neutral="image, audio, file", native="content of mcp_tool_call's result", note="exec stream"),
        Field(neutral="server_tool_call", native="item web_search", note="exec stream"),
    )
    LOSSES: tuple[DeclaredLoss, ...] = (
        DeclaredLoss(rule="CX1", kind="dropped", when="a line or an item that cannot be read"),
        DeclaredLoss(rule="CX1", kind="downgraded", when="a repeated key, or a lone surrogate"),
        DeclaredLoss(rule="CX2", kind="dropped", when="lines that are no messages"),
        DeclaredLoss(rule="CX3", kind="dropped", when="what a compaction replaced"),
        DeclaredLoss(
            rule="CX4", kind="unresolved", when="a turn that was aborted or failed, a prompt that is not there"
        ),
        DeclaredLoss(rule="CX5", kind="dropped", when="turns that the user took back"),
        DeclaredLoss(rule="CX6", kind="re-keyed", when="a call whose id an earlier run used"),
    )

    def target(self, options: ExportOptions) -> Target:
        """Import only; the table says so by accepting everything."""
        return Target(dialect=NAME)

    def render(self, conversation: Sequence[Placed], options: ExportOptions, report: Report) -> NoReturn:
        """Raise DialectError: these files are only read."""
        raise DialectError(f"{NAME} can only be imported")

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read a rollout or an exec stream: text, bytes, lines, or objects already read."""
        if not isinstance(payload, (str, bytes, list, dict)):
            raise MalformedHistoryError(NAME, [f"is {type(payload).__name__}, not line-delimited JSON"])
        lines = list(read_lines([payload] if isinstance(payload, dict) else payload))
        good = _good_lines(lines, report)
        if any(line.value.get("type") in EVENTS for line in good):
            return ExecReader(options, report).envelopes(good)
        if not any(_is_rollout(line.value) for line in good):
            bad = [f"line {line.number}: {line.reason}" for line in lines if isinstance(line, BadLine)]
            raise MalformedHistoryError(NAME, ["no line is a rollout's record or a stream's event", *bad])
        envelopes = _RolloutReader(options, report).envelopes(good)
        tell_repeated(envelopes, report)
        return envelopes

    def recognises(self, payload: Any) -> float:
        """Records with a payload, or events with a dotted type, are certain."""
        objects = first_objects(payload)
        if any(one.get("type") in ROLLOUT and isinstance(one.get("payload"), dict) for one in objects):
            return 0.97
        return 0.97 if any(one.get("type") in EVENTS for one in objects) else 0.0

    def lint(self, payload: Any, options: ExportOptions) -> list[Finding]:
        """Return what an import would report, as findings."""
        report = Report(target=NAME)
        try:
            self.parse(payload, ImportOptions(), report)
        except MalformedHistoryError as error:
            return [Finding(rule="CX1", path="", message=problem) for problem in error.problems]
        return [Finding(rule=loss.rule, path=loss.path, message=f"{loss.action}: {loss.detail}") for loss in report]


def _is_rollout(value: Mapping[str, Any]) -> bool:
    """Tell a record, or a bare item as the first versions wrote them after a line with the session's id."""
    return value.get("type") in ROLLOUT or (value.get("type") in _BARE and ("role" in value or "call_id" in value))


_BARE: Final = ("message", "function_call", "function_call_output")


def _good_lines(lines: Iterable[Line | BadLine], report: Report) -> list[Line]:
    good: list[Line] = []
    for line in lines:
        path = f"line {line.number}"
        if isinstance(line, BadLine):
            report.add("CX1", "dropped", action="skipped a line that cannot be read", path=path, detail=line.reason)
            continue
        good.append(line)
        for repair in line.repairs:
            report.add("CX1", "downgraded", action="mended a line", path=path, detail=repair)
    return good


class _RolloutReader:
    """Reads a rollout's records in order."""

    def __init__(self, options: ImportOptions, report: Report) -> None:
        self.report = report
        self.origin: Origin = {"provider": "openai", "api": API}
        if options.account:
            self.origin["account"] = options.account
        if options.model:
            self.origin["model"] = options.model
        self.items = ItemReader({**self.origin}, Problems(NAME))
        self.skipped: Counter[str] = Counter()

    def envelopes(self, lines: Sequence[Line]) -> list[MessageEnvelope]:
        for line in lines:
            self._record(line)
        if self.skipped:
            listed = ", ".join(f"{name} {count}" for name, count in sorted(self.skipped.items()))
            self.report.add("CX2", "dropped", action="left out lines that are not messages", detail=listed)
        return self.items.envelopes

    def _record(self, line: Line) -> None:
        kind, payload = line.value.get("type"), line.value.get("payload")
        if kind in _BARE and not isinstance(payload, Mapping):
            kind, payload = "response_item", line.value
        if not isinstance(payload, Mapping):
            self.skipped[str(kind)[:40]] += 1
        elif kind == "response_item" and payload.get("type") not in _NO_ITEMS:
            self._item(payload, line)
        elif kind == "compacted":
            self._compacted(payload, line)
        elif kind == "session_meta":
            self._session(payload)
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            self._rolled_back(payload.get("num_turns"), line)
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

    def _session(self, payload: Mapping[str, Any]) -> None:
        """Take the instructions, which the model saw, as a system message."""
        base = payload.get("base_instructions")
        text = base.get("text") if isinstance(base, Mapping) else payload.get("instructions")
        self.skipped["session_meta"] += 1
        if isinstance(text, str) and text:
            rest = {key: value for key, value in payload.items() if key not in ("base_instructions", "instructions")}
            self.items.envelopes.append(
                {
                    "v": ENVELOPE_VERSION,
                    "role": "system",
                    "content": [{"type": "text", "text": text}],
                    "origin": {**self.origin},
                    "extras": {NAME: rest},
                }
            )

    def _item(self, item: Mapping[str, Any], line: Line) -> None:
        """Read one item with the model that answered; an item that cannot be read is told and skipped."""
        problems = Problems(NAME)
        reader = ItemReader({**self.origin}, problems, [*self.items.envelopes[-1:]])
        before = len(reader.envelopes)
        reader.read(_plain_output(item), f"line {line.number}")
        if problems.found:
            detail = "; ".join(problems.found[:3])
            path = f"line {line.number}"
            self.report.add("CX1", "dropped", action="skipped an item that cannot be read", path=path, detail=detail)
            return
        for envelope in reader.envelopes[before:]:
            self.items.envelopes.append(_dressed(envelope, item, line))

    def _compacted(self, payload: Mapping[str, Any], line: Line) -> None:
        """Put a compaction's history in the place of the one before, or what the session began with, the user's
        messages and its summary.

        Source: codex-rs, compact.rs, build_compacted_history.
        """
        history, summary = payload.get("replacement_history"), payload.get("message")
        replaced = isinstance(history, list) and bool(history)
        before = self.items.envelopes[:]
        begun = next((at for at, each in enumerate(before) if not _begins(each)), len(before))
        self.items.envelopes[:] = [
            each
            for at, each in enumerate(before)
            if _is_of_session(each) or (not replaced and (at < begun or _typed(each)))
        ]
        gone = len(before) - len(self.items.envelopes)
        self.report.add(
            "CX3", "dropped", action=f"left out {gone} messages", path=f"line {line.number}", detail="compacted"
        )
        for item in history if replaced and isinstance(history, list) else ():
            if isinstance(item, Mapping):
                self._item(item, line)
        if not replaced and isinstance(summary, str):
            at = len(self.items.envelopes)
            self._item({"type": "message", "role": "user", "content": summary}, line)
            for envelope in self.items.envelopes[at:]:
                envelope["typed_by_user"] = False

    def _rolled_back(self, turns: Any, line: Line) -> None:
        """Leave out the last turns that the user began, as Codex does when it goes on with the thread."""
        self.skipped["event_msg"] += 1
        begun = [at for at, each in enumerate(self.items.envelopes) if each["role"] == "user" and not _is_context(each)]
        if not isinstance(turns, int) or turns <= 0 or not begun:
            return
        cut = begun[-min(turns, len(begun))]
        action = f"left out {len(self.items.envelopes) - cut} messages that the user took back"
        self.report.add("CX5", "dropped", action=action, path=f"line {line.number}", detail="thread_rolled_back")
        del self.items.envelopes[cut:]


def _plain_output(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Older versions wrap a result's text: {"content": ..., "success": ...}."""
    output = item.get("output")
    if isinstance(output, Mapping) and isinstance(output.get("content"), str):
        return {**item, "output": output["content"]}
    return item


def _dressed(envelope: MessageEnvelope, item: Mapping[str, Any], line: Line) -> MessageEnvelope:
    if isinstance(line.value.get("timestamp"), str):
        envelope["created_at"] = line.value["timestamp"]
    output = item.get("output")
    if envelope["role"] == "tool" and isinstance(output, Mapping) and output.get("success") is False:
        envelope["status"] = "error"
    if envelope["role"] == "user" and _is_context(envelope):
        envelope["typed_by_user"] = False
    return envelope


def _is_context(envelope: MessageEnvelope) -> bool:
    """True for what Codex itself says in the user's role: the environment, instructions, that a turn was aborted."""
    texts = [block["text"] for block in envelope["content"] if block["type"] == "text"]
    return bool(texts) and all(text.lstrip().startswith(_NOT_TYPED) for text in texts)


def _typed(envelope: MessageEnvelope) -> bool:
    return envelope["role"] == "user" and envelope.get("typed_by_user") is not False


def _begins(envelope: MessageEnvelope) -> bool:
    """True for what Codex says before the user's first words: instructions and the environment."""
    return envelope["role"] == "system" or (envelope["role"] == "user" and _is_context(envelope))


def _is_of_session(envelope: MessageEnvelope) -> bool:
    """True for the instructions of a session, which are sent with every request and are no part of its history."""
    return envelope["role"] == "system" and NAME in envelope.get("extras", {})
