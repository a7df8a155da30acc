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

from ..jsonl import BadLine, Line
from ..report import LossKind
from .answers import Answer, gather
from .compaction import Relinked, cut_stream, keeps, relink
from .records import TREE_TYPES, Record, of_subagent


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
    """One native message: the records that it was written as (several for an assistant), in its order."""

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
    records = _last_of_each_uuid(cut_stream(_records(lines, session)), session)
    if not records:
        session.problems.append("no line is a user or assistant message")
        return session
    leaf = _leaf(records, records)
    if leaf is None:
        session.problems.append(f"line {records[0].line}: every record has a child, so parentUuid runs in a circle")
        return session
    relinked = _with_kept(records, leaf, session)
    records, leaf = relinked.records, _leaf(relinked.ends, relinked.records) or leaf
    chain = _walk(leaf, {record.uuid: record for record in records}, session.notes)
    path = _shown(chain)
    near = [record for record in records if record.uuid not in relinked.replaced]
    answers = gather(path, _of_same_speakers(near, path))
    kept = {one.uuid for one in path} | {one.uuid for each in answers for one in each.off_path}
    _note_left_out(records, kept, chain[0], session)
    session.steps = _steps(path, answers, {record.uuid: place for place, record in enumerate(records)}, session)
    return session


def _records(lines: Iterable[Line | BadLine], session: Session) -> list[Record]:
    """Keep the lines of the tree; one without a parent (the SDK's stream) follows the one before it of its speaker."""
    records: list[Record] = []
    other: Counter[str] = Counter()
    last: dict[str, str] = {}
    for line in lines:
        if isinstance(line, BadLine):
            session.notes.append(Note("CC1", "dropped", line.number, "skipped a line that cannot be read", line.reason))
            continue
        session.notes += [Note("CC1", "downgraded", line.number, "mended a line", repair) for repair in line.repairs]
        subagent = str(line.value.get("parent_tool_use_id")) if of_subagent(line.value) else ""
        record = _record(line, last.get(subagent))
        if record is None:
            other[str(line.value.get("type"))[:40]] += 1
        else:
            last[subagent] = record.uuid
            records.append(record)
    if other:
        listed = ", ".join(f"{name} {count}" for name, count in sorted(other.items()))
        session.notes.append(Note("CC2", "dropped", None, "left out lines that are not messages", listed))
    return records if any(record.type in ("user", "assistant") for record in records) else []


def _last_of_each_uuid(records: Sequence[Record], session: Session) -> list[Record]:
    """Keep the last record of each uuid where the first stood, as Claude Code does; what said else is told."""
    by_uuid = {record.uuid: record for record in records}
    if len(by_uuid) == len(records):
        return [*records]
    for record in records:
        last = by_uuid[record.uuid]
        if record is not last and record.said and record.said != last.said:
            why = f"line {last.line} has the same uuid"
            session.notes.append(Note("CC3", "dropped", record.line, "left out a record", why))
    return [*by_uuid.values()]


def _record(line: Line, previous: str | None) -> Record | None:
    kind, uuid = line.value.get("type"), line.value.get("uuid")
    if kind not in TREE_TYPES or (kind in ("user", "assistant") and not isinstance(line.value.get("message"), dict)):
        return None
    if not isinstance(uuid, str) or not uuid:
        return Record.of(line, f"line {line.number}", previous) if "message" in line.value else None
    parent = line.value.get("parentUuid", previous)
    return Record.of(line, uuid, parent if isinstance(parent, str) else None)


def _with_kept(records: list[Record], leaf: Record, session: Session) -> Relinked:
    """Bring in what a compaction keeps: the last one that leads to the leaf, by what it keeps or by its own lines."""
    by_uuid = {record.uuid: record for record in records}
    root = _walk(leaf, by_uuid, [])[0]
    last = [one for one in records if one.is_boundary and one.hidden <= leaf.hidden and one.line < leaf.line][-1:]
    for boundary in [*last, *([root] if root.is_boundary else [])]:
        found = relink(records, boundary)
        end = _leaf(found.ends, found.records) if found else None
        if found and end and _walk(end, {one.uuid: one for one in found.records}, [])[0].uuid == boundary.uuid:
            return found
    if root.is_boundary and keeps(root):
        why = "some of them, or what they follow, is not in this file"
        session.notes.append(Note("CC4", "unresolved", root.line, "left out messages that a compaction kept", why))
    return Relinked(records, records, frozenset())


def _leaf(ends: Sequence[Record], records: Sequence[Record]) -> Record | None:
    """The last message in file order that ends a branch; of the main conversation, unless the file is a subagent's.

    A branch may end in what the program said by itself (a skill's text, a hook's), but holds more than that.
    """
    above = _Above({record.uuid: record for record in records})
    parents = {record.parent for record in ends}
    leaves = [above.nearest_said(record) for record in ends if record.uuid not in parents]
    found = [leaf for leaf in leaves if leaf is not None]
    main = [leaf for leaf in found if not leaf.hidden and above.says_more(leaf)]
    return max(main or found, key=lambda record: record.line, default=None)


@dataclass
class _Above:
    """What stands above records; each is walked past once, however many branches begin below it."""

    by_uuid: Mapping[str, Record]
    _said: dict[str, Record | None] = field(default_factory=dict)
    _more: dict[str, bool] = field(default_factory=dict)

    def nearest_said(self, record: Record | None) -> Record | None:
        """Return the record, or the next one above it, in which somebody says something."""
        passed: list[str] = []
        while record is not None and not record.said and record.uuid not in self._said:
            self._said[record.uuid] = None  # where a circle ends
            passed.append(record.uuid)
            record = self.by_uuid.get(record.parent or "")
        found = record if record is None or record.said else self._said[record.uuid]
        self._said.update(dict.fromkeys(passed, found))
        return found

    def says_more(self, leaf: Record) -> bool:
        """True if a branch holds what the program did not say by itself."""
        passed: list[str] = []
        record: Record | None = leaf
        while record is not None and record.aside and record.uuid not in self._more:
            self._more[record.uuid] = False
            passed.append(record.uuid)
            record = self.nearest_said(self.by_uuid.get(record.parent or ""))
        found = record is not None and (not record.aside or self._more[record.uuid])
        self._more.update(dict.fromkeys(passed, found))
        return found


def _walk(leaf: Record, by_uuid: Mapping[str, Record], notes: list[Note]) -> list[Record]:
    """Return the records from the root to the leaf."""
    chain: list[Record] = []
    seen: set[str] = set()
    current: Record | None = leaf
    while current is not None:
        seen.add(current.uuid)
        chain.append(current)
        if current.parent in seen:
            notes.append(Note("CC4", "unresolved", current.line, "stopped there", "parentUuid runs in a circle"))
            break
        parent = by_uuid.get(current.parent) if current.parent else None
        if current.parent and parent is None:
            why = "its parent is not in this file"
            notes.append(Note("CC4", "unresolved", current.line, "began the conversation there", why))
        current = parent
    return chain[::-1]


def _shown(chain: Sequence[Record]) -> list[Record]:
    """Leave out what subagents and team members said in the main conversation; a file may be theirs altogether."""
    shown = [record for record in chain if not record.hidden]
    return shown if any(record.said for record in shown) else [*chain]


def _of_same_speakers(records: Sequence[Record], path: Sequence[Record]) -> Sequence[Record]:
    """Leave out the records of subagents and team members, unless the path is theirs."""
    return records if any(record.hidden for record in path) else [one for one in records if not one.hidden]


def _note_left_out(records: Sequence[Record], kept: set[str], start: Record, session: Session) -> None:
    """Tell what lies off the conversation, one note per reason."""
    reasons: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.uuid not in kept and record.said:
            reasons[_why_left_out(record, start)].append(record)
    for reason, left in sorted(reasons.items()):
        session.notes.append(Note("CC3", "dropped", left[0].line, f"left out {len(left)} records", reason))


def _why_left_out(record: Record, start: Record) -> str:
    if of_subagent(record.value):
        return "a subagent's side conversation"
    if record.value.get("teamName"):
        return "a team member's conversation"
    if start.is_boundary and record.line < start.line:
        return "replaced by the summary of a compaction"
    return "an abandoned branch"


def _steps(path: Sequence[Record], answers: Sequence[Answer], place: Mapping[str, int], session: Session) -> list[Step]:
    """Put each answer where it begins, its results beside the path where it ends, and texts of its calls behind them.

    What nobody said is told.
    """
    starts = {answer.lines[0].uuid: answer for answer in answers}
    ends = {answer.lines[-1].uuid: answer for answer in answers}
    texts = {answer.last: answer.texts for answer in answers}
    within = {line.uuid for answer in answers for line in answer.lines}
    steps: list[Step] = []
    skipped: Counter[str] = Counter()
    for record in path:
        if reason := _not_a_message(record):
            skipped[reason] += 1
        elif record.uuid in starts:
            steps.append(Step(tuple(starts[record.uuid].in_order(place))))
        elif record.uuid not in within:
            steps.append(Step((record,)))
        if record.uuid in ends:
            steps += [Step((result,)) for result in ends[record.uuid].results]
        steps += [Step((one,)) for one in texts.get(record.uuid, ())]
    session.notes += [
        Note("CC5", "dropped", None, f"left out {count} records", why) for why, count in sorted(skipped.items())
    ]
    return steps


def _not_a_message(record: Record) -> str:
    if record.synthetic:
        return "written by the tool in the model's place (model <synthetic>)"
    return "" if record.said else f"{record.type} records, which hold no message"
