"""Which lines of a Claude Code session are one answer of the model, and what beside the path belongs to it.

An answer is written as one line per content block, and each result hangs under its own call's line. So a walk along one
parent misses lines and results of parallel calls; and a result may stand between two lines of an answer, as tools start
while the model still talks. `message.id` alone does not say what belongs together: routers use one in several turns,
and a copy of the conversation in the same file repeats it. Lines are one answer only if they hang together.

Pure: a path and all records in, answers out. Takes time in proportion to the records.

Source: provider-rules "Claude Code JSONL"; `requestId` and `stop_reason` in files of Claude Code 1.0 to 2.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge

from .claude_code_records import Record


@dataclass(eq=False, slots=True)
class Answer:
    """One answer: its lines, what they call, and the results of it that lie beside the path."""

    lines: list[Record]
    """Those on the path, in its order."""
    calls: set[str]
    cuts: list[int] = field(default_factory=list)
    """Numbers of lines before which results stand, where nothing but the id says that the answer goes on."""
    answered: set[str] = field(default_factory=set)
    beside: list[Record] = field(default_factory=list)
    """Its lines that are not on the path."""
    results: list[Record] = field(default_factory=list)
    """Records beside the path that hold its results."""
    reused: bool = False
    """True if other answers have its id too."""

    @staticmethod
    def of(lines: Sequence[Record]) -> Answer:
        """Make the answer of lines that follow one another."""
        return Answer([*lines], set().union(*(line.made for line in lines)))

    @property
    def message_id(self) -> str | None:
        return self.lines[0].message_id

    @property
    def ends_in_words(self) -> bool:
        """True if words follow its last results: an answer that calls tools ends in calls, so those are another one."""
        return bool(self.cuts) and not any(line.made for line in self.lines[self.cuts[-1] :])

    def add(self, line: Record, *, after_results: bool) -> None:
        """Add the next line on the path."""
        if after_results and not _of_same_request(self.lines[-1], line):
            self.cuts.append(len(self.lines))
        self.lines.append(line)
        self.calls |= line.made

    def apart(self) -> Iterator[Answer]:
        """Cut it where results stand between its lines."""
        ends = [*self.cuts, len(self.lines)]
        return (Answer.of(self.lines[start:end]) for start, end in zip([0, *self.cuts], ends, strict=True))

    def in_order(self, place: Mapping[str, int]) -> list[Record]:
        """All its lines. The path's order wins over the file's, which a record that was written again breaks."""
        beside = sorted(self.beside, key=lambda record: place[record.uuid])
        return [*merge(self.lines, beside, key=lambda record: place[record.uuid])]


class _Surroundings:
    """For each place of a tree, which answers of the path something that hangs there may belong to."""

    def __init__(self, path: Sequence[Record], answers: Sequence[Answer], records: Sequence[Record]) -> None:
        self._by_uuid = {record.uuid: record for record in records}
        self._path = {record.uuid for record in path}
        self._within: dict[str, Answer] = {line.uuid: answer for answer in answers for line in answer.lines}
        self._before = {parent: answer for answer in answers if (parent := answer.lines[0].parent)}
        self._known: dict[str, tuple[Answer, ...]] = {}
        current: Answer | None = None
        for record in path:
            current = self._within.get(record.uuid) or (current if current and _is_within(record, current) else None)
            if current:
                self._within[record.uuid] = current

    def off_path(self, records: Iterable[Record]) -> list[Record]:
        return [record for record in records if record.uuid not in self._path]

    def of(self, record: Record) -> tuple[Answer, ...]:
        """Return the answers of a record beside the path, those of what it hangs on first."""
        branch: dict[str, Record] = {}
        at: Record | None = record
        while at is not None and not (at.uuid in self._known or at.uuid in self._path or at.uuid in branch):
            branch[at.uuid] = at
            at = self._by_uuid.get(at.parent or "")
        for each in reversed(branch.values()):
            self._known[each.uuid] = self._of_child(each)
        return self._known[record.uuid]

    def _of_child(self, record: Record) -> tuple[Answer, ...]:
        parent = record.parent or ""
        near = self._known.get(parent)
        if near is None:
            near = tuple(each for each in (self._within.get(parent), self._before.get(parent)) if each)
        if record.said is None or not near:
            return near
        if record.type == "assistant":
            return self._joined(record, near)
        answered = record.answered
        return tuple(each for each in near if answered and answered <= each.calls)

    def _joined(self, line: Record, near: Sequence[Answer]) -> tuple[Answer, ...]:
        """Join a line beside the path to the answer that it is part of."""
        above = self._by_uuid.get(line.parent or "")
        behind_a_line = above is not None and above.type == "assistant"
        for answer in near:
            if _is_line_of(line, answer.lines[0]) and (behind_a_line or not answer.reused):
                answer.beside.append(line)
                answer.calls |= line.made
                return (answer,)
        return ()


def gather(path: Sequence[Record], records: Sequence[Record]) -> list[Answer]:
    """Return the answers of a path in its order, each with its lines and results beside the path.

    Args:
        path: The conversation, from the root to its last record.
        records: All that may belong to it.
    """
    answers = _answers(path)
    around = _Surroundings(path, answers, records)
    off_path = around.off_path(records)
    branches = [record for record in off_path if record.type == "assistant" and not around.of(record)]
    elsewhere = set().union(*(record.made for record in branches))
    owners = _tell_answered(path, answers)
    for record in off_path:
        if record.type == "user" and (answered := record.answered):
            by_id = [] if answered & elsewhere else [owners[call] for call in sorted(answered & owners.keys())]
            _keep_result(record, answered, dict.fromkeys([*around.of(record), *by_id]))
    return answers


def _answers(path: Sequence[Record]) -> list[Answer]:
    """Find the answers on a path; where an id proves to be that of several, results between its lines part them."""
    runs = _runs(path)
    times = Counter(run.message_id for run in runs)
    reused = {run.message_id for run in runs if run.message_id and (times[run.message_id] > 1 or run.ends_in_words)}
    found: list[Answer] = []
    for run in runs:
        parts = [*run.apart()] if run.message_id in reused else [run]
        for part in parts:
            part.reused = run.message_id in reused
        found += parts
    return found


def _runs(path: Iterable[Record]) -> list[Answer]:
    """Find lines of one id between which nothing stands but their own results, and what nobody said."""
    found: list[Answer] = []
    current: Answer | None = None
    after_results = False
    for record in path:
        if record.type != "assistant" or record.synthetic:
            current = current if current and _is_within(record, current) else None
            after_results = after_results or bool(record.answered)
            continue
        if current and _goes_on(current.lines[-1], record, after_results=after_results):
            current.add(record, after_results=after_results)
        else:
            current = Answer.of([record])
            found.append(current)
        after_results = False
    return found


def _goes_on(last: Record, line: Record, *, after_results: bool) -> bool:
    if not _is_line_of(line, last):
        return False
    ended = after_results and last.message.get("stop_reason") is not None
    return not ended or _of_same_request(last, line)


def _is_line_of(line: Record, other: Record) -> bool:
    if line.synthetic or line.message_id is None or line.message_id != other.message_id:
        return False
    return None in (line.request_id, other.request_id) or _of_same_request(line, other)


def _of_same_request(one: Record, other: Record) -> bool:
    return one.request_id is not None and one.request_id == other.request_id


def _is_within(record: Record, answer: Answer) -> bool:
    """True for what may stand between two lines of an answer, or belongs right behind it."""
    if record.said is None:
        return True
    if record.type != "user":
        return False
    if answered := record.answered:
        return answered <= answer.calls
    return bool(record.value.get("isMeta")) and str(record.value.get("sourceToolUseID")) in answer.calls


def _tell_answered(path: Iterable[Record], answers: Sequence[Answer]) -> dict[str, Answer]:
    """Note which calls have their results on the path; return the last answer that made each call."""
    starts = {answer.lines[0].uuid: answer for answer in answers}
    owners: dict[str, Answer] = {}
    for record in path:
        if record.uuid in starts:
            owners |= dict.fromkeys(starts[record.uuid].calls, starts[record.uuid])
        elif record.type == "user":
            for call in record.answered & owners.keys():
                owners[call].answered.add(call)
    return owners


def _keep_result(record: Record, answered: set[str], near: Iterable[Answer]) -> None:
    """Give a record of results to the first answer that made all calls of it that have none yet."""
    for answer in near:
        missing = answered - answer.answered
        if missing and missing <= answer.calls:
            answer.answered |= missing
            answer.results.append(record)
            return
