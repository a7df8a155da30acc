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

from .records import Record


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
    texts: list[Record] = field(default_factory=list)
    """Records beside the path in which the program says what belongs to its calls: a skill's text, a picture's size."""
    last: str = ""
    """The uuid of its last record on the path: a line or a result."""
    until: int = 0
    """The number of the line by which all its calls have results. No other answer begins before that."""
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
    def off_path(self) -> list[Record]:
        return [*self.beside, *self.results, *self.texts]

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

    def __init__(
        self, path: Sequence[Record], answers: Sequence[Answer], records: Sequence[Record], until: Mapping[str, int]
    ) -> None:
        self._until = until
        self._by_uuid = {record.uuid: record for record in records}
        self._path = {record.uuid for record in path}
        self._within: dict[str, Answer] = {line.uuid: answer for answer in answers for line in answer.lines}
        self._before = {parent: answer for answer in answers if (parent := answer.lines[0].parent)}
        self._known: dict[str, tuple[Answer, ...]] = {}
        self._above: dict[str, _Above] = {}
        current: Answer | None = None
        above = _Above()
        for record in path:
            above = self._above[record.uuid] = above.then(record)
            after_results = bool(above.held_by and above.held_by.answered)
            within = current and _is_within(record, current, after_results=after_results)
            current = self._within.get(record.uuid) or (current if within else None)
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
            self._above[each.uuid] = self._above.get(each.parent or "", _Above()).then(each)
            self._known[each.uuid] = self._of_child(each)
        return self._known[record.uuid]

    def _of_child(self, record: Record) -> tuple[Answer, ...]:
        parent = record.parent or ""
        near = self._known.get(parent)
        if near is None:
            near = tuple(each for each in (self._within.get(parent), self._before.get(parent)) if each)
        if record.said is None or record.aside or not near:
            return near
        if record.type == "assistant":
            return self._joined(record, near)
        answered = record.answered
        return tuple(each for each in near if answered and answered <= each.calls)

    def _joined(self, line: Record, near: Sequence[Answer]) -> tuple[Answer, ...]:
        """Join a line beside the path to the answer that it is part of."""
        said = self._above.get(line.parent or "", _Above()).said
        behind_a_line = said is not None and said.type == "assistant"
        for answer in near:
            first = answer.lines[0]
            sure = behind_a_line or not answer.reused or line.line < answer.until or _of_same_request(line, first)
            if sure and _is_line_of(line, first):
                answer.beside.append(line)
                answer.calls |= line.made
                answer.until = max(answer.until, self._until.get(line.uuid, 0))
                return (answer,)
        return ()

    def of_text(self, record: Record, keepers: Mapping[str, Answer]) -> Answer | None:
        """Return the answer whose results, or whose call by its id, a text of the program beside the path belongs to.

        Args:
            record: The text.
            keepers: The answers of the results beside the path that were kept.
        """
        near = self.of(record)
        holder = self._above[record.uuid].held_by
        if holder is None:
            return None
        if holder.uuid in keepers:
            answer = keepers[holder.uuid]
            return answer if record.of_call is None or record.of_call in answer.calls else None
        known = holder.uuid in self._within or holder.type == "assistant"
        return next((one for one in near if known and record.of_call in one.calls), None)


@dataclass(frozen=True, slots=True)
class _Above:
    """What stands at a place of the tree, or next above it."""

    said: Record | None = None
    """The last record in which somebody says something."""
    held_by: Record | None = None
    """The last of these that is no text of the program."""

    def then(self, record: Record) -> _Above:
        """Return what stands at a child of the place."""
        if record.said is None:
            return self
        return _Above(record, self.held_by if record.aside else record)


def gather(path: Sequence[Record], records: Sequence[Record]) -> list[Answer]:
    """Return the answers of a path in its order, each with its lines and results beside the path.

    Args:
        path: The conversation, from the root to its last record.
        records: All that may belong to it.
    """
    until = _answered_by(records)
    answers = _answers(path, until)
    around = _Surroundings(path, answers, records, until)
    off_path = around.off_path(records)
    branches = [record for record in off_path if record.type == "assistant" and not around.of(record)]
    elsewhere = set().union(*(record.made for record in branches))
    owners = _tell_answered(path, answers)
    for record in off_path:
        if record.type == "user" and (answered := record.answered):
            by_id = [] if answered & elsewhere else [owners[call] for call in sorted(answered & owners.keys())]
            _keep_result(record, answered, dict.fromkeys([*around.of(record), *by_id]))
    keepers = {result.uuid: answer for answer in answers for result in answer.results}
    for record in off_path:
        if record.value.get("isMeta") and record.said and (answer := around.of_text(record, keepers)):
            answer.texts.append(record)
    return answers


def _answered_by(records: Sequence[Record]) -> dict[str, int]:
    """For each line, the number of the line by which its calls, and those of lines behind it, have results.

    A result counts where it hangs on its own call's line, and a second one of a call does not.
    """
    first: dict[tuple[str, str], int] = {}
    for record in records:
        for call in record.answered if record.parent else ():
            place = (record.parent or "", call)
            first[place] = min(record.line, first.get(place, record.line))
    found: dict[str, int] = {}
    for (line, _), number in first.items():
        found[line] = max(number, found.get(line, 0))
    speaks = {record.uuid: record.type == "assistant" or record.said is None for record in records}
    for record in reversed(records):
        if record.parent and record.uuid in found and speaks[record.uuid] and speaks.get(record.parent):
            found[record.parent] = max(found[record.uuid], found.get(record.parent, 0))
    return found


def _answers(path: Sequence[Record], until: Mapping[str, int]) -> list[Answer]:
    """Find the answers on a path; where an id proves to be that of several, results between its lines part them."""
    runs = _runs(path, until)
    times = Counter(run.message_id for run in runs)
    reused = {run.message_id for run in runs if run.message_id and (times[run.message_id] > 1 or run.ends_in_words)}
    found: list[Answer] = []
    for run in runs:
        parts = [*run.apart()] if run.message_id in reused else [run]
        for part in parts:
            part.reused = run.message_id in reused
            part.until = max(until.get(line.uuid, 0) for line in part.lines)
        found += parts
    return found


def _runs(path: Iterable[Record], until: Mapping[str, int]) -> list[Answer]:
    """Find lines of one id between which nothing stands but their own results, and what nobody said."""
    found: list[Answer] = []
    current: Answer | None = None
    after_results = False
    for record in path:
        if record.type != "assistant" or record.synthetic:
            within = current and _is_within(record, current, after_results=after_results)
            current = current if within else None
            after_results = after_results or bool(record.answered)
            continue
        pending = current is not None and record.line < current.until
        if current and _goes_on(current.lines[-1], record, after_results=after_results and not pending):
            current.add(record, after_results=after_results and not pending)
        else:
            current = Answer.of([record])
            found.append(current)
        current.until = max(current.until, until.get(record.uuid, 0))
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


def _is_within(record: Record, answer: Answer, *, after_results: bool) -> bool:
    """True for what may stand between two lines of an answer, or belongs right behind it."""
    if record.said is None:
        return True
    if record.type != "user":
        return False
    if answered := record.answered:
        return answered <= answer.calls
    if not record.value.get("isMeta"):
        return False
    return after_results if record.of_call is None else record.of_call in answer.calls


def _tell_answered(path: Iterable[Record], answers: Sequence[Answer]) -> dict[str, Answer]:
    """Note which calls have their results on the path; return the last answer that made each call."""
    starts = {answer.lines[0].uuid: answer for answer in answers}
    for answer in answers:
        answer.last = answer.lines[-1].uuid
    owners: dict[str, Answer] = {}
    for record in path:
        if record.uuid in starts:
            owners |= dict.fromkeys(starts[record.uuid].calls, starts[record.uuid])
        elif record.type == "user":
            for call in record.answered & owners.keys():
                owners[call].answered.add(call)
                owners[call].last = record.uuid
    return owners


def _keep_result(record: Record, answered: set[str], near: Iterable[Answer]) -> None:
    """Give a record of results to the first answer that made all calls of it that have none yet."""
    for answer in near:
        missing = answered - answer.answered
        if missing and missing <= answer.calls:
            answer.answered |= missing
            answer.results.append(record)
            return
