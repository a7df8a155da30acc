"""A Claude Code session file as the conversation that its model last saw, in native Anthropic messages.

Lines of type user, assistant, progress, system and attachment form a tree by `parentUuid`. The conversation is the
path from the root to the last leaf that a person would continue. What is not on that path is told as a `Note`, never
dropped in silence: side conversations of subagents, abandoned branches, what a compaction replaced, lines that are no
messages. Pure: lines in, steps and notes out.

Source: provider-rules "Claude Code JSONL"; the order agrees with the official SDK's `get_session_messages`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from .jsonl import BadLine, Line
from .report import LossKind

TREE_TYPES: Final = ("user", "assistant", "progress", "system", "attachment")
SYNTHETIC_MODEL: Final = "<synthetic>"


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the tree: its line number, its place, its message if it has one, and the object as written."""

    line: int
    uuid: str
    parent: str | None
    type: str
    message: Mapping[str, Any]
    message_id: str | None
    value: Mapping[str, Any]

    @staticmethod
    def of(line: Line, uuid: str, parent: str | None) -> Record:
        """Make the record of a line."""
        message = line.value.get("message")
        message = message if isinstance(message, dict) else {}
        found = message.get("id")
        message_id = found if isinstance(found, str) and found else None
        return Record(line.number, uuid, parent, str(line.value["type"]), message, message_id, line.value)

    def blocks(self, kind: str) -> list[Mapping[str, Any]]:
        content = self.message.get("content")
        items = content if isinstance(content, list) else []
        return [item for item in items if isinstance(item, Mapping) and item.get("type") == kind]

    @property
    def said(self) -> tuple[str, Any] | None:
        """What a person typed or a model said here, and which of the two; None where nobody said anything."""
        if self.type == "attachment":
            prompt = queued_prompt(self)
            return None if prompt is None else ("user", prompt)
        return (self.type, self.message.get("content")) if self.type in ("user", "assistant") else None

    @property
    def hidden(self) -> bool:
        return bool(self.value.get("isSidechain") or self.value.get("teamName"))


@dataclass(frozen=True)
class Note:
    """What of the file is not in the conversation, or was mended: rule, kind, line, what was done, and why."""

    rule: str
    kind: LossKind
    line: int | None
    action: str
    detail: str


@dataclass(frozen=True)
class Step:
    """One native message: the records that it was written as (several for an assistant), in file order."""

    records: tuple[Record, ...]


@dataclass
class Session:
    """The conversation's steps in order, and the notes."""

    steps: list[Step] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Why there is no conversation at all; empty where there is one."""


def assemble(lines: Iterable[Line | BadLine]) -> Session:
    """Find the conversation in the lines of one session file."""
    session = Session()
    records = _last_of_each_uuid(_records(lines, session), session)
    if not records:
        session.problems.append("no line is a user or assistant message")
        return session
    by_uuid = {record.uuid: record for record in records}
    leaf = _leaf(records, by_uuid)
    if leaf is None:
        session.problems.append(f"line {records[0].line}: every record has a child, so parentUuid runs in a circle")
        return session
    chain = _walk(leaf, by_uuid, session)
    placed = _shown(_with_parallel_parts(chain, records))
    _note_left_out(records, {record.uuid for record in placed}, chain, session)
    session.steps = _steps(placed, session)
    return session


def _records(lines: Iterable[Line | BadLine], session: Session) -> list[Record]:
    """Keep the lines of the tree; a line without uuid (stream-json output) follows the one before it."""
    records: list[Record] = []
    other: Counter[str] = Counter()
    for line in lines:
        if isinstance(line, BadLine):
            session.notes.append(Note("CC1", "dropped", line.number, "skipped a line that cannot be read", line.reason))
            continue
        session.notes += [Note("CC1", "downgraded", line.number, "mended a line", repair) for repair in line.repairs]
        record = _record(line, records[-1].uuid if records else None)
        if record is None:
            other[str(line.value.get("type"))[:40]] += 1
        else:
            records.append(record)
    if other:
        listed = ", ".join(f"{name} {count}" for name, count in sorted(other.items()))
        session.notes.append(Note("CC2", "dropped", None, "left out lines that are not messages", listed))
    return records if any(record.type in ("user", "assistant") for record in records) else []


def _last_of_each_uuid(records: Sequence[Record], session: Session) -> list[Record]:
    """Keep the last record of each uuid, as Claude Code does; one that said something else is told."""
    by_uuid = {record.uuid: record for record in records}
    if len(by_uuid) == len(records):
        return [*records]
    for record in records:
        last = by_uuid[record.uuid]
        if record is not last and record.said and record.said != last.said:
            why = f"line {last.line} has the same uuid"
            session.notes.append(Note("CC3", "dropped", record.line, "left out a record", why))
    return [record for record in records if by_uuid[record.uuid] is record]


def _record(line: Line, previous: str | None) -> Record | None:
    kind, uuid = line.value.get("type"), line.value.get("uuid")
    if kind not in TREE_TYPES or (kind in ("user", "assistant") and not isinstance(line.value.get("message"), dict)):
        return None
    if not isinstance(uuid, str) or not uuid:
        return Record.of(line, f"line {line.number}", previous) if "message" in line.value else None
    parent = line.value.get("parentUuid", previous)
    return Record.of(line, uuid, parent if isinstance(parent, str) else None)


def _leaf(records: Sequence[Record], by_uuid: Mapping[str, Record]) -> Record | None:
    """The last message in file order that ends a branch; of the main conversation, unless the file is a subagent's.

    A branch may end in what the program said by itself (a skill's text, a hook's), but holds more than that.
    """
    parents = {record.parent for record in records}
    leaves = [_nearest_message(record, by_uuid) for record in records if record.uuid not in parents]
    found = [leaf for leaf in leaves if leaf is not None]
    main = [leaf for leaf in found if not leaf.hidden and _nearest_said(leaf, by_uuid) is not None]
    return max(main or found, key=lambda record: record.line, default=None)


def _nearest_said(leaf: Record, by_uuid: Mapping[str, Record]) -> Record | None:
    """Return the last message of a branch that the program did not say by itself."""
    seen: set[str] = set()
    record: Record | None = leaf
    while record is not None and record.value.get("isMeta"):
        seen.add(record.uuid)
        above = by_uuid.get(record.parent or "")
        record = _nearest_message(above, by_uuid) if above is not None and above.uuid not in seen else None
    return record


def _nearest_message(record: Record | None, by_uuid: Mapping[str, Record]) -> Record | None:
    seen: set[str] = set()
    while record is not None and record.type not in ("user", "assistant") and record.uuid not in seen:
        seen.add(record.uuid)
        record = by_uuid.get(record.parent or "")
    return record if record is not None and record.type in ("user", "assistant") else None


def _walk(leaf: Record, by_uuid: Mapping[str, Record], session: Session) -> list[Record]:
    chain: list[Record] = []
    seen: set[str] = set()
    current: Record | None = leaf
    while current is not None:
        seen.add(current.uuid)
        chain.append(current)
        if current.parent in seen:
            session.notes.append(
                Note("CC4", "unresolved", current.line, "stopped there", "parentUuid runs in a circle")
            )
            break
        parent = by_uuid.get(current.parent) if current.parent else None
        if current.parent and parent is None:
            session.notes.append(
                Note(
                    "CC4", "unresolved", current.line, "began the conversation there", "its parent is not in this file"
                )
            )
        current = parent
    return chain[::-1]


def _with_parallel_parts(chain: Sequence[Record], records: Sequence[Record]) -> list[Record]:
    """Add what a walk along one parent misses: sibling lines of a chained message, and results of its calls.

    One message is written as one line per content block, and each parallel result hangs under its own call's line, so
    only the last of them lies on the path. They are put right after the last chained line of their message.
    """
    on_chain = {record.uuid for record in chain}
    answered = {str(block.get("tool_use_id")) for record in chain for block in record.blocks("tool_result")}
    anchors = {record.message_id: record.uuid for record in chain if record.type == "assistant" and record.message_id}
    siblings: dict[str, list[Record]] = defaultdict(list)
    owner: dict[str, str] = {}
    for record in records:
        if record.type == "assistant" and record.message_id in anchors:
            owner |= {
                str(block.get("id")): record.message_id for block in record.blocks("tool_use") if record.message_id
            }
            if record.uuid not in on_chain and record.message_id:
                siblings[anchors[record.message_id]].append(record)
    for record in records:
        calls = {str(block.get("tool_use_id")) for block in record.blocks("tool_result")} - answered
        owners = {owner[call] for call in calls if call in owner}
        if record.type == "user" and record.uuid not in on_chain and len(owners) == 1 and calls <= owner.keys():
            answered |= calls
            siblings[anchors[owners.pop()]].append(record)
    return [each for record in chain for each in (record, *siblings[record.uuid])]


def _shown(placed: Sequence[Record]) -> list[Record]:
    """Leave out what subagents and team members said in the main conversation; a file may be theirs altogether."""
    shown = [record for record in placed if not record.hidden]
    return shown if any(record.said for record in shown) else [*placed]


def _note_left_out(records: Sequence[Record], placed: set[str], chain: Sequence[Record], session: Session) -> None:
    """Tell what lies off the conversation, one note per reason."""
    start = chain[0]
    reasons: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.uuid not in placed and record.said:
            reasons[_why_left_out(record, start)].append(record)
    for reason, left in sorted(reasons.items()):
        session.notes.append(Note("CC3", "dropped", left[0].line, f"left out {len(left)} records", reason))


def _why_left_out(record: Record, start: Record) -> str:
    if record.value.get("isSidechain"):
        return "a subagent's side conversation"
    if record.value.get("teamName"):
        return "a team member's conversation"
    if start.value.get("subtype") == "compact_boundary" and record.line < start.line:
        return "replaced by the summary of a compaction"
    return "an abandoned branch"


def _steps(placed: Sequence[Record], session: Session) -> list[Step]:
    """Merge the lines of one assistant message; drop what no model said and no person typed, with a note."""
    groups: dict[str, list[Record]] = {}
    order: list[str] = []
    skipped: Counter[str] = Counter()
    for record in placed:
        reason = _not_a_message(record)
        if reason:
            skipped[reason] += 1
            continue
        key = record.message_id if record.type == "assistant" and record.message_id else record.uuid
        if key not in groups:
            order.append(key)
        groups.setdefault(key, []).append(record)
    session.notes += [
        Note("CC5", "dropped", None, f"left out {count} records", why) for why, count in sorted(skipped.items())
    ]
    return [Step(tuple(sorted(groups[key], key=lambda record: record.line))) for key in order]


def _not_a_message(record: Record) -> str:
    if record.type == "assistant" and record.message.get("model") == SYNTHETIC_MODEL:
        return "written by the tool in the model's place (model <synthetic>)"
    if record.type == "attachment" and queued_prompt(record) is not None:
        return ""
    return "" if record.type in ("user", "assistant") else f"{record.type} records, which hold no message"


def queued_prompt(record: Record) -> str | list[Any] | None:
    """The text that a person typed while the model was at work, which is written as an attachment."""
    attachment = record.value.get("attachment")
    if not isinstance(attachment, Mapping) or attachment.get("type") != "queued_command":
        return None
    prompt = attachment.get("prompt")
    return prompt if isinstance(prompt, (str, list)) else None
