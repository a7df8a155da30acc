"""Claude Code session files, import only: the conversation that the model last saw.

`tree.py` finds the conversation in the file; its messages, which are Anthropic's, are read by
`anthropic_read.py`. What a person did not type (isMeta, summaries, interruptions) is kept and marked. Results
keep what the tool returned beside its text (`toolUseResult`) as artifact.

Source: provider-rules "Claude Code JSONL"; session files of Claude Code 1.0 to 2.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any, Final

from ...envelope.model import MessageEnvelope, Origin
from ...errors import MalformedHistoryError
from ..anthropic_read import API, read_message
from ..base import DeclaredLoss, Field, ImportOptions, Rule
from ..import_only import ImportOnly
from ..jsonl import first_objects, read_lines
from ..problems import Problems
from ..report import Report
from .records import TREE_TYPES, Record, are_programs, queued_prompt
from .tree import Step, assemble

NAME: Final = "claude-code"
_SOURCE: Final = "provider-rules, Claude Code JSONL"
LOOK_FURTHER: Final = 200
"""How many lines are looked at where the first ones hold no message."""
_MARKS: Final[Mapping[str, tuple[str, ...]]] = {
    "summary": ("leafUuid",),
    "file-history-snapshot": ("messageId", "snapshot"),
    "queue-operation": ("operation", "sessionId"),
    "stream_event": ("event", "session_id"),
    **dict.fromkeys(("system", "progress", "attachment"), ("uuid", "parentUuid")),
}
"""What a line of each type holds that no other dialect has, besides messages."""


class ClaudeCode(ImportOnly):
    """The dialect; see the module docstring."""

    name = NAME
    title = "Claude Code session files"
    providers = ("anthropic",)
    profiles: tuple[str, ...] = ()
    unreadable = "CC1"
    RULES: tuple[Rule, ...] = (
        Rule(id="CC1", text="a line that is no JSON object is skipped", source=_SOURCE),
        Rule(id="CC2", text="lines of other types than the tree's are metadata", source=_SOURCE),
        Rule(
            id="CC3",
            text="the conversation is the path from the root to the last leaf of the main chain, without what "
            "subagents (isSidechain, parent_tool_use_id) and team members say on it; what the last compaction kept "
            "(preservedMessages, preservedSegment) stands behind its anchor",
            source=_SOURCE,
        ),
        Rule(id="CC4", text="a parent that is not in the file, or a circle, ends the path", source=_SOURCE),
        Rule(
            id="CC5",
            text="system, progress and attachment records and the model <synthetic> are no messages",
            source=_SOURCE,
        ),
        Rule(
            id="CC6",
            text="lines with one message.id are one message if nothing stands between them but their own results and "
            "what nobody said; lines, results and the program's texts (isMeta) beside the path belong to it that hang "
            "on it",
            source=_SOURCE,
        ),
    )
    FIELD_MAP: tuple[Field, ...] = (
        Field(neutral="assistant message", native="the lines of one run that have one message.id (CC6)"),
        Field(neutral="tool message", native="user line with tool_result blocks", note="toolUseResult is the artifact"),
        Field(
            neutral="typed_by_user: false",
            native="isMeta, isCompactSummary, isSynthetic, commandMode task-notification, an origin that is not human; "
            "texts that are notes of an interruption, or elements of the program's alone (output of commands, "
            "reminders, notifications)",
        ),
        Field(neutral="created_at", native="timestamp"),
        Field(neutral="id", native="message.id, else uuid", note="uuid where an answer before it has that message.id"),
        Field(neutral="blocks", native="as in Anthropic Messages"),
    )
    LOSSES: tuple[DeclaredLoss, ...] = (
        DeclaredLoss(rule="CC1", kind="dropped", when="a line that is no JSON object, or holds no readable message"),
        DeclaredLoss(rule="CC1", kind="downgraded", when="a repeated key, or a lone surrogate"),
        DeclaredLoss(rule="CC2", kind="dropped", when="lines that are not messages"),
        DeclaredLoss(
            rule="CC3",
            kind="dropped",
            when="side conversations, those of team members, abandoned branches, what a compaction replaced, a record "
            "whose uuid comes again",
        ),
        DeclaredLoss(
            rule="CC4",
            kind="unresolved",
            when="the path's beginning, or messages that a compaction kept, are not in the file",
        ),
        DeclaredLoss(rule="CC5", kind="dropped", when="records that no model said and no person typed"),
        DeclaredLoss(rule="CC6", kind="dropped", when="a message has two calls of one id that differ: the first stays"),
    )

    def parse(self, payload: Any, options: ImportOptions, report: Report) -> list[MessageEnvelope]:
        """Read a session file: text, bytes, lines, or objects already read."""
        if not isinstance(payload, (str, bytes, list, dict)):
            raise MalformedHistoryError(NAME, [f"is {type(payload).__name__}, not line-delimited JSON"])
        session = assemble(read_lines([payload] if isinstance(payload, dict) else payload))
        for note in session.notes:
            path = "" if note.line is None else f"line {note.line}"
            report.add(note.rule, note.kind, action=note.action, path=path, detail=note.detail)
        envelopes = [envelope for step in session.steps for envelope in _envelopes(step, options, report)]
        problems = session.problems or ([] if envelopes else ["no line holds a readable message"])
        if problems:
            bad = [f"line {note.line}: {note.detail}" for note in session.notes if note.rule == "CC1" and note.line]
            raise MalformedHistoryError(NAME, [*problems, *bad])
        _name_apart(envelopes)
        return envelopes

    def recognises(self, payload: Any) -> float:
        """Lines of the tree's types with uuid and message are certain; a file may begin with many others."""
        objects = first_objects(payload)
        if objects and all(isinstance(one.get("type"), str) and "message" not in one for one in objects):
            objects = first_objects(payload, LOOK_FURTHER)
        tree = [one for one in objects if one.get("type") in TREE_TYPES]
        if any("message" in one and ("uuid" in one or "parentUuid" in one or "sessionId" in one) for one in tree):
            return 0.97
        if any(isinstance(one.get("message"), dict) and one.get("type") in ("user", "assistant") for one in tree):
            return 0.8
        return 0.6 if any(_is_mark(one) for one in objects) else 0.0


def _is_mark(line: Mapping[str, Any]) -> bool:
    kind, session = line.get("type"), "session_id" in line and "uuid" in line
    keys = _MARKS.get(kind) if isinstance(kind, str) else None
    return keys is not None and (all(key in line for key in keys) or (kind == "system" and session))


def _envelopes(step: Step, options: ImportOptions, report: Report) -> Iterator[MessageEnvelope]:
    """Read one message; a message that Anthropic's reader refuses is left out and told with its line."""
    problems = Problems(NAME)
    first = step.records[0]
    origin = _origin(first, options)
    found = read_message(_native(step, report), f"line {first.line}", origin=origin, problems=problems)
    if problems.found:
        report.add(
            "CC1",
            "dropped",
            action="skipped a message that cannot be read",
            path=f"line {first.line}",
            detail="; ".join(problems.found[:3]),
        )
        return
    for envelope in found:
        yield _dressed(envelope, step)


def _origin(record: Record, options: ImportOptions) -> Origin:
    origin: Origin = {"provider": "anthropic", "api": API}
    model = record.message.get("model") or options.model
    if isinstance(model, str):
        origin["model"] = model
    if record.type == "assistant" and record.message_id:
        origin["response_id"] = record.message_id
    if options.account:
        origin["account"] = options.account
    return origin


def _native(step: Step, report: Report) -> dict[str, Any]:
    """The native message: the blocks of all its lines in order, a tool_use that is written twice only once."""
    first = step.records[0]
    if first.type == "attachment":
        return {"role": "user", "content": queued_prompt(first)}
    if first.type == "user":
        return {"role": "user", "content": first.message.get("content")}
    blocks: list[Any] = []
    calls: dict[str, Any] = {}
    for record in step.records:
        content = record.message.get("content")
        for block in content if isinstance(content, list) else [content]:
            call = block.get("id") if isinstance(block, Mapping) and block.get("type") == "tool_use" else None
            if call is None or calls.setdefault(str(call), block) is block:
                blocks.append(block)
            elif calls[str(call)] != block:
                path, detail = f"line {record.line}", f"call {call}"
                report.add("CC6", "dropped", action="left out a call of an id used before", path=path, detail=detail)
    return {"role": "assistant", "content": blocks}


def _dressed(envelope: MessageEnvelope, step: Step) -> MessageEnvelope:
    """Add what the line says beside the message."""
    first, last = step.records[0], step.records[-1]
    record = {"uuids": [one.uuid for one in step.records]}
    envelope["extras"] = {**envelope.get("extras", {}), NAME: record}
    envelope["id"] = first.message_id or first.uuid
    if isinstance(first.value.get("timestamp"), str):
        envelope["created_at"] = first.value["timestamp"]
    if envelope["role"] == "assistant":
        _add_answer_facts(envelope, last)
    elif envelope["role"] == "tool":
        envelope["id"] = f"{first.uuid}:{envelope.get('tool_call_id')}"
        told = first.value.get("toolUseResult", first.value.get("tool_use_result"))
        if told is not None and len(first.blocks("tool_result")) == 1:
            envelope["artifact"] = told
    elif not _is_typed(envelope, first):
        envelope["typed_by_user"] = False
    return envelope


def _name_apart(envelopes: Sequence[MessageEnvelope]) -> None:
    """Give an id of its own to what has the id of a message before it: routers use one in several turns."""
    seen: set[str | None] = set()
    for number, envelope in enumerate(envelopes):
        if envelope["id"] in seen:
            uuid = envelope["extras"][NAME]["uuids"][0]
            others = chain([uuid], (f"{uuid}:{place}" for place in count(number)))
            envelope["id"] = next(one for one in others if one not in seen)
        seen.add(envelope["id"])


def _is_typed(envelope: MessageEnvelope, record: Record) -> bool:
    content = envelope["content"]
    texts = [block["text"] for block in content if block["type"] == "text"]
    return not record.by_program and not (len(texts) == len(content) and are_programs(texts))


def _add_answer_facts(envelope: MessageEnvelope, last: Record) -> None:
    """Usage and stop reason stand complete on a message's last line only."""
    usage = last.message.get("usage")
    if isinstance(usage, Mapping):
        envelope["usage"] = _usage(usage)
    if isinstance(last.message.get("stop_reason"), str):
        envelope["stop_reason"] = last.message["stop_reason"]


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Anthropic's counts in LangChain's shape: cached tokens are part of the input."""

    def count(key: str) -> int:
        return value if isinstance(value := usage.get(key), int) else 0

    read, made = count("cache_read_input_tokens"), count("cache_creation_input_tokens")
    put, out = count("input_tokens") + read + made, count("output_tokens")
    details = {"cache_read": read, "cache_creation": made}
    return {"input_tokens": put, "output_tokens": out, "total_tokens": put + out, "input_token_details": details}
